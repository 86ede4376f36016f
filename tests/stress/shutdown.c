/*
 * shutdown.c - streams come and go while threads record into them
 *
 * Threads keep reaching trace points, and readers hold identifiers that end meanwhile: no crash, no hang, no error but
 * EINVAL. In the end nothing is left, neither in the directory nor in the address space.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stress.h"

#include <sys/resource.h>


#define RECORDERS 3

static _Atomic bool stop;
static _Atomic trace_id_t published; /* a stream that exists, or did a moment ago */

static struct stress_source sources[RECORDERS];
static pthread_t recorders[RECORDERS];
static struct tally everything; /* of no stream, only numbers the sources */

static void *record(void *arg)
{
	struct stress_source *s = arg;

	s->thread = pthread_self();
	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		stress_record(s);
	return NULL;
}

static void recorders_start(void)
{
	stress_types();
	tally_init(&everything);
	atomic_store(&stop, false);
	for (unsigned i = 0; i < RECORDERS; i++)
		tally_add(&everything, &sources[i], i);
	for (int i = 0; i < RECORDERS; i++)
		MUST(pthread_create(&recorders[i], NULL, record, &sources[i]) == 0);
}

static void recorders_end(void)
{
	atomic_store(&stop, true);
	for (int i = 0; i < RECORDERS; i++)
		pthread_join(recorders[i], NULL);
}

/* -- A thread that uses streams while they are shut down ------------------- */

struct guest {
	pthread_t thread;
	uint64_t calls, events, torn;
	int error; /* an unexpected error number */
};

static void *visit(void *arg)
{
	struct guest *g = arg;
	unsigned char data[1024];

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		trace_id_t trid = atomic_load(&published);
		struct posix_trace_event_info info;
		struct posix_trace_status_info status;
		struct timespec end;
		trace_attr_t attr;
		unsigned source;
		uint64_t number;
		size_t len;
		int error, unavailable = 1;

		switch (g->calls++ % 16) {
		case 0:
			error = posix_trace_get_status(trid, &status);
			break;
		case 1:
			error = posix_trace_get_attr(trid, &attr);
			break;
		case 2:
			clock_gettime(CLOCK_REALTIME, &end);
			end.tv_sec += 60; /* only an event or the end of the stream should end this wait */
			error = posix_trace_timedgetnext_event(trid, &info, data, sizeof data, &len, &unavailable,
			                                       &end);
			break;
		default:
			error = posix_trace_trygetnext_event(trid, &info, data, sizeof data, &len, &unavailable);
			break;
		}
		if (error && error != EINVAL)
			g->error = error;
		if (error || unavailable || info.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT)
			continue;
		g->events++;
		if (!stress_intact(data, len, &source, &number))
			g->torn++;
	}
	return NULL;
}

static void guest_end(struct guest *g)
{
	pthread_join(g->thread, NULL);
	CHECK_EQ("READ-26 READ-31 THR-1", g->error, 0);
	CHECK_EQ("EVT-2", g->torn, 0);
	CHECK_NE("-", g->calls, 0);
}

/* Checks that a new stream still records exactly. */
static void check_a_new_stream(void)
{
	static struct stress_source source;
	static struct tally tally;
	trace_id_t trid = stress_stream(POSIX_TRACE_UNTIL_FULL, 65536);

	tally_init(&tally);
	tally_add(&tally, &source, 0);
	source.thread = pthread_self();
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	for (int i = 0; i < 100; i++)
		stress_record(&source);
	tally_drain(&tally, trid);
	tally_check(&tally);
	CHECK_EQ("EVT-1", tally.read, 100);
	tally_balance(&tally, 1, trid, 1);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
}

/*
 * Checks that no stream is mapped any more. On a busy machine a thread may not have run for 200 ms inside of a trace
 * point. Then shutdown leaves the memory to a later trace point (tests/fault/let_go.c).
 */
static void check_unmapped(void)
{
	if (shm_mappings(getpid(), "/stream-") > 0)
		check_a_new_stream();
	CHECK_EQ("SHUT-2", shm_mappings(getpid(), "/stream-"), 0);
}

TEST(one_stream)
{
	struct guest guest = { 0 };
	int before = 0, descriptors_before = 0;
	uint64_t lives = 0, end;

	recorders_start();
	MUST(pthread_create(&guest.thread, NULL, visit, &guest) == 0);
	end = stress_now() + stress_ms(2000);
	/* At least enough streams to reuse memory: a busy machine makes few of them in the given time. */
	while ((stress_now() < end || lives <= 20) && test_failures < 10) {
		static const size_t sizes[] = { 4096, 65536, 1 << 20 };
		trace_id_t trid;

		MUST(stress_create(lives & 1 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL, sizes[lives % 3],
		                   &trid) == 0);
		atomic_store(&published, trid);
		CHECK_EQ("START-9", posix_trace_start(trid), 0);
		for (uint64_t i = lives % 4; i > 0; i--) {
			CHECK_EQ("START-9", posix_trace_stop(trid), 0);
			CHECK_EQ("CLEAR-13", posix_trace_clear(trid), 0);
			CHECK_EQ("START-9", posix_trace_start(trid), 0);
			CHECK_EQ("CLEAR-13", posix_trace_clear(trid), 0);
		}
		if (lives % 8 == 0)
			stress_sleep(300000);
		CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
		CHECK_EQ("SHUT-4", posix_trace_shutdown(trid), EINVAL);
		if (++lives == 20) {
			before = shm_mappings(getpid(), "");
			descriptors_before = shm_descriptors();
		}
	}
	recorders_end();
	guest_end(&guest);
	CHECK_OP("-", lives, >, 20);
	CHECK_EQ("SHUT-2", stress_files(), 0);
	check_unmapped();
	if (!SANITIZER_THREAD) /* which maps memory of its own all the time */
		CHECK_OP("SHUT-2", shm_mappings(getpid(), ""), <=, before + 40);
	CHECK_OP("SHUT-2", shm_descriptors(), <=, descriptors_before);
	check_a_new_stream();
}

/* -- Several streams, several controllers -------------------------------- */

#define CONTROLLERS 3
#define STREAMS     4 /* of each controller */

struct controller {
	pthread_t thread;
	unsigned number;
	int error;
	const char *call;
	uint64_t calls;
};

static void expect(struct controller *c, int error, const char *call)
{
	c->calls++;
	if (error && !c->error) {
		c->error = error;
		c->call = call;
	}
}

static void *steer(void *arg)
{
	struct controller *c = arg;
	uint64_t random = c->number;
	trace_id_t trids[STREAMS];
	bool there[STREAMS] = { false };
	trace_event_set_t set;

	posix_trace_eventset_empty(&set);
	posix_trace_eventset_add(stress_type(1), &set);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		int i;

		random = chance_mix(random);
		i = (int)(random % STREAMS);
		if (!there[i]) {
			static const size_t sizes[] = { 4096, 16384, 1 << 18 };
			int policy = random >> 8 & 1 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL;
			int error = stress_create(policy, sizes[(random >> 16) % 3], &trids[i]);

			/* Other processes may have all streams that the system allows. */
			if (error == EAGAIN)
				continue;
			expect(c, error, "posix_trace_create");
			if (error)
				break;
			there[i] = true;
			atomic_store(&published, trids[i]);
			expect(c, posix_trace_start(trids[i]), "posix_trace_start");
			continue;
		}
		switch (random >> 24 & 7) {
		case 0:
		case 1:
			expect(c, posix_trace_shutdown(trids[i]), "posix_trace_shutdown");
			there[i] = false;
			break;
		case 2:
			expect(c, posix_trace_clear(trids[i]), "posix_trace_clear");
			break;
		case 3:
			expect(c, posix_trace_stop(trids[i]), "posix_trace_stop");
			break;
		case 4:
			expect(c, posix_trace_set_filter(trids[i], &set,
			                                 random >> 32 & 1 ? POSIX_TRACE_ADD_EVENTSET
			                                                  : POSIX_TRACE_SUB_EVENTSET),
			       "posix_trace_set_filter");
			break;
		case 5:
			sched_yield();
			break;
		default:
			expect(c, posix_trace_start(trids[i]), "posix_trace_start");
			break;
		}
	}
	for (int i = 0; i < STREAMS; i++)
		if (there[i])
			expect(c, posix_trace_shutdown(trids[i]), "posix_trace_shutdown");
	return NULL;
}

TEST(several_streams)
{
	struct controller controllers[CONTROLLERS];
	struct guest guests[2];

	memset(controllers, 0, sizeof controllers);
	memset(guests, 0, sizeof guests);
	recorders_start();
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&guests[i].thread, NULL, visit, &guests[i]) == 0);
	for (unsigned i = 0; i < CONTROLLERS; i++) {
		controllers[i].number = i + 1;
		MUST(pthread_create(&controllers[i].thread, NULL, steer, &controllers[i]) == 0);
	}
	stress_sleep(stress_ms(3000));
	atomic_store(&stop, true);
	for (int i = 0; i < CONTROLLERS; i++) {
		pthread_join(controllers[i].thread, NULL);
		if (controllers[i].error)
			TEST_FAIL("THR-1", "%s: %d", controllers[i].call, controllers[i].error);
		CHECK_OP("-", controllers[i].calls, >, STREAMS);
	}
	recorders_end();
	for (int i = 0; i < 2; i++)
		guest_end(&guests[i]);
	CHECK_EQ("SHUT-2", stress_files(), 0);
	check_unmapped();
	check_a_new_stream();
}

/* -- Sleeping readers ---------------------------------------------------- */

static _Atomic int waiting;
static int results[2];

static void *wait_for_event(void *arg)
{
	int i = *(int *)arg;
	trace_id_t trid = atomic_load(&published);
	struct posix_trace_event_info info;
	struct timespec end;
	size_t len;
	int unavailable = 0;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 3600;
	atomic_fetch_add(&waiting, 1);
	if (i == 0)
		results[i] = posix_trace_getnext_event(trid, &info, NULL, 0, &len, &unavailable);
	else
		results[i] = posix_trace_timedgetnext_event(trid, &info, NULL, 0, &len, &unavailable, &end);
	if (!unavailable)
		results[i] = -1;
	return NULL;
}

TEST(waiting_readers)
{
	int n = stress_count(200, 30);

	/* No thread records, so the readers sleep. */
	for (int k = 0; k < n && test_failures < 10; k++) {
		trace_id_t trid = stress_stream(k & 1 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL, 16384);
		int numbers[2] = { 0, 1 };
		pthread_t threads[2];

		atomic_store(&published, trid);
		atomic_store(&waiting, 0);
		for (int i = 0; i < 2; i++)
			MUST(pthread_create(&threads[i], NULL, wait_for_event, &numbers[i]) == 0);
		while (atomic_load(&waiting) < 2)
			sched_yield();
		/* Sometimes the readers are not yet asleep. */
		if (k % 3)
			stress_sleep((uint64_t)(k % 50) * 20000);
		CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
		for (int i = 0; i < 2; i++) {
			pthread_join(threads[i], NULL);
			CHECK_EQ("SHUT-5 READ-31", results[i], EINVAL);
		}
	}
	CHECK_EQ("SHUT-2", stress_files(), 0);
}

/* -- The process ends while its threads go on ----------------------------- */

enum { RETURN_FROM_MAIN, QUICK, ABORT, WAYS };

static void end_in_the_middle(int way)
{
	struct guest guest = { 0 };
	trace_id_t trids[3];

	recorders_start();
	for (int i = 0; i < 3; i++) {
		trids[i] = stress_stream(i & 1 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL, 65536);
		atomic_store(&published, trids[i]);
		MUST(posix_trace_start(trids[i]) == 0);
	}
	MUST(pthread_create(&guest.thread, NULL, visit, &guest) == 0);
	stress_sleep(1000000);
	if (way == RETURN_FROM_MAIN)
		exit(0);
	if (way == QUICK)
		_exit(0);
	signal(SIGABRT, SIG_DFL);
	abort();
}

/* exit() runs destructors, but unloads nothing that a thread may still be in. */
TEST(process_ends)
{
	struct rlimit no_core = { 0, 0 };
	int n = stress_count(60, 12), left = 0;
	pid_t pids[60];

	MUST(n <= 60);
	setrlimit(RLIMIT_CORE, &no_core);
	for (int i = 0; i < n; i++) {
		int status = 0, way = i % WAYS;
		pid_t pid;

		fflush(stdout);
		fflush(stderr);
		pid = fork();
		if (pid == 0) {
			alarm((unsigned)(20 * test_slow()));
			end_in_the_middle(way);
		}
		MUST(pid > 0);
		pids[i] = pid;
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (way == ABORT)
			CHECK("SHUT-6", WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			TEST_FAIL("SHUT-6 INH-14", "way %d: %s %d", way, WIFSIGNALED(status) ? "signal" : "exit status",
			          WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	/* Everything of the ended processes is released, at the latest when the next stream is created. */
	check_a_new_stream();
	for (int i = 0; i < n; i++)
		left += shm_files_of(pids[i], "stream");
	CHECK_EQ("SHUT-6 INH-14", left, 0);
}

TEST_MAIN(TEST_ENTRY(one_stream), TEST_ENTRY(several_streams), TEST_ENTRY(waiting_readers), TEST_ENTRY(process_ends))
