/*
 * procpage.h - which streams trace a process
 *
 * One page for each traced process, made by whoever needs it first: the
 * process at its first trace call, or a controller before that. The process
 * looks at one word of it, vacant, at each trace point; controllers fill and
 * empty slots. A slot's content is written before its bit is cleared, so that
 * who sees the bit sees the content.
 *
 *              claim, fill, clear the bits (a controller)
 *     VACANT -------------------------------------------------> TAKEN
 *        ^                                                        |
 *        |   free the claim (whoever emptied it)    claim, set    |
 *        +------------------------------- EMPTIED <---------------+
 *                                          the bits (its controller; who finds it dead)
 *
 * Killed anywhere between, one leaves a claim, which is nobody's any more, and
 * at worst a bit of vacant that says "some" where there are none.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_PROCPAGE_H
#define SHM_PROCPAGE_H

#include "base/atomic.h"
#include "base/file.h"
#include "shm/layout.h"

/* A stream, as a slot names it. */
struct page_entry {
	struct ident creator; /* as file_name() has it for the stream's file: without namespace */
	uint32_t serial;
	uint64_t inherit_from;
};

static inline bool page_entry_same(const struct page_entry *a, const struct page_entry *b)
{
	return a->creator.pid == b->creator.pid && a->creator.start == b->creator.start && a->serial == b->serial;
}

static inline struct ident procpage_names(const struct procpage *page)
{
	return (struct ident){ page->names_pid, page->names_start, page->names_space };
}

/* TRACE_USER_EVENT_MAX is for what an image defines itself (INH-12), and counts the unnamed user event (LIM-5). */
static inline uint32_t procpage_names_limit(const struct procpage *page)
{
	return load_relaxed(&page->names_before) + TRACE_USER_EVENT_MAX - 1;
}

/*
 * Maps the page of a process and holds it, made if need be. A page that is
 * made inherits through prepare, before anybody sees it; if that fails, none is made. 0 or a negative error number.
 */
int procpage_open(int dir, const struct place *place, struct ident id,
                  int (*prepare)(struct procpage *page, void *arg), void *arg, struct procpage **page,
                  struct hold *hold);
/* Only if it is there; without a hold. */
int procpage_look(int dir, const struct place *place, struct ident id, struct procpage **page);
/* The same of one that nobody need hold any more, and that was kept for its descendants: procpage_remove_unused(). */
int procpage_look_left(int dir, const struct place *place, struct ident id, struct procpage **page);
/* Is this the page of that process? Of memory that others can write. */
bool procpage_is(const struct procpage *page, struct ident id);
void procpage_close(struct procpage *page);

/* Is a slot taken? */
static inline bool procpage_taken(uint64_t word, int slot)
{
	return !(word >> slot % 64 & 1);
}

/* Lets all threads of the process look again at the streams that trace it. */
void procpage_look_again(struct procpage *page);

/* Enters a stream; who: shm/who.h, of the page's namespace. Returns the slot, or -EAGAIN if all are taken. */
int procpage_enter(struct procpage *page, uint32_t who, const struct page_entry *entry);
/* A taken slot's content: false if it is not taken, or does not stand still. */
bool procpage_read(const struct procpage *page, int slot, struct page_entry *entry);
/*
 * The stream is not there any more: empties its slot, if it is still this
 * stream's. The slot stays claimed, so that nobody takes it, until procpage_free().
 */
bool procpage_leave(struct procpage *page, int slot, uint32_t who, const struct page_entry *entry);
void procpage_free(struct procpage *page, int slot);
/*
 * Empties the slots of a stream in all pages of a directory, as far as they can be had. own_space: the caller's pid
 * namespace. What is left a process finds itself: the stream says that it has ended, or has no file.
 */
void procpage_forget(int dir, const struct place *place, uint32_t own_space, const struct page_entry *entry);

/*
 * Removes one that nobody holds, but for one that a birthmark may name and that has a stream to pass on: where those in
 * between have ended, descendants that have not traced yet know of that stream by this page alone.
 */
void procpage_remove_unused(int dir, const struct place *place, const char *name);

/* What a process that began at this tick inherits from another's page. */
void procpage_inherit(struct procpage *page, const struct procpage *from, uint64_t start);

#endif
