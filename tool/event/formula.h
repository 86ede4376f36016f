/*
 * formula.h - an expression, compiled for one event type
 *
 * A formula is a short list of steps for evaluate.h. What is the same for all events of the type has been calculated,
 * so a type that cannot satisfy a condition has a formula that says so.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FORMULA_H
#define FORMULA_H

#include "event/expression.h"
#include "model/data_layout.h"

/* Values and truths that wait for their operation: three for each parenthesis, and some of the innermost. */
#define FORMULA_STACK (3 * EXPRESSION_DEPTH + 16)

enum step_kind {
	STEP_PUSH,      /* a constant */
	STEP_FIELD,     /* a number */
	STEP_TEXT,
	STEP_BUILTIN,
	STEP_NEGATE,
	STEP_CALCULATE, /* relation: enum calculation */
	STEP_COMPARE,   /* two values */
	STEP_ITEMS,     /* any item of an array with a value */
	STEP_UNSIGNED,  /* a number at a fixed place with a constant */
	STEP_SIGNED,
	STEP_GLOB,
	STEP_NONZERO,
	STEP_ANY,       /* any item of an array is not 0 */
	STEP_EXISTS,
	STEP_TRUTH,     /* a constant */
	STEP_NOT,
	STEP_AND,
	STEP_OR,
	STEP_UNLESS,    /* jumps if the latest truth is this one, and keeps it */
};

/* Patterns that need no fnmatch(): without wildcards, and with a * at the end only. */
enum glob { GLOB_ANY, GLOB_SAME, GLOB_PREFIX };

struct step {
	uint8_t kind;     /* enum step_kind */
	uint8_t relation; /* enum relation, calculation, glob or truth */
	uint8_t size;     /* of a number at a fixed place */
	bool negative;    /* STEP_GLOB: the text must not match */
	bool whole;       /* STEP_EXISTS: the field, not an item */
	uint16_t field;   /* its index; of STEP_BUILTIN enum builtin */
	uint16_t item;    /* of an array */
	uint32_t at;      /* a fixed place, or the target of a jump */
	uint64_t factor[2]; /* of the left and the right operand */
	struct value value;
};

struct formula {
	const struct layout *layout;
	unsigned count, room;
	struct step *step;
	/* Of a value: */
	bool has_value; /* there is one in some events of the type */
	bool is_text;
	const struct layout_field *field; /* that is the whole expression, or null */
	struct unit unit;
};


/* The event type that an expression is compiled for. The name and the layout must outlive the formula. */
struct formula_type {
	const char *name;            /* without layout */
	const struct layout *layout; /* null: none */
	uint64_t begin;              /* times of day are on the day of this time, in ns of CLOCK_REALTIME */
};

/*
 * Notes which names of the expression are fields of the layout: these names are not those that every event has. Call it
 * for all event types before the first formula_new().
 */
void formula_declare(struct expression *x, const struct layout *l);
/*
 * Compiles the expression for an event type, and notes in its nodes what could be found and calculated. is_condition:
 * for evaluate_truth(), else for evaluate_value(). Returns null if there is no memory.
 */
struct formula *formula_new(struct expression *x, const struct formula_type *type, bool is_condition);
void formula_free(struct formula *f);
/* Returns whether the truth is the same for all events; then *truth is that. */
bool formula_constant(const struct formula *f, enum truth *truth);
/* Returns the field that the node is in a layout, which may be null; null if it is none. */
const struct layout_field *formula_field(const struct node *n, const struct layout *l);

#endif
