/*
 * command_mutate.c - changes inputs of command.c: another command line, or another log
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz.h"
#include "mutate.h"

#include <string.h>

#define CHOICE 8

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed)
{
	if (size < CHOICE || max_size < CHOICE)
		return LLVMFuzzerMutate(bytes, size, max_size);
	/* The same log with another command line. */
	if (seed % 4 == 0) {
		bytes[seed / 4 % 2] = (uint8_t)(seed >> 8);
		return size;
	}
	return CHOICE + mutate_log(bytes + CHOICE, size - CHOICE, max_size - CHOICE, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t size_a, const uint8_t *b, size_t size_b, uint8_t *out,
                                 size_t max_size, unsigned seed)
{
	if (size_a < CHOICE || size_b < CHOICE || max_size < CHOICE)
		return 0;
	memcpy(out, a, CHOICE);
	return CHOICE + mutate_cross(a + CHOICE, size_a - CHOICE, b + CHOICE, size_b - CHOICE, out + CHOICE,
	                             max_size - CHOICE, seed);
}
