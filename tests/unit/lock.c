/*
 * lock.c - src/host/lock.c: whether a file is still used, found out from the kernel without a descriptor
 *
 * SPDX-License-Identifier: MIT
 */
#include "host/lock.h"

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

	CHECK_EQ("-", lock_acquire(fd, kind), 0);
	CHECK_EQ("-", lock_hold(fd, &hold), 0);
	CHECK("-", hold.at != NULL);
	close(fd);
	return hold;
}

static bool held(void)
{
	return unit_held(dir, "one");
}

/* -- Kinds of locks -------------------------------------------------------------------- */

TEST(kinds)
{
	/* Can the second be acquired while the first is held? */
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
			CHECK_EQ("-", lock_acquire(first, (enum lock_kind)a), 0);
			CHECK("-", lock_held(third));
			CHECK("-", !lock_held(first)); /* a descriptor does not see its own lock */
			CHECK_EQ("-", lock_acquire(second, (enum lock_kind)b), beside[a][b] ? 0 : -EAGAIN);
			close(first);
			CHECK_EQ("-", lock_held(third), beside[a][b]);
			close(second);
			CHECK("-", !lock_held(third));
			close(third);
		}
	}
	end();
}

/* -- Lifetime --------------------------------------------------------------------------- */

TEST(by_a_mapping)
{
	int descriptors;
	struct hold hold, second;

	begin();
	descriptors = shm_descriptors();
	hold = hold_one(LOCK_STREAM);
	CHECK_EQ("-", shm_descriptors(), descriptors);
	CHECK("-", held());
	CHECK("-", mprotect(hold.at, 4096, PROT_NONE) == 0); /* the hold is a page of this process */
	lock_release(&hold);
	CHECK("-", hold.at == NULL && !held());
	lock_release(&hold); /* no effect when nothing is held */

	hold = hold_one(LOCK_SHARED);
	second = hold_one(LOCK_SHARED);
	lock_release(&hold);
	CHECK("-", held());
	munmap(second.at, 4096);
	CHECK("-", !held());
	end();
}

/* A file that has been unlinked is still held. */
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
		CHECK("-", !held()); /* as soon as it has ended, before it is reaped */
		unit_kill_child(&child);
	}
	end();
}

/* A child that executes cat, has sent a byte to show that cat runs, and ends when its input ends. */
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

/*
 * Children do not inherit holds, however they are made. When the parent releases the hold or ends, the file is not
 * held.
 */
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

/* The holder is killed, and its child lives on. */
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

	CHECK("-", lock_acquire(-1, LOCK_STREAM) < 0);
	CHECK("-", lock_acquire(-1, LOCK_SHARED) < 0);
	CHECK("-", lock_acquire(-1, LOCK_REMOVE) < 0);
	CHECK_EQ("-", lock_hold(-1, &hold), -ENOMEM);
	CHECK("-", hold.at == NULL);
	CHECK("-", lock_held(-1)); /* in case of doubt a file counts as held, so that it is not removed */
}

/* -- Removing against holding --------------------------------------------------------- */

static uint32_t stop, taken, refused, wrong, inside;

static void *hold_often(void *arg)
{
	while (!load_relaxed(&stop)) {
		struct hold hold = { NULL };
		int fd = open_one();

		if (lock_acquire(fd, LOCK_SHARED) == 0 && lock_hold(fd, &hold) == 0) {
			fetch_add(&inside, 1);
			close(fd);
			sched_yield();
			fetch_add(&inside, -1u);
			lock_release(&hold);
			fetch_add(&taken, 1);
			unit_sleep_ms(1); /* or the file would be held all the time */
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
	/* On a machine with much to do, some threads may not have run by then. */
	while (unit_now() < until || ((removing < 10 || !load_relaxed(&taken)) && unit_now() < until + 10 * NS_PER_S)) {
		int fd = open_one();

		if (lock_acquire(fd, LOCK_REMOVE) == 0) {
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

TEST_MAIN(TEST_ENTRY(kinds), TEST_ENTRY(by_a_mapping), TEST_ENTRY(unlinked), TEST_ENTRY(until_exit),
          TEST_ENTRY(until_exec), TEST_ENTRY(not_in_children), TEST_ENTRY(not_in_orphans), TEST_ENTRY(no_descriptor),
          TEST_ENTRY(removing_excludes))
