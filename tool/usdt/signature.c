/*
 * signature.c - names and types of a probe's arguments
 *
 * SPDX-License-Identifier: MIT
 */
#include "usdt/signature.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	char kind;
	uint8_t size;
} types[] = {
	{ "str", 'z', 0 }, { "char *", 'z', 0 }, { "const char *", 'z', 0 },
	{ "char", 'i', 1 }, { "short", 'i', 2 }, { "int", 'i', 4 }, { "long", 'i', 8 },
	{ "unsigned char", 'u', 1 }, { "unsigned short", 'u', 2 }, { "unsigned int", 'u', 4 }, { "unsigned", 'u', 4 },
	{ "unsigned long", 'u', 8 }, { "size_t", 'u', 8 }, { "ssize_t", 'i', 8 }, { "bool", 'u', 1 },
	{ "int8_t", 'i', 1 }, { "int16_t", 'i', 2 }, { "int32_t", 'i', 4 }, { "int64_t", 'i', 8 },
	{ "uint8_t", 'u', 1 }, { "uint16_t", 'u', 2 }, { "uint32_t", 'u', 4 }, { "uint64_t", 'u', 8 },
	{ "void *", 'x', 8 }, { "ptr", 'x', 8 },
};

/* As the documentation of these programs has them. */
static const struct {
	const char *probe, *arguments;
} known[] = {
	{ "python:function__entry", "str filename, str funcname, int lineno" },
	{ "python:function__return", "str filename, str funcname, int lineno" },
	{ "python:line", "str filename, str funcname, int lineno" },
	{ "python:gc__start", "int generation" },
	{ "python:gc__done", "long collected" },
	{ "python:import__find__load__start", "str modulename" },
	{ "python:import__find__load__done", "str modulename, int found" },
	{ "python:audit", "str event, ptr arguments" },
	{ "postgresql:query__start", "str query" },
	{ "postgresql:query__done", "str query" },
	{ "postgresql:query__parse__start", "str query" },
	{ "postgresql:query__parse__done", "str query" },
	{ "postgresql:query__rewrite__start", "str query" },
	{ "postgresql:query__rewrite__done", "str query" },
	{ "postgresql:statement__status", "str status" },
};

#define WRONG_SIZE 160
#define TYPE_SIZE  32

/* Copies a type with one space between two words, and before asterisks. Returns false if it is too long. */
static bool copy_type(const char *from, const char *end, char *to)
{
	size_t length = 0;

	for (; from < end; from++) {
		bool apart = *from == '*' && length && to[length - 1] != ' ' && to[length - 1] != '*';

		if (isspace((unsigned char)*from) && (!length || to[length - 1] == ' '))
			continue;
		if (length + apart + 2 > TYPE_SIZE)
			return false;
		if (apart)
			to[length++] = ' ';
		to[length++] = isspace((unsigned char)*from) ? ' ' : *from;
	}
	while (length && to[length - 1] == ' ')
		length--;
	to[length] = '\0';
	return true;
}

/* Returns whether the last word of a field is a type, so that there is no name. */
static bool is_type(const char *word, const char *end)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strlen(types[i].name) == (size_t)(end - word) &&
		    memcmp(types[i].name, word, (size_t)(end - word)) == 0)
			return true;
	return false;
}

static bool find_type(const char *name, struct signature_field *f)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].name, name) == 0) {
			f->kind = types[i].kind;
			f->size = types[i].size;
			return true;
		}
	return false;
}

static const char *parse_field(const char *from, const char *end, struct signature_field *f)
{
	static char wrong[WRONG_SIZE];
	char type[TYPE_SIZE];
	const char *name;

	memset(f, 0, sizeof *f);
	while (end > from && isspace((unsigned char)end[-1]))
		end--;
	for (name = end; name > from && (isalnum((unsigned char)name[-1]) || name[-1] == '_'); )
		name--;
	if (name == end || isdigit((unsigned char)*name) || is_type(name, end)) {
		snprintf(wrong, sizeof wrong, "'%.*s' is no type and name, as in 'int line'", (int)(end - from), from);
		return wrong;
	}
	if ((size_t)(end - name) >= sizeof f->name)
		return "a name may have 31 characters";
	memcpy(f->name, name, (size_t)(end - name));
	if (!copy_type(from, name, type) || (*type && !find_type(type, f))) {
		snprintf(wrong, sizeof wrong,
		         "unknown type in '%.*s': str for a text, ptr for an address, or a type of numbers, such as "
		         "int and uint64_t", (int)(end - from), from);
		return wrong;
	}
	return NULL;
}

const char *signature_parse(const char *text, struct signature *s)
{
	s->count = 0;
	for (;;) {
		const char *end = text + strcspn(text, ","), *wrong;

		if (s->count == ARGUMENTS_MAX)
			return "a probe has at most 12 arguments";
		wrong = parse_field(text, end, &s->field[s->count]);
		if (wrong)
			return wrong;
		for (unsigned i = 0; i < s->count; i++)
			if (strcmp(s->field[i].name, s->field[s->count].name) == 0)
				return "two arguments have the same name";
		s->count++;
		if (!*end)
			return NULL;
		text = end + 1;
	}
}

const char *signature_known(const char *probe)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].probe, probe) == 0)
			return known[i].arguments;
	return NULL;
}
