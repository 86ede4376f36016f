/*
 * live.h - a running process as a source of a reader
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_LIVE_H
#define READER_LIVE_H

#include "reader.h"

/*
 * How long an event may be recorded before another process's event with an earlier time can be read. Between two
 * running processes the order of events that are closer is as they come.
 */
#define LIVE_SETTLES 2000000

/* Begins to record a process. Returns 0, or an error number with a message. */
int live_open(struct posixtrace_log *log, uint32_t pid, const struct posixtrace_log_recording *how,
              struct source **source);
void live_close(struct source *s);
/* Reads the event types that the process has named by now. Returns false if there is no memory. */
bool live_types(struct source *s);
/* Moves beyond the present event, to the next one if it is there; s->finished at the end. */
void live_look(struct source *s);
/* Returns whether the source has no event now, and may have one later. */
bool live_waits(const struct source *s);
/* Returns whether all events before this time are read or lost, as far as the source has been looked at. */
bool live_settled(const struct source *s, uint64_t time);
/* Returns whether that can be found out by a look now. */
bool live_settles(const struct source *s, uint64_t time);
/* Returns whether this process is a forked child, which cannot read the source. */
bool live_forked(const struct source *s);
/* Returns ns of CLOCK_MONOTONIC. */
int64_t live_clock(void);
/*
 * Sleeps until some of the reader's processes may have recorded an event, or the deadline in ns of CLOCK_MONOTONIC.
 * Returns 0, or EINTR with a message.
 */
int live_sleep(struct posixtrace_log *log, int64_t deadline);

#endif
