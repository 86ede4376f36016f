/*
 * record_rseq.c - what restartable sequences need to know of the C library and the processor
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/record_rseq.h"

#include "base/atomic.h"

#if HAVE_RSEQ

ptrdiff_t rseq_offset;
bool rseq_wide;

void rseq_prepare(void)
{
	rseq_wide = __builtin_cpu_supports("avx2");
	store_relaxed(&rseq_offset, rseq_find());
}

#endif
