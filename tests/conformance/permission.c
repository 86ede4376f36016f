/*
 * permission.c - who may trace whom, and who sees what is recorded
 *
 * The users are nobody and the one before; the test must be root to become
 * them. Linked statically with the library, because a copy of this program
 * is made a set-user-ID one, which finds no library beside itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include <linux/capability.h>
#include <sys/statvfs.h>

#include "target.h"

#define NO_ID POSIX_TRACE_UNNAMED_USEREVENT
#define USER  65534u
#define OTHER 65533u

/* -- Processes of other users --------------------------------------------------- */

struct identity {
	unsigned real, effective, saved, group;
};

static long long become_task(const void *arg)
{
	const struct identity *i = arg;

	target_quick = 1; /* some sanitizers inspect the process at exit, and may not */
	if (setgroups(0, NULL) != 0 || setresgid(i->group, i->group, i->group) != 0 ||
	    setresuid(i->real, i->effective, i->saved) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)
		return errno;
	return 0;
}

static void become(const struct target *t, unsigned uid)
{
	struct identity i = { uid, uid, uid, uid };

	MUST(target_do(t, become_task, &i, sizeof i) == 0);
}

/* Returns a target of this user: fresh, with a new image, or used. */
static struct target of_user(int kind, unsigned uid)
{
	struct target t = target_fork();

	if (uid != 0)
		become(&t, uid);
	if (kind == IMAGE)
		target_exec(&t);
	if (kind == USED)
		target_send(&t, target_id(&t, "before"), 0, 0, 10);
	return t;
}

/* Makes itself undumpable, as programs with secrets do. */
static long long dumpable_task(const void *arg)
{
	int d;

	memcpy(&d, arg, sizeof d);
	target_quick = 1;
	return prctl(PR_SET_DUMPABLE, d);
}

static void dumpable(const struct target *t, int d)
{
	MUST(target_do(t, dumpable_task, &d, sizeof d) == 0);
}

static void need_root(void)
{
	if (geteuid() != 0)
		SKIP("only root can become other users");
	NEEDS_OTHERS();
	shm_private("");
}

/*
 * Returns the error of posix_trace_create() in a target that asks for a second one. A refused call must leave nothing
 * behind.
 */
static long long ask_task(const void *arg)
{
	trace_id_t trid = 0x5555;
	int error, files = shm_count(shm_directory(), "");
	pid_t pid;

	memcpy(&pid, arg, sizeof pid);
	error = posix_trace_create(pid, NULL, &trid);
	if (error == 0) {
		CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
	} else {
		CHECK("CREATE-8", trid == 0x5555);
		CHECK_FILES("CREATE-22", shm_count(shm_directory(), ""), ==, files);
	}
	return error;
}

static int ask(const struct target *controller, pid_t traced)
{
	return (int)target_do(controller, ask_task, &traced, sizeof traced);
}

/* Checks that one process can trace the other: create, start, events, and shutdown. */
static void check_traces(const char *ids, const struct target *controller, const struct target *traced)
{
	trace_event_id_t id;
	int error = target_create(controller, traced->pid, 0);

	if (error) {
		TEST_FAIL(ids, "posix_trace_create: error %d", error);
		return;
	}
	id = target_id(traced, "permission");
	CHECK_EQ(ids, target_do(controller, target_start_task, NULL, 0), 0);
	target_send(traced, id, 0, 0, 10);
	CHECK_EQ(ids, target_count(controller, id), 10);
	CHECK_EQ(ids, target_do(controller, target_shutdown_task, NULL, 0), 0);
	target_send(traced, id, 0, 0, 2);
	CHECK_FILES(ids, target_streams(traced->pid), ==, 0);
}

/* -- Users ---------------------------------------------------------------------- */

TEST(user_against_root)
{
	struct target user, t;

	need_root();
	user = of_user(FRESH, USER);
	for EACH_KIND(kind) {
		t = of_user(kind, 0);
		CHECK_EQ("CREATE-22 SEC-1 SEC-2 SEC-4 OBJ-24 READ-34", ask(&user, t.pid), EPERM);
		target_send(&t, NO_ID, 0, 0, 3);
		CHECK_EQ("CREATE-22 SEC-1", ask(&user, t.pid), EPERM);
		target_end(&t);
		CHECK_EQ("CREATE-23", ask(&user, t.pid), ESRCH);
	}
	CHECK_EQ("CREATE-22 SEC-1", ask(&user, getpid()), EPERM);
	CHECK_EQ("CREATE-22 SEC-1", ask(&user, 1), EPERM);
	CHECK_EQ("CREATE-1", ask(&user, 0), 0);
	target_end(&user);
}

TEST(user_against_another)
{
	struct target user, t;

	need_root();
	user = of_user(USED, USER);
	for EACH_KIND(kind) {
		t = of_user(kind, OTHER);
		CHECK_EQ("CREATE-22 SEC-1 SEC-2 SEC-4 OBJ-24 READ-34", ask(&user, t.pid), EPERM);
		CHECK_EQ("CREATE-22 SEC-1", ask(&t, user.pid), EPERM);
		target_send(&t, NO_ID, 0, 0, 3);
		CHECK_EQ("CREATE-22 SEC-1", ask(&user, t.pid), EPERM);
		target_end(&t);
	}
	target_end(&user);
}

TEST(own)
{
	struct target user, t;

	need_root();
	for EACH_KIND(kind) {
		user = of_user(kind, USER);
		for EACH_KIND(other) {
			t = of_user(other, USER);
			check_traces("SEC-1 SEC-4 CREATE-1 OBJ-24", &user, &t);
			check_traces("SEC-1 SEC-4 CREATE-1", &t, &user);
			target_end(&t);
		}
		target_end(&user);
	}
}

/* Without root's privileges. */
TEST(own_as_whoever)
{
	for EACH_KIND(kind) {
		struct target user = target_make(kind), t = target_make(FRESH);

		check_traces("SEC-1 SEC-4 CREATE-1", &user, &t);
		target_end(&t);
		target_end(&user);
	}
}

/* An undumpable process may not be traced by its own user, but it can still trace itself. */
TEST(hidden)
{
	struct target user, root, t;

	need_root();
	user = of_user(FRESH, USER);
	root = target_fork();
	for EACH_KIND(kind) {
		t = of_user(kind, USER);
		dumpable(&t, 0);
		CHECK_EQ("SEC-4 SEC-5", ask(&user, t.pid), EPERM);
		check_traces("SEC-4", &root, &t);
		check_traces("SEC-4", &t, &t);
		CHECK_EQ("SEC-4", ask(&user, t.pid), EPERM);
		dumpable(&t, 1);
		check_traces("SEC-4", &user, &t);
		target_end(&t);
	}
	target_end(&user);
	target_end(&root);
}

/* All ids must be equal. */
TEST(other_ids)
{
	static const struct identity ids[] = {
		{ USER, USER, USER, OTHER }, { USER, OTHER, OTHER, USER }, { OTHER, USER, USER, USER },
		{ USER, USER, OTHER, USER },
		{ 0, USER, USER, USER }, { USER, 0, 0, USER }, { USER, USER, 0, USER },
	};
	struct target user;

	need_root();
	user = of_user(FRESH, USER);
	for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
		struct target t = target_fork();

		MUST(target_do(&t, become_task, &ids[i], sizeof ids[i]) == 0);
		if (ask(&user, t.pid) != EPERM)
			TEST_FAIL("SEC-4", "a process of users %u, %u, %u, group %u may be traced", ids[i].real,
				  ids[i].effective, ids[i].saved, ids[i].group);
		target_send(&t, NO_ID, 0, 0, 10); /* no harm */
		target_end(&t);
	}
	target_end(&user);
}

/* Root's privilege depends on the capability. */
static long long drop_capability_task(const void *arg)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	MUST(syscall(SYS_capget, &header, data) == 0);
	data[0].effective &= ~(1u << CAP_SYS_PTRACE);
	data[0].permitted &= ~(1u << CAP_SYS_PTRACE);
	data[0].inheritable &= ~(1u << CAP_SYS_PTRACE);
	MUST(syscall(SYS_capset, &header, data) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
	return 0;
}

TEST(root_without_capability)
{
	struct target root, user, weak;

	need_root();
	root = target_fork();
	weak = target_fork();
	user = of_user(FRESH, USER);
	target_do(&weak, drop_capability_task, NULL, 0);
	CHECK_EQ("SEC-4", ask(&weak, user.pid), EPERM);
	CHECK_EQ("SEC-4", ask(&weak, root.pid), EPERM);
	check_traces("SEC-4", &root, &weak);
	check_traces("SEC-4", &weak, &weak);
	target_end(&weak);
	target_end(&user);
	target_end(&root);
}

/* -- Root --------------------------------------------------------------------------- */

/* Checks owner and mode of a directory and of all files in it. */
static void check_owner(const char *ids, unsigned uid, const char *directory)
{
	DIR *d = OURS_FILES ? opendir(directory) : NULL;
	struct dirent *e;
	struct stat st;
	int n = 0;

	if (!OURS_FILES)
		return;
	if (!d) {
		TEST_FAIL(ids, "there is no %s", directory);
		return;
	}
	MUST(fstat(dirfd(d), &st) == 0);
	CHECK_EQ(ids, st.st_uid, uid);
	CHECK_EQ(ids, st.st_mode & 07777, 0700);
	while ((e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		MUST(fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0);
		if (st.st_uid != uid || (st.st_mode & 07777) != 0600 || !S_ISREG(st.st_mode))
			TEST_FAIL(ids, "%s has owner %u and mode %o", e->d_name, (unsigned)st.st_uid,
			          (unsigned)st.st_mode);
		n++;
	}
	CHECK_OP(ids, n, >, 0);
	closedir(d);
}

static const char *directory_of(unsigned uid)
{
	static char path[64];

	snprintf(path, sizeof path, "/dev/shm/posixtrace-%u", uid);
	return path;
}

static long long fork_task(const void *arg)
{
	pid_t pid = fork();

	if (pid == 0)
		target_serve();
	return pid;
}

static long long reap_task(const void *arg)
{
	return waitpid(-1, NULL, 0);
}

TEST(root_against_user)
{
	need_root();
	for EACH_KIND(kind) {
		struct target t = of_user(kind, USER), user = of_user(FRESH, USER), child;
		trace_attr_t attr;
		trace_event_id_t id, outside;
		trace_id_t trid = 0;
		struct stream_event e;
		int streams;
		char name[TRACE_EVENT_NAME_MAX + 1];

		stream_attr(&attr, 0, 0, 0);
		MUST(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED) == 0);
		CHECK_EQ("SEC-1 SEC-4 CREATE-1 OBJ-24", posix_trace_create(t.pid, &attr, &trid), 0);
		check_owner("SEC-5 OBJ-24", USER, directory_of(USER));
		MUST(posix_trace_trid_eventid_open(trid, "by root", &outside) == 0);
		CHECK_EQ("ID-18", target_id(&t, "by root"), outside);
		id = target_id(&t, "by user");
		CHECK_EQ("START-9", posix_trace_start(trid), 0);
		/* The user traces it as well: each has a separate stream. */
		target_control(&user, t.pid, 0);
		target_send(&t, id, 0, 0, 10);
		stream_expect(trid, POSIX_TRACE_START, &e);
		CHECK_EQ("SEC-6", e.info.posix_pid, getpid());
		EXPECT_NUMBERS("SEC-1 OBJ-24 READ-34", trid, id, t.pid, 0, 0, 10);
		CHECK_EQ("SEC-6", stream_drain(trid), 0);
		CHECK_EQ("MODEL-7", target_count(&user, id), 10);
		CHECK_EQ("ID-6", posix_trace_eventid_get_name(trid, id, name), 0);
		CHECK_STR("ID-6", name, "by user");
		/* Its children belong to the same user. */
		target_tell(&t, fork_task, NULL, 0);
		child = target_accept();
		target_result(&t);
		CHECK_TRACED("INH-1", trid, &child, id);
		check_owner("SEC-5 OBJ-24", USER, directory_of(USER));
		target_dismiss(&child);
		target_do(&t, reap_task, NULL, 0);

		CHECK_EQ("START-9", posix_trace_stop(trid), 0);
		stream_expect(trid, POSIX_TRACE_STOP, &e);
		target_send(&t, id, 0, 10, 10);
		CHECK_EQ("SEC-6 MODEL-7", target_count(&user, POSIX_TRACE_STOP), 0); /* this process's STOP is not in
		                                                                      * the user's stream */
		CHECK_EQ("EVT-4", stream_drain(trid), 0);
		streams = shm_count(directory_of(USER), "stream-");
		CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
		CHECK_FILES("SHUT-2", shm_count(directory_of(USER), "stream-"), ==, streams - 1);
		target_send(&t, id, 0, 20, 10);
		CHECK_EQ("MODEL-7", target_count(&user, id), 10);
		target_end(&user);
		target_end(&t);
	}
	CHECK_FILES("SEC-5", shm_count(directory_of(0), "stream-"), ==, shm_count(directory_of(0), "") < 0 ? -1 : 0);
}

/*
 * Root's controller is killed, and the user's continues. The files left behind are removed by any create of this user
 * or of root.
 */
TEST(root_is_killed)
{
	need_root();
	for EACH_KIND(kind)
	for (int by_root = 0; by_root < 2; by_root++) {
		struct target t = of_user(kind, USER), root = target_fork(), next;

		target_control(&root, t.pid, 0);
		target_send(&t, NO_ID, 0, 0, 10);
		CHECK_EQ("SEC-1", target_count(&root, NO_ID), 10);
		target_kill(&root);
		CHECK_FILES("-", shm_count(directory_of(USER), "stream-"), ==, 1);
		next = by_root ? target_fork() : of_user(FRESH, USER);
		check_traces("MODEL-20 SHUT-6", &next, &t);
		CHECK_FILES("MODEL-20 SHUT-6", shm_count(directory_of(USER), "stream-"), ==, 0);
		target_end(&next);
		target_end(&t);
	}
}

/* What is recorded for one user is hidden from other users: both the names of the files and their contents. */
static long long look_task(const void *path)
{
	DIR *d = opendir(path);

	if (!d)
		return errno;
	closedir(d);
	return 0;
}

static long long open_task(const void *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

TEST(secrecy)
{
	static const unsigned users[] = { 0, USER, OTHER };
	struct target traced[3], user[3];
	trace_id_t trid[3];

	NEEDS_FILES();
	need_root();
	for (int i = 0; i < 3; i++) {
		traced[i] = of_user(FRESH, users[i]);
		user[i] = of_user(FRESH, users[i]);
		trid[i] = stream_running_for(traced[i].pid, NULL);
		target_send(&traced[i], NO_ID, 0, 0, 10);
		check_owner("SEC-5 OBJ-24", users[i], directory_of(users[i]));
	}
	for (int i = 0; i < 3; i++) {
		char path[600];
		const char *directory = directory_of(users[i]);
		DIR *d = opendir(directory);
		struct dirent *e;

		MUST(d != NULL);
		for (int j = 1; j < 3; j++) {
			long long expected = i == j ? 0 : EACCES;

			CHECK_EQ("SEC-5 SEC-2", target_do(&user[j], look_task, directory, strlen(directory) + 1),
			         expected);
			rewinddir(d);
			while ((e = readdir(d))) {
				if (e->d_name[0] == '.')
					continue;
				snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
				CHECK_EQ("SEC-5 SEC-2 READ-34", target_do(&user[j], open_task, path, strlen(path) + 1),
				         expected);
			}
		}
		closedir(d);
	}
	for (int i = 0; i < 3; i++) {
		EXPECT_NUMBERS("SEC-5", trid[i], NO_ID, traced[i].pid, 0, 0, 10);
		stream_end(trid[i]);
		target_end(&traced[i]);
		target_end(&user[i]);
	}
}

/* -- Set-user-ID programs --------------------------------------------------------------- */

static char program[64];

static void remove_program(void)
{
	unlink(program);
	*strrchr(program, '/') = 0;
	rmdir(program);
}

/* Copies this program to a new directory, owned by this user and group, with set-id bits in the mode. */
static void make_program(unsigned uid, unsigned gid, unsigned mode)
{
	char buf[65536];
	struct statvfs fs;
	int from, to;
	long n;

	strcpy(program, "/tmp/test-XXXXXX");
	MUST(mkdtemp(program) && chmod(program, 0755) == 0 && statvfs(program, &fs) == 0);
	strcat(program, "/program");
	if (fs.f_flag & (ST_NOSUID | ST_NOEXEC)) {
		remove_program();
		SKIP("set-user-ID programs do not work in /tmp here");
	}
	from = open("/proc/self/exe", O_RDONLY);
	to = open(program, O_WRONLY | O_CREAT | O_EXCL, 0600);
	MUST(from >= 0 && to >= 0);
	while ((n = read(from, buf, sizeof buf)) > 0)
		MUST(write(to, buf, (size_t)n) == n);
	MUST(n == 0 && fchown(to, uid, gid) == 0 && fchmod(to, mode) == 0);
	close(from);
	close(to);
}

static long long run_program_task(const void *path)
{
	char **arguments = target_command();

	execv(path, arguments);
	_exit(97);
}

/* The target executes the copy. */
static void run_program(struct target *t)
{
	pid_t pid = t->pid;
	int old = t->socket;

	target_tell(t, run_program_task, program, strlen(program) + 1);
	*t = target_accept();
	MUST(t->pid == pid);
	close(old);
}

static long long quick_task(const void *arg)
{
	target_quick = 1;
	return 0;
}

static long long effective_task(const void *arg)
{
	return geteuid() * 100000LL + getegid();
}

static const struct {
	unsigned uid, gid, mode;
} rights[] = { { 0, 0, 04755 }, { OTHER, OTHER, 04755 }, { USER, 0, 02755 } };
#define RIGHTS 3

/* The file that is executed is the emulator, which has no set-id bits. */
static void skip_emulated(void)
{
	if (getenv("QEMU_LD_PREFIX"))
		SKIP("an emulated program does not get the rights of its file's owner");
}

/*
 * A program with more privileges than its user, who may start but not inspect it. Root may. A program with the
 * privileges of two users records for neither of them, as it would write into memory of one of them.
 */
TEST(set_user_id)
{
	struct target user, root;

	need_root();
	skip_emulated();
	user = of_user(FRESH, USER);
	root = target_fork();
	for (int i = 0; i < RIGHTS; i++) {
		struct target t = of_user(FRESH, USER);
		long long expected = (rights[i].mode & 04000 ? rights[i].uid : USER) * 100000LL +
				     (rights[i].mode & 02000 ? rights[i].gid : USER);

		make_program(rights[i].uid, rights[i].gid, rights[i].mode);
		run_program(&t);
		remove_program();
		target_do(&t, quick_task, NULL, 0);
		MUST(target_do(&t, effective_task, NULL, 0) == expected);
		CHECK_EQ("SEC-4 SEC-5", ask(&user, t.pid), EPERM);
		target_send(&t, NO_ID, 0, 0, 10);
		CHECK_EQ("SEC-4 SEC-5", ask(&user, t.pid), EPERM);
		if (rights[i].uid == 0) {
			check_traces("SEC-4", &root, &t);
		} else {
			target_control(&root, t.pid, 0);
			target_send(&t, NO_ID, 0, 0, 10);
			CHECK_EQ("SEC-4 SEC-5", target_count(&root, NO_ID), 0);
			CHECK_EQ("SHUT-10", target_do(&root, target_shutdown_task, NULL, 0), 0);
		}
		CHECK_EQ("SEC-4 SEC-5", ask(&user, t.pid), EPERM);
		target_end(&t);
	}
	target_end(&user);
	target_end(&root);
}

static long long fork_and_run_task(const void *path)
{
	char **arguments = target_command();
	pid_t pid = fork();

	if (pid == 0) {
		execv(path, arguments);
		_exit(97);
	}
	return pid;
}

/* A user's stream does not follow a process, or its child, into a set-user-ID program, and does not disturb it. */
TEST(set_user_id_when_traced)
{
	struct target user;

	need_root();
	skip_emulated();
	user = of_user(FRESH, USER);
	for (int i = 0; i < RIGHTS; i++)
	for (int child = 0; child < 2; child++)
	for (int inherited = 0; inherited < 2; inherited++) {
		struct target t = of_user(USED, USER), program_process;

		make_program(rights[i].uid, rights[i].gid, rights[i].mode);
		target_control(&user, t.pid, inherited);
		target_send(&t, NO_ID, 0, 0, 10);
		CHECK_EQ("SEC-4", target_count(&user, NO_ID), 10);
		if (child) {
			target_tell(&t, fork_and_run_task, program, strlen(program) + 1);
			program_process = target_accept();
			target_result(&t);
		} else {
			run_program(&t);
			program_process = t;
		}
		remove_program();
		target_do(&program_process, quick_task, NULL, 0);
		target_send(&program_process, NO_ID, 0, 0, 10);
		target_send(&program_process, target_id(&program_process, "secret"), 0, 0, 10);
		CHECK_EQ("SEC-5 SEC-4", target_count(&user, NO_ID), 0);
		CHECK_EQ("SEC-4", ask(&user, program_process.pid), EPERM);
		/* The stream is still valid. */
		if (child) {
			target_send(&t, NO_ID, 0, 0, 5);
			CHECK_EQ("SEC-4 INH-8", target_count(&user, NO_ID), 5);
			target_dismiss(&program_process);
			target_do(&t, reap_task, NULL, 0);
		}
		CHECK_EQ("START-9", target_do(&user, target_stop_task, NULL, 0), 0);
		CHECK_EQ("SHUT-10", target_do(&user, target_shutdown_task, NULL, 0), 0);
		if (!child)
			target_send(&program_process, NO_ID, 0, 0, 10);
		target_end(&t);
	}
	target_end(&user);
}

/* -- Processes that change their user ----------------------------------------------------- */

/* A daemon gives up its privileges: its streams continue, and it is not harmed. */
TEST(rights_given_up)
{
	need_root();
	for (int kind = FRESH; kind <= USED; kind += USED - FRESH) {
		struct target t = of_user(kind, 0), user;
		trace_id_t trid = stream_running_for(t.pid, NULL), later = 0;
		trace_event_id_t id = target_id(&t, "rights");

		CHECK_TRACED("CREATE-1", trid, &t, id);
		become(&t, USER);
		CHECK_TRACED("MODEL-5 MODEL-8", trid, &t, id);
		/* Whether it can be found as a process of the new user is implementation-defined. */
		if (posix_trace_create(t.pid, NULL, &later) == 0) {
			target_send(&t, id, 0, 0, 3);
			CHECK_EQ("SHUT-10", posix_trace_shutdown(later), 0);
			stream_drain(trid);
		}
		CHECK_TRACED("MODEL-5 MODEL-7", trid, &t, id);
		stream_end(trid);
		target_send(&t, id, 0, 0, 3);
		CHECK_FILES("SHUT-2", target_streams(t.pid), ==, 0);
		/* When it executes a program it is a process of the new user only. */
		target_exec(&t);
		user = of_user(FRESH, USER);
		check_traces("SEC-1 CREATE-1", &user, &t);
		target_end(&user);
		target_end(&t);
	}
}

/* Removes a directory and its contents. */
static void remove_directory(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	MUST(d);
	while ((e = readdir(d)))
		MUST(e->d_name[0] == '.' || unlinkat(dirfd(d), e->d_name, 0) == 0);
	closedir(d);
	MUST(rmdir(path) == 0);
}

static long long umask_task(const void *mask)
{
	unsigned m;

	memcpy(&m, mask, sizeof m);
	umask(m);
	return 0;
}

/* The process's umask does not affect the library's files, which their owner can open. */
TEST(any_umask)
{
	static const unsigned mask[] = { 0, 0277, 0377, 0477, 0577, 0677, 0777 };

	need_root();
	for (unsigned i = 0; i < sizeof mask / sizeof mask[0]; i++) {
		/* First with a new directory, files and names, then with existing ones. */
		for (int again = 0; again < 2; again++) {
			struct target t = target_fork(), other = of_user(FRESH, USER);
			struct stat st;

			become(&t, USER);
			MUST(target_do(&t, umask_task, &mask[i], sizeof mask[i]) == 0);
			MUST(target_do(&other, umask_task, &mask[i], sizeof mask[i]) == 0);
			check_traces("CREATE-1", &t, &t);
			check_traces("CREATE-1", &other, &t);
			MUST(stat(directory_of(USER), &st) == 0);
			CHECK_EQ("SEC-5", st.st_mode & 07777, 0700);
			target_end(&t);
			target_end(&other);
		}
		/* The next round creates it again. */
		remove_directory(directory_of(USER));
	}
}

static long long effective_user_task(const void *uid)
{
	unsigned u;

	memcpy(&u, uid, sizeof u);
	return seteuid(u) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0 ? 0 : errno;
}

/* A process that temporarily has a different user's credentials writes nothing into files of that user. */
TEST(rights_lent)
{
	unsigned user = USER, root = 0;

	need_root();
	for (int kind = FRESH; kind <= USED; kind += USED - FRESH) {
		struct target t = of_user(kind, 0), other = of_user(FRESH, USER);
		trace_id_t trid;
		unsigned n = 0;

		MUST(target_do(&t, effective_user_task, &user, sizeof user) == 0);
		CHECK_EQ("SEC-4", ask(&other, t.pid), EPERM);
		target_send(&t, NO_ID, 0, 0, 10);
		CHECK_FILES("SEC-5", shm_count(directory_of(USER), ""), <=, 0);
		MUST(target_do(&t, effective_user_task, &root, sizeof root) == 0);
		trid = stream_running_for(t.pid, NULL);
		do {
			target_send(&t, NO_ID, 0, n, 1);
		} while (stream_drain(trid) == 0 && ++n < 5000);
		CHECK_OP("CREATE-1 MODEL-5", n, <, 5000); /* it may take a while to notice */
		CHECK_TRACED("CREATE-1 MODEL-5", trid, &t, NO_ID);
		stream_end(trid);
		target_end(&other);
		target_end(&t);
	}
}

TARGET_MAIN(TEST_ENTRY(user_against_root), TEST_ENTRY(user_against_another), TEST_ENTRY(own),
            TEST_ENTRY(own_as_whoever),
	    TEST_ENTRY(hidden), TEST_ENTRY(other_ids), TEST_ENTRY(root_without_capability),
	    TEST_ENTRY(root_against_user),
	    TEST_ENTRY(root_is_killed), TEST_ENTRY(secrecy), TEST_ENTRY(set_user_id),
	    TEST_ENTRY(set_user_id_when_traced),
	    TEST_ENTRY(any_umask), TEST_ENTRY(rights_given_up), TEST_ENTRY(rights_lent))
