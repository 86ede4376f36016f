/*
 * sys.c - src/base/sys.c: results as from the kernel, errno unchanged
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/sys.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "sanitizer.h"
#include "shm.h"
#include "unit.h"

#define ERRNO_BEFORE 4711

/* Each function, made to fail. */
TEST(errno_kept)
{
	struct timespec past = { 1, 0 };
	uint64_t soft, hard;
	struct sys_stat st;
	uint32_t word = 0;
	char buf[64] = "";

	errno = ERRNO_BEFORE;
	CHECK_EQ("-", sys_open(AT_FDCWD, "/nowhere/at/all", O_RDONLY, 0), -ENOENT);
	CHECK_EQ("-", sys_close(-1), -EBADF);
	CHECK_EQ("-", sys_read(-1, buf, 1), -EBADF);
	CHECK_EQ("-", sys_stat(-1, &st), -EBADF);
	CHECK_EQ("-", sys_write_at(-1, buf, 1, 0), -EBADF);
	CHECK_EQ("-", sys_write(-1, buf, 1), -EBADF);
	CHECK_EQ("-", sys_read_at(-1, buf, 1, 0), -EBADF);
	CHECK_EQ("-", sys_dup(-1), -EBADF);
	CHECK_EQ("-", sys_truncate(-1, 0), -EBADF);
	CHECK_EQ("-", sys_sync_data(-1), -EBADF);
	CHECK_EQ("-", sys_read_link("/nowhere/at/all", buf, sizeof buf), -ENOENT);
	CHECK_EQ("-", sys_open_flags(-1), -EBADF);
	CHECK_EQ("-", sys_reserve_space(-1, 1), -EBADF);
	CHECK_EQ("-", sys_futex_wait_for(&word, 1, 1), -EAGAIN);
	CHECK_EQ("-", sys_futex_wait_for(&word, 0, 1), -ETIMEDOUT);
	CHECK_EQ("-", sys_stat_path("/nowhere/at/all", &st), -ENOENT);
	CHECK_EQ("-", sys_unused_limit(0x7ffffff0, &soft, &hard), -ESRCH);
	CHECK_EQ("-", sys_set_unused_limit(0x7ffffff0, 1, 1), -ESRCH);
	CHECK_EQ("-", sys_lock(-1, true, 0, 1), -EBADF);
	CHECK_EQ("-", sys_lock_probe(-1, 0, 1), -EBADF);
	CHECK("-", sys_map_untouched(4096, -1) == NULL);
	CHECK("-", sys_map_family(SIZE_MAX - 65535) == NULL);
	CHECK_EQ("-", sys_not_on_fork((void *)1, 1), -EINVAL);
	CHECK_EQ("-", sys_mkdir(AT_FDCWD, "/nowhere/at/all", 0700), -ENOENT);
	CHECK_EQ("-", sys_unlink(AT_FDCWD, "/nowhere/at/all"), -ENOENT);
	CHECK_EQ("-", sys_rename(AT_FDCWD, "/nowhere/at", "/nowhere/all"), -ENOENT);
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

TEST(ref)
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
	CHECK_EQ("-", status, sys_wipes_on_fork() ? 0 : 1 << 8);
	CHECK_EQ("-", p[100], 1);
}

TEST(missing_in_child)
{
	char *p = sys_map(4096, -1, 1);
	int status;

	MUST(p && sys_not_on_fork(p, 4096) == 0);
	if (fork() == 0)
		_exit(msync(p, 4096, MS_ASYNC) == 0 || errno != ENOMEM); /* nothing is mapped at the address */
	wait(&status);
	CHECK_EQ("-", status, 0);
	CHECK_EQ("-", p[0], 0);
}

/* Pages that cannot be accessed, but keep the file open. */
TEST(untouched)
{
	int fd = memfd_create("unit", MFD_CLOEXEC), ends[2];
	char *p;

	MUST(fd >= 0 && ftruncate(fd, 4096) == 0);
	p = sys_map_untouched(4096, fd);
	MUST(p);
	close(fd);
	MUST(pipe(ends) == 0);
	if (!getenv("TEST_SLOW")) /* valgrind would report the write */
		CHECK("-", write(ends[1], p, 1) < 0 && errno == EFAULT);
	sys_unmap(p, 4096);
}

TEST(written)
{
	int fd = memfd_create("unit", MFD_CLOEXEC);
	char buf[8] = "";

	MUST(fd >= 0 && ftruncate(fd, 100) == 0);
	CHECK_EQ("-", sys_write_at(fd, "abc", 3, 50), 3);
	CHECK_EQ("-", lseek(fd, 0, SEEK_CUR), 0);
	MUST(pread(fd, buf, 4, 49) == 4);
	CHECK("-", memcmp(buf, "\0abc", 4) == 0);
}

/* Positions beyond 32 bits. The file offset of the descriptor stays where it was. */
TEST(by_position)
{
	const uint64_t far = UINT64_C(0x123456789a);
	int fd = memfd_create("unit", MFD_CLOEXEC), other;
	char buf[8] = "";
	struct stat st;

	MUST(fd >= 0);
	CHECK_EQ("-", sys_write(fd, "abc", 3), 3);
	CHECK_EQ("-", sys_write_at(fd, "xyz", 3, far), 3);
	CHECK_EQ("-", sys_read_at(fd, buf, sizeof buf, far), 3);
	CHECK("-", memcmp(buf, "xyz", 4) == 0);
	CHECK_EQ("-", sys_read_at(fd, buf, sizeof buf, far + 3), 0);
	CHECK_EQ("-", sys_read_at(fd, buf, 2, 1), 2);
	CHECK("-", memcmp(buf, "bcz", 3) == 0);
	CHECK_EQ("-", lseek(fd, 0, SEEK_CUR), 3);
	MUST(fstat(fd, &st) == 0);
	CHECK_EQ("-", st.st_size, far + 3);
	CHECK_EQ("-", sys_truncate(fd, far - 1), 0);
	MUST(fstat(fd, &st) == 0);
	CHECK_EQ("-", st.st_size, far - 1);
	CHECK_EQ("-", sys_sync_data(fd), 0);

	/* Reserves space without changing the size. */
	CHECK_EQ("-", sys_truncate(fd, 10), 0);
	CHECK_EQ("-", sys_reserve_space(fd, 100000), 0);
	MUST(fstat(fd, &st) == 0);
	CHECK("-", st.st_size == 10 && st.st_blocks * 512 >= 100000);

	/* The duplicate refers to the same file, is closed by exec, and is never one of the first three descriptors. */
	close(0);
	other = sys_dup(fd);
	CHECK("-", other > 2 && fcntl(other, F_GETFD) == FD_CLOEXEC && lseek(other, 0, SEEK_CUR) == 3);
	close(other);
	CHECK_EQ("-", sys_open_flags(fd) & O_ACCMODE, O_RDWR);
	other = sys_open(AT_FDCWD, "/dev/null", O_WRONLY | O_APPEND, 0);
	CHECK_EQ("-", sys_open_flags(other) & (O_ACCMODE | O_APPEND), O_WRONLY | O_APPEND);
}

TEST(links)
{
	char buf[100], path[32];
	int dir = unit_directory(path);

	MUST(symlinkat("where it leads", dir, "link") == 0);
	MUST(fchdir(dir) == 0);
	memset(buf, '#', sizeof buf);
	CHECK_EQ("-", sys_read_link("link", buf, sizeof buf), 14);
	CHECK_STR("-", buf, "where it leads");
	memset(buf, '#', sizeof buf);
	CHECK_EQ("-", sys_read_link("link", buf, 6), 5); /* as much as fits */
	CHECK("-", memcmp(buf, "where\0#", 7) == 0);
	unlinkat(dir, "link", 0);
	rmdir(path);
}

/* A full, non-blocking pipe. */
static void *empty(void *fd)
{
	char buf[4096];

	unit_sleep_ms(20);
	MUST(read(*(int *)fd, buf, sizeof buf) == sizeof buf);
	return NULL;
}

TEST(writable)
{
	static const char page[4096];
	int ends[2], full = 0;
	pthread_t thread;
	int64_t before;

	MUST(pipe2(ends, O_NONBLOCK) == 0 && fcntl(ends[0], F_SETFL, 0) == 0);
	CHECK("-", sys_wait_writable(ends[1]) > 0);
	while (sys_write(ends[1], page, sizeof page) == sizeof page)
		full++;
	CHECK("-", full > 0);
	CHECK_EQ("-", sys_write(ends[1], page, sizeof page), -EAGAIN);
	before = unit_now();
	MUST(pthread_create(&thread, NULL, empty, &ends[0]) == 0);
	CHECK("-", sys_wait_writable(ends[1]) > 0);
	CHECK("-", unit_now() - before >= 15000000);
	CHECK_EQ("-", sys_write(ends[1], page, sizeof page), sizeof page);
	pthread_join(thread, NULL);
	close(ends[0]);
	CHECK("-", sys_wait_writable(ends[1]) > 0); /* the closed reading end wakes the caller */
}

/* -- H27: a descriptor table of one thread ------------------------------------------------------- */

static struct {
	int fd;
	int result;
	unsigned before, after; /* number of descriptors */
	int other; /* a descriptor that the thread opened itself */
	uint32_t step;
} own;

static unsigned open_descriptors(void)
{
	return (unsigned)shm_count("/proc/thread-self/fd", "") - 1; /* without that of the directory */
}

static void step(uint32_t to)
{
	store_release(&own.step, to);
	sys_futex_wake(&own.step);
}

static void wait_step(uint32_t want)
{
	uint32_t is;

	while ((is = load_acquire(&own.step)) < want)
		sys_futex_wait(&own.step, is, NULL);
}

static void *keep_one(void *arg)
{
	own.before = open_descriptors();
	own.result = sys_own_descriptors(own.fd);
	own.after = open_descriptors();
	own.other = open("/dev/null", O_RDONLY);
	step(1);
	wait_step(2); /* by now the process has closed it and opened others */
	CHECK_EQ("-", sys_write_at(own.fd, "mine", 4, 0), 4);
	CHECK_EQ("-", open_descriptors(), own.after + 1);
	return NULL;
}

static void check_own(int fd)
{
	unsigned before = open_descriptors(), others = 0;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 100), more;
	pthread_t thread;
	char buf[5] = "";

	MUST(copy >= 0);
	own.fd = fd;
	own.step = 0;
	MUST(pthread_create(&thread, NULL, keep_one, NULL) == 0);
	wait_step(1);
	if (own.result < 0)
		SKIP("no table of descriptors for a thread here");
	CHECK_EQ("-", own.before, before + 1);
	CHECK_EQ("-", own.after, 1);
	/* The process's table has not changed, and is independent of what either of them opens or closes. */
	CHECK_EQ("-", open_descriptors(), before + 1);
	for (int i = 0; i < 3; i++)
		others += fcntl(i, F_GETFD) >= 0;
	CHECK_EQ("-", others, 3);
	close(fd);
	more = open("/dev/null", O_RDONLY);
	step(2);
	pthread_join(thread, NULL);
	CHECK("-", pread(copy, buf, 4, 0) == 4 && memcmp(buf, "mine", 4) == 0);
	close(more);
	close(copy);
}

TEST(own_descriptors)
{
	int fd = memfd_create("unit", 0), zero;

	if (test_in_valgrind())
		SKIP("valgrind has some of its own there");
	check_own(fcntl(fd, F_DUPFD, 57)); /* in the middle */
	check_own(fcntl(fd, F_DUPFD, 500)); /* the last descriptor */
	/* The first descriptor. */
	zero = dup(0);
	MUST(dup2(fd, 0) == 0 && zero > 0);
	own.fd = 0;
	{
		pthread_t thread;

		own.step = 0;
		MUST(pthread_create(&thread, NULL, keep_one, NULL) == 0);
		wait_step(1);
		if (own.result < 0)
			SKIP("no table of descriptors for a thread here");
		CHECK_EQ("-", own.after, 1);
		step(2);
		pthread_join(thread, NULL);
	}
	MUST(dup2(zero, 0) == 0);
}

/* A wait for a span of time does not depend on a clock that can be set. */
static void *wake_at_once(void *arg)
{
	uint32_t *word = arg;

	unit_sleep_ms(5);
	store_release(word, 1);
	sys_futex_wake(word);
	return NULL;
}

TEST(sleeping_for)
{
	int64_t before = unit_now();
	uint32_t word = 0;
	pthread_t thread;

	CHECK_EQ("-", sys_futex_wait_for(&word, 0, 20000000), -ETIMEDOUT);
	CHECK("-", unit_now() - before >= 20000000);
	CHECK_EQ("-", sys_futex_wait_for(&word, 0, 0), -ETIMEDOUT);
	CHECK_EQ("-", sys_futex_wait_for(&word, 7, NS_PER_S), -EAGAIN);
	before = unit_now();
	MUST(pthread_create(&thread, NULL, wake_at_once, &word) == 0);
	while (!load_acquire(&word))
		CHECK("-", sys_futex_wait_for(&word, 0, 30 * NS_PER_S) != -ETIMEDOUT);
	CHECK("-", unit_now() - before < 20 * NS_PER_S);
	pthread_join(thread, NULL);
}

/* Blocks all signals of a thread except those that the C library uses internally. */
TEST(signals_of_a_thread)
{
	uint64_t before = sys_signals_block_thread(), now;

	now = sys_signals_block();
	sys_signals_restore(before);
	if (now >> (SIGRTMAX - 1) == 0)
		SKIP("not all signals of the kernel are there");
	for (int signal = 1; signal < 64; signal++) {
		bool blocked = now >> (signal - 1) & 1, fault = signal == SIGSEGV || signal == SIGBUS ||
			signal == SIGILL || signal == SIGFPE ||
		                                                signal == SIGTRAP || signal == SIGSYS;

		if (signal == SIGKILL || signal == SIGSTOP)
			continue;
		if (signal >= 32 && signal < SIGRTMIN)
			CHECK("-", !blocked);
		else
			CHECK_EQ("-", blocked, !fault);
	}
}

/* Locks of open file descriptions also exclude each other within a process, far beyond the end of the file. */
TEST(locks)
{
	const int64_t far = INT64_C(0x706f736978740000);
	char path[32];
	int dir = unit_directory(path), fd[3];

	for (int i = 0; i < 3; i++) {
		fd[i] = openat(dir, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		MUST(fd[i] >= 0);
	}
	unlinkat(dir, "file", 0);
	rmdir(path);
	CHECK_EQ("-", sys_lock_probe(fd[0], far, 2), 0);
	CHECK_EQ("-", sys_lock(fd[0], true, far, 1), 0);
	CHECK_EQ("-", sys_lock(fd[1], false, far + 1, 1), 0);
	CHECK_EQ("-", sys_lock(fd[2], false, far + 1, 1), 0);
	CHECK_EQ("-", sys_lock(fd[2], true, far, 1), -EAGAIN);
	CHECK_EQ("-", sys_lock(fd[2], false, far, 1), -EAGAIN);
	CHECK_EQ("-", sys_lock(fd[2], true, far, 2), -EAGAIN);
	CHECK_EQ("-", sys_lock_probe(fd[2], far, 1), 1);
	CHECK_EQ("-", sys_lock_probe(fd[2], far + 2, 1), 0);
	CHECK_EQ("-", sys_lock_probe(fd[0], far, 1), 0); /* a descriptor does not see its own lock */
	close(fd[0]);
	CHECK_EQ("-", sys_lock_probe(fd[2], far, 1), 0);
	close(fd[1]);
	CHECK_EQ("-", sys_lock(fd[2], true, far, 2), 0);
}

/* Does not replace an existing file. */
TEST(renamed)
{
	char path[32];
	int dir = unit_directory(path);
	struct stat one, st;

	MUST(close(openat(dir, "one", O_RDWR | O_CREAT, 0600)) == 0 && fstatat(dir, "one", &one, 0) == 0);
	CHECK_EQ("-", sys_rename(dir, "one", "two"), 0);
	CHECK("-", fstatat(dir, "one", &st, 0) < 0 && fstatat(dir, "two", &st, 0) == 0 && st.st_ino == one.st_ino);
	MUST(close(openat(dir, "one", O_RDWR | O_CREAT, 0600)) == 0);
	CHECK_EQ("-", sys_rename(dir, "one", "two"), -EEXIST);
	CHECK("-", fstatat(dir, "one", &st, 0) == 0 && fstatat(dir, "two", &st, 0) == 0 && st.st_ino == one.st_ino);
	unlinkat(dir, "one", 0);
	unlinkat(dir, "two", 0);
	rmdir(path);
}

static void other_uids(void)
{
	unsigned real, saved;

	if (setresuid(1, 2, 3) < 0)
		_exit(1);
	sys_other_uids(&real, &saved);
	_exit(sys_geteuid() != 2 || real != 1 || saved != 3);
}

TEST(users)
{
	unsigned real, saved;
	int status;

	sys_other_uids(&real, &saved);
	CHECK("-", real == getuid() && saved == geteuid());
	CHECK_EQ("-", sys_getegid(), getegid());
	if (geteuid() != 0)
		SKIP("only root changes users here");
	if (fork() == 0)
		other_uids();
	wait(&status);
	CHECK_EQ("-", status, 0);
}

TEST(limits)
{
	uint64_t soft, hard, before;

	CHECK_EQ("-", sys_unused_limit(0, &soft, &hard), 0);
	before = soft;
	if (hard != SYS_NO_LIMIT)
		SKIP("somebody has set this limit");
	CHECK_EQ("-", sys_set_unused_limit(0, UINT64_C(0x123456789abc), hard), 0);
	CHECK_EQ("-", sys_unused_limit((uint32_t)getpid(), &soft, &hard), 0);
	CHECK("-", soft == UINT64_C(0x123456789abc) && hard == SYS_NO_LIMIT);
	CHECK_EQ("-", sys_set_unused_limit(0, before, hard), 0);
	CHECK_EQ("-", sys_unused_limit(0, &soft, &hard), 0);
	CHECK("-", soft == before);
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
	struct rlimit before, limit;
	int fd = memfd_create("unit", 0);
	struct stat st;

	CHECK_EQ("-", sys_reserve(fd, 5000), 0);
	MUST(fstat(fd, &st) == 0);
	CHECK_EQ("-", st.st_size, 5000);
	CHECK("-", st.st_blocks * 512 >= 5000);
	MUST(getrlimit(RLIMIT_FSIZE, &before) == 0);
	limit = (struct rlimit){ 4096, before.rlim_max };
	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK_EQ("-", sys_reserve(fd, 6000), -EFBIG);
	MUST(setrlimit(RLIMIT_FSIZE, &before) == 0); /* script/coverage writes at exit */
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
	/* A fault on an unreadable address must reach the application's handler. */
	CHECK("-", sigismember(&after, SIGSEGV) == 0 && sigismember(&after, SIGBUS) == 0);
	sys_signals_restore(old);
	sanitizer_signals();
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

TEST_MAIN(TEST_ENTRY(errno_kept), TEST_ENTRY(ref), TEST_ENTRY(memory), TEST_ENTRY(wiped_in_child),
          TEST_ENTRY(missing_in_child), TEST_ENTRY(untouched), TEST_ENTRY(written), TEST_ENTRY(locks),
          TEST_ENTRY(renamed), TEST_ENTRY(users), TEST_ENTRY(limits), TEST_ENTRY(family), TEST_ENTRY(processors),
          TEST_ENTRY(reserved), TEST_ENTRY(signals_blocked), TEST_ENTRY(sleeping), TEST_ENTRY(by_position),
          TEST_ENTRY(links), TEST_ENTRY(writable), TEST_ENTRY(own_descriptors), TEST_ENTRY(sleeping_for),
          TEST_ENTRY(signals_of_a_thread))
