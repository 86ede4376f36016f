/*
 * ident.c - identity and life of processes and threads
 *
 * SPDX-License-Identifier: MIT
 */
#include "host/ident.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/lines.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/ticks.h"

#define NS_PER_TICK 10000000 /* in /proc, on all machines */

/* The caller's number may differ from its process id, because /proc may belong to another namespace. */
struct proc_path proc_path(uint32_t number, const char *what)
{
	struct proc_path path;
	struct text t = text_into(path.text, sizeof path.text);

	text_add(&t, "/proc/");
	if (number)
		text_add_number(&t, number);
	else
		text_add(&t, "self");
	text_add(&t, what);
	return path;
}

/* Reads the beginning of a file as a string. */
static int read_file(uint32_t number, const char *what, char *buf, size_t size)
{
	struct proc_path path = proc_path(number, what);
	int fd = sys_open(AT_FDCWD, path.text, O_RDONLY, 0);
	long n;

	if (fd < 0)
		return fd;
	n = sys_read(fd, buf, size - 1);
	sys_close(fd);
	if (n < 0)
		return (int)n;
	buf[n] = 0;
	return n == 0 ? -ESRCH : 0;
}

/*
 * Reads a process's stat file. For the caller it is that of the first thread, which has the same start time:
 * emulators fake /proc/self/stat, while other processes see the kernel's numbers. The path has the caller's number in
 * this /proc, which may be that of another namespace.
 */
static int read_stat_file(uint32_t number, char *buf, size_t size)
{
	char first[32], self[16];
	struct text t = text_into(first, sizeof first);
	int r;

	if (number && number != (uint32_t)sys_getpid())
		return read_file(number, "/stat", buf, size);
	if (!number && sys_read_link("/proc/self", self, sizeof self) > 0)
		number = (uint32_t)text_number(self);
	text_add(&t, "/task/");
	text_add_number(&t, number);
	text_add(&t, "/stat");
	r = read_file(number, first, buf, size);
	return r < 0 ? read_file(number, "/stat", buf, size) : r;
}

/* Gets state letter, parent and start time. */
static int read_stat(uint32_t number, char *state, uint32_t *parent, uint64_t *start)
{
	char buf[768], *p; /* the first 22 fields at their longest */
	int r = read_stat_file(number, buf, sizeof buf);

	if (r < 0)
		return r;
	/* The command name, in parentheses, may contain anything. State is field 3, parent 4, start time 22. */
	p = strrchr(buf, ')');
	if (!p || p[1] != ' ')
		return -EINVAL;
	p += 2;
	*state = *p;
	for (int field = 3; field < 22; field++) {
		p = strchr(p, ' ');
		if (!p)
			return -EINVAL;
		p++;
		if (field == 3)
			*parent = (uint32_t)text_number(p);
	}
	*start = text_number(p);
	return 0;
}

/* Returns a namespace's inode number; 0 if /proc does not show it, and the reason in *error. */
static uint32_t namespace(uint32_t number, const char *which, int *error)
{
	struct proc_path path = proc_path(number, which);
	struct sys_stat st;

	*error = sys_stat_path(path.text, &st);
	return *error == 0 ? (uint32_t)st.inode : 0;
}

/* Returns whether there is no /proc, or no access to it. Any other error may go away. */
static bool no_proc(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -EACCES || error == -EPERM || error == -ESRCH;
}

int ident_self(struct ident *id)
{
	uint32_t parent;
	char state;
	int r;

	*id = (struct ident){ (uint32_t)sys_getpid(), 0, 0 };
	id->pidns = namespace(0, "/ns/pid", &r);
	if (r < 0)
		return no_proc(r) ? 0 : r;
	r = read_stat(0, &state, &parent, &id->start);
	if (r == 0)
		return 0;
	*id = (struct ident){ id->pid, 0, 0 };
	return no_proc(r) ? 0 : r;
}

uint64_t ident_image(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t image = 0;

	if (random)
		memcpy(&image, random, sizeof image);
	return image | 1;
}

/*
 * Parses the numbers from p to the end of the line and returns how many were stored, at most max. If there are more,
 * the last one is stored last.
 */
static unsigned numbers(const char *p, uint32_t *value, unsigned max)
{
	unsigned count = 0;

	for (;;) {
		while (*p == ' ' || *p == '\t')
			p++;
		if (*p < '0' || *p > '9')
			return count;
		if (count < max)
			count++;
		value[count - 1] = (uint32_t)text_number(p);
		while (*p >= '0' && *p <= '9')
			p++;
	}
}

/* Parses the numbers of the line that begins with name. */
static unsigned status_numbers(const char *status, const char *name, uint32_t *value, unsigned max)
{
	const char *p = strstr(status, name);

	return p ? numbers(p + strlen(name), value, max) : 0;
}

int proc_read(uint32_t number, struct proc *proc)
{
	char status[4096], state;
	uint32_t group, uid[4], gid[4];
	int r;

	memset(proc, 0, sizeof *proc);
	r = read_stat(number, &state, &proc->parent, &proc->ident.start);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	r = read_file(number, "/status", status, sizeof status);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	/* The command's name is on the first line, with its line ends made harmless by the kernel. */
	if (status_numbers(status, "\nTgid:", &group, 1) != 1 || status_numbers(status, "\nUid:", uid, 4) != 4 ||
	    status_numbers(status, "\nGid:", gid, 4) != 4)
		return -EINVAL;
	if (number && group != number)
		return -ESRCH;
	proc->number = group;
	proc->uid = uid[1]; /* real, effective, ... */
	proc->gid = gid[1];
	/* A number for each of its pid namespaces, the innermost last. */
	if (status_numbers(status, "\nNSpid:", &proc->ident.pid, 1) != 1) /* Linux before 4.1 */
		proc->ident.pid = group;
	proc->ident.pidns = namespace(number, "/ns/pid", &r);
	if (r < 0 && !no_proc(r))
		return r; /* under another number the process would not be found */
	proc->ended = state == 'Z' || state == 'X';
	return 0;
}

int proc_parent(uint32_t number, uint32_t *parent, uint64_t *start)
{
	char state;

	return read_stat(number, &state, parent, start);
}

uint32_t proc_number(void)
{
	char buf[32];

	return read_file(0, "/stat", buf, sizeof buf) < 0 ? 0 : (uint32_t)text_number(buf);
}

int proc_memory(uint32_t number)
{
	return sys_open(AT_FDCWD, proc_path(number, "/mem").text, O_RDWR, 0);
}

int proc_each_map(uint32_t number, void (*f)(const char *, void *), void *arg)
{
	return lines_each(proc_path(number, "/maps").text, 0, f, arg);
}

int proc_permit(uint32_t number)
{
	int r;

	/* The kernel checks the permission first, and then finds that an ended process has no namespace. */
	namespace(number, "/ns/pid", &r);
	if (r == -EACCES)
		return -EPERM;
	return r == -ENOENT ? 0 : r;
}

/* Returns 1 if the process is in another namespace than the caller, 0 if not, negative if it cannot be told now. */
static int other_pidns(uint32_t number, const char *which)
{
	int error;
	uint32_t theirs = namespace(number, which, &error), ours;

	if (error < 0)
		return no_proc(error) ? 0 : error;
	ours = namespace(0, which, &error);
	if (error < 0 && !no_proc(error))
		return error;
	return theirs != ours;
}

/* An error counts as contained, which is a harmless precaution. */
bool proc_contained(uint32_t number)
{
	return other_pidns(number, "/ns/user") || other_pidns(number, "/ns/pid") || other_pidns(number, "/ns/mnt");
}

int proc_other_users(uint32_t number)
{
	return other_pidns(number, "/ns/user");
}

bool proc_gone(uint32_t number)
{
	struct sys_stat st;

	return sys_stat_path(proc_path(number, "/root").text, &st) == -ENOENT;
}

bool proc_blind(uint32_t number)
{
	struct proc_path path = proc_path(number, "/root");
	int root = sys_open(AT_FDCWD, path.text, O_PATH | O_DIRECTORY, 0), proc, self;

	if (root < 0)
		return false;
	/* Step by step, because a link inside would lead out of the root. */
	proc = sys_open(root, "proc", O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	sys_close(root);
	if (proc < 0)
		return proc == -ENOENT || proc == -ENOTDIR;
	self = sys_open(proc, "self", O_PATH | O_NOFOLLOW, 0);
	sys_close(proc);
	if (self >= 0)
		sys_close(self);
	return self == -ENOENT;
}

uint32_t proc_user_outside(uint32_t uid)
{
	char map[1024];
	const char *p = map;
	uint32_t range[3]; /* first inside, first outside, count */

	if (read_file(0, "/uid_map", map, sizeof map) < 0)
		return uid;
	while (numbers(p, range, 3) == 3) {
		if (uid - range[0] < range[2])
			return uid - range[0] + range[1];
		p = strchr(p, '\n');
		if (!p)
			break;
		p++;
	}
	return uid;
}

uint64_t ident_ticks(void)
{
	return (uint64_t)clock_ns(CLOCK_BOOTTIME) / NS_PER_TICK;
}

void ident_next_tick(void)
{
	int64_t next = (int64_t)(ident_ticks() + 1) * NS_PER_TICK, left;

	while ((left = next - clock_ns(CLOCK_BOOTTIME)) > 0)
		sys_sleep_ns((long)left);
}

bool thread_alive(uint32_t tid)
{
	return sys_thread_probe(0, (int)tid) != -ESRCH;
}

bool thread_lives(uint32_t tid)
{
	uint32_t parent;
	uint64_t start;
	char state;

	return thread_alive(tid) && (read_stat(tid, &state, &parent, &start) < 0 || (state != 'Z' && state != 'X'));
}

bool thread_stopped(uint32_t tid)
{
	uint32_t parent;
	uint64_t start;
	char state;

	return read_stat(tid, &state, &parent, &start) == 0 && (state == 'T' || state == 't');
}
