/*
 * line.c - a line of a report, as text
 *
 * Whatever may be anything, names above all, is made printable once and kept.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/display.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/out.h"
#include "event/layout_print.h"
#include "event/system_text.h"
#include "model/eventset.h"
#include "report/report.h"

#define SECONDS_WIDTH 14
#define EVENT_WIDTH   24 /* what longer names are not aligned to */
#define THREAD_WIDTH  20
/* Of data that nobody has declared, as long as --full does not ask for all. */
#define DATA_SHOWN 128

/* -- Names ------------------------------------------------------------------------------------ */

#define LABEL_STEP 16

/* A name as it is printed. */
struct label {
	const char *text; /* null: not known yet */
	int length, width; /* bytes, columns */
};

/* What is kept with each log. */
struct labels {
	struct label event[EVENT_ID_END];
};

/* As out_foreign() prints it: into memory, for ever. */
static struct label render(const char *text, size_t length)
{
	struct label label;
	const char *from;
	char *kept;

	/* The longest name is far shorter than this. */
	if (out_at > out_buffer + OUT_SIZE - 4 * OUT_ROOM)
		out_flush();
	from = out_at;
	label.width = out_foreign(text, length, 0);
	label.length = (int)(out_at - from);
	out_at -= label.length;
	kept = calloc(1, (size_t)label.length + LABEL_STEP);
	if (!kept)
		fail("no memory");
	memcpy(kept, from, (size_t)label.length);
	label.text = kept;
	return label;
}

/* In steps of a fixed size, which take less time than the right one. */
static inline void put_label(const struct label *label)
{
	out_room();
	for (int i = 0; i < label->length; i += LABEL_STEP)
		memcpy(out_at + i, label->text + i, LABEL_STEP);
	out_at += label->length;
}

void report_names(struct report *r, struct source *s)
{
	struct labels *labels = calloc(1, sizeof *labels);
	size_t path = strlen(s->path);

	if (!labels)
		fail("no memory");
	s->own = labels;
	for (uint32_t id = 0; id < EVENT_ID_END; id++) {
		const char *name = layouts_name(s->layouts, id);

		if (!name)
			continue;
		labels->event[id] = render(name, strlen(name));
		if (id >= EVENT_ID_USER && labels->event[id].width > r->event_width)
			r->event_width = labels->event[id].width < EVENT_WIDTH ? labels->event[id].width : EVENT_WIDTH;
	}
	if ((int)path > r->file_width)
		r->file_width = path < EVENT_WIDTH ? (int)path : EVENT_WIDTH;
}

static const struct label *event_label(struct source *s, uint32_t id)
{
	struct label *label = &((struct labels *)s->own)->event[id];

	if (!label->text) {
		const char *name = logfile_type(s->file, id);

		*label = render(name, strlen(name));
	}
	return label;
}

/* "name/tid", filled up with blanks. */
#define THREADS 1024
#define THREAD_TEXT (4 * 15 + 12)

struct thread {
	uint32_t tid;
	char name[16];
	uint16_t length, width; /* length 0: nothing yet */
	char text[THREAD_TEXT];
};

static const struct thread *thread_of(const struct log_event *e)
{
	static struct thread threads[THREADS];
	struct thread *t = &threads[e->tid % THREADS];
	struct label name;

	if (t->length && t->tid == e->tid && memcmp(t->name, e->name, sizeof t->name) == 0)
		return t;
	name = render(e->name, strnlen(e->name, sizeof e->name));
	t->length = (uint16_t)snprintf(t->text, sizeof t->text, name.length ? "%s/%u" : e->tid ? "%s%u" : "-",
	                               name.text, e->tid);
	t->width = (uint16_t)(t->length - name.length + name.width);
	t->tid = e->tid;
	memcpy(t->name, e->name, sizeof t->name);
	free((char *)name.text);
	return t;
}

/* -- Data ---------------------------------------------------------------------------------------- */

/* Is there anything that print_data() would print? */
static bool has_data(const struct log_event *e, const unsigned char *data)
{
	trace_event_set_t set;

	if (e->id == POSIX_TRACE_STOP && e->length == sizeof(int))
		return memcmp(data, &(int){ 0 }, sizeof(int)) != 0;
	if (e->id != POSIX_TRACE_START || e->length != sizeof set)
		return e->length > 0 || e->truncated;
	memcpy(&set, data, sizeof set);
	return !eventset_is_empty(&set);
}

/* False: it is no event of the system, or nothing that is understood. */
static bool print_system(const struct source *s, const struct log_event *e, const unsigned char *data)
{
	char text[SYSTEM_TEXT];

	if (!system_text(text, s->layouts, e, data))
		return false;
	out_foreign(text, strlen(text), 0);
	return true;
}

static void print_unknown(const struct report *r, const unsigned char *data, size_t length)
{
	size_t shown = length;

	if (!r->full && length > DATA_SHOWN)
		shown = DATA_SHOWN;
	/* Not in the middle of a character. */
	while (shown < length && shown > DATA_SHOWN - 4 && (data[shown] & 0xc0) == 0x80 && layout_is_text(data, length))
		shown--;
	layout_print_unknown(data, shown);
	if (shown < length)
		out_printf(" ... %zu bytes", length);
}

static void print_data(const struct report *r, struct source *s, const struct log_event *e, const unsigned char *data)
{
	const struct layout *layout = layouts_find(s->layouts, e->id);

	if (layout)
		layout_print(layout, data, e->length);
	else if (!eventtype_system(e->id) || !print_system(s, e, data))
		print_unknown(r, data, e->length);
	if (e->truncated)
		out_text(" (cut off)");
}

/* -- The line --------------------------------------------------------------------------------------- */

static void print_time(const struct report *r, uint64_t time)
{
	if (r->time == TIME_ABSOLUTE)
		moment_print(time);
	else
		moment_print_seconds((int64_t)(time - (r->time == TIME_DELTA ? r->before : r->logs.begin)),
		                     SECONDS_WIDTH);
}

/* So many blanks. */
static void blanks(int n)
{
	/* No column is wider than this. */
	out_room();
	for (int i = 0; i < n; i += 16)
		memset(out_at + i, ' ', 16);
	out_at += n > 0 ? n : 0;
}

static void print_id(uint32_t id)
{
	/* The system's own events have none. */
	if (id)
		out_number(id, 7);
	else
		out_text("      -");
}

static int print_thread(const struct log_event *e)
{
	const struct thread *t = thread_of(e);

	out_room();
	/* All of it is copied faster than as much as there is. */
	memcpy(out_at, t->text, sizeof t->text);
	out_at += t->length;
	return THREAD_WIDTH - t->width;
}

static int print_event(const struct report *r, struct source *s, const struct log_event *e, const unsigned char *data)
{
	const struct label *label = event_label(s, e->id);

	/* Where it stops by itself, events are missing. */
	if (e->id == POSIX_TRACE_STOP && has_data(e, data))
		display_colour(RED);
	else
		display_colour(eventtype_system(e->id) ? DIM : BOLD);
	put_label(label);
	display_colour(PLAIN);
	return r->event_width - label->width;
}

/* What the system says has no place in the program. */
static bool has_symbol(const struct log_event *e)
{
	return e->address && !eventtype_system(e->id);
}

static int print_symbol(struct source *s, const struct log_event *e)
{
	const char *text = symbols_find(s->symbols, e->pid, e->address, e->time)->text;

	out_char(' ');
	display_colour(DIM);
	/* It comes from files that may say anything, also to terminals. */
	out_foreign(text, strlen(text), 0);
	display_colour(PLAIN);
	return 0;
}

/* One of them; returns how many blanks fill it up. */
static int print_column(const struct report *r, struct source *s, enum column column, const struct log_event *e,
                        const unsigned char *data)
{
	switch (column) {
	case COLUMN_TIME:
		print_time(r, e->time);
		return 0;
	case COLUMN_PID:
		print_id(e->pid);
		return 0;
	case COLUMN_TID:
		print_id(e->tid);
		return 0;
	case COLUMN_THREAD:
		return print_thread(e);
	case COLUMN_EVENT:
		return print_event(r, s, e, data);
	case COLUMN_SYMBOL:
		return print_symbol(s, e);
	case COLUMN_FILE:
		return r->file_width - out_foreign(s->path, strlen(s->path), 0);
	default:
		print_data(r, s, e, data);
		return 0;
	}
}

void report_line(struct report *r, struct source *s)
{
	const struct log_event *e = s->event;
	const unsigned char *data = s->data;
	int pending = 0;

	for (unsigned i = 0; i < r->columns; i++) {
		enum column column = r->column[i];

		/* No blanks at the end of a line. */
		if ((column == COLUMN_DATA && !has_data(e, data)) || (column == COLUMN_SYMBOL && !has_symbol(e)))
			continue;
		blanks(pending);
		pending = print_column(r, s, column, e, data);
		pending = pending > 0 ? pending + 1 : 1;
	}
	out_char('\n');
	r->before = e->time;
}

void report_lost(struct report *r, const struct source *s, const struct loss *loss)
{
	uint64_t from = loss->from, until = loss->until;
	char duration[32];

	print_time(r, from);
	display_colour(RED);
	if (loss->unwritten)
		out_printf(" -- %s%llu event%s could not be written", s->file->in.ended ? "" : "at least ",
		           (unsigned long long)loss->unwritten, loss->unwritten == 1 ? "" : "s");
	else
		out_text(" -- events lost");
	if (until)
		out_printf(" for %s", moment_duration(duration, until - from));
	out_text(" --");
	display_colour(PLAIN);
	if (r->logs.count > 1) {
		out_char(' ');
		out_foreign(s->path, strlen(s->path), 0);
	}
	out_char('\n');
	r->before = until ? until : from;
}
