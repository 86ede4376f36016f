/*
 * sources.c - reads several logs together, ordered by time
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/sources.h"

#include <stdlib.h>
#include <string.h>

#include "base/ticks.h"
#include "common/message.h"
#include "logs/declared.h"
#include "logs/unfinished.h"

/* Limit on how much later than the next one an event may be: clocks of processors differ, though by far less. */
#define DISORDER (UINT64_C(1) * NS_PER_S)

/* -- Opening --------------------------------------------------------------------------------- */

static void open_source(struct sources *all, struct source *s, const char *path, bool symbols)
{
	uint64_t created;

	s->index = (unsigned)(s - all->source);
	s->file = logfile_open(path);
	s->path = s->file->path;
	s->layouts = layouts_of(&s->file->in);
	if (!s->layouts)
		fail("no memory");
	if (symbols)
		s->symbols = symbols_of(s->file);
	created = logfile_created(s->file);
	if (all->begin == 0 || created < all->begin)
		all->begin = created;
}

void sources_open(struct sources *all, const struct match *m, bool symbols, int count, char **paths)
{
	static char *standard[] = { (char *)LOGFILE_DEFAULT };

	if (count == 0) {
		count = 1;
		paths = standard;
	}
	*all = (struct sources){ .count = (unsigned)count, .source = calloc((size_t)count, sizeof *all->source) };
	if (!all->source)
		fail("no memory");
	for (unsigned i = 0; i < all->count; i++)
		open_source(all, &all->source[i], paths[i], symbols);
	for (unsigned i = 0; i < all->count; i++) {
		struct source *s = &all->source[i];

		s->match = match_copy(m);
		match_origin(s->match, all->begin);
		match_begin(s->match, s->file);
	}
}

void sources_declared(const struct sources *all)
{
	const char **paths = calloc(all->count, sizeof *paths);

	if (!paths)
		fail("no memory");
	for (unsigned i = 0; i < all->count; i++) {
		declared_say(all->source[i].layouts, all->source[i].path);
		paths[i] = all->source[i].path;
	}
	for (unsigned i = 0; i < all->count; i++) {
		unfinished_say(all->source[i].file);
		unfinished_say_beside(all->source[i].file, paths, all->count);
	}
	free((void *)paths);
}

void sources_close(struct sources *all)
{
	for (unsigned i = 0; i < all->count; i++)
		logfile_close(all->source[i].file);
}

/* -- Reading --------------------------------------------------------------------------------- */

/* Ends the source at an event so late that no selected event can follow. */
static bool check_end(struct source *s)
{
	if (s->event && s->event->time > match_last(s->match) && s->event->time - match_last(s->match) > DISORDER)
		s->event = NULL;
	return s->event != NULL;
}

void source_advance(struct source *s)
{
	s->event = logfile_next(s->file, &s->data);
	check_end(s);
}

void sources_rewind(struct sources *all)
{
	for (unsigned i = 0; i < all->count; i++) {
		logfile_rewind(all->source[i].file);
		source_advance(&all->source[i]);
	}
}

struct source *sources_oldest(const struct sources *all)
{
	struct source *s = NULL;

	if (all->count == 1)
		return all->source->event ? all->source : NULL;
	for (unsigned i = 0; i < all->count; i++)
		if (all->source[i].event && (!s || all->source[i].event->time < s->event->time))
			s = &all->source[i];
	return s;
}

bool source_tells_of_loss(const struct source *s)
{
	return s->event->id == POSIX_TRACE_OVERFLOW || s->event->id == POSIX_TRACE_RESUME;
}

/*
 * Returns whether the event is a STOP of a full stream: the STOP marks missing events, and is not only about the
 * recording.
 */
static bool stopped_by_itself(const struct source *s)
{
	int by_itself = 0;

	if (s->event->id != POSIX_TRACE_STOP || s->event->length < sizeof by_itself)
		return false;
	memcpy(&by_itself, s->data, sizeof by_itself);
	return by_itself != 0;
}

bool source_wanted(const struct source *s)
{
	if (match_hides(s->match, s->event->id) && stopped_by_itself(s) && !match_wanted(s->match, 0))
		return match_time(s->match, s->event);
	return source_tells_of_loss(s) ? match_time(s->match, s->event) : match_event(s->match, s->event, s->data);
}

struct loss source_take_loss(struct source *s)
{
	struct loss loss = { .from = s->event->time };
	bool ends = s->event->id == POSIX_TRACE_RESUME, more;

	loss.resumed = ends;
	loss.wanted = match_time(s->match, s->event);
	if (logfile_at_end_gap(s->file, s->event) && s->event->length)
		memcpy(&loss.unwritten, s->data, sizeof loss.unwritten);
	s->event = logfile_next(s->file, &s->data);
	/* A RESUME without its OVERFLOW, which was filtered out, does not tell how long the loss lasted. */
	if (!ends && s->event && s->event->id == POSIX_TRACE_RESUME) {
		loss.until = s->event->time > loss.from ? s->event->time : loss.from;
		s->event = logfile_next(s->file, &s->data);
	}
	more = check_end(s);
	/* The loss may have begun before the selected period. */
	loss.wanted |= loss.until > match_first(s->match) && loss.from <= match_last(s->match);
	loss.wanted &= more || !ends;
	return loss;
}
