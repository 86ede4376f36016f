/*
 * stretch.c - what stretches need to know of the C library and the processor
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/stretch.h"

#include "base/atomic.h"

#if RESTART

ptrdiff_t stretch_offset;
bool stretch_wide;

void stretch_prepare(void)
{
	stretch_wide = __builtin_cpu_supports("avx");
	store_relaxed(&stretch_offset, restart_find());
}

#endif
