/*
 * slow.c - the slow path of a trace point
 *
 * For the first event in a stream, a change of the page, a forked child, and the first trace point of a handler inside
 * a trace point. Blocks signals, uses locked instructions and sometimes system calls, and takes about a microsecond.
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/slow.h"

#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "record/attach.h"
#include "record/emit.h"
#include "record/record_rseq.h"
#include "record/seam.h"
#include "record/writer.h"

/*
 * Returns whether the trace point that uses this block was left by longjmp() out of a handler, as opposed to still
 * going on below us on the stack. On a signal stack of its own the two cases cannot be told apart (H17). Notes the
 * signal stack then, so that the next trace point there need not ask.
 */
static bool abandoned(struct thread *t, const struct thread *level, uintptr_t frame)
{
	uintptr_t from;
	size_t size;

	if (thread_interrupts(t, frame, load_relaxed(&level->ready)))
		return false;
	if (!sys_on_signal_stack(&from, &size))
		return true;
	store_relaxed(&t->signal_stack_size, 0);
	fence_signal();
	store_relaxed(&t->signal_stack, from);
	fence_signal();
	store_relaxed(&t->signal_stack_size, size);
	return false;
}

/*
 * Recovers the blocks from this one on from trace points that were abandoned. The deepest first: if two of them were
 * about to take the same chunk, the later one has locked it.
 */
static void recover_abandoned(const struct self *self, struct thread *t)
{
	if (t->deeper)
		recover_abandoned(self, t->deeper);
	if (load_relaxed(&t->ready) <= THREAD_READY)
		return;
	for (uint32_t i = 0; i < t->count; i++) {
		struct writer *writer = load_relaxed(&t->order[i]);

		/* This thread may have shut the stream down since. No other thread unmaps one before it is outside. */
		if (attach_has(self, writer))
			writer_abandon(t, writer);
		else
			memset(writer, 0, sizeof *writer);
	}
	store_relaxed(&t->depth, 0);
	store_relaxed(&t->ready, (uintptr_t)THREAD_READY);
}

/*
 * Returns the block for a trace point at this stack address: the first that no other trace point uses. Null if there
 * are too many, or no block has writers. Where a trace point was abandoned, those inside it were, too: its block is the
 * first. If even the thread's first block is free, nothing goes on in the others.
 */
static struct thread *block_for(struct self *self, struct thread *t, uintptr_t frame)
{
	struct thread *level = t;

	if (self_process(self)->locked)
		return NULL;
	while (load_relaxed(&level->ready) != THREAD_READY) {
		if (abandoned(t, level, frame))
			break;
		level = self_deeper(self, level);
		if (!level)
			return NULL;
	}
	recover_abandoned(self, level);
	return level;
}

/* Records through the writers in `among`, with ready set and signals blocked. Returns the streams to look at again. */
static uint64_t look_at_writers(const struct passage *passage, uint64_t among)
{
	struct thread *t = passage->t;
	uint64_t missed = 0, took = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		struct writer *writer = load_relaxed(&t->order[i]);
		enum writer_outcome outcome;

		if (!seam_has(among, i) || seam_taken(passage, seam_of_writer, took, i))
			continue;
		outcome = writer_record(writer, writer->clock_kind, PATH_SLOW, *passage->call);
		if (outcome != WRITER_DONE && !writer_finish(outcome, t, writer, passage->call))
			missed |= seam_bit(i);
		else
			took |= seam_bit(i);
		TEST_POINT("slow_looked");
	}
	return seam_missed(passage, seam_of_writer, took, missed);
}

/*
 * Records with a block that no other trace point uses: updates its writers, which the trace points inside this one do
 * not touch, and uses them.
 */
static void record_with(const struct passage *passage, struct procpage *page, uintptr_t frame)
{
	struct thread *t = passage->t;

	store_relaxed(&t->ready, frame);
	fence_signal();
	TEST_POINT("slow_inside");
	if (t->wait && load_relaxed(&page->sum.generation) == t->generation + 1)
		t->wait--;
	else if (load_relaxed(&page->sum.generation) != t->generation && t == thread_self)
		attach_update(passage->self, page, t);
	else if (load_relaxed(&page->sum.generation) != t->generation)
		attach_update_inside(passage->self, page, t);
	seam_again(passage, look_at_writers, seam_of_writer, look_at_writers(passage, SEAM_ALL));
	thread_leave(t);
}

static const struct stream_header *slot_stream(const struct passage *passage, uint32_t n)
{
	/* PAIR(attached) */
	const struct attached *a = n < PAGE_SLOTS ? load_acquire(&passage->self->attached[n]) : NULL;

	return a ? a->stream.header : NULL;
}

/* Records without writers, in the slots in `among`. Returns the streams to look at again. */
static uint64_t look_at_slots(const struct passage *passage, uint64_t among)
{
	struct self *self = passage->self;
	struct procpage *page = passage->process->page;
	struct owner_id w = writer_owner_id(passage->t);
	uint64_t missed = 0, took = 0;
	int unmapped = 0;

	for (int i = 0; i < PAGE_SLOTS; i++) {
		bool taken = procpage_taken(load_acquire(&page->word[i / 64]), i); /* PAIR(slot) */
		bool look = taken && seam_has(among, (uint32_t)i) &&
		            (unmapped < ATTACH_MISSES || load_relaxed(&self->attached[i]));
		struct attached *a = look ? attach_slot(self, page, i) : NULL;
		struct stream_header *h = a ? a->stream.header : NULL;
		uint32_t state = h ? load_relaxed(&h->state) : 0;
		enum emit_outcome outcome;

		unmapped += look && !a;
		if (!a)
			continue;
		if (passage->depth == 0 && passage->process->locked)
			attach_check(self, a);
		if (passage->depth == 0 && (state & STATE_ENDED))
			attach_ended(self, a, i);
		if (seam_taken(passage, slot_stream, took, (uint32_t)i))
			continue;
		outcome = EMIT_DONE;
		if (!(state & (STATE_RUNNING | STATE_LOSING)) || stream_filters(h, passage->call->id))
			outcome = EMIT_MISSED;
		else if (state & STATE_LOSING)
			emit_lost(&a->stream);
		else
			outcome = emit_alone(&a->stream, &w, false, passage->call);
		if (outcome == EMIT_MISSED || (outcome == EMIT_NO_ROOM && !emit_full(&a->stream)))
			missed |= seam_bit((uint32_t)i);
		else
			took |= seam_bit((uint32_t)i);
		TEST_POINT("slow_slot");
	}
	return seam_missed(passage, slot_stream, took, missed);
}

/*
 * Records without writers, in a thread that is inside so many trace points that there are none for this one (H4), or
 * because this machine has no membarrier(). In the latter case the depth may be 0.
 */
static void record_nested(const struct passage *passage)
{
	if (passage->depth == 0 && passage->process->locked)
		attach_renew(passage->self, passage->process->page, passage->t);
	TEST_POINT("slow_nested");
	seam_again(passage, look_at_slots, slot_stream, look_at_slots(passage, SEAM_ALL));
}

/* Returns this thread's block; a new one if the thread is new, or in a forked child, where the block was wiped. */
static struct thread *current_thread(struct self *self, const struct procpage *page)
{
	struct thread *t = thread_self;

	if (t && t->page_generation)
		return t;
	if (load_relaxed(&page->sum.vacant) == ~UINT32_C(0))
		return NULL; /* nobody traces */
	rseq_prepare();
	return self_thread(self);
}

/* Takes the slow path, with signals blocked. */
static void record(const struct call *call, uintptr_t frame)
{
	int error;
	struct self *self = self_get(false, &error);
	const struct process *process = self ? self_process(self) : NULL;
	struct procpage *page = process ? process->page : NULL;
	struct thread *t = page ? current_thread(self, page) : NULL;
	struct passage passage = { call, t, self, process, 0 };
	struct thread *level;

	if (!t)
		return;
	level = block_for(self, t, frame);
	passage.depth = t->depth;
	store_relaxed(&t->depth, passage.depth + 1);
	/* The thread is inside before it looks at the page. Against attach_detach(). */
	fence_full();
	if (level) {
		passage.t = level;
		record_with(&passage, page, frame);
	} else {
		record_nested(&passage);
	}
	store_release(&t->depth, passage.depth); /* PAIR(inside) */
	TEST_POINT("slow_outside");
}

void record_slow(trace_event_id_t id, const void *data, size_t length, const void *address, uintptr_t frame)
{
	const struct call call = { id, data, data ? length : 0, address };
	uint64_t signals;

	if (self_waits())
		return;
	signals = sys_signals_block();
	record(&call, frame);
	sys_signals_restore(signals);
}

void record_for(uint32_t pid, uint32_t tid, const char name[16])
{
	int error;
	struct self *self = self_get(false, &error);
	struct procpage *page = self ? self_process(self)->page : NULL;
	struct thread *t = page ? current_thread(self, page) : NULL;

	for (; t; t = t->deeper) {
		t->pid = pid;
		t->acts_for = tid;
		memcpy(t->name, name, sizeof t->name);
		t->name_age = 1;
	}
}
