/*
 * recover.c - src/control/recover.c: the files of the dead go, those of the living stay
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/recover.h"

#include "base/file.h"
#include "shm.h"
#include "unit.h"

static int dir;

static void begin(void)
{
	shm_private("");
	dir = file_directory(true);
	MUST(dir >= 0);
}

static void make(const char *kind, struct ident id, uint32_t serial)
{
	char name[FILE_NAME_SIZE];

	file_name(name, kind, id, serial);
	MUST(close(openat(dir, name, O_CREAT | O_EXCL | O_WRONLY, 0600)) == 0);
}

static bool there(const char *kind, struct ident id, uint32_t serial)
{
	char name[FILE_NAME_SIZE];

	file_name(name, kind, id, serial);
	return faccessat(dir, name, F_OK, 0) == 0;
}

/* A process that has ended; reaped or not. */
static struct ident dead(bool reap)
{
	struct ident id;
	int fd[2];
	pid_t pid;

	MUST(pipe(fd) == 0);
	pid = fork();
	if (pid == 0)
		_exit(!unit_send_ident(fd[1]));
	close(fd[1]);
	id = unit_receive_ident(fd[0]);
	MUST(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | (reap ? 0 : WNOWAIT)) == 0);
	close(fd[0]);
	return id;
}

TEST(empty)
{
	begin();
	CHECK_EQ("-", recover_directory(dir), 0);
}

TEST(living)
{
	struct ident me = ident_self(), parent = { (uint32_t)getppid(), 0 };

	begin();
	make("page", me, 0);
	make("names", me, 0);
	make("stream", me, 1);
	make("stream", me, 77);
	make("stream", parent, 1); /* whose start nobody could tell */
	make("new", (struct ident){ me.pid, unit_tid() }, 5);
	make("new", (struct ident){ me.pid, 0x7ffffff0 }, 6); /* of a thread that has ended in the middle; the process lives */
	CHECK_EQ("-", recover_directory(dir), 3);
	CHECK_EQ("-", shm_count(shm_directory(), ""), 7);
}

TEST(dead_ones)
{
	struct ident id[3] = { dead(true), dead(false), ident_self() };

	begin();
	id[2].start++; /* somebody who had our number before us */
	make("stream", ident_self(), 1);
	for (int i = 0; i < 3; i++) {
		make("page", id[i], 0);
		make("names", id[i], 0);
		make("stream", id[i], 1);
		make("stream", id[i], 2);
	}
	make("new", (struct ident){ id[0].pid, id[0].pid }, 5);
	CHECK_EQ("-", recover_directory(dir), 1);
	CHECK_EQ("-", shm_count(shm_directory(), ""), 1);
	CHECK("-", there("stream", ident_self(), 1));
	CHECK_EQ("-", recover_directory(dir), 1);
}

/* More than one call of the kernel gives, the living among the dead. */
TEST(many)
{
	struct ident gone = dead(true), me = ident_self();

	begin();
	for (uint32_t i = 1; i <= 500; i++)
		make("stream", i % 5 == 0 ? me : gone, i);
	/* While files are removed the kernel may leave some out of its list; the next time they are found. */
	for (int i = 0; i < 3; i++)
		CHECK_EQ("-", recover_directory(dir), 100);
	CHECK_EQ("-", shm_count(shm_directory(), ""), 100);
	CHECK("-", there("stream", me, 500) && !there("stream", gone, 1));
}

TEST(not_ours)
{
	static const char *const name[] = { "stream", "stream-1", "stream-0001-2-3", "notes.txt", "stream-x-y" };
	int descriptors;

	begin();
	for (unsigned i = 0; i < sizeof name / sizeof name[0]; i++)
		MUST(close(openat(dir, name[i], O_CREAT | O_EXCL | O_WRONLY, 0600)) == 0);
	MUST(mkdirat(dir, "stream-1-2-3", 0700) == 0);
	descriptors = shm_descriptors();
	recover_directory(dir);
	for (unsigned i = 0; i < sizeof name / sizeof name[0]; i++)
		if (faccessat(dir, name[i], F_OK, 0) < 0)
			TEST_FAIL("-", "\"%s\" is gone", name[i]);
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

TEST_MAIN(TEST_ENTRY(empty), TEST_ENTRY(living), TEST_ENTRY(dead_ones), TEST_ENTRY(many), TEST_ENTRY(not_ours))
