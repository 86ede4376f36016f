/*
 * probe_files.c - the files with probes that record --usdt has met
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/probe_files.h"

#include <posixtrace/log.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <trace.h>
#include <unistd.h>

#include "common/message.h"
#include "record/probe_patterns.h"
#include "record/probe_state.h"
#include "record/probe_types.h"

/* How much of the stack is in a sample of a probe with arguments relative to the frame pointer. */
#define FRAME_STACK 1024

/*
 * The most places of a file: the kernel takes tens of milliseconds for each, and a descriptor on each processor. A file
 * of another user may claim any number.
 */
#define PLACES_MOST 4096

/* Reads the places of the probes of a file that are wanted. */
static void read_places(struct probes *p, struct probed_file *f)
{
	unsigned before = p->probe_count;
	struct notes notes;

	if (notes_read(f->fd, &notes) < 0)
		return;
	for (size_t i = 0; i < notes.count; i++) {
		const struct note *n = &notes.note[i];
		char name[TRACE_EVENT_NAME_MAX + 1];
		const struct signature *signature;
		struct location *l;

		snprintf(name, sizeof name, "%s:%s", n->provider, n->name);
		if (!probe_is_wanted(p->wanted, name, f->path, &signature))
			continue;
		if (f->count == PLACES_MOST) {
			complain("--usdt: %s has more than %d places of probes that match; the others are not "
			         "recorded: give a narrower PATTERN", f->path, PLACES_MOST);
			break;
		}
		f->location = probes_more(f->location, f->count, sizeof *f->location);
		l = &f->location[f->count++];
		*l = (struct location){ .probe = probe_find(p, name, signature),
		                        .stack_register = arguments_stack_register(notes.machine) };
		l->count = arguments_parse(n->arguments, notes.machine, l->argument);
		l->where = (struct uprobe){ .file = f->fd, .offset = n->offset, .semaphore = n->semaphore };
		probe_fetch_texts(p, l, notes.machine);
		if (l->probe->type == UINT32_MAX) {
			probe_add_place(l->probe, l, l->probe->events == 0);
			l->probe->events = 1; /* its fields are not empty; see below */
		}
	}
	notes_free(&notes);
	for (unsigned i = before; i < p->probe_count; i++) {
		p->probe[i]->events = 0;
		probe_declare(p, p->probe[i]);
	}
	for (unsigned i = 0; i < f->count; i++) {
		struct location *l = &f->location[i];
		size_t stack = 0;

		for (unsigned a = 0; a < l->count; a++) {
			size_t bytes = argument_stack(&l->argument[a], l->stack_register);

			if (!l->probe->size[a] || l->probe->is_text[a])
				continue;
			l->where.registers |= argument_registers(&l->argument[a]);
			if (bytes == SIZE_MAX)
				bytes = FRAME_STACK;
			if (bytes > stack)
				stack = bytes;
		}
		if (stack)
			l->where.registers |= UINT64_C(1) << l->stack_register;
		l->where.stack = (uint32_t)((stack + 7) & ~(size_t)7);
	}
}

struct probed_file *probed_file_add(struct probes *p, int fd, const char *path)
{
	struct stat st;
	struct probed_file *f;

	if (fstat(fd, &st) != 0)
		st = (struct stat){ 0 };
	for (unsigned i = 0; i < p->files; i++)
		if (p->file[i].device == st.st_dev && p->file[i].inode == st.st_ino) {
			close(fd);
			return &p->file[i];
		}
	p->file = probes_more(p->file, p->files, sizeof *p->file);
	f = &p->file[p->files++];
	*f = (struct probed_file){ .device = st.st_dev, .inode = st.st_ino, .fd = fd, .path = strdup(path) };
	if (!f->path)
		fail("no memory");
	f->build_id_length = notes_build_id(fd, f->build_id);
	read_places(p, f);
	if (!f->count) {
		close(f->fd);
		f->fd = -1;
	}
	return f;
}
