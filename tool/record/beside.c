/*
 * beside.c - a log FILE.SUFFIX beside FILE for events that the recorder writes, merged into FILE at the end
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/folder.h"
#include "common/message.h"
#include "log/draft.h"
#include "log/input.h"
#include "model/eventtype.h"
#include "model/record.h"
#include "record/newlog.h"

/* Descriptions of event types are written in pieces of this size. */
#define PIECE (UINT32_C(32) << 10)

/* What writes a log: the draft of a segment and the output. */
struct sink {
	struct log_state *state;
	struct draft draft;
	struct output out;
	bool has_draft, has_output;
};

struct type {
	char *name, *layout;
	bool written;
};

struct beside {
	char *path;
	int fd;
	bool kept; /* newlog_open() */
	bool finished;
	struct log_header header;
	struct sink sink;
	struct type *type; /* ids from EVENT_ID_USER on */
	unsigned types;
	uint64_t last; /* time of the last event */
	uint64_t events, lost, unwritten;
	int error;     /* the last one of writing */
	unsigned char *piece;
};

/* -- Writing any log ------------------------------------------------------------------------------ */

/* Begins a log in a file. Returns 0 or a negative error number. */
static int sink_begin(struct sink *s, int fd, const struct log_header *h)
{
	uint32_t data_size = (uint32_t)h->attr.data_size;
	uint64_t size = output_size(POSIX_TRACE_APPEND, 0, data_size);
	int r;

	s->state = calloc(1, LOG_BODY_OFFSET + output_capacity(POSIX_TRACE_APPEND, size, data_size) + 2 * FRAME_ALIGN);
	if (!s->state)
		return -ENOMEM;
	output_plan(s->state, POSIX_TRACE_APPEND, size, data_size);
	r = output_init(&s->out, fd, true, POSIX_TRACE_APPEND, s->state);
	s->has_output = r == 0;
	if (r == 0)
		r = draft_init(&s->draft, s->state);
	s->has_draft = r == 0 && s->has_output;
	return r < 0 ? r : output_begin(&s->out, h);
}

static void sink_free(struct sink *s)
{
	if (s->has_draft)
		draft_free(&s->draft);
	if (s->has_output)
		output_free(&s->out);
	free(s->state);
	*s = (struct sink){ 0 };
}

static void sink_segment(struct sink *s)
{
	draft_begin(&s->draft, output_position(&s->out)->sequence, output_room(&s->out));
}

/* Writes the events so far. lost: all losses so far. */
static int sink_write(struct sink *s, uint64_t lost)
{
	int r;

	if (draft_empty(&s->draft))
		return 0;
	draft_prepare(&s->draft, LOG_NO_CHUNK, 0, 0);
	r = output_segment(&s->out, &s->draft, lost);
	if (r == 0)
		sink_segment(s);
	return r;
}

static int sink_add(struct sink *s, const struct log_event *e, const void *data, uint64_t lost)
{
	int r;

	if (draft_add(&s->draft, e, data, 0))
		return 0;
	r = sink_write(s, lost);
	if (r < 0)
		return r;
	return draft_add(&s->draft, e, data, 0) ? 0 : -EMSGSIZE;
}

/* -- The log beside -------------------------------------------------------------------------------- */

static char *with_suffix(const char *path, const char *suffix)
{
	char *both;

	if (asprintf(&both, "%s.%s", path, suffix) < 0)
		fail("no memory");
	return both;
}

/* Reads the header of the log that this one is beside. */
static bool read_header(struct log_header *h, int fd)
{
	struct input *in = calloc(1, sizeof *in);
	bool done = in && input_open_header(in, fd) == 0;

	if (done)
		*h = in->header;
	free(in);
	return done;
}

/* Makes the header of the new log: of the same recording, but without its stream. */
static void set_header(struct log_header *h)
{
	h->stream[0] = 0;
	h->attr.log_policy = POSIX_TRACE_APPEND;
	h->attr.stream_policy = POSIX_TRACE_FLUSH;
	if (h->attr.data_size < RECORD_DATA_MAX)
		h->attr.data_size = RECORD_DATA_MAX;
}

static int put_frame(struct sink *s, enum frame_kind kind, const unsigned char *from, const unsigned char *end)
{
	return end > from ? output_frame(&s->out, kind, from, (size_t)(end - from), 0) : 0;
}

/* Writes the names, or the layouts, of types: those that are not written yet, or all with other ids. */
static int put_types(struct beside *b, struct sink *s, enum frame_kind kind, const uint32_t *ids)
{
	unsigned char *p = b->piece;
	int r = 0;

	for (unsigned i = 0; i < b->types && r == 0; i++) {
		const char *text = kind == FRAME_TYPES ? b->type[i].name : b->type[i].layout;
		uint32_t id = ids ? ids[i] : EVENT_ID_USER + i;
		size_t length = text ? strlen(text) : 0;

		if ((!ids && b->type[i].written) || !text)
			continue;
		put16(p, (uint16_t)id);
		if (kind == FRAME_TYPES) {
			p[2] = (unsigned char)length;
			p += 3;
		} else {
			put16(p + 2, (uint16_t)length);
			p += 4;
		}
		memcpy(p, text, length); /* NOLINT(bugprone-not-null-terminated-result): its length is before it */
		p += length;
		if (p - b->piece > (ptrdiff_t)PIECE) {
			r = put_frame(s, kind, b->piece, p);
			p = b->piece;
		}
	}
	return r < 0 ? r : put_frame(s, kind, b->piece, p);
}

static int put_system_types(struct beside *b)
{
	unsigned char *p = b->piece;

	for (unsigned i = 0; i < EVENTTYPE_PREDEFINED; i++) {
		const char *name = eventtype_predefined_name(eventtype_predefined(i));
		size_t length = strlen(name);

		put16(p, (uint16_t)eventtype_predefined(i));
		p[2] = (unsigned char)length;
		memcpy(p + 3, name, length); /* NOLINT(bugprone-not-null-terminated-result): its length is before it */
		p += 3 + length;
	}
	return put_frame(&b->sink, FRAME_TYPES, b->piece, p);
}

static int put_new_types(struct beside *b)
{
	int r = put_types(b, &b->sink, FRAME_TYPES, NULL);

	if (r == 0)
		r = put_types(b, &b->sink, FRAME_LAYOUTS, NULL);
	for (unsigned i = 0; i < b->types && r == 0; i++)
		b->type[i].written = true;
	return r;
}

struct beside *beside_open(const char *path, const char *suffix, int fd)
{
	struct beside *b = calloc(1, sizeof *b);
	int r;

	if (!b)
		fail("no memory");
	b->path = with_suffix(path, suffix);
	b->piece = malloc(PIECE + LAYOUT_TEXT_SIZE + 8);
	if (!b->piece)
		fail("no memory");
	if (!read_header(&b->header, fd)) {
		complain("%s: not a file that can be read, as --%s needs", path, suffix);
		b->fd = -1;
		beside_close(b, false);
		return NULL;
	}
	b->fd = newlog_open(b->path, &b->kept);
	if (b->fd < 0) {
		beside_close(b, false);
		return NULL;
	}
	set_header(&b->header);
	r = sink_begin(&b->sink, b->fd, &b->header);
	if (r == 0)
		r = put_system_types(b);
	if (r < 0) {
		complain("%s: %s", b->path, strerror(-r));
		beside_close(b, true);
		return NULL;
	}
	sink_segment(&b->sink);
	return b;
}

const char *beside_path(const struct beside *b)
{
	return b->path;
}

uint64_t beside_time(const struct beside *b, uint64_t monotonic)
{
	return attr_created(&b->header.attr) + (monotonic - b->header.monotonic);
}

uint32_t beside_type(struct beside *b, const char *name, const char *layout)
{
	struct type *more;

	if (b->types == EVENT_USER_MAX)
		return 0;
	more = realloc(b->type, (b->types + 1) * sizeof *more);
	if (!more)
		fail("no memory");
	b->type = more;
	more[b->types] = (struct type){ .name = strdup(name), .layout = layout ? strdup(layout) : NULL };
	if (!more[b->types].name || (layout && !more[b->types].layout))
		fail("no memory");
	return EVENT_ID_USER + b->types++;
}

/* Writes the segment of the draft, and the types before it. */
static int write_segment(struct beside *b)
{
	int r = put_new_types(b);

	return r < 0 ? r : sink_write(&b->sink, b->lost);
}

static int add(struct beside *b, const struct log_event *e, const void *data)
{
	int r;

	if (draft_add(&b->sink.draft, e, data, 0))
		return 0;
	r = write_segment(b);
	if (r < 0)
		return r;
	return draft_add(&b->sink.draft, e, data, 0) ? 0 : -EMSGSIZE;
}

void beside_put(struct beside *b, const struct log_event *e, const void *data)
{
	struct log_event own = *e;
	int r;

	if (own.time < b->last)
		own.time = b->last;
	r = add(b, &own, data);
	b->last = own.time;
	if (r < 0) {
		b->error = -r;
		b->unwritten++;
	} else {
		b->events++;
	}
}

void beside_process(struct beside *b, const void *body, size_t size)
{
	int r = output_frame(&b->sink.out, FRAME_PROCESS, body, size, 0);

	if (r < 0)
		b->error = -r;
}

void beside_lost(struct beside *b, uint64_t from, uint64_t until, uint64_t count)
{
	struct log_event overflow = { .id = POSIX_TRACE_OVERFLOW, .time = from > b->last ? from : b->last };
	struct log_event resume = { .id = POSIX_TRACE_RESUME, .time = until > overflow.time ? until : overflow.time };
	int r = add(b, &overflow, NULL);

	if (r == 0)
		r = add(b, &resume, NULL);
	b->last = resume.time;
	b->lost += count;
	if (r < 0)
		b->error = -r;
}

void beside_flush(struct beside *b)
{
	int r = write_segment(b);

	if (r < 0)
		b->error = -r;
}

uint64_t beside_events(const struct beside *b)
{
	return b->events;
}

uint64_t beside_lost_events(const struct beside *b)
{
	return b->lost;
}

uint64_t beside_unwritten(const struct beside *b, int *error)
{
	*error = b->error;
	return b->unwritten;
}

void beside_finish(struct beside *b)
{
	struct output_end end = { 0 };
	int r;

	if (b->finished)
		return;
	b->finished = true;
	r = write_segment(b);
	if (r < 0) {
		b->error = -r;
		b->unwritten += b->sink.draft.next.users;
		b->events -= b->sink.draft.next.users;
	}
	end.lost = b->lost;
	end.unwritten = b->unwritten;
	end.flush_error = (uint32_t)b->error;
	r = output_end(&b->sink.out, &end);
	if (r < 0)
		b->error = -r;
}

void beside_close(struct beside *b, bool drop)
{
	if (!b)
		return;
	if (b->fd >= 0) {
		beside_finish(b);
		/* FILE.SUFFIX.old, if there is one, belongs to FILE.old. */
		if (drop)
			newlog_remove(b->path, b->fd);
		else if (b->kept)
			newlog_settle(b->path, b->fd, false);
		close(b->fd);
	}
	sink_free(&b->sink);
	for (unsigned i = 0; i < b->types; i++) {
		free(b->type[i].name);
		free(b->type[i].layout);
	}
	free(b->type);
	free(b->piece);
	free(b->path);
	free(b);
}

/* -- Merging ------------------------------------------------------------------------------------------ */

/* One of the two logs, while they are merged. */
struct side {
	struct input in;
	uint64_t segment; /* in.expected when the segment was counted */
	uint64_t lost;    /* of the segments so far */
	const struct log_event *event;
	const unsigned char *data;
};

struct merge {
	struct beside *b;
	struct side side[2]; /* FILE, and the log beside it */
	bool open[2];
	uint32_t *ids; /* in the new log, of the types of the log beside */
	struct sink sink;
	unsigned char *body;
};

static void advance(struct side *s)
{
	s->event = input_next(&s->in, &s->data);
	if (s->event && s->in.expected != s->segment) {
		s->segment = s->in.expected;
		s->lost += s->in.segment.lost;
	}
}

/* Copies the frames that describe the events of FILE, or of the log beside it those that describe processes. */
static int copy_frames(struct merge *m, unsigned side)
{
	struct input *in = &m->side[side].in;
	uint64_t at = in->begin;
	struct frame f;
	int r = 0;

	for (; r == 0 && input_frame(in, &f, &at); at += frame_bytes(f.size)) {
		if (!frame_copied(f.kind) || (side == 1 && f.kind != FRAME_PROCESS))
			continue;
		if (f.size > FORMAT_BODY_MAX ||
		    pread(in->fd, m->body, f.size, (off_t)(at + FRAME_BYTES)) != (ssize_t)f.size)
			return -EIO;
		r = output_frame(&m->sink.out, (enum frame_kind)f.kind, m->body, f.size, 0);
	}
	return r;
}

/* Chooses ids that FILE does not have. */
static int choose_ids(struct merge *m)
{
	uint32_t id = EVENT_ID_USER;

	m->ids = calloc(m->b->types + 1, sizeof *m->ids);
	if (!m->ids)
		return -ENOMEM;
	for (uint32_t i = EVENT_ID_USER; i < EVENT_ID_END; i++)
		if (m->side[0].in.type[i])
			id = i + 1;
	if (m->b->types > EVENT_ID_END - id)
		return -ENOSPC;
	for (unsigned i = 0; i < m->b->types; i++)
		m->ids[i] = id++;
	return 0;
}

static int copy_events(struct merge *m)
{
	struct side *one = &m->side[0], *two = &m->side[1];
	int r = 0;

	sink_segment(&m->sink);
	advance(one);
	advance(two);
	while (r == 0 && (one->event || two->event)) {
		bool first = one->event && (!two->event || one->event->time <= two->event->time);
		struct side *s = first ? one : two;
		struct log_event e = *s->event;

		if (!first && e.id >= EVENT_ID_USER && e.id - EVENT_ID_USER < m->b->types)
			e.id = m->ids[e.id - EVENT_ID_USER];
		r = sink_add(&m->sink, &e, s->data, one->lost + two->lost);
		advance(s);
	}
	return r < 0 ? r : sink_write(&m->sink, one->lost + two->lost);
}

static int write_merged(struct merge *m, int fd, struct output_end *sum)
{
	struct log_header h = m->side[0].in.header;
	int r;

	set_header(&h);
	r = sink_begin(&m->sink, fd, &h);
	if (r == 0)
		r = copy_frames(m, 0);
	if (r == 0)
		r = copy_frames(m, 1);
	if (r == 0)
		r = choose_ids(m);
	if (r == 0)
		r = put_types(m->b, &m->sink, FRAME_TYPES, m->ids);
	if (r == 0)
		r = put_types(m->b, &m->sink, FRAME_LAYOUTS, m->ids);
	if (r == 0)
		r = copy_events(m);
	sum->lost += m->b->lost;
	sum->unwritten += m->b->unwritten;
	sum->users += m->b->events;
	return r < 0 ? r : output_end(&m->sink.out, sum);
}

static int open_sides(struct merge *m, int fd)
{
	int r = input_open(&m->side[0].in, fd);

	m->open[0] = r == 0;
	if (r == 0)
		r = input_open(&m->side[1].in, m->b->fd);
	m->open[1] = m->open[0] && r == 0;
	m->body = malloc(FORMAT_BODY_MAX);
	return r == 0 && !m->body ? -ENOMEM : r;
}

int beside_merge(struct beside *b, const char *path, int *fd, struct output_end *sum)
{
	struct merge *m = calloc(1, sizeof *m);
	struct output_end all = *sum;
	char *name = with_suffix(path, "merged");
	const char *why;
	int new, r;

	if (!m)
		fail("no memory");
	beside_finish(b);
	m->b = b;
	new = folder_write(name, O_RDWR, 0600, &why);
	r = new < 0 ? -errno : ftruncate(new, 0) == 0 && flock(new, LOCK_EX | LOCK_NB) == 0 ? 0 : -errno;
	if (r == 0)
		r = open_sides(m, *fd);
	if (r == 0)
		r = write_merged(m, new, &all);
	if (r == 0)
		r = -newlog_rename(name, path);
	for (unsigned i = 0; i < 2; i++)
		if (m->open[i])
			input_close(&m->side[i].in);
	sink_free(&m->sink);
	free(m->ids);
	free(m->body);
	free(m);
	if (r == 0) {
		close(*fd);
		*fd = new;
		*sum = all;
	} else if (new >= 0) {
		newlog_remove(name, new);
		close(new);
	}
	free(name);
	return -r;
}
