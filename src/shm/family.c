/*
 * family.c - what a process inherits from those that it descends from
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/family.h"

#include "base/birthmark.h"
#include "base/testpoint.h"

/* Nobody is that deep; it ends where /proc shows a circle, too. */
#define GENERATIONS 256

static struct ident page_ident(const struct procpage *page)
{
	return (struct ident){ page->pid, page->start, page->space };
}

bool family_passes_on(const struct procpage *page)
{
	struct page_entry entry;

	for (int i = 0; i < PAGE_SLOTS; i++)
		if (procpage_read(page, i, &entry) && entry.inherit_from)
			return true;
	return false;
}

/*
 * Who a process is. Those above the caller are of its own pid namespace, if
 * /proc shows that one at all: one file less to read for each.
 */
static int read_ident(const struct family *f, uint32_t number, struct ident *id, uint32_t *parent)
{
	struct proc proc;
	int r;

	if (f->number == 0) {
		*id = (struct ident){ number, 0, f->ident.space };
		return proc_parent(number, parent, &id->start);
	}
	r = proc_read(number, &proc);
	*id = proc.ident;
	*parent = proc.parent;
	return r;
}

/*
 * Goes up to the first that has a page; the known one need not be looked up,
 * its file may have gone. *start is then when the branch began by which the
 * process descends from there.
 */
static bool climb(struct family *f, struct procpage **page, uint64_t *start)
{
	uint32_t number, next;
	struct ident id;
	uint64_t ignored;

	*start = f->ident.start;
	if (f->number == 0 && proc_number() != f->ident.pid)
		return false; /* /proc is another namespace's */
	if (proc_parent(f->number, &number, &ignored) < 0)
		return false;
	for (int i = 0; number && i < GENERATIONS && read_ident(f, number, &id, &next) >= 0; i++) {
		bool known = f->known && ident_same(id, page_ident(f->known));

		if (known || procpage_look(f->dir, f->place, id, page) == 0) {
			f->above = id;
			return true;
		}
		*start = id.start;
		number = next;
	}
	return false;
}

/* Those in between have ended; when the branch began nobody knows any more. */
static bool by_birthmark(struct family *f, struct procpage **page)
{
	struct ident id = f->number ? (struct ident){ 0, 0, 0 } : birthmark_get();

	if (!id.pid)
		return false;
	id.space = f->ident.space;
	if (procpage_look(f->dir, f->place, id, page) < 0)
		return false;
	f->above = id;
	return true;
}

void family_inherit(struct procpage *page, void *arg)
{
	struct family *f = arg;
	struct procpage *found = NULL;
	uint64_t start;

	if (!climb(f, &found, &start)) {
		start = f->ident.start;
		if (f->known)
			f->above = page_ident(f->known);
		else if (!by_birthmark(f, &found))
			return;
	}
	procpage_inherit(page, found ? found : f->known, start);
	if (found)
		procpage_close(found);
}
