/*
 * fork.c - a process forks while its threads record
 *
 * The child is not traced, whichever way it was made and whatever its copied memory says. It may have streams of its
 * own. It must not touch its parent's streams, and cannot spoil the parent's books however it ends.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stress.h"

#include <spawn.h>

#include "fork.h"

#define THREADS 3

extern char **environ;

static _Atomic bool stop;
static struct stress_source sources[THREADS + 1]; /* the last one: the forking thread */
static struct stress_source childs;               /* in no tally */

static void *record(void *arg)
{
	struct stress_source *s = arg;

	s->thread = pthread_self();
	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		stress_record(s);
	return NULL;
}

/* -- Children ------------------------------------------------------------ */

enum { FORK, FORK_PLAIN, CLONE, WAYS };

/* The C library and our atfork handlers notice the first way, but not the others. */
static pid_t make_child(int way)
{
	if (way == FORK_PLAIN && !SANITIZER_THREAD)
		return fork_underscore();
	if (way == CLONE && !SANITIZER_THREAD)
		return fork_clone();
	return fork();
}

/* Reaches trace points only: async-signal-safe, so allowed in any child. */
static void record_in_child(int events)
{
	childs.number = STRESS_SOURCES + 1;
	for (int i = 0; i < events; i++) {
		stress_record(&childs);
		/* Uses the source of the thread that the child is a copy of. */
		stress_record(&sources[THREADS]);
	}
}

/* Checks that the child's own stream has the child's events and no others. */
static int use_own_stream(trace_id_t parents)
{
	static struct stress_source source;
	static struct tally tally;
	struct posix_trace_status_info status;
	trace_id_t trid;

	CHECK_EQ("CREATE-15 INH-8", posix_trace_get_status(parents, &status), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_stop(parents), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_clear(parents), EINVAL);
	CHECK_EQ("CREATE-15 INH-8", posix_trace_shutdown(parents), EINVAL);
	tally_init(&tally);
	tally_add(&tally, &source, 0);
	source.thread = pthread_self();
	trid = stress_stream(POSIX_TRACE_UNTIL_FULL, 65536);
	stress_record(&source); /* not recorded: the stream is not running yet */
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	source.generated = 0;
	for (int i = 0; i < 50; i++)
		stress_record(&source);
	tally_drain(&tally, trid);
	tally_check(&tally);
	CHECK_EQ("EVT-1 INH-10", tally.read, 50);
	tally_balance(&tally, 1, trid, 1);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
	return test_failures ? 1 : 0;
}

enum { UNDERSCORE_EXIT, EXIT, KILLED, GRANDCHILD, OWN_STREAM, ENDS };

static void live_as_child(int way, int end, trace_id_t parents)
{
	alarm((unsigned)(20 * test_slow()));
	record_in_child(5);
	switch (end) {
	case EXIT:
		if (way == FORK)
			exit(0);
		break;
	case KILLED:
		for (;;)
			record_in_child(1);
	case GRANDCHILD: {
		pid_t pid = make_child(way);

		record_in_child(5);
		if (pid == 0)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
		break;
	}
	case OWN_STREAM:
		if (way == FORK)
			_exit(use_own_stream(parents));
		break;
	default:
		break;
	}
	_exit(0);
}

static void fork_once(int way, int end, trace_id_t trid)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	fflush(stderr);
	pid = make_child(way);
	if (pid == 0)
		live_as_child(way, end, trid);
	MUST(pid > 0);
	for (int i = 0; i < 50; i++)
		stress_record(&sources[THREADS]);
	if (end == KILLED) {
		stress_sleep(1000000);
		kill(pid, SIGKILL);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (end == KILLED)
		CHECK("-", WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		TEST_FAIL("INH-3 INH-8 THR-5", "child (way %d, end %d): %s %d", way, end,
		          WIFSIGNALED(status) ? "signal" : "exit status",
		          WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void spawn_once(void)
{
	char *argv[] = { "true", NULL };
	int status;
	pid_t pid;

	MUST(posix_spawnp(&pid, "true", NULL, NULL, argv, environ) == 0);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	CHECK("INH-9", WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void run(int policy, size_t size, bool with_reader)
{
	static struct tally tally;
	struct tally_reader reader = { 0 };
	pthread_t threads[THREADS];
	trace_id_t trid = stress_stream(policy, size);
	int n = stress_count(120, 30);

	stress_types();
	tally_init(&tally);
	for (unsigned i = 0; i < THREADS + 1; i++)
		tally_add(&tally, &sources[i], i);
	sources[THREADS].thread = pthread_self();
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	stress_record(&sources[THREADS]);
	if (with_reader)
		tally_reader_start(&reader, &tally, trid);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, record, &sources[i]) == 0);
	for (int i = 0; i < n && test_failures < 10; i++) {
		fork_once(i % WAYS, i / WAYS % ENDS, trid);
		if (i % 10 == 0)
			spawn_once();
	}
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (with_reader)
		tally_reader_end(&reader);
	tally_drain(&tally, trid);
	tally_check(&tally);
	CHECK_NE("INH-3", tally.read, 0);
	tally_balance(&tally, 1, trid, 1);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-2", stress_files(), 0);
}

TEST(loop)       { run(POSIX_TRACE_LOOP, 65536, true); }
TEST(full)       { run(POSIX_TRACE_UNTIL_FULL, 65536, true); }
TEST(loop_small) { run(POSIX_TRACE_LOOP, 4096, false); }
TEST(full_small) { run(POSIX_TRACE_UNTIL_FULL, 4096, false); }

/* No threads, and room for everything: the parent's stream has exactly the parent's events. */
TEST(alone)
{
	static struct tally tally;
	trace_id_t trid = stress_stream(POSIX_TRACE_UNTIL_FULL, 4 << 20);
	int n = stress_count(150, 30);

	stress_types();
	tally_init(&tally);
	for (unsigned i = 0; i < THREADS + 1; i++)
		tally_add(&tally, &sources[i], i);
	sources[THREADS].thread = pthread_self();
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	for (int i = 0; i < n && test_failures < 10; i++)
		fork_once(i % WAYS, i / WAYS % ENDS, trid);
	tally_drain(&tally, trid);
	tally_check(&tally);
	CHECK_EQ("INH-3 EVT-1", tally.read, n * 50);
	tally_balance(&tally, 1, trid, 1);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
}

/* The child of a parent without streams makes its first stream. */
TEST(untraced_parent)
{
	stress_types();
	for (int i = 0; i < 5; i++) {
		pid_t pid;
		int status;

		stress_record(&childs);
		pid = fork();
		if (pid == 0) {
			alarm((unsigned)(20 * test_slow()));
			_exit(use_own_stream(12345));
		}
		MUST(pid > 0);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		CHECK("CREATE-1 INH-10", WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
}

/* The parent shuts the stream down while the child lives: the child neither delays nor breaks this. */
TEST(shutdown_before_child_ends)
{
	int to_child[2], from_child[2], status;
	trace_id_t trid = stress_stream(POSIX_TRACE_LOOP, 65536);
	pid_t pid;
	char c;

	stress_types();
	MUST(pipe(to_child) == 0 && pipe(from_child) == 0);
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	record_in_child(10);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		record_in_child(10);
		MUST(write(from_child[1], "", 1) == 1);
		MUST(read(to_child[0], &c, 1) == 1);
		record_in_child(10000);
		exit(use_own_stream(trid));
	}
	MUST(read(from_child[0], &c, 1) == 1);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-2", stress_files(), 0);
	trid = stress_stream(POSIX_TRACE_UNTIL_FULL, 65536);
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	MUST(write(to_child[1], "", 1) == 1);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	CHECK("INH-8", WIFEXITED(status) && WEXITSTATUS(status) == 0);
	{
		static struct tally tally;

		tally_init(&tally);
		tally_drain(&tally, trid);
		CHECK_EQ("INH-3", tally.read, 0);
		tally_balance(&tally, 1, trid, 1);
	}
	CHECK_EQ("INH-8 SHUT-1", posix_trace_shutdown(trid), 0);
}

/* -- fork() in a handler, which may have interrupted posix_trace_event() --- */

static volatile sig_atomic_t forks, in_child;
static volatile pid_t kids[256];
static pid_t parent;

static void on_timer(int sig)
{
	int saved = errno;
	pid_t pid;

	if (in_child || forks == 256)
		return;
	pid = fork();
	if (pid == 0)
		in_child = 1;
	else if (pid > 0)
		kids[forks++] = pid;
	errno = saved;
}

/*
 * The child returns into the interrupted function, as it may after fork(), which is async-signal-safe. There it
 * finishes an event of its parent.
 */
TEST(in_handler)
{
	struct sigaction action = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	struct itimerspec when = { { 0, 0 }, { 0, 0 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	static struct tally tally;
	trace_id_t trid = stress_stream(POSIX_TRACE_LOOP, 16384);
	int wanted = stress_count(150, 20), failed = 0;
	sigset_t timers;
	timer_t timer;

	if (SANITIZER_THREAD)
		SKIP("ThreadSanitizer delivers signals when it likes");
	stress_types();
	parent = getpid();
	tally_init(&tally);
	for (unsigned i = 0; i < THREADS + 1; i++)
		tally_add(&tally, &sources[i], i);
	sources[THREADS].thread = pthread_self();
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	MUST(sigaction(SIGRTMIN, &action, NULL) == 0);
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
	when.it_interval.tv_nsec = when.it_value.tv_nsec = 2003003L * test_slow();
	MUST(timer_settime(timer, 0, &when, NULL) == 0);
	while (forks < wanted && !in_child)
		stress_record(&sources[THREADS]);
	/* The rest is not for children: no handler forks after this. */
	sigemptyset(&timers);
	sigaddset(&timers, SIGRTMIN);
	MUST(pthread_sigmask(SIG_BLOCK, &timers, NULL) == 0);
	if (in_child) {
		/* a child has none of its parent's timers */
		record_in_child(100);
		_exit(0);
	}
	MUST(timer_delete(timer) == 0);
	for (int i = 0; i < forks; i++) {
		int status = 0;

		while (waitpid(kids[i], &status, 0) < 0 && errno == EINTR)
			;
		failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	}
	CHECK_EQ("THR-3 THR-5 THR-13", failed, 0);
	tally_drain(&tally, trid);
	tally_check(&tally);
	CHECK_NE("THR-3", tally.read, 0);
	tally_balance(&tally, 1, trid, 1);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
}

TEST_MAIN(TEST_ENTRY(loop), TEST_ENTRY(full), TEST_ENTRY(loop_small), TEST_ENTRY(full_small), TEST_ENTRY(alone),
          TEST_ENTRY(untraced_parent), TEST_ENTRY(shutdown_before_child_ends), TEST_ENTRY(in_handler))
