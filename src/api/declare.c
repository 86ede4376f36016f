/*
 * declare.c - posixtrace_declare(), _attach(), _event_open(), _event_at(), _event_format(): events with layouts
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <posixtrace/trace.h>
#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "control/handle.h"
#include "host/file.h"
#include "log/input.h"
#include "model/data_layout.h"
#include "record/attach.h"
#include "record/formatted.h"
#include "record/self.h"
#include "record/tracepoint.h"

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

/* Ends the search at the first stream. */
static bool is_no_stream(int dir, const char *name, void *arg)
{
	bool *found = arg;

	(void)dir;
	*found = strncmp(name, "stream-", strlen("stream-")) == 0;
	return !*found;
}

/* Returns whether this user has any streams, one of which may trace this process. */
static bool streams_exist(void)
{
	struct shm_dir shm_dir = shm_dir_own();
	int dir = file_directory(&shm_dir, false);
	bool found = false;

	if (dir < 0)
		return false;
	file_each(dir, is_no_stream, &found);
	sys_close(dir);
	return found;
}

void posixtrace_attach(void)
{
	uint64_t signals = sys_signals_block();
	int error;

	/* With the names: a controller follows a registry to another user's directory, but only from where it was. */
	if ((self_peek() || streams_exist()) && self_get(false, &error) && !self_untraced())
		self_registry();
	sys_signals_restore(signals);
	attach_ahead();
}

/*
 * Opens the event type of a name and a layout, which may be null; under a name with the fields, if the name has another
 * layout already. Returns 0 if nobody traces, POSIX_TRACE_UNNAMED_USEREVENT if the name cannot be opened. With signals
 * blocked.
 */
static trace_event_id_t open_event(const char *name, const char *layout)
{
	char other[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;
	int error;

	/* The first look at the process page opens the gate, or closes it. */
	if (!self_get(false, &error) || self_untraced())
		return 0;
	if (strnlen(name, TRACE_EVENT_NAME_MAX + 1) > TRACE_EVENT_NAME_MAX || eventtype_predefined_id(name)) {
		self_refuse_name(name);
		return POSIX_TRACE_UNNAMED_USEREVENT;
	}
	id = self_event_id(name);
	/* The tools report a wrong layout. */
	if (!layout || id == POSIX_TRACE_UNNAMED_USEREVENT || self_declare(id, layout) != -EEXIST)
		return id;
	layout_other_name(other, sizeof other, name, layout);
	id = self_event_id(other);
	if (id == POSIX_TRACE_UNNAMED_USEREVENT || self_declare(id, layout) != -EEXIST)
		return id;
	return POSIX_TRACE_UNNAMED_USEREVENT;
}

trace_event_id_t posixtrace_event_open(struct posixtrace_event *event)
{
	uint64_t signals = sys_signals_block();
	trace_event_id_t id = open_event(event->__name, event->__layout);

	/*
	 * Against the acquire load in posixtrace/typed.h: whoever has the identifier finds it among those that were
	 * given out. Other threads may store the same.
	 */
	if (id)
		store_release(&event->__id, id);
	sys_signals_restore(signals);
	return id;
}

void posixtrace_event_at(trace_event_id_t event_id, const void *data, size_t size, const void *address)
{
	if (!self_untraced())
		tracepoint_at(event_id, data, size, address);
}

/* Opens the event type of a format. */
static __attribute__((noinline)) trace_event_id_t open_format(struct posixtrace_format *event, const char *format)
{
	struct posixtrace_event with_fields = { event->__event.__name, NULL, 0 };
	char layout[FORMATTED_LAYOUT];

	formatted_layout(layout, format, event->__types);
	with_fields.__layout = layout;
	/* Whoever loads the identifier, finds this. */
	store_relaxed(&event->__precise, formatted_precise(format));
	if (posixtrace_event_open(&with_fields))
		store_release(&event->__event.__id, with_fields.__id);
	return with_fields.__id;
}

void posixtrace_event_format(struct posixtrace_format *event, const char *format, const unsigned long long *values)
{
	trace_event_id_t id = load_acquire(&event->__event.__id);
	unsigned char data[FORMATTED_DATA_MAX];

	if (!id)
		id = open_format(event, format);
	if (self_untraced())
		return;
	tracepoint_at(id, data, formatted_data(data, format, event->__types, load_relaxed(&event->__precise), values),
	              __builtin_return_address(0));
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
