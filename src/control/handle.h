/*
 * handle.h - finds the stream of a trace_id_t, in this process only
 *
 * The table lies in memory that a forked child finds zeroed, so that the
 * parent's identifiers mean nothing there (CREATE-15). An identifier is a slot
 * and a number that is never used again, so the identifier of a stream that was
 * shut down stays invalid.
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
	uint32_t number;   /* 0: free */
	uint32_t users;    /* calls in progress */
	struct latch lock; /* for everything below */
	uint32_t dying;    /* being shut down: calls in progress return EINVAL */

	struct target target;
	struct hold hold; /* keeps the stream's file in existence */
	struct stream stream;
	struct live live;
	uint64_t *wanted;        /* one word for each chunk, see quiesce() */
	struct flusher *flusher; /* null: the stream has no log */
	struct input *input;     /* null: an active stream; a pre-recorded stream uses only input, attr and type_next */
	struct page_entry entry; /* the stream's name */
	int slot;                /* in the process page */
	struct attr attr;        /* with the creation time */
	int64_t real_time;       /* CLOCK_REALTIME - CLOCK_MONOTONIC at creation, ns */
	unsigned type_next;      /* position in the event type list */
};

/*
 * Locks the table, so that one thread at a time creates or shuts down. Returns the table's handles, or null if there is
 * no memory.
 */
struct handle *handle_table_lock(void);
void handle_table_unlock(void);
enum handle_kind { HANDLE_ACTIVE = 1, HANDLE_RECORDED = 2, HANDLE_ANY = 3 };

/*
 * Returns a free handle for an active stream or an opened log, or null if all TRACE_SYS_MAX handles of the kind are in
 * use. The caller has locked the table.
 */
struct handle *handle_new(enum handle_kind kind);
trace_id_t handle_publish(struct handle *h);

/*
 * Returns the handle of a stream of this process and of this kind, or null if there is none. The handle is kept until
 * handle_put().
 */
struct handle *handle_get(trace_id_t trid, enum handle_kind kind);
void handle_put(struct handle *h);
/*
 * Gets and locks a handle until handle_leave(), for a call that holds the lock from beginning to end: one atomic
 * instruction instead of three. Returns null if there is no handle. handle_keep() unlocks the handle and keeps it
 * until handle_put().
 */
struct handle *handle_enter(trace_id_t trid, enum handle_kind kind);
void handle_leave(struct handle *h);
void handle_keep(struct handle *h);
/*
 * Ends the identifier, and waits until no other call uses the handle. Returns the handle, or null if there is none.
 */
struct handle *handle_end(trace_id_t trid, enum handle_kind kind);
/* Frees the handle's slot. The caller has locked the table. */
void handle_free(struct handle *h);
/*
 * Ends all active streams' identifiers at exit, and calls f for each. Does not wait for calls in progress, and waits
 * only a limited time for the table's lock.
 */
void handle_end_all(void (*f)(struct handle *));

/* Returns false if the traced process has taken the stream's memory away (guard.h). */
static inline bool handle_works(const struct handle *h)
{
	return h->input || !guard_broken(h->stream.header);
}

/* Gets and locks a handle, evaluates call, and gives its error number. */
#define HANDLE_CALL(trid, kind, call)                    \
	({                                               \
		struct handle *h = handle_get(trid, kind); \
		int error_ = EINVAL;                     \
		if (h) {                                 \
			latch_acquire(&h->lock);            \
			error_ = handle_works(h) ? (call) : EINVAL; \
			latch_release(&h->lock);         \
			handle_put(h);                   \
		}                                        \
		error_;                                  \
	})

#endif
