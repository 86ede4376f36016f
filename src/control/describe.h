/*
 * describe.h - what is needed to understand a log's events: names of types, what the processes execute
 *
 * Written before the segment with the first events that need it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_DESCRIBE_H
#define CONTROL_DESCRIBE_H

#include <stdbool.h>
#include <stdint.h>

#include "log/images.h"
#include "log/output.h"
#include "shm/registry.h"

struct describe {
	const struct registry *names; /* null: not to be had */
	uint32_t target, target_number; /* the traced process, as in events and as /proc calls it; 0: not to be looked at */
	bool strangers;               /* the others' numbers are of another pid namespace, or not to be believed: nobody looks at them */
	int64_t real_time;            /* CLOCK_REALTIME - CLOCK_MONOTONIC, ns */
	/* Whose mappings have been written. */
	struct images *images;
	uint32_t images_next;
	uint32_t look_pid; /* one whose mappings are to be looked at before the next segment */
};

/* False: no memory. */
bool describe_init(struct describe *d, const struct stream *s);
void describe_free(struct describe *d);
/* An event: is it known what lies where it was traced from? */
void describe_place(struct describe *d, const struct log_event *e);

/* Both return 0 or a negative error number. */

/* What is known from the beginning, into a log that has nothing yet. */
int describe_all(struct describe *d, struct output *o);
/* What the log does not have yet. */
int describe_more(struct describe *d, struct output *o);
/* The traced process, whose mappings may have changed: those that it has now, if they are not in the log. */
int describe_target(struct describe *d, struct output *o);

#endif
