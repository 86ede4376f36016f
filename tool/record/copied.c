/*
 * copied.c - whether all events of a log are in the copy that a killed recorder has made of it
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/copied.h"

#include <stdlib.h>
#include <string.h>

#include "log/input.h"
#include "logs/logfile.h"
#include "model/eventtype.h"

struct both {
	struct input log, copy;
};

static bool same_stream(const struct log_header *a, const struct log_header *b)
{
	return a->monotonic == b->monotonic && a->target == b->target && a->creator == b->creator &&
	       logfile_same_machine(a, b);
}

/* Returns the next event of a program, or null at the end. */
static const struct log_event *next(struct input *in, const unsigned char **data)
{
	const struct log_event *e;

	do
		e = input_next(in, data);
	while (e && eventtype_system(e->id));
	return e;
}

static bool same_events(struct both *b)
{
	const unsigned char *data, *other;
	const struct log_event *e, *o;

	do {
		e = next(&b->log, &data);
		o = next(&b->copy, &other);
		if (!e || !o)
			return !e && !o;
	} while (e->id == o->id && e->time == o->time && e->pid == o->pid && e->tid == o->tid &&
	         e->address == o->address && e->length == o->length && memcmp(data, other, e->length) == 0);
	return false;
}

bool copied(int log, int copy, bool *more)
{
	struct both *b = calloc(1, sizeof *b);
	bool same = false;

	if (!b)
		return false;
	if (input_open(&b->log, log) == 0) {
		if (input_open(&b->copy, copy) == 0) {
			same = same_stream(&b->log.header, &b->copy.header) && same_events(b);
			*more = b->log.lost > b->copy.lost;
			input_close(&b->copy);
		}
		input_close(&b->log);
	}
	free(b);
	return same;
}
