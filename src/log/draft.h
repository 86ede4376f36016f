/*
 * draft.h - the segment that is being put together, in memory that outlives its writer
 *
 * A record must not be lost between the chunk that it is taken out of and the log,
 * wherever this process is killed (H25). So it is written here first, then
 * marked, then taken; the mark says which record it is, and whoever comes
 * after a death sees by the chunk whether it was taken:
 *
 *     add           bytes behind the last mark: nothing yet, for the one who comes after
 *     intend        the other mark has them, and says which record they are
 *     (the taker)   chunk.read moves past the record
 *     done          that mark counts
 *
 *     killed before the take: the mark that counts is the old one, the record is in the chunk
 *     killed behind it: chunk.read tells, and draft_recover() makes the new mark count
 *
 * The marks lie in shm/layout.h's log_state.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_DRAFT_H
#define LOG_DRAFT_H

#include <stdbool.h>
#include <stdint.h>

#include "log/pack.h"
#include "shm/stream.h"

struct draft {
	struct log_state *state;
	unsigned char *body; /* FRAME_BYTES in front of it are for the frame header */
	struct pack *pack;
	struct log_mark next; /* what intend will write */
	struct pack_point point; /* of what counts */
	bool ended; /* nothing can be added */
};

/* Of memory for the state and what is behind it. 0 or -ENOMEM. */
int draft_init(struct draft *d, struct log_state *state);
void draft_free(struct draft *d);
/* A new segment with this number, of up to room bytes. */
void draft_begin(struct draft *d, uint64_t sequence, uint32_t room);
/* The body may become so long after all. */
void draft_extend(struct draft *d, uint64_t room);
/* What counts so far. */
const struct log_mark *draft_mark(const struct draft *d);
bool draft_empty(const struct draft *d);
/* False: there is no room; write what there is, and begin another. */
bool draft_add(struct draft *d, const struct log_event *event, const void *data, uint64_t ticks);
/* What was added since the last mark is about to be taken: count records, up to this one; or LOG_NO_CHUNK, and it counts at once. */
void draft_intend(struct draft *d, uint32_t chunk, uint32_t number, uint32_t count);
void draft_done(struct draft *d);
/* The same for events without data, before anything is intended: only that there was no room ends the segment. */
void draft_back(struct draft *d);
/* It could not be taken: what was added since the last mark is forgotten, and the segment ends there. */
void draft_forget(struct draft *d);
/* posix_trace_clear(): all records so far are gone, and in no segment. */
void draft_clear(struct draft *d, const struct stream *s);
/* So many records were taken and so many events came, and are not in any segment, because the log is full. */
void draft_skip(struct draft *d, uint32_t records, uint64_t events);
/* The log is full: with what was added since the last mark it ends. */
void draft_last(struct draft *d);
/* After a death. */
void draft_recover(struct draft *d, const struct stream *s);

#endif
