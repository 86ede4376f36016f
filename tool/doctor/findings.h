/*
 * findings.h - what doctor has found, printed line by line; and what its checks share
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FINDINGS_H
#define FINDINGS_H

#include <stdbool.h>

enum grade { GRADE_OK, GRADE_WARNING, GRADE_PROBLEM };

/* Print findings as JSON. */
extern bool findings_json;

/* Prints a line: the subject, the finding and, unless the grade is ok, a remedy or null. */
void finding(enum grade grade, const char *about, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Prints the number of problems and warnings. Returns whether there was a problem. */
bool findings_end(void);
/* Returns the meaning of an error of posix_trace_create(). */
const char *create_error(int error);
/* Reads the first line of a kernel file, without its newline; "" if there is none. Returns line. */
char *first_line(const char *path, char *line, int size);

#endif
