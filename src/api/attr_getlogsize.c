/*
 * attr_getlogsize.c - sizes: of the log, of the stream, of events and their data
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <trace.h>

#include "model/attr.h"
#include "model/record.h"

/* A log from a program with larger words may have a size that does not fit into size_t here. */
static size_t as_size(uint64_t bytes)
{
	return bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes;
}

int posix_trace_attr_getlogsize(const trace_attr_t *restrict attr, size_t *restrict logsize)
{
	const struct attr *a = attr_get_const(attr);

	if (!a || !logsize)
		return EINVAL;
	*logsize = as_size(a->log_size);
	return 0;
}

int posix_trace_attr_setlogsize(trace_attr_t *attr, size_t logsize)
{
	struct attr *a = attr_get(attr);

	if (!a)
		return EINVAL;
	a->log_size = logsize;
	return 0;
}

int posix_trace_attr_getmaxdatasize(const trace_attr_t *restrict attr, size_t *restrict maxdatasize)
{
	const struct attr *a = attr_get_const(attr);

	if (!a || !maxdatasize)
		return EINVAL;
	*maxdatasize = a->data_size;
	return 0;
}

int posix_trace_attr_setmaxdatasize(trace_attr_t *attr, size_t maxdatasize)
{
	struct attr *a = attr_get(attr);

	if (!a || maxdatasize > RECORD_DATA_MAX)
		return EINVAL;
	a->data_size = (uint32_t)maxdatasize;
	return 0;
}

int posix_trace_attr_getmaxsystemeventsize(const trace_attr_t *restrict attr, size_t *restrict eventsize)
{
	const struct attr *a = attr_get_const(attr);

	if (!a || !eventsize)
		return EINVAL;
	*eventsize = attr_system_event_size(a);
	return 0;
}

int posix_trace_attr_getmaxusereventsize(const trace_attr_t *restrict attr, size_t data_len,
                                         size_t *restrict eventsize)
{
	const struct attr *a = attr_get_const(attr);

	if (!a || !eventsize)
		return EINVAL;
	*eventsize = attr_user_event_size(a, data_len);
	return 0;
}

int posix_trace_attr_getstreamsize(const trace_attr_t *restrict attr, size_t *restrict streamsize)
{
	const struct attr *a = attr_get_const(attr);

	if (!a || !streamsize)
		return EINVAL;
	*streamsize = as_size(a->stream_size);
	return 0;
}

int posix_trace_attr_setstreamsize(trace_attr_t *attr, size_t streamsize)
{
	struct attr *a = attr_get(attr);

	if (!a)
		return EINVAL;
	a->stream_size = streamsize;
	return 0;
}
