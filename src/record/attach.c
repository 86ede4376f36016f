/*
 * attach.c - the streams that trace this process: noticed, mapped, let go
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/attach.h"

#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/ticks.h"
#include "shm/chunk.h"

/* How long to wait for threads that are inside a trace point, in steps of 50 us. */
#define DETACH_STEPS 4000

static bool same(const struct page_slot *a, const struct page_slot *b)
{
	return a->creator_pid == b->creator_pid && a->creator_start == b->creator_start && a->serial == b->serial;
}

static struct attached *map(struct self *self, const struct page_slot *slot)
{
	struct attached *a = sys_map(sizeof *a, -1, 1);
	struct ident creator = { slot->creator_pid, slot->creator_start };
	int dir, r = -1;

	if (!a)
		return NULL;
	dir = file_directory(false);
	if (dir >= 0) {
		r = stream_map(dir, creator, slot->serial, &a->stream);
		sys_close(dir);
	}
	if (r < 0) {
		sys_unmap(a, sizeof *a);
		return NULL;
	}
	self_mapped(a->stream.header, a->stream.size);
	a->slot = *slot;
	a->number = fetch_add(&self->attach_count, 1) + 1;
	return a;
}

static void unmap(struct attached *a)
{
	self_unmapped(a->stream.header);
	stream_unmap(&a->stream);
	sys_unmap(a, sizeof *a);
}

static void unmap_all(struct attached *a)
{
	while (a) {
		struct attached *next = a->next;

		unmap(a);
		a = next;
	}
}

/* Left for the next attach_detach() that finds nobody inside. */
static void retire(struct self *self, struct attached *a)
{
	if (!a)
		return;
	a->next = load_relaxed(&self->retired);
	while (!cas(&self->retired, &a->next, a))
		;
}

/* Of this process as it was before it executed another file: then the stream has ended (MODEL-20). */
static bool before_exec(const struct self *self, const struct attached *a)
{
	const struct process *process = self_process(self);

	return a->slot.creator_pid == process->ident.pid && a->slot.creator_start == process->ident.start &&
	       a->stream.header->creator_image != ident_image();
}

static void evict(struct procpage *page, int slot, struct attached *a)
{
	struct ident creator = { a->slot.creator_pid, a->slot.creator_start };

	procpage_leave(page, slot);
	procpage_free(page, slot);
	stream_unlink(sys_geteuid(), creator, a->slot.serial);
	unmap(a);
}

struct attached *attach_slot(struct self *self, struct procpage *page, int i)
{
	/* Of a slot that changes under our eyes we may get a mixture: no such stream is found, or it is let go at the next change. */
	struct page_slot slot = {
		.creator_start = load_relaxed(&page->slot[i].creator_start),
		.creator_pid = load_relaxed(&page->slot[i].creator_pid),
		.serial = load_relaxed(&page->slot[i].serial),
	};
	struct attached *a = load_acquire(&self->attached[i]); /* PAIR(attached) */

	if (a && !same(&a->slot, &slot)) {
		/*
		 * Of a stream that was here before, whose creator could not
		 * clean up. Only this one: others may have put the right one
		 * in its place already.
		 */
		if (cas(&self->attached[i], &a, NULL)) {
			if (self_wait_outside(self, 0))
				unmap(a);
			else
				retire(self, a);
		}
		a = load_acquire(&self->attached[i]); /* PAIR(attached) */
		if (a && !same(&a->slot, &slot))
			return NULL;
	}
	if (a)
		return a;
	a = map(self, &slot);
	if (a && before_exec(self, a)) {
		evict(page, i, a);
		return NULL;
	}
	if (a) {
		struct attached *none = NULL;

		if (!cas(&self->attached[i], &none, a)) { /* PAIR(attached) */
			unmap(a);
			a = same(&none->slot, &slot) ? none : NULL;
		}
	}
	return a;
}

void attach_update(struct self *self, struct procpage *page, struct thread *t)
{
	uint32_t change = load_acquire(&page->change); /* PAIR(slot) */
	/* PAIR(slot): a bit that is clear is seen after its slot. */
	uint64_t vacant = load_acquire(&page->vacant);
	uint32_t count = 0;

	for (int i = 0; i < PAGE_SLOTS; i++) {
		struct lane *lane = &t->lane[i];
		struct attached *a = NULL;

		if (!(vacant >> i & 1))
			a = attach_slot(self, page, i);
		if (!a || lane->number != a->number || lane->attached != a) {
			memset(lane, 0, sizeof *lane);
			if (!a)
				continue;
			lane->attached = a;
			lane->number = a->number;
			lane->header = a->stream.header;
			lane->data_size = lane->header->data_size;
			lane->clock_kind = a->stream.clock_kind;
		}
		t->order[count++] = (uint8_t)i;
	}
	t->count = count;
	t->only = count == 1 && t->lane[t->order[0]].clock_kind == CLOCK_KIND_COUNTER ? &t->lane[t->order[0]] : NULL;
	t->change = change;
}

void attach_detach(struct self *self, int slot)
{
	struct attached *a = exchange(&self->attached[slot], NULL);

	/*
	 * A thread says that it is inside before it reads the page's change. So
	 * after the barrier it has either said so, or it will see the change,
	 * which was made before, and not use its old lane. One that was inside
	 * may have mapped the stream once more: look again.
	 */
	retire(self, a);
	a = exchange(&self->retired, NULL);
	if (self_wait_outside(self, DETACH_STEPS)) {
		unmap_all(a);
		a = exchange(&self->attached[slot], NULL);
		if (a)
			unmap(a);
		return;
	}
	while (a) {
		struct attached *next = a->next;

		retire(self, a);
		a = next;
	}
}
