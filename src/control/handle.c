/*
 * handle.c - trace_id_t to stream, for this process only
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

#define HANDLES TRACE_SYS_MAX

/* How often those that sleep are woken until they have come out. */
#define END_SLICE_NS 10000000

/* How long exit() waits for the table, in ms. */
#define EXIT_TRIES 100

struct table {
	pthread_mutex_t lock; /* zeroed memory is an unlocked mutex, see the assert in handle_table_lock() */
	uint32_t last_number;
	uint32_t ended; /* rises when a call in progress ends; what handle_end() sleeps on */
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
		/* Begins somewhere else in each process, so that a forked child does not give out its parent's identifiers. */
		uint64_t seed = (uint64_t)clock_ns(CLOCK_MONOTONIC) * 2654435761u ^ (uint64_t)sys_getpid() << 16;

		t->last_number = (uint32_t)(seed >> 8) | 1;
	}
	return t->handle;
}

void handle_table_unlock(void)
{
	pthread_mutex_unlock(&table->lock);
}

struct handle *handle_new(void)
{
	for (int i = 0; i < HANDLES; i++) {
		struct handle *h = &table->handle[i];

		if (load_relaxed(&h->number))
			continue;
		/* Somebody with an old identifier may be looking, for a moment. */
		while (load_acquire(&h->users) || load_acquire(&h->lock.held)) /* PAIR(users), PAIR(latch) */
			spin_pause();
		return h;
	}
	return NULL;
}

trace_id_t handle_publish(struct handle *h)
{
	if (++table->last_number == 0)
		++table->last_number;
	store_release(&h->number, table->last_number); /* PAIR(handle) */
	return (trace_id_t)h->number << 8 | (trace_id_t)(h - table->handle + 1);
}

static struct handle *slot_of(trace_id_t trid)
{
	struct table *t = load_acquire(&table); /* PAIR(table) */
	unsigned i = (unsigned)(trid & 0xff);

	return t && i >= 1 && i <= HANDLES && trid >> 40 == 0 ? &t->handle[i - 1] : NULL;
}

/*
 * dying before the number: handle_free() clears them the other way round, so
 * that who sees the one cleared sees the other.
 */
static bool is(const struct handle *h, trace_id_t trid, enum handle_kind kind)
{
	uint32_t number = (uint32_t)(trid >> 8);

	return !load_acquire(&h->dying) && number && load_acquire(&h->number) == number && /* PAIR(dying), PAIR(handle) */
	       kind & (h->input ? HANDLE_RECORDED : HANDLE_ACTIVE);
}

/*
 * Without a lock: who gets a handle counts itself and then looks whether it is
 * dying; who ends it says that and then looks for users. One of the two sees the
 * other.
 */
struct handle *handle_get(trace_id_t trid, enum handle_kind kind)
{
	struct handle *h = slot_of(trid);

	/* Looked at before too: those that come when it is dying must not keep who waits for the last user waiting. */
	if (!h || !is(h, trid, kind))
		return NULL;
	fetch_add(&h->users, 1);
	if (!is(h, trid, kind)) {
		handle_put(h);
		return NULL;
	}
	if (h->target.place.guarded)
		guard_renew();
	return h;
}

struct handle *handle_enter(trace_id_t trid, enum handle_kind kind)
{
	struct handle *h = slot_of(trid);

	/* Looked at before too: who has an old identifier should not wait for those that have the new one. */
	if (!h || !is(h, trid, kind))
		return NULL;
	latch_take(&h->lock);
	if (!is(h, trid, kind)) {
		latch_release(&h->lock);
		return NULL;
	}
	if (h->target.place.guarded)
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
	/* Another one's by now, perhaps: then somebody is woken in vain. */
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
	/* Of two that end it one finds it. */
	pthread_mutex_lock(&table->lock);
	if (is(h, trid, kind))
		exchange(&h->dying, 1); /* PAIR(dying) */
	else
		h = NULL;
	pthread_mutex_unlock(&table->lock);
	TEST_POINT("shutdown_dying");
	/* Who has the lock has entered before, and leaves or becomes a user; who takes it from now on sees dying. */
	if (h) {
		latch_take(&h->lock);
		latch_release(&h->lock);
	}
	for (;;) {
		ended = load_relaxed(&table->ended);
		if (!h || !load_acquire(&h->users)) /* PAIR(users) */
			return h;
		/* Readers that sleep: the word they sleep on changes, and they see dying. */
		if (!h->input) {
			fetch_add(&h->stream.header->wakeups, 1);
			sys_futex_wake(&h->stream.header->wakeups);
		}
		/* In slices: who can write to that word may keep the reader asleep. */
		end = clock_ns(CLOCK_REALTIME) + END_SLICE_NS;
		slice = (struct timespec){ end / NS_PER_S, end % NS_PER_S };
		sys_futex_wait(&table->ended, ended, &slice);
	}
}

void handle_free(struct handle *h)
{
	/* The count stays: somebody with the old identifier may just have counted himself. */
	store_release(&h->number, 0); /* PAIR(dying) */
	memset(&h->dying, 0, sizeof *h - offsetof(struct handle, dying));
}

void handle_end_all(void (*f)(struct handle *))
{
	bool locked = false;

	if (!load_acquire(&table)) /* PAIR(table) */
		return;
	/* Who holds it may be a thread that exit() has interrupted. */
	for (int i = 0; i < EXIT_TRIES && !(locked = pthread_mutex_trylock(&table->lock) == 0); i++)
		sys_sleep_ns(1000000);
	for (int i = 0; i < HANDLES; i++) {
		struct handle *h = &table->handle[i];

		/* One that is being shut down is in the hands of who does that. */
		if (h->number && !h->dying && !h->input) {
			store_relaxed(&h->dying, 1);
			f(h);
		}
	}
	if (locked)
		pthread_mutex_unlock(&table->lock);
}
