/*
 * expression.h - an expression about the fields of events, as a tree
 *
 * The language: docs/expressions.md. What the names in it mean depends on the event type: evaluate.h.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EXPRESSION_H
#define EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/value.h"

/* Values that every event has. */
enum builtin {
	BUILTIN_EVENT, BUILTIN_PID, BUILTIN_TID, BUILTIN_PROCESS, BUILTIN_THREAD, BUILTIN_TIME, BUILTIN_LENGTH,
	BUILTIN_ADDRESS, BUILTIN_TRUNCATED, BUILTINS
};

/* Their names; null after the last one. */
extern const char *const expression_builtins[BUILTINS + 1];

enum node_kind {
	NODE_OR, NODE_AND, NODE_NOT,
	NODE_RELATION, NODE_CALCULATION, NODE_NEGATE,
	NODE_MATCH, NODE_NO_MATCH, /* left, and the text of the right node as a pattern */
	NODE_EXISTS,
	NODE_NUMBER, NODE_TEXT,
	NODE_NAME, /* a field, an entry of the table of names, or a label */
	NODE_ITEM, /* an item of an array */
};

struct node {
	uint8_t kind;          /* enum node_kind */
	uint8_t operation;     /* enum relation, or enum calculation */
	bool own;              /* a name after @: no field */
	bool quoted;           /* a name in backquotes: a field, or a label */
	bool declared;         /* some event type has declared a field of this name */
	bool found;            /* in some event type the name has a meaning */
	bool good;             /* in some event type this can be calculated */
	uint16_t left, right;  /* operands */
	uint16_t item;         /* of NODE_ITEM */
	uint32_t at, length;   /* in the text of the expression */
	struct unit unit;      /* of a number */
	struct value value;    /* of a number or a text; the name of a name */
	const char *why;       /* why this cannot be calculated in some event type, or null */
};

#define EXPRESSION_TEXT  4096 /* bytes of an expression, with its null */
#define EXPRESSION_NODES 256
#define EXPRESSION_DEPTH 32 /* parentheses in parentheses */

struct expression {
	unsigned count, root;
	bool compiled; /* for some event type */
	struct node node[EXPRESSION_NODES];
	char source[EXPRESSION_TEXT];
	char text[EXPRESSION_TEXT + EXPRESSION_NODES]; /* names and texts without quotation marks, each with a null */
	size_t text_used;
};

struct expression_fault {
	size_t at, length; /* in the text of the expression */
	char why[128];
};

/*
 * Returns the parsed expression, never freed. condition: it must be true or false, which a text or a number with a unit
 * is not. Returns null with a fault if the text is wrong.
 */
struct expression *expression_parse(const char *text, bool condition, struct expression_fault *fault);

#endif
