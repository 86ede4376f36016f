/*
 * tracepoint.c - the trace point
 *
 * This file is the whole of it for a thread in no other trace point that has one writer. several.c is for several
 * writers, slow.c for everything else.
 *
 * The fast path is for a thread that is in no other trace point, in a stream where it holds a chunk with room. It uses
 * no locked instruction, no system call and no lock. Its steps, and what they are ordered against:
 *
 *   1. ready = frame         from now on this thread is inside; a handler's trace point takes the slow path. Against
 *                            attach_detach().
 *   2. page->sum.generation  is unchanged: the writers are up to date
 *   3. running? filtered out?
 *   4. busy = chunk          in this thread's seat; then: is the chunk still ours? Against chunk_revoke(), which
 *                            changes the owner, passes a barrier on all processors and looks at busy.
 *   5. ticks                 read while busy: a reader that has passed its barrier at time T and finds no thread busy
 *                            sees all events before T
 *   6. the record            before 5 or after it
 *   7. commit                one store of the chunk's progress; then busy = 0
 *   8. waiting?              wakes a reader that sleeps. Against the reader's barrier.
 *   9. ready again
 *
 * Where the machine has restartable sequences, steps 4 to 7 are one (record_rseq.h): no signal handler returns into it,
 * and no child of a handler (base/rseq.h). Most of the time a full chunk is replaced in a restartable sequence, too:
 * writer_change().
 *
 * SPDX-License-Identifier: MIT
 */
#include <trace.h>

#include <posixtrace/trace.h>
#include <string.h>

#include "base/atomic.h"
#include "base/likely.h"
#include "base/testpoint.h"
#include "record/several.h"
#include "record/slow.h"
#include "record/text_data.h"
#include "record/tracepoint.h"
#include "record/writer.h"

/* Finishes a trace point with one writer. */
static __attribute__((noinline, cold)) void finish(trace_event_id_t id, const void *data, size_t length,
                                                   const void *address, struct thread *t, enum writer_outcome outcome)
{
	const struct call call = { id, data, length, address };
	struct writer *writer = load_relaxed(&t->only);

	if (outcome == WRITER_SLOW) {
		record_several(id, data, data ? length : 0, address, t);
		return;
	}
	if (writer)
		writer_finish(outcome, t, writer, &call);
	thread_leave(t);
}

/* Returns the stack address of the calling function, without a frame pointer. */
static inline __attribute__((always_inline)) uintptr_t stack_address(void)
{
#if defined __x86_64__
	uintptr_t sp;

	__asm__ __volatile__("movq %%rsp, %0" : "=r"(sp));
	return sp;
#else
	return (uintptr_t)__builtin_frame_address(0);
#endif
}

/*
 * Returns whether all streams filter the event out, by the thread's own copy. The thread need not be inside, because no
 * stream is looked at. A handler may change the copy meanwhile, and a fork may wipe it: then page_generation is null,
 * or no bit is set, or the generations differ.
 */
static inline __attribute__((always_inline)) bool nobody_wants(const struct thread *t, trace_event_id_t id)
{
	const uint32_t *change = load_relaxed(&t->page_generation);

	return change && load_relaxed(change) == load_relaxed(&t->generation) &&
	       load_relaxed(&t->filter[id / 32]) >> id % 32 & 1;
}

/* Returns whether the id was given out by a function. Other ids, and those of system events, have no effect. */
static inline __attribute__((always_inline)) bool is_user_event(trace_event_id_t id)
{
	return id - POSIX_TRACE_UNNAMED_USEREVENT <= load_relaxed(&self_names);
}

/*
 * Records an event that is not for the thread's first block: a handler's inside another trace point (H4), or one that
 * takes the slow path. The handler's takes the fast path with the block for its depth, so that it costs little more
 * than others. It must not cost much more: a handler with many events would take longer than the time to the next
 * signal, which would interrupt the same trace point again before it has made a step, and so on without end.
 */
static __attribute__((noinline, cold)) void trace_inside(trace_event_id_t id, const void *data, size_t length,
                                                         const void *address, uintptr_t frame)
{
	struct thread *first = thread_self, *t = first ? thread_inside(first, frame) : NULL;
	const uint32_t *change = t && t != first ? load_relaxed(&t->page_generation) : NULL;
	enum writer_outcome outcome;
	struct writer *writer;

	if (unlikely(!change))
		goto slow;
	store_relaxed(&t->ready, frame);
	TEST_POINT("event_deeper");
	fence_signal();
	if (unlikely(load_relaxed(change) != t->generation)) {
		store_relaxed(&t->ready, (uintptr_t)THREAD_READY);
		goto slow;
	}
	writer = load_relaxed(&t->only);
	if (unlikely(!writer)) {
		record_several(id, data, data ? length : 0, address, t);
		return;
	}
	outcome = writer_record(writer, CLOCK_KIND_COUNTER, PATH_INLINE, (struct call){ id, data, length, address });
	if (unlikely(outcome != WRITER_DONE))
		finish(id, data, length, address, t, outcome);
	else
		thread_leave(t);
	return;
slow:
	record_slow(id, data, length, address, frame);
}

/*
 * The fast path makes no call that returns to it, so it needs no stack. Everything else is left to functions that end
 * the trace point.
 */
static inline __attribute__((always_inline)) void trace_point(trace_event_id_t id, const void *data, size_t length,
                                                              const void *address, uintptr_t frame)
{
	struct thread *t = thread_self;
	const uint32_t *change;
	struct writer *writer;
	enum writer_outcome outcome;

	if (unlikely(!t))
		goto not_ready;
	if (unlikely(!is_user_event(id)))
		return;
	if (unlikely(t->filters) && nobody_wants(t, id))
		return;
	if (unlikely(load_relaxed(&t->ready) != THREAD_READY))
		goto not_ready;
	store_relaxed(&t->ready, frame);
	TEST_POINT("event_inside");
	fence_signal();
	change = load_relaxed(&t->page_generation);
	if (unlikely(!change || load_relaxed(change) != t->generation)) {
		store_relaxed(&t->ready, (uintptr_t)THREAD_READY);
		goto not_ready;
	}
	writer = load_relaxed(&t->only);
	if (unlikely(!writer)) {
		record_several(id, data, data ? length : 0, address, t);
		return;
	}
	outcome = writer_record(writer, CLOCK_KIND_COUNTER, PATH_INLINE, (struct call){ id, data, length, address });
	if (unlikely(outcome != WRITER_DONE)) {
		finish(id, data, length, address, t, outcome);
		return;
	}
	thread_leave(t);
	return;

not_ready:
	if (is_user_event(id))
		trace_inside(id, data, length, address, frame);
}

/* What the trace point of <trace.h> calls, which has checked the gate. */
void __posix_trace_record(trace_event_id_t id, const void *data, size_t length)
{
	trace_point(id, data, length, __builtin_return_address(0), stack_address());
}

/* Called through a pointer, or from another language. It checks the gate first: most of the time nobody traces. */
void(posix_trace_event)(trace_event_id_t id, const void *restrict data, size_t length)
{
	if (!self_untraced())
		trace_point(id, data, length, __builtin_return_address(0), stack_address());
}

void tracepoint_at(trace_event_id_t id, const void *data, size_t length, const void *address)
{
	trace_point(id, data, length, address, stack_address());
}

/* Makes the data of an event with a text whose trace point has begun, and finishes it. */
static __attribute__((noinline, cold)) void finish_text(trace_event_id_t id, const char *text,
                                                        const struct posixtrace_around *around, unsigned sizes,
                                                        struct thread *t, enum writer_outcome outcome)
{
	const struct text_call call = { id, text, around, sizes };
	unsigned char data[TEXT_CALL_DATA];

	finish(id, data, text_call_data(data, &call), around->__address, t, outcome);
}

/*
 * Makes the data of an event with a text, and records the event as any other. frame: the stack address of the caller,
 * as it is in `ready` if an earlier call was left by longjmp(). That of this function is deeper, and the trace point
 * would be taken for one inside the abandoned one.
 */
static __attribute__((noinline, cold)) void record_text(trace_event_id_t id, const char *text,
                                                        const struct posixtrace_around *around, unsigned sizes,
                                                        uintptr_t frame)
{
	const struct text_call call = { id, text, around, sizes };
	unsigned char data[TEXT_CALL_DATA];

	trace_point(id, data, text_call_data(data, &call), around->__address, frame);
}

/* So much of a text is looked at at once; a divisor of each size of a page. */
#define TEXT_BLOCK 32
#define PAGE_LEAST 4096

#if HAVE_RSEQ

/* Returns a bit for each byte of a block that is null. In assembler: no compiler sees that it reads behind a text. */
static inline __attribute__((always_inline)) uint32_t nulls_of(const char *block)
{
	uint32_t nulls, more;

	if (likely(rseq_wide)) {
		__asm__("vpxor %%xmm0, %%xmm0, %%xmm0\n\t"
		        "vpcmpeqb %1, %%ymm0, %%ymm0\n\t"
		        "vpmovmskb %%ymm0, %0\n\t"
		        "vzeroupper"
		        : "=r"(nulls)
		        : "m"(*(const char(*)[TEXT_BLOCK])block)
		        : "xmm0");
		return nulls;
	}
	__asm__("pxor %%xmm0, %%xmm0\n\t"
	        "movups (%2), %%xmm1\n\t"
	        "movups 16(%2), %%xmm2\n\t"
	        "pcmpeqb %%xmm0, %%xmm1\n\t"
	        "pcmpeqb %%xmm0, %%xmm2\n\t"
	        "pmovmskb %%xmm1, %0\n\t"
	        "pmovmskb %%xmm2, %1"
	        : "=&r"(nulls), "=r"(more)
	        : "r"(block), "m"(*(const char(*)[TEXT_BLOCK])block)
	        : "xmm0", "xmm1", "xmm2");
	return nulls | more << 16;
}

/*
 * Returns the length of a text whose first block is in one page; more than `most` if it is longer, or perhaps if it is
 * as long. Looks at whole blocks. They may reach behind the null or the `most` bytes, but not into another page. Not a
 * call of strlen(), because the length is needed soon.
 */
static inline __attribute__((always_inline)) size_t text_length(const char *text, size_t most)
{
	const char *block;
	uint32_t nulls;

	nulls = nulls_of(text);
	if (likely(nulls))
		return (uint32_t)__builtin_ctz(nulls);
	if (likely((uintptr_t)text % PAGE_LEAST <= PAGE_LEAST - 2 * TEXT_BLOCK)) {
		nulls = nulls_of(text + TEXT_BLOCK);
		if (likely(nulls))
			return TEXT_BLOCK + (uint32_t)__builtin_ctz(nulls);
	}
	for (block = text + TEXT_BLOCK - (uintptr_t)text % TEXT_BLOCK; block < text + most; block += TEXT_BLOCK) {
		nulls = nulls_of(block);
		if (nulls)
			return (size_t)(block - text) + (uint32_t)__builtin_ctz(nulls);
	}
	return SIZE_MAX;
}

#else

static inline size_t text_length(const char *text, size_t most)
{
	(void)text, (void)most;
	return SIZE_MAX;
}

#endif

/*
 * Returns whether a text can be copied into its record at once, in a restartable sequence. Under valgrind, which would
 * report that whole blocks are read, there are none.
 */
static inline __attribute__((always_inline)) bool text_at_once(void)
{
#if HAVE_RSEQ
	return likely(load_relaxed(&rseq_offset));
#else
	return false;
#endif
}

/*
 * Does what trace_point() does, but leaves all that is unusual to it. The text is measured first, and then copied once,
 * into the record. thread_self is loaded again at the end, so that fewer registers have to be saved.
 */
void posixtrace_event_text(trace_event_id_t id, const char *text, const struct posixtrace_around *around,
                           unsigned sizes)
{
	struct thread *t = thread_self;
	const struct stream_header *h;
	const uint32_t *change;
	struct writer *writer;
	size_t length, most = text_call_most(sizes);
	uint64_t first;

	if (!text_at_once() || unlikely(!t))
		goto unusual;
	/* The first block is in two pages; or a null pointer. */
	if (unlikely(((uintptr_t)text - 1) % PAGE_LEAST >= PAGE_LEAST - TEXT_BLOCK))
		goto unusual;
	length = text_length(text, most);
	if (unlikely(length > most)) {
		if (!(sizes & POSIXTRACE_TEXT_COUNTED))
			goto unusual;
		length = most;
	}
	if (unlikely(load_relaxed(&t->ready) != THREAD_READY))
		goto unusual;
	if (unlikely(!is_user_event(id)))
		return;
	if (unlikely(t->filters) && nobody_wants(t, id))
		return;
	store_relaxed(&t->ready, stack_address());
	fence_signal();
	change = load_relaxed(&t->page_generation);
	if (unlikely(!change || load_relaxed(change) != t->generation))
		goto leave;
	writer = load_relaxed(&t->only);
	h = writer ? load_relaxed(&writer->header) : NULL;
	if (unlikely(!h) || unlikely(!(load_relaxed(&h->state) & STATE_RUNNING)))
		goto leave;
	if (stream_filters(h, id)) {
		thread_leave(t);
		return;
	}
	first = length + (sizes >> 8 & 0xff);
	if (unlikely(first > load_relaxed(&writer->short_size)) || unlikely(!writer_fits(writer, first + TEXT_BEHIND)))
		goto leave;
	first |= (uint64_t)id << 16;
	if (!writer_write_text(writer, first, text, length, around, sizes)) {
		finish_text((trace_event_id_t)(first >> 16), text, around, sizes, thread_self, WRITER_ABORTED);
		return;
	}
	h = load_relaxed(&writer->header);
	if (likely(h) && unlikely(load_relaxed(&h->waiting))) {
		finish_text((trace_event_id_t)(first >> 16), text, around, sizes, thread_self, WRITER_WAKE);
		return;
	}
	thread_leave(thread_self);
	return;

leave:
	thread_leave(t);
unusual:
	record_text(id, text, around, sizes, stack_address());
}
