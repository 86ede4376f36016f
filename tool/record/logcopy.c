/*
 * logcopy.c - copies the events of a log into a new log
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/logcopy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log/draft.h"
#include "log/input.h"
#include "log/output.h"
#include "record/newlog.h"

struct copy {
	struct logcopy *c;
	struct input in;
	struct log_state *state;
	struct output out;
	struct draft draft;
	unsigned char *body;
};

/* Copies the frames that are needed to understand events: names, layouts and mappings. */
static int copy_frames(struct copy *k)
{
	uint64_t at = k->in.begin;
	struct frame f;
	int r = 0;

	for (; r == 0 && input_frame(&k->in, &f, &at); at += frame_bytes(f.size)) {
		if (!frame_copied(f.kind))
			continue;
		if (pread(k->in.fd, k->body, f.size, (off_t)(at + FRAME_BYTES)) != (ssize_t)f.size)
			return -EIO;
		r = output_frame(&k->out, (enum frame_kind)f.kind, k->body, f.size, 0);
	}
	return r;
}

static int end_segment(struct copy *k)
{
	int r;

	if (draft_empty(&k->draft))
		return 0;
	draft_prepare(&k->draft, LOG_NO_CHUNK, 0, 0);
	r = output_segment(&k->out, &k->draft, 0);
	if (r == 0)
		k->c->events = output_position(&k->out)->users;
	return r;
}

static int add(struct copy *k, const struct log_event *e, const unsigned char *data)
{
	int r;

	if (draft_add(&k->draft, e, data, 0))
		return 0;
	r = end_segment(k);
	if (r < 0)
		return r;
	draft_begin(&k->draft, output_position(&k->out)->sequence, output_room(&k->out));
	return draft_add(&k->draft, e, data, 0) ? 0 : -EINVAL;
}

static int copy_events(struct copy *k)
{
	const unsigned char *data;
	const struct log_event *e;
	int r = 0;

	input_rewind(&k->in);
	while (r == 0 && (e = input_next(&k->in, &data)) != NULL) {
		if (!k->c->first)
			k->c->first = e->time;
		k->c->last = e->time;
		if (e->time >= k->c->begin && e->time < k->c->end)
			r = add(k, e, data);
	}
	return r < 0 ? r : end_segment(k);
}

static int copy_all(struct copy *k)
{
	struct output_end end = { .lost = k->c->lost, .left_out = k->c->left_out };
	int r;

	/* The stream continues with another log, so this log must not be completed from the stream. */
	k->in.header.stream[0] = 0;
	r = output_begin(&k->out, &k->in.header);
	if (r == 0)
		r = copy_frames(k);
	if (r == 0)
		r = copy_events(k);
	if (r == 0)
		r = output_end(&k->out, &end);
	return r;
}

static int with_input(struct copy *k, int fd)
{
	const struct attr *a = &k->in.header.attr;
	uint64_t size = output_size(POSIX_TRACE_APPEND, 0, (uint32_t)a->data_size);
	uint32_t capacity = output_capacity(POSIX_TRACE_APPEND, size, (uint32_t)a->data_size);
	int r = -ENOMEM;

	k->state = calloc(1, LOG_BODY_OFFSET + capacity + FRAME_BYTES);
	k->body = malloc(FORMAT_BODY_MAX);
	if (!k->state || !k->body)
		return r;
	output_plan(k->state, POSIX_TRACE_APPEND, size, (uint32_t)a->data_size);
	r = output_init(&k->out, fd, true, POSIX_TRACE_APPEND, k->state);
	if (r < 0)
		return r;
	r = draft_init(&k->draft, k->state);
	if (r == 0) {
		r = copy_all(k);
		k->c->bytes = output_position(&k->out)->end;
		draft_free(&k->draft);
	}
	output_free(&k->out);
	return r;
}

int logcopy(struct logcopy *c)
{
	struct copy *k = calloc(1, sizeof *k);
	char *meanwhile;
	int fd, r;

	c->events = c->bytes = c->first = c->last = 0;
	c->made = -1;
	if (!k)
		return ENOMEM;
	k->c = c;
	r = input_open(&k->in, c->from);
	if (r < 0) {
		free(k);
		return -r;
	}
	fd = newlog_make(c->copy, &meanwhile);
	r = fd < 0 ? -errno : with_input(k, fd);
	if (r == 0)
		r = -newlog_name(fd, meanwhile, c->path, &c->number);
	if (r == 0) {
		c->made = fd;
	} else if (fd >= 0) {
		if (meanwhile)
			newlog_remove(meanwhile, fd);
		close(fd);
	}
	free(meanwhile);
	input_close(&k->in);
	free(k->state);
	free(k->body);
	free(k);
	return -r;
}
