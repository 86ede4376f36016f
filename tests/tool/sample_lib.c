/*
 * sample_lib.c - a library that sample_target loads and unloads
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>

void lib_spin(volatile uint64_t *sink, unsigned turns);
void lib_spin(volatile uint64_t *sink, unsigned turns)
{
	for (unsigned i = 0; i < turns; i++)
		*sink += i;
}
