/*
 * guise.c - with another user's rights in the file system, for a moment
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/guise.h"

#include "base/sys.h"

void guise_put_on(struct guise *g, uint32_t uid, uint32_t gid)
{
	g->on = uid != sys_geteuid();
	if (!g->on)
		return;
	g->signals = sys_signals_block();
	/* With the user the kernel changes these two, which the application may have set. */
	g->dumpable = sys_dumpable();
	g->death_signal = sys_death_signal();
	sys_set_file_user(uid, gid);
}

void guise_take_off(struct guise *g)
{
	if (!g->on)
		return;
	sys_set_file_user(sys_geteuid(), sys_getegid());
	sys_set_dumpable(g->dumpable);
	sys_set_death_signal(g->death_signal);
	sys_signals_restore(g->signals);
	g->on = false;
}
