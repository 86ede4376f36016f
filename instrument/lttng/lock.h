/*
 * lock.h - a lock that calls no function of the C library's threads, which LTTng's pthread wrapper records
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LTTNG_LOCK_H
#define LTTNG_LOCK_H

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

struct lock {
	unsigned state; /* 0 free, 1 taken, 2 taken, and others may wait */
};

static inline bool lock_try(struct lock *l)
{
	unsigned free = 0;

	return __atomic_compare_exchange_n(&l->state, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void lock_take(struct lock *l)
{
	int kept = errno;

	if (lock_try(l))
		return;
	while (__atomic_exchange_n(&l->state, 2, __ATOMIC_ACQUIRE) != 0)
		syscall(SYS_futex, &l->state, FUTEX_WAIT_PRIVATE, 2, NULL);
	errno = kept;
}

static inline void lock_release(struct lock *l)
{
	int kept = errno;

	if (__atomic_exchange_n(&l->state, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, &l->state, FUTEX_WAKE_PRIVATE, 1);
	errno = kept;
}

#endif
