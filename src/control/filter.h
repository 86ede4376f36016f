/*
 * filter.h - reads and changes the set of event types that a stream does not record
 *
 * The caller has locked the handle.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_FILTER_H
#define CONTROL_FILTER_H

#include "control/handle.h"

void filter_load(const struct handle *h, trace_event_set_t *set);
/* Sets the filter for all events recorded from now on, except for records in progress. */
void filter_store(struct handle *h, const trace_event_set_t *set);
/* Does posix_trace_set_filter(). Returns 0 or EINVAL. address: where the application called. */
int filter_change(struct handle *h, const trace_event_set_t *set, int how, const void *address);

#endif
