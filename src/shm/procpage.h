/*
 * procpage.h - which streams trace a process
 *
 * Each traced process has one page. The page is made when it is first needed: by the process at its first trace call,
 * or by a controller before. The process looks at one word of it, vacant, at each trace point; controllers fill and
 * empty slots. A slot's content is written before its bit is cleared, so that a reader that sees the bit sees the
 * content.
 *
 *              lock, fill, clear the bits (a controller)
 *     VACANT -------------------------------------------------> TAKEN
 *        ^                                                        |
 *        |   free the lock (whoever emptied it)      lock, set    |
 *        +------------------------------- EMPTIED <---------------+
 *                                          the bits (its controller; a process that finds it dead)
 *
 * A process killed in between leaves a lock, which others may take over, and at worst a bit of vacant that says "some
 * are taken" where none is.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHM_PROCPAGE_H
#define SHM_PROCPAGE_H

#include "base/atomic.h"
#include "host/file.h"
#include "shm/layout.h"

/* A stream, as a slot names it. */
struct page_entry {
	struct ident creator; /* as in the name of the stream's file, which has no namespace */
	uint32_t serial;
	uint64_t inherit_from;
};

static inline bool page_entry_same(const struct page_entry *a, const struct page_entry *b)
{
	return a->creator.pid == b->creator.pid && a->creator.start == b->creator.start && a->serial == b->serial;
}

static inline struct ident procpage_names(const struct procpage *page)
{
	return (struct ident){ page->names_pid, page->names_start, page->names_pidns };
}

static inline void procpage_set_names(struct procpage *page, struct ident id)
{
	page->names_pid = id.pid;
	page->names_start = id.start;
	page->names_pidns = id.pidns;
}

/* TRACE_USER_EVENT_MAX limits the names that an image opens itself (INH-12), with the unnamed user event (LIM-5). */
static inline uint32_t procpage_names_limit(const struct procpage *page)
{
	return load_relaxed(&page->names_before) + TRACE_USER_EVENT_MAX - 1;
}

/*
 * Maps and holds the page of a process, and makes it if necessary. A page that is being made inherits through prepare
 * before any other process sees it; if prepare fails, no page is made. Returns 0 or a negative error number.
 */
int procpage_open(int dir, const struct shm_dir *shm_dir, struct ident id,
                  int (*prepare)(struct procpage *page, void *arg), void *arg, struct procpage **page,
                  struct hold *hold);
/*
 * Maps the page of a process once more, read-only. Neither the process nor a child that inherits the mapping and
 * becomes another user (H20) can write there. page: as mapped by procpage_open(). Returns -ESTALE if the file of this
 * name is another page now.
 */
int procpage_see(int dir, const struct shm_dir *shm_dir, const struct procpage *page, const struct procpage **seen);
/* Maps the page of a process without a hold, if there is one. Returns 0 or a negative error number. */
int procpage_look(int dir, const struct shm_dir *shm_dir, struct ident id, struct procpage **page);
/* Like procpage_look(), but also accepts a page without holders that procpage_remove_unused() kept for descendants. */
int procpage_look_left(int dir, const struct shm_dir *shm_dir, struct ident id, struct procpage **page);
/* Returns whether a page, in memory that others can write, is the page of that process. */
bool procpage_is(const struct procpage *page, struct ident id);
void procpage_close(struct procpage *page);

/* Returns whether a slot is taken. */
static inline bool procpage_taken(uint64_t word, int slot)
{
	return !(word >> slot % 64 & 1);
}

/* Makes all threads of the process check again which streams trace it. */
void procpage_look_again(struct procpage *page);

/*
 * Enters a stream. ref: the calling thread in terms of the page's namespace, host/thread_ref.h. Returns the slot, or
 * -EAGAIN if all are taken.
 */
int procpage_enter(struct procpage *page, uint32_t ref, const struct page_entry *entry);
/* Enters a stream in a given slot. Returns false if the slot is taken. */
bool procpage_enter_slot(struct procpage *page, int slot, uint32_t ref, const struct page_entry *entry);
/* Returns the slot of a stream, or -1. */
int procpage_find(const struct procpage *page, const struct page_entry *entry);
/* Reads a taken slot. Returns false if the slot is not taken, or keeps changing. */
bool procpage_read(const struct procpage *page, int slot, struct page_entry *entry);
/*
 * Empties the slot of a stream that has gone. Returns false if the slot is not that stream's any more. The slot stays
 * locked, so that it is not taken, until procpage_free().
 */
bool procpage_leave(struct procpage *page, int slot, uint32_t ref, const struct page_entry *entry);
/*
 * Like procpage_leave(), for trace points: also returns false if the slot is locked, instead of waiting. The next
 * trace point tries again.
 */
bool procpage_leave_now(struct procpage *page, int slot, uint32_t ref, const struct page_entry *entry);
void procpage_free(struct procpage *page, int slot);
/*
 * Empties the slots of a stream in all pages of a directory, as far as possible. own_pidns: the caller's pid
 * namespace. in_trace_point: takes 20 ms at most, and never waits for a lock. A process whose slot could not be
 * emptied finds out itself, because the stream's state is ENDED, or its file is gone.
 */
void procpage_forget(int dir, const struct shm_dir *shm_dir, uint32_t own_pidns, const struct page_entry *entry,
                     bool in_trace_point);

/*
 * Removes a page without holders, unless the page has a stream to pass on and an ancestor tag may name it. Such a
 * page is the only way to the stream for descendants that have not traced yet, if the processes in between have
 * ended.
 */
void procpage_remove_unused(int dir, const struct shm_dir *shm_dir, const char *name);

/* Copies into the page of a process that began at this tick all entries that the process inherits from another page. */
void procpage_inherit(struct procpage *page, const struct procpage *from, uint64_t start);

#endif
