/*
 * live.c - <posixtrace/log.h> reads running processes: their events, what is lost, and their ends
 *
 * The reader is in a library of its own, beside the library with which the processes record: this program has both.
 *
 * SPDX-License-Identifier: MIT
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <posixtrace/log.h>
#include <posixtrace/trace.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <time.h>

#include "test.h"

#define MS INT64_C(1000000)

/* -- Processes that are traced ------------------------------------------------------------------------- */

/* A child that runs a function as soon as the parent lets it, and can be told to go on. */
struct child {
	pid_t pid;
	int go, done; /* pipes */
};

static int from_parent, to_parent;

/* Tells the parent that a step is done, and waits until it may go on. */
static void step(void)
{
	char byte = 0;

	if (write(to_parent, &byte, 1) != 1 || read(from_parent, &byte, 1) != 1)
		_exit(9);
}

static struct child start(void (*run)(void))
{
	struct child c;
	int go[2], done[2];

	MUST(pipe(go) == 0 && pipe(done) == 0);
	c.pid = fork();
	MUST(c.pid >= 0);
	if (c.pid == 0) {
		close(go[1]);
		close(done[0]);
		from_parent = go[0];
		to_parent = done[1];
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		step();
		run();
		_exit(0);
	}
	close(go[0]);
	close(done[1]);
	c.go = go[1];
	c.done = done[0];
	MUST(read(c.done, &(char){ 0 }, 1) == 1);
	return c;
}

/* Lets the child go on until its next step, or its end. */
static void go(struct child *c)
{
	MUST(write(c->go, "", 1) == 1);
	MUST(read(c->done, &(char){ 0 }, 1) >= 0);
}

static void let_go(struct child *c)
{
	MUST(write(c->go, "", 1) == 1);
}

static void end(struct child *c)
{
	close(c->go);
	close(c->done);
	MUST(waitpid(c->pid, NULL, 0) == c->pid);
}

static void record(const char *name, uint32_t first, uint32_t count)
{
	trace_event_id_t id;

	posix_trace_eventid_open(name, &id);
	for (uint32_t i = first; i < first + count; i++)
		posix_trace_event(id, &i, sizeof i);
}

/* -- Reading --------------------------------------------------------------------------------------------- */

static struct posixtrace_log *open_live(pid_t pid, const struct posixtrace_log_recording *how)
{
	struct posixtrace_log *log = NULL;
	int error = posixtrace_log_live((uint32_t)pid, how, &log);

	if (error)
		fprintf(stderr, "%s\n", posixtrace_log_error());
	MUST(error == 0 && log);
	return log;
}

/* Returns the next event of the program, or a loss; null at the end. */
static const struct posixtrace_log_event *next(struct posixtrace_log *log)
{
	const struct posixtrace_log_event *e;

	do
		MUST(posixtrace_log_next(log, &e) == 0);
	while (e && e->type && e->type->system);
	return e;
}

/* Returns whether nothing has come, as posixtrace_log_wait() tells, but the events of the recording itself. */
static bool nothing_comes(struct posixtrace_log *log, int64_t timeout)
{
	const struct posixtrace_log_event *e;
	int error;

	while ((error = posixtrace_log_wait(log, timeout)) == 0) {
		MUST(posixtrace_log_next(log, &e) == 0);
		if (!e || !e->type || !e->type->system)
			return false;
	}
	return error == ETIMEDOUT;
}

static uint32_t number_of(const struct posixtrace_log_event *e)
{
	uint32_t number = UINT32_MAX;

	if (e->length == sizeof number)
		memcpy(&number, e->data, sizeof number);
	return number;
}

/* Reads to the end. Returns the number of events, and adds up what is lost. */
static uint64_t read_all(struct posixtrace_log *log, uint64_t *lost)
{
	const struct posixtrace_log_event *e;
	uint64_t count = 0, time = 0;

	while ((e = next(log)) != NULL) {
		CHECK("-", e->time >= time || e->loss);
		time = e->loss ? time : e->time;
		if (e->loss)
			CHECK_EQ("-", e->loss->reason, POSIXTRACE_LOG_LOST);
		if (e->loss)
			*lost += e->loss->count;
		else
			count++;
	}
	return count;
}

/* -- One process ------------------------------------------------------------------------------------------- */

static void rows(void)
{
	struct {
		uint32_t rows;
		char name[6];
	} data = { 7, "apple" };
	trace_event_id_t id;

	prctl(PR_SET_NAME, "gardener");
	if (posixtrace_declare("live.row", "{level=warning;rows:u32,name:c[6]}", &id) != 0)
		_exit(7);
	for (; data.rows < 10; data.rows++)
		posix_trace_event(id, &data, sizeof data);
	step();
	posix_trace_event(id, &data, sizeof data);
}

TEST(events)
{
	struct child c = start(rows);
	struct posixtrace_log *log = open_live(c.pid, NULL);
	const struct posixtrace_log_about *about = posixtrace_log_about_at(log, 0);
	const struct posixtrace_log_event *e;
	const char *text;
	uint64_t value;
	uint32_t level;
	size_t length;

	CHECK_EQ("-", posixtrace_log_sources(log), 1);
	CHECK_EQ("-", about->live, 1);
	CHECK_EQ("-", about->target, c.pid);
	CHECK_EQ("-", about->creator, getpid());
	CHECK("-", about->name[0] && posixtrace_log_processes(log) == 1);
	CHECK("-", posixtrace_log_process_at(log, 0)->pid == (uint32_t)c.pid);
	CHECK_EQ("-", posixtrace_log_process_at(log, 0)->modules, 0);
	CHECK("-", posixtrace_log_find_type(log, "posix_trace_overflow") != NULL);
	CHECK("-", posixtrace_log_find_type(log, "live.row") == NULL);
	go(&c);
	for (uint64_t i = 7; i < 10; i++) {
		e = next(log);
		MUST(e && e->type);
		CHECK_STR("-", e->type->name, "live.row");
		CHECK_STR("-", e->thread_name, "gardener");
		CHECK_EQ("-", e->pid, c.pid);
		CHECK_EQ("-", e->tid, c.pid);
		CHECK_EQ("-", e->type->fields, 2);
		CHECK("-", posixtrace_log_get_unsigned(e, 0, 0, &value) == 0 && value == i);
		CHECK("-", posixtrace_log_get_text(e, 1, &text, &length) == 0 && length == 5 &&
		           memcmp(text, "apple", 5) == 0);
		CHECK("-", posixtrace_log_get_level(e, &level) == 0 && level == POSIXTRACE_LOG_WARNING);
		CHECK("-", e->time >= about->created && e->relative == (int64_t)(e->time - about->created));
		CHECK("-", e->process->modules > 0 && posixtrace_log_find_module(e->process, e->address, e->time));
		CHECK("-", e->process->name[0] && strcmp(about->name, e->process->name) == 0);
		CHECK("-", e->process->command_length > 0);
	}
	CHECK("-", posixtrace_log_find_type(log, "live.row") == e->type);
	CHECK_EQ("-", e->type->events, 3);
	CHECK_EQ("-", about->ended, 0);
	/* Going back changes nothing: neither what was read comes again, nor is anything lost. */
	posixtrace_log_rewind(log);
	CHECK_EQ("-", posixtrace_log_scan(log), ESPIPE);
	CHECK("-", nothing_comes(log, 0));
	CHECK("-", nothing_comes(log, 30 * MS));
	let_go(&c);
	CHECK_EQ("-", posixtrace_log_wait(log, -1), 0);
	CHECK_EQ("-", posixtrace_log_wait(log, 0), 0);
	e = next(log);
	MUST(e && e->type);
	CHECK("-", posixtrace_log_get_unsigned(e, 0, 0, &value) == 0 && value == 10);
	CHECK("-", next(log) == NULL);
	CHECK_EQ("-", posixtrace_log_wait(log, -1), 0);
	CHECK("-", next(log) == NULL);
	CHECK_EQ("-", about->ended, 1);
	CHECK_EQ("-", about->complete, 1);
	CHECK_EQ("-", about->losses, 0);
	end(&c);
	posixtrace_log_close(log);
}

static void *record_in_thread(void *nothing)
{
	pthread_setname_np(pthread_self(), "second");
	record("live.own", 100, 10);
	return nothing;
}

/* The process reads itself: the library that reads is another one than the library that records. */
TEST(own)
{
	struct posixtrace_log *log = open_live(getpid(), NULL);
	const struct posixtrace_log_event *e;
	pthread_t thread;

	record("live.own", 0, 10);
	for (uint32_t i = 0; i < 10; i++) {
		e = next(log);
		MUST(e && e->type);
		CHECK_EQ("-", number_of(e), i);
	}
	MUST(pthread_create(&thread, NULL, record_in_thread, NULL) == 0);
	for (uint32_t i = 100; i < 110; i++) {
		e = next(log);
		MUST(e && e->type);
		CHECK_EQ("-", number_of(e), i);
		CHECK("-", e->tid != (uint32_t)getpid() && e->pid == (uint32_t)getpid());
	}
	pthread_join(thread, NULL);
	CHECK("-", nothing_comes(log, 0));
	posixtrace_log_close(log);
	/* Again, now that the recording library has its page and its names. */
	log = open_live(getpid(), NULL);
	CHECK("-", posixtrace_log_find_type(log, "live.own") != NULL);
	record("live.own", 5, 1);
	e = next(log);
	MUST(e && e->type);
	CHECK_EQ("-", number_of(e), 5);
	posixtrace_log_close(log);
}

static void sleep_on(void)
{
	step();
}

TEST(silent)
{
	struct child c = start(sleep_on);
	struct posixtrace_log *log = open_live(c.pid, NULL);

	go(&c);
	CHECK("-", nothing_comes(log, 50 * MS));
	kill(c.pid, SIGKILL);
	CHECK("-", next(log) == NULL);
	CHECK_EQ("-", posixtrace_log_about_at(log, 0)->ended, 1);
	/* That of the reader, which has started the recording. */
	CHECK_EQ("-", posixtrace_log_threads(log), 1);
	end(&c);
	posixtrace_log_close(log);
}

static void record_and_die(void)
{
	record("live.last", 0, 5000);
	kill(getpid(), SIGKILL);
}

TEST(killed)
{
	for (int early = 0; early < 2; early++) {
		struct child c = start(record_and_die);
		struct posixtrace_log *log = open_live(c.pid, NULL);
		uint64_t lost = 0;

		let_go(&c);
		/* The process has gone when its events are read, or goes meanwhile. */
		if (early)
			MUST(waitpid(c.pid, NULL, 0) == c.pid);
		CHECK_EQ("-", read_all(log, &lost), 5000);
		CHECK_EQ("-", lost, 0);
		if (!early)
			end(&c);
		posixtrace_log_close(log);
	}
}

/* -- Losses -------------------------------------------------------------------------------------------------- */

#define MANY 200000

static void record_many(void)
{
	record("live.many", 0, MANY);
	step();
	record("live.many", MANY, 3);
}

TEST(lost)
{
	struct posixtrace_log_recording small = { .size = sizeof small, .stream_size = 65536 };
	struct child c = start(record_many);
	struct posixtrace_log *log = open_live(c.pid, &small);
	const struct posixtrace_log_about *about = posixtrace_log_about_at(log, 0);
	const struct posixtrace_log_event *e;
	uint64_t lost = 0, count;

	CHECK("-", nothing_comes(log, 0));
	go(&c);
	/* The stream is LOOP: the first thing is a loss, and the newest events are there. */
	e = next(log);
	MUST(e && e->loss);
	CHECK_EQ("-", e->loss->reason, POSIXTRACE_LOG_LOST);
	CHECK_EQ("-", e->loss->at_least, 0);
	CHECK("-", e->loss->until > e->loss->from && e->loss->from >= about->created);
	lost = e->loss->count;
	let_go(&c);
	count = read_all(log, &lost);
	CHECK("-", count > 500 && lost > MANY / 2);
	CHECK_EQ("-", count + lost, MANY + 3);
	CHECK_EQ("-", about->lost, lost);
	CHECK("-", about->losses >= 1);
	end(&c);
	posixtrace_log_close(log);
}

static void flood(void)
{
	for (int i = 0; i < 20; i++) {
		record("live.flood", 0, MANY / 10);
		usleep(1000);
	}
}

TEST(lost_meanwhile)
{
	struct posixtrace_log_recording small = { .size = sizeof small, .stream_size = 65536 };
	struct child c = start(flood);
	struct posixtrace_log *log = open_live(c.pid, &small);
	uint64_t lost = 0, count;

	CHECK("-", nothing_comes(log, 0));
	let_go(&c);
	count = read_all(log, &lost);
	CHECK_EQ("-", count + lost, 2 * MANY);
	CHECK_EQ("-", posixtrace_log_about_at(log, 0)->lost, lost);
	end(&c);
	posixtrace_log_close(log);
}

/* -- Several processes ----------------------------------------------------------------------------------------- */

static void fork_one(void)
{
	int begun[2];

	record("live.parent", 0, 3);
	if (pipe(begun) != 0)
		_exit(7);
	if (fork() == 0) {
		record("live.child", 0, 3);
		if (write(begun[1], "", 1) != 1)
			_exit(7);
		usleep(100000);
		record("live.child", 3, 3);
		_exit(0);
	}
	/* A child is known by its first event. */
	if (read(begun[0], &(char){ 0 }, 1) != 1)
		_exit(7);
}

TEST(children)
{
	struct posixtrace_log_recording family = { .size = sizeof family, .children = 1 };

	for (int with = 0; with < 2; with++) {
		struct child c = start(fork_one);
		struct posixtrace_log *log = open_live(c.pid, with ? &family : NULL);
		uint64_t lost = 0;

		let_go(&c);
		/* With children, the end is that of the last process. */
		CHECK_EQ("-", read_all(log, &lost), with ? 9 : 3);
		CHECK_EQ("-", lost, 0);
		CHECK_EQ("-", posixtrace_log_about_at(log, 0)->children, with);
		CHECK_EQ("-", posixtrace_log_processes(log), with ? 3 : 2);
		end(&c);
		posixtrace_log_close(log);
	}
}

static void turns(void)
{
	for (uint32_t i = 0; i < 50; i++) {
		record("live.turn", i, 1);
		step();
	}
}

TEST(merged)
{
	struct child a = start(turns), b = start(turns);
	struct posixtrace_log *log = open_live(a.pid, NULL);
	const struct posixtrace_log_event *e;

	/* One of them joins after reading has begun. */
	go(&a);
	e = next(log);
	MUST(e && e->pid == (uint32_t)a.pid);
	CHECK_EQ("-", posixtrace_log_add_live(log, (uint32_t)b.pid, NULL), 0);
	CHECK_EQ("-", posixtrace_log_sources(log), 2);
	go(&b);
	e = next(log);
	MUST(e && e->pid == (uint32_t)b.pid);
	CHECK_EQ("-", e->source, 1);
	for (uint32_t i = 1; i < 50; i++) {
		go(&a);
		go(&b);
	}
	for (uint32_t i = 2; i < 100; i++) {
		e = next(log);
		MUST(e && e->type);
		CHECK_EQ("-", e->pid, i % 2 ? b.pid : a.pid);
		CHECK_EQ("-", number_of(e), i / 2);
	}
	CHECK("-", nothing_comes(log, 0));
	let_go(&a);
	let_go(&b);
	CHECK("-", next(log) == NULL);
	end(&a);
	end(&b);
	posixtrace_log_close(log);
}

/* A process and a log of the past are one sequence. */
TEST(log_beside)
{
	struct posixtrace_log_origin origin = { .size = sizeof origin, .name = "past" };
	struct child c = start(fork_one);
	struct posixtrace_log_writer *writer;
	struct posixtrace_log *log;
	const struct posixtrace_log_event *e;
	char path[] = "/tmp/posixtrace-live-XXXXXX";
	uint64_t lost = 0;
	uint32_t type;
	int fd = mkstemp(path);

	MUST(fd >= 0);
	unlink(path);
	MUST(posixtrace_log_create_fd(fd, &origin, &writer) == 0);
	MUST(posixtrace_log_declare(writer, "past", NULL, &type) == 0);
	MUST(posixtrace_log_put(writer, 1000000, 1, 1, 0, type, NULL, 0) == 0);
	MUST(posixtrace_log_finish(writer) == 0);
	MUST(posixtrace_log_open(NULL, &log) == 0);
	MUST(posixtrace_log_add_fd(log, fd, "past") == 0);
	MUST(posixtrace_log_add_live(log, (uint32_t)c.pid, NULL) == 0);
	let_go(&c);
	e = next(log);
	MUST(e && e->type);
	CHECK_STR("-", e->type->name, "past");
	CHECK_EQ("-", read_all(log, &lost), 3);
	end(&c);
	posixtrace_log_close(log);
	close(fd);
}

/* -- Types, filters, columns ----------------------------------------------------------------------------------- */

static void declare_late(void)
{
	trace_event_id_t id;

	record("live.late", 1, 1);
	step();
	posixtrace_declare("live.late", "{number:u32}", &id);
	record("live.late", 2, 1);
	step();
	for (char name[] = "live.type.00"; name[10] <= '9'; name[10]++)
		for (name[11] = '0'; name[11] <= '9'; name[11]++)
			record(name, 3, 1);
}

TEST(types)
{
	struct child c = start(declare_late);
	struct posixtrace_log *log = open_live(c.pid, NULL);
	const struct posixtrace_log_type *early, *late;
	const struct posixtrace_log_event *e;
	uint64_t value;

	go(&c);
	e = next(log);
	MUST(e && e->type);
	early = e->type;
	CHECK_EQ("-", early->fields, 0);
	CHECK("-", nothing_comes(log, 0));
	go(&c);
	e = next(log);
	MUST(e && e->type);
	late = e->type;
	CHECK_STR("-", late->name, "live.late");
	CHECK("-", late != early && late->fields == 1);
	CHECK("-", posixtrace_log_get_unsigned(e, 0, 0, &value) == 0 && value == 2);
	CHECK("-", early->fields == 0 && strcmp(early->layout, "") == 0);
	let_go(&c);
	for (unsigned i = 0; i < 100; i++) {
		char name[20];

		e = next(log);
		MUST(e && e->type);
		snprintf(name, sizeof name, "live.type.%02u", i);
		CHECK_STR("-", e->type->name, name);
	}
	CHECK("-", next(log) == NULL);
	end(&c);
	posixtrace_log_close(log);
}

static void record_kinds(void)
{
	for (uint32_t i = 0; i < 100; i++) {
		record("live.rare", i, 1);
		record("live.often", i, 50);
		if (i == 49)
			step();
	}
}

static int is_odd(const struct posixtrace_log_event *e, void *context)
{
	++*(unsigned *)context;
	return e->type && !e->type->system && number_of(e) % 2;
}

TEST(filters)
{
	struct child c = start(record_kinds);
	struct posixtrace_log *log = open_live(c.pid, NULL);
	const struct posixtrace_log_event *e;
	unsigned asked = 0;
	uint64_t lost = 0;

	MUST(posixtrace_log_only_event(log, "live.rare") == 0);
	go(&c);
	for (uint32_t i = 0; i < 20; i++) {
		e = next(log);
		MUST(e && e->type);
		CHECK_STR("-", e->type->name, "live.rare");
		CHECK_EQ("-", number_of(e), i);
	}
	/* What posixtrace_log_wait() has found is looked at again when the filter changes, but once if not. */
	CHECK_EQ("-", posixtrace_log_wait(log, 0), 0);
	MUST(posixtrace_log_only_if(log, is_odd, &asked) == 0);
	CHECK_EQ("-", posixtrace_log_wait(log, 0), 0);
	CHECK_EQ("-", asked, 2);
	e = next(log);
	MUST(e && e->type);
	CHECK_EQ("-", number_of(e), 21);
	CHECK_EQ("-", asked, 2);
	for (uint32_t i = 23; i < 50; i += 2) {
		e = next(log);
		MUST(e && e->type);
		CHECK_EQ("-", number_of(e), i);
	}
	CHECK("-", nothing_comes(log, 50 * MS));
	posixtrace_log_all(log);
	/* The process is told at the next look. */
	CHECK("-", nothing_comes(log, 0));
	let_go(&c);
	CHECK_EQ("-", read_all(log, &lost), 50 * 51);
	CHECK_EQ("-", lost, 0);
	end(&c);
	posixtrace_log_close(log);
}

static void flood_for_ever(void)
{
	for (;;)
		record("live.flood", 0, 1000);
}

static int is_none(const struct posixtrace_log_event *e, void *context)
{
	return 0;
}

/* A wait ends in time although events come all the time, of which none is selected. */
TEST(flooded)
{
	struct child c = start(flood_for_ever);
	struct posixtrace_log *log = open_live(c.pid, NULL);
	struct timespec began, ended;

	MUST(posixtrace_log_only_if(log, is_none, NULL) == 0);
	let_go(&c);
	clock_gettime(CLOCK_MONOTONIC, &began);
	for (int i = 0; i < 10; i++)
		CHECK_EQ("-", posixtrace_log_wait(log, i % 2 * 10 * MS), ETIMEDOUT);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	CHECK("-", ended.tv_sec - began.tv_sec < 20);
	kill(c.pid, SIGKILL);
	end(&c);
	posixtrace_log_close(log);
}

TEST(until)
{
	struct child c = start(sleep_on);
	struct posixtrace_log *log = open_live(c.pid, NULL);
	uint64_t created = posixtrace_log_about_at(log, 0)->created;

	go(&c);
	/* Without an event, the end comes with the time. */
	MUST(posixtrace_log_only_time(log, created, created + 1000000) == 0);
	CHECK("-", next(log) == NULL);
	kill(c.pid, SIGKILL);
	end(&c);
	posixtrace_log_close(log);
}

TEST(columns)
{
	struct child c = start(record_kinds);
	struct posixtrace_log *log = open_live(c.pid, NULL);
	const struct posixtrace_log_type *type;
	static uint64_t times[100];
	struct posixtrace_log_column time = { POSIXTRACE_LOG_TIME, POSIXTRACE_LOG_UINT64, times, NULL };
	size_t rows, sum = 0;

	go(&c);
	CHECK_EQ("-", posixtrace_log_wait(log, -1), 0);
	type = posixtrace_log_find_type(log, "live.rare");
	MUST(type);
	CHECK_EQ("-", posixtrace_log_read(log, type, &time, 1, 10, &rows), 0);
	CHECK_EQ("-", rows, 10);
	CHECK_EQ("-", posixtrace_log_read(log, type, &time, 1, 100, &rows), 0);
	CHECK_EQ("-", rows, 40);
	let_go(&c);
	do {
		MUST(posixtrace_log_read(log, type, &time, 1, 100, &rows) == 0);
		sum += rows;
	} while (rows);
	CHECK_EQ("-", sum, 50);
	end(&c);
	posixtrace_log_close(log);
}

/* -- The reading process ------------------------------------------------------------------------------------------ */

TEST(forked_reader)
{
	struct child c = start(turns);
	struct posixtrace_log *log = open_live(c.pid, NULL);
	const struct posixtrace_log_event *e;
	int status;
	pid_t pid;

	go(&c);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		int error = posixtrace_log_next(log, &e);

		posixtrace_log_close(log);
		_exit(error == EINVAL && !e ? 0 : 1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", status, 0);
	/* The child has not ended the stream. */
	e = next(log);
	MUST(e && e->type);
	go(&c);
	e = next(log);
	MUST(e && e->type);
	CHECK_EQ("-", number_of(e), 1);
	kill(c.pid, SIGKILL);
	end(&c);
	posixtrace_log_close(log);
}

static volatile sig_atomic_t signals;

static void count_signal(int signal)
{
	signals++;
}

TEST(interrupted)
{
	struct child c = start(sleep_on);
	struct posixtrace_log *log = open_live(c.pid, NULL);
	const struct posixtrace_log_event *e;
	struct sigaction act = { .sa_handler = count_signal, .sa_flags = SA_RESTART };
	struct timespec began, ended;

	go(&c);
	MUST(sigaction(SIGALRM, &act, NULL) == 0);
	CHECK("-", nothing_comes(log, 0));
	alarm(1);
	clock_gettime(CLOCK_MONOTONIC, &began);
	CHECK_EQ("-", posixtrace_log_wait(log, -1), EINTR);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	CHECK_EQ("-", signals, 1);
	CHECK("-", ended.tv_sec - began.tv_sec < 20);
	alarm(1);
	/* Nothing but the start of the recording has come. */
	for (e = NULL; posixtrace_log_next(log, &e) == 0 && e;)
		CHECK("-", e->type && e->type->system);
	CHECK_EQ("-", signals, 2);
	kill(c.pid, SIGKILL);
	end(&c);
	posixtrace_log_close(log);
}

static void become_other(void)
{
	if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
		_exit(8);
	step();
	_exit(0);
}

/* A child records, whatever becomes of it: its own memory may be spoilt, too. */
static void record_in_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(1);
		record("live.spoilt", 0, 200);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Writes random bytes into all that this process shares with the reader, and at last takes it away. */
static void spoil(bool truncate_it)
{
	unsigned seed = 5;
	char line[512];
	struct stat st;
	FILE *maps;

	record("live.spoilt", 0, 3);
	for (int round = 0; round < 300; round++) {
		if (round % 4 == 0)
			record_in_child();
		maps = fopen("/proc/self/maps", "re");
		while (maps && fgets(line, sizeof line, maps)) {
			unsigned long from, to;
			char *path = strchr(line, '/');

			/* The stream first, then also the process's page and its names. */
			if (!path || !strstr(path, "/posixtrace-") || !strstr(line, " rw-s ") ||
			    (round < 200 && !strstr(path, "/stream-")) || sscanf(line, "%lx-%lx", &from, &to) != 2)
				continue;
			path[strcspn(path, "\n")] = 0;
			/* A registry is mapped beyond its end. */
			if (stat(path, &st) != 0 || st.st_size == 0)
				continue;
			if (to - from > (unsigned long)st.st_size)
				to = from + (unsigned long)st.st_size;
			/* First a few bytes of records, then more, also at the beginning, where all is counted. */
			for (int i = 0; i < (round < 100 ? 20 : 2000); i++) {
				size_t at = (size_t)rand_r(&seed) % (to - from);

				if (round >= 100 && i % 2)
					at %= 4096;
				else if (at < 16384 && round < 100)
					continue;
				((volatile unsigned char *)from)[at] = (unsigned char)rand_r(&seed);
			}
			if (truncate_it && round == 299 && truncate(path, 0) != 0)
				perror(path);
		}
		if (maps)
			fclose(maps);
		usleep(1000);
	}
	_exit(0);
}

static void spoil_memory(void)
{
	spoil(false);
}

static void spoil_as_other(void)
{
	if (setgid(65534) != 0 || setuid(65534) != 0)
		_exit(8);
	step();
	spoil(true);
}

/*
 * Nothing that a process writes into shared memory harms the reader, or keeps it for ever. What it reads may be
 * anything, and events that no process has recorded.
 */
TEST(hostile)
{
	struct posixtrace_log_recording small = { .size = sizeof small, .stream_size = 65536, .children = 1 };

	for (int other = 0; other < 2; other++) {
		struct posixtrace_log *log;
		const struct posixtrace_log_event *e;
		struct timespec began, now;
		struct child c;
		uint64_t sum = 0, value, count = 0;
		uint32_t level;
		int error;

		if (other && (geteuid() != 0 || !test_capable(CAP_SYS_PTRACE)))
			break;
		c = start(other ? spoil_as_other : spoil_memory);
		if (other)
			go(&c);
		log = open_live(c.pid, &small);
		let_go(&c);
		clock_gettime(CLOCK_MONOTONIC, &began);
		do {
			error = posixtrace_log_wait(log, 100 * MS);
			CHECK("-", error == 0 || error == ETIMEDOUT);
			if (error == 0)
				MUST(posixtrace_log_next(log, &e) == 0);
			count += error == 0;
			for (uint32_t i = 0; error == 0 && e && i < e->length; i++)
				sum += e->data[i];
			if (error == 0 && e && e->type) {
				sum += strlen(e->type->name) + strlen(e->thread_name);
				sum += posixtrace_log_meaning_of(e->type)->named;
				for (unsigned i = 0; i < e->type->fields; i++)
					posixtrace_log_get_unsigned(e, i, 0, &value);
				posixtrace_log_get_level(e, &level);
			}
			clock_gettime(CLOCK_MONOTONIC, &now);
		} while ((error || e) && now.tv_sec - began.tv_sec < 30);
		CHECK("-", sum > 0 && count > 10);
		/* Memory that was taken away is told. */
		CHECK_EQ("-", posixtrace_log_about_at(log, 0)->ended, 1);
		CHECK_EQ("-", posixtrace_log_about_at(log, 0)->complete, !other);
		/* A process that feigns another one of its user keeps the end off, but never the timeout. */
		kill(c.pid, SIGKILL);
		end(&c);
		posixtrace_log_close(log);
	}
}

/* Root reads a process of another user, and that user may not read root's. */
TEST(users)
{
	struct posixtrace_log *log;
	const struct posixtrace_log_event *e;
	struct child c;
	int status;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("needs root");
	NEEDS_OTHERS();
	c = start(become_other);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		int error;

		if (setgid(65534) != 0 || setuid(65534) != 0)
			_exit(8);
		error = posixtrace_log_live((uint32_t)getppid(), NULL, &log);
		fprintf(stderr, "%s\n", posixtrace_log_error());
		_exit(error == EPERM && strstr(posixtrace_log_error(), "may not be traced") ? 0 : 1);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", status, 0);
	go(&c);
	log = open_live(c.pid, NULL);
	let_go(&c);
	while ((e = next(log)) != NULL)
		CHECK("-", e->loss == NULL);
	end(&c);
	posixtrace_log_close(log);
}

static void confine(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog filter = { .len = 1, .filter = &allow };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		_exit(8);
	step();
	record("live.confined", 0, 3);
}

/* A filter may kill the process when it is traced, so its user has to agree. */
TEST(seccomp)
{
	struct posixtrace_log_recording despite = { .size = sizeof despite, .despite_seccomp = 1 };
	struct child c = start(confine);
	struct posixtrace_log *log = NULL;
	uint64_t lost = 0;

	go(&c);
	CHECK_EQ("-", posixtrace_log_live((uint32_t)c.pid, NULL, &log), EPERM);
	CHECK("-", !log && strstr(posixtrace_log_error(), "seccomp") != NULL);
	log = open_live(c.pid, &despite);
	let_go(&c);
	CHECK_EQ("-", read_all(log, &lost), 3);
	end(&c);
	posixtrace_log_close(log);
}

TEST(errors)
{
	struct posixtrace_log_recording wrong = { .size = 3 };
	struct posixtrace_log *log = NULL;
	struct child c = start(sleep_on);
	const char *error;

	CHECK_EQ("-", posixtrace_log_live((uint32_t)c.pid, NULL, NULL), EINVAL);
	CHECK_EQ("-", posixtrace_log_add_live(NULL, (uint32_t)c.pid, NULL), EINVAL);
	CHECK_EQ("-", posixtrace_log_wait(NULL, 0), EINVAL);
	CHECK_EQ("-", posixtrace_log_live((uint32_t)c.pid, &wrong, &log), EINVAL);
	CHECK("-", !log);
	wrong.size = sizeof wrong + 1;
	CHECK_EQ("-", posixtrace_log_live((uint32_t)c.pid, &wrong, &log), EINVAL);
	wrong = (struct posixtrace_log_recording){ .size = sizeof wrong, .data_size = 65536 };
	CHECK_EQ("-", posixtrace_log_live((uint32_t)c.pid, &wrong, &log), EINVAL);
	wrong = (struct posixtrace_log_recording){ .size = sizeof wrong, .stream_size = UINT64_MAX };
	CHECK_NE("-", posixtrace_log_live((uint32_t)c.pid, &wrong, &log), 0);
	CHECK_EQ("-", posixtrace_log_live(0, NULL, &log), ESRCH);
	CHECK_EQ("-", posixtrace_log_live(UINT32_MAX, NULL, &log), ESRCH);
	kill(c.pid, SIGKILL);
	end(&c);
	CHECK_EQ("-", posixtrace_log_live((uint32_t)c.pid, NULL, &log), ESRCH);
	error = posixtrace_log_error();
	CHECK("-", strstr(error, "no such process") && !log);
	/* A reader without anything does not wait. */
	MUST(posixtrace_log_open(NULL, &log) == 0);
	CHECK_EQ("-", posixtrace_log_wait(log, -1), 0);
	CHECK("-", next(log) == NULL);
	CHECK_EQ("-", posixtrace_log_add_live(log, (uint32_t)c.pid, NULL), ESRCH);
	CHECK("-", next(log) == NULL);
	posixtrace_log_close(log);
}

TEST_MAIN(TEST_ENTRY(events), TEST_ENTRY(own), TEST_ENTRY(silent), TEST_ENTRY(killed), TEST_ENTRY(lost),
          TEST_ENTRY(lost_meanwhile), TEST_ENTRY(children), TEST_ENTRY(merged), TEST_ENTRY(log_beside),
          TEST_ENTRY(types), TEST_ENTRY(filters), TEST_ENTRY(flooded), TEST_ENTRY(until), TEST_ENTRY(columns),
          TEST_ENTRY(forked_reader), TEST_ENTRY(interrupted), TEST_ENTRY(hostile), TEST_ENTRY(users),
          TEST_ENTRY(seccomp), TEST_ENTRY(errors))
