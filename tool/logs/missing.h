/*
 * missing.h - how many events of a log are missing, and why
 *
 * All subcommands take these numbers and words from here, so that they agree.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MISSING_H
#define MISSING_H

#include <stdbool.h>
#include <stdint.h>

#include "logs/logfile.h"

struct missing {
	uint64_t lost;        /* the stream lost them */
	uint64_t unwritten;   /* they could not be written to the log; at least, unless closed */
	uint64_t damaged;     /* they are in parts of the log that are damaged or cut off */
	uint64_t overwritten; /* newer ones have overwritten them, which is what a LOOP log is for */
	uint64_t discarded;   /* the log was full */
	uint64_t skipped;     /* bytes that are no frames, in a log that was not closed */
	bool closed;          /* the numbers are those of the creator, which has ended the log */
	bool damaged_more;    /* there are damaged parts whose events nobody has counted */
	bool overwritten_some; /* events were overwritten; their number is unknown if it is 0 */
};

/* Takes what the creator of the log has counted. Damage is not looked for. */
void missing_counted(struct missing *m, const struct logfile *f);
/* Finds out what is missing. Reads the log, and begins anew, unless it has been read to its end. */
void missing_find(struct missing *m, struct logfile *f);
/* Returns the number of events that are missing and were not overwritten on purpose. */
uint64_t missing_sum(const struct missing *m);
/* Returns a + b, or the largest number. The numbers in a log may be any. */
uint64_t missing_add(uint64_t a, uint64_t b);

/* Prints a message if the log is damaged. */
void missing_say_damage(struct logfile *f);

/* A piece of the description: "134 events lost". */
struct missing_part {
	bool bad; /* a loss, and not what a LOOP log is for */
	char text[80];
};

#define MISSING_PARTS 6

/* Describes what is missing. Returns the number of parts. */
unsigned missing_describe(const struct missing *m, struct missing_part part[MISSING_PARTS]);

#endif
