/*
 * functions.h - the settings of record --functions, and its event types
 *
 * The hooks of the compiler, of XRay, and of longjmp() all end in shadow.h, which records.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <posixtrace/trace.h>

#define EXPORT __attribute__((visibility("default")))
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Keeps the compiler from moving memory accesses: a signal handler of this thread sees them in order. */
#define fence_signal() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* Set by `posixtrace record` in environment variables. */
struct settings {
	const char *only; /* POSIXTRACE_FUNCTIONS: patterns of names; null: all functions */
	const char *in;   /* POSIXTRACE_FUNCTIONS_IN: only within functions of such names; null: everywhere */
	uint32_t depth;   /* POSIXTRACE_FUNCTIONS_DEPTH: most levels; UINT32_MAX: no limit */
	uint64_t longer;  /* POSIXTRACE_FUNCTIONS_LONGER_THAN: ns; 0: all */
	bool any;         /* Any of them is set, so the fast path is not used. */
};

extern struct settings settings;

#endif
