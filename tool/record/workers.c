/*
 * workers.c - records descendants of a process of root that have become other users
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/workers.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ticks.h"
#include "common/message.h"
#include "common/progress.h"
#include "host/ident.h"
#include "model/attr.h"
#include "process/confinement.h"
#include "record/combine.h"
#include "record/newlog.h"
#include "record/selection.h"

#define NS_PER_MS INT64_C(1000000)
/* Pauses between two looks at all processes: where the kernel tells of changes, and where it does not. */
#define SELDOM_NS (1000 * NS_PER_MS)
#define OFTEN_NS  (50 * NS_PER_MS)
/* Changes that come in a flood are looked at together. */
#define TOGETHER_NS (2 * NS_PER_MS)
/* Looks may take this part of the time. */
#define SHARE 20
#define WINDOW_NS (100 * NS_PER_MS)

#define STREAMS_MAX 256 /* of all users; each takes memory of --stream-size */
#define REFUSED_MAX 4096 /* processes that are refused one by one, before all unknown ones are */

/* A process that was seen as a user's, in a table that two threads use. */
struct owned {
	uint32_t pid, uid;
	uint64_t start; /* of the process, in clock ticks; 0: unknown */
};

struct owners {
	pthread_mutex_t lock;
	struct owned *item;
	size_t count, room;
};

#define OWNERS_MAX (1u << 16)

struct user {
	uint32_t uid, gid;
	char name[48]; /* "user www-data (33)" */
	bool failure_said;
	bool confined_said;
	struct worker_stream *stream; /* of all workers that are forked from now on; null: the program has ended */
	/* At the end: */
	uint64_t events, foreign, lost;
	bool broken;
};

/* Where an event of a user's stream belongs. */
enum fit {
	FIT,
	FIT_PROGRAM, /* the process writes to the stream of root's process, too */
	FIT_NOBODY,  /* the process is of another user */
};

/* Lets only those events into a worker's log that can be of the worker's user. */
struct worker_stream {
	struct flush_filter filter; /* the first member, so a pointer to it is one to the stream */
	struct flush_filter *next;  /* of --where; null: none */
	struct selection *selection;
	struct part part;
	struct workers *workers;
	struct user *user;
	struct ident of; /* the process whose descendants inherit the stream */
	uint64_t from;   /* clock ticks: descendants that start then, or later, have it */
	uint64_t created; /* CLOCK_REALTIME */
	uint32_t last;    /* the process of the last event, since the last look; 0: none */
	enum fit last_fit;
	unsigned refused;
	uint64_t left_out; /* events that are not of the user, or are in the program's log */
	uint64_t foreign;  /* those of them that are not of the user */
	uint64_t kept;     /* events at the beginning of the log that are in another log, too */
};

struct recorded {
	struct ident ident;
	bool in_program; /* it writes to the stream of root's process, unless it executes another file */
};

struct workers {
	struct workers_plan plan;
	struct kin *kin;
	struct owners owners;
	struct owners in_program; /* processes that write to the stream of root's process */
	struct owners in_log;     /* processes whose events are in the log */
	struct user *user[WORKERS_USERS];
	unsigned users;
	bool too_many_users, too_many_streams, pipe_said, begun;
	struct worker_stream *stream[STREAMS_MAX];
	unsigned streams;
	struct recorded *recorded;
	size_t recorded_count, recorded_room;
	char program_stream[2][FILE_NAME_SIZE];
	bool told; /* the caller knows of changes */
	struct ident may_return; /* the last process that was seen with the right to become another user again */
	int64_t may_return_seen;
	bool may_return_said;
	int64_t next, last;
	int64_t window, spent; /* when a period began, and the processor's time since then for changes */
	bool full; /* the new log has too many event types */
};

/* -- Who is whose ------------------------------------------------------------------------------------- */

/* start: of the process with this number that is meant; 0: any. */
static bool owners_have(struct owners *o, uint32_t pid, uint32_t uid, uint64_t start)
{
	bool found = false;

	pthread_mutex_lock(&o->lock);
	for (size_t i = o->count; !found && i > 0; i--)
		found = o->item[i - 1].pid == pid && o->item[i - 1].uid == uid &&
		        (!start || o->item[i - 1].start == start);
	pthread_mutex_unlock(&o->lock);
	return found;
}

static void owners_note(struct owners *o, uint32_t pid, uint32_t uid, uint64_t start)
{
	if (owners_have(o, pid, uid, start))
		return;
	pthread_mutex_lock(&o->lock);
	if (o->count == o->room && o->room < OWNERS_MAX) {
		size_t room = o->room ? 2 * o->room : 64;
		struct owned *more = realloc(o->item, room * sizeof *more);

		if (more) {
			o->item = more;
			o->room = room;
		}
	}
	if (o->count < o->room)
		o->item[o->count++] = (struct owned){ pid, uid, start };
	pthread_mutex_unlock(&o->lock);
}

static unsigned owners_count(const struct owners *o, uint32_t uid)
{
	unsigned count = 0;

	for (size_t i = 0; i < o->count; i++)
		count += o->item[i].uid == uid;
	return count;
}

static void owners_forget(struct owners *o, uint32_t pid)
{
	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i < o->count; i++)
		if (o->item[i].pid == pid)
			o->item[i--] = o->item[--o->count];
	pthread_mutex_unlock(&o->lock);
}

/* Reads the four user ids of a process. Returns false if there is no such process, or it cannot be told. */
static bool read_uids(uint32_t number, uint32_t uid[4])
{
	char path[40], line[128];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/status", number);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof line, file))
		found = sscanf(line, "Uid: %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32, &uid[0], &uid[1], &uid[2],
		               &uid[3]) == 4;
	if (file)
		fclose(file);
	return found;
}

/* Returns whether one of the ids is the user's: a set-user-ID program that the user runs keeps it as the real one. */
static bool is_one_of(const uint32_t uid[4], uint32_t user)
{
	return uid[0] == user || uid[1] == user || uid[2] == user || uid[3] == user;
}

/* -- What a stream may say ------------------------------------------------------------------------------ */

struct mapped {
	const struct workers *workers;
	bool found;
};

static void look_for_stream(const char *line, void *arg)
{
	struct mapped *m = arg;
	const char *slash = strrchr(line, '/');

	for (unsigned i = 0; slash && i < m->workers->plan.parts; i++)
		m->found |= m->workers->program_stream[i][0] &&
		            strncmp(slash + 1, m->workers->program_stream[i],
		                    strlen(m->workers->program_stream[i])) == 0;
}

/* Returns whether the process maps the stream of root's process: it has attached before it became another user. */
static bool in_program(const struct workers *w, uint32_t number)
{
	struct mapped m = { .workers = w };

	return proc_each_map(number, look_for_stream, &m) == 0 && m.found;
}

/*
 * Decides about a process that is named by an event in the stream of a user. One that has ended may have recorded it:
 * combine() asks again.
 */
static enum fit fits(struct worker_stream *s, uint32_t pid)
{
	struct workers *w = s->workers;
	uint32_t user = s->user->uid, uid[4], parent;
	uint64_t start;

	if (proc_parent(pid, &parent, &start) != 0 || !read_uids(pid, uid)) {
		if (owners_have(&w->in_program, pid, user, 0))
			return FIT_PROGRAM;
		return s->refused < REFUSED_MAX || owners_have(&w->owners, pid, user, 0) ? FIT : FIT_NOBODY;
	}
	/* Another process may have the number of one that was the user's. */
	if (!is_one_of(uid, user))
		return owners_have(&w->owners, pid, user, start) ? FIT : FIT_NOBODY;
	owners_note(&w->owners, pid, user, start);
	if (!in_program(w, pid)) {
		owners_forget(&w->in_program, pid);
		return FIT;
	}
	owners_note(&w->in_program, pid, user, 0);
	return FIT_PROGRAM;
}

static void look(struct flush_filter *filter, struct flush *f)
{
	struct worker_stream *s = (struct worker_stream *)filter;

	s->last = 0;
	s->created = attr_created(&f->header->attr);
	if (s->next)
		s->next->look(s->next, f);
}

static void take_process(void *filter, const unsigned char *body, size_t size)
{
	struct worker_stream *s = filter;

	if (s->next)
		s->next->process(s->next, body, size);
}

static bool selects(struct flush_filter *filter, const struct log_event *e, const unsigned char *data)
{
	struct worker_stream *s = (struct worker_stream *)filter;

	if (e->pid != s->last || !s->last) {
		s->last = e->pid;
		s->last_fit = fits(s, e->pid);
		s->refused += s->last_fit == FIT_NOBODY;
	}
	if (s->last_fit != FIT || e->time < s->created) {
		s->left_out++;
		s->foreign += s->last_fit != FIT_PROGRAM;
		return false;
	}
	return !s->next || s->next->selects(s->next, e, data);
}

/* Decides about a process when all of them have ended. */
static bool accepts(void *arg, uint32_t pid, bool in_program)
{
	struct worker_stream *s = arg;

	if (in_program && !owners_have(&s->workers->owners, pid, s->user->uid, 0))
		return false;
	owners_note(&s->workers->in_log, pid, s->user->uid, 0);
	return true;
}

/* -- Streams ------------------------------------------------------------------------------------------- */

/* Prints, once for each user, why a stream could not be made: of process pid, or with pid 0 of all of the user's. */
static void say_failed(struct user *u, const struct workers *w, pid_t pid, int error)
{
	const char *why = error == ENOENT ? "it sees no /dev/shm" : strerror(error);
	const char *remedy = error == ENOMEM || error == ENOSPC ? ": use a smaller --stream-size" : "";

	/* A process that has ended, or has become yet another user, is no failure, and its daemon is looked for. */
	if (u->failure_said || error == ESRCH || (pid && error == EPERM))
		return;
	u->failure_said = true;
	if (pid)
		progress_say("%s: process %d of %s cannot be recorded: %s%s", w->plan.path, (int)pid, u->name, why,
		             remedy);
	else
		progress_say("%s: processes of %s cannot be recorded: %s%s", w->plan.path, u->name, why, remedy);
}

/*
 * Makes the file for a log of the user. It has a name, so that its events are not lost if the recorder is killed. If
 * the directory is the user's own, others may be given to the file, or taken away: it is used by its descriptor only.
 */
static int make_log(const struct workers *w, const struct user *u, char **path)
{
	char *base;
	int fd;

	if (asprintf(&base, "%s.uid%" PRIu32, w->plan.path, u->uid) < 0)
		fail("no memory");
	fd = newlog_beside(base, path);
	free(base);
	return fd;
}

static void drop_log(struct part *p)
{
	if (p->path && p->fd >= 0)
		newlog_remove(p->path, p->fd);
	part_free(p);
}

/* Makes a stream: of this process, or with pid 0 of all descendants of `above` that become the user from now on. */
static struct worker_stream *add_stream(struct workers *w, struct user *u, pid_t pid, pid_t above)
{
	struct part_user user = { .pid = above, .uid = u->uid, .gid = u->gid, .of = w->plan.part };
	struct worker_stream *s = calloc(1, sizeof *s);
	struct proc process;
	char *path;
	int fd, error;

	if (!s)
		fail("no memory");
	if (proc_read((uint32_t)(pid ? pid : above), &process) == 0)
		s->of = process.ident;
	s->workers = w;
	s->user = u;
	fd = make_log(w, u, &path);
	if (fd < 0) {
		error = errno;
		s->part.fd = -1;
	} else if (pid) {
		error = part_create_in(&s->part, pid, &w->plan.attr, path, fd);
	} else {
		error = part_create_for(&s->part, &user, &w->plan.attr, path, fd);
	}
	if (!error) {
		s->filter = (struct flush_filter){ look, selects, take_process };
		if (w->plan.where) {
			s->selection = selection_new(w->plan.where, w->plan.match);
			s->next = selection_filter(s->selection);
		}
		part_filter(&s->part, &s->filter);
		part_labels(&s->part, NULL, 0);
		part_follow(&s->part, w->plan.match);
		error = posix_trace_start(s->part.trid);
	}
	if (!error) {
		s->from = part_inherited_from(&s->part);
		w->stream[w->streams++] = s;
		return s;
	}
	say_failed(u, w, pid, error);
	drop_log(&s->part);
	free(s);
	return NULL;
}

static void name_user(struct user *u)
{
	struct passwd *entry = getpwuid(u->uid);

	if (entry)
		snprintf(u->name, sizeof u->name, "user %.32s (%" PRIu32 ")", entry->pw_name, u->uid);
	else
		snprintf(u->name, sizeof u->name, "user %" PRIu32, u->uid);
}

/* Returns the user, with a stream if possible. Returns null if there are too many. */
static struct user *get_user(struct workers *w, uint32_t uid, uint32_t gid)
{
	struct user *u;

	for (unsigned i = 0; i < w->users; i++)
		if (w->user[i]->uid == uid)
			return w->user[i];
	if (w->users == WORKERS_USERS || w->streams == STREAMS_MAX) {
		if (!w->too_many_users)
			progress_say("%s: processes of user %" PRIu32 " and further users are not recorded: at most "
			             "%d users", w->plan.what, uid, WORKERS_USERS);
		w->too_many_users = true;
		return NULL;
	}
	u = calloc(1, sizeof *u);
	if (!u)
		fail("no memory");
	u->uid = uid;
	u->gid = gid;
	name_user(u);
	w->user[w->users++] = u;
	u->stream = add_stream(w, u, 0, w->plan.pid);
	return u;
}

/*
 * Returns the first of root's living processes above a worker, that of the daemon if the program has gone to the
 * background; 0 if there is none. A program that has root's rights from its file may be a worker's.
 */
static pid_t find_daemon(struct workers *w, const struct proc *worker)
{
	uint32_t number = worker->parent, uid[4];
	pid_t found = 0;
	struct proc p;

	for (; number > 1 && kin_has(w->kin, number, &p); number = p.parent)
		if (read_uids(number, uid) && !uid[0] && !uid[1] && !uid[2] && !proc_contained(number))
			found = (pid_t)number;
	return found;
}

/* Returns the stream of the user that descendants of this process inherit; null if there is none. */
static struct worker_stream *stream_of(const struct workers *w, const struct user *u, struct ident process)
{
	for (unsigned i = 0; i < w->streams; i++)
		if (w->stream[i]->user == u && ident_same(w->stream[i]->of, process))
			return w->stream[i];
	return NULL;
}

/* Returns the stream that a worker inherits if it was forked late enough; null if there is none. */
static struct worker_stream *stream_above(struct workers *w, struct user *u, const struct proc *worker)
{
	struct worker_stream *s = u->stream;
	uint32_t number = worker->parent;
	struct proc p;
	pid_t daemon;

	for (; !s && number > 1 && kin_has(w->kin, number, &p); number = p.parent)
		s = stream_of(w, u, p.ident);
	daemon = s || w->streams == STREAMS_MAX ? 0 : find_daemon(w, worker);
	return daemon ? add_stream(w, u, 0, daemon) : s;
}

/* Returns whether the process records into a stream of the user: 1, 0, or -1 if it has not attached yet. */
static int is_traced(const struct workers *w, const struct user *u, struct ident process)
{
	for (unsigned i = 0; i < w->streams; i++)
		if (w->stream[i]->user == u)
			return part_traces(&w->stream[i]->part, process, w->plan.part, w->plan.parts);
	return 0;
}

/* -- Looking ------------------------------------------------------------------------------------------- */

static struct recorded *find_recorded(struct workers *w, struct ident ident)
{
	for (size_t i = 0; i < w->recorded_count; i++)
		if (ident_same(w->recorded[i].ident, ident))
			return &w->recorded[i];
	return NULL;
}

static void note_recorded(struct workers *w, struct recorded *known, struct ident ident, bool in_program)
{
	if (known) {
		known->in_program = in_program;
		return;
	}
	if (w->recorded_count == w->recorded_room) {
		w->recorded_room = w->recorded_room ? 2 * w->recorded_room : 64;
		w->recorded = realloc(w->recorded, w->recorded_room * sizeof *w->recorded);
		if (!w->recorded)
			fail("no memory");
	}
	w->recorded[w->recorded_count++] = (struct recorded){ ident, in_program };
}

static void say_pipe(struct workers *w)
{
	if (!w->pipe_said && !w->plan.quiet)
		progress_say("%s: processes that have become other users are not recorded: a pipe takes one log only; "
		             "use -o FILE", w->plan.what);
	w->pipe_said = true;
}

/*
 * Prints that a worker keeps the right to be root again: the library does not record such a process. Many programs take
 * another user's rights for a moment, so a process has to be seen like that twice.
 */
static void say_may_return(struct workers *w, const struct proc *p)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC);

	if (w->may_return_said || w->plan.quiet)
		return;
	if (!ident_same(w->may_return, p->ident)) {
		w->may_return = p->ident;
		w->may_return_seen = now;
	} else if (now - w->may_return_seen > OFTEN_NS) {
		w->may_return_said = true;
		progress_say("%s: process %" PRIu32 " runs as user %" PRIu32 " but can become another user again: such "
		             "a process is not recorded until it gives that right up", w->plan.path, p->number, p->uid);
	}
}

/* Records a process from now on that was forked before its user had a stream. */
static void attach(struct workers *w, struct user *u, const struct proc *p, struct recorded *known)
{
	char confined[CONFINEMENT_TEXT];

	if (w->streams == STREAMS_MAX) {
		if (!w->too_many_streams)
			progress_say("%s: process %" PRIu32 " of %s and further ones are not recorded: at most "
			             "%d streams", w->plan.path, p->number, u->name, STREAMS_MAX);
		w->too_many_streams = true;
		return;
	}
	if (confinement_look((pid_t)p->number, confined) >= CONFINEMENT_OWN) {
		/* A filter may kill the process for the system calls by which it finds a new stream. */
		if (!u->confined_said)
			progress_say("%s: process %" PRIu32 " of %s is not recorded: %s", w->plan.path, p->number,
			             u->name, confined);
		u->confined_said = true;
	} else {
		add_stream(w, u, (pid_t)p->number, 0);
	}
	note_recorded(w, known, p->ident, false);
}

static void look_at(const struct proc *p, void *arg)
{
	struct workers *w = arg;
	struct recorded *known = find_recorded(w, p->ident);
	struct worker_stream *s;
	struct user *u;
	uint32_t uid[4];
	int traced;

	if (p->uid == 0 || (known && !known->in_program))
		return;
	if (!read_uids(p->number, uid) || uid[1] != p->uid)
		return;
	owners_note(&w->owners, p->ident.pid, p->uid, p->ident.start);
	if (in_program(w, p->number)) {
		owners_note(&w->in_program, p->ident.pid, p->uid, 0);
		if (!known)
			note_recorded(w, NULL, p->ident, true);
		return;
	}
	/* It may have been before, and has executed another file. */
	owners_forget(&w->in_program, p->ident.pid);
	if (!w->plan.path) {
		say_pipe(w);
		return;
	}
	if (uid[0] != p->uid || uid[2] != p->uid) {
		say_may_return(w, p);
		return;
	}
	u = get_user(w, p->uid, p->gid);
	if (!u)
		return;
	/*
	 * The stream of all workers is in the page of root's process itself, and its descendants inherit it. One that
	 * has no page yet has not attached. If it was forked before, it will not inherit the stream.
	 */
	s = stream_above(w, u, p);
	traced = is_traced(w, u, p->ident);
	if (traced > 0 || p->number == (uint32_t)w->plan.pid)
		note_recorded(w, known, p->ident, false);
	else if (traced == 0 || !s || p->ident.start < s->from)
		attach(w, u, p, known);
}

int64_t workers_look(struct workers *w, int64_t now)
{
	int64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID), took, pause;

	if (!w)
		return INT64_MAX;
	if (now < w->next)
		return w->next;
	kin_each(w->kin, look_at, w);
	for (unsigned i = 0; i < w->streams; i++) {
		part_look(&w->stream[i]->part);
		w->stream[i]->user->broken |= !part_works(&w->stream[i]->part);
	}
	w->last = clock_ns(CLOCK_MONOTONIC);
	took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	pause = w->told ? SELDOM_NS : OFTEN_NS;
	w->next = w->last + (SHARE * took > pause ? SHARE * took : pause);
	return w->next;
}

void workers_changed(struct workers *w, const uint32_t *pid, unsigned count, bool more)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC), before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct proc p;

	if (!w)
		return;
	if (now - w->window >= WINDOW_NS) {
		w->window = now;
		w->spent = 0;
	}
	/* Programs of root, which are most of those that are executed, are passed over at once. */
	for (unsigned i = 0; i < count && !more; i++) {
		uint32_t uid[4];

		if (read_uids(pid[i], uid) && uid[1] != 0 && kin_has(w->kin, pid[i], &p))
			look_at(&p, w);
		more = w->spent + clock_ns(CLOCK_THREAD_CPUTIME_ID) - before > WINDOW_NS / SHARE;
	}
	w->spent += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	/* What a flood of changes does not let this look at is found by a look at all processes. */
	if (more && w->next > w->last + (w->spent > WINDOW_NS / SHARE ? WINDOW_NS : TOGETHER_NS))
		w->next = w->last + (w->spent > WINDOW_NS / SHARE ? WINDOW_NS : TOGETHER_NS);
	w->told = true;
}

void workers_follow(struct workers *w)
{
	for (unsigned i = 0; w && i < w->streams; i++)
		part_follow(&w->stream[i]->part, w->plan.match);
}

struct workers_totals workers_totals(const struct workers *w)
{
	struct workers_totals t = { 0 };

	for (unsigned i = 0; w && i < w->streams; i++) {
		struct part_numbers n = part_numbers(&w->stream[i]->part);

		t.events += n.users;
		t.bytes += n.bytes;
		t.lost += w->stream[i]->part.lost;
	}
	return t;
}

/* -- Beginning and end ----------------------------------------------------------------------------------- */

struct workers *workers_begin(const struct workers_plan *plan, struct kin *kin)
{
	struct workers *w;
	struct proc proc;

	if (geteuid() != 0 || proc_read((uint32_t)plan->pid, &proc) != 0)
		return NULL;
	/* Descendants of another user's process are that user's, and inherit its stream. */
	if (proc.uid != 0 || proc_contained(proc.number)) {
		if (plan->users)
			progress_say("%s: --also-user is for a process of root that is in no container", plan->what);
		return NULL;
	}
	w = calloc(1, sizeof *w);
	if (!w)
		fail("no memory");
	w->plan = *plan;
	w->kin = kin;
	pthread_mutex_init(&w->owners.lock, NULL);
	pthread_mutex_init(&w->in_program.lock, NULL);
	pthread_mutex_init(&w->in_log.lock, NULL);
	for (unsigned i = 0; i < plan->parts; i++)
		part_stream(&plan->part[i], w->program_stream[i]);
	w->begun = true;
	for (unsigned i = 0; i < plan->users && w->begun; i++) {
		struct user *u = plan->path ? get_user(w, plan->user[i].uid, plan->user[i].gid) : NULL;

		if (!plan->path)
			say_pipe(w);
		w->begun = u && u->stream;
	}
	return w;
}

bool workers_begun(const struct workers *w)
{
	return w->begun;
}

/* Makes one log of the open log and those of the workers. *log: a list with their results, to be freed. */
static int combine_all(struct workers *w, struct combine *c, const char *path)
{
	char *copy = newlog_copy(path);
	int error;

	c->copy = copy;
	c->logs = w->streams;
	c->accepts = accepts;
	c->log = calloc(w->streams, sizeof *c->log);
	if (!c->log)
		fail("no memory");
	for (unsigned i = 0; i < w->streams; i++)
		c->log[i] = (struct combine_log){
			.fd = w->stream[i]->part.fd, .arg = w->stream[i], .skip = w->stream[i]->kept,
		};
	error = combine(c);
	if (!error && c->made >= 0) {
		error = newlog_replace(path, c->fd, c->made, c->meanwhile);
		if (error) {
			close(c->made);
			c->made = -1;
		}
		free(c->meanwhile);
	}
	free(copy);
	if (error)
		return error;
	w->full |= c->full;
	for (unsigned i = 0; i < w->streams; i++) {
		struct worker_stream *s = w->stream[i];
		struct user *u = s->user;

		s->kept = c->log[i].skip;
		u->events += c->log[i].events;
		u->foreign += c->log[i].foreign;
	}
	return 0;
}

bool workers_keep(struct workers *w, struct workers_kept *k)
{
	struct combine c = { .fd = k->fd, .begin = k->begin, .end = k->end };
	int error = 0;

	if (!w || !w->streams)
		return true;
	for (unsigned i = 0; i < w->streams; i++) {
		int flushed = part_flush(&w->stream[i]->part);

		/* A stream whose memory was taken away is reported at the end. */
		error = flushed && flushed != EINVAL ? flushed : error;
	}
	if (!error)
		error = combine_all(w, &c, k->path);
	if (!error && c.made >= 0) {
		for (unsigned i = 0; i < w->streams; i++)
			k->events += c.log[i].events;
		k->bytes = c.bytes;
		close(c.made);
	}
	free(c.log);
	if (error)
		progress_say("%s has no events of processes that have become other users: %s", k->path,
		             strerror(error));
	return error == 0;
}

/* Adds up what the streams have lost or left out. */
static void add_up(struct workers *w, struct part *program)
{
	for (unsigned i = 0; i < w->streams; i++) {
		struct worker_stream *s = w->stream[i];

		s->user->foreign += s->foreign;
		s->user->lost += s->part.sum.lost;
		program->sum.lost += s->part.sum.lost;
		program->sum.left_out += s->part.sum.left_out - s->left_out;
		program->sum.unwritten += s->part.sum.unwritten;
	}
}

/* Prints where the events of a worker's log are if they could not be added. Returns whether there are any. */
static bool say_apart(struct worker_stream *s, const struct part *program, int error)
{
	struct part *p = &s->part;

	if (!p->sum.users)
		return false;
	if (p->path)
		progress_say("%s has events of %s, which could not be added to %s: %s", p->path, s->user->name,
		             program->path, strerror(error));
	else
		progress_say("%s: %" PRIu64 " events of %s could not be added: %s", program->path, p->sum.users,
		             s->user->name, strerror(error));
	/* The file keeps its name. */
	free(p->path);
	p->path = NULL;
	return true;
}

/* Makes one log. Returns false if the logs stay apart. */
static bool unite(struct workers *w, struct part *program)
{
	struct combine c = { .fd = program->fd, .end = UINT64_MAX, .last = true };
	int error = combine_all(w, &c, program->path);
	bool done = true;

	for (unsigned i = 0; error && i < w->streams; i++)
		done &= !say_apart(w->stream[i], program, error);
	if (!error && c.made >= 0) {
		close(program->fd);
		program->fd = c.made;
		program->sum.users = c.users;
	}
	if (!error)
		add_up(w, program);
	free(c.log);
	return done;
}

bool workers_end(struct workers *w, struct part *program, bool drop)
{
	bool done = true;

	if (!w)
		return true;
	for (unsigned i = 0; i < w->streams; i++) {
		struct part *p = &w->stream[i]->part;
		int error;

		/* Whether the memory is there is known when it was used. */
		part_look(p);
		w->stream[i]->user->broken |= !part_works(p);
		error = part_end(p);
		if (!drop && (error || p->sum.unwritten)) {
			done = false;
			progress_say("%s: events of %s could not be written: %s", program->path,
			             w->stream[i]->user->name, strerror(error ? error : (int)p->sum.flush_error));
		}
	}
	if (!drop && w->streams && program->seeks)
		done &= unite(w, program);
	for (unsigned i = 0; i < w->streams; i++)
		drop_log(&w->stream[i]->part);
	return done;
}

void workers_say(const struct workers *w, const char *path)
{
	for (unsigned i = 0; w && i < w->users; i++) {
		const struct user *u = w->user[i];
		unsigned processes = owners_count(&w->in_log, u->uid);

		if (u->events && !w->plan.quiet)
			progress_say("%s: %" PRIu64 " of the events are of %u process%s of %s", path, u->events,
			             processes, processes == 1 ? "" : "es", u->name);
		if (u->lost)
			progress_say("%s: %" PRIu64 " events of %s were lost, because its stream was full", path,
			             u->lost, u->name);
		if (u->foreign)
			progress_say("%s: %" PRIu64 " events in the memory of %s were left out: they name processes "
			             "that were not of that user", path, u->foreign, u->name);
		if (u->broken)
			progress_say("%s: processes of %s have damaged their stream: events of that user may be "
			             "missing, or wrong", path, u->name);
	}
	if (w && w->full)
		progress_say("%s: some events of other users have no name: there are more types than one log can have",
		             path);
}

void workers_free(struct workers *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < w->streams; i++) {
		part_free(&w->stream[i]->part);
		free(w->stream[i]);
	}
	for (unsigned i = 0; i < w->users; i++)
		free(w->user[i]);
	pthread_mutex_destroy(&w->owners.lock);
	pthread_mutex_destroy(&w->in_program.lock);
	pthread_mutex_destroy(&w->in_log.lock);
	free(w->owners.item);
	free(w->in_program.item);
	free(w->in_log.item);
	free(w->recorded);
	free(w);
}
