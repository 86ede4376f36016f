/*
 * attach.c - the streams that trace this process: finding, mapping and letting go of them
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/attach.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/copy.h"
#include "base/rseq.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/ticks.h"
#include "host/image.h"
#include "host/thread_ref.h"
#include "record/record_rseq.h"
#include "record/acquire.h"
#include "shm/reap.h"
#include "shm/chunk.h"
#include "shm/program.h"

/* How often to check whether a stream's creator lives: the check takes some microseconds. */
#define CHECK_NS NS_PER_S

/* How many trace points pass before the next attempt, doubled each time, and how often it is doubled. */
#define FIRST_WAIT 16u
#define TRIES_MAX  16

/* How long to wait for threads that are inside a trace point, in steps of 50 us. */
#define DETACH_STEPS 4000

static uint32_t ref(const struct process *process)
{
	return thread_ref_make((uint32_t)sys_gettid(), process->ident.pidns, process->page->pidns);
}

/* Removes the stream from this process's own page, if still entered. */
static void leave_slot(const struct process *process, int slot, const struct page_entry *entry)
{
	if (procpage_leave_now(process->page, slot, ref(process), entry))
		procpage_free(process->page, slot);
}

/* Gives up a stream that can no longer be mapped: its creator has ended, in whatever way, or its file was removed. */
static void give_up(const struct process *process, int dir, int slot, const struct page_entry *entry)
{
	stream_reap(dir, &process->shm_dir, process->ident.pidns, entry, NULL, NULL);
	TEST_POINT("giveup_reaped");
	/* If there was no file, stream_reap() has not looked for the stream in the pages. */
	leave_slot(process, slot, entry);
}

/*
 * Describes to the stream's log what this process executes. Called once for each stream, before the first event,
 * because the process may have ended before the flusher can ask (docs/logs.md).
 */
static void leave_program(const struct process *process, const struct stream *s)
{
	struct work {
		struct image_room room;
		unsigned char bytes[PROGRAM_SIZE_MAX];
	} *work = sys_map(sizeof *work, -1, 1);
	struct image_of of = { .pid = process->ident.pid };
	struct program_key key = { (uint64_t)clock_ns(CLOCK_MONOTONIC), of.pid };
	bool crowded = false;
	size_t size;

	if (!work)
		return;
	size = image_look(&of, &work->room, work->bytes, sizeof work->bytes);
	if (size)
		program_leave(s, key, work->bytes, size, &crowded);
	/* The flusher makes room. */
	if (crowded)
		acquire_notify(s->header);
	sys_unmap(work, sizeof *work);
}

static struct attached *map(struct self *self, int slot, const struct page_entry *entry)
{
	const struct process *process = self_process(self);
	struct attached *a = sys_map(sizeof *a, -1, 1);
	int dir, kept, r = -1;

	if (!a)
		return NULL;
	kept = self_take_kept(process, entry, a);
	if (kept == 0)
		r = 0;
	dir = kept == -ENOENT ? file_directory(&process->shm_dir, false) : -1;
	if (dir >= 0) {
		r = stream_map(dir, &process->shm_dir, entry->creator, entry->serial, process->ident.pidns, &a->stream);
		/* A lack of descriptors or memory is no reason to give up. */
		if (r == -ENOENT || r == -ESTALE || r == -EINVAL)
			give_up(process, dir, slot, entry);
		sys_close(dir);
	}
	if (r < 0) {
		sys_unmap(a, sizeof *a);
		return NULL;
	}
	a->entry = *entry;
	if (kept == 0) {
		a->foreign = a->user != process->shm_dir.owner;
		self_mapped_for_children(a->stream.header, a);
	} else {
		a->user = process->shm_dir.owner;
		self_mapped(process->ident.pid, a->stream.header, a->stream.size);
	}
	TEST_POINT("attach_mapped");
	if (a->stream.programs)
		leave_program(process, &a->stream);
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

/*
 * Unmaps all retired streams, if no other thread stays inside for more than this many steps. Returns false otherwise.
 * The calling thread may itself be inside, if it uses none of these streams.
 */
static bool unmap_retired(struct self *self, int steps)
{
	struct attached *a = exchange(&self->retired, NULL);

	TEST_POINT("detach_retired");
	if (self_wait_quiescent(self, steps)) {
		TEST_POINT("detach_outside");
		unmap_all(a);
		return true;
	}
	while (a) {
		struct attached *next = a->next;

		self_retire(self, a);
		a = next;
	}
	return false;
}

/*
 * Lets go of a stream that is no longer in the page, or whose slot has another stream now. Only this stream is removed:
 * another thread may have attached the right one already. The page's generation rises after the stream is out of
 * attached[], so a thread that has it in its writers looks again before it uses them, whether or not the controller has
 * raised the generation itself, or was killed before.
 */
static void let_go(struct self *self, struct procpage *page, int slot, struct attached *a)
{
	if (!cas(&self->attached[slot], &a, NULL))
		return;
	fetch_add(&page->sum.generation, 1);
	TEST_POINT("letgo_taken");
	self_retire(self, a);
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

/*
 * Returns whether the writer may take the inline path: its clock must be the counter, and restartable sequences must
 * work if the program uses them.
 */
static bool uses_rseq(const struct writer *writer)
{
	/* This C library or kernel may have none. */
	return (!HAVE_RSEQ || rseq_find()) && writer->clock_kind == CLOCK_KIND_COUNTER;
}

/* Sets up a thread's writer of a slot for the stream that is attached there. */
static void writer_set(struct writer *writer, struct attached *a, int slot)
{
	if (writer->number == a->number && writer->attached == a)
		return;
	memset(writer, 0, sizeof *writer);
	writer->attached = a;
	writer->number = a->number;
	writer->slot = (uint32_t)slot;
	writer->header = a->stream.header;
	writer->data_size = a->stream.data_size;
	writer->short_size = writer->data_size < COPY_INLINE ? writer->data_size : COPY_INLINE;
	writer->clock_kind = a->stream.clock_kind;
	writer->rseq_end = uses_rseq(writer) ? writer->data_size + 1 : 0;
}

/*
 * Lets go of all streams that have left the page. Called before the writers are made, so that none of them uses such a
 * stream. Unmaps none if another trace point of this thread goes on, which may use it.
 */
static void let_go_all(struct self *self, struct procpage *page, bool inside)
{
	struct page_entry entry;

	for (int i = 0; i < PAGE_SLOTS; i++) {
		struct attached *a = load_acquire(&self->attached[i]); /* PAIR(attached) */

		if (a && (!procpage_read(page, i, &entry) || !page_entry_same(&a->entry, &entry)))
			let_go(self, page, i, a);
	}
	if (!inside && load_relaxed(&self->retired))
		unmap_retired(self, 0);
}

/*
 * Copies what all of the thread's streams filter out: without streams, every event. A change of a filter makes the
 * threads copy it again, but only in this process. So nothing is copied if a stream is one that other processes
 * inherit, or if its controller knows another page of this process. An event that a handler records meanwhile finds
 * filters 0, or a generation that is not the page's.
 */
static void copy_filters(struct thread *t)
{
	uint32_t some = 0;

	for (uint32_t i = 0; i < t->count; i++)
		if (t->order[i]->attached->entry.inherit_from || t->order[i]->attached->foreign)
			return;
	for (uint32_t w = 0; w < EVENT_ID_END / 32; w++) {
		uint32_t bits = UINT32_MAX;

		for (uint32_t i = 0; i < t->count; i++)
			bits &= load_relaxed(&t->order[i]->header->filter[w]);
		t->filter[w] = bits;
		some |= bits;
	}
	fence_signal();
	store_relaxed(&t->filters, some);
}

static void update(struct self *self, struct procpage *page, struct thread *t, bool inside)
{
	uint32_t generation, count = 0, together_end = UINT32_MAX, turns = 0;
	int missed = 0;
	bool again = false;

	store_relaxed(&t->filters, 0);
	fence_signal();
	/*
	 * First: a slot that is emptied from here on asks for another look. A look that unmaps nothing leaves it to
	 * the next one that does, as far as the page asks for it.
	 */
	if (!inside)
		fetch_or(&page->sum.vacant, PAGE_LOOK);
	TEST_POINT("update_look");
	let_go_all(self, page, inside);
	generation = load_acquire(&page->sum.generation); /* PAIR(slot), PAIR(filter) */
	for (int i = 0; i < PAGE_SLOTS; i++) {
		/* PAIR(slot): if the bit is seen clear, the slot's content is visible. */
		bool taken = procpage_taken(load_acquire(&page->word[i / 64]), i);
		bool look = taken && (missed < ATTACH_MISSES || load_relaxed(&self->attached[i]));
		struct attached *a = look ? attach_slot(self, page, i) : NULL;
		struct writer *writer = a ? self_writer(t, i) : thread_writer(t, i);

		again |= taken && (!a || !writer);
		missed += look && !a;
		if (!taken && writer && writer->attached)
			memset(writer, 0, sizeof *writer);
		if (!taken || !a || !writer)
			continue;
		writer_set(writer, a, i);
		t->order[count++] = writer; /* NOLINT(clang-analyzer-core.NullDereference): the thread is never null */
		if (writer->rseq_end < together_end)
			together_end = writer->rseq_end;
		turns |= load_relaxed(&a->stream.header->turns);
	}
	t->count = count;
	t->stops = thread_stops(t);
	fence_acquire(); /* PAIR(seam): a stream that was started before one of these stops is seen running */
	t->together_end = together_end;
	t->together_most = turns ? 1 : TOGETHER_MAX;
	t->all_together_end = count && count <= t->together_most ? together_end : 0;
	copy_filters(t);
	TEST_POINT("update_writers");
	t->only = count == 1 && together_end ? t->order[0] : NULL;
	/*
	 * Some streams could not be mapped for lack of descriptors or memory, or not be let go because other threads
	 * were inside: try again after some trace points, and later each time. But try soon if something is new.
	 */
	again |= !inside && load_relaxed(&self->retired) != NULL;
	if (!again || generation != t->generation + 1)
		t->tries = 0;
	if (again && t->tries < TRIES_MAX)
		t->tries++;
	t->wait = t->tries ? FIRST_WAIT << t->tries : 0;
	t->generation = t->tries ? generation - 1 : generation;
	if (t->tries)
		fetch_and(&page->sum.vacant, ~PAGE_LOOK);
	TEST_POINT("update_done");
}

void attach_update(struct self *self, struct procpage *page, struct thread *t)
{
	update(self, page, t, false);
}

void attach_update_inside(struct self *self, struct procpage *page, struct thread *t)
{
	update(self, page, t, true);
}

bool attach_has(const struct self *self, const struct writer *writer)
{
	const struct attached *a;

	/* The number: the memory may be another stream's by now. */
	for (int i = 0; i < PAGE_SLOTS; i++) {
		a = load_acquire(&self->attached[i]); /* PAIR(attached) */
		if (a && a == writer->attached)
			return a->number == writer->number;
	}
	for (a = load_relaxed(&self->retired); a; a = a->next)
		if (a == writer->attached)
			return a->number == writer->number;
	return false;
}

void attach_renew(struct self *self, struct procpage *page, struct thread *t)
{
	if (load_acquire(&page->sum.generation) == t->generation) /* PAIR(slot) */
		return;
	fetch_or(&page->sum.vacant, PAGE_LOOK);
	t->generation = load_acquire(&page->sum.generation); /* PAIR(slot) */
	let_go_all(self, page, false);
}

/*
 * Maps all streams of the page, with signals blocked. The thread is inside meanwhile, though through no writer, so that
 * no other thread unmaps a stream.
 */
static void map_all(struct self *self, struct procpage *page, struct thread *t)
{
	uint32_t depth = t->depth;
	int missed = 0;

	store_relaxed(&t->depth, depth + 1);
	/* The thread is inside before it looks at the page. Against attach_detach(). */
	fence_full();
	TEST_POINT("ahead_inside");
	for (int i = 0; i < PAGE_SLOTS && missed < ATTACH_MISSES; i++)
		/* PAIR(slot): if the bit is seen clear, the slot's content is visible. */
		if (procpage_taken(load_acquire(&page->word[i / 64]), i))
			missed += !attach_slot(self, page, i);
	store_release(&t->depth, depth); /* PAIR(inside) */
}

void attach_ahead(void)
{
	struct self *self = self_peek();
	const struct process *process = self ? self_process(self) : NULL;
	uint32_t generation;
	struct thread *t;
	uint64_t signals;

	if (!process || load_relaxed(&process->page_seen->sum.vacant) == ~UINT32_C(0))
		return;
	generation = load_acquire(&process->page_seen->sum.generation); /* PAIR(slot) */
	/* Streams of the former user cannot be opened any more. */
	if (load_relaxed(&self->ahead) == generation || process->shm_dir.owner != sys_geteuid())
		return;
	signals = sys_signals_block();
	/*
	 * If a handler has just forked this process, the child's memory is wiped: it begins at its first trace point.
	 */
	t = self_peek() ? thread_self : NULL;
	if (self_peek() && (!t || !t->page_generation)) {
		rseq_prepare();
		t = self_thread(self);
	}
	if (t) {
		map_all(self, process->page, t);
		store_relaxed(&self->ahead, generation);
	}
	sys_signals_restore(signals);
}

/*
 * Returns whether the process has ended that made this stream to trace itself. Asks by process id, for a stream whose
 * file cannot be asked (H20). About a creator other than the traced process nothing is known here, perhaps not even its
 * pid namespace.
 */
static bool own_creator_gone(const struct attached *a)
{
	const struct stream_header *h = a->stream.header;
	struct ident creator = a->entry.creator;
	uint32_t parent;
	uint64_t start;

	if (a->stream.outsider || load_relaxed(&h->target_pid) != creator.pid ||
	    load_relaxed(&h->target_start) != creator.start)
		return false;
	return sys_kill_probe((int)creator.pid) == -ESRCH ||
	       (proc_parent(creator.pid, &parent, &start) == 0 && start != creator.start);
}

static void mark_ended(struct stream_header *h)
{
	fetch_and(&h->state, ~(STATE_RUNNING | STATE_ARMED | STATE_LOSING));
	fetch_or(&h->state, STATE_ENDED);
	TEST_POINT("check_ended");
}

bool attach_check_due(const struct attached *a)
{
	return clock_ns(CLOCK_MONOTONIC_COARSE) - load_relaxed(&a->checked) >= CHECK_NS;
}

void attach_check(struct self *self, struct attached *a)
{
	const struct process *process = self_process(self);
	char name[FILE_NAME_SIZE];
	int dir;

	if (!attach_check_due(a))
		return;
	store_relaxed(&a->checked, clock_ns(CLOCK_MONOTONIC_COARSE));
	/*
	 * Whether another user's file is held cannot be asked. That user's next posix_trace_create() marks the stream
	 * of a dead creator as ended.
	 */
	if (a->foreign) {
		if (own_creator_gone(a))
			mark_ended(a->stream.header);
		return;
	}
	dir = file_directory(&process->shm_dir, false);
	if (dir < 0)
		return;
	stream_name(name, a->entry.creator, a->entry.serial);
	if (!file_held(dir, name)) {
		/*
		 * If there was no file, stream_reap() has not looked for the stream in the pages. A trace point does
		 * not complete the stream's log.
		 */
		bool reaped = stream_reap(dir, &process->shm_dir, process->ident.pidns, &a->entry, NULL, NULL);

		mark_ended(a->stream.header);
		if (!reaped)
			procpage_forget(dir, &process->shm_dir, process->ident.pidns, &a->entry, true);
		TEST_POINT("check_forgotten");
	}
	sys_close(dir);
}

void attach_ended(struct self *self, const struct attached *a, int slot)
{
	const struct process *process = self_process(self);

	/*
	 * A stream that this process created is about to be let go, by posix_trace_shutdown(), which waits for it, or
	 * at exit.
	 */
	if (a->entry.creator.pid == process->ident.pid && a->entry.creator.start == process->ident.start)
		return;
	leave_slot(process, slot, &a->entry);
}

void attach_detach(struct self *self, int slot)
{
	struct attached *a = exchange(&self->attached[slot], NULL);

	TEST_POINT("detach_taken");
	/*
	 * A thread becomes visible as inside before it reads the page's generation. So after the barrier it is either
	 * seen inside, or it will see the new generation, which was written before, and not use its old writer. A
	 * thread that was inside may have mapped the stream once more, so look again.
	 */
	if (a)
		self_retire(self, a);
	if (unmap_retired(self, DETACH_STEPS)) {
		a = exchange(&self->attached[slot], NULL);
		if (a)
			unmap(a);
	}
}
