/*
 * guard.c - memory that another process may take away
 *
 * SPDX-License-Identifier: MIT
 */
#include "host/guard.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"

/* Three for each stream of one controller, TRACE_SYS_MAX of them, and some for a short time. */
#define GUARDS (3 * 1024 + 64)

static struct guard {
	void *at; /* null: free */
	size_t size;
	uint32_t broken;
} guards[GUARDS];

static uint32_t used; /* entries from here on were never used */
static struct sigaction before;

static struct guard *find(const void *address)
{
	for (uint32_t i = 0; i < load_acquire(&used); i++) {
		struct guard *g = &guards[i];
		const unsigned char *at = load_acquire(&g->at); /* PAIR(guard) */

		if (at && (const unsigned char *)address >= at &&
		    (const unsigned char *)address < at + load_relaxed(&g->size))
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
		/* Act as if this handler did not exist: the instruction is repeated, or the signal is sent again. */
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

		/* Take the entry with a size of 0, which find() ignores. Then set the size. */
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
