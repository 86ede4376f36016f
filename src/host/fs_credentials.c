/*
 * fs_credentials.c - another user's rights in the file system, for a moment
 *
 * SPDX-License-Identifier: MIT
 */
#include "host/fs_credentials.h"

#include "base/sys.h"

void fs_credentials_use(struct fs_credentials *g, uint32_t uid, uint32_t gid)
{
	g->on = uid != sys_geteuid();
	if (!g->on)
		return;
	g->signals = sys_signals_block();
	/* A change of the user makes the kernel reset these two, which the application may have set. */
	g->dumpable = sys_dumpable();
	g->death_signal = sys_death_signal();
	sys_set_file_user(uid, gid);
}

void fs_credentials_restore(struct fs_credentials *g)
{
	if (!g->on)
		return;
	sys_set_file_user(sys_geteuid(), sys_getegid());
	sys_set_dumpable(g->dumpable);
	sys_set_death_signal(g->death_signal);
	sys_signals_restore(g->signals);
	g->on = false;
}
