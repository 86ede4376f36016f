/*
 * recording.c - the recording of one process
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/ticks.h"
#include "common/bytes.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/progress.h"
#include "host/ident.h"
#include "log/output.h"
#include "logs/declared.h"
#include "model/attr.h"
#include "model/eventtype.h"
#include "process/streams.h"
#include "process/typenames.h"
#include "record/logcopy.h"
#include "record/newlog.h"
#include "record/preloadable.h"
#include "shm/stream.h"

#define EVENTS_LEAST 16 /* a smaller part is not worth its header, which may be larger than --rotate */
#define STREAM_MORE (1 << 20) /* upper bound of a stream's size beside its events */
#define RETRY_NS NS_PER_S /* pause after a part could not be written */
/* The beginning of a log in which unwanted events are counted. */
#define UNWANTED_BYTES (UINT64_C(64) << 20)

static bool turns(const struct plan *plan)
{
	return plan->loop || plan->rotate;
}

/* Returns the name of the part's file, for messages. */
static const char *shown_path(const struct part *p)
{
	return strcmp(p->path, "-") == 0 ? "standard output" : p->path;
}

/* -- Beginning --------------------------------------------------------------------------- */

/* Returns whether /dev/shm, which has the stream, cannot have one more file. */
static bool shm_full(void)
{
	struct statvfs fs;

	/* Without a limit of files both numbers are 0. */
	return statvfs("/dev/shm", &fs) == 0 && ((fs.f_files && !fs.f_favail) || (fs.f_blocks && !fs.f_bavail));
}

/* Returns whether the log should be overwritten from its beginning, and is a file in which that is impossible. */
static bool cannot_loop(const struct recording *r, const struct part *p)
{
	int policy;

	return !p->seeks && posix_trace_attr_getlogfullpolicy(&r->plan->attr, &policy) == 0 &&
	       policy == POSIX_TRACE_LOOP;
}

/* Prints that a stream has no space. It takes more than --stream-size: its log's index, and chunks to spare. */
static void say_no_space(const struct recording *r)
{
	const struct attr *a = attr_get_const(&r->plan->attr);
	uint32_t log_bytes = stream_log_bytes(output_capacity(a->log_policy, a->log_size, a->data_size));
	char asked[16], takes[16], free_text[32] = "";
	struct statvfs fs;

	if (statvfs("/dev/shm", &fs) == 0 && fs.f_blocks)
		bytes_text(free_text, (uint64_t)fs.f_bavail * fs.f_frsize);
	complain("%s: no space in /dev/shm for a stream of %s, whose file takes %s%s%s%s: use a smaller --stream-size",
	         r->what, bytes_text(asked, r->plan->stream_size), bytes_text(takes, stream_file_size(a, log_bytes)),
	         *free_text ? ", with " : "", free_text, *free_text ? " free" : "");
}

/* p: the part whose stream or log is missing. */
static void say_no_stream(const struct recording *r, const struct part *p, int error)
{
	const char *path = p->path;
	char size[16], most[16], why[96];
	const char *remedy;
	struct rlimit limit;

	switch (error) {
	case -1:
		return;
	case EPERM:
		explain_permission(r->pid, why, &remedy);
		complain("%s may not be traced: %s: %s", r->what, why, remedy);
		return;
	case ESRCH:
		complain("%s: there is no such process", r->what);
		return;
	case EAGAIN:
		complain("%s: no more streams: its user has the maximum of %d, or no thread can be created; "
		         "'posixtrace list' shows streams",
		         r->what, TRACE_SYS_MAX);
		return;
	case ENOMEM:
		if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
		    limit.rlim_cur / 2 < r->plan->stream_size + STREAM_MORE)
			complain("%s: the limit of file sizes, %s, may be too low for a stream of %s: use ulimit -f "
			         "unlimited, or a smaller --stream-size",
			         r->what, bytes_text(most, limit.rlim_cur), bytes_text(size, r->plan->stream_size));
		else
			say_no_space(r);
		return;
	case EMFILE:
		complain("%s cannot be traced: this process may not open more files: raise ulimit -n", r->what);
		return;
	case ENOENT:
		complain("%s: there is no /dev/shm for its stream", r->what);
		return;
	case EINVAL:
		if (cannot_loop(r, p))
			complain("%s: not a regular file, as --log-policy loop needs", path);
		else
			complain("%s cannot be traced: its files in /dev/shm are damaged, or of another version of "
			         "the library; 'posixtrace doctor -p %d' may tell more", r->what, (int)r->pid);
		return;
	case ENOSPC:
		if (shm_full()) {
			complain("%s: no space for its stream: /dev/shm is full, or has the maximum number of files; "
			         "remove files there, or mount it with a larger size or nr_inodes", r->what);
			return;
		}
		complain("%s: %s", path, strerror(error));
		return;
	case EFBIG:
	case EDQUOT:
	case EPIPE:
	case EIO:
		complain("%s: %s", path, strerror(error));
		return;
	default:
		complain("%s cannot be traced: %s; 'posixtrace doctor' may tell more", r->what, strerror(error));
	}
}

/* Names the stream after the running program, unless a command has given it a name. */
static void name_program(trace_attr_t *attr, pid_t pid)
{
	char name[TRACE_NAME_MAX + 1];

	if (posix_trace_attr_getname(attr, name) == 0 && name[0])
		return;
	process_name((uint32_t)pid, name);
	posix_trace_attr_setname(attr, name);
}

static bool create_parts(struct recording *r, char *path)
{
	trace_attr_t attr = r->plan->attr;
	/* Not 0, and most likely different from the numbers of other recordings. */
	uint32_t number = r->parts > 1 ? (uint32_t)clock_ns(CLOCK_MONOTONIC) | 1 : 0;

	name_program(&attr, r->pid);
	for (unsigned i = 0; i < r->parts; i++) {
		char *own = i == 1 ? newlog_next(path) : path;
		int error = part_create(&r->part[i], r->pid, &attr, number, own);

		if (error) {
			say_no_stream(r, &r->part[i], error);
			return false;
		}
		error = part_labels(&r->part[i], r->plan->label, r->plan->labels);
		if (error) {
			complain("%s: %s", r->part[i].path, strerror(error));
			return false;
		}
		if (r->plan->where) {
			r->selection[i] = selection_new(r->plan->where, r->plan->match);
			part_filter(&r->part[i], selection_filter(r->selection[i]));
		}
		part_follow(&r->part[i], r->plan->match);
	}
	return true;
}

/* Begins to record the kernel's events, if this user can have any. Returns false if the recording cannot go on. */
static bool start_kernel(struct recording *r, bool starts)
{
	if (!r->plan->kernel.groups && !sampling_any(&r->plan->kernel.sampling))
		return true;
	return kernel_start(&r->kernel, &r->plan->kernel, r->pid, starts, r->plan->children, r->part[0].path,
	                    r->part[0].fd);
}

/* Returns false after it has printed why a user that was named cannot be recorded. */
static bool begin_workers(struct recording *r)
{
	struct workers_plan plan = {
		.pid = r->pid, .path = r->part[0].seeks ? r->part[0].path : NULL, .what = r->what,
		.attr = r->plan->attr, .part = r->part, .parts = r->parts, .match = r->plan->match,
		.where = r->plan->where, .user = r->plan->user, .users = r->plan->users, .quiet = r->plan->quiet,
	};

	if (!r->plan->children)
		return true;
	name_program(&plan.attr, r->pid);
	r->workers = workers_begin(&plan, &r->kin);
	return !r->workers || workers_begun(r->workers);
}

bool recording_start(struct recording *r, const struct plan *plan, pid_t pid, const char *what, char *path,
                     bool starts)
{
	int error;

	r->plan = plan;
	r->pid = pid;
	kin_begin(&r->kin, pid);
	snprintf(r->what, sizeof r->what, "%s", what);
	r->part[0].fd = r->part[1].fd = -1;
	r->parts = turns(plan) ? 2 : 1;
	explain_user(&r->evidence, pid);
	/* Check the process before the file is overwritten. */
	error = kill(pid, 0) != 0 && errno == ESRCH ? ESRCH : -proc_permit((uint32_t)pid);
	if (error == ESRCH || error == EPERM) {
		say_no_stream(r, &r->part[0], error);
		free(path);
		return false;
	}
	if (turns(plan)) {
		unsigned last = newlog_last(path);

		if (!newlog_retire(path)) {
			free(path);
			return false;
		}
		r->number = newlog_last(path);
		r->retired = r->number > last ? r->number : 0;
	}
	if (create_parts(r, path)) {
		/* First the workers' streams, so that the process does not fork one between the two. */
		error = begin_workers(r) ? posix_trace_start(r->part[0].trid) : -1;
		if (error == 0)
			error = start_kernel(r, starts) ? 0 : -1;
		if (error == 0)
			return true;
		say_no_stream(r, &r->part[0], error);
	}
	recording_cancel(r);
	return false;
}

bool recording_probe(struct recording *r, const char *program)
{
	const struct part *p = &r->part[0];

	if (!r->plan->usdt.count)
		return true;
	if (!p->seeks) {
		complain("%s: not a regular file, as --usdt needs: its events are added at the end", p->path);
		return false;
	}
	r->probes = probes_start(&r->plan->usdt, r->pid, program, p->path, p->fd);
	return r->probes != NULL;
}

/* Removes the part's file if it is a regular file. */
static void remove_file(const struct part *p)
{
	if (p->fd >= 0 && p->seeks && p->path && strcmp(p->path, "-") != 0)
		newlog_remove(p->path, p->fd);
}

/* Gives the log that was FILE its name back, because this recording has no event; p: the part with the empty log. */
static void unretire(struct recording *r, const struct part *p)
{
	char *numbered;

	if (!r->retired)
		return;
	numbered = newlog_numbered(r->part[0].path, r->retired);
	remove_file(p);
	if (newlog_rename(numbered, r->part[0].path) == 0)
		progress_say("%s is the previous log, unchanged", r->part[0].path);
	else
		progress_say("%s is the previous log, unchanged: it could not get its name back", numbered);
	free(numbered);
}

static void remove_part(struct part *p)
{
	if (p->kept)
		newlog_settle(p->path, p->fd, true);
	else
		remove_file(p);
	part_free(p);
}

void recording_cancel(struct recording *r)
{
	workers_end(r->workers, &r->part[0], true);
	workers_free(r->workers);
	r->workers = NULL;
	probes_free(r->probes, false);
	r->probes = NULL;
	if (r->part[0].path)
		unretire(r, &r->part[0]);
	if (r->kernel)
		beside_close(kernel_stop(r->kernel, true), true);
	r->kernel = NULL;
	for (unsigned i = 0; i < r->parts; i++)
		remove_part(&r->part[i]);
	r->ended = true;
}

/* -- Writing a part, and going on -------------------------------------------------------------- */

static void say_kept(const struct recording *r, const struct snapshot *s, const struct logcopy *c, const char *to)
{
	char before[16], after[16], wanted[16];
	bool short_of = s->at && r->plan->before >= 0 && c->lost && c->first > s->begin;

	if (r->plan->quiet || !r->plan->loop)
		return;
	if (!s->at) {
		progress_say("%s: %" PRIu64 " events%s%s", to, c->events, s->why[0] ? ", " : "", s->why);
		return;
	}
	moment_duration(before, s->at - (c->first > s->begin ? c->first : s->begin));
	moment_duration(after, (c->last < s->end ? c->last : s->end) - s->at);
	progress_say("%s: %" PRIu64 " events, from %s before %s to %s after it", to, c->events,
	             c->first < s->at ? before : "0 s", s->why, c->last > s->at ? after : "0 s");
	if (short_of)
		progress_say("%s: less than %s before it: use a larger --loop", to,
		             moment_duration(wanted, (uint64_t)r->plan->before));
}

/*
 * Copies a log into the next FILE.N, or a later one if there are files with these names. *to: its path, to be freed by
 * the caller. Returns 0 or an error number.
 */
static int copy_log(struct recording *r, struct logcopy *c, char **to)
{
	const char *path = r->part[0].path;
	char *copy = newlog_copy(path);
	int error;

	c->copy = copy;
	c->path = path;
	c->number = r->number + 1;
	error = logcopy(c);
	free(copy);
	*to = newlog_numbered(path, c->number);
	if (error == 0)
		r->number = c->number;
	return error;
}

/* Adds the events of processes that have become other users to a new FILE.N, `to`. */
static void keep_workers(struct recording *r, struct logcopy *c, const char *to, const struct snapshot *s)
{
	struct workers_kept k = { .path = to, .fd = c->made, .begin = s->begin, .end = s->end, .bytes = c->bytes };

	if (!workers_keep(r->workers, &k))
		r->failed = true;
	c->events += k.events;
	c->bytes = k.bytes;
	close(c->made);
	c->made = -1;
}

/* Writes the suspended part to a file and clears it. Returns false if the file could not be written yet. */
static bool keep_part(struct recording *r, struct part *p, const struct snapshot *s)
{
	struct logcopy c = { .from = p->fd, .begin = s->begin, .end = s->end };
	int error = part_flush(p);
	char *to = NULL;

	part_look(p);
	c.lost = p->lost;
	c.left_out = part_numbers(p).left_out;
	if (error == 0)
		error = copy_log(r, &c, &to);
	if (error) {
		r->retry = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
		if (error != r->reported)
			progress_say("%s: %s: will be tried again; the recording continues", to ? to : p->path,
			             strerror(error));
		r->reported = error;
	} else {
		r->kept++;
		r->reported = 0;
		keep_workers(r, &c, to, s);
		r->past.events += c.events;
		r->past.bytes += c.bytes;
		r->past.lost += r->plan->loop ? 0 : c.lost;
		r->past.left_out += c.left_out;
		say_kept(r, s, &c, to);
		newlog_keep(r->part[0].path, r->plan->keep);
		part_clear(p);
		p->error = 0;
	}
	free(to);
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
		progress_say("%s: continues in the same file: %s", old->path, strerror(error));
		return;
	}
	part_stop(old);
	r->now = !r->now;
	r->waiting = *s;
	r->waits = !keep_part(r, old, s);
}

/*
 * Tries again to write the waiting part, and then a snapshot that was asked for meanwhile, whose events are in the
 * other part. Returns whether no part is waiting any more.
 */
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

/*
 * Remembers a snapshot for later: the running part of a flight recorder still has its events. Only one can be
 * remembered.
 */
static void owe(struct recording *r, const struct snapshot *s)
{
	if (!r->plan->loop)
		return;
	if (r->owed) {
		r->failed = true;
		progress_say("%s: no snapshot for %s: the previous ones could not be written yet", r->part[0].path,
		             s->at ? s->why : "a signal");
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
	if (r->ended)
		return;
	part_follow(&r->part[r->now], r->plan->match);
	workers_follow(r->workers);
}

int64_t recording_look_for_workers(struct recording *r, int64_t now)
{
	return r->ended ? INT64_MAX : workers_look(r->workers, now);
}

void recording_changes(struct recording *r, const struct changes *c)
{
	if (!r->ended)
		workers_changed(r->workers, c->pid, c->count, c->more);
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
	if (p->error && p->error != r->reported) {
		char size[16];

		r->reported = p->error;
		r->trouble = true;
		if (p->seeks)
			progress_say("%s: %s: events wait in memory until they can be written, "
			             "and are lost when %s of them are there",
			             p->path, strerror(p->error), bytes_text(size, r->plan->stream_size));
		else
			progress_say("%s: %s: events are lost from now on", p->path, strerror(p->error));
	}
	if (p->log_full && !r->full_reported && !r->plan->loop) {
		int policy;

		r->full_reported = true;
		if (posix_trace_attr_getlogfullpolicy(&r->plan->attr, &policy) == 0 && policy == POSIX_TRACE_UNTIL_FULL)
			progress_say("%s: the log is full; further events are not in it", p->path);
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

		t.events += n.users;
		t.bytes += i == r->now || r->waits ? n.bytes : 0;
		t.lost += r->plan->loop ? 0 : r->part[i].lost;
	}
	if (!r->ended) {
		struct workers_totals w = workers_totals(r->workers);

		t.events += w.events;
		t.bytes += w.bytes;
		t.lost += r->plan->loop ? 0 : w.lost;
	}
	return t;
}

/* -- The end ---------------------------------------------------------------------------------------- */

/*
 * Adds the log's numbers to t; events are those of programs, as `report` counts them. Returns whether the log has an
 * event that is wanted.
 */
static bool count(struct recording *r, const struct part *p, struct totals *t, struct part_numbers before)
{
	const struct log_event *e = NULL;
	const unsigned char *data;
	struct input *in = calloc(1, sizeof *in);
	int policy = POSIX_TRACE_APPEND;
	bool some = false, all, filtered = !match_all_user(r->plan->match);

	posix_trace_attr_getlogfullpolicy(&r->plan->attr, &policy);
	t->left_out += p->sum.left_out;
	/* The number of program events in a log that loops is only known by reading it. */
	all = policy == POSIX_TRACE_LOOP;
	if (!in || !p->seeks || input_open(in, p->fd) < 0) {
		/* A pipe cannot be read again. */
		t->events += p->sum.users;
		t->bytes += before.bytes;
		t->lost += r->plan->loop ? 0 : p->sum.lost;
		free(in);
		return true;
	}
	t->events += all ? 0 : p->sum.users;
	t->bytes += in->size;
	/* The index of a log that could not be completed lacks the events lost at its end. */
	t->lost += r->plan->loop ? 0 : in->lost > p->sum.lost ? in->lost : p->sum.lost;
	while ((all || !some || (filtered && in->position.at < UNWANTED_BYTES)) &&
	       (e = input_next(in, &data)) != NULL) {
		bool user = !eventtype_system(e->id), wanted = match_name(r->plan->match, in->name[e->id]);

		t->events += all && user;
		/* This event only tells that functions were looked for. */
		if (user && strcmp(in->name[e->id], "functions.recorded") == 0)
			r->functions = true;
		else
			some = some || (user && wanted);
		r->unwanted += user && !wanted;
	}
	r->unwanted_more = e != NULL;
	input_close(in);
	free(in);
	return some;
}

static void say_end(const struct recording *r, const struct part *p, bool dropped)
{
	const char *path = shown_path(p);
	uint64_t lost = r->past.lost - (r->past.lost < r->kernel_lost ? r->past.lost : r->kernel_lost);
	char size[16];

	if (lost && !r->trouble)
		progress_say("%s: %" PRIu64 " events were lost, because the stream was full: use a larger "
		                            "--stream-size, or fewer events by -e",
		             path, lost);
	else if (lost)
		progress_say("%s: %" PRIu64 " events were lost, because the stream was full "
		                            "while nothing could be written",
		             path, lost);
	if (r->past.lost && r->past.unwritten)
		progress_say("%s: %" PRIu64 " events are missing in total", path, r->past.lost + r->past.unwritten);
	if (r->plan->quiet)
		return;
	if (dropped)
		progress_say("%s: there %s %u snapshot%s", path, r->kept == 1 ? "was" : "were", r->kept,
		             r->kept == 1 ? "" : "s");
	else
		progress_say("%s%s: %" PRIu64 " event%s, %s%s", path, r->kept ? " and those with numbers" : "",
		             r->past.events, r->past.events == 1 ? "" : "s",
		             bytes_text(size, r->past.bytes), r->past.unwritten ? ", incomplete" : "");
}

/* Returns the number of events whose types have no name. Reads the whole log, which may take long. */
static uint64_t count_unnamed(const struct part *p)
{
	struct input *in = calloc(1, sizeof *in);
	const struct log_event *e;
	const unsigned char *data;
	uint64_t count = 0;

	if (in && p->seeks && input_open(in, p->fd) == 0) {
		while ((e = input_next(in, &data)) != NULL)
			count += e->id >= EVENT_ID_USER && !in->type[e->id];
		input_close(in);
	}
	free(in);
	return count;
}

/*
 * Reports event types without names. Another controller of the same processes may remove the shared memory with the
 * names when these processes have ended.
 */
static void say_unnamed(const struct part *p)
{
	const char *path = shown_path(p);
	char events[48] = "the events";
	uint64_t count;

	if (!p->sum.unnamed)
		return;
	count = count_unnamed(p);
	if (count)
		snprintf(events, sizeof events, "%" PRIu64 " event%s", count, count == 1 ? "" : "s");
	progress_say("%s: %s of %" PRIu32 " type%s %s no name: a process that had become another user opened %s, and "
	                                  "ended before the name%s could be read",
	             path, events, p->sum.unnamed, p->sum.unnamed == 1 ? "" : "s", count == 1 ? "has" : "have",
	             p->sum.unnamed == 1 ? "it" : "them", p->sum.unnamed == 1 ? "" : "s");
}

/* Prints how many events --where did not select, and what is wrong with it. some: others are in the log. */
static void say_left_out(struct recording *r, const char *path, bool some)
{
	uint64_t count = r->past.left_out;
	const char *head = some ? path : "no events were recorded";

	if (count && (!r->plan->quiet || !some))
		progress_say("%s: %" PRIu64 " event%s did not match --where%s", head, count, count == 1 ? "" : "s",
		             match_all_user(r->plan->match) ? "" : " or -e");
	if (r->plan->where)
		selection_say(r->selection[r->now], r->what);
}

/* Prints how many events are in the log although -e does not select them. */
static void say_unwanted(const struct recording *r, const struct part *p)
{
	if (r->unwanted && !r->kept && !r->plan->quiet)
		progress_say("%s: %s%" PRIu64 " event%s of other types %s recorded before %s could be filtered out",
		             shown_path(p), r->unwanted_more ? "at least " : "", r->unwanted,
		             r->unwanted == 1 ? "" : "s", r->unwanted == 1 ? "was" : "were",
		             r->unwanted == 1 ? "it" : "they");
}

/* Prints the descendants that still run, but are not recorded any more. */
static void say_kin(const struct recording *r)
{
	char some[KIN_SHOWN * 12 + 8] = "";

	if (!r->kin.alive || r->plan->quiet)
		return;
	for (unsigned i = 0; i < r->kin.alive && i < KIN_SHOWN; i++)
		sprintf(some + strlen(some), "%s%u", i > 0 ? ", " : "", r->kin.shown[i]);
	progress_say("%s has started %s that still run%s (%s%s)%s", r->what,
	             r->kin.alive == 1 ? "a process" : "processes",
	             r->kin.alive == 1 ? "s" : "", some, r->kin.alive > KIN_SHOWN ? ", ..." : "",
	             r->plan->family ? "" : "; --family records until the last of them ends");
}

/*
 * Prints how many events could not be written. The number is exact, even if the log could not be marked as incomplete.
 */
static void say_missing(struct recording *r, const struct part *p, int error)
{
	const char *path = shown_path(p);
	const char *why = strerror(error ? error : (int)p->sum.flush_error);

	r->failed = true;
	r->past.unwritten += p->sum.unwritten;
	if (p->sum.unwritten)
		progress_say("%s: %s: %" PRIu64 " event%s could not be written; the log is incomplete", path, why,
		             p->sum.unwritten, p->sum.unwritten == 1 ? "" : "s");
	else
		progress_say("%s: %s: complete, but it could not be closed", path, why);
}

static void end_parts(struct recording *r, bool drop)
{
	/* End the suspended part first. */
	for (unsigned n = 0; n < r->parts; n++) {
		unsigned i = n + 1 == r->parts ? r->now : !r->now;
		struct part *p = &r->part[i];
		int error;

		part_look(p);
		error = part_end(p);
		if (p->error || error)
			r->trouble = true;
		/*
		 * The suspended part has no events, unless it could not be written. If the part is dropped, nothing is
		 * missing.
		 */
		if (i != r->now && !r->waits)
			part_lost(&r->part[r->now], r->plan->loop ? 0 : p->sum.lost);
		if (i == r->now ? drop : !r->waits)
			continue;
		if (error || p->sum.unwritten)
			say_missing(r, p, error);
	}
}

/* Merges the log of the kernel's events into FILE. Returns whether there are any. */
static bool merge_kernel(struct recording *r, struct part *p, struct beside *b)
{
	bool some;
	int error;

	if (!b)
		return false;
	some = beside_events(b) > 0;
	r->kernel_lost = beside_lost_events(b);
	if (beside_unwritten(b, &error)) {
		progress_say("%s: %s: %" PRIu64 " events of the kernel could not be written", beside_path(b),
		             strerror(error), beside_unwritten(b, &error));
		r->past.unwritten += beside_unwritten(b, &error);
		r->failed = true;
	}
	error = beside_merge(b, p->path, &p->fd, &p->sum);
	if (error) {
		progress_say("%s has the kernel's events, because they could not be merged into %s: %s; "
		             "give both files to a command", beside_path(b), shown_path(p), strerror(error));
		r->failed = true;
	}
	beside_close(b, error == 0);
	return some;
}

/* Leaves the last part in FILE, and removes the other part's file. */
static void settle_files(struct recording *r, bool drop, bool some)
{
	const struct part *p = &r->part[r->now], *other = &r->part[!r->now];

	if (p->kept) {
		bool settled = newlog_settle(p->path, p->fd, !some);

		if (!some && settled)
			progress_say("%s is the previous log, unchanged", p->path);
		else if (!some)
			progress_say("%s.old is the previous log, unchanged: it could not get its name back", p->path);
	} else if (drop) {
		remove_file(p);
	}
	if (r->parts < 2)
		return;
	if (r->now == 0 && !r->kept && !r->waits && (drop || !some)) {
		newlog_remove(other->path, other->fd);
		unretire(r, p);
		return;
	}
	newlog_keep(r->part[0].path, r->plan->keep);
	if (r->waits) {
		progress_say("%s: this part could not be kept in a file of its own, and is here", other->path);
	} else if (r->now == 1 && !drop) {
		int error = newlog_rename(p->path, other->path);

		if (error) {
			r->failed = true;
			progress_say("%s has the last part of the recording: %s", p->path, strerror(error));
		}
	} else {
		newlog_remove(other->path, other->fd);
	}
}

/* Merges the events of --usdt into the log, which is complete. Their losses are not those of the stream. */
static struct merged end_probes(struct recording *r, struct part *p)
{
	struct merged m = { 0 };

	if (!r->probes)
		return m;
	if (!probes_merge(r->probes, p->path, p->fd, &m))
		r->failed = true;
	probes_free(r->probes, r->failed);
	r->probes = NULL;
	p->sum.users += m.events;
	return m;
}

void recording_end(struct recording *r, bool drop)
{
	struct merged merged;
	struct part_numbers before;
	struct beside *b = r->kernel ? kernel_stop(r->kernel, r->plan->quiet) : NULL;
	struct part *p;
	bool some = true, waiting = false, kernel;

	r->kernel = NULL;
	if (r->ended)
		return;
	if (r->plan->children)
		kin_look(&r->kin);
	if (r->waits)
		r->retry = 0;
	keep_waiting(r);
	p = &r->part[r->now];
	if (!p->seeks)
		part_flush(p);
	before = part_numbers(p);
	explain_user(&r->evidence, r->pid);
	explain_stream(&r->evidence, p->trid, r->plan->match);
	stream_say_wrong(p->trid, r->plan->match, r->what);
	if (r->owed)
		progress_say("%s: no snapshot for %s", p->path, r->owes.at ? r->owes.why : "a signal");
	if (r->plan->trigger && !r->kept)
		explain_names(p->trid, r->what, r->plan->trigger, "--trigger");
	/* Beforehand: the stream's end takes time. */
	if (r->probes)
		probes_stop(r->probes);
	end_parts(r, drop);
	kernel = merge_kernel(r, p, b);
	if (!workers_end(r->workers, p, drop))
		r->failed = true;
	merged = end_probes(r, p);
	if (!drop)
		some = count(r, p, &r->past, before) || kernel;
	r->past.lost -= merged.lost < r->past.lost ? merged.lost : r->past.lost;
	if (!drop)
		say_unnamed(p);
	if (r->waits) {
		waiting = count(r, &r->part[!r->now], &r->past, (struct part_numbers){ 0 });
		r->failed = true;
	}
	/* The stream was full because it could not be written. Without lost events that is no failure. */
	if (r->trouble && r->past.lost)
		r->failed = true;
	if (some || waiting || r->kept || r->failed) {
		say_end(r, &r->part[0], drop);
		workers_say(r->workers, shown_path(&r->part[0]));
		explain_killed(&r->evidence, r->what);
		say_left_out(r, shown_path(&r->part[0]), true);
	} else if (r->past.left_out) {
		say_left_out(r, shown_path(&r->part[0]), false);
	} else if (r->functions) {
		preloadable_no_functions(r->what, r->plan->functions);
	} else {
		explain_say(&r->evidence, r->what, r->plan->match, r->plan->children, r->kin.alive);
	}
	say_unwanted(r, p);
	say_kin(r);
	settle_files(r, drop, some);
	for (unsigned i = 0; i < r->parts; i++)
		part_free(&r->part[i]);
	workers_free(r->workers);
	r->workers = NULL;
	r->ended = true;
}
