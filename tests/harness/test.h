/*
 * test.h - a test program: named tests, each in a process of its own
 *
 * A check names the requirements it checks (docs/CONFORMANCE.md is made from these names), or "-" where it only
 * prepares or guards the test:
 *
 *     TEST(short_buffer)
 *     {
 *             CHECK_EQ("READ-18", data_len, 4);
 *     }
 *     TEST_MAIN(TEST_ENTRY(short_buffer))
 *
 * A failed check prints its place and both values, and the test goes on; MUST ends the test. The program's argument is
 * the name of the only test to run, or --list, which prints all names. The exit status is 0 if all tests passed, 1 if
 * one failed, 77 if all were skipped. TEST_TIMEOUT (seconds, default 60; the environment multiplies it by TEST_SLOW,
 * for valgrind) ends a test that hangs. With TEST_THOROUGH tests try all cases instead of some.
 *
 * TEST_REPORT=FILE appends to this file a report for a script (script/conformance). Each line has words separated by
 * tabs:
 *
 *     fail    TEST  REQUIREMENTS  PLACE: a check has failed
 *     done    TEST                the test came to its end, so all its checks were made
 *     because TEST  WHY           the test is skipped
 *     passed, failed or skipped   TEST  HOW
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TEST_H
#define TEST_H

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alone.h"
#include "sanitizer.h"

#ifndef TEST_TIMEOUT
# define TEST_TIMEOUT 60
#endif

struct test {
	const char *name;
	void (*run)(void);
};

#ifdef TEST_PARTS /* the program has several files, which count together */
__attribute__((weak)) volatile int test_failures;
#else
static volatile int test_failures __attribute__((unused));
#endif

#define TEST(name) static void test_##name(void)

/* Appends to the report. Several processes, images and users of one test do so, so a line is a single write. */
static inline void test_report(const char *kind, const char *name, const char *what, const char *file, int number)
{
	const char *path = getenv("TEST_REPORT"), *program = strrchr(file, '/');
	char line[512];
	int error = errno, fd, n;

	if (!path)
		return;
	if (!name)
		name = getenv("TEST_NAME");
	n = snprintf(line, sizeof line, "%s\t%s\t%s\t%s:%d\n", kind, name ? name : "-", what,
	             program ? program + 1 : file, number);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	/* If this line cannot be written, the reader of the report misses it: a failed test without a failed check. */
	if (fd < 0 || n < 0 || write(fd, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1) < 0)
		perror(path);
	if (fd >= 0)
		close(fd);
	errno = error;
}

#define TEST_FAIL(ids, ...)                                                         \
	do {                                                                        \
		test_failures = test_failures + 1; /* C++20 has no ++ here */       \
		test_report("fail", NULL, ids, __FILE__, __LINE__);                 \
		fprintf(stderr, "%s:%d: [%s] ", __FILE__, __LINE__, ids);           \
		fprintf(stderr, __VA_ARGS__);                                       \
		fputc('\n', stderr);                                                \
	} while (0)

#define CHECK(ids, condition)                                                       \
	do {                                                                        \
		if (!(condition))                                                   \
			TEST_FAIL(ids, "%s", #condition);                           \
	} while (0)

/* Compares integers of any kind, as long long. */
#define CHECK_OP(ids, a, op, b)                                                     \
	do {                                                                        \
		long long test_a = (long long)(a), test_b = (long long)(b);         \
		if (!(test_a op test_b))                                            \
			TEST_FAIL(ids, "%s " #op " %s: %lld, %lld", #a, #b, test_a, test_b); \
	} while (0)
#define CHECK_EQ(ids, a, b) CHECK_OP(ids, a, ==, b)
#define CHECK_NE(ids, a, b) CHECK_OP(ids, a, !=, b)

#define CHECK_STR(ids, a, b)                                                        \
	do {                                                                        \
		const char *test_a = (a), *test_b = (b);                            \
		if (strcmp(test_a, test_b) != 0)                                    \
			TEST_FAIL(ids, "%s is \"%s\", not \"%s\"", #a, test_a, test_b); \
	} while (0)

/* Ends the test if the condition is false, because the rest would make no sense. */
#define MUST(condition)                                                             \
	do {                                                                        \
		if (!(condition)) {                                                 \
			TEST_FAIL("-", "%s (errno %d)", #condition, errno);         \
			exit(1);                                                    \
		}                                                                   \
	} while (0)

#define SKIP(reason)                                                                \
	do {                                                                        \
		printf("  skipped: %s\n", reason);                                  \
		fflush(stdout);                                                     \
		test_report("because", NULL, reason, __FILE__, __LINE__);           \
		_exit(77);                                                          \
	} while (0)

/* Skips the test where root may not look at processes of other users, as in a container. */
#define NEEDS_OTHERS()                                                              \
	do {                                                                        \
		if (!test_capable(CAP_SYS_PTRACE))                                  \
			SKIP("this root may not look at processes of other users"); \
	} while (0)

/* Skips the test without room for this many MiB of streams or logs; a container's /dev/shm may have 64. */
#define NEEDS_ROOM(mib)                                                             \
	do {                                                                        \
		struct statvfs test_room;                                           \
		if (statvfs("/dev/shm", &test_room) == 0 && test_room.f_blocks * test_room.f_frsize / 1048576 < (mib)) \
			SKIP("/dev/shm is too small");                              \
	} while (0)

/* Returns how much slower this environment is, for time limits and for the amount of work. */
static inline int test_slow(void)
{
	const char *s = getenv("TEST_SLOW");
	int n = s ? atoi(s) : 1;

	return n > 0 ? n : 1;
}

/* Returns whether to try all cases (script/test-more) instead of a different selection each time. */
static inline int test_thorough(void)
{
	return getenv("TEST_THOROUGH") != NULL;
}

/* Returns whether this process has a capability that root may lack in a container: a CAP_ of <linux/capability.h>. */
static inline int test_capable(int capability)
{
	char line[256];
	unsigned long long rights = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "CapEff: %llx", &rights) == 1)
			break;
	if (f)
		fclose(f);
	return (int)(rights >> capability & 1);
}

static inline int test_in_valgrind(void)
{
	const char *libraries = getenv("LD_PRELOAD");

	return libraries && strstr(libraries, "vgpreload");
}

static inline int test_main(const struct test *tests, int argc, char **argv)
{
	int passed = 0, failed = 0, skipped = 0;

	if (argc > 1 && strcmp(argv[1], "--list") == 0) {
		for (const struct test *t = tests; t->name; t++)
			puts(t->name);
		return 0;
	}
	for (const struct test *t = tests; t->name; t++) {
		int status;
		pid_t pid;

		if (argc > 1 && strcmp(argv[1], t->name) != 0)
			continue;
		fflush(stdout);
		fflush(stderr);
		alone_share();
		pid = fork();
		if (pid == 0) {
			setenv("TEST_NAME", t->name, 1);
			alone_tell();
			alarm(TEST_TIMEOUT * test_slow());
			t->run();
			test_report("done", t->name, "", __FILE__, __LINE__);
			fflush(stderr);
			exit(test_failures ? 1 : 0);
		}
		if (pid < 0) {
			perror("fork");
			return 99;
		}
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		alone_end();
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
			passed++;
			test_report("passed", t->name, "", __FILE__, __LINE__);
		} else if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
			skipped++;
			printf("skip %s\n", t->name);
			test_report("skipped", t->name, "", __FILE__, __LINE__);
		} else {
			failed++;
			test_report("failed", t->name, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "", __FILE__,
			            __LINE__);
			if (WIFSIGNALED(status))
				printf("FAIL %s: signal %d (%s)\n", t->name, WTERMSIG(status),
				       strsignal(WTERMSIG(status)));
			else
				printf("FAIL %s: exit status %d\n", t->name, WEXITSTATUS(status));
		}
	}
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	if (failed)
		return 1;
	return passed ? 0 : 77;
}

#define TEST_ENTRY(name) { #name, test_##name }
/* TEST_MAIN(TEST_ENTRY(a), TEST_ENTRY(b)) */
#define TEST_MAIN(...)                                                              \
	int main(int argc, char **argv)                                             \
	{                                                                           \
		static const struct test tests[] = { __VA_ARGS__, { NULL, NULL } }; \
		return test_main(tests, argc, argv);                                \
	}

#endif
