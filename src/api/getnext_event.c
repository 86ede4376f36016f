/*
 * getnext_event.c - reading events
 *
 * SPDX-License-Identifier: MIT
 */
#include <stddef.h>

#include "control/reading.h"

int posix_trace_getnext_event(trace_id_t trid, struct posix_trace_event_info *restrict event, void *restrict data,
                              size_t num_bytes, size_t *restrict data_len, int *restrict unavailable)
{
	return reading_getnext(trid, event, data, num_bytes, data_len, unavailable);
}

int posix_trace_timedgetnext_event(trace_id_t trid, struct posix_trace_event_info *restrict event, void *restrict data,
                                   size_t num_bytes, size_t *restrict data_len, int *restrict unavailable,
                                   const struct timespec *restrict abstime)
{
	return reading_next(trid, event, data, num_bytes, data_len, unavailable, READING_UNTIL, abstime);
}

int posix_trace_trygetnext_event(trace_id_t trid, struct posix_trace_event_info *restrict event, void *restrict data,
                                 size_t num_bytes, size_t *restrict data_len, int *restrict unavailable)
{
	return reading_next(trid, event, data, num_bytes, data_len, unavailable, READING_TRY, NULL);
}
