/*
 * attr_destroy.c - posix_trace_attr_init(), _destroy()
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <trace.h>

#include "model/attr.h"

int posix_trace_attr_init(trace_attr_t *attr)
{
	if (!attr)
		return EINVAL;
	attr_init((struct attr *)attr);
	return 0;
}

int posix_trace_attr_destroy(trace_attr_t *attr)
{
	struct attr *a = attr_get(attr);

	if (!a)
		return EINVAL;
	attr_destroy(a);
	return 0;
}
