/*
 * machine.h - kernel, shared memory, limits and clock, as tracing needs them
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MACHINE_H
#define MACHINE_H

/* Checks kernel, memory, limits and clock. */
void doctor_machine(void);

#endif
