/*
 * procpage.c - which streams trace a process
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/procpage.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/file.h"
#include "base/sys.h"

static void init(void *map, void *arg)
{
	struct procpage *page = map;
	const struct ident *id = arg;

	page->magic = PAGE_MAGIC;
	page->version = LAYOUT_VERSION;
	page->size = PAGE_SIZE_BYTES;
	page->pid = id->pid;
	page->start = id->start;
	page->vacant = ~UINT64_C(0);
	page->change = 1; /* a thread that has never looked has 0 */
}

int procpage_open(int dir, struct ident id, struct procpage **page)
{
	char name[FILE_NAME_SIZE];
	uint64_t size;
	void *map;
	int r;

	file_name(name, "page", id, 0);
	for (int try = 0;; try++) {
		r = file_map(dir, name, PAGE_SIZE_BYTES, PAGE_SIZE_BYTES, &map, &size);
		if (r != -ENOENT)
			break;
		r = file_create(dir, name, PAGE_SIZE_BYTES, init, &id, &map);
		if (r != -EEXIST || try == 2)
			break;
	}
	if (r < 0)
		return r;
	*page = map;
	if ((*page)->magic != PAGE_MAGIC || (*page)->version != LAYOUT_VERSION || (*page)->size != PAGE_SIZE_BYTES) {
		procpage_close(*page);
		return -EINVAL;
	}
	return 0;
}

void procpage_close(struct procpage *page)
{
	sys_unmap(page, PAGE_SIZE_BYTES);
}

int procpage_enter(struct procpage *page, struct ident creator, uint32_t serial)
{
	for (int i = 0; i < PAGE_SLOTS; i++) {
		struct page_slot *slot = &page->slot[i];
		uint32_t nobody = 0;

		if (!(load_relaxed(&page->vacant) >> i & 1) || !cas(&slot->claim, &nobody, creator.pid))
			continue;
		if (!(load_relaxed(&page->vacant) >> i & 1)) { /* another was faster */
			store_release(&slot->claim, 0); /* PAIR(slot) */
			continue;
		}
		store_relaxed(&slot->creator_start, creator.start);
		store_relaxed(&slot->creator_pid, creator.pid);
		store_relaxed(&slot->serial, serial);
		/* PAIR(slot): the content before the bit. Other side: record/attach.c. */
		fetch_and(&page->vacant, ~(UINT64_C(1) << i));
		fetch_add(&page->change, 1);
		store_release(&slot->claim, 0); /* PAIR(slot) */
		return i;
	}
	return -EAGAIN;
}

void procpage_leave(struct procpage *page, int slot)
{
	/* Claimed before it is vacant: nobody enters until procpage_free(). */
	store_relaxed(&page->slot[slot].claim, load_relaxed(&page->slot[slot].creator_pid));
	fetch_or(&page->vacant, UINT64_C(1) << slot);
	fetch_add(&page->change, 1);
}

void procpage_free(struct procpage *page, int slot)
{
	store_release(&page->slot[slot].claim, 0); /* PAIR(slot) */
}
