/*
 * file.c - src/base/file.c: the user's directory of shared memory, and the files in it
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/file.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "base/atomic.h"
#include "shm.h"
#include "unit.h"

/* -- Names ----------------------------------------------------------------- */

TEST(names)
{
	static const struct {
		const char *kind;
		struct ident id;
		uint32_t serial;
		const char *name;
	} good[] = {
		{ "page", { 1, 2 }, 0, "page-1-2" },
		{ "stream", { 4194304, 123456789012345 }, 7, "stream-4194304-123456789012345-7" },
		{ "names", { 12, 0 }, 0, "names-12-0" },
		{ "new", { UINT32_MAX, UINT64_MAX }, UINT32_MAX, "new-4294967295-18446744073709551615-4294967295" },
	};

	for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
		char name[FILE_NAME_SIZE], kind[16];
		struct ident id = { 0, 0 };
		uint32_t serial = 99;

		file_name(name, good[i].kind, good[i].id, good[i].serial);
		CHECK_STR("-", name, good[i].name);
		CHECK("-", file_name_parse(name, kind, &id, &serial));
		CHECK_STR("-", kind, good[i].kind);
		CHECK("-", id.pid == good[i].id.pid && id.start == good[i].id.start);
		CHECK_EQ("-", serial, good[i].serial);
	}
}

TEST(no_names)
{
	static const char *const bad[] = {
		"", ".", "..", "-", "--", "page", "page-", "page-1", "page-1-", "page--2", "page-1-2-", "page-1-2-0",
		"page-01-2", "page-1-02", "page-1-2-03", "page-1-2-3-4", "page-1-2x", "page-1x-2", "page-x-2", "page-1-2-x",
		"page-1-2 ", " page-1-2-3 ", "page-4294967296-1", "page-1-18446744073709551616", "page-1-2-4294967296",
		"page-+1-2", "page-1--2", "sixteen-letters-", "abcdefghijklmnop-1-2",
	};
	char kind[16];
	struct ident id;
	uint32_t serial;

	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (file_name_parse(bad[i], kind, &id, &serial))
			TEST_FAIL("-", "\"%s\" passes for a name", bad[i]);
	CHECK("-", file_name_parse("abcdefghijklmno-1-2", kind, &id, &serial)); /* 15 letters do fit */
}

/* -- Directory --------------------------------------------------------------- */

TEST(directory_made)
{
	struct stat st;
	int fd, descriptors;

	shm_private("");
	descriptors = shm_descriptors();
	CHECK_EQ("-", file_directory(false), -ENOENT);
	CHECK_EQ("-", shm_count("/dev/shm", ""), 0);
	umask(0);
	fd = file_directory(true);
	CHECK("-", fd > 2);
	MUST(stat(shm_directory(), &st) == 0 && S_ISDIR(st.st_mode));
	CHECK_EQ("-", st.st_mode & 07777, 0700);
	CHECK_EQ("-", st.st_uid, geteuid());
	CHECK("-", fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	fd = file_directory(false);
	CHECK("-", fd > 2);
	close(fd);
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

/* The directory is refused, whether it may be made or not, and nobody changes it. */
static void check_refused(const char *what)
{
	int descriptors = shm_descriptors();
	struct stat before, after;

	MUST(lstat(shm_directory(), &before) == 0);
	for (int create = 0; create < 2; create++) {
		int fd = file_directory(create);

		if (fd != -EACCES)
			TEST_FAIL("-", "%s: %d, not -EACCES", what, fd);
	}
	MUST(lstat(shm_directory(), &after) == 0);
	CHECK("-", before.st_ino == after.st_ino && before.st_mode == after.st_mode && before.st_uid == after.st_uid);
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

TEST(directory_mode)
{
	static const unsigned mode[] = { 0701, 0702, 0704, 0710, 0720, 0740, 0755, 0777, 01777 };

	shm_private("");
	for (unsigned i = 0; i < sizeof mode / sizeof mode[0]; i++) {
		MUST(mkdir(shm_directory(), 0700) == 0 && chmod(shm_directory(), mode[i]) == 0);
		check_refused("open to others");
		MUST(rmdir(shm_directory()) == 0);
	}
}

TEST(directory_is_something_else)
{
	char target[80];

	shm_private("");
	MUST(close(open(shm_directory(), O_CREAT | O_WRONLY, 0700)) == 0);
	check_refused("a file");
	MUST(unlink(shm_directory()) == 0);
	MUST(mkfifo(shm_directory(), 0700) == 0);
	check_refused("a pipe");
	MUST(unlink(shm_directory()) == 0);

	/* A link, even to a directory that would do. */
	snprintf(target, sizeof target, "%s-target", shm_directory());
	MUST(mkdir(target, 0700) == 0 && symlink(target, shm_directory()) == 0);
	check_refused("a link");
	MUST(unlink(shm_directory()) == 0 && symlink("/nowhere/at/all", shm_directory()) == 0);
	check_refused("a link to nowhere");
}

TEST(directory_foreign)
{
	if (geteuid() != 0)
		SKIP("only root can give a directory to somebody else");
	shm_private("");
	MUST(mkdir(shm_directory(), 0700) == 0 && chown(shm_directory(), 65534, 65534) == 0);
	check_refused("somebody else's");
}

TEST(unlinked)
{
	struct rlimit limit, none;
	int fd;

	shm_private("");
	MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	none = limit;
	none.rlim_cur = 3;
	fd = file_directory(true);
	MUST(fd >= 0);
	MUST(close(openat(fd, "one", O_CREAT | O_WRONLY, 0600)) == 0);
	file_unlink(geteuid() + 1, "one");
	file_unlink(geteuid(), "two");
	CHECK_EQ("-", faccessat(fd, "one", F_OK, 0), 0);
	MUST(setrlimit(RLIMIT_NOFILE, &none) == 0); /* without a descriptor */
	file_unlink(geteuid(), "one");
	MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK("-", faccessat(fd, "one", F_OK, 0) < 0);
}

TEST(no_tmpfs)
{
	shm_private("");
	shm_remount(MS_RDONLY, NULL);
	CHECK_EQ("-", file_directory(true), -EROFS);
	MUST(mount("test", "/dev", "tmpfs", 0, NULL) == 0);
	CHECK_EQ("-", file_directory(true), -ENOENT);
}

/* -- Files ------------------------------------------------------------------- */

struct filling {
	int dir;
	const char *name;
	int calls;
	bool visible; /* when it was filled */
};

static void fill(void *map, void *arg)
{
	struct filling *f = arg;

	f->calls++;
	f->visible = faccessat(f->dir, f->name, F_OK, 0) == 0;
	for (int i = 0; i < 4096; i++)
		CHECK_EQ("-", ((unsigned char *)map)[i], 0);
	memset(map, 0x55, 4096);
}

TEST(create_and_map)
{
	char path[32];
	int dir = unit_directory(path), descriptors = shm_descriptors();
	struct filling f = { dir, "one", 0, true };
	struct stat st;
	void *map, *again;
	uint64_t size = 0;

	CHECK_EQ("-", file_create(dir, "one", 10000, fill, &f, &map), 0);
	CHECK_EQ("-", f.calls, 1);
	CHECK("-", !f.visible);
	MUST(fstatat(dir, "one", &st, 0) == 0);
	CHECK_EQ("-", st.st_size, 10000);
	CHECK_EQ("-", st.st_mode & 0777, 0600);
	CHECK_EQ("-", st.st_nlink, 1);
	CHECK("-", (uint64_t)st.st_blocks * 512 >= 10000); /* all of its space is reserved */

	CHECK_EQ("-", file_map(dir, "one", 10000, 0, &again, &size), 0);
	CHECK_EQ("-", size, 10000);
	((char *)map)[9999] = 7;
	CHECK_EQ("-", ((char *)again)[9999], 7);
	munmap(again, 10000);

	/* Who comes second gets nothing, and harms nothing. */
	again = NULL;
	CHECK_EQ("-", file_create(dir, "one", 5000, fill, &f, &again), -EEXIST);
	CHECK("-", again == NULL);
	MUST(fstatat(dir, "one", &st, 0) == 0);
	CHECK_EQ("-", st.st_size, 10000);
	munmap(map, 10000);

	CHECK_EQ("-", shm_count(path, ""), 1); /* no hidden one is left */
	CHECK_EQ("-", shm_descriptors(), descriptors);
	unlinkat(dir, "one", 0);
	rmdir(path);
}

TEST(map_refuses)
{
	char path[32];
	int dir = unit_directory(path), descriptors = shm_descriptors();
	struct filling f = { dir, "one", 0, true };
	void *map = NULL;
	uint64_t size = 0;

	MUST(file_create(dir, "one", 4096, fill, &f, &map) == 0);
	munmap(map, 4096);
	map = NULL;
	CHECK_EQ("-", file_map(dir, "two", 1, 0, &map, &size), -ENOENT);
	CHECK_EQ("-", file_map(dir, "one", 4097, 0, &map, &size), -EINVAL);
	MUST(symlinkat("one", dir, "link") == 0);
	CHECK("-", file_map(dir, "link", 1, 0, &map, &size) < 0);
	CHECK("-", file_grow(dir, "link", 8192) < 0);
	MUST(mkdirat(dir, "folder", 0700) == 0);
	CHECK("-", file_map(dir, "folder", 0, 0, &map, &size) < 0);
	MUST(mkfifoat(dir, "pipe", 0600) == 0);
	CHECK_EQ("-", file_map(dir, "pipe", 0, 0, &map, &size), -EINVAL);
	CHECK("-", map == NULL && size == 0);
	CHECK_EQ("-", shm_descriptors(), descriptors);
	unlinkat(dir, "one", 0);
	unlinkat(dir, "link", 0);
	unlinkat(dir, "pipe", 0);
	unlinkat(dir, "folder", AT_REMOVEDIR);
	rmdir(path);
}

TEST(grow)
{
	char path[32];
	int dir = unit_directory(path);
	struct filling f = { dir, "one", 0, true };
	struct stat st;
	void *map, *whole;
	uint64_t size;

	MUST(file_create(dir, "one", 4096, fill, &f, &map) == 0);
	/* Mapped for more than it has; what comes later is seen. */
	MUST(file_map(dir, "one", 4096, 65536, &whole, &size) == 0);
	CHECK_EQ("-", size, 4096);
	CHECK_EQ("-", file_grow(dir, "one", 12288), 0);
	MUST(fstatat(dir, "one", &st, 0) == 0);
	CHECK_EQ("-", st.st_size, 12288);
	CHECK_EQ("-", ((unsigned char *)whole)[4095], 0x55);
	CHECK_EQ("-", ((unsigned char *)whole)[12287], 0);
	((char *)whole)[12287] = 1;
	CHECK_EQ("-", file_grow(dir, "one", 4096), 0); /* never shorter */
	MUST(fstatat(dir, "one", &st, 0) == 0);
	CHECK_EQ("-", st.st_size, 12288);
	CHECK_EQ("-", file_grow(dir, "two", 4096), -ENOENT);
	unlinkat(dir, "one", 0);
	rmdir(path);
}

/* H12: no space is found out when the file is made, not when it is written. */
TEST(no_space)
{
	struct filling f = { -1, "one", 0, true };
	void *map = NULL;
	struct stat st;
	int descriptors;

	shm_private("size=64k");
	f.dir = open("/dev/shm", O_RDONLY | O_DIRECTORY);
	descriptors = shm_descriptors();
	CHECK_EQ("-", file_create(f.dir, "one", 1 << 20, fill, &f, &map), -ENOMEM);
	CHECK_EQ("-", file_create(f.dir, "one", SIZE_MAX / 2, fill, &f, &map), -ENOMEM);
	CHECK_EQ("-", file_create(f.dir, "one", 0, fill, &f, &map), -ENOMEM);
	CHECK_EQ("-", f.calls, 0);
	CHECK_EQ("-", shm_count("/dev/shm", ""), 0);
	CHECK_EQ("-", shm_descriptors(), descriptors);

	MUST(file_create(f.dir, "one", 16384, fill, &f, &map) == 0);
	CHECK_EQ("-", file_grow(f.dir, "one", 1 << 20), -ENOMEM);
	MUST(fstatat(f.dir, "one", &st, 0) == 0);
	CHECK_EQ("-", st.st_size, 16384);
	CHECK_EQ("-", file_grow(f.dir, "one", 32768), 0);
}

/* Too many files for the tmpfs: memory that is missing, too. */
TEST(no_inodes)
{
	struct filling f = { -1, "one", 0, true };
	void *map = NULL;

	shm_private("nr_inodes=2");
	f.dir = open("/dev/shm", O_RDONLY | O_DIRECTORY);
	MUST(close(openat(f.dir, "other", O_CREAT | O_WRONLY, 0600)) == 0);
	CHECK_EQ("-", file_create(f.dir, "one", 4096, fill, &f, &map), -ENOMEM);
	CHECK_EQ("-", shm_count("/dev/shm", ""), 1);
}

TEST(file_size_limit)
{
	char path[32];
	int dir = unit_directory(path);
	struct filling f = { dir, "one", 0, true };
	struct rlimit limit = { 8192, 8192 };
	void *map = NULL;

	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0); /* SIGXFSZ would end the test */
	CHECK_EQ("-", file_create(dir, "one", 8193, fill, &f, &map), -ENOMEM);
	CHECK_EQ("-", shm_count(path, ""), 0);
	CHECK_EQ("-", file_create(dir, "one", 8192, fill, &f, &map), 0);
	CHECK_EQ("-", file_grow(dir, "one", 8193), -ENOMEM);
	unlinkat(dir, "one", 0);
	rmdir(path);
}

/* What the program writes to its standard descriptors must not end up in one of these files. */
TEST(no_standard_descriptors)
{
	int fd[3], dir;

	shm_private("");
	for (int i = 0; i < 3; i++)
		fd[i] = fcntl(i, F_DUPFD, 10);
	close(0);
	close(1);
	close(2);
	dir = file_directory(true);
	for (int i = 0; i < 3; i++)
		dup2(fd[i], i);
	CHECK("-", dir > 2);
	CHECK("-", fcntl(dir, F_GETFD) & FD_CLOEXEC);
}

/* -- Several at once ---------------------------------------------------------- */

#define THREADS 8
#define ROUNDS 50

static struct {
	int dir;
	uint32_t round, won[ROUNDS];
} race;

static void sign(void *map, void *arg)
{
	*(uint32_t *)map = *(uint32_t *)arg;
}

static void *create_all(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		char name[FILE_NAME_SIZE];
		void *map = NULL;
		int r;

		file_name(name, "race", (struct ident){ 1, 1 }, (uint32_t)i + 1);
		r = file_create(race.dir, name, 4096, sign, &me, &map);
		if (r == 0) {
			fetch_add(&race.won[i], 1);
			CHECK_EQ("-", *(uint32_t *)map, me);
			munmap(map, 4096);
		} else {
			CHECK_EQ("-", r, -EEXIST);
		}
	}
	return NULL;
}

TEST(one_wins)
{
	pthread_t thread[THREADS];
	char path[32];

	race.dir = unit_directory(path);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, create_all, (void *)(uintptr_t)(i + 1)) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < ROUNDS; i++) {
		char name[FILE_NAME_SIZE];

		CHECK_EQ("-", race.won[i], 1);
		file_name(name, "race", (struct ident){ 1, 1 }, (uint32_t)i + 1);
		CHECK_EQ("-", unlinkat(race.dir, name, 0), 0);
	}
	CHECK_EQ("-", shm_count(path, ""), 0);
	rmdir(path);
}

TEST_MAIN(TEST_ENTRY(names), TEST_ENTRY(no_names), TEST_ENTRY(directory_made), TEST_ENTRY(directory_mode),
          TEST_ENTRY(directory_is_something_else), TEST_ENTRY(directory_foreign), TEST_ENTRY(unlinked), TEST_ENTRY(no_tmpfs),
          TEST_ENTRY(create_and_map), TEST_ENTRY(map_refuses), TEST_ENTRY(grow), TEST_ENTRY(no_space),
          TEST_ENTRY(no_inodes), TEST_ENTRY(file_size_limit), TEST_ENTRY(no_standard_descriptors), TEST_ENTRY(one_wins))
