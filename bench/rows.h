/*
 * rows.h - figures by round, each with its floor, as a table and as JSON
 *
 * For programs with several kinds of results, unlike record.c. All have the same options.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <stdbool.h>

/* A table: its key in the JSON, its heading, and a description of the floor. */
struct section {
	const char *key, *heading, *floor;
};

extern struct bench {
	int rounds;
	bool quick;            /* only checks that the program runs; the figures do not matter */
	const char *directory; /* where files are made */
	const char *only;      /* rows with this in their name; null: all */
	const char *json;
} bench;

/* Takes the options, finds the CPUs and describes the machine. what: the program's subject, for --help. */
void bench_begin(int argc, char **argv, int rounds, const char *what);
/* Prints the tables, writes the JSON, and returns the program's exit status. */
int bench_end(void);

/* Returns whether this row is asked for. */
bool bench_wants(const char *name);
/* Adds a figure, once in each round. The first call for a name makes the row. floor is NAN if there is none. */
void bench_row(const struct section *section, const char *name, int round, double figure, double floor);

#endif
