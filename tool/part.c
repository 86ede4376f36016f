/*
 * part.c - a stream with its log
 *
 * SPDX-License-Identifier: MIT
 */
#include "part.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "control/flusher.h"
#include "control/handle.h"
#include "newlog.h"

int part_create(struct part *p, pid_t pid, const trace_attr_t *attr, char *path)
{
	struct stat st;
	int error;

	*p = (struct part){ .path = path, .fd = newlog_open(path) };
	if (p->fd < 0)
		return -1;
	p->seeks = fstat(p->fd, &st) == 0 && S_ISREG(st.st_mode);
	error = posix_trace_create_withlog(pid, attr, p->fd, &p->trid);
	p->there = error == 0;
	return error;
}

/* -- Event types --------------------------------------------------------------------------- */

bool stream_next_type(trace_id_t trid, bool rewind, trace_event_id_t *id, char name[TRACE_EVENT_NAME_MAX + 1])
{
	int none;

	if (rewind)
		posix_trace_eventtypelist_rewind(trid);
	do {
		if (posix_trace_eventtypelist_getnext_id(trid, id, &none) != 0 || none)
			return false;
	} while (eventtype_system(*id) || posix_trace_eventid_get_name(trid, *id, name) != 0);
	return true;
}

void part_follow(struct part *p, const struct match *m)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_set_t unwanted;
	trace_event_id_t id;
	bool some = false;

	posix_trace_eventset_empty(&unwanted);
	while (stream_next_type(p->trid, false, &id, name)) {
		if (match_name(m, name))
			continue;
		posix_trace_eventset_add(id, &unwanted);
		some = true;
	}
	if (some)
		posix_trace_set_filter(p->trid, &unwanted, POSIX_TRACE_ADD_EVENTSET);
}

bool stream_attached(trace_id_t trid)
{
	struct handle *h = handle_get(trid, HANDLE_ACTIVE);
	bool attached = false;

	if (h) {
		attached = handle_works(h) && load_relaxed(&h->target.page->image) != 0;
		handle_put(h);
	}
	return attached;
}

/* -- Numbers ---------------------------------------------------------------------------------- */

struct part_numbers part_numbers(const struct part *p)
{
	struct handle *h = p->there ? handle_get(p->trid, HANDLE_ACTIVE) : NULL;
	struct part_numbers n = { 0 };

	if (!h)
		return n;
	/* What the flusher is just writing may be counted or not. */
	if (h->flusher && handle_works(h)) {
		const struct log_state *state = h->flusher->flush.state;
		const struct log_place *place = &state->place[load_relaxed(&state->place_now) & 1];
		const struct log_mark *mark = &state->mark[load_relaxed(&state->mark_now) & 1];

		n.events = load_relaxed(&place->events);
		if (load_relaxed(&mark->sequence) == load_relaxed(&place->sequence))
			n.events += load_relaxed(&mark->events);
		n.bytes = load_relaxed(&place->end);
	}
	handle_put(h);
	return n;
}

void part_describe(const struct part *p)
{
	struct handle *h = handle_get(p->trid, HANDLE_ACTIVE);

	if (!h)
		return;
	if (h->flusher && handle_works(h))
		flusher_describe(h);
	handle_put(h);
}

void part_look(struct part *p)
{
	struct posix_trace_status_info status;

	if (posix_trace_get_status(p->trid, &status) != 0)
		return;
	if (status.posix_stream_flush_error)
		p->error = status.posix_stream_flush_error;
	if (status.posix_log_full_status == POSIX_TRACE_FULL)
		p->log_full = true;
	p->lost = status.__posix_lost_events;
}

/* -- Its life ------------------------------------------------------------------------------------ */

int part_flush(struct part *p)
{
	return posix_trace_flush(p->trid);
}

void part_clear(struct part *p)
{
	posix_trace_clear(p->trid);
	p->lost = 0;
	/* Behind its header there is still what was there before, which nobody needs. */
	if (p->seeks && ftruncate(p->fd, (off_t)part_numbers(p).bytes) != 0)
		return;
}

int part_end(struct part *p)
{
	int error = p->there ? posix_trace_shutdown(p->trid) : 0;

	p->there = false;
	return error;
}

void part_free(struct part *p)
{
	part_end(p);
	if (p->fd >= 0)
		close(p->fd);
	free(p->path);
	*p = (struct part){ .fd = -1 };
}
