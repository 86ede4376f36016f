/*
 * part.h - a stream with its log, as a recording has one or two of
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PART_H
#define PART_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <trace.h>

#include "match.h"

struct part {
	char *path;
	int fd;
	bool seeks; /* a regular file */
	trace_id_t trid;
	bool there;
	bool log_full; /* has been seen */
	int error;     /* the last one of writing that was seen; 0: none */
	uint64_t lost; /* events, as of the last look */
};

/* So far, of what this part was created or last cleared for. */
struct part_numbers {
	uint64_t events; /* those of the system too */
	uint64_t bytes;  /* of the log */
};

/* The stream, suspended. The path becomes the part's own. 0, an error number, or -1: it has been said. */
int part_create(struct part *p, pid_t pid, const trace_attr_t *attr, char *path);
/* Event types that have got a name since the last time, and are not wanted, are filtered out. */
void part_follow(struct part *p, const struct match *m);
struct part_numbers part_numbers(const struct part *p);
/* What its process executes now goes into the log, if that is something else than before. */
void part_describe(const struct part *p);
/* error, log_full and lost. */
void part_look(struct part *p);
/* All that was recorded is in the file: 0 or an error number. */
int part_flush(struct part *p);
/* Suspended, it begins anew: an empty file, a stream without events, no filter. */
void part_clear(struct part *p);
/* The end of the stream; the log is complete. 0 or an error number. The file stays open. */
int part_end(struct part *p);
void part_free(struct part *p);

/* -- What a stream knows of its process -------------------------------------------------- */

/* Has the process, or the image that it executes now, come to the library at all? */
bool stream_attached(trace_id_t trid);
/* The next user event type of its list, from the beginning if rewind. False: there is no more. */
bool stream_next_type(trace_id_t trid, bool rewind, trace_event_id_t *id, char name[TRACE_EVENT_NAME_MAX + 1]);

#endif
