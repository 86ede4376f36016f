/*
 * overtime.c - stat --over-time: how a value changes, as a line of columns
 *
 * SPDX-License-Identifier: MIT
 */
#include "stat/overtime.h"

#include <langinfo.h>
#include <math.h>
#include <string.h>

#include "analysis/spread.h"
#include "common/display.h"
#include "common/json.h"
#include "common/message.h"
#include "common/moment.h"
#include "common/out.h"

#define LEVELS 8

void overtime_of(struct overtime *o, const char *text)
{
	if (o->of)
		wrong_usage("--over-time: only once");
	o->of = question_new("--over-time", text, false);
}

void overtime_begin(struct overtime *o, struct logfile *f, uint64_t begin, const struct match *m)
{
	bool wanted[EVENT_ID_END];

	for (uint32_t id = 0; id < EVENT_ID_END; id++)
		wanted[id] = match_type(m, id);
	question_log(o->of, f, begin, wanted);
}

/* Makes one column of each two. */
static void halve(struct overtime *o)
{
	for (unsigned i = 0; i < OVERTIME_COLUMNS; i++) {
		struct overtime_column both = { 0 };

		for (unsigned k = 2 * i; k < 2 * i + 2 && k < OVERTIME_COLUMNS; k++) {
			both.count += o->column[k].count;
			both.sum += o->column[k].sum;
		}
		o->column[i] = both;
	}
	o->used = (o->used + 1) / 2;
	o->width *= 2;
}

void overtime_event(struct overtime *o, const struct log_event *e, const unsigned char *data)
{
	struct value v = question_value(o->of, e, data);
	struct unit unit;
	uint64_t column;
	double number;

	if (v.kind != INTEGER_VALUE && v.kind != REAL_VALUE)
		return;
	unit = question_formula(o->of, e->id)->unit;
	number = value_real(&v) * (double)unit.scale;
	if (!isfinite(number))
		return;
	if (o->width == 0) {
		o->begin = e->time;
		o->width = 1;
		o->dimension = unit.dimension;
	}
	/* Late events are in the first column, as if they were not late. */
	column = e->time > o->begin ? (e->time - o->begin) / o->width : 0;
	for (; column >= OVERTIME_COLUMNS; column /= 2)
		halve(o);
	o->column[column].count++;
	o->column[column].sum += number;
	if (column >= o->used)
		o->used = (unsigned)column + 1;
}

static double mean(const struct overtime_column *c)
{
	return c->sum / (double)c->count;
}

/* Finds the least and the greatest mean of the columns. Returns false if there is no value. */
static bool range(const struct overtime *o, double *least, double *most)
{
	*least = INFINITY;
	*most = -INFINITY;
	for (unsigned i = 0; i < o->used; i++)
		if (o->column[i].count) {
			*least = fmin(*least, mean(&o->column[i]));
			*most = fmax(*most, mean(&o->column[i]));
		}
	return *least <= *most;
}

static void print_column(const struct overtime_column *c, double least, double most, bool blocks)
{
	static const char *const eighths[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char plain[] = "_.-~=+*#";
	double height = most > least ? (mean(c) - least) / (most - least) : 1;
	unsigned level = (unsigned)(height * (LEVELS - 1) + 0.5);

	if (!c->count)
		out_char(' ');
	else if (blocks)
		out_text(eighths[level]);
	else
		out_char(plain[level]);
}

void overtime_print(const struct overtime *o, uint64_t begin)
{
	struct spread unit = { .dimension = o->dimension };
	bool blocks = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	char low[SPREAD_TEXT], high[SPREAD_TEXT], width[32];
	struct overtime line = *o;
	int columns = display_columns() - 2;
	double least, most;

	while (line.used > 1 && (int)line.used > columns)
		halve(&line);
	display_colour(BOLD);
	out_foreign(o->of->x->source, strlen(o->of->x->source), 0);
	display_colour(PLAIN);
	if (!range(&line, &least, &most)) {
		out_text(": no values\n");
		return;
	}
	out_printf(" from %s to %s, mean of each %s from ", spread_text(low, &unit, least),
	           spread_text(high, &unit, most), moment_duration(width, line.width));
	moment_print_seconds(line.begin, begin, 0);
	out_text(" on\n  ");
	display_colour(CYAN);
	for (unsigned i = 0; i < line.used; i++)
		print_column(&line.column[i], least, most, blocks);
	display_colour(PLAIN);
	out_char('\n');
}

void overtime_json(const struct overtime *o)
{
	json_begin('{');
	json_key("of");
	json_string(o->of->x->source);
	json_key("begin");
	json_number(o->begin);
	json_key("width");
	json_number(o->width);
	json_key("columns");
	json_begin('[');
	for (unsigned i = 0; i < o->used; i++) {
		json_begin('{');
		json_key("count");
		json_number(o->column[i].count);
		json_key("mean");
		if (o->column[i].count)
			json_real(mean(&o->column[i]));
		else
			json_null();
		json_end('}');
	}
	json_end(']');
	json_end('}');
}
