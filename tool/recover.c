/*
 * recover.c - posixtrace recover: what the dead left behind
 *
 * What posix_trace_create() does in passing, and posix_trace_open() for one log: here it is said what was done, and
 * what could not be. With the library's own locks, so two at once do no harm.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/sys.h"
#include "command.h"
#include "control/recover.h"
#include "control/save.h"
#include "log/input.h"
#include "out.h"
#include "shm/registry.h"
#include "shm/stream.h"
#include "streams.h"

/* How long to wait for another who is at the same stream. */
#define WAIT_MS 10000

struct recover {
	bool dry;
	bool discard;
	struct ident self;
	unsigned done;   /* lines that say that something was there */
	unsigned failed; /* what could not be finished */
};

/* -- A log --------------------------------------------------------------------------------------------- */

/* Events that are in it, and whether it is complete. False: it cannot be read. */
static bool look_into(const char *path, bool *complete, uint64_t *events, struct log_header *header)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;
	struct input *in;

	if (fd < 0)
		return false;
	in = malloc(sizeof *in);
	if (!in)
		fail("no memory");
	r = input_open(in, fd);
	if (r == 0) {
		*complete = in->complete;
		/* The index of a LOOP log counts those too that were overwritten. */
		*events = in->events;
		if (in->header.attr.log_policy == POSIX_TRACE_LOOP && in->discarded <= in->events)
			*events -= in->discarded;
		if (header)
			*header = in->header;
		input_close(in);
	}
	close(fd);
	free(in);
	errno = -r;
	return r == 0;
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* -- Streams -------------------------------------------------------------------------------------------- */

/* "stream flight of process 4712, which traced 4713" */
static void name_stream(const struct seen_stream *s)
{
	out_text("stream ");
	if (s->header.name[0]) {
		out_foreign(s->header.name, strlen(s->header.name), 0);
		out_char(' ');
	}
	out_printf("of process %u", s->entry.creator.pid);
	if (s->header.target_pid != s->entry.creator.pid && s->header.target_pid)
		out_printf(", which traced %u", s->header.target_pid);
}

static bool give_up(int fd, void *arg)
{
	return true;
}

/* True: its file is gone, so what it had is in its log, or nowhere. */
static bool bury(struct recover *r, const struct streams *all, const struct seen_stream *s)
{
	struct save save = { all->dir, &all->place, r->self.space, NULL };

	for (int i = 0; i < WAIT_MS; i++) {
		if (stream_bury(all->dir, &all->place, r->self.space, &s->entry, r->discard ? give_up : save_stream, &save) ||
		    !file_removing(all->dir, s->file))
			break;
		sys_sleep_ns(1000000);
	}
	return faccessat(all->dir, s->file, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

/* Why the log was not finished. */
static void say_why(const struct seen_stream *s)
{
	struct statvfs fs;
	int there = streams_log_there(s), fd;

	if (there == -ENOENT) {
		out_text("there is no such file any more; if it was moved: posixtrace recover FILE; "
		         "if it was removed: posixtrace recover --discard");
		return;
	}
	fd = there == 0 ? open(s->log, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) : -1;
	if (fd < 0)
		out_text(strerror(there < 0 ? -there : errno));
	else if (fstatvfs(fd, &fs) == 0 && fs.f_bavail < 256)
		out_text("its file system is full");
	else
		out_text("it cannot be written, or its file was closed to writing by a limit of its size (ulimit -f)");
	if (fd >= 0)
		close(fd);
}

static void cannot(struct recover *r, const struct seen_stream *s)
{
	r->failed++;
	out_text("cannot finish ");
	out_foreign(s->log, strlen(s->log), 0);
	out_printf(", %" PRIu64 " event%s of ", s->unread + s->mark.events, plural(s->unread + s->mark.events));
	name_stream(s);
	out_text(": ");
	say_why(s);
	out_char('\n');
}

static void finished(const struct seen_stream *s)
{
	uint64_t events;
	bool complete;

	if (s->trouble || !s->header.log_state) {
		out_text("removed ");
		name_stream(s);
		if (s->trouble)
			out_text(": damaged");
		else
			out_printf(": without a log, %" PRIu64 " event%s that nobody had read", s->unread, plural(s->unread));
	} else if (!s->log[0]) {
		out_text("removed ");
		name_stream(s);
		out_text(": its log was a pipe");
	} else if (streams_log_there(s) == 0 && look_into(s->log, &complete, &events, NULL) && complete) {
		out_text("finished ");
		out_foreign(s->log, strlen(s->log), 0);
		out_printf(": %" PRIu64 " event%s, by ", events, plural(events));
		name_stream(s);
	} else {
		out_text("removed ");
		name_stream(s);
		out_text(": nothing of it belongs to ");
		out_foreign(s->log, strlen(s->log), 0);
		out_text(" any more");
	}
	out_char('\n');
}

static void discarded(const struct seen_stream *s)
{
	out_text("discarded ");
	name_stream(s);
	out_printf(": %" PRIu64 " event%s for ", s->unread + s->mark.events, plural(s->unread + s->mark.events));
	out_foreign(s->log, strlen(s->log), 0);
	out_char('\n');
}

/* What would be done. */
static void plan(struct recover *r, const struct seen_stream *s)
{
	bool log = !s->trouble && s->header.log_state && s->log[0];

	if (log && streams_log_there(s) < 0 && !r->discard) {
		cannot(r, s);
		return;
	}
	out_text(!log ? "would remove " : streams_log_there(s) < 0 ? "would discard " : "would finish ");
	if (log) {
		out_foreign(s->log, strlen(s->log), 0);
		out_text(", by ");
	}
	name_stream(s);
	out_char('\n');
}

static void recover_one(struct recover *r, const struct streams *all, const struct seen_stream *s)
{
	/* --discard is for logs that are gone, not for those that can be finished. */
	bool discard = r->discard;

	r->done++;
	if (s->trouble == STREAM_VERSION) {
		r->failed++;
		out_printf("cannot finish %s: made by another version of the library, whose own command can\n", s->file);
		return;
	}
	if (r->dry) {
		plan(r, s);
		return;
	}
	r->discard = false;
	if (bury(r, all, s)) {
		finished(s);
	} else if (faccessat(all->dir, s->file, F_OK, AT_SYMLINK_NOFOLLOW) == 0 && file_held(all->dir, s->file)) {
		r->done--; /* it lives, after all: another with the same name */
	} else if (discard && streams_log_there(s) == -ENOENT) {
		r->discard = true;
		bury(r, all, s) ? discarded(s) : cannot(r, s);
	} else {
		cannot(r, s);
	}
	r->discard = discard;
}

/* -- Files of processes ------------------------------------------------------------------------------------- */

static void recover_file(struct recover *r, const struct streams *all, const char *file, const char *what, uint32_t pid)
{
	if (r->dry) {
		out_printf("would remove %s of process %u\n", what, pid);
		r->done++;
		return;
	}
	if (strncmp(file, "names-", strlen("names-")) == 0)
		registry_remove_unused(all->dir, &all->place, file);
	else
		file_remove_unused(all->dir, &all->place, file, NULL, NULL);
	/* Names stay as long as there is a stream whose log needs them. */
	if (faccessat(all->dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return;
	out_printf("removed %s of process %u\n", what, pid);
	r->done++;
}

static void recover_all(struct recover *r)
{
	struct place place = place_own();
	struct streams all;
	int error = streams_read(&all, &place);

	if (error < 0 && error != -ENOENT)
		fail("%s: %s", place.path, strerror(-error));
	for (size_t i = 0; i < all.streams; i++)
		if (!all.stream[i].alive)
			recover_one(r, &all, &all.stream[i]);
	for (size_t i = 0; i < all.pages; i++)
		if (!all.page[i].alive)
			recover_file(r, &all, all.page[i].file, "the page", all.page[i].ident.pid);
	for (size_t i = 0; i < all.others; i++)
		if (!all.other[i].alive && strcmp(all.other[i].kind, "names") == 0)
			recover_file(r, &all, all.other[i].file, "the names", all.other[i].ident.pid);
		else if (!all.other[i].alive && strcmp(all.other[i].kind, "new") == 0)
			recover_file(r, &all, all.other[i].file, "an unfinished file", all.other[i].ident.pid);
	streams_free(&all);
	if (r->done == 0)
		out_text("nothing was left behind\n");
}

/* -- One log -------------------------------------------------------------------------------------------------- */

/* Its stream, as this user's directory has it; null: there is none. */
static const struct seen_stream *stream_of(const struct streams *all, const struct log_header *h)
{
	size_t length = strlen(all->place.path);

	for (size_t i = 0; i < all->streams; i++)
		if (strncmp(h->stream, all->place.path, length) == 0 && h->stream[length] == '/' &&
		    strcmp(h->stream + length + 1, all->stream[i].file) == 0)
			return &all->stream[i];
	return NULL;
}

static void say_gone(const char *path, const struct log_header *h, uint64_t events)
{
	struct log_header now;

	header_machine(&now);
	complain("%s: it was not ended, and what its stream had is gone%s; the %" PRIu64 " event%s in it can be read", path,
	         memcmp(h->boot, now.boot, sizeof now.boot) != 0 ? ": the machine has been restarted since, or it is another one's" : "", events,
	         plural(events));
}

static bool same_file(const char *path, const struct seen_stream *s)
{
	struct sys_stat st;

	return sys_stat_path(path, &st) == 0 && sys_is_file(&st, s->log_inode, s->log_device_major, s->log_device_minor);
}

static void say_copy(const char *path, const struct seen_stream *s)
{
	complain("%s: a copy; its stream goes on with the file itself, which was %s", path, s->log);
}

/* True: it is complete, or will be when its creator ends it. */
static bool finish(const struct recover *r, const char *path, const struct log_header *h, const struct seen_stream *s)
{
	uint64_t events;
	bool complete;

	if (s->trouble) {
		complain(s->trouble == STREAM_VERSION ? "%s: its stream was made by another version of the library, whose own command can finish it"
		                                      : "%s: it was not ended, and its stream is damaged; 'posixtrace check' tells what is in it", path);
		return false;
	}
	if (!same_file(path, s)) {
		say_copy(path, s);
		return false;
	}
	if (r->dry) {
		out_text("would finish ");
		out_foreign(path, strlen(path), 0);
		out_text(", by ");
		name_stream(s);
		out_char('\n');
		return true;
	}
	recover_stream(h->stream, path);
	if (!look_into(path, &complete, &events, NULL) || !complete) {
		int fd = open(path, O_RDWR | O_CLOEXEC);

		complain("%s: it cannot be finished: %s", path, fd < 0 ? strerror(errno) : "no space, or a limit of its size");
		if (fd >= 0)
			close(fd);
		return false;
	}
	out_text("finished ");
	out_foreign(path, strlen(path), 0);
	out_printf(": %" PRIu64 " event%s\n", events, plural(events));
	return true;
}

static bool recover_log(struct recover *r, const char *path)
{
	struct place place = place_own();
	const struct seen_stream *s;
	struct log_header h;
	struct streams all;
	uint64_t events;
	bool complete, done = true;
	int error;

	if (!look_into(path, &complete, &events, &h)) {
		complain("%s: %s", path, errno == EINVAL ? "not a log, or its beginning is damaged; 'posixtrace check' tells" : strerror(errno));
		return false;
	}
	error = streams_read(&all, &place);
	/* Whether its stream is there is not known; a complete log needs none. */
	if (error < 0 && error != -ENOENT && !complete) {
		complain("%s: %s", place.path, strerror(-error));
		streams_free(&all);
		return false;
	}
	s = stream_of(&all, &h);
	if (s && s->alive && !complete && !s->trouble && s->log[0] && !same_file(path, s)) {
		say_copy(path, s);
		done = false;
	} else if (s && s->alive && !complete) {
		complain("%s: process %u %s is writing it; it will be complete when that ends", path,
		         s->creator.number ? s->creator.number : s->entry.creator.pid, s->creator.name);
		done = false;
	} else if (s && !s->alive && !(s->trouble && complete)) {
		done = finish(r, path, &h, s);
	} else if (complete) {
		out_foreign(path, strlen(path), 0);
		out_printf(" is complete: %" PRIu64 " event%s\n", events, plural(events));
	} else {
		say_gone(path, &h, events);
		done = false;
	}
	streams_free(&all);
	return done;
}

/* -- The command ------------------------------------------------------------------------------------------------ */

static int run(int argc, char **argv)
{
	enum { DRY = 0x100, DISCARD };
	static const struct option options[] = {
		{ "dry-run", no_argument, NULL, DRY }, { "discard", no_argument, NULL, DISCARD },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	struct recover r = { .dry = false };
	int c;

	while ((c = next_option(argc, argv, "*", options)) >= 0)
		if (c == DRY)
			r.dry = true;
		else
			r.discard = true;
	if (r.discard && optind < argc)
		wrong_usage("--discard is for all that was left behind, not for a file");
	if (ident_self(&r.self) < 0)
		fail("/proc cannot be read");
	if (optind == argc)
		recover_all(&r);
	for (; optind < argc; optind++)
		r.failed += !recover_log(&r, argv[optind]);
	out_flush();
	return r.failed ? STATUS_FAILED : STATUS_DONE;
}

const struct command command_recover = {
	"recover",
	"finishes logs of programs that were killed, removes what they left",
	"usage: posixtrace recover [options] [FILE...]\n\n"
	"Finishes the logs of this user's programs that were killed, and removes what they left in /dev/shm.\n"
	"With FILE only that log, wherever it is now.\n\n"
	"      --dry-run          only says what would be done\n"
	"      --discard          also removes what belongs to logs that are not there any more\n\n"
	"Exit status: 0 all is finished, 1 something cannot be, 2 wrong usage.\n",
	run,
};
