/*
 * thread_ref.h - a word of shared memory that names a thread, and whether the thread lives
 *
 * The word is the thread's id in its own pid namespace, marked if the namespace is not that of the stream or page.
 * The kernel cannot be asked about a thread of another namespace, so such a thread counts as alive (H22). So between
 * namespaces a dead thread's lock stays until a process that can check comes by, and readers wait a tenth of a second
 * for it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOST_THREAD_REF_H
#define HOST_THREAD_REF_H

#include <stdbool.h>
#include <stdint.h>

#include "host/ident.h"

#define THREAD_REF_OUTSIDER 0x80000000u

/*
 * Returns the word for a thread of namespace own_pidns, where ids of namespace pidns are expected. A namespace of 0
 * is unknown, and counts as the same.
 */
static inline uint32_t thread_ref_make(uint32_t tid, uint32_t own_pidns, uint32_t pidns)
{
	return own_pidns == pidns || !own_pidns || !pidns ? tid : tid | THREAD_REF_OUTSIDER;
}

/* Returns whether the thread in this word is alive. asking: the caller's own word, or at least its mark. */
static inline bool thread_ref_alive(uint32_t ref, uint32_t asking)
{
	return ((ref | asking) & THREAD_REF_OUTSIDER) || thread_alive(ref);
}

/*
 * Like thread_ref_alive(), but false for zombies, which keep their id until they are reaped. For use after some
 * waiting.
 */
static inline bool thread_ref_lives(uint32_t ref, uint32_t asking)
{
	return ((ref | asking) & THREAD_REF_OUTSIDER) || thread_lives(ref);
}

/* Returns whether the thread is stopped by a signal or a debugger. False for threads of other namespaces. */
static inline bool thread_ref_stopped(uint32_t ref)
{
	return !(ref & THREAD_REF_OUTSIDER) && thread_stopped(ref);
}

#endif
