/*
 * choose.h - shows a list of processes on the terminal to choose one from
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CHOOSE_H
#define CHOOSE_H

#include <sys/types.h>

/* Returns the chosen process, or 0. *signal: the signal that ends the program, or 0. */
pid_t choose_process(int *signal);

#endif
