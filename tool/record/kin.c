/*
 * kin.c - finds the living descendants of a process
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/kin.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "host/ancestor_tag.h"

/* Looks at new processes, before it is left open whether there is a descendant. */
#define ROUNDS_MAX 10000

static bool has(const struct kin *k, struct ident id)
{
	for (unsigned i = 0; i < k->count; i++)
		/* An ancestor tag has no pid namespace. */
		if (k->ident[i].pid == id.pid && k->ident[i].start == id.start)
			return true;
	return false;
}

static void add(struct kin *k, struct ident id)
{
	if (has(k, id))
		return;
	if (k->count == k->room) {
		k->room = k->room ? 2 * k->room : 16;
		k->ident = realloc(k->ident, k->room * sizeof *k->ident);
		if (!k->ident)
			fail("no memory");
	}
	k->ident[k->count++] = id;
}

void kin_begin(struct kin *k, pid_t pid)
{
	struct proc p;

	memset(k, 0, sizeof *k);
	k->began = ident_ticks();
	if (proc_read((uint32_t)pid, &p) == 0)
		add(k, p.ident);
}

/*
 * Returns the ancestor tag of a process, or pid 0 if it has none. For a process of another user, the system call needs
 * CAP_SYS_RESOURCE, which root in a container lacks. The file in /proc needs no right.
 */
static struct ident mark_of(uint32_t number)
{
	struct ident mark = ancestor_tag_get(number);
	char path[32], line[128];
	uint64_t limit = 0;
	FILE *file;

	if (mark.pid)
		return mark;
	sprintf(path, "/proc/%" PRIu32 "/limits", number);
	file = fopen(path, "re");
	if (!file)
		return mark;
	while (fgets(line, sizeof line, file))
		if (sscanf(line, "Max file locks %" SCNu64, &limit) == 1)
			break;
	fclose(file);
	return ancestor_tag_of(limit);
}

/* Returns whether the process's parent is in the list, or its ancestor tag names a process of the list. */
static bool is_kin(const struct kin *k, const struct proc *p)
{
	struct ident mark = mark_of(p->number);
	struct proc parent;

	if (mark.pid && has(k, mark))
		return true;
	return p->parent > 1 && proc_read(p->parent, &parent) == 0 && has(k, parent.ident);
}

bool kin_has(struct kin *k, uint32_t number, struct proc *p)
{
	if (proc_read(number, p) != 0 || p->ended)
		return false;
	if (has(k, p->ident))
		return true;
	if (p->ident.start < k->began || !is_kin(k, p))
		return false;
	add(k, p->ident);
	return true;
}

void kin_each(struct kin *k, void (*f)(const struct proc *p, void *arg), void *arg)
{
	DIR *dir = k->count ? opendir("/proc") : NULL;
	struct dirent *entry;
	struct proc p;

	while (dir && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]) && kin_has(k, (uint32_t)atoi(entry->d_name), &p))
			f(&p, arg);
	if (dir)
		closedir(dir);
}

static void count(const struct proc *p, void *arg)
{
	struct kin *k = arg;

	if (p->ident.pid == k->ident[0].pid && p->ident.start == k->ident[0].start)
		return;
	if (k->alive < KIN_SHOWN)
		k->shown[k->alive] = p->number;
	k->alive++;
}

/* Returns the number that was given to a process or thread last; 0: not known. */
static uint32_t last_number(void)
{
	FILE *file = fopen("/proc/loadavg", "re");
	uint32_t last = 0;

	if (file && fscanf(file, "%*s %*s %*s %*s %" SCNu32, &last) != 1)
		last = 0;
	if (file)
		fclose(file);
	return last;
}

/*
 * Looks at /proc, and then at processes that have begun since: one that was forked meanwhile is not in the list, and
 * its parent, which was, may have ended. Without a new process no descendant was missed.
 */
void kin_look(struct kin *k)
{
	uint32_t seen = last_number(), last;
	struct proc p;

	k->alive = 0;
	k->unsure = false;
	kin_each(k, count, k);
	for (unsigned n = 0; !k->alive && (last = last_number()) != seen; n++) {
		if (n == ROUNDS_MAX) {
			k->unsure = true;
			return;
		}
		/* Numbers may have begun anew. */
		if (last < seen)
			kin_each(k, count, k);
		/* The newest first: those before may have ended. */
		for (uint32_t number = last; number > seen && !k->alive; number--)
			if (kin_has(k, number, &p))
				count(&p, k);
		seen = last;
	}
}
