/*
 * source.c - one log of a reader: its events, and what is missing between them
 *
 * SPDX-License-Identifier: MIT
 */
#include "source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "error.h"
#include "live.h"
#include "missing.h"
#include "origin.h"
#include "tasks.h"
#include "types.h"

/* -- Opening ----------------------------------------------------------------------------------- */

int source_refuse(const char *path, int fd, int error)
{
	char magic[sizeof FORMAT_MAGIC - 1] = "";
	struct sys_stat st;

	if (error == ENOMEM)
		return error_memory();
	if (error != EINVAL)
		return error_system(error, "%s", path);
	if (sys_stat(fd, &st) == 0 && !S_ISREG(st.mode))
		return error_say(error, "%s: neither a regular file nor a pipe", path);
	if (sys_stat(fd, &st) == 0 && st.size == 0)
		return error_say(error, "%s: the file is empty", path);
	if (sys_read_at(fd, magic, sizeof magic, FRAME_BYTES) != (long)sizeof magic ||
	    memcmp(magic, FORMAT_MAGIC, sizeof magic) != 0)
		return error_say(error, "%s: not a posixtrace log", path);
	return error_say(EBADMSG, "%s: a log, but its header is damaged, or it is of another version, "
	                 "or of a machine with another byte order", path);
}

/* Returns whether the creator has reached the end of the log, even if the file was cut off since. */
static bool is_closed(const struct source *s)
{
	return s->in.ended || s->in.segments;
}

static void describe(struct source *s)
{
	const struct log_header *h = &s->in.header;
	const struct attr *a = &h->attr;
	bool loop = a->log_policy == POSIX_TRACE_LOOP;

	s->about = (struct posixtrace_log_about){
		.path = s->path,
		.name = a->name,
		.generator = a->version,
		.host = h->host,
		.kernel = h->kernel,
		.machine = h->machine,
		.boot = h->boot,
		.created = attr_created(a),
		.created_monotonic = h->monotonic,
		.resolution = (uint64_t)a->resolution_nsec,
		.target = h->target,
		.creator = h->creator,
		.word = h->word,
		.children = a->inheritance == POSIX_TRACE_INHERITED,
		.stream_policy = (uint32_t)a->stream_policy,
		.log_policy = (uint32_t)a->log_policy,
		.stream_size = a->stream_size,
		.log_size = a->log_size,
		.data_size = a->data_size,
		.bytes = s->in.size,
		.skipped = s->in.skipped,
		.complete = s->in.ended && s->in.unwritten == 0,
		.closed = is_closed(s),
		.error = s->in.flush_error,
		.lost = s->in.lost,
		.overwritten = loop ? s->in.discarded : 0,
		.discarded = loop ? 0 : s->in.discarded,
		.unwritten = s->in.unwritten,
		.id = s->in.log,
		.generation = h->generation,
	};
}

int source_open(struct posixtrace_log *log, int fd, const char *path, struct source **source)
{
	struct source *s = calloc(1, sizeof *s);
	int error;

	if (!s) {
		sys_close(fd);
		return error_memory();
	}
	*source = s;
	s->log = log;
	s->fd = fd;
	s->path = strdup(path);
	s->type = calloc(EVENT_ID_END, sizeof *s->type);
	error = s->path && s->type ? -input_open_header(&s->in, fd) : ENOMEM;
	if (error == 0)
		error = -input_open_rest(&s->in);
	if (error) {
		error = source_refuse(path, fd, error);
		source_free(s);
		return error;
	}
	s->layouts = layouts_of(&s->in);
	s->machine = tasks_machine(log, s);
	describe(s);
	s->about.machine_index = s->machine;
	if (s->layouts)
		return 0;
	source_free(s);
	return error_memory();
}

void source_free(struct source *s)
{
	if (s->live)
		live_close(s);
	else
		input_close(&s->in);
	layouts_free(s->layouts);
	origin_free(s);
	if (!s->live)
		sys_close(s->fd);
	free(s->type);
	free(s->path);
	free(s);
}

/* -- Losses -------------------------------------------------------------------------------------- */

static bool is_loop(const struct source *s)
{
	return s->in.header.attr.log_policy == POSIX_TRACE_LOOP;
}

/* Queues what is missing because of damage. until 0: nothing follows. */
static void queue_damage(struct source *s, uint64_t until)
{
	const struct input_hole *h = &s->in.hole;

	if (!h->missing)
		return;
	s->damaged += h->events;
	missing_queue(s, POSIXTRACE_LOG_DAMAGED, h->known < h->missing, h->events, missing_after(s), until);
}

static void queue_lost(struct source *s, uint64_t count, uint64_t until)
{
	s->lost += count;
	if (count)
		missing_queue(s, POSIXTRACE_LOG_LOST, false, count, missing_after(s), until);
}

/* Queues what is missing before the oldest segment of a LOOP log. Only its creator knows how much was overwritten. */
static void queue_early(struct source *s, uint64_t number, uint64_t until)
{
	bool unknown = !is_closed(s) && number > 1;

	if (s->about.overwritten || unknown)
		missing_queue(s, POSIXTRACE_LOG_OVERWRITTEN, unknown, s->about.overwritten, s->about.created, until);
	queue_lost(s, input_lost_early(&s->in), until);
}

static void begin_segment(struct source *s)
{
	const struct frame *f = &s->in.segment;

	if (is_loop(s) && s->segment.number == 0)
		queue_early(s, f->number, f->first);
	queue_damage(s, f->first);
	queue_lost(s, s->in.hole.lost + f->lost, s->in.unpack->latest);
	s->segment = (struct posixtrace_log_segment){
		.number = f->number,
		.begin = f->first,
		.end = s->in.unpack->latest,
		.missing = s->in.hole.missing,
	};
	s->about.unknown = s->in.unknown;
	s->generation++;
}

/* Returns how many events damage has taken, as far as the log tells. */
static uint64_t damaged(const struct source *s)
{
	uint64_t known = s->damaged + s->in.hole.events, all = s->in.events;

	/* The creator has not told how many events there are, and how many a LOOP log has overwritten. */
	if (!is_closed(s))
		return known;
	if (is_loop(s))
		all = s->in.discarded < all ? all - s->in.discarded : 0;
	all = s->read < all ? all - s->read : 0;
	return all > known ? all : known;
}

/* Queues the losses after the last event. */
static void finish(struct source *s)
{
	const struct posixtrace_log_about *a = &s->about;
	uint64_t all = damaged(s), lost = s->lost + s->in.hole.lost;

	s->finished = true;
	s->about.unknown = s->in.unknown;
	if (is_loop(s) && s->segment.number == 0)
		queue_early(s, 0, 0);
	if (all > s->damaged || s->in.hole.missing)
		missing_queue(s, POSIXTRACE_LOG_DAMAGED, !is_closed(s), all - s->damaged, missing_after(s), 0);
	s->about.damaged = s->damaged = all;
	queue_lost(s, (s->in.lost > lost ? s->in.lost : lost) - s->lost, 0);
	if (a->discarded)
		missing_queue(s, POSIXTRACE_LOG_DISCARDED, !is_closed(s), a->discarded, missing_after(s), 0);
	if (a->unwritten)
		missing_queue(s, POSIXTRACE_LOG_UNWRITTEN, !is_closed(s), a->unwritten, missing_after(s), 0);
	if (!is_closed(s))
		missing_queue(s, POSIXTRACE_LOG_OPEN, true, 0, missing_after(s), 0);
	s->about.lost = s->lost > a->lost ? s->lost : a->lost;
}

/* Queues a loss if the event was a STOP of a stream that was full. */
static void queue_stop(struct source *s, const struct log_event *e)
{
	int by_itself = 0;

	if (e->id == POSIX_TRACE_STOP && e->length >= sizeof by_itself)
		memcpy(&by_itself, s->data, sizeof by_itself);
	if (by_itself)
		missing_queue(s, POSIXTRACE_LOG_STOPPED, true, 0, e->time, 0);
}

/* -- Reading --------------------------------------------------------------------------------------- */

void source_rewind(struct source *s)
{
	if (s->live)
		return;
	input_rewind(&s->in);
	s->event = NULL;
	s->loss_count = s->loss_first = 0;
	s->segment.number = s->lost = s->damaged = s->last = s->read = s->losses = 0;
	s->finished = false;
	s->generation++;
}

/* Returns whether the input has made the event for a hole, which losses tell of. */
static bool made(const struct source *s, const struct log_event *e)
{
	return e == &s->in.gap[0] || e == &s->in.gap[1];
}

void source_look(struct source *s)
{
	const struct log_event *e;

	if (s->live) {
		live_look(s);
		return;
	}
	if (s->event && s->event->id < POSIX_TRACE_UNNAMED_USEREVENT) {
		queue_stop(s, s->event);
		s->last = s->event->time;
	}
	s->event = NULL;
	if (s->finished)
		return;
	do
		e = input_next(&s->in, &s->data);
	while (e && made(s, e));
	if (e && s->in.segment.number != s->segment.number)
		begin_segment(s);
	if (!e)
		finish(s);
	s->loss_time = e ? e->time : missing_after(s);
	/* Recording went on at the next event. */
	if (e && s->loss_count && s->loss[s->loss_first].reason == POSIXTRACE_LOG_STOPPED)
		s->loss[s->loss_first].until = e->time;
	s->event = e;
	s->read += e != NULL;
}
