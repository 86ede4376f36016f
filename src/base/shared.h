/*
 * shared.h - reads memory that another process may change at the same time
 *
 * Each word is read once, so that nothing changes between its check and its use (H18). Whether the words belong
 * together is found out afterwards, so a race here is none to report.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_SHARED_H
#define BASE_SHARED_H

#include <stddef.h>
#include <stdint.h>

#include "base/copy.h"

typedef const volatile uint64_t __attribute__((may_alias)) shared_uint64;

#ifdef __SANITIZE_THREAD__
# define SHARED_READER static __attribute__((no_sanitize("thread"), noinline, unused))
#else
# define SHARED_READER static inline
#endif

/* Returns the word at this address, a multiple of 8. */
SHARED_READER uint64_t shared_word(const unsigned char *from)
{
	return *(shared_uint64 *)from;
}

SHARED_READER void shared_copy(void *to, const unsigned char *from, size_t size)
{
#ifdef __SANITIZE_THREAD__
	for (size_t i = 0; i < size; i++)
		((volatile unsigned char *)to)[i] = ((const volatile unsigned char *)from)[i];
#else
	copy(to, from, size);
#endif
}

#endif
