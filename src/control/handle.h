/*
 * handle.h - trace_id_t to stream, for this process only
 *
 * The table lies in memory that a forked child finds zeroed, so that the
 * parent's identifiers mean nothing there (CREATE-15). An identifier is a slot
 * and a number that is never used again, so one that was shut down is known
 * as such.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_HANDLE_H
#define CONTROL_HANDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#include "base/latch.h"
#include "control/target.h"
#include "read/live.h"
#include "record/self.h"
#include "shm/stream.h"

struct handle {
	uint32_t number; /* 0: free */
	uint32_t users;  /* calls in progress */
	struct latch lock; /* for everything below */
	uint32_t dying;  /* being shut down: calls in progress return EINVAL */

	struct target target;
	struct hold hold; /* while it is held the stream exists */
	struct stream stream;
	struct live live;
	uint64_t *wanted; /* one for each chunk, see quiesce */
	struct flusher *flusher; /* null: there is no log */
	struct input *input;     /* a pre-recorded stream: this is all there is, and attr */
	struct page_entry entry; /* its name */
	int slot;                /* in the process page */
	struct attr attr;  /* with the creation time */
	int64_t real_time; /* CLOCK_REALTIME - CLOCK_MONOTONIC at creation, ns */
	unsigned type_next; /* position in the event type list */
};

/* One at a time creates or shuts down. NULL: no memory. */
struct handle *handle_table_lock(void);
void handle_table_unlock(void);
/* With the table locked: a free one, or null. */
struct handle *handle_new(void);
trace_id_t handle_publish(struct handle *h);

enum handle_kind { HANDLE_ACTIVE = 1, HANDLE_RECORDED = 2, HANDLE_ANY = 3 };

/* The handle of a stream of this process, of this kind, kept until handle_put(). Null: there is none. */
struct handle *handle_get(trace_id_t trid, enum handle_kind kind);
void handle_put(struct handle *h);
/*
 * The same for a call that holds the lock from beginning to end: handle_get(), and the lock, in one
 * instruction instead of three. handle_keep() makes of it what handle_get() gives.
 */
struct handle *handle_enter(trace_id_t trid, enum handle_kind kind);
void handle_leave(struct handle *h);
void handle_keep(struct handle *h);
/* Ends the identifier; from now on there is no other call on it. Null: there is none. */
struct handle *handle_end(trace_id_t trid, enum handle_kind kind);
/* With the table locked. */
void handle_free(struct handle *h);
/* At exit: ends all active streams' identifiers, and calls f for each. Does not wait for calls in progress, nor for ever for a lock. */
void handle_end_all(void (*f)(struct handle *));

/* False: its memory was taken away by the traced process (guard.h). */
static inline bool handle_works(const struct handle *h)
{
	return h->input || !guard_broken(h->stream.header);
}

/* For functions that return an error number: gets, locks, calls. */
#define HANDLE_CALL(trid, kind, call)                    \
	({                                               \
		struct handle *h = handle_get(trid, kind); \
		int error_ = EINVAL;                     \
		if (h) {                                 \
			latch_take(&h->lock);            \
			error_ = handle_works(h) ? (call) : EINVAL; \
			latch_release(&h->lock);         \
			handle_put(h);                   \
		}                                        \
		error_;                                  \
	})

#endif
