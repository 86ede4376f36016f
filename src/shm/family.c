/*
 * family.c - what a process inherits from its ancestors
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/family.h"

#include "base/testpoint.h"
#include "host/ancestor_tag.h"

/* Deeper than any real ancestry. Also ends the search if /proc shows a circle. */
#define GENERATIONS 256

static struct ident page_ident(const struct procpage *page)
{
	return (struct ident){ page->pid, page->start, page->pidns };
}

bool family_passes_on(const struct procpage *page)
{
	struct page_entry entry;

	for (int i = 0; i < PAGE_SLOTS; i++)
		if (procpage_read(page, i, &entry) && entry.inherit_from)
			return true;
	return false;
}

/* Returns whether a call succeeded, and notes an error that may go away. */
static bool done(struct family *f, int r)
{
	if (file_is_want(r))
		f->error = r;
	return r >= 0;
}

/*
 * Reads identity and parent of a process. Ancestors of the caller are in its own pid namespace if /proc shows them at
 * all, which saves reading one file for each.
 */
static int read_ident(const struct family *f, uint32_t number, struct ident *id, uint32_t *parent)
{
	struct proc proc;
	int r;

	if (f->number == 0) {
		*id = (struct ident){ number, 0, f->ident.pidns };
		return proc_parent(number, parent, &id->start);
	}
	r = proc_read(number, &proc);
	*id = proc.ident;
	*parent = proc.parent;
	return r;
}

struct climb {
	struct procpage *page; /* of the ancestor that was found; null: the known page */
	uint32_t number;       /* pid of that ancestor */
	uint64_t start;        /* when the branch began by which the process descends from the ancestor */
};

/*
 * Goes up to the first ancestor that has a page. The known page is not looked up, because its file may have gone.
 * Returns false if none was found.
 */
static bool climb(struct family *f, struct climb *c)
{
	uint32_t number, next;
	struct ident id;
	uint64_t ignored;

	c->page = NULL;
	c->start = f->ident.start;
	if (!done(f, proc_parent(f->number, &number, &ignored)))
		return false;
	if (f->number == 0 && proc_number() != f->ident.pid)
		return false; /* /proc is another namespace's */
	for (int i = 0; number && i < GENERATIONS && done(f, read_ident(f, number, &id, &next)); i++) {
		bool known = f->known && ident_same(id, page_ident(f->known));

		if (known || done(f, procpage_look(f->dir, f->shm_dir, id, &c->page))) {
			c->number = number;
			f->above = id;
			return true;
		}
		c->start = id.start;
		number = next;
	}
	return false;
}

static bool same_process(struct ident a, struct ident b)
{
	return a.pid == b.pid && a.start == b.start; /* the namespace may be unknown */
}

/* Returns whether the process `number` descends from `from`, as far as /proc shows. */
static bool descends(struct family *f, uint32_t number, struct ident from)
{
	struct ident id;
	uint32_t next;

	for (int i = 0; number && i < GENERATIONS && done(f, read_ident(f, number, &id, &next)); i++) {
		if (same_process(id, from))
			return true;
		number = next;
	}
	return false;
}

/*
 * Uses a page that was not found through the parents; null: the known page. The processes in between have ended, so
 * it is unknown when the branch began.
 */
static void take(struct family *f, struct climb *c, struct procpage *page)
{
	if (c->page)
		procpage_close(c->page);
	c->page = page;
	c->start = f->ident.start;
	f->above = page_ident(page ? page : f->known);
}

/*
 * Returns whether the ancestor in the tag is nearer than the one found so far. The ancestor found in /proc may be a
 * subreaper or init that has adopted the process (a launcher, the first process of a container). Inherited memory
 * names only ancestors that attached. In both cases the tagged ancestor may be nearer. The known and the tagged
 * ancestor are on one line of descent, so the younger one is nearer. If both began at the same clock tick the tagged
 * one is used, because nothing else leads to it.
 */
static bool marked_is_nearer(struct family *f, const struct climb *c, struct ident mark)
{
	if (!mark.pid || same_process(f->above, mark))
		return false;
	if (!c->page)
		return mark.start >= f->above.start;
	/* An adopter would not have the same tag, nor descend from the tagged process. */
	return !same_process(ancestor_tag_get(c->number), mark) && !descends(f, c->number, mark);
}

static struct procpage *page_of_mark(struct family *f, struct ident mark)
{
	struct procpage *page;

	mark.pidns = f->ident.pidns;
	return mark.pid && done(f, procpage_look_left(f->dir, f->shm_dir, mark, &page)) ? page : NULL;
}

int family_inherit(struct procpage *page, void *arg)
{
	struct family *f = arg;
	struct ident mark = ancestor_tag_get(f->number);
	struct procpage *marked;
	struct climb c;
	bool found = climb(f, &c);

	/* An ancestor in /proc that does not descend from the known one has adopted the process. */
	if (f->known && (!found || (c.page && !descends(f, c.number, page_ident(f->known))))) {
		take(f, &c, NULL);
		found = true;
	}
	if (!found || marked_is_nearer(f, &c, mark)) {
		marked = page_of_mark(f, mark);
		if (marked) {
			take(f, &c, marked);
			found = true;
		}
	}
	if (found && !f->error)
		procpage_inherit(page, c.page ? c.page : f->known, c.start);
	if (found && c.page)
		procpage_close(c.page);
	return f->error;
}
