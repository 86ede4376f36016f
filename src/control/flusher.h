/*
 * flusher.h - the thread that writes a stream's log
 *
 * One for each stream with a log, of the stream's creator, with all signals
 * blocked: what a broken pipe or a limit of file sizes sends goes to the thread that writes, and
 * stays with it. The thread has a table of descriptors of its own, with one in it, the log: so
 * the application does not see it, cannot close it, and does not pass it on (H27).
 *
 *                    ask (a call)                 a chunk is full, or a second is over (stream policy FLUSH)
 *      IDLE -----------------------------> FLUSHING <--------------------------------------------- IDLE
 *        ^                                   |
 *        +-----------------------------------+  written (the flusher)
 *
 * One question at a time: who asks holds flusher.asking until it is answered.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_FLUSHER_H
#define CONTROL_FLUSHER_H

#include <pthread.h>

#include "control/flush.h"

enum flusher_question {
	FLUSHER_FLUSH,
	FLUSHER_PAUSE,
	FLUSHER_CLEAR,
	FLUSHER_DESCRIBE,
	FLUSHER_END,
};

struct flusher {
	struct flush flush;
	struct log_header header;
	struct log_state *own_state; /* not in shared memory: the traced process could write there */
	size_t own_size;
	pthread_t thread;
	pthread_mutex_t asking;
	uint32_t asked, answered; /* both rise by one with each question */
	enum flusher_question question;
	struct event caller; /* of the flush that is asked for; one that the flusher is at by itself is nobody's */
	int answer;          /* an error number */
	int64_t last;        /* end of the last flush, ns of CLOCK_MONOTONIC */
	bool failed;         /* that one */
	bool paused;
};

/*
 * Begins a log for a stream that nobody traces to yet. fd remains the application's. 0 or an
 * error number: ENOSPC, EFBIG, EAGAIN (no thread), ENOMEM, ...
 */
int flusher_start(struct handle *h, int fd, bool seeks);
/* 0 or the error number of this flush. caller: as the origin of an event. */
int flusher_flush(struct handle *h, const struct event *caller);
/* What the traced process executes now goes into the log, if it is not there: it may have executed another file. 0 or an error number. */
int flusher_describe(struct handle *h);
/* Around posix_trace_clear(): nothing is taken or written between the two; then the log begins anew. With the handle not locked, and locked. */
void flusher_pause(struct handle *h);
int flusher_clear(struct handle *h);
/* All is written, the log is complete, there is no flusher any more. */
int flusher_end(struct handle *h);
/* The same at exit, but for the memory; it waits for the log, not for ever for another who asks. False: so the log is not complete. */
bool flusher_try_end(struct handle *h);

#endif
