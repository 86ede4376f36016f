/*
 * recording.c - the recording of one process
 *
 * SPDX-License-Identifier: MIT
 */
#include "recording.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ident.h"
#include "base/ticks.h"
#include "bytes.h"
#include "command.h"
#include "logcopy.h"
#include "model/eventtype.h"
#include "moment.h"
#include "newlog.h"
#include "progress.h"

#define EVENTS_LEAST 16 /* for fewer a file is not worth its header, which may be longer than was asked for */
#define RETRY_NS NS_PER_S /* what could not be kept is not tried more often */

static bool turns(const struct plan *plan)
{
	return plan->loop || plan->rotate;
}

/* -- Beginning --------------------------------------------------------------------------- */

static void say_no_stream(const struct recording *r, const char *path, int error)
{
	char size[16];

	switch (error) {
	case -1:
		return;
	case EPERM:
		complain("%s may not be traced: it is another user's, or hides itself as set-user-ID programs do", r->what);
		return;
	case ESRCH:
		complain("%s: there is no such process", r->what);
		return;
	case EAGAIN:
		complain("%s: no more streams: there are %d on this machine, or no thread can be made; 'posixtrace list' shows streams", r->what,
		         TRACE_SYS_MAX);
		return;
	case ENOMEM:
		complain("%s: no space in /dev/shm for a stream of %s: --stream-size less", r->what, bytes_text(size, r->plan->stream_size));
		return;
	case ENOENT:
		complain("%s: there is no /dev/shm for it", r->what);
		return;
	case EINVAL:
		complain("%s: not a file for this log: --log-policy loop needs a regular one", path);
		return;
	case ENOSPC:
	case EFBIG:
	case EDQUOT:
	case EPIPE:
	case EIO:
		complain("%s: %s", path, strerror(error));
		return;
	default:
		complain("%s cannot be traced: %s; 'posixtrace doctor' may know more", r->what, strerror(error));
	}
}

static bool create_parts(struct recording *r, char *path)
{
	for (unsigned i = 0; i < r->parts; i++) {
		char *own = i == 1 ? newlog_next(path) : path;
		int error = part_create(&r->part[i], r->pid, &r->plan->attr, own);

		if (error) {
			say_no_stream(r, own, error);
			return false;
		}
		part_follow(&r->part[i], r->plan->match);
	}
	return true;
}

bool recording_start(struct recording *r, const struct plan *plan, pid_t pid, const char *what, char *path)
{
	int error;

	r->plan = plan;
	r->pid = pid;
	snprintf(r->what, sizeof r->what, "%s", what);
	r->part[0].fd = r->part[1].fd = -1;
	r->parts = turns(plan) ? 2 : 1;
	/* Before what is in that file is overwritten. */
	error = kill(pid, 0) != 0 && errno == ESRCH ? ESRCH : -proc_permit((uint32_t)pid);
	if (error == ESRCH || error == EPERM) {
		say_no_stream(r, path, error);
		free(path);
		return false;
	}
	if (turns(plan)) {
		if (!newlog_retire(path)) {
			free(path);
			return false;
		}
		newlog_keep(path, plan->keep);
		r->number = newlog_last(path);
	}
	if (create_parts(r, path)) {
		error = posix_trace_start(r->part[0].trid);
		if (error == 0)
			return true;
		say_no_stream(r, path, error);
	}
	recording_cancel(r);
	return false;
}

/* If it has one of its own. */
static void remove_file(const struct part *p)
{
	if (p->fd >= 0 && p->seeks && strcmp(p->path, "-") != 0)
		unlink(p->path);
}

static void remove_part(struct part *p)
{
	remove_file(p);
	part_free(p);
}

void recording_cancel(struct recording *r)
{
	for (unsigned i = 0; i < r->parts; i++)
		remove_part(&r->part[i]);
	r->ended = true;
}

/* -- Keeping what there is, and going on ------------------------------------------------------ */

static void say_kept(const struct recording *r, const struct snapshot *s, const struct logcopy *c)
{
	char before[16], after[16], wanted[16];
	bool short_of = s->at && r->plan->before >= 0 && c->lost && c->first > s->begin;

	if (r->plan->quiet || !r->plan->loop)
		return;
	if (!s->at) {
		progress_say("%s: %" PRIu64 " events%s%s", c->to, c->events, s->why[0] ? ", " : "", s->why);
		return;
	}
	moment_duration(before, s->at - (c->first > s->begin ? c->first : s->begin));
	moment_duration(after, (c->last < s->end ? c->last : s->end) - s->at);
	progress_say("%s: %" PRIu64 " events, from %s before %s to %s after it", c->to, c->events, c->first < s->at ? before : "0 s", s->why,
	             c->last > s->at ? after : "0 s");
	if (short_of)
		progress_say("%s: not %s before it: --loop had no room for more, take a larger one", c->to,
		             moment_duration(wanted, (uint64_t)r->plan->before));
}

/* The part that does not run, into a file; then it is empty. False: not yet. */
static bool keep_part(struct recording *r, struct part *p, const struct snapshot *s)
{
	const char *path = r->part[0].path;
	char *numbered = newlog_numbered(path, r->number + 1), *copy = newlog_copy(path);
	struct logcopy c = { .from = p->fd, .to = numbered, .meanwhile = copy, .trouble = p->path, .begin = s->begin, .end = s->end };
	int error = part_flush(p);

	part_look(p);
	c.lost = p->lost;
	if (error == 0)
		error = logcopy(&c);
	if (error) {
		r->retry = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
		if (error != r->told)
			progress_say("%s: %s: it is tried again, the recording goes on", c.trouble, strerror(error));
		r->told = error;
		/* Somebody else's, put there since: another number, then. */
		if (error == EEXIST && c.trouble == numbered)
			r->number = newlog_last(path);
	} else {
		r->number++;
		r->kept++;
		r->told = 0;
		r->past.events += c.events;
		r->past.bytes += c.bytes;
		r->past.lost += r->plan->loop ? 0 : c.lost;
		say_kept(r, s, &c);
		newlog_keep(path, r->plan->keep);
		part_clear(p);
		p->error = 0;
	}
	free(numbered);
	free(copy);
	return error == 0;
}

static void swap(struct recording *r, const struct snapshot *s)
{
	struct part *old = &r->part[r->now], *next = &r->part[!r->now];
	int error;

	part_follow(next, r->plan->match);
	error = posix_trace_start(next->trid);
	if (error) {
		r->failed = true;
		progress_say("%s: it goes on in the same file: %s", old->path, strerror(error));
		return;
	}
	posix_trace_stop(old->trid);
	r->now = !r->now;
	r->waiting = *s;
	r->waits = !keep_part(r, old, s);
}

/* What could not be kept is tried again; and then what was asked for meanwhile, which the other part has. */
static bool keep_waiting(struct recording *r)
{
	if (r->waits && clock_ns(CLOCK_MONOTONIC) >= r->retry)
		r->waits = !keep_part(r, &r->part[!r->now], &r->waiting);
	if (!r->waits && r->owed) {
		r->owed = false;
		swap(r, &r->owes);
	}
	return !r->waits;
}

/* For a flight recorder, whose part that runs has it still; one of them. */
static void owe(struct recording *r, const struct snapshot *s)
{
	if (!r->plan->loop)
		return;
	if (r->owed) {
		r->failed = true;
		progress_say("%s: no snapshot for %s: those before could not be written yet", r->part[0].path, s->at ? s->why : "a signal");
		return;
	}
	r->owed = true;
	r->owes = *s;
}

void recording_keep(struct recording *r, const struct snapshot *s)
{
	if (r->ended || r->parts < 2)
		return;
	if (keep_waiting(r))
		swap(r, s);
	else
		owe(r, s);
}

/* -- Now and then ---------------------------------------------------------------------------------- */

void recording_follow(struct recording *r)
{
	if (!r->ended)
		part_follow(&r->part[r->now], r->plan->match);
}

void recording_describe(struct recording *r)
{
	for (unsigned i = 0; !r->ended && i < r->parts; i++)
		part_describe(&r->part[i]);
}

void recording_look(struct recording *r)
{
	struct part *p = &r->part[r->now];

	if (r->ended)
		return;
	part_look(p);
	if (p->error && p->error != r->told) {
		char size[16];

		r->told = p->error;
		r->failed = true;
		if (p->seeks)
			progress_say("%s: %s: events wait in memory until they can be written, and are lost when %s of them are there", p->path,
			             strerror(p->error), bytes_text(size, r->plan->stream_size));
		else
			progress_say("%s: %s: what comes now is lost", p->path, strerror(p->error));
	}
	if (p->log_full && !r->full_told && !r->plan->loop) {
		int policy;

		r->full_told = true;
		if (posix_trace_attr_getlogfullpolicy(&r->plan->attr, &policy) == 0 && policy == POSIX_TRACE_UNTIL_FULL)
			progress_say("%s: the log is full; what comes now is not in it", p->path);
	}
	keep_waiting(r);
	if (r->plan->rotate) {
		struct part_numbers n = part_numbers(&r->part[r->now]);

		if (n.bytes >= r->plan->rotate && n.events >= EVENTS_LEAST)
			recording_keep(r, SNAPSHOT_ALL);
	}
}

struct totals recording_totals(const struct recording *r)
{
	struct totals t = r->past;

	for (unsigned i = 0; !r->ended && i < r->parts; i++) {
		struct part_numbers n = part_numbers(&r->part[i]);

		t.events += n.events;
		t.bytes += i == r->now || r->waits ? n.bytes : 0;
		t.lost += r->plan->loop ? 0 : r->part[i].lost;
	}
	return t;
}

/* -- The end ---------------------------------------------------------------------------------------- */

/* What the log has; false: no event that is wanted. */
static bool count(struct recording *r, const struct part *p, struct totals *t, struct part_numbers before)
{
	const struct log_event *e;
	const unsigned char *data;
	struct input *in = calloc(1, sizeof *in);
	bool some = false;

	if (!in || !p->seeks || input_open(in, p->fd) < 0) {
		/* What went into a pipe cannot be read. */
		t->events += before.events;
		t->bytes += before.bytes;
		t->lost += p->lost;
		free(in);
		return true;
	}
	t->events += in->events - (in->discarded < in->events ? in->discarded : in->events);
	t->bytes += in->size;
	/* One that could not be completed does not know what was lost at its end. */
	t->lost += r->plan->loop ? 0 : in->lost > p->lost ? in->lost : p->lost;
	while (!some && (e = input_next(in, &data)) != NULL)
		some = !eventtype_system(e->id) && match_name(r->plan->match, in->name[e->id]);
	input_close(in);
	free(in);
	return some;
}

static void say_end(const struct recording *r, const struct part *p, bool dropped)
{
	const char *path = strcmp(p->path, "-") == 0 ? "standard output" : p->path;
	char size[16];

	if (r->past.lost && !r->failed)
		progress_say("%s: %" PRIu64 " events were lost, because the stream was full: a larger --stream-size, or fewer events by -e", path,
		             r->past.lost);
	else if (r->past.lost)
		progress_say("%s: %" PRIu64 " events were lost, because they could not be written", path, r->past.lost);
	if (r->plan->quiet)
		return;
	if (dropped)
		progress_say("%s: there %s %u snapshot%s", path, r->kept == 1 ? "was" : "were", r->kept, r->kept == 1 ? "" : "s");
	else
		progress_say("%s%s: %" PRIu64 " events, %s", path, r->kept ? " and those with numbers" : "", r->past.events,
		             bytes_text(size, r->past.bytes));
}

static void end_parts(struct recording *r)
{
	for (unsigned i = 0; i < r->parts; i++) {
		struct part *p = &r->part[i];
		int error;

		part_look(p);
		error = part_end(p);
		if (error) {
			r->failed = true;
			progress_say("%s: %s: the end of the recording is not in it", p->path, strerror(error));
		}
	}
}

/* FILE is what was recorded last; of the other part there is nothing left. */
static void settle_files(struct recording *r, bool drop)
{
	const struct part *p = &r->part[r->now], *other = &r->part[!r->now];

	if (drop)
		remove_file(p);
	if (r->parts < 2)
		return;
	if (r->waits) {
		r->failed = true;
		progress_say("%s: this part could not be kept in a file of its own, and is here", other->path);
	} else if (r->now == 1 && !drop) {
		if (rename(p->path, other->path) != 0) {
			r->failed = true;
			progress_say("%s: what was recorded last is here: %s", p->path, strerror(errno));
		}
	} else {
		unlink(other->path);
	}
}

void recording_end(struct recording *r, bool drop)
{
	struct part_numbers before;
	struct part *p;
	bool some = true;

	if (r->ended)
		return;
	if (r->waits)
		r->retry = 0;
	keep_waiting(r);
	p = &r->part[r->now];
	if (!p->seeks)
		part_flush(p);
	before = part_numbers(p);
	explain_stream(&r->evidence, p->trid, r->plan->match);
	if (r->owed)
		progress_say("%s: no snapshot for %s", p->path, r->owes.at ? r->owes.why : "a signal");
	end_parts(r);
	if (!drop)
		some = count(r, p, &r->past, before);
	if (some || r->kept || r->failed)
		say_end(r, &r->part[0], drop);
	else
		explain_say(&r->evidence, r->what, r->plan->children);
	settle_files(r, drop);
	for (unsigned i = 0; i < r->parts; i++)
		part_free(&r->part[i]);
	r->ended = true;
}
