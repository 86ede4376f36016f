/*
 * rows.h - figures by round, each with its floor, as a table and as JSON
 *
 * Programs whose results are not all of one kind, as those of record.c are,
 * put them here. The options are the same for all of them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include <stdbool.h>

/* A table: where its figures are looked for later, what stands above them, and what the floor is. */
struct section {
	const char *key, *heading, *floor;
};

extern struct bench {
	int rounds;
	bool quick;            /* does it run? The figures do not matter */
	const char *directory; /* where files are made */
	const char *only;      /* rows with this in their name; null: all */
	const char *json;
} bench;

/* Takes the options, finds the CPUs, and prints what the figures come from. What: of what the program tells, for --help. */
void bench_begin(int argc, char **argv, int rounds, const char *what);
/* Prints the tables, writes the JSON. The program's exit status. */
int bench_end(void);

/* Is this row asked for? */
bool bench_wants(const char *name);
/* In each round, once; a row is made when it comes for the first time. No floor: NAN. */
void bench_row(const struct section *section, const char *name, int round, double figure, double floor);

#endif
