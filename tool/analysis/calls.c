/*
 * calls.c - rebuilds the calls of functions from the events of record --functions
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "event/meaning.h"
#include "logs/demangle.h"

/* A function that a thread is in. */
struct active {
	struct calls_node *node;
	uint64_t address, begin;
	uint64_t inner; /* time in functions that it has called */
};

/* A call that was recorded at its end. */
struct whole {
	struct calls_function *function;
	uint64_t begin, end, depth; /* depth: how many functions the thread was in, with this one */
};

struct thread {
	struct lookup_key key;
	struct thread *next; /* of all threads */
	unsigned source;
	uint32_t pid;
	struct calls_node *root;
	struct active *frame;
	size_t frames, room;
	struct whole *whole;
	size_t wholes, whole_room;
	uint64_t last; /* time of the latest event */
};

/* Functions above a new node that are looked at, because a log may be made so that there are millions. */
#define ABOVE_MAX 10000

/* All threads, in any order. */
static struct thread *threads;

enum calls_kind calls_kind(const char *type)
{
	static const char *const names[] = { [CALLS_BEGIN] = "function.begin", [CALLS_END] = "function.end",
	                                     [CALLS_WHOLE] = "function.call", [CALLS_RECORDED] = "functions.recorded" };

	if (!type || strncmp(type, "function", 8) != 0)
		return CALLS_OTHER;
	for (unsigned i = CALLS_BEGIN; i <= CALLS_RECORDED; i++)
		if (strcmp(type, names[i]) == 0)
			return (enum calls_kind)i;
	return CALLS_OTHER;
}

const char *calls_name(const struct symbol *symbol)
{
	if (symbol->symbol)
		return demangle(symbol->symbol);
	return symbol->function ? symbol->function : symbol->text;
}

static void *grow(void *list, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return list;
	*room = *room ? 2 * *room : 16;
	list = realloc(list, *room * size);
	if (!list)
		fail("no memory");
	return list;
}

/* -- Functions --------------------------------------------------------------------------------------- */

/* A name, or a symbol, and its function. */
struct known {
	struct lookup_key key;
	struct calls_function *function;
};

static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0;

	for (; text && *text; text++)
		hash = lookup_mix(hash, (unsigned char)*text);
	return hash;
}

/* Returns the function of the next event. It is the same in all processes that have mapped its file. */
static struct calls_function *function_of(struct calls *c, const struct source *s)
{
	const struct symbol *symbol = symbols_function(s->symbols, s->event->pid, s->event->address, s->event->time);
	struct known *known = lookup(&c->by_symbol, (struct lookup_key){ .first = (uintptr_t)symbol }, sizeof *known);
	struct lookup_key key;
	struct known *same;
	const char *name;

	if (known->function)
		return known->function;
	name = calls_name(symbol);
	key.first = hash_text(name);
	key.second = lookup_mix(hash_text(symbol->image), symbol->offset);
	same = lookup(&c->by_name, key, sizeof *same);
	if (!same->function) {
		size_t room = c->functions;

		same->function = calloc(1, sizeof *same->function);
		if (!same->function)
			fail("no memory");
		/* A power of two is full. */
		if ((room & (room - 1)) == 0)
			c->function = realloc(c->function, (room ? 2 * room : 1) * sizeof *c->function);
		if (!c->function)
			fail("no memory");
		c->function[c->functions++] = same->function;
		same->function->name = name;
		same->function->image = symbol->image;
		same->function->source = symbol->source;
		same->function->line = symbol->line;
	}
	known->function = same->function;
	return known->function;
}

/* -- Nodes ----------------------------------------------------------------------------------------------- */

static struct calls_node *node_of(struct calls *c, struct calls_node *parent, struct calls_function *function,
                                  const char *name)
{
	struct lookup_key key = { .first = function ? (uintptr_t)function : hash_text(name), .second = parent->number };
	struct calls_node *n = lookup(&c->nodes, key, sizeof *n), *above = parent;

	if (n->number)
		return n;
	n->number = ++c->last_node;
	n->function = function;
	n->name = name ? strdup(name) : NULL;
	if (name && !n->name)
		fail("no memory");
	n->parent = parent;
	if (parent->last)
		parent->last->next = n;
	else
		parent->child = n;
	parent->last = n;
	for (unsigned i = 0; i < ABOVE_MAX && above && function && !n->recursive; i++, above = above->parent)
		n->recursive = above->function == function;
	return n;
}

/* Counts a call, and its times. */
static void count(struct calls_node *n, uint64_t total, uint64_t inner)
{
	uint64_t self = total > inner ? total - inner : 0;

	n->calls++;
	n->total += total;
	n->self += self;
	n->function->calls++;
	n->function->self += self;
	if (!n->recursive)
		n->function->total += total;
	histogram_add(&n->function->durations, total);
}

/* -- Threads --------------------------------------------------------------------------------------------- */

static struct thread *thread_of(struct calls *c, const struct source *s)
{
	struct task *task = tasks_thread(&c->tasks, s);
	struct thread *t = lookup(&c->threads, (struct lookup_key){ .first = task->number, .second = s->index },
	                          sizeof *t);

	if (!t->root) {
		t->source = s->index;
		t->pid = s->event->pid;
		t->next = threads;
		threads = t;
		t->root = &c->root;
		if (c->by_thread) {
			char name[sizeof task->name + 1];

			snprintf(name, sizeof name, "%.*s", (int)sizeof task->name, task->name[0] ? task->name : "?");
			t->root = node_of(c, &c->root, NULL, name);
		}
	}
	return t;
}

static void leave(struct thread *t, uint64_t time)
{
	const struct active *f = &t->frame[--t->frames];
	uint64_t total = time > f->begin ? time - f->begin : 0;

	count(f->node, total, f->inner);
	if (t->frames)
		t->frame[t->frames - 1].inner += total;
}

static void leave_all(struct calls *c, struct thread *t, uint64_t time)
{
	c->open += t->frames;
	while (t->frames)
		leave(t, time);
}

static void enter(struct calls *c, struct thread *t, const struct source *s)
{
	struct calls_node *parent = t->frames ? t->frame[t->frames - 1].node : t->root;

	t->frame = grow(t->frame, t->frames, &t->room, sizeof *t->frame);
	t->frame[t->frames++] = (struct active){ .node = node_of(c, parent, function_of(c, s), NULL),
	                                        .address = s->event->address, .begin = s->event->time };
}

/* Ends the innermost call of the function. Those within it have no end of their own. */
static void end(struct calls *c, struct thread *t, const struct source *s)
{
	size_t i = t->frames;

	while (i > 0 && t->frame[i - 1].address != s->event->address)
		i--;
	if (i == 0) {
		c->no_begin++;
		return;
	}
	c->open += t->frames - i;
	while (t->frames >= i)
		leave(t, s->event->time);
}

static void keep_whole(struct calls *c, struct thread *t, const struct source *s)
{
	const struct layout *l = layouts_find(s->layouts, s->event->id);
	uint64_t took, depth = 0;
	unsigned field = l ? layout_find_field(l, "depth", strlen("depth")) : 0;

	if (!l || !l->meaning.took || meaning_took(l, s->data, s->event->length, &took) != TOOK)
		return;
	if (field < l->count)
		meaning_integer(l, field + 1, s->data, s->event->length, &depth);
	t->whole = grow(t->whole, t->wholes, &t->whole_room, sizeof *t->whole);
	t->whole[t->wholes++] = (struct whole){ .function = function_of(c, s), .end = s->event->time,
		.begin = took < s->event->time ? s->event->time - took : 0, .depth = depth };
}

/* A call that was recorded at its end, and is being placed. */
struct placed {
	const struct whole *whole;
	struct calls_node *node;
	uint64_t inner;
};

/*
 * Returns whether a call is within a later one. Durations and the times of events come from two clocks, which may
 * differ by some millionths.
 */
static bool is_within(const struct whole *w, const struct whole *outer)
{
	return w->depth > outer->depth && w->end + (outer->end - outer->begin) / 1000 >= outer->begin;
}

static void count_placed(const struct placed *p)
{
	count(p->node, p->whole->end - p->whole->begin, p->inner);
}

/*
 * Makes the tree of calls that were recorded at their ends: those within a call come before it, and are deeper. From
 * the last one to the first, each one is within the nearest that is less deep, unless events are missing between them.
 */
static void place_wholes(struct calls *c, struct thread *t)
{
	struct placed *stack = NULL;
	size_t depth = 0, room = 0;

	for (size_t left = t->wholes; left > 0; left--) {
		const struct whole *w = &t->whole[left - 1];
		struct calls_node *above = t->root;

		for (; depth > 0 && !is_within(w, stack[depth - 1].whole); depth--)
			count_placed(&stack[depth - 1]);
		if (depth > 0) {
			stack[depth - 1].inner += w->end - w->begin;
			above = stack[depth - 1].node;
		}
		stack = grow(stack, depth, &room, sizeof *stack);
		stack[depth++] = (struct placed){ .whole = w, .node = node_of(c, above, w->function, NULL) };
	}
	for (; depth > 0; depth--)
		count_placed(&stack[depth - 1]);
	free(stack);
	t->wholes = 0;
}

/* -- Slices --------------------------------------------------------------------------------------------------- */

void calls_symbols(struct sources *logs)
{
	for (unsigned i = 0; i < logs->count; i++) {
		struct source *s = &logs->source[i];

		for (uint32_t id = POSIX_TRACE_UNNAMED_USEREVENT; id < EVENT_ID_END && !s->symbols; id++)
			if (calls_kind(layouts_name(s->layouts, id)) != CALLS_OTHER)
				s->symbols = symbols_of(s->file);
	}
	sources_rewind(logs);
}

/* A symbol, and its name for people. */
struct named {
	struct lookup_key key;
	const char *name;
};

const char *calls_slice(const struct source *s, const struct span *span)
{
	static struct lookup names;
	const struct symbol *symbol;
	struct named *named;

	if (!s->symbols || !(span->calls || (span->whole && calls_kind(span->name) == CALLS_WHOLE)))
		return NULL;
	symbol = symbols_function(s->symbols, s->event->pid, s->event->address, s->event->time);
	named = lookup(&names, (struct lookup_key){ .first = (uintptr_t)symbol }, sizeof *named);
	if (!named->name)
		named->name = calls_name(symbol);
	return named->name;
}

/* -- Events ------------------------------------------------------------------------------------------------- */

void calls_begin(struct calls *c, const struct sources *logs, bool by_thread)
{
	c->by_thread = by_thread;
	tasks_begin(&c->tasks, logs);
}

/* Ends the calls of a process that executes another program now. */
static void forget(struct calls *c, const struct source *s)
{
	for (struct thread *t = threads; t; t = t->next)
		if (t->source == s->index && t->pid == s->event->pid)
			leave_all(c, t, t->last);
}

bool calls_event(struct calls *c, const struct source *s)
{
	enum calls_kind kind = calls_kind(layouts_name(s->layouts, s->event->id));
	struct thread *t;

	if (kind == CALLS_OTHER || !s->symbols)
		return false;
	if (kind == CALLS_RECORDED) {
		c->recorded = true;
		forget(c, s);
		return true;
	}
	t = thread_of(c, s);
	c->events++;
	t->last = s->event->time;
	if (kind == CALLS_BEGIN)
		enter(c, t, s);
	else if (kind == CALLS_END)
		end(c, t, s);
	else
		keep_whole(c, t, s);
	return true;
}

void calls_cut(struct calls *c, const struct source *s, uint64_t time)
{
	for (struct thread *t = threads; t; t = t->next)
		if (t->source == s->index)
			leave_all(c, t, time > t->last ? time : t->last);
}

void calls_finish(struct calls *c)
{
	for (struct thread *t = threads; t; t = t->next) {
		leave_all(c, t, t->last);
		place_wholes(c, t);
	}
}
