/*
 * about.c - describes a log, and what is missing from it
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/about.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/display.h"
#include "common/json.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/out.h"
#include "common/table.h"
#include "event/policy.h"
#include "logs/unfinished.h"

void about_begin(struct about *a, struct logfile *f)
{
	const struct input *in = &f->in;

	memset(a, 0, sizeof *a);
	a->path = f->path;
	a->header = in->header;
	a->ended = in->ended;
	a->complete = in->ended && in->unwritten == 0;
	a->size = in->size;
	a->skipped = in->skipped;
	a->lost = in->lost;
	a->discarded = in->discarded;
	a->unwritten = in->unwritten;
	a->left_out = in->left_out;
	a->status = in->status;
	a->flush_error = in->flush_error;
	origin_read(&a->origin, f);
}

void about_end(struct about *a, struct logfile *f)
{
	missing_find(&a->missing, f);
}

void about_free(struct about *a)
{
	free(a->hole);
}

/* -- Holes ------------------------------------------------------------------------------------ */

static uint64_t all_holes(const struct about *a)
{
	return a->holes_of[HOLE_LOST] + a->holes_of[HOLE_FULL] + a->holes_of[HOLE_DAMAGED] +
	       a->holes_of[HOLE_UNWRITTEN];
}

void about_hole(struct about *a, uint64_t from, enum hole_reason reason)
{
	a->holes_of[reason]++;
	/* In a damaged part, ends of other holes may be missing. */
	for (unsigned i = 0; i < HOLE_REASONS; i++)
		if (i == reason || reason == HOLE_DAMAGED)
			a->open[i] = 0;
	if (a->holes == HOLES_MAX)
		return;
	if (a->holes == a->room) {
		a->room = a->room ? 2 * a->room : 16;
		a->hole = realloc(a->hole, a->room * sizeof *a->hole);
		if (!a->hole)
			fail("no memory");
	}
	a->hole[a->holes++] = (struct hole){ .from = from, .reason = reason };
	a->open[reason] = a->holes;
}

void about_resume(struct about *a, uint64_t until, enum hole_reason reason)
{
	/*
	 * A RESUME without an open hole is the first event that LOOP has left, or its hole was filtered out or not
	 * stored.
	 */
	if (a->open[reason])
		a->hole[a->open[reason] - 1].until = until;
	a->open[reason] = 0;
}

/* Returns whether a STOP was caused by a full stream. The value is 0 if the application stopped the stream. */
static bool stopped_by_itself(const struct log_event *e, const unsigned char *data)
{
	int value = 0;

	if (e->length >= sizeof value)
		memcpy(&value, data, sizeof value);
	return value != 0;
}

bool about_system_event(struct about *a, const struct log_event *e, const unsigned char *data, bool made)
{
	enum hole_reason reason = !made ? HOLE_LOST : e->length ? HOLE_UNWRITTEN : HOLE_DAMAGED;

	switch (e->id) {
	case POSIX_TRACE_OVERFLOW:
		about_hole(a, e->time, reason);
		return true;
	case POSIX_TRACE_RESUME:
		about_resume(a, e->time, reason);
		return false;
	case POSIX_TRACE_STOP:
		if (stopped_by_itself(e, data))
			about_hole(a, e->time, HOLE_FULL);
		return false;
	case POSIX_TRACE_START:
		/* Closed here and not at the STOP: the last hole of a log has no end. */
		about_resume(a, e->time, HOLE_FULL);
		return true;
	default:
		return false;
	}
}

/* -- As text -------------------------------------------------------------------------------------- */

static void print_size(uint64_t bytes)
{
	char text[16];

	out_text(bytes_text(text, bytes));
}

static void print_text(const char *text)
{
	out_foreign(text, strlen(text), 0);
}

static void print_title(const struct about *a)
{
	char duration[32];

	display_colour(BOLD);
	print_text(a->path);
	display_colour(PLAIN);
	out_printf(": %llu event%s", (unsigned long long)(a->read - a->hidden), a->read - a->hidden == 1 ? "" : "s");
	if (a->read > 1 && a->last > a->first)
		out_printf(" in %s", moment_duration(duration, a->last - a->first));
	out_text(", ");
	print_size(a->size);
	out_text(a->complete ? ", complete\n" : ", ");
	if (a->complete)
		return;
	display_colour(a->unwritten ? RED : YELLOW);
	if (a->ended)
		out_text("incomplete: part of it could not be written");
	else if (a->unwritten)
		out_text("incomplete: not closed, because it could not be written");
	else
		out_text("not closed: cut off, or still being written");
	display_colour(PLAIN);
	out_char('\n');
}

static void print_sizes(const struct about *a)
{
	const struct attr *t = &a->header.attr;

	out_printf("  stream   %s, ", policy_name(t->stream_policy));
	print_size(t->stream_size);
	out_text(", data up to ");
	print_size(t->data_size);
	out_text(t->inheritance == POSIX_TRACE_INHERITED ? ", with children\n" : "\n");
	out_printf("  log      %s", policy_name(t->log_policy));
	if (t->log_policy != POSIX_TRACE_APPEND) {
		out_text(", ");
		print_size(t->log_size);
	}
	if (a->status & INDEX_LOG_FULL)
		out_text(", full");
	if (a->flush_error)
		out_printf(", last written with an error: %s", strerror((int)a->flush_error));
	out_char('\n');
}

/* Begins a line about missing events. */
static void print_loss(const char **head, uint64_t count, const char *one, const char *many)
{
	out_printf("  %-8s ", *head);
	*head = "";
	display_colour(RED);
	out_printf("%llu %s", (unsigned long long)count, count == 1 ? one : many);
}

static void print_places(uint64_t count, const char *where)
{
	if (count)
		out_printf(", %s %llu place%s", where, (unsigned long long)count, count == 1 ? "" : "s");
	display_colour(PLAIN);
	out_char('\n');
}

static void print_losses(const struct about *a)
{
	bool loop = a->header.attr.log_policy == POSIX_TRACE_LOOP;
	uint64_t missing = a->missing.damaged;
	const char *head = "missing";
	uint32_t user;

	if (a->lost || a->holes_of[HOLE_LOST]) {
		print_loss(&head, a->lost, "event that the stream lost", "events that the stream lost");
		print_places(a->holes_of[HOLE_LOST], "at");
	}
	if (a->holes_of[HOLE_FULL]) {
		print_loss(&head, a->holes_of[HOLE_FULL], "time recording stopped because the stream was full",
			"times recording stopped because the stream was full");
		print_places(0, "");
	}
	if (a->discarded) {
		print_loss(&head, a->discarded,
		           loop ? "event overwritten by newer ones" : "event discarded when the log was full",
			loop ? "events overwritten by newer ones" : "events discarded when the log was full");
		print_places(0, "");
	}
	if (a->unwritten) {
		print_loss(&head, a->unwritten, "event that could not be written", "events that could not be written");
		if (a->flush_error)
			out_printf(": %s", strerror((int)a->flush_error));
		display_colour(PLAIN);
		out_text(a->ended ? "\n" : "; there may be more\n");
	}
	if (a->holes_of[HOLE_DAMAGED] || missing) {
		print_loss(&head, missing, "event in damaged parts", "events in damaged parts");
		print_places(a->holes_of[HOLE_DAMAGED], "between others at");
	}
	if (a->truncated) {
		print_loss(&head, a->truncated, "event has truncated data",
			"events have truncated data");
		print_places(0, "");
	}
	if (a->unnamed) {
		print_loss(&head, a->unnamed,
		           "event has a type without a name: its process had ended before the name was read, "
		           "or the log is damaged",
			"events have types without names: their processes had ended before the names were read, "
			"or the log is damaged");
		print_places(0, "");
	}
	if (a->missing.overwritten_some && !a->discarded)
		out_printf("  %-8s older events, overwritten by newer ones; how many is unknown\n", head);
	else if (*head && !a->ended && unfinished_owner(&a->header, &user))
		out_printf("  missing  unknown: the rest is in a stream of user %u\n", user);
	else if (*head)
		out_text(a->ended ? "  missing  nothing\n" : "  missing  nothing known\n");
	if (a->skipped)
		out_printf("  skipped  %llu bytes that are not part of the log\n", (unsigned long long)a->skipped);
}

void about_print(const struct about *a)
{
	const struct log_header *h = &a->header;

	print_title(a);
	out_text("  created  ");
	moment_print(attr_created(&h->attr));
	out_printf(" by process %u, ", h->creator);
	print_text(h->attr.version);
	out_text("\n  program  ");
	print_text(h->attr.name[0] ? h->attr.name : "(without a name)");
	out_printf(", process %u\n  machine  ", h->target);
	print_text(h->host);
	out_text(", Linux ");
	print_text(h->kernel);
	out_text(", ");
	print_text(h->machine);
	out_char('\n');
	origin_print(&a->origin);
	print_sizes(a);
	if (a->left_out)
		out_printf("  left out %llu event%s that did not match record --where\n",
		           (unsigned long long)a->left_out, a->left_out == 1 ? "" : "s");
	print_losses(a);
}

void about_print_holes(const struct about *a, uint64_t begin, size_t lines)
{
	static const char *const reasons[] = { [HOLE_LOST] = "the stream lost events",
	                                       [HOLE_FULL] = "stream full, recording stopped",
		[HOLE_DAMAGED] = "the log is damaged", [HOLE_UNWRITTEN] = "the rest could not be written" };
	size_t shown = lines && lines < a->holes ? lines : a->holes;
	struct table *t;
	char duration[32];

	if (a->holes == 0)
		return;
	t = table_new(">missing from", ">for", "<why", NULL);
	for (size_t i = 0; i < shown; i++) {
		const struct hole *h = &a->hole[i];

		table_seconds(t, h->from, begin, 9);
		table_cell(t, "%s", h->until < h->from ? "?" : moment_duration(duration, h->until - h->from));
		table_cell(t, "%s", reasons[h->reason]);
	}
	table_print(t, 0);
	if (shown < all_holes(a))
		out_printf("... and %llu more places%s\n", (unsigned long long)(all_holes(a) - shown),
			shown < a->holes ? ", with --lines 0" : "");
	table_free(t);
}

/* -- As JSON ------------------------------------------------------------------------------------------- */

struct json_number {
	const char *key;
	uint64_t value;
};

static void json_numbers(const struct json_number *numbers, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		json_key(numbers[i].key);
		json_number(numbers[i].value);
	}
}

static void json_texts(const struct log_header *h)
{
	const struct {
		const char *key, *value;
	} texts[] = { { "name", h->attr.name }, { "version", h->attr.version }, { "host", h->host },
	              { "kernel", h->kernel },
		{ "machine", h->machine }, { "stream_policy", policy_name(h->attr.stream_policy) },
		{ "log_policy", policy_name(h->attr.log_policy) } };
	char boot[33];

	for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		json_key(texts[i].key);
		json_string(texts[i].value);
	}
	for (unsigned i = 0; i < 16; i++)
		snprintf(boot + 2 * i, 3, "%02x", h->boot[i]);
	json_key("boot");
	json_string(boot);
}

static void json_status(const struct about *a)
{
	static const struct {
		const char *key;
		uint32_t bit;
	} bits[] = { { "stream_full", INDEX_STREAM_FULL }, { "stream_overrun", INDEX_STREAM_OVERRUN },
		{ "log_overrun", INDEX_LOG_OVERRUN }, { "log_full", INDEX_LOG_FULL } };

	for (unsigned i = 0; i < sizeof bits / sizeof bits[0]; i++) {
		json_key(bits[i].key);
		json_bool(a->status & bits[i].bit);
	}
}

static void json_holes(const struct about *a)
{
	static const char *const reasons[] = { [HOLE_LOST] = "lost", [HOLE_FULL] = "full", [HOLE_DAMAGED] = "damaged",
		[HOLE_UNWRITTEN] = "unwritten" };

	json_key("holes");
	json_begin('[');
	for (size_t i = 0; i < a->holes; i++) {
		json_begin('{');
		json_key("from");
		json_number(a->hole[i].from);
		json_key("until");
		if (a->hole[i].until)
			json_number(a->hole[i].until);
		else
			json_null();
		json_key("reason");
		json_string(reasons[a->hole[i].reason]);
		json_end('}');
	}
	json_end(']');
}

void about_json(const struct about *a)
{
	const struct attr *t = &a->header.attr;
	const struct json_number numbers[] = { { "created", attr_created(t) },
		{ "created_monotonic", a->header.monotonic }, { "target", a->header.target },
		        { "creator", a->header.creator },
		{ "stream_size", t->stream_size }, { "log_size", t->log_size }, { "data_size", t->data_size },
		        { "bytes", a->size },
		{ "events", a->read }, { "first", a->first }, { "last", a->last }, { "lost", a->lost },
		        { "discarded", a->discarded },
		{ "unwritten", a->unwritten }, { "left_out", a->left_out },
		{ "missing", a->missing.damaged }, { "overwritten", a->missing.overwritten },
		        { "skipped_bytes", a->skipped }, { "truncated", a->truncated },
		{ "unnamed", a->unnamed },
		{ "flush_error", a->flush_error } };

	json_begin('{');
	json_key("file");
	json_string(a->path);
	json_key("complete");
	json_bool(a->complete);
	json_texts(&a->header);
	json_numbers(numbers, sizeof numbers / sizeof numbers[0]);
	json_key("children");
	json_bool(t->inheritance == POSIX_TRACE_INHERITED);
	json_key("ended");
	json_bool(a->ended);
	json_key("overwritten_some");
	json_bool(a->missing.overwritten_some);
	origin_json(&a->origin);
	json_status(a);
	json_holes(a);
	json_end('}');
}
