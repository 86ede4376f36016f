/*
 * self.h - this process and this thread, as they record
 *
 * Everything here lies in memory that a forked child finds zeroed, however it
 * was forked (H1, H2): so the child knows nothing of its parent's streams, and
 * begins anew at its first trace point. The one exception is the registry,
 * because event ids in the program's variables mean the same in the child.
 *
 * Nothing happens before the first trace point or the first call (H10).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_SELF_H
#define RECORD_SELF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "shm/procpage.h"
#include "shm/registry.h"
#include "shm/stream.h"

/* A stream that traces this process, as mapped here for all threads. */
struct attached {
	struct page_entry entry;
	struct stream stream;
	int64_t checked; /* when its creator was last seen alive, ns of CLOCK_MONOTONIC */
	uint32_t number; /* differs from all others of this process */
	struct attached *next; /* in self.retired */
};

/* One stream, as one thread writes it. */
struct lane {
	struct stream_header *header; /* null: not in use */
	struct chunk *chunk;          /* null: the thread has none */
	unsigned char *at;            /* its next record */
	uintptr_t room_end;           /* see lane_fits(); 0: no chunk */
	uint64_t owner;               /* the chunk's word, while it is ours */
	uint64_t progress;            /* the chunk's word, as this thread left it */
	struct seat *seat;            /* null: none yet */
	uint32_t chunk_number;        /* what goes into seat.busy */
	uint32_t data_size;
	uint32_t short_size;          /* so much data goes the shortest way: what fits whole, and is copied in line */
	uint32_t stretch_end;         /* less than this is written in a stretch, whole; 0: nothing */
	uint32_t clock_kind;
	uint32_t number;              /* of attached */
	struct attached *attached;
	uint32_t no_seat;             /* how often to do without before the next try to get one */
	uint32_t taking;              /* the number + 1 of the chunk that it is about to take in a stretch, and LANE_LOSES; 0: none */
};

/* By what is being taken, records may be lost. */
#define LANE_LOSES UINT32_C(0x80000000)

#define THREAD_READY 1

struct thread {
	/*
	 * THREAD_READY: the thread may take the short way through a trace
	 * point. 0: it is new, or in a forked child, or this machine has no
	 * membarrier(). Else it is inside, what comes now is a handler's, and
	 * this is the stack address of the trace point that it is inside: one
	 * word, so that a handler never finds the one without the other.
	 */
	uintptr_t ready;
	uint32_t change; /* of the process page, when the lanes were made */
	uint32_t count;  /* lanes in use */
	uint32_t tries;  /* how often the lanes could not be made as they should be */
	uint32_t wait;   /* trace points until the next try */
	uint32_t depth;  /* inside on the long way, and how deep */
	const uint32_t *page_change; /* in the process page; null: as with ready 0 */
	/*
	 * As long as the page's change is ours: filter[] has what no stream records, some of it at least. A copy, so that an
	 * event that nobody wants costs no look at a stream, which could be unmapped meanwhile.
	 */
	uint32_t filters;
	struct lane *only; /* the lane, if there is one and its clock is the counter, and stretches, if there may be any: the shortest way */

	uint32_t tid; /* 0: the block is free */
	uint32_t pid;
	uint64_t pthread;
	char name[16];
	uint32_t name_age; /* uses of it */
	uint32_t together_end; /* less than this is written in one stretch into lanes with room, whole; 0: nothing */
	uint32_t filter[EVENT_ID_END / 32];
	struct lane *order[PAGE_SLOTS]; /* those in use; null in a block that was wiped */
	struct lane lane[PAGE_SLOTS];
};

/* What is found out when the process attaches; never changes afterwards. */
struct process {
	struct procpage *page;
	struct ident ident;
	struct place place; /* where the page is, and the streams that it names */
	struct hold page_hold;
	struct hold names_hold;
	bool locked; /* no membarrier(): every trace point takes the long way */
};

struct self {
	/* In <trace.h>: the distance from here to the word that says whether anybody traces. 0 in a forked child. */
	uint64_t gate;
	uint32_t quiet;          /* all ones: what the gate leads to if there is no shared memory */
	struct process *process; /* null: not attached */
	uint32_t failed;         /* not 0: an error number */
	uint32_t failures;       /* how often attaching has failed for want of something that there may be again */
	uint32_t skip;           /* so many trace points do not try again */
	uint32_t attach_count;
	struct attached *attached[PAGE_SLOTS];
	struct attached *retired; /* not in use any more, but a thread may still be inside: unmapped later */
	struct thread_slab *slabs;
	uint32_t blocks;         /* in them */
	uint32_t births;         /* blocks that were taken since it was last asked whose threads are dead */
};

extern __thread struct thread *thread_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * This process, attached to its page. With retry, a failure before is not the
 * last word. Null on failure, *error then is an error number. Safe in handlers.
 * Without, it is: but for want of descriptors or memory, now and then.
 */
struct self *self_get(bool retry, int *error);
/* Is there no use in trying to attach at this trace point? Costs nothing. */
bool self_waits(void);
/* Only if it is there already. */
struct self *self_peek(void);

/* This thread's block, all lanes unused if it is new. Null: no memory. Safe in handlers. */
struct thread *self_thread(struct self *self);
/* Of a process that has attached. */
static inline const struct process *self_process(const struct self *self)
{
	return load_acquire(&self->process); /* PAIR(process) */
}

/*
 * Passes a barrier everywhere and waits until each other thread has been
 * outside of a trace point since; in steps of 50 us, false after so many.
 */
bool self_wait_outside(struct self *self, int steps);

/*
 * Memory that a trace point writes to. A child of fork() gets private memory
 * in its place before it goes on: it may return from a handler into the middle
 * of a trace point of its parent.
 */
void self_mapped(uint32_t pid, void *at, size_t size);
void self_unmapped(void *at);

/* The names of this process's events. Null: no memory. Safe in threads, not in handlers. */
struct registry *self_registry(void);
/* At exit: this process uses its page and its registry no more. */
void self_leave(struct self *self);
/* Names known here: ids up to POSIX_TRACE_UNNAMED_USEREVENT + this are real. */
extern uint32_t self_names __attribute__((visibility("hidden")));
/* registry_id(), and self_names brought up to date. */
trace_event_id_t self_event_id(const char *name);

#endif
