/*
 * get_attr.c - posix_trace_get_attr(), _get_status()
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <string.h>

#include "control/lifecycle.h"
#include "control/recorded.h"

static int get_attr(const struct handle *h, trace_attr_t *attr)
{
	/* Overwrites the object, which need not have been initialised (ATTR-60). */
	memset(attr, 0, sizeof *attr);
	memcpy(attr, &h->attr, sizeof h->attr);
	return 0;
}

int posix_trace_get_attr(trace_id_t trid, trace_attr_t *attr)
{
	if (!attr)
		return EINVAL;
	return HANDLE_CALL(trid, HANDLE_ANY, get_attr(h, attr));
}

int posix_trace_get_status(trace_id_t trid, struct posix_trace_status_info *statusinfo)
{
	if (!statusinfo)
		return EINVAL;
	return HANDLE_CALL(trid, HANDLE_ANY,
	                   h->input ? recorded_status(h, statusinfo) : lifecycle_status(h, statusinfo));
}
