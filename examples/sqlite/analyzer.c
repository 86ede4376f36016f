/*
 * analyzer.c - traces the process that it is in: a loadable extension, sqlanalyze.so
 *
 *     .load ./sqltrace
 *     .load ./sqlanalyze
 *
 * Two roles of the standard in one file. The controller creates a stream for
 * its own process and starts it, when it is loaded, and stops it and shuts it
 * down when the process ends. The analyzer is a thread that reads the stream
 * (analysis.h): a line for each statement that has ended, a table at the end.
 *
 *     any thread                    stream                  analyzer thread
 *     sqltrace's trace points ----> sql.prepare, ... -----> a line
 *     sqlanalyze_report() --------> sqlanalyze.report ----> the table
 *     exit: posix_trace_stop() ---> posix_trace_stop -----> the table, ends
 *
 * Both orders to the analyzer are events, too. So they come behind everything
 * that was recorded before them, and the analyzer's data has one thread only.
 *
 * Settings are environment variables, read when it is loaded; in README.md.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3ext.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis.h"

SQLITE_EXTENSION_INIT1

#define REPORT_EVENT "sqlanalyze.report" /* data: uint64_t, which report is asked for */

static struct {
	pthread_mutex_t lock; /* for loading, and for reported and ended */
	pthread_cond_t answer;
	bool loaded;
	uint64_t asked, reported;
	uint64_t statements; /* in the latest report */
	bool ended;

	/* set before the thread starts */
	pid_t pid;
	pthread_t thread;
	trace_id_t trid;
	trace_event_id_t event_report;
	FILE *out;
} control = { .lock = PTHREAD_MUTEX_INITIALIZER, .answer = PTHREAD_COND_INITIALIZER };

/* -- The analyzer ------------------------------------------------------- */

/* Prints a table, and wakes the threads that wait for the table. */
static void report(uint64_t number, bool ended)
{
	uint64_t statements = analysis_report();

	pthread_mutex_lock(&control.lock);
	if (ended) {
		control.ended = true;
	} else {
		control.reported = number;
		control.statements = statements;
	}
	pthread_cond_broadcast(&control.answer);
	pthread_mutex_unlock(&control.lock);
}

static void on_event(trace_event_id_t id, const void *data, size_t length)
{
	if (id == control.event_report && length == sizeof(uint64_t))
		report(*(const uint64_t *)data, false);
}

static void *analyze(void *unused)
{
	(void)unused;
	analysis_run(on_event);
	report(0, true);
	return NULL;
}

/* -- The controller ----------------------------------------------------- */

static void at_exit(void)
{
	if (getpid() != control.pid) /* a forked child has neither the thread nor the stream */
		return;
	/* The STOP event comes after all recorded events, and the analyzer ends with it. */
	posix_trace_stop(control.trid);
	pthread_join(control.thread, NULL);
	posix_trace_shutdown(control.trid);
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
	int error;

	control.out = path && *path ? fopen(path, "we") : fdopen(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), "w");
	if (!control.out)
		return sqlite3_mprintf("sqlanalyze: %s: %s", path && *path ? path : "stderr", strerror(errno));
	setvbuf(control.out, NULL, _IOFBF, 65536);
	control.pid = getpid();
	posix_trace_eventid_open(REPORT_EVENT, &control.event_report);

	error = analysis_create(0, control.out, &control.trid);
	if (!error) {
		error = posix_trace_start(control.trid);
		if (!error)
			error = thread_create();
		if (error)
			posix_trace_shutdown(control.trid);
	}
	if (error) {
		fclose(control.out);
		return sqlite3_mprintf("sqlanalyze: cannot trace: %s", strerror(error));
	}
	atexit(at_exit);
	control.loaded = true;
	return NULL;
}

/* SELECT sqlanalyze_report(): prints the table of all statements ended before the call, and returns their number. */
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
	/* Recorded with the lock held, so that reports come in the order of their numbers. */
	posix_trace_event(control.event_report, &report, sizeof report);
	/* No answer comes if the stream was stopped. */
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
