/*
 * word_size.c - programs of both word sizes share streams, as controller and traced process, and in mixed families
 *
 * The argument is the path of this same program, built for the other word size. This program traces the other one; then
 * the roles are swapped.
 *
 * SPDX-License-Identifier: MIT
 */
#include "other.h"

#include "model/record.h"
#include "shm/layout.h"

#define THREADS  4
#define DATA_MAX 1024 /* some events have longer data, which is truncated */

static const char *other_program, *this_program;

/* -- Layout ------------------------------------------------------------------- */

static int print_layout(void)
{
#define STRUCT(s)   printf(#s " %u\n", (unsigned)sizeof(struct s));
#define FIELD(s, f) printf(#s "." #f " %u %u\n", (unsigned)offsetof(struct s, f), (unsigned)sizeof ((struct s *)0)->f);
#include "layout_fields.h"
	return 0;
}

static char *layout_of(const char *program, char text[65536])
{
	char command[4096];
	FILE *f;

	snprintf(command, sizeof command, "'%s' --layout", program);
	f = popen(command, "r");
	memset(text, 0, 65536);
	MUST(f && fread(text, 1, 65535, f) > 1000 && pclose(f) == 0);
	return text;
}

TEST(layout)
{
	static char text[2][65536];
	char *ours = layout_of(this_program, text[0]), *theirs = layout_of(other_program, text[1]);

	for (char *a, *b; (a = strsep(&ours, "\n")) && (b = strsep(&theirs, "\n"));)
		CHECK_STR("-", a, b);
	CHECK("-", !ours && !theirs); /* both have the same number of lines */
}

/* -- The traced program ------------------------------------------------------------ */

enum { DO_OPEN, DO_RECORD, DO_FOREVER, DO_CHILDREN, DO_EXEC, DO_LOG, DO_LOG_AND_DIE };

struct order {
	uint32_t what, threads, count, id;
	char name[64];
};

/* The data of an event; it follows from thread and number. */
struct data {
	uint32_t thread, number;
	unsigned char rest[2000];
};

static uint32_t data_length(uint32_t thread, uint32_t number)
{
	return 8 + (number * 37 + thread * 11) % (number % 64 ? 200 : sizeof(struct data) - 8);
}

static void data_make(struct data *d, uint32_t thread, uint32_t number)
{
	d->thread = thread;
	d->number = number;
	for (uint32_t i = 0; i < sizeof d->rest; i++)
		d->rest[i] = (unsigned char)(thread * 31 + number + i);
}

struct recorder {
	trace_event_id_t id;
	uint32_t thread, count;
};

static void *record(void *arg)
{
	const struct recorder *r = arg;
	static __thread struct data d;

	for (uint32_t i = 0; i < r->count; i++) {
		data_make(&d, r->thread, i);
		posix_trace_event(r->id, &d, data_length(r->thread, i));
	}
	return NULL;
}

static void record_threads(const struct order *o)
{
	struct recorder r[THREADS];
	pthread_t thread[THREADS];

	for (uint32_t i = 0; i < o->threads; i++) {
		r[i] = (struct recorder){ o->id, i, o->count };
		MUST(pthread_create(&thread[i], NULL, record, &r[i]) == 0);
	}
	for (uint32_t i = 0; i < o->threads; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
}

/* -- Families ------------------------------------------------------------------------ */

/*
 * Records as one generation, and then runs the program of the other word size: alternately in its place, and in a
 * child.
 */
static int leaf(int depth, const char *self, const char *other, uint32_t count)
{
	struct recorder r = { fault_open("words.leaf"), (uint32_t)depth, count };
	char below[16], number[16];
	int status = 0;

	record(&r);
	if (depth == 0)
		return 0;
	snprintf(below, sizeof below, "%d", depth - 1);
	snprintf(number, sizeof number, "%u", count);
	if (depth % 2 == 0) {
		pid_t pid = fork();

		MUST(pid >= 0);
		if (pid != 0) {
			MUST(waitpid(pid, &status, 0) == pid);
			return status != 0;
		}
	}
	execl(other, other, "--leaf", below, self, number, (char *)NULL);
	return 99;
}

/* With 64 bits, more than a 32-bit program can express. */
#define LOG_SIZE ((size_t)(sizeof(size_t) == 8 ? UINT64_C(5) << 30 : 12345678))

/* Creates a stream of this process with a log, and records. log_as_written() checks its types, events and
 * attributes. */
static int write_log(struct order *o, bool die)
{
	int fd = open(o->name, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	trace_attr_t attr;
	trace_id_t trid;

	if (fd < 0 || posix_trace_attr_init(&attr) || posix_trace_attr_setname(&attr, "of another size") ||
	    posix_trace_attr_setmaxdatasize(&attr, DATA_MAX) || posix_trace_attr_setstreamsize(&attr, 16 << 20) ||
	    posix_trace_attr_setlogsize(&attr, LOG_SIZE) ||
	    posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND) ||
	    posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL) ||
	    posix_trace_create_withlog(0, &attr, fd, &trid) || posix_trace_start(trid))
		return 1;
	o->id = fault_open("words.log");
	record_threads(o);
	if (posix_trace_flush(trid))
		return 2;
	record_threads(o);
	if (die)
		raise(SIGKILL);
	close(fd);
	return posix_trace_shutdown(trid);
}

static int serve(int s)
{
	struct order o;
	int64_t result;

	while (recv(s, &o, sizeof o, 0) == sizeof o) {
		result = 0;
		switch (o.what) {
		case DO_OPEN:
			result = fault_open(o.name);
			break;
		case DO_FOREVER:
			o.count = ~0u;
			/* fall through */
		case DO_RECORD:
			record_threads(&o);
			break;
		case DO_CHILDREN: {
			pid_t pid = fork();
			int status = 0;

			if (pid == 0)
				exit(leaf((int)o.threads, this_program, other_program, o.count));
			result = waitpid(pid, &status, 0) != pid || status;
			break;
		}
		case DO_LOG:
		case DO_LOG_AND_DIE:
			result = write_log(&o, o.what == DO_LOG_AND_DIE);
			break;
		default: {
			char fd[16];

			snprintf(fd, sizeof fd, "%d", s);
			fcntl(s, F_SETFD, 0);
			execl(other_program, other_program, this_program, "--target", fd, (char *)NULL);
			return 98;
		}
		}
		if (send(s, &result, sizeof result, MSG_NOSIGNAL) != sizeof result)
			break;
	}
	return test_failures ? 1 : 0;
}

struct target {
	pid_t pid;
	int socket;
};

static struct target target_start(void)
{
	struct target t;
	int pair[2];

	MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	t.socket = pair[0];
	t.pid = fork();
	if (t.pid == 0) {
		char fd[16];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		snprintf(fd, sizeof fd, "%d", pair[1]);
		fcntl(pair[1], F_SETFD, 0);
		execl(other_program, other_program, this_program, "--target", fd, (char *)NULL);
		_exit(97);
	}
	MUST(t.pid > 0);
	close(pair[1]);
	return t;
}

static void target_tell(const struct target *t, uint32_t what, uint32_t threads, uint32_t count, uint32_t id,
                        const char *name)
{
	struct order o = { what, threads, count, id, "" };

	snprintf(o.name, sizeof o.name, "%s", name);
	MUST(send(t->socket, &o, sizeof o, MSG_NOSIGNAL) == sizeof o);
}

static int64_t target_result(const struct target *t)
{
	struct pollfd p = { .fd = t->socket, .events = POLLIN };
	int64_t result;

	MUST(poll(&p, 1, OTHER_PATIENCE * 1000 * test_slow()) == 1);
	MUST(recv(t->socket, &result, sizeof result, 0) == sizeof result);
	return result;
}

static trace_event_id_t target_open(const struct target *t, const char *name)
{
	target_tell(t, DO_OPEN, 0, 0, 0, name);
	return (trace_event_id_t)target_result(t);
}

static void target_end(struct target *t)
{
	int status;

	close(t->socket);
	MUST(waitpid(t->pid, &status, 0) == t->pid);
	CHECK_EQ("-", status, 0);
}

/* -- The controller --------------------------------------------------------------------- */

static trace_id_t control(pid_t pid, int policy, size_t size, int inheritance)
{
	trace_id_t trid = 0;
	trace_attr_t attr;

	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, policy) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, size) == 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, DATA_MAX) == 0);
	MUST(posix_trace_attr_setinherited(&attr, inheritance) == 0);
	MUST(posix_trace_create(pid, &attr, &trid) == 0);
	return trid;
}

struct books {
	uint32_t next[64];   /* of each thread, or generation */
	pid_t tid[64], pid[64];
	uint64_t events;
	uint64_t starts; /* START events of ours */
};

/* Checks one event: its data must be intact, and in its thread's order. A thread that begins anew starts with number
 * 0. */
static void keep(struct books *b, const struct posix_trace_event_info *info, const struct data *d, size_t length,
                 trace_event_id_t id)
{
	static struct data made;
	uint32_t full, t;

	if (info->posix_event_id != id) {
		b->starts += info->posix_event_id == POSIX_TRACE_START && info->posix_pid;
		return;
	}
	MUST(length >= 8 && d->thread < 64);
	t = d->thread;
	full = data_length(t, d->number);
	CHECK_EQ("-", length, full < DATA_MAX ? full : DATA_MAX);
	CHECK_EQ("-", info->posix_truncation_status,
	         full > DATA_MAX ? POSIX_TRACE_TRUNCATED_RECORD : POSIX_TRACE_NOT_TRUNCATED);
	data_make(&made, t, d->number);
	CHECK("-", memcmp(d, &made, length) == 0);
	CHECK_OP("-", d->number, >=, b->next[t]);
	if (!b->tid[t]) {
		b->tid[t] = info->__posix_kernel_tid;
		b->pid[t] = info->posix_pid;
	}
	CHECK_EQ("-", info->__posix_kernel_tid, b->tid[t]);
	CHECK_EQ("-", info->posix_pid, b->pid[t]);
	CHECK("-", info->posix_prog_address != NULL && info->posix_thread_id != 0);
	b->next[t] = d->number + 1;
	b->events++;
	if (test_failures > 10)
		exit(1);
}

/* Reads until no event is left, or this many. */
static void read_most(trace_id_t trid, trace_event_id_t id, struct books *b, uint64_t most)
{
	struct posix_trace_event_info info;
	struct data d;
	size_t length;
	int unavailable;

	for (uint64_t i = 0; i < most; i++) {
		MUST(posix_trace_trygetnext_event(trid, &info, &d, sizeof d, &length, &unavailable) == 0);
		if (unavailable)
			return;
		keep(b, &info, &d, length, id);
	}
}

static void read_all(trace_id_t trid, trace_event_id_t id, struct books *b)
{
	read_most(trid, id, b, UINT64_MAX);
}

static uint64_t lost(trace_id_t trid)
{
	struct posix_trace_status_info status;

	MUST(posix_trace_get_status(trid, &status) == 0);
	return status.__posix_lost_events;
}

/* The stream has room for every event: each is read once. */
TEST(all)
{
	struct target t = target_start();
	trace_id_t trid = control(t.pid, POSIX_TRACE_UNTIL_FULL, 16 << 20, POSIX_TRACE_CLOSE_FOR_CHILD);
	trace_event_id_t ids[40], id;
	struct books b;
	char name[64], got[TRACE_EVENT_NAME_MAX + 1];

	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof name, "words.%d.%.*s", i, i, "a name of another length and more of this");
		if (i % 2) {
			CHECK_EQ("-", posix_trace_trid_eventid_open(trid, name, &ids[i]), 0);
			CHECK_EQ("ID-10", target_open(&t, name), ids[i]);
		} else {
			ids[i] = target_open(&t, name);
			CHECK_EQ("-", posix_trace_trid_eventid_open(trid, name, &id), 0);
			CHECK_EQ("ID-10", id, ids[i]);
		}
		CHECK_EQ("-", posix_trace_eventid_get_name(trid, ids[i], got), 0);
		CHECK_STR("-", got, name);
	}
	CHECK_EQ("-", posix_trace_start(trid), 0);
	for (int i = 0; i < 40; i += 13) {
		memset(&b, 0, sizeof b);
		target_tell(&t, DO_RECORD, THREADS, 5000, ids[i], "");
		if (i % 2 == 0)
			target_result(&t);
		else
			read_all(trid, ids[i], &b);
		if (i % 2)
			target_result(&t);
		read_all(trid, ids[i], &b);
		CHECK_EQ("-", b.events, THREADS * 5000);
		for (int j = 0; j < THREADS; j++) {
			CHECK_EQ("-", b.next[j], 5000);
			CHECK_EQ("-", b.pid[j], t.pid);
		}
	}
	CHECK_EQ("-", lost(trid), 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	target_end(&t);
}

static void exact(int policy, bool at_once)
{
	struct target t = target_start();
	trace_id_t trid = control(t.pid, policy, 65536, POSIX_TRACE_CLOSE_FOR_CHILD);
	trace_event_id_t id = target_open(&t, "words.books");
	struct pollfd p = { .fd = t.socket, .events = POLLIN };
	struct books b;

	memset(&b, 0, sizeof b);
	CHECK_EQ("-", posix_trace_start(trid), 0);
	target_tell(&t, DO_RECORD, THREADS, 20000, id, "");
	while (at_once && poll(&p, 1, 0) == 0)
		read_all(trid, id, &b);
	target_result(&t);
	CHECK_EQ("-", posix_trace_stop(trid), 0);
	read_all(trid, id, &b);
	/* START is lost, too, when LOOP overwrites it. */
	CHECK_EQ("-", b.events + b.starts + lost(trid), THREADS * 20000 + 1);
	CHECK_OP("-", b.events, >, 100);
	if (!at_once)
		CHECK_OP("-", lost(trid), >, 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	target_end(&t);
}

TEST(loop)
{
	for (int i = 0; i < 4; i++)
		exact(POSIX_TRACE_LOOP, i % 2);
}

TEST(until_full)
{
	for (int i = 0; i < 4; i++)
		exact(POSIX_TRACE_UNTIL_FULL, i % 2);
}

/* Generations of both sizes, in their own processes and in their predecessors'. */
TEST(family)
{
	enum { DEPTH = 7, COUNT = 300 };
	struct target t = target_start();
	trace_id_t trid = control(t.pid, POSIX_TRACE_UNTIL_FULL, 16 << 20, POSIX_TRACE_INHERITED);
	trace_event_id_t id;
	struct books b;

	memset(&b, 0, sizeof b);
	CHECK_EQ("-", posix_trace_trid_eventid_open(trid, "words.leaf", &id), 0);
	CHECK_EQ("-", posix_trace_start(trid), 0);
	target_tell(&t, DO_CHILDREN, DEPTH, COUNT, 0, "");
	CHECK_EQ("-", target_result(&t), 0);
	read_all(trid, id, &b);
	for (int i = 0; i <= DEPTH; i++) {
		CHECK_EQ("INH-9", b.next[i], COUNT);
		CHECK_NE("INH-6", b.pid[i], t.pid);
		/* An odd generation executes the next one in its own process. */
		if (i < DEPTH)
			CHECK_EQ("INH-11", b.pid[i] == b.pid[i + 1], (i + 1) % 2);
	}
	CHECK_EQ("-", lost(trid), 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	target_end(&t);
}

/* The traced process executes the program of the other size, and back. */
TEST(exec_and_back)
{
	struct target t = target_start();
	trace_id_t trid = control(t.pid, POSIX_TRACE_UNTIL_FULL, 16 << 20, POSIX_TRACE_CLOSE_FOR_CHILD);
	trace_event_id_t id, again;
	struct books b;

	CHECK_EQ("-", posix_trace_trid_eventid_open(trid, "words.again", &id), 0);
	CHECK_EQ("-", posix_trace_start(trid), 0);
	for (int i = 0; i < 6; i++) {
		memset(&b, 0, sizeof b);
		again = target_open(&t, "words.again");
		CHECK_EQ("INH-11", again, id);
		target_tell(&t, DO_RECORD, THREADS, 500, again, "");
		target_result(&t);
		read_all(trid, id, &b);
		CHECK_EQ("INH-11", b.events, THREADS * 500);
		CHECK_EQ("INH-11", b.pid[0], t.pid);
		target_tell(&t, DO_EXEC, 0, 0, 0, "");
	}
	CHECK_EQ("-", lost(trid), 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	target_end(&t);
}

/* Checks a log that a program of the other size has written, or begun. */
static void log_as_written(const char *path, pid_t pid, uint32_t count, size_t log_size)
{
	struct posix_trace_event_info info;
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id = 0, type;
	int unavailable, stops = 0, fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t events = 0;
	trace_attr_t attr;
	trace_id_t trid;
	struct books b;
	struct data d;
	size_t size;

	MUST(fd >= 0);
	CHECK_EQ("OPEN-1 MODEL-26", posix_trace_open(fd, &trid), 0);
	MUST(posix_trace_get_attr(trid, &attr) == 0);
	CHECK_EQ("ATTR-58", posix_trace_attr_getname(&attr, name), 0);
	CHECK_STR("ATTR-58", name, "of another size");
	CHECK_EQ("ATTR-58", posix_trace_attr_getmaxdatasize(&attr, &size), 0);
	CHECK_EQ("ATTR-58", size, DATA_MAX);
	CHECK_EQ("ATTR-58", posix_trace_attr_getlogsize(&attr, &size), 0);
	CHECK_EQ("ATTR-58", size, log_size);
	while (posix_trace_eventtypelist_getnext_id(trid, &type, &unavailable) == 0 && !unavailable)
		if (posix_trace_eventid_get_name(trid, type, name) == 0 && strcmp(name, "words.log") == 0)
			id = type;
	CHECK("MODEL-16", id != 0);
	/* Each thread has recorded twice. */
	for (int run = 0; run < 2; run++) {
		memset(&b, 0, sizeof b);
		while (b.events < THREADS * count) {
			MUST(posix_trace_getnext_event(trid, &info, &d, sizeof d, &size, &unavailable) == 0);
			MUST(!unavailable);
			keep(&b, &info, &d, size, id);
		}
		for (int i = 0; i < THREADS; i++) {
			CHECK_EQ("LOG-20 MODEL-26", b.next[i], count);
			CHECK_EQ("LOG-20", b.pid[i], pid);
		}
		events += b.events;
	}
	while (posix_trace_getnext_event(trid, &info, &d, sizeof d, &size, &unavailable) == 0 && !unavailable)
		stops += info.posix_event_id == POSIX_TRACE_STOP;
	CHECK_EQ("LOG-20", events, 2 * THREADS * count);
	CHECK_EQ("SHUT-1 SHUT-6", stops, 1);
	CHECK_EQ("OPEN-10", posix_trace_close(trid), 0);
	close(fd);
}

TEST(logs)
{
	char path[64];
	int status;

	snprintf(path, sizeof path, "/dev/shm/posixtrace-words-%d", (int)getpid());
	for (int die = 0; die < 2; die++) {
		struct target t = target_start();

		target_tell(&t, die ? DO_LOG_AND_DIE : DO_LOG, THREADS, 3000, 0, path);
		if (die) {
			MUST(waitpid(t.pid, &status, 0) == t.pid);
			close(t.socket);
		} else {
			CHECK_EQ("SHUT-7", target_result(&t), 0);
			target_end(&t);
		}
		/* The first reader completes the log if necessary; the second finds it complete. */
		for (int i = 0; i < 2; i++)
			log_as_written(path, t.pid, 3000, sizeof(size_t) == 8 ? 12345678 : SIZE_MAX);
	}
	MUST(unlink(path) == 0);
}

/* A process of the other size is traced into a log, and ends before the stream does. */
TEST(log_of_the_other)
{
	char path[64];
	struct target t = target_start();
	trace_event_id_t id;
	trace_attr_t attr;
	trace_id_t trid;
	int fd;

	snprintf(path, sizeof path, "/dev/shm/posixtrace-words-%d", (int)getpid());
	fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	MUST(fd >= 0 && posix_trace_attr_init(&attr) == 0 && posix_trace_attr_setname(&attr, "of another size") == 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, DATA_MAX) == 0 &&
	     posix_trace_attr_setlogsize(&attr, LOG_SIZE) == 0);
	MUST(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, 32 << 20) == 0);
	MUST(posix_trace_create_withlog(t.pid, &attr, fd, &trid) == 0 && posix_trace_start(trid) == 0);
	id = target_open(&t, "words.log");
	for (int run = 0; run < 2; run++) {
		target_tell(&t, DO_RECORD, THREADS, 3000, id, "");
		CHECK_EQ("-", target_result(&t), 0);
	}
	CHECK_EQ("-", lost(trid), 0);
	target_end(&t);
	CHECK_EQ("SHUT-7", posix_trace_shutdown(trid), 0);
	log_as_written(path, t.pid, 3000, LOG_SIZE);
	MUST(unlink(path) == 0);
	close(fd);
}

/* The process is killed at a random instruction: what was committed can be read. */
TEST(killed)
{
	shm_private("");
	for (int i = 0; i < 40 / test_slow() + 4; i++) {
		struct target t = target_start();
		trace_id_t trid = control(t.pid, i % 2 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL, 65536,
		                          POSIX_TRACE_CLOSE_FOR_CHILD);
		trace_event_id_t id = target_open(&t, "words.victim");
		int64_t begin;
		struct books b;
		int status;

		memset(&b, 0, sizeof b);
		CHECK_EQ("-", posix_trace_start(trid), 0);
		target_tell(&t, DO_FOREVER, THREADS, 0, id, "");
		usleep((unsigned)(i * 97 % 3000));
		/* The threads may record faster than this one reads. */
		if (i % 4 >= 2)
			read_most(trid, id, &b, 5000);
		MUST(kill(t.pid, SIGKILL) == 0 && waitpid(t.pid, &status, 0) == t.pid);
		begin = other_now();
		read_all(trid, id, &b);
		if (i % 3 == 0)
			CHECK_EQ("-", posix_trace_stop(trid), 0);
		read_all(trid, id, &b);
		CHECK_EQ("-", posix_trace_shutdown(trid), 0);
		CHECK_OP("-", other_now() - begin, <, 5000000000LL * test_slow());
		close(t.socket);
	}
	CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 0);
}

/* The controller is killed, and the traced process of the other size notices it. */
TEST(controller_killed)
{
	trace_event_id_t id;
	struct target t;
	pid_t pid;
	int status;

	shm_private("");
	t = target_start();
	id = target_open(&t, "words.orphan");
	pid = fork();
	if (pid == 0) {
		MUST(posix_trace_start(control(t.pid, POSIX_TRACE_LOOP, 65536, POSIX_TRACE_INHERITED)) == 0);
		target_tell(&t, DO_RECORD, THREADS, 5000, id, "");
		target_result(&t);
		raise(SIGKILL);
	}
	MUST(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 1);
	usleep(1200000);
	target_tell(&t, DO_RECORD, THREADS, 5000, id, "");
	target_result(&t);
	CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 0);
	target_end(&t);
}

/* -- The roles swapped ---------------------------------------------------------------------- */

static int other_way_round(void)
{
	pid_t pid;
	int status;

	printf("  and the other way round:\n");
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execl(other_program, other_program, this_program, "--again", (char *)NULL);
		_exit(99);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Returns 0 if the program of the other size can run, or its exit status. */
static int other_runs(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (freopen("/dev/null", "w", stdout) == NULL)
			_exit(99);
		execl(other_program, other_program, "--layout", (char *)NULL);
		_exit(77); /* a kernel without support for this word size */
	}
	MUST(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST_ENTRY(layout), TEST_ENTRY(all),
		TEST_ENTRY(loop),   TEST_ENTRY(until_full),
		TEST_ENTRY(family), TEST_ENTRY(exec_and_back),
		TEST_ENTRY(logs),   TEST_ENTRY(log_of_the_other),
		TEST_ENTRY(killed), TEST_ENTRY(controller_killed),
		{ NULL, NULL },
	};
	bool again = argc > 2 && strcmp(argv[2], "--again") == 0;
	static char self[4096];
	int result, second;

	if (argc > 1 && strcmp(argv[1], "--layout") == 0)
		return print_layout();
	MUST(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	this_program = self;
	if (argc > 4 && strcmp(argv[1], "--leaf") == 0)
		return leaf(atoi(argv[2]), self, argv[3], (uint32_t)atoi(argv[4]));
	MUST(argc > 1);
	other_program = argv[1];
	if (argc > 3 && strcmp(argv[2], "--target") == 0)
		return serve(atoi(argv[3]));
	result = other_runs();
	if (result) {
		printf("  skipped: programs of the other word size cannot be built or run here\n");
		return result == 77 ? 77 : 99;
	}
	result = test_main(tests, again ? 1 : argc - 1, argv + 1);
	second = again ? 0 : other_way_round();
	return result ? result : second;
}
