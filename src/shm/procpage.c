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
#include "shm/stream.h"
#include "shm/who.h"

/* How often to look again at what another is changing. */
#define TRIES 1000

/* How long to go through all pages, at most. */
#define FORGET_NS (NS_PER_S / 2)
/* How long to wait for a claim. */
#define CLAIM_NS (NS_PER_S / 50)

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
	page->space = page->names_space = make->id.space;
	page->sum.vacant = ~UINT32_C(0);
	for (int i = 0; i < PAGE_WORDS; i++)
		page->word[i] = ~UINT64_C(0);
	page->sum.change = 1; /* a thread that has never looked has 0 */
	return make->prepare ? make->prepare(page, make->arg) : 0;
}

bool procpage_is(const struct procpage *page, struct ident id)
{
	return page->magic == PAGE_MAGIC && page->version == LAYOUT_VERSION && page->size == PAGE_SIZE_BYTES &&
	       page->pid == id.pid && page->start == id.start && page->space == id.space;
}

int procpage_open(int dir, const struct place *place, struct ident id, int (*prepare)(struct procpage *, void *),
                  void *arg, struct procpage **page, struct hold *hold)
{
	struct make make = { id, prepare, arg };
	char name[FILE_NAME_SIZE];
	struct file_new file = { name, PAGE_SIZE_BYTES, LOCK_SHARED, init, &make };
	struct file_mapped mapped;
	int r;

	file_name_once(name, "page", id);
	for (int try = 0;; try++) {
		r = file_map(dir, place, name, PAGE_SIZE_BYTES, PAGE_SIZE_BYTES, &mapped, hold);
		if (r != -ENOENT)
			break;
		r = file_create(dir, place, &file, &mapped.map, hold);
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

static int look(int dir, const struct place *place, struct ident id, struct procpage **page, struct hold *hold)
{
	char name[FILE_NAME_SIZE];
	struct file_mapped mapped;
	int r;

	file_name_once(name, "page", id);
	r = file_map(dir, place, name, PAGE_SIZE_BYTES, PAGE_SIZE_BYTES, &mapped, hold);
	if (r < 0)
		return r;
	if (!procpage_is(mapped.map, id)) {
		procpage_close(mapped.map);
		return -EINVAL;
	}
	*page = mapped.map;
	return 0;
}

int procpage_look(int dir, const struct place *place, struct ident id, struct procpage **page)
{
	return look(dir, place, id, page, NULL);
}

int procpage_look_left(int dir, const struct place *place, struct ident id, struct procpage **page)
{
	struct hold hold = { NULL };
	int r = look(dir, place, id, page, &hold);

	/* A mapping keeps its memory, whoever removes the file. */
	lock_release(&hold);
	return r;
}

void procpage_close(struct procpage *page)
{
	file_unmap(page, PAGE_SIZE_BYTES);
}

static bool claim(struct page_slot *slot, uint32_t who)
{
	uint32_t claim = load_relaxed(&slot->claim);

	/* That of a dead thread is nobody's. */
	if (claim && (claim == who || who_alive(claim, who)))
		return false;
	return cas(&slot->claim, &claim, who); /* PAIR(slot) */
}

static void set_taken(struct procpage *page, int slot)
{
	union page_sum now, next;

	/* PAIR(slot): the content before the bit. Other side: record/attach.c. */
	fetch_and(&page->word[slot / 64], ~(UINT64_C(1) << slot % 64));
	TEST_POINT("page_bit");
	now.whole = load_relaxed(&page->sum.whole);
	do {
		next.vacant = now.vacant & ~(UINT32_C(1) << slot / 64);
		next.change = now.change + 1;
	} while (!cas(&page->sum.whole, &now.whole, next.whole)); /* PAIR(sum): the bit before the sum */
	TEST_POINT("page_sum");
}

/*
 * The sum is looked at before its parts, and changed only if nobody has changed it since. Who takes a slot clears its bit first: so either
 * that was seen here, or its change of the sum comes after this one. So the sum never says "none" once who took a slot has done its part,
 * whoever else stands still here, or is killed.
 */
static void set_vacant(struct procpage *page, int slot)
{
	uint64_t *word = &page->word[slot / 64];
	union page_sum now, next;

	fetch_or(word, UINT64_C(1) << slot % 64);
	TEST_POINT("page_bit_back");
	now.whole = load_acquire(&page->sum.whole); /* PAIR(sum) */
	do {
		next.vacant = now.vacant & ~PAGE_LOOK;
		if (load_relaxed(word) == ~UINT64_C(0))
			next.vacant |= UINT32_C(1) << slot / 64;
		next.change = now.change + 1;
		TEST_POINT("page_none");
	} while (!cas(&page->sum.whole, &now.whole, next.whole)); /* PAIR(sum) */
	TEST_POINT("page_sum_back");
}

void procpage_look_again(struct procpage *page)
{
	fetch_add(&page->sum.change, 1); /* PAIR(filter) */
	TEST_POINT("page_look_again");
}

static void fill(struct page_slot *slot, const struct page_entry *entry)
{
	store_relaxed(&slot->creator_start, entry->creator.start);
	store_relaxed(&slot->creator_pid, entry->creator.pid);
	store_relaxed(&slot->serial, entry->serial);
	store_relaxed(&slot->inherit_from, entry->inherit_from);
}

int procpage_enter(struct procpage *page, uint32_t who, const struct page_entry *entry)
{
	for (int i = 0; i < PAGE_SLOTS; i++) {
		struct page_slot *slot = &page->slot[i];

		if (procpage_taken(load_relaxed(&page->word[i / 64]), i) || !claim(slot, who))
			continue;
		TEST_POINT("page_claimed");
		if (procpage_taken(load_relaxed(&page->word[i / 64]), i)) { /* another was faster */
			procpage_free(page, i);
			continue;
		}
		fill(slot, entry);
		TEST_POINT("page_filled");
		set_taken(page, i);
		procpage_free(page, i);
		TEST_POINT("page_entered");
		return i;
	}
	return -EAGAIN;
}

static bool read_slot(const struct procpage *page, int i, struct page_entry *entry)
{
	const struct page_slot *slot = &page->slot[i];

	/* PAIR(slot): a bit that is clear is seen before the slot's content. */
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
	/* Emptied and filled again meanwhile it might be a mixture of two. A change may be another slot's, so once more; not for ever. */
	for (int try = 0; try < TRIES; try++) {
		uint32_t change = load_acquire(&page->sum.change); /* PAIR(slot) */

		if (!read_slot(page, i, entry))
			return false;
		fence_acquire();
		if (load_relaxed(&page->sum.change) == change)
			return true;
	}
	return false;
}

bool procpage_leave(struct procpage *page, int i, uint32_t who, const struct page_entry *entry)
{
	struct page_entry now;

	/* Somebody else has it for a moment only; to yield may take long where many want to run. */
	for (int64_t until = 0; !claim(&page->slot[i], who); sys_yield()) {
		if (!until)
			until = clock_ns(CLOCK_MONOTONIC) + CLAIM_NS;
		else if (clock_ns(CLOCK_MONOTONIC) > until)
			return false;
	}
	TEST_POINT("page_leave_claimed");
	/* With the claim nobody else fills or empties it. */
	if (!read_slot(page, i, &now) || !page_entry_same(&now, entry)) {
		procpage_free(page, i);
		return false;
	}
	set_vacant(page, i);
	TEST_POINT("page_left");
	return true;
}

void procpage_free(struct procpage *page, int i)
{
	store_release(&page->slot[i].claim, 0); /* PAIR(slot) */
	TEST_POINT("page_freed");
}

struct forget {
	const struct place *place;
	uint32_t own_space;
	const struct page_entry *entry;
	int64_t until; /* what is left then, its process will find itself */
};

static bool forget_in(int dir, const char *name, void *arg)
{
	const struct forget *f = arg;
	struct file_mapped mapped;
	struct page_entry entry;
	struct procpage *page;
	struct ident id;
	char kind[16];
	uint32_t who, number;

	if (clock_ns(CLOCK_MONOTONIC) >= f->until)
		return false;
	if (!file_name_parse(name, kind, &id, &number) || strcmp(kind, "page") != 0 ||
	    file_map(dir, f->place, name, PAGE_SIZE_BYTES, PAGE_SIZE_BYTES, &mapped, NULL) < 0)
		return true;
	TEST_POINT("page_forget");
	page = mapped.map;
	who = who_make((uint32_t)sys_gettid(), f->own_space, page->space);
	for (int i = 0; i < PAGE_SLOTS && clock_ns(CLOCK_MONOTONIC) < f->until; i++) {
		if (procpage_read(page, i, &entry) && page_entry_same(&entry, f->entry) &&
		    procpage_leave(page, i, who, f->entry))
			procpage_free(page, i);
	}
	procpage_close(page);
	return true;
}

void procpage_forget(int dir, const struct place *place, uint32_t own_space,
                     const struct page_entry *entry)
{
	struct forget f = { place, own_space, entry, clock_ns(CLOCK_MONOTONIC) + FORGET_NS };

	file_each(dir, forget_in, &f);
}

struct removal {
	int dir;
	const struct place *place;
};

/* A stream that somebody holds: what the dead have left does not count. */
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
	int error = file_map_open(fd, r->place, PAGE_SIZE_BYTES, &mapped);

	/* One that cannot be looked at now may be needed. */
	if (error < 0)
		return !file_is_want(error);
	page = mapped.map;
	if (page->magic == PAGE_MAGIC && page->version == LAYOUT_VERSION && load_relaxed(&page->marked))
		for (int i = 0; i < PAGE_SLOTS && !needed; i++)
			needed = procpage_read(page, i, &entry) && entry.inherit_from && lives(r->dir, &entry);
	file_unmap(mapped.map, mapped.size);
	return !needed;
}

void procpage_remove_unused(int dir, const struct place *place, const char *name)
{
	struct removal r = { dir, place };

	file_remove_unused(dir, place, name, not_needed, &r);
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
		page->names_space = from->names_space;
	}
}
