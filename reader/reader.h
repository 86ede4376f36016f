/*
 * reader.h - the structures behind <posixtrace/log.h>
 *
 * Each structure of the interface is the first member of the one that the library keeps.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_READER_H
#define READER_READER_H

#include <posixtrace/log.h>
#include <stdbool.h>

#include "event/layouts.h"
#include "log/input.h"
#include "model/data_layout.h"

/* -- Tables ------------------------------------------------------------------------------------ */

struct type {
	struct posixtrace_log_type about;
	const struct layout *layout; /* null: none */
	struct layout *own_layout;   /* a copy: a running process may declare more; null: layout is the log's */
	char *own_name;              /* null: about.name is the log's */
	struct posixtrace_log_field *field;
	char **label; /* of all fields, as in layout->label */
	char *text;   /* about.layout */
	struct posixtrace_log_meaning meaning;
	struct posixtrace_log *log; /* of whose types the name may be paired with another name */
	size_t last;       /* offset of the last word in the name; 0: there is only one */
	uint64_t common;   /* a number for the words before the last one */
	char *span;        /* those words, if they are the name of a span; null: not needed yet */
	bool wanted;  /* by the patterns */
};

struct process_text {
	struct process_text *next;
	char text[];
};

struct process {
	struct posixtrace_log_process about;
	struct posixtrace_log_module **module; /* each followed by its texts */
	size_t room;
	struct process_text *texts; /* of `about`, and earlier texts */
	/* Of a running process: how often it was looked at, and when the last time, in the clock of events. */
	uint32_t looks;
	uint64_t looked;
};

struct thread {
	struct posixtrace_log_thread about;
	char name[16];
};

/* Pointers to structures that never move, in the order in which they were found, and by two numbers. */
struct table {
	void **item;
	size_t count, room;
	struct table_slot {
		uint64_t first, second;
		void *item;
	} *slot;
	size_t slots; /* a power of two, or 0 */
};

/* -- Logs --------------------------------------------------------------------------------------- */

#define SOURCE_LOSSES 8

/* What is the same for all events of a shape in one segment. */
struct shape {
	uint64_t generation; /* of the source, when this was looked up */
	struct thread *thread;
	bool wanted; /* by the filters for type, process and thread */
};

struct source {
	struct posixtrace_log_about about;
	struct posixtrace_log *log;
	struct live_source *live; /* null: a log */
	struct input in;
	int fd;
	char *path;
	struct layouts *layouts;
	struct type **type; /* by the id of the event type; null: not known yet */
	uint32_t index, machine;
	/* The next event, and the losses to report before it. */
	const struct log_event *event; /* null: at the end */
	const unsigned char *data;
	struct posixtrace_log_loss loss[SOURCE_LOSSES];
	unsigned loss_first, loss_count;
	uint64_t loss_time;  /* the place of the losses among the events */
	struct posixtrace_log_segment segment; /* whose losses were queued last; number 0: none */
	uint64_t generation; /* rises with each segment, and when filters change */
	uint64_t lost, damaged; /* events that losses have told of */
	uint64_t last;       /* time of the last event; 0: none */
	uint64_t read;       /* events since the beginning */
	uint64_t losses;     /* losses since the beginning */
	bool finished;       /* the losses at the end have been queued */
	struct posixtrace_log_label *label; /* of about.label */
	struct posixtrace_log_clock *clock; /* of about.clock */
	struct shape shape[SHAPES_MAX];
};

/* -- Filters --------------------------------------------------------------------------------------- */

struct patterns {
	char **pattern;
	size_t count;
};

struct numbers {
	uint32_t *number;
	size_t count;
};

struct filter {
	struct patterns events, threads;
	struct numbers pids, tids;
	uint64_t from, last; /* both are selected */
	int (*wanted)(const struct posixtrace_log_event *event, void *context);
	void *context;
	uint64_t changes; /* of the patterns and numbers */
};

/* -- The reader ------------------------------------------------------------------------------------- */

/* The event that was returned last. */
struct current {
	struct posixtrace_log_event about;
	const struct layout *layout; /* null: none */
	bool located;
	struct layout_places places;
	struct posixtrace_log_loss loss;
};

struct posixtrace_log {
	struct source **source;
	size_t sources;
	uint64_t created; /* the earliest creation */
	bool begun;       /* the first event of each source has been looked at */
	int error;        /* of memory, while an event was read */
	bool found;       /* posixtrace_log_wait() has found the current event, which was not returned yet */
	size_t lives;     /* sources that are running processes */
	uint64_t nap;     /* how long to sleep when nothing has come, ns */
	struct source *pending; /* has not moved beyond the event that was returned last; null: none */
	struct table types, processes, threads;
	size_t paired; /* the number of types when names were paired */
	struct filter filter;
	struct current current;
};

#endif
