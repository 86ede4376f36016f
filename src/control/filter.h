/*
 * filter.h - the event types that a stream does not record
 *
 * Called with the handle locked.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_FILTER_H
#define CONTROL_FILTER_H

#include "control/handle.h"

void filter_load(const struct handle *h, trace_event_set_t *set);
/* All that is recorded from now on obeys it, but for what is under way. */
void filter_store(struct handle *h, const trace_event_set_t *set);
/* posix_trace_set_filter(): 0 or EINVAL. address is that of the application's call. */
int filter_change(struct handle *h, const trace_event_set_t *set, int how, const void *address);

#endif
