/*
 * logcopy.h - copies the events of a log into a new log, all of them or those of a period
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOGCOPY_H
#define LOGCOPY_H

#include <stdint.h>

struct logcopy {
	int from; /* a log that nothing is written to; it may be incomplete */
	const char *path; /* the new file is FILE.N of this FILE */
	unsigned number; /* N to begin with: the first one that no file has is taken. Result: the one taken */
	const char *copy; /* temporary name, if the file system needs one: see newlog_make() */
	uint64_t begin, end; /* period to copy; 0, UINT64_MAX: everything */
	uint64_t lost; /* number of events that the stream lost */
	uint64_t left_out; /* number of events that --where did not select */
	/* Results: */
	int made; /* the new file, to be closed by the caller; -1: none */
	uint64_t events, bytes;
	uint64_t first, last; /* times of the first and the last event of the whole log; 0: no events */
};

/* Returns 0 or an error number; then there is no new file. EINVAL: `from` is not a log. */
int logcopy(struct logcopy *c);

#endif
