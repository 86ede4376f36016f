/*
 * program.h - what a program offers to be recorded
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DOCTOR_PROGRAM_H
#define DOCTOR_PROGRAM_H

/* Prints what the program has that can be recorded, and how. name: a command as a shell finds it, or a path. */
void doctor_program(const char *name);

#endif
