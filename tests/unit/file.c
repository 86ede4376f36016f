/*
 * file.c - src/host/file.c: the user's directory of shared memory, and the files in it
 *
 * SPDX-License-Identifier: MIT
 */
#include "host/file.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "base/atomic.h"
#include "host/fs_credentials.h"
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
		{ "page", { 1, 2, 3 }, 0, "page-1-2-0" },
		{ "stream", { 4194304, 123456789012345, 9 }, 7, "stream-4194304-123456789012345-7" },
		{ "names", { 12, 0, 0 }, 4026531836, "names-12-0-4026531836" },
		{ "new", { UINT32_MAX, UINT64_MAX, 0 }, UINT32_MAX, "new-4294967295-18446744073709551615-4294967295" },
	};
	char name[FILE_NAME_SIZE], kind[16];
	struct ident id;
	uint32_t number;

	for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
		file_name(name, good[i].kind, good[i].id, good[i].serial);
		CHECK_STR("-", name, good[i].name);
		CHECK("-", file_name_parse(name, kind, &id, &number));
		CHECK_STR("-", kind, good[i].kind);
		CHECK("-", id.pid == good[i].id.pid && id.start == good[i].id.start && number == good[i].serial);
	}
	/*
	 * Pages and registries have the number of the pid namespace in their name: the same pid occurs in several
	 * namespaces.
	 */
	file_name_once(name, "page", (struct ident){ 1, 2, 3 });
	CHECK_STR("-", name, "page-1-2-3");
}

TEST(no_names)
{
	static const char *const bad[] = {
		"", ".", "..", "-", "--", "---", "page", "page-", "page-1", "page-1-", "page-1-2", "page--2-3",
		"page-1--3",
		"page-1-2-", "page-01-2-3", "page-1-02-3", "page-1-2-03", "page-1-2-3-4", "page-1-2-3x", "page-1x-2-3",
		"page-x-2-3", "page-1-x-3", "page-1-2-x", "page-1-2-3 ", "page-4294967296-1-1",
		"page-1-18446744073709551616-1",
		"page-1-2-4294967296", "page-+1-2-3", "page-1--2-3", "sixteen-letters-", "abcdefghijklmnop-1-2-3",
	};
	char kind[16];
	struct ident id;
	uint32_t number;

	for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
		if (file_name_parse(bad[i], kind, &id, &number))
			TEST_FAIL("-", "\"%s\" passes for a name", bad[i]);
	CHECK("-", file_name_parse("abcdefghijklmno-1-2-3", kind, &id, &number)); /* 15 letters fit */
}

/* -- Places ---------------------------------------------------------------- */

TEST(own_shm_dir)
{
	struct shm_dir p = shm_dir_own();

	CHECK_STR("-", p.path, shm_directory());
	CHECK_EQ("-", p.owner, geteuid());
	CHECK("-", !p.guarded);
}

static void become_nobody(void *arg)
{
	MUST(setgid(65534) == 0 && setuid(65534) == 0);
}

static void other_shm(void *arg)
{
	shm_mounted("");
}

static struct shm_dir shm_dir_of_child(const struct unit_child *child)
{
	struct proc proc;

	MUST(proc_read((uint32_t)child->pid, &proc) == 0);
	return shm_dir_of(&proc);
}

/* A child of the same user with the same file system has the same path, which outlives the child. */
TEST(shm_dir_of_child)
{
	struct unit_child child = unit_child(NULL, NULL);
	struct shm_dir p = shm_dir_of_child(&child);

	CHECK_STR("-", p.path, shm_directory());
	CHECK_EQ("-", p.owner, geteuid());
	CHECK("-", !p.guarded);
	unit_end_child(&child);
}

/*
 * Without a descriptor it is unknown whether the path is the same. It is not guessed, as a path through the child's
 * root would end with the child.
 */
TEST(place_not_known)
{
	struct unit_child child = unit_child(NULL, NULL);
	struct rlimit limit, none;
	struct proc proc;

	MUST(proc_read((uint32_t)child.pid, &proc) == 0);
	MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	none = limit;
	none.rlim_cur = 0;
	CHECK_EQ("-", shm_dir_of(&proc).error, 0);
	MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK_EQ("-", shm_dir_of(&proc).error, -EMFILE);
	MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK_STR("-", shm_dir_of(&proc).path, shm_directory());
	unit_end_child(&child);
}

TEST(place_of_another_user)
{
	struct unit_child child;
	struct shm_dir p;

	if (geteuid() != 0)
		SKIP("only root has children of other users");
	NEEDS_OTHERS();
	child = unit_child(become_nobody, NULL);
	p = shm_dir_of_child(&child);
	CHECK_STR("-", p.path, "/dev/shm/posixtrace-65534");
	CHECK_EQ("-", p.owner, 65534);
	CHECK("-", p.guarded);
	unit_end_child(&child);
}

/* Skips the test unless a process can mount a /dev/shm of its own. Tried in a child, as a mount cannot be undone. */
static void can_mount(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		shm_mounted("");
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		_exit(77);
}

TEST(place_of_another_mount)
{
	struct unit_child child;
	char want[96];
	struct shm_dir p;

	if (geteuid() != 0)
		SKIP("only root makes mount namespaces here");
	can_mount();
	child = unit_child(other_shm, NULL);
	p = shm_dir_of_child(&child);
	snprintf(want, sizeof want, "/proc/%d/root/dev/shm/posixtrace-0", (int)child.pid);
	CHECK_STR("-", p.path, want);
	CHECK("-", p.guarded);
	unit_end_child(&child);
}

/* -- Directory --------------------------------------------------------------- */

TEST(directory_made)
{
	struct shm_dir shm_dir;
	struct stat st;
	int fd, descriptors;

	shm_private("");
	descriptors = shm_descriptors();
	shm_dir = shm_dir_own();
	CHECK_EQ("-", file_directory(&shm_dir, false), -ENOENT);
	CHECK_EQ("-", shm_count("/dev/shm", "posixtrace-"), 0);
	umask(0);
	fd = file_directory(&shm_dir, true);
	CHECK("-", fd > 2);
	MUST(stat(shm_directory(), &st) == 0 && S_ISDIR(st.st_mode));
	CHECK_EQ("-", st.st_mode & 07777, 0700);
	CHECK_EQ("-", st.st_uid, geteuid());
	CHECK("-", fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	fd = file_directory(&shm_dir, false);
	CHECK("-", fd > 2);
	close(fd);
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

/* Checks that the directory is refused, with and without permission to create it, and stays as it is. */
static void check_refused(const char *what)
{
	int descriptors = shm_descriptors();
	struct shm_dir shm_dir = shm_dir_own();
	struct stat before, after;

	shm_dir.guarded = true; /* else root renames what is another user's: fault/directory.c */
	MUST(lstat(shm_directory(), &before) == 0);
	for (int create = 0; create < 2; create++) {
		int fd = file_directory(&shm_dir, create);

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

	/* A symbolic link is refused, even to a directory that would do. */
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
	struct shm_dir shm_dir = shm_dir_own(), others = shm_dir;
	struct rlimit limit, none;
	int fd;

	shm_private("");
	MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	none = limit;
	none.rlim_cur = 3;
	strcat(others.path, "1");
	fd = file_directory(&shm_dir, true);
	MUST(fd >= 0);
	MUST(close(openat(fd, "one", O_CREAT | O_WRONLY, 0600)) == 0);
	file_unlink(&others, "one");
	file_unlink(&shm_dir, "two");
	CHECK_EQ("-", faccessat(fd, "one", F_OK, 0), 0);
	MUST(setrlimit(RLIMIT_NOFILE, &none) == 0); /* without descriptors */
	file_unlink(&shm_dir, "one");
	MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK("-", faccessat(fd, "one", F_OK, 0) < 0);
}

/* A directory that root creates for a different user belongs to this user. */
TEST(directory_given)
{
	struct shm_dir shm_dir = shm_dir_own();
	struct fs_credentials fs_credentials;
	struct stat st;
	int fd;

	if (geteuid() != 0)
		SKIP("only root makes directories for others");
	shm_private("");
	shm_dir.owner = shm_dir.group = 65534;
	strcpy(shm_dir.path, "/dev/shm/posixtrace-65534");
	CHECK_EQ("-", file_directory(&shm_dir, false), -ENOENT);
	fs_credentials_use(&fs_credentials, shm_dir.owner, shm_dir.group);
	fd = file_directory(&shm_dir, true);
	fs_credentials_restore(&fs_credentials);
	CHECK("-", fd > 2);
	MUST(stat(shm_dir.path, &st) == 0);
	CHECK_EQ("-", st.st_uid, 65534);
	CHECK_EQ("-", st.st_mode & 07777, 0700);
	close(fd);
	/* An existing directory is not changed, whoever its owner is. */
	MUST(chown(shm_dir.path, 0, 0) == 0);
	CHECK_EQ("-", file_directory(&shm_dir, true), -EACCES);
	MUST(stat(shm_dir.path, &st) == 0);
	CHECK_EQ("-", st.st_uid, 0);
}

/* In a path through another process's root, no component may be a symbolic link, which could lead out of that root. */
TEST(directory_through_root)
{
	struct shm_dir shm_dir = shm_dir_own();
	int fd, descriptors;

	shm_mounted("");
	snprintf(shm_dir.path, sizeof shm_dir.path, "/proc/%d/root%s", (int)getpid(), shm_directory());
	descriptors = shm_descriptors();
	fd = file_directory(&shm_dir, true);
	CHECK("-", fd > 2);
	close(fd);
	CHECK_STR("-", shm_left(), "");
	MUST(rmdir(shm_directory()) == 0);
	MUST(mount("test", "/dev", "tmpfs", 0, NULL) == 0 && mkdir("/dev/elsewhere", 01777) == 0);
	MUST(symlink("/dev/elsewhere", "/dev/shm") == 0);
	CHECK_EQ("-", file_directory(&shm_dir, true), -EACCES);
	CHECK_EQ("-", shm_count("/dev/elsewhere", ""), 0);
	MUST(unlink("/dev/shm") == 0 && close(open("/dev/shm", O_CREAT | O_WRONLY, 0600)) == 0);
	CHECK_EQ("-", file_directory(&shm_dir, true), -EACCES);
	MUST(unlink("/dev/shm") == 0);
	CHECK_EQ("-", file_directory(&shm_dir, true), -ENOENT);
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

TEST(no_tmpfs)
{
	struct shm_dir shm_dir = shm_dir_own();

	shm_mounted("");
	shm_remount(MS_RDONLY, NULL);
	CHECK_EQ("-", file_directory(&shm_dir, true), -EROFS);
	MUST(mount("test", "/dev", "tmpfs", 0, NULL) == 0);
	CHECK_EQ("-", file_directory(&shm_dir, true), -ENOENT);
}

static bool name_listed(int dir, const char *name, void *arg)
{
	int *left = arg;

	CHECK("-", dir > 2);
	if (strncmp(name, "file", 4) == 0)
		--*left;
	return *left > 0;
}

TEST(listed)
{
	char path[32], name[32];
	int dir = unit_directory(path), descriptors = shm_descriptors(), left;

	for (int i = 0; i < 300; i++) {
		sprintf(name, "file %d", i);
		MUST(close(openat(dir, name, O_CREAT | O_WRONLY, 0600)) == 0);
	}
	for (int round = 0; round < 2; round++) { /* from the start each time */
		left = 1000;
		CHECK_EQ("-", file_each(dir, name_listed, &left), 0);
		CHECK_EQ("-", left, 700);
	}
	left = 7;
	CHECK_EQ("-", file_each(dir, name_listed, &left), 0); /* until the callback ends the loop */
	CHECK_EQ("-", left, 0);
	CHECK_EQ("-", shm_descriptors(), descriptors);
	for (int i = 0; i < 300; i++) {
		sprintf(name, "file %d", i);
		unlinkat(dir, name, 0);
	}
	rmdir(path);
	CHECK("-", file_each(-1, name_listed, &left) < 0);
}

/* Counts at least as many as there are, and not many more. */
TEST(counted)
{
	struct shm_dir shm_dir = shm_dir_own();
	int fd;

	shm_private("");
	fd = file_directory(&shm_dir, true);
	MUST(fd >= 0);
	for (int i = 1; i <= 30; i++) {
		char name[32];

		sprintf(name, "stream-1-2-%d", i);
		MUST(close(openat(fd, name, O_CREAT | O_WRONLY, 0600)) == 0);
		CHECK("-", file_count(fd) >= (uint64_t)i && file_count(fd) <= (uint64_t)i + 6);
	}
	CHECK("-", file_count(-1) == UINT64_MAX);
}

/* -- Files ------------------------------------------------------------------- */

struct filling {
	int dir;
	const char *name;
	int calls;
	bool visible; /* the name existed when the file was filled */
	int error;    /* what fill() returns */
};

static int fill(void *map, void *arg)
{
	struct filling *f = arg;

	f->calls++;
	f->visible = faccessat(f->dir, f->name, F_OK, 0) == 0;
	for (int i = 0; i < 4096; i++)
		CHECK_EQ("-", ((unsigned char *)map)[i], 0);
	memset(map, 0x55, 4096);
	return f->error;
}

static int dir;
static struct shm_dir shm_dir;
static char path[32];
static struct filling filling;

static void begin(void)
{
	dir = unit_directory(path);
	shm_dir = unit_shm_dir(path);
	filling = (struct filling){ dir, "one", 0, true, 0 };
}

static void begin_in_shm(const char *options)
{
	shm_private(options);
	strcpy(path, "/dev/shm");
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	shm_dir = unit_shm_dir(path);
	filling = (struct filling){ dir, "one", 0, true, 0 };
}

static void end(void)
{
	unlinkat(dir, "one", 0);
	CHECK_EQ("-", shm_count(path, ""), 0);
	rmdir(path);
}

static int create(size_t size, void **map, struct hold *hold)
{
	struct file_new file = { "one", size, LOCK_SHARED, fill, &filling };

	hold->at = NULL;
	return file_create(dir, &shm_dir, &file, map, hold);
}

static int map_file(const char *name, size_t at_least, size_t size, struct file_mapped *mapped, struct hold *hold)
{
	return file_map(dir, &shm_dir, name, at_least, size, mapped, hold);
}

/* If the file cannot be filled, it is not created. */
TEST(not_filled)
{
	struct hold hold;
	void *map = NULL;
	int descriptors;

	begin();
	descriptors = shm_descriptors();
	filling.error = -EMFILE;
	CHECK_EQ("-", create(4096, &map, &hold), -EMFILE);
	CHECK("-", !map && !hold.at);
	CHECK_EQ("-", shm_count(path, ""), 0);
	CHECK_EQ("-", shm_descriptors(), descriptors);
	end();
}

TEST(create_and_map)
{
	struct hold hold, second = { NULL };
	struct file_mapped mapped;
	struct stat st;
	void *map, *again;
	int descriptors;

	begin();
	descriptors = shm_descriptors();
	CHECK_EQ("-", create(10000, &map, &hold), 0);
	CHECK_EQ("-", filling.calls, 1);
	CHECK("-", !filling.visible);
	MUST(fstatat(dir, "one", &st, 0) == 0);
	CHECK_EQ("-", st.st_size, 10000);
	CHECK_EQ("-", st.st_mode & 0777, 0600);
	CHECK_EQ("-", st.st_nlink, 1);
	CHECK("-", (uint64_t)st.st_blocks * 512 >= 10000); /* all of its space is reserved */
	CHECK("-", hold.at && unit_held(dir, "one"));

	CHECK_EQ("-", map_file("one", 10000, 0, &mapped, NULL), 0);
	CHECK_EQ("-", mapped.size, 10000);
	CHECK("-", mapped.inode == st.st_ino);
	((char *)map)[9999] = 7;
	CHECK_EQ("-", ((char *)mapped.map)[9999], 7);
	file_unmap(mapped.map, 10000);

	/* The second creator gets nothing, and changes nothing. */
	again = NULL;
	CHECK_EQ("-", create(5000, &again, &second), -EEXIST);
	CHECK("-", again == NULL && second.at == NULL);
	MUST(fstatat(dir, "one", &st, 0) == 0);
	CHECK_EQ("-", st.st_size, 10000);
	CHECK("-", unit_held(dir, "one"));
	file_unmap(map, 10000);
	CHECK("-", unit_held(dir, "one")); /* the hold is a separate mapping */
	lock_release(&hold);
	CHECK("-", !unit_held(dir, "one"));

	CHECK_EQ("-", shm_count(path, ""), 1); /* no temporary file is left */
	CHECK_EQ("-", shm_descriptors(), descriptors);
	end();
}

/* A file without a hold counts as gone for a process that only reads it. A process that wants to hold it finds it. */
TEST(held_or_stale)
{
	struct hold hold, second = { NULL };
	struct file_mapped mapped = { NULL, 0, 0 };
	void *map;

	begin();
	MUST(create(4096, &map, &hold) == 0);
	CHECK_EQ("-", map_file("one", 4096, 0, &mapped, &second), 0);
	CHECK("-", second.at != NULL);
	file_unmap(mapped.map, 4096);
	lock_release(&hold);
	CHECK("-", unit_held(dir, "one")); /* by the second hold */
	CHECK("-", file_held(dir, "one"));
	lock_release(&second);
	CHECK("-", !file_held(dir, "one"));
	mapped.map = NULL;
	CHECK_EQ("-", map_file("one", 4096, 0, &mapped, NULL), -ESTALE);
	CHECK("-", mapped.map == NULL);
	CHECK_EQ("-", map_file("one", 4096, 0, &mapped, &second), 0);
	CHECK("-", file_held(dir, "one"));
	CHECK_EQ("-", file_hold(dir, "one", mapped.inode, &hold), 0);
	lock_release(&second);
	CHECK("-", file_held(dir, "one"));
	lock_release(&hold);
	CHECK_EQ("-", file_hold(dir, "one", mapped.inode + 1, &hold), -EAGAIN); /* a different file */
	CHECK_EQ("-", file_hold(dir, "two", mapped.inode, &hold), -EAGAIN);
	CHECK("-", hold.at == NULL && !file_held(dir, "one"));
	CHECK("-", !file_held(dir, "two"));
	end();
}

static int reaped, reaped_linked;

/* Refuses the removal if arg is set. */
static bool reap(int fd, void *arg)
{
	struct stat st;

	reaped++;
	MUST(fstat(fd, &st) == 0);
	reaped_linked = (int)st.st_nlink;
	return !arg;
}

TEST(removed_if_unused)
{
	struct hold hold;
	int descriptors;
	void *map;

	begin();
	descriptors = shm_descriptors();
	MUST(create(4096, &map, &hold) == 0);
	CHECK("-", !file_remove_unused(dir, &shm_dir, "one", reap, NULL));
	CHECK_EQ("-", reaped, 0);
	CHECK_EQ("-", faccessat(dir, "one", F_OK, 0), 0);
	lock_release(&hold);
	CHECK("-", file_remove_unused(dir, &shm_dir, "one", reap, &hold));
	CHECK_EQ("-", faccessat(dir, "one", F_OK, 0), 0); /* still needed */
	CHECK_EQ("-", reaped, 1);
	reaped = 0;
	CHECK("-", file_remove_unused(dir, &shm_dir, "one", reap, NULL));
	CHECK_EQ("-", reaped, 1);
	CHECK_EQ("-", reaped_linked, 1); /* called before the name was removed */
	CHECK("-", faccessat(dir, "one", F_OK, 0) < 0);
	CHECK("-", !file_remove_unused(dir, &shm_dir, "one", reap, NULL));
	MUST(create(4096, &map, &hold) == 0); /* the name is free again */
	lock_release(&hold);
	CHECK("-", file_remove_unused(dir, &shm_dir, "one", NULL, NULL));
	CHECK_EQ("-", shm_descriptors(), descriptors);
	end();
}

/*
 * The creator was killed before it set the mode, under a umask like 0777. The unfinished file is removed although it
 * cannot be opened.
 */
TEST(removed_if_closed)
{
	static const unsigned mode[] = { 0, 0200, 0400 };
	static const char *const name[] = { "new-1-2-3", "page-1-2-3" };

	begin_in_shm("");
	if (geteuid() == 0)
		become_nobody(NULL);
	shm_dir = unit_shm_dir(path);
	for (unsigned i = 0; i < sizeof mode / sizeof mode[0]; i++)
		for (int n = 0; n < 2; n++) {
			MUST(close(openat(dir, name[n], O_CREAT | O_EXCL | O_WRONLY, mode[i])) == 0);
			CHECK_EQ("-", file_remove_unused(dir, &shm_dir, name[n], NULL, NULL), n == 0);
			CHECK_EQ("-", unlinkat(dir, name[n], 0), n == 0 ? -1 : 0);
		}
}

/* Anything but a regular file by that name is neither followed, waited for nor removed. */
TEST(map_refuses)
{
	static const char *const other[] = { "link", "dangling", "folder", "pipe", "device" };
	struct hold hold, second = { NULL };
	struct file_mapped mapped = { NULL, 0, 0 };
	int descriptors;
	struct stat st;
	void *map;

	begin();
	descriptors = shm_descriptors();
	MUST(create(4096, &map, &hold) == 0);
	CHECK_EQ("-", map_file("two", 1, 0, &mapped, NULL), -ENOENT);
	CHECK_EQ("-", map_file("two", 1, 0, &mapped, &second), -ENOENT);
	CHECK_EQ("-", map_file("one", 4097, 0, &mapped, NULL), -EINVAL);
	CHECK_EQ("-", map_file("one", 4097, 0, &mapped, &second), -EINVAL);
	MUST(fstatat(dir, "one", &st, 0) == 0);
	MUST(symlinkat("one", dir, "link") == 0 && symlinkat("nowhere", dir, "dangling") == 0);
	MUST(mkdirat(dir, "folder", 0700) == 0);
	MUST(mkfifoat(dir, "pipe", 0600) == 0);
	if (mknodat(dir, "device", S_IFCHR | 0600, 5 << 8) < 0) /* /dev/tty; without the right to make a device, a
	                                                         * second pipe */
		MUST(mkfifoat(dir, "device", 0600) == 0);
	for (unsigned i = 0; i < sizeof other / sizeof other[0]; i++) {
		int r[2] = { map_file(other[i], 0, 4096, &mapped, NULL),
		             map_file(other[i], 0, 4096, &mapped, &second) };

		for (int k = 0; k < 2; k++)
			if (r[k] >= 0)
				TEST_FAIL("-", "%s: %d", other[i], r[k]);
		CHECK("-", file_grow(dir, other[i], st.st_ino, 8192) < 0);
		CHECK("-", file_hold(dir, other[i], st.st_ino, &second) < 0);
		CHECK("-", !file_remove_unused(dir, &shm_dir, other[i], NULL, NULL) || i == 3 || i == 4);
	}
	CHECK("-", mapped.map == NULL && mapped.size == 0 && second.at == NULL);
	CHECK_EQ("-", fstatat(dir, "one", &st, 0), 0);
	CHECK_EQ("-", st.st_size, 4096);
	CHECK_EQ("-", shm_descriptors(), descriptors);
	for (unsigned i = 0; i < sizeof other / sizeof other[0]; i++)
		unlinkat(dir, other[i], i == 2 ? AT_REMOVEDIR : 0);
	end();
}

/* A file that others may write, or that belongs to another user, is refused with and without a hold. */
TEST(map_refuses_mode)
{
	static const unsigned mode[] = { 0601, 0602, 0604, 0610, 0620, 0640, 0666, 0644 };
	struct file_mapped mapped = { NULL, 0, 0 };
	struct hold hold, second = { NULL };
	void *map;

	begin();
	MUST(create(4096, &map, &hold) == 0);
	for (unsigned i = 0; i < sizeof mode / sizeof mode[0]; i++) {
		MUST(fchmodat(dir, "one", mode[i], 0) == 0);
		CHECK_EQ("-", map_file("one", 1, 0, &mapped, NULL), -EACCES);
		CHECK_EQ("-", map_file("one", 1, 0, &mapped, &second), -EACCES);
	}
	MUST(fchmodat(dir, "one", 0600, 0) == 0);
	shm_dir.owner++;
	CHECK_EQ("-", map_file("one", 1, 0, &mapped, NULL), -EACCES);
	CHECK_EQ("-", map_file("one", 1, 0, &mapped, &second), -EACCES);
	shm_dir.owner--;
	CHECK_EQ("-", map_file("one", 1, 0, &mapped, NULL), 0);
	CHECK("-", second.at == NULL);
	end();
}

/* A file made for a different user has this owner before it gets its name. */
static int check_owner(void *map, void *arg)
{
	CHECK_EQ("-", shm_count(path, "one"), 0);
	return 0;
}

TEST(given_away)
{
	struct file_new file = { "one", 4096, LOCK_SHARED, check_owner, NULL };
	struct hold hold = { NULL }, second = { NULL };
	struct file_mapped mapped;
	struct fs_credentials fs_credentials;
	struct stat st;
	void *map;

	if (geteuid() != 0)
		SKIP("only root can make a file for somebody else");
	begin();
	shm_dir.owner = shm_dir.group = 65534;
	shm_dir.guarded = true;
	MUST(chown(path, shm_dir.owner, shm_dir.group) == 0);
	fs_credentials_use(&fs_credentials, shm_dir.owner, shm_dir.group);
	CHECK_EQ("-", file_create(dir, &shm_dir, &file, &map, &hold), 0);
	fs_credentials_restore(&fs_credentials);
	MUST(fstatat(dir, "one", &st, 0) == 0);
	CHECK_EQ("-", st.st_uid, 65534);
	CHECK_EQ("-", st.st_mode & 07777, 0600);
	CHECK_EQ("-", map_file("one", 4096, 0, &mapped, &second), 0);
	/* Both mappings are guarded. */
	MUST(truncate(strcat(strcpy((char[64]){ 0 }, path), "/one"), 0) == 0);
	CHECK_EQ("-", *(volatile char *)map, 0);
	CHECK_EQ("-", *(volatile char *)mapped.map, 0);
	CHECK("-", guard_broken(map) && guard_broken(mapped.map));
	file_unmap(map, 4096);
	file_unmap(mapped.map, 4096);
	CHECK("-", !guard_broken(map));
	end();
}

TEST(grow)
{
	struct file_mapped whole;
	struct hold hold;
	struct stat st;
	void *map;

	begin();
	MUST(create(4096, &map, &hold) == 0);
	/* Mapped beyond its end: space that is added later can be used. */
	MUST(map_file("one", 4096, 65536, &whole, NULL) == 0);
	CHECK_EQ("-", whole.size, 4096);
	CHECK_EQ("-", file_grow(dir, "one", whole.inode, 12288), 0);
	MUST(fstatat(dir, "one", &st, 0) == 0);
	CHECK_EQ("-", st.st_size, 12288);
	CHECK_EQ("-", ((unsigned char *)whole.map)[4095], 0x55);
	CHECK_EQ("-", ((unsigned char *)whole.map)[12287], 0);
	((char *)whole.map)[12287] = 1;
	CHECK_EQ("-", file_grow(dir, "one", whole.inode, 4096), 0); /* never shrinks */
	MUST(fstatat(dir, "one", &st, 0) == 0);
	CHECK_EQ("-", st.st_size, 12288);
	CHECK_EQ("-", file_grow(dir, "two", whole.inode, 4096), -ENOENT);
	/* A different file of that name. */
	CHECK_EQ("-", file_grow(dir, "one", whole.inode + 1, 65536), -ESTALE);
	MUST(fstatat(dir, "one", &st, 0) == 0);
	CHECK_EQ("-", st.st_size, 12288);
	end();
}

/* H12: a lack of space is noticed when the file is created, not when it is written to. */
TEST(no_space)
{
	void *map = NULL;
	struct hold hold;
	struct stat st;
	int descriptors;

	begin_in_shm("size=64k");
	descriptors = shm_descriptors();
	CHECK_EQ("-", create(1 << 20, &map, &hold), -ENOMEM);
	CHECK("-", hold.at == NULL);
	CHECK_EQ("-", create(SIZE_MAX / 2, &map, &hold), -ENOMEM);
	CHECK("-", hold.at == NULL);
	CHECK_EQ("-", create(0, &map, &hold), -ENOMEM);
	CHECK_EQ("-", filling.calls, 0);
	CHECK("-", map == NULL && hold.at == NULL);
	CHECK_EQ("-", shm_count("/dev/shm", ""), 0);
	CHECK_EQ("-", shm_descriptors(), descriptors);

	MUST(create(16384, &map, &hold) == 0);
	MUST(fstatat(dir, "one", &st, 0) == 0);
	CHECK_EQ("-", file_grow(dir, "one", st.st_ino, 1 << 20), -ENOMEM);
	MUST(fstatat(dir, "one", &st, 0) == 0);
	CHECK_EQ("-", st.st_size, 16384);
	CHECK_EQ("-", file_grow(dir, "one", st.st_ino, 32768), 0);
}

/* Too many files for the tmpfs counts as a lack of memory. */
TEST(no_inodes)
{
	void *map = NULL;
	struct hold hold;

	begin_in_shm("nr_inodes=2");
	MUST(close(openat(dir, "other", O_CREAT | O_WRONLY, 0600)) == 0);
	CHECK_EQ("-", create(4096, &map, &hold), -ENOMEM);
	CHECK_EQ("-", shm_count("/dev/shm", ""), 1);
}

TEST(file_size_limit)
{
	struct rlimit before, limit;
	void *map = NULL;
	struct hold hold;
	struct stat st;

	begin();
	MUST(getrlimit(RLIMIT_FSIZE, &before) == 0);
	limit = (struct rlimit){ 8192, before.rlim_max };
	MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0); /* SIGXFSZ would end the test */
	CHECK_EQ("-", create(8193, &map, &hold), -ENOMEM);
	CHECK_EQ("-", shm_count(path, ""), 0);
	CHECK_EQ("-", create(8192, &map, &hold), 0);
	MUST(fstatat(dir, "one", &st, 0) == 0);
	CHECK_EQ("-", file_grow(dir, "one", st.st_ino, 8193), -ENOMEM);
	MUST(setrlimit(RLIMIT_FSIZE, &before) == 0); /* script/coverage writes at exit */
	end();
}

/* What the program writes to its standard descriptors must not end up in a file of the library. */
TEST(no_standard_descriptors)
{
	struct shm_dir own = shm_dir_own();
	int fd[3];

	shm_private("");
	for (int i = 0; i < 3; i++)
		fd[i] = fcntl(i, F_DUPFD, 10);
	close(0);
	close(1);
	close(2);
	dir = file_directory(&own, true);
	for (int i = 0; i < 3; i++)
		dup2(fd[i], i);
	CHECK("-", dir > 2);
	CHECK("-", fcntl(dir, F_GETFD) & FD_CLOEXEC);
}

/* -- Several at once ---------------------------------------------------------- */

#define THREADS 8
#define ROUNDS 50

static struct {
	uint32_t won[ROUNDS];
	uint32_t stop, removed, used;
} race;

static int sign(void *map, void *arg)
{
	*(uint32_t *)map = *(uint32_t *)arg;
	return 0;
}

static void *create_all(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg;

	for (int i = 0; i < ROUNDS; i++) {
		char name[FILE_NAME_SIZE];
		struct file_new file = { name, 4096, LOCK_STREAM, sign, &me };
		struct hold hold = { NULL };
		void *map = NULL;
		int r;

		file_name(name, "race", (struct ident){ 1, 1, 0 }, (uint32_t)i + 1);
		r = file_create(dir, &shm_dir, &file, &map, &hold);
		if (r == 0) {
			fetch_add(&race.won[i], 1);
			CHECK_EQ("-", *(uint32_t *)map, me);
			file_unmap(map, 4096);
			CHECK("-", hold.at != NULL);
		} else {
			CHECK_EQ("-", r, -EEXIST);
			CHECK("-", hold.at == NULL);
		}
	}
	return NULL;
}

TEST(one_wins)
{
	pthread_t thread[THREADS];

	begin();
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, create_all, (void *)(uintptr_t)(i + 1)) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < ROUNDS; i++) {
		char name[FILE_NAME_SIZE];

		CHECK_EQ("-", race.won[i], 1);
		file_name(name, "race", (struct ident){ 1, 1, 0 }, (uint32_t)i + 1);
		CHECK("-", file_held(dir, name));
		CHECK_EQ("-", unlinkat(dir, name, 0), 0);
	}
	end();
}

/*
 * Maps and holds the file, or creates it. Threads remove it only while it has no holds, so a file that is held has
 * its name at every moment.
 */
static void *use_often(void *arg)
{
	uint32_t me = (uint32_t)(uintptr_t)arg, lost = 0, refused = 0;

	for (int i = 0; i < 1500 / test_slow() + 20; i++) {
		struct file_new file = { "one", 4096, LOCK_SHARED, sign, &me };
		struct hold hold = { NULL };
		struct file_mapped mapped;
		struct stat st;
		int r = file_map(dir, &shm_dir, "one", 4096, 4096, &mapped, &hold);

		if (r == -ENOENT)
			r = file_create(dir, &shm_dir, &file, &mapped.map, &hold);
		if (r < 0) {
			if (r != -EEXIST)
				refused++;
			continue;
		}
		if (fstatat(dir, "one", &st, 0) < 0 || !file_held(dir, "one"))
			lost++;
		file_unmap(mapped.map, 4096);
		lock_release(&hold);
		fetch_add(&race.used, 1);
		file_remove_unused(dir, &shm_dir, "one", NULL, NULL);
	}
	CHECK_EQ("-", lost, 0);
	CHECK_EQ("-", refused, 0);
	return NULL;
}

static void *remove_often(void *arg)
{
	while (!load_relaxed(&race.stop))
		if (file_remove_unused(dir, &shm_dir, "one", NULL, NULL))
			fetch_add(&race.removed, 1);
	return NULL;
}

TEST(removing_races_with_holding)
{
	pthread_t user[3], remover[2];
	struct hold hold;
	void *map;

	begin();
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&remover[i], NULL, remove_often, NULL) == 0);
	for (int i = 0; i < 3; i++)
		MUST(pthread_create(&user[i], NULL, use_often, (void *)(uintptr_t)(i + 1)) == 0);
	for (int i = 0; i < 3; i++)
		pthread_join(user[i], NULL);
	/* If the threads never met: a file without a hold for the remover. */
	for (int i = 0; i < 5000 && !load_relaxed(&race.removed); i++) {
		if (create(4096, &map, &hold) == 0) {
			file_unmap(map, 4096);
			lock_release(&hold);
		}
		usleep(1000);
	}
	store_relaxed(&race.stop, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(remover[i], NULL);
	CHECK("-", race.removed > 0);
	CHECK("-", race.used > 0);
	end();
}

/* Holds the lock and loses its processor for a while. */
static bool reap_slowly(int fd, void *arg)
{
	(void)fd;
	store_release((uint32_t *)arg, 1);
	usleep(50000);
	return true;
}

static void *remove_slowly(void *locked)
{
	CHECK("-", file_remove_unused(dir, &shm_dir, "one", reap_slowly, locked));
	return NULL;
}

TEST(slow_remover)
{
	static uint32_t locked;
	struct file_mapped mapped;
	struct hold hold = { NULL };
	pthread_t remover;
	void *map;

	begin();
	MUST(create(4096, &map, &hold) == 0);
	file_unmap(map, 4096);
	lock_release(&hold);
	MUST(pthread_create(&remover, NULL, remove_slowly, &locked) == 0);
	while (!load_acquire(&locked))
		usleep(100);
	CHECK_EQ("-", file_map(dir, &shm_dir, "one", 4096, 4096, &mapped, &hold), -ENOENT);
	pthread_join(remover, NULL);
	end();
}

TEST_MAIN(TEST_ENTRY(names), TEST_ENTRY(no_names), TEST_ENTRY(own_shm_dir), TEST_ENTRY(shm_dir_of_child),
          TEST_ENTRY(place_not_known), TEST_ENTRY(place_of_another_user), TEST_ENTRY(place_of_another_mount),
          TEST_ENTRY(directory_made), TEST_ENTRY(directory_mode), TEST_ENTRY(directory_is_something_else),
          TEST_ENTRY(directory_foreign), TEST_ENTRY(unlinked), TEST_ENTRY(directory_given),
          TEST_ENTRY(directory_through_root), TEST_ENTRY(no_tmpfs), TEST_ENTRY(listed), TEST_ENTRY(counted),
          TEST_ENTRY(not_filled), TEST_ENTRY(create_and_map), TEST_ENTRY(held_or_stale), TEST_ENTRY(removed_if_unused),
          TEST_ENTRY(removed_if_closed), TEST_ENTRY(map_refuses), TEST_ENTRY(map_refuses_mode), TEST_ENTRY(given_away),
          TEST_ENTRY(grow), TEST_ENTRY(no_space), TEST_ENTRY(no_inodes), TEST_ENTRY(file_size_limit),
          TEST_ENTRY(no_standard_descriptors), TEST_ENTRY(one_wins), TEST_ENTRY(removing_races_with_holding),
          TEST_ENTRY(slow_remover))
