/*
 * evaluate.c - what an expression is for an event
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/evaluate.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* The stacks, of one evaluation at a time in each thread: `record` evaluates in the threads that write its logs. */
static _Thread_local struct value value_stack[FORMULA_STACK];
static _Thread_local uint8_t truth_stack[FORMULA_STACK];

struct run {
	const struct formula *p;
	struct evaluation *e;
	unsigned values, truths; /* on the stacks */
	bool located;
	struct layout_places places;
};

/* Finds the bytes of a field. Returns false if the event does not have it. */
static inline bool find_bytes(struct run *r, unsigned field, const unsigned char **p, size_t *size)
{
	const struct layout *l = r->p->layout;
	const struct layout_field *f = &l->field[field];
	size_t length = r->e->event->length, at, whole;

	if (field >= l->fixed) {
		if (!r->located)
			layout_locate(l, r->e->data, length, &r->places);
		r->located = true;
		if (field >= r->places.count)
			return false;
		*p = r->e->data + r->places.of[field].at;
		*size = r->places.of[field].size;
		return true;
	}
	at = l->place[field].at;
	whole = l->place[field].size;
	if (at > length)
		return false;
	*p = r->e->data + at;
	*size = length - at;
	if (layout_rest(f))
		return true;
	if (*size >= whole)
		*size = whole;
	else
		*size &= ~(size_t)(f->size - 1);
	return *size > 0;
}

static struct value read_field(struct run *r, const struct step *s)
{
	const struct layout_field *f = &r->p->layout->field[s->field];
	const unsigned char *p;
	size_t size;

	if (!find_bytes(r, s->field, &p, &size) || ((size_t)s->item + 1) * f->size > size)
		return value_none();
	return value_of_number(f, p + (size_t)s->item * f->size);
}

static struct value read_text(struct run *r, const struct step *s)
{
	const struct layout_field *f = &r->p->layout->field[s->field];
	const unsigned char *p;
	size_t size;

	if (!find_bytes(r, s->field, &p, &size))
		return value_none();
	return (struct value){ .kind = TEXT_VALUE, .length = layout_text(f, p, size), .text = (const char *)p };
}

static struct value read_builtin(const struct run *r, const struct step *s)
{
	const struct log_event *e = r->e->event;

	switch ((enum builtin)s->field) {
	case BUILTIN_PID:
		return value_integer(e->pid, false);
	case BUILTIN_TID:
		return value_integer(e->tid, false);
	case BUILTIN_PROCESS:
		return r->e->process ? (struct value){ .kind = TEXT_VALUE, .length = strlen(r->e->process),
		                                       .text = r->e->process } : value_none();
	case BUILTIN_THREAD:
		return e->tid ? (struct value){ .kind = TEXT_VALUE, .length = strnlen(e->name, sizeof e->name),
		                                .text = e->name } : value_none();
	case BUILTIN_TIME:
		return e->time >= r->e->begin ? value_integer(e->time - r->e->begin, false) :
		                                value_integer(r->e->begin - e->time, true);
	case BUILTIN_LENGTH:
		return value_integer(e->length, false);
	case BUILTIN_ADDRESS:
		return value_integer(e->address, false);
	case BUILTIN_TRUNCATED:
		return value_integer(e->truncated, false);
	default:
		return value_none();
	}
}

/* Returns whether the relation is true for any item of the array; without a value, whether any item is not 0. */
static enum truth any_item(struct run *r, const struct step *s, const struct value *other)
{
	const struct layout_field *f = &r->p->layout->field[s->field];
	enum truth most = TRUTH_FALSE;
	const unsigned char *p;
	size_t size;

	if (!find_bytes(r, s->field, &p, &size) || size < f->size)
		return TRUTH_UNKNOWN;
	for (size_t i = 0; i + f->size <= size && most != TRUTH_TRUE; i += f->size) {
		struct value v = value_of_number(f, p + i);
		enum truth t = other ? value_relate((enum relation)s->relation, &v, other, s->factor) :
		                       value_nonzero(&v);

		most = t > most ? t : most;
	}
	return most;
}

/* Returns the bytes of a number at a fixed place, or null. */
static inline const unsigned char *fixed(const struct run *r, const struct step *s)
{
	return (size_t)s->at + s->size <= r->e->event->length ? r->e->data + s->at : NULL;
}

static enum truth relate_unsigned(const struct run *r, const struct step *s)
{
	const unsigned char *p = fixed(r, s);
	uint64_t a, b = s->value.magnitude;

	if (!p)
		return TRUTH_UNKNOWN;
	a = layout_unsigned(p, s->size);
	return s->relation == RELATION_HAS ? truth_of((a & b) == b) :
	                                 relation_holds((enum relation)s->relation, (a > b) - (a < b));
}

static enum truth relate_signed(const struct run *r, const struct step *s)
{
	const unsigned char *p = fixed(r, s);
	int64_t a, b = (int64_t)s->value.magnitude;

	if (!p)
		return TRUTH_UNKNOWN;
	a = layout_signed(p, s->size);
	return relation_holds((enum relation)s->relation, (a > b) - (a < b));
}

/*
 * Returns the text with a null after it; null if there is no memory. Nulls in it, which would end it for fnmatch(),
 * become another control character: no pattern contains one of them, and [[:cntrl:]] is both.
 */
static const char *with_null(struct evaluation *e, const struct value *v)
{
	if (v->length >= e->room_size) {
		char *more = realloc(e->room, 2 * v->length + 64);

		if (!more)
			return NULL;
		e->room = more;
		e->room_size = 2 * v->length + 64;
	}
	memcpy(e->room, v->text, v->length);
	for (char *p = e->room; (p = memchr(p, 0, v->length - (size_t)(p - e->room)));)
		*p = 1;
	e->room[v->length] = 0;
	return e->room;
}

static enum truth match_glob(struct evaluation *e, const struct step *s, const struct value *v)
{
	const char *text;
	bool matches;

	if (v->kind != TEXT_VALUE)
		return TRUTH_UNKNOWN;
	if (s->relation == GLOB_SAME) {
		matches = v->length == s->value.length && memcmp(v->text, s->value.text, v->length) == 0;
	} else if (s->relation == GLOB_PREFIX) {
		matches = v->length >= s->value.length && memcmp(v->text, s->value.text, s->value.length) == 0;
	} else {
		text = with_null(e, v);
		if (!text)
			return TRUTH_UNKNOWN;
		matches = fnmatch(s->value.text, text, 0) == 0;
	}
	return truth_of(matches != s->negative);
}

static enum truth exists(struct run *r, const struct step *s)
{
	const struct layout_field *f = &r->p->layout->field[s->field];
	const unsigned char *p;
	size_t size;

	return truth_of(find_bytes(r, s->field, &p, &size) && (s->whole || ((size_t)s->item + 1) * f->size <= size));
}

/* Makes a step that leaves a value. Returns false if it is another step. */
static inline bool step_value(struct run *r, const struct step *s)
{
	struct value *top = &value_stack[r->values];

	switch ((enum step_kind)s->kind) {
	case STEP_PUSH:
		*top = s->value;
		break;
	case STEP_FIELD:
		*top = read_field(r, s);
		break;
	case STEP_TEXT:
		*top = read_text(r, s);
		break;
	case STEP_BUILTIN:
		*top = read_builtin(r, s);
		break;
	case STEP_NEGATE:
		top[-1] = value_negated(&top[-1]);
		return true;
	case STEP_CALCULATE:
		top[-2] = value_calculate((enum calculation)s->relation, &top[-2], &top[-1], s->factor);
		r->values--;
		return true;
	default:
		return false;
	}
	r->values++;
	return true;
}

/* Makes a step that leaves a truth, and takes no value from the stack. */
static inline enum truth step_alone(struct run *r, const struct step *s)
{
	switch ((enum step_kind)s->kind) {
	case STEP_UNSIGNED:
		return relate_unsigned(r, s);
	case STEP_SIGNED:
		return relate_signed(r, s);
	case STEP_ANY:
		return any_item(r, s, NULL);
	case STEP_EXISTS:
		return exists(r, s);
	default:
		return (enum truth)s->relation;
	}
}

/* Makes a step that leaves the truth of values. */
static inline enum truth step_truth(struct run *r, const struct step *s)
{
	struct value *top = &value_stack[r->values];

	switch ((enum step_kind)s->kind) {
	case STEP_COMPARE:
		r->values -= 2;
		return value_relate((enum relation)s->relation, &top[-2], &top[-1], s->factor);
	case STEP_ITEMS:
		r->values--;
		return any_item(r, s, &top[-1]);
	case STEP_GLOB:
		r->values--;
		return match_glob(r->e, s, &top[-1]);
	case STEP_NONZERO:
		r->values--;
		return value_nonzero(&top[-1]);
	default:
		return step_alone(r, s);
	}
}

static void run(struct run *r)
{
	const struct formula *p = r->p;

	for (unsigned i = 0; i < p->count; i++) {
		const struct step *s = &p->step[i];
		uint8_t *top = &truth_stack[r->truths];

		switch ((enum step_kind)s->kind) {
		case STEP_NOT:
			top[-1] = (uint8_t)(TRUTH_TRUE - top[-1]);
			break;
		case STEP_AND:
			top[-2] = top[-2] < top[-1] ? top[-2] : top[-1];
			r->truths--;
			break;
		case STEP_OR:
			top[-2] = top[-2] > top[-1] ? top[-2] : top[-1];
			r->truths--;
			break;
		case STEP_UNLESS:
			if (top[-1] == s->relation)
				i = s->at - 1;
			break;
		default:
			if (!step_value(r, s)) {
				*top = (uint8_t)step_truth(r, s);
				r->truths++;
			}
			break;
		}
	}
}

static void run_begin(struct run *r, const struct formula *p, struct evaluation *e)
{
	r->p = p;
	r->e = e;
	r->values = r->truths = 0;
	r->located = false;
}

enum truth evaluate_truth(const struct formula *p, struct evaluation *e)
{
	struct run r;

	run_begin(&r, p, e);
	/* Most formulas are one comparison with a constant. */
	if (p->count == 1)
		return step_alone(&r, &p->step[0]);
	run(&r);
	return (enum truth)truth_stack[0];
}

struct value evaluate_value(const struct formula *p, struct evaluation *e)
{
	struct run r;

	if (!p->has_value)
		return value_none();
	run_begin(&r, p, e);
	run(&r);
	return value_stack[0];
}
