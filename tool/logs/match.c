/*
 * match.c - selects events by name, process, thread, time and fields
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/match.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ticks.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/options.h"
#include "model/data_layout.h"

struct patterns {
	unsigned count;
	const char **pattern;
};

struct numbers {
	unsigned count;
	uint32_t *number;
};

/* Size of the cache of results for thread names, indexed by a hash of the name. */
#define THREADS 256

struct match {
	struct patterns events, threads;
	struct numbers pids, tids;
	const char *from, *to; /* as given */
	const char *to_name;   /* name of the option for to: "to" or "until" */
	bool system;           /* --system */
	struct question *where; /* null: not given */
	bool hides;            /* events of the recording itself are hidden */
	uint64_t origin;       /* 0: the log's creation */
	/* For the current log: */
	uint64_t first, last; /* times; both are selected */
	bool type[EVENT_ID_END];
	struct {
		char name[16];
		bool known, wanted;
	} thread[THREADS];
};

/* -- Options --------------------------------------------------------------------------------- */

static void *more(void *list, size_t size)
{
	list = realloc(list, size);
	if (!list)
		fail("no memory");
	return list;
}

static void add_pattern(struct patterns *p, const char *pattern)
{
	p->pattern = more(p->pattern, (p->count + 1) * sizeof *p->pattern);
	p->pattern[p->count++] = pattern;
}

char *match_pattern(const char *text)
{
	char *pattern = strndup(text, layout_name(text));

	if (!pattern)
		fail("no memory");
	return pattern;
}

static void add_number(struct numbers *n, const char *option, const char *text)
{
	n->number = more(n->number, (n->count + 1) * sizeof *n->number);
	n->number[n->count++] = (uint32_t)argument_number(option, text, 0, INT_MAX);
}

struct match *match_new(void)
{
	struct match *m = calloc(1, sizeof *m);

	if (!m)
		fail("no memory");
	return m;
}

struct match *match_copy(const struct match *m)
{
	struct match *copy = match_new();

	memcpy(copy, m, sizeof *m);
	if (m->where)
		copy->where = question_copy(m->where);
	return copy;
}

/* Any day will do except 1970-01-01, which began before the Epoch in half of the world. */
#define SOME_DAY (365 * 86400 * (uint64_t)NS_PER_S)

/* Checks the time when the option is read, not after a log has been read for minutes. */
static const char *checked_time(const char *option, const char *text)
{
	uint64_t t;

	if (!moment_parse(text, SOME_DAY, &t))
		wrong_usage("--%s %s: not a time, such as 1.5s, 14:30:05 or '2026-11-21 14:30'", option, text);
	return text;
}

bool match_option(struct match *m, int option, const char *argument)
{
	switch (option) {
	case 'e':
		add_pattern(&m->events, match_pattern(argument));
		return true;
	case MATCH_PID:
		add_number(&m->pids, "--pid", argument);
		return true;
	case MATCH_TID:
		add_number(&m->tids, "--tid", argument);
		return true;
	case MATCH_THREAD:
		add_pattern(&m->threads, argument);
		return true;
	case MATCH_FROM:
		m->from = checked_time("from", argument);
		return true;
	case MATCH_WHERE:
		if (m->where)
			wrong_usage("--where: only once; use && for several conditions");
		m->where = question_new("--where", argument, true);
		return true;
	case MATCH_SYSTEM:
		m->system = true;
		return true;
	case MATCH_TO:
		m->to_name = option_name();
		m->to = checked_time(m->to_name, argument);
		return true;
	default:
		return false;
	}
}

void match_hide_system(struct match *m)
{
	const char *pattern;

	m->hides = !m->system;
	for (unsigned i = 0; (pattern = match_wanted(m, i)) != NULL; i++)
		if (strncmp(pattern, "posix_", 6) == 0)
			m->hides = false;
}

bool match_hides_system(const struct match *m, uint32_t id)
{
	return m->hides && (id == POSIX_TRACE_START || id == POSIX_TRACE_STOP || id == POSIX_TRACE_FILTER ||
	                    id == POSIX_TRACE_FLUSH_START || id == POSIX_TRACE_FLUSH_STOP);
}

bool match_given(const struct match *m)
{
	return m->events.count || m->threads.count || m->pids.count || m->tids.count || m->from || m->to ||
	       m->where;
}

bool match_all_user(const struct match *m)
{
	return !match_given(m);
}

bool match_all(const struct match *m)
{
	return !m->hides && match_all_user(m);
}

/* -- Names -------------------------------------------------------------------------------------- */

/* The last matching pattern decides. */
static bool wanted(const struct patterns *p, const char *name)
{
	for (unsigned i = p->count; i-- > 0;) {
		const char *pattern = p->pattern[i];
		bool without = *pattern == '!';

		if (fnmatch(pattern + without, name, 0) == 0)
			return !without;
	}
	return p->count == 0 || *p->pattern[0] == '!';
}

bool match_name(const struct match *m, const char *name)
{
	char bare[TRACE_EVENT_NAME_MAX + 1];
	size_t length = layout_name(name);

	if (m->events.count == 0)
		return true;
	if (length >= sizeof bare)
		length = sizeof bare - 1;
	memcpy(bare, name, length);
	bare[length] = 0;
	return wanted(&m->events, bare);
}

const char *match_wanted(const struct match *m, unsigned index)
{
	for (unsigned i = 0; i < m->events.count; i++)
		if (*m->events.pattern[i] != '!' && index-- == 0)
			return m->events.pattern[i];
	return NULL;
}

static bool has(const struct numbers *n, uint32_t number)
{
	for (unsigned i = 0; i < n->count; i++)
		if (n->number[i] == number)
			return true;
	return n->count == 0;
}

static bool match_thread(struct match *m, const struct log_event *e)
{
	uint64_t word[2], hash;
	unsigned i;

	memcpy(word, e->name, sizeof word);
	hash = (word[0] ^ word[1] * 3) * UINT64_C(0x9e3779b97f4a7c15);
	i = (unsigned)(hash >> 56) % THREADS;
	if (!m->thread[i].known || memcmp(m->thread[i].name, e->name, sizeof e->name) != 0) {
		m->thread[i].known = true;
		memcpy(m->thread[i].name, e->name, sizeof e->name);
		m->thread[i].wanted = wanted(&m->threads, e->name);
	}
	return m->thread[i].wanted;
}

/* -- Events -------------------------------------------------------------------------------------- */

void match_origin(struct match *m, uint64_t time)
{
	m->origin = time;
}

void match_begin(struct match *m, struct logfile *f)
{
	uint64_t begin = m->origin ? m->origin : logfile_created(f), end = UINT64_MAX;

	m->first = 0;
	if ((m->from && !moment_parse(m->from, begin, &m->first)) || (m->to && !moment_parse(m->to, begin, &end)))
		fail("%s: its time is out of range", f->path);
	if (m->from && m->to && m->first >= end)
		wrong_usage("--from %s is not before --%s %s", m->from, m->to_name, m->to);
	m->last = end < UINT64_MAX && end > 0 ? end - 1 : end;
	if (end == 0)
		m->first = 1; /* no event is before that */
	for (uint32_t id = 0; id < EVENT_ID_END; id++)
		m->type[id] = match_name(m, logfile_type(f, id)) && !match_hides(m, id);
	if (m->where)
		question_log(m->where, f, begin, m->type);
}

bool match_type(const struct match *m, uint32_t id)
{
	return m->type[id];
}

bool match_time(const struct match *m, const struct log_event *e)
{
	return e->time >= m->first && e->time <= m->last;
}

const char *match_times(const struct match *m, char text[MATCH_TIMES])
{
	snprintf(text, MATCH_TIMES, "%s%s%s%s", m->from ? "at or after --from" : "", m->from && m->to ? ", and " : "",
	         m->to ? "before --" : "", m->to ? m->to_name : "");
	return text;
}

uint64_t match_first(const struct match *m)
{
	return m->first;
}

uint64_t match_last(const struct match *m)
{
	return m->last;
}

bool match_event(struct match *m, const struct log_event *e, const unsigned char *data)
{
	return match_time(m, e) && m->type[e->id] && has(&m->pids, e->pid) && has(&m->tids, e->tid) &&
	       (m->threads.count == 0 || match_thread(m, e)) && (!m->where || question_true(m->where, e, data));
}

struct question *match_where(const struct match *m)
{
	return m->where;
}

unsigned match_kinds(struct match *m, const struct log_event *e, const unsigned char *data)
{
	unsigned kinds = m->type[e->id] ? MATCHES_EVENT : 0;

	kinds |= has(&m->pids, e->pid) ? MATCHES_PID : 0;
	kinds |= has(&m->tids, e->tid) ? MATCHES_TID : 0;
	kinds |= m->threads.count == 0 || match_thread(m, e) ? MATCHES_THREAD : 0;
	kinds |= !m->where || question_true(m->where, e, data) ? MATCHES_WHERE : 0;
	return kinds | (match_time(m, e) ? MATCHES_TIME : 0);
}
