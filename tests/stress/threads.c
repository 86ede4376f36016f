/*
 * threads.c - many threads record as fast as they can while others read
 *
 * Events are intact, in each thread's order, and all accounted for, whatever the size and policy of the stream.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stress.h"

#define THREADS 8

static _Atomic bool go, stop;

static void *record(void *arg)
{
	struct stress_source *s = arg;

	s->thread = pthread_self();
	while (!atomic_load(&go))
		sched_yield();
	/* At least one event, however late the thread starts. */
	do
		stress_record(s);
	while (!atomic_load_explicit(&stop, memory_order_relaxed));
	return NULL;
}

struct recorders {
	struct stress_source sources[THREADS];
	pthread_t threads[THREADS];
};

static void recorders_start(struct recorders *r, struct tally *tally)
{
	stress_types();
	for (unsigned i = 0; i < THREADS; i++)
		tally_add(tally, &r->sources[i], i);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&r->threads[i], NULL, record, &r->sources[i]) == 0);
}

static void recorders_run(struct recorders *r, unsigned ms)
{
	atomic_store(&go, true);
	stress_sleep(stress_ms(ms));
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(r->threads[i], NULL);
	for (int i = 0; i < THREADS; i++)
		CHECK_NE("-", r->sources[i].generated, 0);
}

/* Checks the final state of a stream after everything was read. It depends on the policy. */
static void check_end(trace_id_t trid, int policy)
{
	struct posix_trace_status_info status;

	MUST(posix_trace_get_status(trid, &status) == 0);
	CHECK_EQ("START-15 STAT-8", status.posix_stream_status, POSIX_TRACE_RUNNING);
	CHECK_EQ("START-20 STAT-10", status.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-2", stress_files(), 0);
}

/* Runs the writers with this many readers; 0: everything is read at the end. */
static void run(int policy, size_t size, int n_readers)
{
	static struct recorders recorders;
	static struct tally tallies[2];
	struct tally_reader readers[2] = { 0 };
	trace_id_t trid = stress_stream(policy, size);

	tally_init(&tallies[0]);
	recorders_start(&recorders, &tallies[0]);
	tallies[1] = tallies[0];
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	for (int i = 0; i < n_readers; i++)
		tally_reader_start(&readers[i], &tallies[i], trid);
	recorders_run(&recorders, 500);
	for (int i = 0; i < n_readers; i++)
		tally_reader_end(&readers[i]);
	tally_drain(&tallies[0], trid);
	/* Each event goes to only one of two readers, and the halves of a pair may go to both. */
	if (n_readers > 1)
		tallies[0].unpaired = tallies[1].unpaired = tallies[0].unannounced = tallies[1].unannounced = 0;
	tally_check(&tallies[0]);
	tally_check(&tallies[1]);
	tally_balance(tallies, 2, trid, 1);
	CHECK_NE("EVT-1", tallies[0].read, 0);
	check_end(trid, policy);
}

TEST(loop_4k) { run(POSIX_TRACE_LOOP, 4096, 1); }
TEST(loop_64k) { run(POSIX_TRACE_LOOP, 65536, 1); }
TEST(loop_1m) { run(POSIX_TRACE_LOOP, 1 << 20, 1); }
TEST(loop_16m) { run(POSIX_TRACE_LOOP, 16 << 20, 1); }
TEST(full_4k) { run(POSIX_TRACE_UNTIL_FULL, 4096, 1); }
TEST(full_64k) { run(POSIX_TRACE_UNTIL_FULL, 65536, 1); }
TEST(full_1m) { run(POSIX_TRACE_UNTIL_FULL, 1 << 20, 1); }
TEST(full_16m) { run(POSIX_TRACE_UNTIL_FULL, 16 << 20, 1); }
TEST(loop_unread) { run(POSIX_TRACE_LOOP, 1 << 20, 0); }
TEST(full_unread) { run(POSIX_TRACE_UNTIL_FULL, 1 << 20, 0); }

TEST(two_readers_loop) { run(POSIX_TRACE_LOOP, 65536, 2); }
TEST(two_readers_full) { run(POSIX_TRACE_UNTIL_FULL, 65536, 2); }

/* Three streams of the same process: losses in a stream affect no other stream. */
TEST(three_streams)
{
	static const struct { int policy; size_t size; } of[3] = {
		{ POSIX_TRACE_LOOP, 8192 }, { POSIX_TRACE_UNTIL_FULL, 16384 }, { POSIX_TRACE_LOOP, 1 << 20 },
	};
	static struct recorders recorders;
	static struct tally tallies[3];
	struct tally_reader readers[3] = { 0 };
	trace_id_t trids[3];

	tally_init(&tallies[0]);
	recorders_start(&recorders, &tallies[0]);
	for (int i = 0; i < 3; i++) {
		if (i)
			tallies[i] = tallies[0];
		trids[i] = stress_stream(of[i].policy, of[i].size);
		CHECK_EQ("START-1", posix_trace_start(trids[i]), 0);
	}
	/* The last stream is not read while the writers run. */
	for (int i = 0; i < 2; i++)
		tally_reader_start(&readers[i], &tallies[i], trids[i]);
	recorders_run(&recorders, 700);
	for (int i = 0; i < 2; i++)
		tally_reader_end(&readers[i]);
	for (int i = 0; i < 3; i++) {
		tally_drain(&tallies[i], trids[i]);
		tally_check(&tallies[i]);
		tally_balance(&tallies[i], 1, trids[i], 1);
		CHECK_NE("MODEL-6", tallies[i].read, 0);
		CHECK_EQ("SHUT-1", posix_trace_shutdown(trids[i]), 0);
	}
	CHECK_EQ("SHUT-2", stress_files(), 0);
}

static uint64_t each; /* events of each thread */

static void *record_some(void *arg)
{
	struct stress_source *s = arg;

	s->thread = pthread_self();
	while (!atomic_load(&go))
		sched_yield();
	for (uint64_t i = 0; i < each; i++)
		stress_record(s);
	return NULL;
}

/* A stream with room for all events loses none, though eight threads fill it at once. */
TEST(room_for_all)
{
	static struct stress_source sources[THREADS];
	static struct tally tally;
	const size_t size = 16 << 20;
	struct posix_trace_status_info status;
	pthread_t threads[THREADS];
	trace_attr_t attr;
	trace_id_t trid;
	size_t system, user;

	MUST(posix_trace_attr_init(&attr) == 0);
	CHECK_EQ("ATTR-47", posix_trace_attr_getmaxsystemeventsize(&attr, &system), 0);
	CHECK_EQ("ATTR-48", posix_trace_attr_getmaxusereventsize(&attr, STRESS_WORDS * 8, &user), 0);
	each = (size - system) / user / THREADS;
	trid = stress_stream(POSIX_TRACE_UNTIL_FULL, size);
	tally_init(&tally);
	stress_types();
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	for (unsigned i = 0; i < THREADS; i++)
		tally_add(&tally, &sources[i], i);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, record_some, &sources[i]) == 0);
	atomic_store(&go, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	MUST(posix_trace_get_status(trid, &status) == 0);
	CHECK_EQ("ATTR-49 MODEL-8", status.__posix_lost_events, 0);
	CHECK_EQ("ATTR-49 STAT-15", status.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	tally_drain(&tally, trid);
	tally_check(&tally);
	CHECK_EQ("ATTR-49 EVT-1", tally.read, each * THREADS);
	CHECK_EQ("-", tally.automatic, 0);
	tally_balance(&tally, 1, trid, 1);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
}

TEST_MAIN(TEST_ENTRY(loop_4k), TEST_ENTRY(loop_64k), TEST_ENTRY(loop_1m), TEST_ENTRY(loop_16m), TEST_ENTRY(full_4k),
          TEST_ENTRY(full_64k), TEST_ENTRY(full_1m), TEST_ENTRY(full_16m), TEST_ENTRY(loop_unread),
          TEST_ENTRY(full_unread), TEST_ENTRY(two_readers_loop), TEST_ENTRY(two_readers_full),
          TEST_ENTRY(three_streams), TEST_ENTRY(room_for_all))
