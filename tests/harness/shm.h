/*
 * shm.h - a /dev/shm of the test's own, as it likes it
 *
 * In a mount namespace of the calling process, so that nobody else sees it and
 * nothing is left of it. Who is not root gets a user namespace too, with
 * itself as the only user. Skips the test where neither is permitted. Also
 * counts what is in such a directory, and what a process has open or mapped.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_H
#define SHM_H

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "test.h"

static inline void shm_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		SKIP("a user namespace cannot be set up here");
	close(fd);
}

/* From now on the caller's mounts are its own. */
static inline void shm_namespace(void)
{
	unsigned uid = geteuid(), gid = getegid();
	char map[64];

	if (uid == 0) {
		if (unshare(CLONE_NEWNS) < 0)
			SKIP("no mount namespaces for this user here");
	} else {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			SKIP("no user namespaces here");
		shm_write("/proc/self/setgroups", "deny");
		snprintf(map, sizeof map, "%u %u 1", uid, uid);
		shm_write("/proc/self/uid_map", map);
		snprintf(map, sizeof map, "%u %u 1", gid, gid);
		shm_write("/proc/self/gid_map", map);
	}
	if (mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0)
		SKIP("mounts cannot be made private here");
}

/* A fresh tmpfs; options as for mount, such as "size=64k". */
static inline void shm_private(const char *options)
{
	char all[128];

	shm_namespace();
	snprintf(all, sizeof all, "mode=1777%s%s", *options ? "," : "", options);
	if (mount("test", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, all) < 0)
		SKIP("no tmpfs can be mounted here");
}

static inline void shm_remount(unsigned long flags, const char *options)
{
	MUST(mount("test", "/dev/shm", "tmpfs", MS_REMOUNT | MS_NOSUID | MS_NODEV | flags, options) == 0);
}

/* The library's directory of this user. */
static inline const char *shm_directory(void)
{
	static char path[64];

	snprintf(path, sizeof path, "/dev/shm/posixtrace-%u", (unsigned)geteuid());
	return path;
}

/* How many entries of a directory begin with these letters; -1: there is no such directory. */
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

/* Open descriptors of this process. */
static inline int shm_descriptors(void)
{
	return shm_count("/proc/self/fd", "");
}

/* How many lines of /proc/PID/maps have this in them; -1: there is no such process. */
static inline int shm_mappings(pid_t pid, const char *what)
{
	char path[64], line[4096];
	int n = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	MUST(f || pid != getpid()); /* or what is compared with an earlier -1 would pass */
	if (!f)
		return -1;
	while (fgets(line, sizeof line, f))
		n += strstr(line, what) != NULL;
	fclose(f);
	return n;
}

#endif
