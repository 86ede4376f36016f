/*
 * logfile.c - a log, as the subcommands read it
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/logfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trace.h>
#include <unistd.h>

#include "common/message.h"
#include "log/crc.h"
#include "logs/logpipe.h"

/* Ends the program with a reason: posix_trace_open() only says EINVAL. */
static void refuse(const char *path, int fd, int error) __attribute__((noreturn));
static void refuse(const char *path, int fd, int error)
{
	char magic[sizeof FORMAT_MAGIC] = "";
	struct stat st;

	if (error != EINVAL)
		fail("%s: %s", path, strerror(error));
	if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		fail("%s: neither a regular file nor a pipe", path);
	if (fstat(fd, &st) == 0 && st.st_size == 0)
		fail("%s: the file is empty", path);
	/* The frame of the header comes before its body, which begins with the magic. */
	if (pread(fd, magic, sizeof FORMAT_MAGIC - 1, FRAME_BYTES) != sizeof FORMAT_MAGIC - 1 ||
	    memcmp(magic, FORMAT_MAGIC, sizeof FORMAT_MAGIC - 1) != 0)
		fail("%s: not a posixtrace log", path);
	fail("%s: a log, but its header is damaged, or it is of another version, "
	     "or of a machine with another byte order",
	     path);
}

struct logfile *logfile_open(const char *path)
{
	bool standard = strcmp(path, "-") == 0;
	int fd = logpipe_open(path), error;
	struct logfile *f = malloc(sizeof *f);
	trace_id_t trid;

	if (!f)
		fail("no memory");
	if (standard)
		path = "standard input";
	error = posix_trace_open(fd, &trid);
	if (error)
		refuse(path, fd, error);
	posix_trace_close(trid);
	f->path = path;
	error = -input_open(&f->in, fd);
	if (error)
		refuse(path, fd, error);
	f->all = (struct logfile_sum){ .finished = false };
	logfile_rewind(f);
	return f;
}

void logfile_close(struct logfile *f)
{
	input_close(&f->in);
	close(f->in.fd);
	free(f);
}

/* -- Segments ---------------------------------------------------------------------------------- */

uint64_t logfile_damaged(const struct logfile *f, const struct logfile_sum *sum)
{
	const struct input *in = &f->in;
	uint64_t there = in->events;

	/* Without the creator's last count, the frames tell. */
	if (!in->ended && !in->segments)
		return sum->damaged;
	if (in->header.attr.log_policy == POSIX_TRACE_LOOP)
		there = in->discarded < there ? there - in->discarded : 0;
	return sum->readable < there ? there - sum->readable : 0;
}

/* Counts what is at the end of the log. Returns whether events are missing there because of damage. */
static bool finish(struct logfile *f)
{
	const struct input_hole hole = f->in.hole;
	uint64_t before = f->sum.damaged;
	bool counted = f->in.ended || f->in.segments;

	f->sum.damaged += hole.events;
	f->sum.finished = true;
	f->all = f->sum;
	return hole.known || (!f->sum.uncounted && counted && logfile_damaged(f, &f->sum) > before);
}

static const struct log_event *end_gap(struct logfile *f, const struct log_event *e, const unsigned char **data)
{
	const struct system_gap gap = { f->in.unwritten, !f->in.ended };

	_Static_assert(sizeof gap == sizeof f->end_data, "its data");
	f->end = *e;
	f->end.length = sizeof gap;
	memcpy(f->end_data, &gap, sizeof gap);
	*data = f->end_data;
	return &f->end;
}

const struct log_event *logfile_segment_begins(struct logfile *f, const struct log_event *e,
                                               const unsigned char **data)
{
	const struct input *in = &f->in;
	bool damaged;

	if (f->sum.finished)
		return NULL;
	if (in->expected != f->sum.expected) {
		if (!f->sum.first)
			f->sum.first = in->segment.number;
		f->sum.readable += in->segment.events;
		f->sum.damaged += in->hole.events;
		f->sum.uncounted |= in->hole.missing > in->hole.known;
		f->sum.expected = in->expected;
	}
	if (e && !input_end_gap(in, e))
		return e;
	damaged = finish(f);
	if (e)
		return end_gap(f, e, data);
	if (!damaged)
		return NULL;
	f->end = (struct log_event){ .id = POSIX_TRACE_OVERFLOW,
	                             .time = in->last ? in->last : attr_created(&in->header.attr) };
	*data = NULL;
	return &f->end;
}

void logfile_rewind(struct logfile *f)
{
	input_rewind(&f->in);
	f->sum = (struct logfile_sum){ .expected = f->in.expected };
}

const struct logfile_sum *logfile_whole(struct logfile *f)
{
	const unsigned char *data;

	if (f->all.finished)
		return &f->all;
	logfile_rewind(f);
	/* The first event of a segment is enough: its frame tells how many there are, and its body has been checked. */
	while (logfile_next(f, &data))
		f->in.unpack->at = f->in.unpack->end;
	logfile_rewind(f);
	return &f->all;
}

const char *logfile_type(const struct logfile *f, uint32_t id)
{
	static char unknown[16];

	if (id < EVENT_ID_END && f->in.type[id])
		return f->in.name[id];
	snprintf(unknown, sizeof unknown, "?%u", id);
	return unknown;
}

uint64_t logfile_created(const struct logfile *f)
{
	return attr_created(&f->in.header.attr);
}

bool logfile_body(const struct logfile *f, const struct frame *frame, uint64_t at, unsigned char *body, size_t size)
{
	return frame->size <= size &&
	       pread(f->in.fd, body, frame->size, (off_t)(at + FRAME_BYTES)) == (ssize_t)frame->size &&
	       crc32c(body, frame->size) == frame->body_crc;
}

void logfile_processes(struct logfile *f, void (*each)(const unsigned char *body, size_t size, void *arg), void *arg)
{
	unsigned char *body = malloc(PROCESS_BODY_MAX);
	struct frame frame;
	uint64_t at;

	if (!body)
		fail("no memory");
	for (uint32_t i = 0; input_describing(&f->in, i, &frame, &at); i++)
		if (frame.kind == FRAME_PROCESS && logfile_body(f, &frame, at, body, PROCESS_BODY_MAX))
			each(body, frame.size, arg);
	free(body);
	logfile_rewind(f);
}

bool logfile_is_log(int fd)
{
	char magic[sizeof FORMAT_MAGIC - 1];

	return pread(fd, magic, sizeof magic, FRAME_BYTES) == sizeof magic &&
	       memcmp(magic, FORMAT_MAGIC, sizeof magic) == 0;
}

bool logfile_same_machine(const struct log_header *a, const struct log_header *b)
{
	return memcmp(a->boot, b->boot, sizeof a->boot) == 0 && strcmp(a->host, b->host) == 0;
}
