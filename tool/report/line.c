/*
 * line.c - a line of a report, as text
 *
 * Names may contain any bytes. Each is made printable once and kept.
 *
 * SPDX-License-Identifier: MIT
 */
#include "report/line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/display.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/out.h"
#include "event/layout_print.h"
#include "event/meaning.h"
#include "event/system_text.h"
#include "model/eventset.h"

#define SECONDS_WIDTH 14
#define EVENT_WIDTH   24 /* longer names are not aligned */
#define THREAD_WIDTH  20
/* Bytes shown of data without a declared layout, unless --full shows all. */
#define DATA_SHOWN 128

/* -- Names ------------------------------------------------------------------------------------ */

#define LABEL_STEP 16

/* A name as it is printed. */
struct label {
	const char *text; /* null: not known yet */
	int length, width; /* bytes, columns */
};

/* The labels of a log; source.own. */
struct labels {
	struct label event[EVENT_ID_END];
};

/* Returns the text as out_foreign() prints it, in memory that is never freed. */
static struct label render(const char *text, size_t length)
{
	struct label label;
	const char *from;
	char *kept;

	/* Any name is shorter than the room that is left. */
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

/* Prints a label. Copies blocks of a fixed size, which is faster than copying the exact size. */
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

/* A thread as it is printed: "name/tid", and blanks. */
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

/* Returns whether print_data() prints anything. */
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

/* Prints the data of a system event. Returns false if the event is of another kind or its data is not understood. */
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
	/* Do not cut a character. */
	while (shown < length && shown > DATA_SHOWN - 4 && (data[shown] & 0xc0) == 0x80 && layout_is_text(data, length))
		shown--;
	layout_print_unknown(data, shown);
	if (shown < length)
		out_printf(" ... %zu bytes", length);
}

/* Where code addresses in the data of an event are looked up. */
struct process_symbols {
	struct symbols *symbols;
	uint32_t pid;
	uint64_t time;
	char *text; /* null or to be freed: the name of the latest address */
};

static const char *find_code(void *arg, uint64_t address)
{
	struct process_symbols *p = arg;
	/* A trace point's address is looked up as that of the call before it, a code address as what it is. */
	const struct symbol *s = address ? symbols_find(p->symbols, p->pid, address + 1, p->time) : NULL;

	if (!s || !s->function)
		return NULL;
	free(p->text);
	if (asprintf(&p->text, s->into > 1 ? "%s+0x%llx" : "%s", s->function, (unsigned long long)s->into - 1) < 0)
		p->text = NULL;
	return p->text;
}

static void print_data(const struct report *r, struct source *s, const struct log_event *e, const unsigned char *data)
{
	const struct layout *layout = layouts_find(s->layouts, e->id);
	struct process_symbols process = { s->symbols, e->pid, e->time, NULL };
	struct layout_symbols symbols = { find_code, &process };

	if (layout && layout->meaning.level)
		out_printf("%s ", layout_levels[layout->meaning.level]);
	if (layout)
		layout_print(layout, data, e->length, s->symbols ? &symbols : NULL);
	else if (!eventtype_system(e->id) || !print_system(s, e, data))
		print_unknown(r, data, e->length);
	free(process.text);
	if (e->truncated)
		out_text(" (cut off)");
}

/* -- The line --------------------------------------------------------------------------------------- */

static void print_time(const struct report *r, uint64_t time)
{
	if (r->time == TIME_ABSOLUTE)
		moment_print(time);
	else
		moment_print_seconds(time, r->time == TIME_DELTA ? r->before : r->logs.begin, SECONDS_WIDTH);
}

/* Prints n blanks; none if n is negative. */
static void blanks(int n)
{
	/* All columns are narrower than OUT_ROOM. */
	out_room();
	for (int i = 0; i < n; i += 16)
		memset(out_at + i, ' ', 16);
	out_at += n > 0 ? n : 0;
}

static void print_id(uint32_t id)
{
	/* System events belong to no process. */
	if (id)
		out_number(id, 7);
	else
		out_text("      -");
}

static int print_thread(const struct log_event *e)
{
	const struct thread *t = thread_of(e);

	out_room();
	/* A copy of a fixed size is faster. */
	memcpy(out_at, t->text, sizeof t->text);
	out_at += t->length;
	return THREAD_WIDTH - t->width;
}

/* Returns the colour of an event of a program: that of its level, if it is a log message. */
static enum colour colour_of(const struct source *s, const struct log_event *e, const unsigned char *data)
{
	const struct layout *layout = layouts_find(s->layouts, e->id);
	enum layout_level level = layout ? meaning_level(layout, data, e->length) : LEVEL_NONE;

	if (level == LEVEL_NONE || level == LEVEL_NOTICE || level == LEVEL_INFO)
		return BOLD;
	return level == LEVEL_DEBUG ? DIM : level == LEVEL_WARNING ? YELLOW : RED;
}

static int print_event(const struct report *r, struct source *s, const struct log_event *e, const unsigned char *data)
{
	const struct label *label = event_label(s, e->id);

	/* A stream that stopped by itself lost events. */
	if (e->id == POSIX_TRACE_STOP && has_data(e, data))
		display_colour(RED);
	else
		display_colour(eventtype_system(e->id) ? DIM : colour_of(s, e, data));
	put_label(label);
	display_colour(PLAIN);
	return r->event_width - label->width;
}

/* Returns whether the event has a trace point in the program. System events have none. */
static bool has_symbol(const struct log_event *e)
{
	return e->address && !eventtype_system(e->id);
}

static int print_symbol(struct source *s, const struct log_event *e)
{
	const char *text = symbols_event(s->symbols, e, layouts_name(s->layouts, e->id))->text;

	out_char(' ');
	display_colour(DIM);
	/* The text is from files that may contain any bytes, escape sequences included. */
	out_foreign(text, strlen(text), 0);
	display_colour(PLAIN);
	return 0;
}

/* Prints a column. Returns the number of blanks that fill it. */
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

/* Returns whether a field of the event is how long the span took. */
static bool says_took(const struct source *s, const struct log_event *e)
{
	const struct layout *layout = layouts_find(s->layouts, e->id);

	return layout && layout->meaning.took;
}

static void print_took(uint64_t took)
{
	char text[32];

	display_colour(CYAN);
	out_printf("(took %s)", moment_duration(text, took));
	display_colour(PLAIN);
}

void report_line(struct report *r, struct source *s, uint64_t took)
{
	const struct log_event *e = s->event;
	const unsigned char *data = s->data;
	int pending = 0;

	for (unsigned i = 0; i < r->columns; i++) {
		enum column column = r->column[i];
		bool empty = (column == COLUMN_DATA && !has_data(e, data)) ||
		             (column == COLUMN_SYMBOL && !has_symbol(e));
		bool ends = column == COLUMN_DATA && took != SPAN_NONE && !says_took(s, e);

		/* No blanks at the end of a line. */
		if (empty && !ends)
			continue;
		blanks(pending);
		pending = empty ? 0 : print_column(r, s, column, e, data);
		if (ends) {
			blanks(!empty);
			print_took(took);
		}
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
