/*
 * probe_types.c - the event types of record --usdt
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/probe_types.h"

#include <posixtrace/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

#include "common/message.h"
#include "common/progress.h"
#include "record/probe_state.h"

#define LEFT_OFF_SHOWN 8

struct probe *probe_find(struct probes *p, const char *name)
{
	struct probe *probe;

	for (unsigned i = 0; i < p->probe_count; i++)
		if (strcmp(p->probe[i]->name, name) == 0)
			return p->probe[i];
	p->probe = probes_more(p->probe, p->probe_count, sizeof *p->probe);
	probe = calloc(1, sizeof *probe);
	if (probe)
		probe->name = strdup(name);
	if (!probe || !probe->name)
		fail("no memory");
	probe->type = UINT32_MAX;
	p->probe[p->probe_count++] = probe;
	return probe;
}

void probe_add_place(struct probe *probe, const struct location *l, bool first)
{
	if (first)
		probe->count = l->count;
	for (unsigned i = 0; i < ARGUMENTS_MAX; i++) {
		bool there = i < l->count && argument_readable(&l->argument[i], l->stack_register);

		if (first) {
			probe->size[i] = there ? l->argument[i].size : 0;
			probe->is_signed[i] = there && l->argument[i].is_signed;
		} else if (!there) {
			probe->size[i] = 0;
		} else if (probe->size[i]) {
			if (l->argument[i].size > probe->size[i])
				probe->size[i] = l->argument[i].size;
			probe->is_signed[i] |= l->argument[i].is_signed;
		}
	}
}

void probe_declare(struct probes *p, struct probe *probe)
{
	char layout[32 * ARGUMENTS_MAX + 16] = "{packed;", name[TRACE_EVENT_NAME_MAX + 1];
	bool some = false;

	for (unsigned i = 0; i < probe->count; i++) {
		if (!probe->size[i])
			continue;
		sprintf(layout + strlen(layout), "%sarg%u:%c%u", some ? "," : "", i + 1,
		        probe->is_signed[i] ? 'i' : probe->size[i] == 8 ? 'x' : 'u', 8U * probe->size[i]);
		some = true;
	}
	strcat(layout, "}");
	snprintf(name, sizeof name, "%s", probe->name);
	/* It fails without memory, or if there are too many types. Then the probe has no events. */
	if (posixtrace_log_declare(p->log.writer, name, some ? layout : NULL, &probe->type) != 0)
		probe->type = UINT32_MAX;
}

void probe_say_left_off(struct probe *probe)
{
	char some[LEFT_OFF_SHOWN * 8] = "";
	unsigned count = 0;

	if (probe->said)
		return;
	probe->said = true;
	for (unsigned i = 0; i < probe->count; i++) {
		if (probe->size[i])
			continue;
		if (count++ < LEFT_OFF_SHOWN)
			sprintf(some + strlen(some), "%s%u", count > 1 ? ", " : "", i + 1);
	}
	if (count)
		progress_say("%s: argument%s %s %s left off: a sample of the kernel has registers and the top of the "
		             "stack", probe->name, count == 1 ? "" : "s", some, count == 1 ? "is" : "are");
}
