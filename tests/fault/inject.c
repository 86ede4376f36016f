/*
 * inject.c - each call into the system fails once, in turn
 *
 * The linker puts what is here in front of src/base/sys.c. A whole run of a
 * stream is repeated with its first call failing, then its second, until none
 * fails any more. Whatever fails: no crash, no word, errno kept, an error that
 * is told, nothing left behind; and without failures all works again.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/sys.h"
#include "fault.h"

/* The call that fails, counted from 1; how many there were. */
static long fail_at, calls;
static int fail_with;
static const char *failed;

static int fails(const char *name)
{
	if (++calls != fail_at)
		return 0;
	failed = name;
	return 1;
}

#define WRAPPED(type, name, declared, passed, result)   \
	type __real_##name declared;                    \
	type __wrap_##name declared;                    \
	type __wrap_##name declared                     \
	{                                               \
		return fails(#name) ? (type)(result) : __real_##name passed; \
	}

WRAPPED(int, sys_open, (int d, const char *p, int f, unsigned m), (d, p, f, m), -fail_with)
WRAPPED(long, sys_read, (int fd, void *b, size_t n), (fd, b, n), -fail_with)
WRAPPED(int, sys_stat, (int fd, struct sys_stat *st), (fd, st), -fail_with)
WRAPPED(int, sys_mkdir, (const char *p, unsigned m), (p, m), -fail_with)
WRAPPED(int, sys_link, (int d, const char *from, const char *to), (d, from, to), -fail_with)
WRAPPED(int, sys_reserve, (int fd, uint64_t n), (fd, n), -fail_with)
WRAPPED(int, sys_getdents, (int fd, void *b, size_t n), (fd, b, n), -fail_with)
WRAPPED(void *, sys_map, (size_t n, int fd, int w), (n, fd, w), (intptr_t)0)
WRAPPED(int, sys_wipe_on_fork, (void *p, size_t n), (p, n), -fail_with)
WRAPPED(int, sys_membarrier, (int command), (command), -fail_with)

/* A stream's life. Each call may fail, but says so, and what was not created is not used. */
static void run(void)
{
	trace_event_id_t id = 0;
	trace_id_t trid;
	int error;

	errno = ERRNO_BEFORE;
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
	if (posix_trace_eventid_open("inject", &id) == 0)
		CHECK("-", id >= POSIX_TRACE_UNNAMED_USEREVENT);
	posix_trace_event(id, "data", 4);
	error = posix_trace_create(0, NULL, &trid);
	CHECK("HDR-33", error >= 0 && errno == ERRNO_BEFORE);
	if (error == 0) {
		int n;

		error = posix_trace_start(trid);
		CHECK_EQ("-", error, 0);
		for (int i = 0; i < 10; i++)
			posix_trace_event(id, "data", 4);
		CHECK_EQ("THR-6", errno, ERRNO_BEFORE);
		n = fault_count(trid, id);
		CHECK("-", n >= 0 && n <= 10);
		CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	}
	posix_trace_event(id, "data", 4);
	CHECK_EQ("THR-6", errno, ERRNO_BEFORE);
}

static long run_failing(long at, int error)
{
	int fd[2], status;
	long done = 0;
	pid_t pid;

	MUST(pipe(fd) == 0);
	pid = fork();
	if (pid == 0) {
		int descriptors = shm_descriptors(), before;

		test_failures = 0; /* of the runs before this */
		fail_at = at;
		fail_with = error;
		run();
		done = calls;
		fail_at = 0;
		before = test_failures;
		CHECK_EQ("-", shm_descriptors(), descriptors);
		CHECK_EQ("-", shm_count(shm_directory(), "stream-") > 0, 0);
		CHECK_EQ("-", shm_count(shm_directory(), "new-") > 0, 0);
		/* A kernel that cannot wipe memory in a child is too old, and stays so. */
		if (!failed || strcmp(failed, "sys_wipe_on_fork") != 0 || fault_create(0) != ENOSYS)
			fault_works(fault_open("inject"));
		if (before != test_failures)
			printf("  after\n");
		if (test_failures)
			printf("  call %ld of the run: %s, error %d\n", at, failed ? failed : "none", error);
		MUST(write(fd[1], &done, sizeof done) == sizeof done);
		exit(test_failures ? 1 : 0);
	}
	close(fd[1]);
	if (read(fd[0], &done, sizeof done) != sizeof done)
		printf("  call %ld of the run, error %d: no answer\n", at, error);
	close(fd[0]);
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", status, 0);
	return done;
}

static void check_each(int error)
{
	long count;

	shm_private("");
	count = run_failing(0, error);
	CHECK("-", count > 20);
	for (long at = 1; at <= count; at++)
		run_failing(at, error);
}

TEST(no_memory)
{
	check_each(ENOMEM);
}

TEST(too_many_files)
{
	check_each(EMFILE);
}

TEST(not_there)
{
	check_each(ENOENT);
}

TEST(forbidden)
{
	check_each(EPERM);
}

TEST_MAIN(TEST_ENTRY(no_memory), TEST_ENTRY(too_many_files), TEST_ENTRY(not_there), TEST_ENTRY(forbidden))
