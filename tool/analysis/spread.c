/*
 * spread.c - how the values of an expression are spread: number, sum, least, most, percentiles
 *
 * SPDX-License-Identifier: MIT
 */
#include "analysis/spread.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/chart.h"
#include "common/json.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/out.h"

/* -- Adding -------------------------------------------------------------------------------------- */

static uint64_t product(uint64_t value, double factor)
{
	double d = (double)value * factor;

	return d < 0x1p64 ? (uint64_t)d : UINT64_MAX;
}

/* Multiplies the values of a histogram, which become those of their steps. null: no values. */
static void multiply(struct histogram *h, double factor)
{
	struct histogram more = { .count = 0 };
	uint64_t here;

	if (!h)
		return;
	for (unsigned i = 0; (i = histogram_next(h, i, &here)) < HISTOGRAM_SIZE; i++) {
		more.count += here;
		histogram_count(&more, histogram_step(product(histogram_middle(i), factor)), here);
	}
	more.least = product(h->least, factor);
	more.most = product(h->most, factor);
	histogram_free(h);
	*h = more;
}

/* Makes the parts of 1 so large that a magnitude has room. */
static void make_room(struct spread *s, double magnitude)
{
	double parts = s->parts;

	while (magnitude * parts >= 0x1p64)
		parts /= SPREAD_REAL;
	if (parts == s->parts)
		return;
	multiply(s->positive, parts / s->parts);
	multiply(s->negative, parts / s->parts);
	s->parts = parts;
}

static double sum_of(const struct histogram *h)
{
	return h ? (double)h->carry * 0x1p64 + (double)h->sum : 0;
}

/* The first real number: all that came before becomes real. */
static void make_real(struct spread *s)
{
	double most = 0;

	s->sum_real = sum_of(s->positive) - sum_of(s->negative);
	s->real = true;
	s->parts = 1;
	if (s->positive)
		most = (double)s->positive->most;
	if (s->negative && (double)s->negative->most > most)
		most = (double)s->negative->most;
	/* Integers that are too large for that stay as they are. */
	if (most * SPREAD_REAL >= 0x1p64)
		return;
	multiply(s->positive, SPREAD_REAL);
	multiply(s->negative, SPREAD_REAL);
	s->parts = SPREAD_REAL;
}

static void add_magnitude(struct histogram **h, uint64_t magnitude)
{
	if (!*h)
		*h = calloc(1, sizeof **h);
	if (!*h)
		fail("no memory");
	histogram_add(*h, magnitude);
}

static void add_real(struct spread *s, double d)
{
	make_room(s, fabs(d));
	s->sum_real += d;
	add_magnitude(d < 0 ? &s->negative : &s->positive, (uint64_t)(fabs(d) * s->parts));
}

bool spread_add(struct spread *s, const struct value *v, struct unit unit)
{
	struct value scaled = *v;
	int order;

	if (v->kind == INTEGER_VALUE && __builtin_mul_overflow(v->magnitude, unit.scale, &scaled.magnitude))
		return false;
	if (v->kind == REAL_VALUE)
		scaled.real = v->real * (double)unit.scale;
	if ((v->kind != INTEGER_VALUE && v->kind != REAL_VALUE) || (v->kind == REAL_VALUE && !isfinite(scaled.real)))
		return false;
	if (v->kind == REAL_VALUE && !s->real)
		make_real(s);
	if (s->real)
		add_real(s, value_real(&scaled));
	else
		add_magnitude(scaled.negative ? &s->negative : &s->positive, scaled.magnitude);
	if (s->count == 0)
		s->dimension = unit.dimension;
	else if (s->dimension != unit.dimension)
		s->dimension = DIMENSION_NONE;
	if (s->count == 0 || (value_compare(&scaled, 1, &s->least, 1, &order) && order < 0))
		s->least = scaled;
	if (s->count == 0 || (value_compare(&scaled, 1, &s->most, 1, &order) && order > 0))
		s->most = scaled;
	s->count++;
	return true;
}

void spread_free(struct spread *s)
{
	if (s->positive)
		histogram_free(s->positive);
	if (s->negative)
		histogram_free(s->negative);
	free(s->positive);
	free(s->negative);
}

/* -- Results ------------------------------------------------------------------------------------- */

struct value spread_sum(const struct spread *s)
{
	uint64_t carry = (s->positive ? s->positive->carry : 0) | (s->negative ? s->negative->carry : 0);
	uint64_t positive = s->positive ? s->positive->sum : 0, negative = s->negative ? s->negative->sum : 0;

	if (s->real)
		return value_of_real(s->sum_real);
	if (carry)
		return value_of_real(sum_of(s->positive) - sum_of(s->negative));
	return positive >= negative ? value_integer(positive - negative, false) :
	                              value_integer(negative - positive, true);
}

double spread_mean(const struct spread *s)
{
	struct value sum = spread_sum(s);

	return s->count ? value_real(&sum) / (double)s->count : 0;
}

/* Returns the magnitude that this number of values of the histogram, from the least, do not exceed. */
static double ranked(const struct spread *s, const struct histogram *h, uint64_t rank)
{
	uint64_t below = 0, value = h->most, here;

	for (unsigned i = 0; (i = histogram_next(h, i, &here)) < HISTOGRAM_SIZE; i++) {
		below += here;
		if (below < rank)
			continue;
		value = histogram_middle(i);
		value = value < h->least ? h->least : value > h->most ? h->most : value;
		break;
	}
	return (double)value / (s->real ? s->parts : 1);
}

double spread_percentile(const struct spread *s, double percent)
{
	uint64_t rank = (uint64_t)ceil((double)s->count * percent / 100), below = s->negative ? s->negative->count : 0;

	if (s->count == 0)
		return 0;
	rank = rank < 1 ? 1 : rank > s->count ? s->count : rank;
	/* The least of the negative values has the greatest magnitude. */
	if (rank <= below)
		return -ranked(s, s->negative, below - rank + 1);
	return ranked(s, s->positive, rank - below);
}

/* -- For people ---------------------------------------------------------------------------------- */

char *spread_text(char text[SPREAD_TEXT], const struct spread *s, double value)
{
	double size = fabs(value);

	if (s->dimension == DIMENSION_TIME && size < 1.8e19) {
		*text = '-';
		moment_duration(text + (value < 0), (uint64_t)(size + 0.5));
	} else if (size >= 1e6 || value == floor(value)) {
		snprintf(text, SPREAD_TEXT, size < 1e18 ? "%.0f" : "%.6g", value);
	} else {
		snprintf(text, SPREAD_TEXT, "%.*f", size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0, value);
	}
	return text;
}

char *spread_value(char text[SPREAD_TEXT], const struct spread *s, const struct value *v)
{
	if (v->kind != INTEGER_VALUE || s->dimension == DIMENSION_TIME)
		return spread_text(text, s, value_real(v));
	snprintf(text, SPREAD_TEXT, "%s%" PRIu64, v->negative ? "-" : "", v->magnitude);
	return text;
}

static char *plain_text(char *text, uint64_t value)
{
	sprintf(text, "%" PRIu64, value);
	return text;
}

/* The chart that is printed: real_text() gets no more than the value. */
static double chart_parts;

static char *real_text(char *text, uint64_t value)
{
	snprintf(text, 32, "%.6g", (double)value / chart_parts);
	return text;
}

void spread_chart(const struct spread *s)
{
	chart_parts = s->parts;
	if (s->negative)
		out_printf("no histogram, because some values are negative\n");
	else
		chart_print_as(s->positive, s->real ? real_text :
		               s->dimension == DIMENSION_TIME ? moment_duration : plain_text);
}

/* -- For programs -------------------------------------------------------------------------------- */

/* Prints an integer as a text where a double would lose digits, as layout_json.c does. */
static void json_value(const struct value *v)
{
	char text[SPREAD_TEXT];

	if (v->kind == REAL_VALUE) {
		json_real(v->real);
	} else if (v->magnitude <= UINT64_C(1) << 53) {
		json_signed(v->negative ? -(int64_t)v->magnitude : (int64_t)v->magnitude);
	} else {
		snprintf(text, sizeof text, "%s%" PRIu64, v->negative ? "-" : "", v->magnitude);
		json_string(text);
	}
}

void spread_json(const struct spread *s)
{
	static const double percents[] = { 50, 90, 99, 99.9 };
	struct value sum = spread_sum(s);

	json_key("count");
	json_number(s->count);
	if (s->count == 0)
		return;
	json_key("sum");
	json_value(&sum);
	json_key("min");
	json_value(&s->least);
	json_key("mean");
	json_real(spread_mean(s));
	json_key("max");
	json_value(&s->most);
	json_key("percentiles");
	json_begin('{');
	for (unsigned i = 0; i < sizeof percents / sizeof percents[0]; i++) {
		char key[16];

		snprintf(key, sizeof key, "%g", percents[i]);
		json_key(key);
		json_real(spread_percentile(s, percents[i]));
	}
	json_end('}');
	if (s->negative || s->real)
		return;
	json_key("histogram");
	chart_json(s->positive);
}
