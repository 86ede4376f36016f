/*
 * directory.c - no /dev/shm, or a foreign directory there: create returns an error, trace points stay silent
 *
 * Each case is followed by a run in good order: a failure leaves nothing behind.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

#include <stdbool.h>

/* Checks trace points before the process has attached, and after create has failed. */
static void check(const char *what, int error)
{
	trace_event_id_t id;
	int descriptors = shm_descriptors();

	fault_id = POSIX_TRACE_UNNAMED_USEREVENT;
	fault_silent(POSIX_TRACE_UNNAMED_USEREVENT);
	id = fault_open("fault");
	CHECK("-", id > POSIX_TRACE_UNNAMED_USEREVENT); /* names need no directory */
	fault_silent(id);
	for (int i = 0; i < 3; i++) {
		int got = fault_create(0);

		if (got != error)
			TEST_FAIL("-", "%s: error %d, not %d", what, got, error);
		fault_silent(id);
	}
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

static void mend(void)
{
	MUST(mount("test", "/dev/shm", "tmpfs", 0, "mode=1777") == 0);
	fault_works(fault_open("fault"));
}

TEST(no_dev_shm)
{
	shm_namespace();
	MUST(mount("test", "/dev", "tmpfs", 0, NULL) == 0);
	check("no /dev/shm", ENOENT);
	MUST(mkdir("/dev/shm", 0755) == 0);
	mend();
}

TEST(read_only)
{
	shm_mounted("");
	shm_remount(MS_RDONLY, NULL);
	check("read-only", EROFS);
	shm_remount(0, NULL);
	fault_works(fault_open("fault"));
}

/* The file system becomes read-only after a stream was made there. */
TEST(read_only_later)
{
	trace_event_id_t id;

	shm_mounted("");
	id = fault_open("fault");
	fault_works(id);
	MUST(mount("test", "/dev/shm", "tmpfs", MS_RDONLY, "mode=1777") == 0);
	CHECK_EQ("-", fault_create(0), EROFS);
	fault_silent(id);
	MUST(umount("/dev/shm") == 0);
	fault_works(id);
}

TEST(foreign)
{
	if (geteuid() != 0)
		SKIP("only root can give a directory to somebody else");
	shm_private("");
	MUST(mkdir("/dev/shm/posixtrace-65533", 0700) == 0 && chown("/dev/shm/posixtrace-65533", 65534, 65534) == 0);
	if (setresuid(65533, 65533, 65533) < 0)
		SKIP("root cannot become somebody else here");
	check("somebody else's", EACCES);
}

/* Returns the number of names in /dev/shm that begin with this, and copies one of them. */
static int named(const char *begin, char name[300])
{
	DIR *d = opendir("/dev/shm");
	struct dirent *e;
	int n = 0;

	MUST(d);
	while ((e = readdir(d)))
		if (strncmp(e->d_name, begin, strlen(begin)) == 0) {
			snprintf(name, 300, "/dev/shm/%s", e->d_name);
			n++;
		}
	closedir(d);
	return n;
}

enum { THEIR_DIRECTORY, THEIR_LINK, THEIR_QUEUE };

/* Root gets its directory, whatever another user has put there, and traces. What was there is not touched. */
static void displaced(int what)
{
	char name[300], inside[400], target[64];
	struct stat st;

	if (geteuid() != 0)
		SKIP("only root may rename another user's directory");
	shm_private("");
	snprintf(inside, sizeof inside, "%s/precious", shm_directory());
	if (what == THEIR_DIRECTORY)
		MUST(mkdir(shm_directory(), 0700) == 0 && mkdir(inside, 0700) == 0);
	if (what == THEIR_LINK)
		MUST(mkdir("/dev/shm/target", 0700) == 0 && symlink("/dev/shm/target", shm_directory()) == 0);
	if (what == THEIR_QUEUE)
		MUST(mkfifo(shm_directory(), 0600) == 0);
	MUST(lchown(shm_directory(), 65534, 65534) == 0);
	fault_works(fault_open("fault"));
	MUST(lstat(shm_directory(), &st) == 0);
	CHECK("SEC-1", S_ISDIR(st.st_mode) && st.st_uid == 0 && (st.st_mode & 0777) == 0700);
	CHECK_EQ("SEC-1", named("foreign-", name), 1);
	MUST(lstat(name, &st) == 0);
	CHECK_EQ("SEC-1", st.st_uid, 65534);
	if (what == THEIR_DIRECTORY) {
		snprintf(inside, sizeof inside, "%s/precious", name);
		CHECK_EQ("SEC-1", access(inside, F_OK), 0);
	}
	if (what == THEIR_LINK) {
		CHECK("SEC-1", readlink(name, target, sizeof target) > 0);
		CHECK_EQ("SEC-1", rmdir("/dev/shm/target"), 0); /* nothing is in it */
	}
	if (what == THEIR_QUEUE)
		CHECK("SEC-1", S_ISFIFO(st.st_mode));
}

TEST(displaced_directory)
{
	displaced(THEIR_DIRECTORY);
}

TEST(displaced_link)
{
	displaced(THEIR_LINK);
}

TEST(displaced_queue)
{
	displaced(THEIR_QUEUE);
}

/* What is root's own stays as it is. */
TEST(not_displaced)
{
	char name[300];

	if (geteuid() != 0)
		SKIP("only root may rename another user's directory");
	shm_private("");
	MUST(symlink("/dev/shm/target", shm_directory()) == 0);
	check("a link of root's", EACCES);
	CHECK_EQ("SEC-1", named("foreign-", name), 0);
}

TEST(open_to_others)
{
	static const unsigned mode[] = { 0777, 0755, 0710, 0702 };

	shm_private("");
	MUST(mkdir(shm_directory(), 0700) == 0);
	for (int i = 0; i < 4; i++) {
		MUST(chmod(shm_directory(), mode[i]) == 0);
		check("open to others", EACCES);
	}
	CHECK_STR("-", shm_left(), "");
	MUST(chmod(shm_directory(), 0700) == 0);
	fault_works(fault_open("fault"));
}

TEST(link)
{
	char target[80];

	shm_private("");
	snprintf(target, sizeof target, "%s-target", shm_directory());
	MUST(mkdir(target, 0700) == 0 && symlink(target, shm_directory()) == 0);
	check("a link", EACCES);
	CHECK_EQ("-", shm_count(target, ""), 0);
	MUST(unlink(shm_directory()) == 0);
	fault_works(fault_open("fault"));
}

TEST(file)
{
	shm_private("");
	MUST(close(open(shm_directory(), O_CREAT | O_WRONLY, 0600)) == 0);
	check("a file", EACCES);
	MUST(unlink(shm_directory()) == 0);
	fault_works(fault_open("fault"));
}

/* This user has no access to /dev/shm itself. */
TEST(forbidden)
{
	if (geteuid() != 0)
		SKIP("only root can close /dev/shm to somebody");
	shm_mounted("");
	MUST(chmod("/dev/shm", 0700) == 0);
	if (setgid(65534) < 0 || setuid(65534) < 0)
		SKIP("root cannot become somebody else here");
	check("forbidden", EACCES);
}

/* The directory is replaced while a stream is running: the stream continues. */
TEST(removed_later)
{
	trace_event_id_t id;
	trace_id_t trid;

	shm_mounted("");
	id = fault_open("fault");
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	posix_trace_event(id, NULL, 0);
	MUST(mount("other", "/dev/shm", "tmpfs", 0, "mode=1777") == 0);
	posix_trace_event(id, NULL, 0);
	CHECK("-", fault_open("another") != id);
	CHECK_EQ("-", fault_count(trid, id), 2);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	fault_silent(id);
	fault_works(id);
}

/* -- Squatters in the directory: other things under the names of our files ----------------------------- */

#define USER 65534

/* Things that may be in the place of our files. */
enum thing { LINK, DANGLING, QUEUE, DEVICE, FOLDER, EMPTY, SHORT, FOREIGN, OPEN_TO_OTHERS, HARD_LINK, SOCKET, THINGS };

static const char *const thing_name[THINGS] = {
	"a link", "a dangling link", "a queue", "a device", "a directory", "an empty file", "a short file",
	"somebody else's file", "a file open to others", "a hard link", "a socket",
};

/* A file that would be damaged if a link to it were followed. */
#define VICTIM "/dev/shm/victim"

static void make_victim(void)
{
	static char text[300000];
	int fd = open(VICTIM, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	memset(text, 'v', sizeof text);
	MUST(fd >= 0 && write(fd, text, sizeof text) == sizeof text);
	close(fd);
}

static bool victim_unharmed(void)
{
	static char text[300001];
	int fd = open(VICTIM, O_RDONLY);
	ssize_t n = read(fd, text, sizeof text);

	close(fd);
	for (ssize_t i = 0; i < n; i++)
		if (text[i] != 'v')
			return false;
	return n == 300000;
}

static void put(const char *directory, const char *name, enum thing thing, unsigned owner)
{
	char path[200], page[4096] = { 0 };
	int fd = -1;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	switch (thing) {
	case LINK:
		MUST(symlink(VICTIM, path) == 0);
		break;
	case DANGLING:
		MUST(symlink("/dev/shm/made-through-link", path) == 0);
		break;
	case QUEUE:
		MUST(mkfifo(path, 0600) == 0);
		break;
	case DEVICE:
		if (mknod(path, S_IFCHR | 0600, 5 << 8) < 0) /* a terminal; without the right to make one, a queue */
			MUST(mkfifo(path, 0600) == 0);
		break;
	case FOLDER:
		MUST(mkdir(path, 0700) == 0);
		break;
	case SOCKET:
		MUST(mknod(path, S_IFSOCK | 0600, 0) == 0);
		break;
	case HARD_LINK:
		MUST(link(VICTIM, path) == 0);
		break;
	default:
		fd = open(path, O_CREAT | O_EXCL | O_RDWR, 0600);
		MUST(fd >= 0);
		if (thing == SHORT)
			MUST(write(fd, page, 100) == 100);
		if (thing >= FOREIGN)
			MUST(ftruncate(fd, 1 << 20) == 0);
		if (thing == OPEN_TO_OTHERS)
			MUST(fchmod(fd, 0666) == 0);
		break;
	}
	if (owner && thing != HARD_LINK && thing != FOREIGN)
		MUST(lchown(path, owner, owner) == 0);
	if (thing == FOREIGN && geteuid() == 0)
		MUST(fchown(fd, owner ? 0 : USER, 0) == 0);
	if (fd >= 0)
		close(fd);
}

/* Finds the names of a process's page and registry, while they exist. */
static void names_of(const char *directory, char page[80], char names[80])
{
	DIR *d = opendir(directory);
	struct dirent *e;

	page[0] = names[0] = 0;
	MUST(d);
	while ((e = readdir(d))) {
		if (strncmp(e->d_name, "page-", 5) == 0)
			snprintf(page, 80, "%.79s", e->d_name);
		if (strncmp(e->d_name, "names-", 6) == 0)
			snprintf(names, 80, "%.79s", e->d_name);
	}
	closedir(d);
	MUST(page[0]);
}

static void clear_directory(const char *directory)
{
	char path[400];
	DIR *d = opendir(directory);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d))) {
		snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
		if (e->d_name[0] != '.' && unlink(path) < 0)
			rmdir(path);
	}
	closedir(d);
}

/* A process of this user that does nothing, or traces on demand. */
struct traced {
	pid_t pid;
	int to, from;
};

static struct traced traced_start(unsigned user)
{
	int to[2], from[2];
	struct traced t;
	char c;

	MUST(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	t.pid = fork();
	if (t.pid == 0) {
		close(to[1]);
		if (user)
			MUST(setgid(user) == 0 && setuid(user) == 0);
		MUST(write(from[1], "", 1) == 1);
		while (read(to[0], &c, 1) == 1) {
			for (int i = 0; i < 10; i++)
				posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, &i, sizeof i);
			MUST(write(from[1], "", 1) == 1);
		}
		_exit(test_failures ? 1 : 0);
	}
	close(to[0]);
	close(from[1]);
	t.to = to[1];
	t.from = from[0];
	MUST(t.pid > 0 && read(t.from, &c, 1) == 1);
	return t;
}

static void traced_traces(const struct traced *t)
{
	char c;

	MUST(write(t->to, "", 1) == 1 && read(t->from, &c, 1) == 1);
}

static void traced_end(const struct traced *t)
{
	int status;

	close(t->to);
	close(t->from);
	MUST(waitpid(t->pid, &status, 0) == t->pid);
	CHECK_EQ("-", status, 0);
}

/* Checks that create for a process is refused at once if a squatter is in the place of this file. */
static void check_squatted(const char *directory, const char *name, enum thing thing, unsigned owner, pid_t pid)
{
	trace_id_t trid = 4711;
	int descriptors = shm_descriptors(), error;
	char path[200];
	struct stat before, after;

	clear_directory(directory);
	make_victim();
	put(directory, name, thing, owner);
	snprintf(path, sizeof path, "%s/%s", directory, name);
	MUST(lstat(path, &before) == 0);
	error = posix_trace_create(pid, NULL, &trid);
	/* A queue of the right owner may be treated as an abandoned file: it is removed, and create succeeds. */
	if (lstat(path, &after) == 0 && before.st_ino == after.st_ino && thing != HARD_LINK && thing != EMPTY &&
	    thing != SHORT) {
		if (error <= 0)
			TEST_FAIL("-", "%s in the place of %s: error %d", thing_name[thing], name, error);
		CHECK_EQ("-", after.st_mode, before.st_mode);
		CHECK_EQ("-", after.st_uid, before.st_uid);
	}
	if (error == 0)
		CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	else
		CHECK_EQ("-", trid, 4711);
	if (error != 0 && error != EACCES && error != EINVAL && error != ENOMEM && error != EEXIST && error != EISDIR &&
	    error != ENXIO)
		TEST_FAIL("-", "%s in the place of %s: error %d", thing_name[thing], name, error);
	if (!victim_unharmed())
		TEST_FAIL("-", "%s in the place of %s: harm was done through it", thing_name[thing], name);
	CHECK("-", access("/dev/shm/made-through-link", F_OK) < 0);
	CHECK_EQ("-", shm_descriptors(), descriptors);
	/* Without the squatter create succeeds. */
	if (unlink(path) < 0)
		rmdir(path);
	error = posix_trace_create(pid, NULL, &trid);
	if (error)
		TEST_FAIL("-", "after %s in the place of %s: error %d", thing_name[thing], name, error);
	else
		CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

static void check_others_files(unsigned user)
{
	char directory[64], page[80], names[80];
	struct traced t;
	trace_id_t trid;

	shm_private("");
	snprintf(directory, sizeof directory, "/dev/shm/posixtrace-%u", user ? user : (unsigned)geteuid());
	t = traced_start(user);
	MUST(posix_trace_create(t.pid, NULL, &trid) == 0);
	names_of(directory, page, names);
	MUST(names[0]);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	alarm(60 * (unsigned)test_slow());
	for (int thing = 0; thing < THINGS; thing++) {
		if (thing == FOREIGN && geteuid() != 0)
			continue;
		check_squatted(directory, page, (enum thing)thing, user, t.pid);
		check_squatted(directory, names, (enum thing)thing, user, t.pid);
	}
	/* The process itself is unharmed, and can be traced. */
	clear_directory(directory);
	MUST(posix_trace_create(t.pid, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	traced_traces(&t);
	CHECK_EQ("-", fault_count(trid, POSIX_TRACE_UNNAMED_USEREVENT), 10);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	traced_end(&t);
}

TEST(files_of_another_process)
{
	check_others_files(0);
}

TEST(files_of_another_user)
{
	if (geteuid() != 0)
		SKIP("only root traces other users' processes");
	NEEDS_OTHERS();
	check_others_files(USER);
}

/* Squatters in the place of the process's own page and registry: trace points stay silent, create returns an error. */
TEST(own_files)
{
	char page[80], names[80];

	shm_private("");
	MUST(mkdir(shm_directory(), 0700) == 0);
	for (int thing = 0; thing < THINGS; thing++) {
		int status;
		pid_t pid;

		if (thing == FOREIGN && geteuid() != 0)
			continue;
		clear_directory(shm_directory());
		make_victim();
		pid = fork();
		if (pid == 0) {
			trace_id_t trid;
			int fd[2];

			/* The child's controller finds out which names it will have. */
			MUST(pipe(fd) == 0);
			if (fork() == 0) {
				MUST(posix_trace_create(getppid(), NULL, &trid) == 0);
				names_of(shm_directory(), page, names);
				MUST(posix_trace_shutdown(trid) == 0);
				MUST(write(fd[1], page, sizeof page) == sizeof page &&
				     write(fd[1], names, sizeof names) == sizeof names);
				exit(0);
			}
			MUST(read(fd[0], page, sizeof page) == sizeof page &&
			     read(fd[0], names, sizeof names) == sizeof names);
			wait(&status);
			clear_directory(shm_directory());
			put(shm_directory(), page, (enum thing)thing, 0);
			put(shm_directory(), names, (enum thing)thing, 0);
			alarm(20 * (unsigned)test_slow());
			fault_trace(&(trace_event_id_t){ POSIX_TRACE_UNNAMED_USEREVENT });
			status = posix_trace_create(0, NULL, &trid);
			if (status == 0 && (thing == LINK || thing == DANGLING || thing == FOLDER || thing == FOREIGN ||
			                    thing == OPEN_TO_OTHERS))
				TEST_FAIL("-", "%s was believed", thing_name[thing]);
			CHECK("-", fault_open("squatted") >= POSIX_TRACE_UNNAMED_USEREVENT);
			clear_directory(shm_directory());
			fault_works(fault_open("fault"));
			exit(test_failures ? 1 : 0);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		if (status)
			TEST_FAIL("-", "%s: status %#x", thing_name[thing], status);
		CHECK("-", victim_unharmed());
		CHECK("-", access("/dev/shm/made-through-link", F_OK) < 0);
	}
}

/* Checks squatters under names of streams and new files: create removes what it may, and ignores the rest. */
static void check_other_names(unsigned user)
{
	static const char *const name[] = { "stream-1-2-3", "new-1-2-3", "page-1-2-3", "names-1-2-3" };
	struct traced t;
	char directory[64];
	trace_id_t trid;

	shm_private("");
	snprintf(directory, sizeof directory, "/dev/shm/posixtrace-%u", user ? user : (unsigned)geteuid());
	t = traced_start(user);
	MUST(posix_trace_create(t.pid, NULL, &trid) == 0 && posix_trace_shutdown(trid) == 0);
	for (unsigned k = 0; k < sizeof name / sizeof name[0]; k++) {
		for (int thing = 0; thing < THINGS; thing++) {
			char path[200];

			if (thing == FOREIGN && geteuid() != 0)
				continue;
			/* A user who links an own file under a stream's name has declared it a stream. */
			if (thing == HARD_LINK && !user)
				continue;
			make_victim();
			put(directory, name[k], (enum thing)thing, user);
			alarm(30 * (unsigned)test_slow());
			MUST(posix_trace_create(t.pid, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
			traced_traces(&t);
			CHECK_EQ("-", fault_count(trid, POSIX_TRACE_UNNAMED_USEREVENT), 10);
			CHECK_EQ("-", posix_trace_shutdown(trid), 0);
			snprintf(path, sizeof path, "%s/%s", directory, name[k]);
			if (unlink(path) < 0)
				rmdir(path);
			if (!victim_unharmed())
				TEST_FAIL("-", "%s in the place of %s: harm was done through it", thing_name[thing],
				          name[k]);
		}
	}
	CHECK("-", access("/dev/shm/made-through-link", F_OK) < 0);
	traced_end(&t);
}

TEST(other_names)
{
	check_other_names(0);
}

TEST(other_names_of_another_user)
{
	if (geteuid() != 0)
		SKIP("only root traces other users' processes");
	NEEDS_OTHERS();
	check_other_names(USER);
}

/* The traced process is to map a stream whose file a squatter has replaced: nothing is recorded, and no call hangs. */
TEST(stream_replaced)
{
	struct traced t;

	shm_private("");
	t = traced_start(0);
	for (int thing = 0; thing < THINGS; thing++) {
		char path[400], stream[80] = "";
		trace_id_t trid;
		struct dirent *e;
		DIR *d;

		if ((thing == FOREIGN && geteuid() != 0) || thing == HARD_LINK)
			continue;
		make_victim();
		MUST(posix_trace_create(t.pid, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
		d = opendir(shm_directory());
		while ((e = readdir(d)))
			if (strncmp(e->d_name, "stream-", 7) == 0)
				snprintf(stream, sizeof stream, "%.79s", e->d_name);
		closedir(d);
		snprintf(path, sizeof path, "%s/%s", shm_directory(), stream);
		MUST(unlink(path) == 0);
		put(shm_directory(), stream, (enum thing)thing, 0);
		alarm(30 * (unsigned)test_slow());
		traced_traces(&t);
		CHECK_EQ("-", fault_count(trid, POSIX_TRACE_UNNAMED_USEREVENT), 0);
		CHECK_EQ("-", posix_trace_shutdown(trid), 0);
		if (unlink(path) < 0)
			rmdir(path);
		if (!victim_unharmed())
			TEST_FAIL("-", "%s: harm was done through it", thing_name[thing]);
	}
	traced_end(&t);
}

/* -- Another user's directory ------------------------------------------------------------------------------ */

static void check_refused(pid_t pid, const char *what, const char *target)
{
	trace_id_t trid = 4711;
	int descriptors = shm_descriptors(), error;

	alarm(30 * (unsigned)test_slow());
	error = posix_trace_create(pid, NULL, &trid);
	if (error != EACCES)
		TEST_FAIL("-", "%s: error %d, not EACCES", what, error);
	CHECK_EQ("-", trid, 4711);
	CHECK_EQ("-", shm_descriptors(), descriptors);
	if (target)
		CHECK_EQ("-", shm_count(target, ""), 0);
}

TEST(directory_of_another_user)
{
	static const unsigned mode[] = { 0777, 0755, 0710, 0702, 01777 };
	const char *path = "/dev/shm/posixtrace-65534";
	struct traced t;
	trace_id_t trid;
	struct stat st;

	if (geteuid() != 0)
		SKIP("only root traces other users' processes");
	NEEDS_OTHERS();
	shm_private("");
	t = traced_start(USER);
	/* Made by a third user. */
	MUST(mkdir(path, 0700) == 0 && chown(path, 65533, 65533) == 0);
	check_refused(t.pid, "somebody else's", path);
	MUST(chown(path, 0, 0) == 0);
	check_refused(t.pid, "root's own", path);
	MUST(chown(path, USER, USER) == 0);
	for (unsigned i = 0; i < sizeof mode / sizeof mode[0]; i++) {
		MUST(chmod(path, mode[i]) == 0);
		check_refused(t.pid, "open to others", path);
		MUST(stat(path, &st) == 0);
		CHECK_EQ("-", st.st_mode & 07777, mode[i]);
	}
	MUST(rmdir(path) == 0 && mkdir("/dev/shm/target", 0700) == 0 && chown("/dev/shm/target", USER, USER) == 0);
	MUST(symlink("/dev/shm/target", path) == 0 && lchown(path, USER, USER) == 0);
	check_refused(t.pid, "a link", "/dev/shm/target");
	MUST(unlink(path) == 0 && symlink("/nowhere", path) == 0);
	check_refused(t.pid, "a dangling link", NULL);
	MUST(unlink(path) == 0 && mkfifo(path, 0700) == 0 && chown(path, USER, USER) == 0);
	check_refused(t.pid, "a queue", NULL);
	MUST(unlink(path) == 0 && close(open(path, O_CREAT | O_WRONLY, 0700)) == 0 && chown(path, USER, USER) == 0);
	check_refused(t.pid, "a file", NULL);
	MUST(unlink(path) == 0 && mknod(path, S_IFCHR | 0700, 5 << 8) == 0 && chown(path, USER, USER) == 0);
	check_refused(t.pid, "a device", NULL);
	MUST(unlink(path) == 0);
	MUST(posix_trace_create(t.pid, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	traced_traces(&t);
	CHECK_EQ("-", fault_count(trid, POSIX_TRACE_UNNAMED_USEREVENT), 10);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	traced_end(&t);
}

/* Enters a namespace with its own /dev, in which a link leads out of the directory, as its controller would see it. */
static void unshare_and_squat(int way)
{
	shm_namespace();
	MUST(mount("test", "/dev", "tmpfs", 0, "mode=755") == 0);
	if (way == 0)
		MUST(symlink("/tmp", "/dev/shm") == 0);
	else if (way == 1)
		MUST(mkdir("/dev/shm", 01777) == 0 && symlink("/tmp", "/dev/shm/posixtrace-65534") == 0);
	else
		MUST(mkfifo("/dev/shm", 0777) == 0);
	MUST(setgid(USER) == 0 && setuid(USER) == 0);
}

TEST(through_a_root)
{
	if (geteuid() != 0)
		SKIP("only root traces other users' processes");
	NEEDS_OTHERS();
	shm_mounted("");
	for (int way = 0; way < 3; way++) {
		int fd[2];
		pid_t pid;
		char c;

		MUST(pipe2(fd, O_CLOEXEC) == 0);
		pid = fork();
		if (pid == 0) {
			unshare_and_squat(way);
			MUST(write(fd[1], "", 1) == 1);
			for (;;)
				pause();
		}
		MUST(read(fd[0], &c, 1) == 1);
		check_refused(pid,
		              way == 0   ? "/dev/shm is a link"
		              : way == 1 ? "the directory is a link"
		                         : "/dev/shm is a queue",
		              NULL);
		CHECK_EQ("-", shm_count("/tmp", "posixtrace"), 0);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(fd[0]);
		close(fd[1]);
	}
}

/* The directory was removed: the next create makes it again, for the process itself and for another one. */
TEST(removed_meanwhile)
{
	struct traced t;
	trace_event_id_t id;
	trace_id_t trid;

	shm_private("");
	id = fault_open("fault");
	fault_works(id);
	t = traced_start(0);
	clear_directory(shm_directory());
	MUST(rmdir(shm_directory()) == 0);
	CHECK_EQ("-", posix_trace_create(t.pid, NULL, &trid), 0);
	CHECK_EQ("-", posix_trace_start(trid), 0);
	traced_traces(&t);
	CHECK_EQ("-", fault_count(trid, POSIX_TRACE_UNNAMED_USEREVENT), 10);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	clear_directory(shm_directory());
	MUST(rmdir(shm_directory()) == 0);
	fault_works(id);
	traced_end(&t);
}

TEST_MAIN(TEST_ENTRY(no_dev_shm), TEST_ENTRY(read_only), TEST_ENTRY(read_only_later), TEST_ENTRY(foreign),
          TEST_ENTRY(displaced_directory), TEST_ENTRY(displaced_link), TEST_ENTRY(displaced_queue),
          TEST_ENTRY(not_displaced),
          TEST_ENTRY(open_to_others), TEST_ENTRY(link), TEST_ENTRY(file), TEST_ENTRY(forbidden),
          TEST_ENTRY(removed_later), TEST_ENTRY(files_of_another_process), TEST_ENTRY(files_of_another_user),
          TEST_ENTRY(own_files), TEST_ENTRY(other_names), TEST_ENTRY(other_names_of_another_user),
          TEST_ENTRY(stream_replaced), TEST_ENTRY(directory_of_another_user), TEST_ENTRY(through_a_root),
          TEST_ENTRY(removed_meanwhile))
