/*
 * record.h - the functions that a provider's function calls to record an event
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LTTNG_RECORD_H
#define LTTNG_RECORD_H

#include "event.h"

/* Makes the provider's function record into an event of ours. */
void record_set_up(struct event *e);

#endif
