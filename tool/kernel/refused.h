/*
 * refused.h - why the kernel refuses perf events, and what to do about it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_REFUSED_H
#define KERNEL_REFUSED_H

struct points;

#define REFUSED_SIZE 200

struct refused {
	char why[REFUSED_SIZE];
	const char *remedy; /* what to do; null: nothing is known */
};

/* Explains the error with which perf_event_open() refuses even events of the own process's own code. */
void refused_all(struct refused *r, int error);
/* Returns what a user who lacks some events of points_find() can do. */
const char *refused_some(const struct points *p);

#endif
