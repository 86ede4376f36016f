/*
 * value.c - numbers and texts as expressions know them: exact integers, units, relations, calculations
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/value.h"

#include <math.h>
#include <string.h>

/* -- Units ------------------------------------------------------------------------------------- */

struct unit unit_find(const char *name, size_t length)
{
	static const struct {
		char name[4];
		uint8_t dimension;
		uint64_t scale;
	} units[] = {
		{ "ns", DIMENSION_TIME, 1 },
		{ "us", DIMENSION_TIME, 1000 },
		{ "ms", DIMENSION_TIME, 1000000 },
		{ "s", DIMENSION_TIME, 1000000000 },
		{ "min", DIMENSION_TIME, UINT64_C(60000000000) },
		{ "h", DIMENSION_TIME, UINT64_C(3600000000000) },
		{ "B", DIMENSION_SIZE, 1 },
		{ "KiB", DIMENSION_SIZE, UINT64_C(1) << 10 },
		{ "MiB", DIMENSION_SIZE, UINT64_C(1) << 20 },
		{ "GiB", DIMENSION_SIZE, UINT64_C(1) << 30 },
		{ "TiB", DIMENSION_SIZE, UINT64_C(1) << 40 },
		{ "K", DIMENSION_SIZE, UINT64_C(1) << 10 },
		{ "M", DIMENSION_SIZE, UINT64_C(1) << 20 },
		{ "G", DIMENSION_SIZE, UINT64_C(1) << 30 },
		{ "T", DIMENSION_SIZE, UINT64_C(1) << 40 },
		{ "kB", DIMENSION_SIZE, 1000 },
		{ "MB", DIMENSION_SIZE, 1000000 },
		{ "GB", DIMENSION_SIZE, 1000000000 },
		{ "TB", DIMENSION_SIZE, UINT64_C(1000000000000) },
	};

	for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strnlen(units[i].name, sizeof units[i].name) == length &&
		    memcmp(units[i].name, name, length) == 0)
			return (struct unit){ units[i].dimension, units[i].scale };
	return (struct unit){ DIMENSION_NONE, 1 };
}

/* -- Numbers ------------------------------------------------------------------------------------- */

double value_real(const struct value *v)
{
	if (v->kind == REAL_VALUE)
		return v->real;
	return v->kind == INTEGER_VALUE ? (v->negative ? -1.0 : 1.0) * (double)v->magnitude : 0;
}

static int three_way(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Compares a * b with c * d, which may have 128 bits. */
static int compare_products(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t factor[2][2] = { { a, b }, { c, d } }, high[2], low[2];

	if (b == d)
		return three_way(a, c);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t x = factor[i][0], y = factor[i][1], x1 = x >> 32, x0 = (uint32_t)x, y1 = y >> 32,
		         y0 = (uint32_t)y, middle = x1 * y0 + (x0 * y0 >> 32), other = x0 * y1 + (uint32_t)middle;

		high[i] = x1 * y1 + (middle >> 32) + (other >> 32);
		low[i] = x * y;
	}
	return high[0] != high[1] ? three_way(high[0], high[1]) : three_way(low[0], low[1]);
}

/* Compares a magnitude with a real number that is not NaN. Neither is rounded. */
static int compare_magnitude(uint64_t magnitude, double d)
{
	uint64_t whole;

	if (d < 0)
		return 1;
	if (d >= 0x1p64)
		return -1;
	whole = (uint64_t)d;
	return magnitude != whole ? three_way(magnitude, whole) : -(d > (double)whole);
}

static int compare_integer_real(const struct value *i, double d)
{
	return i->negative ? -compare_magnitude(i->magnitude, -d) : compare_magnitude(i->magnitude, d);
}

static int compare_texts(const struct value *a, const struct value *b)
{
	size_t common = a->length < b->length ? a->length : b->length;
	int c = common ? memcmp(a->text, b->text, common) : 0;

	return c ? c : three_way(a->length, b->length);
}

bool value_compare(const struct value *a, uint64_t factor_a, const struct value *b, uint64_t factor_b, int *order)
{
	double x, y;

	if (a->kind == NO_VALUE || b->kind == NO_VALUE || (a->kind == TEXT_VALUE) != (b->kind == TEXT_VALUE))
		return false;
	if (a->kind == TEXT_VALUE) {
		*order = compare_texts(a, b);
		return true;
	}
	if (a->kind == INTEGER_VALUE && b->kind == INTEGER_VALUE) {
		if (a->negative != b->negative)
			*order = a->negative ? -1 : 1;
		else
			*order = (a->negative ? -1 : 1) *
			         compare_products(a->magnitude, factor_a, b->magnitude, factor_b);
		return true;
	}
	if (b->kind == INTEGER_VALUE) {
		y = a->real * (double)factor_a / (double)factor_b;
		*order = isnan(y) ? 0 : -compare_integer_real(b, y);
		return !isnan(y);
	}
	if (a->kind == INTEGER_VALUE) {
		y = b->real * (double)factor_b / (double)factor_a;
		*order = isnan(y) ? 0 : compare_integer_real(a, y);
		return !isnan(y);
	}
	x = a->real * (double)factor_a;
	y = b->real * (double)factor_b;
	*order = (x > y) - (x < y);
	return !isnan(x) && !isnan(y);
}

/* -- Relations and calculations ------------------------------------------------------------------ */

enum truth relation_holds(enum relation relation, int order)
{
	switch (relation) {
	case RELATION_EQUAL:
		return truth_of(order == 0);
	case RELATION_UNEQUAL:
		return truth_of(order != 0);
	case RELATION_LESS:
		return truth_of(order < 0);
	case RELATION_LESS_EQUAL:
		return truth_of(order <= 0);
	case RELATION_GREATER:
		return truth_of(order > 0);
	default:
		return truth_of(order >= 0);
	}
}

enum truth value_relate(enum relation relation, const struct value *a, const struct value *b,
                         const uint64_t factor[2])
{
	int order;

	if (relation == RELATION_HAS)
		return a->kind != INTEGER_VALUE || b->kind != INTEGER_VALUE || a->negative || b->negative ?
		               TRUTH_UNKNOWN : truth_of((a->magnitude & b->magnitude) == b->magnitude);
	return value_compare(a, factor[0], b, factor[1], &order) ? relation_holds(relation, order) : TRUTH_UNKNOWN;
}

enum relation relation_mirrored(enum relation relation)
{
	switch (relation) {
	case RELATION_LESS:
		return RELATION_GREATER;
	case RELATION_LESS_EQUAL:
		return RELATION_GREATER_EQUAL;
	case RELATION_GREATER:
		return RELATION_LESS;
	case RELATION_GREATER_EQUAL:
		return RELATION_LESS_EQUAL;
	default:
		return relation;
	}
}

static struct value add(const struct value *a, const struct value *b)
{
	uint64_t sum;

	if (a->negative == b->negative)
		return __builtin_add_overflow(a->magnitude, b->magnitude, &sum) ? value_none() :
		                                                                  value_integer(sum, a->negative);
	if (a->magnitude >= b->magnitude)
		return value_integer(a->magnitude - b->magnitude, a->negative);
	return value_integer(b->magnitude - a->magnitude, b->negative);
}

static struct value calculate_integers(enum calculation kind, struct value a, struct value b)
{
	bool negative = a.negative != b.negative;
	uint64_t product;

	switch (kind) {
	case CALCULATION_SUBTRACT:
		b = value_integer(b.magnitude, !b.negative);
		return add(&a, &b);
	case CALCULATION_ADD:
		return add(&a, &b);
	case CALCULATION_MULTIPLY:
		return __builtin_mul_overflow(a.magnitude, b.magnitude, &product) ? value_none() :
		                                                                    value_integer(product, negative);
	case CALCULATION_DIVIDE:
		return b.magnitude == 0 ? value_none() : value_integer(a.magnitude / b.magnitude, negative);
	case CALCULATION_REMAINDER:
		return b.magnitude == 0 ? value_none() : value_integer(a.magnitude % b.magnitude, a.negative);
	default:
		return a.negative || b.negative ? value_none() : value_integer(a.magnitude & b.magnitude, false);
	}
}

static struct value calculate_reals(enum calculation kind, double a, double b)
{
	switch (kind) {
	case CALCULATION_ADD:
		return value_of_real(a + b);
	case CALCULATION_SUBTRACT:
		return value_of_real(a - b);
	case CALCULATION_MULTIPLY:
		return value_of_real(a * b);
	case CALCULATION_DIVIDE:
		return b == 0 ? value_none() : value_of_real(a / b);
	case CALCULATION_REMAINDER:
		return b == 0 ? value_none() : value_of_real(fmod(a, b));
	default:
		return value_none();
	}
}

struct value value_calculate(enum calculation kind, const struct value *a, const struct value *b,
                              const uint64_t factor[2])
{
	struct value x = *a, y = *b;

	if (a->kind == NO_VALUE || b->kind == NO_VALUE)
		return value_none();
	if (a->kind == REAL_VALUE || b->kind == REAL_VALUE)
		return calculate_reals(kind, value_real(a) * (double)factor[0], value_real(b) * (double)factor[1]);
	if (__builtin_mul_overflow(a->magnitude, factor[0], &x.magnitude) ||
	    __builtin_mul_overflow(b->magnitude, factor[1], &y.magnitude))
		return value_none();
	return calculate_integers(kind, x, y);
}

struct value value_negated(const struct value *v)
{
	if (v->kind == REAL_VALUE)
		return value_of_real(-v->real);
	return v->kind == INTEGER_VALUE ? value_integer(v->magnitude, !v->negative) : value_none();
}

enum truth value_nonzero(const struct value *v)
{
	if (v->kind == REAL_VALUE)
		return truth_of(v->real != 0);
	return v->kind == INTEGER_VALUE ? truth_of(v->magnitude != 0) : TRUTH_UNKNOWN;
}
