/*
 * log_events.c - every event is in the log as it was recorded: of several threads, of other processes, of all lengths
 *
 * Each thread keeps a journal of what it has sent. A second stream without a log
 * records the same, so what a log says of an event can be compared with what
 * was reported of it live.
 *
 * SPDX-License-Identifier: MIT
 */
#include <spawn.h>
#include <sys/syscall.h>

#include "log.h"
#include "target.h"

static trace_event_id_t id;

/* -- Threads and their journals ------------------------------------------------------ */

enum { THREADS = 5, EVENTS = 3000, TYPES = 12, MOST = 1500, LONGEST = 2000 };

struct entry {
	trace_event_id_t type;
	unsigned length;
	long long before, after; /* by the wall clock */
};

struct journal {
	unsigned thread;
	pthread_t self;
	struct entry entry[EVENTS];
};

static struct journal journal[THREADS];
static trace_event_id_t types[TYPES];

static unsigned char byte_of(unsigned thread, unsigned number, unsigned i)
{
	/* Some data changes little from event to event, some completely. */
	return number % 3 ? (unsigned char)(thread + number / 50 + i)
		: (unsigned char)((number * 2654435761u >> 8) * (i + 1) + thread);
}

static void make_data(unsigned char *data, unsigned thread, unsigned number, unsigned length)
{
	for (unsigned i = 0; i < length; i++)
		data[i] = byte_of(thread, number, i);
	/* Longer data contains the thread and number. */
	if (length >= 2 * sizeof number) {
		memcpy(data, &thread, sizeof thread);
		memcpy(data + sizeof thread, &number, sizeof number);
	}
}

static unsigned some_length(unsigned random)
{
	switch (random % 8) {
	case 0:
		return 0;
	case 1:
		return random / 8 % 8;
	case 2:
		return random / 8 % (LONGEST + 1);
	case 3:
		return 250 + random / 8 % 12; /* from some length on, data is not packed */
	default:
		return random / 8 % 65;
	}
}

static void *record(void *arg)
{
	static __thread unsigned char data[LONGEST];
	struct journal *j = arg;
	unsigned x = j->thread * 7919 + 17;

	j->self = pthread_self();
	for (unsigned n = 0; n < EVENTS; n++) {
		struct entry *e = &j->entry[n];

		x = x * 1103515245u + 12345;
		e->type = types[(x >> 20) % TYPES];
		e->length = some_length(x >> 8);
		make_data(data, j->thread, n, e->length);
		e->before = nanoseconds(now());
		/* From two places in the program. */
		if (n % 2)
			posix_trace_event(e->type, data, e->length);
		else
			posix_trace_event(e->type, data, e->length);
		e->after = nanoseconds(now());
	}
	return NULL;
}

static unsigned journal_of(pthread_t thread)
{
	unsigned t = 0;

	while (t < THREADS && !pthread_equal(journal[t].self, thread))
		t++;
	return t;
}

static void same_event(const struct posix_trace_event_info *log, const struct posix_trace_event_info *live)
{
	CHECK_EQ("MODEL-9 LOG-20", log->posix_event_id, live->posix_event_id);
	CHECK_EQ("MODEL-9 LOG-20 EVT-6", log->posix_pid, live->posix_pid);
	CHECK("MODEL-9 LOG-20 EVT-8", log->posix_prog_address == live->posix_prog_address);
	CHECK("MODEL-9 LOG-20 EVT-7", pthread_equal(log->posix_thread_id, live->posix_thread_id));
	CHECK_TID("MODEL-9 LOG-20", log, ==, ours_tid(live));
	CHECK_EQ("MODEL-9 LOG-20 READ-17", log->posix_truncation_status, live->posix_truncation_status);
}

/* What the live stream reported about the events of each thread. */
static struct posix_trace_event_info live_info[THREADS][EVENTS];

static void read_live(trace_id_t trid)
{
	unsigned next[THREADS] = { 0 };
	struct stream_event e;

	while (stream_try(trid, &e)) {
		unsigned t = journal_of(e.info.posix_thread_id);

		if (t < THREADS)
			live_info[t][next[t]++] = e.info;
	}
	for (unsigned t = 0; t < THREADS; t++)
		MUST(next[t] == EVENTS);
}

static void check_event(const struct stream_event *e, unsigned t, unsigned n)
{
	static unsigned char want[LONGEST];
	const struct entry *j = &journal[t].entry[n];
	unsigned recorded = j->length < MOST ? j->length : MOST;

	CHECK_EQ("MODEL-9 MODEL-17 EVT-13", e->info.posix_event_id, j->type);
	CHECK_EQ("MODEL-9 READ-16 READ-17", e->len, recorded);
	make_data(want, t, n, j->length);
	CHECK("MODEL-9 MODEL-17 READ-17 LOG-20", memcmp(e->data, want, recorded) == 0);
	CHECK_EQ("EVT-2 EVT-3 READ-17", e->info.posix_truncation_status,
		 j->length > MOST ? POSIX_TRACE_TRUNCATED_RECORD : POSIX_TRACE_NOT_TRUNCATED);
	CHECK_EQ("MODEL-17 EVT-6", e->info.posix_pid, getpid());
	CHECK("MODEL-17 EVT-7", pthread_equal(e->info.posix_thread_id, journal[t].self));
	/* The wall clock may be slewed, the clock of events is not. */
	CHECK_OP("MODEL-17 EVT-9", nanoseconds(e->info.posix_timestamp), >=, j->before - 50000000);
	CHECK_OP("MODEL-17 EVT-9", nanoseconds(e->info.posix_timestamp), <=, j->after + 50000000);
	same_event(&e->info, &live_info[t][n]);
	MUST(test_failures < 10);
}

/*
 * Checks that each event of each thread is there once, intact, in the thread's order, and that all are in the order of
 * their times.
 */
static void check_all(int fd)
{
	unsigned next[THREADS] = { 0 }, system_events = 0;
	trace_id_t trid = log_open(fd);
	struct stream_event e;
	long long time = 0;

	while (log_try_other(trid, &e)) {
		unsigned t = journal_of(e.info.posix_thread_id);

		CHECK_OP("READ-21", nanoseconds(e.info.posix_timestamp), >=, time);
		time = nanoseconds(e.info.posix_timestamp);
		if (e.info.posix_event_id == POSIX_TRACE_START || e.info.posix_event_id == POSIX_TRACE_STOP) {
			system_events++;
			continue;
		}
		MUST(t < THREADS && next[t] < EVENTS);
		check_event(&e, t, next[t]++);
	}
	CHECK_EQ("LOG-20", system_events, 2);
	for (unsigned t = 0; t < THREADS; t++)
		CHECK_EQ("MODEL-9 LOG-20", next[t], EVENTS);
	log_close(trid);
}

static void threads(int stream_policy, int log_policy, int flushes)
{
	trace_id_t trid, live;
	pthread_t thread[THREADS];
	trace_attr_t attr;
	int fd = log_file();

	for (unsigned i = 0; i < TYPES; i++) {
		char name[32];

		snprintf(name, sizeof name, "events.%u", i);
		types[i] = stream_id(name);
	}
	log_attr(&attr, stream_policy, log_policy, 16 << 20, 64 << 20);
	MUST(posix_trace_attr_setmaxdatasize(&attr, MOST) == 0);
	trid = log_create(&attr, fd);
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL) == 0);
	live = stream_create(&attr);
	MUST(posix_trace_start(trid) == 0 && posix_trace_start(live) == 0);
	for (unsigned t = 0; t < THREADS; t++) {
		journal[t].thread = t;
		MUST(pthread_create(&thread[t], NULL, record, &journal[t]) == 0);
	}
	for (int i = 0; i < flushes; i++) {
		CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
		sleep_ms(1);
	}
	for (unsigned t = 0; t < THREADS; t++)
		MUST(pthread_join(thread[t], NULL) == 0);
	CHECK_LOST("MODEL-8 MODEL-9", lost_events(trid), ==, 0);
	stream_end(trid);
	read_live(live);
	stream_end(live);
	check_all(fd);
	/* A second time from the beginning. */
	check_all(fd);
}

TEST(threads_flushed_at_the_end)
{
	threads(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 0);
}

TEST(threads_flushed_often)
{
	threads(POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, 30);
}

TEST(threads_flushed_by_itself)
{
	threads(POSIX_TRACE_FLUSH, POSIX_TRACE_LOOP, 0);
}

/* Data of the maximum length, as much as the stream can hold. */
TEST(longest_data)
{
	enum { ALL = 65535, COUNT = 40 };
	static unsigned char data[ALL], got[ALL];
	struct posix_trace_event_info info;
	int fd = log_file(), unavailable;
	struct stream_event e;
	trace_attr_t attr;
	trace_id_t trid;
	size_t len;

	id = stream_id("longest");
	log_attr(&attr, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 4 << 20, 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, ALL) == 0);
	trid = log_create(&attr, fd);
	MUST(posix_trace_start(trid) == 0);
	for (unsigned n = 0; n < COUNT; n++) {
		for (unsigned i = 0; i < ALL; i++)
			data[i] = byte_of(1, 3 * n, i);
		posix_trace_event(id, data, ALL - n);
	}
	stream_end(trid);
	trid = log_open(fd);
	log_expect(trid, POSIX_TRACE_START, &e);
	for (unsigned n = 0; n < COUNT; n++) {
		MUST(posix_trace_getnext_event(trid, &info, got, sizeof got, &len, &unavailable) == 0 && !unavailable);
		CHECK_EQ("READ-16 READ-17", len, ALL - n);
		for (unsigned i = 0; i < len; i++)
			MUST(got[i] == byte_of(1, 3 * n, i));
	}
	log_expect(trid, POSIX_TRACE_STOP, &e);
	log_close(trid);
}

/* Clock values that the application records as data are read back unchanged. */
TEST(samples_of_clocks)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
	                                    CLOCK_THREAD_CPUTIME_ID };
	struct sample {
		clockid_t clock;
		struct timespec time;
	} sent[100], got;
	struct stream_event e;
	int fd = log_file();
	trace_id_t trid = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_LOOP, 0, 1 << 20, fd);

	id = stream_id("clock");
	memset(sent, 0, sizeof sent);
	for (int i = 0; i < 100; i++) {
		sent[i].clock = clocks[i % 4];
		MUST(clock_gettime(sent[i].clock, &sent[i].time) == 0);
		posix_trace_event(id, &sent[i], sizeof sent[i]);
	}
	stream_end(trid);
	trid = log_open(fd);
	log_expect_other(trid, POSIX_TRACE_START, &e);
	for (int i = 0; i < 100; i++) {
		log_expect_other(trid, id, &e);
		MUST(e.len == sizeof got);
		memcpy(&got, e.data, sizeof got);
		CHECK("EX-16 EVT-12", memcmp(&got, &sent[i], sizeof got) == 0);
		/* They show which clock the timestamp of an event comes from. */
		if (got.clock == CLOCK_REALTIME)
			CHECK_OP("EX-16 EVT-9", nanoseconds(e.info.posix_timestamp) - nanoseconds(got.time), <,
			         50000000);
	}
	log_close(trid);
}

/* System events report when the stream was running and which filter it had. */
TEST(system_events)
{
	trace_event_set_t none = set_of(NO_TYPE), hidden, got[2];
	struct stream_event e;
	int fd = log_file();
	trace_attr_t attr;
	trace_id_t trid;

	id = stream_id("shown");
	hidden = set_of(stream_id("hidden"));
	log_attr(&attr, POSIX_TRACE_UNTIL_FULL, 0, 0, 0);
	trid = log_create(&attr, fd);
	MUST(posix_trace_set_filter(trid, &hidden, POSIX_TRACE_SET_EVENTSET) == 0); /* not running: no event */
	MUST(posix_trace_start(trid) == 0);
	log_send(id, 0, 2);
	posix_trace_event(stream_id("hidden"), NULL, 0);
	MUST(posix_trace_set_filter(trid, &none, POSIX_TRACE_SET_EVENTSET) == 0);
	posix_trace_event(stream_id("hidden"), "x", 1);
	MUST(posix_trace_stop(trid) == 0);
	log_send(id, 2, 2);
	MUST(posix_trace_start(trid) == 0);
	log_send(id, 4, 2);
	stream_end(trid);

	trid = log_open(fd);
	log_expect(trid, POSIX_TRACE_START, &e);
	CHECK_EQ("SYS-4 SYS-18", e.len, sizeof got[0]);
	memcpy(got, e.data, sizeof got[0]);
	CHECK("SYS-4 SYS-18 START-19", set_equal(&got[0], &hidden));
	for (unsigned i = 0; i < 2; i++) {
		log_expect(trid, id, &e);
		CHECK_EQ("START-10", number_of(e.data, e.len).number, i);
	}
	log_expect(trid, POSIX_TRACE_FILTER, &e);
	CHECK_EQ("SYS-6 SYS-18", e.len, sizeof got);
	memcpy(got, e.data, sizeof got);
	CHECK("SYS-6 SYS-18", set_equal(&got[0], &hidden));
	CHECK("SYS-6 SYS-18", set_equal(&got[1], &none));
	log_expect(trid, stream_id("hidden"), &e);
	CHECK_EQ("FILT-4", e.len, 1);
	log_expect(trid, POSIX_TRACE_STOP, &e);
	CHECK_EQ("SYS-5 START-10", log_int(&e), 0);
	log_expect(trid, POSIX_TRACE_START, &e);
	memcpy(got, e.data, sizeof got[0]);
	CHECK("SYS-4 SYS-18", set_equal(&got[0], &none));
	for (unsigned i = 4; i < 6; i++) {
		log_expect(trid, id, &e);
		CHECK_EQ("START-10", number_of(e.data, e.len).number, i);
	}
	log_expect(trid, POSIX_TRACE_STOP, &e);
	CHECK_EQ("SHUT-1", log_try(trid, &e), 0);
	log_close(trid);
}

/* -- Other processes ---------------------------------------------------------------------- */

/* Reads the events of each writer, which must be numbered consecutively, and counts other events. */
struct seen {
	unsigned next[64];
	pid_t pid[64];
	size_t others;
};

static void check_writers(int fd, struct seen *s)
{
	trace_id_t trid = log_open(fd);
	struct stream_event e;

	memset(s, 0, sizeof *s);
	while (log_try_other(trid, &e)) {
		struct number n;

		if (e.info.posix_event_id != id) {
			s->others++;
			continue;
		}
		n = number_of(e.data, e.len);
		MUST(n.writer < 64);
		CHECK_EQ("MODEL-9 READ-20", n.number, s->next[n.writer]);
		s->next[n.writer]++;
		if (!s->pid[n.writer])
			s->pid[n.writer] = e.info.posix_pid;
		CHECK_EQ("EVT-6 INH-6", e.info.posix_pid, s->pid[n.writer]);
		MUST(test_failures < 10);
	}
	log_close(trid);
}

static trace_id_t of_target(pid_t pid, int inherited, int fd)
{
	trace_attr_t attr;
	trace_id_t trid;

	log_attr(&attr, POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 4 << 20, 0);
	if (inherited)
		MUST(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED) == 0);
	trid = log_create_for(pid, &attr, fd);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	MUST(posix_trace_start(trid) == 0);
	return trid;
}

/* The log of a process that is alive, has ended or was killed at the shutdown. */
TEST(of_another_process)
{
	for EACH_KIND(kind) {
		for (int end = 0; end < 3; end++) {
			struct target t = target_make(kind);
			int fd = log_file();
			trace_id_t trid = of_target(t.pid, 0, fd);
			char name[TRACE_EVENT_NAME_MAX + 1];
			trace_event_id_t late;
			struct seen s;
			pid_t pid = t.pid;

			id = target_id(&t, "traced");
			target_send(&t, id, 1, 0, 2000);
			MUST(posix_trace_flush(trid) == 0);
			target_send(&t, id, 1, 2000, 2000);
			late = target_id(&t, "named in the end");
			if (end == 1)
				target_end(&t);
			if (end == 2)
				target_kill(&t);
			CHECK_EQ("SHUT-7 LOG-1 OBJ-3", posix_trace_shutdown(trid), 0);
			if (end == 0)
				target_end(&t);
			check_writers(fd, &s);
			CHECK_EQ("MODEL-1 MODEL-9 INH-16", s.next[1], 4000);
			CHECK_EQ("EVT-6", s.pid[1], pid);
			CHECK_EQ("SYS-18", s.others, 2); /* START and STOP */
			trid = log_open(fd);
			CHECK_EQ("MODEL-16 LOG-20", posix_trace_eventid_get_name(trid, late, name), 0);
			CHECK_STR("MODEL-16 LOG-20", name, "named in the end");
			if (kind == USED) {
				trace_event_id_t t2;
				int unavailable = 0, found = 0;

				/* Also the names that it had opened before the stream existed. */
				while (posix_trace_eventtypelist_getnext_id(trid, &t2, &unavailable) == 0 &&
				       !unavailable)
					found += posix_trace_eventid_get_name(trid, t2, name) == 0 &&
						strcmp(name, "before") == 0;
				CHECK_EQ("CREATE-26 MODEL-16", found, 1);
			}
			log_close(trid);
			close(fd);
		}
	}
}

/* The log of a process and its descendants, which begin and end meanwhile. */
struct family {
	trace_event_id_t id;
	unsigned first, count;
};

static long long have_family(const void *arg)
{
	const struct family *f = arg;

	for (unsigned i = 0; i < f->count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			for (unsigned n = 0; n < 500; n++)
				number_send(f->id, f->first + 2 * i, n);
			if (fork() == 0) {
				for (unsigned n = 0; n < 500; n++)
					number_send(f->id, f->first + 2 * i + 1, n);
				_exit(0);
			}
			while (wait(NULL) > 0)
				;
			_exit(0);
		}
		if (pid < 0)
			return -1;
	}
	for (unsigned n = 0; n < 500; n++)
		number_send(f->id, f->first - 1, n);
	while (wait(NULL) > 0)
		;
	return 0;
}

TEST(of_a_family)
{
	for (int inherited = 0; inherited < 2; inherited++) {
		struct target t = target_image();
		int fd = log_file();
		trace_id_t trid = of_target(t.pid, inherited, fd);
		struct family f = { .first = 1, .count = 10 };
		struct seen s;
		pid_t pid = t.pid;

		id = f.id = target_id(&t, "family");
		MUST(target_do(&t, have_family, &f, sizeof f) == 0);
		stream_end(trid);
		target_end(&t);
		check_writers(fd, &s);
		CHECK_EQ("MODEL-9", s.next[0], 500);
		CHECK_EQ("EVT-6", s.pid[0], pid);
		for (unsigned w = 1; w <= 20; w++) {
			CHECK_EQ("INH-1 INH-3 INH-5 MODEL-9", s.next[w], inherited ? 500 : 0);
			for (unsigned v = 0; inherited && v < w; v++)
				CHECK_NE("INH-6", s.pid[v], s.pid[w]);
		}
		close(fd);
	}
}

/* The traced process executes a program, which continues to record in the same log. */
TEST(over_exec)
{
	struct target t = target_image();
	int fd = log_file();
	trace_id_t trid = of_target(t.pid, 0, fd);
	struct seen s;

	id = target_id(&t, "exec");
	target_send(&t, id, 1, 0, 100);
	target_exec(&t);
	CHECK_EQ("INH-11", target_id(&t, "exec"), id);
	target_send(&t, id, 1, 100, 100);
	stream_end(trid);
	check_writers(fd, &s);
	CHECK_EQ("INH-11 MODEL-9", s.next[1], 200);
	CHECK_EQ("INH-11", s.pid[1], t.pid);
	target_end(&t);
}

/* The controller, the traced process and the reader are three processes. The reader only has the file. */
static long long read_task(const void *arg)
{
	trace_event_id_t i = 0;
	unsigned n = 0;
	struct stream_event e;
	trace_id_t trid;
	int fd = open(arg, O_RDONLY | O_CLOEXEC), unavailable;
	char name[TRACE_EVENT_NAME_MAX + 1];

	MUST(fd >= 0);
	trid = log_open(fd);
	while (posix_trace_eventtypelist_getnext_id(trid, &i, &unavailable) == 0 && !unavailable)
		if (posix_trace_eventid_get_name(trid, i, name) == 0 && strcmp(name, "of three") == 0)
			break;
	while (log_try_other(trid, &e))
		if (e.info.posix_event_id == i)
			CHECK_EQ("MODEL-1 MODEL-26", number_of(e.data, e.len).number, n++);
	log_close(trid);
	close(fd);
	return n;
}

TEST(three_processes)
{
	struct target traced = target_image(), reader = target_image();
	char path[64];
	trace_id_t trid;
	int fd;

	snprintf(path, sizeof path, "/dev/shm/posixtrace-log-%d", (int)getpid());
	fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	MUST(fd >= 0);
	trid = of_target(traced.pid, 0, fd);
	id = target_id(&traced, "of three");
	target_send(&traced, id, 1, 0, 1000);
	stream_end(trid);
	target_end(&traced);
	CHECK_EQ("MODEL-1 MODEL-26 MODEL-3", target_do(&reader, read_task, path, strlen(path) + 1), 1000);
	target_end(&reader);
	MUST(unlink(path) == 0);
}

TARGET_MAIN(TEST_ENTRY(threads_flushed_at_the_end), TEST_ENTRY(threads_flushed_often),
            TEST_ENTRY(threads_flushed_by_itself),
	    TEST_ENTRY(longest_data), TEST_ENTRY(samples_of_clocks), TEST_ENTRY(system_events),
	    TEST_ENTRY(of_another_process),
	    TEST_ENTRY(of_a_family), TEST_ENTRY(over_exec), TEST_ENTRY(three_processes))
