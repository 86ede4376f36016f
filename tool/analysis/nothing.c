/*
 * nothing.c - says why no event matches the options
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/nothing.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/ticks.h"
#include "common/message.h"
#include "common/moment.h"

/* -- Names of event types ------------------------------------------------------------------ */

void nothing_names(struct suggest *names, const struct logfile *f)
{
	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++)
		if (f->in.type[id])
			suggest_add(names, f->in.name[id]);
}

static bool is_there(const struct sources *all, const char *pattern)
{
	for (unsigned i = 0; i < all->count; i++)
		for (uint32_t id = 1; id < EVENT_ID_END; id++) {
			const char *name = layouts_name(all->source[i].layouts, id);
			char number[16];

			/* Events may have types without a name. */
			if (!name && id >= EVENT_ID_USER) {
				snprintf(number, sizeof number, "?%u", id);
				name = number;
			}
			if (name && fnmatch(pattern, name, 0) == 0)
				return true;
		}
	return false;
}

static void say(const char *option, const char *pattern, struct suggest *names)
{
	const char *there = suggest_text(names, pattern);

	if (strchr(pattern, ',') && strcmp(option, "-e") == 0)
		complain("-e %s: no event type has that name; for several patterns give -e several times", pattern);
	else if (there)
		complain("%s %s: no event type has that name; there are %s", option, pattern, there);
	else
		complain("%s %s: no event type has that name; the log has no event types of programs", option, pattern);
}

bool nothing_matches(const struct sources *all, const struct match *m, const struct spans *spans)
{
	unsigned asked = 0, missing = 0, endless = 0;
	struct suggest names = { 0 };
	const char *pattern;

	for (unsigned i = 0; i < all->count; i++)
		nothing_names(&names, all->source[i].file);
	for (; (pattern = match_wanted(m, asked)) != NULL; asked++)
		if (!is_there(all, pattern)) {
			missing++;
			say("-e", pattern, &names);
		}
	for (unsigned i = 0; spans && i < spans->count; i++) {
		const char *both[] = { spans->span[i]->begin, spans->span[i]->end };
		bool there = true;

		for (unsigned k = 0; k < 2 && both[k]; k++)
			if (!is_there(all, both[k])) {
				there = false;
				say("--span", both[k], &names);
			}
		endless += !there;
	}
	if (match_where(m) && question_say(match_where(m)))
		return true;
	return (asked && missing == asked) || (endless && endless == spans->count);
}

/* -- Processes, threads, times ------------------------------------------------------------------ */

#define LISTED 16

struct list {
	unsigned count;
	char text[LISTED][16];
};

static void list_add(struct list *l, const char *text)
{
	for (unsigned i = 0; i < l->count && i < LISTED; i++)
		if (strncmp(l->text[i], text, sizeof l->text[i] - 1) == 0)
			return;
	if (l->count < LISTED)
		snprintf(l->text[l->count], sizeof l->text[0], "%s", text);
	l->count += l->count <= LISTED;
}

static void list_number(struct list *l, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof text, "%u", number);
	list_add(l, text);
}

static bool list_say(const struct list *l, const char *what)
{
	char text[LISTED * 18 + 8] = "";

	for (unsigned i = 0; i < l->count && i < LISTED; i++) {
		if (i > 0)
			strcat(text, ", ");
		strcat(text, l->text[i]);
	}
	complain("%s; the log has %s%s", what, l->count ? text : "none", l->count > LISTED ? ", ..." : "");
	return true;
}

struct found {
	struct list pids, tids, threads;
	unsigned allowed; /* bits of enum match_kind that some event satisfies */
	uint64_t events, first, last;
};

static void look(struct found *found, struct source *s, const struct log_event *e)
{
	char name[sizeof e->name + 1] = "";

	found->allowed |= match_kinds(s->match, e, s->data);
	if (found->events++ == 0 || e->time < found->first)
		found->first = e->time;
	if (e->time > found->last)
		found->last = e->time;
	if (!e->tid)
		return;
	list_number(&found->pids, e->pid);
	list_number(&found->tids, e->tid);
	memcpy(name, e->name, sizeof e->name);
	list_add(&found->threads, name);
}

static void say_times(const struct sources *all, const struct found *found)
{
	double first = (double)moment_difference(found->first, all->begin);
	double last = (double)moment_difference(found->last, all->begin);
	char times[MATCH_TIMES];

	complain("no event is %s; the log has events from %.9fs to %.9fs after its beginning",
	         match_times(all->source[0].match, times), first / (double)NS_PER_S, last / (double)NS_PER_S);
}

bool nothing_wanted(struct sources *all)
{
	struct found found = { .allowed = 0 };
	bool wrong = false;

	for (unsigned i = 0; i < all->count; i++) {
		struct source *s = &all->source[i];
		const struct log_event *e;

		logfile_rewind(s->file);
		while ((e = logfile_next(s->file, &s->data)) != NULL)
			if (!eventtype_system(e->id))
				look(&found, s, e);
	}
	if (found.events == 0) {
		complain("the log has no events of programs");
		return false;
	}
	if (!(found.allowed & MATCHES_PID))
		wrong |= list_say(&found.pids, "no event is of a process given by --pid");
	if (!(found.allowed & MATCHES_TID))
		wrong |= list_say(&found.tids, "no event is of a thread given by --tid");
	if (!(found.allowed & MATCHES_THREAD))
		wrong |= list_say(&found.threads, "no thread has a name that matches --thread");
	if (!(found.allowed & MATCHES_WHERE))
		complain("no event satisfies --where");
	if (!(found.allowed & MATCHES_TIME))
		say_times(all, &found);
	else if (!wrong && found.allowed & MATCHES_WHERE)
		complain("no event matches all of the options together");
	return wrong;
}
