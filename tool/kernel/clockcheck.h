/*
 * clockcheck.h - how exact the times of perf events are, on the clock that this process reads
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_CLOCKCHECK_H
#define KERNEL_CLOCKCHECK_H

#include <stdbool.h>
#include <stdint.h>

struct clock_check {
	int64_t off;    /* ns, how far the kernel's time is before (negative) or after both readings; 0: between */
	uint64_t bound; /* the largest error that is possible: of `off`, and the time between the two readings */
};

/*
 * Has the kernel write records between two readings of the clock, and compares their times, with the offset added.
 * Returns false if there are no records. Of several tries the one with the smallest bound counts.
 */
bool clock_check(struct clock_check *c);

#endif
