/*
 * probelog.c - a log beside FILE that is merged into it at the end
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/probelog.h"

#include <errno.h>
#include <fcntl.h>
#include <posixtrace/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ticks.h"
#include "common/message.h"
#include "log/draft.h"
#include "log/input.h"
#include "log/output.h"
#include "model/record.h"
#include "record/newlog.h"

/* -- Writing --------------------------------------------------------------------------------------- */

bool probelog_open(struct probelog *b, const char *path, int fd, const char *suffix, uint32_t pid)
{
	struct posixtrace_log_origin origin = { .size = sizeof origin, .generator = "posixtrace" };
	struct input *in = calloc(1, sizeof *in);
	int r = in ? input_open_header(in, fd) : -ENOMEM;

	origin.target = pid;
	*b = (struct probelog){ .fd = -1 };
	if (r == 0) {
		origin.created = b->begin = b->last = attr_created(&in->header.attr);
		b->offset = (int64_t)(b->begin - in->header.monotonic);
	}
	free(in);
	if (r < 0) {
		complain("%s: cannot be read again, so no events of --usdt can be added: %s", path, strerror(-r));
		return false;
	}
	if (asprintf(&b->path, "%s.%s", path, suffix) < 0)
		fail("no memory");
	b->fd = newlog_open(b->path, &b->kept);
	if (b->fd >= 0 && posixtrace_log_create_fd(b->fd, &origin, &b->writer) == 0)
		return true;
	if (b->fd >= 0)
		complain("%s: %s", b->path, posixtrace_log_error());
	probelog_cancel(b);
	return false;
}

uint64_t probelog_time(const struct probelog *b, uint64_t monotonic)
{
	uint64_t time = monotonic + (uint64_t)b->offset;

	return time < b->begin ? b->begin : time;
}

/* Returns the time of the log for one on CLOCK_MONOTONIC, not before the last. */
static uint64_t time_of(const struct probelog *b, uint64_t monotonic)
{
	uint64_t time = monotonic + (uint64_t)b->offset;

	return time < b->last ? b->last : time;
}

void probelog_put(struct probelog *b, uint64_t time, uint32_t pid, uint32_t tid, uint64_t address, uint32_t type,
                const void *data, size_t length)
{
	int error;

	b->last = time_of(b, time);
	error = posixtrace_log_put(b->writer, b->last, pid, tid, address, type, data, length);
	b->events++;
	if (error && !b->error)
		b->error = error;
}

void probelog_lose(struct probelog *b, uint64_t from, uint64_t until, uint64_t count)
{
	uint64_t begin = time_of(b, from), end = time_of(b, until);
	int error = posixtrace_log_put_loss(b->writer, begin, end < begin ? begin : end, count);

	b->last = end < begin ? begin : end;
	b->lost += count;
	if (error && !b->error)
		b->error = error;
}

void probelog_finish(struct probelog *b)
{
	int error = b->writer ? posixtrace_log_finish(b->writer) : 0;

	b->writer = NULL;
	if (error && !b->error)
		b->error = error;
}

/* Removes the file. merged: FILE has its events; otherwise an earlier file gets its name back, as FILE does. */
static void remove_file(const struct probelog *b, bool merged)
{
	if (b->fd < 0)
		return;
	if (b->kept)
		newlog_settle(b->path, b->fd, !merged);
	if (!b->kept || merged)
		newlog_remove(b->path, b->fd);
}

void probelog_cancel(struct probelog *b)
{
	probelog_finish(b);
	if (b->path)
		remove_file(b, false);
	probelog_leave(b);
}

void probelog_leave(struct probelog *b)
{
	probelog_finish(b);
	if (b->path && b->fd >= 0)
		close(b->fd);
	free(b->path);
	b->path = NULL;
	b->fd = -1;
}

/* -- Merging ------------------------------------------------------------------------------------------- */

/* One of the two logs. */
struct side {
	struct input in;
	const struct log_event *event; /* null: at the end */
	const unsigned char *data;
	uint64_t segment; /* whose losses are counted */
	uint64_t lost;    /* before and in that segment */
	uint32_t id[EVENT_ID_END]; /* in the merged log */
};

struct merging {
	struct side side[2];
	struct log_state *state;
	struct output out;
	struct draft draft;
	unsigned char *body;
	uint64_t events; /* of programs, in the second log */
};

static void advance(struct side *s)
{
	do
		s->event = input_next(&s->in, &s->data);
	while (s->event && input_end_gap(&s->in, s->event));
	if (s->event && s->in.segment.number != s->segment) {
		s->segment = s->in.segment.number;
		s->lost += s->in.segment.lost;
	}
}

/* Gives the types of the second log the ids that the first one has for their names, or free ones. */
static int map_types(struct merging *m)
{
	struct side *first = &m->side[0], *second = &m->side[1];
	uint32_t next = EVENT_ID_USER;

	for (uint32_t id = 0; id < EVENT_ID_END; id++) {
		first->id[id] = second->id[id] = id;
		if (first->in.type[id] && id >= next)
			next = id + 1;
	}
	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++) {
		if (!second->in.type[id])
			continue;
		if (next == EVENT_ID_END)
			return -ENOSPC;
		second->id[id] = next++;
	}
	return 0;
}

/* Writes the frames of the first log that describe its events. */
static int copy_frames(struct merging *m, struct side *s, bool types)
{
	uint64_t at = s->in.begin;
	struct frame f;
	int r = 0;

	for (; r == 0 && input_frame(&s->in, &f, &at); at += frame_bytes(f.size)) {
		if (!frame_copied(f.kind) || (!types && f.kind != FRAME_PROCESS))
			continue;
		if (pread(s->in.fd, m->body, f.size, (off_t)(at + FRAME_BYTES)) != (ssize_t)f.size)
			return -EIO;
		r = output_frame(&m->out, (enum frame_kind)f.kind, m->body, f.size, 0);
	}
	return r;
}

/* Writes the types of the second log, with their new ids: a frame for each name and each layout. */
static int put_types(struct merging *m)
{
	struct side *s = &m->side[1];
	int r = 0;

	for (uint32_t id = EVENT_ID_USER; r == 0 && id < EVENT_ID_END; id++) {
		char layout[LAYOUT_TEXT_SIZE];
		size_t length;

		if (!s->in.type[id])
			continue;
		length = strlen(s->in.name[id]);
		put16(m->body, (uint16_t)s->id[id]);
		m->body[2] = (unsigned char)length;
		memcpy(m->body + 3, s->in.name[id], length);
		r = output_frame(&m->out, FRAME_TYPES, m->body, 3 + length, 0);
		length = input_layout(&s->in, id, layout);
		if (r < 0 || !length)
			continue;
		put16(m->body, (uint16_t)s->id[id]);
		put16(m->body + 2, (uint16_t)length);
		memcpy(m->body + 4, layout, length);
		r = output_frame(&m->out, FRAME_LAYOUTS, m->body, 4 + length, 0);
	}
	return r;
}

static int end_segment(struct merging *m)
{
	if (draft_empty(&m->draft))
		return 0;
	draft_prepare(&m->draft, LOG_NO_CHUNK, 0, 0);
	return output_segment(&m->out, &m->draft, m->side[0].lost + m->side[1].lost);
}

static int add(struct merging *m, const struct side *s)
{
	struct log_event e = *s->event;
	int r;

	e.id = s->id[e.id];
	if (draft_add(&m->draft, &e, s->data, 0))
		return 0;
	r = end_segment(m);
	if (r < 0)
		return r;
	draft_begin(&m->draft, output_position(&m->out)->sequence, output_room(&m->out));
	return draft_add(&m->draft, &e, s->data, 0) ? 0 : -EINVAL;
}

static int merge_events(struct merging *m)
{
	struct side *a = &m->side[0], *b = &m->side[1];
	int r = 0;

	for (unsigned i = 0; i < 2; i++) {
		input_rewind(&m->side[i].in);
		advance(&m->side[i]);
	}
	while (r == 0 && (a->event || b->event)) {
		struct side *next = !b->event || (a->event && a->event->time <= b->event->time) ? a : b;

		r = add(m, next);
		m->events += next == b && !eventtype_system(next->event->id);
		advance(next);
	}
	return r < 0 ? r : end_segment(m);
}

static int merge_all(struct merging *m)
{
	struct input *a = &m->side[0].in, *b = &m->side[1].in;
	struct output_end end = { .lost = a->lost + b->lost, .discarded = a->discarded,
	                          .unwritten = a->unwritten + b->unwritten, .left_out = a->left_out,
	                          .status = a->status | b->status,
	                          .flush_error = a->flush_error ? a->flush_error : b->flush_error };
	int r = map_types(m);

	/* The stream has ended, so nothing is to be completed from it. */
	a->header.stream[0] = 0;
	if (r == 0)
		r = output_begin(&m->out, &a->header);
	if (r == 0)
		r = copy_frames(m, &m->side[0], true);
	if (r == 0)
		r = put_types(m);
	if (r == 0)
		r = copy_frames(m, &m->side[1], false);
	if (r == 0)
		r = merge_events(m);
	return r < 0 ? r : output_end(&m->out, &end);
}

static int with_output(struct merging *m, int fd)
{
	uint32_t longest = RECORD_DATA_MAX;
	uint64_t size = output_size(POSIX_TRACE_APPEND, 0, longest);
	uint32_t capacity = output_capacity(POSIX_TRACE_APPEND, size, longest);
	int r = -ENOMEM;

	m->state = calloc(1, LOG_BODY_OFFSET + capacity + FRAME_BYTES);
	m->body = malloc(FORMAT_BODY_MAX);
	if (!m->state || !m->body)
		return r;
	output_plan(m->state, POSIX_TRACE_APPEND, size, longest);
	r = output_init(&m->out, fd, true, POSIX_TRACE_APPEND, m->state);
	if (r < 0)
		return r;
	r = draft_init(&m->draft, m->state);
	if (r == 0) {
		r = merge_all(m);
		draft_free(&m->draft);
	}
	output_free(&m->out);
	return r;
}

/* Writes both logs into a new file. */
static int merge_into(struct merging *m, int first, int second, int fd)
{
	int r = input_open(&m->side[0].in, first);

	if (r < 0)
		return r;
	r = input_open(&m->side[1].in, second);
	if (r == 0) {
		r = with_output(m, fd);
		input_close(&m->side[1].in);
	}
	input_close(&m->side[0].in);
	free(m->state);
	free(m->body);
	return r;
}

/* Creates the merged file, and gives it the name of FILE when it is complete. */
static int replace(struct merging *m, const char *path, int fd, int second)
{
	char *meanwhile;
	struct stat st;
	int r, made;

	if (asprintf(&meanwhile, "%s.merged-%d", path, (int)getpid()) < 0)
		return -ENOMEM;
	made = fstat(fd, &st) == 0 ? open(meanwhile, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	                                  st.st_mode & 0777) : -1;
	r = made < 0 ? -errno : merge_into(m, fd, second, made);
	if (r == 0)
		r = -newlog_rename(meanwhile, path);
	if (r < 0 && made >= 0)
		newlog_remove(meanwhile, made);
	/* From now on the descriptor is that of the merged file. */
	if (r == 0 && dup3(made, fd, O_CLOEXEC) < 0)
		r = -errno;
	if (made >= 0)
		close(made);
	free(meanwhile);
	return r;
}

int probelog_merge(struct probelog *b, const char *path, int fd, struct merged *merged)
{
	struct merging *m = calloc(1, sizeof *m);
	int r = m ? replace(m, path, fd, b->fd) : -ENOMEM;

	if (r == 0) {
		*merged = (struct merged){ m->events, b->lost };
		remove_file(b, true);
		probelog_leave(b);
	}
	free(m);
	return -r;
}
