/*
 * probe_events.h - the events of the kernel that record --usdt has opened, and their rings
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROBE_EVENTS_H
#define PROBE_EVENTS_H

#include <stdint.h>

struct opened;
struct probed_file;
struct probes;

/* Opens both rings of each processor. Returns 0 or an error number. */
int probe_rings_open(struct probes *p);
/* Follows threads that are there already, besides the first. */
void probe_rings_track(struct probes *p);
/* Sorts the events when some were opened. */
void probe_events_sort(struct probes *p);
/* Returns the event with this identifier; null if there is none. */
const struct opened *probe_event_find(const struct probes *p, uint64_t id);
/* Opens the probes of a file, unless they are. */
void probed_file_open(struct probes *p, struct probed_file *f);

#endif
