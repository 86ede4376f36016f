/*
 * lttng.h - the same events through LTTng-UST, the fastest comparable tracer
 *
 * Used only if bench/ is built with -Dpeers=enabled. script/bench --peers starts a session daemon of its own and a
 * session that records these events.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_LTTNG_H
#define BENCH_LTTNG_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether LTTng has a trace point for data of this length. */
bool lttng_has(size_t len);
/* Returns whether a session records this trace point now. */
bool lttng_records(size_t len);
/* Records count events. Event i has the data at table + i % 512 * 8. */
void lttng_events(unsigned count, const unsigned char *table, size_t len);
/* Records an event with the given data. */
void lttng_event(const void *bytes, size_t len);

#endif
