/*
 * permit.c - which process is meant, and may it be traced
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/permit.h"

#include <errno.h>

#include "base/sys.h"

int permit(pid_t pid)
{
	int r;

	if (pid == 0 || pid == sys_getpid())
		return 0;
	if (pid < 0)
		return ESRCH;
	r = sys_kill_probe(pid);
	return r < 0 ? -r : ENOTSUP;
}
