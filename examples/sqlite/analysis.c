/*
 * analysis.c - a stream for sqltrace's events, a line for each statement in it, and a table of them
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sqltrace.h"

#define TEXT_KEPT  200 /* bytes of a statement; what is printed is shorter */
#define TEXT_SHOWN 56

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

/* Set by analysis_create() or analysis_open(), and not changed any more. */
static struct {
	trace_id_t trid;
	bool log;
	struct timespec created;
	trace_event_id_t event_prepare, event_row, event_finish, event_close;
	FILE *out;
	uint64_t slower; /* nanoseconds: which statements get a line */
	unsigned top;    /* lines of the table */
} stream;

/* The analyzer thread's alone. */
static struct {
	uint64_t events, statements, rows, no_begin;
	bool heading;
	struct query *queries[1024];
	size_t texts;
	/* The latest statement is the last. More run at once only if sql.finish events are lost: forget the oldest. */
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
	snprintf(buffer, size, "%7.*f %s", unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value,
		units[unit]);
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

/* Returns null if there is no memory. */
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

static void print_statement(const struct timespec *when, const struct sqltrace_finish *finish,
	const struct statement *s,
                            const char *text)
{
	if (finish->nanoseconds < stream.slower)
		return;
	if (!seen.heading)
		fprintf(stream.out, "%11s %4s %8s %10s %10s  %s\n", "when", "conn", "rows", "first row", "time ",
			"statement");
	seen.heading = true;
	fprintf(stream.out, "%9.6f s %4u %8llu %10s %10s  %s\n", (double)between(&stream.created, when) / 1e9,
	        finish->connection, (unsigned long long)finish->rows,
	        s && s->first_row.tv_sec ? SHOW_TIME(between(&s->begun, &s->first_row)) : "-  ",
	        finish->flags & SQLTRACE_LATE && !finish->nanoseconds ? "<1 ms" : SHOW_TIME(finish->nanoseconds),
	        TEXT_SHOW(text));
}

static void print_gap(const struct timespec *when, const char *what)
{
	fprintf(stream.out, "%9.6f s: %s\n", (double)between(&stream.created, when) / 1e9, what);
}

/* -- Events, one function for each type --------------------------------- */
/* Data shorter than its type was truncated by a small max-data-size: the event is ignored. */

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

/* -- The analyzer ------------------------------------------------------- */

/* Any event's data, cut to this. */
union data {
	struct sqltrace_prepare prepare;
	struct sqltrace_row row;
	struct sqltrace_finish finish;
};

/* Reads the next event; shows finished lines before waiting for more events. A log needs no waiting. */
static int next_event(struct posix_trace_event_info *event, union data *data, size_t *length, int *unavailable)
{
	int error = 0;

	*unavailable = 1;
	if (!stream.log)
		error = posix_trace_trygetnext_event(stream.trid, event, data, sizeof *data, length, unavailable);
	if (error || !*unavailable)
		return error;
	fflush(stream.out);
	return posix_trace_getnext_event(stream.trid, event, data, sizeof *data, length, unavailable);
}

int analysis_run(void (*other)(trace_event_id_t id, const void *data, size_t length))
{
	struct posix_trace_event_info event;
	union data data;
	size_t length;
	int unavailable, error;

	for (;;) {
		error = next_event(&event, &data, &length, &unavailable);
		if (error == EINTR)
			continue;
		if (error || unavailable)
			return error;
		seen.events++;
		if (event.posix_event_id == stream.event_row)
			on_row(&event.posix_timestamp, &data.row, length);
		else if (event.posix_event_id == stream.event_prepare)
			on_prepare(&event.posix_timestamp, &data.prepare, length);
		else if (event.posix_event_id == stream.event_finish)
			on_finish(&event.posix_timestamp, &data.finish, length);
		else if (event.posix_event_id == POSIX_TRACE_OVERFLOW)
			print_gap(&event.posix_timestamp, "events lost from here");
		else if (event.posix_event_id == POSIX_TRACE_RESUME)
			print_gap(&event.posix_timestamp, "to here");
		else
			other(event.posix_event_id, &data, length);
		if (event.posix_event_id == POSIX_TRACE_STOP && !stream.log)
			return 0;
	}
}

/* -- The table ---------------------------------------------------------- */

static int slower(const void *a, const void *b)
{
	const struct query *const *x = a, *const *y = b;

	return ((*x)->total < (*y)->total) - ((*x)->total > (*y)->total);
}

uint64_t analysis_report(void)
{
	struct posix_trace_status_info status = { 0 };
	struct query **all = calloc(seen.texts + 1, sizeof *all);
	size_t n = 0;

	posix_trace_get_status(stream.trid, &status);
	if (all)
		for (size_t i = 0; i < sizeof seen.queries / sizeof seen.queries[0]; i++)
			for (struct query *q = seen.queries[i]; q; q = q->next)
				if (q->runs)
					all[n++] = q;
	if (n)
		qsort(all, n, sizeof *all, slower);

	fprintf(stream.out, "\n");
	if (n)
		fprintf(stream.out, "%8s %9s %10s %10s %10s  %s\n", "runs", "rows", "total ", "mean ", "max ",
		        "statement, the longest total first");
	for (size_t i = 0; i < n && i < stream.top; i++)
		fprintf(stream.out, "%8llu %9llu %10s %10s %10s  %s\n", (unsigned long long)all[i]->runs,
		        (unsigned long long)all[i]->rows, SHOW_TIME(all[i]->total),
		        	SHOW_TIME(all[i]->total / all[i]->runs),
		        SHOW_TIME(all[i]->max), TEXT_SHOW(all[i]->text));
	if (n > stream.top)
		fprintf(stream.out, "%8s %zu more\n", "...", n - stream.top);
	fprintf(stream.out, "%s%llu statements of %zu texts, %llu rows; %llu events read, %llu lost\n",
	        n ? "\n" : "", (unsigned long long)seen.statements, n, (unsigned long long)seen.rows,
	        (unsigned long long)seen.events, (unsigned long long)status.__posix_lost_events);
	if (seen.no_begin)
		fprintf(stream.out, "%llu without text: the event of their beginning is not in the trace\n",
		        (unsigned long long)seen.no_begin);
	if (seen.count)
		fprintf(stream.out, "%u still running\n", seen.count);
	fflush(stream.out);
	free(all);
	return seen.statements;
}

/* -- The controller ----------------------------------------------------- */

static double setting(const char *name, double otherwise)
{
	const char *value = getenv(name);

	return value && *value ? atof(value) : otherwise;
}

/* Reads the attributes of the stream or log, and the settings in the environment. */
static void prepare(FILE *out)
{
	double top = setting("SQLANALYZE_TOP", 10);
	trace_attr_t attr;

	posix_trace_get_attr(stream.trid, &attr);
	posix_trace_attr_getcreatetime(&attr, &stream.created);
	posix_trace_attr_destroy(&attr);
	stream.out = out;
	stream.slower = (uint64_t)(setting("SQLANALYZE_SLOWER", 0) * 1e6);
	stream.top = top > 0 ? (unsigned)top : 0;
}

int analysis_create(pid_t pid, FILE *out, trace_id_t *trid)
{
	trace_event_set_t filter;
	trace_attr_t attr;
	int error;

	posix_trace_attr_init(&attr);
	posix_trace_attr_setname(&attr, "sqlanalyze");
	posix_trace_attr_setmaxdatasize(&attr, sizeof(struct sqltrace_prepare));
	posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP);
	posix_trace_attr_setstreamsize(&attr, (size_t)(setting("SQLANALYZE_SIZE", 16) * 1024 * 1024));
	error = posix_trace_create(pid, &attr, &stream.trid);
	posix_trace_attr_destroy(&attr);
	if (error)
		return error;

	prepare(out);
	/* Names belong to the traced process: each name has one id there, whichever process opens the name first. */
	posix_trace_trid_eventid_open(stream.trid, SQLTRACE_PREPARE, &stream.event_prepare);
	posix_trace_trid_eventid_open(stream.trid, SQLTRACE_ROW, &stream.event_row);
	posix_trace_trid_eventid_open(stream.trid, SQLTRACE_FINISH, &stream.event_finish);
	posix_trace_trid_eventid_open(stream.trid, SQLTRACE_CLOSE, &stream.event_close);

	/* The filter excludes events that this program does not read. */
	posix_trace_eventset_empty(&filter);
	posix_trace_eventset_add(stream.event_close, &filter);
	if (setting("SQLANALYZE_ROWS", 1) == 0)
		posix_trace_eventset_add(stream.event_row, &filter);
	posix_trace_set_filter(stream.trid, &filter, POSIX_TRACE_SET_EVENTSET);
	*trid = stream.trid;
	return 0;
}

/* -- A log -------------------------------------------------------------- */

int analysis_open(int fd, FILE *out, trace_id_t *trid)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	int error, unavailable;
	trace_event_id_t id;

	error = posix_trace_open(fd, &stream.trid);
	if (error)
		return error;
	stream.log = true;
	prepare(out);
	/* The names are part of the log. */
	while (posix_trace_eventtypelist_getnext_id(stream.trid, &id, &unavailable) == 0 && !unavailable) {
		posix_trace_eventid_get_name(stream.trid, id, name);
		if (strcmp(name, SQLTRACE_PREPARE) == 0)
			stream.event_prepare = id;
		else if (strcmp(name, SQLTRACE_ROW) == 0)
			stream.event_row = id;
		else if (strcmp(name, SQLTRACE_FINISH) == 0)
			stream.event_finish = id;
	}
	*trid = stream.trid;
	return 0;
}
