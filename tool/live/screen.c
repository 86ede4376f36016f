/*
 * screen.c - draws the view of a running program on the terminal
 *
 * SPDX-License-Identifier: MIT
 */
#include "live/screen.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/out.h"
#include "event/layout_print.h"
#include "live/terminal.h"
#include "process/threadnames.h"

static const char *const orders[] = { "name", "rate", "count" };

/* Size of the terminal during a drawing. */
static int tall, wide;

static int least(int a, int b)
{
	return a < b ? a : b;
}

/* -- Header --------------------------------------------------------------------------------- */

static void draw_title(const struct watch *w, const struct view *view)
{
	const char *state = w->broken ? "BROKEN" : w->ended ? "ENDED" : view->paused ? "PAUSED" : "running";
	time_t now = time(NULL);
	char title[160], right[64], clock[16];
	struct tm tm;
	int n;

	localtime_r(&now, &tm);
	strftime(clock, sizeof clock, "%H:%M:%S", &tm);
	n = snprintf(right, sizeof right, " %s  %s ", state, clock);
	snprintf(title, sizeof title, " %s%d %s", wide >= 60 ? "posixtrace live  " : "", (int)w->pid, w->command);
	terminal_put(0, 0, wide, LOOK_TITLE, title, strlen(title), true);
	if (wide > 2 * n - 8)
		terminal_put(0, wide - n, n, LOOK_TITLE, right, (size_t)n, false);
}

/* Draws the number of lost events and, if there is room, that only this view has lost them. */
static void draw_losses(const struct watch *w, int column, double seen_per_s)
{
	double all = seen_per_s + w->lost_per_s;
	char lost[24], rate[24];

	if (!w->lost) {
		terminal_printf(1, column, wide, LOOK_DIM, "lost 0");
		return;
	}
	column += terminal_printf(1, column, wide, LOOK_ALARM, "lost %s", rows_short(lost, (double)w->lost));
	if (w->lost_per_s > 0 && all > 0)
		column += terminal_printf(1, column, wide, LOOK_ALARM, " (%s/s): sees %.0f %%",
		                          rows_short(rate, w->lost_per_s), 100 * seen_per_s / all);
	if (wide - column >= 20)
		terminal_printf(1, column, wide, LOOK_DIM, "; in this view only");
}

static void draw_sums(const struct watch *w, const struct rates_figures *all)
{
	char events[24], rate[24], bytes[24];
	int column;

	if (wide >= 60) {
		column = terminal_printf(1, 0, wide, LOOK_PLAIN, "%llu events  %s/s  %sB/s  ",
		                         (unsigned long long)all->sum.events,
		                         rows_short(rate, all->events_per_s), rows_short(bytes, all->bytes_per_s));
	} else {
		column = terminal_printf(1, 0, wide, LOOK_PLAIN, "%s ev  %s/s  ",
		                         rows_short(events, (double)all->sum.events),
		                         rows_short(rate, all->events_per_s));
	}
	draw_losses(w, column, all->events_per_s);
}

/* -- The table ------------------------------------------------------------------------------ */

struct columns {
	int name, count, rate, bytes, spark; /* width of each, including the blank before it; 0: not shown */
};

static struct columns choose_columns(const struct watch *w, const struct rows *rows)
{
	bool narrow = wide < 60;
	struct columns c = { .name = 10, .count = narrow ? 6 : 11, .rate = narrow ? 7 : 9, .bytes = narrow ? 0 : 9 };

	for (unsigned i = 0; i < rows->count; i++) {
		int length = (int)strlen(typenames_name(w->types, rows->row[i].id));

		c.name = length > c.name ? length : c.name;
	}
	c.name = least(c.name, wide * 2 / 5);
	c.spark = least(wide - c.name - c.count - c.rate - c.bytes, RATES_SECONDS + 1);
	if (c.spark < 6)
		c.spark = 0;
	return c;
}

static void draw_spark(int line, int column, int width, const struct rows *rows, const struct row *row)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
	const char *const *marks = terminal_unicode() ? blocks : ascii;
	uint64_t cells[RATES_SECONDS], highest;
	unsigned count = rows_cells(rows, row, (unsigned)width, cells, &highest);
	char text[4 * RATES_SECONDS + 1] = "";
	char *end = text;

	for (unsigned i = 0; i < count; i++)
		end = stpcpy(end, marks[highest ? (unsigned)((double)cells[i] * 8 / (double)highest + 0.999) : 0]);
	terminal_put(line, column, width, LOOK_SPARK, text, (size_t)(end - text), false);
}

static void draw_row(int line, const struct columns *c, const struct watch *w, const struct rows *rows,
                     const struct row *row)
{
	const char *name = typenames_name(w->types, row->id);
	uint64_t events = row->figures.sum.events;
	char text[24];
	bool lost = row->id == POSIX_TRACE_OVERFLOW;
	enum terminal_look look = events == 0 ? LOOK_DIM : lost ? LOOK_ALARM : LOOK_PLAIN;
	int at = c->name;

	terminal_put(line, 0, c->name, look == LOOK_PLAIN ? LOOK_NAME : look, name, strlen(name), false);
	if (c->count > 6 && events < 10000000000)
		terminal_printf(line, at, c->count, look, "%*llu", c->count, (unsigned long long)events);
	else
		terminal_printf(line, at, c->count, look, "%*s", c->count, rows_short(text, (double)events));
	at += c->count;
	terminal_printf(line, at, c->rate, look, "%*s", c->rate, rows_short(text, row->figures.events_per_s));
	at += c->rate;
	if (c->bytes)
		terminal_printf(line, at, c->bytes, look, "%*s", c->bytes, rows_short(text, row->figures.bytes_per_s));
	at += c->bytes;
	if (c->spark && events)
		draw_spark(line, at + 1, c->spark - 1, rows, row);
}

/* Draws the reason why the table is empty. */
static void draw_nothing(int line, const struct watch *w, const struct rows *rows, const struct view *view)
{
	if (w->silent)
		terminal_printf(line, 0, wide, LOOK_ALARM, "nothing yet: process %d has not loaded libposixtrace",
		                (int)w->pid);
	else if (rows->count == 0 && view->pattern[0])
		terminal_printf(line, 0, wide, LOOK_DIM, "no event type matches %s", view->pattern);
	else if (rows->count == 0 && w->missing)
		terminal_printf(line, 0, wide, LOOK_ALARM, "%s", w->missing);
	else if (rows->count == 0)
		terminal_printf(line, 0, wide, LOOK_DIM, "no events yet");
}

static void draw_table(int top, unsigned room, const struct watch *w, const struct rows *rows, const struct view *view)
{
	struct columns c = choose_columns(w, rows);
	int at = c.name;

	terminal_printf(top, 0, c.name, LOOK_HEAD, "EVENT");
	terminal_printf(top, at, c.count, LOOK_HEAD, "%*s", c.count, "COUNT");
	at += c.count;
	terminal_printf(top, at, c.rate, LOOK_HEAD, "%*s", c.rate, "RATE/S");
	at += c.rate;
	if (c.bytes)
		terminal_printf(top, at, c.bytes, LOOK_HEAD, "%*s", c.bytes, "BYTES/S");
	at += c.bytes;
	if (c.spark)
		terminal_printf(top, at + 1, c.spark - 1, LOOK_HEAD, c.spark > 12 ? "LAST MINUTE" : "MINUTE");
	for (unsigned i = 0; i < room && view->row + i < rows->count; i++)
		draw_row(top + 1 + (int)i, &c, w, rows, &rows->row[view->row + i]);
	if (rows->count < room)
		draw_nothing(top + 1 + (int)rows->count, w, rows, view);
}

/* -- The latest events ---------------------------------------------------------------------- */

/* Prints the data of a system event that matters to users. */
static void print_system(const struct latest_event *e)
{
	int number = 0;

	if (e->length >= sizeof number)
		memcpy(&number, e->data, sizeof number);
	if (e->info.posix_event_id == POSIX_TRACE_ERROR)
		out_text(strerror(number));
	else if (e->info.posix_event_id == POSIX_TRACE_STOP && number != 0)
		out_text("by itself");
}

/*
 * Draws the data of an event. It is printed to the buffer of out.h, which is otherwise unused while the screen is, and
 * taken from there.
 */
static void draw_data(int line, int column, const struct watch *w, const struct latest_event *e)
{
	const struct layout *layout = layouts_find(w->types->layouts, e->info.posix_event_id);
	/* A column takes at most four bytes. */
	size_t most = 4 * (size_t)wide, length = !layout && e->length > most ? most : e->length;

	if (eventtype_system(e->info.posix_event_id))
		print_system(e);
	else if (layout)
		layout_print(layout, e->data, length, NULL);
	else if (length > 0)
		layout_print_unknown(e->data, length);
	terminal_put(line, column, wide - column, LOOK_PLAIN, out_buffer, (size_t)(out_at - out_buffer), false);
	out_at = out_buffer;
}

static void draw_loss(int line, int column, const struct latest_event *e)
{
	char text[24];

	if (e->info.posix_event_id == POSIX_TRACE_RESUME)
		terminal_printf(line, column, wide, LOOK_GOOD, "-- complete again from here --");
	else if (e->lost)
		terminal_printf(line, column, wide, LOOK_ALARM, "-- %s events lost --",
		                rows_short(text, (double)e->lost));
	else
		terminal_printf(line, column, wide, LOOK_ALARM, "-- events lost --");
}

static int draw_time(int line, const struct latest_event *e)
{
	static time_t second = -1;
	static char clock[16];
	struct tm tm;
	time_t s = e->info.posix_timestamp.tv_sec;

	if (s != second) {
		localtime_r(&s, &tm);
		strftime(clock, sizeof clock, "%H:%M:%S", &tm);
		second = s;
	}
	/* On a narrow terminal the hour is left out. */
	if (wide < 60)
		return terminal_printf(line, 0, wide, LOOK_DIM, "%s.%03ld ", clock + 3,
		                       e->info.posix_timestamp.tv_nsec / 1000000);
	return terminal_printf(line, 0, wide, LOOK_DIM, "%s.%06ld ", clock, e->info.posix_timestamp.tv_nsec / 1000);
}

static void draw_event(int line, const struct watch *w, const struct latest_event *e)
{
	const char *name = typenames_name(w->types, e->info.posix_event_id), *thread;
	int column = draw_time(line, e), width = wide < 60 ? 8 : 16;
	char text[64], tid[16];

	if (e->info.posix_event_id == POSIX_TRACE_OVERFLOW || e->info.posix_event_id == POSIX_TRACE_RESUME) {
		draw_loss(line, column, e);
		return;
	}
	thread = threadnames_get(e->info.posix_pid, e->info.__posix_kernel_tid);
	snprintf(tid, sizeof tid, "%d", (int)e->info.__posix_kernel_tid);
	if (wide < 60 || !*thread)
		strcpy(text, tid);
	else /* the whole number, and as much of the name as fits */
		snprintf(text, sizeof text, "%.*s/%s", width - 2 - (int)strlen(tid), thread, tid);
	terminal_put(line, column, width - 1, LOOK_DIM, text, strlen(text), true);
	column += width;
	column += terminal_put(line, column, wide - column, LOOK_NAME, name, strlen(name), false) + 1;
	draw_data(line, column, w, e);
}

static void draw_latest(int top, unsigned room, const struct watch *w, struct view *view)
{
	const struct latest *l = &w->latest;
	uint64_t first = latest_first(l), end;

	if (view->back && view->back < first + room)
		view->back = first + room;
	if (view->back >= l->count)
		view->back = 0;
	end = view->back ? view->back : l->count;
	if (end - first > room)
		first = end - room;
	terminal_printf(top, 0, wide, LOOK_HEAD, view->back ? "EVENTS, %llu before the latest" : "LATEST EVENTS",
	                (unsigned long long)(l->count - end));
	for (uint64_t n = first; n < end; n++)
		draw_event(top + 1 + (int)(n - first), w, latest_get(l, n));
}

/* -- The rest ------------------------------------------------------------------------------- */

static void draw_help(int top, int end)
{
	static const char *const lines[] = {
		"q            quit",
		"p, space     pause the view; counting continues",
		"s            sort by name, rate, count",
		"/            filter: sql.*, !sql.row, or part of a name; empty: all",
		"up, down     scroll; PgUp, PgDn: by pages",
		"e            show the latest events on the whole screen, or return",
		"r            count from 0 again",
		"?            this help; ?, q or Esc: return",
	};

	terminal_printf(top++, 0, wide, LOOK_HEAD, "KEYS");
	for (unsigned i = 0; i < sizeof lines / sizeof lines[0] && top < end; i++)
		terminal_printf(top++, 0, wide, LOOK_PLAIN, "%s", lines[i]);
}

static void draw_foot(int line, const struct watch *w, const struct view *view, int *cursor)
{
	int column;

	if (view->asking) {
		*cursor = terminal_printf(line, 0, wide, LOOK_PLAIN, "/%s", view->typed);
		return;
	}
	if (w->ended) {
		terminal_printf(line, 0, wide, LOOK_ALARM, "%d has ended; q quits", (int)w->pid);
		return;
	}
	column = terminal_printf(line, 0, wide, LOOK_DIM, "sort: %s", orders[view->order]);
	if (view->pattern[0])
		column += terminal_printf(line, column, wide, LOOK_PLAIN, "  /%s", view->pattern);
	terminal_printf(line, column, wide, LOOK_DIM, "%s", wide < 60 ? "  ? help" :
	                "  q quit  p pause  s sort  / filter  e expand  r reset  ? help");
}

/* Divides the lines: at most about half for the table, as far as needed, and the rest for the latest events. */
static struct room divide(int lines, const struct rows *rows, bool expanded)
{
	/* One more line if there may be a message about an empty table. */
	int needed = (int)rows->count + (rows->count <= 1);
	int table = expanded ? 0 : least(needed, lines <= 4 ? lines - 1 : (lines - 2) * 6 / 10);
	int events = lines - (expanded ? 0 : table + 1) - 1;

	return (struct room){ table > 0 ? (unsigned)table : 0, events > 0 ? (unsigned)events : 0 };
}

struct room screen_draw(const struct watch *w, const struct rows *rows, struct view *view)
{
	struct rates_figures all = rates_of(w->rates, RATES_ALL);
	int top, end, cursor = -1; /* -1: hidden */
	struct room room;

	tall = terminal_lines();
	wide = terminal_columns();
	top = tall >= 6 ? 2 : 1;
	end = tall >= 4 ? tall - 1 : tall;
	room = divide(end - top, rows, view->expanded);
	if (view->row + room.rows > rows->count)
		view->row = rows->count > room.rows ? rows->count - room.rows : 0;
	terminal_clear();
	draw_title(w, view);
	if (top == 2)
		draw_sums(w, &all);
	if (view->help) {
		draw_help(top, end);
	} else {
		if (!view->expanded)
			draw_table(top, room.rows, w, rows, view);
		if (room.events)
			draw_latest(end - 1 - (int)room.events, room.events, w, view);
	}
	if (end < tall)
		draw_foot(end, w, view, &cursor);
	terminal_show(cursor >= 0 ? end : -1, cursor);
	return room;
}
