/*
 * origin.c - who has recorded a log, and what the clocks of the machine said
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/origin.h"

#include <string.h>

#include "common/escape.h"
#include "common/json.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/out.h"

#define NOT_SYNCHRONIZED 5 /* TIME_ERROR of <sys/timex.h> */

static void set_label(const char *key, size_t key_length, const char *value, size_t value_length, void *arg)
{
	labels_set(arg, key, key_length, value, value_length);
}

static void add_clock(struct origin *o, const unsigned char *body)
{
	const struct clock_layout *l = (const struct clock_layout *)body;
	int64_t difference = (int64_t)(GET_FIELD(l->realtime) - GET_FIELD(l->monotonic));

	if (o->clocks++ == 0)
		o->difference = difference;
	o->steps += l->reason == CLOCK_STEP;
	o->moved = difference - o->difference;
	if (!l->known)
		return;
	o->known = true;
	o->unsynchronized |= GET_FIELD(l->state) == NOT_SYNCHRONIZED;
	if (o->max_error < GET_FIELD(l->max_error))
		o->max_error = GET_FIELD(l->max_error);
}

void origin_read(struct origin *o, struct logfile *f)
{
	unsigned char body[LABELS_BODY_MAX];
	struct frame frame;
	uint64_t at;

	memset(o, 0, sizeof *o);
	for (uint32_t i = 0; input_describing(&f->in, i, &frame, &at); i++)
		if (frame.kind == FRAME_LABELS && logfile_body(f, &frame, at, body, sizeof body))
			labels_each(body, frame.size, set_label, &o->labels);
	input_find_clocks(&f->in);
	for (uint32_t i = 0; input_clock(&f->in, i, &frame, &at); i++)
		if (frame.kind == FRAME_CLOCK && frame.size >= CLOCK_BYTES &&
		    logfile_body(f, &frame, at, body, sizeof body))
			add_clock(o, body);
}

/* -- As text ------------------------------------------------------------------------------------------ */

static void print_label(const char *key, size_t key_length, const char *value, size_t value_length, void *arg)
{
	static const char machine[] = "host.id";
	bool *first = arg;

	/* For programs: no one knows a machine by this. */
	if (key_length == sizeof machine - 1 && memcmp(key, machine, key_length) == 0)
		return;
	out_printf("%s%.*s=%.*s", *first ? "  labels   " : ", ", (int)key_length, key, (int)value_length, value);
	*first = false;
}

/* A clock that runs as usual is of interest only beside those of other machines. */
static void print_clock(const struct origin *o)
{
	uint64_t moved = (uint64_t)(o->moved < 0 ? -o->moved : o->moved);
	char text[32];

	if (o->steps)
		out_printf("  clock    set %llu time%s, by %s%s in all; times of events go on as before\n",
		           (unsigned long long)o->steps, o->steps == 1 ? "" : "s", o->moved < 0 ? "-" : "",
		           moment_duration(text, moved));
}

void origin_print(const struct origin *o)
{
	bool first = true;

	labels_each(o->labels.body, o->labels.size, print_label, &first);
	if (!first)
		out_char('\n');
	print_clock(o);
}

/* -- As JSON ------------------------------------------------------------------------------------------- */

static void json_label(const char *key, size_t key_length, const char *value, size_t value_length, void *arg)
{
	char text[LABEL_KEY_MAX + LABEL_VALUE_MAX + 2];

	memcpy(text, key, key_length);
	text[key_length] = '\0';
	json_key(text);
	memcpy(text, value, value_length);
	text[value_length] = '\0';
	json_string(text);
	(void)arg;
}

void origin_json(const struct origin *o)
{
	json_key("labels");
	json_begin('{');
	labels_each(o->labels.body, o->labels.size, json_label, NULL);
	json_end('}');
	json_key("clock");
	json_begin('{');
	json_key("readings");
	json_number(o->clocks);
	json_key("steps");
	json_number(o->steps);
	json_key("moved");
	json_signed(o->moved);
	json_key("synchronized");
	if (o->known)
		json_bool(!o->unsynchronized);
	else
		json_null();
	json_key("max_error");
	if (o->known)
		json_number(o->max_error);
	else
		json_null();
	json_end('}');
}
