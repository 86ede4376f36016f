/*
 * spread.h - how the values of an expression are spread: number, sum, least, most, percentiles
 *
 * Times are in ns and sizes in bytes, whatever the unit of the field is. Integers are exact. Percentiles come from a
 * histogram for each sign. In it, real numbers are in millionths.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SPREAD_H
#define SPREAD_H

#include "analysis/histogram.h"
#include "event/value.h"

#define SPREAD_REAL 1e6 /* parts of 1 in a histogram of real numbers, if all of them have room */

struct spread {
	uint64_t count;
	struct value least, most;
	bool real;         /* the histograms are in parts of 1 */
	double parts;
	uint8_t dimension; /* enum dimension; DIMENSION_NONE also if the values have different ones */
	double sum_real;   /* of real numbers */
	struct histogram *positive, *negative; /* of magnitudes; null: no value */
};

/*
 * Adds a number in this unit. Returns false if it is no number, or infinite, or if in ns or bytes it has more than 64
 * bits.
 */
bool spread_add(struct spread *s, const struct value *v, struct unit unit);
void spread_free(struct spread *s);
/* Returns the sum, which is exact if it is an integer of 64 bits and a sign. */
struct value spread_sum(const struct spread *s);
double spread_mean(const struct spread *s);
/* Returns the value that this percentage of all values does not exceed. */
double spread_percentile(const struct spread *s, double percent);

#define SPREAD_TEXT 32
/* Writes a number for people: a duration, if the values are times. Returns text. */
char *spread_text(char text[SPREAD_TEXT], const struct spread *s, double value);
/* Does the same for an exact value. */
char *spread_value(char text[SPREAD_TEXT], const struct spread *s, const struct value *v);
/* Prints the numbers as members of a JSON object. */
void spread_json(const struct spread *s);
/* Prints a chart of the values, or that there is none, because some are negative. There must be values. */
void spread_chart(const struct spread *s);

#endif
