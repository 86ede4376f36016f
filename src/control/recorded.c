/*
 * recorded.c - pre-recorded streams: logs that have been opened
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/recorded.h"

#include <errno.h>
#include <string.h>

#include "base/copy.h"
#include "base/sys.h"
#include "base/ticks.h"
#include "control/recover.h"
#include "log/input.h"
#include "model/eventset.h"

/*
 * Completes the log from the stream of a creator that has died, if the stream still exists. Returns true if the log may
 * have more events now. Even a complete log may have a stream that was left behind.
 */
static bool complete(const struct input *in)
{
	return in->header.stream[0] && recover_stream(in->header.stream, sys_fd_path(in->fd).text);
}

/*
 * Returns true if the descriptor is still that of the log. An application that closes unknown descriptors may have
 * closed it, and may have got its number for another file.
 */
static bool same_file(const struct input *in)
{
	struct sys_stat st;

	return sys_stat(in->fd, &st) == 0 && sys_is_file(&st, in->inode, in->device_major, in->device_minor);
}

static struct input *open_input(int fd, int *error)
{
	int own = sys_dup(fd), r;
	struct input *in;

	if (own < 0) {
		*error = own == -EBADF ? EINVAL : -own; /* the only error for a bad descriptor is EINVAL (CH-68) */
		return NULL;
	}
	in = sys_map(sizeof *in, -1, 1);
	r = in ? input_open_header(in, own) : -ENOMEM;
	/* An incomplete log may have been completed by another process, which removed the stream before complete(). */
	if (r == 0 && (complete(in) || !in->complete)) {
		input_close(in);
		r = input_open_header(in, own);
	}
	if (r == 0)
		r = input_open_rest(in);
	else if (r != -ENOMEM)
		r = -EINVAL;
	if (r == 0)
		return in;
	if (in)
		sys_unmap(in, sizeof *in);
	sys_close(own);
	*error = -r;
	return NULL;
}

static void close_input(struct input *in)
{
	input_close(in);
	if (same_file(in))
		sys_close(in->fd);
	sys_unmap(in, sizeof *in);
}

int recorded_open(int fd, trace_id_t *trid)
{
	struct handle *h = NULL;
	int error;
	/* Opened with the table unlocked: this may take long, and other threads create and shut down meanwhile. */
	struct input *in = open_input(fd, &error);

	if (!in)
		return error;
	if (handle_table_lock()) {
		h = handle_new(HANDLE_RECORDED);
		if (h) {
			h->input = in;
			h->attr = in->header.attr;
			*trid = handle_publish(h);
		}
		handle_table_unlock();
	}
	if (h)
		return 0;
	close_input(in);
	return ENOMEM;
}

int recorded_close(trace_id_t trid)
{
	struct handle *h = handle_end(trid, HANDLE_RECORDED);

	if (!h)
		return EINVAL;
	close_input(h->input);
	if (handle_table_lock()) {
		handle_free(h);
		handle_table_unlock();
	}
	return 0;
}

int recorded_rewind(struct handle *h)
{
	input_rewind(h->input);
	return 0;
}

int recorded_status(const struct handle *h, struct posix_trace_status_info *status)
{
	const struct input *in = h->input;

	memset(status, 0, sizeof *status);
	status->posix_stream_status = POSIX_TRACE_SUSPENDED;
	status->posix_stream_full_status = in->status & INDEX_STREAM_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL;
	status->posix_stream_overrun_status =
		in->status & INDEX_STREAM_OVERRUN ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	status->posix_stream_flush_status = POSIX_TRACE_NOT_FLUSHING;
	status->posix_stream_flush_error = (int)in->flush_error;
	status->posix_log_overrun_status =
		in->status & INDEX_LOG_OVERRUN ? POSIX_TRACE_OVERRUN : POSIX_TRACE_NO_OVERRUN;
	status->posix_log_full_status = in->status & INDEX_LOG_FULL ? POSIX_TRACE_FULL : POSIX_TRACE_NOT_FULL;
	status->__posix_lost_events = in->lost + in->unwritten;
	return 0;
}

const char *recorded_name(const struct handle *h, trace_event_id_t id)
{
	return eventtype_possible(id) && h->input->type[id] ? h->input->name[id] : NULL;
}

int recorded_type(struct handle *h, trace_event_id_t *id, int *unavailable)
{
	trace_event_id_t next = 0;

	*unavailable = 0;
	while (next == 0 && h->type_next < EVENTTYPE_PREDEFINED + EVENT_USER_MAX) {
		unsigned i = h->type_next++;

		next = i < EVENTTYPE_PREDEFINED ? eventtype_predefined(i) : EVENT_ID_USER + i - EVENTTYPE_PREDEFINED;
		if (!recorded_name(h, next))
			next = 0;
	}
	if (next)
		*id = next;
	else
		*unavailable = 1;
	return 0;
}

uint32_t recorded_sets(const struct log_event *e, const unsigned char *from, void *to, size_t size)
{
	size_t count = e->id == POSIX_TRACE_START ? 1 : 2;
	uint32_t length = e->length;
	trace_event_set_t sets[2];
	bool converts = length != count * sizeof *sets && length % count == 0;

	for (size_t i = 0; converts && i < count; i++)
		converts = eventset_read(&sets[i], from + i * (length / count), length / count);
	if (converts) {
		from = (const unsigned char *)sets;
		length = (uint32_t)(count * sizeof *sets);
	}
	copy(to, from, size < length ? size : length);
	return length;
}
