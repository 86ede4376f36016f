/*
 * helper.c - threads of the library itself
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/helper.h"

#include <errno.h>

#include "base/sys.h"

/* Enough for what runs here, under sanitizers too; programs with much thread-local memory take that from it. */
#define STACK_SIZE (1 << 20)

int helper_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;
	uint64_t signals;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	/* It begins with the signals of who creates it. */
	signals = sys_signals_block_thread();
	error = pthread_create(thread, &attr, run, arg);
	sys_signals_restore(signals);
	pthread_attr_destroy(&attr);
	return error == 0 || error == ENOMEM ? error : EAGAIN;
}

void helper_join(pthread_t thread)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_join(thread, NULL);
	pthread_setcancelstate(state, NULL);
}
