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
#include <stdbool.h>
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
static bool ending;

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

static void end(void)
{
	ending = true;
}

/* Before other handlers of exit() that the program has, so that it is called after them. */
static __attribute__((constructor)) void begin(void)
{
	atexit(end);
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

void lttng_ust_probe_unregister(void *registered)
{
	unregister_function unregister = (unregister_function)function(UST, "lttng_ust_probe_unregister");
	disconnect_function disconnect =
		(disconnect_function)function(TRACEPOINT, "lttng_ust_tracepoint_provider_unregister");

	/* Other threads still run, and would have events in one of both. */
	if (ending)
		return;
	for (struct beside **link = &all; *link; link = &(*link)->next) {
		struct beside *b = *link;

		if (b->registered != registered)
			continue;
		for (unsigned i = 0; i < b->desc->nr_events; i++) {
			disconnect(b->desc->provider_name, b->desc->event_desc[i]->event_name,
			           b->events[i]->probes[0].func, b->events[i]->probes[0].data);
			event_free(b->events[i]);
		}
		*link = b->next;
		free(b);
		break;
	}
	unregister(registered);
}
