/*
 * tasks.c - processes, with what they execute, and threads
 *
 * SPDX-License-Identifier: MIT
 */
#include "tasks.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "log/crc.h"
#include "origin.h"
#include "table.h"

/* A larger body of a frame PROCESS is ignored (docs/log-format.md). */
#define BODY_MAX (UINT32_C(256) << 10)

uint32_t tasks_machine(const struct posixtrace_log *log, const struct source *s)
{
	const struct log_header *h = &s->in.header;
	uint32_t i = 0;

	for (; i < log->sources; i++) {
		const struct log_header *other = &log->source[i]->in.header;

		if (memcmp(h->boot, other->boot, sizeof h->boot) == 0 && strcmp(h->host, other->host) == 0)
			break;
	}
	return i;
}

struct process *tasks_process(struct posixtrace_log *log, const struct source *s, uint32_t pid)
{
	struct process *p = table_find(&log->processes, s->machine, pid);

	if (p)
		return p;
	p = table_add(&log->processes, s->machine, pid, sizeof *p);
	if (p)
		p->about = (struct posixtrace_log_process){
			.pid = pid,
			.executable = "",
			.name = "",
			.command = "",
			.index = (uint32_t)log->processes.count - 1,
			.machine = s->machine,
		};
	return p;
}

/* More threads than any program has in its life, nearly. A log has no more than fit into its file. */
#define THREADS_MOST (1u << 18)

bool tasks_room(const struct posixtrace_log *log, const struct source *s, const struct log_event *e)
{
	return !s->live || log->threads.count < THREADS_MOST ||
	       table_find(&log->threads, (uint64_t)s->machine << 32 | e->pid, e->tid);
}

struct thread *tasks_thread(struct posixtrace_log *log, const struct source *s, const struct log_event *e)
{
	uint64_t machine = (uint64_t)s->machine << 32, process = machine | e->pid;
	struct thread *t = table_find(&log->threads, process, e->tid);
	struct process *p = t ? NULL : tasks_process(log, s, e->pid);

	if (t)
		return t;
	t = p ? table_add(&log->threads, process, e->tid, sizeof *t) : NULL;
	if (t)
		t->about = (struct posixtrace_log_thread){
			.process = &p->about,
			.name = t->name,
			.tid = e->tid,
			.index = (uint32_t)log->threads.count - 1,
		};
	return t;
}

/* -- Descriptions ----------------------------------------------------------------------------------- */

/* A text in the body of a frame. */
struct string {
	const char *text;
	size_t length;
};

/* Returns the address after a string, or null if p is null or the string is incomplete. */
static const unsigned char *get_string(const unsigned char *p, const unsigned char *end, struct string *s)
{
	if (!p || end - p < 2 || end - p - 2 < get16(p))
		return NULL;
	*s = (struct string){ (const char *)p + 2, get16(p) };
	return p + 2 + s->length;
}

/* Replaces a text of a process, unless the new one is empty. The old one stays. */
static bool set_text(struct process *p, const char **about, const struct string *s, bool has_nulls)
{
	struct process_text *copy = s->length ? malloc(sizeof *copy + s->length + 1) : NULL;

	if (!s->length)
		return true;
	if (!copy)
		return false;
	memcpy(copy->text, s->text, s->length);
	copy->text[has_nulls ? s->length : strnlen(s->text, s->length)] = 0;
	copy->text[s->length] = 0;
	copy->next = p->texts;
	p->texts = copy;
	*about = copy->text;
	return true;
}

static bool add_module(struct process *p, uint64_t time, const unsigned char *range, const struct string *path,
                       const struct string *id)
{
	size_t length = strnlen(path->text, path->length);
	struct posixtrace_log_module *m = malloc(sizeof *m + length + 1 + id->length);
	char *texts;

	if (m && p->about.modules == p->room) {
		size_t room = p->room ? 2 * p->room : 16;
		struct posixtrace_log_module **more = realloc(p->module, room * sizeof *more);

		if (more) {
			p->module = more;
			p->room = room;
		}
	}
	if (!m || p->about.modules == p->room) {
		free(m);
		return false;
	}
	texts = (char *)(m + 1);
	memcpy(texts, path->text, length);
	texts[length] = 0;
	memcpy(texts + length + 1, id->text, id->length);
	*m = (struct posixtrace_log_module){
		.start = get64(range),
		.end = get64(range + 8),
		.offset = get64(range + 16),
		.time = time,
		.path = texts,
		.build_id = (const unsigned char *)texts + length + 1,
		.build_id_length = (uint32_t)id->length,
	};
	p->module[p->about.modules++] = m;
	return true;
}

bool tasks_describe(struct posixtrace_log *log, const struct source *s, const unsigned char *body, size_t size)
{
	const unsigned char *p = body + 16, *end = body + size, *range;
	struct string executable, path, id, command = { 0 };
	struct process *process;
	const char *slash;

	p = size >= 16 ? get_string(p, end, &executable) : NULL;
	if (!p)
		return true;
	process = tasks_process(log, s, get32(body));
	if (!process || !set_text(process, &process->about.executable, &executable, false))
		return false;
	slash = strrchr(process->about.executable, '/');
	process->about.name = slash ? slash + 1 : process->about.executable;
	if (!process->about.time)
		process->about.time = get64(body + 8);
	for (uint32_t count = get32(body + 4); p && count > 0; count--) {
		range = p;
		p = end - p < 24 ? NULL : get_string(p + 24, end, &path);
		p = get_string(p, end, &id);
		if (p && !add_module(process, get64(body + 8), range, &path, &id))
			return false;
	}
	if (!p || end - p < 4)
		return true;
	if (get32(p))
		process->about.parent = get32(p);
	if (!get_string(p + 4, end, &command) || !command.length)
		return true;
	process->about.command_length = command.length;
	return set_text(process, &process->about.command, &command, true);
}

/* Reads a body. Returns false if it is incomplete or damaged. */
static bool get_body(const struct source *s, const struct frame *f, uint64_t at, unsigned char *body)
{
	for (size_t have = 0; have < f->size;) {
		long n = sys_read_at(s->fd, body + have, f->size - have, at + FRAME_BYTES + have);

		if (n <= 0)
			return false;
		have += (size_t)n;
	}
	return crc32c(body, f->size) == f->body_crc;
}

bool tasks_add(struct posixtrace_log *log, struct source *s)
{
	unsigned char *body = calloc(1, BODY_MAX);
	bool all = body != NULL;
	struct frame f;
	uint64_t at;

	for (uint32_t i = 0; all && input_describing(&s->in, i, &f, &at); i++)
		if (f.size <= BODY_MAX && get_body(s, &f, at, body))
			all = f.kind == FRAME_PROCESS ? tasks_describe(log, s, body, f.size) :
			      f.kind == FRAME_LABELS ? origin_labels(s, body, f.size) : true;
	input_find_clocks(&s->in);
	for (uint32_t i = 0; all && input_clock(&s->in, i, &f, &at); i++)
		if (f.kind == FRAME_CLOCK && f.size <= BODY_MAX && get_body(s, &f, at, body))
			all = origin_clock(s, body, f.size);
	free(body);
	return all;
}

void tasks_free(struct posixtrace_log *log)
{
	for (size_t i = 0; i < log->processes.count; i++) {
		struct process *p = log->processes.item[i];

		for (size_t m = 0; m < p->about.modules; m++)
			free(p->module[m]);
		free(p->module);
		while (p->texts) {
			struct process_text *text = p->texts;

			p->texts = text->next;
			free(text);
		}
	}
	table_free(&log->processes);
	table_free(&log->threads);
}

/* -- The interface ---------------------------------------------------------------------------------- */

size_t posixtrace_log_processes(const struct posixtrace_log *log)
{
	return log ? log->processes.count : 0;
}

const struct posixtrace_log_process *posixtrace_log_process_at(const struct posixtrace_log *log, size_t index)
{
	return log && index < log->processes.count ? log->processes.item[index] : NULL;
}

size_t posixtrace_log_threads(const struct posixtrace_log *log)
{
	return log ? log->threads.count : 0;
}

const struct posixtrace_log_thread *posixtrace_log_thread_at(const struct posixtrace_log *log, size_t index)
{
	return log && index < log->threads.count ? log->threads.item[index] : NULL;
}

const struct posixtrace_log_module *posixtrace_log_module_at(const struct posixtrace_log_process *process, size_t index)
{
	return process && index < process->modules ? ((const struct process *)process)->module[index] : NULL;
}

/*
 * Of several mappings of an address, as of a process that has executed several files, the last one before the time
 * counts, or the first one: a process is described after its first events.
 */
const struct posixtrace_log_module *posixtrace_log_find_module(const struct posixtrace_log_process *process,
                                                               uint64_t address, uint64_t time)
{
	const struct posixtrace_log_module *found = NULL;

	for (size_t i = 0; process && i < process->modules; i++) {
		const struct posixtrace_log_module *m = ((const struct process *)process)->module[i];

		if (m->end > m->start && address - m->start < m->end - m->start && (!found || m->time <= time))
			found = m;
	}
	return found;
}
