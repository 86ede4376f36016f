/*
 * corpus.c - makes logs of all kinds: complete and incomplete, wrapped, full, cleared, of several processes
 *
 *     corpus DIRECTORY        a file NAME.log for each kind
 *
 * For agree.py, which compares two readers, and for script/fuzz. All logs are small.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <trace.h>

#include "test.h"

static trace_id_t trid;
static trace_attr_t attr;
static char path[1000];
static int fd;

/* -- The life of a log ------------------------------------------------------------------ */

static const char *directory;

static void begin_in(int log, pid_t pid)
{
	fd = log;
	MUST(posix_trace_create_withlog(pid, &attr, fd, &trid) == 0);
}

static void name_file(const char *name)
{
	snprintf(path, sizeof path, "%s/%s.log", directory, name);
}

static int new_file(const char *name)
{
	int file;

	name_file(name);
	file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	MUST(file >= 0);
	return file;
}

/* Sets the attributes. The caller may change some before begin() creates the stream. */
static void plan(int log_policy, size_t log_size)
{
	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setlogfullpolicy(&attr, log_policy) == 0);
	MUST(posix_trace_attr_setlogsize(&attr, log_size) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, 16384) == 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, 100) == 0);
	MUST(posix_trace_attr_setname(&attr, "corpus") == 0);
}

static void begin(const char *name)
{
	begin_in(new_file(name), 0);
	MUST(posix_trace_start(trid) == 0);
}

static void flush(void)
{
	MUST(posix_trace_flush(trid) == 0);
}

static void end(void)
{
	MUST(posix_trace_shutdown(trid) == 0);
	close(fd);
}

/* Copies the file in its present state, as the log of a killed process would be. */
static void copy_as(const char *name)
{
	static char buf[1 << 16];
	int to = new_file(name);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buf, sizeof buf, at)) > 0) {
		MUST(pwrite(to, buf, (size_t)n, at) == n);
		at += n;
	}
	MUST(n == 0);
	close(to);
}

static trace_event_id_t event_type(const char *name)
{
	trace_event_id_t id;

	MUST(posix_trace_eventid_open(name, &id) == 0);
	return id;
}

/* Records events, each with a number, some with more data. */
static void trace_some(unsigned count)
{
	static unsigned number;
	trace_event_id_t id[2] = { event_type("number"), event_type("data") };
	unsigned char data[80];

	for (unsigned i = 0; i < count; i++, number++) {
		if (number % 5) {
			posix_trace_event(id[0], &number, sizeof number);
			continue;
		}
		for (unsigned k = 0; k < sizeof data; k++)
			data[k] = (unsigned char)(number * k);
		posix_trace_event(id[1], data, number % sizeof data);
	}
}

/* -- Policies ----------------------------------------------------------------------------- */

static void make_append(void)
{
	plan(POSIX_TRACE_APPEND, 0);
	begin("append");
	copy_as("append_begun");
	trace_some(100);
	flush();
	copy_as("append_flushed");
	trace_some(100);
	end();

	plan(POSIX_TRACE_APPEND, 0);
	begin_in(new_file("append_empty"), 0);
	end();
}

static void make_until_full(void)
{
	struct posix_trace_status_info status;

	plan(POSIX_TRACE_UNTIL_FULL, 100000);
	begin("until_full_not");
	trace_some(100);
	end();

	plan(POSIX_TRACE_UNTIL_FULL, 3000);
	begin("until_full");
	do {
		trace_some(50);
		flush();
		MUST(posix_trace_get_status(trid, &status) == 0);
	} while (status.posix_log_full_status != POSIX_TRACE_FULL);
	copy_as("until_full_open");
	trace_some(50);
	end();

	/* The smallest size. */
	plan(POSIX_TRACE_UNTIL_FULL, 1);
	begin("until_full_small");
	trace_some(100);
	end();
}

static void make_loop(void)
{
	plan(POSIX_TRACE_LOOP, 100000);
	begin("loop_not_round");
	trace_some(50);
	flush();
	copy_as("loop_not_round_open");
	trace_some(50);
	end();

	plan(POSIX_TRACE_LOOP, 20000);
	begin("loop_round");
	for (int i = 0; i < 100; i++) {
		trace_some(37);
		flush();
	}
	event_type("a type that is younger than the slots");
	posix_trace_event(event_type("a type that is younger than the slots"), NULL, 0);
	flush();
	copy_as("loop_round_open");
	trace_some(10);
	end();

	plan(POSIX_TRACE_LOOP, 1);
	begin("loop_small");
	for (int i = 0; i < 20; i++) {
		trace_some(20);
		flush();
	}
	end();
}

/* Makes logs of streams that have lost events, with OVERFLOW and RESUME, and with the smallest slots. */
static void make_lost(void)
{
	char data[100] = "data";

	plan(POSIX_TRACE_LOOP, 1);
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP) == 0);
	begin("lost_loop");
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3000; k++)
			posix_trace_event(event_type("number"), data, sizeof data);
		flush();
	}
	end();

	plan(POSIX_TRACE_APPEND, 0);
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL) == 0);
	begin("lost_until_full");
	trace_some(2000);
	flush();
	trace_some(20);
	end();
}

static void make_cleared(void)
{
	static const struct {
		const char *name;
		int policy;
	} kinds[] = {
		{ "cleared_loop", POSIX_TRACE_LOOP },
		{ "cleared_until_full", POSIX_TRACE_UNTIL_FULL },
		{ "cleared_append", POSIX_TRACE_APPEND },
	};
	char name[100];

	for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		plan(kinds[i].policy, 10000);
		begin(kinds[i].name);
		for (int k = 0; k < 10; k++) {
			trace_some(200);
			flush();
		}
		MUST(posix_trace_clear(trid) == 0);
		/* The old contents are still in the rest of the file. */
		trace_some(20);
		flush();
		snprintf(name, sizeof name, "%s_open", kinds[i].name);
		copy_as(name);
		trace_some(20);
		end();
	}
}

/* -- Contents -------------------------------------------------------------------------------- */

static void make_data(void)
{
	static unsigned char data[70000];
	trace_event_id_t id = event_type("data");

	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i * 7 + i / 256);
	plan(POSIX_TRACE_APPEND, 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, 65535) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, 1 << 20) == 0);
	begin("data");
	for (unsigned length = 0; length < 300; length++) {
		posix_trace_event(id, data, length);
		posix_trace_event(id, data + 1, length);
		/* A single bit differs. */
		data[length] ^= 0x10;
		posix_trace_event(id, data + 1, length);
		data[length] ^= 0x10;
	}
	posix_trace_event(id, data, 5000);
	posix_trace_event(id, data, 65535);
	end();

	/* Truncated to the maximum size. */
	plan(POSIX_TRACE_APPEND, 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, 13) == 0);
	begin("truncated");
	for (unsigned length = 0; length < 30; length++)
		posix_trace_event(id, data, length);
	end();
	plan(POSIX_TRACE_APPEND, 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, 0) == 0);
	begin("no_data");
	for (unsigned length = 0; length < 30; length++)
		posix_trace_event(id, data, length);
	end();
}

static void make_types(void)
{
	char name[TRACE_EVENT_NAME_MAX + 1];

	plan(POSIX_TRACE_APPEND, 0);
	MUST(posix_trace_attr_setname(&attr, "all that\n\t\"a name\" \xc3\xa4 \xff may have\x7f") == 0);
	begin("types");
	posix_trace_event(event_type(""), "empty", 5);
	posix_trace_event(event_type(" with blanks "), NULL, 0);
	posix_trace_event(event_type("\x01\x1f\x7f\xc3\xa4\xff\x80"), NULL, 0);
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = 0;
	posix_trace_event(event_type(name), NULL, 0);
	flush();
	/* More frames, and more types than the maximum; the remaining names have no id of their own. */
	for (int i = 0; i < TRACE_USER_EVENT_MAX + 10; i++) {
		snprintf(name, sizeof name, "type %d", i);
		posix_trace_event(event_type(name), &i, sizeof i);
		if (i % 1000 == 0)
			flush();
	}
	end();
}

/* Makes a log with system events: filters, starts and stops, flushes. */
static void make_system(void)
{
	trace_event_set_t set;

	plan(POSIX_TRACE_APPEND, 0);
	begin("system");
	trace_some(3);
	MUST(posix_trace_eventset_empty(&set) == 0);
	MUST(posix_trace_eventset_add(event_type("data"), &set) == 0);
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
	trace_some(30);
	flush();
	for (int i = 0; i < 3; i++) {
		MUST(posix_trace_stop(trid) == 0);
		trace_some(3);
		MUST(posix_trace_start(trid) == 0);
		trace_some(3);
		flush();
		flush();
	}
	end();
}

/* -- Threads and processes -------------------------------------------------------------------- */

static void *trace_as(void *name)
{
	prctl(PR_SET_NAME, name);
	trace_some(20);
	return NULL;
}

static void make_threads(void)
{
	static const char *const names[] = {
		"one", "another thread", "of fifteen char", "", "\x01\xff strange", "one"
	};
	pthread_t thread[6];

	plan(POSIX_TRACE_APPEND, 0);
	begin("threads");
	for (int i = 0; i < 6; i++)
		MUST(pthread_create(&thread[i], NULL, trace_as, (void *)(uintptr_t)names[i]) == 0);
	for (int i = 0; i < 6; i++)
		pthread_join(thread[i], NULL);
	end();
}

static void wait_for(pid_t child)
{
	int status;

	MUST(waitpid(child, &status, 0) == child && status == 0);
}

static void make_processes(void)
{
	int ready[2], go[2];
	pid_t child;
	char c;

	/* Processes that inherit the stream. */
	plan(POSIX_TRACE_APPEND, 0);
	MUST(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED) == 0);
	begin("inherited");
	trace_some(10);
	for (int i = 0; i < 3; i++) {
		child = fork();
		if (child == 0) {
			trace_some(10);
			if (i == 2 && fork() == 0)
				trace_some(10);
			while (wait(NULL) > 0)
				;
			_exit(0);
		}
		MUST(child > 0);
		wait_for(child);
	}
	end();

	/* Another traced process. */
	MUST(pipe(ready) == 0 && pipe(go) == 0);
	child = fork();
	if (child == 0) {
		event_type("number");
		MUST(write(ready[1], "r", 1) == 1 && read(go[0], &c, 1) == 1);
		trace_some(50);
		_exit(0);
	}
	MUST(child > 0 && read(ready[0], &c, 1) == 1);
	plan(POSIX_TRACE_APPEND, 0);
	begin_in(new_file("another_process"), child);
	MUST(posix_trace_start(trid) == 0);
	MUST(write(go[1], "g", 1) == 1);
	wait_for(child);
	end();
}

/* -- Destinations -------------------------------------------------------------------------------- */

static int into[2];

static void *store(void *file)
{
	char buf[1000];
	ssize_t n;

	while ((n = read(into[0], buf, sizeof buf)) > 0)
		MUST(write(*(int *)file, buf, (size_t)n) == n);
	return NULL;
}

static void make_piped(void)
{
	int file = new_file("piped");
	pthread_t thread;

	MUST(pipe2(into, O_CLOEXEC) == 0);
	MUST(pthread_create(&thread, NULL, store, &file) == 0);
	plan(POSIX_TRACE_APPEND, 0);
	begin_in(into[1], 0);
	MUST(posix_trace_start(trid) == 0);
	trace_some(100);
	flush();
	trace_some(100);
	end();
	pthread_join(thread, NULL);
	close(into[0]);
	close(file);
}

/* Writes a log over a larger, older log. */
static void make_over(void)
{
	int file;

	plan(POSIX_TRACE_APPEND, 0);
	begin("over_older");
	for (int i = 0; i < 20; i++) {
		trace_some(100);
		flush();
	}
	end();
	name_file("over_older");
	file = open(path, O_RDWR | O_CLOEXEC);
	MUST(file >= 0);
	plan(POSIX_TRACE_APPEND, 0);
	begin_in(file, 0);
	MUST(posix_trace_start(trid) == 0);
	trace_some(30);
	flush();
	copy_as("over_older_open");
	end();
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: corpus DIRECTORY\n");
		return 2;
	}
	directory = argv[1];
	make_append();
	make_until_full();
	make_loop();
	make_lost();
	make_cleared();
	make_data();
	make_system();
	make_threads();
	make_processes();
	make_piped();
	make_over();
	/* The last test, because it uses up all names. */
	make_types();
	return test_failures != 0;
}
