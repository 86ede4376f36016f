/*
 * process.h - what it takes to trace one process
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdint.h>

/* Checks one process. */
void doctor_process(uint32_t pid);

#endif
