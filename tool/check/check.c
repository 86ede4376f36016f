/*
 * check.c - posixtrace check: is a log what it was when it was written?
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
#include <unistd.h>

#include "base/sys.h"
#include "check/verify.h"
#include "common/command.h"
#include "common/display.h"
#include "common/json.h"
#include "common/message.h"
#include "common/options.h"
#include "common/out.h"
#include "logs/declared.h"
#include "logs/logfile.h"
#include "logs/logpipe.h"
#include "logs/unfinished.h"
#include "process/streams.h"

/* What a log's stream is doing. */
enum writer { WRITER_NONE, WRITER_ALIVE, WRITER_DEAD };

struct check {
	bool json;
	bool wrong; /* damage was found in any of the files */
};

/* -- The stream ----------------------------------------------------------------------------------------- */

/* Returns whether the stream writes to this file, and not to a file that the log was copied from. */
static bool writes_to(const struct seen_stream *s, int fd)
{
	struct sys_stat st;

	/*
	 * Assume that it does if the stream cannot be read, or has a pipe as its log: the pipe may lead into any file.
	 */
	return s->trouble || !s->log[0] ||
	       (sys_stat(fd, &st) == 0 && sys_is_file(&st, s->log_inode, s->log_device_major, s->log_device_minor));
}

/*
 * Returns the state of the log's stream. A stream has a file in its user's directory as long as it has events that the
 * log lacks.
 */
static enum writer find_writer(const struct verify *v)
{
	struct shm_dir shm_dir = shm_dir_own();
	const char *name = strrchr(v->header.stream, '/');
	size_t length = strlen(shm_dir.path);
	struct seen_stream s;

	if (!name || (size_t)(name - v->header.stream) != length ||
	    strncmp(v->header.stream, shm_dir.path, length) != 0)
		return WRITER_NONE;
	if (!streams_read_one(&s, &shm_dir, name + 1) || !writes_to(&s, v->fd))
		return WRITER_NONE;
	return s.alive ? WRITER_ALIVE : WRITER_DEAD;
}

/* Makes notes of the findings that are normal in a log that is being written: no end, and half a frame. */
static void forgive(struct verify *v)
{
	for (size_t i = 0; i < v->finding.count; i++) {
		struct finding *f = (struct finding *)v->finding.item + i;

		if (f->kind == FINDING_END || (f->kind == FINDING_FRAME && f->offset + f->size == v->size))
			f->note = true;
	}
}

/* -- As text ------------------------------------------------------------------------------------------------ */

static void show_finding(const char *path, const struct finding *f)
{
	out_foreign(path, strlen(path), 0);
	out_printf(": offset %" PRIu64 ": ", f->offset);
	display_colour(f->note ? PLAIN : RED);
	out_text(f->text);
	display_colour(PLAIN);
	if (f->note)
		out_text(" (no problem)");
	if (f->last_segment && f->last_segment != f->segment)
		out_printf("; segments %" PRIu64 " to %" PRIu64, f->segment, f->last_segment);
	else if (f->last_segment && (f->kind == FINDING_FRAME || f->kind == FINDING_SEQUENCE))
		out_printf("; segment %" PRIu64, f->segment);
	if (f->events == EVENTS_UNKNOWN)
		out_text("; the number of missing events is unknown");
	else if (f->events)
		out_printf("; %" PRIu64 " event%s missing", f->events, f->events == 1 ? " is" : "s are");
	out_char('\n');
}

static void plural(uint64_t n, const char *what)
{
	out_printf("%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
}

static void show_sum(const char *path, const struct verify *v, size_t problems, enum writer writer)
{
	uint32_t user;

	out_foreign(path, strlen(path), 0);
	out_text(": ");
	display_colour(problems ? RED : GREEN);
	if (problems)
		plural(problems, "problem");
	else
		out_text("no damage");
	display_colour(PLAIN);
	out_text("; ");
	plural(v->events, "event");
	if (v->system)
		out_printf(", %" PRIu64 " of the recording itself,", v->system);
	out_text(" in ");
	plural(v->segments, "segment");
	if (problems)
		out_text(" can be read");
	if (v->missing && v->missing != EVENTS_UNKNOWN)
		out_printf(", %" PRIu64 " %s missing", v->missing, v->missing == 1 ? "is" : "are");
	if (v->ended && v->index_lost)
		out_printf("; %" PRIu64 " lost when they were recorded", v->index_lost);
	if (v->ended && v->index_discarded)
		out_printf("; %" PRIu64 " overwritten or discarded", v->index_discarded);
	if (v->ended && v->left_out)
		out_printf("; %" PRIu64 " did not match record --where", v->left_out);
	if (v->late)
		out_printf("; %" PRIu64 " older than the event before, of threads that were held up", v->late);
	if (v->index_error)
		out_printf("; when it was written: %s", strerror((int)v->index_error));
	if (writer == WRITER_ALIVE)
		out_text("; it is being written");
	else if (writer == WRITER_DEAD && !v->ended)
		out_text("; its creator has ended: 'posixtrace recover' may complete it");
	else if (v->has_header && !v->ended && unfinished_owner(&v->header, &user))
		out_printf("; its stream belongs to user %u, who can complete it: "
		           "run 'posixtrace recover' as that user", user);
	out_char('\n');
}

/* -- As JSON -------------------------------------------------------------------------------------------------- */

static void json_count(const char *key, uint64_t n)
{
	json_key(key);
	if (n == EVENTS_UNKNOWN)
		json_null();
	else
		json_number(n);
}

static void json_finding(const struct finding *f)
{
	static const char *const kinds[] = {
		[FINDING_HEADER] = "header",     [FINDING_FRAME] = "frame",         [FINDING_CHECKSUM] = "checksum",
		[FINDING_CONTENT] = "content",   [FINDING_PADDING] = "padding",     [FINDING_SEQUENCE] = "sequence",
		[FINDING_TIME] = "time",         [FINDING_TYPE] = "type",           [FINDING_INDEX] = "index",
		[FINDING_END] = "end",           [FINDING_UNWRITTEN] = "unwritten",
	};

	json_begin('{');
	json_key("kind");
	json_string(kinds[f->kind]);
	json_key("note");
	json_bool(f->note);
	json_count("offset", f->offset);
	if (f->size)
		json_count("size", f->size);
	if (f->segment)
		json_count("segment", f->segment);
	if (f->last_segment)
		json_count("last_segment", f->last_segment);
	json_count("events_missing", f->events);
	json_key("text");
	json_string(f->text);
	json_end('}');
}

static void json_sum(const char *path, const struct verify *v, size_t problems, enum writer writer)
{
	json_begin('{');
	json_key("file");
	json_string(path);
	json_key("ok");
	json_bool(problems == 0);
	json_key("complete");
	json_bool(v->has_index && v->has_footer && v->unwritten == 0);
	json_key("writer");
	if (writer == WRITER_NONE)
		json_null();
	else
		json_string(writer == WRITER_ALIVE ? "alive" : "ended");
	json_count("size", v->size);
	json_count("segments", v->segments);
	json_count("events", v->events);
	json_count("events_missing", v->missing);
	json_count("events_unwritten", v->unwritten);
	json_count("events_late", v->late);
	json_count("events_lost", v->ended ? v->index_lost : v->lost);
	json_count("events_discarded", v->ended ? v->index_discarded : EVENTS_UNKNOWN);
	json_count("events_left_out", v->ended ? v->left_out : EVENTS_UNKNOWN);
	json_count("first_time", v->begin);
	json_count("last_time", v->end);
	json_key("findings");
	json_begin('[');
	for (size_t i = 0; i < v->finding.count; i++)
		json_finding(verify_finding(v, i));
	json_end(']');
	json_end('}');
	json_done();
}

/* -- The command ----------------------------------------------------------------------------------------------- */

/* Opens a log; path: its name in messages. Returns the descriptor, or -1 after a message. */
static int open_log(const char *file, const char *path, struct stat *st)
{
	bool there = strcmp(file, "-") == 0 || stat(file, st) == 0;
	int fd = there ? logpipe_open(file) : -1;

	if (fd < 0 || fstat(fd, st) < 0) {
		complain("%s: %s", path, strerror(errno));
	} else if (!S_ISREG(st->st_mode)) {
		complain("%s: neither a regular file nor a pipe", path);
	} else if (st->st_size == 0) {
		complain("%s: the file is empty", path);
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Prints errors in the layouts of event types. They are errors of the program, and not damage of the log. */
static void check_layouts(int fd, const char *path)
{
	struct input *in = calloc(1, sizeof *in);

	if (!in)
		fail("no memory");
	if (input_open(in, fd) >= 0) {
		declared_say_log(in, path);
		input_close(in);
	}
	free(in);
}

static void check_file(struct check *c, const char *file)
{
	const char *path = strcmp(file, "-") == 0 ? "standard input" : file;
	enum writer writer;
	struct verify *v;
	struct stat st;
	size_t problems;
	int fd = open_log(file, path, &st);

	if (fd < 0) {
		c->wrong = true;
		return;
	}
	v = verify_log(fd, (uint64_t)st.st_size);
	if (!v)
		fail("no memory");
	writer = v->has_header ? find_writer(v) : WRITER_NONE;
	if (writer == WRITER_ALIVE)
		forgive(v);
	problems = verify_problems(v);
	if (c->json) {
		json_sum(path, v, problems, writer);
	} else if (v->log == 0) {
		complain("%s: not a posixtrace log", path);
	} else {
		/* The last line says that the log is being written, so a missing end is not printed. */
		for (size_t i = 0; i < v->finding.count; i++)
			if (writer != WRITER_ALIVE || verify_finding(v, i)->kind != FINDING_END)
				show_finding(path, verify_finding(v, i));
		show_sum(path, v, problems, writer);
	}
	if (v->has_header)
		check_layouts(fd, path);
	c->wrong |= problems > 0;
	verify_free(v);
	close(fd);
}

static int run(int argc, char **argv)
{
	struct check c = { .json = false };
	const char *colours = "auto";
	int option;

	while ((option = next_option(argc, argv)) >= 0)
		if (option == OPTION_JSON)
			c.json = true;
		else
			colours = optarg;
	display_colours(colours);
	if (optind == argc)
		check_file(&c, LOGFILE_DEFAULT);
	for (; optind < argc; optind++)
		check_file(&c, argv[optind]);
	out_flush();
	return c.wrong ? STATUS_FAILED : STATUS_DONE;
}

static const struct option_row option_rows[] = {
	OPTION(OPTION_JSON, "json", NULL, "a JSON object for each file, on a line of its own"),
	OPTION_ROW_COLOR,
	{ 0 },
};

const struct command command_check = {
	.name = "check",
	.summary = "verify that logs are undamaged",
	.synopsis = "[options] [FILE...]",
	.about = "Verifies every frame, checksum, number and time of logs, and reports what is damaged and where. "
	         "Changes nothing. FILE defaults to " LOGFILE_DEFAULT "; - is standard input.",
	.options = option_rows,
	.ending = "Exit status: 0 no damage, 1 damage, 2 wrong usage.",
	.operand = "FILE",
	.run = run,
};
