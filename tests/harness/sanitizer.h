/*
 * sanitizer.h - the sanitizer that this program is built with, by GCC or clang, and what it requires
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

#if SANITIZER_ADDRESS
# include <pthread.h>
# include <sys/stat.h>

/*
 * A child of a process with threads may have been made while one of them held the allocator's lock. AddressSanitizer
 * looks for leaks at exit() and would wait for this lock without end. So the search is turned off in such a child.
 */
static int sanitizer_threads, sanitizer_no_leaks;

static inline void sanitizer_before_fork(void)
{
	struct stat st;

	sanitizer_threads = stat("/proc/self/task", &st) == 0 ? (int)st.st_nlink - 2 : 2;
}

static inline void sanitizer_in_child(void)
{
	sanitizer_no_leaks |= sanitizer_threads > 1;
}

static __attribute__((constructor, unused)) void sanitizer_watch_forks(void)
{
	pthread_atfork(sanitizer_before_fork, NULL, sanitizer_in_child);
}

/* Called by AddressSanitizer. */
int __lsan_is_turned_off(void);
__attribute__((weak)) int __lsan_is_turned_off(void)
{
	return sanitizer_no_leaks;
}
#endif

/* Handles pending signals: ThreadSanitizer keeps them until the next call of the C library that may block. */
static inline void sanitizer_signals(void)
{
	if (SANITIZER_THREAD)
		usleep(1);
}

#endif
