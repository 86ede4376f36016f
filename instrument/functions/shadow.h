/*
 * shadow.h - which functions each thread is in, and the events that tell so
 *
 * Each thread has a stack of frames of its own, the shadow stack: the function that the hook was given, and where the
 * thread's stack was. A function that longjmp() or an exception has left is found by its place on the stack, so each
 * begin that is recorded has its end, and the slices nest. Signal handlers use the same shadow stack: they come and go
 * between two instructions, and leave it as it was.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHADOW_H
#define SHADOW_H

#include "functions.h"

struct frame {
	uintptr_t function; /* 0: the bottom */
	uintptr_t stack;    /* the stack pointer, which was lower in all functions that this one has called */
	uint64_t time;      /* of the entry, if FRAME_TIMED */
	uint32_t depth;     /* recorded functions that the thread is in, with this one */
	uint32_t flags;
};

#define FRAME_RECORDED 1u /* its begin was recorded */
#define FRAME_TIMED    2u /* recorded at the end, if it took long enough */
#define FRAME_INSIDE   4u /* in a function of --functions-in */

/* The frame behind the innermost one. It equals shadow_limit if there is no room, and before the first call. */
extern _Thread_local struct frame *shadow_top __attribute__((tls_model("initial-exec")));
extern _Thread_local struct frame *shadow_limit __attribute__((tls_model("initial-exec")));

/* 0 before the event types are open, and if there are settings: then the fast path is not used. */
extern trace_event_id_t shadow_begin, shadow_end;

/*
 * Do all that the inline functions do not. level: a frame at the same place of the stack has been left; functions that
 * the compiler has put into their callers are at the same place.
 */
void shadow_enter_slow(uintptr_t function, uintptr_t stack, bool level);
void shadow_leave_slow(uintptr_t function);
/* Leaves all functions whose frames are below this place of the stack. */
void shadow_unwind(uintptr_t stack);
/* Leaves the innermost functions as long as their frames are in this part of memory. */
void shadow_unwind_range(uintptr_t from, uintptr_t to);
/*
 * Prepares the process and this thread. Returns false if nothing can be recorded: no stream traces the process, or this
 * is a handler that has interrupted this function.
 */
bool shadow_ready(void);
/* The same, but false if the process has not looked yet whether it is recorded, which leaves a file in /dev/shm. */
bool shadow_may_be_ready(void);

/* Records the entry into a function. The frame is written again for a handler that has come before it counted. */
static inline __attribute__((always_inline)) void shadow_enter(uintptr_t function, uintptr_t stack, bool level)
{
	struct frame *f = shadow_top;
	trace_event_id_t id = __atomic_load_n(&shadow_begin, __ATOMIC_RELAXED);

	if (unlikely(f == shadow_limit) || unlikely(f[-1].stack < stack + level) || unlikely(!id)) {
		shadow_enter_slow(function, stack, level);
		return;
	}
	f->function = function;
	f->stack = stack;
	f->flags = FRAME_RECORDED;
	fence_signal();
	shadow_top = f + 1;
	fence_signal();
	f->function = function;
	f->stack = stack;
	f->flags = FRAME_RECORDED;
	posixtrace_event_at(id, NULL, 0, (const void *)function);
}

/*
 * Records that a function is left. The place on the stack says nothing here: the function may have given up its frame,
 * and jumped to the hook.
 */
static inline __attribute__((always_inline)) void shadow_leave(uintptr_t function)
{
	struct frame *f = shadow_top;
	trace_event_id_t id = __atomic_load_n(&shadow_end, __ATOMIC_RELAXED);

	if (unlikely(f[-1].function != function) || unlikely(!id)) {
		shadow_leave_slow(function);
		return;
	}
	shadow_top = f - 1;
	posixtrace_event_at(id, NULL, 0, (const void *)function);
}

#endif
