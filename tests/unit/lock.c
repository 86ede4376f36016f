/*
 * lock.c - src/base/lock.c: who still uses a file, told by the kernel, without a descriptor
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/lock.h"

#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "fork.h"
#include "shm.h"
#include "unit.h"

static char path[32];
static int dir;

static void begin(void)
{
	dir = unit_directory(path);
}

static void end(void)
{
	unlinkat(dir, "one", 0);
	unlinkat(dir, "two", 0);
	CHECK_EQ("-", rmdir(path), 0);
}

static int open_one(void)
{
	int fd = openat(dir, "one", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	MUST(fd >= 0);
	return fd;
}

static struct hold hold_one(enum lock_kind kind)
{
	struct hold hold = { NULL };
	int fd = open_one();

	CHECK_EQ("-", lock_take(fd, kind), 0);
	CHECK_EQ("-", lock_hold(fd, &hold), 0);
	CHECK("-", hold.at != NULL);
	close(fd);
	return hold;
}

static bool held(void)
{
	return unit_held(dir, "one");
}

/* -- Which exclude which --------------------------------------------------------- */

TEST(kinds)
{
	/* The second beside the first? */
	static const bool beside[3][3] = {
		[LOCK_STREAM] = { [LOCK_STREAM] = false, [LOCK_SHARED] = true, [LOCK_REMOVE] = false },
		[LOCK_SHARED] = { [LOCK_STREAM] = true, [LOCK_SHARED] = true, [LOCK_REMOVE] = false },
		[LOCK_REMOVE] = { [LOCK_STREAM] = false, [LOCK_SHARED] = false, [LOCK_REMOVE] = false },
	};

	begin();
	for (int a = LOCK_STREAM; a <= LOCK_REMOVE; a++) {
		for (int b = LOCK_STREAM; b <= LOCK_REMOVE; b++) {
			int first = open_one(), second = open_one(), third = open_one();

			CHECK("-", !lock_held(third));
			CHECK_EQ("-", lock_take(first, (enum lock_kind)a), 0);
			CHECK("-", lock_held(third));
			CHECK("-", !lock_held(first)); /* its own is none */
			CHECK_EQ("-", lock_take(second, (enum lock_kind)b), beside[a][b] ? 0 : -EAGAIN);
			close(first);
			CHECK_EQ("-", lock_held(third), beside[a][b]);
			close(second);
			CHECK("-", !lock_held(third));
			close(third);
		}
	}
	end();
}

/* -- What keeps it ------------------------------------------------------------------ */

TEST(by_a_mapping)
{
	int descriptors;
	struct hold hold, second;

	begin();
	descriptors = shm_descriptors();
	hold = hold_one(LOCK_STREAM);
	CHECK_EQ("-", shm_descriptors(), descriptors);
	CHECK("-", held());
	CHECK("-", mprotect(hold.at, 4096, PROT_NONE) == 0); /* it is a page of ours */
	lock_release(&hold);
	CHECK("-", hold.at == NULL && !held());
	lock_release(&hold); /* nothing is held: nothing happens */

	hold = hold_one(LOCK_SHARED);
	second = hold_one(LOCK_SHARED);
	lock_release(&hold);
	CHECK("-", held());
	munmap(second.at, 4096);
	CHECK("-", !held());
	end();
}

/* A file that has lost its name is held all the same. */
TEST(unlinked)
{
	struct hold hold;
	int fd;

	begin();
	hold = hold_one(LOCK_SHARED);
	fd = open_one();
	unlinkat(dir, "one", 0);
	CHECK("-", lock_held(fd));
	lock_release(&hold);
	CHECK("-", !lock_held(fd));
	close(fd);
	end();
}

static void hold_in_child(void *kind)
{
	CHECK("-", hold_one((enum lock_kind)(uintptr_t)kind).at != NULL);
}

TEST(until_exit)
{
	struct unit_child child;

	begin();
	for (int kind = LOCK_STREAM; kind <= LOCK_SHARED; kind++) {
		child = unit_child(hold_in_child, (void *)(uintptr_t)kind);
		CHECK("-", held());
		unit_end_child(&child);
		CHECK("-", !held());
		child = unit_child(hold_in_child, (void *)(uintptr_t)kind);
		CHECK("-", held());
		kill(child.pid, SIGKILL);
		MUST(waitid(P_PID, (id_t)child.pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) == 0);
		CHECK("-", !held()); /* and not only when it is reaped */
		unit_kill_child(&child);
	}
	end();
}

/* A child that executes cat, which lives until it is told to end and has told that it is there. */
struct cat {
	pid_t pid;
	int end;
};

static struct cat execute(bool with_vfork, struct hold *in_child)
{
	int up[2], down[2];
	struct cat cat;
	char c;

	MUST(pipe(up) == 0 && pipe(down) == 0);
	fcntl(up[0], F_SETFD, FD_CLOEXEC);
	fcntl(down[1], F_SETFD, FD_CLOEXEC);
	MUST(write(down[1], "x", 1) == 1);
	cat.pid = with_vfork ? vfork() : fork();
	if (cat.pid == 0) {
		dup2(down[0], 0);
		dup2(up[1], 1);
		if (in_child)
			*in_child = hold_one(LOCK_STREAM);
		execlp("cat", "cat", (char *)NULL);
		_exit(99);
	}
	MUST(cat.pid > 0);
	close(up[1]);
	close(down[0]);
	MUST(read(up[0], &c, 1) == 1);
	close(up[0]);
	cat.end = down[1];
	return cat;
}

static void end_cat(const struct cat *cat)
{
	int status;

	close(cat->end);
	MUST(waitpid(cat->pid, &status, 0) == cat->pid);
	CHECK_EQ("-", status, 0);
}

TEST(until_exec)
{
	struct hold hold = { NULL };
	struct cat cat;

	begin();
	cat = execute(false, &hold);
	CHECK("-", !held());
	end_cat(&cat);
	end();
}

/* Children, however they are made, hold nothing of their parent's: when it lets go, or ends, nobody has it. */
TEST(not_in_children)
{
	struct unit_child child;
	struct hold hold;
	struct cat cat;
	int fd[2];
	pid_t pid;
	char c;

	begin();
	hold = hold_one(LOCK_STREAM);
	child = unit_child(NULL, NULL);
	CHECK("-", held());
	lock_release(&hold);
	CHECK("-", !held());
	unit_end_child(&child);

	for (int with_vfork = 0; with_vfork < 2; with_vfork++) {
		hold = hold_one(LOCK_STREAM);
		cat = execute(with_vfork, NULL);
		CHECK("-", held());
		lock_release(&hold);
		CHECK("-", !held());
		end_cat(&cat);
	}

	MUST(pipe(fd) == 0);
	for (int way = 0; way < 2; way++) {
		hold = hold_one(LOCK_STREAM);
		pid = way == 0 ? fork_underscore() : fork_clone();
		if (pid == 0) {
			ssize_t n = write(fd[1], "", 1);

			for (;;)
				n = pause();
			_exit((int)n);
		}
		MUST(pid > 0 && read(fd[0], &c, 1) == 1);
		CHECK("-", held());
		lock_release(&hold);
		CHECK("-", !held());
		kill(pid, SIGKILL);
		MUST(waitpid(pid, NULL, 0) == pid);
	}
	end();
}

/* The child of one that has been killed. */
static int grandchild_end[2];

static void hold_and_fork(void *arg)
{
	hold_in_child((void *)LOCK_STREAM);
	if (fork() == 0) {
		char c;

		close(grandchild_end[1]);
		_exit(read(grandchild_end[0], &c, 1) != 0);
	}
}

TEST(not_in_orphans)
{
	struct unit_child child;

	begin();
	MUST(pipe(grandchild_end) == 0);
	child = unit_child(hold_and_fork, NULL);
	CHECK("-", held());
	unit_kill_child(&child);
	CHECK("-", !held());
	close(grandchild_end[1]);
	end();
}

TEST(no_descriptor)
{
	struct hold hold = { NULL };

	CHECK("-", lock_take(-1, LOCK_STREAM) < 0);
	CHECK("-", lock_take(-1, LOCK_SHARED) < 0);
	CHECK("-", lock_take(-1, LOCK_REMOVE) < 0);
	CHECK_EQ("-", lock_hold(-1, &hold), -ENOMEM);
	CHECK("-", hold.at == NULL);
	CHECK("-", lock_held(-1)); /* where nothing can be told it passes for used: nothing is removed */
}

/* -- Removing against holding --------------------------------------------------------- */

static uint32_t stop, taken, refused, wrong, inside;

static void *hold_often(void *arg)
{
	while (!load_relaxed(&stop)) {
		struct hold hold = { NULL };
		int fd = open_one();

		if (lock_take(fd, LOCK_SHARED) == 0 && lock_hold(fd, &hold) == 0) {
			fetch_add(&inside, 1);
			close(fd);
			sched_yield();
			fetch_add(&inside, -1u);
			lock_release(&hold);
			fetch_add(&taken, 1);
			unit_sleep_ms(1); /* or there would always be somebody */
		} else {
			close(fd);
			fetch_add(&refused, 1);
		}
	}
	return NULL;
}

TEST(removing_excludes)
{
	int64_t until = unit_now() + 200000000;
	pthread_t thread[3];
	unsigned removing = 0;

	begin();
	for (int i = 0; i < 3; i++)
		MUST(pthread_create(&thread[i], NULL, hold_often, NULL) == 0);
	while (unit_now() < until || (removing < 10 && unit_now() < until + 10 * NS_PER_S)) {
		int fd = open_one();

		if (lock_take(fd, LOCK_REMOVE) == 0) {
			wrong += load_acquire(&inside) != 0;
			sched_yield();
			wrong += load_acquire(&inside) != 0;
			removing++;
		}
		close(fd);
	}
	store_relaxed(&stop, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ("-", wrong, 0);
	CHECK("-", removing > 0);
	CHECK("-", taken > 0);
	end();
}

/* -- How many there are ------------------------------------------------------------------ */

static int count(void)
{
	struct stat st;

	MUST(fstat(dir, &st) == 0);
	return lock_count_streams(major(st.st_dev), minor(st.st_dev));
}

static struct hold hold_number(unsigned n, enum lock_kind kind)
{
	struct hold hold = { NULL };
	char name[32];
	int fd;

	sprintf(name, "file %u", n);
	fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	MUST(fd >= 0 && lock_take(fd, kind) == 0 && lock_hold(fd, &hold) == 0);
	close(fd);
	return hold;
}

static void hold_many(void *arg)
{
	for (unsigned i = 1000; i < 1100; i++)
		hold_number(i, LOCK_STREAM);
}

TEST(counted)
{
	struct flock other = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	struct hold hold[200];
	struct unit_child child;
	int fd;

	shm_private(""); /* a file system of this test's own */
	dir = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (count() < 0)
		SKIP("the kernel does not tell its locks here");
	CHECK_EQ("-", count(), 0);
	for (unsigned i = 0; i < 200; i++) { /* more than one page of text */
		hold[i] = hold_number(i, LOCK_STREAM);
		if (i % 50 == 0)
			CHECK_EQ("-", count(), i + 1);
	}
	CHECK_EQ("-", count(), 200);
	/* What else is locked there does not count. */
	hold_number(300, LOCK_SHARED);
	hold_number(5, LOCK_SHARED);
	fd = openat(dir, "other", O_RDWR | O_CREAT, 0600);
	MUST(fd >= 0 && fcntl(fd, F_SETLK, &other) == 0);
	MUST(lock_take(fd, LOCK_REMOVE) == 0);
	CHECK_EQ("-", count(), 200);
	/* Nor what is on another file system. */
	MUST(mkdir("/dev/shm/mount", 0700) == 0 && mount("other", "/dev/shm/mount", "tmpfs", 0, NULL) == 0);
	close(fd);
	fd = open("/dev/shm/mount/file", O_RDWR | O_CREAT, 0600);
	MUST(fd >= 0 && lock_take(fd, LOCK_STREAM) == 0);
	CHECK_EQ("-", count(), 200);
	/* Of all processes, while they live. */
	child = unit_child(hold_many, NULL);
	CHECK_EQ("-", count(), 300);
	unit_kill_child(&child);
	CHECK_EQ("-", count(), 200);
	for (unsigned i = 0; i < 200; i += 2)
		lock_release(&hold[i]);
	CHECK_EQ("-", count(), 100);
}

TEST_MAIN(TEST_ENTRY(kinds), TEST_ENTRY(by_a_mapping), TEST_ENTRY(unlinked), TEST_ENTRY(until_exit), TEST_ENTRY(until_exec),
          TEST_ENTRY(not_in_children), TEST_ENTRY(not_in_orphans), TEST_ENTRY(no_descriptor),
          TEST_ENTRY(removing_excludes), TEST_ENTRY(counted))
