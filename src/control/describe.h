/*
 * describe.h - describes a log's events to its reader: names and layouts of event types, programs of processes
 *
 * A description is written before the segment with the first events that need it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_DESCRIBE_H
#define CONTROL_DESCRIBE_H

#include <stdbool.h>
#include <stdint.h>

#include "control/later.h"
#include "log/images.h"
#include "log/output.h"
#include "log/pack.h"
#include "shm/registry.h"

#define DESCRIBE_LOOKS 32

struct describe {
	const struct registry *names; /* null: cannot be opened */
	struct later later;           /* names from the directories of other users */
	const struct stream *stream;
	uint32_t target, target_number; /* the traced process's id, in events and in /proc; 0: do not look at it */
	bool strangers;                 /* other processes' ids: another pid namespace's, or unreliable; do not use */
	bool guarded;                   /* the processes have fewer rights than this one: open their files with these */
	uint32_t owner, group;          /* user and group with these rights */
	int64_t real_time;              /* CLOCK_REALTIME - CLOCK_MONOTONIC, ns */
	/* Processes whose mappings have been written. */
	struct images *images;
	uint32_t images_next;
	/* Processes with an address outside of their known mappings, to be looked at before the next segment. */
	struct describe_look {
		uint32_t pid;
		uint64_t address;
	} look[DESCRIBE_LOOKS];
	uint32_t looks;
	/* If not null, is called with the body of each frame PROCESS that is written. */
	void (*on_process)(void *arg, const unsigned char *body, size_t size);
	void *on_process_arg;
	/* One bit for each event type: the type has events; the log has the type's name. */
	uint64_t used[EVENT_ID_END / 64], named[EVENT_ID_END / 64];
	uint64_t declared[EVENT_ID_END / 64]; /* the log has the type's layout, by this describer */
};

/* Returns false if there is no memory. */
bool describe_init(struct describe *d, const struct stream *s);
void describe_free(struct describe *d);
/* Notes the type and the address of an event that is the first of its shape in a segment. */
void describe_event(struct describe *d, const struct log_event *e);
/* Returns the number of event types that have events but no name in the log so far. */
uint32_t describe_unnamed(const struct describe *d);

/* The functions below return 0 or a negative error number. */

/* Begins the descriptions of an empty log: writes the names of all event types. */
int describe_all(struct describe *d, struct output *o);
/*
 * Writes the descriptions that the log lacks, for the processes with events in the segment.
 * A null segment means all processes that have left a description.
 */
int describe_more(struct describe *d, struct output *o, const struct pack *segment);
/* Writes the traced process's present mappings if they have changed since the process was described. */
int describe_target(struct describe *d, struct output *o);

#endif
