/*
 * controllers.c - controllers attach to a busy process and leave as fast as they can, or are killed
 *
 * The process has threads that record all the time. One of its streams stays, and loses nothing that it does not
 * report. In the end the process has no more memory mapped than before.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stress.h"

#include <sys/mman.h>


#define THREADS     4
#define CONTROLLERS 3

static struct shared {
	_Atomic bool stop;
	_Atomic uint64_t lives;  /* streams that were created, used and shut down */
	_Atomic uint64_t events; /* events that the controllers have read */
	_Atomic uint64_t faults; /* errors that the controllers have met */
	_Atomic int error;
	const char *_Atomic call;
	struct stress_source sources[THREADS];
} *shared;

static void share(void)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(shared != MAP_FAILED);
}

/* -- The process ------------------------------------------------------------------------ */

static void *record(void *arg)
{
	struct stress_source *s = arg;
	uint64_t random = s->number;

	s->pid = getpid();
	s->thread = pthread_self();
	while (!atomic_load_explicit(&shared->stop, memory_order_relaxed)) {
		random = chance_mix(random);
		for (uint64_t i = 0; i < random % 256; i++)
			stress_record(s);
		if (random >> 32 & 1)
			stress_sleep(10000); /* on two processors the threads must not take all the time */
	}
	return NULL;
}

struct busy {
	pid_t pid;
	int to, from;
};

static void be_busy(const struct busy *b)
{
	pthread_t threads[THREADS];
	char c;

	MUST(read(b->to, &c, 1) == 1);
	stress_types();
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, record, &shared->sources[i]) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* The threads have ended. Record an event now and then for the controllers. */
	MUST(write(b->from, "", 1) == 1);
	while (read(b->to, &c, 1) == 1) {
		posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
		MUST(write(b->from, "", 1) == 1);
	}
	exit(test_failures ? 1 : 0);
}

static struct busy busy_start(struct tally *t)
{
	int to[2], from[2];
	struct busy b;

	share();
	tally_init(t);
	for (unsigned i = 0; i < THREADS; i++)
		tally_add(t, &shared->sources[i], i);
	t->pid = -1;
	stress_types();
	MUST(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	fflush(stderr);
	b.pid = fork();
	if (b.pid == 0) {
		close(to[1]);
		close(from[0]);
		b.to = to[0];
		b.from = from[1];
		be_busy(&b);
	}
	MUST(b.pid > 0);
	close(to[0]);
	close(from[1]);
	b.to = to[1];
	b.from = from[0];
	return b;
}

static void busy_tell(const struct busy *b)
{
	MUST(write(b->to, "", 1) == 1);
}

static void busy_wait(const struct busy *b)
{
	int status = 0;
	char c;

	if (read(b->from, &c, 1) == 1)
		return;
	waitpid(b->pid, &status, 0);
	TEST_FAIL("-", "the traced process has ended: status %#x", status);
	exit(1);
}

/* -- The controllers --------------------------------------------------------------------------- */

static bool right(int error, const char *call)
{
	if (error && error != ETIMEDOUT && !atomic_exchange(&shared->error, error))
		atomic_store(&shared->call, call); /* the same program, so the same address */
	return !error;
}

static void come_and_go(pid_t pid, uint64_t random)
{
	static const size_t sizes[] = { 4096, 65536, 1 << 20 };

	alarm((unsigned)(60 * test_slow()));
	while (!atomic_load(&shared->stop)) {
		struct tally t;
		trace_id_t trid;

		random = chance_mix(random);
		if (!right(stress_create_for(pid, random & 1 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL,
		                             sizes[random % 3], POSIX_TRACE_CLOSE_FOR_CHILD, &trid), "create"))
			break;
		/* All events read must be as they were recorded. */
		tally_init(&t);
		t.pid = -1;
		for (int i = 0; i < THREADS; i++)
			t.sources[t.n_sources++] = &shared->sources[i];
		if (random >> 8 & 7) {
			right(posix_trace_start(trid), "start");
			for (uint64_t i = 0; i < (random >> 16) % 200; i++)
				if (!right(tally_next(&t, trid, random >> 24 & 1 ? TALLY_TRY : TALLY_WAIT), "read"))
					break;
			if (random >> 32 & 1)
				right(posix_trace_stop(trid), "stop");
		}
		atomic_fetch_add(&shared->events, t.read);
		atomic_fetch_add(&shared->faults,
		                 t.torn + t.foreign + t.repeated + t.backwards + t.wrong_thread + t.wrong_type +
		                 t.truncated);
		if (!right(posix_trace_shutdown(trid), "shutdown"))
			break;
		atomic_fetch_add(&shared->lives, 1);
	}
	_exit(0);
}

static pid_t controller_start(pid_t busy, uint64_t random)
{
	pid_t pid;

	fflush(stderr);
	pid = fork();
	if (pid == 0)
		come_and_go(busy, random);
	MUST(pid > 0);
	return pid;
}

/* Prints which files are left and all locks in this file system, to show why the files stay. */
static void say_left(const pid_t *killed, int n)
{
	char command[256];

	fflush(stdout);
	for (int i = 0; i < n; i++) {
		snprintf(command, sizeof command,
		         "stat -c '%%n: inode %%i, links %%h, mode %%a, %%s bytes, of %%x' "
		         "/dev/shm/posixtrace-%u/stream*-%d-* 2>&1; ls -ld /proc/%d 2>/dev/null",
		         (unsigned)geteuid(), (int)killed[i], (int)killed[i]);
		if (shm_files_of(killed[i], "stream") && system(command) != 0)
			break;
	}
	if (system("ls -l /dev/shm/posixtrace-$(id -u); cat /proc/locks; "
		           "ps -eo pid,ppid,lstart,stat,args 2>/dev/null") != 0)
		fprintf(stderr, "ls, cat or ps: failed\n");
}

/* -- The tests ---------------------------------------------------------------------------------- */

static void run(int policy, size_t size, bool kill_them)
{
	static struct tally tally;
	struct tally_reader reader = { 0 };
	pid_t controllers[CONTROLLERS], killed[1024];
	struct busy busy = busy_start(&tally);
	int n_killed = 0, left = 0, status, mapped, most = 0;
	uint64_t random = stress_now(), end;
	trace_id_t trid, another;

	MUST(stress_create_for(busy.pid, policy, size, POSIX_TRACE_CLOSE_FOR_CHILD, &trid) == 0);
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	tally_reader_start(&reader, &tally, trid);
	busy_tell(&busy);
	for (uint64_t i = 0; i < CONTROLLERS; i++)
		controllers[i] = controller_start(busy.pid, i + 1);
	end = stress_now() + stress_ms(2500);
	while (stress_now() < end) {
		random = chance_mix(random);
		stress_sleep(random % 8000000);
		mapped = shm_mappings(busy.pid, "/stream-");
		most = mapped > most ? mapped : most;
		if (kill_them && n_killed < 1024) {
			int i = (int)(random >> 32) % CONTROLLERS;

			i = i < 0 ? -i : i;
			kill(controllers[i], SIGKILL);
			MUST(waitpid(controllers[i], &status, 0) == controllers[i]);
			killed[n_killed++] = controllers[i];
			controllers[i] = controller_start(busy.pid, random);
		}
	}
	atomic_store(&shared->stop, true);
	for (int i = 0; i < CONTROLLERS; i++) {
		MUST(waitpid(controllers[i], &status, 0) == controllers[i]);
		CHECK_EQ("THR-1", status, 0);
	}
	busy_wait(&busy);
	tally_reader_end(&reader);
	if (atomic_load(&shared->error))
		TEST_FAIL("THR-1", "a controller: %s: %d", atomic_load(&shared->call), atomic_load(&shared->error));
	CHECK_EQ("EVT-2 READ-21", atomic_load(&shared->faults), 0);
	CHECK_OP("-", atomic_load(&shared->lives), >, CONTROLLERS);
	CHECK_OP("-", atomic_load(&shared->events), >, 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_NE("-", shared->sources[i].generated, 0);

	/* The lasting stream has reported all its losses. */
	tally_drain(&tally, trid);
	tally_check(&tally);
	CHECK_NE("EVT-1", tally.read, 0);
	tally_balance(&tally, 1, trid, 1);

	/*
	 * New streams cause the removal of everything that killed controllers have left. Then only this stream is
	 * mapped. A process that reads /proc/PID of a dead process keeps the dead process's memory, and so its locks,
	 * for a moment longer.
	 */
	for (int try = 0; try == 0 || (left && try < 1000); try++) {
		if (try > 20)
			stress_sleep(2000000);
		MUST(stress_create_for(busy.pid, POSIX_TRACE_LOOP, 4096, POSIX_TRACE_CLOSE_FOR_CHILD, &another) == 0);
		CHECK_EQ("SHUT-1", posix_trace_shutdown(another), 0);
		left = 0;
		/* A live process may have the process id of a killed controller by now: the files are its own. */
		for (int i = 0; i < n_killed; i++)
			left += kill(killed[i], 0) == 0 ? 0 : shm_files_of(killed[i], "stream");
	}
	CHECK_EQ("SHUT-6 INH-14", left, 0);
	if (left)
		say_left(killed, n_killed);
	for (int i = 0; i < 3; i++) {
		busy_tell(&busy);
		busy_wait(&busy);
	}
	CHECK_EQ("SHUT-2", shm_mappings(busy.pid, "/stream-"), 1);
	/* At the peak the process had mapped the streams in use and, for a moment, those of dead controllers. */
	CHECK_OP("SHUT-2", most, <, 2 * TRACE_SYS_MAX);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
	for (int i = 0; i < 2; i++) {
		busy_tell(&busy);
		busy_wait(&busy);
	}
	CHECK_EQ("SHUT-2", shm_mappings(busy.pid, "/stream-"), 0);
	close(busy.to);
	MUST(waitpid(busy.pid, &status, 0) == busy.pid);
	CHECK_EQ("-", status, 0);
}

TEST(loop)        { run(POSIX_TRACE_LOOP, 65536, false); }
TEST(full)        { run(POSIX_TRACE_UNTIL_FULL, 1 << 20, false); }
TEST(loop_killed) { run(POSIX_TRACE_LOOP, 1 << 20, true); }
TEST(full_killed) { run(POSIX_TRACE_UNTIL_FULL, 65536, true); }

TEST_MAIN(TEST_ENTRY(loop), TEST_ENTRY(full), TEST_ENTRY(loop_killed), TEST_ENTRY(full_killed))
