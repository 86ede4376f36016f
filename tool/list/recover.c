/*
 * recover.c - posixtrace recover: completes logs of creators that were killed
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
#include "common/command.h"
#include "common/message.h"
#include "common/options.h"
#include "common/out.h"
#include "control/recover.h"
#include "control/save.h"
#include "log/input.h"
#include "logs/unfinished.h"
#include "process/streams.h"
#include "shm/registry.h"
#include "shm/reap.h"
#include "shm/stream.h"

/* How long to wait for another process that recovers the same stream. */
#define WAIT_MS 10000

struct recover {
	bool dry;
	bool discard;
	struct ident self;
	unsigned done;   /* number of leftovers found and printed */
	unsigned failed; /* number of leftovers that could not be recovered */
};

/* -- A log --------------------------------------------------------------------------------------------- */

/* Returns in *events the number of events in a log, and whether it is complete. Returns false if it cannot be read. */
static bool look_into(const char *path, bool *complete, uint64_t *events, struct log_header *header)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), r;
	struct input *in;

	if (fd < 0)
		return false;
	in = malloc(sizeof *in);
	if (!in)
		fail("no memory");
	r = input_open(in, fd);
	if (r == 0) {
		*complete = in->ended && in->unwritten == 0;
		/* The index of a LOOP log also counts overwritten events. */
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

/* Prints "stream flight of process 4712, which traced 4713". */
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

/* Recovers a stream. Returns true if its file is gone: its events are in the log now, or lost. */
static bool reap(struct recover *r, const struct streams *all, const struct seen_stream *s)
{
	struct save save = { all->dir, &all->shm_dir, r->self.pidns, NULL };

	for (int i = 0; i < WAIT_MS; i++) {
		if (stream_reap(all->dir, &all->shm_dir, r->self.pidns, &s->entry, r->discard ? give_up : save_stream,
		                &save) ||
		    !file_removing(all->dir, s->file))
			break;
		sys_sleep_ns(1000000);
	}
	return faccessat(all->dir, s->file, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

/* Prints why the log could not be completed. */
static void say_why(const struct seen_stream *s)
{
	struct statvfs fs;
	int there = streams_log_there(s);

	if (there == -ENOENT) {
		out_text("the file no longer exists; if it was moved: posixtrace recover FILE; "
		         "if it was removed: posixtrace recover --discard");
		return;
	}
	/* Do not open the file: it may be a FIFO or a device by now. */
	if (there < 0 || faccessat(AT_FDCWD, s->log, R_OK | W_OK, AT_EACCESS) != 0)
		out_text(strerror(there < 0 ? -there : errno));
	else if (statvfs(s->log, &fs) == 0 && fs.f_bavail < 256)
		out_text("its file system is full");
	else
		out_text("it cannot be written, or the limit of file sizes was reached (ulimit -f)");
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
			out_printf(": without a log, %" PRIu64 " event%s that had not been read", s->unread,
			           plural(s->unread));
	} else if (!s->log[0]) {
		out_text("removed ");
		name_stream(s);
		out_text(s->log_hidden ? ": only its creator knew its log" : ": its log was a pipe");
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

/* Prints what would be done. */
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
	/* --discard applies only to streams whose logs are gone. */
	bool discard = r->discard;

	r->done++;
	if (s->trouble == STREAM_VERSION) {
		r->failed++;
		out_printf("cannot finish %s: made by another version of the library; "
		           "use the command of that version\n",
		           s->file);
		return;
	}
	if (r->dry) {
		plan(r, s);
		return;
	}
	r->discard = false;
	if (reap(r, all, s)) {
		finished(s);
	} else if (faccessat(all->dir, s->file, F_OK, AT_SYMLINK_NOFOLLOW) == 0 && file_held(all->dir, s->file)) {
		r->done--; /* the stream is alive after all: a new one has the same name */
	} else if (discard && streams_log_there(s) == -ENOENT) {
		r->discard = true;
		reap(r, all, s) ? discarded(s) : cannot(r, s);
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
		registry_remove_unused(all->dir, &all->shm_dir, file);
	else
		file_remove_unused(all->dir, &all->shm_dir, file, NULL, NULL);
	/* The registry stays as long as there is a stream whose log needs the names. */
	if (faccessat(all->dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return;
	out_printf("removed %s of process %u\n", what, pid);
	r->done++;
}

/* Counts the streams of other users whose creators have ended, if this process may look at them. */
static void count_others(const struct shm_dir *shm_dir, void *arg)
{
	struct shm_dir own = shm_dir_own();
	size_t *count = arg;
	struct streams all;

	if (strcmp(shm_dir->path, own.path) == 0)
		return;
	if (streams_read(&all, shm_dir) == 0)
		for (size_t i = 0; i < all.streams; i++)
			*count += !all.stream[i].alive;
	streams_free(&all);
}

static void say_others(void)
{
	size_t count = 0;

	streams_each_user(count_others, &count);
	if (count)
		complain(STREAMS_OF_OTHERS, count, count == 1 ? "" : "s", count == 1 ? "its creator has" :
		                                                          "their creators have");
}

static void recover_all(struct recover *r)
{
	struct shm_dir shm_dir = shm_dir_own();
	struct streams all;
	int error = streams_read(&all, &shm_dir);

	if (error < 0 && error != -ENOENT)
		fail("%s: %s", shm_dir.path, strerror(-error));
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
		out_text("nothing to recover\n");
	out_flush();
	say_others();
}

/* -- One log -------------------------------------------------------------------------------------------------- */

/* Returns the stream of a log in this user's directory, or null. */
static const struct seen_stream *stream_of(const struct streams *all, const struct log_header *h)
{
	size_t length = strlen(all->shm_dir.path);

	for (size_t i = 0; i < all->streams; i++)
		if (strncmp(h->stream, all->shm_dir.path, length) == 0 && h->stream[length] == '/' &&
		    strcmp(h->stream + length + 1, all->stream[i].file) == 0)
			return &all->stream[i];
	return NULL;
}

static void say_gone(const char *path, const struct log_header *h, uint64_t events)
{
	struct log_header now;
	uint32_t user;

	if (unfinished_owner(h, &user)) {
		complain("%s: it was not closed; its stream belongs to user %u, who can complete it: "
		         "run 'posixtrace recover %s' as that user; the %" PRIu64 " event%s in it can be read",
		         path, user, path, events, plural(events));
		return;
	}
	header_machine(&now);
	complain("%s: it was not closed, "
	         "and the rest of its stream is lost%s; the %" PRIu64 " event%s in it can be read",
	         path,
	         memcmp(h->boot, now.boot, sizeof now.boot) != 0 ?
	         ": the machine has been restarted, or the log is from another machine" : "", events, plural(events));
}

static bool same_file(const char *path, const struct seen_stream *s)
{
	struct sys_stat st;

	return sys_stat_path(path, &st) == 0 &&
	       sys_is_file(&st, s->log_inode, s->log_device_major, s->log_device_minor);
}

static void say_copy(const char *path, const struct seen_stream *s)
{
	complain("%s: a copy; its stream goes on with the file itself, which was %s", path, s->log);
}

/* Completes a log. Returns true if it is complete, or will be completed by its living creator. */
static bool finish(const struct recover *r, const char *path, const struct log_header *h, const struct seen_stream *s)
{
	uint64_t events;
	bool complete;

	if (s->trouble) {
		complain(s->trouble == STREAM_VERSION ?
		         "%s: its stream was made by another version of the library; "
		         "finish it with the command of that version" :
		         "%s: it was not closed, and its stream is damaged; 'posixtrace check' tells what it contains",
		         path);
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
		bool refused = faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) != 0;

		complain("%s: it cannot be finished: %s", path,
		         refused ? strerror(errno) : "no space, or the limit of file sizes");
		return false;
	}
	out_text("finished ");
	out_foreign(path, strlen(path), 0);
	out_printf(": %" PRIu64 " event%s\n", events, plural(events));
	return true;
}

static bool recover_log(struct recover *r, const char *path)
{
	struct shm_dir shm_dir = shm_dir_own();
	const struct seen_stream *s;
	struct log_header h;
	struct streams all;
	uint64_t events;
	bool complete, done = true;
	int error;

	if (!look_into(path, &complete, &events, &h)) {
		complain("%s: %s", path, errno == EINVAL ?
		         "not a log, or its beginning is damaged; 'posixtrace check' tells" : strerror(errno));
		return false;
	}
	error = streams_read(&all, &shm_dir);
	/* The stream may exist or not. A complete log needs none. */
	if (error < 0 && error != -ENOENT && !complete) {
		complain("%s: %s", shm_dir.path, strerror(-error));
		streams_free(&all);
		return false;
	}
	s = stream_of(&all, &h);
	if (s && s->alive && !complete && !s->trouble && s->log[0] && !same_file(path, s)) {
		say_copy(path, s);
		done = false;
	} else if (s && s->alive && !complete) {
		complain("%s: process %u %s is writing it; it will be complete when that process ends", path,
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

enum { OPTION_DRY_RUN = OPTIONS_OWN, OPTION_DISCARD };

static const struct option_row option_rows[] = {
	OPTION(OPTION_DRY_RUN, "dry-run", NULL, "only tell what would be done"),
	OPTION(OPTION_DISCARD, "discard", NULL, "also remove what belongs to logs that no longer exist"),
	{ 0 },
};

static int run(int argc, char **argv)
{
	struct recover r = { .dry = false };
	int c;

	while ((c = next_option(argc, argv)) >= 0)
		if (c == OPTION_DRY_RUN)
			r.dry = true;
		else
			r.discard = true;
	if (r.discard && optind < argc)
		wrong_usage("--discard cannot be combined with FILE");
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
	.name = "recover",
	.summary = "finish logs of programs that were killed, and remove what they left",
	.synopsis = "[--dry-run] [--discard]\n[--dry-run] FILE...",
	.about = "Finishes the logs of this user's programs that were killed, and removes what they left in "
	         "/dev/shm. With FILE, finishes only that log, wherever it is now.",
	.options = option_rows,
	.ending = "Exit status: 0 everything is finished, 1 something cannot be finished, 2 wrong usage.",
	.operand = "FILE",
	.run = run,
};
