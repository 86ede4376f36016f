/*
 * fork.h - children that handlers for fork() do not notice
 *
 * Neither those of the library nor those of the C library: if the parent has
 * threads, only async-signal-safe functions are good in such a child.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FORK_H
#define FORK_H

#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static inline pid_t fork_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

/* Where there is no _Fork(), the system call behind it. */
static inline pid_t fork_underscore(void)
{
#if defined __GLIBC__ && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
	return _Fork();
#else
	return fork_clone();
#endif
}

#endif
