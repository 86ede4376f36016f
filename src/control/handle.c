/*
 * handle.c - finds the stream of a trace_id_t, in this process only
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/handle.h"

#include <string.h>
#include <time.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/ticks.h"

/* Slots for active streams, then as many slots for opened logs: neither kind uses up the other's slots. */
#define HANDLES (2 * TRACE_SYS_MAX)

/* A trace_id_t has the identifier's number in the high bits, and the slot in the table + 1 in the low bits. */
#define SLOT_BITS 12
#define SLOT_MASK ((1u << SLOT_BITS) - 1)

_Static_assert(HANDLES < SLOT_MASK, "a place and one");

/* How often handle_end() wakes sleeping readers until they have returned. */
#define END_SLICE_NS 10000000

/* How long exit() waits for the table, in ms. */
#define EXIT_TRIES 100

struct table {
	pthread_mutex_t lock; /* zeroed memory is an unlocked mutex, see the assert in handle_table_lock() */
	uint32_t last_number;
	uint32_t ended; /* rises when a call in progress ends; handle_end() sleeps on this word */
	int streams;    /* slots for active streams that were ever used; reading later slots would allocate memory */
	struct handle handle[HANDLES];
};

static struct table *table;

static struct table *table_get(void)
{
	struct table *t = load_acquire(&table), *none = NULL; /* PAIR(table) */

	if (t)
		return t;
	t = sys_map(sizeof *t, -1, 1);
	if (!t)
		return NULL;
	if (sys_wipe_on_fork(t, sizeof *t) < 0 || !cas(&table, &none, t)) { /* PAIR(table) */
		sys_unmap(t, sizeof *t);
		return none;
	}
	return t;
}

struct handle *handle_table_lock(void)
{
	struct table *t = table_get();

	if (!t)
		return NULL;
	pthread_mutex_lock(&t->lock);
	if (t->last_number == 0) {
		/* Numbers start differently in each process, so a forked child does not repeat its parent's. */
		uint64_t seed = (uint64_t)clock_ns(CLOCK_MONOTONIC) * 2654435761u ^ (uint64_t)sys_getpid() << 16;

		t->last_number = (uint32_t)(seed >> 8) | 1;
	}
	return t->handle;
}

void handle_table_unlock(void)
{
	pthread_mutex_unlock(&table->lock);
}

struct handle *handle_new(enum handle_kind kind)
{
	int first = kind == HANDLE_RECORDED ? TRACE_SYS_MAX : 0;

	for (int i = first; i < first + TRACE_SYS_MAX; i++) {
		struct handle *h = &table->handle[i];

		if (load_relaxed(&h->number))
			continue;
		/* A call with an old identifier may use the slot for a moment. */
		while (load_acquire(&h->users) || load_acquire(&h->lock.held)) /* PAIR(users), PAIR(latch) */
			spin_pause();
		if (i >= table->streams && kind == HANDLE_ACTIVE)
			store_relaxed(&table->streams, i + 1);
		return h;
	}
	return NULL;
}

trace_id_t handle_publish(struct handle *h)
{
	if (++table->last_number == 0)
		++table->last_number;
	store_release(&h->number, table->last_number); /* PAIR(handle) */
	return (trace_id_t)h->number << SLOT_BITS | (trace_id_t)(h - table->handle + 1);
}

static struct handle *slot_of(trace_id_t trid)
{
	struct table *t = load_acquire(&table); /* PAIR(table) */
	unsigned i = (unsigned)(trid & SLOT_MASK);

	return t && i >= 1 && i <= HANDLES && trid >> (32 + SLOT_BITS) == 0 ? &t->handle[i - 1] : NULL;
}

/*
 * Returns true if the handle has this identifier and kind and is not being shut
 * down. Loads dying before number; handle_free() stores number before dying. So
 * a load that sees dying cleared is followed by a load that sees number cleared.
 */
static bool is(const struct handle *h, trace_id_t trid, enum handle_kind kind)
{
	uint32_t number = (uint32_t)(trid >> SLOT_BITS);

	return !load_acquire(&h->dying) && number && /* PAIR(dying) */
	       load_acquire(&h->number) == number && /* PAIR(dying), PAIR(handle) */
	       kind & (h->input ? HANDLE_RECORDED : HANDLE_ACTIVE);
}

/*
 * Uses no lock: a caller increments users and then loads dying; handle_end()
 * stores dying and then loads users. At least one of the two sees the other's
 * store.
 */
struct handle *handle_get(trace_id_t trid, enum handle_kind kind)
{
	struct handle *h = slot_of(trid);

	/* Check before counting as well: calls on a dying handle must not keep handle_end() waiting. */
	if (!h || !is(h, trid, kind))
		return NULL;
	fetch_add(&h->users, 1);
	if (!is(h, trid, kind)) {
		handle_put(h);
		return NULL;
	}
	if (h->target.shm_dir.guarded)
		guard_renew();
	return h;
}

struct handle *handle_enter(trace_id_t trid, enum handle_kind kind)
{
	struct handle *h = slot_of(trid);

	/* Check before locking as well: a call with an old identifier should not wait for calls with the new one. */
	if (!h || !is(h, trid, kind))
		return NULL;
	latch_acquire(&h->lock);
	if (!is(h, trid, kind)) {
		latch_release(&h->lock);
		return NULL;
	}
	if (h->target.shm_dir.guarded)
		guard_renew();
	return h;
}

void handle_leave(struct handle *h)
{
	latch_release(&h->lock);
}

void handle_keep(struct handle *h)
{
	fetch_add(&h->users, 1);
	latch_release(&h->lock);
}

void handle_put(struct handle *h)
{
	fetch_add(&h->users, -1); /* PAIR(users) */
	/* The slot may have a new stream by now. Then the wake-up is not needed, but does no harm. */
	if (load_relaxed(&h->dying)) {
		fetch_add(&table->ended, 1);
		sys_futex_wake(&table->ended);
	}
}

struct handle *handle_end(trace_id_t trid, enum handle_kind kind)
{
	struct handle *h = slot_of(trid);
	struct timespec slice;
	uint32_t ended;
	int64_t end;

	if (!h)
		return NULL;
	/* Of two threads that end the identifier, only one succeeds. */
	pthread_mutex_lock(&table->lock);
	if (is(h, trid, kind))
		exchange(&h->dying, 1); /* PAIR(dying) */
	else
		h = NULL;
	pthread_mutex_unlock(&table->lock);
	TEST_POINT("shutdown_dying");
	/* A caller that holds the lock will leave or become a user; a caller that locks from now on sees dying. */
	if (h) {
		latch_acquire(&h->lock);
		latch_release(&h->lock);
	}
	for (;;) {
		ended = load_relaxed(&table->ended);
		if (!h || !load_acquire(&h->users)) /* PAIR(users) */
			return h;
		/* Wake sleeping readers: wakeups has changed, and each reader sees dying. */
		if (!h->input) {
			fetch_add(&h->stream.header->wakeups, 1);
			sys_futex_wake(&h->stream.header->wakeups);
		}
		/* Sleep in slices: a process that can write to wakeups may keep the reader asleep. */
		end = clock_ns(CLOCK_REALTIME) + END_SLICE_NS;
		slice = (struct timespec){ end / NS_PER_S, end % NS_PER_S };
		sys_futex_wait(&table->ended, ended, &slice);
	}
}

void handle_free(struct handle *h)
{
	/* Leave users as it is: a call with the old identifier may have just incremented it. */
	store_release(&h->number, 0); /* PAIR(dying) */
	/* handle_put() may still load dying, so it is not part of the memset(). */
	store_relaxed(&h->dying, 0);
	memset((char *)&h->dying + sizeof h->dying, 0, sizeof *h - offsetof(struct handle, dying) - sizeof h->dying);
}

void handle_end_all(void (*f)(struct handle *))
{
	bool locked = false;

	if (!load_acquire(&table)) /* PAIR(table) */
		return;
	/* The lock may be held by a thread that exit() has interrupted, so the wait is limited. */
	for (int i = 0; i < EXIT_TRIES && !(locked = pthread_mutex_trylock(&table->lock) == 0); i++)
		sys_sleep_ns(1000000);
	for (int i = 0, end = load_relaxed(&table->streams); i < end; i++) {
		struct handle *h = &table->handle[i];

		/* A stream that is being shut down is left to the thread that does so. */
		if (h->number && !h->dying && !h->input) {
			store_relaxed(&h->dying, 1);
			f(h);
		}
	}
	if (locked)
		pthread_mutex_unlock(&table->lock);
}
