/*
 * file.c - files in a user's directory of shared memory
 *
 * SPDX-License-Identifier: MIT
 */
#include "host/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/text.h"

#define SHM "/dev/shm"

/*
 * How long to wait for a file that is being removed: some 50 us, then a second, or a twentieth of a second if the
 * lock is another user's.
 */
#define YIELDS         50
#define SLEEPS         10000
#define SLEEPS_GUARDED 500
#define SLEEP_NS       100000

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
	file_name(name, kind, id, id.pidns);
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
	id->pidns = *number = (uint32_t)text_number(dash + 1);
	file_name(again, kind, *id, *number);
	return strcmp(name, again) == 0;
}

/* -- Directories --------------------------------------------------------------- */

static void shm_dir_path(struct shm_dir *p, const char *root, uint32_t number, uint32_t uid)
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

struct shm_dir shm_dir_own(void)
{
	struct shm_dir p = { .owner = sys_geteuid(), .group = sys_getegid() };

	shm_dir_path(&p, "", 0, proc_user_outside(p.owner));
	return p;
}

/* If only owners have access to files, any group without members will do. */
#define NO_GROUP 65534

struct shm_dir shm_dir_other(const struct shm_dir *shm_dir, uint32_t owner, uint32_t outside)
{
	struct shm_dir p = { .owner = owner, .group = NO_GROUP, .guarded = true };
	const char *number = strrchr(shm_dir->path, '-');
	struct text t = text_into(p.path, sizeof p.path);

	text_add(&t, shm_dir->path);
	t.at = p.path + (number + 1 - shm_dir->path);
	text_add_number(&t, outside);
	return p;
}

/*
 * Opens the directory that contains path, and sets *last to the last part of path. Another process's root is entered
 * step by step, because a link inside would lead out of it.
 */
static int open_parent(const char *path, const char **last)
{
	static const char root[] = "/root/";
	const char *inside = strstr(path, root), *slash;
	char part[SHM_DIR_SIZE];
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

/*
 * Returns 1 if the directory above shm_dir is this process's own /dev/shm, 0 if not, negative if it cannot be told
 * now.
 */
static int same_shm(const struct shm_dir *shm_dir)
{
	struct sys_stat theirs, ours;
	const char *name;
	int fd = open_parent(shm_dir->path, &name), r;

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

struct shm_dir shm_dir_of(const struct proc *proc)
{
	struct shm_dir p = {
		.owner = proc->uid,
		.group = proc->gid,
		.guarded = proc->uid != sys_geteuid() || proc_contained(proc->number),
	};
	/* The user id that the process itself puts into the name. */
	int users = proc_other_users(proc->number), same;
	uint32_t uid = users ? proc->uid : proc_user_outside(proc->uid);

	shm_dir_path(&p, "/root", proc->number, uid);
	/*
	 * If /dev/shm is ours too, use our own path, which stays valid after the process has ended. A process that
	 * has ended has no /dev/shm of its own.
	 */
	same = same_shm(&p);
	if (same > 0 || proc->ended || proc_gone(proc->number))
		shm_dir_path(&p, "", 0, uid);
	else
		p.error = same;
	if (users < 0)
		p.error = users;
	return p;
}

/* All of the owner's rights, and none for others. A umask can take some away, whatever mode is requested. */
#define DIRECTORY_MODE 0700
#define FILE_MODE      0600

/*
 * Restores the owner's rights on a directory that cannot even be opened: it was just made by a process with a umask
 * like 0777, or by one killed before it had set the mode. Works on a descriptor, so that the mode of a directory that
 * gets the name meanwhile stays unchanged.
 */
static int mend_directory(int parent, const char *name, const struct shm_dir *shm_dir)
{
	struct sys_stat st;
	int fd = sys_open(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0), r;

	if (fd < 0)
		return fd;
	r = sys_stat(fd, &st);
	if (r == 0)
		r = st.uid == shm_dir->owner && !(st.mode & 077) ?
			    sys_set_mode_path(sys_fd_path(fd).text, DIRECTORY_MODE) : -EACCES;
	sys_close(fd);
	return r;
}

static int open_directory(int parent, const char *name, const struct shm_dir *shm_dir, bool create)
{
	struct sys_stat st;
	int fd, r;

	for (int try = 0;; try++) {
		fd = sys_open(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
		if (fd == -EACCES && create && try < 2 && mend_directory(parent, name, shm_dir) == 0)
			continue;
		if (fd != -ENOENT || !create || try == 2)
			break;
		r = sys_mkdir(parent, name, DIRECTORY_MODE);
		if (r < 0 && r != -EEXIST) {
			fd = r;
			break;
		}
		TEST_POINT("directory_made");
	}
	if (fd == -ELOOP || fd == -ENOTDIR)
		return -EACCES; /* the name is a link or a file */
	if (fd < 0)
		return fd;
	r = sys_stat(fd, &st);
	if (r == 0 && (!S_ISDIR(st.mode) || st.uid != shm_dir->owner || (st.mode & 077)))
		r = -EACCES;
	if (r == 0 && create && (st.mode & DIRECTORY_MODE) != DIRECTORY_MODE)
		r = sys_set_mode(fd, DIRECTORY_MODE);
	if (r < 0) {
		sys_close(fd);
		return r;
	}
	return fd;
}

/* Gets the owner of a name, and whether it is a directory. Follows no link. */
static int owner_of(int parent, const char *name, uint32_t *owner, bool *directory)
{
	struct sys_stat st;
	int fd = sys_open(parent, name, O_PATH | O_NOFOLLOW, 0), r;

	if (fd < 0)
		return fd;
	r = sys_stat(fd, &st);
	*owner = st.uid;
	*directory = S_ISDIR(st.mode);
	sys_close(fd);
	return r;
}

/*
 * Gives root's directory its name if another user's file, link or directory has that name. Anybody may make one, once,
 * while there is none, and would keep root from tracing. It is not changed and gets a name that says what it is. The
 * two names are exchanged in one step, so that the other user cannot take the name again in between.
 *
 * No other user has the right to do this in a sticky directory. Root does not do it in another process's root.
 */
static bool displace(int parent, const char *name, const struct shm_dir *shm_dir)
{
	char other[FILE_NAME_SIZE];
	struct text t = text_into(other, sizeof other);
	uint32_t owner;
	uint64_t random;
	bool directory, done;

	if (shm_dir->owner != 0 || sys_geteuid() != 0 || shm_dir->guarded ||
	    owner_of(parent, name, &owner, &directory) < 0 || owner == 0)
		return false;
	sys_random(&random, sizeof random);
	text_add(&t, "foreign-");
	text_add(&t, name);
	text_add(&t, "-");
	text_add_number(&t, random);
	if (sys_mkdir(parent, other, DIRECTORY_MODE) < 0)
		return false;
	done = sys_exchange(parent, other, name) == 0;
	/* Another process of root may have been faster: then this is its directory, and goes back. */
	if (done && owner_of(parent, other, &owner, &directory) == 0 && owner == 0 && directory)
		done = sys_exchange(parent, other, name) == 0;
	/* Empty: the directory that was made here. A directory of another user stays, even an empty one. */
	if (owner_of(parent, other, &owner, &directory) == 0 && owner == 0)
		sys_remove_directory(parent, other);
	return done;
}

int file_directory(const struct shm_dir *shm_dir, bool create)
{
	const char *name;
	int parent = open_parent(shm_dir->path, &name), fd;

	if (parent < 0)
		return parent == -ELOOP || parent == -ENOTDIR ? -EACCES : parent;
	fd = open_directory(parent, name, shm_dir, create);
	if (fd == -EACCES && create && displace(parent, name, shm_dir))
		fd = open_directory(parent, name, shm_dir, create);
	sys_close(parent);
	return fd;
}

bool file_possible(void)
{
	int fd = sys_open(AT_FDCWD, SHM, O_PATH | O_DIRECTORY, 0);

	if (fd >= 0)
		sys_close(fd);
	return fd >= 0;
}

struct shm_dir shm_dir_beside(const struct shm_dir *shm_dir, uint32_t outside)
{
	struct shm_dir p = shm_dir_other(shm_dir, 0, outside);
	const char *name;
	bool directory;
	int parent = open_parent(p.path, &name);

	p.error = parent;
	if (parent >= 0) {
		p.error = owner_of(parent, name, &p.owner, &directory);
		sys_close(parent);
	}
	return p;
}

/* The kernel's format. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

int file_each(int dir, bool (*f)(int, const char *, void *), void *arg)
{
	/* Small, because a trace point in a handler may get here on a small stack. */
	_Alignas(struct entry) unsigned char buf[1024];
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

/* What one entry adds to the size of a directory in a tmpfs; other file systems take more. */
#define ENTRY_SIZE 20

uint64_t file_count(int dir)
{
	struct sys_stat st;

	return sys_stat(dir, &st) < 0 ? UINT64_MAX : st.size / ENTRY_SIZE;
}

/* -- Files ----------------------------------------------------------------------- */

/* A full tmpfs gives ENOSPC, a limit EFBIG or EDQUOT. To our caller all of them mean a lack of memory. */
static int as_memory(int r)
{
	return r == -ENOSPC || r == -EFBIG || r == -EDQUOT || r == -EINVAL ? -ENOMEM : r;
}

/* On a tmpfs of many Linux versions a signal aborts and undoes the reservation. Then try again with signals blocked. */
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

/* Opens a file without waiting, even if a queue has been put there. */
static int open_with(int dir, const char *name, int flags)
{
	int fd = sys_open(dir, name, O_NOFOLLOW | O_NONBLOCK | flags, FILE_MODE);

	/* A link, a queue, a directory, or a device. */
	return fd == -ELOOP || fd == -ENXIO || fd == -EISDIR || fd == -ENODEV ? -EACCES : fd;
}

static int open_file(int dir, const char *name, int flags)
{
	return open_with(dir, name, O_RDWR | flags);
}

/*
 * Locks a file through a second open file, because forked children inherit the mapping of the first. Returns -EAGAIN
 * if the name belongs to another file now.
 */
static int hold_file(int dir, const char *name, const struct sys_stat *st, enum lock_kind lock, struct hold *hold)
{
	/* The hold is a mapping. If children inherit it, they must not be able to make it writable (H20). */
	int fd = open_with(dir, name, lock == LOCK_SHARED ? O_RDONLY : O_RDWR), r;
	struct sys_stat again;

	if (fd < 0)
		return fd == -ENOENT ? -EAGAIN : fd;
	TEST_POINT("hold_opened");
	r = lock_acquire(fd, lock);
	TEST_POINT("hold_locked");
	/* A file is removed only under the lock. So a file that is locked and still has a name stays. */
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

/* The kind in the name of an unfinished file. */
#define HIDDEN "new"

/*
 * Creates a file under the name of an unfinished file, and locks it. Returns its descriptor or a negative error
 * number.
 */
static int create_hidden(int dir, char hidden[FILE_NAME_SIZE], enum lock_kind lock, struct hold *hold)
{
	static uint32_t counter;
	struct sys_stat st;

	/*
	 * Each thread, and each handler that gets here at the same time, uses its own name. Try again if the file is
	 * cleared away before it is locked.
	 */
	for (int try = 0; try < 100; try++) {
		struct ident self = { (uint32_t)sys_getpid(), (uint32_t)sys_gettid(), 0 };
		int fd, r;

		file_name(hidden, HIDDEN, self, fetch_add(&counter, 1) + 1);
		fd = open_file(dir, hidden, O_CREAT | O_EXCL);
		if (fd == -EEXIST)
			continue;
		if (fd < 0)
			return fd;
		TEST_POINT("file_new");
		r = sys_stat(fd, &st);
		/* hold_file() opens the file again by its name. */
		if (r == 0 && (st.mode & FILE_MODE) != FILE_MODE)
			r = sys_set_mode(fd, FILE_MODE);
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

/* Maps a file, and registers the guard before any other process can find the file. */
static void *map_guarded(int fd, const struct shm_dir *shm_dir, size_t size)
{
	void *p = sys_map(size, fd, 1);

	if (p && shm_dir->guarded && guard_add(p, size) < 0) {
		sys_unmap(p, size);
		p = NULL;
	}
	return p;
}

int file_create(int dir, const struct shm_dir *shm_dir, const struct file_new *file, void **map, struct hold *hold)
{
	char hidden[FILE_NAME_SIZE];
	void *p;
	int r, fd = create_hidden(dir, hidden, file->lock, hold);

	if (fd < 0)
		return as_memory(fd);
	r = reserve(fd, file->size);
	TEST_POINT("file_reserved");
	p = r < 0 ? NULL : map_guarded(fd, shm_dir, file->size);
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

/* Returns whether only the owner can have written to the file. */
static bool private_file(const struct sys_stat *st, uint32_t owner)
{
	return S_ISREG(st->mode) && st->uid == owner && !(st->mode & 077);
}

static int map_once(int dir, const struct shm_dir *shm_dir, const char *name, size_t at_least, size_t map_size,
                    struct file_mapped *mapped, struct hold *hold)
{
	int fd = open_file(dir, name, 0), r;
	struct sys_stat st;
	void *p;

	/* The file's owner holds a lease on it, so the file is not in use by this library. */
	if (fd == -EAGAIN && shm_dir->guarded)
		return -EACCES;
	if (fd < 0)
		return fd;
	r = sys_stat(fd, &st);
	if (r == 0 && !private_file(&st, shm_dir->owner))
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
	p = map_guarded(fd, shm_dir, map_size ? map_size : (size_t)st.size);
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

int file_map(int dir, const struct shm_dir *shm_dir, const char *name, size_t at_least, size_t map_size,
             struct file_mapped *mapped, struct hold *hold)
{
	/*
	 * A file that is being removed cannot be held, and will be gone in a moment. The remover may have lost its
	 * processor, even to this thread if this one has a real-time priority, so yielding is not enough.
	 */
	for (int try = 0;; try++) {
		int r = map_once(dir, shm_dir, name, at_least, map_size, mapped, hold);

		if (r != -EAGAIN)
			return r;
		if (try >= YIELDS + (shm_dir->guarded ? SLEEPS_GUARDED : SLEEPS))
			return shm_dir->guarded ? -EACCES : r; /* locked on purpose, to keep others out */
		if (try < YIELDS)
			sys_yield();
		else
			sys_sleep_ns(SLEEP_NS);
	}
}

int file_open_reading(int dir, const struct shm_dir *shm_dir, const char *name)
{
	int fd = sys_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0), r;
	struct sys_stat st;

	if (fd < 0)
		return fd;
	r = sys_stat(fd, &st);
	if (r == 0 && !private_file(&st, shm_dir->owner))
		r = -EACCES;
	if (r == 0)
		return fd;
	sys_close(fd);
	return r;
}

int file_map_reading(int dir, const struct shm_dir *shm_dir, const char *name, uint64_t inode, size_t size,
                     void **map)
{
	int fd = sys_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0), r;
	struct sys_stat st;

	if (fd < 0)
		return fd;
	r = sys_stat(fd, &st);
	if (r == 0 && (!private_file(&st, shm_dir->owner) || (!inode && st.size < size)))
		r = -EACCES;
	if (r == 0 && inode && st.inode != inode)
		r = -ESTALE;
	*map = r < 0 ? NULL : sys_map(size, fd, 0);
	sys_close(fd);
	return *map ? 0 : r < 0 ? r : -ENOMEM;
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

int file_map_open(int fd, const struct shm_dir *shm_dir, size_t at_least, struct file_mapped *mapped)
{
	struct sys_stat st;
	int r = sys_stat(fd, &st);

	if (r < 0)
		return r;
	if (st.size < at_least)
		return -EINVAL;
	mapped->map = map_guarded(fd, shm_dir, (size_t)st.size);
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

/*
 * Removes a file that its owner cannot open: its creator, with a umask like 0777, was killed before setting the mode.
 * A creator that is still alive makes another file. Returns whether the file was removed.
 */
static bool remove_closed(int dir, const struct shm_dir *shm_dir, const char *name)
{
	struct sys_stat st;
	bool closed;
	int fd;

	if (strncmp(name, HIDDEN "-", strlen(HIDDEN "-")) != 0)
		return false;
	fd = sys_open(dir, name, O_PATH | O_NOFOLLOW, 0);
	if (fd < 0)
		return false;
	closed = sys_stat(fd, &st) == 0 && private_file(&st, shm_dir->owner) && (st.mode & FILE_MODE) != FILE_MODE;
	sys_close(fd);
	return closed && sys_unlink(dir, name) == 0;
}

bool file_remove_unused(int dir, const struct shm_dir *shm_dir, const char *name, bool (*reap)(int, void *),
                        void *arg)
{
	int fd = open_file(dir, name, 0);
	struct sys_stat st;
	bool unused;

	if (fd == -EACCES)
		return remove_closed(dir, shm_dir, name);
	if (fd < 0)
		return false;
	/*
	 * With the lock no other process removes the file. It may have been removed before that, so check the link
	 * count.
	 */
	unused = sys_stat(fd, &st) == 0 && private_file(&st, shm_dir->owner) && lock_acquire(fd, LOCK_REMOVE) == 0 &&
	         sys_stat(fd, &st) == 0 && st.links == 1;
	if (unused) {
		TEST_POINT("remove_locked");
		bool gone = !reap || reap(fd, arg);

		TEST_POINT("remove_reaped");
		if (gone)
			sys_unlink(dir, name);
		TEST_POINT("remove_unlinked");
	}
	sys_close(fd);
	return unused;
}

void file_unlink(const struct shm_dir *shm_dir, const char *name)
{
	char path[SHM_DIR_SIZE + FILE_NAME_SIZE];
	struct text t = text_into(path, sizeof path);

	text_add(&t, shm_dir->path);
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
