/*
 * create.c - posix_trace_create(), _create_withlog(), _flush(), _shutdown()
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "control/lifecycle.h"

int posix_trace_create(pid_t pid, const trace_attr_t *restrict attr, trace_id_t *restrict trid)
{
	if (!trid)
		return EINVAL;
	return lifecycle_create(pid, attr, NULL, 0, trid);
}

int posix_trace_create_withlog(pid_t pid, const trace_attr_t *restrict attr, int file_desc, trace_id_t *restrict trid)
{
	if (!trid)
		return EINVAL;
	return lifecycle_create(pid, attr, &file_desc, 0, trid);
}

int posix_trace_flush(trace_id_t trid)
{
	return lifecycle_flush(trid, __builtin_return_address(0));
}

int posix_trace_shutdown(trace_id_t trid)
{
	return lifecycle_shutdown(trid, __builtin_return_address(0), NULL);
}
