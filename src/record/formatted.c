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

/* A conversion of a format that takes an argument: the text before it, and its letter; '*' for a width or precision. */
struct conversion {
	const char *text;
	size_t length;
	char letter;
};

/* Finds the conversions. Returns their number, or 0 if they take their arguments in another order, as "%2$d" does. */
static unsigned find_conversions(const char *format, struct conversion found[FORMATTED_ARGUMENTS])
{
	const char *text = format, *p = format;
	unsigned n = 0;

	while (n < FORMATTED_ARGUMENTS && (p = strchr(p, '%'))) {
		size_t length = (size_t)(p++ - text);

		if (*p == '%') {
			p++;
			continue;
		}
		for (; *p && strchr("#- +'.*$0123456789hljztLqI", *p); p++) {
			if (*p == '$')
				return 0;
			if (*p == '*' && n < FORMATTED_ARGUMENTS)
				found[n++] = (struct conversion){ text, 0, '*' };
		}
		if (!*p)
			break;
		/* %m has no argument. */
		if (*p != 'm' && n < FORMATTED_ARGUMENTS)
			found[n++] = (struct conversion){ text, length, *p };
		text = ++p;
	}
	return n;
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

size_t formatted_data(unsigned char *data, const char *format, const char *types, const unsigned long long *values)
{
	unsigned char *at = data;
	const char *text;

	if (!types[0])
		return (size_t)(text_data(data, format, FORMATTED_TEXT_MAX) - data);
	for (unsigned i = 0; i < FORMATTED_ARGUMENTS && types[i]; i++) {
		if (types[i] == 'z') {
			memcpy(&text, &values[i], sizeof text);
			at = text_data(at, text, FORMATTED_TEXT_MAX);
		} else {
			/* There is room for a whole value; what is behind the argument is written over. */
			memcpy(at, &values[i], sizeof values[i]);
			at += size_of(types[i]);
		}
	}
	return (size_t)(at - data);
}
