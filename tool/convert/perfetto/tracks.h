/*
 * tracks.h - the tracks of a trace of Perfetto: threads, processes, slices, losses
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PERFETTO_TRACKS_H
#define PERFETTO_TRACKS_H

#include "convert/slices.h"

/* Return the uuid of a track, after writing the track if necessary. */
uint64_t perfetto_lost_track(const struct source *s);
uint64_t perfetto_thread_track(const struct source *s, struct task *thread);
uint64_t perfetto_slice_track(struct slice_track *t);
/* The track of a counter of the next event's process. field: its index; id: which counter, if the layout has an id. */
uint64_t perfetto_counter_track(const struct source *s, struct task *thread, const struct layout *l, unsigned field,
                                uint64_t id);

#endif
