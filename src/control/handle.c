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

/* How often handle_end() wakes sleeping readers until they have returned. */
#define END_SLICE_NS 10000000

/* How long exit() waits for the table, in ms. */
#define EXIT_TRIES 100

struct handle_table *handle_table;

static struct handle_table *table_get(void)
{
	struct handle_table *t = load_acquire(&handle_table), *none = NULL; /* PAIR(table) */

	if (t)
		return t;
	t = sys_map(sizeof *t, -1, 1);
	if (!t)
		return NULL;
	if (sys_wipe_on_fork(t, sizeof *t) < 0 || !cas(&handle_table, &none, t)) { /* PAIR(table) */
		sys_unmap(t, sizeof *t);
		return none;
	}
	return t;
}

struct handle *handle_table_lock(void)
{
	struct handle_table *t = table_get();

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
	pthread_mutex_unlock(&handle_table->lock);
}

struct handle *handle_new(enum handle_kind kind)
{
	int first = kind == HANDLE_RECORDED ? TRACE_SYS_MAX : 0;

	for (int i = first; i < first + TRACE_SYS_MAX; i++) {
		struct handle *h = &handle_table->handle[i];

		if (load_relaxed(&h->number))
			continue;
		/* A call with an old identifier may use the slot for a moment. */
		while (load_acquire(&h->users) || load_acquire(&h->lock.held)) /* PAIR(users), PAIR(latch) */
			spin_pause();
		if (i >= handle_table->streams && kind == HANDLE_ACTIVE)
			store_relaxed(&handle_table->streams, i + 1);
		return h;
	}
	return NULL;
}

trace_id_t handle_publish(struct handle *h)
{
	if (++handle_table->last_number == 0)
		++handle_table->last_number;
	store_release(&h->number, handle_table->last_number); /* PAIR(handle) */
	return (trace_id_t)h->number << HANDLE_SLOT_BITS | (trace_id_t)(h - handle_table->handle + 1);
}

/*
 * Uses no lock: a caller increments users and then loads dying; handle_end()
 * stores dying and then loads users. At least one of the two sees the other's
 * store.
 */
struct handle *handle_get(trace_id_t trid, enum handle_kind kind)
{
	struct handle *h = handle_slot(trid);

	/* Check before counting as well: calls on a dying handle must not keep handle_end() waiting. */
	if (!h || !handle_is(h, trid, kind))
		return NULL;
	fetch_add(&h->users, 1);
	if (!handle_is(h, trid, kind)) {
		handle_put(h);
		return NULL;
	}
	if (h->target.shm_dir.guarded)
		guard_renew();
	return h;
}

struct handle *handle_enter(trace_id_t trid, enum handle_kind kind)
{
	struct handle *h = handle_slot(trid);

	/* Check before locking as well: a call with an old identifier should not wait for calls with the new one. */
	if (!h || !handle_is(h, trid, kind))
		return NULL;
	latch_acquire(&h->lock);
	if (!handle_is(h, trid, kind)) {
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
		fetch_add(&handle_table->ended, 1);
		sys_futex_wake(&handle_table->ended);
	}
}

struct handle *handle_end(trace_id_t trid, enum handle_kind kind)
{
	struct handle *h = handle_slot(trid);
	struct timespec slice;
	uint32_t ended;
	int64_t end;

	if (!h)
		return NULL;
	/* Of two threads that end the identifier, only one succeeds. */
	pthread_mutex_lock(&handle_table->lock);
	if (handle_is(h, trid, kind))
		exchange(&h->dying, 1); /* PAIR(dying) */
	else
		h = NULL;
	pthread_mutex_unlock(&handle_table->lock);
	TEST_POINT("shutdown_dying");
	/* A caller that holds the lock will leave or become a user; a caller that locks from now on sees dying. */
	if (h) {
		latch_acquire(&h->lock);
		latch_release(&h->lock);
	}
	for (;;) {
		ended = load_relaxed(&handle_table->ended);
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
		sys_futex_wait(&handle_table->ended, ended, &slice);
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

	if (!load_acquire(&handle_table)) /* PAIR(table) */
		return;
	/* The lock may be held by a thread that exit() has interrupted, so the wait is limited. */
	for (int i = 0; i < EXIT_TRIES && !(locked = pthread_mutex_trylock(&handle_table->lock) == 0); i++)
		sys_sleep_ns(1000000);
	for (int i = 0, end = load_relaxed(&handle_table->streams); i < end; i++) {
		struct handle *h = &handle_table->handle[i];

		/* A stream that is being shut down is left to the thread that does so. */
		if (h->number && !h->dying && !h->input) {
			store_relaxed(&h->dying, 1);
			f(h);
		}
	}
	if (locked)
		pthread_mutex_unlock(&handle_table->lock);
}
