/*
 * probe_types.c - the event types of record --usdt
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/probe_types.h"

#include <errno.h>
#include <posixtrace/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>

#include "common/message.h"
#include "common/progress.h"
#include "kernel/fetch.h"
#include "record/probe_state.h"

#define LEFT_OFF_SHOWN 8

struct probe *probe_find(struct probes *p, const char *name, const struct signature *signature)
{
	const char *known = signature_known(name);
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
	if (signature)
		probe->signature = *signature;
	else if (known && signature_parse(known, &probe->signature) != NULL)
		probe->signature.count = 0;
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

/* Returns the field of an argument in the signature; null: it has none. */
static const struct signature_field *field_of(const struct probe *probe, unsigned i)
{
	return i < probe->signature.count ? &probe->signature.field[i] : NULL;
}

static bool fetch(struct location *l, uint16_t machine)
{
	char fields[64 * ARGUMENTS_MAX] = "", place[48], name[16];
	struct probe *probe = l->probe;
	struct tracefs_format format;
	int r;

	for (unsigned i = 0; i < l->count; i++) {
		if (!probe->is_text[i])
			continue;
		if (!argument_text(&l->argument[i], machine, place, sizeof place)) {
			/* In events of a probe that is declared the text is empty. */
			if (probe->type == UINT32_MAX)
				probe->is_text[i] = false;
			continue;
		}
		sprintf(fields + strlen(fields), "%st%u=%s:string", *fields ? " " : "", i + 1, place);
	}
	if (!*fields)
		return true;
	r = fetch_define(&l->where, fields, &format);
	if (r < 0) {
		errno = -r;
		return false;
	}
	for (unsigned i = 0; i < l->count; i++) {
		const struct tracefs_field *f;

		sprintf(name, "t%u", i + 1);
		f = probe->is_text[i] ? tracefs_find(&format, name) : NULL;
		l->text_at[i] = f ? f->offset : 0;
	}
	return true;
}

void probe_fetch_texts(struct probes *p, struct location *l, uint16_t machine)
{
	struct probe *probe = l->probe;
	bool some = false;

	/* The first place says which arguments are texts: all places of a probe have the same fields. */
	for (unsigned i = 0; probe->type == UINT32_MAX && i < l->count && !probe->has_place; i++) {
		const struct signature_field *f = field_of(probe, i);

		probe->is_text[i] = f && f->kind == 'z' && l->argument[i].size == 8;
	}
	probe->has_place = true;
	for (unsigned i = 0; i < ARGUMENTS_MAX; i++)
		some |= probe->is_text[i];
	if (!some || fetch(l, machine))
		return;
	p->no_texts = errno;
	if (probe->type == UINT32_MAX)
		memset(probe->is_text, 0, sizeof probe->is_text);
}

void probe_declare(struct probes *p, struct probe *probe)
{
	char layout[48 * ARGUMENTS_MAX + 16] = "{packed;", name[TRACE_EVENT_NAME_MAX + 1];
	bool some = false;

	for (unsigned i = 0; i < probe->count; i++) {
		const struct signature_field *f = field_of(probe, i);
		char kind = probe->is_signed[i] ? 'i' : probe->size[i] == 8 ? 'x' : 'u';

		if (!probe->size[i] && !probe->is_text[i])
			continue;
		if (f && f->kind && f->kind != 'z') {
			kind = f->kind;
			if (f->size < probe->size[i])
				probe->size[i] = f->size;
		}
		strcat(layout, some ? "," : "");
		if (f)
			strcat(layout, f->name);
		else
			sprintf(layout + strlen(layout), "arg%u", i + 1);
		if (probe->is_text[i])
			strcat(layout, ":z");
		else
			sprintf(layout + strlen(layout), ":%c%u", kind, 8U * probe->size[i]);
		some = true;
	}
	strcat(layout, "}");
	snprintf(name, sizeof name, "%s", probe->name);
	/* Without memory, with too many types, or names of a file that are no layout, the probe has no events. */
	if (posixtrace_log_declare(p->log.writer, name, some ? layout : NULL, &probe->type) != 0) {
		complain("--usdt: events of %s are not recorded: the log cannot have an event type of this name", name);
		probe->type = UINT32_MAX;
	}
}

void probe_say_no_texts(struct probes *p)
{
	const char *why, *folder = tracefs_folder(&why);

	if (!p->no_texts || p->no_texts_said)
		return;
	p->no_texts_said = true;
	progress_say("--usdt: texts are recorded as addresses, because the kernel fetches none: %s",
	             folder ? strerror(p->no_texts) : why);
}

void probe_say_left_off(struct probe *probe)
{
	char some[LEFT_OFF_SHOWN * 8] = "";
	unsigned count = 0;

	if (probe->said)
		return;
	probe->said = true;
	for (unsigned i = 0; i < probe->count; i++) {
		if (probe->size[i] || probe->is_text[i])
			continue;
		if (count++ < LEFT_OFF_SHOWN)
			sprintf(some + strlen(some), "%s%u", count > 1 ? ", " : "", i + 1);
	}
	if (count)
		progress_say("%s: argument%s %s %s left off: a sample of the kernel has registers and the top of the "
		             "stack", probe->name, count == 1 ? "" : "s", some, count == 1 ? "is" : "are");
}
