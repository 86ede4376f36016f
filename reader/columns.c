/*
 * columns.c - the values of many events at once
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "error.h"
#include "live.h"
#include "read.h"

/* How a column is filled, found out once for each call. */
struct plan {
	const struct layout_field *field; /* null: no field */
	unsigned index;   /* of the field */
	bool fixed;       /* the field is in the same place in each event that has it */
	uint32_t at, end; /* if fixed: of the first item */
};

struct job {
	struct posixtrace_log *log;
	const struct type *type; /* null: any */
	const struct posixtrace_log_column *column;
	struct plan *plan;
	size_t count;
};

/* Enough for tables; more columns would need an allocation. */
#define COLUMNS_MAX 128

static int make_plan(const struct type *t, const struct posixtrace_log_column *c, struct plan *plan)
{
	*plan = (struct plan){ 0 };
	if (!c->values || c->values_type > POSIXTRACE_LOG_DOUBLE)
		return c->values ? error_say(EINVAL, "a column has values of an unknown type") : error_null();
	if (c->field < 0)
		return c->field >= POSIXTRACE_LOG_THREAD ? 0 : error_say(EINVAL, "a column has no known field");
	if (!t || (uint32_t)c->field >= t->about.fields)
		return error_say(EINVAL, "%s has no field number %d", t ? t->about.name : "an event of any type",
		                 c->field);
	plan->index = (unsigned)c->field;
	plan->field = &t->layout->field[plan->index];
	if (layout_is_text_field(plan->field) || plan->field->kind == LAYOUT_BYTES)
		return error_say(EINVAL, "the field %s of %s is no number", plan->field->name, t->about.name);
	plan->fixed = plan->index < t->layout->fixed;
	if (plan->fixed) {
		plan->at = t->layout->place[plan->index].at;
		plan->end = plan->at + plan->field->size;
	}
	return 0;
}

/* -- Values ------------------------------------------------------------------------------------------- */

static inline void put_unsigned(const struct posixtrace_log_column *c, size_t row, uint64_t value)
{
	if (c->values_type == POSIXTRACE_LOG_DOUBLE)
		((double *)c->values)[row] = (double)value;
	else
		((uint64_t *)c->values)[row] = value;
}

static inline void put_signed(const struct posixtrace_log_column *c, size_t row, int64_t value)
{
	if (c->values_type == POSIXTRACE_LOG_DOUBLE)
		((double *)c->values)[row] = (double)value;
	else
		((int64_t *)c->values)[row] = value;
}

/* Converts as C does, but where C says nothing: a value that is too large becomes the nearest one. */
static void put_real(const struct posixtrace_log_column *c, size_t row, double value)
{
	if (c->values_type == POSIXTRACE_LOG_DOUBLE)
		((double *)c->values)[row] = value;
	else if (c->values_type == POSIXTRACE_LOG_INT64)
		((int64_t *)c->values)[row] = value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN :
		                              value == value ? (int64_t)value : 0;
	else
		((uint64_t *)c->values)[row] = value >= 0x1p64 ? UINT64_MAX : value > 0 ? (uint64_t)value : 0;
}

static inline void put_field(const struct posixtrace_log_column *c, size_t row, const struct layout_field *f,
                             const unsigned char *p)
{
	if (f->kind == LAYOUT_FLOAT)
		put_real(c, row, layout_real(p, f->size));
	else if (f->kind == LAYOUT_SIGNED)
		put_signed(c, row, layout_signed(p, f->size));
	else
		put_unsigned(c, row, layout_unsigned(p, f->size));
}

static uint64_t standard(const struct source *s, const struct shape *shape, int32_t field)
{
	const struct log_event *e = s->event;

	switch (field) {
	case POSIXTRACE_LOG_TIME:
		return e->time;
	case POSIXTRACE_LOG_PID:
		return e->pid;
	case POSIXTRACE_LOG_TID:
		return e->tid;
	case POSIXTRACE_LOG_ADDRESS:
		return e->address;
	case POSIXTRACE_LOG_LENGTH:
		return e->length;
	case POSIXTRACE_LOG_SOURCE:
		return s->index;
	case POSIXTRACE_LOG_TYPE:
		return s->type[e->id]->about.index;
	default:
		return shape->thread ? shape->thread->about.index : UINT64_MAX;
	}
}

/* Stores the values of the source's next event. */
static inline void put_row(const struct job *j, const struct source *s, const struct shape *shape, size_t row)
{
	struct layout_places places;
	bool located = false;

	for (size_t i = 0; i < j->count; i++) {
		const struct posixtrace_log_column *c = &j->column[i];
		const struct plan *p = &j->plan[i];
		uint32_t at = p->at;
		bool present = true;

		if (!p->field) {
			put_unsigned(c, row, c->field == POSIXTRACE_LOG_TIME ? s->event->time :
			             standard(s, shape, c->field));
		} else {
			if (p->fixed) {
				present = s->event->length >= p->end;
			} else {
				if (!located)
					layout_locate(j->type->layout, s->data, s->event->length, &places);
				located = true;
				present = p->index < places.count && places.of[p->index].size >= p->field->size;
				at = present ? places.of[p->index].at : 0;
			}
			if (present)
				put_field(c, row, p->field, s->data + at);
			else
				put_unsigned(c, row, 0);
		}
		if (c->present)
			c->present[row] = present;
	}
}

/* -- Events --------------------------------------------------------------------------------------------- */

static int read_rows(const struct job *j, size_t most, size_t *rows)
{
	struct posixtrace_log *log = j->log;
	struct source *s;
	struct shape *shape;
	int error;

	while (*rows < most) {
		s = read_source(log);
		if (!s) {
			if (*rows || log->error || !read_waits(log))
				break;
			error = live_sleep(log, INT64_MAX);
			if (error)
				return error;
			continue;
		}
		if (s->loss_count) {
			s->loss_count = 0;
			continue;
		}
		if (read_wanted(log, s, &shape) && (!j->type || s->type[s->event->id] == j->type) &&
		    (!log->filter.wanted || read_asks(log, s, shape))) {
			put_row(j, s, shape, *rows);
			(*rows)++;
		}
		if (log->error)
			break;
		log->pending = s;
		read_move(log);
	}
	return log->error || *rows == 0 ? read_end(log) : 0;
}

int posixtrace_log_read(struct posixtrace_log *log, const struct posixtrace_log_type *type,
                        const struct posixtrace_log_column *columns, size_t count, size_t most, size_t *rows)
{
	struct plan plan[COLUMNS_MAX];
	struct job job = { log, (const struct type *)type, columns, plan, count };
	int error;

	if (!log || !rows || (!columns && count))
		return error_null();
	*rows = 0;
	if (count > COLUMNS_MAX)
		return error_say(EINVAL, "%zu columns are more than %d", count, COLUMNS_MAX);
	for (size_t i = 0; i < count; i++) {
		error = make_plan(job.type, &columns[i], &plan[i]);
		if (error)
			return error;
	}
	error = read_begin(log);
	if (error)
		return error;
	filter_look_again(log);
	log->found = false;
	read_move(log);
	return read_rows(&job, most, rows);
}
