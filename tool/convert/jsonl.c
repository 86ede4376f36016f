/*
 * jsonl.c - the events of logs as lines of JSON, like posixtrace report --json
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/lasted.h"
#include "convert/export.h"
#include "logs/event_json.h"

static struct lasted lasted;

static void begin(struct export *x)
{
	lasted_begin(&lasted, &x->logs);
}

static void event(struct export *x, struct source *s)
{
	uint64_t took = EVENT_JSON_NO_SPAN;

	if (s->event->id == POSIX_TRACE_START)
		lasted_cut(&lasted);
	lasted_event(&lasted, s, &took);
	event_json(&x->logs, s, took);
}

static void cut(struct export *x, struct source *s)
{
	lasted_cut(&lasted);
}

const struct exporter export_jsonl = {
	.name = "jsonl",
	.rows = true,
	.suffix = ".jsonl",
	.begin = begin,
	.event = event,
	.cut = cut,
};
