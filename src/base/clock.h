/*
 * clock.h - the system's clocks, in nanoseconds
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000ll

static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

#endif
