/*
 * attr.h - the attributes of a trace stream, as plain values
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_ATTR_H
#define MODEL_ATTR_H

#include <stdbool.h>
#include <stdint.h>
#include <trace.h>

#include "base/ticks.h"

#define ATTR_STREAM_SIZE_DEFAULT UINT64_C(1048576)
#define ATTR_LOG_SIZE_DEFAULT    UINT64_C(67108864)
#define ATTR_DATA_SIZE_DEFAULT   1024u
#define ATTR_FLUSH_NS_DEFAULT    NS_PER_S
#define ATTR_FLUSH_NS_MIN        (NS_PER_S / 1000)
#define ATTR_FLUSH_NS_MAX        (3600 * NS_PER_S)

/* The content of a trace_attr_t. Part of the ABI, like its size: the library reads objects made by older libraries. */
struct attr {
	uint64_t magic;
	uint64_t stream_size;
	uint64_t log_size;
	uint32_t data_size;
	int32_t stream_policy; /* 0: never set, see attr_stream_policy() */
	int32_t log_policy;
	int32_t inheritance;
	int64_t create_sec;
	int64_t create_nsec;
	int64_t resolution_nsec;
	char version[TRACE_NAME_MAX + 1];
	char name[TRACE_NAME_MAX + 1];
	uint32_t flush_us; /* posixtrace_attr_setflushperiod(), microseconds; 0: ATTR_FLUSH_NS_DEFAULT */
	uint32_t reserved[15]; /* 0 */
};

_Static_assert(sizeof(struct attr) <= sizeof(trace_attr_t), "ABI");
_Static_assert(_Alignof(struct attr) <= _Alignof(trace_attr_t), "ABI");

/* ns of CLOCK_REALTIME. */
static inline uint64_t attr_created(const struct attr *a)
{
	return (uint64_t)a->create_sec * (uint64_t)NS_PER_S + (uint64_t)a->create_nsec;
}

/* Returns the longest time between two flushes of a stream's log, ns. */
static inline int64_t attr_flush_period(const struct attr *a)
{
	return a->flush_us ? (int64_t)a->flush_us * 1000 : ATTR_FLUSH_NS_DEFAULT;
}

/* Returns null if attr is null, is not initialised, or has been overwritten. */
struct attr *attr_get(trace_attr_t *attr);
const struct attr *attr_get_const(const trace_attr_t *attr);

void attr_init(struct attr *a);
void attr_destroy(struct attr *a);
void attr_set_name(struct attr *a, const char *name);
/* Returns the policy in force. A policy that was never set depends on whether the stream has a log. */
int attr_stream_policy(const struct attr *a, bool with_log);
/* Returns false if a stream cannot be created with these values. */
bool attr_valid(const struct attr *a, bool with_log);

uint32_t attr_system_event_size(const struct attr *a);
uint32_t attr_user_event_size(const struct attr *a, size_t length);
/* The larger of the two. */
uint32_t attr_event_size_max(const struct attr *a);

#endif
