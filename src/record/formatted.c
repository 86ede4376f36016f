/*
 * formatted.c - events whose fields are the arguments of a format
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/formatted.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"
#include "record/text_data.h"

#define NAME_MAX_BYTES 31 /* of a field */

/* A conversion of a format, "%-*.5s". Positions of arguments count from 1; 0: there is none. */
struct conversion {
	const char *text; /* before it, since the last one */
	size_t length;
	char letter;
	bool width, precision; /* whether they are arguments: '*' */
	unsigned position, precision_position;
	int digits; /* of the precision; -1: it has none, or it is an argument */
};

/* Returns a number of a format, and goes behind it. */
static unsigned number_at(const char **p)
{
	unsigned number = 0;

	for (; **p >= '0' && **p <= '9'; ++*p)
		if (number < 10000)
			number = number * 10 + (unsigned)(**p - '0');
	return number;
}

/* Returns the position of an argument, "2$", and goes behind it. 0: there is none. */
static unsigned position_at(const char **p)
{
	const char *end = *p;
	unsigned number = number_at(&end);

	if (*end != '$')
		return 0;
	*p = end + 1;
	return number;
}

/* Finds the next conversion but "%%", and goes behind it. Returns false for none. */
static bool next_conversion(const char **format, struct conversion *c)
{
	const char *p = strchr(*format, '%');

	while (p && p[1] == '%')
		p = strchr(p + 2, '%');
	if (!p)
		return false;
	*c = (struct conversion){ .text = *format, .length = (size_t)(p - *format), .digits = -1 };
	p++;
	c->position = position_at(&p);
	p += strspn(p, "#- +'0I");
	c->width = *p == '*';
	if (c->width) {
		p++;
		position_at(&p);
	} else {
		number_at(&p);
	}
	if (*p == '.') {
		c->precision = *++p == '*';
		if (c->precision) {
			p++;
			c->precision_position = position_at(&p);
		} else {
			c->digits = (int)number_at(&p);
		}
	}
	p += strspn(p, "hljztLq");
	if (!*p)
		return false;
	c->letter = *p++;
	*format = p;
	return true;
}

/*
 * Finds the conversion of each argument; that of a width or a precision has the letter '*'. Returns their number, or 0
 * if they take their arguments in another order, as "%2$d" does.
 */
static unsigned find_conversions(const char *format, struct conversion found[FORMATTED_ARGUMENTS])
{
	struct conversion c;
	unsigned n = 0;

	while (n < FORMATTED_ARGUMENTS && next_conversion(&format, &c)) {
		if (c.position)
			return 0;
		for (int stars = c.width + c.precision; stars > 0 && n < FORMATTED_ARGUMENTS; stars--)
			found[n++] = (struct conversion){ .text = c.text, .letter = '*' };
		/* %m has no argument. */
		if (c.letter != 'm' && n < FORMATTED_ARGUMENTS)
			found[n++] = c;
	}
	return n;
}

/* How many bytes of a text are read at most: a number, or the argument that has it. */
struct precision {
	bool in_argument;
	int digits; /* -1: up to the null */
	unsigned argument; /* from 0 */
};

/* Finds the precision of each argument. Returns whether a text has one. */
static bool find_precisions(const char *format, struct precision found[FORMATTED_ARGUMENTS])
{
	struct conversion c;
	bool any = false;
	unsigned n = 0;

	for (unsigned i = 0; i < FORMATTED_ARGUMENTS; i++)
		found[i] = (struct precision){ .digits = -1 };
	while (next_conversion(&format, &c)) {
		struct precision precision = { c.precision, c.digits, 0 };
		unsigned at;

		n += c.width;
		if (c.precision)
			precision.argument = c.precision_position ? c.precision_position - 1 : n++;
		if (c.letter == 'm')
			continue;
		at = c.position ? c.position - 1 : n++;
		if (c.letter == 's' && at < FORMATTED_ARGUMENTS && (c.precision || c.digits >= 0)) {
			found[at] = precision;
			any = true;
		}
	}
	return any;
}

bool formatted_precise(const char *format)
{
	struct precision found[FORMATTED_ARGUMENTS];

	return find_precisions(format, found);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns whether the byte may be in a word: a letter, a digit, or part of a character that is not ASCII. */
static bool in_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* Writes the last words of a text, with a "_" between two of them, as the name of a field. Returns false for none. */
static bool words_before(char name[NAME_MAX_BYTES + 1], const struct conversion *c)
{
	char made[NAME_MAX_BYTES + 1];
	size_t at = NAME_MAX_BYTES, i = c->length;

	made[at] = 0;
	while (i > 0 && at > 0) {
		char byte = c->text[--i];

		if (in_word(byte))
			made[--at] = byte;
		else if (made[at] && made[at] != '_')
			made[--at] = '_';
	}
	/* The first word is not whole: it goes, unless it is the only one. */
	if (i > 0 && in_word(c->text[i - 1]) && strchr(made + at, '_'))
		at = (size_t)(strchr(made + at, '_') - made);
	/* A name begins with a letter. */
	while (made[at] == '_' || is_digit(made[at]) || ((unsigned char)made[at] & 0xc0) == 0x80)
		at++;
	strcpy(name, made + at);
	return name[0] && utf8_harmless((const unsigned char *)name, strlen(name), "", NULL);
}

/* Returns the type of the field in the layout. */
static const char *type_of(char type, char letter)
{
	bool hexadecimal = letter == 'x' || letter == 'X';

	switch (type) {
	case 'u':
	case 'i':
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		if (letter == 'c')
			return "c[4]"; /* the character, and nulls */
#endif
		return hexadecimal ? "x32" : type == 'u' ? "u32" : "i32";
	case 'U':
	case 'I':
		return hexadecimal ? "x64" : type == 'U' ? "u64" : "i64";
	case 'b':
		return "bool";
	case 'p':
		return sizeof(void *) == 8 ? "x64" : "x32";
	case 'z':
		return "z";
	default:
		return "f64";
	}
}

/* Writes the name of an argument without words: "a2". */
static void name_by_position(char name[NAME_MAX_BYTES + 1], unsigned position)
{
	struct text t = text_into(name, NAME_MAX_BYTES + 1);

	text_add(&t, "a");
	text_add_number(&t, position);
}

/* Returns whether one of the first n names is the same. */
static bool is_taken(char names[FORMATTED_ARGUMENTS][NAME_MAX_BYTES + 1], unsigned n, const char *name)
{
	while (n > 0)
		if (strcmp(names[--n], name) == 0)
			return true;
	return false;
}

void formatted_layout(char layout[FORMATTED_LAYOUT], const char *format, const char *types)
{
	struct conversion found[FORMATTED_ARGUMENTS];
	char names[FORMATTED_ARGUMENTS][NAME_MAX_BYTES + 1];
	unsigned conversions = find_conversions(format, found);
	struct text t = text_into(layout, FORMATTED_LAYOUT);

	text_add(&t, types[0] ? "{packed;" : "{packed;text:z");
	for (unsigned i = 0; i < FORMATTED_ARGUMENTS && types[i]; i++) {
		if (i >= conversions || !words_before(names[i], &found[i]) || is_taken(names, i, names[i]))
			name_by_position(names[i], i + 1);
		/* The words before another argument may be "a2", too. */
		while (is_taken(names, i, names[i]))
			strcat(names[i], "_");
		text_add(&t, i > 0 ? "," : "");
		text_add(&t, names[i]);
		text_add(&t, ":");
		text_add(&t, type_of(types[i], i < conversions ? found[i].letter : 0));
	}
	text_add(&t, "}");
}

/* Returns how many bytes of its value are an argument of this type. */
static size_t size_of(char type)
{
	switch (type) {
	case 'i':
	case 'u':
		return sizeof(uint32_t);
	case 'b':
		return 1;
	case 'p':
		return sizeof(void *);
	default:
		return sizeof(uint64_t);
	}
}

/* Returns the precision that is in an argument. -1 for one that is negative, or no number. */
static int precision_in(const char *types, const unsigned long long *values, unsigned argument)
{
	size_t arguments = strnlen(types, FORMATTED_ARGUMENTS);
	int64_t longer;
	int number;

	if (argument >= arguments || !strchr("iuIUb", types[argument]))
		return -1;
	memcpy(&longer, &values[argument], sizeof longer);
	if (size_of(types[argument]) == sizeof number) {
		memcpy(&number, &values[argument], sizeof number);
		longer = number;
	} else if (types[argument] == 'b') {
		longer = *(const unsigned char *)&values[argument];
	}
	return longer < 0 ? -1 : longer > INT32_MAX ? INT32_MAX : (int)longer;
}

/* Writes a text of which no more bytes than its precision are read, unless that is negative. Returns the end. */
static unsigned char *put_precise(unsigned char *to, const char *text, int precision)
{
	size_t length;

	if (!text || precision < 0 || precision > FORMATTED_TEXT_MAX)
		return text_data(to, text, FORMATTED_TEXT_MAX);
	length = strnlen(text, (size_t)precision);
	memcpy(to, text, length);
	to[length] = 0;
	return to + length + 1;
}

size_t formatted_data(unsigned char *data, const char *format, const char *types, bool precise,
                      const unsigned long long *values)
{
	struct precision precisions[FORMATTED_ARGUMENTS];
	unsigned char *at = data;
	const char *text;

	if (!types[0])
		return (size_t)(text_data(data, format, FORMATTED_TEXT_MAX) - data);
	if (precise)
		find_precisions(format, precisions);
	for (unsigned i = 0; i < FORMATTED_ARGUMENTS && types[i]; i++) {
		if (types[i] == 'z') {
			memcpy(&text, &values[i], sizeof text);
			at = !precise ? text_data(at, text, FORMATTED_TEXT_MAX) :
			     precisions[i].in_argument ?
			                put_precise(at, text, precision_in(types, values, precisions[i].argument)) :
			                put_precise(at, text, precisions[i].digits);
		} else {
			/* There is room for a whole value; what is behind the argument is written over. */
			memcpy(at, &values[i], sizeof values[i]);
			at += size_of(types[i]);
		}
	}
	return (size_t)(at - data);
}
