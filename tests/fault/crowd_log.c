/*
 * crowd_log.c - checks the log of a job whose controller has ended or was killed
 *
 * The log can be opened, which completes it, and its books balance. If it does not wrap, each segment has the number of
 * events lost before it: up to the end of a segment no more events are missing than were reported as lost.
 *
 * SPDX-License-Identifier: MIT
 */
#include "crowd.h"

/* The contents of a log's frames (docs/log-format.md). */
struct log_frames {
	int fd;
	off_t at;                /* position of the next frame */
	uint64_t mark;           /* the mark of this log */
	uint64_t events, lost;   /* up to the end of the current segment */
	uint64_t segments;
	struct log_index index;
};


const char *log_path(const struct job *j)
{
	static char path[40];

	snprintf(path, sizeof path, "/dev/shm/crowd-log-%d", (int)(j - shared->job));
	return path;
}

static bool log_frame(struct log_frames *l, unsigned char frame[64])
{
	static const unsigned char magic[4] = { 'P', 'T', 'L', 'F' };
	uint64_t mark;

	if (pread(l->fd, frame, 64, l->at) != 64 || memcmp(frame, magic, 4) != 0)
		return false;
	memcpy(&mark, frame + 8, 8);
	l->mark = l->mark ? l->mark : mark;
	return mark == l->mark;
}

/* Moves to the end of the next segment of a log that does not wrap. Returns false if there is none. */
static bool log_next_segment(struct log_frames *l)
{
	unsigned char frame[64];
	uint16_t kind;
	uint32_t size, events, lost;

	while (log_frame(l, frame)) {
		memcpy(&kind, frame + 4, 2);
		memcpy(&size, frame + 24, 4);
		l->at += 64 + ((size + 7) & ~7u);
		if (kind != 5)
			continue;
		memcpy(&events, frame + 48, 4);
		memcpy(&lost, frame + 52, 4);
		l->events += events;
		l->lost += lost;
		l->segments++;
		return true;
	}
	return false;
}

/* Returns the id of the crowd's event type, or 0 if it is not in the log. */
static trace_event_id_t log_number_id(trace_id_t trid)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;
	int unavailable = 0;

	while (posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable) == 0 && !unavailable)
		if (posix_trace_eventid_get_name(trid, id, name) == 0 && strcmp(name, "crowd") == 0)
			return id;
	return 0;
}

static void log_read(struct books *b, struct log_frames *l, bool segments)
{
	struct posix_trace_event_info e;
	struct number n;
	size_t length;
	int unavailable = 0, error;

	while (b->failures < 5) {
		memset(&n, 0, 16);
		error = posix_trace_getnext_event(b->trid, &e, &n, sizeof n, &length, &unavailable);
		if (error)
			BOOKS_FAIL(b, "getnext: %s", strerror(error));
		if (error || unavailable)
			break;
		while (segments && b->reports == l->events && log_next_segment(l))
			;
		books_event(b, &e, &n, length);
		if (segments && b->gaps > l->lost && !b->subject->doubtful)
			BOOKS_FAIL(b, "in segment %llu %llu are missing so far, but %llu lost",
			           (unsigned long long)l->segments, (unsigned long long)b->gaps,
			           (unsigned long long)l->lost);
	}
	if (segments && !b->failures)
		while (log_next_segment(l))
			;
	if (segments && l->events != b->reports && !b->failures)
		BOOKS_FAIL(b, "%llu events in segments, %llu read", (unsigned long long)l->events,
		           (unsigned long long)b->reports);
}

static void log_check_open(const struct job *j, struct books *b, struct log_frames *l)
{
	struct subject *s = b->subject;
	struct posix_trace_status_info status;
	bool wraps = j->log_policy == POSIX_TRACE_LOOP;

	if (!log_index_read(l->fd, &l->index)) {
		BOOKS_FAIL(b, "it is not complete");
		return;
	}
	b->wraps = wraps;
	b->id = log_number_id(b->trid);
	log_read(b, l, !wraps);
	if (j->phase < LOG_ENDED)
		sources_note(b->family, BEGUN, s->end);
	if (posix_trace_get_status(b->trid, &status) != 0 || status.__posix_lost_events != l->index.lost)
		BOOKS_FAIL(b, "the status does not say that %llu are lost", (unsigned long long)l->index.lost);
	if (l->index.written != b->reports + (wraps ? l->index.discarded : 0))
		BOOKS_FAIL(b, "%llu were written, %llu discarded, %llu are there", (unsigned long long)l->index.written,
		           (unsigned long long)l->index.discarded, (unsigned long long)b->reports);
	if (!wraps && l->lost > l->index.lost)
		BOOKS_FAIL(b, "%llu are lost in segments, %llu in all", (unsigned long long)l->lost,
		           (unsigned long long)l->index.lost);
	if (j->log_policy == POSIX_TRACE_APPEND && l->index.discarded)
		BOOKS_FAIL(b, "%llu are discarded", (unsigned long long)l->index.discarded);
	/* The stream may not have started. */
	if (j->phase < LOG_STARTED)
		s->doubtful = true;
	/* Some of the discarded events may be system events. */
	books_balance(b, l->index.lost, l->index.discarded, s->with_system ? l->index.discarded : 0);
}

/* Checks the log of a job whose controller has ended. */
void log_check(struct job *j)
{
	static struct books b;
	struct log_frames l = { 0 };
	trace_id_t trid;
	int error;

	if (j->phase == LOG_NONE)
		return;
	l.fd = open(log_path(j), O_RDONLY | O_CLOEXEC);
	MUST(l.fd >= 0);
	error = posix_trace_open(l.fd, &trid);
	books_begin(&b, &j->log, error ? 0 : trid, true);
	if (error && (j->phase > LOG_CREATING || error != EINVAL))
		BOOKS_FAIL(&b, "open: %s", strerror(error));
	if (!error && j->phase > LOG_CREATING)
		log_check_open(j, &b, &l);
	if (!error && posix_trace_close(trid) != 0)
		BOOKS_FAIL(&b, "close");
	if (b.failures)
		fprintf(stderr,
		        "  log policy %d, %zu bytes, stream policy %d, %zu bytes, phase %d, %s, %s; written %llu, lost "
		        "%llu, discarded %llu\n",
		        j->log_policy, j->log_size, j->stream_policy, j->stream_size, j->phase,
		        j->early ? "early" : "late", j->patient ? "patient" : "not patient",
		        (unsigned long long)l.index.written, (unsigned long long)l.index.lost,
		        (unsigned long long)l.index.discarded);
	shared->total.logs++;
	shared->total.logs_saved += j->phase < LOG_ENDED;
	close(l.fd);
	unlink(log_path(j));
}
