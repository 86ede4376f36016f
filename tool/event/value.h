/*
 * value.h - numbers and texts as expressions know them: exact integers, units, relations, calculations
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef VALUE_H
#define VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/data_layout.h"

/* An integer as sign and magnitude, a real number, or a text, which need not end with a null. */
enum value_kind { NO_VALUE, INTEGER_VALUE, REAL_VALUE, TEXT_VALUE };
struct value {
	uint8_t kind;  /* enum value_kind */
	bool negative; /* of an integer; never of 0 */
	union {
		uint64_t magnitude;
		double real;
		uint64_t length; /* of a text; 64 bits, so that it sets the whole union on 32-bit machines, too */
	};
	const char *text;
};

/* The order matters: `&&` is the minimum, `||` the maximum. */
enum truth { TRUTH_FALSE, TRUTH_UNKNOWN, TRUTH_TRUE };

enum relation {
	RELATION_EQUAL, RELATION_UNEQUAL, RELATION_LESS, RELATION_LESS_EQUAL, RELATION_GREATER, RELATION_GREATER_EQUAL,
	RELATION_HAS, /* all bits */
};

enum calculation {
	CALCULATION_ADD, CALCULATION_SUBTRACT, CALCULATION_MULTIPLY, CALCULATION_DIVIDE, CALCULATION_REMAINDER,
	CALCULATION_BITS,
};

static inline struct value value_none(void)
{
	return (struct value){ .kind = NO_VALUE };
}

static inline struct value value_integer(uint64_t magnitude, bool negative)
{
	return (struct value){ .kind = INTEGER_VALUE, .magnitude = magnitude, .negative = negative && magnitude };
}

static inline struct value value_signed(int64_t n)
{
	return value_integer(n < 0 ? 0 - (uint64_t)n : (uint64_t)n, n < 0);
}

static inline struct value value_of_real(double d)
{
	return (struct value){ .kind = REAL_VALUE, .real = d };
}

/* Returns the number at p, an item of the field. */
static inline struct value value_of_number(const struct layout_field *f, const unsigned char *p)
{
	if (f->kind == LAYOUT_SIGNED)
		return value_signed(layout_signed(p, f->size));
	if (f->kind == LAYOUT_FLOAT)
		return value_of_real(layout_real(p, f->size));
	if (f->kind == LAYOUT_BOOL)
		return value_integer(*p != 0, false);
	return value_integer(layout_unsigned(p, f->size), false);
}

static inline enum truth truth_of(bool yes)
{
	return yes ? TRUTH_TRUE : TRUTH_FALSE;
}

/* What units measure. Numbers without a unit, or with an unknown one, have no dimension. */
enum dimension { DIMENSION_NONE, DIMENSION_TIME, DIMENSION_SIZE };

struct unit {
	uint8_t dimension;
	uint64_t scale; /* in ns, or in bytes; 1 without a dimension */
};

/* Returns a unit by its name. A name that is unknown has no dimension. */
struct unit unit_find(const char *name, size_t length);

/* Returns the value as the nearest real number; 0 for a text. */
double value_real(const struct value *v);
/*
 * Compares two values in exact numbers, each times its factor. Returns false if they cannot be compared; else *order is
 * negative, 0, or positive.
 */
bool value_compare(const struct value *a, uint64_t factor_a, const struct value *b, uint64_t factor_b, int *order);
/* Returns whether the relation holds for two values of this order. */
enum truth relation_holds(enum relation relation, int order);
/* Returns the relation of b and a that holds if this one of a and b does. */
enum relation relation_mirrored(enum relation relation);
/* Returns whether the relation holds for two values, each times its factor. */
enum truth value_relate(enum relation relation, const struct value *a, const struct value *b, const uint64_t factor[2]);
/*
 * Returns the result for two numbers, each times its factor. NO_VALUE: there is none, or it has more than 64 bits and
 * a sign.
 */
struct value value_calculate(enum calculation kind, const struct value *a, const struct value *b,
                             const uint64_t factor[2]);
struct value value_negated(const struct value *v);
/* Returns whether the value is a number other than 0. */
enum truth value_nonzero(const struct value *v);

#endif
