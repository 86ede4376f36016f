/*
 * pidset.c - the processes that are recorded: added when they are born, and left out when they have ended
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/pidset.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>

#include "common/message.h"

static unsigned home(const struct pidset *p, uint32_t pid)
{
	return pid * UINT32_C(2654435761) & (p->slots - 1);
}

static unsigned slot_of(const struct pidset *p, uint32_t pid)
{
	unsigned i = home(p, pid);

	while (p->entry[i].pid && p->entry[i].pid != pid)
		i = (i + 1) & (p->slots - 1);
	return i;
}

bool pidset_has(const struct pidset *p, uint32_t pid)
{
	return pid && p->slots && p->entry[slot_of(p, pid)].pid == pid;
}

static void grow(struct pidset *p)
{
	struct pidset more = { .slots = p->slots ? 2 * p->slots : 64, .used = p->used };

	more.entry = calloc(more.slots, sizeof *more.entry);
	if (!more.entry)
		fail("no memory");
	for (unsigned i = 0; i < p->slots; i++)
		if (p->entry[i].pid)
			more.entry[slot_of(&more, p->entry[i].pid)] = p->entry[i];
	free(p->entry);
	*p = more;
}

void pidset_add(struct pidset *p, uint32_t pid)
{
	struct pidset_entry *e;

	if (2 * (p->used + 1) > p->slots)
		grow(p);
	e = &p->entry[slot_of(p, pid)];
	p->used += e->pid == 0;
	e->pid = pid;
	e->threads++;
	e->gone = false;
}

/* Removes an entry, and moves later ones of its chain, so that searches do not end in the free slot. */
static void drop(struct pidset *p, unsigned gap)
{
	unsigned mask = p->slots - 1;

	for (unsigned i = (gap + 1) & mask; p->entry[i].pid; i = (i + 1) & mask) {
		/* An entry stays if its search begins after the gap. */
		if (((i - home(p, p->entry[i].pid)) & mask) < ((i - gap) & mask))
			continue;
		p->entry[gap] = p->entry[i];
		gap = i;
	}
	p->entry[gap] = (struct pidset_entry){ 0 };
	p->used--;
}

bool pidset_exit(struct pidset *p, uint32_t pid)
{
	unsigned i;

	if (!pidset_has(p, pid))
		return false;
	i = slot_of(p, pid);
	if (p->entry[i].threads)
		p->entry[i].threads--;
	if (p->entry[i].threads || p->entry[i].unsure)
		return false;
	drop(p, i);
	return true;
}

void pidset_gap(struct pidset *p)
{
	for (unsigned i = 0; i < p->slots; i++)
		p->entry[i].unsure |= p->entry[i].pid != 0;
}

void pidset_sweep(struct pidset *p)
{
	for (unsigned i = 0; i < p->slots;) {
		struct pidset_entry *e = &p->entry[i];
		bool gone = e->pid && kill((pid_t)e->pid, 0) != 0 && errno == ESRCH;

		if (gone && e->gone) {
			drop(p, i); /* another one may be here now */
			continue;
		}
		e->gone = gone;
		i++;
	}
}

void pidset_free(struct pidset *p)
{
	free(p->entry);
	*p = (struct pidset){ 0 };
}
