/*
 * trigger.h - waits for an event, while the recording goes on
 *
 * A small stream of its own without a log, and a thread that reads it. Types of events that are not waited for are
 * filtered out as soon as one of them comes, so it costs the traced process next to nothing.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRIGGER_H
#define TRIGGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "match.h"

struct trigger;

/* What has come: written to the descriptor as it is. */
struct trigger_event {
	unsigned source;
	uint64_t time; /* ns of CLOCK_REALTIME */
	char name[TRACE_EVENT_NAME_MAX + 1]; /* without its layout */
};

/* fd: a pipe that does not block; one event of a hundred thousand that does not fit may be lost. Null: it has been said why not. */
struct trigger *trigger_start(pid_t pid, bool children, const struct match *m, unsigned source, int fd);
void trigger_end(struct trigger *t);

#endif
