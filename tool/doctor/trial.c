/*
 * trial.c - tracing itself, tried: a stream of one's own, another process, a log
 *
 * SPDX-License-Identifier: MIT
 */
#include "doctor/trial.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

#include "base/ticks.h"
#include "doctor/findings.h"

#define EVENTS 1000
#define ROUNDS 5
#define NAME "posixtrace.doctor"

static void trace(trace_event_id_t id, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		posix_trace_event(id, &i, sizeof i);
}

/* Returns how many events of the type can be read with the expected numbers in their data. */
static unsigned read_all(trace_id_t trid, trace_event_id_t id, bool log)
{
	struct posix_trace_event_info event;
	unsigned count = 0, number;
	int none = 0;
	size_t length;

	while ((log ? posix_trace_getnext_event(trid, &event, &number, sizeof number, &length, &none)
	            : posix_trace_trygetnext_event(trid, &event, &number, sizeof number, &length, &none)) == 0 &&
	       !none)
		count += event.posix_event_id == id && length == sizeof number && number == count % EVENTS;
	return count;
}

/* -- The process itself -------------------------------------------------------------------------------------- */

static void own_stream(void)
{
	int64_t best = INT64_MAX;
	trace_event_id_t id;
	trace_id_t trid;
	unsigned count;
	int error = posix_trace_eventid_open(NAME, &id);

	if (error == 0)
		error = posix_trace_create(0, NULL, &trid);
	if (error) {
		finding(GRADE_PROBLEM, "trial", create_error(error), "a stream for this process cannot be created: %s",
			strerror(error));
		return;
	}
	posix_trace_start(trid);
	for (int i = 0; i < ROUNDS; i++) {
		int64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID), ns;

		trace(id, EVENTS);
		ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
		if (ns < best)
			best = ns;
	}
	posix_trace_stop(trid);
	count = read_all(trid, id, false);
	posix_trace_shutdown(trid);
	if (count == EVENTS * ROUNDS)
		finding(GRADE_OK, "trial", NULL, "this process traced itself: %u events, all read, %.1f ns for each",
			count, (double)best / EVENTS);
	else
		finding(GRADE_PROBLEM, "trial", "please report it",
			"this process traced %u events of its own, but read %u", EVENTS * ROUNDS, count);
}

/*
 * -- Another process ------------------------------------------------------------------------------------------------
 */

/* Starts a child that records events on request, and waits. */
static pid_t start_child(int *order, int *answer)
{
	int there[2], back[2];
	trace_event_id_t id;
	pid_t child;
	char c;

	if (pipe(there) < 0 || pipe(back) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		close(there[1]);
		close(back[0]);
		if (read(there[0], &c, 1) == 1 && posix_trace_eventid_open(NAME, &id) == 0) {
			trace(id, EVENTS);
			if (write(back[1], "", 1) == 1 && read(there[0], &c, 1) == 0)
				_exit(0);
		}
		_exit(1);
	}
	close(there[0]);
	close(back[1]);
	*order = there[1];
	*answer = back[0];
	return child;
}

static void trace_child(pid_t child, int order, int answer)
{
	trace_event_id_t id;
	trace_id_t trid;
	unsigned count = 0;
	char c;
	int error = posix_trace_create(child, NULL, &trid);

	if (error) {
		finding(GRADE_PROBLEM, "trial", create_error(error),
			"a child process cannot be traced by its process id: %s", strerror(error));
		return;
	}
	posix_trace_trid_eventid_open(trid, NAME, &id);
	posix_trace_start(trid);
	if (write(order, "", 1) == 1 && read(answer, &c, 1) == 1)
		count = read_all(trid, id, false);
	posix_trace_shutdown(trid);
	if (count == EVENTS)
		finding(GRADE_OK, "trial", NULL, "a child process was traced by its process id: %u events", count);
	else
		finding(GRADE_PROBLEM, "trial", "please report it",
			"a child process traced %u events, but %u of them were read", EVENTS, count);
}

static void other_process(void)
{
	int order, answer;
	pid_t child = start_child(&order, &answer);

	if (child < 0) {
		finding(GRADE_PROBLEM, "trial", "ulimit -u, -n", "cannot create a child process: %s", strerror(errno));
		return;
	}
	trace_child(child, order, answer);
	close(order);
	close(answer);
	waitpid(child, NULL, 0);
}

/* -- A log --------------------------------------------------------------------------------------------------------- */

static void log_file(void)
{
	FILE *file = tmpfile();
	trace_event_id_t id;
	trace_id_t trid, log;
	unsigned count = 0;
	struct stat st;
	int error;

	if (!file) {
		finding(GRADE_WARNING, "trial", "set TMPDIR, or make room in /tmp",
			"cannot create a temporary file for a log: %s", strerror(errno));
		return;
	}
	posix_trace_eventid_open(NAME, &id);
	error = posix_trace_create_withlog(0, NULL, fileno(file), &trid);
	if (error == 0) {
		posix_trace_start(trid);
		trace(id, EVENTS);
		error = posix_trace_shutdown(trid);
	}
	if (error == 0 && posix_trace_open(fileno(file), &log) == 0) {
		count = read_all(log, id, true);
		posix_trace_close(log);
	}
	if (error)
		finding(GRADE_PROBLEM, "trial", create_error(error), "a log cannot be written: %s", strerror(error));
	else if (count != EVENTS || fstat(fileno(file), &st) < 0)
		finding(GRADE_PROBLEM, "trial", "please report it", "a log of %u events has only %u", EVENTS, count);
	else
		finding(GRADE_OK, "trial", NULL, "a log of %u events: %.1f bytes per event", count,
			(double)st.st_size / EVENTS);
	fclose(file);
}

void doctor_trials(void)
{
	own_stream();
	other_process();
	log_file();
}
