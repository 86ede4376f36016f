/*
 * source.h - one log of a reader: its events, and what is missing between them
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_SOURCE_H
#define READER_SOURCE_H

#include "reader.h"

/* Says why a file cannot be read as a log. Returns the error number for it. */
int source_refuse(const char *path, int fd, int error);
/* Opens a log, and takes over the descriptor in any case. Returns 0, or an error number with a message. */
int source_open(struct posixtrace_log *log, int fd, const char *path, struct source **source);
void source_free(struct source *s);
/* Goes back to before the first event. */
void source_rewind(struct source *s);
/* Queues losses, and does all else that is rare: a system event before, another segment, the end. */
void source_look(struct source *s);

/* Moves to the next event, and queues the losses before it. */
static inline void source_advance(struct source *s)
{
	const struct log_event *before = s->event;
	bool plain = before && before->id >= POSIX_TRACE_UNNAMED_USEREVENT;

	/* Nearly always the next event of the same segment. */
	if (plain) {
		s->last = before->time;
		s->event = unpack_next(s->in.unpack, &s->data);
		if (s->event) {
			s->in.last = s->event->time;
			s->read++;
			return;
		}
	}
	source_look(s);
}

/* Returns the time of the next loss, which a stop of the recording has before the event after it. */
static inline uint64_t source_loss_time(const struct source *s)
{
	const struct posixtrace_log_loss *loss = &s->loss[s->loss_first];

	return loss->reason == POSIXTRACE_LOG_STOPPED ? loss->from : s->loss_time;
}

/* Returns the event's shape. All shapes change with the segment. */
static inline struct shape *source_shape(struct source *s, const struct log_event *e)
{
	return &s->shape[((size_t)e - (size_t)s->in.unpack->shape_of) / sizeof(struct unpack_shape)];
}

#endif
