/*
 * logcopy.h - a log of its own with the events of another one, of all times or of some
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOGCOPY_H
#define LOGCOPY_H

#include <stdint.h>

struct logcopy {
	int from; /* a log that is not written meanwhile; it need not be complete */
	const char *to; /* a new file */
	const char *meanwhile; /* its name until it is complete, where nothing may be */
	uint64_t begin, end; /* times; 0, UINT64_MAX: all */
	uint64_t lost; /* what the stream has lost */
	/* Results: */
	const char *trouble; /* which of the two names an error is about */
	uint64_t events, bytes;
	uint64_t first, last; /* times of events, in all of the log; 0: there are none */
};

/* 0 or an error number; then there is no new file. -EINVAL: that is no log. */
int logcopy(struct logcopy *c);

#endif
