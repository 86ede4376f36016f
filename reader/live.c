/*
 * live.c - a running process as a source of a reader
 *
 * What is the same for all events of a type and a thread is found out once, as in a segment of a log: source.in.unpack
 * has the shapes, and never has bytes to unpack.
 *
 * SPDX-License-Identifier: MIT
 */
#include "live.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "filter.h"
#include "missing.h"
#include "running.h"
#include "tasks.h"
#include "types.h"

#define NS_IN_S UINT64_C(1000000000)

/* Shapes are forgotten after this time, because threads change their names. */
#define SHAPES_NS NS_IN_S
/* How many shapes to try for one type and thread. */
#define TRIES 8

/* Events between two looks for new event types. */
#define EVENTS_BETWEEN 64

/* Between two looks that find nothing. */
#define NAP_LEAST 1000000
#define NAP_MOST  20000000

/* How often a process is looked at for its mappings, and the time between two looks. */
#define IMAGES_LOOKS 8
#define IMAGES_NS    NS_IN_S
#define IMAGES_BODY  (UINT32_C(256) << 10)

/* Of more processes than these, an end is noticed at the next look. */
#define SLEEP_FDS 64

struct live_source {
	struct running *running;
	uint64_t lost;    /* events that losses have told of */
	uint64_t looked;  /* in the clock of events: when the last look began that found nothing */
	uint64_t types;   /* running_types() at the last look at the event types */
	unsigned until_types; /* events until the event types are looked at again */
	uint64_t changes; /* of the filter, when the process was told of it */
	uint64_t renewed; /* time of the event with which the shapes began anew */
	bool forked;
	/* An event that was read together with the OVERFLOW before it. */
	bool is_ahead;
	struct log_event ahead;
	const unsigned char *ahead_data;
	uint64_t unwanted[EVENT_ID_END / 64 + 1]; /* types that the process does not record: a bit for each id */
	struct images images; /* of the process that was looked at last */
};

/* -- Begin and end ---------------------------------------------------------------------------------------- */

static void describe(struct source *s, uint32_t pid)
{
	const struct log_header *h = &s->in.header;

	s->about = (struct posixtrace_log_about){
		.path = s->path,
		.name = "",
		.generator = h->attr.version,
		.host = h->host,
		.kernel = h->kernel,
		.machine = h->machine,
		.boot = h->boot,
		.created = attr_created(&h->attr),
		.created_monotonic = h->monotonic,
		.resolution = (uint64_t)h->attr.resolution_nsec,
		.target = pid,
		.creator = h->creator,
		.word = h->word,
		.children = h->attr.inheritance == POSIX_TRACE_INHERITED,
		.stream_policy = (uint32_t)h->attr.stream_policy,
		.stream_size = h->attr.stream_size,
		.data_size = h->attr.data_size,
		.live = 1,
	};
}

/* Looks at what a process executes, and adds it to the tables. Returns false if there is no memory. */
static bool look_at_image(struct source *s, uint32_t pid, uint64_t time, uint64_t address)
{
	struct process *p = tasks_process(s->log, s, pid);
	unsigned char *body;
	size_t size;
	bool done;

	if (!p)
		return false;
	if (p->looks && (p->looks == IMAGES_LOOKS || !address || time - p->looked < IMAGES_NS ||
	                 posixtrace_log_find_module(&p->about, address, time)))
		return true;
	p->looks++;
	p->looked = time;
	body = calloc(1, IMAGES_BODY);
	if (!body)
		return false;
	size = running_image(s->live->running, pid, &s->live->images, body, IMAGES_BODY);
	done = !size || tasks_describe(s->log, s, body, size);
	free(body);
	return done;
}

/*
 * Adds the current executable of the process, without mappings, because the process may end, or execute another file,
 * before its first event is read. Returns false if there is no memory.
 */
static bool look_at_name(struct source *s, uint32_t pid)
{
	unsigned char *body = calloc(1, IMAGES_BODY);
	size_t size = body ? running_image(s->live->running, pid, &s->live->images, body, IMAGES_BODY) : 0;
	size_t name = size >= 18 ? 18 + (size_t)get16(body + 16) : 0;
	bool done = body && (!name || name > size || tasks_describe(s->log, s, body, name));

	free(body);
	return done;
}

/* Returns the name of the process's executable, or "". */
static const char *executable(const struct source *s, uint32_t pid)
{
	for (size_t i = 0; i < posixtrace_log_processes(s->log); i++) {
		const struct posixtrace_log_process *p = posixtrace_log_process_at(s->log, i);

		if (p->pid == pid && p->machine == s->machine)
			return p->name;
	}
	return "";
}

int live_open(struct posixtrace_log *log, uint32_t pid, const struct posixtrace_log_recording *how,
              struct source **source)
{
	struct source *s = calloc(1, sizeof *s);
	struct live_source *l = calloc(1, sizeof *l);
	const struct log_header *h;
	int error = s && l && asprintf(&s->path, "process %u", pid) > 0 ? 0 : error_memory();

	if (!s || error) {
		free(l);
		free(s);
		return error;
	}
	s->log = log;
	s->live = l;
	s->fd = -1;
	s->generation = 1;
	s->type = calloc(EVENT_ID_END, sizeof *s->type);
	s->in.unpack = calloc(1, sizeof *s->in.unpack);
	s->layouts = layouts_new();
	error = s->type && s->in.unpack && s->layouts ? running_open(pid, how, &l->running) : error_memory();
	if (error) {
		live_close(s);
		layouts_free(s->layouts);
		free(s->type);
		free(s->path);
		free(s);
		return error;
	}
	running_describe(l->running, &s->in.header);
	h = &s->in.header;
	s->machine = tasks_machine(log, s);
	describe(s, pid);
	s->about.machine_index = s->machine;
	*source = s;
	if (!look_at_name(s, h->target))
		log->error = ENOMEM;
	s->about.name = executable(s, h->target);
	return 0;
}

void live_close(struct source *s)
{
	if (s->live->running)
		running_close(s->live->running);
	free(s->in.unpack);
	free(s->live);
}

/* -- Event types -------------------------------------------------------------------------------------------- */

bool live_types(struct source *s)
{
	struct live_source *l = s->live;
	char name[TRACE_EVENT_NAME_MAX + 1], layout[LAYOUT_TEXT_SIZE];
	uint32_t end;

	/* Before the look: what comes meanwhile is looked at again. */
	l->types = running_types(l->running);
	end = running_types_end(l->running);
	for (uint32_t id = 1; id < end; id++) {
		if (!layouts_name(s->layouts, id) && running_type_name(l->running, id, name) &&
		    !layouts_add(s->layouts, id, name))
			return false;
		/* A layout may be declared after its name was opened. */
		if (id >= EVENT_ID_USER && layouts_name(s->layouts, id) && !layouts_text(s->layouts, id)[0] &&
		    running_type_layout(l->running, id, layout) && !layouts_declare(s->layouts, id, layout))
			return false;
	}
	s->generation++;
	return types_renew(s->log, s);
}

/* Tells the process which types nobody wants: the cheapest way for it. */
static void tell_filter(struct source *s)
{
	struct live_source *l = s->live;
	uint64_t unwanted[EVENT_ID_END / 64 + 1] = { 0 };

	l->changes = s->log->filter.changes;
	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++)
		if (s->type[id] && !s->type[id]->wanted)
			unwanted[id / 64] |= UINT64_C(1) << id % 64;
	if (memcmp(unwanted, l->unwanted, sizeof unwanted) == 0)
		return;
	memcpy(l->unwanted, unwanted, sizeof unwanted);
	running_filter(l->running, unwanted);
}

/* Looks at the event types if there are more. Sets log->error if there is no memory. */
static void keep_types(struct source *s)
{
	if (running_types(s->live->running) == s->live->types)
		return;
	if (!live_types(s))
		s->log->error = ENOMEM;
	tell_filter(s);
}

/* -- Events ---------------------------------------------------------------------------------------------------- */

/* Finds out what is the same for all events of a type and a thread. */
static void begin_shape(struct source *s, struct log_event *to, const struct log_event *e)
{
	struct live_source *l = s->live;

	to->id = e->id;
	to->pid = e->pid;
	to->tid = e->tid;
	running_thread_name(l->running, e->pid, e->tid, to->name);
	if (e->pid)
		running_knows(l->running, e->pid);
	/* The process may have named the type as another user, which is noticed only by a look. */
	if (!s->type[e->id] && !live_types(s))
		s->log->error = ENOMEM;
	if (e->pid && tasks_room(s->log, s, e) && !look_at_image(s, e->pid, e->time, e->address))
		s->log->error = ENOMEM;
	if (e->pid == s->in.header.target)
		s->about.name = executable(s, e->pid);
	s->shape[((size_t)to - (size_t)s->in.unpack->shape_of) / sizeof(struct unpack_shape)].generation = 0;
}

static void forget_shapes(struct source *s, uint64_t time)
{
	s->live->renewed = time;
	for (unsigned i = 0; i < SHAPES_MAX; i++)
		s->in.unpack->shape_of[i].event.id = 0;
}

/* Returns where events of this type and thread are kept. */
static struct log_event *shape_for(struct source *s, const struct log_event *e)
{
	uint64_t hash = ((uint64_t)e->id << 32 ^ e->tid) * UINT64_C(0x9e3779b97f4a7c15) ^ e->pid;
	unsigned first = (unsigned)(hash * UINT64_C(0xd1b54a32d192ed03) >> 40);

	if (e->time > s->live->renewed && e->time - s->live->renewed > SHAPES_NS)
		forget_shapes(s, e->time);
	for (unsigned i = 0; i < TRIES; i++) {
		struct log_event *to = &s->in.unpack->shape_of[(first + i) % SHAPES_MAX].event;

		if (to->id == e->id && to->tid == e->tid && to->pid == e->pid)
			return to;
		if (!to->id) {
			begin_shape(s, to, e);
			return to;
		}
	}
	forget_shapes(s, e->time);
	return shape_for(s, e);
}

/* Gets the next event of the stream. */
static enum running_result next(struct live_source *l, struct log_event *e, const unsigned char **data)
{
	if (!l->is_ahead)
		return running_next(l->running, e, data);
	l->is_ahead = false;
	*e = l->ahead;
	*data = l->ahead_data;
	return RUNNING_EVENT;
}

/* Queues a loss of the events that were lost since the last one. until 0: unknown. */
static void queue_lost(struct source *s, uint64_t until)
{
	struct live_source *l = s->live;
	uint64_t lost = running_lost(l->running);

	if (lost > l->lost)
		missing_queue(s, POSIXTRACE_LOG_LOST, false, lost - l->lost, missing_after(s), until);
	if (lost > l->lost)
		l->lost = s->about.lost = lost;
}

/* Queues the loss that an OVERFLOW reports. The RESUME after it has the time of the next event. */
static void overflow(struct source *s, const struct log_event *e)
{
	struct live_source *l = s->live;

	l->is_ahead = running_next(l->running, &l->ahead, &l->ahead_data) == RUNNING_EVENT;
	queue_lost(s, l->is_ahead ? l->ahead.time : 0);
	s->loss_time = e->time;
}

static void take(struct source *s, const struct log_event *e, const unsigned char *data)
{
	struct live_source *l = s->live;
	struct log_event *to;

	if (l->until_types == 0) {
		keep_types(s);
		l->until_types = EVENTS_BETWEEN;
	}
	l->until_types--;
	to = shape_for(s, e);
	if (e->id == POSIX_TRACE_OVERFLOW)
		overflow(s, e);
	to->truncated = e->truncated;
	to->pthread = e->pthread;
	to->address = e->address;
	to->time = e->time;
	to->length = e->length;
	s->data = data;
	s->event = to;
	s->read++;
}

/* Queues what is missing at the end. broken: the process has taken the memory away. */
static void finish(struct source *s, bool broken)
{
	if (!broken)
		queue_lost(s, 0);
	else
		missing_queue(s, POSIXTRACE_LOG_DAMAGED, true, 0, missing_after(s), 0);
	s->loss_time = missing_after(s);
	s->finished = true;
	s->about.ended = 1;
	s->about.complete = s->about.closed = !broken;
}

void live_look(struct source *s)
{
	struct live_source *l = s->live;
	enum running_result result;
	const unsigned char *data;
	struct log_event e;
	uint64_t now;

	if (s->event)
		s->last = s->event->time;
	s->event = NULL;
	if (s->finished)
		return;
	if (l->changes != s->log->filter.changes)
		tell_filter(s);
	now = s->log->sources > 1 ? running_now(l->running) : 0;
	result = next(l, &e, &data);
	if (result == RUNNING_NONE) {
		keep_types(s);
		l->until_types = 0;
		l->looked = now ? now : running_now(l->running);
		/* An event may have come before the end. */
		if (running_ended(l->running)) {
			result = next(l, &e, &data);
			if (result == RUNNING_NONE)
				finish(s, running_broken(l->running));
		}
	}
	if (result == RUNNING_EVENT)
		take(s, &e, data);
	else if (result == RUNNING_BROKEN)
		finish(s, true);
	else if (result == RUNNING_FORKED)
		l->forked = s->finished = true;
}

bool live_waits(const struct source *s)
{
	return s->live && !s->finished && !s->event && s->loss_count == 0;
}

bool live_settled(const struct source *s, uint64_t time)
{
	return s->live->looked >= time + LIVE_SETTLES;
}

bool live_settles(const struct source *s, uint64_t time)
{
	return running_now(s->live->running) >= time + LIVE_SETTLES;
}

bool live_forked(const struct source *s)
{
	return s->live && s->live->forked;
}

/* -- Waiting ------------------------------------------------------------------------------------------------------ */

int64_t live_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * (int64_t)NS_IN_S + now.tv_nsec;
}

/*
 * The process is never asked to wake the reader, which would cost it a system call for an event. After an event the
 * naps are short.
 */
int live_sleep(struct posixtrace_log *log, int64_t deadline)
{
	struct pollfd fds[SLEEP_FDS];
	struct timespec nap;
	nfds_t count = 0;
	int64_t left;

	log->nap = log->nap ? 2 * log->nap : NAP_LEAST;
	if (log->nap > NAP_MOST)
		log->nap = NAP_MOST;
	left = deadline == INT64_MAX ? INT64_MAX : deadline - live_clock();
	left = left < 0 ? 0 : left < (int64_t)log->nap ? left : (int64_t)log->nap;
	nap = (struct timespec){ 0, (long)left };
	for (size_t i = 0; i < log->sources && count < SLEEP_FDS; i++)
		if (live_waits(log->source[i]))
			fds[count++] = (struct pollfd){ .fd = running_end_fd(log->source[i]->live->running),
				                        .events = POLLIN };
	if (ppoll(fds, count, &nap, NULL) < 0 && errno == EINTR)
		return error_say(EINTR, "a signal handler has run while events were waited for");
	return 0;
}
