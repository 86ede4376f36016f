/*
 * layout.h - every structure that lies in shared memory
 *
 * docs/memory-layout.md has the pictures. Only fixed-width integers, no
 * pointers; the other side may have another word size, may be killed at any
 * instruction, and, for a reader, may be hostile. Each layout has a magic, a
 * version, and its own size; whoever maps one checks all three.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_LAYOUT_H
#define SHM_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "model/eventset.h"
#include "model/eventtype.h"

#define LAYOUT_VERSION 0xffffu /* unreleased */

#define LINE 64 /* what two processors can fight over */

/* -- Process page: which streams trace this process ---------------------- */

#define PAGE_MAGIC 0x70747031u
#define PAGE_SIZE_BYTES 8192
#define PAGE_SLOTS TRACE_SYS_MAX
#define PAGE_WORDS 4

/* In page_sum.vacant: clear while a mapping waits to be let go, so that the next trace point looks. */
#define PAGE_LOOK (UINT32_C(1) << 31)

struct page_slot {
	uint64_t creator_start;
	uint64_t inherit_from; /* processes that began at this clock tick or later inherit it; 0: no process does */
	uint32_t creator_pid;
	uint32_t serial;
	uint32_t claim; /* who is filling or emptying the slot, shm/who.h; 0: nobody */
	uint32_t reserved;
};

/* What a trace point looks at. Both change as one: see set_vacant() in shm/procpage.c. */
union page_sum {
	struct {
		/*
		 * Bit n clear: some of word[n]'s slots are taken. All set: nobody
		 * traces, the trace point in <trace.h> returns.
		 */
		uint32_t vacant;
		/* Rises with each change of a slot, and of a stream's filter. */
		uint32_t change;
	};
	uint64_t whole;
};

struct procpage {
	uint32_t magic;
	uint32_t version;
	uint32_t size;
	uint32_t pid;
	uint64_t start;
	uint32_t space;
	/* Whose registry this process uses: its own, or that of the family it was born into. */
	uint32_t names_space;
	uint64_t names_start;
	uint32_t names_pid;
	uint32_t names_before; /* names that were there when the process began to execute its present file */
	uint64_t image;        /* a number of that execution; 0: it has not attached yet */
	uint32_t marked;       /* not 0: descendants may have it for a birthmark */
	uint32_t reserved;

	_Alignas(LINE) union page_sum sum;

	/* Bit n of word w set: slot 64 w + n is vacant. Those that do not exist are never. */
	_Alignas(LINE) uint64_t word[PAGE_WORDS];

	_Alignas(LINE) struct page_slot slot[PAGE_SLOTS];
};

_Static_assert(sizeof(struct page_slot) == 32, "docs/memory-layout.md");
_Static_assert(offsetof(struct procpage, names_start) == 32, "docs/memory-layout.md");
_Static_assert(offsetof(struct procpage, sum.vacant) == 64, "docs/memory-layout.md");
_Static_assert(offsetof(struct procpage, word) == 128, "docs/memory-layout.md");
_Static_assert(offsetof(struct procpage, slot) == 192, "docs/memory-layout.md");
_Static_assert(sizeof(struct procpage) <= PAGE_SIZE_BYTES, "docs/memory-layout.md");
_Static_assert(PAGE_SLOTS <= 64 * PAGE_WORDS, "one bit for each");

/* -- Registry: name -> id ------------------------------------------------- */

#define REGISTRY_MAGIC 0x70747231u
#define REGISTRY_NAME_BYTES 64
/* More places than ids: two that open one name at the same time each take a place, one of them in vain. */
#define REGISTRY_PLACES 4096
#define REGISTRY_NAMES_OFFSET 4096
#define REGISTRY_BYTES_MAX (REGISTRY_NAMES_OFFSET + REGISTRY_PLACES * REGISTRY_NAME_BYTES)

struct registry_header {
	uint32_t magic;
	uint32_t version;
	uint32_t size;   /* of this header */
	uint32_t places; /* taken so far; a place is 64 bytes from REGISTRY_NAMES_OFFSET on */
	uint64_t bytes;  /* of the file, with space for all of it; only rises */
	uint64_t reserved[5];
	/* Event EVENT_ID_USER + i has the name in place index[i] - 1; 0: no such event, and none after it. */
	_Alignas(LINE) uint16_t index[EVENT_USER_MAX];
};

_Static_assert(sizeof(struct registry_header) <= REGISTRY_NAMES_OFFSET, "docs/memory-layout.md");
_Static_assert(TRACE_EVENT_NAME_MAX < REGISTRY_NAME_BYTES, "a name and its null");

/* -- Stream ---------------------------------------------------------------- */

#define STREAM_MAGIC 0x70747331u
#define STREAM_HEADER_BYTES 4096

/* stream_header.state; a set of these. docs/recording.md draws the states. */
#define STATE_RUNNING 1u  /* accepts events */
#define STATE_FULL    2u
#define STATE_ARMED   4u  /* stopped by itself, restarts when it has been read */
#define STATE_OVERRUN 8u  /* something was lost, until posix_trace_get_status(); who is killed may not have come to saying so */
#define STATE_ENDED   16u /* its creator has shut it down, or has died */
#define STATE_CUT     32u /* it was running when its creator died */
/* With a log: */
#define STATE_FLUSHING    64u
#define STATE_LOG_FULL    128u
#define STATE_LOG_OVERRUN 256u /* until posix_trace_get_status() */
#define STATE_SAVED       512u /* its log is complete: nothing in the stream is needed any more */
/* Number of the first error of a flush, until posix_trace_get_status(). */
#define STATE_ERROR_SHIFT 16

struct stream_header {
	uint32_t magic;
	uint32_t version;
	uint32_t header_size;
	uint32_t chunk_size; /* bytes, a multiple of LINE */
	uint32_t chunk_count;
	uint32_t seat_count;
	uint32_t event_size_max;
	uint32_t reserved1;
	uint64_t file_size;

	/* Who made it, whom it traces. */
	uint64_t creator_start;
	uint64_t target_start;
	uint32_t creator_pid;
	uint32_t target_pid;
	uint32_t space; /* pid namespace of the traced process, whose process and thread ids are in here */
	uint32_t reserved2;
	uint32_t serial;

	/* Attributes. */
	uint32_t data_size;
	int32_t stream_policy;
	int32_t log_policy;
	int32_t inheritance;
	uint32_t clock_kind;
	uint64_t stream_size; /* the figure in use, not less than what was asked for */
	uint64_t log_size;
	uint64_t log_state; /* bytes of the part that is for the log, the file's last; 0: there is no log */
	char version_string[TRACE_NAME_MAX + 1];
	char name[TRACE_NAME_MAX + 1];

	/* Read at each trace point; written by the controller, and by a writer that finds the stream full. */
	_Alignas(LINE) uint32_t state;
	/* Not 0: a reader is about to sleep; another number for each value of wakeups. The writer that sees it wakes, and clears it. */
	uint32_t waiting;
	/* The word a reader sleeps on: rises at each wake-up. */
	uint32_t wakeups;
	/* Seats before this one may be in use; only rises. */
	uint32_t seats_used;
	/* Bit n: event type n is filtered out. */
	uint32_t filter[EVENT_ID_END / 32];
	/* With a log: not 0, its creator sleeps until a writer takes another chunk. That clears it, and wakes on wakeups. */
	uint32_t flush_waiting;

	/* Written where events are lost for want of room. */
	_Alignas(LINE) uint64_t stopped_ticks; /* of the automatic stop that has not been reported; 0: none */
	uint64_t lost; /* events that found no room; those overwritten are counted by the chunks */
	uint64_t lost_ticks; /* of the first of them under LOOP that no reader knows of; 0: none */
	uint64_t lost_last;  /* of the last of them under LOOP */
	uint64_t lost_told;  /* by the creator: how many, with those overwritten, posix_trace_get_status() has told last */
};

_Static_assert(sizeof(struct stream_header) <= STREAM_HEADER_BYTES, "docs/memory-layout.md");
_Static_assert(offsetof(struct stream_header, state) % LINE == 0, "docs/memory-layout.md");
/*
 * S1  file_size == STREAM_HEADER_BYTES + seat_count * sizeof(struct seat)
 *                  + chunk_count * (sizeof(struct chunk) + chunk_size) + log_state, in this order
 * S2  chunk_size is a multiple of LINE, at least 2 * event_size_max, at most CHUNK_SIZE_MAX
 * S3  event_size_max >= record_size_max(data_size)
 */

/* -- Seat: what a thread says about itself ----------------------------------- */

/*
 * One for each thread that holds chunks, its own for as long as it lives: so
 * what it writes here, however late, never disturbs another. A thread that
 * finds no free seat records without holding a chunk, which is slower.
 */
struct seat {
	uint32_t busy; /* number + 1 of the chunk that it is writing a record in; 0: none */
	uint32_t who;  /* its thread, shm/who.h; 0: free */
	uint32_t reserved[14];
};

_Static_assert(sizeof(struct seat) == LINE, "docs/memory-layout.md");

/* -- Chunk descriptor; shm/chunk.h tells what happens to it ----------------- */

#define CHUNK_SIZE_MAX (UINT32_C(1) << 24)

struct chunk {
	uint64_t owner;      /* tenure << 32 | seat + 1, or 0 there: nobody's */
	uint64_t progress;   /* records << 32 | position */
	uint64_t last_ticks; /* of the newest record */
	uint64_t gap_from;   /* first and last ticks of records overwritten */
	uint64_t gap_until;  /* since the reader has looked; gap_from 0: none */
	uint32_t first;      /* number of the chunk's oldest record */
	uint32_t claim;      /* who is taking it, or writing one record, shm/who.h; 0: nobody */
	uint32_t reserved[4];

	/* Written by the reader. */
	_Alignas(LINE) uint32_t read; /* number of the next record to be read */
	uint32_t seen; /* value of first up to which the reader has counted the gap */
};

_Static_assert(sizeof(struct chunk) == 2 * LINE, "docs/memory-layout.md");
_Static_assert(offsetof(struct chunk, read) == LINE, "docs/memory-layout.md");

/* -- Log: what is on its way there ------------------------------------------ */

/*
 * Only the stream's creator touches this, and when that has died, whoever
 * finishes its log: what had been taken out of the chunks and was not in the
 * log yet is here, and where it belongs. docs/logs.md tells how nothing of it is lost.
 */
#define LOG_SLOTS      16
#define LOG_NAMES_BYTES 128
#define LOG_PATH_BYTES 4096
#define LOG_BYTES_MAX  (UINT32_C(1) << 24)
#define LOG_BODY_OFFSET 8192 /* of the segment that is being put together; a frame header is before it */

/* What has been written, and so where the next segment goes. */
struct log_place {
	uint64_t log;       /* its random number; 0: nothing is in the file yet */
	uint64_t end;       /* of the file, as far as it is the log's */
	uint64_t sequence;  /* of the next segment */
	uint64_t bytes;     /* of all segments' bodies */
	uint64_t events;    /* in them */
	uint64_t discarded; /* events that were overwritten */
	uint64_t lost;      /* events that the stream had lost when the last segment was written */
	uint32_t types;     /* user event types whose names are in the file */
	uint32_t slots;     /* there are so many */
	uint32_t slot;      /* the one that is being filled */
	uint32_t reserved;
	uint64_t slot_used; /* bytes of it */
	uint64_t slot_offset[LOG_SLOTS]; /* of its frame, in the file */
	uint64_t slot_first[LOG_SLOTS];  /* number of its first segment */
	uint64_t slot_events[LOG_SLOTS];
};

/* How far the next segment is put together. */
struct log_mark {
	uint64_t sequence; /* of the segment that this is about */
	uint64_t first;    /* time of its first event */
	uint64_t last;
	uint64_t last_ticks;
	uint64_t discarded; /* events that came when the log was full */
	uint32_t position; /* bytes of the body */
	uint32_t events;
	uint32_t records; /* taken out of chunks so far, all segments, modulo 2^32 */
	/* The last of the records that this mark has more than the other one: all of them were taken if it was. LOG_NO_CHUNK: none. */
	uint32_t chunk;
	uint32_t number;
	uint32_t full; /* 1: the log is, this is the end of its last segment */
};

#define LOG_NO_CHUNK UINT32_MAX

struct log_state {
	uint32_t capacity; /* of a body */
	uint32_t largest;  /* that an event can be there, with what is told before it */
	uint64_t slot_size;
	uint64_t size; /* log-max-size as in use */
	/* To find the file again. */
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	/* To convert times and to go on reading as the creator would have. */
	uint64_t created_ticks;
	int64_t created_monotonic;
	int64_t real_time; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint64_t gap_from;
	uint64_t gap_until;
	uint64_t unsure_until;
	uint32_t place_now; /* which of the two counts */
	uint32_t mark_now;
	struct log_place place[2];
	struct log_mark mark[2];
	char names[LOG_NAMES_BYTES]; /* file of the registry of event types' names */
	char path[LOG_PATH_BYTES]; /* of the file, as its creator saw it; "": it has none; "?": it may have one */
};

_Static_assert(sizeof(struct log_place) == 464 && sizeof(struct log_mark) == 64, "docs/memory-layout.md");
_Static_assert(offsetof(struct log_state, place) == 96, "docs/memory-layout.md");
_Static_assert(sizeof(struct log_state) <= LOG_BODY_OFFSET - LINE, "docs/memory-layout.md");

#endif
