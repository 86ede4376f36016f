/*
 * formula.c - an expression, compiled for one event type
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/formula.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "common/moment.h"

/* -- Names that have a meaning ------------------------------------------------------------------- */

static enum builtin find_builtin(const char *name)
{
	unsigned i = 0;

	while (i < BUILTINS && strcmp(expression_builtins[i], name) != 0)
		i++;
	return (enum builtin)i;
}

static bool builtin_is_text(enum builtin b)
{
	return b == BUILTIN_EVENT || b == BUILTIN_PROCESS || b == BUILTIN_THREAD;
}

/* Returns the index of a field, or LAYOUT_FIELDS. */
static unsigned find_field(const struct layout *l, const struct value *name)
{
	for (unsigned i = 0; l && i < l->count; i++)
		if (l->field[i].name_length == name->length &&
		    memcmp(l->field[i].name, name->text, name->length) == 0)
			return i;
	return LAYOUT_FIELDS;
}

void formula_declare(struct expression *x, const struct layout *l)
{
	for (unsigned i = 0; i < x->count; i++) {
		struct node *n = &x->node[i];

		if ((n->kind == NODE_NAME || n->kind == NODE_ITEM) && find_field(l, &n->value) < LAYOUT_FIELDS)
			n->declared = true;
	}
}

/* -- Compiling ----------------------------------------------------------------------------------- */

/* What a condition is, if it is the same for all events. */
enum { VARIES = TRUTH_TRUE + 1 };

enum operand_kind {
	OPERAND_NONE, /* this event type does not have it */
	OPERAND_BAD,  /* it cannot be calculated in this event type; some node says why */
	OPERAND_NUMBER,
	OPERAND_TEXT,
};

struct operand {
	enum operand_kind kind;
	bool constant; /* the last step pushes it */
	bool array;    /* all items of the field; no step */
	bool direct;   /* a number of the layout, in the last step */
	uint16_t field;
	struct unit unit;
	struct value value; /* of a constant */
};

struct compile {
	struct expression *x;
	const struct formula_type *type;
	struct formula *p;
	bool no_memory;
};

static struct step *emit(struct compile *c, enum step_kind kind)
{
	struct formula *p = c->p;
	static _Thread_local struct step nowhere;

	if (p->count == p->room) {
		unsigned room = p->room ? 2 * p->room : 8;
		struct step *more = realloc(p->step, room * sizeof *more);

		if (!more) {
			c->no_memory = true;
			return &nowhere;
		}
		p->step = more;
		p->room = room;
	}
	p->step[p->count] = (struct step){ .kind = (uint8_t)kind, .factor = { 1, 1 } };
	return &p->step[p->count++];
}

/* Replaces the steps from begin on by a constant truth, which is returned. */
static unsigned constant(struct compile *c, unsigned begin, unsigned truth)
{
	c->p->count = begin;
	emit(c, STEP_TRUTH)->relation = (uint8_t)truth;
	return truth;
}

static struct operand bad(struct node *n, const char *why)
{
	n->why = why;
	return (struct operand){ .kind = OPERAND_BAD };
}

static struct operand push(struct compile *c, const struct value *v, struct unit unit)
{
	emit(c, STEP_PUSH)->value = *v;
	return (struct operand){ .kind = v->kind == TEXT_VALUE ? OPERAND_TEXT : OPERAND_NUMBER, .constant = true,
	                         .unit = unit, .value = *v };
}

static const struct unit no_unit = { DIMENSION_NONE, 1 };

/* -- Names -- */

static enum builtin builtin_of(const struct node *n)
{
	return n->kind == NODE_NAME && !n->quoted && (n->own || !n->declared) ? find_builtin(n->value.text) : BUILTINS;
}

/* Returns the index of the field that a node is in this event type, or LAYOUT_FIELDS. */
static unsigned field_of(const struct compile *c, const struct node *n)
{
	return (n->kind == NODE_NAME || n->kind == NODE_ITEM) && !n->own ? find_field(c->type->layout, &n->value) :
	                                                                  LAYOUT_FIELDS;
}

/* What the other operand of a comparison is, which may give a word its meaning. */
struct beside {
	const struct layout_field *field; /* null: none */
	bool words;   /* its values are names */
	bool missing; /* it is a name without a meaning in this event type */
};

static struct beside beside(const struct compile *c, const struct node *n)
{
	unsigned field = field_of(c, n);

	if (field < LAYOUT_FIELDS)
		return (struct beside){ .field = &c->type->layout->field[field] };
	return (struct beside){ .words = builtin_is_text(builtin_of(n)),
	                        .missing = (n->kind == NODE_NAME || n->kind == NODE_ITEM) &&
	                                   builtin_of(n) == BUILTINS };
}

/* Finds the value of a label of the field. */
static bool find_label(const struct layout *l, const struct layout_field *f, const struct value *name,
                       struct value *v)
{
	for (unsigned i = f->first_label; i < f->first_label + f->labels; i++) {
		const struct layout_label *label = &l->label[i];

		if (label->length != name->length || memcmp(l->text + label->at, name->text, name->length) != 0)
			continue;
		*v = f->kind == LAYOUT_SIGNED ? value_signed(label->value) :
		                                value_integer((uint64_t)label->value, false);
		return true;
	}
	return false;
}

static struct unit unit_of(const struct layout_field *f)
{
	if (f->kind == LAYOUT_TIME && !f->unit_length)
		return unit_find(f->size == 4 ? "s" : "ns", f->size == 4 ? 1 : 2);
	return unit_find(f->unit, f->unit_length);
}

static struct operand field_operand(struct compile *c, struct node *n, unsigned index)
{
	const struct layout_field *f = &c->type->layout->field[index];
	struct operand o = { .kind = OPERAND_NUMBER, .field = (uint16_t)index, .unit = unit_of(f) };
	struct step *s;

	n->found = true;
	if (f->kind == LAYOUT_BYTES)
		return bad(n, "it is bytes, for which there is only exists()");
	if (n->kind == NODE_ITEM && !layout_is_array(f))
		return bad(n, "it is not an array, and has no items");
	n->good = true;
	if (layout_is_text_field(f)) {
		emit(c, STEP_TEXT)->field = (uint16_t)index;
		o.kind = OPERAND_TEXT;
		return o;
	}
	if (n->kind == NODE_NAME && layout_is_array(f)) {
		o.array = true;
		return o;
	}
	s = emit(c, STEP_FIELD);
	s->field = (uint16_t)index;
	s->item = n->item;
	o.direct = true;
	return o;
}

static struct operand builtin_operand(struct compile *c, struct node *n, enum builtin b)
{
	struct operand o = { .kind = builtin_is_text(b) ? OPERAND_TEXT : OPERAND_NUMBER, .unit = no_unit };
	struct value name = { .kind = TEXT_VALUE, .text = c->type->name, .length = strlen(c->type->name) };

	n->found = n->good = true;
	if (b == BUILTIN_EVENT)
		return push(c, &name, no_unit);
	emit(c, STEP_BUILTIN)->field = (uint16_t)b;
	o.unit.dimension = b == BUILTIN_TIME ? DIMENSION_TIME : b == BUILTIN_LENGTH ? DIMENSION_SIZE : DIMENSION_NONE;
	return o;
}

static struct operand name_operand(struct compile *c, struct node *n, struct beside other)
{
	unsigned field = field_of(c, n);
	enum builtin b = builtin_of(n);
	struct value v;

	if (n->kind == NODE_NAME && !n->own && other.field && find_label(c->type->layout, other.field, &n->value, &v)) {
		n->found = n->good = true;
		return push(c, &v, no_unit);
	}
	if (field < LAYOUT_FIELDS)
		return field_operand(c, n, field);
	if (b < BUILTINS)
		return builtin_operand(c, n, b);
	if (n->kind == NODE_NAME && !n->own && other.words) {
		n->found = n->good = true;
		return push(c, &n->value, no_unit);
	}
	return (struct operand){ .kind = OPERAND_NONE };
}

/* Returns a text, or the value that it means beside a field with labels, or beside a time. */
static struct operand text_operand(struct compile *c, struct node *n, struct beside other)
{
	struct value v;
	uint64_t time;

	if (other.field && other.field->naming != NAMING_NONE) {
		if (!find_label(c->type->layout, other.field, &n->value, &v))
			return (struct operand){ .kind = OPERAND_NONE };
		n->found = n->good = true;
		return push(c, &v, no_unit);
	}
	if (other.missing)
		return (struct operand){ .kind = OPERAND_NONE };
	n->found = true;
	if (other.field && other.field->kind == LAYOUT_TIME) {
		if (!moment_parse(n->value.text, c->type->begin, &time))
			return bad(n, "it is not a time, such as 14:30:05 or 2026-11-21 14:30");
		v = value_integer(time, false);
		n->good = true;
		return push(c, &v, (struct unit){ DIMENSION_TIME, 1 });
	}
	n->good = true;
	return push(c, &n->value, no_unit);
}

/* -- Units -- */

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * Finds the factors by which two numbers become numbers of the same unit, which is stored in *unit. Returns null, or
 * why they cannot be compared.
 */
static const char *convert(const struct operand *a, const struct operand *b, uint64_t factor[2], struct unit *unit)
{
	const struct operand *with = a->unit.dimension ? a : b, *without = a->unit.dimension ? b : a;
	uint64_t scale;

	factor[0] = factor[1] = 1;
	*unit = with->unit;
	if (a->unit.dimension && b->unit.dimension) {
		if (a->unit.dimension != b->unit.dimension)
			return "a time and a size do not go together";
		scale = common_divisor(a->unit.scale, b->unit.scale);
		factor[0] = a->unit.scale / scale;
		factor[1] = b->unit.scale / scale;
		unit->scale = scale;
	} else if (with->constant && !without->constant && with->unit.dimension == DIMENSION_TIME) {
		return "a number without a unit and a duration do not go together";
	}
	/* A number without a unit is in the unit of the other one; so 4KiB beside a field without a unit is bytes. */
	return NULL;
}

/* -- Calculations -- */

static struct operand operand(struct compile *c, unsigned node, struct beside other);
static unsigned condition(struct compile *c, unsigned node);

static const struct beside alone = { .field = NULL };

/* Returns the operand if it is a number, of which there is one. Otherwise what the calculation becomes. */
static struct operand number_operand(struct compile *c, struct node *n, unsigned node, struct beside other)
{
	struct operand o = operand(c, node, other);

	if (o.kind == OPERAND_TEXT)
		return bad(n, "a text is not a number");
	if (o.array)
		return bad(n, "an array needs an index, NAME[0]");
	return o;
}

/* Finds the factors and the unit of a calculation. Returns null, or why it is wrong. */
static const char *calculation_units(enum calculation kind, const struct operand *a, const struct operand *b,
                                     uint64_t factor[2], struct unit *unit)
{
	const char *why;

	factor[0] = factor[1] = 1;
	if (kind == CALCULATION_BITS) {
		*unit = no_unit;
		return a->unit.dimension || b->unit.dimension ? "a number with a unit has no bits" : NULL;
	}
	if (kind == CALCULATION_MULTIPLY) {
		*unit = a->unit.dimension ? a->unit : b->unit;
		return a->unit.dimension && b->unit.dimension ? "two numbers with units are multiplied" : NULL;
	}
	if (kind == CALCULATION_DIVIDE && !b->unit.dimension) {
		*unit = a->unit;
		return NULL;
	}
	if (kind == CALCULATION_DIVIDE && !a->unit.dimension)
		return "a number without a unit is divided by one with a unit";
	why = convert(a, b, factor, unit);
	if (kind == CALCULATION_DIVIDE)
		*unit = no_unit;
	return why;
}

static struct operand calculation(struct compile *c, struct node *n)
{
	struct node *node = c->x->node;
	unsigned begin = c->p->count;
	struct operand a, b;
	uint64_t factor[2];
	struct unit unit;
	struct step *s;
	const char *why;

	a = number_operand(c, n, n->left, n->operation == CALCULATION_BITS ? beside(c, &node[n->right]) : alone);
	b = number_operand(c, n, n->right, n->operation == CALCULATION_BITS ? beside(c, &node[n->left]) : alone);
	if (a.kind == OPERAND_BAD || b.kind == OPERAND_BAD)
		return (struct operand){ .kind = OPERAND_BAD };
	if (a.kind == OPERAND_NONE || b.kind == OPERAND_NONE)
		return (struct operand){ .kind = OPERAND_NONE };
	why = calculation_units((enum calculation)n->operation, &a, &b, factor, &unit);
	if (why)
		return bad(n, why);
	if (a.constant && b.constant) {
		struct value v = value_calculate((enum calculation)n->operation, &a.value, &b.value, factor);

		c->p->count = begin;
		if (v.kind == NO_VALUE)
			return bad(n, "there is no result, or one of more than 64 bits");
		n->good = true;
		return push(c, &v, unit);
	}
	n->good = true;
	s = emit(c, STEP_CALCULATE);
	s->relation = n->operation;
	memcpy(s->factor, factor, sizeof factor);
	return (struct operand){ .kind = OPERAND_NUMBER, .unit = unit };
}

static struct operand negation(struct compile *c, struct node *n)
{
	unsigned begin = c->p->count;
	struct operand a = number_operand(c, n, n->left, alone);
	struct value v;

	if (a.kind != OPERAND_NUMBER)
		return a;
	n->good = true;
	if (!a.constant) {
		emit(c, STEP_NEGATE);
		return (struct operand){ .kind = OPERAND_NUMBER, .unit = a.unit };
	}
	v = value_negated(&a.value);
	c->p->count = begin;
	return push(c, &v, a.unit);
}

/* Compiles a value. Its steps push it, except for an array, which has no steps. */
static struct operand operand(struct compile *c, unsigned node, struct beside other)
{
	struct node *n = &c->x->node[node];
	unsigned begin = c->p->count;

	switch ((enum node_kind)n->kind) {
	case NODE_NUMBER:
		return push(c, &n->value, n->unit);
	case NODE_TEXT:
		return text_operand(c, n, other);
	case NODE_NAME:
	case NODE_ITEM:
		return name_operand(c, n, other);
	case NODE_NEGATE:
		return negation(c, n);
	case NODE_CALCULATION:
		return calculation(c, n);
	default:
		/* Its names may have a meaning. */
		condition(c, node);
		c->p->count = begin;
		n->good = false;
		return bad(n, "a condition is not a number");
	}
}

/* -- Comparisons -- */

/* Replaces the steps of a comparison of a field with a constant by one step, if they are of a kind that allows it. */
static bool shorten(struct compile *c, unsigned begin, enum relation relation, const struct operand *field,
                    const struct value *v, const uint64_t factor[2])
{
	const struct layout *l = c->type->layout;
	const struct layout_field *f = &l->field[field->field];
	uint16_t item = c->p->step[begin].kind == STEP_FIELD ? c->p->step[begin].item : c->p->step[begin + 1].item;
	bool is_signed = f->kind == LAYOUT_SIGNED;
	uint64_t product, most = is_signed ? INT64_MAX + (uint64_t)v->negative : UINT64_MAX;
	struct step *s;

	if (c->no_memory || field->field >= l->fixed || item >= f->count || v->kind != INTEGER_VALUE ||
	    f->kind == LAYOUT_FLOAT || f->kind == LAYOUT_BOOL || (v->negative && !is_signed) ||
	    (relation == RELATION_HAS && is_signed) || __builtin_mul_overflow(v->magnitude, factor[1], &product) ||
	    product % factor[0] != 0 || product / factor[0] > most)
		return false;
	product /= factor[0];
	c->p->count = begin;
	s = emit(c, is_signed ? STEP_SIGNED : STEP_UNSIGNED);
	s->relation = (uint8_t)relation;
	s->size = f->size;
	s->at = l->place[field->field].at + (uint32_t)item * f->size;
	s->value.magnitude = v->negative ? 0 - product : product;
	return true;
}

/* Compiles the comparison of two operands, whose steps are there. */
static unsigned compared(struct compile *c, enum relation relation, unsigned begin, const struct operand *a,
                         const struct operand *b, const uint64_t factor[2])
{
	const uint64_t exchanged[2] = { factor[1], factor[0] };
	enum relation mirror = relation_mirrored(relation);
	struct step *s;

	if (a->constant && b->constant)
		return constant(c, begin, value_relate(relation, &a->value, &b->value, factor));
	if (a->direct && b->constant && shorten(c, begin, relation, a, &b->value, factor))
		return VARIES;
	if (b->direct && a->constant && relation != RELATION_HAS && shorten(c, begin, mirror, b, &a->value, exchanged))
		return VARIES;
	s = emit(c, a->array || b->array ? STEP_ITEMS : STEP_COMPARE);
	s->relation = (uint8_t)(b->array ? mirror : relation);
	s->field = a->array ? a->field : b->field;
	memcpy(s->factor, b->array ? exchanged : factor, sizeof s->factor);
	return VARIES;
}

/* Returns why the operands cannot be compared, or null. */
static const char *incomparable(enum relation relation, const struct operand *a, const struct operand *b)
{
	if (a->array && b->array)
		return "two arrays are compared; one of them needs an index";
	if (relation == RELATION_HAS && (a->kind == OPERAND_TEXT || b->kind == OPERAND_TEXT || b->array))
		return "has is followed by bits of the number before it";
	if (a->kind != b->kind)
		return "a text is compared with a number";
	return NULL;
}

static unsigned comparison(struct compile *c, struct node *n)
{
	enum relation relation = (enum relation)n->operation;
	uint64_t factor[2] = { 1, 1 };
	unsigned begin = c->p->count;
	struct operand a = operand(c, n->left, beside(c, &c->x->node[n->right]));
	struct operand b = operand(c, n->right, beside(c, &c->x->node[n->left]));
	struct unit unit;
	const char *why;

	if (a.kind <= OPERAND_BAD || b.kind <= OPERAND_BAD)
		return constant(c, begin, TRUTH_UNKNOWN);
	why = incomparable(relation, &a, &b);
	if (!why && a.kind == OPERAND_NUMBER && relation != RELATION_HAS)
		why = convert(&a, &b, factor, &unit);
	if (why) {
		bad(n, why);
		return constant(c, begin, TRUTH_UNKNOWN);
	}
	n->good = true;
	return compared(c, relation, begin, &a, &b, factor);
}

static void emit_glob(struct compile *c, const struct node *n)
{
	const struct value *pattern = &c->x->node[n->right].value;
	size_t plain = strcspn(pattern->text, "*?[\\");
	struct step *s = emit(c, STEP_GLOB);

	s->value = *pattern;
	s->negative = n->kind == NODE_NO_MATCH;
	s->relation = plain == pattern->length ? GLOB_SAME :
	              plain + 1 == pattern->length && pattern->text[plain] == '*' ? GLOB_PREFIX : GLOB_ANY;
	if (s->relation == GLOB_PREFIX)
		s->value.length = plain;
}

static unsigned matching(struct compile *c, struct node *n)
{
	unsigned begin = c->p->count;
	struct operand a = operand(c, n->left, alone);

	c->x->node[n->right].found = c->x->node[n->right].good = true;
	if (a.kind == OPERAND_NUMBER)
		bad(n, "a number is compared with a pattern");
	if (a.kind != OPERAND_TEXT)
		return constant(c, begin, TRUTH_UNKNOWN);
	n->good = true;
	if (a.constant)
		return constant(c, begin, truth_of((fnmatch(c->x->node[n->right].value.text, a.value.text, 0) == 0) ==
		                                   (n->kind == NODE_MATCH)));
	emit_glob(c, n);
	return VARIES;
}

/* -- Conditions -- */

static unsigned existence(struct compile *c, struct node *n)
{
	struct node *name = &c->x->node[n->left];
	unsigned field = field_of(c, name), begin = c->p->count;
	struct step *s;

	n->good = true;
	if (field == LAYOUT_FIELDS) {
		bool there = builtin_of(name) < BUILTINS;

		name->found |= there;
		return constant(c, begin, truth_of(there));
	}
	name->found = name->good = true;
	if (name->kind == NODE_ITEM && !layout_is_array(&c->type->layout->field[field]))
		return constant(c, begin, TRUTH_FALSE);
	s = emit(c, STEP_EXISTS);
	s->field = (uint16_t)field;
	s->item = name->item;
	s->whole = name->kind == NODE_NAME;
	return VARIES;
}

/* Compiles && or ||. decisive: the truth of one operand that is the truth of both together. */
static unsigned junction(struct compile *c, const struct node *n, unsigned decisive)
{
	unsigned begin = c->p->count, neutral = TRUTH_TRUE - decisive, left = condition(c, n->left);
	unsigned middle, jump, right;

	/* The right operand is compiled in any case, because this finds out what its names mean. */
	middle = c->p->count;
	jump = middle;
	if (left == VARIES) {
		emit(c, STEP_UNLESS)->relation = (uint8_t)decisive;
		middle = c->p->count;
	}
	right = condition(c, n->right);
	if (left == decisive || right == decisive)
		return constant(c, begin, decisive);
	if (left != VARIES && right != VARIES)
		return constant(c, begin, left == neutral ? right : left);
	if (right == neutral) {
		c->p->count = jump;
		return left;
	}
	if (left == neutral) {
		memmove(&c->p->step[begin], &c->p->step[middle], (c->p->count - middle) * sizeof *c->p->step);
		for (unsigned i = begin; i < c->p->count - (middle - begin); i++)
			c->p->step[i].at -= c->p->step[i].kind == STEP_UNLESS ? middle - begin : 0;
		c->p->count -= middle - begin;
		return right;
	}
	emit(c, decisive == TRUTH_FALSE ? STEP_AND : STEP_OR);
	if (left == VARIES && !c->no_memory)
		c->p->step[jump].at = c->p->count;
	return VARIES;
}

/* Compiles a number that stands for whether it is not 0. */
static unsigned number_condition(struct compile *c, unsigned node)
{
	struct node *n = &c->x->node[node];
	bool good = n->good; /* in another event type */
	unsigned begin = c->p->count;
	struct operand o = operand(c, node, alone);

	if (o.kind == OPERAND_TEXT) {
		bad(n, "a text is not a condition: compare it, NAME == \"text\" or NAME ~ \"pattern\"");
		n->good = good;
	}
	if (o.kind != OPERAND_NUMBER)
		return constant(c, begin, TRUTH_UNKNOWN);
	n->good = true;
	if (o.constant)
		return constant(c, begin, value_nonzero(&o.value));
	if (o.array)
		emit(c, STEP_ANY)->field = o.field;
	else
		emit(c, STEP_NONZERO);
	return VARIES;
}

/* Compiles a condition, whose steps leave a truth. Returns it if it is constant, otherwise VARIES. */
static unsigned condition(struct compile *c, unsigned node)
{
	struct node *n = &c->x->node[node];
	unsigned begin = c->p->count, t;

	switch ((enum node_kind)n->kind) {
	case NODE_OR:
		return junction(c, n, TRUTH_TRUE);
	case NODE_AND:
		return junction(c, n, TRUTH_FALSE);
	case NODE_NOT:
		t = condition(c, n->left);
		if (t != VARIES)
			return constant(c, begin, TRUTH_TRUE - t);
		emit(c, STEP_NOT);
		return VARIES;
	case NODE_RELATION:
		return comparison(c, n);
	case NODE_MATCH:
	case NODE_NO_MATCH:
		return matching(c, n);
	case NODE_EXISTS:
		return existence(c, n);
	default:
		return number_condition(c, node);
	}
}

/* Compiles the whole as a value. */
static void whole_value(struct compile *c)
{
	struct node *root = &c->x->node[c->x->root];
	bool good = root->good; /* in another event type */
	struct operand o = operand(c, c->x->root, alone);

	if (o.array)
		bad(root, "an array needs an index, NAME[0]");
	else if (o.kind > OPERAND_BAD)
		c->p->has_value = true;
	c->p->is_text = o.kind == OPERAND_TEXT;
	if (o.array)
		root->good = good;
	c->p->unit = o.unit;
	if (o.direct)
		c->p->field = &c->type->layout->field[o.field];
}

struct formula *formula_new(struct expression *x, const struct formula_type *type, bool is_condition)
{
	struct formula *p = calloc(1, sizeof *p);
	struct compile c = { .x = x, .type = type, .p = p };

	if (!p)
		return NULL;
	p->layout = type->layout;
	x->compiled = true;
	if (is_condition)
		condition(&c, x->root);
	else
		whole_value(&c);
	if (!c.no_memory)
		return p;
	formula_free(p);
	return NULL;
}

void formula_free(struct formula *p)
{
	if (p)
		free(p->step);
	free(p);
}

bool formula_constant(const struct formula *f, enum truth *truth)
{
	if (f->count != 1 || f->step[0].kind != STEP_TRUTH)
		return false;
	*truth = (enum truth)f->step[0].relation;
	return true;
}

const struct layout_field *formula_field(const struct node *n, const struct layout *l)
{
	bool is_name = (n->kind == NODE_NAME || n->kind == NODE_ITEM) && !n->own;
	unsigned field = is_name ? find_field(l, &n->value) : LAYOUT_FIELDS;

	return field < LAYOUT_FIELDS ? &l->field[field] : NULL;
}
