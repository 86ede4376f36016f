/*
 * write.c - writes a log with the events of another tracer
 *
 * The events go through the draft and the output of the library's own logs, without a stream behind them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "base/ticks.h"
#include "common/folder.h"
#include "error.h"
#include "log/draft.h"
#include "log/output.h"
#include "model/eventtype.h"
#include "model/record.h"
#include "table.h"

/* Frames that describe events are written in pieces of about this size. */
#define PIECE (UINT32_C(32) << 10)
/* The most bytes in a piece after PIECE of them. */
#define ONE_MAX (4 + LAYOUT_TEXT_SIZE)
#define PATH_BYTES    4095
#define COMMAND_BYTES 1024

struct declared {
	char *name, *layout; /* layout null: none */
	uint32_t index;
	bool named, laid_out; /* in the file */
};

struct named_thread {
	char name[16];
};

/* Events that are missing in one place, and that the log does not tell of yet. */
struct missing {
	bool known;  /* there are such events */
	bool failed; /* because they could not be written */
	bool begun;  /* OVERFLOW is in the log, and RESUME is not */
	uint64_t from, until, count;
};

struct posixtrace_log_writer {
	struct output output;
	struct draft draft;
	struct log_state *state;
	size_t state_size;
	struct log_header header;
	char *path;
	int fd;
	bool begun; /* the header is written */
	bool initialised;
	struct table types; /* struct declared, by the hash of the name and a running number */
	struct table threads;
	uint64_t last; /* time of the last event */
	uint64_t lost;
	struct missing missing;
	unsigned char piece[PIECE + ONE_MAX];
};

/* Returns the error number for a negative one, with a message; 0 for 0. */
static int told(const struct posixtrace_log_writer *w, int r)
{
	return r < 0 ? error_system(-r, "%s", w->path) : 0;
}

/* -- Signals -------------------------------------------------------------------------------------- */

/* Begins writing: a file that may not grow, or a pipe without a reader, must not end the program by a signal. */
static struct sys_spared spare(struct posixtrace_log_writer *w)
{
	w->output.signalled = 0;
	return sys_spare_begin();
}

/* Ends writing. Returns its result. */
static int spared(const struct posixtrace_log_writer *w, const struct sys_spared *spared, int r)
{
	sys_spare_end(spared, w->output.signalled);
	return r;
}

/* -- Descriptions --------------------------------------------------------------------------------- */

static unsigned char *put_type(unsigned char *p, uint32_t id, const char *name)
{
	size_t length = strlen(name);

	put16(p, (uint16_t)id);
	p[2] = (unsigned char)length;
	memcpy(p + 3, name, length); /* NOLINT(bugprone-not-null-terminated-result): its length is in front of it */
	return p + 3 + length;
}

static unsigned char *put_layout(unsigned char *p, uint32_t id, const char *layout)
{
	size_t length = strlen(layout);

	put16(p, (uint16_t)id);
	put16(p + 2, (uint16_t)length);
	memcpy(p + 4, layout, length); /* NOLINT(bugprone-not-null-terminated-result): its length is in front of it */
	return p + 4 + length;
}

/* Writes the current piece, and begins a new piece. */
static int put_piece(struct posixtrace_log_writer *w, enum frame_kind kind, unsigned char **p)
{
	size_t size = (size_t)(*p - w->piece);

	*p = w->piece;
	return size ? output_frame(&w->output, kind, w->piece, size, 0) : 0;
}

/* Marks the types up to this one as written. */
static void mark_types(struct posixtrace_log_writer *w, enum frame_kind kind, size_t end)
{
	for (size_t i = 0; i < end; i++) {
		struct declared *d = w->types.item[i];

		d->named |= kind == FRAME_TYPES;
		d->laid_out |= kind == FRAME_LAYOUTS && d->layout;
	}
}

/* Writes the names, or the layouts, that the log lacks. */
static int put_types(struct posixtrace_log_writer *w, enum frame_kind kind, bool predefined)
{
	unsigned char *p = w->piece;
	int r = 0;

	for (unsigned i = 0; predefined && i < EVENTTYPE_PREDEFINED; i++)
		p = put_type(p, eventtype_predefined(i), eventtype_predefined_name(eventtype_predefined(i)));
	for (size_t i = 0; r == 0 && i < w->types.count; i++) {
		const struct declared *d = w->types.item[i];

		if (kind == FRAME_TYPES && !d->named)
			p = put_type(p, EVENT_ID_USER + (uint32_t)i, d->name);
		if (kind == FRAME_LAYOUTS && d->layout && !d->laid_out)
			p = put_layout(p, EVENT_ID_USER + (uint32_t)i, d->layout);
		if (p - w->piece < (ptrdiff_t)PIECE)
			continue;
		r = put_piece(w, kind, &p);
		if (r == 0)
			mark_types(w, kind, i + 1);
	}
	if (r == 0)
		r = put_piece(w, kind, &p);
	if (r == 0)
		mark_types(w, kind, w->types.count);
	return r;
}

/* -- Segments ----------------------------------------------------------------------------------------- */

static void begin_segment(struct posixtrace_log_writer *w)
{
	draft_begin(&w->draft, output_position(&w->output)->sequence, output_room(&w->output));
}

/* Writes the header, unless it was written. time: of the log's creation, if the caller has told none. */
static int begin(struct posixtrace_log_writer *w, uint64_t time)
{
	struct attr *a = &w->header.attr;
	struct sys_spared state;
	int r;

	if (w->begun)
		return 0;
	if (!attr_created(a)) {
		a->create_sec = (int64_t)(time / NS_PER_S);
		a->create_nsec = (int64_t)(time % NS_PER_S);
	}
	state = spare(w);
	r = output_begin(&w->output, &w->header);
	if (r == 0)
		r = put_types(w, FRAME_TYPES, true);
	if (spared(w, &state, r) < 0)
		return r;
	w->begun = true;
	begin_segment(w);
	return 0;
}

static int write_segment(struct posixtrace_log_writer *w)
{
	int r = put_types(w, FRAME_TYPES, false);

	if (r == 0)
		r = put_types(w, FRAME_LAYOUTS, false);
	if (r < 0 || draft_empty(&w->draft))
		return r;
	draft_prepare(&w->draft, LOG_NO_CHUNK, 0, 0);
	r = output_segment(&w->output, &w->draft, w->lost);
	if (r == 0)
		begin_segment(w);
	return r;
}

/* Writes the events put so far. */
static int put_segment(struct posixtrace_log_writer *w)
{
	struct sys_spared state = spare(w);

	return spared(w, &state, write_segment(w));
}

static int put_one(struct posixtrace_log_writer *w, const struct log_event *e, const void *data)
{
	int r = begin(w, e->time);

	if (r == 0 && !draft_add(&w->draft, e, data, 0)) {
		r = put_segment(w);
		if (r == 0 && !draft_add(&w->draft, e, data, 0))
			r = -EMSGSIZE;
	}
	if (r == 0 && e->time > w->last)
		w->last = e->time;
	return r;
}

/* Notes events that are missing after all that was put, and are to be reported there as soon as this is possible. */
static void miss(struct posixtrace_log_writer *w, uint64_t from, uint64_t until, uint64_t count, bool failed)
{
	struct missing *m = &w->missing;

	if (!m->known)
		*m = (struct missing){ .known = true, .from = from };
	m->failed |= failed;
	if (until > m->until)
		m->until = until;
	if (until > w->last)
		w->last = until;
	m->count = count > UINT64_MAX - m->count ? UINT64_MAX : m->count + count;
}

/* Reports the missing events noted so far. */
static int put_missing(struct posixtrace_log_writer *w)
{
	struct missing *m = &w->missing;
	struct log_event overflow = { .id = POSIX_TRACE_OVERFLOW, .time = m->from };
	struct log_event resume = { .id = POSIX_TRACE_RESUME, .time = m->until };
	int r = 0;

	if (!m->known)
		return 0;
	if (!m->begun)
		r = put_one(w, &overflow, NULL);
	m->begun |= r == 0;
	if (r == 0)
		r = put_one(w, &resume, NULL);
	if (r < 0)
		return r;
	w->lost = m->count > UINT64_MAX - w->lost ? UINT64_MAX : w->lost + m->count;
	m->known = false;
	/* A reader reports what is lost before its segment. If this fails, the next event tries again. */
	if (m->failed)
		put_segment(w);
	return 0;
}

static int put_event(struct posixtrace_log_writer *w, const struct log_event *e, const void *data)
{
	int r = put_missing(w);

	if (r == 0)
		r = put_one(w, e, data);
	if (r < 0)
		miss(w, e->time, e->time, 1, true);
	return r;
}

/* -- Creation ------------------------------------------------------------------------------------------ */

static void set_text(char *to, size_t size, const char *text)
{
	size_t length = strnlen(text, size - 1);

	memcpy(to, text, length);
	memset(to + length, 0, size - length);
}

static void make_header(struct log_header *h, const struct posixtrace_log_origin *o)
{
	static const struct posixtrace_log_origin unknown;

	o = o ? o : &unknown;
	memset(h, 0, sizeof *h);
	attr_init(&h->attr);
	header_machine(h);
	attr_set_name(&h->attr, o->name ? o->name : "");
	if (o->generator)
		set_text(h->attr.version, TRACE_NAME_MAX, o->generator);
	if (o->host && strcmp(o->host, h->host) != 0) {
		set_text(h->host, sizeof h->host, o->host);
		memset(h->boot, 0, sizeof h->boot);
	}
	if (o->kernel)
		set_text(h->kernel, sizeof h->kernel, o->kernel);
	if (o->machine)
		set_text(h->machine, sizeof h->machine, o->machine);
	h->attr.log_policy = POSIX_TRACE_APPEND;
	h->attr.stream_policy = POSIX_TRACE_FLUSH;
	h->attr.data_size = RECORD_DATA_MAX;
	h->attr.create_sec = (int64_t)(o->created / NS_PER_S);
	h->attr.create_nsec = (int64_t)(o->created % NS_PER_S);
	h->attr.resolution_nsec = o->resolution && o->resolution <= INT64_MAX ? (int64_t)o->resolution : 1;
	h->target = o->target;
	if (o->word)
		h->word = (uint8_t)o->word;
	h->creator = (uint32_t)sys_getpid();
}

static void free_writer(struct posixtrace_log_writer *w)
{
	for (size_t i = 0; i < w->types.count; i++) {
		struct declared *d = w->types.item[i];

		free(d->name);
		free(d->layout);
	}
	table_free(&w->types);
	table_free(&w->threads);
	if (w->initialised)
		output_free(&w->output);
	draft_free(&w->draft);
	if (w->state)
		sys_unmap(w->state, w->state_size);
	if (w->fd >= 0)
		sys_close(w->fd);
	free(w->path);
	free(w);
}

/* Makes the parts of a writer that need memory. Returns 0 or a negative error number. */
static int initialise(struct posixtrace_log_writer *w, bool seeks)
{
	uint32_t capacity = output_capacity(POSIX_TRACE_APPEND, 0, RECORD_DATA_MAX);
	int r;

	w->state_size = LOG_BODY_OFFSET + (size_t)capacity + 2 * FRAME_ALIGN;
	w->state = sys_map(w->state_size, -1, 1);
	if (!w->state)
		return -ENOMEM;
	output_plan(w->state, POSIX_TRACE_APPEND, 0, RECORD_DATA_MAX);
	r = draft_init(&w->draft, w->state);
	if (r == 0)
		r = output_init(&w->output, w->fd, seeks, POSIX_TRACE_APPEND, w->state);
	w->initialised = r == 0;
	return r;
}

static int check_origin(const struct posixtrace_log_origin *origin)
{
	if (origin && origin->size < sizeof *origin)
		return error_say(EINVAL, "the origin's size is not sizeof(struct posixtrace_log_origin)");
	if (origin && origin->created > INT64_MAX)
		return error_say(EINVAL, "the origin's time of creation is out of range");
	if (origin && origin->word != 0 && origin->word != 4 && origin->word != 8)
		return error_say(EINVAL, "the origin's pointers have neither 4 nor 8 bytes");
	return 0;
}

/* Returns whether the file is a log. The descriptor need not be open for reading. */
static bool is_log(int fd)
{
	char magic[sizeof FORMAT_MAGIC - 1];
	int readable = sys_open_again(fd, O_RDONLY);
	bool log = sys_read_at(readable < 0 ? fd : readable, magic, sizeof magic, FRAME_BYTES) == (long)sizeof magic &&
	           memcmp(magic, FORMAT_MAGIC, sizeof magic) == 0;

	if (readable >= 0)
		sys_close(readable);
	return log;
}

/* Empties a file that may be overwritten, and replaces a descriptor with O_APPEND, which ignores positions. */
static int prepare_file(struct posixtrace_log_writer *w)
{
	bool appends = sys_open_flags(w->fd) & O_APPEND;
	struct sys_stat st;
	int again;

	if (sys_stat(w->fd, &st) < 0)
		return error_system(EBADF, "%s", w->path);
	if (st.size && appends)
		return error_say(EEXIST, "%s: the file is not empty, and nothing can be appended to a log", w->path);
	if (st.size && !is_log(w->fd))
		return error_say(EEXIST, "%s: the file exists, and is not a log", w->path);
	if (st.size && sys_truncate(w->fd, 0) < 0)
		return error_say(EIO, "%s: the file cannot be cut to nothing", w->path);
	if (!appends)
		return 0;
	again = sys_open_again(w->fd, O_WRONLY);
	if (again < 0)
		return error_system(-again, "%s: the file is open for appending, and cannot be opened again", w->path);
	sys_close(w->fd);
	w->fd = again;
	return 0;
}

/* Makes a writer, and takes over the descriptor in any case. */
static int create(int fd, const char *path, const struct posixtrace_log_origin *origin,
                  struct posixtrace_log_writer **writer)
{
	struct posixtrace_log_writer *w = calloc(1, sizeof *w);
	bool seeks = false;
	int r, error = 0;

	if (!w) {
		sys_close(fd);
		return error_memory();
	}
	w->fd = fd;
	w->path = strdup(path);
	r = w->path ? output_possible(fd, POSIX_TRACE_APPEND, &seeks) : -ENOMEM;
	if (r == 0 && seeks)
		error = prepare_file(w);
	if (r == 0 && error == 0)
		r = initialise(w, seeks);
	if (r < 0)
		error = r == -ENOMEM ? error_memory() :
		        r == -EINVAL ? error_say(EINVAL, "%s: this kind of file cannot be a log", path) : told(w, r);
	if (error) {
		free_writer(w);
		return error;
	}
	make_header(&w->header, origin);
	*writer = w;
	return 0;
}

int posixtrace_log_create_fd(int fd, const struct posixtrace_log_origin *origin, struct posixtrace_log_writer **writer)
{
	int error = writer ? check_origin(origin) : error_null(), own;

	if (error)
		return error;
	*writer = NULL;
	own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return own < 0 ? error_system(errno, "the log") : create(own, "the log", origin, writer);
}

int posixtrace_log_create(const char *path, const struct posixtrace_log_origin *origin,
                          struct posixtrace_log_writer **writer)
{
	int error = path && writer ? check_origin(origin) : error_null(), fd;
	struct sys_stat st;
	const char *why;

	if (error)
		return error;
	*writer = NULL;
	fd = folder_write(path, O_RDWR | O_NONBLOCK, 0666, &why);
	error = fd < 0 ? errno : 0;
	if (error && error != ENXIO)
		return error_say(error, "%s: %s", path, why);
	/* ENXIO: a FIFO without a reader, or a device. */
	if (fd >= 0 && sys_stat(fd, &st) == 0 && S_ISREG(st.mode))
		return create(fd, path, origin, writer);
	if (fd >= 0)
		sys_close(fd);
	return error_say(EEXIST, "%s: the file exists, and is not a log", path);
}

/* -- Types and threads ----------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *name)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
	return hash;
}

static int check_declaration(const char *name, const char *layout)
{
	struct layout_fault fault;

	if (strlen(name) > TRACE_EVENT_NAME_MAX)
		return error_say(ENAMETOOLONG, "the name of an event type has more than %d bytes",
		                 TRACE_EVENT_NAME_MAX);
	if (!*name || strncmp(name, "posix_trace_", 12) == 0)
		return error_say(EINVAL, "'%s' cannot be the name of an event type", name);
	if (name[layout_name(name)])
		return error_say(EINVAL, "%s: the layout is declared beside the name, and not in it", name);
	if (layout && !layout_check(layout, &fault))
		return error_say(EINVAL, "'%.*s' in the layout of %s %s", (int)fault.length, fault.at, name, fault.why);
	return 0;
}

/* Sets the layout of a type that has none, or compares it. */
static int set_layout(struct declared *d, const char *layout)
{
	if (!layout || (d->layout && strcmp(d->layout, layout) == 0))
		return 0;
	if (d->layout)
		return error_say(EEXIST, "the event type %s has the layout %s", d->name, d->layout);
	d->layout = strdup(layout);
	return d->layout ? 0 : error_memory();
}

int posixtrace_log_declare(struct posixtrace_log_writer *w, const char *name, const char *layout, uint32_t *type)
{
	uint64_t hash, number = 0;
	struct declared *d;
	int error;

	if (!w || !name || !type)
		return error_null();
	error = check_declaration(name, layout);
	if (error)
		return error;
	hash = hash_of(name);
	while ((d = table_find(&w->types, hash, number)) != NULL && strcmp(d->name, name) != 0)
		number++;
	if (!d && w->types.count == EVENT_USER_MAX)
		return error_say(ENOSPC, "a log has at most %u event types", EVENT_USER_MAX);
	if (!d) {
		char *copy = strdup(name);

		d = copy ? table_add(&w->types, hash, number, sizeof *d) : NULL;
		if (!d) {
			free(copy);
			return error_memory();
		}
		d->name = copy;
		d->index = (uint32_t)w->types.count - 1;
	}
	error = set_layout(d, layout);
	if (error == 0)
		*type = d->index;
	return error;
}

int posixtrace_log_name_thread(struct posixtrace_log_writer *w, uint32_t pid, uint32_t tid, const char *name)
{
	struct named_thread *t;

	if (!w || !name)
		return error_null();
	t = table_find(&w->threads, pid, tid);
	if (!t)
		t = table_add(&w->threads, pid, tid, sizeof *t);
	if (!t)
		return error_memory();
	set_text(t->name, sizeof t->name, name);
	return 0;
}

/* -- Processes --------------------------------------------------------------------------------------------- */

static unsigned char *put_string(unsigned char *p, const void *bytes, size_t length)
{
	put16(p, (uint16_t)length);
	if (length)
		memcpy(p + 2, bytes, length);
	return p + 2 + length;
}

/* Begins the body of a frame PROCESS. */
static unsigned char *put_process(unsigned char *p, uint32_t pid, uint32_t modules, uint64_t time,
                                  const char *executable)
{
	put32(p, pid);
	put32(p + 4, modules);
	put64(p + 8, time);
	return put_string(p + 16, executable, strlen(executable));
}

static int put_body(struct posixtrace_log_writer *w, const unsigned char *end)
{
	struct sys_spared state = spare(w);
	int r = output_frame(&w->output, FRAME_PROCESS, w->piece, (size_t)(end - w->piece), 0);

	return told(w, spared(w, &state, r));
}

static int check_path(const char *path)
{
	return path && strlen(path) > PATH_BYTES ?
	       error_say(ENAMETOOLONG, "a path has more than %d bytes", PATH_BYTES) : 0;
}

int posixtrace_log_describe(struct posixtrace_log_writer *w, uint64_t time, uint32_t pid, uint32_t parent,
                            const char *executable, const char *command, size_t command_length)
{
	int error = check_path(executable);
	unsigned char *p;

	if (!w || (!command && command_length))
		return error_null();
	if (!pid || time > INT64_MAX)
		return error_say(EINVAL, pid ? "the time is out of range" : "0 is not the id of a process");
	if (!error)
		error = told(w, begin(w, time));
	if (error)
		return error;
	p = put_process(w->piece, pid, 0, time, executable ? executable : "");
	put32(p, parent);
	p = put_string(p + 4, command, command_length < COMMAND_BYTES ? command_length : COMMAND_BYTES);
	return put_body(w, p);
}

int posixtrace_log_describe_module(struct posixtrace_log_writer *w, uint64_t time, uint32_t pid, uint64_t start,
                                   uint64_t end, uint64_t offset, const char *path, const void *build_id,
                                   size_t build_id_length)
{
	int error = check_path(path);
	unsigned char *p;

	if (!w || !path || (!build_id && build_id_length))
		return error_null();
	if (!pid || end <= start || build_id_length > 256 || time > INT64_MAX)
		return error_say(EINVAL, "the module's process, addresses, build-id or time are out of range");
	if (!error)
		error = told(w, begin(w, time));
	if (error)
		return error;
	p = put_process(w->piece, pid, 1, time, "");
	put64(p, start);
	put64(p + 8, end);
	put64(p + 16, offset);
	p = put_string(p + 24, path, strlen(path));
	p = put_string(p, build_id, build_id_length);
	return put_body(w, p);
}

/* -- Events --------------------------------------------------------------------------------------------------- */

static int check_time(const struct posixtrace_log_writer *w, uint64_t time)
{
	if (time > INT64_MAX)
		return error_say(EINVAL, "the time is out of range");
	if (time < w->last)
		return error_say(EINVAL, "the time is before that of the last event");
	if (time < attr_created(&w->header.attr))
		return error_say(EINVAL, "the time is before the creation of the log");
	return 0;
}

int posixtrace_log_put(struct posixtrace_log_writer *w, uint64_t time, uint32_t pid, uint32_t tid, uint64_t address,
                       uint32_t type, const void *data, size_t length)
{
	const struct named_thread *t;
	struct log_event e;
	int error;

	if (!w || (!data && length))
		return error_null();
	error = check_time(w, time);
	if (error)
		return error;
	if (type >= w->types.count)
		return error_say(EINVAL, "no event type has the number %u", type);
	if (length > RECORD_DATA_MAX)
		return error_say(EMSGSIZE, "an event has at most %u bytes of data", RECORD_DATA_MAX);
	e = (struct log_event){ .id = EVENT_ID_USER + type, .pid = pid, .tid = tid, .address = address, .time = time,
	                        .length = (uint32_t)length };
	t = table_find(&w->threads, pid, tid);
	if (t)
		memcpy(e.name, t->name, sizeof e.name);
	return told(w, put_event(w, &e, data));
}

int posixtrace_log_put_loss(struct posixtrace_log_writer *w, uint64_t from, uint64_t until, uint64_t count)
{
	int error;

	if (!w)
		return error_null();
	error = check_time(w, from);
	if (error)
		return error;
	if (until < from || until > INT64_MAX)
		return error_say(EINVAL, "a loss ends before it begins, or too late");
	/* If events before it cannot be reported yet, both become one loss. */
	put_missing(w);
	miss(w, from, until, count, false);
	return told(w, put_missing(w));
}

int posixtrace_log_flush(struct posixtrace_log_writer *w)
{
	int r;

	if (!w)
		return error_null();
	if (!w->begun && !w->missing.known)
		return 0;
	r = put_missing(w);
	return told(w, r < 0 ? r : put_segment(w));
}

/* Writes what is missing in the file before its end. */
static int put_rest(struct posixtrace_log_writer *w)
{
	int r = begin(w, w->missing.known ? w->missing.from : (uint64_t)clock_ns(CLOCK_REALTIME));

	if (r == 0 && w->missing.begun)
		r = put_missing(w);
	return r < 0 ? r : put_segment(w);
}

int posixtrace_log_finish(struct posixtrace_log_writer *w)
{
	struct output_end end = { 0 };
	struct sys_spared state;
	int r, ended, error;

	if (!w)
		return error_null();
	r = put_rest(w);
	end.lost = w->lost;
	end.status = w->lost ? INDEX_STREAM_OVERRUN : 0;
	end.unwritten = (r < 0 ? w->draft.next.users : 0) + (w->missing.known ? w->missing.count : 0);
	end.flush_error = (uint32_t)-r;
	state = spare(w);
	ended = output_end(&w->output, &end);
	spared(w, &state, ended);
	error = told(w, r < 0 ? r : ended);
	free_writer(w);
	return error;
}
