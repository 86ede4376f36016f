/*
 * trigger.c - waits for an event while the recording goes on
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/trigger.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>
#include <unistd.h>

#include "base/ticks.h"
#include "common/message.h"
#include "model/data_layout.h"

#define STREAM_SIZE (256 << 10)
#define PATIENCE 5 /* seconds */

struct trigger {
	const struct match *match;
	trace_id_t trid;
	pthread_t thread;
	unsigned source;
	int fd;
};

static void notify(const struct trigger *t, const struct posix_trace_event_info *e, const char *name)
{
	struct trigger_event event = { .source = t->source };
	size_t n = layout_name(name);

	event.time = (uint64_t)e->posix_timestamp.tv_sec * NS_PER_S + (uint64_t)e->posix_timestamp.tv_nsec;
	memcpy(event.name, name, n);
	if (write(t->fd, &event, sizeof event) < 0)
		return; /* the pipe is full of triggers already */
}

/* Reads the stream until its STOP event, which comes after all recorded events, or until it is shut down. */
static void *run(void *arg)
{
	struct trigger *t = arg;
	struct posix_trace_event_info e;
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_set_t set;
	char data; /* unused: no data is recorded */
	size_t length;
	int none;

	while (posix_trace_getnext_event(t->trid, &e, &data, 0, &length, &none) == 0) {
		if (!none && e.posix_event_id == POSIX_TRACE_STOP)
			break;
		if (none || posix_trace_eventid_get_name(t->trid, e.posix_event_id, name) != 0)
			continue;
		if (match_name(t->match, name)) {
			notify(t, &e, name);
			continue;
		}
		posix_trace_eventset_empty(&set);
		posix_trace_eventset_add(e.posix_event_id, &set);
		posix_trace_set_filter(t->trid, &set, POSIX_TRACE_ADD_EVENTSET);
	}
	return NULL;
}

static int create(struct trigger *t, pid_t pid, bool children)
{
	trace_event_set_t system;
	trace_attr_t attr;
	int error;

	posix_trace_attr_init(&attr);
	posix_trace_attr_setname(&attr, "trigger");
	posix_trace_attr_setstreamsize(&attr, STREAM_SIZE);
	posix_trace_attr_setmaxdatasize(&attr, 0);
	posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP);
	posix_trace_attr_setinherited(&attr, children ? POSIX_TRACE_INHERITED : POSIX_TRACE_CLOSE_FOR_CHILD);
	error = posix_trace_create(pid, &attr, &t->trid);
	posix_trace_attr_destroy(&attr);
	if (error)
		return error;
	posix_trace_eventset_fill(&system, POSIX_TRACE_SYSTEM_EVENTS);
	posix_trace_set_filter(t->trid, &system, POSIX_TRACE_SET_EVENTSET);
	error = posix_trace_start(t->trid);
	if (error == 0)
		error = pthread_create(&t->thread, NULL, run, t);
	if (error)
		posix_trace_shutdown(t->trid);
	return error;
}

struct trigger *trigger_start(pid_t pid, bool children, const struct match *m, unsigned source, int fd)
{
	struct trigger *t = malloc(sizeof *t);
	int error;

	if (!t)
		fail("no memory");
	*t = (struct trigger){ .match = m, .source = source, .fd = fd };
	error = create(t, pid, children);
	if (error == 0)
		return t;
	complain("--trigger: cannot create its stream: %s", strerror(error));
	free(t);
	return NULL;
}

void trigger_end(struct trigger *t)
{
	struct timespec limit;
	trace_event_set_t stop;

	if (!t)
		return;
	posix_trace_eventset_empty(&stop);
	posix_trace_eventset_add(POSIX_TRACE_STOP, &stop);
	posix_trace_set_filter(t->trid, &stop, POSIX_TRACE_SUB_EVENTSET);
	posix_trace_stop(t->trid);
	/* The STOP event arrives, unless a broken process has damaged the shared memory. */
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += PATIENCE;
	if (pthread_timedjoin_np(t->thread, NULL, &limit) == 0) {
		posix_trace_shutdown(t->trid);
	} else {
		posix_trace_shutdown(t->trid);
		pthread_join(t->thread, NULL);
	}
	free(t);
}
