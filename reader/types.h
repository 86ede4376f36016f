/*
 * types.h - the event types of all logs of a reader
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_TYPES_H
#define READER_TYPES_H

#include "reader.h"

/* Adds the event types of a log that was just opened. Returns false if there is no memory. */
bool types_add(struct posixtrace_log *log, struct source *s);
/*
 * Adds the event types that a running process has named since, or with another layout: for them the source has other
 * types from now on. Returns false if there is no memory.
 */
bool types_renew(struct posixtrace_log *log, struct source *s);
/* Returns the type of an event whose type the log does not name: "?70". Returns null if there is no memory. */
struct type *types_unnamed(struct posixtrace_log *log, struct source *s, uint32_t id);
void types_free(struct posixtrace_log *log);

#endif
