/*
 * helper.c - threads of the library itself
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/helper.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/sys.h"

/* Enough for what runs here, under sanitizers too; programs with much thread-local memory take that from it. */
#define STACK_SIZE (1 << 20)

/* Process id << 32 | helpers that count: a forked child has none of its parent's. */
static uint64_t counted;

static int start(pthread_t *thread, void *(*run)(void *), void *arg, size_t stack_size)
{
	pthread_attr_t attr;
	uint64_t signals;
	int error;

	pthread_attr_init(&attr);
	if (stack_size)
		pthread_attr_setstacksize(&attr, stack_size);
	/* A thread inherits the signal mask of its creator. */
	signals = sys_signals_block_thread();
	error = pthread_create(thread, &attr, run, arg);
	sys_signals_restore(signals);
	pthread_attr_destroy(&attr);
	return error == 0 || error == ENOMEM ? error : EAGAIN;
}

int helper_start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	return start(thread, run, arg, STACK_SIZE);
}

int helper_start_large(pthread_t *thread, void *(*run)(void *), void *arg)
{
	return start(thread, run, arg, 0);
}

static void count(uint32_t add)
{
	uint64_t pid = (uint64_t)sys_getpid() << 32, now = load_relaxed(&counted), next;

	do
		next = pid | (uint32_t)((now >> 32 == pid >> 32 ? (uint32_t)now : 0) + add);
	while (!cas(&counted, &now, next));
}

/* The helper itself calls both functions, so the count never exceeds the number of helpers. */
void helper_counts(void)
{
	count(1);
}

void helper_counts_no_more(void)
{
	count(UINT32_MAX);
}

bool helper_alone(void)
{
	uint64_t now = load_relaxed(&counted);
	struct sys_stat st;
	char path[2];

	/* The directory has two links, and one for each thread. An ended main thread keeps its link. */
	if (now >> 32 != (uint32_t)sys_getpid() || sys_stat_path("/proc/self/task", &st) < 0 || st.links < 3 ||
	    st.links - 3 > (uint32_t)now)
		return false;
	/* A main thread that has ended has no memory, and so no executable. */
	return sys_read_link("/proc/self/exe", path, sizeof path) == -ENOENT;
}

void helper_join(pthread_t thread)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_join(thread, NULL);
	pthread_setcancelstate(state, NULL);
}
