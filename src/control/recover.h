/*
 * recover.h - what the dead left behind
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_RECOVER_H
#define CONTROL_RECOVER_H

#include <stdint.h>

/*
 * Removes from the directory the files of processes that have ended. Returns
 * how many streams of living processes there are.
 */
uint32_t recover_directory(int dir);

#endif
