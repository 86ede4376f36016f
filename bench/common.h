/*
 * common.h - what every benchmark needs: clocks, medians, a line about the machine
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdio.h>
#include <time.h>

#define MIB ((size_t)1 << 20)

/* Prints a message and exits with status 2. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Dies if error is not 0. */
void must(int error, const char *what);

double seconds(clockid_t clock);

/* The number of CPUs that this process may use. Call find_cpus() first. */
extern int n_cpus;
void find_cpus(void);
/* Binds the calling thread to the CPU with this number. */
void pin(int number);

/* Returns n zeroed values. */
double *new_values(int n);
/* Returns a quantile of n values: at 0 the least, at 1 the greatest, at 0.5 the median. */
double quantile(const double *values, int n, double at);

/* Describe the machine: a line to read, or members of a JSON object, each followed by a comma. */
void machine_print(void);
void machine_json(FILE *f);
/* Writes a JSON array of n numbers. */
void json_values(FILE *f, const double *v, int n);

/* Returns the number at the beginning of s, and its end in *end. Dies if the number is not from least to most. */
long number(const char *s, char **end, long least, long most);

#endif
