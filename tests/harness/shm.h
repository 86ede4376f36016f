/*
 * shm.h - a private /dev/shm for a test
 *
 * Made in a mount namespace of the calling process, so that it is invisible to other processes and gone after the test.
 * A process without root rights also gets a user namespace, with itself as the only user. Where neither is permitted, a
 * test that only needs an empty /dev/shm runs alone (alone.h), and a test that needs more is skipped. Also counts the
 * entries of such a directory, and what a process has open or mapped.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_H
#define SHM_H

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "alone.h"
#include "started.h"
#include "test.h"

static inline bool shm_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

/*
 * Makes later mounts visible in this namespace only. In a chroot the root directory is not a mount point, so this is
 * done outside, where setns() leads.
 */
static inline bool shm_seclude(void)
{
	int root, space;
	bool done;

	if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0)
		return true;
	if (errno != EINVAL)
		return false;
	root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	space = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	done = root >= 0 && space >= 0 && setns(space, CLONE_NEWNS) == 0;
	if (done) {
		done = mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0;
		/* The process cannot go on anywhere else. */
		if (fchdir(root) < 0 || chroot(".") < 0)
			_exit(99);
	}
	if (root >= 0)
		close(root);
	if (space >= 0)
		close(space);
	return done;
}

/* Gives the caller mounts of its own. Returns NULL, or the reason why this is impossible. */
static inline const char *shm_try_namespace(void)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64], here[4096];
	bool back = getcwd(here, sizeof here) && here[0] == '/';

	if (uid == 0) {
		if (unshare(CLONE_NEWNS) < 0)
			return "no mount namespaces for this user here";
	} else {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			return "no user namespaces here";
		if (!shm_write("/proc/self/setgroups", "deny"))
			return "a user namespace cannot be set up here";
		snprintf(map, sizeof map, "%u %u 1", uid, uid);
		if (!shm_write("/proc/self/uid_map", map))
			return "a user namespace cannot be set up here";
		snprintf(map, sizeof map, "%u %u 1", gid, gid);
		if (!shm_write("/proc/self/gid_map", map))
			return "a user namespace cannot be set up here";
	}
	if (!shm_seclude() || (back && chdir(here) < 0))
		return "mounts cannot be made private here";
	return NULL;
}

/* Does the same and mounts a fresh tmpfs. */
static inline const char *shm_try_mount(const char *options)
{
	char all[128];
	const char *why = shm_try_namespace();

	if (why)
		return why;
	snprintf(all, sizeof all, "mode=1777%s%s", *options ? "," : "", options);
	return mount("test", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, all) < 0
	       ? "no tmpfs can be mounted here" : NULL;
}

/*
 * Returns whether the caller could do so. Tries in a child: a failed attempt leaves a process in namespaces that it
 * cannot leave.
 */
static inline bool shm_possible(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	int status;

	if (pid == 0)
		_exit(shm_try_mount("") != NULL);
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return status == 0;
}

/* Gives the caller mounts of its own, or skips the test. */
static inline void shm_namespace(void)
{
	const char *why = shm_try_namespace();

	if (why)
		SKIP(why);
}

/* Mounts a fresh tmpfs; options as for mount, such as "size=64k". */
static inline void shm_mounted(const char *options)
{
	const char *why = shm_try_mount(options);

	if (why)
		SKIP(why);
}

/* Provides an empty private /dev/shm: a fresh tmpfs, or the common one while no other test runs. */
static inline bool shm_try_private(void)
{
	return shm_possible() ? shm_try_mount("") == NULL : alone_acquire();
}

/*
 * Does the same, or skips the test. With options: a fresh tmpfs with these options. A test that mounts something in
 * /dev/shm, or changes /dev/shm itself, calls shm_mounted().
 */
static inline void shm_private(const char *options)
{
	if (*options)
		shm_mounted(options);
	else if (!shm_try_private())
		SKIP("no mount namespaces here, and others are at /dev/shm");
}

static inline void shm_remount(unsigned long flags, const char *options)
{
	MUST(mount("test", "/dev/shm", "tmpfs", MS_REMOUNT | MS_NOSUID | MS_NODEV | flags, options) == 0);
}

/* Returns the library's directory of this user. */
static inline const char *shm_directory(void)
{
	static char path[64];

	snprintf(path, sizeof path, "/dev/shm/posixtrace-%u", (unsigned)geteuid());
	return path;
}

/* Returns the name of a file in the library's directory, or "": for messages that say which file is left. */
static inline const char *shm_left(void)
{
	static char name[256];
	DIR *d = opendir(shm_directory());
	struct dirent *e;

	name[0] = '\0';
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			snprintf(name, sizeof name, "%s", e->d_name);
	if (d)
		closedir(d);
	return name;
}

/* Returns how many entries of a directory begin with these letters, or -1 if there is no such directory. */
static inline int shm_count(const char *directory, const char *begin)
{
	DIR *d = opendir(directory);
	struct dirent *e;
	int n = 0;

	if (!d)
		return -1;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && strncmp(e->d_name, begin, strlen(begin)) == 0)
			n++;
	closedir(d);
	return n;
}

/*
 * Returns how many files of this kind ("stream", "page", ...) a process has that is not older than this process. An
 * older process may have had the same process id, and its files may stay: those of a stream whose log is gone do.
 */
static inline int shm_files_of(pid_t pid, const char *kind)
{
	uint64_t own = process_started("/proc/self/stat");
	DIR *d = opendir(shm_directory());
	char begin[32];
	struct dirent *e;
	int n = 0;

	snprintf(begin, sizeof begin, "%s-%d-", kind, (int)pid);
	while (d && (e = readdir(d)))
		n += strncmp(e->d_name, begin, strlen(begin)) == 0 &&
		     strtoull(e->d_name + strlen(begin), NULL, 10) >= own;
	if (d)
		closedir(d);
	return n;
}

/* Returns the number of open descriptors of this process. */
static inline int shm_descriptors(void)
{
	return shm_count("/proc/self/fd", "");
}

/*
 * Returns how many mappings of shared memory have this text in the names of their files, or how many mappings there are
 * if the text is empty; -1 if there is no such process. The program itself may lie in /somewhere/posixtrace-1.0.
 */
static inline int shm_mappings(pid_t pid, const char *what)
{
	char path[64], line[4096];
	int n = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	MUST(f || pid != getpid()); /* otherwise a comparison with an earlier -1 would pass */
	if (!f)
		return -1;
	while (fgets(line, sizeof line, f)) {
		char rights[8] = "";

		sscanf(line, "%*s %7s", rights);
		n += !what[0] || (rights[3] == 's' && strstr(line, what));
	}
	fclose(f);
	return n;
}

#endif
