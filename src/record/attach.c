/*
 * attach.c - the streams that trace this process: noticed, mapped, let go
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/attach.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/copy.h"
#include "base/restart.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/ticks.h"
#include "shm/chunk.h"
#include "shm/who.h"

/* How often to ask whether a stream's creator lives: it costs some microseconds. */
#define CHECK_NS NS_PER_S

/* How many trace points to let pass before another try, doubled each time, and how often. */
#define FIRST_WAIT 16u
#define TRIES_MAX  16

/* How long to wait for threads that are inside a trace point, in steps of 50 us. */
#define DETACH_STEPS 4000

static uint32_t who(const struct process *process)
{
	return who_make((uint32_t)sys_gettid(), process->ident.space, process->page->space);
}

/* Out of this process's own page, if it is there still. */
static void leave_slot(const struct process *process, int slot, const struct page_entry *entry)
{
	if (procpage_leave(process->page, slot, who(process), entry))
		procpage_free(process->page, slot);
}

/* The stream cannot be had any more: its creator has ended, by whatever, or somebody has removed it. */
static void give_up(const struct process *process, int dir, int slot, const struct page_entry *entry)
{
	stream_bury(dir, &process->place, process->ident.space, entry, NULL, NULL);
	TEST_POINT("giveup_buried");
	/* Without a file nobody has looked for it in the pages. */
	leave_slot(process, slot, entry);
}

static struct attached *map(struct self *self, int slot, const struct page_entry *entry)
{
	const struct process *process = self_process(self);
	struct attached *a = sys_map(sizeof *a, -1, 1);
	int dir, r = -1;

	if (!a)
		return NULL;
	dir = file_directory(&process->place, false);
	if (dir >= 0) {
		r = stream_map(dir, &process->place, entry->creator, entry->serial, process->ident.space, &a->stream);
		/* None that is missing for want of a descriptor, or memory. */
		if (r == -ENOENT || r == -ESTALE || r == -EINVAL)
			give_up(process, dir, slot, entry);
		sys_close(dir);
	}
	if (r < 0) {
		sys_unmap(a, sizeof *a);
		return NULL;
	}
	self_mapped(process->ident.pid, a->stream.header, a->stream.size);
	TEST_POINT("attach_mapped");
	a->entry = *entry;
	a->checked = clock_ns(CLOCK_MONOTONIC_COARSE);
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

/* Left for the next one that finds nobody inside, see unmap_retired(). */
static void retire(struct self *self, struct attached *a)
{
	if (!a)
		return;
	a->next = load_relaxed(&self->retired);
	while (!cas(&self->retired, &a->next, a))
		;
}

/*
 * Unmaps what has retired, if no other thread is inside for longer than so
 * many steps. This one may be inside too, if it has none of these in its hands.
 */
static bool unmap_retired(struct self *self, int steps)
{
	struct attached *a = exchange(&self->retired, NULL);

	TEST_POINT("detach_retired");
	if (self_wait_outside(self, steps)) {
		TEST_POINT("detach_outside");
		unmap_all(a);
		return true;
	}
	while (a) {
		struct attached *next = a->next;

		retire(self, a);
		a = next;
	}
	return false;
}

/*
 * Not in the page any more, or another is in its place. Only this one: others
 * may have put the right one there already. The page's change rises after it
 * is out of attached[]: who has it in his lanes looks again before he uses them,
 * however far the controller has come, or been killed, with its own change.
 */
static void let_go(struct self *self, struct procpage *page, int slot, struct attached *a)
{
	if (!cas(&self->attached[slot], &a, NULL))
		return;
	fetch_add(&page->sum.change, 1);
	TEST_POINT("letgo_taken");
	retire(self, a);
}

struct attached *attach_slot(struct self *self, struct procpage *page, int i)
{
	struct attached *a = load_acquire(&self->attached[i]); /* PAIR(attached) */
	struct page_entry entry;

	if (!procpage_read(page, i, &entry))
		return NULL;
	if (a && !page_entry_same(&a->entry, &entry)) {
		let_go(self, page, i, a);
		a = load_acquire(&self->attached[i]); /* PAIR(attached) */
		if (a && !page_entry_same(&a->entry, &entry))
			return NULL;
	}
	if (a)
		return a;
	a = map(self, i, &entry);
	if (a) {
		struct attached *none = NULL;

		TEST_POINT("attach_publish");
		if (!cas(&self->attached[i], &none, a)) { /* PAIR(attached) */
			unmap(a);
			a = page_entry_same(&none->entry, &entry) ? none : NULL;
		}
	}
	return a;
}

/* May it be written in stretches, if there may be any? */
static bool stretches(const struct lane *lane)
{
#if RESTART
	if (!restart_find())
		return false; /* this C library or kernel has none */
#endif
	return lane->clock_kind == CLOCK_KIND_COUNTER;
}

/* The lane of a slot for a thread, right for what is attached there. */
static void lane_set(struct lane *lane, struct attached *a)
{
	if (lane->number == a->number && lane->attached == a)
		return;
	memset(lane, 0, sizeof *lane);
	lane->attached = a;
	lane->number = a->number;
	lane->header = a->stream.header;
	lane->data_size = a->stream.data_size;
	lane->short_size = lane->data_size < COPY_INLINE ? lane->data_size : COPY_INLINE;
	lane->clock_kind = a->stream.clock_kind;
	lane->stretch_end = stretches(lane) ? lane->data_size + 1 : 0;
}

/* Before the lanes are made: what has retired by now gets into none of them. */
static void let_go_all(struct self *self, struct procpage *page)
{
	struct page_entry entry;

	for (int i = 0; i < PAGE_SLOTS; i++) {
		struct attached *a = load_acquire(&self->attached[i]); /* PAIR(attached) */

		if (a && (!procpage_read(page, i, &entry) || !page_entry_same(&a->entry, &entry)))
			let_go(self, page, i, a);
	}
	if (load_relaxed(&self->retired))
		unmap_retired(self, 0);
}

/*
 * What all of the thread's streams filter out. Whoever changes a filter lets the threads look again, in this process only: so not for
 * streams that others inherit. An event that a handler records meanwhile finds none, or a change that is not ours.
 */
static void copy_filters(struct thread *t)
{
	uint32_t some = 0;

	for (uint32_t i = 0; i < t->count; i++)
		if (t->order[i]->attached->entry.inherit_from)
			return;
	for (uint32_t w = 0; t->count && w < EVENT_ID_END / 32; w++) {
		uint32_t bits = UINT32_MAX;

		for (uint32_t i = 0; i < t->count; i++)
			bits &= load_relaxed(&t->order[i]->header->filter[w]);
		t->filter[w] = bits;
		some |= bits;
	}
	fence_signal();
	store_relaxed(&t->filters, some);
}

void attach_update(struct self *self, struct procpage *page, struct thread *t)
{
	uint32_t change, count = 0, together_end = UINT32_MAX;
	bool again = false;

	store_relaxed(&t->filters, 0);
	fence_signal();
	/* First: what is emptied from here on asks for another look. */
	fetch_or(&page->sum.vacant, PAGE_LOOK);
	TEST_POINT("update_look");
	let_go_all(self, page);
	change = load_acquire(&page->sum.change); /* PAIR(slot), PAIR(filter) */
	for (int i = 0; i < PAGE_SLOTS; i++) {
		/* PAIR(slot): a bit that is clear is seen after its slot. */
		bool taken = procpage_taken(load_acquire(&page->word[i / 64]), i);
		struct attached *a = taken ? attach_slot(self, page, i) : NULL;

		again |= taken && !a;
		if (!taken && t->lane[i].attached)
			memset(&t->lane[i], 0, sizeof t->lane[i]);
		if (!taken || !a)
			continue;
		lane_set(&t->lane[i], a);
		t->order[count++] = &t->lane[i];
		if (t->lane[i].stretch_end < together_end)
			together_end = t->lane[i].stretch_end;
	}
	t->count = count;
	t->together_end = together_end;
	copy_filters(t);
	TEST_POINT("update_lanes");
	t->only = count == 1 && together_end ? t->order[0] : NULL;
	/*
	 * What could not be mapped, for want of descriptors or memory, or not be
	 * let go because others were inside: again, after some trace points, and
	 * later each time. But soon, where something is new.
	 */
	again |= load_relaxed(&self->retired) != NULL;
	if (!again || change != t->change + 1)
		t->tries = 0;
	if (again && t->tries < TRIES_MAX)
		t->tries++;
	t->wait = t->tries ? FIRST_WAIT << t->tries : 0;
	t->change = t->tries ? change - 1 : change;
	if (t->tries)
		fetch_and(&page->sum.vacant, ~PAGE_LOOK);
	TEST_POINT("update_done");
}

void attach_renew(struct self *self, struct procpage *page, struct thread *t)
{
	if (load_acquire(&page->sum.change) == t->change) /* PAIR(slot) */
		return;
	fetch_or(&page->sum.vacant, PAGE_LOOK);
	t->change = load_acquire(&page->sum.change); /* PAIR(slot) */
	let_go_all(self, page);
}

void attach_check(struct self *self, struct attached *a)
{
	const struct process *process = self_process(self);
	int64_t now = clock_ns(CLOCK_MONOTONIC_COARSE);
	char name[FILE_NAME_SIZE];
	int dir;

	if (now - load_relaxed(&a->checked) < CHECK_NS)
		return;
	store_relaxed(&a->checked, now);
	dir = file_directory(&process->place, false);
	if (dir < 0)
		return;
	stream_name(name, a->entry.creator, a->entry.serial);
	if (!file_held(dir, name)) {
		/* Without a file nobody has looked for it in the pages. What its log lacks is not written in a trace point. */
		bool buried = stream_bury(dir, &process->place, process->ident.space, &a->entry, NULL, NULL);

		fetch_and(&a->stream.header->state, ~(STATE_RUNNING | STATE_ARMED));
		fetch_or(&a->stream.header->state, STATE_ENDED);
		TEST_POINT("check_ended");
		if (!buried)
			procpage_forget(dir, &process->place, process->ident.space, &a->entry);
		TEST_POINT("check_forgotten");
	}
	sys_close(dir);
}

void attach_ended(struct self *self, const struct attached *a, int slot)
{
	const struct process *process = self_process(self);

	/* This process's own is about to be let go: by posix_trace_shutdown(), which waits for it, or by its end. */
	if (a->entry.creator.pid == process->ident.pid && a->entry.creator.start == process->ident.start)
		return;
	leave_slot(process, slot, &a->entry);
}

void attach_detach(struct self *self, int slot)
{
	struct attached *a = exchange(&self->attached[slot], NULL);

	TEST_POINT("detach_taken");
	/*
	 * A thread says that it is inside before it reads the page's change. So
	 * after the barrier it has either said so, or it will see the change,
	 * which was made before, and not use its old lane. One that was inside
	 * may have mapped the stream once more: look again.
	 */
	retire(self, a);
	if (unmap_retired(self, DETACH_STEPS)) {
		a = exchange(&self->attached[slot], NULL);
		if (a)
			unmap(a);
	}
}
