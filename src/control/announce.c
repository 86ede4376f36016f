/*
 * announce.c - records the system events that calls cause: START, STOP, FILTER
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/announce.h"

#include "base/sys.h"

struct owner_id announce_caller(const struct handle *h)
{
	struct owner_id w = {
		.pid = (uint32_t)sys_getpid(),
		.tid = (uint32_t)sys_gettid(),
		.pthread = (uint64_t)(uintptr_t)pthread_self(),
	};

	sys_thread_name(w.name);
	return w;
}

struct event announce_origin(const struct handle *h, const void *address)
{
	struct owner_id w = announce_caller(h);

	return (struct event){
		.pid = w.pid,
		.tid = w.tid,
		.pthread = w.pthread,
		.address = (uint64_t)(uintptr_t)address,
	};
}

bool announce(struct handle *h, bool always, trace_event_id_t id, const void *data, size_t length, const void *address)
{
	const struct call call = { id, data, length, address };
	struct owner_id w;

	if (stream_filters(h->stream.header, id))
		return true;
	w = announce_caller(h);
	return emit_alone(&h->stream, &w, always, &call) != EMIT_NO_ROOM;
}
