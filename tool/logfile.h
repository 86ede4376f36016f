/*
 * logfile.h - a log, as the subcommands read it
 *
 * Opened by posix_trace_open(), so that what a dead creator left is brought there first, and then read by
 * the library's own reader, which is faster and knows names of threads. Reading
 * begins with the oldest event, and goes once through all.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOGFILE_H
#define LOGFILE_H

#include "log/input.h"

/* What `posixtrace record` writes without -o, and the others read without FILE. */
#define LOGFILE_DEFAULT "posixtrace.log"

struct logfile {
	const char *path;
	struct input in;
};

/* Ends the program with a message if that is no log. "-": standard input, which must be a file. */
struct logfile *logfile_open(const char *path);
void logfile_close(struct logfile *f);

static inline const struct log_event *logfile_next(struct logfile *f, const unsigned char **data)
{
	return input_next(&f->in, data);
}

void logfile_rewind(struct logfile *f);

/*
 * Events of one shape in one segment differ in nothing but time and data, so what was found out about one of
 * them is true of all. Shapes are below SHAPES_MAX; that is what events have which stand for a damaged part.
 */
static inline unsigned logfile_shape(const struct logfile *f, const struct log_event *e)
{
	size_t n = ((size_t)e - (size_t)f->in.unpack->shape_of) / sizeof(struct unpack_shape);

	return n < SHAPES_MAX ? (unsigned)n : SHAPES_MAX;
}

/* Another number for each segment. */
static inline uint64_t logfile_segment(const struct logfile *f)
{
	return f->in.expected;
}

/* The name of an event's type; of one that the log does not know "?" and the number. */
const char *logfile_type(const struct logfile *f, uint32_t id);
/* Its creation, ns of CLOCK_REALTIME. */
uint64_t logfile_created(const struct logfile *f);
/* All bodies of frames PROCESS (docs/log-format.md), in the order of the file. */
void logfile_processes(struct logfile *f, void (*each)(const unsigned char *body, size_t size, void *arg), void *arg);

#endif
