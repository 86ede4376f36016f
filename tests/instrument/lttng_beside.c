/*
 * lttng_beside.c - preloaded into a program for LTTng-UST: records each event with posixtrace as well as with LTTng
 *
 * The program has LTTng's libraries, and LTTng records it. For each event of a provider, the function that record
 * --lttng would have connected with the tracepoint is connected beside LTTng's own, by the function that LTTng has for
 * that. So both have the same events of the same run, whatever its threads do.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "../../instrument/lttng/event.h"
#include "../../instrument/lttng/tracepoint.h"

#define UST        "liblttng-ust.so.1"
#define TRACEPOINT "liblttng-ust-tracepoint.so.1"

/* What the program calls instead of LTTng's functions of these names. */
EXPORT void *lttng_ust_probe_register(const struct ust_probe_desc *desc);
EXPORT void lttng_ust_probe_unregister(void *registered);

typedef void *(*register_function)(const struct ust_probe_desc *desc);
typedef void (*unregister_function)(void *registered);
typedef int (*connect_function)(const char *provider, const char *event, void (*func)(void), void *data,
                                const char *signature);
typedef int (*disconnect_function)(const char *provider, const char *event, void (*func)(void), void *data);

/* The events of a provider, until it is unloaded. */
struct beside {
	struct beside *next;
	void *registered;
	const struct ust_probe_desc *desc;
	struct event *events[];
};

static struct beside *all;

/* Every tracepoint is on, because LTTng records. */
void tracepoint_not_recorded(void)
{
}

/* Returns a function of one of LTTng's libraries, which the provider may have loaded for itself alone. */
static void *function(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
	void *found = handle ? dlsym(handle, name) : NULL;

	if (!found)
		abort();
	return found;
}

/* Records that a provider leaves: from then on threads that still run may have events in one of both only. */
static void mark(void)
{
	trace_event_id_t id;

	if (posix_trace_eventid_open("lttng_beside:leaves", &id) == 0)
		posix_trace_event(id, NULL, 0);
}

void *lttng_ust_probe_register(const struct ust_probe_desc *desc)
{
	register_function reg = (register_function)function(UST, "lttng_ust_probe_register");
	connect_function connect = (connect_function)function(TRACEPOINT, "lttng_ust_tracepoint_provider_register");
	struct beside *b = calloc(1, sizeof *b + desc->nr_events * sizeof *b->events);

	if (!b)
		abort();
	*b = (struct beside){ all, NULL, desc };
	all = b;
	for (unsigned i = 0; i < desc->nr_events; i++) {
		const struct ust_event_desc *e = desc->event_desc[i];

		b->events[i] = event_new(desc->provider_name, e);
		if (!b->events[i] || connect(desc->provider_name, e->event_name, b->events[i]->probes[0].func,
		                             b->events[i]->probes[0].data, e->tp_class->signature) != 0)
			abort();
	}
	b->registered = reg(desc);
	return b->registered;
}

/* Leaves the events in memory: LTTng may still call a function that it has been asked to disconnect. */
void lttng_ust_probe_unregister(void *registered)
{
	unregister_function unregister = (unregister_function)function(UST, "lttng_ust_probe_unregister");
	disconnect_function disconnect =
		(disconnect_function)function(TRACEPOINT, "lttng_ust_tracepoint_provider_unregister");

	mark();
	for (struct beside **link = &all; *link; link = &(*link)->next) {
		struct beside *b = *link;

		if (b->registered != registered)
			continue;
		for (unsigned i = 0; i < b->desc->nr_events; i++)
			disconnect(b->desc->provider_name, b->desc->event_desc[i]->event_name,
			           b->events[i]->probes[0].func, b->events[i]->probes[0].data);
		*link = b->next;
		break;
	}
	unregister(registered);
}
