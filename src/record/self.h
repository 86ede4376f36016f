/*
 * self.h - this process and this thread, as recorders
 *
 * Everything here lies in memory that a forked child finds zeroed, whichever way it was forked (H1, H2). So a child
 * knows nothing of its parent's streams and starts from scratch at its first trace point. The one exception is the
 * registry, because event ids in the program's variables mean the same in the child.
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
	int64_t checked; /* when the creator was last seen alive, ns of CLOCK_MONOTONIC */
	uint32_t number; /* unique among the streams this process has attached */
	uint32_t user;   /* the owner of the file */
	bool foreign;    /* the process is another user by now (H20) */
	struct attached *next; /* in self.retired */
};

/* A thread's private state for one stream. */
struct writer {
	struct stream_header *header; /* null: not in use */
	struct chunk *chunk;          /* null: the thread has no chunk */
	unsigned char *at;            /* where the next record goes */
	uintptr_t room_end;           /* see writer_fits(); 0: no chunk */
	uint64_t owner;               /* the chunk's owner word while the thread holds the chunk */
	uint64_t progress;            /* the chunk's progress word as last stored by this thread */
	struct seat *seat;            /* null: none yet */
	uint32_t chunk_number;        /* what goes into seat.busy */
	uint32_t data_size;
	/* the most data that the inline path takes: neither truncated nor too long to copy in line */
	uint32_t short_size;
	/* data shorter than this is written in a restartable sequence, untruncated; 0: none */
	uint32_t rseq_end;
	uint32_t clock_kind;
	uint32_t number;              /* of attached */
	uint32_t slot;                /* of the process page */
	struct attached *attached;
	uint32_t no_seat;             /* how many more events go without a seat before the next attempt to get one */
	/* The number + 1 of the chunk that a restartable sequence is about to acquire, and WRITER_LOSES; 0: none. */
	uint32_t taking;
};

/* A flag in writer.taking: acquiring the chunk may lose unread records. */
#define WRITER_LOSES UINT32_C(0x80000000)

#define THREAD_READY 1

#define SLOT_GROUP 64 /* the number of slots in a word of the process page */

/*
 * The most writers in one restartable sequence. Further writers need a second one, which reads the counter again: the
 * stacks of handlers are small.
 */
#define TOGETHER_MAX 8

/*
 * How many trace points inside each other have writers: that of the thread, and those of handlers that interrupt each
 * other. A further one records without writers, as tests with test points do soon.
 */
#ifdef POSIXTRACE_TEST_POINTS
# define THREAD_LEVELS 2
#else
# define THREAD_LEVELS 4
#endif

/* A block: a thread's own, or that of its handlers' trace points inside another one. */
struct thread {
	/*
	 * THREAD_READY: the thread may take the fast path through a trace point. 0: the thread is new, or in a forked
	 * child, or this machine has no membarrier(). Any other value: the thread is inside a trace point, so a new
	 * trace point is a handler's, and the value is the stack address of the interrupted trace point. State and
	 * address are one word, so that a handler always finds them consistent.
	 */
	uintptr_t ready;
	uint32_t generation; /* of the process page, when the writers were made */
	uint32_t count;  /* writers in use */
	uint32_t tries;  /* how many attempts in a row could not make all writers */
	uint32_t wait;   /* trace points until the next attempt */
	uint32_t depth;  /* how many trace points the thread is inside on the slow path */
	const uint32_t *page_generation; /* in the process page; null: as with ready 0 */
	/*
	 * Valid while *page_generation equals generation: filter[] has types that no stream records, though perhaps not
	 * all of them. It is a copy, so that an unwanted event needs no look at a stream, which could be unmapped
	 * meanwhile. filters is 0 if filter[] is empty.
	 */
	uint32_t filters;
	uint32_t stops; /* thread_stops(), counted before the last look at the streams: record_some() in tracepoint.c */
	/*
	 * The writer for the inline path: set if it is the only writer, its clock is the counter and, where the program
	 * has restartable sequences, they work.
	 */
	struct writer *only;

	uint32_t tid; /* 0: the block is free */
	uint32_t pid;
	uint64_t pthread;
	char name[16];
	uint32_t name_age; /* how often the name has been used */
	uint32_t acts_for; /* the id of the thread in whose name this one records: record_for(); 0: its own */
	/*
	 * Data shorter than this is written untruncated to all writers with room, in one restartable sequence; 0: none.
	 */
	uint32_t together_end;
	uint32_t all_together_end; /* the same, but 0 if one restartable sequence cannot have all writers */
	uint32_t filter[EVENT_ID_END / 32];
	/* the most writers in one restartable sequence; 1: some streams take turns (tracepoint.c) */
	uint32_t together_most;
	struct writer *order[PAGE_SLOTS]; /* the writers in use; null in a block that was wiped */
	struct writer writer[SLOT_GROUP];        /* for the first slots of the process page */
	/* From here on: behind what the fast path of most events uses, which keeps its place in the processor's lines. */
	/*
	 * The block of the trace points that interrupt this thread inside a trace point (H4). It has seats and writers
	 * of its own, because those of the interrupted trace point may be in any state. Null: none was needed yet, or
	 * in a block that was wiped. Stays with this block for good.
	 */
	struct thread *deeper;
	/*
	 * The signal stack on which a handler's trace point was last found that could have been taken for one after an
	 * abandoned one: thread_inside(). Only in the thread's first block. The size is 0 if there was none.
	 */
	uintptr_t signal_stack;
	size_t signal_stack_size;
	/* for the other slots, SLOT_GROUP each; null: not allocated yet */
	struct writer *more[PAGE_SLOTS / SLOT_GROUP - 1];
};

/* Returns the thread's writer for a slot of the process page, or null if no memory has been allocated for it yet. */
static inline struct writer *thread_writer(struct thread *t, int slot)
{
	struct writer *more;

	if (slot < SLOT_GROUP)
		return &t->writer[slot];
	more = t->more[slot / SLOT_GROUP - 1];
	return more ? &more[slot % SLOT_GROUP] : NULL;
}

/*
 * Returns the number of stops by calls, summed over the streams of the thread's writers. While the writers stay the
 * same, two equal sums mean that no stream was stopped in between.
 */
static inline uint32_t thread_stops(const struct thread *t)
{
	uint32_t stops = 0, count = load_relaxed(&t->count);

	for (uint32_t i = 0; i < count; i++) {
		const struct writer *writer = load_relaxed(&t->order[i]);
		const struct stream_header *h = writer ? load_relaxed(&writer->header) : NULL;

		stops += h ? load_relaxed(&h->stops) : 0;
	}
	return stops;
}

/*
 * Returns whether a trace point at this stack address is one of a handler that has interrupted the trace point whose
 * address is ready. The stack grows downwards, and a handler runs deeper than what it has interrupted. Otherwise it has
 * a signal stack of its own, or the other trace point was left by longjmp() (H17), and the caller has to find out. A
 * signal stack that was found so is known here; the system need not be asked again. If the program uses its memory for
 * something else by now, an abandoned trace point is taken for one that goes on, as on a signal stack.
 */
static inline bool thread_interrupts(const struct thread *t, uintptr_t frame, uintptr_t ready)
{
	return frame < ready || frame - load_relaxed(&t->signal_stack) < load_relaxed(&t->signal_stack_size);
}

/*
 * Returns the block for a trace point of a handler at this stack address, if it can be used as it is; else null. t is
 * the thread's first block.
 */
static inline struct thread *thread_inside(struct thread *t, uintptr_t frame)
{
	for (struct thread *level = t; level; level = load_relaxed(&level->deeper)) {
		uintptr_t ready = load_relaxed(&level->ready);

		if (ready == THREAD_READY)
			return level;
		if (!thread_interrupts(t, frame, ready))
			return NULL;
	}
	return NULL;
}

/* Ends a trace point: the thread is ready for the fast path again. */
static inline __attribute__((always_inline)) void thread_leave(struct thread *t)
{
	fence_signal();
	store_release(&t->ready, (uintptr_t)THREAD_READY); /* PAIR(inside) */
}

/* What attaching finds out; never changes afterwards. */
struct process {
	struct procpage *page;            /* for writing; not mapped in children */
	const struct procpage *page_seen; /* the same page for reading, also in trace points; children keep it */
	/*
	 * In the registry of the family: where the process notes its new registry if it becomes another user. Null: the
	 * process has none from its parent, or has opened it itself. Not mapped in children.
	 */
	struct names_moved *family_moved;
	struct ident ident;
	struct shm_dir shm_dir; /* the directory of the page and of the streams that it names */
	struct hold page_hold;
	struct hold names_hold;
	bool locked; /* no membarrier(): every trace point takes the slow path */
};

struct self {
	/*
	 * The gate of <trace.h>: the distance from here to the word that is all ones if no stream traces this process.
	 * 0 in a forked child.
	 */
	uint64_t gate;
	uint32_t quiet;          /* all ones: where the gate leads to if the process has no shared memory */
	struct process *process; /* null: not attached */
	uint32_t failed;         /* 0 or an error number */
	uint32_t failed_user;    /* the effective user at that time */
	uint32_t failures;       /* how many attempts to attach have failed with an error that may go away */
	uint32_t skip;           /* how many more trace points do not try to attach */
	uint32_t attach_count;
	struct attached *attached[PAGE_SLOTS];
	struct attached *retired; /* no longer in use, but a thread may still be inside: unmapped later */
	struct thread_slab *slabs;
	uint32_t blocks;         /* thread blocks in the slabs */
	uint32_t births;         /* blocks taken since the last check for dead owners */
	uint32_t ahead;          /* the page's generation when attach_ahead() last looked; 0: never */
};

extern __thread struct thread *thread_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/*
 * Returns this process, attached to its page, or null on failure, with an error number in *error. Without retry, an
 * earlier failure is final, except for errors that may go away: they are retried now and then. Safe in handlers.
 */
struct self *self_get(bool retry, int *error);
/* Returns whether this trace point should not try to attach, because earlier attempts failed. Costs no system call. */
bool self_waits(void);
/*
 * Returns whether no stream traces this process, by the gate, like the trace point of <trace.h>. Returns false in a
 * process that is not attached.
 */
static inline bool self_untraced(void)
{
	const struct __posix_trace_gate *gate = load_acquire(&__posix_trace_gate); /* PAIR(gate) */
	/* An integer, because the word may lie before the gate. */
	uintptr_t vacant = (uintptr_t)gate + (uintptr_t)load_leading(&gate->__vacant);

	return load_relaxed((const uint32_t *)vacant) == ~UINT32_C(0);
}
/* Returns this process if already attached, otherwise null. */
struct self *self_peek(void);

/* Like thread_writer(), but allocates the memory if necessary. Returns null if there is no memory. */
struct writer *self_writer(struct thread *t, int slot);

/*
 * Returns this thread's block; if the block is new, all its writers are unused. Returns null if there is no memory.
 * Safe in handlers.
 */
struct thread *self_thread(struct self *self);
/*
 * Returns the block for trace points inside one that uses this block. Returns null if it would be one too many, or if
 * there is no memory. Safe in handlers. Signals are blocked.
 */
struct thread *self_deeper(struct self *self, struct thread *t);
/* Returns what attaching found out. The process must be attached. */
static inline const struct process *self_process(const struct self *self)
{
	return load_acquire(&self->process); /* PAIR(process) */
}

/*
 * Passes a barrier on all processors and waits until each other thread has been seen outside of a trace point. Returns
 * false if a thread is still inside after this many steps of 50 us.
 */
bool self_wait_quiescent(struct self *self, int steps);

/*
 * Registers a mapping that trace points write to. A child of fork() gets private memory instead before it goes on,
 * because the child may return from a handler into the middle of its parent's trace point.
 */
void self_mapped(uint32_t pid, void *at, size_t size);
void self_unmapped(void *at);
/*
 * Marks the stream at this address as one that children inherit but cannot open, because its file is another user's
 * (H20). Children keep it mapped, at another address. a: how this process has the stream attached; children read it.
 */
void self_mapped_for_children(void *at, const struct attached *a);
/*
 * Takes over a stream that the process was forked with. Returns 0 and sets the stream and the user of a; -ENOENT if the
 * process was forked with no such stream; -EBUSY if another thread has taken it or is about to.
 */
int self_take_kept(const struct process *process, const struct page_entry *entry, struct attached *a);
/* Leaves a stream to be unmapped when no thread is inside any more. */
void self_retire(struct self *self, struct attached *a);

/*
 * Returns the registry of this process's event names, or null if there is no memory. Safe in threads, not in handlers.
 */
struct registry *self_registry(void);
/* Gives up the page and the registry at exit. */
void self_leave(struct self *self);
/* The names known here: ids up to POSIX_TRACE_UNNAMED_USEREVENT + self_names exist. */
extern uint32_t self_names __attribute__((visibility("hidden")));
/* Like registry_id(), and updates self_names. */
trace_event_id_t self_event_id(const char *name);
/* Counts a name that is too long for an event type. */
void self_refuse_name(const char *name);
/* Declares the layout of a user event that has a name. Returns what registry_declare() does. */
int self_declare(trace_event_id_t id, const char *layout);

#endif
