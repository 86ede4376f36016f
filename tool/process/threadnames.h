/*
 * threadnames.h - names of living threads
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef THREADNAMES_H
#define THREADNAMES_H

#include <sys/types.h>

/*
 * Must be called before the names of a process's threads are asked for. Finds out whether the process has our pid
 * namespace: else the thread ids in its events mean nothing here, and no thread gets a name.
 */
void threadnames_begin(pid_t pid);
/*
 * Returns the name of a thread, "" if it is unknown. Names are kept in a small cache, so a renamed thread may keep its
 * old name.
 */
const char *threadnames_get(pid_t pid, pid_t tid);

#endif
