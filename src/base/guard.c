/*
 * guard.c - memory that another may take away
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"

/* Three for each stream of one controller, and some in passing. */
#define GUARDS 1024

static struct guard {
	void *at; /* null: free */
	size_t size;
	uint32_t broken;
} guards[GUARDS];

static uint32_t used; /* none from here on was ever taken */
static struct sigaction before;

static struct guard *find(const void *address)
{
	for (uint32_t i = 0; i < load_acquire(&used); i++) {
		struct guard *g = &guards[i];
		const unsigned char *at = load_acquire(&g->at); /* PAIR(guard) */

		if (at && (const unsigned char *)address >= at && (const unsigned char *)address < at + load_relaxed(&g->size))
			return g;
	}
	return NULL;
}

static void handle(int signal, siginfo_t *info, void *context)
{
	struct guard *g = info->si_code > 0 ? find(info->si_addr) : NULL;

	if (g) {
		store_relaxed(&g->broken, 1);
		sys_map_over(load_relaxed(&g->at), load_relaxed(&g->size));
		return;
	}
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(signal, info, context);
	} else if (before.sa_handler == SIG_DFL || (before.sa_handler == SIG_IGN && info->si_code > 0)) {
		/* As if we were not here: the instruction is tried again, or the signal is sent anew. */
		struct sigaction fresh = { .sa_handler = SIG_DFL };

		sigaction(SIGBUS, &fresh, NULL);
		if (info->si_code <= 0)
			raise(signal);
	} else if (before.sa_handler != SIG_IGN) {
		before.sa_handler(signal);
	}
}

void guard_renew(void)
{
	struct sigaction now, ours = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	if (!load_relaxed(&used) || sigaction(SIGBUS, NULL, &now) < 0)
		return;
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle)
		return;
	before = now;
	sigemptyset(&ours.sa_mask);
	sigaction(SIGBUS, &ours, NULL);
}

int guard_add(void *at, size_t size)
{
	for (uint32_t i = 0; i < GUARDS; i++) {
		struct guard *g = &guards[i];
		void *none = NULL;
		uint32_t last = load_relaxed(&used);

		/* Taken with a size of 0, which finds nothing; then the size. */
		if (load_relaxed(&g->at) || !cas(&g->at, &none, at)) /* PAIR(guard) */
			continue;
		store_relaxed(&g->broken, 0);
		store_release(&g->size, size);
		while (last <= i && !cas(&used, &last, i + 1))
			;
		guard_renew();
		return 0;
	}
	return -ENOMEM;
}

void guard_remove(void *at)
{
	for (uint32_t i = 0; i < load_relaxed(&used); i++) {
		struct guard *g = &guards[i];

		if (load_relaxed(&g->at) != at)
			continue;
		store_relaxed(&g->size, (size_t)0);
		store_release(&g->at, NULL); /* PAIR(guard) */
		return;
	}
}

bool guard_broken(const void *at)
{
	const struct guard *g = load_relaxed(&used) ? find(at) : NULL;

	return g && load_relaxed(&g->broken);
}
