/*
 * lttng.h - the same events through LTTng-UST, the fastest of our peers
 *
 * Only where bench/ is built with -Dpeers=enabled; script/bench --peers starts a
 * session daemon of its own and a session that records them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_LTTNG_H
#define BENCH_LTTNG_H

#include <stdbool.h>
#include <stddef.h>

/* There is a trace point for data of this length. */
bool lttng_has(size_t len);
/* And a session records it now. */
bool lttng_records(size_t len);
/* Event i has the data at table + i % 512 * 8. */
void lttng_events(unsigned count, const unsigned char *table, size_t len);
/* One event with this data. */
void lttng_event(const void *bytes, size_t len);

#endif
