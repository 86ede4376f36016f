/*
 * combine.c - makes one log of the logs of a recording: that of the program, and those of its workers
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/combine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/little_endian.h"
#include "log/draft.h"
#include "log/input.h"
#include "log/output.h"
#include "record/newlog.h"

#define PIDS_MAX (1u << 16) /* processes with events in one log; more are only made up */

/* Set of process ids. */
struct pids {
	uint32_t *item; /* sorted */
	size_t count, room;
	uint32_t last; /* the id that was added last; 0: none */
};

struct side {
	struct input in;
	struct combine_log *log; /* null: the program's */
	const struct log_event *event; /* the next one; null: at the end */
	const unsigned char *data;
	uint64_t at;    /* number of events read */
	uint64_t count; /* of events in a worker's log: those that come later are left to the next log */
	uint16_t id[EVENT_ID_END]; /* in the new log; 0: not known yet */
	struct pids pids;
	struct pids refused;
	bool open;
};

struct work {
	struct combine *c;
	struct side *side; /* the first is the program's */
	unsigned sides;
	unsigned *heap, heaped; /* sides with events, the earliest event first */
	char (*name)[TRACE_EVENT_NAME_MAX + 1]; /* of the types of the new log */
	bool used[EVENT_ID_END];
	uint32_t next_id;
	struct log_state *state;
	struct output out;
	struct draft draft;
	unsigned char *body;
};

/* -- Process ids ------------------------------------------------------------------------------- */

/* Returns the place of the id, or where it belongs. */
static size_t pids_place(const struct pids *p, uint32_t pid)
{
	size_t low = 0, high = p->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (p->item[middle] < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool pids_has(const struct pids *p, uint32_t pid)
{
	size_t at = pids_place(p, pid);

	return at < p->count && p->item[at] == pid;
}

/* Returns false if there is no memory, or no room for more. */
static bool pids_add(struct pids *p, uint32_t pid)
{
	size_t at;

	if (pid == p->last && p->count)
		return true;
	at = pids_place(p, pid);
	p->last = pid;
	if (at < p->count && p->item[at] == pid)
		return true;
	if (p->count == PIDS_MAX)
		return false;
	if (p->count == p->room) {
		uint32_t *more = realloc(p->item, (p->room ? 2 * p->room : 64) * sizeof *more);

		if (!more)
			return false;
		p->item = more;
		p->room = p->room ? 2 * p->room : 64;
	}
	memmove(p->item + at + 1, p->item + at, (p->count - at) * sizeof *p->item);
	p->item[at] = pid;
	p->count++;
	return true;
}

/* Returns whether an event of the side belongs to the new log by its place and its time. Called once for each event. */
static bool is_due(const struct work *w, struct side *s, const struct log_event *e)
{
	if (!s->log)
		return true;
	return s->at++ >= s->log->skip && e->time >= w->c->begin && e->time < w->c->end;
}

static void rewind_side(struct side *s)
{
	input_rewind(&s->in);
	s->at = 0;
}

/* Collects the processes that have events for the new log. */
static void collect(const struct work *w, struct side *s)
{
	const struct log_event *e;
	const unsigned char *data;

	rewind_side(s);
	while ((e = input_next(&s->in, &data)) != NULL)
		if (!input_end_gap(&s->in, e) && is_due(w, s, e) && !eventtype_system(e->id))
			pids_add(&s->pids, e->pid);
	s->count = s->at;
	rewind_side(s);
}

/* Collects the workers' processes, and decides which of them are accepted. */
static void judge(struct work *w)
{
	bool some = false;

	for (unsigned i = 1; i < w->sides; i++) {
		collect(w, &w->side[i]);
		some |= w->side[i].pids.count > 0;
	}
	if (some)
		collect(w, &w->side[0]);
	for (unsigned i = 1; i < w->sides; i++) {
		struct side *s = &w->side[i];

		for (size_t k = 0; k < s->pids.count; k++) {
			uint32_t pid = s->pids.item[k];

			if (w->c->accepts(s->log->arg, pid, pids_has(&w->side[0].pids, pid)))
				s->log->processes++;
			else
				pids_add(&s->refused, pid);
		}
	}
}

/* Returns whether the events of a process are in the new log. */
static bool accepted(const struct side *s, uint32_t pid)
{
	return !s->log || (pids_has(&s->pids, pid) && !pids_has(&s->refused, pid));
}

/* -- Event types --------------------------------------------------------------------------------- */

static void take_types(struct work *w)
{
	const struct input *in = &w->side[0].in;

	for (uint32_t id = 1; id < EVENT_ID_END; id++) {
		w->side[0].id[id] = (uint16_t)id;
		w->used[id] = in->type[id] || id < EVENT_ID_USER;
		if (in->type[id])
			memcpy(w->name[id], in->name[id], sizeof w->name[id]);
	}
	w->next_id = EVENT_ID_USER;
}

/* Returns an id that is not used, or that of the unnamed type if there is none. */
static uint32_t free_id(struct work *w, uint32_t wish)
{
	if (!w->used[wish])
		return wish;
	while (w->next_id < EVENT_ID_END && w->used[w->next_id])
		w->next_id++;
	if (w->next_id < EVENT_ID_END)
		return w->next_id;
	w->c->full = true;
	return POSIX_TRACE_UNNAMED_USEREVENT;
}

static uint32_t find_type(const struct work *w, const char *name)
{
	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++)
		if (w->used[id] && strcmp(w->name[id], name) == 0)
			return id;
	return 0;
}

/* Writes the name and the layout of a worker's type. */
static int write_type(struct work *w, struct side *s, uint32_t from, uint32_t to)
{
	size_t length = strlen(w->name[to]);
	char layout[LAYOUT_TEXT_SIZE];
	int r;

	put16(w->body, (uint16_t)to);
	w->body[2] = (unsigned char)length;
	memcpy(w->body + 3, w->name[to], length);
	r = output_frame(&w->out, FRAME_TYPES, w->body, 3 + length, 0);
	length = input_layout(&s->in, from, layout);
	if (r < 0 || !length)
		return r;
	put16(w->body, (uint16_t)to);
	put16(w->body + 2, (uint16_t)length);
	memcpy(w->body + 4, layout, length);
	return output_frame(&w->out, FRAME_LAYOUTS, w->body, 4 + length, 0);
}

/* Gives the types of a worker's log ids in the new log: types with one name are one type. */
static int add_types(struct work *w, struct side *s)
{
	int r = 0;

	for (uint32_t id = 1; id < EVENT_ID_USER; id++)
		s->id[id] = (uint16_t)id;
	for (uint32_t id = EVENT_ID_USER; r == 0 && id < EVENT_ID_END; id++) {
		uint32_t to;

		if (!s->in.type[id] || !s->in.name[id][0])
			continue;
		to = find_type(w, s->in.name[id]);
		if (!to) {
			to = free_id(w, id);
			if (to >= EVENT_ID_USER) {
				w->used[to] = true;
				memcpy(w->name[to], s->in.name[id], sizeof w->name[to]);
				r = write_type(w, s, id, to);
			}
		}
		s->id[id] = (uint16_t)to;
	}
	return r;
}

/* Returns the id in the new log. A type without a name keeps its id, if no other type has it. */
static uint32_t translate(struct work *w, struct side *s, uint32_t id)
{
	if (!s->id[id]) {
		uint32_t to = free_id(w, id);

		w->used[to] = true;
		s->id[id] = (uint16_t)to;
	}
	return s->id[id];
}

/* -- Frames ---------------------------------------------------------------------------------------- */

/* Returns whether a frame is copied as it is. Types of workers get other ids; what a process says must be about it. */
static bool is_wanted(const struct side *s, const struct frame *f, const unsigned char *body)
{
	if (!s->log)
		return frame_copied(f->kind);
	return f->kind == FRAME_PROCESS && f->size >= 4 && accepted(s, get32(body));
}

static int copy_frames(struct work *w, struct side *s)
{
	uint64_t at = s->in.begin;
	struct frame f;
	int r = 0;

	for (; r == 0 && input_frame(&s->in, &f, &at); at += frame_bytes(f.size)) {
		if (!frame_copied(f.kind))
			continue;
		if (pread(s->in.fd, w->body, f.size, (off_t)(at + FRAME_BYTES)) != (ssize_t)f.size)
			return -EIO;
		if (is_wanted(s, &f, w->body))
			r = output_frame(&w->out, (enum frame_kind)f.kind, w->body, f.size, 0);
	}
	return r;
}

/* -- Events ---------------------------------------------------------------------------------------- */

static bool earlier(const struct work *w, unsigned a, unsigned b)
{
	const struct log_event *x = w->side[a].event, *y = w->side[b].event;

	return x->time != y->time ? x->time < y->time : a < b;
}

static void sift(struct work *w, unsigned at)
{
	for (;;) {
		unsigned least = at, child = 2 * at + 1;

		for (unsigned i = child; i < child + 2 && i < w->heaped; i++)
			if (earlier(w, w->heap[i], w->heap[least]))
				least = i;
		if (least == at)
			return;
		unsigned swapped = w->heap[at];

		w->heap[at] = w->heap[least];
		w->heap[least] = swapped;
		at = least;
	}
}

/* Of the system's own events, a worker's stream has only those to tell that are about its losses. */
static bool is_told(const struct side *s, const struct log_event *e)
{
	if (input_end_gap(&s->in, e))
		return false;
	return !s->log || !eventtype_system(e->id) || e->id == POSIX_TRACE_OVERFLOW || e->id == POSIX_TRACE_RESUME;
}

/* Goes on to the side's next event that is in the new log. */
static void advance(const struct work *w, struct side *s)
{
	while ((s->event = input_next(&s->in, &s->data)) != NULL) {
		if (s->log && s->at == s->count) {
			s->event = NULL;
			return;
		}
		if (!input_end_gap(&s->in, s->event) && !is_due(w, s, s->event))
			continue;
		if (!is_told(s, s->event))
			continue;
		if (!s->log || eventtype_system(s->event->id) || accepted(s, s->event->pid))
			return;
		s->log->foreign++;
	}
}

static int end_segment(struct work *w)
{
	if (draft_empty(&w->draft))
		return 0;
	draft_prepare(&w->draft, LOG_NO_CHUNK, 0, 0);
	return output_segment(&w->out, &w->draft, 0);
}

static int add(struct work *w, const struct log_event *e, const unsigned char *data)
{
	int r;

	if (draft_add(&w->draft, e, data, 0))
		return 0;
	r = end_segment(w);
	if (r < 0)
		return r;
	draft_begin(&w->draft, output_position(&w->out)->sequence, output_room(&w->out));
	return draft_add(&w->draft, e, data, 0) ? 0 : -EINVAL;
}

static int copy_events(struct work *w)
{
	int r = 0;

	for (unsigned i = 0; i < w->sides; i++) {
		rewind_side(&w->side[i]);
		advance(w, &w->side[i]);
		if (w->side[i].event)
			w->heap[w->heaped++] = i;
	}
	for (unsigned i = w->heaped; i > 0; i--)
		sift(w, i - 1);
	while (r == 0 && w->heaped) {
		struct side *s = &w->side[w->heap[0]];
		struct log_event e = *s->event;

		e.id = translate(w, s, e.id);
		r = add(w, &e, s->data);
		if (s->log)
			s->log->events += !eventtype_system(e.id);
		advance(w, s);
		if (!s->event)
			w->heap[0] = w->heap[--w->heaped];
		sift(w, 0);
	}
	return r < 0 ? r : end_segment(w);
}

/* -- The new log ------------------------------------------------------------------------------------ */

static int write_all(struct work *w)
{
	struct log_header header = w->side[0].in.header;
	struct output_end end = { 0 };
	int r;

	/* The log cannot be completed from a stream. */
	header.stream[0] = 0;
	header.attr.log_policy = POSIX_TRACE_APPEND;
	r = output_begin(&w->out, &header);
	for (unsigned i = 0; r == 0 && i < w->sides; i++) {
		struct side *s = &w->side[i];

		r = copy_frames(w, s);
		if (r == 0 && s->log)
			r = add_types(w, s);
		if (s->log && !w->c->last)
			continue;
		end.lost += s->in.lost;
		end.discarded += s->in.discarded;
		end.unwritten += s->in.unwritten;
		end.left_out += s->in.left_out;
		end.status |= s->in.status;
		end.flush_error = end.flush_error ? end.flush_error : s->in.flush_error;
	}
	if (r == 0)
		r = copy_events(w);
	if (r < 0)
		return r;
	w->c->users = output_position(&w->out)->users;
	r = output_end(&w->out, &end);
	w->c->bytes = output_position(&w->out)->end;
	return r;
}

static int make(struct work *w)
{
	uint32_t data_size = 0, capacity;
	uint64_t size;
	int r = -ENOMEM;

	for (unsigned i = 0; i < w->sides; i++)
		if (w->side[i].in.header.attr.data_size > data_size)
			data_size = (uint32_t)w->side[i].in.header.attr.data_size;
	size = output_size(POSIX_TRACE_APPEND, 0, data_size);
	capacity = output_capacity(POSIX_TRACE_APPEND, size, data_size);
	w->state = calloc(1, LOG_BODY_OFFSET + capacity + FRAME_BYTES);
	if (!w->state)
		return r;
	output_plan(w->state, POSIX_TRACE_APPEND, size, data_size);
	r = output_init(&w->out, w->c->made, true, POSIX_TRACE_APPEND, w->state);
	if (r < 0)
		return r;
	r = draft_init(&w->draft, w->state);
	if (r == 0) {
		r = write_all(w);
		draft_free(&w->draft);
	}
	output_free(&w->out);
	return r;
}

static void drop_made(struct combine *c)
{
	if (c->meanwhile)
		newlog_remove(c->meanwhile, c->made);
	close(c->made);
	free(c->meanwhile);
	c->made = -1;
	c->meanwhile = NULL;
}

static int with_sides(struct work *w)
{
	struct combine *c = w->c;
	bool some = false;
	int r;

	for (unsigned i = 0; i < w->sides; i++) {
		struct side *s = &w->side[i];

		s->log = i ? &c->log[i - 1] : NULL;
		r = input_open(&s->in, i ? s->log->fd : c->fd);
		if (r < 0)
			return r;
		s->open = true;
	}
	judge(w);
	for (unsigned i = 1; i < w->sides; i++)
		some |= w->side[i].pids.count > 0;
	if (!some)
		return 0;
	take_types(w);
	c->made = newlog_make(c->copy, &c->meanwhile);
	if (c->made < 0)
		return -errno;
	r = make(w);
	if (r < 0) {
		drop_made(c);
		return r;
	}
	for (unsigned i = 1; i < w->sides; i++)
		w->side[i].log->skip = w->side[i].count;
	return 0;
}

int combine(struct combine *c)
{
	struct work *w = calloc(1, sizeof *w);
	int r = -ENOMEM;

	c->made = -1;
	c->meanwhile = NULL;
	if (!w)
		return ENOMEM;
	w->c = c;
	w->sides = 1 + c->logs;
	w->side = calloc(w->sides, sizeof *w->side);
	w->heap = calloc(w->sides, sizeof *w->heap);
	w->name = calloc(EVENT_ID_END, sizeof *w->name);
	w->body = malloc(FORMAT_BODY_MAX);
	if (w->side && w->heap && w->name && w->body)
		r = with_sides(w);
	for (unsigned i = 0; w->side && i < w->sides; i++) {
		if (w->side[i].open)
			input_close(&w->side[i].in);
		free(w->side[i].pids.item);
		free(w->side[i].refused.item);
	}
	free(w->side);
	free(w->heap);
	free(w->name);
	free(w->body);
	free(w->state);
	free(w);
	return -r;
}
