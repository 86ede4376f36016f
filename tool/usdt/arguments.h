/*
 * arguments.h - where the arguments of a probe are: "-4@%edi 8@-16(%rbp) 4@$7"
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef USDT_ARGUMENTS_H
#define USDT_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGUMENTS_MAX 12
#define ARGUMENT_NONE (-1) /* no register */

enum argument_place { ARGUMENT_UNKNOWN, ARGUMENT_CONSTANT, ARGUMENT_REGISTER, ARGUMENT_MEMORY };

struct argument {
	enum argument_place place;
	uint8_t size;    /* bytes of the value: 1, 2, 4, 8 */
	bool is_signed;
	bool is_float;
	uint8_t bytes;   /* of the register that count */
	uint8_t shift;   /* bits of the register below the value, %ah */
	int8_t base;     /* register, as perf numbers them, or ARGUMENT_NONE */
	int8_t index;    /* of memory: another one, times scale */
	uint8_t scale;
	int64_t value;   /* of a constant; of memory: what is added */
};

/* What a sample has of a thread. */
struct argument_sample {
	uint64_t mask;             /* of the registers */
	const unsigned char *registers; /* 8 bytes each, those of the mask, in the order of their numbers */
	const unsigned char *stack; /* a copy of the bytes from the stack pointer on */
	size_t stack_size;
	int stack_register;
};

/*
 * Reads the arguments of a note; those that are not understood are ARGUMENT_UNKNOWN. Returns how many there are, at
 * most ARGUMENTS_MAX.
 */
unsigned arguments_parse(const char *text, uint16_t machine, struct argument *a);
/*
 * Returns whether a sample can have the argument. Memory at another register than those of the stack is in none, nor
 * are the program's variables.
 */
bool argument_readable(const struct argument *a, int stack_register);
/*
 * Writes what the kernel is to fetch for a text at the address that is the argument, as tracefs has it: "+0(%di)".
 * Returns false if the kernel cannot.
 */
bool argument_text(const struct argument *a, uint16_t machine, char *text, size_t size);
/* Returns the registers that are needed for the argument, as a mask. */
uint64_t argument_registers(const struct argument *a);
/* Returns the number of the stack pointer, or ARGUMENT_NONE on an unknown machine. */
int arguments_stack_register(uint16_t machine);
/*
 * Returns how many bytes of the stack the argument needs; 0: none; SIZE_MAX: it cannot be said beforehand. Memory
 * that is not on the stack, and is in no sample, is not told apart before there is one.
 */
size_t argument_stack(const struct argument *a, int stack_register);
/* Stores the value of an argument, sign-extended if it is signed. Returns false if the sample does not have it. */
bool argument_value(const struct argument *a, const struct argument_sample *s, uint64_t *value);

#endif
