/*
 * analyzer.c - reads the events of sqltrace while SQLite runs: a loadable extension, sqlanalyze.so
 *
 *     .load ./sqltrace
 *     .load ./sqlanalyze
 *
 * Two roles of the standard in one file. The controller creates a stream for
 * its own process and starts it, when it is loaded, and stops it and shuts it
 * down when the process ends. The analyzer is a thread that reads the stream:
 * it prints a line for each statement that has ended, and a table at the end.
 *
 *     any thread                    stream                  analyzer thread
 *     sqltrace's trace points ----> sql.prepare, ... -----> print_statement()
 *     sqlanalyze_report() --------> sqlanalyze.report ----> print_report()
 *     exit: posix_trace_stop() ---> posix_trace_stop -----> print_report(), ends
 *
 * Both orders to the analyzer are events, too. So they come behind everything
 * that was recorded before them, and the analyzer's data has one thread only.
 *
 * Settings are environment variables, read when it is loaded; in README.md.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3ext.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <trace.h>
#include <unistd.h>

#include "sqltrace.h"

SQLITE_EXTENSION_INIT1

#define REPORT_EVENT "sqlanalyze.report" /* data: uint64_t, which report is asked for */
#define TEXT_KEPT    200                 /* bytes of a statement; what is printed is shorter */
#define TEXT_SHOWN   56

/* One text of the table; all its runs added up. */
struct query {
	struct query *next; /* same hash */
	uint64_t runs, rows, total, max;
	char text[TEXT_KEPT + 1];
};

/* A statement of which sql.prepare has been read, and sql.finish not yet. */
struct statement {
	uint64_t number;
	struct timespec begun, first_row; /* tv_sec 0: none so far */
	struct query *query;
};

static struct {
	pthread_mutex_t lock; /* for loading, and for reported and ended */
	pthread_cond_t answer;
	bool loaded;
	uint64_t asked, reported;
	uint64_t statements; /* in the latest report */
	bool ended;

	/* the controller's: set before the thread starts */
	pid_t pid;
	pthread_t thread;
	trace_id_t trid;
	struct timespec created;
	trace_event_id_t event_prepare, event_row, event_finish, event_close, event_report;
	FILE *out;
	uint64_t slower; /* nanoseconds: which statements get a line */
	unsigned top;    /* lines of the table */
} control = { .lock = PTHREAD_MUTEX_INITIALIZER, .answer = PTHREAD_COND_INITIALIZER };

/* The analyzer thread's alone. */
static struct {
	uint64_t events, statements, rows, no_begin;
	bool heading;
	struct query *queries[1024];
	size_t texts;
	/* The latest is the last. More than these are running at once only if sql.finish events are lost: the oldest are forgotten. */
	struct statement running[512];
	unsigned count;
} seen;

/* -- Text and numbers --------------------------------------------------- */

static uint64_t between(const struct timespec *from, const struct timespec *to)
{
	int64_t ns = ((int64_t)to->tv_sec - from->tv_sec) * 1000000000 + (to->tv_nsec - from->tv_nsec);

	return ns > 0 ? (uint64_t)ns : 0;
}

/* Three digits and a unit, ten characters wide: "   1.23 us". */
static const char *show_time(char *buffer, size_t size, uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s " };
	double value = (double)ns;
	unsigned unit = 0;

	while (unit < 3 && value >= 999.5) {
		value /= 1000;
		unit++;
	}
	snprintf(buffer, size, "%7.*f %s", unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value, units[unit]);
	return buffer;
}
#define SHOW_TIME(ns) show_time((char[16]){ 0 }, 16, ns)

/*
 * One line of text: runs of blanks, line ends and control characters become one
 * blank, a semicolon at the end goes. Cut to size - 1 bytes, at a character of UTF-8.
 */
static void text_fold(char *to, size_t size, const char *from, size_t length)
{
	size_t n = 0;
	bool blank = true;

	for (size_t i = 0; i < length && n < size - 1; i++) {
		unsigned char c = (unsigned char)from[i];

		if (c <= ' ' || c == 0x7f) {
			if (!blank)
				to[n++] = ' ';
			blank = true;
		} else {
			to[n++] = (char)c;
			blank = false;
		}
	}
	if (n == size - 1) {
		/* the last character may lack some of its bytes */
		while (n > 0 && ((unsigned char)to[n - 1] & 0xc0) == 0x80)
			n--;
		if (n > 0 && (unsigned char)to[n - 1] >= 0xc0)
			n--;
	}
	while (n > 0 && (to[n - 1] == ' ' || to[n - 1] == ';'))
		n--;
	to[n] = '\0';
}

static const char *text_show(char *buffer, const char *text)
{
	size_t n = strlen(text);

	if (n <= TEXT_SHOWN)
		return text;
	n = TEXT_SHOWN - 3;
	while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	memcpy(buffer, text, n);
	memcpy(buffer + n, "...", 4);
	return buffer;
}
#define TEXT_SHOW(text) text_show((char[TEXT_SHOWN + 1]){ 0 }, text)

/* -- What has been seen ------------------------------------------------- */

/* NULL: no memory. */
static struct query *query_find(const char *text, size_t length)
{
	char folded[TEXT_KEPT + 1];
	struct query *q;
	unsigned hash = 5381;

	text_fold(folded, sizeof folded, text, length);
	for (const char *s = folded; *s; s++)
		hash = hash * 33 + (unsigned char)*s;
	hash %= sizeof seen.queries / sizeof seen.queries[0];
	for (q = seen.queries[hash]; q; q = q->next)
		if (strcmp(q->text, folded) == 0)
			return q;
	q = calloc(1, sizeof *q);
	if (!q)
		return NULL;
	strcpy(q->text, folded);
	q->next = seen.queries[hash];
	seen.queries[hash] = q;
	seen.texts++;
	return q;
}

static struct statement *running_find(uint64_t number)
{
	for (unsigned i = seen.count; i-- > 0;)
		if (seen.running[i].number == number)
			return &seen.running[i];
	return NULL;
}

static void running_remove(struct statement *s)
{
	seen.count--;
	memmove(s, s + 1, (size_t)(&seen.running[seen.count] - s) * sizeof *s);
}

static void print_statement(const struct timespec *when, const struct sqltrace_finish *finish, const struct statement *s,
                            const char *text)
{
	if (finish->nanoseconds < control.slower)
		return;
	if (!seen.heading)
		fprintf(control.out, "%11s %4s %8s %10s %10s  %s\n", "when", "conn", "rows", "first row", "time ", "statement");
	seen.heading = true;
	fprintf(control.out, "%9.6f s %4u %8llu %10s %10s  %s\n", (double)between(&control.created, when) / 1e9,
	        finish->connection, (unsigned long long)finish->rows,
	        s && s->first_row.tv_sec ? SHOW_TIME(between(&s->begun, &s->first_row)) : "-  ",
	        finish->flags & SQLTRACE_LATE && !finish->nanoseconds ? "<1 ms" : SHOW_TIME(finish->nanoseconds),
	        TEXT_SHOW(text));
}

static int slower(const void *a, const void *b)
{
	const struct query *const *x = a, *const *y = b;

	return ((*x)->total < (*y)->total) - ((*x)->total > (*y)->total);
}

static void print_report(void)
{
	struct posix_trace_status_info status = { 0 };
	struct query **all = calloc(seen.texts + 1, sizeof *all);
	size_t n = 0;

	posix_trace_get_status(control.trid, &status);
	if (all)
		for (size_t i = 0; i < sizeof seen.queries / sizeof seen.queries[0]; i++)
			for (struct query *q = seen.queries[i]; q; q = q->next)
				if (q->runs)
					all[n++] = q;
	if (n)
		qsort(all, n, sizeof *all, slower);

	fprintf(control.out, "\n");
	if (n)
		fprintf(control.out, "%8s %9s %10s %10s %10s  %s\n", "runs", "rows", "total ", "mean ", "max ",
		        "statement, the longest total first");
	for (size_t i = 0; i < n && i < control.top; i++)
		fprintf(control.out, "%8llu %9llu %10s %10s %10s  %s\n", (unsigned long long)all[i]->runs,
		        (unsigned long long)all[i]->rows, SHOW_TIME(all[i]->total), SHOW_TIME(all[i]->total / all[i]->runs),
		        SHOW_TIME(all[i]->max), TEXT_SHOW(all[i]->text));
	if (n > control.top)
		fprintf(control.out, "%8s %zu more\n", "...", n - control.top);
	fprintf(control.out, "%s%llu statements of %zu texts, %llu rows; %llu events read, %llu lost\n",
	        n ? "\n" : "", (unsigned long long)seen.statements, n, (unsigned long long)seen.rows, (unsigned long long)seen.events,
	        (unsigned long long)status.__posix_lost_events);
	if (seen.no_begin)
		fprintf(control.out, "%llu without text: the event of their beginning is lost\n",
		        (unsigned long long)seen.no_begin);
	if (seen.count)
		fprintf(control.out, "%u still running\n", seen.count);
	fflush(control.out);
	free(all);
}

/* -- Events, one function for each type --------------------------------- */
/* What is shorter than its type says was cut by a small max-data-size: it is left out. */

static void on_prepare(const struct timespec *when, const struct sqltrace_prepare *data, size_t length)
{
	struct statement *s;

	if (length < offsetof(struct sqltrace_prepare, text))
		return;
	if (seen.count == sizeof seen.running / sizeof seen.running[0])
		running_remove(&seen.running[0]);
	s = &seen.running[seen.count++];
	memset(s, 0, sizeof *s);
	s->number = data->statement;
	s->begun = *when;
	s->query = query_find(data->text, length - offsetof(struct sqltrace_prepare, text));
}

static void on_row(const struct timespec *when, const struct sqltrace_row *data, size_t length)
{
	struct statement *s = length < sizeof *data ? NULL : running_find(data->statement);

	if (s && !s->first_row.tv_sec)
		s->first_row = *when;
}

static void on_finish(const struct timespec *when, const struct sqltrace_finish *data, size_t length)
{
	struct statement *s;
	struct query *q;

	if (length < sizeof *data)
		return;
	s = running_find(data->statement);
	if (!s)
		seen.no_begin++;
	q = s ? s->query : query_find("(no text)", 9);
	print_statement(when, data, s, q ? q->text : "(no memory)");
	seen.statements++;
	seen.rows += data->rows;
	if (q) {
		q->runs++;
		q->rows += data->rows;
		q->total += data->nanoseconds;
		if (q->max < data->nanoseconds)
			q->max = data->nanoseconds;
	}
	if (s)
		running_remove(s);
}

static void on_report(const uint64_t *data, size_t length)
{
	if (length < sizeof *data)
		return;
	print_report();
	pthread_mutex_lock(&control.lock);
	control.reported = *data;
	control.statements = seen.statements;
	pthread_cond_broadcast(&control.answer);
	pthread_mutex_unlock(&control.lock);
}

static void *analyze(void *unused)
{
	struct posix_trace_event_info event;
	union {
		struct sqltrace_prepare prepare;
		struct sqltrace_row row;
		struct sqltrace_finish finish;
		uint64_t report;
	} data;
	size_t length;
	int unavailable;

	(void)unused;
	for (;;) {
		int error;

		/* Lines that are ready are shown before it waits for more. */
		error = posix_trace_trygetnext_event(control.trid, &event, &data, sizeof data, &length, &unavailable);
		if (!error && unavailable) {
			fflush(control.out);
			error = posix_trace_getnext_event(control.trid, &event, &data, sizeof data, &length, &unavailable);
		}
		if (error == EINTR)
			continue;
		if (error)
			break; /* shut down by somebody else */
		seen.events++;
		if (event.posix_event_id == control.event_row)
			on_row(&event.posix_timestamp, &data.row, length);
		else if (event.posix_event_id == control.event_prepare)
			on_prepare(&event.posix_timestamp, &data.prepare, length);
		else if (event.posix_event_id == control.event_finish)
			on_finish(&event.posix_timestamp, &data.finish, length);
		else if (event.posix_event_id == control.event_report)
			on_report(&data.report, length);
		else if (event.posix_event_id == POSIX_TRACE_OVERFLOW)
			fprintf(control.out, "%9.6f s: events lost from here\n",
			        (double)between(&control.created, &event.posix_timestamp) / 1e9);
		else if (event.posix_event_id == POSIX_TRACE_RESUME)
			fprintf(control.out, "%9.6f s: to here\n",
			        (double)between(&control.created, &event.posix_timestamp) / 1e9);
		else if (event.posix_event_id == POSIX_TRACE_STOP)
			break;
	}
	print_report();
	pthread_mutex_lock(&control.lock);
	control.ended = true;
	pthread_cond_broadcast(&control.answer);
	pthread_mutex_unlock(&control.lock);
	return NULL;
}

/* -- The controller ----------------------------------------------------- */

static void at_exit(void)
{
	if (getpid() != control.pid) /* a forked child has neither the thread nor the stream */
		return;
	/* What was recorded so far lies before the event of this stop, and the analyzer ends with it. */
	posix_trace_stop(control.trid);
	pthread_join(control.thread, NULL);
	posix_trace_shutdown(control.trid);
}

static double setting(const char *name, double otherwise)
{
	const char *value = getenv(name);

	return value && *value ? atof(value) : otherwise;
}

static int stream_create(void)
{
	trace_event_set_t filter;
	trace_attr_t attr;
	int error;

	posix_trace_attr_init(&attr);
	posix_trace_attr_setname(&attr, "sqlanalyze");
	posix_trace_attr_setmaxdatasize(&attr, sizeof(struct sqltrace_prepare));
	posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP);
	posix_trace_attr_setstreamsize(&attr, (size_t)(setting("SQLANALYZE_SIZE", 16) * 1024 * 1024));
	error = posix_trace_create(0, &attr, &control.trid);
	posix_trace_attr_destroy(&attr);
	if (error)
		return error;

	posix_trace_get_attr(control.trid, &attr);
	posix_trace_attr_getcreatetime(&attr, &control.created);
	posix_trace_attr_destroy(&attr);
	posix_trace_trid_eventid_open(control.trid, SQLTRACE_PREPARE, &control.event_prepare);
	posix_trace_trid_eventid_open(control.trid, SQLTRACE_ROW, &control.event_row);
	posix_trace_trid_eventid_open(control.trid, SQLTRACE_FINISH, &control.event_finish);
	posix_trace_trid_eventid_open(control.trid, SQLTRACE_CLOSE, &control.event_close);
	posix_trace_trid_eventid_open(control.trid, REPORT_EVENT, &control.event_report);

	/* The filter says what is not recorded: what nobody here reads. */
	posix_trace_eventset_empty(&filter);
	posix_trace_eventset_add(control.event_close, &filter);
	if (setting("SQLANALYZE_ROWS", 1) == 0)
		posix_trace_eventset_add(control.event_row, &filter);
	posix_trace_set_filter(control.trid, &filter, POSIX_TRACE_SET_EVENTSET);
	return posix_trace_start(control.trid);
}

static int thread_create(void)
{
	sigset_t all, before;
	int error;

	/* The program's signals are for the program's threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&control.thread, NULL, analyze, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

static char *control_load(void)
{
	const char *path = getenv("SQLANALYZE_OUTPUT");
	double top = setting("SQLANALYZE_TOP", 10);
	int error;

	control.out = path && *path ? fopen(path, "we") : fdopen(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), "w");
	if (!control.out)
		return sqlite3_mprintf("sqlanalyze: %s: %s", path && *path ? path : "stderr", strerror(errno));
	setvbuf(control.out, NULL, _IOFBF, 65536);
	control.pid = getpid();
	control.slower = (uint64_t)(setting("SQLANALYZE_SLOWER", 0) * 1e6);
	control.top = top > 0 ? (unsigned)top : 0;

	error = stream_create();
	if (error) {
		fclose(control.out);
		return sqlite3_mprintf("sqlanalyze: cannot create a trace stream: %s", strerror(error));
	}
	error = thread_create();
	if (error) {
		posix_trace_shutdown(control.trid);
		fclose(control.out);
		return sqlite3_mprintf("sqlanalyze: cannot start a thread: %s", strerror(error));
	}
	atexit(at_exit);
	control.loaded = true;
	return NULL;
}

/* SELECT sqlanalyze_report(): prints the table of all that has ended before this call; how many statements that is. */
static void function_report(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct timespec limit;
	uint64_t report, statements;
	bool done;

	(void)argc;
	(void)argv;
	if (getpid() != control.pid) {
		sqlite3_result_error(context, "sqlanalyze: the trace is of the process that forked this one", -1);
		return;
	}
	pthread_mutex_lock(&control.lock);
	report = ++control.asked;
	/* Recorded with the lock, so that reports are made in their order. */
	posix_trace_event(control.event_report, &report, sizeof report);
	/* There is no answer if somebody has stopped the stream. */
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += 10;
	while (control.reported < report && !control.ended &&
	       pthread_cond_timedwait(&control.answer, &control.lock, &limit) == 0)
		;
	done = control.reported >= report;
	statements = control.statements;
	pthread_mutex_unlock(&control.lock);
	if (done)
		sqlite3_result_int64(context, (sqlite3_int64)statements);
	else
		sqlite3_result_error(context, "sqlanalyze: the trace has stopped", -1);
}

static int function_create(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	(void)error;
	(void)api;
	return sqlite3_create_function(db, "sqlanalyze_report", 0, SQLITE_UTF8, NULL, function_report, NULL, NULL);
}

/* What SQLite looks for, by the file's name. All else is hidden: SQLite loads extensions into one scope. */
__attribute__((visibility("default")))
int sqlite3_sqlanalyze_init(sqlite3 *db, char **error, const sqlite3_api_routines *api);

int sqlite3_sqlanalyze_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	char *failed = NULL;
	int status;

	SQLITE_EXTENSION_INIT2(api);
	pthread_mutex_lock(&control.lock);
	if (!control.loaded)
		failed = control_load();
	pthread_mutex_unlock(&control.lock);
	if (failed) {
		*error = failed;
		return SQLITE_ERROR;
	}
	status = sqlite3_auto_extension((void (*)(void))function_create);
	if (status == SQLITE_OK)
		status = function_create(db, error, api);
	return status == SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : status;
}
