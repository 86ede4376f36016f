/*
 * doctor.h - what is found when somebody asks why tracing does not work
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stdint.h>

enum grade { GRADE_OK, GRADE_WARNING, GRADE_PROBLEM };

/* A line: what it is about, what was found; and if it is not ok, what can be done, or null. */
void tell(enum grade grade, const char *about, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* What an error of posix_trace_create() means. */
const char *create_error(int error);
/* The first line of a file of the kernel's, without its end; "" if there is none. Returns line. */
char *first_line(const char *path, char *line, int size);

/* Kernel, memory, limits, clock. */
void doctor_machine(void);
/* The library that programs get, and others there are. */
void doctor_library(void);
/* What is in this user's directory. */
void doctor_directory(void);
/* Tracing itself. */
void doctor_trials(void);
/* One process. */
void doctor_process(uint32_t pid);

/* The file that the dynamic loader finds, in path; "": none. */
void library_found(char *path, int size);

#endif
