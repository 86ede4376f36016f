/*
 * event.c - an event type of a provider: its name, its layout, and what its tracepoints call
 *
 * SPDX-License-Identifier: MIT
 */
#include "event.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "record.h"

/* Returns the event type's name: that of the event; of a longer one, its beginning and a number made of all of it. */
static char *type_name(const char *name)
{
	size_t length = strlen(name), kept = TRACE_EVENT_NAME_MAX - 9;
	uint32_t hash = 2166136261U;
	char *shorter;

	if (length <= TRACE_EVENT_NAME_MAX)
		return strdup(name);
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619U;
	if (asprintf(&shorter, "%.*s~%08x", (int)kept, name, hash) < 0)
		return NULL;
	return shorter;
}

struct event *event_new(const char *provider, const struct ust_event_desc *desc)
{
	const char *signature = desc->tp_class->signature;
	struct event *e = calloc(1, sizeof *e);

	if (!e)
		return NULL;
	if (asprintf(&e->name, "%s:%s", provider, desc->event_name) < 0)
		e->name = NULL;
	e->type.__name = e->name ? type_name(e->name) : NULL;
	e->signature = strdup(signature ? signature : "");
	if (!e->type.__name || !e->signature) {
		event_free(e);
		return NULL;
	}
	e->type.__layout = layout_new(provider, desc, &e->swaps);
	/* Its address is where the function begins: without this, the function before it would be shown. */
	e->beyond = layout_of_calls(provider);
	record_set_up(e);
	e->probes[0] = (struct ust_tracepoint_probe){ desc->tp_class->probe_callback, &e->common };
	return e;
}

void event_free(struct event *e)
{
	if (!e)
		return;
	free(e->name);
	free(e->signature);
	free((char *)e->type.__name);
	free((char *)e->type.__layout);
	free(e->swaps.sizes);
	free(e);
}
