/*
 * clocks.h - the machine's clocks at one moment, for a frame CLOCK
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_CLOCKS_H
#define LOG_CLOCKS_H

#include <stdint.h>

#include "log/format.h"

/*
 * Stores what adjtimex() says: known, state, status, offset, frequency and the errors. The library itself never calls
 * it, because a seccomp filter for services may end a process that does; the command may.
 */
typedef void (*clocks_ask)(struct clock_layout *clock);

/* When the last frame was written. */
struct clocks {
	int64_t monotonic;  /* ns of CLOCK_MONOTONIC */
	int64_t difference; /* CLOCK_REALTIME - CLOCK_MONOTONIC, ns */
};

/* Returns why a frame CLOCK is due, or CLOCK_NONE. */
enum clock_reason clocks_due(const struct clocks *c);
/* Reads the clocks. ask may be null. Makes the body of a frame, and notes the time. */
void clocks_read(struct clocks *c, enum clock_reason reason, clocks_ask ask, unsigned char body[CLOCK_BYTES]);

#endif
