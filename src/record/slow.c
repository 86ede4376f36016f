/*
 * slow.c - the slow path of a trace point
 *
 * For the first event in a stream, a change of the page, a forked child, and a trace point inside a trace point. Blocks
 * signals, uses locked instructions and sometimes system calls, and takes about a microsecond.
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
 * Returns whether a trace point was left by longjmp() out of a handler, as opposed to still going on below us on the
 * stack. The stack grows downwards, and a handler runs deeper than what it has interrupted. On a signal stack of its
 * own the two cases cannot be told apart (H17).
 */
static bool abandoned(const struct thread *t, uintptr_t frame)
{
	return frame >= load_relaxed(&t->ready) && !sys_on_signal_stack();
}

static void recover_abandoned(struct thread *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		writer_abandon(t, load_relaxed(&t->order[i]));
	store_relaxed(&t->depth, 0);
	store_relaxed(&t->ready, (uintptr_t)THREAD_READY);
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
 * Records in a thread that is in no other trace point: updates the writers, which a handler's trace point does not
 * touch, and uses them.
 */
static void record_outermost(const struct passage *passage, struct procpage *page, uintptr_t frame)
{
	struct thread *t = passage->t;

	store_relaxed(&t->ready, frame);
	fence_signal();
	TEST_POINT("slow_inside");
	if (t->wait && load_relaxed(&page->sum.generation) == t->generation + 1)
		t->wait--;
	else if (load_relaxed(&page->sum.generation) != t->generation)
		attach_update(passage->self, page, t);
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
 * Records in a thread that is inside another trace point (H4), or has no writers because this machine has no
 * membarrier(). In the latter case the depth may be 0.
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
	bool outermost;

	if (!t)
		return;
	if (load_relaxed(&t->ready) > THREAD_READY && abandoned(t, frame))
		recover_abandoned(t);
	outermost = load_relaxed(&t->ready) == THREAD_READY;
	passage.depth = t->depth;
	store_relaxed(&t->depth, passage.depth + 1);
	/* The thread is inside before it looks at the page. Against attach_detach(). */
	fence_full();
	if (outermost)
		record_outermost(&passage, page, frame);
	else
		record_nested(&passage);
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

	if (!t)
		return;
	t->pid = pid;
	t->acts_for = tid;
	memcpy(t->name, name, sizeof t->name);
	t->name_age = 1;
}
