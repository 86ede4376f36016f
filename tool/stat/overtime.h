/*
 * overtime.h - stat --over-time: how a value changes, as a line of columns
 *
 * The log is read once, so its end is not known: each time that the columns do not suffice, two become one.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef OVERTIME_H
#define OVERTIME_H

#include "logs/match.h"

#define OVERTIME_COLUMNS 128

struct overtime_column {
	uint64_t count; /* of values */
	double sum;
};

struct overtime {
	struct question *of; /* null: the option was not given */
	uint64_t begin, width; /* ns; of a column */
	unsigned used;
	uint8_t dimension; /* enum dimension, of the first value */
	struct overtime_column column[OVERTIME_COLUMNS];
};

/* Sets the expression. */
void overtime_of(struct overtime *o, const char *text);
/* Begins with a log, which is not being read yet. m: after match_begin(). begin: the origin of times. */
void overtime_begin(struct overtime *o, struct logfile *f, uint64_t begin, const struct match *m);
/* Adds the value of a selected event. */
void overtime_event(struct overtime *o, const struct log_event *e, const unsigned char *data);
/* Prints a line of blocks, as long as the terminal allows. begin: the origin of times. */
void overtime_print(const struct overtime *o, uint64_t begin);
/* Prints a JSON object. */
void overtime_json(const struct overtime *o);

#endif
