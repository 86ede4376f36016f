/*
 * lasted.c - how long the span took that an event ends, for spans that event types declare
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/lasted.h"

#include "analysis/pairs.h"

void lasted_begin(struct lasted *l, const struct sources *logs)
{
	pairs_add(&l->spans, logs, false);
	if (l->spans.count == 0)
		return;
	roles_begin(&l->roles, &l->spans, logs);
	tasks_begin(&l->tasks, logs);
}

void lasted_cut(struct lasted *l)
{
	span_cut(&l->spans);
}

bool lasted_event(struct lasted *l, const struct source *s, uint64_t *ns)
{
	const struct span_role *role;
	struct task *thread;

	if (l->spans.count == 0)
		return false;
	role = roles_of(&l->roles, s);
	if (span_role_none(role))
		return false;
	thread = tasks_thread(&l->tasks, s);
	*ns = span_event(&l->spans, &(struct span_event){
		.role = role, .time = s->event->time, .thread = thread->number,
		.process = thread->process ? thread->process->number : 0, .data = s->data,
		.length = s->event->length });
	return *ns != SPAN_NONE;
}
