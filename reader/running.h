/*
 * running.h - the stream of a running process, made and read by the library's own parts
 *
 * Nothing of the reader is known here, and nothing outside of running.c knows of streams. What is in shared memory may
 * be hostile: src/read and src/shm check it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_RUNNING_H
#define READER_RUNNING_H

#include <posixtrace/log.h>
#include <stdbool.h>

#include "log/header.h"
#include "log/images.h"
#include "log/unpack.h"
#include "model/data_layout.h"
#include "model/eventtype.h"

struct running;

enum running_result {
	RUNNING_EVENT,
	RUNNING_NONE,   /* now */
	RUNNING_BROKEN, /* the process has taken the memory away */
	RUNNING_FORKED, /* this process is a child of the one that has opened the stream */
};

/* Creates and starts a stream. Returns 0, or an error number with a message. */
int running_open(uint32_t pid, const struct posixtrace_log_recording *how, struct running **running);
/* Ends the stream, and frees everything. */
void running_close(struct running *r);
/* Fills in the header that a log of the stream would have. */
void running_describe(const struct running *r, struct log_header *h);

/* Gets the next event, without the name of its thread. The data are valid until the next call. Does not wait. */
enum running_result running_next(struct running *r, struct log_event *e, const unsigned char **data);
/* Returns whether the process has taken the memory away. The last running_next() may have been the first to notice. */
bool running_broken(const struct running *r);
/* Returns the number of events that were lost so far. */
uint64_t running_lost(struct running *r);
/* Returns ns of the clock of events. */
uint64_t running_now(const struct running *r);

/* Returns whether the process has ended. With children: also all processes of running_knows(). */
bool running_ended(struct running *r);
/* Notes a process that has recorded an event. */
void running_knows(struct running *r, uint32_t pid);
/* Returns a descriptor that poll() finds readable when the process has ended; -1: the kernel has none. */
int running_end_fd(const struct running *r);

/*
 * Returns a number that changes when the process has named an event type, or declared a layout. Fast. Not in a forked
 * child: only after running_next() has found something, or nothing.
 */
uint64_t running_types(const struct running *r);
/* Returns the end of the ids of event types that may have names. */
uint32_t running_types_end(struct running *r);
/* Copy the name and the declared layout of an event type. Return false if there is none. */
bool running_type_name(struct running *r, uint32_t id, char name[TRACE_EVENT_NAME_MAX + 1]);
bool running_type_layout(struct running *r, uint32_t id, char layout[LAYOUT_TEXT_SIZE]);
/* Keeps the process from recording events of these types: a bit for each id. */
void running_filter(struct running *r, const uint64_t unwanted[EVENT_ID_END / 64 + 1]);

/* Copies the name of a living thread. It is empty if the thread is not known in this pid namespace. */
void running_thread_name(const struct running *r, uint32_t pid, uint32_t tid, char name[16]);
/* Writes the body of a frame PROCESS (docs/log-format.md) about a process. Returns its size, or 0. */
size_t running_image(const struct running *r, uint32_t pid, struct images *images, unsigned char *body, size_t size);

#endif
