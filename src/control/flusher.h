/*
 * flusher.h - the thread that writes a stream's log
 *
 * The creator of a stream with a log has one flusher for the stream. All signals are blocked in the flusher: SIGPIPE
 * and SIGXFSZ go to the thread that writes, and stay pending there. The flusher has its own table of descriptors,
 * with the log as the only entry: the application does not see the descriptor, cannot close it, and does not pass it
 * on (H27).
 *
 *                    ask (a call)                 a chunk is full, or the period is over (stream policy FLUSH)
 *      IDLE -----------------------------> FLUSHING <--------------------------------------------- IDLE
 *        ^                                   |
 *        +-----------------------------------+  written (the flusher)
 *
 * A process ends with its last thread, as if by exit(0). While a flusher runs, no thread of the application is the
 * last thread for the C library. So the flusher checks once a second whether a thread of the application is left; if
 * not, the keeper calls exit(0). The keeper is a second thread that only sleeps. It shares the application's table of
 * descriptors, which would otherwise be closed with the application's last thread.
 *
 * The flusher answers one question at a time: a caller holds flusher.asking until the answer.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_FLUSHER_H
#define CONTROL_FLUSHER_H

#include <pthread.h>
#include <signal.h>

#include "control/flush.h"

enum flusher_question {
	FLUSHER_FLUSH,
	FLUSHER_PAUSE,
	FLUSHER_CLEAR,
	FLUSHER_DESCRIBE,
	FLUSHER_FILTER,
	FLUSHER_LABELS,
	FLUSHER_END,
};

struct flusher {
	struct flush flush;
	struct log_header header;
	struct labels labels;
	struct log_state *own_state; /* private memory, if the traced process must not write to the state; or null */
	size_t own_size;
	pthread_t thread;
	pthread_t keeper;
	uint32_t keeper_ends; /* enum keeper_end; the keeper sleeps on it while it is 0 */
	sigset_t signals;     /* of the thread that created the log, for the keeper's exit() */
	pthread_mutex_t asking;
	uint32_t asked, answered; /* both rise by one with each question */
	enum flusher_question question;
	struct event caller;    /* origin of the requested flush; an unasked flush has no origin */
	struct flush_filter *filter; /* of FLUSHER_FILTER */
	int answer;             /* an error number */
	int64_t last;           /* end of the last flush, ns of CLOCK_MONOTONIC */
	int64_t looked;         /* last check for the application's threads, ns of CLOCK_MONOTONIC */
	bool failed;            /* the last flush has failed */
	bool reported;          /* the log says that events wait to be written */
	struct output_end *sum; /* result of FLUSHER_END for the caller; null: not wanted */
	bool paused;
};

/*
 * Begins the log of a stream in which no process records yet. fd remains the application's. Returns 0 or an
 * error number: ENOSPC, EFBIG, EAGAIN (no thread), ENOMEM, ...
 */
int flusher_start(struct handle *h, int fd, bool seeks);
/* Flushes the stream. Returns 0 or the error number of this flush. caller: origin of the flush's events. */
int flusher_flush(struct handle *h, const struct event *caller);
/*
 * Writes the traced process's present mappings to the log if they have changed: the process may have executed another
 * file. Returns 0 or an error number.
 */
int flusher_describe(struct handle *h);
/*
 * Lets a filter decide from now on which events go into the log. The stream has not been started yet. The filter must
 * stay until the flusher has ended.
 */
void flusher_filter(struct handle *h, struct flush_filter *filter);
/*
 * Adds labels, "version=1.2", to the log. ask_clock: asks adjtimex() for each frame CLOCK from now on; may be null.
 * Returns 0 or an error number, EINVAL if a label is wrong.
 */
int flusher_labels(struct handle *h, const char *const *list, size_t count, clocks_ask ask_clock);
/*
 * Enclose posix_trace_clear(): between the two calls nothing is consumed or written. flusher_pause() is called with the
 * handle unlocked; flusher_clear() with the handle locked. flusher_clear() begins the log anew and returns 0 or an
 * error number. lost_base: as in struct log_position.
 */
void flusher_pause(struct handle *h);
int flusher_clear(struct handle *h, uint64_t lost_base);
/*
 * Writes all events, completes the log and ends the flusher. Returns 0 or an error number. sum, if not null, receives
 * the counts of missing events, whether or not they could be written to the log.
 */
int flusher_end(struct handle *h, struct output_end *sum);
/*
 * Does the same at exit, but frees no memory, and waits only a limited time for another caller's question. Returns
 * false if the wait was too long, so that the log is incomplete.
 */
bool flusher_try_end(struct handle *h);

#endif
