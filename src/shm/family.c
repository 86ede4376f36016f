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

/* Did that succeed? If not, for want of something that there may be later, that is noted. */
static bool done(struct family *f, int r)
{
	if (file_is_want(r))
		f->error = r;
	return r >= 0;
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

struct climb {
	struct procpage *page; /* found; null: it is the known one */
	uint32_t number;       /* of the process that has it */
	uint64_t start;        /* when the branch began by which the process descends from there */
};

/*
 * Goes up to the first that has a page; the known one need not be looked up,
 * its file may have gone.
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

		if (known || done(f, procpage_look(f->dir, f->place, id, &c->page))) {
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
	return a.pid == b.pid && a.start == b.start; /* the namespace may not be known */
}

/* Does this process descend from that one, as /proc shows it? */
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
 * A page to which the parents do not lead; null: the known one. Those in between
 * have ended, and when the branch began nobody knows any more.
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
 * Who was found may have adopted the process when its parent ended (a launcher,
 * the first process of a container): then the marked one may be nearer. Memory
 * knows of those only that have attached, so the marked one may be nearer than
 * that one too. The process descends from both of these, in one line: the
 * younger is below the other, and of two of the same clock tick the marked one,
 * which has no other way to be known.
 */
static bool marked_is_nearer(struct family *f, const struct climb *c, struct ident mark)
{
	if (!mark.pid || same_process(f->above, mark))
		return false;
	if (!c->page)
		return mark.start >= f->above.start;
	/* Who has the same mark, or descends from whom it names, is of the family. */
	return !same_process(birthmark_get(c->number), mark) && !descends(f, c->number, mark);
}

static struct procpage *page_of_mark(struct family *f, struct ident mark)
{
	struct procpage *page;

	mark.space = f->ident.space;
	return mark.pid && done(f, procpage_look_left(f->dir, f->place, mark, &page)) ? page : NULL;
}

int family_inherit(struct procpage *page, void *arg)
{
	struct family *f = arg;
	struct ident mark = birthmark_get(f->number);
	struct procpage *marked;
	struct climb c;
	bool found = climb(f, &c);

	/* Who was found, and does not descend from whom memory tells, has adopted the process. */
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
