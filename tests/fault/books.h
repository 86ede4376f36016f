/*
 * books.h - numbered events of many processes, of which some are killed: what kills.c and crowd.c have in common
 *
 * A *source* is a thread that numbers its events from 1 on, and stores in shared memory how far it has come.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BOOKS_H
#define BOOKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <trace.h>

#include "chance.h"
#include "test.h"

#define NUMBER_SIZE 240

/* An event's data. */
struct number {
	uint32_t stamp, source;
	uint64_t number;
	unsigned char filler[NUMBER_SIZE - 16];
};

/* Makes the event with this number, and returns its length. Length and bytes follow from stamp, source and number. */
size_t number_fill(struct number *n, uint32_t stamp, uint32_t source, uint64_t number);

/*
 * Makes source_settle() apply to this process. The store to `done` may still be in a store buffer when its source has
 * looked at the state of the stream for later events: the value that another processor reads may be some events old.
 * After source_settle() it is up to date.
 */
void source_visible(void);
void source_settle(void);

/* Maps a new file that all processes of the test share, or the file that exists. */
void *memory_map(const char *file, size_t size, bool create);

int64_t timespec_ns(const struct timespec *t);
/* Returns the time of CLOCK_REALTIME in this many microseconds. */
struct timespec time_in(int64_t us);

/* The index of a log (docs/log-format.md). */
struct log_index {
	uint64_t written, lost, discarded; /* events */
};

/* Reads INDEX and FOOTER. Returns false if the log has none. */
bool log_index_read(int fd, struct log_index *index);

#endif
