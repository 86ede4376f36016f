/*
 * handle.c - src/control/handle.c: identifiers of streams, for this process only
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/handle.h"

#include "unit.h"

static struct stream_header header;

static trace_id_t publish(void)
{
	struct handle *h;
	trace_id_t id = 0;

	MUST(handle_table_lock());
	h = handle_new(HANDLE_ACTIVE);
	if (h) {
		h->stream.header = &header;
		id = handle_publish(h);
	}
	handle_table_unlock();
	return id;
}

static void end(trace_id_t id)
{
	struct handle *h = handle_end(id, HANDLE_ACTIVE);

	MUST(h && handle_table_lock());
	handle_free(h);
	handle_table_unlock();
}

TEST(none)
{
	for (trace_id_t id = 0; id < 1000; id++) {
		CHECK("-", handle_get(id, HANDLE_ACTIVE) == NULL);
		CHECK("-", handle_end(id, HANDLE_ACTIVE) == NULL);
	}
	CHECK("-", handle_get(UINT64_MAX, HANDLE_ACTIVE) == NULL);
}

TEST(life)
{
	trace_id_t id = publish(), next;
	struct handle *h = handle_get(id, HANDLE_ACTIVE);

	MUST(h);
	CHECK_EQ("-", h->users, 1);
	CHECK("-", handle_get(id, HANDLE_ACTIVE) == h);
	handle_put(h);
	handle_put(h);
	CHECK_EQ("-", h->users, 0);
	/* Identifiers with one bit changed are invalid. */
	for (int bit = 0; bit < 64; bit++)
		CHECK("-", handle_get(id ^ UINT64_C(1) << bit, HANDLE_ANY) == NULL);
	end(id);
	CHECK("-", handle_get(id, HANDLE_ACTIVE) == NULL);
	CHECK("-", handle_end(id, HANDLE_ACTIVE) == NULL);
	/* The same table entry gets a different identifier. */
	next = publish();
	CHECK("-", next != id);
	CHECK("-", handle_get(next, HANDLE_ACTIVE) == h && handle_get(id, HANDLE_ACTIVE) == NULL);
}

static int counted, wrong;

static void count(struct handle *h)
{
	counted++;
	wrong += h->stream.header != &header;
}

TEST(all)
{
	trace_id_t id[TRACE_SYS_MAX], again;

	handle_end_all(count);
	CHECK_EQ("-", counted, 0);
	for (int i = 0; i < TRACE_SYS_MAX; i++) {
		id[i] = publish();
		MUST(id[i]);
		for (int j = 0; j < i; j++)
			CHECK("-", id[i] != id[j]);
	}
	CHECK_EQ("-", publish(), 0);
	end(id[30]);
	again = publish();
	CHECK("-", again != 0);
	for (int i = 0; i < TRACE_SYS_MAX; i++)
		CHECK("-", again != id[i]);
}

/* At exit: each handle is ended once, and none is left. */
TEST(end_all)
{
	trace_id_t id[5];
	struct handle *h;

	handle_end_all(count);
	for (int i = 0; i < 5; i++)
		id[i] = publish();
	end(id[1]);
	h = handle_get(id[2], HANDLE_ACTIVE);
	MUST(h); /* a call in progress is not waited for */
	handle_end_all(count);
	CHECK_EQ("-", counted, 4);
	CHECK_EQ("-", wrong, 0);
	for (int i = 0; i < 5; i++)
		CHECK("-", handle_get(id[i], HANDLE_ACTIVE) == NULL && handle_end(id[i], HANDLE_ACTIVE) == NULL);
	handle_put(h);
	handle_end_all(count);
	CHECK_EQ("-", counted, 4);
}

/* exit() may have interrupted the thread that has locked the table, so the wait for the lock has a limit. */
TEST(end_all_while_locked)
{
	int64_t before = unit_now();

	publish();
	MUST(handle_table_lock());
	handle_end_all(count);
	CHECK_EQ("-", counted, 1);
	CHECK_OP("-", unit_now() - before, <, 5000000000ll * test_slow());
	handle_table_unlock();
}

static uint32_t ended;

static void *end_in_thread(void *id)
{
	CHECK("-", handle_end(*(trace_id_t *)id, HANDLE_ACTIVE) != NULL);
	store_release(&ended, 1);
	return NULL;
}

/* Waits until handle_end() has woken readers, by the word that they sleep on. */
static void await_wakeup(void)
{
	for (int i = 0; i < 5000 * test_slow() && !load_relaxed(&header.wakeups); i++)
		unit_sleep_ms(1);
	CHECK_OP("-", load_relaxed(&header.wakeups), >, 0);
}

/* handle_end() waits for calls in progress, wakes those that sleep, and lets no new calls in. */
TEST(end_waits)
{
	trace_id_t id = publish();
	struct handle *h = handle_get(id, HANDLE_ACTIVE);
	pthread_t thread;

	MUST(h);
	MUST(pthread_create(&thread, NULL, end_in_thread, &id) == 0);
	for (int i = 0; i < 5000 && !load_acquire(&h->dying); i++)
		unit_sleep_ms(1);
	CHECK("-", load_acquire(&h->dying));
	CHECK("-", handle_get(id, HANDLE_ACTIVE) == NULL);
	unit_sleep_ms(20);
	CHECK_EQ("-", load_acquire(&ended), 0);
	await_wakeup();
	handle_put(h);
	pthread_join(thread, NULL);
	CHECK_EQ("-", ended, 1);
	CHECK_EQ("-", h->users, 0);
}

/*
 * handle_end() also waits for a caller that only has the handle's lock, and for one that keeps the handle after
 * unlocking.
 */
TEST(end_waits_for_entered)
{
	trace_id_t id = publish();
	struct handle *h = handle_enter(id, HANDLE_ACTIVE);
	pthread_t thread;

	MUST(h);
	CHECK_EQ("-", h->users, 0);
	CHECK("-", !latch_try(&h->lock));
	MUST(pthread_create(&thread, NULL, end_in_thread, &id) == 0);
	for (int i = 0; i < 5000 && !load_acquire(&h->dying); i++)
		unit_sleep_ms(1);
	CHECK("-", load_acquire(&h->dying));
	CHECK("-", handle_enter(id, HANDLE_ACTIVE) == NULL);
	unit_sleep_ms(20);
	CHECK_EQ("-", load_acquire(&ended), 0);
	handle_keep(h);
	unit_sleep_ms(20);
	CHECK_EQ("-", load_acquire(&ended), 0);
	await_wakeup();
	handle_put(h);
	pthread_join(thread, NULL);
	CHECK_EQ("-", ended, 1);
}

TEST(entered)
{
	trace_id_t id = publish(), next;
	struct handle *h = handle_enter(id, HANDLE_ACTIVE);

	MUST(h);
	handle_leave(h);
	CHECK("-", handle_enter(id, HANDLE_RECORDED) == NULL);
	for (int bit = 0; bit < 64; bit++)
		CHECK("-", handle_enter(id ^ UINT64_C(1) << bit, HANDLE_ANY) == NULL);
	CHECK("-", latch_try(&h->lock));
	handle_leave(h);
	end(id);
	CHECK("-", handle_enter(id, HANDLE_ANY) == NULL);
	next = publish();
	CHECK("-", handle_enter(next, HANDLE_ANY) == h && handle_enter(id, HANDLE_ANY) == NULL);
	handle_leave(h);
}

/* Identifiers end while two threads enter by them. */
static trace_id_t current;
static uint32_t stop, entered;

static void *enter_often(void *arg)
{
	while (!load_acquire(&stop)) {
		struct handle *h = handle_enter(load_acquire(&current), HANDLE_ACTIVE);

		if (!h)
			continue;
		CHECK("-", h->stream.header == &header && !h->wanted);
		h->wanted = (uint64_t *)&header;
		fetch_add(&entered, 1);
		h->wanted = NULL;
		handle_leave(h);
	}
	return arg;
}

TEST(end_among_entries)
{
	pthread_t thread[2];

	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&thread[i], NULL, enter_often, NULL) == 0);
	for (int i = 0; i < 2000 / test_slow(); i++) {
		uint32_t before = load_relaxed(&entered);
		trace_id_t id = publish();

		MUST(id);
		store_release(&current, id);
		/* The first one stays until a thread has entered. */
		for (int j = 0; j < (i ? i % 50 : 5000) && load_relaxed(&entered) == before; j++)
			i ? spin_pause() : unit_sleep_ms(1);
		end(id);
	}
	store_release(&stop, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	CHECK_OP("-", entered, >, 0);
}

/* CREATE-15: the child does not have the parent's identifiers. */
TEST(child)
{
	trace_id_t id = publish(), childs;
	int status, fd[2];

	MUST(pipe(fd) == 0);
	if (fork() == 0) {
		CHECK("-", handle_get(id, HANDLE_ACTIVE) == NULL && handle_end(id, HANDLE_ACTIVE) == NULL);
		handle_end_all(count);
		CHECK_EQ("-", counted, 0);
		childs = publish();
		CHECK("-", childs != id && handle_get(childs, HANDLE_ACTIVE));
		CHECK("-", write(fd[1], &childs, sizeof childs) == sizeof childs);
		_exit(test_failures ? 1 : 0);
	}
	close(fd[1]);
	MUST(read(fd[0], &childs, sizeof childs) == sizeof childs);
	wait(&status);
	CHECK_EQ("-", status, 0);
	CHECK("-", handle_get(childs, HANDLE_ACTIVE) == NULL);
	CHECK("-", handle_get(id, HANDLE_ACTIVE) != NULL);
}

TEST_MAIN(TEST_ENTRY(none), TEST_ENTRY(life), TEST_ENTRY(all), TEST_ENTRY(end_all), TEST_ENTRY(end_all_while_locked),
          TEST_ENTRY(end_waits), TEST_ENTRY(end_waits_for_entered), TEST_ENTRY(entered), TEST_ENTRY(end_among_entries),
          TEST_ENTRY(child))
