/*
 * folded.c - one line for each stack of functions, with the time in the innermost one
 *
 * flamegraph.pl, speedscope and others read such lines: "thread;main;parse 1200". The number is in nanoseconds.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/calls.h"
#include "common/message.h"
#include "common/out.h"
#include "convert/export.h"

static struct calls calls;

static void begin(struct export *x)
{
	calls_begin(&calls, &x->logs, true);
}

static void event(struct export *x, struct source *s)
{
	(void)x;
	if (s->event->id == POSIX_TRACE_START)
		calls_cut(&calls, s, s->event->time);
	else
		calls_event(&calls, s);
}

static void lost(struct export *x, struct source *s, struct loss loss)
{
	(void)x;
	calls_cut(&calls, s, loss.from);
}

static void cut(struct export *x, struct source *s)
{
	(void)x;
	calls_cut(&calls, s, s->event->time);
}

/* Writes a name, without what separates names and lines. */
static void put_name(const char *name)
{
	for (; *name; name++)
		out_char(*name == ';' ? ':' : (unsigned char)*name < ' ' ? '?' : *name);
}

/* Writes the line of a node. */
static void put_stack(const struct calls_node *n)
{
	uint64_t self = n->self;
	size_t depth = 0;
	const struct calls_node **above;

	for (const struct calls_node *k = n; k->number; k = k->parent)
		depth++;
	above = calloc(depth + 1, sizeof(struct calls_node *));
	if (!above)
		fail("no memory");
	for (size_t i = depth; i > 0; i--, n = n->parent)
		above[i - 1] = n;
	for (size_t i = 0; i < depth; i++) {
		if (i > 0)
			out_char(';');
		put_name(above[i]->function ? above[i]->function->name : above[i]->name);
	}
	out_printf(" %llu\n", (unsigned long long)self);
	free(above);
}

/* Returns the node behind this one, where nodes come before those below them; null at the end. */
static const struct calls_node *next(const struct calls_node *n)
{
	if (n->child)
		return n->child;
	while (n && !n->next)
		n = n->parent;
	return n ? n->next : NULL;
}

static void end(struct export *x)
{
	(void)x;
	calls_finish(&calls);
	for (const struct calls_node *n = calls.root.child; n; n = next(n))
		if (n->self)
			put_stack(n);
	if (calls.events == 0)
		complain("no calls of functions: build the program with -finstrument-functions, and record it with "
		         "--functions");
}

const struct exporter export_folded = {
	.name = "folded",
	.suffix = ".folded",
	.rows = true,
	.begin = begin,
	.event = event,
	.lost = lost,
	.cut = cut,
	.end = end,
};
