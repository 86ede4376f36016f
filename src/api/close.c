/*
 * close.c - posix_trace_open(), _rewind(), _close(): logs
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>

#include "control/recorded.h"

int posix_trace_open(int file_desc, trace_id_t *trid)
{
	if (!trid)
		return EINVAL;
	return recorded_open(file_desc, trid);
}

int posix_trace_rewind(trace_id_t trid)
{
	return HANDLE_CALL(trid, HANDLE_RECORDED, recorded_rewind(h));
}

int posix_trace_close(trace_id_t trid)
{
	return recorded_close(trid);
}
