/*
 * logfile.h - a log, as the subcommands read it
 *
 * The log is opened by posix_trace_open() first, which completes the log of a dead creator. Then it is read by the
 * library's internal reader, which is faster and knows thread names. Reading begins with the oldest event.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOGFILE_H
#define LOGFILE_H

#include "event/system_text.h"
#include "log/input.h"

/* Default of `posixtrace record -o` and of the FILE of other subcommands. */
#define LOGFILE_DEFAULT "posixtrace.log"

/* No PROCESS frame has a larger body. A larger one, in a sparse file, would only take time to read. */
#define PROCESS_BODY_MAX (UINT32_C(256) << 10)

/* What the segments hold that were read since logfile_rewind(). */
struct logfile_sum {
	uint64_t expected; /* in.expected when the last segment was counted */
	uint64_t first;    /* number of the first segment; 0: none yet */
	uint64_t readable; /* events in valid segments */
	uint64_t damaged;  /* events in segments that are damaged or cut off, whose frames tell how many */
	bool uncounted;    /* other segments are missing; their events are unknown */
	bool finished;     /* the end was reached */
};

struct logfile {
	const char *path;
	struct input in;
	struct log_event end;      /* event made by logfile_end_gap() */
	unsigned char end_data[16];
	struct logfile_sum sum;    /* of what was read so far */
	struct logfile_sum all;    /* of the last complete reading */
};

/* Opens a log, or ends the program with a message. "-" is standard input. The log may come through a pipe. */
struct logfile *logfile_open(const char *path);
void logfile_close(struct logfile *f);

/* Returns whether an open file begins like a log. Only logs are overwritten: the user may have mistyped the name. */
bool logfile_is_log(int fd);
/* Returns whether both logs are from the same boot of the same machine, so process ids mean the same processes. */
bool logfile_same_machine(const struct log_header *a, const struct log_header *b);

/*
 * Counts the segment that begins with event e, or the end of the log. Returns the event. At the end returns an OVERFLOW
 * if events are missing there, else null: with a struct system_gap as data if they could not be written, without data
 * if the log is damaged.
 */
const struct log_event *logfile_segment_begins(struct logfile *f, const struct log_event *e,
                                               const unsigned char **data);

static inline const struct log_event *logfile_next(struct logfile *f, const unsigned char **data)
{
	const struct log_event *e = input_next(&f->in, data);

	return e && f->in.expected == f->sum.expected && !input_end_gap(&f->in, e) ? e :
	                                                        logfile_segment_begins(f, e, data);
}

/* Returns whether the event is the OVERFLOW at the end, which the log does not contain. */
static inline bool logfile_at_end_gap(const struct logfile *f, const struct log_event *e)
{
	return e == &f->end;
}

void logfile_rewind(struct logfile *f);
/*
 * Returns what the segments of the whole log hold. Reads the log, unless it was read to its end before; reading begins
 * anew then.
 */
const struct logfile_sum *logfile_whole(struct logfile *f);
/* Returns how many events are missing because the log is damaged or cut off. The log has been read to its end. */
uint64_t logfile_damaged(const struct logfile *f, const struct logfile_sum *sum);

/*
 * Returns the number of the event's shape. Events of one shape in one segment differ only in time and data, so a result
 * for one event is valid for all. Returns SHAPES_MAX for an event that represents a damaged part; other shapes are
 * smaller.
 */
static inline unsigned logfile_shape(const struct logfile *f, const struct log_event *e)
{
	size_t n = ((size_t)e - (size_t)f->in.unpack->shape_of) / sizeof(struct unpack_shape);

	return n < SHAPES_MAX ? (unsigned)n : SHAPES_MAX;
}

/* Returns a number that is different for each segment. */
static inline uint64_t logfile_segment(const struct logfile *f)
{
	return f->in.expected;
}

/* Returns the name of an event type, or "?" and the number if the log does not have it. */
const char *logfile_type(const struct logfile *f, uint32_t id);
/* Returns the log's creation time, in ns of CLOCK_REALTIME. */
uint64_t logfile_created(const struct logfile *f);
/* Reads the body of the frame at this offset. Returns false if it has more than size bytes, or is damaged. */
bool logfile_body(const struct logfile *f, const struct frame *frame, uint64_t at, unsigned char *body, size_t size);
/* Calls each for the body of each PROCESS frame (docs/log-format.md), in the order of the file. */
void logfile_processes(struct logfile *f, void (*each)(const unsigned char *body, size_t size, void *arg), void *arg);

#endif
