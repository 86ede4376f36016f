/*
 * filter.c - selects events by name, process, thread and time
 *
 * SPDX-License-Identifier: MIT
 */
#include "filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

void filter_begin(struct filter *f)
{
	*f = (struct filter){ .last = UINT64_MAX };
}

static void free_patterns(struct patterns *p)
{
	for (size_t i = 0; i < p->count; i++)
		free(p->pattern[i]);
	free(p->pattern);
}

void filter_free(struct filter *f)
{
	free_patterns(&f->events);
	free_patterns(&f->threads);
	free(f->pids.number);
	free(f->tids.number);
}

/* The last matching pattern decides. */
bool filter_name(const struct patterns *p, const char *name)
{
	for (size_t i = p->count; i-- > 0;) {
		const char *pattern = p->pattern[i];
		bool without = *pattern == '!';

		if (fnmatch(pattern + without, name, 0) == 0)
			return !without;
	}
	return p->count == 0 || *p->pattern[0] == '!';
}

bool filter_number(const struct numbers *n, uint32_t number)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->number[i] == number)
			return true;
	return n->count == 0;
}

void filter_look_again(struct posixtrace_log *log)
{
	/* A loss is taken out of its source, and returned in any case. */
	if (log->found && !log->current.about.loss) {
		log->found = false;
		log->pending = NULL;
	}
}

void filter_changed(struct posixtrace_log *log)
{
	log->filter.changes++;
	filter_look_again(log);
	for (size_t i = 0; i < log->types.count; i++) {
		struct type *t = log->types.item[i];

		t->wanted = filter_name(&log->filter.events, t->about.name);
	}
	for (size_t i = 0; i < log->sources; i++)
		log->source[i]->generation++;
}

/* -- The interface --------------------------------------------------------------------------------- */

static int add_pattern(struct posixtrace_log *log, struct patterns *p, const char *pattern)
{
	/* A layout behind the name is cut off, so that a name can be given as in the program's source. */
	char *copy = strndup(pattern, p == &log->filter.events ? layout_name(pattern) : strlen(pattern)), **more;

	more = copy ? realloc(p->pattern, (p->count + 1) * sizeof *more) : NULL;
	if (!more) {
		free(copy);
		return error_memory();
	}
	p->pattern = more;
	p->pattern[p->count++] = copy;
	filter_changed(log);
	return 0;
}

int posixtrace_log_only_event(struct posixtrace_log *log, const char *pattern)
{
	return log && pattern ? add_pattern(log, &log->filter.events, pattern) : error_null();
}

int posixtrace_log_only_thread(struct posixtrace_log *log, const char *pattern)
{
	return log && pattern ? add_pattern(log, &log->filter.threads, pattern) : error_null();
}

static int add_number(struct posixtrace_log *log, struct numbers *n, uint32_t number)
{
	uint32_t *more = realloc(n->number, (n->count + 1) * sizeof *more);

	if (!more)
		return error_memory();
	n->number = more;
	n->number[n->count++] = number;
	filter_changed(log);
	return 0;
}

int posixtrace_log_only_pid(struct posixtrace_log *log, uint32_t pid)
{
	return log ? add_number(log, &log->filter.pids, pid) : error_null();
}

int posixtrace_log_only_tid(struct posixtrace_log *log, uint32_t tid)
{
	return log ? add_number(log, &log->filter.tids, tid) : error_null();
}

int posixtrace_log_only_time(struct posixtrace_log *log, uint64_t from, uint64_t until)
{
	if (!log)
		return error_null();
	if (until <= from)
		return error_say(EINVAL, "the end of the time range is not after its beginning");
	filter_look_again(log);
	log->filter.from = from;
	log->filter.last = until == UINT64_MAX ? until : until - 1;
	return 0;
}

int posixtrace_log_only_if(struct posixtrace_log *log,
                           int (*wanted)(const struct posixtrace_log_event *event, void *context), void *context)
{
	if (!log)
		return error_null();
	filter_look_again(log);
	log->filter.wanted = wanted;
	log->filter.context = context;
	return 0;
}

void posixtrace_log_all(struct posixtrace_log *log)
{
	uint64_t changes;

	if (!log)
		return;
	changes = log->filter.changes;
	filter_free(&log->filter);
	filter_begin(&log->filter);
	log->filter.changes = changes;
	filter_changed(log);
}
