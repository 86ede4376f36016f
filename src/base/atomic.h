/*
 * atomic.h - shared words, with the memory order in the operation's name
 *
 * Nothing outside this file uses an atomic builtin. An acquire and the release
 * that it waits for carry the same label, PAIR(name), at both places; the
 * table of labels is in docs/recording.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_ATOMIC_H
#define BASE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define load_relaxed(p)     __atomic_load_n(p, __ATOMIC_RELAXED)
#define load_acquire(p)     __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define store_relaxed(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)

/* Locked, sequentially consistent: for slow paths, where simple is best. */
#define exchange(p, v)      __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST)
#define fetch_add(p, v)     __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST)
#define fetch_or(p, v)      __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST)
#define fetch_and(p, v)     __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST)
#define cas(p, expected, v) __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

/* A full barrier. ThreadSanitizer knows no fences; there a locked operation does the same. */
static inline void fence_full(void)
{
#ifdef __SANITIZE_THREAD__
	static int word;

	__atomic_fetch_add(&word, 1, __ATOMIC_SEQ_CST);
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Loads before it are not seen later than loads after it. */
static inline void fence_acquire(void)
{
#ifdef __SANITIZE_THREAD__
	fence_full();
#else
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/* Stores before it are not seen later than stores after it. */
static inline void fence_release(void)
{
#ifdef __SANITIZE_THREAD__
	fence_full();
#else
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

/*
 * Loads a word whose value leads to the memory that is read next. Processors keep such loads in order, so a relaxed
 * load is enough; ThreadSanitizer does not know about this order.
 */
#ifdef __SANITIZE_THREAD__
# define load_leading(p) load_acquire(p)
#else
# define load_leading(p) load_relaxed(p)
#endif

/* Order between a thread and its own signal handlers; no instruction. */
static inline void fence_signal(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void spin_pause(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#elif defined __aarch64__ || defined __arm__
	__asm__ __volatile__("yield");
#endif
}

#endif
