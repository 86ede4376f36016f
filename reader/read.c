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
	if (types_add(log, s) && tasks_add(log, s))
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

	if (!t)
		t = types_unnamed(log, s, e->id);
	shape->thread = e->tid || e->pid ? tasks_thread(log, s, e) : NULL;
	if (!t || (!shape->thread && (e->tid || e->pid))) {
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

static void fill_loss(struct posixtrace_log *log, struct source *s)
{
	struct current *c = &log->current;
	uint64_t time = source_loss_time(s);

	s->loss_count--;
	c->loss = s->loss[s->loss_first++];
	c->layout = NULL;
	c->about = (struct posixtrace_log_event){
		.time = time,
		.relative = (int64_t)(time - log->created),
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
	to->relative = (int64_t)(e->time - log->created);
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

	return loss->from < f->until && (loss->until == 0 || loss->until >= f->from);
}

/* Finds the next selected event or loss. Returns false at the end. */
static bool find(struct posixtrace_log *log)
{
	const struct filter *f = &log->filter;
	struct source *s;

	while ((s = read_oldest(log)) != NULL) {
		struct shape *shape;
		bool wanted;

		if (s->loss_count) {
			fill_loss(log, s);
			wanted = loss_wanted(log, &log->current.loss);
		} else {
			wanted = read_wanted(log, s, &shape);
			if (log->error)
				return false;
			if (wanted)
				fill_event(log, s, shape);
			log->pending = s;
		}
		if (wanted && (!f->wanted || f->wanted(&log->current.about, f->context)))
			return true;
		read_move(log);
	}
	return false;
}

int posixtrace_log_next(struct posixtrace_log *log, const struct posixtrace_log_event **event)
{
	int error;

	if (!log || !event)
		return error_null();
	*event = NULL;
	error = read_begin(log);
	if (error)
		return error;
	read_move(log);
	if (!find(log))
		return read_end(log);
	*event = &log->current.about;
	return 0;
}

void posixtrace_log_rewind(struct posixtrace_log *log)
{
	if (!log)
		return;
	log->begun = true;
	log->pending = NULL;
	for (size_t i = 0; i < log->sources; i++) {
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
