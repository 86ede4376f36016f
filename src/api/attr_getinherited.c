/*
 * attr_getinherited.c - inheritance, log-full-policy and stream-full-policy
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <trace.h>

#include "model/attr.h"

int posix_trace_attr_getinherited(const trace_attr_t *restrict attr, int *restrict inheritancepolicy)
{
	const struct attr *a = attr_get_const(attr);

	if (!a || !inheritancepolicy)
		return EINVAL;
	*inheritancepolicy = a->inheritance;
	return 0;
}

int posix_trace_attr_setinherited(trace_attr_t *attr, int inheritancepolicy)
{
	struct attr *a = attr_get(attr);

	if (!a || (inheritancepolicy != POSIX_TRACE_CLOSE_FOR_CHILD && inheritancepolicy != POSIX_TRACE_INHERITED))
		return EINVAL;
	a->inheritance = inheritancepolicy;
	return 0;
}

int posix_trace_attr_getlogfullpolicy(const trace_attr_t *restrict attr, int *restrict logpolicy)
{
	const struct attr *a = attr_get_const(attr);

	if (!a || !logpolicy)
		return EINVAL;
	*logpolicy = a->log_policy;
	return 0;
}

int posix_trace_attr_setlogfullpolicy(trace_attr_t *attr, int logpolicy)
{
	struct attr *a = attr_get(attr);

	if (!a || (logpolicy != POSIX_TRACE_LOOP && logpolicy != POSIX_TRACE_UNTIL_FULL &&
	           logpolicy != POSIX_TRACE_APPEND))
		return EINVAL;
	a->log_policy = logpolicy;
	return 0;
}

int posix_trace_attr_getstreamfullpolicy(const trace_attr_t *restrict attr, int *restrict streampolicy)
{
	const struct attr *a = attr_get_const(attr);

	if (!a || !streampolicy)
		return EINVAL;
	*streampolicy = attr_stream_policy(a, false);
	return 0;
}

int posix_trace_attr_setstreamfullpolicy(trace_attr_t *attr, int streampolicy)
{
	struct attr *a = attr_get(attr);

	if (!a || (streampolicy != POSIX_TRACE_LOOP && streampolicy != POSIX_TRACE_UNTIL_FULL &&
	           streampolicy != POSIX_TRACE_FLUSH))
		return EINVAL;
	a->stream_policy = streampolicy;
	return 0;
}
