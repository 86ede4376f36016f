/*
 * attr_flushperiod.c - the longest time between two flushes of a log
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <posixtrace/trace.h>

#include "model/attr.h"

int posixtrace_attr_getflushperiod(const trace_attr_t *restrict attr, struct timespec *restrict period)
{
	const struct attr *a = attr_get_const(attr);
	int64_t ns;

	if (!a || !period)
		return EINVAL;
	ns = attr_flush_period(a);
	period->tv_sec = (time_t)(ns / NS_PER_S);
	period->tv_nsec = (long)(ns % NS_PER_S);
	return 0;
}

int posixtrace_attr_setflushperiod(trace_attr_t *attr, const struct timespec *period)
{
	struct attr *a = attr_get(attr);
	int64_t ns;

	if (!a || !period || period->tv_sec < 0 || period->tv_sec > ATTR_FLUSH_NS_MAX / NS_PER_S ||
	    period->tv_nsec < 0 || period->tv_nsec >= NS_PER_S)
		return EINVAL;
	ns = (int64_t)period->tv_sec * NS_PER_S + period->tv_nsec;
	if (ns < ATTR_FLUSH_NS_MIN || ns > ATTR_FLUSH_NS_MAX)
		return EINVAL;
	a->flush_us = (uint32_t)(ns / 1000);
	return 0;
}
