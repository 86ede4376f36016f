/*
 * tasks.c - the machines, processes and threads of events
 *
 * SPDX-License-Identifier: MIT
 */
#include "logs/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "common/message.h"

enum { PROCESS, THREAD };

static const struct log_header *header(const struct source *s)
{
	return &s->file->in.header;
}

static unsigned machine_of(const struct sources *logs, unsigned index)
{
	const struct log_header *h = header(&logs->source[index]);

	for (unsigned i = 0; i < index; i++)
		if (logfile_same_machine(h, header(&logs->source[i])))
			return i;
	return index;
}

uint64_t tasks_machine_uuid(const struct source *s)
{
	const struct log_header *h = header(s);
	uint64_t uuid = lookup_mix(get64(h->boot), get64(h->boot + 8));

	for (const char *p = h->host; *p; p++)
		uuid = lookup_mix(uuid, (unsigned char)*p);
	return uuid;
}

static struct task *task_of(struct tasks *tasks, const struct source *s, unsigned kind, uint32_t pid, uint32_t tid)
{
	uint64_t machine = tasks->machine[s->index];
	struct lookup_key key = { .first = machine << 32 | pid, .second = (uint64_t)kind << 32 | tid };
	struct task *t = lookup(&tasks->all, key, sizeof *t);

	if (t->uuid == 0) {
		t->machine = (uint32_t)machine;
		t->pid = pid;
		t->tid = tid;
		t->number = tasks->all.count;
		t->uuid = lookup_mix(tasks_machine_uuid(s), lookup_mix(pid, key.second)) | 1;
	}
	return t;
}

struct task *tasks_process(struct tasks *tasks, const struct source *s, uint32_t pid)
{
	return task_of(tasks, s, PROCESS, pid, 0);
}

struct task *tasks_thread(struct tasks *tasks, const struct source *s)
{
	const struct log_event *e = s->event;
	struct task *t = task_of(tasks, s, THREAD, e->pid, e->tid);

	if (!t->process)
		t->process = tasks_process(tasks, s, e->pid);
	/* Some events have no thread name. */
	if (e->name[0] && memcmp(t->name, e->name, sizeof t->name) != 0) {
		memcpy(t->name, e->name, sizeof t->name);
		t->written = false;
	}
	return t;
}

/* -- Executables ------------------------------------------------------------------------------- */

struct executables {
	struct tasks *tasks;
	const struct source *source;
};

/* Reads the beginning of a PROCESS frame (docs/log-format.md). The last frame of a process counts. */
static void add_executable(const unsigned char *body, size_t size, void *arg)
{
	struct executables *x = arg;
	struct task *t;

	if (size < 18 || get16(body + 16) == 0 || get16(body + 16) > size - 18)
		return;
	t = tasks_process(x->tasks, x->source, get32(body));
	free(t->executable);
	t->executable = strndup((const char *)body + 18, get16(body + 16));
	if (!t->executable)
		fail("no memory");
}

void tasks_begin(struct tasks *tasks, const struct sources *logs)
{
	*tasks = (struct tasks){ .logs = logs, .machine = calloc(logs->count, sizeof *tasks->machine) };
	if (!tasks->machine)
		fail("no memory");
	for (unsigned i = 0; i < logs->count; i++) {
		struct executables x = { tasks, &logs->source[i] };

		tasks->machine[i] = machine_of(logs, i);
		logfile_processes(logs->source[i].file, add_executable, &x);
	}
}
