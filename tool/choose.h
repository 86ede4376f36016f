/*
 * choose.h - which process is to be watched: a list on the terminal
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CHOOSE_H
#define CHOOSE_H

#include <sys/types.h>

/* The process that was chosen; 0: none. *signal: one that asked to end, else 0. */
pid_t choose_process(int *signal);

#endif
