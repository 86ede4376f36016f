/*
 * probe_state.h - what the parts of record --usdt share
 *
 * A thread of the recorder owns all of it between probes_start() and probes_stop(), which run in the main thread.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROBE_STATE_H
#define PROBE_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

#include "base/ticks.h"
#include "common/message.h"
#include "kernel/buffer.h"
#include "kernel/uprobe.h"
#include "record/probe_patterns.h"
#include "record/probelog.h"
#include "usdt/arguments.h"
#include "usdt/notes.h"
#include "usdt/signature.h"

struct perf_event_header;

/* The size of the ring for samples of a processor. */
#define PROBE_RING_BYTES (UINT32_C(1) << 20)

/* A probe: an event type. It may be at several places. */
struct probe {
	char *name;   /* "python:line" */
	uint32_t type;
	unsigned count;              /* of arguments */
	uint8_t size[ARGUMENTS_MAX]; /* 0: left off */
	bool is_signed[ARGUMENTS_MAX];
	bool is_text[ARGUMENTS_MAX]; /* the kernel fetches it */
	struct signature signature;  /* empty: not known */
	bool has_place;
	bool said;           /* which arguments are left off */
	uint64_t events, cut; /* cut: events without their last fields, which were not in the sample */
};

struct location {
	struct probe *probe;
	struct argument argument[ARGUMENTS_MAX];
	unsigned count;
	struct uprobe where;
	int stack_register;
	unsigned text_at[ARGUMENTS_MAX]; /* offset of the text's place in the fields of a sample; 0: it has none */
};

/* A file with probes that are wanted, or one that has none. */
struct probed_file {
	dev_t device;
	ino_t inode;
	int fd; /* -1: no probes */
	char *path;
	struct location *location;
	unsigned count;
	bool opened;
	unsigned char build_id[NOTES_BUILD_ID_MAX];
	size_t build_id_length;
};

/* A process whose events are wanted. */
struct probed_process {
	pid_t pid;
	bool described; /* the log says what it executes now */
};

/* An event of the kernel. */
struct opened {
	uint64_t id;
	int fd;
	unsigned ring;
	const struct location *location; /* null: the tracker */
};

/* A record of a ring that waits until no earlier one can come. */
struct waiting {
	uint64_t time;
	uint64_t number; /* of two with the same time the first */
	uint64_t from;   /* of a loss: the time of the record before it in its ring */
	bool followed;
	struct perf_event_header *record; /* null: a loss */
	uint64_t lost;
};

struct named {
	uint32_t tid;
	char name[16];
};

struct probes {
	const struct probes_wanted *wanted;
	pid_t pid;
	struct uprobe_how how;
	struct probelog log;
	struct buffer *ring; /* 2 n: of samples; 2 n + 1: of the tracker; on the processor n */
	uint64_t *ring_time; /* of the last record of each ring */
	int64_t clock_offset; /* from the kernel's clock to that of this process */
	uint64_t *ring_lost; /* samples that it had no room for, as far as reported */
	int *processor;
	unsigned processors, rings;
	struct probed_file *file;
	unsigned files;
	struct probe **probe;
	unsigned probe_count;
	struct probed_process *process; /* the process, and its children */
	unsigned processes;
	uint64_t foreign; /* samples of other processes that execute the same files */
	struct opened *opened; /* sorted by id */
	unsigned opened_count;
	struct waiting *waiting;
	size_t waiting_count, waiting_room;
	uint64_t number, lost;
	uint64_t watermark; /* all records before this time have come */
	struct named *named;
	unsigned named_count;
	pthread_t thread;
	bool running;
	int stop; /* eventfd */
	unsigned failed; /* places whose probes could not be set */
	int failure;     /* why */
	int no_texts;    /* why the kernel fetches no texts: an error number; 0: it does */
	bool no_texts_said;
};

/* Returns an array with room for one more. */
static inline void *probes_more(void *array, size_t count, size_t size)
{
	/* Twice as much at each power of 2. */
	if ((count & (count - 1)) == 0)
		array = realloc(array, (count ? 2 * count : 1) * size);
	if (!array)
		fail("no memory");
	return array;
}

static inline uint64_t probes_now(void)
{
	return (uint64_t)clock_ns(CLOCK_MONOTONIC);
}

#endif
