/*
 * guard.c - src/host/guard.c: mapped memory that another process can truncate
 *
 * SPDX-License-Identifier: MIT
 */
#include "host/guard.h"

#include <setjmp.h>
#include <sys/mman.h>

#include "unit.h"

#define PAGE 4096
#define SIZE (3 * PAGE)

static int file(void)
{
	int fd = memfd_create("guard", MFD_CLOEXEC);

	MUST(fd >= 0 && ftruncate(fd, SIZE) == 0);
	return fd;
}

static volatile unsigned char *map(int fd)
{
	unsigned char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	MUST(p != MAP_FAILED);
	memset(p, 0x55, SIZE);
	return p;
}

static void *plain(volatile unsigned char *p)
{
	return (void *)(uintptr_t)p;
}

/* Removes the handler of a sanitizer. */
static void default_action(void)
{
	signal(SIGBUS, SIG_DFL);
}

TEST(taken_away)
{
	int fd;
	volatile unsigned char *p;

	default_action();
	for (int i = 0; i < 3; i++) {
		static const int touched[] = { 0, PAGE + 7, SIZE - 1 };

		fd = file();
		p = map(fd);
		MUST(guard_add(plain(p), SIZE) == 0);
		CHECK("-", !guard_broken(plain(p)));
		CHECK_EQ("-", p[touched[i]], 0x55);
		MUST(ftruncate(fd, 0) == 0);
		CHECK("-", !guard_broken(plain(p))); /* not noticed before it is touched */
		CHECK_EQ("-", p[touched[i]], 0);
		CHECK("-", guard_broken(plain(p)));
		CHECK("-", guard_broken(plain(p) + SIZE - 1));
		/* All of the mapping is private memory now, and can be used. */
		memset(plain(p), 0xaa, SIZE);
		CHECK_EQ("-", p[0] + p[SIZE - 1], 0xaa * 2);
		MUST(ftruncate(fd, SIZE) == 0);
		CHECK_EQ("-", p[0], 0xaa);
		guard_remove(plain(p));
		CHECK("-", !guard_broken(plain(p)));
		munmap(plain(p), SIZE);
		close(fd);
	}
}

/* Part of the mapping is truncated and then stored to. An address range that is guarded again is not broken. */
TEST(cut_short)
{
	int fd = file();
	volatile unsigned char *p = map(fd);

	default_action();
	MUST(guard_add(plain(p), SIZE) == 0);
	MUST(ftruncate(fd, PAGE) == 0);
	CHECK_EQ("-", p[0], 0x55);
	CHECK("-", !guard_broken(plain(p)));
	p[PAGE] = 7;
	CHECK("-", guard_broken(plain(p)));
	CHECK_EQ("-", p[PAGE], 7);
	CHECK_EQ("-", p[0], 0);
	guard_remove(plain(p));
	MUST(guard_add(plain(p), SIZE) == 0);
	CHECK("-", !guard_broken(plain(p)));
}

/* -- Signals for the application -------------------------------------------------- */

static volatile unsigned char *unguarded(void)
{
	int fd = file();
	volatile unsigned char *p = map(fd);

	MUST(ftruncate(fd, 0) == 0);
	return p;
}

static volatile unsigned char *guarded(int *fd)
{
	volatile unsigned char *p;

	*fd = file();
	p = map(*fd);
	MUST(guard_add(plain(p), SIZE) == 0);
	return p;
}

static int signal_of(void (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		f();
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status))
		CHECK_EQ("-", WEXITSTATUS(status), 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void touch_default(void)
{
	int fd;

	default_action();
	guarded(&fd);
	unguarded()[0] = 1;
}

static void sent_default(void)
{
	int fd;

	default_action();
	guarded(&fd);
	raise(SIGBUS);
}

static void touch_ignored(void)
{
	int fd;

	signal(SIGBUS, SIG_IGN);
	guarded(&fd);
	unguarded()[0] = 1; /* a synchronous SIGBUS cannot be ignored */
}

static void sent_ignored(void)
{
	volatile unsigned char *p;
	int fd;

	signal(SIGBUS, SIG_IGN);
	p = guarded(&fd);
	raise(SIGBUS);
	kill(getpid(), SIGBUS);
	guard_renew(); /* as each call of the library does */
	MUST(ftruncate(fd, 0) == 0);
	MUST(p[0] == 0 && guard_broken(plain(p)));
}

TEST(default_is_passed_on)
{
	CHECK_EQ("-", signal_of(touch_default), SIGBUS);
	CHECK_EQ("-", signal_of(sent_default), SIGBUS);
	CHECK_EQ("-", signal_of(touch_ignored), SIGBUS);
	CHECK_EQ("-", signal_of(sent_ignored), 0);
}

static volatile sig_atomic_t handled;
static void *volatile handled_at;
static sigjmp_buf back;

static void handler(int signal)
{
	handled++;
	siglongjmp(back, 1);
}

static void handler_with_info(int signal, siginfo_t *info, void *context)
{
	handled += signal == SIGBUS && context ? 10 : 1000;
	handled_at = info->si_addr;
	siglongjmp(back, 1);
}

static void install(bool with_info)
{
	struct sigaction a = { .sa_flags = with_info ? SA_SIGINFO : 0 };

	if (with_info)
		a.sa_sigaction = handler_with_info;
	else
		a.sa_handler = handler;
	MUST(sigaction(SIGBUS, &a, NULL) == 0);
}

/* Checks that SIGBUS for p is passed on to the application and SIGBUS for the guarded mapping is not. */
static void check_passed(int by, volatile unsigned char *p, volatile unsigned char *of_guard, int fd)
{
	handled = 0;
	handled_at = NULL;
	if (sigsetjmp(back, 1) == 0) {
		p[PAGE] = 1;
		TEST_FAIL("-", "nothing happened");
	}
	CHECK_EQ("-", handled, by);
	if (by == 10)
		CHECK("-", handled_at == plain(p) + PAGE);
	MUST(ftruncate(fd, 0) == 0);
	handled = 0;
	if (sigsetjmp(back, 1) == 0)
		CHECK_EQ("-", of_guard[1], 0);
	CHECK_EQ("-", handled, 0);
	CHECK("-", guard_broken(plain(of_guard)));
}

TEST(handler_is_passed_on)
{
	volatile unsigned char *p;
	int fd;

	install(false);
	p = guarded(&fd);
	check_passed(1, unguarded(), p, fd);
}

TEST(handler_with_info_is_passed_on)
{
	volatile unsigned char *p;
	int fd;

	install(true);
	p = guarded(&fd);
	check_passed(10, unguarded(), p, fd);
}

/* The application installs its handler later. The library's next call puts the guard's handler in front of it. */
TEST(handler_replaced)
{
	volatile unsigned char *p;
	int fd;

	default_action();
	guarded(&fd);
	for (int with_info = 0; with_info < 2; with_info++) {
		install(with_info);
		guard_renew();
		guard_renew(); /* a second call does not chain the handler to itself */
		p = guarded(&fd);
		check_passed(with_info ? 10 : 1, unguarded(), p, fd);
	}
}

TEST(nothing_without_guards)
{
	struct sigaction a;

	default_action();
	guard_renew();
	MUST(sigaction(SIGBUS, NULL, &a) == 0);
	CHECK("-", !(a.sa_flags & SA_SIGINFO) && a.sa_handler == SIG_DFL);
	CHECK("-", !guard_broken(&a));
	guard_remove(&a);
}

/* -- Many ----------------------------------------------------------------------------- */

static unsigned char memory[5000 * 16];

TEST(many)
{
	int n = 0, r;

	default_action();
	while ((r = guard_add(memory + n * 16, 16)) == 0 && n < 5000)
		n++;
	CHECK_EQ("-", r, -ENOMEM);
	CHECK_OP("-", n, >=, 3 * TRACE_SYS_MAX); /* a page, a registry and a stream for each stream of one controller */
	guard_remove(memory + 17 * 16);
	CHECK_EQ("-", guard_add(memory + 17 * 16, 16), 0);
	CHECK_EQ("-", guard_add(memory, 16), -ENOMEM);
	for (int i = 0; i < n; i++)
		guard_remove(memory + i * 16);
	for (int i = 0; i < n; i++)
		CHECK_EQ("-", guard_add(memory + i * 16, 16), 0);
}

/* Touching memory next to a guarded mapping is passed on. */
static unsigned char *between;

static void touch_before(void)
{
	between[-1] = 1;
}

static void touch_behind(void)
{
	between[PAGE] = 1;
}

static void touch_between(void)
{
	MUST(between[0] == 0 && between[PAGE - 1] == 0 && guard_broken(between));
}

TEST(edges)
{
	int fd = file();

	default_action();
	between = (unsigned char *)plain(map(fd)) + PAGE;
	MUST(guard_add(between, PAGE) == 0);
	MUST(ftruncate(fd, 0) == 0);
	CHECK("-", !guard_broken(between - 1) && !guard_broken(between + PAGE));
	CHECK_EQ("-", signal_of(touch_before), SIGBUS);
	CHECK_EQ("-", signal_of(touch_behind), SIGBUS);
	CHECK_EQ("-", signal_of(touch_between), 0);
}

#define ROUNDS 300

static void *be_cut(void *arg)
{
	for (int i = 0; i < ROUNDS / test_slow() + 10; i++) {
		int fd;
		volatile unsigned char *p = guarded(&fd);

		MUST(ftruncate(fd, (i % 3) * PAGE) == 0);
		CHECK_EQ("-", p[SIZE - 1], 0);
		CHECK("-", guard_broken(plain(p)));
		guard_remove(plain(p));
		munmap(plain(p), SIZE);
		close(fd);
	}
	return NULL;
}

static volatile unsigned char *common;

static void *touch_common(void *arg)
{
	for (int i = 0; i < SIZE; i += 64) {
		/* The byte may change from 0x55 to 0 at any time: read it once. */
		unsigned char byte = common[i];

		CHECK("-", byte == 0 || byte == 0x55);
	}
	return NULL;
}

TEST(two_threads)
{
	pthread_t thread[3];
	int fd;

	default_action();
	for (int i = 0; i < 3; i++)
		MUST(pthread_create(&thread[i], NULL, be_cut, NULL) == 0);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	/* All threads touch the same mapping at once. */
	for (int i = 0; i < 50; i++) {
		common = guarded(&fd);
		for (int k = 0; k < 2; k++)
			MUST(pthread_create(&thread[k], NULL, touch_common, NULL) == 0);
		MUST(ftruncate(fd, 0) == 0);
		touch_common(NULL);
		for (int k = 0; k < 2; k++)
			pthread_join(thread[k], NULL);
		guard_remove(plain(common));
		munmap(plain(common), SIZE);
		close(fd);
	}
}

TEST_MAIN(TEST_ENTRY(taken_away), TEST_ENTRY(cut_short), TEST_ENTRY(default_is_passed_on),
          TEST_ENTRY(handler_is_passed_on), TEST_ENTRY(handler_with_info_is_passed_on), TEST_ENTRY(handler_replaced),
          TEST_ENTRY(nothing_without_guards), TEST_ENTRY(many), TEST_ENTRY(edges), TEST_ENTRY(two_threads))
