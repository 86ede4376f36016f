/*
 * folded.c - one line for each stack of functions, with the time in the innermost one
 *
 * flamegraph.pl, speedscope and others read such lines: "thread;main;parse 1200". The number is in nanoseconds; of
 * stacks of record --sample it is a number of samples, and of record --off-cpu microseconds.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/calls.h"
#include "analysis/samples.h"
#include "base/utf8.h"
#include "common/message.h"
#include "common/out.h"
#include "convert/export.h"

static struct calls calls;
static struct samples samples;

static void begin(struct export *x)
{
	calls_begin(&calls, &x->logs, true);
	samples_begin(&samples, &x->logs, x->off_cpu ? SAMPLES_OFF : SAMPLES_ON);
}

static void event(struct export *x, struct source *s)
{
	if (samples_event(&samples, s) || x->off_cpu)
		return;
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

/* Writes a name as UTF-8 without control characters, because it gets into SVG files, and without separators. */
static void put_name(const char *name)
{
	size_t left = strlen(name), n;

	for (; left > 0; name += n, left -= n) {
		n = utf8_length((const unsigned char *)name, left);
		if (*name == ';')
			out_char(':');
		else if (n > 0 && utf8_harmless((const unsigned char *)name, n, "", NULL))
			out_bytes(name, n);
		else
			out_char('?');
		n += n == 0;
	}
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

/* Writes the line of a stack that was recorded as such. */
static void put_recorded(const struct samples_node *n, uint64_t weight)
{
	size_t depth = 0;
	const struct samples_node **above;

	for (const struct samples_node *k = n; k; k = k->parent)
		depth++;
	above = calloc(depth + 1, sizeof(struct samples_node *));
	if (!above)
		fail("no memory");
	for (size_t i = depth; i > 0; i--, n = n->parent)
		above[i - 1] = n;
	for (size_t i = 0; i < depth; i++) {
		const struct samples_function *f = above[i]->function;

		if (i > 0)
			out_char(';');
		put_name(f ? f->name : above[i]->name);
		/* The mark by which flamegraph.pl colours functions of the kernel. */
		if (f && f->in_kernel && *f->name != '[')
			out_printf("_[k]");
	}
	out_printf(" %llu\n", (unsigned long long)weight);
	free(above);
}

static void put_samples(bool off_cpu)
{
	for (size_t i = 0; i < samples.nodes; i++) {
		const struct samples_node *n = samples.node[i];
		uint64_t weight = n->self + n->self_ready;

		if (off_cpu)
			weight = (weight + 500) / 1000;
		if (weight)
			put_recorded(n, weight);
	}
}

static void end(struct export *x)
{
	calls_finish(&calls);
	if (x->off_cpu || (calls.events == 0 && samples.stacks)) {
		put_samples(x->off_cpu);
		x->nothing = !samples.stacks;
		if (x->nothing)
			complain("no stacks of threads that wait: record with --off-cpu");
		return;
	}
	for (const struct calls_node *n = calls.root.child; n; n = next(n))
		if (n->self)
			put_stack(n);
	x->nothing = calls.events == 0;
	if (x->nothing)
		complain("no stacks: record with --sample 999, or build the program with -finstrument-functions, and "
		         "record it with --functions");
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
