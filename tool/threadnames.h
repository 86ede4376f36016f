/*
 * threadnames.h - names of threads that live
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef THREADNAMES_H
#define THREADNAMES_H

#include <sys/types.h>

/* Are the ids in events of this process those that we would use? Else nobody has a name: its pid namespace is another one. */
void threadnames_begin(pid_t pid);
/* "": not known. The same until there were some hundred others. */
const char *threadnames_get(pid_t pid, pid_t tid);

#endif
