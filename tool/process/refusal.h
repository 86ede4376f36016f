/*
 * refusal.h - refuses to trace a process whose seccomp filters may kill it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REFUSAL_H
#define REFUSAL_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Prints why a process should not be traced, and returns true; returns false if it can be traced. despite: the user
 * accepts filters, but not the strict mode.
 */
bool refusal_confined(pid_t pid, const char *what, bool despite);

#endif
