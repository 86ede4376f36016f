/*
 * beside.h - a log FILE.SUFFIX beside FILE for events that the recorder writes, merged into FILE at the end
 *
 * If the recorder is killed, both files remain, and all commands read them together. One thread at a time may use a
 * log.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BESIDE_H
#define BESIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "log/format.h"
#include "log/output.h"

struct beside;

/*
 * Creates the log beside the log `path`, which is open as fd and has its header. Returns null after it has printed the
 * reason.
 */
struct beside *beside_open(const char *path, const char *suffix, int fd);
/* Returns the path of the log. */
const char *beside_path(const struct beside *b);
/* Converts a time of CLOCK_MONOTONIC to the times of the log. */
uint64_t beside_time(const struct beside *b, uint64_t monotonic);
/* Returns the id of a new event type, or 0 if there are too many. layout: null or correct. */
uint32_t beside_type(struct beside *b, const char *name, const char *layout);
/* Writes the description of a process: the body of a PROCESS frame (docs/log-format.md). */
void beside_process(struct beside *b, const void *body, size_t size);
/* Writes an event. If its time is before that of the last event, it gets the time of that. Errors are kept. */
void beside_put(struct beside *b, const struct log_event *e, const void *data);
/* Reports lost events. */
void beside_lost(struct beside *b, uint64_t from, uint64_t until, uint64_t count);
/* Writes the events so far to the file. */
void beside_flush(struct beside *b);
/* Returns the number of events, of lost ones, and of those that could not be written; sets *error for the latter. */
uint64_t beside_events(const struct beside *b);
uint64_t beside_lost_events(const struct beside *b);
uint64_t beside_unwritten(const struct beside *b, int *error);
/* Completes the log. */
void beside_finish(struct beside *b);
/*
 * Merges the completed log into the complete log `path`, whose totals are *sum, and removes it. On success replaces *fd
 * by a descriptor of the new file of this name, and adds to *sum. Returns 0 or an error number; then both files are as
 * they were.
 */
int beside_merge(struct beside *b, const char *path, int *fd, struct output_end *sum);
/* Closes the log. drop: removes it, too. */
void beside_close(struct beside *b, bool drop);

#endif
