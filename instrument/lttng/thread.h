/*
 * thread.h - what each thread has: its read-side section, and memory for the events that it is recording
 *
 * Programs that were compiled with _LGPL_SOURCE, LTTng's own wrappers among them, have the read-side section inline: so
 * the names and the first member are those of <lttng/urcu/static/urcu-ust.h>.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LTTNG_THREAD_H
#define LTTNG_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "abi.h"

#define THREAD_SIZE 8192

struct thread {
	unsigned long ctr; /* nesting of read-side sections, and the phase of the outermost one; first in LTTng's, too */
	pid_t owner; /* the kernel's thread id; 0: free */
	unsigned room; /* bytes of data that may be used */
	unsigned top; /* bytes of data in use: events that are being recorded; a handler's is above the interrupted one */
	unsigned char data[] __attribute__((aligned(16)));
};

/* The bits of ctr. */
#define SECTION_ONE   1UL
#define SECTION_PHASE (1UL << (sizeof(long) << 2))
#define SECTION_NEST  (SECTION_PHASE - 1)

struct section_phase {
	unsigned long ctr;
} __attribute__((aligned(128)));

extern struct section_phase lttng_ust_urcu_gp;
extern int lttng_ust_urcu_has_sys_membarrier;
/* Static, because a handler may need it in any thread: other models allocate it at the first use. */
extern __thread struct thread *lttng_ust_urcu_reader __attribute__((tls_model("initial-exec")));

/* Sets lttng_ust_urcu_reader, to a record of this thread. Async-signal-safe. */
void lttng_ust_urcu_register(void);
/*
 * Waits until all read-side sections that have begun before this call have ended. Returns false if one does not end, or
 * if this thread itself is in one: what it may see must not be freed.
 */
bool posixtrace_lttng_sections_end(void);

static inline struct thread *thread_own(void)
{
	if (__builtin_expect(!lttng_ust_urcu_reader, 0))
		lttng_ust_urcu_register();
	return lttng_ust_urcu_reader;
}

/* Orders memory against the thread that waits in posixtrace_lttng_sections_end(), which uses membarrier() if it can. */
static inline void section_fence(void)
{
	if (__builtin_expect(__atomic_load_n(&lttng_ust_urcu_has_sys_membarrier, __ATOMIC_RELAXED), 1))
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	else
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void section_begin(void)
{
	struct thread *t = thread_own();
	unsigned long ctr = __atomic_load_n(&t->ctr, __ATOMIC_RELAXED);

	if (__builtin_expect((ctr & SECTION_NEST) == 0, 1)) {
		__atomic_store_n(&t->ctr, __atomic_load_n(&lttng_ust_urcu_gp.ctr, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
		section_fence();
	} else {
		__atomic_store_n(&t->ctr, ctr + SECTION_ONE, __ATOMIC_RELAXED);
	}
}

static inline void section_end(void)
{
	struct thread *t = lttng_ust_urcu_reader;
	unsigned long ctr = t ? __atomic_load_n(&t->ctr, __ATOMIC_RELAXED) : 0;

	/* Not in a section, if the thread's record was reset in a child of fork() that a handler has made. */
	if ((ctr & SECTION_NEST) == 0)
		return;
	section_fence();
	__atomic_store_n(&t->ctr, ctr - SECTION_ONE, __ATOMIC_RELAXED);
}

#endif
