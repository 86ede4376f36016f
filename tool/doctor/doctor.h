/*
 * doctor.h - what is found when somebody asks why tracing does not work
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stdint.h>

enum grade { GRADE_OK, GRADE_WARNING, GRADE_PROBLEM };

/* Prints a line: the subject, the finding and, unless the grade is ok, a remedy or null. */
void tell(enum grade grade, const char *about, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Returns the meaning of an error of posix_trace_create(). */
const char *create_error(int error);
/* Reads the first line of a kernel file, without its newline; "" if there is none. Returns line. */
char *first_line(const char *path, char *line, int size);

/* Checks kernel, memory, limits and clock. */
void doctor_machine(void);
/* Checks the library that programs load, and looks for other versions. */
void doctor_library(void);
/* Checks the contents of this user's directory. */
void doctor_directory(void);
/* Checks tracing itself by trying it. */
void doctor_trials(void);
/* Checks one process. */
void doctor_process(uint32_t pid);

/* Returns in path the library that the dynamic loader finds, "" if none. */
void library_found(char *path, int size);

#endif
