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

/* Slots for active streams, then as many slots for opened logs: neither kind uses up the other's slots. */
#define HANDLES (2 * TRACE_SYS_MAX)

/* A trace_id_t has the identifier's number in the high bits, and the slot in the table + 1 in the low bits. */
#define HANDLE_SLOT_BITS 12
#define HANDLE_SLOT_MASK ((1u << HANDLE_SLOT_BITS) - 1)

_Static_assert(HANDLES < HANDLE_SLOT_MASK, "a place and one");

struct handle_table {
	pthread_mutex_t lock; /* zeroed memory is an unlocked mutex, see the assert in handle_table_lock() */
	uint32_t last_number;
	uint32_t ended; /* rises when a call in progress ends; handle_end() sleeps on this word */
	int streams;    /* slots for active streams that were ever used; reading later slots would allocate memory */
	struct handle handle[HANDLES];
};

/* Null until it is needed. For handle.c, and the functions below that have no time for a call. */
extern struct handle_table *handle_table;

/*
 * Locks the table, so that one thread at a time creates or shuts down. Returns the table's handles, or null if there is
 * no memory.
 */
struct handle *handle_table_lock(void);
void handle_table_unlock(void);
enum handle_kind { HANDLE_ACTIVE = 1, HANDLE_RECORDED = 2, HANDLE_ANY = 3 };

/* Returns the slot that an identifier names, or null if there is no such slot. */
static inline struct handle *handle_slot(trace_id_t trid)
{
	struct handle_table *t = load_acquire(&handle_table); /* PAIR(table) */
	unsigned i = (unsigned)(trid & HANDLE_SLOT_MASK);

	return t && i >= 1 && i <= HANDLES && trid >> (32 + HANDLE_SLOT_BITS) == 0 ? &t->handle[i - 1] : NULL;
}

/*
 * Returns true if the handle has this identifier and kind and is not being shut
 * down. Loads dying before number; handle_free() stores number before dying. So
 * a load that sees dying cleared is followed by a load that sees number cleared.
 */
static inline bool handle_is(const struct handle *h, trace_id_t trid, enum handle_kind kind)
{
	uint32_t number = (uint32_t)(trid >> HANDLE_SLOT_BITS);

	return !load_acquire(&h->dying) && number && /* PAIR(dying) */
	       load_acquire(&h->number) == number && /* PAIR(dying), PAIR(handle) */
	       kind & (h->input ? HANDLE_RECORDED : HANDLE_ACTIVE);
}

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
/* Does handle_enter() for a log, without a call and without waiting. After null, call handle_enter(). */
static inline struct handle *handle_try_enter(trace_id_t trid)
{
	struct handle *h = handle_slot(trid);

	if (!h || load_relaxed(&h->number) != (uint32_t)(trid >> HANDLE_SLOT_BITS) || !latch_try(&h->lock))
		return NULL;
	if (handle_is(h, trid, HANDLE_RECORDED))
		return h;
	latch_release(&h->lock);
	return NULL;
}
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
