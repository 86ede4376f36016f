/*
 * permit.h - which process is meant, and may it be traced
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_PERMIT_H
#define CONTROL_PERMIT_H

#include <sys/types.h>

/* 0, or ESRCH, EPERM; ENOTSUP for a process other than the caller. */
int permit(pid_t pid);

#endif
