/*
 * trigger.h - waits for an event while the recording goes on
 *
 * Uses a small stream without a log, and a thread that reads it. An event type that is not waited for is filtered out
 * at its first event, so the traced process has next to no cost.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRIGGER_H
#define TRIGGER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "logs/match.h"

struct trigger;

/* Written to the descriptor for each trigger. */
struct trigger_event {
	unsigned source;
	uint64_t time; /* ns of CLOCK_REALTIME */
	char name[TRACE_EVENT_NAME_MAX + 1]; /* without its layout */
};

/*
 * Starts the thread. fd: a non-blocking pipe, to which triggers are written; a trigger is dropped if the pipe is full.
 * Returns null after it has printed the reason.
 */
struct trigger *trigger_start(pid_t pid, bool children, const struct match *m, unsigned source, int fd);
void trigger_end(struct trigger *t);

#endif
