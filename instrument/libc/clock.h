/*
 * clock.h - how long a call takes, with readings of the processor's counter
 *
 * A reading of the counter takes a third of the time of clock_gettime(), and each call needs two. Where the kernel does
 * not keep time by the counter, clock_gettime() is called.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CLOCK_H
#define CLOCK_H

#include "libc/libc.h"

#include <time.h>

/* Which clock there is: which one is found out at the first use. */
enum clock_kind {
	CLOCK_UNKNOWN,
	CLOCK_SYSTEM,
	CLOCK_COUNTER,
};

/* Set in a moment of CLOCK_MONOTONIC, so that a call has both of its moments from one clock. */
#define CLOCK_OF_SYSTEM (UINT64_C(1) << 63)

struct call_clock {
	uint32_t kind;
	uint64_t rate; /* nanoseconds of 2^32 ticks */
	uint64_t next; /* the ticks after which the rate is to be measured again */
};
extern struct call_clock call_clock __attribute__((__visibility__("hidden")));

/* Finds out which clock there is, if that is not known yet. Returns the present moment. Keeps errno. */
uint64_t clock_other(void);
/* Measures the rate again. */
void clock_measure(void);
/* Tells the clock that this process is a forked child. */
void clock_in_child(void);

static inline uint64_t clock_system(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Returns the present moment; never 0. */
static inline __attribute__((__always_inline__)) uint64_t clock_now(void)
{
#if defined __x86_64__
	if (LIKELY(__atomic_load_n(&call_clock.kind, __ATOMIC_ACQUIRE) == CLOCK_COUNTER))
		return __builtin_ia32_rdtsc();
#endif
	return clock_other();
}

/* Returns the nanoseconds since a moment. */
static inline __attribute__((__always_inline__)) uint64_t clock_took(uint64_t began)
{
#if defined __x86_64__
	if (LIKELY(!(began & CLOCK_OF_SYSTEM))) {
		uint64_t now = __builtin_ia32_rdtsc();

		if (UNLIKELY(now >= __atomic_load_n(&call_clock.next, __ATOMIC_RELAXED)))
			clock_measure();
		/* Processors agree about the counter, but not to the last tick. */
		return LIKELY(now > began) ? (uint64_t)((unsigned __int128)(now - began) *
		                                        __atomic_load_n(&call_clock.rate, __ATOMIC_RELAXED) >> 32)
		                           : 0;
	}
#endif
	return clock_system() - (began & ~CLOCK_OF_SYSTEM);
}

#endif
