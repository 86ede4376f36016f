/*
 * directory.c - no /dev/shm, or a directory there that is not ours: create says so, trace points say nothing
 *
 * In each case again when all is well: the misfortune leaves nothing behind.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

/* Before anything else in the process has attached, and after create has failed. */
static void check(const char *what, int error)
{
	trace_event_id_t id;
	int descriptors = shm_descriptors();

	fault_id = POSIX_TRACE_UNNAMED_USEREVENT;
	fault_silent(POSIX_TRACE_UNNAMED_USEREVENT);
	id = fault_open("fault");
	CHECK("-", id > POSIX_TRACE_UNNAMED_USEREVENT); /* names need no directory */
	fault_silent(id);
	for (int i = 0; i < 3; i++) {
		int got = fault_create(0);

		if (got != error)
			TEST_FAIL("-", "%s: error %d, not %d", what, got, error);
		fault_silent(id);
	}
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

static void mend(void)
{
	MUST(mount("test", "/dev/shm", "tmpfs", 0, "mode=1777") == 0);
	fault_works(fault_open("fault"));
}

TEST(no_dev_shm)
{
	shm_namespace();
	MUST(mount("test", "/dev", "tmpfs", 0, NULL) == 0);
	check("no /dev/shm", ENOENT);
	MUST(mkdir("/dev/shm", 0755) == 0);
	mend();
}

TEST(read_only)
{
	shm_private("");
	shm_remount(MS_RDONLY, NULL);
	check("read-only", EROFS);
	shm_remount(0, NULL);
	fault_works(fault_open("fault"));
}

/* Read-only since a stream was made there. */
TEST(read_only_later)
{
	trace_event_id_t id;

	shm_private("");
	id = fault_open("fault");
	fault_works(id);
	MUST(mount("test", "/dev/shm", "tmpfs", MS_RDONLY, "mode=1777") == 0);
	CHECK_EQ("-", fault_create(0), EROFS);
	fault_silent(id);
	MUST(umount("/dev/shm") == 0);
	fault_works(id);
}

TEST(foreign)
{
	if (geteuid() != 0)
		SKIP("only root can give a directory to somebody else");
	shm_private("");
	MUST(mkdir(shm_directory(), 0700) == 0 && chown(shm_directory(), 65534, 65534) == 0);
	check("somebody else's", EACCES);
	CHECK_EQ("-", shm_count(shm_directory(), ""), 0);
	mend();
}

TEST(open_to_others)
{
	static const unsigned mode[] = { 0777, 0755, 0710, 0702 };

	shm_private("");
	MUST(mkdir(shm_directory(), 0700) == 0);
	for (int i = 0; i < 4; i++) {
		MUST(chmod(shm_directory(), mode[i]) == 0);
		check("open to others", EACCES);
	}
	CHECK_EQ("-", shm_count(shm_directory(), ""), 0);
	MUST(chmod(shm_directory(), 0700) == 0);
	fault_works(fault_open("fault"));
}

TEST(link)
{
	char target[80];

	shm_private("");
	snprintf(target, sizeof target, "%s-target", shm_directory());
	MUST(mkdir(target, 0700) == 0 && symlink(target, shm_directory()) == 0);
	check("a link", EACCES);
	CHECK_EQ("-", shm_count(target, ""), 0);
	MUST(unlink(shm_directory()) == 0);
	fault_works(fault_open("fault"));
}

TEST(file)
{
	shm_private("");
	MUST(close(open(shm_directory(), O_CREAT | O_WRONLY, 0600)) == 0);
	check("a file", EACCES);
	MUST(unlink(shm_directory()) == 0);
	fault_works(fault_open("fault"));
}

/* /dev/shm itself is closed to this user. */
TEST(forbidden)
{
	if (geteuid() != 0)
		SKIP("only root can close /dev/shm to somebody");
	shm_private("");
	MUST(chmod("/dev/shm", 0700) == 0);
	if (setgid(65534) < 0 || setuid(65534) < 0)
		SKIP("root cannot become somebody else here");
	check("forbidden", EACCES);
}

/* The directory is removed, or closed, while a stream is running: that goes on, and nothing breaks. */
TEST(removed_later)
{
	trace_event_id_t id;
	trace_id_t trid;

	shm_private("");
	id = fault_open("fault");
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	posix_trace_event(id, NULL, 0);
	MUST(mount("other", "/dev/shm", "tmpfs", 0, "mode=1777") == 0);
	posix_trace_event(id, NULL, 0);
	CHECK("-", fault_open("another") != id);
	CHECK_EQ("-", fault_count(trid, id), 2);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	fault_silent(id);
	fault_works(id);
}

TEST_MAIN(TEST_ENTRY(no_dev_shm), TEST_ENTRY(read_only), TEST_ENTRY(read_only_later), TEST_ENTRY(foreign),
          TEST_ENTRY(open_to_others), TEST_ENTRY(link), TEST_ENTRY(file), TEST_ENTRY(forbidden), TEST_ENTRY(removed_later))
