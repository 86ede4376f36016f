/*
 * event.h - an event type of a provider: its layout, and how its data get from the provider's function into an event
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LTTNG_EVENT_H
#define LTTNG_EVENT_H

#include <posixtrace/trace.h>

#include "abi.h"

/* Fields whose bytes are in network order, while layouts have that of the machine. */
struct event_swaps {
	unsigned count; /* of calls that write; 0: nothing is to be swapped */
	unsigned char *sizes; /* for each call: the size of an item whose bytes are swapped, or 0 */
};

/* Part of a provider. It is allocated, because the provider's own memory may be unloaded. */
struct event {
	struct event *next;
	struct ust_event_common common; /* what the provider's function is given */
	struct ust_event_recorder recorder;
	struct ust_tracepoint_probe probes[2]; /* that function, and the end */
	struct posixtrace_event type;
	struct event_swaps swaps;
	unsigned beyond; /* what is added to the address, which is to be a return address */
	char *name; /* "provider:event", not cut */
	char *signature; /* of the tracepoint's arguments */
};

/* Makes an event type that is opened when its first event is recorded. Returns null if there is no memory. */
struct event *event_new(const char *provider, const struct ust_event_desc *desc);
/* Frees an event that no thread can be in any more. Null: nothing. */
void event_free(struct event *e);

#endif
