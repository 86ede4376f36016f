/*
 * attr_getclockres.c - clock resolution, creation time, version and name
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>
#include <trace.h>

#include "model/attr.h"

int posix_trace_attr_getclockres(const trace_attr_t *attr, struct timespec *resolution)
{
	const struct attr *a = attr_get_const(attr);

	if (!a || !resolution)
		return EINVAL;
	/* A log may contain any value. */
	resolution->tv_sec = (time_t)(a->resolution_nsec / 1000000000);
	resolution->tv_nsec = (long)(a->resolution_nsec % 1000000000);
	return 0;
}

int posix_trace_attr_getcreatetime(const trace_attr_t *attr, struct timespec *createtime)
{
	const struct attr *a = attr_get_const(attr);

	if (!a || !createtime)
		return EINVAL;
	createtime->tv_sec = (time_t)a->create_sec;
	createtime->tv_nsec = (long)a->create_nsec;
	return 0;
}

int posix_trace_attr_getgenversion(const trace_attr_t *attr, char *genversion)
{
	const struct attr *a = attr_get_const(attr);

	if (!a || !genversion)
		return EINVAL;
	strcpy(genversion, a->version);
	return 0;
}

int posix_trace_attr_getname(const trace_attr_t *attr, char *tracename)
{
	const struct attr *a = attr_get_const(attr);

	if (!a || !tracename)
		return EINVAL;
	strcpy(tracename, a->name);
	return 0;
}

int posix_trace_attr_setname(trace_attr_t *attr, const char *tracename)
{
	struct attr *a = attr_get(attr);

	if (!a || !tracename)
		return EINVAL;
	attr_set_name(a, tracename);
	return 0;
}
