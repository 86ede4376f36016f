/*
 * attr.c - the attributes of a trace stream, as plain values
 *
 * SPDX-License-Identifier: MIT
 */
#include "model/attr.h"

#include <string.h>

#include "model/record.h"

#define MAGIC   UINT64_C(0x7274746165636131)
#define VERSION "posixtrace " POSIXTRACE_VERSION

_Static_assert(sizeof VERSION <= TRACE_NAME_MAX, "fits in the array that a caller must have");

/* Returns true if the object was initialised, and only attribute functions have changed it since. */
static bool sound(const struct attr *a)
{
	return a->magic == MAGIC && a->data_size <= RECORD_DATA_MAX &&
	       (a->stream_policy == 0 || a->stream_policy == POSIX_TRACE_LOOP ||
	        a->stream_policy == POSIX_TRACE_UNTIL_FULL ||
	        a->stream_policy == POSIX_TRACE_FLUSH) &&
	       (a->log_policy == POSIX_TRACE_LOOP || a->log_policy == POSIX_TRACE_UNTIL_FULL ||
	        a->log_policy == POSIX_TRACE_APPEND) &&
	       (a->inheritance == POSIX_TRACE_CLOSE_FOR_CHILD || a->inheritance == POSIX_TRACE_INHERITED) &&
	       a->create_nsec >= 0 && a->create_nsec < NS_PER_S && a->resolution_nsec >= 0 &&
	       (a->flush_us == 0 || a->flush_us >= ATTR_FLUSH_NS_MIN / 1000) &&
	       memchr(a->version, 0, TRACE_NAME_MAX) && memchr(a->name, 0, TRACE_NAME_MAX);
}

struct attr *attr_get(trace_attr_t *attr)
{
	struct attr *a = (struct attr *)attr;

	return a && sound(a) ? a : NULL;
}

const struct attr *attr_get_const(const trace_attr_t *attr)
{
	const struct attr *a = (const struct attr *)attr;

	return a && sound(a) ? a : NULL;
}

void attr_init(struct attr *a)
{
	memset(a, 0, sizeof *a);
	a->magic = MAGIC;
	a->stream_size = ATTR_STREAM_SIZE_DEFAULT;
	a->log_size = ATTR_LOG_SIZE_DEFAULT;
	a->data_size = ATTR_DATA_SIZE_DEFAULT;
	a->log_policy = POSIX_TRACE_LOOP;
	a->inheritance = POSIX_TRACE_CLOSE_FOR_CHILD;
	a->resolution_nsec = 1;
	memcpy(a->version, VERSION, sizeof VERSION);
}

void attr_destroy(struct attr *a)
{
	a->magic = 0;
}

void attr_set_name(struct attr *a, const char *name)
{
	size_t length = strnlen(name, TRACE_NAME_MAX - 1);

	memset(a->name, 0, sizeof a->name);
	memcpy(a->name, name, length);
}

int attr_stream_policy(const struct attr *a, bool with_log)
{
	if (a->stream_policy)
		return a->stream_policy;
	return with_log ? POSIX_TRACE_FLUSH : POSIX_TRACE_LOOP;
}

bool attr_valid(const struct attr *a, bool with_log)
{
	int policy = attr_stream_policy(a, with_log);

	return (policy == POSIX_TRACE_LOOP || policy == POSIX_TRACE_UNTIL_FULL ||
	        (policy == POSIX_TRACE_FLUSH && with_log)) &&
	       a->data_size <= RECORD_DATA_MAX;
}

uint32_t attr_system_event_size(const struct attr *a)
{
	(void)a; /* the standard lets it depend on the object; FILTER, with two sets, is the largest in any case */
	return record_size_max(2 * sizeof(trace_event_set_t));
}

uint32_t attr_user_event_size(const struct attr *a, size_t length)
{
	return record_size_max(length < a->data_size ? (uint32_t)length : a->data_size);
}

uint32_t attr_event_size_max(const struct attr *a)
{
	uint32_t system = attr_system_event_size(a);
	uint32_t user = attr_user_event_size(a, a->data_size);

	return system > user ? system : user;
}
