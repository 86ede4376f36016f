/*
 * layout.h - every structure that lies in shared memory
 *
 * docs/memory-layout.md has the pictures. Only fixed-width integers, no pointers. The other side may have another
 * word size, may be killed at any instruction, and may be hostile to a reader. Each layout has a magic, a version,
 * and its own size; a process that maps a file checks all three.
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

#define LINE 64 /* cache line: the unit that two processors can contend for */

/*
 * Where to find the names of event types that a process opens after it has become another user for good (H20). The
 * process writes this into its former registry or page, as its last act there. A reader takes it for a hint, and
 * reads the named registry with that user's rights.
 */
struct names_moved {
	uint32_t state;   /* MOVED_FREE, MOVED_LOCKED, MOVED_REPORTED */
	uint32_t user;    /* user id in the process's user namespace */
	uint32_t outside; /* the same user outside of that namespace, as in the name of the directory */
	uint32_t pid;     /* of the registry, as in the name of its file */
	uint64_t start;
	uint32_t pidns;
	uint32_t reserved;
};

#define MOVED_FREE     0
#define MOVED_LOCKED   1
#define MOVED_REPORTED 2
#define MOVED_MAX      4 /* entries in a registry */

_Static_assert(sizeof(struct names_moved) == 32, "docs/memory-layout.md");

/* -- Process page: which streams trace this process ---------------------- */

#define PAGE_MAGIC 0x70747031u
#define PAGE_SIZE_BYTES 36864
#define PAGE_SLOTS TRACE_SYS_MAX /* all of a user's streams may trace one process */
#define PAGE_WORDS 16

/* In page_sum.vacant: clear while a mapping waits to be released, so that the next trace point takes the slow path. */
#define PAGE_LOOK (UINT32_C(1) << 31)

struct page_slot {
	uint64_t creator_start;
	uint64_t inherit_from; /* processes that began at this clock tick or later inherit the stream; 0: none */
	uint32_t creator_pid;
	uint32_t serial;
	uint32_t lock; /* the thread that is filling or emptying the slot, host/thread_ref.h; 0: free */
	uint32_t reserved;
};

/* What a trace point looks at. Both words change together: see set_vacant() in shm/procpage.c. */
union page_sum {
	struct {
		/*
		 * Bit n is clear if some of word[n]'s slots are taken. All bits set: no stream traces the process,
		 * and the trace point in <trace.h> returns.
		 */
		uint32_t vacant;
		/* Rises with each change of a slot, and of a stream's filter. */
		uint32_t generation;
	};
	uint64_t whole;
};

struct procpage {
	uint32_t magic;
	uint32_t version;
	uint32_t size;
	uint32_t pid;
	uint64_t start;
	uint32_t pidns;
	/* The registry used by this process: its own or the family's. */
	uint32_t names_pidns;
	uint64_t names_start;
	uint32_t names_pid;
	uint32_t names_before; /* number of names when the process began to execute its present file */
	uint64_t image;        /* identifies this execution of a file; 0: the process has not attached yet */
	uint32_t marked;       /* not 0: descendants may have this process in their ancestor tag */
	uint32_t reserved;

	_Alignas(LINE) union page_sum sum;

	/* Bit n of word w is set if slot 64 w + n is vacant. The bits of slots that do not exist stay set. */
	_Alignas(LINE) uint64_t word[PAGE_WORDS];

	_Alignas(LINE) struct page_slot slot[PAGE_SLOTS];

	struct names_moved moved;
};

_Static_assert(sizeof(struct page_slot) == 32, "docs/memory-layout.md");
_Static_assert(offsetof(struct procpage, names_start) == 32, "docs/memory-layout.md");
_Static_assert(offsetof(struct procpage, sum.vacant) == 64, "docs/memory-layout.md");
_Static_assert(offsetof(struct procpage, word) == 128, "docs/memory-layout.md");
_Static_assert(offsetof(struct procpage, slot) == 256, "docs/memory-layout.md");
_Static_assert(sizeof(struct procpage) <= PAGE_SIZE_BYTES, "docs/memory-layout.md");
_Static_assert(PAGE_SLOTS <= 64 * PAGE_WORDS, "one bit for each");

/* -- Registry: name -> id ------------------------------------------------- */

#define REGISTRY_MAGIC 0x70747231u
#define REGISTRY_NAME_BYTES 64
/* More entries than ids: two processes that open a name at the same time use an entry each, and one is wasted. */
#define REGISTRY_ENTRIES 16384
#define REGISTRY_NAMES_OFFSET 32768
#define REGISTRY_BYTES_MAX (REGISTRY_NAMES_OFFSET + REGISTRY_ENTRIES * REGISTRY_NAME_BYTES)

struct registry_header {
	uint32_t magic;
	uint32_t version;
	uint32_t size;    /* of this header */
	uint32_t entries; /* number used so far; an entry is 64 bytes, from REGISTRY_NAMES_OFFSET on */
	uint64_t bytes;   /* of the file, all of it with reserved space; only rises */
	/* How often a name longer than TRACE_EVENT_NAME_MAX was refused. */
	uint64_t refused;
	uint64_t full; /* how often there was no room for a name, so that its events have none */
	uint64_t reserved[3];
	/* The name of event EVENT_ID_USER + i is in entry index[i] - 1. 0: no such event, and none after it. */
	_Alignas(LINE) uint16_t index[EVENT_USER_MAX];
	char refused_name[REGISTRY_NAME_BYTES]; /* the beginning of the first refused name, and its null */
	struct names_moved moved[MOVED_MAX];    /* by processes whose names were here */
	/*
	 * The declared layout of event EVENT_ID_USER + i begins in entry layout[i] - 1, with its length as u16 and its
	 * text, and continues in the following entries. The event has no layout if layout[i] is 0.
	 */
	uint16_t layout[EVENT_USER_MAX];
};

_Static_assert(sizeof(struct registry_header) <= REGISTRY_NAMES_OFFSET, "docs/memory-layout.md");
_Static_assert(TRACE_EVENT_NAME_MAX < REGISTRY_NAME_BYTES, "a name and its null");

/* -- Stream ---------------------------------------------------------------- */

#define STREAM_MAGIC 0x70747331u
#define STREAM_HEADER_BYTES 4096

/* stream_header.state, a set of these bits. docs/recording.md draws the states. */
#define STATE_RUNNING 1u  /* accepts events */
#define STATE_FULL    2u
#define STATE_ARMED   4u  /* stopped automatically, restarts when it has been read */
/*
 * Events were lost since the last posix_trace_get_status(). May be missing if the writer was killed before it set the
 * bit; the counter `lost` is exact.
 */
#define STATE_OVERRUN 8u
#define STATE_ENDED   16u /* the creator has shut the stream down, or has died */
#define STATE_CUT     32u /* the stream was running when its creator died */
/* Full and suspended, not under LOOP: each new event is lost and counted. Never set without FULL. */
#define STATE_LOSING  1024u
/* With a log: */
#define STATE_FLUSHING    64u
#define STATE_LOG_FULL    128u
#define STATE_LOG_OVERRUN 256u /* until posix_trace_get_status() */
#define STATE_SAVED       512u /* its log is complete: the stream is no longer needed */
/* The first error of a flush, as an error number, until posix_trace_get_status(). */
#define STATE_ERROR_SHIFT 16

struct stream_header {
	uint32_t magic;
	uint32_t version;
	uint32_t header_size;
	uint32_t chunk_size; /* bytes, a multiple of LINE */
	uint32_t chunk_count;
	uint32_t seat_count;
	uint32_t event_size_max;
	/* Not 0: each event of a process is recorded, or lost, in at most one of the streams with this number. */
	uint32_t turns;
	uint64_t file_size;

	/* Creator and traced process. */
	uint64_t creator_start;
	uint64_t target_start;
	uint32_t creator_pid;
	uint32_t target_pid;
	uint32_t pidns;    /* pid namespace of the traced process, and of all process and thread ids in the stream */
	uint32_t programs; /* number of entries for descriptions of programs; 0: there is no log */
	uint32_t serial;

	/* Attributes. */
	uint32_t data_size;
	int32_t stream_policy;
	int32_t log_policy;
	int32_t inheritance;
	uint32_t clock_kind;
	uint64_t stream_size; /* in use; at least the size that was asked for */
	uint64_t log_size;
	uint64_t log_state; /* bytes of the part for the log, the file's last; 0: there is no log */
	char version_string[TRACE_NAME_MAX + 1];
	char name[TRACE_NAME_MAX + 1];

	/* Read at each trace point. Written by the controller, and by a writer that finds the stream full. */
	_Alignas(LINE) uint32_t state;
	/*
	 * Not 0: a reader is about to sleep. The number is a different one for each value of wakeups. The writer that
	 * sees it clears it and wakes the reader.
	 */
	uint32_t waiting;
	/* The word a reader sleeps on: rises at each wake-up. */
	uint32_t wakeups;
	/* Seats from this number on were never used; only rises. */
	uint32_t seats_used;
	/* Bit n: event type n is filtered out. */
	uint32_t filter[EVENT_ID_END / 32];
	/*
	 * With a log: not 0 while the creator sleeps until a writer takes another chunk. The writer clears it, and
	 * wakes the creator by wakeups.
	 */
	uint32_t flush_waiting;
	/*
	 * Rises before each stop by the controller. A writer that finds several streams stopped checks them again
	 * until no stop has come in between.
	 */
	uint32_t stops;

	/* Written when events are lost for lack of room. */
	_Alignas(LINE) uint64_t stopped_ticks; /* of the automatic stop that has not been reported; 0: none */
	uint64_t lost; /* events that found no room; the chunks count overwritten events */
	uint64_t lost_ticks; /* under LOOP: of the first lost event unknown to all readers; 0: none */
	uint64_t lost_last;  /* under LOOP: of the last lost event */
	uint64_t lost_reported;  /* by the creator: lost and overwritten events at the last posix_trace_get_status() */
};

_Static_assert(sizeof(struct stream_header) <= STREAM_HEADER_BYTES, "docs/memory-layout.md");
_Static_assert(offsetof(struct stream_header, state) % LINE == 0, "docs/memory-layout.md");
/*
 * S1  file_size == STREAM_HEADER_BYTES + seat_count * sizeof(struct seat)
 *                  + chunk_count * (sizeof(struct chunk) + chunk_size) + programs * PROGRAM_BYTES + log_state,
 *                  in this order
 * S2  chunk_size is a multiple of LINE, at least 2 * event_size_max, at most CHUNK_SIZE_MAX
 * S3  event_size_max >= record_size_max(data_size)
 * S4  chunk_count is at most CHUNK_COUNT_MAX, so a loop over the chunks of a stream made by another process ends
 */
#define CHUNK_COUNT_MAX (UINT32_C(1) << 17) /* twice as many as the largest stream has */

/* -- Seat: what a thread announces about itself ------------------------------ */

/*
 * Each thread that holds chunks has a seat of its own for as long as it lives. So a thread's writes to its seat,
 * however late, never disturb another thread. A thread that finds no free seat records without holding a chunk, which
 * is slower.
 */
struct seat {
	uint32_t busy; /* number + 1 of the chunk in which the thread is writing a record; 0: none */
	uint32_t ref;  /* its thread, host/thread_ref.h; 0: free */
	uint32_t reserved[14];
};

_Static_assert(sizeof(struct seat) == LINE, "docs/memory-layout.md");

/* -- Chunk descriptor; shm/chunk.h describes its life ----------------------- */

#define CHUNK_SIZE_MAX (UINT32_C(1) << 24)

struct chunk {
	uint64_t owner;      /* generation << 32 | seat + 1; a low half of 0: nobody's */
	uint64_t progress;   /* records << 32 | position */
	uint64_t last_ticks; /* of the newest record */
	uint64_t gap_from;   /* first and last ticks of the records that were overwritten */
	uint64_t gap_until;  /* since the reader last looked; gap_from 0: none */
	uint32_t first;      /* number of the chunk's oldest record */
	uint32_t lock;       /* the thread that is taking the chunk or writing one record, host/thread_ref.h; 0: free */
	uint32_t reserved[4];

	/* Written by the reader. */
	_Alignas(LINE) uint32_t read; /* number of the next record to be read */
	uint32_t seen; /* value of first up to which the reader has counted the gap */
};

_Static_assert(sizeof(struct chunk) == 2 * LINE, "docs/memory-layout.md");
_Static_assert(offsetof(struct chunk, read) == LINE, "docs/memory-layout.md");

/* -- Program: what a process executes, described by itself ----------------- */

/*
 * Only in a stream with a log. A process writes a description before its first event in the stream, so that the log
 * can explain its addresses however short its life. The description is the body of a frame PROCESS
 * (docs/log-format.md), in as many entries as needed.
 */
#define PROGRAM_BYTES 2048
#define PROGRAM_DATA  (PROGRAM_BYTES - LINE)
#define PROGRAM_PARTS 32 /* of one description, at most */
#define PROGRAMS_MIN 16
#define PROGRAMS_MAX 256

struct program {
	uint64_t key;      /* equal in all parts of a description: CLOCK_MONOTONIC in ns when it was made; 0: empty */
	uint64_t reported; /* by the process that writes the log: the key of a description that is in the log */
	uint32_t lock;     /* the thread that is filling the entry, host/thread_ref.h; 0: free */
	uint32_t pid;      /* as in events */
	uint32_t part, parts;
	uint32_t length; /* bytes of this part */
	uint32_t reserved[5];
	_Alignas(LINE) uint8_t data[PROGRAM_DATA];
};

_Static_assert(sizeof(struct program) == PROGRAM_BYTES, "docs/memory-layout.md");

/* -- Log: events on their way to the log file -------------------------------- */

/*
 * Touched only by the stream's creator, and after the creator's death by the process that completes the log. It holds
 * the events that have been taken out of the chunks and are not in the log yet, and their position in the log.
 * docs/logs.md explains why no event is lost.
 */
#define LOG_SLOTS      16
#define LOG_NAMES_BYTES 128
#define LOG_PATH_BYTES 4096
#define LOG_BYTES_MAX  (UINT32_C(1) << 24)
#define LOG_BODY_OFFSET 8192 /* where the segment in the making begins; a frame header is before it */

/* What has been written, and therefore where the next segment goes. */
struct log_position {
	uint64_t log;       /* its random number; 0: the file is still empty */
	uint64_t end;       /* end of the log in the file */
	uint64_t sequence;  /* of the next segment */
	uint64_t bytes;     /* of all segments' bodies */
	uint64_t events;    /* in all segments */
	uint64_t users;     /* user events among them */
	uint64_t discarded; /* events that were overwritten */
	uint64_t lost;      /* events that the log had lost when the last segment was written */
	uint64_t lost_base; /* how many of the stream's lost events belong to earlier contents of the log file */
	uint32_t types;     /* user event types whose names are in the file */
	uint32_t slots;     /* number of slots */
	uint32_t slot;      /* number of the slot that is being filled */
	uint32_t sum;       /* offset of the frame SUM; 0: there is none */
	uint64_t slot_used; /* bytes used in the current slot */
	uint64_t slot_offset[LOG_SLOTS]; /* of its frame, in the file */
	uint64_t slot_first[LOG_SLOTS];  /* number of its first segment */
	uint64_t slot_events[LOG_SLOTS];
};

/* How far the next segment has been assembled. */
struct log_mark {
	uint64_t sequence; /* of the segment that the mark describes */
	uint64_t first;    /* time of its first event */
	uint64_t last;
	uint64_t last_ticks;
	uint64_t discarded; /* events that came when the log was full */
	uint64_t unwritten; /* user events given up at the end, because the log could not be written any more */
	uint64_t left_out;  /* user events that the filter of the log did not select */
	uint32_t position;  /* bytes of the body */
	uint32_t events;
	uint32_t users;   /* user events among them */
	uint32_t records; /* taken out of chunks so far, all segments, modulo 2^32 */
	/*
	 * The last record that this mark adds over the other mark. If it was consumed, all records before it were.
	 * LOG_NO_CHUNK: none.
	 */
	uint32_t chunk;
	uint32_t number;
	uint32_t full; /* 1: the log is full, and this mark is the end of its last segment */
	uint32_t reserved;
};

#define LOG_NO_CHUNK UINT32_MAX

struct log_state {
	uint32_t capacity; /* of a body */
	uint32_t largest;  /* encoded event in bytes, with the OVERFLOW and RESUME before it */
	uint64_t slot_size;
	uint64_t size; /* log-max-size as in use */
	/* To find the file again. */
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	/* For converting times and for going on reading as the creator would have. */
	uint64_t created_ticks;
	int64_t created_monotonic;
	int64_t real_time; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint64_t gap_from;
	uint64_t gap_until;
	uint64_t unsure_until;
	uint32_t position_now; /* index of the valid one of the two positions */
	uint32_t mark_now;
	struct log_position position[2];
	struct log_mark mark[2];
	char names[LOG_NAMES_BYTES]; /* file of the registry of event types' names */
	char path[LOG_PATH_BYTES];   /* of the log file, as its creator saw it; "": none; "?": not known */
	uint64_t unsure_from;
};

_Static_assert(sizeof(struct log_position) == 480 && sizeof(struct log_mark) == 88, "docs/memory-layout.md");
_Static_assert(offsetof(struct log_state, position) == 96, "docs/memory-layout.md");
_Static_assert(sizeof(struct log_state) <= LOG_BODY_OFFSET - LINE, "docs/memory-layout.md");

#endif
