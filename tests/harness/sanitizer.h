/*
 * sanitizer.h - which sanitizer this program is built with, by GCC or clang, and what that asks of it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SANITIZER_H
#define SANITIZER_H

#include <unistd.h>

#if defined __has_feature
# if __has_feature(address_sanitizer)
#  define SANITIZER_ADDRESS 1
# endif
# if __has_feature(thread_sanitizer)
#  define SANITIZER_THREAD 1
# endif
#endif
#if defined __SANITIZE_ADDRESS__
# define SANITIZER_ADDRESS 1
#endif
#if defined __SANITIZE_THREAD__
# define SANITIZER_THREAD 1
#endif
#ifndef SANITIZER_ADDRESS
# define SANITIZER_ADDRESS 0
#endif
#ifndef SANITIZER_THREAD
# define SANITIZER_THREAD 0
#endif

/* Handles signals that have come: ThreadSanitizer keeps them until the next call of the C library that may wait. */
static inline void sanitizer_signals(void)
{
	if (SANITIZER_THREAD)
		usleep(1);
}

#endif
