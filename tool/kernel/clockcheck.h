/*
 * clockcheck.h - is CLOCK_MONOTONIC of perf events the one that this process reads?
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_CLOCKCHECK_H
#define KERNEL_CLOCKCHECK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Makes the kernel write a record between two readings of the clock. Returns by how many ns its time is before the
 * first (negative) or after the second reading, or 0 if it is between them. *known: false if there was no record.
 */
int64_t clockcheck(bool *known);

#endif
