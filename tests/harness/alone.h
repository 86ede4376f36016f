/*
 * alone.h - lets only some tests use /dev/shm at the same time, where they cannot have one each
 *
 * Each test holds a shared lock of the directory /dev/shm while it runs. Where no mount namespace can be made (a user's
 * chroot, a container), a test that needs an empty /dev/shm of its own takes the lock exclusively. Then no other test
 * runs, files of the library and of tests are moved aside, and they are moved back when the test has ended. shared.py
 * does the same for scripts.
 *
 * A second lock, of /dev, is held while a test waits for the first lock, so that an exclusive test gets its turn
 * however many tests share. The holder of the second lock does not hold the first one.
 *
 * The environment variable TEST_SHM says "shared" or "alone" to the programs that a test starts: the test has the lock.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ALONE_H
#define ALONE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define ALONE_ENVIRONMENT "TEST_SHM"
#define ALONE_ROOM        (UINT64_C(256) << 20) /* the /dev/shm of a container may have a quarter of this */

/* Names of the files that the library and the tests make. A name with "-" at the end is a prefix. Also in shared.py. */
static const char *const alone_names[] = {
	"posixtrace-", "foreign-", "page-", "names-", "stream-", "away-", "box", "canary", "closed", "copy", "crowd",
	"crowd-", "disk", "evil", "fifo", "filler", "forged", "fuzz-", "kills", "log", "log that was moved",
	"made-through-link", "new", "others", "programs", "roots", "somethingelse", "target", "test-", "unit-",
	"victim",
};

static int alone_lock = -1;      /* the directory /dev/shm, open; a test and its children share the lock */
static volatile bool *alone_now; /* true while the lock is exclusive; shared with the children, one of which sets it */

/* Takes the lock. */
static inline void alone_wait(int how)
{
	unsigned alarm_left = alarm(0);
	int turn = open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	while (turn >= 0 && flock(turn, LOCK_EX) < 0 && errno == EINTR)
		;
	while (flock(alone_lock, how) < 0 && errno == EINTR)
		;
	if (turn >= 0)
		close(turn);
	alarm(alarm_left);
}

/* Opens the directory. Returns false if there is none, or if an ancestor process has the lock. */
static inline bool alone_open(void)
{
	int fd;

	if (alone_lock >= 0)
		return true;
	if (getenv(ALONE_ENVIRONMENT))
		return false;
	fd = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (!alone_now) {
		void *p = mmap(NULL, sizeof *alone_now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED) {
			close(fd);
			return false;
		}
		alone_now = (volatile bool *)p;
	}
	/* A high number, away from the descriptors that tests count on. */
	alone_lock = fcntl(fd, F_DUPFD_CLOEXEC, 200);
	if (alone_lock < 0)
		alone_lock = fd;
	else
		close(fd);
	return true;
}

/* -- Moving files aside ----------------------------------------------------------------------- */

static inline void alone_remove(int directory, const char *name)
{
	int fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			alone_remove(dirfd(d), e->d_name);
	if (d)
		closedir(d);
	unlinkat(directory, name, d ? AT_REMOVEDIR : 0);
}

enum alone_act { ALONE_REMOVE, ALONE_MOVE };

static inline bool alone_ours(const char *name)
{
	for (size_t i = 0; i < sizeof alone_names / sizeof alone_names[0]; i++) {
		size_t length = strlen(alone_names[i]);

		if (alone_names[i][length - 1] == '-'
		    ? strncmp(name, alone_names[i], length) == 0
		    : strcmp(name, alone_names[i]) == 0)
			return true;
	}
	return false;
}

/* Applies act to the entries with these names. Files of other users stay where they are. */
static inline void alone_each(int from, enum alone_act act, int to)
{
	int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (!alone_ours(e->d_name))
			continue;
		if (act == ALONE_REMOVE)
			alone_remove(from, e->d_name);
		else
			renameat(from, e->d_name, to, e->d_name);
	}
	if (d)
		closedir(d);
}

/* Opens the directory for files moved aside. Returns -1 if there is none and it is not made. */
static inline int alone_aside(bool make)
{
	char name[32];

	snprintf(name, sizeof name, ".aside-%u", (unsigned)geteuid());
	if (make)
		mkdirat(alone_lock, name, 0700);
	return openat(alone_lock, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* -- Taking turns ---------------------------------------------------------------------------- */

/* Begins a test: other tests may run at the same time, if there is room for the streams of several. */
static inline void alone_share(void)
{
	struct statvfs s;

	if (alone_open())
		alone_wait(fstatvfs(alone_lock, &s) == 0 && (uint64_t)s.f_blocks * s.f_frsize < ALONE_ROOM
		           ? LOCK_EX : LOCK_SH);
}

/* Tells the programs that the test starts about the lock. */
static inline void alone_tell(void)
{
	if (alone_lock >= 0)
		setenv(ALONE_ENVIRONMENT, "shared", 1);
}

/* Lets no other test run from here on, and moves their files aside. Returns false if that is impossible. */
static inline bool alone_acquire(void)
{
	const char *setting = alone_lock < 0 ? getenv(ALONE_ENVIRONMENT) : NULL;
	int aside, fd;

	if (setting && strcmp(setting, "alone") == 0) {
		fd = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		alone_each(fd, ALONE_REMOVE, -1);
		close(fd);
		return true;
	}
	if (!alone_open())
		return false;
	if (!*alone_now) {
		/* A test that waits for its turn must release the lock, because other tests wait for it. */
		flock(alone_lock, LOCK_UN);
		alone_wait(LOCK_EX);
		aside = alone_aside(true);
		/* A test that was killed has moved nothing back. */
		alone_each(aside, ALONE_MOVE, alone_lock);
		alone_each(aside, ALONE_REMOVE, -1);
		alone_each(alone_lock, ALONE_MOVE, aside);
		close(aside);
		*alone_now = true;
	}
	alone_each(alone_lock, ALONE_REMOVE, -1);
	setenv(ALONE_ENVIRONMENT, "alone", 1);
	return true;
}

/* Ends the test. */
static inline void alone_end(void)
{
	int aside;
	char name[32];

	if (alone_lock < 0)
		return;
	if (*alone_now) {
		alone_each(alone_lock, ALONE_REMOVE, -1);
		aside = alone_aside(false);
		alone_each(aside, ALONE_MOVE, alone_lock);
		close(aside);
		snprintf(name, sizeof name, ".aside-%u", (unsigned)geteuid());
		unlinkat(alone_lock, name, AT_REMOVEDIR);
		*alone_now = false;
	}
	/* Also for children that are still running. */
	flock(alone_lock, LOCK_UN);
}

#endif
