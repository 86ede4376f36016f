/*
 * file.c - files in the user's own directory of shared memory
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/text.h"

#define DIRECTORY "/dev/shm/posixtrace-"

void file_name(char name[FILE_NAME_SIZE], const char *kind, struct ident id, uint32_t serial)
{
	struct text t = text_into(name, FILE_NAME_SIZE);

	text_add(&t, kind);
	text_add(&t, "-");
	text_add_number(&t, id.pid);
	text_add(&t, "-");
	text_add_number(&t, id.start);
	if (serial) {
		text_add(&t, "-");
		text_add_number(&t, serial);
	}
}

bool file_name_parse(const char *name, char kind[16], struct ident *id, uint32_t *serial)
{
	const char *dash = strchr(name, '-');
	char again[FILE_NAME_SIZE];

	if (!dash || dash - name >= 16)
		return false;
	memcpy(kind, name, (size_t)(dash - name));
	kind[dash - name] = 0;
	id->pid = (uint32_t)text_number(dash + 1);
	dash = strchr(dash + 1, '-');
	if (!dash)
		return false;
	id->start = text_number(dash + 1);
	dash = strchr(dash + 1, '-');
	*serial = dash ? (uint32_t)text_number(dash + 1) : 0;
	file_name(again, kind, *id, *serial);
	return strcmp(name, again) == 0;
}

static struct text directory_path(char *path, size_t size, unsigned uid)
{
	struct text t = text_into(path, size);

	text_add(&t, DIRECTORY);
	text_add_number(&t, uid);
	return t;
}

void file_unlink(unsigned uid, const char *name)
{
	char path[64 + FILE_NAME_SIZE];
	struct text t = directory_path(path, sizeof path, uid);

	text_add(&t, "/");
	text_add(&t, name);
	sys_unlink(AT_FDCWD, path);
}

int file_directory(bool create)
{
	char path[64];
	struct sys_stat st;
	unsigned uid = sys_geteuid();
	int fd, r;

	directory_path(path, sizeof path, uid);
	for (int try = 0;; try++) {
		fd = sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
		if (fd != -ENOENT || !create || try == 2)
			break;
		r = sys_mkdir(path, 0700);
		if (r < 0 && r != -EEXIST)
			return r;
	}
	if (fd == -ELOOP || fd == -ENOTDIR)
		return -EACCES; /* somebody has put a link or a file there */
	if (fd < 0)
		return fd;
	r = sys_stat(fd, &st);
	if (r == 0 && (!S_ISDIR(st.mode) || st.uid != uid || (st.mode & 077)))
		r = -EACCES;
	if (r < 0) {
		sys_close(fd);
		return r;
	}
	return fd;
}

/* A full tmpfs says ENOSPC, a limit EFBIG or EDQUOT: to our caller it is memory that is missing. */
static int as_memory(int r)
{
	return r == -ENOSPC || r == -EFBIG || r == -EDQUOT || r == -EINVAL ? -ENOMEM : r;
}

int file_create(int dir, const char *name, size_t size, void (*init)(void *, void *), void *arg, void **map)
{
	static uint32_t counter;
	char hidden[FILE_NAME_SIZE];
	void *p;
	int fd, r;

	/* A name of its own for each thread and each handler that gets here at once. */
	do {
		struct ident self = { (uint32_t)sys_getpid(), (uint32_t)sys_gettid() };

		file_name(hidden, "new", self, fetch_add(&counter, 1) + 1);
		fd = sys_open(dir, hidden, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	} while (fd == -EEXIST);
	if (fd < 0)
		return as_memory(fd);

	r = as_memory(sys_reserve(fd, size));
	p = r < 0 ? NULL : sys_map(size, fd, 1);
	sys_close(fd);
	if (!p) {
		r = r < 0 ? r : -ENOMEM;
		goto remove;
	}
	init(p, arg);
	r = sys_link(dir, hidden, name);
	if (r < 0) {
		sys_unmap(p, size);
		goto remove;
	}
	*map = p;
remove:
	sys_unlink(dir, hidden);
	return r < 0 ? r : 0;
}

int file_map(int dir, const char *name, size_t at_least, size_t map_size, void **map, uint64_t *file_size)
{
	struct sys_stat st;
	void *p;
	int fd, r;

	fd = sys_open(dir, name, O_RDWR | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	r = sys_stat(fd, &st);
	if (r == 0 && (!S_ISREG(st.mode) || st.size < at_least))
		r = -EINVAL;
	if (r < 0) {
		sys_close(fd);
		return r;
	}
	if (map_size == 0)
		map_size = (size_t)st.size;
	p = sys_map(map_size, fd, 1);
	sys_close(fd);
	if (!p)
		return -ENOMEM;
	*map = p;
	*file_size = st.size;
	return 0;
}

int file_grow(int dir, const char *name, uint64_t size)
{
	int fd = sys_open(dir, name, O_RDWR | O_NOFOLLOW, 0);
	int r;

	if (fd < 0)
		return fd;
	r = as_memory(sys_reserve(fd, size));
	sys_close(fd);
	return r;
}
