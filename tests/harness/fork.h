/*
 * fork.h - forks children that handlers for fork() do not notice
 *
 * Neither the library's handlers nor the C library's run. If the parent has threads, such a child may call only
 * async-signal-safe functions.
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

/* Forks by the system call where the C library has no _Fork(). */
static inline pid_t fork_underscore(void)
{
#if defined __GLIBC__ && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 34)
	return _Fork();
#else
	return fork_clone();
#endif
}

#endif
