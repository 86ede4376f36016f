/*
 * sys.c - src/base/sys.c: results as in the kernel, and errno as it was
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/sys.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "shm.h"
#include "unit.h"

#define ERRNO_BEFORE 4711

/* Every one of them, made to fail. */
TEST(errno_kept)
{
	struct timespec past = { 1, 0 };
	struct sys_stat st;
	uint32_t word = 0;
	char buf[64];

	errno = ERRNO_BEFORE;
	CHECK_EQ("-", sys_open(AT_FDCWD, "/nowhere/at/all", O_RDONLY, 0), -ENOENT);
	CHECK_EQ("-", sys_close(-1), -EBADF);
	CHECK_EQ("-", sys_read(-1, buf, 1), -EBADF);
	CHECK_EQ("-", sys_stat(-1, &st), -EBADF);
	CHECK_EQ("-", sys_mkdir("/nowhere/at/all", 0700), -ENOENT);
	CHECK_EQ("-", sys_unlink(AT_FDCWD, "/nowhere/at/all"), -ENOENT);
	CHECK_EQ("-", sys_link(AT_FDCWD, "/nowhere/at", "/nowhere/all"), -ENOENT);
	CHECK_EQ("-", sys_reserve(-1, 1), -EBADF);
	CHECK_EQ("-", sys_getdents(-1, buf, sizeof buf), -EBADF);
	CHECK("-", sys_map(SIZE_MAX - 65535, -1, 1) == NULL);
	CHECK_EQ("-", sys_wipe_on_fork((void *)1, 1), -EINVAL);
	CHECK_EQ("-", sys_kill_probe(0x7ffffff0), -ESRCH);
	CHECK_EQ("-", sys_thread_probe(0, 0x7ffffff0), -ESRCH);
	CHECK_EQ("-", sys_thread_probe(0x7ffffff0, 0x7ffffff0), -ESRCH);
	CHECK("-", sys_membarrier(-1) < 0);
	CHECK_EQ("-", sys_futex_wait(&word, 1, NULL), -EAGAIN);
	CHECK_EQ("-", sys_futex_wait(&word, 0, &past), -ETIMEDOUT);
	CHECK_EQ("-", sys_futex_wake(&word), 0);
	sys_unmap((void *)1, 1);
	sys_yield();
	sys_sleep_ns(1);
	CHECK_EQ("-", errno, ERRNO_BEFORE);
}

TEST(who)
{
	char name[16] = "";

	CHECK_EQ("-", sys_getpid(), getpid());
	CHECK_EQ("-", sys_gettid(), unit_tid());
	CHECK_EQ("-", sys_geteuid(), geteuid());
	CHECK_EQ("-", sys_kill_probe(getpid()), 0);
	CHECK_EQ("-", sys_thread_probe(getpid(), sys_gettid()), 0);
	CHECK_EQ("-", sys_thread_probe(0, sys_gettid()), 0);
	CHECK_EQ("-", sys_thread_probe(getppid(), sys_gettid()), -ESRCH);
	MUST(prctl(PR_SET_NAME, "unit name") == 0);
	sys_thread_name(name);
	CHECK_STR("-", name, "unit name");
}

TEST(memory)
{
	char *p = sys_map(8192, -1, 1);

	MUST(p);
	for (int i = 0; i < 8192; i++)
		CHECK_EQ("-", p[i], 0);
	p[0] = p[8191] = 1;
	sys_map_over(p, 4096);
	CHECK_EQ("-", p[0], 0);
	CHECK_EQ("-", p[8191], 1);
	sys_unmap(p, 8192);
	CHECK("-", mprotect(p, 8192, PROT_READ) < 0 && errno == ENOMEM);
}

TEST(wiped_in_child)
{
	char *p = sys_map(4096, -1, 1);
	int status;

	MUST(p && sys_wipe_on_fork(p, 4096) == 0);
	p[100] = 1;
	if (fork() == 0)
		_exit(p[100]);
	wait(&status);
	CHECK_EQ("-", status, 0);
	CHECK_EQ("-", p[100], 1);
}

TEST(family)
{
	char *p = sys_map_family(4096);
	int status;

	MUST(p);
	CHECK_EQ("-", p[0], 0);
	if (fork() == 0) {
		p[0] = 1;
		_exit(0);
	}
	wait(&status);
	CHECK_EQ("-", p[0], 1);
}

TEST(processors)
{
	cpu_set_t set;
	uint32_t all = sys_processors();

	MUST(sched_getaffinity(0, sizeof set, &set) == 0);
	CHECK_EQ("-", all, CPU_COUNT(&set));
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&set) > 1; i++)
		CPU_CLR(i, &set);
	MUST(sched_setaffinity(0, sizeof set, &set) == 0);
	CHECK_EQ("-", sys_processors(), 1);
}

TEST(reserved)
{
	struct rlimit limit = { 4096, 4096 };
	int fd = memfd_create("unit", 0);
	struct stat st;

	CHECK_EQ("-", sys_reserve(fd, 5000), 0);
	MUST(fstat(fd, &st) == 0);
	CHECK_EQ("-", st.st_size, 5000);
	CHECK("-", st.st_blocks * 512 >= 5000);
	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK_EQ("-", sys_reserve(fd, 6000), -EFBIG);
}

static int handled;

static void handler(int signal)
{
	handled++;
}

TEST(signals_blocked)
{
	sigset_t before, after;
	uint64_t old;

	signal(SIGUSR1, handler);
	sigprocmask(SIG_BLOCK, NULL, &before);
	old = sys_signals_block();
	raise(SIGUSR1);
	CHECK_EQ("-", handled, 0);
	sigprocmask(SIG_BLOCK, NULL, &after);
	CHECK("-", sigismember(&after, SIGUSR1) == 1 && sigismember(&after, SIGALRM) == 1);
	/* An address that cannot be read must reach the program's own handler. */
	CHECK("-", sigismember(&after, SIGSEGV) == 0 && sigismember(&after, SIGBUS) == 0);
	sys_signals_restore(old);
	CHECK_EQ("-", handled, 1);
	sigprocmask(SIG_BLOCK, NULL, &after);
	for (int i = 1; i < SIGRTMAX; i++)
		CHECK_EQ("-", sigismember(&before, i), sigismember(&after, i));
}

static uint32_t futex;

static void *wake(void *arg)
{
	unit_sleep_ms(20);
	store_release(&futex, 1);
	sys_futex_wake(&futex);
	return NULL;
}

TEST(sleeping)
{
	struct timespec until;
	pthread_t thread;
	int64_t before = unit_now();

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 30000000;
	if (until.tv_nsec >= NS_PER_S) {
		until.tv_nsec -= NS_PER_S;
		until.tv_sec++;
	}
	CHECK_EQ("-", sys_futex_wait(&futex, 0, &until), -ETIMEDOUT);
	CHECK("-", unit_now() - before >= 25000000);

	before = unit_now();
	sys_sleep_ns(20000000);
	CHECK("-", unit_now() - before >= 15000000);

	MUST(pthread_create(&thread, NULL, wake, NULL) == 0);
	until.tv_sec += 20;
	while (!load_acquire(&futex))
		CHECK_EQ("-", sys_futex_wait(&futex, 0, &until), 0);
	pthread_join(thread, NULL);
}

TEST_MAIN(TEST_ENTRY(errno_kept), TEST_ENTRY(who), TEST_ENTRY(memory), TEST_ENTRY(wiped_in_child), TEST_ENTRY(family),
          TEST_ENTRY(processors), TEST_ENTRY(reserved), TEST_ENTRY(signals_blocked), TEST_ENTRY(sleeping))
