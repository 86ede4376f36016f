/*
 * arguments.c - where the arguments of a probe are
 *
 * SPDX-License-Identifier: MIT
 */
#include "usdt/arguments.h"

#include <ctype.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of perf for registers of x86; asm/perf_regs.h is that of this machine only. */
enum { AX, BX, CX, DX, SI, DI, BP, SP, IP, R8 = 16 };
/* And for those of arm64. */
enum { ARM_FRAME = 29, ARM_SP = 31 };

/* -- Registers ------------------------------------------------------------------------------------------ */

struct reg {
	int8_t number;
	uint8_t bytes, shift;
};

static bool is(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* Finds a register of x86, without its %. */
static bool find_x86(const char *text, size_t length, struct reg *r)
{
	static const struct {
		const char *name[4]; /* of 8, 4, 2, 1 bytes */
		int8_t number;
	} names[] = {
		{ { "rax", "eax", "ax", "al" }, AX }, { { "rbx", "ebx", "bx", "bl" }, BX },
		{ { "rcx", "ecx", "cx", "cl" }, CX }, { { "rdx", "edx", "dx", "dl" }, DX },
		{ { "rsi", "esi", "si", "sil" }, SI }, { { "rdi", "edi", "di", "dil" }, DI },
		{ { "rbp", "ebp", "bp", "bpl" }, BP }, { { "rsp", "esp", "sp", "spl" }, SP },
		{ { "rip", "eip", "ip", "" }, IP },
	};
	unsigned long number;
	char *end;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (unsigned n = 0; n < 4; n++)
			if (is(text, length, names[i].name[n])) {
				*r = (struct reg){ names[i].number, (uint8_t)(8 >> n), 0 };
				return true;
			}
	if (length == 2 && text[1] == 'h' && strchr("abcd", text[0])) {
		*r = (struct reg){ (int8_t)(text[0] - 'a'), 1, 8 }; /* AX, BX, CX, DX */
		return true;
	}
	if (length < 2 || text[0] != 'r' || !isdigit((unsigned char)text[1]))
		return false;
	number = strtoul(text + 1, &end, 10);
	if (number < 8 || number > 15 || end > text + length || (size_t)(text + length - end) > 1)
		return false;
	*r = (struct reg){ (int8_t)(R8 + number - 8), 8, 0 };
	if (end < text + length)
		r->bytes = *end == 'd' ? 4 : *end == 'w' ? 2 : *end == 'b' ? 1 : 0;
	return r->bytes != 0;
}

static bool find_arm64(const char *text, size_t length, struct reg *r)
{
	unsigned long number;
	char *end;

	if (is(text, length, "sp")) {
		*r = (struct reg){ ARM_SP, 8, 0 };
		return true;
	}
	if (length < 2 || (text[0] != 'x' && text[0] != 'w') || !isdigit((unsigned char)text[1]))
		return false;
	number = strtoul(text + 1, &end, 10);
	if (number > 30 || end != text + length)
		return false;
	*r = (struct reg){ (int8_t)number, text[0] == 'x' ? 8 : 4, 0 };
	return true;
}

int arguments_stack_register(uint16_t machine)
{
	return machine == EM_X86_64 || machine == EM_386 ? SP : machine == EM_AARCH64 ? ARM_SP : ARGUMENT_NONE;
}

/* -- One argument ----------------------------------------------------------------------------------------- */

static bool take_number(const char **p, int64_t *value)
{
	const char *digits = **p == '-' || **p == '+' ? *p + 1 : *p;
	char *end;

	if (!isdigit((unsigned char)*digits))
		return false;
	*value = (int64_t)strtoull(digits, &end, 0);
	if (**p == '-')
		*value = (int64_t)(0 - (uint64_t)*value);
	*p = end;
	return true;
}

/* Returns the length of the register's name at p, which begins with %. */
static size_t register_length(const char *p)
{
	return 1 + strspn(p + 1, "abcdefghijklmnopqrstuvwxyz0123456789");
}

/* Reads "(%rax,%rbx,4)" behind the number that is added. */
static bool take_memory(const char *p, struct argument *a)
{
	struct reg r;
	int64_t scale = 1;
	size_t n;

	if (*p++ != '(')
		return false;
	if (*p == '%') {
		n = register_length(p);
		/* What is relative to the instruction is a variable, and no sample has it. */
		if (!find_x86(p + 1, n - 1, &r) || r.number == IP)
			return false;
		a->base = r.number;
		p += n;
	}
	if (*p == ',') {
		p++;
		n = register_length(p);
		if (*p != '%' || !find_x86(p + 1, n - 1, &r))
			return false;
		a->index = r.number;
		p += n;
		if (*p == ',') {
			p++;
			if (!take_number(&p, &scale) || scale < 1 || scale > 8)
				return false;
		}
		a->scale = (uint8_t)scale;
	}
	return p[0] == ')' && p[1] == '\0' && a->base != ARGUMENT_NONE;
}

static bool parse_x86(const char *p, struct argument *a)
{
	struct reg r;

	if (*p == '$') {
		p++;
		a->place = ARGUMENT_CONSTANT;
		return take_number(&p, &a->value) && !*p;
	}
	if (*p == '%') {
		if (!find_x86(p + 1, strlen(p + 1), &r))
			return false;
		a->place = ARGUMENT_REGISTER;
		a->base = r.number;
		a->bytes = r.bytes;
		a->shift = r.shift;
		return true;
	}
	a->place = ARGUMENT_MEMORY;
	while (*p == '-' || *p == '+' || isdigit((unsigned char)*p)) {
		int64_t value;

		if (!take_number(&p, &value))
			return false;
		a->value = (int64_t)((uint64_t)a->value + (uint64_t)value);
	}
	return take_memory(p, a);
}

/* "x0", "[sp, 16]", "[x1]", "7" */
static bool parse_arm64(const char *p, struct argument *a)
{
	struct reg r;
	size_t n;

	if (*p == '-' || isdigit((unsigned char)*p)) {
		a->place = ARGUMENT_CONSTANT;
		return take_number(&p, &a->value) && !*p;
	}
	if (*p != '[') {
		if (!find_arm64(p, strlen(p), &r))
			return false;
		a->place = ARGUMENT_REGISTER;
		a->base = r.number;
		a->bytes = r.bytes;
		return true;
	}
	n = strcspn(++p, ",]");
	if (!find_arm64(p, n, &r))
		return false;
	a->place = ARGUMENT_MEMORY;
	a->base = r.number;
	p += n;
	if (*p == ',') {
		p += 1 + strspn(p + 1, " #");
		if (!take_number(&p, &a->value))
			return false;
	}
	return p[0] == ']' && p[1] == '\0';
}

/* Reads one argument, a text that ends with a null. */
static void parse(const char *p, uint16_t machine, struct argument *a)
{
	bool known = false;
	int64_t size;

	*a = (struct argument){ .base = ARGUMENT_NONE, .index = ARGUMENT_NONE, .size = sizeof(long) };
	if (take_number(&p, &size)) {
		uint64_t bytes = size < 0 ? 0 - (uint64_t)size : (uint64_t)size;

		a->is_signed = size < 0;
		known = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
		a->size = known ? (uint8_t)bytes : 8;
		if (*p == 'f') {
			a->is_float = true;
			p++;
		}
		known = known && *p++ == '@';
	} else {
		/* Old notes have no sizes. */
		known = true;
		a->size = machine == EM_386 ? 4 : 8;
	}
	known = known && (machine == EM_X86_64 || machine == EM_386 ? parse_x86(p, a) :
	                  machine == EM_AARCH64 ? parse_arm64(p, a) : false);
	if (!known)
		a->place = ARGUMENT_UNKNOWN;
}

unsigned arguments_parse(const char *text, uint16_t machine, struct argument *a)
{
	unsigned count = 0;

	while (count < ARGUMENTS_MAX) {
		char one[128];
		size_t n = 0;

		text += strspn(text, " ");
		if (!*text)
			break;
		/* A space inside of brackets belongs to the argument: [sp, 16]. */
		for (int depth = 0; text[n] && (text[n] != ' ' || depth > 0); n++)
			depth += (text[n] == '[' || text[n] == '(') - (text[n] == ']' || text[n] == ')');
		if (n < sizeof one) {
			memcpy(one, text, n);
			one[n] = '\0';
			parse(one, machine, &a[count]);
		} else {
			parse("?", machine, &a[count]);
		}
		text += n;
		count++;
	}
	return count;
}

/* -- Its value ---------------------------------------------------------------------------------------------- */

bool argument_readable(const struct argument *a, int stack_register)
{
	int frame = stack_register == SP ? BP : stack_register == ARM_SP ? ARM_FRAME : ARGUMENT_NONE;

	switch (a->place) {
	case ARGUMENT_CONSTANT:
		return true;
	case ARGUMENT_REGISTER:
		return !a->is_float;
	case ARGUMENT_MEMORY:
		return a->index < 0 && stack_register >= 0 &&
		       (a->base == frame || argument_stack(a, stack_register) != SIZE_MAX);
	case ARGUMENT_UNKNOWN:
		return false;
	}
	return false;
}

uint64_t argument_registers(const struct argument *a)
{
	if (a->place != ARGUMENT_REGISTER && a->place != ARGUMENT_MEMORY)
		return 0;
	return (a->base >= 0 ? UINT64_C(1) << a->base : 0) | (a->index >= 0 ? UINT64_C(1) << a->index : 0);
}

size_t argument_stack(const struct argument *a, int stack_register)
{
	if (a->place != ARGUMENT_MEMORY)
		return 0;
	if (a->base != stack_register || a->index >= 0 || a->value < 0 || a->value > 1 << 15)
		return SIZE_MAX;
	return (size_t)a->value + a->size;
}

static bool take_register(const struct argument_sample *s, int number, uint64_t *value)
{
	uint64_t bit = UINT64_C(1) << number;

	if (number < 0 || !(s->mask & bit))
		return false;
	memcpy(value, s->registers + sizeof *value * (size_t)__builtin_popcountll(s->mask & (bit - 1)), sizeof *value);
	return true;
}

static uint64_t extend(uint64_t value, unsigned bytes, bool is_signed)
{
	unsigned unused = 64 - 8 * bytes;

	if (bytes >= 8)
		return value;
	return is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value << unused >> unused;
}

static bool take_from_memory(const struct argument *a, const struct argument_sample *s, uint64_t *value)
{
	uint64_t base, index = 0, stack, at;

	if (!take_register(s, a->base, &base) || !take_register(s, s->stack_register, &stack) ||
	    (a->index >= 0 && !take_register(s, a->index, &index)))
		return false;
	at = base + index * a->scale + (uint64_t)a->value - stack;
	if (at > s->stack_size || s->stack_size - at < a->size)
		return false;
	*value = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(value, s->stack + at, a->size);
#else
	memcpy((char *)value + 8 - a->size, s->stack + at, a->size);
#endif
	return true;
}

/* Writes the kernel's name of a register. */
static bool register_name(int number, uint16_t machine, char name[8])
{
	static const char *const x86[] = { "ax", "bx", "cx", "dx", "si", "di", "bp", "sp" };

	if (machine == EM_X86_64 && number >= 0 && number < IP)
		snprintf(name, 8, "%s", x86[number]);
	else if (machine == EM_X86_64 && number >= R8 && number < R8 + 8)
		snprintf(name, 8, "r%d", number - R8 + 8);
	else if (machine == EM_AARCH64 && number == ARM_SP)
		snprintf(name, 8, "sp");
	else if (machine == EM_AARCH64 && number >= 0 && number < ARM_SP)
		snprintf(name, 8, "x%d", number);
	else
		return false;
	return true;
}

bool argument_text(const struct argument *a, uint16_t machine, char *text, size_t size)
{
	char name[8];

	if (a->size != 8 || a->is_float || a->index != ARGUMENT_NONE || !register_name(a->base, machine, name))
		return false;
	if (a->place == ARGUMENT_REGISTER && a->bytes == 8)
		return snprintf(text, size, "+0(%%%s)", name) < (int)size;
	return a->place == ARGUMENT_MEMORY &&
	       snprintf(text, size, "+0(%+lld(%%%s))", (long long)a->value, name) < (int)size;
}

bool argument_value(const struct argument *a, const struct argument_sample *s, uint64_t *value)
{
	switch (a->place) {
	case ARGUMENT_CONSTANT:
		*value = (uint64_t)a->value;
		break;
	case ARGUMENT_REGISTER:
		if (a->is_float || !take_register(s, a->base, value))
			return false;
		*value = extend(*value >> a->shift, a->bytes < a->size ? a->bytes : a->size, a->is_signed);
		return true;
	case ARGUMENT_MEMORY:
		if (!take_from_memory(a, s, value))
			return false;
		break;
	case ARGUMENT_UNKNOWN:
		return false;
	}
	*value = extend(*value, a->size, a->is_signed);
	return true;
}
