/*
 * close.c - posix_trace_open(), _rewind(), _close(): logs
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <trace.h>

/* The log option comes with a later version; until then nothing is an opened log. */

int posix_trace_open(int file_desc, trace_id_t *trid)
{
	(void)file_desc;
	(void)trid;
	return ENOTSUP;
}

int posix_trace_rewind(trace_id_t trid)
{
	(void)trid;
	return EINVAL;
}

int posix_trace_close(trace_id_t trid)
{
	(void)trid;
	return EINVAL;
}
