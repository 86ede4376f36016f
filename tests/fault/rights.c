/*
 * rights.c - processes that have, or can get, more rights than the user whose files they would use
 *
 * None of them records into memory that this user can write to: a set-user-ID program does not use its caller's files,
 * nor does a program that has dropped its rights temporarily, nor do root's processes use another user's files.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/auxv.h>

#include "other.h"

#define NOBODY  65534u
static char programs[64] = "/dev/shm/programs";
static char program_path[80]; /* a copy of this program, with the mode that a test needs */

/* The leak check at exit may not look into such programs. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static void become_nobody(const void *arg)
{
	MUST(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
	MUST(prctl(PR_SET_DUMPABLE, 1) == 0);
}

static int files_of(unsigned uid)
{
	char path[64];
	int n;

	snprintf(path, sizeof path, "/dev/shm/posixtrace-%u", uid);
	n = shm_count(path, "");
	return n < 0 ? 0 : n;
}

static void outside(void)
{
	if (geteuid() != 0)
		SKIP("only root can make set-user-ID programs");
	shm_private("");
}

/* Opens a name and calls trace points. */
static void trace(void)
{
	trace_event_id_t id = fault_open("rights");

	for (int i = 0; i < 10; i++)
		posix_trace_event(id, &i, sizeof i);
}

/* -- A program with rights that its caller lacks ----------------------------------- */

static pid_t installer;

static void uninstall(void)
{
	if (getpid() == installer) {
		unlink(program_path);
		rmdir(programs);
	}
}

static void install(unsigned uid, unsigned gid, unsigned mode)
{
	static char block[65536];
	int from, to;
	long n;

	MUST(mkdir(programs, 0755) == 0);
	/* Such programs have no effect on a /dev/shm mounted with nosuid. */
	if (mount("test", programs, "tmpfs", 0, "mode=755") < 0) {
		MUST(rmdir(programs) == 0);
		strcpy(programs, "/tmp/posixtrace-rights-XXXXXX");
		MUST(mkdtemp(programs) && chmod(programs, 0755) == 0);
		installer = getpid();
		atexit(uninstall);
	}
	snprintf(program_path, sizeof program_path, "%s/rights", programs);
	from = open("/proc/self/exe", O_RDONLY);
	to = open(program_path, O_CREAT | O_WRONLY, 0700);
	MUST(from >= 0 && to >= 0);
	while ((n = read(from, block, sizeof block)) > 0)
		MUST(write(to, block, (size_t)n) == n);
	MUST(fchown(to, uid, gid) == 0 && fchmod(to, mode) == 0);
	close(from);
	close(to);
}

struct program {
	pid_t pid;
	int in, out;
};

/* Runs the program as this user. Returns after the program has done its work and waits. */
static struct program run(unsigned uid, const char *how)
{
	struct program p;
	int in[2], out[2];
	char c = 0;

	MUST(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	p.pid = fork();
	if (p.pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (uid)
			MUST(setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0);
		execl(program_path, program_path, "--program", how, (char *)NULL);
		_exit(97);
	}
	close(in[0]);
	close(out[1]);
	p.in = in[1];
	p.out = out[0];
	if (read(p.out, &c, 1) != 1)
		TEST_FAIL("-", "%s does not run", how);
	if (c == 's')
		SKIP("set-user-ID programs have no effect here");
	return p;
}

static void finish(struct program *p)
{
	int status;

	close(p->in);
	close(p->out);
	MUST(waitpid(p->pid, &status, 0) == p->pid);
	CHECK_EQ("-", status, 0);
}

/* Runs the program's part. Returns the exit status. */
static int program(const char *how)
{
	uid_t real = getuid(), effective = geteuid();
	char c = 'r';

	if (!getauxval(AT_SECURE))
		c = 's';
	if (strcmp(how, "dropped") == 0)
		MUST(seteuid(real) == 0);
	trace();
	if (strcmp(how, "dropped") == 0) {
		trace_id_t trid;

		/* A call returns an error. */
		CHECK_EQ("SEC-1", posix_trace_create(0, NULL, &trid), EPERM);
		CHECK_EQ("SEC-1", files_of(real), 0);
		MUST(seteuid(effective) == 0);
		trace();
		CHECK_EQ("-", posix_trace_create(0, NULL, &trid), 0);
		posix_trace_shutdown(trid);
	}
	MUST(write(1, &c, 1) == 1);
	while (read(0, &c, 1) > 0)
		;
	return test_failures ? 1 : 0;
}

static long task_create(const void *pid)
{
	trace_id_t trid;
	int error = posix_trace_create(*(const pid_t *)pid, NULL, &trid);

	if (error == 0)
		posix_trace_shutdown(trid);
	return error;
}

static int create_as_nobody(pid_t pid)
{
	struct other o = other_start(become_nobody, NULL);
	int error = (int)other_do(&o, task_create, &pid, sizeof pid);

	other_end(&o);
	return error;
}

TEST(set_user_id)
{
	struct program p;

	outside();
	install(0, 0, 04755);
	p = run(NOBODY, "plain");
	CHECK_EQ("SEC-1", files_of(NOBODY), 0);
	CHECK_EQ("SEC-1", create_as_nobody(p.pid), EPERM);
	CHECK_EQ("SEC-1", files_of(NOBODY), 0);
	finish(&p);
}

/* The program has dropped its rights temporarily. */
TEST(set_user_id_dropped)
{
	struct program p;

	outside();
	install(0, 0, 04755);
	p = run(NOBODY, "dropped");
	CHECK_EQ("SEC-1", files_of(NOBODY), 0);
	CHECK_EQ("SEC-1", create_as_nobody(p.pid), EPERM);
	finish(&p);
	CHECK_EQ("SEC-1", files_of(NOBODY), 0);
}

/* The same user, with the rights of a group that the user is not in. */
TEST(set_group_id)
{
	struct program p;

	outside();
	install(0, 4242, 02755);
	p = run(NOBODY, "plain");
	CHECK_EQ("SEC-1", files_of(NOBODY), 0);
	CHECK_EQ("SEC-1", create_as_nobody(p.pid), EPERM);
	finish(&p);
}

/* Root runs a program of nobody: it can become root again. */
TEST(run_by_root)
{
	struct program p;

	outside();
	install(NOBODY, NOBODY, 04755);
	p = run(0, "plain");
	CHECK_EQ("SEC-1", files_of(NOBODY), 0);
	CHECK_EQ("SEC-1", create_as_nobody(p.pid), EPERM);
	finish(&p);
}

/* Root may trace it. */
TEST(traced_by_root)
{
	struct program p;
	trace_id_t trid;

	outside();
	NEEDS_OTHERS();
	install(0, 0, 04755);
	p = run(NOBODY, "plain");
	CHECK_EQ("-", posix_trace_create(p.pid, NULL, &trid), 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	finish(&p);
}

/* -- Root, temporarily another user -------------------------------------------------- */

static void for_a_while(uid_t real, uid_t effective, uid_t saved)
{
	int status, files = files_of(NOBODY);
	pid_t pid = fork();

	if (pid == 0) {
		trace_id_t trid;

		test_failures = 0;
		MUST(setresuid(real, effective, saved) == 0);
		trace();
		CHECK_EQ("SEC-1", posix_trace_create(0, NULL, &trid), EPERM);
		trace();
		CHECK_EQ("SEC-1", files_of(NOBODY), files);
		_exit(test_failures ? 1 : 0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	if (status)
		TEST_FAIL("SEC-1", "real %d, effective %d, saved %d", (int)real, (int)effective, (int)saved);
}

TEST(root_for_a_while)
{
	outside();
	for_a_while(0, NOBODY, 0); /* seteuid() */
	for_a_while(0, NOBODY, NOBODY); /* setreuid(-1, nobody); the real user id allows the return */
	for_a_while(NOBODY, NOBODY, 0);
}

/* -- Files forged for root's process -------------------------------------------------- */

struct forged {
	char page[64], names[64];
};

static long task_forge(const void *arg)
{
	static const char directory[] = "/dev/shm/posixtrace-65534";
	const struct forged *f = arg;
	trace_id_t trid;
	trace_attr_t attr;
	int unavailable;
	struct posix_trace_event_info info;
	size_t length;
	struct dirent *e;
	DIR *d;

	MUST(posix_trace_attr_init(&attr) == 0);
	posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED);
	MUST(posix_trace_create(0, &attr, &trid) == 0 && posix_trace_start(trid) == 0);
	d = opendir(directory);
	MUST(d);
	while ((e = readdir(d))) {
		if (strncmp(e->d_name, "page-", 5) == 0)
			MUST(linkat(dirfd(d), e->d_name, dirfd(d), f->page, 0) == 0);
		else if (strncmp(e->d_name, "names-", 6) == 0)
			MUST(linkat(dirfd(d), e->d_name, dirfd(d), f->names, 0) == 0);
	}
	closedir(d);
	usleep(300000); /* meanwhile root's process traces */
	do {
		MUST(posix_trace_trygetnext_event(trid, &info, NULL, 0, &length, &unavailable) == 0);
		if (!unavailable && info.posix_pid != getpid())
			TEST_FAIL("SEC-5", "an event of process %d", (int)info.posix_pid);
	} while (!unavailable);
	return posix_trace_shutdown(trid);
}

TEST(forged)
{
	struct forged f;
	struct other o;
	struct dirent *e;
	trace_id_t trid;
	DIR *d;
	int64_t end;

	outside();
	trace();
	MUST(posix_trace_create(0, NULL, &trid) == 0);
	memset(&f, 0, sizeof f);
	d = opendir(shm_directory());
	MUST(d);
	while ((e = readdir(d))) {
		if (strncmp(e->d_name, "page-", 5) == 0)
			snprintf(f.page, sizeof f.page, "%.63s", e->d_name);
		else if (strncmp(e->d_name, "names-", 6) == 0)
			snprintf(f.names, sizeof f.names, "%.63s", e->d_name);
	}
	closedir(d);
	MUST(f.page[0] && f.names[0]);
	o = other_start(become_nobody, NULL);
	other_tell(&o, task_forge, &f, sizeof f);
	end = other_now() + 400000000;
	while (other_now() < end) {
		trace();
		usleep(1000);
	}
	CHECK_EQ("-", other_result(&o), 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	other_end(&o);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST_ENTRY(set_user_id),    TEST_ENTRY(set_user_id_dropped),
		TEST_ENTRY(set_group_id),   TEST_ENTRY(run_by_root),
		TEST_ENTRY(traced_by_root), TEST_ENTRY(root_for_a_while),
		TEST_ENTRY(forged),         { NULL, NULL },
	};

	if (argc > 2 && strcmp(argv[1], "--program") == 0)
		return program(argv[2]);
	return test_main(tests, argc, argv);
}
