/*
 * changes.c - sequences of users: nothing is lost, recorded twice, or left to a user with fewer rights
 *
 * SPDX-License-Identifier: MIT
 */
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include "fork.h"
#include "other.h"
#include "shm/layout.h"

#define USER  65534u
#define THIRD 65533u

static void outside(void)
{
	if (geteuid() != 0)
		SKIP("only root can become other users");
	shm_private("");
}

/* Changes all user ids and keeps the right to change them again. */
static void become(unsigned uid)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	MUST(prctl(PR_SET_KEEPCAPS, 1) == 0 && syscall(SYS_setresuid, uid, uid, uid) == 0);
	MUST(syscall(SYS_capget, &header, data) == 0);
	data[0].effective = data[0].permitted;
	MUST(syscall(SYS_capset, &header, data) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
}

static void become_for_good(unsigned uid)
{
	MUST(setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
}

static trace_id_t start_stream(pid_t pid, int inheritance)
{
	trace_attr_t attr;
	trace_id_t trid;

	posix_trace_attr_init(&attr);
	posix_trace_attr_setinherited(&attr, inheritance);
	MUST(posix_trace_create(pid, &attr, &trid) == 0 && posix_trace_start(trid) == 0);
	return trid;
}

/* -- Each event once -------------------------------------------------------------------------- */

#define STEPS 7

static trace_id_t own[3];

/* Becomes the user and records an event. */
static long task_step(const void *user)
{
	unsigned uid;

	memcpy(&uid, user, sizeof uid);
	become(uid);
	posix_trace_event(fault_open("once"), NULL, 0);
	return (long)fault_open("once");
}

static long task_create(const void *number)
{
	int n;

	memcpy(&n, number, sizeof n);
	own[n] = start_stream(0, n == 0 ? POSIX_TRACE_INHERITED : POSIX_TRACE_CLOSE_FOR_CHILD);
	return 0;
}

static long task_shutdown(const void *number)
{
	int n;

	memcpy(&n, number, sizeof n);
	return posix_trace_shutdown(own[n]);
}

static long task_count(const void *number)
{
	int n;

	memcpy(&n, number, sizeof n);
	return fault_count(own[n], fault_open("once"));
}

/*
 * Events of a process that becomes other users, and returns to those it was, are recorded once in each stream: in its
 * own ones from before and after the first change, and in one of root's, which keeps the process's first page.
 */
TEST(each_event_once)
{
	static const unsigned user[][STEPS] = {
		{ USER, 0, USER, 0, USER, 0, USER },
		{ USER, THIRD, 0, THIRD, USER, 0, 0 },
		{ USER, USER, 0, 0, THIRD, THIRD, 0 },
	};
	static const unsigned root = 0;
	static const int number[] = { 0, 1, 2 };

	outside();
	for (unsigned i = 0; i < sizeof user / sizeof user[0]; i++) {
		struct other o = other_start(NULL, NULL);
		trace_event_id_t id = (trace_event_id_t)other_do(&o, task_step, &root, sizeof root);
		trace_id_t first, trid;

		other_do(&o, task_create, &number[0], sizeof number[0]);
		first = start_stream(o.pid, POSIX_TRACE_CLOSE_FOR_CHILD);
		trid = start_stream(o.pid, POSIX_TRACE_CLOSE_FOR_CHILD);
		other_do(&o, task_create, &number[1], sizeof number[1]);
		other_do(&o, task_step, &root, sizeof root); /* maps the streams */
		for (int k = 0; k < STEPS; k++) {
			CHECK_EQ("-", other_do(&o, task_step, &user[i][k], sizeof user[i][k]), id);
			/* Further streams get slots in the page that is new then, which the first one has had. */
			if (k == 0) {
				CHECK_EQ("SHUT-10", other_do(&o, task_shutdown, &number[0], sizeof number[0]), 0);
				CHECK_EQ("SHUT-10", posix_trace_shutdown(first), 0);
				other_do(&o, task_create, &number[0], sizeof number[0]);
				other_do(&o, task_create, &number[2], sizeof number[2]);
			}
		}
		CHECK_EQ("MODEL-5", fault_count(trid, id), STEPS + 1);
		CHECK_EQ("MODEL-5", other_do(&o, task_count, &number[0], sizeof number[0]), STEPS - 1);
		CHECK_EQ("MODEL-5", other_do(&o, task_count, &number[1], sizeof number[1]), STEPS + 1);
		CHECK_EQ("MODEL-5", other_do(&o, task_count, &number[2], sizeof number[2]), STEPS - 1);
		CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
		CHECK_EQ("SHUT-10", other_do(&o, task_shutdown, &number[1], sizeof number[1]), 0);
		other_do(&o, task_step, &user[i][STEPS - 1], sizeof root);
		CHECK_EQ("MODEL-5", other_do(&o, task_count, &number[0], sizeof number[0]), 1);
		CHECK_EQ("MODEL-5", other_do(&o, task_count, &number[2], sizeof number[2]), 1);
		if (test_failures)
			fprintf(stderr, "  ... in sequence %u\n", i);
		other_kill(&o);
	}
}

/* -- Rights that come back -------------------------------------------------------------------- */

/* A child that was forked while its parent had fewer rights is traced as soon as it has them again and opens a name. */
TEST(rights_come_back)
{
	trace_event_id_t id;
	trace_id_t trid;
	int status;
	pid_t pid;

	outside();
	id = fault_open("a");
	trid = start_stream(0, POSIX_TRACE_INHERITED);
	posix_trace_event(id, NULL, 0);
	MUST(seteuid(USER) == 0);
	pid = fork();
	if (pid == 0) {
		posix_trace_event(fault_open("b"), NULL, 0); /* not recorded: it is not root's */
		MUST(seteuid(0) == 0);
		posix_trace_event(fault_open("c"), NULL, 0);
		posix_trace_event(fault_open("a"), NULL, 0);
		_exit(test_failures ? 1 : 0);
	}
	MUST(seteuid(0) == 0);
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK_EQ("INH-1", fault_open("b"), id + 1);
	CHECK_EQ("INH-1", fault_open("c"), id + 2);
	CHECK_EQ("INH-1", fault_count(trid, id), 2);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			posix_trace_event(fault_open("c"), NULL, 0);
		_exit(0);
	}
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK_EQ("INH-1", fault_count(trid, id + 2), 3);
	CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
}

struct named {
	pid_t pid;
	trace_event_id_t id;
};

/* Traces a process, and returns whether the id has this name there. */
static long task_name(const void *arg)
{
	char name[TRACE_EVENT_NAME_MAX + 1] = "";
	struct named n;
	trace_id_t trid;

	memcpy(&n, arg, sizeof n);
	trid = start_stream(n.pid, POSIX_TRACE_INHERITED);
	posix_trace_eventid_get_name(trid, n.id, name);
	MUST(posix_trace_shutdown(trid) == 0);
	return strcmp(name, "after") == 0;
}

/* A process that comes to its first trace call with fewer rights is traced, with its names, when it has them again. */
TEST(first_call_with_fewer)
{
	trace_event_id_t before;
	trace_id_t trid;
	struct named n = { getpid(), 0 };
	struct other o;

	outside();
	NEEDS_OTHERS(); /* this process is not dumpable after seteuid() */
	o = other_start(NULL, NULL);
	MUST(seteuid(USER) == 0);
	before = fault_open("before");
	posix_trace_event(before, NULL, 0);
	MUST(seteuid(0) == 0);
	trid = start_stream(0, POSIX_TRACE_INHERITED);
	n.id = fault_open("after");
	CHECK("-", n.id != before);
	posix_trace_event(before, NULL, 0);
	posix_trace_event(n.id, NULL, 0);
	CHECK_EQ("MODEL-5", fault_count(trid, n.id), 1);
	CHECK_EQ("MODEL-5", other_do(&o, task_name, &n, sizeof n), 1);
	n.id = before;
	CHECK_EQ("MODEL-5", other_do(&o, task_name, &n, sizeof n), 0);
	CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
	other_kill(&o);
}

/* -- Names that threads open meanwhile -------------------------------------------------------- */

#define MOVE_THREADS 8
#define MOVE_NAMES   6
#define MOVE_ROUNDS  40

static pthread_barrier_t all_ready;

/* Opens names, and records one event of each with its name as the data. */
static void *open_and_record(void *number)
{
	pthread_barrier_wait(&all_ready);
	for (int i = 0; i < MOVE_NAMES; i++) {
		char name[32];

		snprintf(name, sizeof name, "of thread %d.%d", (int)(intptr_t)number, i);
		posix_trace_event(fault_open(name), name, strlen(name));
	}
	return NULL;
}

static long task_threads(const void *arg)
{
	pthread_t thread[MOVE_THREADS];

	(void)arg;
	posix_trace_event(fault_open("of root"), "of root", strlen("of root"));
	become_for_good(USER);
	MUST(pthread_barrier_init(&all_ready, NULL, MOVE_THREADS) == 0);
	for (int i = 0; i < MOVE_THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, open_and_record, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < MOVE_THREADS; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	return 0;
}

/* Threads that open names while the first of them finds out that the process is another user: each keeps its id. */
TEST(names_opened_meanwhile)
{
	char name[TRACE_EVENT_NAME_MAX + 1], data[64];
	struct posix_trace_event_info event;
	int unavailable, right, wrong;
	size_t length;

	outside();
	NEEDS_OTHERS();
	for (int round = 0; round < MOVE_ROUNDS; round++) {
		struct other o = other_start(NULL, NULL);
		trace_id_t trid = start_stream(o.pid, POSIX_TRACE_CLOSE_FOR_CHILD);

		other_do(&o, task_threads, NULL, 0);
		right = wrong = 0;
		for (;;) {
			MUST(posix_trace_trygetnext_event(trid, &event, data, sizeof data, &length, &unavailable) == 0);
			if (unavailable)
				break;
			if (event.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT)
				continue;
			name[0] = 0;
			posix_trace_eventid_get_name(trid, event.posix_event_id, name);
			if (strlen(name) == length && memcmp(name, data, length) == 0)
				right++;
			else
				wrong++;
		}
		CHECK_EQ("-", right, 1 + MOVE_THREADS * MOVE_NAMES);
		CHECK_EQ("-", wrong, 0);
		MUST(posix_trace_shutdown(trid) == 0);
		other_kill(&o);
	}
}

/* -- A filter --------------------------------------------------------------------------------- */

/* Refuses to open files, and kills a process that asks for its user ids, as sshd's filter does before the login. */
static void filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getresuid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof code / sizeof code[0], code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		SKIP("no seccomp filters here");
}

/* A daemon's child becomes a user, installs its filter, and only then records. It lives, and nothing is lost untold. */
TEST(filtered_as_another_user)
{
	trace_id_t trid;
	pid_t pid;
	int status = -1;

	outside();
	trid = start_stream(0, POSIX_TRACE_INHERITED);
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "root", 4);
	pid = fork();
	if (pid == 0) {
		posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "root", 4);
		become_for_good(USER);
		filter();
		for (int i = 0; i < 100; i++)
			posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "user", 4);
		_exit(test_failures != 0);
	}
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", status, 0);
	MUST(posix_trace_shutdown(trid) == 0);
}

/* -- What a child with fewer rights keeps ----------------------------------------------------- */

/* Returns the number of mappings of root's files, of this kind, that this process can write to or make writable. */
static int open_to_writing(const char *kind)
{
	unsigned long from, to;
	char line[600], rights[8];
	FILE *f = fopen("/proc/self/maps", "r");
	int n = 0;

	MUST(f);
	while (fgets(line, sizeof line, f))
		if (strstr(line, "/posixtrace-0/") && strstr(line, kind) &&
		    sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3)
			n += rights[1] == 'w' || mprotect((void *)from, 4096, PROT_READ | PROT_WRITE) == 0;
	fclose(f);
	return n;
}

/*
 * A child that becomes another user, before its first trace call or after it, cannot write to its parent's names. It
 * knows them, and opens further ones.
 */
TEST(names_of_the_parent)
{
	trace_event_id_t id;
	trace_id_t trid;
	int status;

	outside();
	id = fault_open("parents");
	trid = start_stream(0, POSIX_TRACE_INHERITED);
	for (int how = 0; how < 6; how++) {
		bool by_clone = how & 1;
		pid_t pid = by_clone ? fork_clone() : fork();

		MUST(pid >= 0);
		if (pid == 0) {
			/* Traces as root first; or also opens a name. */
			if (how >= 2)
				posix_trace_event(id, NULL, 0);
			if (how >= 4)
				CHECK_EQ("-", fault_open("parents"), id);
			become_for_good(USER);
			if (how < 2)
				CHECK_EQ("SEC-1", open_to_writing("/names-"), 0);
			posix_trace_event(id, NULL, 0);
			CHECK_EQ("-", fault_open("parents"), id);
			CHECK("-", fault_open("childs") > id);
			CHECK_EQ("SEC-1", open_to_writing("/names-"), 0);
			CHECK_EQ("SEC-1", open_to_writing("/page-"), 0);
			if (test_failures)
				fprintf(stderr, "  ... in way %d\n", how);
			_exit(test_failures ? 1 : 0);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		CHECK_EQ("SEC-1", status, 0);
	}
	CHECK_EQ("-", fault_open("parents"), id);
	CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
}

static volatile int forks, calls;

/* Forks a child that returns from the handler. */
static void fork_here(int signal)
{
	(void)signal;
	if (forks < 200 && fork_underscore() == 0)
		forks = -1000000;
	forks++;
}

/* A child that a handler forks in the middle of a call on names goes on in it. */
TEST(forked_among_names)
{
	struct itimerval timer = { { 0, 300 }, { 0, 300 } };
	char name[32];
	trace_event_id_t id = 0;
	trace_id_t trid;
	int status;

	shm_private("");
	trid = start_stream(0, POSIX_TRACE_INHERITED);
	MUST(signal(SIGALRM, fork_here) != SIG_ERR && setitimer(ITIMER_REAL, &timer, NULL) == 0);
	for (calls = 0; forks >= 0 && forks < 200; calls++) {
		snprintf(name, sizeof name, "name %d", calls % 3000);
		posix_trace_eventid_open(name, &id);
	}
	if (forks < 0)
		_exit(posix_trace_eventid_open("child", &id) == 0 ? 0 : 1);
	timer = (struct itimerval){ { 0, 0 }, { 0, 0 } };
	setitimer(ITIMER_REAL, &timer, NULL);
	while (waitpid(-1, &status, 0) > 0)
		CHECK_EQ("-", status, 0);
	CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
}

/* -- What a controller writes ------------------------------------------------------------------ */

/* Maps a file of the process's own under the name of a page that it had as another user. Returns its address. */
static long task_forge(const void *arg)
{
	char path[300];
	struct procpage *page;
	struct stat st;
	int fd;

	(void)arg;
	MUST(mkdir("/dev/shm/forged", 0777) == 0 && mkdir("/dev/shm/forged/posixtrace-9", 0777) == 0);
	MUST(stat("/proc/self/ns/pid", &st) == 0);
	snprintf(path, sizeof path, "/dev/shm/forged/posixtrace-9/page-%d-%llu-%u", getpid(),
	         (unsigned long long)process_started("/proc/self/stat"), (unsigned)st.st_ino);
	fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
	MUST(fd >= 0 && ftruncate(fd, 65536) == 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(page != MAP_FAILED);
	close(fd);
	return (long)page;
}

static long task_changed(const void *arg)
{
	const struct procpage *page;
	static const struct procpage empty;

	memcpy(&page, arg, sizeof page);
	return memcmp(page, &empty, 4096) != 0;
}

static void become_user(const void *arg)
{
	(void)arg;
	become_for_good(USER);
}

/* Root writes nothing into the memory of a process that maps something under the name of one of our pages. */
TEST(forged_page)
{
	struct other o;
	trace_id_t trid;
	long at;

	outside();
	o = other_start(become_user, NULL);
	at = other_do(&o, task_forge, NULL, 0);
	if (posix_trace_create(o.pid, NULL, &trid) == 0)
		CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SEC-1", other_do(&o, task_changed, &at, sizeof at), 0);
	other_kill(&o);
}

TEST_MAIN(TEST_ENTRY(each_event_once), TEST_ENTRY(rights_come_back), TEST_ENTRY(first_call_with_fewer),
          TEST_ENTRY(names_of_the_parent), TEST_ENTRY(forked_among_names), TEST_ENTRY(names_opened_meanwhile),
          TEST_ENTRY(filtered_as_another_user), TEST_ENTRY(forged_page))
