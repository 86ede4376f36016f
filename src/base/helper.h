/*
 * helper.h - threads of the library itself
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_HELPER_H
#define BASE_HELPER_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread with all signals blocked except those of its instructions. Returns 0, EAGAIN or ENOMEM. */
int helper_start(pthread_t *thread, void *(*run)(void *arg), void *arg);
/* Starts a thread with a stack of the application's default size, because it runs the application's code. */
int helper_start_large(pthread_t *thread, void *(*run)(void *arg), void *arg);
/* Waits for the thread's end; no cancellation point (H19). */
void helper_join(pthread_t thread);

/*
 * A helper that must not keep the process alive counts itself between these two calls. helper_alone() returns true if
 * only counted helpers are left of the process's threads. It opens no file, because descriptors belong to the
 * application. It returns false without /proc, or with the /proc of another pid namespace.
 */
void helper_counts(void);
void helper_counts_no_more(void);
bool helper_alone(void);

#endif
