/*
 * stream.h - what nearly every conformance test needs: a stream of this process, and its events
 *
 * All of these end the test (MUST) when the library refuses; so they prepare a
 * test, they do not check a requirement. Reading is by
 * posix_trace_trygetnext_event(), so nothing here can hang.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONFORMANCE_STREAM_H
#define CONFORMANCE_STREAM_H

#include <trace.h>

#include "ids.h"
#include "test.h"

/* An event as it was reported. data has room for every system event. Longer user data is TRUNCATED_READ. */
struct stream_event {
	struct posix_trace_event_info info;
	size_t len;
	unsigned char data[8192];
};

/* Initializes *attr. 0 leaves an attribute at its default. */
static inline void stream_attr(trace_attr_t *attr, int policy, size_t stream_size, size_t max_data_size)
{
	MUST(posix_trace_attr_init(attr) == 0);
	if (policy)
		MUST(posix_trace_attr_setstreamfullpolicy(attr, policy) == 0);
	if (stream_size)
		MUST(posix_trace_attr_setstreamsize(attr, stream_size) == 0);
	if (max_data_size)
		MUST(posix_trace_attr_setmaxdatasize(attr, max_data_size) == 0);
}

/* Returns a new, suspended stream of this process. attr may be NULL. */
static inline trace_id_t stream_create(const trace_attr_t *attr)
{
	trace_id_t trid;
	int error;

	/* The limit is for the whole system: a test of the limit may have all streams for a moment. */
	for (int i = 0; (error = posix_trace_create(0, attr, &trid)) == EAGAIN && i < 100; i++)
		usleep(100000);
	MUST(error == 0);
	return trid;
}

/* Reads the oldest event. Returns 0 if there is none. */
static inline int stream_try(trace_id_t trid, struct stream_event *e)
{
	int unavailable = -1;

	memset(e, 0, sizeof *e);
	MUST(posix_trace_trygetnext_event(trid, &e->info, e->data, sizeof e->data, &e->len, &unavailable) == 0);
	return unavailable == 0;
}

/* Reads the oldest event, which must exist. */
static inline void stream_next(trace_id_t trid, struct stream_event *e)
{
	MUST(stream_try(trid, e));
}

/* The same, and the event must have this type. */
static inline void stream_expect(trace_id_t trid, trace_event_id_t id, struct stream_event *e)
{
	stream_next(trid, e);
	if (!posix_trace_eventid_equal(trid, e->info.posix_event_id, id)) {
		TEST_FAIL("-", "event type %u instead of %u", (unsigned)e->info.posix_event_id, (unsigned)id);
		exit(1);
	}
}

/* Returns a new, running stream of this process, whose POSIX_TRACE_START has been read. attr may be NULL. */
static inline trace_id_t stream_running(const trace_attr_t *attr)
{
	trace_id_t trid = stream_create(attr);
	struct stream_event e;

	MUST(posix_trace_start(trid) == 0);
	stream_expect(trid, POSIX_TRACE_START, &e);
	return trid;
}

/* Reads all events. Returns how many there were. */
static inline size_t stream_drain(trace_id_t trid)
{
	struct stream_event e;
	size_t n = 0;

	while (stream_try(trid, &e))
		n++;
	return n;
}

/* Reads all events. Returns how many had this type. */
static inline size_t stream_count(trace_id_t trid, trace_event_id_t id)
{
	struct stream_event e;
	size_t n = 0;

	while (stream_try(trid, &e))
		n += posix_trace_eventid_equal(trid, e.info.posix_event_id, id) != 0;
	return n;
}

/* Returns the user event type of this name. */
static inline trace_event_id_t stream_id(const char *name)
{
	trace_event_id_t id;

	MUST(posix_trace_eventid_open(name, &id) == 0);
	if (!OURS_IDS && id != POSIX_TRACE_UNNAMED_USEREVENT && ids_times(&ids_opened, id) == 0)
		ids_add(&ids_opened, id);
	return id;
}

/* Returns the user event type of this name in the process that the stream traces. */
static inline trace_event_id_t stream_id_there(trace_id_t trid, const char *name)
{
	trace_event_id_t id = 0;

	CHECK_EQ("ID-13 ID-22", posix_trace_trid_eventid_open(trid, name, &id), 0);
	return id;
}

static inline void stream_check_name(trace_id_t trid, trace_event_id_t id, const char *expected)
{
	char name[TRACE_EVENT_NAME_MAX + 1] = "";

	CHECK_EQ("ID-6 ID-11 MODEL-15", posix_trace_eventid_get_name(trid, id, name), 0);
	CHECK_STR("ID-6 ID-8 MODEL-12", name, expected);
}

/* Returns the status. As always, asking resets the overrun status. */
static inline struct posix_trace_status_info stream_status(trace_id_t trid)
{
	struct posix_trace_status_info status;

	memset(&status, 0xa5, sizeof status);
	MUST(posix_trace_get_status(trid, &status) == 0);
	return status;
}

static inline void stream_end(trace_id_t trid)
{
	MUST(posix_trace_shutdown(trid) == 0);
}

#endif
