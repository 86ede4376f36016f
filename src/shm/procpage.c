/*
 * procpage.c - which streams trace a process
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/procpage.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/ticks.h"
#include "host/thread_ref.h"
#include "shm/stream.h"

/* How often to read a slot again while it is changing. */
#define TRIES 32

/*
 * How often to try to change a page's sum. The sum changes once with each change of a slot, so with this many
 * failures a process changes it on purpose (H18). Whether such a process sees its streams is its own affair.
 */
#define SUM_TRIES 1000

/* Time limit for visiting all pages. The short one holds if another user can make many pages, or in a trace point. */
#define FORGET_NS       (NS_PER_S / 2)
#define FORGET_SHORT_NS (NS_PER_S / 50)
/* How long to wait for a lock. */
#define LOCK_NS (NS_PER_S / 50)

struct make {
	struct ident id;
	int (*prepare)(struct procpage *page, void *arg);
	void *arg;
};

static int init(void *map, void *arg)
{
	struct procpage *page = map;
	const struct make *make = arg;

	page->magic = PAGE_MAGIC;
	page->version = LAYOUT_VERSION;
	page->size = PAGE_SIZE_BYTES;
	page->pid = page->names_pid = make->id.pid;
	page->start = page->names_start = make->id.start;
	page->pidns = page->names_pidns = make->id.pidns;
	page->sum.vacant = ~UINT32_C(0);
	for (int i = 0; i < PAGE_WORDS; i++)
		page->word[i] = ~UINT64_C(0);
	page->sum.generation = 1; /* a thread that has never looked has 0 */
	return make->prepare ? make->prepare(page, make->arg) : 0;
}

bool procpage_is(const struct procpage *page, struct ident id)
{
	return page->magic == PAGE_MAGIC && page->version == LAYOUT_VERSION && page->size == PAGE_SIZE_BYTES &&
	       page->pid == id.pid && page->start == id.start && page->pidns == id.pidns;
}

int procpage_open(int dir, const struct shm_dir *shm_dir, struct ident id, int (*prepare)(struct procpage *, void *),
                  void *arg, struct procpage **page, struct hold *hold)
{
	struct make make = { id, prepare, arg };
	char name[FILE_NAME_SIZE];
	struct file_new file = { name, PAGE_SIZE_BYTES, LOCK_SHARED, init, &make };
	struct file_mapped mapped;
	int r;

	file_name_once(name, "page", id);
	for (int try = 0;; try++) {
		r = file_map(dir, shm_dir, name, PAGE_SIZE_BYTES, PAGE_SIZE_BYTES, &mapped, hold);
		if (r != -ENOENT)
			break;
		r = file_create(dir, shm_dir, &file, &mapped.map, hold);
		if (r != -EEXIST || try == 100)
			break;
	}
	if (r < 0)
		return r;
	*page = mapped.map;
	if (!procpage_is(*page, id)) {
		procpage_close(*page);
		lock_release(hold);
		return -EINVAL;
	}
	return 0;
}

int procpage_see(int dir, const struct shm_dir *shm_dir, const struct procpage *page, const struct procpage **seen)
{
	char name[FILE_NAME_SIZE];
	void *map;
	int r;

	file_name_once(name, "page", (struct ident){ page->pid, page->start, page->pidns });
	r = file_map_reading(dir, shm_dir, name, 0, PAGE_SIZE_BYTES, &map);
	if (r < 0)
		return r;
	*seen = map;
	/* Each program image has its own number, which only its own page has. */
	if (load_relaxed(&(*seen)->image) == load_relaxed(&page->image))
		return 0;
	sys_unmap(map, PAGE_SIZE_BYTES);
	return -ESTALE;
}

static int look(int dir, const struct shm_dir *shm_dir, struct ident id, struct procpage **page, struct hold *hold)
{
	char name[FILE_NAME_SIZE];
	struct file_mapped mapped;
	int r;

	file_name_once(name, "page", id);
	r = file_map(dir, shm_dir, name, PAGE_SIZE_BYTES, PAGE_SIZE_BYTES, &mapped, hold);
	if (r < 0)
		return r;
	if (!procpage_is(mapped.map, id)) {
		procpage_close(mapped.map);
		return -EINVAL;
	}
	*page = mapped.map;
	return 0;
}

int procpage_look(int dir, const struct shm_dir *shm_dir, struct ident id, struct procpage **page)
{
	return look(dir, shm_dir, id, page, NULL);
}

int procpage_look_left(int dir, const struct shm_dir *shm_dir, struct ident id, struct procpage **page)
{
	struct hold hold = { NULL };
	int r = look(dir, shm_dir, id, page, &hold);

	/* The mapping keeps its memory even if the file is removed. */
	lock_release(&hold);
	return r;
}

void procpage_close(struct procpage *page)
{
	file_unmap(page, PAGE_SIZE_BYTES);
}

static bool trylock(struct page_slot *slot, uint32_t ref)
{
	uint32_t lock = load_relaxed(&slot->lock);

	/* The lock of a dead thread may be taken over. */
	if (lock && (lock == ref || thread_ref_alive(lock, ref)))
		return false;
	return cas(&slot->lock, &lock, ref); /* PAIR(slot) */
}

static void set_taken(struct procpage *page, int slot)
{
	union page_sum now, next;

	/* PAIR(slot): the content is written before the bit. Other side: record/attach.c. */
	fetch_and(&page->word[slot / 64], ~(UINT64_C(1) << slot % 64));
	TEST_POINT("page_bit");
	now.whole = load_relaxed(&page->sum.whole);
	for (int try = 0; try < SUM_TRIES; try++) {
		next.vacant = now.vacant & ~(UINT32_C(1) << slot / 64);
		next.generation = now.generation + 1;
		if (cas(&page->sum.whole, &now.whole, next.whole)) /* PAIR(sum): the bit before the sum */
			break;
	}
	TEST_POINT("page_sum");
}

/*
 * Marks a slot as vacant. The sum is read before its parts, and replaced only if it has not changed meanwhile. A
 * process that takes a slot clears the slot's bit first: either this function sees the cleared bit, or that process
 * changes the sum later. So once a slot has been taken the sum never says "none", even if another process stalls here
 * or is killed.
 */
static void set_vacant(struct procpage *page, int slot)
{
	uint64_t *word = &page->word[slot / 64];
	union page_sum now, next;

	fetch_or(word, UINT64_C(1) << slot % 64);
	TEST_POINT("page_bit_back");
	now.whole = load_acquire(&page->sum.whole); /* PAIR(sum) */
	for (int try = 0; try < SUM_TRIES; try++) {
		next.vacant = now.vacant & ~PAGE_LOOK;
		if (load_relaxed(word) == ~UINT64_C(0))
			next.vacant |= UINT32_C(1) << slot / 64;
		next.generation = now.generation + 1;
		TEST_POINT("page_none");
		if (cas(&page->sum.whole, &now.whole, next.whole)) /* PAIR(sum) */
			break;
	}
	TEST_POINT("page_sum_back");
}

void procpage_look_again(struct procpage *page)
{
	fetch_add(&page->sum.generation, 1); /* PAIR(filter) */
	TEST_POINT("page_look_again");
}

static void fill(struct page_slot *slot, const struct page_entry *entry)
{
	store_relaxed(&slot->creator_start, entry->creator.start);
	store_relaxed(&slot->creator_pid, entry->creator.pid);
	store_relaxed(&slot->serial, entry->serial);
	store_relaxed(&slot->inherit_from, entry->inherit_from);
}

bool procpage_enter_slot(struct procpage *page, int i, uint32_t ref, const struct page_entry *entry)
{
	struct page_slot *slot = &page->slot[i];

	if (procpage_taken(load_relaxed(&page->word[i / 64]), i) || !trylock(slot, ref))
		return false;
	TEST_POINT("page_locked");
	if (procpage_taken(load_relaxed(&page->word[i / 64]), i)) { /* lost a race */
		procpage_free(page, i);
		return false;
	}
	fill(slot, entry);
	TEST_POINT("page_filled");
	set_taken(page, i);
	procpage_free(page, i);
	TEST_POINT("page_entered");
	return true;
}

int procpage_enter(struct procpage *page, uint32_t ref, const struct page_entry *entry)
{
	for (int i = 0; i < PAGE_SLOTS; i++)
		if (procpage_enter_slot(page, i, ref, entry))
			return i;
	return -EAGAIN;
}

int procpage_find(const struct procpage *page, const struct page_entry *entry)
{
	struct page_entry now;

	for (int i = 0; i < PAGE_SLOTS; i++)
		if (procpage_read(page, i, &now) && page_entry_same(&now, entry))
			return i;
	return -1;
}

static bool read_slot(const struct procpage *page, int i, struct page_entry *entry)
{
	const struct page_slot *slot = &page->slot[i];

	/* PAIR(slot): the cleared bit is seen before the slot's content. */
	if (!procpage_taken(load_acquire(&page->word[i / 64]), i))
		return false;
	*entry = (struct page_entry){
		.creator = { load_relaxed(&slot->creator_pid), load_relaxed(&slot->creator_start), 0 },
		.serial = load_relaxed(&slot->serial),
		.inherit_from = load_relaxed(&slot->inherit_from),
	};
	return true;
}

bool procpage_read(const struct procpage *page, int i, struct page_entry *entry)
{
	/*
	 * A slot that is emptied and filled again meanwhile could be read as a mixture. The generation also rises
	 * with changes of other slots, so read again, but not without end.
	 */
	for (int try = 0; try < TRIES; try++) {
		uint32_t change = load_acquire(&page->sum.generation); /* PAIR(slot) */

		if (!read_slot(page, i, entry))
			return false;
		fence_acquire();
		if (load_relaxed(&page->sum.generation) == change)
			return true;
	}
	return false;
}

/*
 * Empties a slot that the caller has locked. Returns false, and unlocks the slot, if it is not this stream's any
 * more.
 */
static bool leave_locked(struct procpage *page, int i, const struct page_entry *entry)
{
	struct page_entry now;

	TEST_POINT("page_leave_locked");
	/* While the slot is locked no other thread fills or empties it. */
	if (!read_slot(page, i, &now) || !page_entry_same(&now, entry)) {
		procpage_free(page, i);
		return false;
	}
	set_vacant(page, i);
	TEST_POINT("page_left");
	return true;
}

bool procpage_leave(struct procpage *page, int i, uint32_t ref, const struct page_entry *entry)
{
	/* Locks are short, but yielding may take long where many threads want to run. */
	for (int64_t until = 0; !trylock(&page->slot[i], ref); sys_yield()) {
		if (!until)
			until = clock_ns(CLOCK_MONOTONIC) + LOCK_NS;
		else if (clock_ns(CLOCK_MONOTONIC) > until)
			return false;
	}
	return leave_locked(page, i, entry);
}

bool procpage_leave_now(struct procpage *page, int i, uint32_t ref, const struct page_entry *entry)
{
	return trylock(&page->slot[i], ref) && leave_locked(page, i, entry);
}

void procpage_free(struct procpage *page, int i)
{
	store_release(&page->slot[i].lock, 0); /* PAIR(slot) */
	TEST_POINT("page_freed");
}

struct forget {
	const struct shm_dir *shm_dir;
	uint32_t own_pidns;
	const struct page_entry *entry;
	bool in_trace_point;
	int64_t until; /* when to stop */
};

static bool forget_in(int dir, const char *name, void *arg)
{
	const struct forget *f = arg;
	struct file_mapped mapped;
	struct page_entry entry;
	struct procpage *page;
	struct ident id;
	char kind[16];
	uint32_t ref, number;

	if (clock_ns(CLOCK_MONOTONIC) >= f->until)
		return false;
	if (!file_name_parse(name, kind, &id, &number) || strcmp(kind, "page") != 0 ||
	    file_map(dir, f->shm_dir, name, PAGE_SIZE_BYTES, PAGE_SIZE_BYTES, &mapped, NULL) < 0)
		return true;
	TEST_POINT("page_forget");
	page = mapped.map;
	ref = thread_ref_make((uint32_t)sys_gettid(), f->own_pidns, page->pidns);
	for (int i = 0; i < PAGE_SLOTS; i++) {
		if (!procpage_taken(load_relaxed(&page->word[i / 64]), i))
			continue;
		if (clock_ns(CLOCK_MONOTONIC) >= f->until)
			break;
		if (procpage_read(page, i, &entry) && page_entry_same(&entry, f->entry) &&
		    (f->in_trace_point ? procpage_leave_now : procpage_leave)(page, i, ref, f->entry))
			procpage_free(page, i);
	}
	procpage_close(page);
	return true;
}

void procpage_forget(int dir, const struct shm_dir *shm_dir, uint32_t own_pidns,
                     const struct page_entry *entry, bool in_trace_point)
{
	int64_t limit = shm_dir->guarded || in_trace_point ? FORGET_SHORT_NS : FORGET_NS;
	struct forget f = { shm_dir, own_pidns, entry, in_trace_point, clock_ns(CLOCK_MONOTONIC) + limit };

	file_each(dir, forget_in, &f);
}

struct removal {
	int dir;
	const struct shm_dir *shm_dir;
};

/* Returns whether the stream has a holder. What dead processes have left does not count. */
static bool lives(int dir, const struct page_entry *entry)
{
	char name[FILE_NAME_SIZE];

	stream_name(name, entry->creator, entry->serial);
	return file_held(dir, name);
}

static bool not_needed(int fd, void *arg)
{
	const struct removal *r = arg;
	struct file_mapped mapped;
	struct page_entry entry;
	struct procpage *page;
	bool needed = false;
	int error = file_map_open(fd, r->shm_dir, PAGE_SIZE_BYTES, &mapped);

	/* A page that cannot be examined now may be needed. */
	if (error < 0)
		return !file_is_want(error);
	page = mapped.map;
	if (page->magic == PAGE_MAGIC && page->version == LAYOUT_VERSION && load_relaxed(&page->marked))
		for (int i = 0; i < PAGE_SLOTS && !needed; i++)
			needed = procpage_read(page, i, &entry) && entry.inherit_from && lives(r->dir, &entry);
	file_unmap(mapped.map, mapped.size);
	return !needed;
}

void procpage_remove_unused(int dir, const struct shm_dir *shm_dir, const char *name)
{
	struct removal r = { dir, shm_dir };

	file_remove_unused(dir, shm_dir, name, not_needed, &r);
}

void procpage_inherit(struct procpage *page, const struct procpage *from, uint64_t start)
{
	struct page_entry entry;
	int next = 0;

	for (int i = 0; i < PAGE_SLOTS; i++) {
		if (!procpage_read(from, i, &entry) || !entry.inherit_from || start < entry.inherit_from)
			continue;
		fill(&page->slot[next], &entry);
		TEST_POINT("page_inherit");
		set_taken(page, next++);
	}
	if (next) {
		page->names_pid = from->names_pid;
		page->names_start = from->names_start;
		page->names_pidns = from->names_pidns;
	}
}
