/*
 * watch.c - reads and counts the events of a running program
 *
 * SPDX-License-Identifier: MIT
 */
#include "live/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "event/suggest.h"
#include "process/explain.h"
#include "process/threadnames.h"
#include "process/traceable.h"

/* Room for 20 ms at 10 million events per second. If /dev/shm is too small, a sixteenth is used. */
#define STREAM_BYTES (8u << 20)
#define BATCH 256 /* events between two reads of the clock */

/* -- Begin and end -------------------------------------------------------------------------- */

void watch_explain(pid_t pid, int error)
{
	const char *remedy;
	char why[96];

	switch (error) {
	case ESRCH:
		fail("%d: there is no such process", (int)pid);
	case EPERM:
		explain_permission(pid, why, &remedy);
		fail("%d may not be traced: %s: %s", (int)pid, why, remedy);
	case EAGAIN:
		fail("%d: this user has the maximum number of streams; 'posixtrace list' shows them", (int)pid);
	case ENOENT:
		fail("%d: there is no /dev/shm, where streams are created", (int)pid);
	case ENOMEM:
		fail("%d: no space for a stream in /dev/shm, or no memory", (int)pid);
	case EINVAL:
		fail("%d cannot be traced: its files in /dev/shm are damaged, or of another version of the library; "
		     "'posixtrace doctor -p %d' may tell more", (int)pid, (int)pid);
	default:
		fail("%d: %s; 'posixtrace doctor' may tell more", (int)pid, strerror(error));
	}
}

static int create(struct watch *w, trace_attr_t *attr)
{
	int error;

	posix_trace_attr_setstreamsize(attr, STREAM_BYTES);
	error = posix_trace_create(w->pid, attr, &w->trid);
	if (error == ENOMEM) {
		posix_trace_attr_setstreamsize(attr, STREAM_BYTES / 16);
		error = posix_trace_create(w->pid, attr, &w->trid);
	}
	return error;
}

/* Returns the actual size of the stream in bytes. */
static uint64_t stream_size(trace_id_t trid)
{
	trace_attr_t attr;
	size_t size = 0;

	if (posix_trace_attr_init(&attr) != 0 || posix_trace_get_attr(trid, &attr) != 0)
		return 0;
	posix_trace_attr_getstreamsize(&attr, &size);
	posix_trace_attr_destroy(&attr);
	return size;
}

int watch_begin(struct watch *w, pid_t pid, bool children, struct match *only)
{
	trace_attr_t attr;
	int error;

	memset(w, 0, sizeof *w);
	w->pid = pid;
	w->only = only;
	w->began = (uint64_t)clock_ns(CLOCK_REALTIME);
	posix_trace_attr_init(&attr);
	posix_trace_attr_setname(&attr, "posixtrace live");
	posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP);
	posix_trace_attr_setmaxdatasize(&attr, LATEST_DATA);
	posix_trace_attr_setinherited(&attr, children ? POSIX_TRACE_INHERITED : POSIX_TRACE_CLOSE_FOR_CHILD);
	error = create(w, &attr);
	posix_trace_attr_destroy(&attr);
	w->looked = watch_now();
	w->types = typenames_new();
	w->rates = rates_new(w->looked);
	if (error == 0 && (!w->types || !w->rates || latest_init(&w->latest) != 0))
		error = ENOMEM;
	if (error == 0) {
		w->stream_size = stream_size(w->trid);
		watch_look(w, w->looked); /* unwanted types are filtered out before the stream starts */
		error = posix_trace_start(w->trid);
	}
	return error;
}

void watch_end(struct watch *w)
{
	posix_trace_shutdown(w->trid);
	rates_free(w->rates);
	latest_free(&w->latest);
}

/* -- Reading -------------------------------------------------------------------------------- */

static uint64_t lost_until_now(struct watch *w)
{
	struct posix_trace_status_info status;

	if (posix_trace_get_status(w->trid, &status) != 0)
		return w->lost_before;
	return status.__posix_lost_events;
}

/* Returns the number of events lost since the previous OVERFLOW. */
static uint64_t lost_here(struct watch *w)
{
	uint64_t lost = lost_until_now(w), here = lost - w->lost_reported;

	w->lost_reported = lost;
	return here;
}

static void look_at_types(struct watch *w);

/* Returns whether --where selects the event. */
static bool satisfies(struct watch *w, const struct latest_event *e)
{
	const struct posix_trace_event_info *info = &e->info;
	struct log_event event = {
		.id = info->posix_event_id, .pid = (uint32_t)info->posix_pid, .tid = (uint32_t)info->__posix_kernel_tid,
		.truncated = info->posix_truncation_status != POSIX_TRACE_NOT_TRUNCATED,
		.address = (uint64_t)(uintptr_t)info->posix_prog_address,
		.time = (uint64_t)info->posix_timestamp.tv_sec * NS_PER_S + (uint64_t)info->posix_timestamp.tv_nsec,
		.length = (uint32_t)e->length,
	};
	struct question *where = match_where(w->only);

	if (event.id >= EVENT_ID_END)
		return false;
	/* The type is newer than the last look. */
	if (!w->types->known[event.id])
		look_at_types(w);
	if (where->truth[event.id] != QUESTION_ASK)
		return where->truth[event.id] == TRUTH_TRUE;
	if (where->asks_thread)
		snprintf(event.name, sizeof event.name, "%s",
		         threadnames_get(info->posix_pid, info->__posix_kernel_tid));
	return question_ask(where, &event, e->data);
}

/* Returns whether the event is none that the view has to show. Losses are shown in any case. */
static bool hidden(struct watch *w, const struct latest_event *e)
{
	uint32_t id = e->info.posix_event_id;

	return match_hides(w->only, id) || (match_where(w->only) && id != POSIX_TRACE_OVERFLOW &&
	                                    id != POSIX_TRACE_RESUME && !satisfies(w, e));
}

bool watch_read(struct watch *w, uint64_t patience)
{
	uint64_t end = watch_now() + patience;
	struct latest_event *e;
	int none = 0, error;

	do {
		for (unsigned i = 0; i < BATCH; i++) {
			e = latest_next(&w->latest);
			error = posix_trace_trygetnext_event(w->trid, &e->info, e->data, sizeof e->data, &e->length,
			                                     &none);
			if (error != 0 || none) {
				w->broken |= error == EINVAL;
				return false;
			}
			if (hidden(w, e))
				continue;
			rates_add(w->rates, e->info.posix_event_id, e->length);
			if (e->info.posix_event_id == POSIX_TRACE_OVERFLOW)
				e->lost = lost_here(w);
			if (!w->frozen && !w->unwanted[e->info.posix_event_id % EVENT_ID_END])
				latest_keep(&w->latest);
		}
	} while (watch_now() < end);
	return true;
}

/* -- Looks ---------------------------------------------------------------------------------- */

/* Compiles --where for the event types that are known now. */
static void ask(struct watch *w)
{
	bool wanted[EVENT_ID_END] = { false };

	for (uint32_t id = 1; id < w->types->end; id++)
		wanted[id] = w->types->known[id] && match_name(w->only, typenames_name(w->types, id)) &&
		             !match_hides(w->only, id);
	question_begin(match_where(w->only), w->types->layouts, w->began, wanted);
}

/* Returns whether no event of the type can satisfy --where. */
static bool never(const struct watch *w, uint32_t id)
{
	const struct question *where = match_where(w->only);

	return where && where->truth[id] < TRUTH_TRUE;
}

/* Lets the stream filter out unwanted event types: the cheapest way for the program. */
static void filter_out(struct watch *w)
{
	trace_event_set_t set;

	posix_trace_eventset_empty(&set);
	for (uint32_t id = EVENT_ID_USER; id < w->types->end; id++)
		if (w->types->known[id] && (!match_name(w->only, typenames_name(w->types, id)) || never(w, id)))
			posix_trace_eventset_add(id, &set);
	posix_trace_set_filter(w->trid, &set, POSIX_TRACE_SET_EVENTSET);
}

/* Finds out whether the patterns of the command line match any event type, and prepares the message if not. */
static void look_for_wanted(struct watch *w)
{
	const char *first = match_wanted(w->only, 0), *there;
	struct suggest names = { 0 };
	bool some = false;

	for (uint32_t id = 1; id < w->types->end; id++) {
		if (!w->types->known[id])
			continue;
		some |= match_name(w->only, typenames_name(w->types, id));
		if (id > POSIX_TRACE_UNNAMED_USEREVENT)
			suggest_add(&names, typenames_name(w->types, id));
	}
	free(w->missing);
	w->missing = NULL;
	there = suggest_text(&names, first ? first : "");
	if (!some && there && asprintf(&w->missing, "-e %s: no event type has that name; there are %s",
	                               first ? first : "'!...'", there) < 0)
		fail("no memory");
	free((char *)there);
	suggest_free(&names);
}

static void look_at_name(struct watch *w)
{
	char name[COMMAND_SIZE];

	process_name((uint32_t)w->pid, name);
	if (name[0])
		strcpy(w->command, name);
}

static void names_changed(struct watch *w)
{
	for (uint32_t id = 1; id < w->types->end; id++) {
		const char *name = typenames_name(w->types, id);

		/* Reports of losses are always shown. */
		w->unwanted[id] = w->shown && id != POSIX_TRACE_OVERFLOW && id != POSIX_TRACE_RESUME &&
		                  !match_name(w->shown, name);
	}
}

void watch_keep(struct watch *w, const struct match *shown)
{
	w->shown = shown;
	names_changed(w);
}

void watch_freeze(struct watch *w, bool frozen)
{
	w->frozen = frozen;
}

void watch_reset(struct watch *w, uint64_t time)
{
	rates_reset(w->rates, time);
	w->lost_at_reset = w->lost_reported = lost_until_now(w);
	w->lost = 0;
}

/* Returns whether nothing has come except the start of the stream, and the process does not use the library. */
static bool says_nothing(const struct watch *w)
{
	struct traceable t;

	return !w->ended && w->types->end <= EVENT_ID_USER && rates_of(w->rates, RATES_ALL).sum.events <= 1 &&
	       traceable_look(w->pid, &t) && !t.attached;
}

static void look_at_types(struct watch *w)
{
	if (!typenames_look(w->types, w->trid))
		return;
	names_changed(w);
	if (match_where(w->only)) {
		/* New types may be those of another executable. */
		look_at_name(w);
		question_process(match_where(w->only), (uint32_t)w->pid, w->command);
		ask(w);
	}
	filter_out(w);
	look_for_wanted(w);
}

void watch_look(struct watch *w, uint64_t time)
{
	uint64_t lost = lost_until_now(w);

	look_at_types(w);
	/* Read the name once more at the end: the process may have been short-lived. */
	if (!w->ended || !w->end_seen)
		look_at_name(w);
	if (match_where(w->only))
		question_process(match_where(w->only), (uint32_t)w->pid, w->command);
	w->end_seen = w->ended;
	if (time > w->looked)
		w->lost_per_s = (double)(lost - w->lost_before) * 1e9 / (double)(time - w->looked);
	w->looked = time;
	w->lost_before = lost;
	w->lost = lost - w->lost_at_reset;
	rates_look(w->rates, time);
	w->silent = says_nothing(w);
}
