/*
 * wait.c - barriers on other processors
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/wait.h"

#include <linux/membarrier.h>

#include "base/atomic.h"
#include "base/sys.h"

bool barrier_register(void)
{
	return sys_membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

bool barrier_everywhere(void)
{
	fence_full();
	return sys_membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED) == 0;
}

bool barrier_here(void)
{
	fence_full();
	if (sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0)
		return true;
	return sys_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
	       sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}
