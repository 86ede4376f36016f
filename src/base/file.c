/*
 * file.c - files in a user's directory of shared memory
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
#include "base/testpoint.h"
#include "base/text.h"

#define SHM "/dev/shm"

/* How long a file that is being removed is waited for: some 50 us, then a second. */
#define YIELDS   50
#define SLEEPS   10000
#define SLEEP_NS 100000

/* -- Names ------------------------------------------------------------------- */

void file_name(char name[FILE_NAME_SIZE], const char *kind, struct ident id, uint32_t number)
{
	struct text t = text_into(name, FILE_NAME_SIZE);

	text_add(&t, kind);
	text_add(&t, "-");
	text_add_number(&t, id.pid);
	text_add(&t, "-");
	text_add_number(&t, id.start);
	text_add(&t, "-");
	text_add_number(&t, number);
}

void file_name_once(char name[FILE_NAME_SIZE], const char *kind, struct ident id)
{
	file_name(name, kind, id, id.space);
}

bool file_name_parse(const char *name, char kind[16], struct ident *id, uint32_t *number)
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
	if (!dash)
		return false;
	id->space = *number = (uint32_t)text_number(dash + 1);
	file_name(again, kind, *id, *number);
	return strcmp(name, again) == 0;
}

/* -- Directories --------------------------------------------------------------- */

static void place_path(struct place *p, const char *root, uint32_t number, uint32_t uid)
{
	struct text t = text_into(p->path, sizeof p->path);

	if (number) {
		text_add(&t, "/proc/");
		text_add_number(&t, number);
		text_add(&t, root);
	}
	text_add(&t, SHM);
	text_add(&t, "/" FILE_DIRECTORY);
	text_add_number(&t, uid);
}

struct place place_own(void)
{
	struct place p = { .owner = sys_geteuid(), .group = sys_getegid() };

	place_path(&p, "", 0, proc_user_outside(p.owner));
	return p;
}

/* The directory above it. Another process's root is entered step by step: a link in there would lead out of it. */
static int open_parent(const char *path, const char **last)
{
	static const char root[] = "/root/";
	const char *inside = strstr(path, root), *slash;
	char part[FILE_PLACE_SIZE];
	int fd, next;

	*last = strrchr(path, '/') + 1;
	if (!inside)
		return sys_open(AT_FDCWD, SHM, O_PATH | O_DIRECTORY, 0);
	inside += strlen(root);
	memcpy(part, path, (size_t)(inside - path));
	part[inside - path] = 0;
	fd = sys_open(AT_FDCWD, part, O_PATH | O_DIRECTORY, 0);
	while (fd >= 0 && (slash = strchr(inside, '/'))) {
		memcpy(part, inside, (size_t)(slash - inside));
		part[slash - inside] = 0;
		next = sys_open(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
		sys_close(fd);
		fd = next;
		inside = slash + 1;
	}
	return fd;
}

bool file_is_want(int r)
{
	return r == -EMFILE || r == -ENFILE || r == -ENOMEM;
}

/* 1: the directory above a place is this process's own /dev/shm. Negative: that cannot be told now. */
static int same_shm(const struct place *place)
{
	struct sys_stat theirs, ours;
	const char *name;
	int fd = open_parent(place->path, &name), r;

	if (fd < 0)
		return file_is_want(fd) ? fd : 0;
	r = sys_stat(fd, &theirs);
	if (r == 0)
		r = sys_stat_path(SHM, &ours);
	sys_close(fd);
	if (r != 0)
		return file_is_want(r) ? r : 0;
	return sys_same_file(&theirs, &ours);
}

struct place place_of(const struct proc *proc)
{
	struct place p = {
		.owner = proc->uid,
		.group = proc->gid,
		.guarded = proc->uid != sys_geteuid() || proc_contained(proc->number),
	};
	/* What the process itself takes for its number. */
	int users = proc_other_users(proc->number), same;
	uint32_t uid = users ? proc->uid : proc_user_outside(proc->uid);

	place_path(&p, "/root", proc->number, uid);
	/* Where it is the same, by the way that stays when the process has ended. Who has ended has none of its own. */
	same = same_shm(&p);
	if (same > 0 || proc->ended || proc_gone(proc->number))
		place_path(&p, "", 0, uid);
	else
		p.error = same;
	if (users < 0)
		p.error = users;
	return p;
}

int file_directory(const struct place *place, bool create)
{
	const char *name;
	struct sys_stat st;
	int parent = open_parent(place->path, &name), fd, r;

	if (parent < 0)
		return parent == -ELOOP || parent == -ENOTDIR ? -EACCES : parent;
	for (int try = 0;; try++) {
		fd = sys_open(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
		if (fd != -ENOENT || !create || try == 2)
			break;
		r = sys_mkdir(parent, name, 0700);
		if (r < 0 && r != -EEXIST) {
			fd = r;
			break;
		}
		TEST_POINT("directory_made");
	}
	sys_close(parent);
	if (fd == -ELOOP || fd == -ENOTDIR)
		return -EACCES; /* somebody has put a link or a file there */
	if (fd < 0)
		return fd;
	r = sys_stat(fd, &st);
	if (r == 0 && (!S_ISDIR(st.mode) || st.uid != place->owner || (st.mode & 077)))
		r = -EACCES;
	if (r < 0) {
		sys_close(fd);
		return r;
	}
	return fd;
}

/* As the kernel gives it. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

int file_each(int dir, bool (*f)(int, const char *, void *), void *arg)
{
	_Alignas(struct entry) unsigned char buf[1024]; /* small: a trace point in a handler may get here on a small stack */
	int n, list = sys_open(dir, ".", O_RDONLY | O_DIRECTORY, 0);

	if (list < 0)
		return list;
	while ((n = sys_getdents(list, buf, sizeof buf)) > 0) {
		for (int at = 0; at < n;) {
			const struct entry *e = (const struct entry *)(buf + at);

			at += e->length;
			if (!f(dir, e->name, arg)) {
				sys_close(list);
				return 0;
			}
		}
	}
	sys_close(list);
	return n;
}

/* What one entry adds to the size of a directory in a tmpfs; elsewhere it is more. */
#define ENTRY_SIZE 20

static bool add_size(int dir, const char *name, void *arg)
{
	uint64_t *count = arg;
	struct sys_stat st;
	int fd;

	if (strncmp(name, FILE_DIRECTORY, strlen(FILE_DIRECTORY)) != 0)
		return true;
	fd = sys_open(dir, name, O_PATH | O_NOFOLLOW, 0);
	if (fd < 0)
		return true;
	if (sys_stat(fd, &st) == 0)
		*count += st.size / ENTRY_SIZE;
	sys_close(fd);
	return true;
}

uint64_t file_count_all(const struct place *place)
{
	const char *name;
	int parent = open_parent(place->path, &name);
	uint64_t count = 0;

	if (parent < 0 || file_each(parent, add_size, &count) < 0)
		count = UINT64_MAX;
	if (parent >= 0)
		sys_close(parent);
	return count;
}

/* -- Files ----------------------------------------------------------------------- */

/* A full tmpfs says ENOSPC, a limit EFBIG or EDQUOT: to our caller it is memory that is missing. */
static int as_memory(int r)
{
	return r == -ENOSPC || r == -EFBIG || r == -EDQUOT || r == -EINVAL ? -ENOMEM : r;
}

/* On a tmpfs of many a Linux a signal ends it, and all of it is undone: then once more, without signals. */
static int reserve(int fd, uint64_t size)
{
	int r = sys_reserve(fd, size);
	uint64_t signals;

	if (r == -EINTR) {
		signals = sys_signals_block();
		r = sys_reserve(fd, size);
		sys_signals_restore(signals);
	}
	return as_memory(r);
}

/* A queue that somebody has put there would make us wait. */
static int open_file(int dir, const char *name, int flags)
{
	int fd = sys_open(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | flags, 0600);

	/* A link, a queue, a directory, a device. */
	return fd == -ELOOP || fd == -ENXIO || fd == -EISDIR || fd == -ENODEV ? -EACCES : fd;
}

/* A second open file, for the lock: the first one's mapping is inherited by forked children. -EAGAIN: another file now. */
static int hold_file(int dir, const char *name, const struct sys_stat *st, enum lock_kind lock, struct hold *hold)
{
	int fd = open_file(dir, name, 0), r;
	struct sys_stat again;

	if (fd < 0)
		return fd == -ENOENT ? -EAGAIN : fd;
	TEST_POINT("hold_opened");
	r = lock_take(fd, lock);
	TEST_POINT("hold_locked");
	/* Who removes files has the lock while it does: with the lock, and a name, it stays. */
	if (r == 0)
		r = sys_stat(fd, &again);
	if (r == 0 && (again.inode != st->inode || again.links == 0))
		r = -EAGAIN;
	if (r == 0)
		r = lock_hold(fd, hold);
	TEST_POINT("hold_mapped");
	sys_close(fd);
	return r;
}

/* A new file under a name that says that it is not finished, locked. */
static int create_hidden(int dir, char hidden[FILE_NAME_SIZE], enum lock_kind lock, struct hold *hold)
{
	static uint32_t counter;
	struct sys_stat st;

	/* A name of its own for each thread and each handler that gets here at once; and again if it is cleared away before it is locked. */
	for (int try = 0; try < 100; try++) {
		struct ident self = { (uint32_t)sys_getpid(), (uint32_t)sys_gettid(), 0 };
		int fd, r;

		file_name(hidden, "new", self, fetch_add(&counter, 1) + 1);
		fd = open_file(dir, hidden, O_CREAT | O_EXCL);
		if (fd == -EEXIST)
			continue;
		if (fd < 0)
			return fd;
		TEST_POINT("file_new");
		r = sys_stat(fd, &st);
		if (r == 0)
			r = hold_file(dir, hidden, &st, lock, hold);
		if (r == 0)
			return fd;
		sys_close(fd);
		if (r != -EAGAIN) {
			sys_unlink(dir, hidden);
			return r;
		}
	}
	return -EEXIST;
}

void file_unmap(void *map, size_t size)
{
	guard_remove(map);
	sys_unmap(map, size);
}

/* Known as guarded before anybody else can touch the file. */
static void *map_guarded(int fd, const struct place *place, size_t size)
{
	void *p = sys_map(size, fd, 1);

	if (p && place->guarded && guard_add(p, size) < 0) {
		sys_unmap(p, size);
		p = NULL;
	}
	return p;
}

int file_create(int dir, const struct place *place, const struct file_new *file, void **map, struct hold *hold)
{
	char hidden[FILE_NAME_SIZE];
	void *p;
	int r, fd = create_hidden(dir, hidden, file->lock, hold);

	if (fd < 0)
		return as_memory(fd);
	r = reserve(fd, file->size);
	TEST_POINT("file_reserved");
	p = r < 0 ? NULL : map_guarded(fd, place, file->size);
	if (p)
		r = file->init(p, file->arg);
	else
		r = r < 0 ? r : -ENOMEM;
	sys_close(fd);
	TEST_POINT("file_filled");
	if (r == 0)
		r = sys_rename(dir, hidden, file->name);
	TEST_POINT("file_named");
	if (r == 0) {
		*map = p;
		return 0;
	}
	sys_unlink(dir, hidden);
	if (p)
		file_unmap(p, file->size);
	lock_release(hold);
	return r;
}

/* Nobody but the owner can have written there. */
static bool private_file(const struct sys_stat *st, uint32_t owner)
{
	return S_ISREG(st->mode) && st->uid == owner && !(st->mode & 077);
}

static int map_once(int dir, const struct place *place, const char *name, size_t at_least, size_t map_size,
                    struct file_mapped *mapped, struct hold *hold)
{
	int fd = open_file(dir, name, 0), r;
	struct sys_stat st;
	void *p;

	if (fd < 0)
		return fd;
	r = sys_stat(fd, &st);
	if (r == 0 && !private_file(&st, place->owner))
		r = -EACCES;
	if (r == 0 && st.size < at_least)
		r = -EINVAL;
	if (r == 0 && !hold && !lock_held(fd))
		r = -ESTALE;
	if (r == 0 && hold)
		r = hold_file(dir, name, &st, LOCK_SHARED, hold);
	if (r < 0) {
		sys_close(fd);
		return r;
	}
	p = map_guarded(fd, place, map_size ? map_size : (size_t)st.size);
	TEST_POINT("file_mapped");
	sys_close(fd);
	if (!p) {
		if (hold)
			lock_release(hold);
		return -ENOMEM;
	}
	mapped->map = p;
	mapped->size = st.size;
	mapped->inode = st.inode;
	return 0;
}

int file_map(int dir, const struct place *place, const char *name, size_t at_least, size_t map_size,
             struct file_mapped *mapped, struct hold *hold)
{
	/*
	 * While somebody removes it, it cannot be held; in a moment it is not there. Who removes may have lost its
	 * processor, to this thread if that has a real-time priority, so yielding is not enough.
	 */
	for (int try = 0;; try++) {
		int r = map_once(dir, place, name, at_least, map_size, mapped, hold);

		if (r != -EAGAIN || try == YIELDS + SLEEPS)
			return r;
		if (try < YIELDS)
			sys_yield();
		else
			sys_sleep_ns(SLEEP_NS);
	}
}

int file_hold(int dir, const char *name, uint64_t inode, struct hold *hold)
{
	struct sys_stat st = { .inode = inode };

	return hold_file(dir, name, &st, LOCK_SHARED, hold);
}

bool file_held(int dir, const char *name)
{
	int fd = open_file(dir, name, 0);
	bool held;

	if (fd < 0)
		return fd != -ENOENT;
	held = lock_held(fd);
	sys_close(fd);
	return held;
}

int file_map_open(int fd, const struct place *place, size_t at_least, struct file_mapped *mapped)
{
	struct sys_stat st;
	int r = sys_stat(fd, &st);

	if (r < 0)
		return r;
	if (st.size < at_least)
		return -EINVAL;
	mapped->map = map_guarded(fd, place, (size_t)st.size);
	mapped->size = st.size;
	mapped->inode = st.inode;
	return mapped->map ? 0 : -ENOMEM;
}

bool file_removing(int dir, const char *name)
{
	int fd = open_file(dir, name, 0);
	bool removing;

	if (fd < 0)
		return false;
	removing = lock_removing(fd);
	sys_close(fd);
	return removing;
}

bool file_remove_unused(int dir, const struct place *place, const char *name, bool (*bury)(int, void *), void *arg)
{
	int fd = open_file(dir, name, 0);
	struct sys_stat st;
	bool unused;

	if (fd < 0)
		return false;
	/* With the lock nobody else removes it; before that somebody may have, and the name be another file's now. */
	unused = sys_stat(fd, &st) == 0 && private_file(&st, place->owner) && lock_take(fd, LOCK_REMOVE) == 0 &&
	         sys_stat(fd, &st) == 0 && st.links == 1;
	if (unused) {
		TEST_POINT("remove_locked");
		bool gone = !bury || bury(fd, arg);

		TEST_POINT("remove_buried");
		if (gone)
			sys_unlink(dir, name);
		TEST_POINT("remove_unlinked");
	}
	sys_close(fd);
	return unused;
}

void file_unlink(const struct place *place, const char *name)
{
	char path[FILE_PLACE_SIZE + FILE_NAME_SIZE];
	struct text t = text_into(path, sizeof path);

	text_add(&t, place->path);
	text_add(&t, "/");
	text_add(&t, name);
	sys_unlink(AT_FDCWD, path);
}

uint64_t file_size(int dir, const char *name, uint64_t inode)
{
	int fd = open_file(dir, name, 0);
	struct sys_stat st = { .inode = 0 };

	if (fd < 0)
		return 0;
	if (sys_stat(fd, &st) < 0)
		st.inode = 0;
	sys_close(fd);
	return st.inode == inode ? st.size : 0;
}

int file_grow(int dir, const char *name, uint64_t inode, uint64_t size)
{
	int fd = open_file(dir, name, 0), r;
	struct sys_stat st;

	if (fd < 0)
		return fd;
	r = sys_stat(fd, &st);
	if (r == 0)
		r = st.inode == inode ? reserve(fd, size) : -ESTALE;
	sys_close(fd);
	return r;
}
