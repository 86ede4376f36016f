/*
 * expression.c - an expression about the fields of events, as a tree
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/expression.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "common/message.h"

/* The operations that a program would have: `in` uses its left operand several times. */
#define COST_MAX 2048

const char *const expression_builtins[BUILTINS + 1] = {
	[BUILTIN_EVENT] = "event",     [BUILTIN_PID] = "pid",         [BUILTIN_TID] = "tid",
	[BUILTIN_PROCESS] = "process", [BUILTIN_THREAD] = "thread",   [BUILTIN_TIME] = "time",
	[BUILTIN_LENGTH] = "length",   [BUILTIN_ADDRESS] = "address", [BUILTIN_TRUNCATED] = "truncated",
};

struct parse {
	struct expression *x;
	const char *p; /* the next character, which is not a blank; in x->source */
	const char *original; /* x->source with its line ends and tabs */
	unsigned depth;
	uint16_t cost[EXPRESSION_NODES]; /* of a node and its operands */
	struct expression_fault *fault;
	bool failed;
};

/* -- Errors -------------------------------------------------------------------------------------- */

/* Notes the first error, and ends the text, so that nothing more is parsed. Returns 0, the number of a node. */
__attribute__((format(printf, 4, 5))) static uint16_t wrong(struct parse *s, const char *at, size_t length,
                                                            const char *format, ...)
{
	va_list arguments;

	if (!s->failed) {
		s->fault->at = (size_t)(at - s->x->source);
		s->fault->length = length;
		va_start(arguments, format);
		vsnprintf(s->fault->why, sizeof s->fault->why, format, arguments);
		va_end(arguments);
	}
	s->failed = true;
	s->p = s->x->source + strlen(s->x->source);
	return 0;
}

/* -- Words --------------------------------------------------------------------------------------- */

static void skip(struct parse *s)
{
	while (isspace((unsigned char)*s->p))
		s->p++;
}

/* Returns whether the next characters are this operator, and moves beyond it. */
static bool take(struct parse *s, const char *operator)
{
	size_t n = strlen(operator);

	if (strncmp(s->p, operator, n) != 0)
		return false;
	s->p += n;
	skip(s);
	return true;
}

static bool begins_word(char c)
{
	return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Returns the length of the word at p; 0 if there is none. */
static size_t word_length(const char *p)
{
	size_t n = 0;

	if (!begins_word(*p))
		return 0;
	while (begins_word(p[n]) || isdigit((unsigned char)p[n]) || p[n] == '.')
		n++;
	return n;
}

static bool is_word(const struct parse *s, const char *word)
{
	return word_length(s->p) == strlen(word) && strncmp(s->p, word, strlen(word)) == 0;
}

static bool take_word(struct parse *s, const char *word)
{
	return is_word(s, word) && take(s, word);
}

/* Returns the length of what is at p, to be shown in a message. */
static size_t token_length(const char *p)
{
	size_t n = word_length(p);

	if (n > 0 || !*p)
		return n;
	while (isdigit((unsigned char)p[n]) || (n > 0 && (isalnum((unsigned char)p[n]) || p[n] == '.')))
		n++;
	return n > 0 ? n : strncmp(p, "&&", 2) == 0 || strncmp(p, "||", 2) == 0 ? 2 : 1;
}

/* -- Nodes --------------------------------------------------------------------------------------- */

/* Adds a node for the characters from begin to the next one. Returns its number. */
static uint16_t add(struct parse *s, enum node_kind kind, const char *begin, uint16_t left, uint16_t right)
{
	struct expression *x = s->x;
	size_t length = (size_t)(s->p - begin);
	unsigned cost = 1u + s->cost[left] + s->cost[right];

	if (s->failed)
		return 0;
	if (x->count == EXPRESSION_NODES || cost > COST_MAX)
		return wrong(s, begin, 1, "the expression has too many operations");
	while (length > 1 && isspace((unsigned char)begin[length - 1]))
		length--;
	x->node[x->count] = (struct node){ .kind = (uint8_t)kind, .left = left, .right = right,
	                                   .at = (uint32_t)(begin - x->source), .length = (uint32_t)length };
	s->cost[x->count] = (uint16_t)cost;
	return (uint16_t)x->count++;
}

static uint16_t operation(struct parse *s, enum node_kind kind, unsigned which, const char *begin, uint16_t left,
                          uint16_t right)
{
	uint16_t node = add(s, kind, begin, left, right);

	s->x->node[node].operation = (uint8_t)which;
	return node;
}

/* Keeps a text without its quotation marks. */
static struct value keep(struct parse *s, const char *text, size_t length, bool escapes)
{
	struct expression *x = s->x;
	char *to = x->text + x->text_used;
	struct value v = { .kind = TEXT_VALUE, .text = to };

	text = s->original + (text - x->source);
	for (size_t i = 0; i < length; i++) {
		i += escapes && text[i] == '\\' && i + 1 < length;
		to[v.length++] = text[i];
	}
	to[v.length] = 0;
	x->text_used += v.length + 1;
	return v;
}

/* -- Numbers ------------------------------------------------------------------------------------- */

/* Multiplies by the base and adds a digit. Returns false if there is no room. */
static bool shift_in(uint64_t *n, unsigned base, char digit)
{
	unsigned d = isdigit((unsigned char)digit) ? (unsigned)(digit - '0') :
	             (unsigned)(tolower((unsigned char)digit) - 'a') + 10;

	return !__builtin_mul_overflow(*n, base, n) && !__builtin_add_overflow(*n, d, n);
}

/*
 * Reads digits with a point and an exponent: an integer, which is still to be divided, or a real number. Returns the
 * text after the number and before its unit; null if it is an integer of more than 64 bits.
 */
static const char *read_decimal(const char *p, struct value *v, uint64_t *divisor)
{
	bool room = true, real = false;
	const char *begin = p;
	uint64_t n = 0;

	*divisor = 1;
	for (; isdigit((unsigned char)*p); p++)
		room = room && shift_in(&n, 10, *p);
	if (*p == '.' && isdigit((unsigned char)p[1])) {
		real = true;
		for (p++; isdigit((unsigned char)*p); p++)
			room = room && shift_in(&n, 10, *p) && !__builtin_mul_overflow(*divisor, 10, divisor);
	}
	if (*p == 'e' && isdigit((unsigned char)p[1 + (p[1] == '-' || p[1] == '+')])) {
		real = true;
		room = false;
		for (p += 2; isdigit((unsigned char)*p); p++)
			;
	}
	if (!room && !real)
		return NULL;
	if (room)
		*v = (struct value){ .kind = INTEGER_VALUE, .magnitude = n };
	else
		*v = (struct value){ .kind = REAL_VALUE, .real = strtod(begin, NULL) };
	return p;
}

static const char *read_hexadecimal(const char *p, struct value *v)
{
	*v = (struct value){ .kind = INTEGER_VALUE };
	for (; isxdigit((unsigned char)*p); p++)
		if (!shift_in(&v->magnitude, 16, *p))
			return NULL;
	return p;
}

/* Gives the number its value in ns, or in bytes: exact, if that is an integer. Without a unit, 1.0 is a real number. */
static void apply(struct value *v, uint64_t divisor, struct unit unit, double real)
{
	uint64_t product, scale = unit.scale;

	if ((unit.dimension || divisor == 1) && v->kind == INTEGER_VALUE &&
	    !__builtin_mul_overflow(v->magnitude, scale, &product) &&
	    product % divisor == 0)
		v->magnitude = product / divisor;
	else
		*v = (struct value){ .kind = REAL_VALUE, .real = real * (double)scale };
}

static uint16_t number(struct parse *s)
{
	const char *begin = s->p, *after;
	bool hexadecimal = s->p[0] == '0' && (s->p[1] == 'x' || s->p[1] == 'X') && isxdigit((unsigned char)s->p[2]);
	struct unit unit = { DIMENSION_NONE, 1 };
	uint64_t divisor = 1;
	struct value v;
	uint16_t node;
	size_t n;

	after = hexadecimal ? read_hexadecimal(s->p + 2, &v) : read_decimal(s->p, &v, &divisor);
	if (!after)
		return wrong(s, begin, token_length(begin), "the number has more than 64 bits");
	n = word_length(after);
	if (n > 0) {
		unit = unit_find(after, n);
		if (unit.dimension == DIMENSION_NONE)
			return wrong(s, after, n, "'%.*s' is not a unit: ns, us, ms, s, min, h, B, KiB, MiB, GiB, kB, "
			                          "MB, GB", (int)n, after);
	}
	apply(&v, divisor, unit, v.kind == REAL_VALUE || divisor > 1 ? strtod(begin, NULL) : (double)v.magnitude);
	unit.scale = 1;
	s->p = after + n;
	skip(s);
	node = add(s, NODE_NUMBER, begin, 0, 0);
	s->x->node[node].value = v;
	s->x->node[node].unit = unit;
	return node;
}

static uint16_t truth(struct parse *s, bool yes)
{
	const char *begin = s->p;
	uint16_t node;

	take_word(s, yes ? "true" : "false");
	node = add(s, NODE_NUMBER, begin, 0, 0);
	s->x->node[node].value = (struct value){ .kind = INTEGER_VALUE, .magnitude = yes };
	s->x->node[node].unit.scale = 1;
	return node;
}

/* -- Texts and names ----------------------------------------------------------------------------- */

/* Returns the text in quotation marks, or 0 after an error. */
static uint16_t text(struct parse *s)
{
	const char *begin = s->p, *end = begin + 1;
	uint16_t node;

	while (*end && *end != *begin)
		end += *end == '\\' && end[1] ? 2 : 1;
	if (!*end)
		return wrong(s, begin, 1, "the text has no closing %c", *begin);
	s->p = end + 1;
	skip(s);
	node = add(s, NODE_TEXT, begin, 0, 0);
	s->x->node[node].value = keep(s, begin + 1, (size_t)(end - begin) - 1, true);
	return node;
}

/* Parses [NUMBER] behind a name. */
static void item(struct parse *s, struct node *n)
{
	const char *begin = s->p;
	unsigned long i;
	char *end;

	if (!isdigit((unsigned char)s->p[1])) {
		wrong(s, begin, 1, "an item of an array is NAME[NUMBER]");
		return;
	}
	i = strtoul(s->p + 1, &end, 10);
	if (*end != ']' || i > UINT16_MAX) {
		wrong(s, begin, 1, "an item of an array is NAME[NUMBER], up to 65535");
		return;
	}
	n->kind = NODE_ITEM;
	n->item = (uint16_t)i;
	s->p = end + 1;
	n->length = (uint32_t)(s->p - s->x->source) - n->at;
	skip(s);
}

static uint16_t name(struct parse *s)
{
	const char *begin = s->p, *from = begin + (*begin == '@' || *begin == '`');
	size_t n = *begin == '`' ? strcspn(from, "`") : word_length(from);
	struct node *node;
	uint16_t number;

	if (*begin == '`' && (n == 0 || !from[n]))
		return wrong(s, begin, 1, n ? "the name has no closing `" : "the name is empty");
	if (n == 0)
		return wrong(s, begin, 1, "a name is missing after @");
	s->p = from + n + (*begin == '`');
	skip(s);
	number = add(s, NODE_NAME, begin, 0, 0);
	node = &s->x->node[number];
	node->own = *begin == '@';
	node->quoted = *begin == '`';
	node->value = keep(s, from, n, false);
	if (!s->failed && *s->p == '[')
		item(s, node);
	return number;
}

/* -- Operations ---------------------------------------------------------------------------------- */

static uint16_t disjunction(struct parse *s);

/* Parses what is in parentheses. The opening one has been taken. */
static uint16_t parentheses(struct parse *s, const char *begin)
{
	uint16_t node;

	if (s->depth == EXPRESSION_DEPTH)
		return wrong(s, begin, 1, "there are more than %d parentheses inside each other", EXPRESSION_DEPTH);
	s->depth++;
	node = disjunction(s);
	s->depth--;
	if (!s->failed && !take(s, ")"))
		return wrong(s, begin, 1, "the parenthesis is not closed");
	return node;
}

static uint16_t existence(struct parse *s)
{
	const char *begin = s->p;
	uint16_t operand;

	take_word(s, "exists");
	if (!take(s, "(") || (!begins_word(*s->p) && *s->p != '`' && *s->p != '@'))
		return wrong(s, begin, strlen("exists"), "it must be followed by a name in parentheses");
	operand = name(s);
	if (!s->failed && !take(s, ")"))
		return wrong(s, s->p, token_length(s->p), "exists(NAME) ends here with )");
	return add(s, NODE_EXISTS, begin, operand, 0);
}

/* Complains about what cannot be an operand. */
static uint16_t no_operand(struct parse *s)
{
	size_t n = token_length(s->p);

	if (!*s->p)
		return wrong(s, s->p, 1, "a name, a number or a text is missing at the end");
	return wrong(s, s->p, n, "'%.*s' is not a name, a number or a text", (int)n, s->p);
}

static uint16_t factor(struct parse *s)
{
	const char *begin = s->p;

	if (take(s, "-"))
		return add(s, NODE_NEGATE, begin, factor(s), 0);
	if (take(s, "("))
		return parentheses(s, begin);
	if (is_word(s, "exists"))
		return existence(s);
	if (is_word(s, "true") || is_word(s, "false"))
		return truth(s, *s->p == 't');
	if (isdigit((unsigned char)*s->p))
		return number(s);
	if (*s->p == '"' || *s->p == '\'')
		return text(s);
	if (is_word(s, "in") || is_word(s, "has") || (!begins_word(*s->p) && *s->p != '`' && *s->p != '@'))
		return no_operand(s);
	return name(s);
}

static uint16_t product(struct parse *s)
{
	static const struct {
		char operator;
		uint8_t kind;
	} operators[] = {
		{ '*', CALCULATION_MULTIPLY }, { '/', CALCULATION_DIVIDE }, { '%', CALCULATION_REMAINDER },
		{ '&', CALCULATION_BITS },
	};
	const char *begin = s->p;
	uint16_t left = factor(s);

	for (unsigned i = 0; i < 4 && !s->failed;) {
		char operator[] = { operators[i].operator, 0 };

		if (strncmp(s->p, "&&", 2) == 0 || !take(s, operator)) {
			i++;
			continue;
		}
		left = operation(s, NODE_CALCULATION, operators[i].kind, begin, left, factor(s));
		i = 0;
	}
	return left;
}

static uint16_t sum(struct parse *s)
{
	const char *begin = s->p;
	uint16_t left = product(s);

	while (!s->failed && (*s->p == '+' || *s->p == '-')) {
		enum calculation kind = *s->p == '+' ? CALCULATION_ADD : CALCULATION_SUBTRACT;

		take(s, *s->p == '+' ? "+" : "-");
		left = operation(s, NODE_CALCULATION, kind, begin, left, product(s));
	}
	return left;
}

/* Parses ~ TEXT or !~ TEXT, of which the operator has been taken. */
static uint16_t pattern(struct parse *s, enum node_kind kind, const char *begin, uint16_t left)
{
	if (*s->p != '"' && *s->p != '\'')
		return wrong(s, s->p, token_length(s->p), "a pattern is a text in quotation marks, such as \"sql.*\"");
	return add(s, kind, begin, left, text(s));
}

/* Parses (A, B), of which nothing has been taken: the same as left == A || left == B. */
static uint16_t list(struct parse *s, const char *begin, uint16_t left)
{
	const char *open = s->p;
	uint16_t all = 0;
	bool first = true;

	if (!take(s, "("))
		return wrong(s, s->p, token_length(s->p), "in is followed by a list in parentheses: in (1, 2)");
	do {
		uint16_t one = operation(s, NODE_RELATION, RELATION_EQUAL, begin, left, sum(s));

		all = first ? one : add(s, NODE_OR, begin, all, one);
		first = false;
	} while (!s->failed && take(s, ","));
	if (!s->failed && !take(s, ")"))
		return wrong(s, open, 1, "the parenthesis is not closed");
	return all;
}

static const struct {
	char operator[3];
	uint8_t kind;
} relations[] = {
	{ "==", RELATION_EQUAL }, { "!=", RELATION_UNEQUAL }, { "<=", RELATION_LESS_EQUAL }, { "<", RELATION_LESS },
	{ ">=", RELATION_GREATER_EQUAL }, { ">", RELATION_GREATER },
};

/* Takes a relation. Returns false if there is none. */
static bool relation(struct parse *s, enum relation *kind)
{
	for (unsigned i = 0; i < sizeof relations / sizeof relations[0]; i++)
		if (take(s, relations[i].operator)) {
			*kind = (enum relation)relations[i].kind;
			return true;
		}
	*kind = RELATION_HAS;
	return take_word(s, "has");
}

static uint16_t comparison(struct parse *s)
{
	const char *begin = s->p, *at;
	uint16_t left = sum(s);
	enum relation kind;

	if (s->failed)
		return 0;
	at = s->p;
	if (take(s, "!~"))
		return pattern(s, NODE_NO_MATCH, begin, left);
	if (take(s, "~"))
		return pattern(s, NODE_MATCH, begin, left);
	if (take_word(s, "in"))
		return list(s, begin, left);
	if (!relation(s, &kind)) {
		if (*at == '=')
			return wrong(s, at, 1, "values are compared with ==");
		return left;
	}
	left = operation(s, NODE_RELATION, kind, begin, left, sum(s));
	at = s->p;
	if (!s->failed && relation(s, &kind))
		return wrong(s, at, (size_t)(s->p - at), "comparisons do not follow each other: use a < b && b < c");
	return left;
}

static uint16_t negation(struct parse *s)
{
	const char *begin = s->p;

	if (*s->p == '!' && s->p[1] != '=' && s->p[1] != '~') {
		take(s, "!");
		return add(s, NODE_NOT, begin, negation(s), 0);
	}
	return comparison(s);
}

static uint16_t conjunction(struct parse *s)
{
	const char *begin = s->p;
	uint16_t left = negation(s);

	while (!s->failed && take(s, "&&"))
		left = add(s, NODE_AND, begin, left, negation(s));
	return left;
}

static uint16_t disjunction(struct parse *s)
{
	const char *begin = s->p;
	uint16_t left = conjunction(s);

	while (!s->failed && take(s, "||"))
		left = add(s, NODE_OR, begin, left, conjunction(s));
	return left;
}

/* -- The whole ----------------------------------------------------------------------------------- */

/* Complains about what follows a complete expression. */
static void no_end(struct parse *s)
{
	size_t n = token_length(s->p);
	const char *instead = is_word(s, "and") ? "; use &&" : is_word(s, "or") || *s->p == '|' ? "; use ||" : "";

	wrong(s, s->p, n, "'%.*s' cannot follow here%s", (int)n, s->p, instead);
}

/* Checks that the whole can be true or false. */
static void check_condition(struct parse *s)
{
	const struct node *n = &s->x->node[s->x->root];

	if (n->kind == NODE_TEXT || (n->kind == NODE_NUMBER && n->unit.dimension != DIMENSION_NONE))
		wrong(s, s->x->source + n->at, n->length, "this is not a condition, such as size > 100");
}

/* Returns whether the text has only characters that an expression may have; otherwise notes the first other one. */
static bool harmless(const char *text, size_t length, struct expression_fault *fault)
{
	for (size_t i = 0, n; i < length; i += n) {
		const unsigned char *p = (const unsigned char *)text + i;

		n = utf8_length(p, length - i);
		if (n && utf8_harmless(p, n, "\n\t", NULL))
			continue;
		fault->at = i;
		fault->length = n ? n : 1;
		snprintf(fault->why, sizeof fault->why, "%s", n ? "an expression has no control characters" :
		                                                 "the expression is not in UTF-8");
		return false;
	}
	return true;
}

struct expression *expression_parse(const char *text, bool condition, struct expression_fault *fault)
{
	struct expression *x = calloc(1, sizeof *x);
	struct parse s = { .x = x, .fault = fault, .original = text };
	size_t length = strlen(text);

	if (!x)
		fail("no memory");
	*fault = (struct expression_fault){ .at = 0 };
	if (length >= EXPRESSION_TEXT || !harmless(text, length, fault)) {
		if (length >= EXPRESSION_TEXT)
			snprintf(fault->why, sizeof fault->why, "an expression has up to 4095 bytes");
		free(x);
		return NULL;
	}
	memcpy(x->source, text, length + 1);
	/* One line, for messages. Texts in it are taken from the original. */
	for (char *p = x->source; *p; p++)
		*p = *p == '\n' || *p == '\t' ? ' ' : *p;
	s.p = x->source;
	skip(&s);
	x->root = disjunction(&s);
	if (!s.failed && *s.p)
		no_end(&s);
	if (!s.failed && condition)
		check_condition(&s);
	if (!s.failed)
		return x;
	free(x);
	return NULL;
}
