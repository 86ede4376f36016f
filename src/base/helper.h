/*
 * helper.h - threads of the library itself
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_HELPER_H
#define BASE_HELPER_H

#include <pthread.h>

/* With all signals blocked that are not its own doing. 0 or an error number: EAGAIN, ENOMEM. */
int helper_start(pthread_t *thread, void *(*run)(void *arg), void *arg);
/* Waits for its end; no cancellation point (H19). */
void helper_join(pthread_t thread);

#endif
