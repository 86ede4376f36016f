/*
 * input.h - a fuzzer's input, from which numbers are taken until nothing is left
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

static const uint8_t *input;
static size_t left;

/* Takes a number of this many bytes, or of the bytes that are left. */
static uint64_t take(unsigned bytes)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < bytes && left > 0; i++, left--)
		n |= (uint64_t)*input++ << 8 * i;
	return n;
}

#endif
