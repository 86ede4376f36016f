/*
 * jsonl.c - an object of JSON on each line, as posixtrace report --json prints them
 *
 * SPDX-License-Identifier: MIT
 */
#include "convert/export.h"
#include "logs/event_json.h"

static void event(struct export *x, struct source *s)
{
	event_json(&x->logs, s);
}

const struct exporter export_jsonl = {
	.name = "jsonl",
	.rows = true,
	.suffix = ".jsonl",
	.event = event,
};
