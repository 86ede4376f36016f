/*
 * inject.c - makes each system call fail once, in turn
 *
 * The linker's --wrap puts the functions of this file in front of src/base/sys.c. A whole run is repeated with its
 * first system call failing, then with the second, until none fails any more. The runs are: the life of a stream; the
 * same for another process; the first trace points of a process that is already traced; those of a child that has
 * inherited a stream; a log from its creation to its last reader; and the log of a killed process. Whichever call
 * fails: no crash, no output, errno is preserved, the error is reported, and nothing is left behind. Without failures
 * everything works again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/helper.h"
#include "base/sys.h"
#include "log_file.h"

/* The number of the call that fails, counted from 1, and the number of calls so far, in all threads. */
static long fail_at;
static _Atomic long calls;
static int fail_with;
static const char *failed;
static int phase, failed_in; /* what the run is doing */
static int between[2];       /* a socket to the process of begin_between() */

static int fails(const char *name)
{
	if (++calls != fail_at)
		return 0;
	if (!fail_with) {
		char c;

		/* Nothing fails, but another process acts at this point. */
		MUST(write(between[1], "", 1) == 1 && read(between[0], &c, 1) == 1);
		return 0;
	}
	failed = name;
	failed_in = phase;
	return 1;
}

#define WRAPPED(type, name, declared, passed, result)   \
	type __real_##name declared;                    \
	type __wrap_##name declared;                    \
	type __wrap_##name declared                     \
	{                                               \
		return fails(#name) ? (type)(result) : __real_##name passed; \
	}

/* The number of current mappings. */
static _Atomic int mapped;

#define MAPPED(name, declared, passed)                  \
	void *__real_##name declared;                   \
	void *__wrap_##name declared;                   \
	void *__wrap_##name declared                    \
	{                                               \
		void *p = fails(#name) ? NULL : __real_##name passed; \
		mapped += p != NULL;                    \
		return p;                               \
	}

void __real_sys_unmap(void *p, size_t size);
void __wrap_sys_unmap(void *p, size_t size);
void __wrap_sys_unmap(void *p, size_t size)
{
	mapped--;
	__real_sys_unmap(p, size);
}

WRAPPED(int, sys_open, (int d, const char *p, int f, unsigned m), (d, p, f, m), -fail_with)
WRAPPED(long, sys_read, (int fd, void *b, size_t n), (fd, b, n), -fail_with)
WRAPPED(long, sys_write_at, (int fd, const void *b, size_t n, uint64_t o), (fd, b, n, o), -fail_with)
WRAPPED(int, sys_stat, (int fd, struct sys_stat *st), (fd, st), -fail_with)
WRAPPED(int, sys_stat_path, (const char *p, struct sys_stat *st), (p, st), -fail_with)
WRAPPED(int, sys_mkdir, (int d, const char *p, unsigned m), (d, p, m), -fail_with)
WRAPPED(int, sys_rename, (int d, const char *from, const char *to), (d, from, to), -fail_with)
WRAPPED(int, sys_unused_limit, (uint32_t p, uint64_t *s, uint64_t *h), (p, s, h), -fail_with)
WRAPPED(int, sys_set_unused_limit, (uint32_t p, uint64_t s, uint64_t h), (p, s, h), -fail_with)
WRAPPED(int, sys_reserve, (int fd, uint64_t n), (fd, n), -fail_with)
WRAPPED(int, sys_getdents, (int fd, void *b, size_t n), (fd, b, n), -fail_with)
WRAPPED(int, sys_lock, (int fd, bool e, int64_t s, int64_t l), (fd, e, s, l), -fail_with)
WRAPPED(int, sys_lock_probe, (int fd, int64_t s, int64_t l), (fd, s, l), -fail_with)
MAPPED(sys_map, (size_t n, int fd, int w), (n, fd, w))
MAPPED(sys_map_family, (size_t n), (n))
MAPPED(sys_map_untouched, (size_t n, int fd), (n, fd))
WRAPPED(int, sys_wipe_on_fork, (void *p, size_t n), (p, n), -fail_with)
WRAPPED(int, sys_not_on_fork, (void *p, size_t n), (p, n), -fail_with)
WRAPPED(int, sys_membarrier, (int command), (command), -fail_with)

/* Calls that only logs make. */
WRAPPED(long, sys_read_at, (int fd, void *b, size_t n, uint64_t o), (fd, b, n, o), -fail_with)
WRAPPED(long, sys_write, (int fd, const void *b, size_t n), (fd, b, n), -fail_with)
WRAPPED(int, sys_dup, (int fd), (fd), -fail_with)
WRAPPED(int, sys_truncate, (int fd, uint64_t n), (fd, n), -fail_with)
WRAPPED(int, sys_sync_data, (int fd), (fd), -fail_with)
WRAPPED(int, sys_open_flags, (int fd), (fd), -fail_with)
WRAPPED(int, sys_reserve_space, (int fd, uint64_t n), (fd, n), -fail_with)
WRAPPED(int, sys_own_descriptors, (int fd), (fd), -fail_with)
WRAPPED(int, helper_start, (pthread_t *t, void *(*run)(void *), void *arg), (t, run, arg), EAGAIN)

long __real_sys_read_link(const char *path, char *buf, size_t size);
long __wrap_sys_read_link(const char *path, char *buf, size_t size);
long __wrap_sys_read_link(const char *path, char *buf, size_t size)
{
	if (!fails("sys_read_link"))
		return __real_sys_read_link(path, buf, size);
	buf[0] = 0;
	return -fail_with;
}

static bool failed_was(const char *name)
{
	return failed && strcmp(failed, name) == 0;
}

/* -- What a run may leave behind ------------------------------------------------------ */

static void check_directory(void)
{
	CHECK_EQ("-", shm_count(shm_directory(), "stream-") > 0, 0);
	/* A file whose removal failed as if it had been removed already stays until the next recovery. */
	if (!failed || (fail_with != ENOENT && fail_with != EAGAIN))
		CHECK_EQ("-", shm_count(shm_directory(), "new-") > 0, 0);
}

/* Returns true if this error may be returned after a failure with fail_with. */
static bool documented(int error)
{
	static const int may_be[] = { 0, EAGAIN, EINVAL, ENOMEM, EPERM, ESRCH, ENOENT, EACCES, ENOSYS };

	for (unsigned i = 0; i < sizeof may_be / sizeof may_be[0]; i++)
		if (error == may_be[i])
			return true;
	return error == fail_with;
}

/* Returns true if everything may work later. */
static bool may_pass(void)
{
	/* If /proc is missing or closed, a process never uses it again. */
	return fail_with == ENOMEM || fail_with == EMFILE || fail_with == EAGAIN;
}

/* -- Another process, in which no call fails ----------------------------------------- */

struct other {
	pid_t pid;
	int to, from;
};

/* The answer of the other process to each order. */
struct answer {
	int descriptors, mappings, failures;
};

static void serve(const struct other *o)
{
	trace_event_id_t id = 0;
	char c;

	test_failures = 0;
	while (read(o->to, &c, 1) == 1) {
		struct answer a;

		/* Not earlier: the process has made no trace call before its controller does. */
		if (!id)
			id = fault_open("inject");
		errno = ERRNO_BEFORE;
		for (int i = 0; i < 10; i++)
			posix_trace_event(id, "data", 4);
		CHECK_EQ("THR-6", errno, ERRNO_BEFORE);
		a = (struct answer){ shm_descriptors(), shm_mappings(getpid(), "/posixtrace-"), test_failures };
		MUST(write(o->from, &a, sizeof a) == sizeof a);
	}
	exit(test_failures ? 1 : 0);
}

static struct other other_start(void)
{
	int to[2], from[2];
	struct other o;

	MUST(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	fflush(stdout);
	o.pid = fork();
	if (o.pid == 0) {
		close(to[1]);
		close(from[0]);
		o.to = to[0];
		o.from = from[1];
		serve(&o);
	}
	MUST(o.pid > 0);
	close(to[0]);
	close(from[1]);
	o.to = to[1];
	o.from = from[0];
	return o;
}

static struct answer other_traces(const struct other *o)
{
	struct answer a;

	MUST(write(o->to, "", 1) == 1 && read(o->from, &a, sizeof a) == sizeof a);
	CHECK_EQ("-", a.failures, 0);
	return a;
}

static void other_end(const struct other *o)
{
	int status;

	close(o->to);
	close(o->from);
	MUST(waitpid(o->pid, &status, 0) == o->pid);
	CHECK_EQ("-", status, 0);
}

/* -- The runs ----------------------------------------------------------------------------- */

struct scenario {
	void (*begin)(void);  /* before each run, in the process that does not fail */
	void (*run)(void);    /* with a failure */
	void (*after)(void);  /* in the same process, without a failure */
	void (*end)(void);    /* in the process that does not fail, after the failing process has ended */
	void (*finish)(void); /* after all runs */
	bool leaves_nothing;  /* no files and no mappings are left after a failure */
};

/* Runs a stream's life. Each call may fail with an error number; a stream that was not created is not used. */
static void own_run(void)
{
	trace_event_id_t id = 0;
	trace_id_t trid;
	int error;

	errno = ERRNO_BEFORE;
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
	if (posix_trace_eventid_open("inject", &id) == 0)
		CHECK("-", id >= POSIX_TRACE_UNNAMED_USEREVENT);
	posix_trace_event(id, "data", 4);
	error = posix_trace_create(0, NULL, &trid);
	CHECK("HDR-33", error >= 0 && errno == ERRNO_BEFORE);
	CHECK("-", documented(error));
	if (error == 0) {
		int n;

		error = posix_trace_start(trid);
		CHECK_EQ("-", error, 0);
		for (int i = 0; i < 10; i++)
			posix_trace_event(id, "data", 4);
		CHECK_EQ("THR-6", errno, ERRNO_BEFORE);
		n = fault_count(trid, id);
		CHECK("-", n >= 0 && n <= 10);
		CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	}
	posix_trace_event(id, "data", 4);
	CHECK_EQ("THR-6", errno, ERRNO_BEFORE);
}

static void own_after(void)
{
	/* A kernel that cannot wipe memory in a child is too old, and will remain so. */
	if (!failed_was("sys_wipe_on_fork") || fault_create(0) != ENOSYS)
		fault_works(fault_open("inject"));
}

static const struct scenario own = { NULL, own_run, own_after, NULL, NULL, true };

/* A stream for another process, which may have attached before. */
static struct other other;
static struct answer first_answer;
static int answers, controlled;
static trace_event_id_t own_id; /* the id of the name in the process from which the other was forked */

static void control(bool may_fail, int inheritance)
{
	trace_event_id_t id = 0;
	trace_attr_t attr;
	trace_id_t trid;
	int error, n;

	posix_trace_attr_init(&attr);
	posix_trace_attr_setinherited(&attr, inheritance);
	errno = ERRNO_BEFORE;
	error = posix_trace_create(other.pid, &attr, &trid);
	CHECK("HDR-33", error >= 0 && errno == ERRNO_BEFORE);
	CHECK("-", may_fail ? documented(error) : error == 0);
	if (error)
		return;
	controlled++;
	error = posix_trace_trid_eventid_open(trid, "inject", &id);
	CHECK_EQ("-", error, 0);
	CHECK("-", id >= POSIX_TRACE_UNNAMED_USEREVENT && (may_fail || id > POSIX_TRACE_UNNAMED_USEREVENT));
	/* The process keeps the names that it inherited, or there is no stream: a new registry would be permanent. */
	if (id > POSIX_TRACE_UNNAMED_USEREVENT && may_pass())
		CHECK_EQ("INH-10", id, own_id);
	CHECK_EQ("-", posix_trace_start(trid), 0);
	other_traces(&other);
	n = fault_count(trid, id);
	CHECK("-", may_fail ? n >= 0 && n <= 10 : n == 10);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

static void control_begin(void)
{
	/* Start a new process now and then, which has not made a trace call yet. */
	if (other.pid && answers % 8 == 0) {
		other_end(&other);
		other.pid = 0;
	}
	answers++;
	if (!other.pid) {
		other = other_start();
		first_answer.descriptors = 0;
	}
}

static void control_run(void)
{
	control(true, POSIX_TRACE_CLOSE_FOR_CHILD);
}

static void control_after(void)
{
	if (!failed_was("sys_wipe_on_fork") || fault_create(0) != ENOSYS)
		control(false, POSIX_TRACE_CLOSE_FOR_CHILD);
}

static void control_inherited_run(void)
{
	control(true, POSIX_TRACE_INHERITED);
}

static void control_inherited_after(void)
{
	control(false, POSIX_TRACE_INHERITED);
}

/* Checks that nothing accumulates in the traced process. */
static void control_end(void)
{
	struct answer a;

	other_traces(&other); /* it drops the mappings of ended streams */
	a = other_traces(&other);
	if (!first_answer.descriptors)
		first_answer = a;
	CHECK_EQ("-", a.descriptors, first_answer.descriptors);
	CHECK_OP("-", a.mappings, <=, first_answer.mappings);
}

static void control_finish(void)
{
	if (other.pid)
		other_end(&other);
	other.pid = 0;
}

static const struct scenario controller = {
	control_begin, control_run, control_after, control_end, control_finish, true
};
static const struct scenario controller_inherited = {
	control_begin, control_inherited_run, control_inherited_after, control_end, control_finish, true,
};

/* A process traced before its first trace point. */
static trace_id_t traced_trid;
static int go[2];
static pid_t failing;

static void trace(int n)
{
	errno = ERRNO_BEFORE;
	for (int i = 0; i < n; i++)
		posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, &i, sizeof i);
	CHECK_EQ("THR-6", errno, ERRNO_BEFORE);
}

static void traced_begin(void)
{
	MUST(pipe2(go, O_CLOEXEC) == 0);
}

static void traced_run(void)
{
	trace_event_id_t id;
	char c;

	close(go[1]);
	MUST(read(go[0], &c, 1) == 1); /* now it is traced */
	calls = 0;
	trace(5);
	CHECK_EQ("-", posix_trace_eventid_open("inject", &id), 0);
	trace(5);
}

/* A temporary failure must not prevent tracing forever. */
static void traced_after(void)
{
	trace(4000);
}

/* Traces the failing process. Called between its start and its first trace point. */
static void traced_control(pid_t pid)
{
	close(go[0]);
	MUST(posix_trace_create(pid, NULL, &traced_trid) == 0 && posix_trace_start(traced_trid) == 0);
	MUST(write(go[1], "", 1) == 1);
}

static char failed_there[32]; /* reported by the failing process */

static void traced_end(void)
{
	int n;

	close(go[1]);
	n = fault_count(traced_trid, POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK("-", n >= 0);
	if (failed_there[0] && strcmp(failed_there, "sys_wipe_on_fork") != 0 && may_pass())
		CHECK_OP("-", n, >, 0);
	CHECK_EQ("-", posix_trace_shutdown(traced_trid), 0);
}

static const struct scenario traced = { traced_begin, traced_run, traced_after, traced_end, NULL, false };

/* A child of a traced family. */
static void inherited_begin(void)
{
	trace_attr_t attr;

	posix_trace_attr_init(&attr);
	posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED);
	MUST(posix_trace_create(0, &attr, &traced_trid) == 0 && posix_trace_start(traced_trid) == 0);
	trace(1);
	MUST(fault_count(traced_trid, POSIX_TRACE_UNNAMED_USEREVENT) == 1);
}

static void inherited_run(void)
{
	trace_event_id_t id;
	int status;
	pid_t pid;

	trace(5);
	CHECK_EQ("-", posix_trace_eventid_open("inject", &id), 0);
	trace(5);
	/* Its own child. */
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		trace(5);
		exit(test_failures ? 1 : 0);
	}
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", status, 0);
}

static void inherited_end(void)
{
	int n = fault_count(traced_trid, POSIX_TRACE_UNNAMED_USEREVENT);

	CHECK("-", n >= 0);
	if (failed_there[0] && strcmp(failed_there, "sys_wipe_on_fork") != 0 && may_pass())
		CHECK_OP("-", n, >, 0);
	CHECK_EQ("-", posix_trace_shutdown(traced_trid), 0);
}

static const struct scenario inherited = { inherited_begin, inherited_run, traced_after, inherited_end, NULL, false };

/* -- Logs ---------------------------------------------------------------------------------- */

enum { CREATING, TRACING, FLUSHING, ENDING, OPENING, CLOSING };

static int log_fd, log_policy;
static bool created, complete;
static pid_t dead; /* the process that began the log and was killed */

/* Does what every process does before its first log. Other scenarios test failures of these steps. */
static void without_failures(void)
{
	long at = fail_at;

	fail_at = 0;
	log_id = fault_open("logged");
	fault_works(log_id);
	calls = 0;
	fail_at = at;
}

static void log_begin_run(void)
{
	if (log_fd > 0)
		close(log_fd);
	log_fd = log_open(LOG_PATH, O_RDWR | O_CREAT | O_TRUNC);
	log_number = 0;
}

/* Checks the error. A descriptor that cannot be queried counts as a bad one. */
static void check_documented(int error)
{
	CHECK("FLUSH-20", documented(error) || error == EBADF);
}

/* Reads the log. Returns the number of events. */
static int open_log(void)
{
	trace_id_t trid;
	int error, count = 0;

	errno = ERRNO_BEFORE;
	error = posix_trace_open(log_fd, &trid);
	CHECK("HDR-33", error >= 0 && errno == ERRNO_BEFORE);
	check_documented(error);
	if (error)
		return 0;
	/* An unreadable part is missing. Each event comes once at most, and rewind begins again. */
	for (int i = 0; i < 2; i++) {
		struct posix_trace_event_info e;
		uint32_t data[LOG_WORDS], last = 0;
		int unavailable = 0;
		size_t length;

		count = 0;
		for (;;) {
			CHECK_EQ("-", posix_trace_getnext_event(trid, &e, data, sizeof data, &length, &unavailable), 0);
			if (unavailable)
				break;
			if (e.posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT)
				continue;
			CHECK("OPEN-3 OPEN-9", data[0] > last && data[0] <= log_number);
			last = data[0];
			count++;
		}
		CHECK_EQ("OPEN-13", posix_trace_rewind(trid), 0);
	}
	phase = CLOSING;
	CHECK_EQ("OPEN-13", posix_trace_close(trid), 0);
	CHECK_EQ("HDR-33", errno, ERRNO_BEFORE);
	return count;
}

static void log_run(void)
{
	struct posix_trace_status_info status;
	int error, flushed;

	without_failures();
	phase = CREATING;
	error = log_try(0, log_fd, log_policy, 100000, POSIX_TRACE_UNTIL_FULL, 1 << 20);
	check_documented(error);
	created = error == 0;
	if (created) {
		CHECK_EQ("-", posix_trace_start(log_trid), 0);
		phase = TRACING;
		log_record(100);
		phase = FLUSHING;
		flushed = posix_trace_flush(log_trid);
		check_documented(flushed);
		CHECK_EQ("-", posix_trace_get_status(log_trid, &status), 0);
		CHECK_EQ("FLUSH-16", status.posix_stream_flush_error, flushed);
		phase = TRACING;
		log_record(100);
		phase = ENDING;
		error = posix_trace_shutdown(log_trid);
		check_documented(error);
		CHECK_EQ("SHUT-4", posix_trace_shutdown(log_trid), EINVAL);
		complete = error == 0;
	}
	phase = OPENING;
	open_log();
	CHECK_EQ("SHUT-16 OPEN-14", fcntl(log_fd, F_GETFD), FD_CLOEXEC);
}

static void log_after(void)
{
	struct log_seen seen = log_read(log_fd);

	if (created)
		CHECK("OPEN-8", seen.error == 0);
	if (created && complete && failed_in != CREATING && failed_in != TRACING)
		log_check_all(&seen);
	else if (created && failed_in != CREATING && failed_in != TRACING && seen.count)
		CHECK("OPEN-3", seen.first == 1 && seen.missing == 0);
	/* Make another log. */
	CHECK_EQ("-", log_try(0, log_fd, log_policy, 100000, 0, 1 << 20), 0);
	MUST(posix_trace_start(log_trid) == 0);
	log_number = 0;
	log_record(200);
	CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
	seen = log_read(log_fd);
	log_check_all(&seen);
}

static void log_loop_begin(void)
{
	log_policy = POSIX_TRACE_LOOP;
	log_begin_run();
}

static void log_until_full_begin(void)
{
	log_policy = POSIX_TRACE_UNTIL_FULL;
	log_begin_run();
}

static void log_append_begin(void)
{
	log_policy = POSIX_TRACE_APPEND;
	log_begin_run();
}

static const struct scenario log_loop = { log_loop_begin, log_run, log_after, NULL, NULL, true };
static const struct scenario log_until_full = { log_until_full_begin, log_run, log_after, NULL, NULL, true };
static const struct scenario log_append = { log_append_begin, log_run, log_after, NULL, NULL, true };

/* A process that creates a stream on demand, and thereby completes what dead processes have left. */
static pid_t creator;

static void begin_between(void)
{
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, between) == 0);
	fflush(stdout);
	creator = fork();
	if (creator == 0) {
		char c;

		close(between[0]);
		while (read(between[1], &c, 1) == 1) {
			fault_works(fault_open("logged"));
			MUST(write(between[1], "", 1) == 1);
		}
		_exit(test_failures ? 1 : 0);
	}
	MUST(creator > 0);
	close(between[1]);
	between[1] = between[0];
}

static void dead_end(void)
{
	int status;

	if (fail_with)
		return;
	close(between[0]);
	MUST(waitpid(creator, &status, 0) == creator);
	CHECK_EQ("-", status, 0);
}

/* Makes a log whose creator is killed. Some of its events are in the file, some in the stream. */
static void dead_begin(void)
{
	log_policy = POSIX_TRACE_LOOP;
	log_begin_run();
	fflush(stdout);
	dead = fork();
	if (dead == 0) {
		MUST(log_try(0, log_fd, log_policy, 100000, POSIX_TRACE_UNTIL_FULL, 1 << 20) == 0);
		MUST(posix_trace_start(log_trid) == 0);
		log_record(100);
		MUST(posix_trace_flush(log_trid) == 0);
		fault_open("late");
		log_record(100);
		kill(getpid(), SIGKILL);
	}
	MUST(dead > 0 && waitpid(dead, NULL, 0) == dead);
	log_number = 200;
	if (!fail_with)
		begin_between();
}

/* Opens a dead process's log. This process has traced before, but has not recovered anything yet. */
static void opened_dead_run(void)
{
	long at = fail_at;

	fail_at = 0;
	log_id = fault_open("logged");
	trace(1);
	calls = 0;
	fail_at = at;
	at = open_log();
	/* Whichever process has completed the log, it has all events. */
	if (!fail_with)
		CHECK_EQ("OPEN-8 SHUT-6", at, 200);
}

static void created_beside_dead_run(void)
{
	check_documented(fault_create(0));
}

static bool log_names(const char *wanted)
{
	char name[TRACE_EVENT_NAME_MAX + 1] = "";
	trace_event_id_t id;
	int unavailable = 0;
	trace_id_t trid;

	MUST(posix_trace_open(log_fd, &trid) == 0);
	while (posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable) == 0 && !unavailable)
		if (posix_trace_eventid_get_name(trid, id, name) == 0 && strcmp(name, wanted) == 0)
			break;
	MUST(posix_trace_close(trid) == 0);
	return strcmp(name, wanted) == 0;
}

/* Checks that the log can still be completed, whatever has failed. */
static void dead_after(void)
{
	struct log_seen seen;

	log_id = fault_open("logged");
	seen = log_read(log_fd);
	log_check_all(&seen);
	CHECK_EQ("OPEN-8", seen.stops, 1);
	CHECK("LOG-20", log_names("late"));
	fault_works(log_id);
}

static const struct scenario opened_dead = { dead_begin, opened_dead_run, dead_after, dead_end, NULL, false };
static const struct scenario created_beside_dead = { dead_begin, created_beside_dead_run, dead_after, dead_end, NULL,
	                                             false };

/* -- Each call in turn ---------------------------------------------------------------------- */

struct done {
	long calls;
	int mappings, mapped;
	char failed[32];
};

static struct done run_failing(const struct scenario *s, long at, int error, const struct done *whole)
{
	struct done done = { .calls = 0 };
	int fd[2], status;
	pid_t pid;

	fail_with = error;
	if (s->begin)
		s->begin();
	MUST(pipe2(fd, O_CLOEXEC) == 0);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int descriptors, before, threads = shm_count("/proc/self/task", "");

		test_failures = 0; /* of the runs before this */
		if (s == &traced)
			close(go[1]), descriptors = shm_descriptors();
		else
			descriptors = shm_descriptors();
		calls = 0;
		fail_at = at;
		failed = NULL;
		s->run();
		done.calls = calls;
		fail_at = 0;
		before = test_failures;
		/* A descriptor that cannot be queried may have a new owner by now, so the library leaves it open. */
		descriptors += failed && failed_in == CLOSING && failed_was("sys_stat");
		CHECK_EQ("-", shm_descriptors(), descriptors);
		if (s->leaves_nothing)
			check_directory();
		s->after();
		CHECK_EQ("-", shm_descriptors(), descriptors);
		if (s->leaves_nothing)
			CHECK_EQ("-", shm_count(shm_directory(), "new-"), 0);
		/* A thread may be visible for a moment after it was joined. */
		for (int i = 0; i < 5000 && shm_count("/proc/self/task", "") != threads; i++)
			usleep(1000);
		CHECK_EQ("-", shm_count("/proc/self/task", ""), threads);
		done.mappings = shm_mappings(getpid(), "/posixtrace-");
		done.mapped = mapped;
		/* A process that cannot identify itself has a registry of its own. */
		if (whole) {
			CHECK_OP("-", done.mappings, <=, whole->mappings + !may_pass());
			if (s->leaves_nothing)
				CHECK_OP("-", done.mapped, <=, whole->mapped + !may_pass());
		}
		if (before != test_failures)
			printf("  after\n");
		if (test_failures)
			printf("  call %ld of the run: %s, error %d\n", at, failed ? failed : "none", error);
		strcpy(done.failed, failed ? failed : "");
		MUST(write(fd[1], &done, sizeof done) == sizeof done);
		exit(test_failures ? 1 : 0);
	}
	MUST(pid > 0);
	failing = pid;
	close(fd[1]);
	if (s == &traced)
		traced_control(pid);
	if (read(fd[0], &done, sizeof done) != sizeof done)
		printf("  call %ld of the run, error %d: no answer\n", at, error);
	close(fd[0]);
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", status, 0);
	strcpy(failed_there, done.failed);
	if (s->end) {
		int before = test_failures;

		s->end();
		if (test_failures != before)
			printf("  call %ld of the run: %s, error %d\n", at, done.failed, error);
	}
	return done;
}

/*
 * Lets each call fail with the error: every call if `ways` is 1 or the test is thorough, otherwise those of which the
 * number leaves `way` when divided by `ways`.
 */
static void check_some(const struct scenario *s, int error, int way, int ways)
{
	struct done whole;
	int descriptors;

	shm_private("");
	fault_open("not the first");
	own_id = fault_open("inject");
	fault_works(own_id);
	whole = run_failing(s, 0, error, NULL);
	descriptors = shm_descriptors();
	CHECK("-", whole.calls > 20);
	for (long at = 1; at <= whole.calls; at++)
		if (test_thorough() || at % ways == way)
			run_failing(s, at, error, &whole);
	CHECK_EQ("-", shm_descriptors(), descriptors);
	if (s->finish)
		s->finish();
	/* The next call recovers what the dead have left. Only this process is left. */
	fault_works(fault_open("inject"));
	CHECK_EQ("-", shm_count(shm_directory(), "page-"), 1);
	CHECK_EQ("-", shm_count(shm_directory(), "names-"), 1);
	CHECK_EQ("-", shm_count(shm_directory(), ""), 2);
}

/* Five errors share the calls; a thorough test tries all errors at all calls. */
#define SCENARIO(name)                                                     \
	TEST(name##_no_memory) { check_some(&name, ENOMEM, 0, 5); }        \
	TEST(name##_too_many_files) { check_some(&name, EMFILE, 1, 5); }   \
	TEST(name##_not_there) { check_some(&name, ENOENT, 2, 5); }        \
	TEST(name##_forbidden) { check_some(&name, EPERM, 3, 5); }         \
	TEST(name##_locked) { check_some(&name, EAGAIN, 4, 5); }

SCENARIO(own)
SCENARIO(controller)
SCENARIO(controller_inherited)
SCENARIO(traced)
SCENARIO(inherited)

static void check_each(const struct scenario *s, int error)
{
	check_some(s, error, 0, 1);
}

/* The call matters more than the error number here; each of these errors occurs somewhere. */
TEST(log_loop_too_many_files) { check_each(&log_loop, EMFILE); }
TEST(log_loop_no_space) { check_each(&log_loop, ENOSPC); }
TEST(log_until_full_no_memory) { check_each(&log_until_full, ENOMEM); }
TEST(log_until_full_forbidden) { check_each(&log_until_full, EPERM); }
TEST(log_append_locked) { check_each(&log_append, EAGAIN); }
TEST(log_append_broken) { check_each(&log_append, EIO); }
TEST(opened_dead_no_memory) { check_each(&opened_dead, ENOMEM); }
TEST(opened_dead_completed) { check_each(&opened_dead, 0); }
TEST(opened_dead_broken) { check_each(&opened_dead, EIO); }
TEST(created_beside_dead_too_many_files) { check_each(&created_beside_dead, EMFILE); }
TEST(created_beside_dead_forbidden) { check_each(&created_beside_dead, EPERM); }

#define ENTRIES(name)                                                                            \
	TEST_ENTRY(name##_no_memory), TEST_ENTRY(name##_too_many_files), TEST_ENTRY(name##_not_there), \
		TEST_ENTRY(name##_forbidden), TEST_ENTRY(name##_locked)

TEST_MAIN(ENTRIES(own), ENTRIES(controller), ENTRIES(controller_inherited), ENTRIES(traced), ENTRIES(inherited),
          TEST_ENTRY(log_loop_too_many_files), TEST_ENTRY(log_loop_no_space), TEST_ENTRY(log_until_full_no_memory),
          TEST_ENTRY(log_until_full_forbidden), TEST_ENTRY(log_append_locked), TEST_ENTRY(log_append_broken),
          TEST_ENTRY(opened_dead_no_memory), TEST_ENTRY(opened_dead_broken), TEST_ENTRY(opened_dead_completed),
          TEST_ENTRY(created_beside_dead_too_many_files), TEST_ENTRY(created_beside_dead_forbidden))
