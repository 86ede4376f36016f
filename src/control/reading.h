/*
 * reading.h - the three functions that read an active stream
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_READING_H
#define CONTROL_READING_H

#include <trace.h>

enum reading_wait { READING_TRY, READING_FOREVER, READING_UNTIL };

int reading_next(trace_id_t trid, struct posix_trace_event_info *event, void *data, size_t size, size_t *length,
                 int *unavailable, enum reading_wait wait, const struct timespec *deadline);
/* Does reading_next() with READING_FOREVER, with few instructions for a log that no other thread has locked. */
int reading_getnext(trace_id_t trid, struct posix_trace_event_info *event, void *data, size_t size, size_t *length,
                    int *unavailable);

#endif
