/*
 * containers.c - traces a process that has its own process ids, users, /dev/shm or root
 *
 * Each test makes an environment with unshare() and chroot(); an environment that the machine does not permit is
 * skipped. The controller is outside, with a private /dev/shm, so that it can see what appears there.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "other.h"

#define NOBODY 65534u
#define BOX    "/dev/shm/box"
#define MANY   200

/* Leak checks at exit need /proc, which some of the containers lack. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* -- Boxes --------------------------------------------------------------- */

enum root { ROOT_SAME, ROOT_CHROOT, ROOT_PIVOT };

struct box {
	bool user;      /* own user ids; user 0 inside is `uid` outside */
	unsigned uid;   /* without `user`: the user that the process becomes */
	bool pid;       /* own process ids */
	bool shm;       /* own /dev/shm; always with another root */
	enum root root;
	bool no_proc;   /* another root without /proc */
	void (*arrange)(void); /* called before the process is shut in; BOX is its root, if it has its own */
};

static void write_map(pid_t pid, const char *file, unsigned inside, unsigned outside)
{
	char path[64], map[64];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	snprintf(map, sizeof map, "%u %u 1000", inside, outside);
	if (outside == NOBODY)
		snprintf(map, sizeof map, "%u %u 1", inside, outside);
	shm_write(path, map);
}

/* Writes the user map, in the test process: a process cannot map its own new user namespace. */
static void box_map(pid_t keeper, int s, const void *arg)
{
	const struct box *box = arg;
	char c;

	if (!box->user)
		return;
	if (recv(s, &c, 1, 0) != 1)
		return; /* the keeper has skipped the test */
	write_map(keeper, "uid_map", 0, box->uid);
	write_map(keeper, "gid_map", 0, box->uid);
	MUST(send(s, &c, 1, MSG_NOSIGNAL) == 1);
}

static void box_user(int s, unsigned owner)
{
	char c = 0;

	/* The user outside owns the namespace, as if that user had made it. */
	if (owner && (setresgid(owner, owner, owner) < 0 || setresuid(owner, owner, owner) < 0))
		_exit(99);
	if (unshare(CLONE_NEWUSER) < 0)
		SKIP("no user namespaces here");
	if (send(s, &c, 1, MSG_NOSIGNAL) != 1 || recv(s, &c, 1, 0) != 1)
		_exit(99);
	MUST(setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0) == 0);
	/* Otherwise the process cannot read its own /proc. */
	MUST(prctl(PR_SET_DUMPABLE, 1) == 0);
}

static void box_mount(const char *what, const char *where, const char *options)
{
	if (mount(what, where, what, MS_NOSUID | MS_NODEV, options) < 0)
		SKIP("what a container has cannot be mounted here");
}

/* Prepares the box in the keeper, except for what the first process of a pid namespace must do. */
static void box_prepare(int s, const void *arg)
{
	const struct box *box = arg;

	if (box->user)
		box_user(s, box->uid);
	if (unshare(CLONE_NEWNS | (box->pid ? CLONE_NEWPID : 0)) < 0)
		SKIP("no namespaces for this user here");
	if (!shm_seclude())
		SKIP("mounts cannot be made private here");
	if (box->root == ROOT_SAME) {
		if (box->shm)
			box_mount("tmpfs", "/dev/shm", "mode=1777");
		if (box->arrange)
			box->arrange();
		return;
	}
	box_mount("tmpfs", BOX, "mode=755");
	MUST(mkdir(BOX "/proc", 0755) == 0 && mkdir(BOX "/dev", 0755) == 0 && mkdir(BOX "/old", 0700) == 0);
	MUST(mkdir(BOX "/dev/shm", 0777) == 0 && chmod(BOX "/dev/shm", 01777) == 0);
	if (box->shm)
		box_mount("tmpfs", BOX "/dev/shm", "mode=1777");
	if (box->arrange)
		box->arrange();
}

/* Settles the process itself in the box. */
static void box_settle(const void *arg)
{
	const struct box *box = arg;
	const char *proc = box->root == ROOT_SAME ? "/proc" : BOX "/proc";

	if (!box->no_proc && (box->pid || box->root != ROOT_SAME))
		box_mount("proc", proc, NULL);
	if (box->root == ROOT_CHROOT) {
		MUST(chroot(BOX) == 0 && chdir("/") == 0);
	} else if (box->root == ROOT_PIVOT) {
		MUST(chdir(BOX) == 0);
		if (syscall(SYS_pivot_root, ".", "old") < 0)
			SKIP("no other root can be had here");
		MUST(chdir("/") == 0 && umount2("/old", MNT_DETACH) == 0);
	}
	if (!box->user && box->uid) {
		MUST(setresgid(box->uid, box->uid, box->uid) == 0 && setresuid(box->uid, box->uid, box->uid) == 0);
		MUST(prctl(PR_SET_DUMPABLE, 1) == 0);
	}
}

static struct other box_start(const struct box *box)
{
	return other_start_with(box_prepare, box_map, box_settle, box);
}

/* Prepares the test's own environment: root, and a private /dev/shm. */
static void outside(void)
{
	if (geteuid() != 0)
		SKIP("only root can make containers of all kinds");
	shm_mounted("");
	MUST(mkdir(BOX, 0755) == 0);
}

/* -- Tasks of the traced process ------------------------------------------- */

static long task_pid(const void *arg)
{
	return getpid();
}

static long task_open(const void *name)
{
	return fault_open(name);
}

struct events {
	trace_event_id_t id;
	int first, count;
	const char *name; /* if not null, it is opened again, which must give the id */
};

static long task_events(const void *arg)
{
	const struct events *e = arg;

	if (e->name)
		CHECK_EQ("ID-10", fault_open(e->name), e->id);
	for (int i = e->first; i < e->first + e->count; i++)
		posix_trace_event(e->id, &i, sizeof i);
	return getpid();
}

/* Sends the events in a grandchild. Returns its process id. */
static long task_child_events(const void *arg)
{
	int status, fd[2];
	pid_t pid;

	MUST(pipe(fd) == 0 && (pid = fork()) >= 0);
	if (pid == 0) {
		pid_t grandchild = fork();
		long n;

		if (grandchild != 0) {
			MUST(waitpid(grandchild, &status, 0) == grandchild);
			_exit(WEXITSTATUS(status));
		}
		n = task_events(arg);
		_exit(write(fd[1], &n, sizeof n) != sizeof n || test_failures != 0);
	} else {
		long n = -1;

		MUST(read(fd[0], &n, sizeof n) == sizeof n);
		MUST(waitpid(pid, &status, 0) == pid);
		CHECK_EQ("-", status, 0);
		close(fd[0]);
		close(fd[1]);
		return n;
	}
}

/* Returns the number of our files in this user's directory, whose name has an unknown user id, or -1 without a
 * directory. */
static long task_files(const void *begin)
{
	DIR *d = opendir("/dev/shm");
	struct dirent *e;
	struct stat st;
	char path[300];
	int n = -1;

	MUST(d);
	while ((e = readdir(d))) {
		snprintf(path, sizeof path, "/dev/shm/%s", e->d_name);
		if (strncmp(e->d_name, "posixtrace-", 11) == 0 && stat(path, &st) == 0 && st.st_uid == geteuid()) {
			CHECK_EQ("-", n, -1); /* only one directory */
			n = shm_count(path, begin);
		}
	}
	closedir(d);
	return n;
}

static long task_works(const void *name)
{
	fault_works(fault_open(name));
	return 0;
}

static long __attribute__((noreturn)) task_for_ever(const void *arg)
{
	for (struct events e = *(const struct events *)arg;; e.first++)
		posix_trace_event(e.id, &e.first, sizeof e.first);
}

/* -- The controller's part --------------------------------------------------- */

static trace_id_t control(pid_t pid, int policy, int inheritance)
{
	trace_attr_t attr;
	trace_id_t trid = 0;
	int error;

	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, policy) == 0);
	MUST(posix_trace_attr_setinherited(&attr, inheritance) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, 65536) == 0);
	error = posix_trace_create(pid, &attr, &trid);
	if (error) {
		TEST_FAIL("-", "create: %s", strerror(error));
		exit(1);
	}
	return trid;
}

static trace_event_id_t open_outside(trace_id_t trid, const char *name)
{
	trace_event_id_t id = 0;

	CHECK_EQ("ID-10", posix_trace_trid_eventid_open(trid, name, &id), 0);
	return id;
}

/* Reads the next event of any type. Returns false if none has come in time. */
static bool next_event(trace_id_t trid, struct posix_trace_event_info *info, int *data, int seconds)
{
	struct timespec until;
	size_t length;
	int unavailable, error;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += seconds;
	*data = -1;
	error = posix_trace_timedgetnext_event(trid, info, data, sizeof *data, &length, &unavailable, &until);
	if (error && error != ETIMEDOUT)
		TEST_FAIL("-", "timedgetnext: %s", strerror(error));
	return !error && !unavailable;
}

/* Checks that the next events are first ... first + count - 1, all of this type and process. */
static void expect(trace_id_t trid, const struct events *e, pid_t pid)
{
	struct posix_trace_event_info info;
	int data;

	for (int i = e->first; i < e->first + e->count; i++) {
		if (!next_event(trid, &info, &data, 5 * test_slow())) {
			TEST_FAIL("-", "event %d has not come", i);
			return;
		}
		if (info.posix_event_id != e->id || data != i || info.posix_pid != pid) {
			TEST_FAIL("-", "type %u, data %d, process %d instead of %u, %d, %d", info.posix_event_id, data,
			          (int)info.posix_pid, e->id, i, (int)pid);
			return;
		}
		CHECK("-", info.posix_thread_id != 0 && info.posix_prog_address != NULL);
	}
}

static void expect_system(trace_id_t trid, trace_event_id_t id)
{
	struct posix_trace_event_info info;
	int data;

	if (!next_event(trid, &info, &data, 5 * test_slow()))
		TEST_FAIL("-", "event of type %u has not come", id);
	else if (info.posix_event_id != id || info.posix_pid != getpid())
		TEST_FAIL("-", "type %u of %d instead of %u", info.posix_event_id, (int)info.posix_pid, id);
}

static void expect_nothing(trace_id_t trid)
{
	struct posix_trace_event_info info;
	int data, unavailable;
	size_t length;

	CHECK_EQ("-", posix_trace_trygetnext_event(trid, &info, &data, sizeof data, &length, &unavailable), 0);
	if (!unavailable)
		TEST_FAIL("-", "type %u, data %d, of process %d", info.posix_event_id, data, (int)info.posix_pid);
}

/* Makes a typical session of a controller with a process in a box. `early`: before the process has made any call of the
 * library. */
static void session(const struct other *o, bool early)
{
	long inside = other_do(o, task_pid, NULL, 0);
	struct events a = { 0, 0, MANY, NULL }, b = { 0, 1000, MANY, NULL };
	struct posix_trace_status_info status;
	trace_event_set_t set;
	trace_id_t trid;

	if (!early) {
		b.id = (trace_event_id_t)other_do(o, task_open, "box.b", 6);
		other_do(o, task_events, &b, sizeof b);
	}
	trid = control(o->pid, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_CLOSE_FOR_CHILD);
	a.id = open_outside(trid, "box.a");
	if (early)
		b.id = (trace_event_id_t)other_do(o, task_open, "box.b", 6);
	CHECK_EQ("ID-10", other_do(o, task_open, "box.a", 6), a.id);
	CHECK_EQ("ID-10", open_outside(trid, "box.b"), b.id);
	CHECK("-", a.id != b.id && a.id > POSIX_TRACE_UNNAMED_USEREVENT && b.id > POSIX_TRACE_UNNAMED_USEREVENT);

	other_do(o, task_events, &a, sizeof a); /* not running yet */
	CHECK_EQ("-", posix_trace_start(trid), 0);
	other_do(o, task_events, &a, sizeof a);
	MUST(posix_trace_eventset_empty(&set) == 0 && posix_trace_eventset_add(a.id, &set) == 0);
	CHECK_EQ("-", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
	other_do(o, task_events, &a, sizeof a); /* filtered out */
	other_do(o, task_events, &b, sizeof b);
	CHECK_EQ("-", posix_trace_stop(trid), 0);
	other_do(o, task_events, &b, sizeof b); /* stopped */
	expect_system(trid, POSIX_TRACE_START);
	expect(trid, &a, (pid_t)inside);
	expect_system(trid, POSIX_TRACE_FILTER);
	expect(trid, &b, (pid_t)inside);
	expect_system(trid, POSIX_TRACE_STOP);
	expect_nothing(trid);

	CHECK_EQ("-", posix_trace_clear(trid), 0);
	CHECK_EQ("-", posix_trace_start(trid), 0);
	other_do(o, task_child_events, &a, sizeof a); /* a child that does not inherit */
	other_do(o, task_events, &a, sizeof a);
	expect_system(trid, POSIX_TRACE_START);
	expect(trid, &a, (pid_t)inside);
	expect_nothing(trid);
	CHECK_EQ("-", posix_trace_get_status(trid, &status), 0);
	CHECK_EQ("-", status.__posix_lost_events, 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	other_do(o, task_events, &a, sizeof a);
	CHECK_EQ("-", other_do(o, task_files, "stream-", 8), 0);
	CHECK_EQ("-", other_do(o, task_files, "new-", 5), 0);
}

static void inherited(const struct other *o)
{
	trace_id_t trid = control(o->pid, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_INHERITED);
	struct events a = { 0, 0, MANY, "box.child" };
	long parent, child;

	a.id = open_outside(trid, "box.child");
	CHECK_EQ("-", posix_trace_start(trid), 0);
	/* The child first: its parent may not have reached a trace point yet. */
	child = other_do(o, task_child_events, &a, sizeof a);
	parent = other_do(o, task_events, &a, sizeof a);
	CHECK("INH-5", child != parent);
	expect_system(trid, POSIX_TRACE_START);
	expect(trid, &a, (pid_t)child);
	expect(trid, &a, (pid_t)parent);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	CHECK_EQ("-", other_do(o, task_files, "stream-", 8), 0);
}

/* Checks that nothing has appeared outside of the box. */
static void nothing_outside(void)
{
	CHECK_EQ("-", shm_count("/dev/shm", ""), 1); /* BOX */
	CHECK_EQ("-", shm_count(BOX, ""), 0);
}

static void whole(const struct box *box, bool own_shm)
{
	for (int early = 0; early < 2; early++) {
		struct other o = box_start(box);

		session(&o, early);
		inherited(&o);
		other_do(&o, task_works, "box.itself", 11);
		session(&o, early);
		if (own_shm)
			nothing_outside();
		other_end(&o);
	}
}

TEST(pid_namespace)
{
	static const struct box box = { .pid = true };
	struct other o;

	outside();
	o = box_start(&box);
	CHECK_EQ("-", other_do(&o, task_pid, NULL, 0), 1);
	other_end(&o);
	whole(&box, false);
	/* Children have ended by _exit(): the next call removes what they left, even from another namespace. */
	fault_works(fault_open("box.outside"));
	CHECK_EQ("-", shm_count(shm_directory(), "page-"), 1);
	CHECK_EQ("-", shm_count(shm_directory(), "names-"), 1);
	CHECK_EQ("-", shm_count(shm_directory(), ""), 2);
}

TEST(pid_namespace_of_a_user)
{
	static const struct box box = { .pid = true, .uid = NOBODY };

	outside();
	whole(&box, false);
}

TEST(own_shm)
{
	static const struct box root = { .shm = true }, nobody = { .shm = true, .uid = NOBODY };

	outside();
	whole(&root, true);
	whole(&nobody, true);
}

TEST(own_root)
{
	static const struct box box[] = {
		{ .root = ROOT_CHROOT }, { .root = ROOT_PIVOT }, { .root = ROOT_CHROOT, .uid = NOBODY },
		{ .root = ROOT_PIVOT, .shm = true, .uid = NOBODY },
	};

	outside();
	for (unsigned i = 0; i < sizeof box / sizeof box[0]; i++)
		whole(&box[i], true);
}

TEST(user_namespace)
{
	static const struct box box = { .user = true, .uid = 100000 };

	outside();
	whole(&box, false);
	/* User 0 inside is not root: what it has made does not obstruct root. */
	fault_works(fault_open("box.outside"));
}

/* The tmpfs of the namespace knows its own users only; root outside is none of them. */
TEST(user_namespace_own_shm)
{
	static const struct box box[] = {
		{ .user = true, .uid = 100000, .shm = true }, { .user = true, .uid = NOBODY, .shm = true },
	};

	outside();
	for (unsigned i = 0; i < sizeof box / sizeof box[0]; i++)
		whole(&box[i], true);
}

/* Boxes with everything of their own, as real containers. */
TEST(everything)
{
	static const struct box box[] = {
		{ .pid = true, .shm = true, .root = ROOT_PIVOT },
		{ .pid = true, .shm = true, .root = ROOT_PIVOT, .uid = NOBODY },
		{ .pid = true, .shm = true, .root = ROOT_PIVOT, .user = true, .uid = 100000 },
		{ .pid = true, .root = ROOT_CHROOT, .user = true, .uid = NOBODY },
	};

	outside();
	for (unsigned i = 0; i < sizeof box / sizeof box[0]; i++)
		whole(&box[i], true);
}

/* Becomes nobody: that user's container is controlled by the same user. */
static void as_nobody(void)
{
	MUST(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
	MUST(prctl(PR_SET_DUMPABLE, 1) == 0);
}

TEST(rootless)
{
	static const struct box box = { .pid = true, .shm = true, .user = true, .uid = NOBODY };
	struct other o;

	outside();
	o = box_start(&box);
	as_nobody();
	session(&o, true);
	session(&o, false);
	inherited(&o);
	other_do(&o, task_works, "box.itself", 11);
	nothing_outside();
	other_end(&o);
}

/* Without /proc the process cannot identify itself. */
TEST(no_proc)
{
	static const struct box box = { .root = ROOT_CHROOT, .no_proc = true };
	struct events a = { 0, 0, MANY, "box.a" };
	trace_id_t trid;
	struct other o;

	outside();
	o = box_start(&box);
	other_do(&o, task_works, "box.itself", 11);
	trid = control(o.pid, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_CLOSE_FOR_CHILD);
	a.id = open_outside(trid, "box.a");
	CHECK_EQ("-", posix_trace_start(trid), 0);
	other_do(&o, task_events, &a, sizeof a);
	expect_system(trid, POSIX_TRACE_START);
	expect(trid, &a, o.pid);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	other_end(&o);
}


/* -- Deaths ------------------------------------------------------------------ */

/* The smallest and the largest box. */
static const struct box small = { .pid = true },
			large = { .pid = true, .shm = true, .root = ROOT_PIVOT, .uid = NOBODY };

static void *killer(void *o)
{
	usleep((unsigned)(rand() % 2000));
	kill(((struct other *)o)->pid, SIGKILL);
	return NULL;
}

/* Kills the process while it is recording and the controller is reading, or in another call. */
static void killed(const struct box *box, int rounds)
{
	int descriptors = shm_descriptors();

	for (int i = 0; i < rounds; i++) {
		struct other o = box_start(box);
		trace_id_t trid = control(o.pid, i % 2 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL,
		                          POSIX_TRACE_CLOSE_FOR_CHILD);
		struct events e = { 0, 0, 0, NULL };
		struct posix_trace_event_info info;
		int64_t begin = other_now();
		pthread_t thread;
		trace_event_set_t set;
		int data, unavailable = 0, last = -1, n = 0;
		size_t length;

		e.id = (trace_event_id_t)other_do(&o, task_open, "box.victim", 11);
		MUST(posix_trace_eventset_empty(&set) == 0);
		CHECK_EQ("-", posix_trace_start(trid), 0);
		other_tell(&o, task_for_ever, &e, sizeof e);
		MUST(pthread_create(&thread, NULL, killer, &o) == 0);
		while (i % 4 == 0 && kill(o.pid, 0) == 0 && n++ < 100000) {
			CHECK_EQ("-", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
			CHECK_EQ("-", posix_trace_stop(trid), 0);
			CHECK_EQ("-", posix_trace_start(trid), 0);
		}
		MUST(pthread_join(thread, NULL) == 0);
		CHECK_EQ("-", other_status(&o), 128 + SIGKILL);
		/* The events are in order; then the stream is empty. */
		for (n = 0; n < 10000000; n++) {
			MUST(posix_trace_trygetnext_event(trid, &info, &data, sizeof data, &length, &unavailable) == 0);
			if (unavailable)
				break;
			if (info.posix_event_id != e.id)
				continue;
			CHECK_OP("-", data, >, last);
			last = data;
		}
		CHECK("-", unavailable);
		CHECK("-", !next_event(trid, &info, &data, 0));
		CHECK_EQ("-", posix_trace_stop(trid), 0);
		CHECK_EQ("-", posix_trace_clear(trid), 0);
		CHECK_EQ("-", posix_trace_start(trid), 0);
		CHECK_EQ("-", posix_trace_shutdown(trid), 0);
		CHECK_OP("-", other_now() - begin, <, 10000000000LL * test_slow());
		if (test_failures)
			break;
	}
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

TEST(killed_small)
{
	outside();
	killed(&small, 28 / test_slow() + 4);
}

TEST(killed_large)
{
	outside();
	killed(&large, 28 / test_slow() + 4);
	nothing_outside();
}

/* Kills the controller, which is outside. */
static void controller_killed(const struct box *box)
{
	for (int i = 0; i < 4; i++) {
		struct other o = box_start(box);
		struct events e = { 0, 0, 20000, NULL };
		int status, fd[2];
		pid_t pid;
		char c;

		e.id = (trace_event_id_t)other_do(&o, task_open, "box.orphan", 11);
		MUST(pipe(fd) == 0);
		pid = fork();
		if (pid == 0) {
			trace_id_t trid = control(o.pid, i % 2 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL, i / 2);

			MUST(posix_trace_start(trid) == 0 && write(fd[1], "", 1) == 1);
			pause();
		}
		MUST(read(fd[0], &c, 1) == 1);
		other_do(&o, task_events, &e, sizeof e);
		CHECK_EQ("-", other_do(&o, task_files, "stream-", 8), 1);
		kill(pid, SIGKILL);
		MUST(waitpid(pid, &status, 0) == pid);
		other_do(&o, task_events, &e, sizeof e);
		if (i % 2 == 0) {
			/* A recording process notices it within a second. */
			usleep(1200000);
			other_do(&o, task_events, &e, sizeof e);
		} else {
			/* The next process that creates a stream in the box notices it. */
			other_do(&o, task_works, "box.itself", 11);
		}
		CHECK_EQ("-", other_do(&o, task_files, "stream-", 8), 0);
		CHECK_EQ("-", other_do(&o, task_files, "new-", 5), 0);
		other_do(&o, task_works, "box.itself", 11);
		session(&o, false);
		close(fd[0]);
		close(fd[1]);
		other_end(&o);
	}
}

TEST(controller_killed_small)
{
	outside();
	controller_killed(&small);
}

TEST(controller_killed_large)
{
	outside();
	controller_killed(&large);
	nothing_outside();
}

/* -- Boxes with something else in place of /dev/shm ---------------------------- */

#define VICTIM "/dev/shm/victim" /* outside: a directory of root's */

static const char *link_to;
static const char *const directories[] = {
	BOX "/dev/shm/posixtrace-0", BOX "/dev/shm/posixtrace-65534", BOX "/dev/shm/posixtrace-100000",
};

static void link_dev(void)
{
	MUST(rmdir(BOX "/dev/shm") == 0 && rmdir(BOX "/dev") == 0 && symlink(link_to, BOX "/dev") == 0);
}

static void link_shm(void)
{
	MUST(rmdir(BOX "/dev/shm") == 0 && symlink(link_to, BOX "/dev/shm") == 0);
}

static void link_directory(void)
{
	for (unsigned i = 0; i < sizeof directories / sizeof directories[0]; i++)
		MUST(symlink(link_to, directories[i]) == 0);
}

static void file_shm(void)
{
	MUST(rmdir(BOX "/dev/shm") == 0 && mknod(BOX "/dev/shm", S_IFREG | 0777, 0) == 0);
}

static void queue_directory(void)
{
	for (unsigned i = 0; i < sizeof directories / sizeof directories[0]; i++)
		MUST(mkfifo(directories[i], 0777) == 0);
}

static void none_shm(void)
{
	MUST(rmdir(BOX "/dev/shm") == 0);
}

static void bind_shm(void)
{
	MUST(mount(link_to, BOX "/dev/shm", NULL, MS_BIND, NULL) == 0);
}

static void bind_directory(void)
{
	for (unsigned i = 0; i < sizeof directories / sizeof directories[0]; i++)
		MUST(mkdir(directories[i], 0700) == 0 && mount(link_to, directories[i], NULL, MS_BIND, NULL) == 0);
}

/* Returns a list of the files outside, with owners and modes. */
static char *outside_list(void)
{
	static const char *const where[] = { "/", "/dev", "/dev/shm", VICTIM };
	size_t size;
	char *list;
	FILE *f = open_memstream(&list, &size);

	MUST(f);
	for (unsigned i = 0; i < sizeof where / sizeof where[0]; i++) {
		DIR *d = opendir(where[i]);
		struct dirent *e;
		struct stat st;

		MUST(d);
		while ((e = readdir(d))) {
			if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			    strncmp(e->d_name, "pts", 3) == 0)
				continue; /* not of this test */
			if (strcmp(where[i], "/dev") != 0 || S_ISDIR(st.st_mode))
				fprintf(f, "%s/%s %u %o\n", where[i], e->d_name, (unsigned)st.st_uid,
				        (unsigned)st.st_mode);
		}
		closedir(d);
	}
	MUST(fclose(f) == 0);
	return list;
}

static void refused(const char *what, const char *to, void (*arrange)(void), const struct box *like)
{
	struct box box = *like;
	trace_id_t trid = 4711;
	char *before, *after;
	struct other o;
	int error;

	box.arrange = arrange;
	link_to = to;
	before = outside_list();
	o = box_start(&box);
	for (int i = 0; i < 2; i++) {
		error = posix_trace_create(o.pid, NULL, &trid);
		if (error != EACCES && error != ENOENT)
			TEST_FAIL("SEC-5", "%s %s, user %u: %s", what, to, box.uid, strerror(error));
		if (error == 0)
			posix_trace_shutdown(trid);
		/* The process in the box also tries for itself, whatever the environment. */
		other_do(&o, task_open, "box.refused", 12);
	}
	other_end(&o);
	after = outside_list();
	for (char *rest = after, *line; (line = strsep(&rest, "\n")) && !test_failures;)
		if (!strstr(before, line))
			TEST_FAIL("SEC-5", "%s %s, user %u: outside is now %s", what, to, box.uid, line);
	free(before);
	free(after);
}

static const struct box shut_in[] = {
	{ .root = ROOT_CHROOT, .uid = NOBODY }, { .root = ROOT_PIVOT, .uid = NOBODY }, { .root = ROOT_PIVOT },
	{ .root = ROOT_PIVOT, .pid = true, .user = true, .uid = 100000 },
};

static void victim(void)
{
	outside();
	MUST(mkdir(VICTIM, 0755) == 0 && mkdir(VICTIM "/shm", 0777) == 0 && chmod(VICTIM "/shm", 01777) == 0);
}

TEST(links)
{
	static const char *const to[] = { "/",     "/dev/shm", VICTIM, "/proc/self/root/dev/shm", "/proc/self/root",
		                          "../..", "." };

	victim();
	for (unsigned b = 0; b < sizeof shut_in / sizeof shut_in[0]; b++) {
		for (unsigned i = 0; i < sizeof to / sizeof to[0]; i++) {
			refused("/dev ->", to[i], link_dev, &shut_in[b]);
			refused("/dev/shm ->", to[i], link_shm, &shut_in[b]);
			refused("posixtrace-UID ->", to[i], link_directory, &shut_in[b]);
		}
	}
}

TEST(no_directories)
{
	victim();
	for (unsigned b = 0; b < sizeof shut_in / sizeof shut_in[0]; b++) {
		refused("no /dev/shm", "", none_shm, &shut_in[b]);
		refused("a file /dev/shm", "", file_shm, &shut_in[b]);
		refused("a queue posixtrace-UID", "", queue_directory, &shut_in[b]);
	}
}

/* A directory of root's that the process has mounted: a process can do this in a user namespace. */
TEST(mounted)
{
	victim();
	for (unsigned b = 0; b < sizeof shut_in / sizeof shut_in[0]; b++) {
		if (shut_in[b].uid) {
			refused("mounted on /dev/shm:", VICTIM, bind_shm, &shut_in[b]);
			refused("mounted on posixtrace-UID:", VICTIM, bind_directory, &shut_in[b]);
		}
	}
}

#define EVIL "/dev/shm/evil" /* a directory of the container's user */

static char evil_source[64]; /* VICTIM, by a path that stays valid when EVIL is mounted on /dev/shm */

static void bind_evil(void)
{
	snprintf(evil_source, sizeof evil_source, "/proc/self/fd/%d", open(VICTIM, O_PATH | O_DIRECTORY));
	MUST(mount(EVIL, "/dev/shm", NULL, MS_BIND, NULL) == 0);
}

/* The attacker mounts root's directory over a name as soon as it appears, on demand, and unmounts it again. */
enum { RACE_OFF, RACE_MADE, RACE_MOUNTED, RACE_OVER };

static volatile int *race;
static int race_names;

static long task_mount(const void *arg)
{
	static const char *const names[] = { "/dev/shm/posixtrace-0", "/dev/shm/posixtrace-100000" };
	int mounted = 0;

	for (;;) {
		while (*race != RACE_MADE && *race != RACE_OVER)
			sched_yield();
		for (unsigned i = 0; i < 2; i++) {
			if (*race == RACE_MADE && mount(evil_source, names[i], NULL, MS_BIND, NULL) == 0)
				mounted++;
			else if (*race == RACE_OVER)
				umount2(names[i], MNT_DETACH);
		}
		if (*race == RACE_OVER)
			return mounted;
		*race = RACE_MOUNTED;
	}
}

/* Lets the attacker act between the library's mkdir and its next step. The test is linked with --wrap=sys_mkdir. */
int __real_sys_mkdir(int dir, const char *name, unsigned mode);
int __wrap_sys_mkdir(int dir, const char *name, unsigned mode);
int __wrap_sys_mkdir(int dir, const char *name, unsigned mode)
{
	int r = __real_sys_mkdir(dir, name, mode);

	if (r == 0 && race && *race == RACE_OFF) {
		race_names++;
		*race = RACE_MADE;
		while (*race != RACE_MOUNTED)
			sched_yield();
	}
	return r;
}

TEST(mounted_meanwhile)
{
	static const struct box box = { .user = true, .uid = 100000, .arrange = bind_evil };
	struct other o;
	struct stat st;
	trace_id_t trid;
	int error;

	victim();
	MUST(mkdir(EVIL, 0777) == 0 && chown(EVIL, 100000, 100000) == 0);
	race = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(race != MAP_FAILED);
	o = box_start(&box);
	other_tell(&o, task_mount, NULL, 0);
	error = posix_trace_create(o.pid, NULL, &trid);
	if (error != EACCES)
		TEST_FAIL("SEC-5", "create: %s", strerror(error));
	*race = RACE_OVER;
	CHECK_EQ("-", other_result(&o), race_names); /* otherwise there was no race */
	CHECK_EQ("-", race_names, 1);
	MUST(stat(VICTIM, &st) == 0);
	CHECK_EQ("SEC-5", st.st_uid, 0);
	CHECK_EQ("SEC-5", st.st_mode & 07777, 0755);
	CHECK_EQ("SEC-5", shm_count(VICTIM, ""), 1); /* "shm" */
	other_end(&o);
}

/* -- Containers that share a /dev/shm ------------------------------------------ */

static trace_id_t own_trid;
static trace_event_id_t own_id;

static long task_begin(const void *name)
{
	own_id = fault_open(name);
	own_trid = control(0, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_CLOSE_FOR_CHILD);
	return posix_trace_start(own_trid);
}

static long task_goes_on(const void *arg)
{
	for (int i = 0; i < MANY; i++)
		posix_trace_event(own_id, &i, sizeof i);
	CHECK_EQ("-", fault_count(own_trid, own_id), MANY);
	return 0;
}

static long task_finish(const void *arg)
{
	return posix_trace_shutdown(own_trid);
}

static uint64_t start_time(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	return process_started(path);
}

/* Traces two processes that look the same to each other: both have process id 1, the same user and the same start
 * time. */
static void two(unsigned uid)
{
	const struct box box = { .pid = true, .uid = uid };
	struct other a, b;
	trace_id_t of_a, of_b;
	struct events e = { 0, 0, MANY, NULL };

	for (int try = 0;; try++) {
		/* Side by side, because one after the other takes longer than a tick on a slow machine. */
		a = other_begin(box_prepare, box_settle, &box);
		b = other_begin(box_prepare, box_settle, &box);
		other_await(&a);
		other_await(&b);
		if (start_time(a.pid) == start_time(b.pid) || try == 100)
			break;
		other_end(&a);
		other_end(&b);
	}
	CHECK_EQ("-", start_time(a.pid), start_time(b.pid));
	for (int i = 0; i < 3; i++) {
		other_do(&a, task_begin, "pod.a", 6);
		other_do(&b, task_begin, "pod.b", 6);
		CHECK_EQ("-", other_do(&a, task_files, "stream-", 8), 2);
		CHECK_EQ("-", other_do(&b, task_files, "page-", 6), 2);
		CHECK_EQ("-", other_do(&b, task_files, "names-", 7), 2);
		for (int j = 0; j < 10; j++) {
			other_do(&a, task_goes_on, NULL, 0);
			other_do(&b, task_goes_on, NULL, 0);
			other_do(j % 2 ? &a : &b, task_works, "pod.other", 10);
		}
		/* Trace both from outside, too. */
		of_a = control(a.pid, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_CLOSE_FOR_CHILD);
		of_b = control(b.pid, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_CLOSE_FOR_CHILD);
		CHECK_EQ("-", posix_trace_start(of_a), 0);
		CHECK_EQ("-", posix_trace_start(of_b), 0);
		e.id = open_outside(of_a, "pod.a");
		e.first = 100;
		other_do(&a, task_events, &e, sizeof e);
		expect_system(of_a, POSIX_TRACE_START);
		expect(of_a, &e, 1);
		expect_nothing(of_a);
		e.id = open_outside(of_b, "pod.b");
		e.first = 200;
		other_do(&b, task_events, &e, sizeof e);
		expect_system(of_b, POSIX_TRACE_START);
		expect(of_b, &e, 1);
		expect_nothing(of_b);
		CHECK_EQ("-", posix_trace_shutdown(of_a), 0);
		CHECK_EQ("-", posix_trace_shutdown(of_b), 0);
		/* The processes' own streams have recorded the events, too. */
		CHECK_EQ("-", other_do(&a, task_finish, NULL, 0), 0);
		CHECK_EQ("-", other_do(&b, task_finish, NULL, 0), 0);
	}
	/* The first process ends, normally or killed. The second continues. */
	other_do(&a, task_begin, "pod.a", 6);
	other_do(&b, task_begin, "pod.b", 6);
	if (uid)
		other_kill(&a);
	else
		other_end(&a);
	other_do(&b, task_works, "pod.other", 10);
	CHECK_EQ("-", other_do(&b, task_files, "stream-", 8), 1);
	CHECK_EQ("-", other_do(&b, task_files, "page-", 6), 1);
	CHECK_EQ("-", other_do(&b, task_files, "names-", 7), 1);
	other_do(&b, task_goes_on, NULL, 0);
	CHECK_EQ("-", other_do(&b, task_finish, NULL, 0), 0);
	other_end(&b);
}

TEST(two_containers)
{
	outside();
	two(0);
	two(NOBODY);
}

TEST_MAIN(TEST_ENTRY(pid_namespace), TEST_ENTRY(pid_namespace_of_a_user), TEST_ENTRY(own_shm), TEST_ENTRY(own_root),
          TEST_ENTRY(user_namespace), TEST_ENTRY(user_namespace_own_shm), TEST_ENTRY(everything), TEST_ENTRY(rootless),
          TEST_ENTRY(no_proc), TEST_ENTRY(killed_small), TEST_ENTRY(killed_large), TEST_ENTRY(controller_killed_small),
          TEST_ENTRY(controller_killed_large), TEST_ENTRY(links), TEST_ENTRY(no_directories), TEST_ENTRY(mounted),
          TEST_ENTRY(mounted_meanwhile), TEST_ENTRY(two_containers))
