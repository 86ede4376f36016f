/*
 * heap.h - rebuilds the blocks of memory of processes from the events of record --libc memory
 *
 * An allocation is recorded after it was made, and a free before it is done. So the events of a block are in their
 * order, with two exceptions: realloc() is recorded after the old address may belong to another thread, and events of
 * several threads may have the same time.
 *
 * A child of fork() has the blocks that its parent had at that moment. They are its parent's: they do not count again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEAP_H
#define HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/lookup.h"
#include "logs/sources.h"

/* The functions whose calls are counted. */
enum heap_call { HEAP_MALLOC, HEAP_CALLOC, HEAP_REALLOC, HEAP_MEMALIGN, HEAP_FREE, HEAP_CALLS };
extern const char *const heap_calls[HEAP_CALLS];

/* Blocks, and their bytes. */
struct heap_sum {
	uint64_t blocks, bytes;
};

/* A place in the program that allocates, in all processes. */
struct heap_caller {
	struct lookup_key key;
	const char *text, *name; /* the whole place, and the function; null: unknown */
	const char *image, *source;
	unsigned line;
	struct heap_sum allocated, left;
	uint64_t temporary; /* freed by the same thread, before it allocated again */
};

/* What a caller has in one process. */
struct heap_share {
	struct heap_caller *caller;
	struct heap_sum live, peak;
	uint64_t epoch; /* of the peak that `peak` was noted for */
};

struct heap_block;

/* A process, from its beginning or from an exec on. */
struct heap_process {
	uint32_t source, pid;
	char name[16];     /* of a thread that has allocated */
	uint64_t first, last;
	uint64_t calls[HEAP_CALLS], failed;
	uint64_t temporary;
	struct heap_sum allocated, freed, live, left;
	struct heap_sum inherited; /* of its parent, at fork() */
	uint64_t inherited_freed;
	struct heap_sum peak;
	uint64_t peak_time, epoch;
	uint64_t unknown;  /* frees of blocks whose allocation is not in the log */
	uint64_t unseen;   /* blocks whose address was allocated again, without a free in the log */
	bool whole;        /* recorded from its beginning on */
	bool torn;         /* inherited blocks may be missing */
	bool ended;        /* it has executed another program */

	struct heap_share *share;
	unsigned shares, share_room;
	struct lookup by_caller;
	struct heap_block *block; /* a hash table by address */
	size_t blocks, slots;
	struct heap_doubt *doubt; /* a ring */
	unsigned doubts;
};

struct heap {
	struct heap_process **process; /* in the order of their first events */
	size_t processes;
	struct heap_caller **caller;
	size_t callers;
	uint64_t events;

	struct lookup pids, threads, forks, by_symbol, by_text;
	struct heap_kind *kinds;
	struct heap_thread *thread;
	struct heap_freed *freed; /* a ring, of all processes */
	size_t freed_room;
	uint64_t frees;
	const struct sources *logs;
};

/* Prepares for the events of logs that were opened with symbols. */
void heap_begin(struct heap *h, const struct sources *logs);
/*
 * Takes the next event of a source, whatever its type is. wanted: it is selected; an allocation that is not is known,
 * but does not count.
 */
void heap_event(struct heap *h, const struct source *s, bool wanted);
/* Ends all processes: what they have is left. */
void heap_finish(struct heap *h);

#endif
