/*
 * read.c - the events of all logs of a reader, merged by time
 *
 * SPDX-License-Identifier: MIT
 */
#include "read.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "copy.h"
#include "error.h"
#include "live.h"
#include "table.h"

/* -- Opening --------------------------------------------------------------------------------------- */

/* Adds an opened log to the reader. After an error the reader keeps the log, because types may refer to it. */
static int add_source(struct posixtrace_log *log, struct source *s)
{
	struct source **more = realloc(log->source, (log->sources + 1) * sizeof *more);

	if (!more) {
		source_free(s);
		return error_memory();
	}
	log->source = more;
	s->index = (uint32_t)log->sources;
	log->source[log->sources++] = s;
	if (log->sources == 1 || s->about.created < log->created)
		log->created = s->about.created;
	if (s->live ? live_types(s) : types_add(log, s) && tasks_add(log, s))
		return 0;
	log->error = ENOMEM;
	return error_memory();
}

/* Adds the log of a descriptor, which is taken over in any case. */
static int add_file(struct posixtrace_log *log, int fd, const char *name)
{
	struct sys_stat st;
	struct source *s;
	int error = 0, copy;

	if (sys_stat(fd, &st) == 0 && (S_ISFIFO(st.mode) || S_ISSOCK(st.mode))) {
		error = copy_pipe(fd, name, &copy);
		sys_close(fd);
		fd = copy;
	}
	if (error == 0)
		error = source_open(log, fd, name, &s);
	return error ? error : add_source(log, s);
}

/* Returns 0 if a log can be added, or an error number. */
static int may_add(const struct posixtrace_log *log)
{
	if (!log)
		return error_null();
	return log->begun ? error_say(EBUSY, "a log is added, but reading has begun") : 0;
}

int posixtrace_log_add_fd(struct posixtrace_log *log, int fd, const char *name)
{
	int error = may_add(log), own;

	if (error)
		return error;
	name = name ? name : "log";
	own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return own < 0 ? error_system(errno, "%s", name) : add_file(log, own, name);
}

int posixtrace_log_add_memory(struct posixtrace_log *log, const void *bytes, size_t size, const char *name)
{
	int error = may_add(log), fd;

	if (error)
		return error;
	if (!bytes && size)
		return error_null();
	error = copy_memory(bytes, size, &fd);
	return error ? error : add_file(log, fd, name ? name : "log in memory");
}

int posixtrace_log_add(struct posixtrace_log *log, const char *path)
{
	int error = may_add(log), fd;
	struct sys_stat st;
	bool fifo;

	if (error)
		return error;
	if (!path)
		return error_null();
	if (strcmp(path, "-") == 0)
		return posixtrace_log_add_fd(log, STDIN_FILENO, "standard input");
	/* Opening a FIFO waits for its writer. Opening a device must not wait: it is refused later. */
	fifo = sys_stat_path(path, &st) == 0 && S_ISFIFO(st.mode);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (fifo ? 0 : O_NONBLOCK));
	return fd < 0 ? error_system(errno, "%s", path) : add_file(log, fd, path);
}

int posixtrace_log_open(const char *path, struct posixtrace_log **log)
{
	struct posixtrace_log *l;
	int error = 0;

	if (!log)
		return error_null();
	*log = NULL;
	l = calloc(1, sizeof *l);
	if (!l)
		return error_memory();
	filter_begin(&l->filter);
	if (path)
		error = posixtrace_log_add(l, path);
	if (error)
		posixtrace_log_close(l);
	else
		*log = l;
	return error;
}

int posixtrace_log_add_live(struct posixtrace_log *log, uint32_t pid,
                            const struct posixtrace_log_recording *recording)
{
	struct source *s;
	int error;

	if (!log)
		return error_null();
	if (log->error)
		return error_memory();
	error = live_open(log, pid, recording, &s);
	if (!error)
		error = add_source(log, s);
	if (error)
		return error;
	log->lives++;
	return 0;
}

int posixtrace_log_live(uint32_t pid, const struct posixtrace_log_recording *recording,
                        struct posixtrace_log **log)
{
	int error = posixtrace_log_open(NULL, log);

	if (error)
		return error;
	error = posixtrace_log_add_live(*log, pid, recording);
	if (error) {
		posixtrace_log_close(*log);
		*log = NULL;
	}
	return error;
}

void posixtrace_log_close(struct posixtrace_log *log)
{
	if (!log)
		return;
	types_free(log);
	tasks_free(log);
	for (size_t i = 0; i < log->sources; i++)
		source_free(log->source[i]);
	free(log->source);
	filter_free(&log->filter);
	free(log);
}

size_t posixtrace_log_sources(const struct posixtrace_log *log)
{
	return log ? log->sources : 0;
}

const struct posixtrace_log_about *posixtrace_log_about_at(const struct posixtrace_log *log, size_t index)
{
	return log && index < log->sources ? &log->source[index]->about : NULL;
}

/* -- Reading ----------------------------------------------------------------------------------------- */

int read_begin(struct posixtrace_log *log)
{
	if (log->error)
		return error_memory();
	if (!log->begun)
		posixtrace_log_rewind(log);
	return 0;
}

int read_end(const struct posixtrace_log *log)
{
	if (log->error)
		return error_memory();
	for (size_t i = 0; i < log->sources; i++) {
		const struct source *s = log->source[i];

		if (live_forked(s))
			return error_say(EINVAL, "%s was opened before this process was forked, and only its parent "
			                 "can read it", s->path);
		if (s->in.error == -ENOMEM)
			return error_memory();
		if (s->in.error)
			return error_system(EIO, "%s", s->path);
	}
	return 0;
}

bool read_shape(struct posixtrace_log *log, struct source *s, struct shape *shape)
{
	const struct log_event *e = s->event;
	const struct filter *f = &log->filter;
	struct type *t = s->type[e->id];
	bool has_thread;

	if (!t)
		t = types_unnamed(log, s, e->id);
	has_thread = (e->tid || e->pid) && tasks_room(log, s, e);
	shape->thread = has_thread ? tasks_thread(log, s, e) : NULL;
	if (!t || (!shape->thread && has_thread)) {
		log->error = ENOMEM;
		return false;
	}
	/* Some events have no thread name. */
	if (shape->thread && e->name[0])
		memcpy(shape->thread->name, e->name, sizeof e->name);
	shape->wanted = t->wanted && filter_number(&f->pids, e->pid) && filter_number(&f->tids, e->tid) &&
	                (f->threads.count == 0 || filter_name(&f->threads, e->name));
	shape->generation = s->generation;
	return true;
}

/* Returns the time since the creation of the first log, or the nearest number that the type has. */
static int64_t relative(const struct posixtrace_log *log, uint64_t time)
{
	uint64_t size = time < log->created ? log->created - time : time - log->created;

	if (size > INT64_MAX)
		return time < log->created ? INT64_MIN : INT64_MAX;
	return time < log->created ? -(int64_t)size : (int64_t)size;
}

static void fill_loss(struct posixtrace_log *log, struct source *s)
{
	struct current *c = &log->current;
	uint64_t time = source_loss_time(s);

	s->loss_count--;
	c->loss = s->loss[s->loss_first++];
	c->layout = NULL;
	c->about = (struct posixtrace_log_event){
		.time = time,
		.relative = relative(log, time),
		.loss = &c->loss,
		.thread_name = "",
		.source = s->index,
	};
}

static void fill_event(struct posixtrace_log *log, struct source *s, const struct shape *shape)
{
	const struct log_event *e = s->event;
	struct posixtrace_log_event *to = &log->current.about;
	struct thread *t = shape->thread;

	log->current.layout = s->type[e->id]->layout;
	log->current.located = false;
	to->time = e->time;
	to->relative = relative(log, e->time);
	to->type = &s->type[e->id]->about;
	to->loss = NULL;
	to->process = t ? t->about.process : NULL;
	to->thread = t ? &t->about : NULL;
	to->thread_name = e->name;
	to->address = e->address;
	to->pthread = e->pthread;
	to->data = s->data;
	to->length = e->length;
	to->pid = e->pid;
	to->tid = e->tid;
	to->truncated = e->truncated;
	to->source = s->index;
	to->segment = s->live ? NULL : &s->segment;
}

bool read_asks(struct posixtrace_log *log, struct source *s, const struct shape *shape)
{
	fill_event(log, s, shape);
	return log->filter.wanted(&log->current.about, log->filter.context);
}

/* Returns whether the filters other than the callback select the loss. */
static bool loss_wanted(const struct posixtrace_log *log, const struct posixtrace_log_loss *loss)
{
	const struct filter *f = &log->filter;

	return loss->from <= f->last && (loss->until == 0 || loss->until >= f->from);
}

/* Returns whether an event later than the selected time cannot be followed by a selected one. */
static bool beyond(const struct posixtrace_log *log, uint64_t time)
{
	return log->filter.last < UINT64_MAX - READ_DISORDER && time > log->filter.last + READ_DISORDER;
}

/*
 * Looks at the running processes that have no event now and may have one before this time, or, with UINT64_MAX, at any
 * time. Returns whether one of them has an event, a loss or an end now. Sets *unsettled if it is too early to say.
 */
static bool look_at_waiting(struct posixtrace_log *log, uint64_t time, bool *unsettled)
{
	bool more = false;

	*unsettled = false;
	for (size_t i = 0; i < log->sources; i++) {
		struct source *s = log->source[i];

		if (!live_waits(s) || (time != UINT64_MAX && live_settled(s, time)))
			continue;
		if (time != UINT64_MAX && !live_settles(s, time)) {
			*unsettled = true;
			continue;
		}
		source_look(s);
		more |= !live_waits(s);
	}
	return more;
}

struct source *read_running(struct posixtrace_log *log, struct source *s)
{
	bool unsettled;

	for (;;) {
		uint64_t time = !s ? UINT64_MAX : s->loss_count ? source_loss_time(s) : s->event->time;

		if (!look_at_waiting(log, time, &unsettled))
			break;
		s = read_oldest(log);
	}
	if (s && !unsettled)
		log->nap = 0;
	return unsettled ? NULL : s;
}

bool read_waits(const struct posixtrace_log *log)
{
	for (size_t i = 0; i < log->sources && log->lives; i++)
		if (live_waits(log->source[i]) &&
		    !beyond(log, (uint64_t)live_clock() + log->source[i]->about.created -
		                 log->source[i]->about.created_monotonic))
			return true;
	return false;
}

enum find { FOUND, FOUND_END, FOUND_NOTHING_YET };

/* How many events may be passed over before a deadline is looked at. */
#define PASSED_OVER 1024

/* Finds the next selected event or loss. A process may record others without end: at the deadline there is none yet. */
static enum find find(struct posixtrace_log *log, int64_t deadline)
{
	const struct filter *f = &log->filter;
	struct source *s;

	for (unsigned passed = 1; (s = read_source(log)) != NULL; passed++) {
		struct shape *shape;
		bool wanted;

		if (passed % PASSED_OVER == 0 && deadline != INT64_MAX && live_clock() >= deadline)
			return FOUND_NOTHING_YET;
		if (s->loss_count) {
			fill_loss(log, s);
			wanted = loss_wanted(log, &log->current.loss);
		} else {
			wanted = read_wanted(log, s, &shape);
			if (log->error)
				return FOUND_END;
			if (wanted)
				fill_event(log, s, shape);
			log->pending = s;
		}
		if (wanted && (!f->wanted || f->wanted(&log->current.about, f->context)))
			return FOUND;
		read_move(log);
	}
	return !log->error && read_waits(log) ? FOUND_NOTHING_YET : FOUND_END;
}

/* Finds the next selected event or loss until a time on the clock of live_sleep(). Returns 0 or an error number. */
static int find_until(struct posixtrace_log *log, int64_t deadline, enum find *found)
{
	int error = read_begin(log);

	if (error)
		return error;
	read_move(log);
	while ((*found = find(log, deadline)) == FOUND_NOTHING_YET) {
		if (deadline != INT64_MAX && live_clock() >= deadline)
			return error_say(ETIMEDOUT, "no event has come yet");
		error = live_sleep(log, deadline);
		if (error)
			return error;
	}
	return *found == FOUND_END ? read_end(log) : 0;
}

int posixtrace_log_next(struct posixtrace_log *log, const struct posixtrace_log_event **event)
{
	enum find found = FOUND;
	int error = 0;

	if (!log || !event)
		return error_null();
	*event = NULL;
	if (!log->found)
		error = find_until(log, INT64_MAX, &found);
	log->found = false;
	if (!error && found == FOUND)
		*event = &log->current.about;
	return error;
}

int posixtrace_log_wait(struct posixtrace_log *log, int64_t timeout)
{
	enum find found = FOUND_END;
	int64_t now, deadline;
	int error;

	if (!log)
		return error_null();
	if (log->found || !log->lives)
		return 0;
	now = live_clock();
	deadline = timeout < 0 || timeout > INT64_MAX - now ? INT64_MAX : now + timeout;
	error = find_until(log, deadline, &found);
	log->found = !error && found == FOUND;
	return error;
}

void posixtrace_log_rewind(struct posixtrace_log *log)
{
	if (!log)
		return;
	log->begun = true;
	/* The present event of a running process was returned, and does not come again. */
	if (log->pending && log->pending->live && !log->found)
		source_look(log->pending);
	log->pending = NULL;
	log->found = false;
	for (size_t i = 0; i < log->sources; i++) {
		if (log->source[i]->live)
			continue;
		source_rewind(log->source[i]);
		source_look(log->source[i]);
	}
}

int posixtrace_log_scan(struct posixtrace_log *log)
{
	struct source *s;
	struct shape *shape;
	int error;

	if (!log)
		return error_null();
	if (log->lives)
		return error_say(ESPIPE, "the events of a running process can be read only once");
	error = read_begin(log);
	if (error)
		return error;
	posixtrace_log_rewind(log);
	while (!log->error && (s = read_oldest(log)) != NULL) {
		if (s->loss_count) {
			s->loss_count = 0;
			continue;
		}
		read_wanted(log, s, &shape);
		if (!log->error)
			source_advance(s);
	}
	error = read_end(log);
	posixtrace_log_rewind(log);
	return error;
}
