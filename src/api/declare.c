/*
 * declare.c - posixtrace_declare(), _layout_wrong(), _get_layout(): layouts beside the names of event types
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <posixtrace/trace.h>
#include <string.h>

#include "control/handle.h"
#include "log/input.h"
#include "model/data_layout.h"
#include "record/self.h"

_Static_assert(POSIXTRACE_LAYOUT_MAX == LAYOUT_TEXT_SIZE - 1, "posixtrace/trace.h");

const char *posixtrace_layout_wrong(const char *layout, size_t *offset, size_t *length)
{
	struct layout_fault fault;

	if (layout_check(layout, &fault))
		return NULL;
	if (offset)
		*offset = (size_t)(fault.at - layout);
	if (length)
		*length = fault.length;
	return fault.why;
}

int posixtrace_declare(const char *event_name, const char *layout, trace_event_id_t *event_id)
{
	int err;

	if (!event_name || !layout || !event_id || posixtrace_layout_wrong(layout, NULL, NULL) ||
	    eventtype_predefined_id(event_name))
		return EINVAL;
	if (strnlen(event_name, TRACE_EVENT_NAME_MAX + 1) <= TRACE_EVENT_NAME_MAX &&
	    event_name[layout_name(event_name)])
		return EINVAL;
	err = posix_trace_eventid_open(event_name, event_id);
	if (err)
		return err;
	if (*event_id == POSIX_TRACE_UNNAMED_USEREVENT)
		return ENOSPC;
	err = self_declare(*event_id, layout);
	return err == -EEXIST ? EEXIST : err < 0 ? ENOSPC : 0;
}

static int get_layout(struct handle *h, trace_event_id_t id, char *layout, size_t size)
{
	char whole[LAYOUT_TEXT_SIZE];
	size_t length = h->input ? input_layout(h->input, id, whole) : target_layout(&h->target, id, whole);

	if (length == 0)
		return ENOENT;
	if (length >= size)
		return ERANGE;
	memcpy(layout, whole, length + 1);
	return 0;
}

int posixtrace_get_layout(trace_id_t trid, trace_event_id_t event_id, char *layout, size_t size)
{
	if (!layout)
		return EINVAL;
	return HANDLE_CALL(trid, HANDLE_ANY, get_layout(h, event_id, layout, size));
}
