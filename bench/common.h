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

/* Exit status 2. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Dies of any error number but 0. */
void must(int error, const char *what);

double seconds(clockid_t clock);

/* CPUs that this process may use; find_cpus() first. */
extern int n_cpus;
void find_cpus(void);
/* The calling thread runs on the number-th of them from now on. */
void pin(int number);

/* All 0. */
double *new_values(int n);
/* Of n values; at 0 the least, at 1 the greatest, at 0.5 the median. */
double quantile(const double *values, int n, double at);

/* What the figures come from: a line to read, or members of a JSON object, each with a comma behind it. */
void machine_print(void);
void machine_json(FILE *f);
/* A JSON array of n numbers. */
void json_values(FILE *f, const double *v, int n);

/* A number at the beginning of s, and where it ends; dies if it is not from least to most. */
long number(const char *s, char **end, long least, long most);

#endif
