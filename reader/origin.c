/*
 * origin.c - who has recorded a log, and what the clocks of the machine said
 *
 * SPDX-License-Identifier: MIT
 */
#include "origin.h"

#include <stdlib.h>
#include <string.h>

#include "log/labels.h"

/* A log of years has more. */
#define CLOCKS_MAX 4096

/* -- Labels --------------------------------------------------------------------------------------------- */

struct adding {
	struct source *source;
	bool failed;
};

/* Sets a label. The later of two with the same key counts. */
static void add_label(const char *key, size_t key_length, const char *value, size_t value_length, void *arg)
{
	struct adding *a = arg;
	struct source *s = a->source;
	/* A label has no null. */
	char *k = strndup(key, key_length), *v = strndup(value, value_length);
	size_t i = 0;

	if (!s->label) {
		s->about.labels = 0;
		s->label = calloc(LABELS_MAX, sizeof *s->label);
	}
	while (k && i < s->about.labels && strcmp(s->label[i].key, k) != 0)
		i++;
	a->failed |= !k || !v || !s->label;
	if (a->failed || i == LABELS_MAX) {
		free(k);
		free(v);
		return;
	}
	if (i < s->about.labels) {
		free((char *)s->label[i].key);
		free((char *)s->label[i].value);
	} else {
		s->about.labels++;
	}
	s->label[i] = (struct posixtrace_log_label){ k, v };
	s->about.label = s->label;
}

bool origin_labels(struct source *s, const unsigned char *body, size_t size)
{
	struct adding a = { s, false };

	labels_each(body, size, add_label, &a);
	return !a.failed;
}

/* -- Clocks --------------------------------------------------------------------------------------------- */

/* Drops every second one of the period. */
static void thin_out(struct source *s)
{
	size_t kept = 0;
	bool drop = false;

	for (size_t i = 0; i < s->about.clocks; i++) {
		if (s->clock[i].reason == POSIXTRACE_LOG_CLOCK_PERIOD) {
			drop = !drop;
			if (drop)
				continue;
		}
		s->clock[kept++] = s->clock[i];
	}
	s->about.clocks = kept;
}

bool origin_clock(struct source *s, const unsigned char *body, size_t size)
{
	const struct clock_layout *l = (const struct clock_layout *)body;

	if (size < sizeof *l)
		return true;
	if (!s->clock)
		s->clock = calloc(CLOCKS_MAX, sizeof *s->clock);
	if (!s->clock)
		return false;
	if (s->about.clocks == CLOCKS_MAX)
		thin_out(s);
	/* Nobody sets a clock so often. */
	if (s->about.clocks == CLOCKS_MAX)
		return true;
	s->clock[s->about.clocks++] = (struct posixtrace_log_clock){
		.monotonic = GET_FIELD(l->monotonic),
		.realtime = GET_FIELD(l->realtime),
		.boottime = GET_FIELD(l->boottime),
		.took = GET_FIELD(l->took),
		.tai = (int32_t)GET_FIELD(l->tai),
		.reason = l->reason,
		.known = l->known,
		.state = GET_FIELD(l->state),
		.status = GET_FIELD(l->status),
		.offset = (int64_t)GET_FIELD(l->offset),
		.frequency = (int64_t)GET_FIELD(l->frequency),
		.max_error = GET_FIELD(l->max_error),
		.estimated_error = GET_FIELD(l->estimated_error),
	};
	s->about.clock = s->clock;
	return true;
}

void origin_free(struct source *s)
{
	for (size_t i = 0; i < s->about.labels; i++) {
		free((char *)s->label[i].key);
		free((char *)s->label[i].value);
	}
	free(s->label);
	free(s->clock);
}
