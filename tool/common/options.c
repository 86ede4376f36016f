/*
 * options.c - options of the subcommands, and their arguments
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/command.h"
#include "common/edit_distance.h"
#include "common/help.h"
#include "common/message.h"
#include "common/moment.h"

#define ROWS_MAX 48

static unsigned chosen;
static const char *given; /* the name of the last option, without "--"; null: it was a letter */

/* Prints that an option is unknown or an ambiguous abbreviation. word: as given, with "--". */
static void refuse_long(const char *word) __attribute__((noreturn));
static void refuse_long(const char *word)
{
	char asked[64];
	size_t n = strcspn(word, "=");
	struct nearest nearest = { 0 };
	const struct option_row *first = NULL;

	snprintf(asked, sizeof asked, "%.*s", (int)n - 2, word + 2);
	for (const struct option_row *o = command->options; option_is_row(o); o++) {
		if (!o->name || !o->help)
			continue;
		if (first && strncmp(o->name, asked, n - 2) == 0)
			wrong_usage("option --%s is ambiguous: --%s or --%s", asked, first->name, o->name);
		if (strncmp(o->name, asked, n - 2) == 0)
			first = o;
		nearest_add(&nearest, asked, o->name);
	}
	if (nearest.name)
		wrong_usage("unknown option --%s; did you mean --%s?", asked, nearest.name);
	wrong_usage("unknown option %.*s", (int)n, word);
}

/* Returns the index of text among the words of choices; if it is none of them, ends with wrong usage. */
static unsigned choose(const struct option_row *o, const char *text)
{
	char words[256];
	unsigned i = 0;

	for (const char *word = o->choices; word; i++) {
		size_t n = strcspn(word, " ");

		if (strlen(text) == n && memcmp(word, text, n) == 0)
			return i;
		word = word[n] ? word + n + 1 : NULL;
	}
	*words = 0;
	for (const char *word = o->choices; word; i--) {
		size_t n = strcspn(word, " "), used = strlen(words);

		snprintf(words + used, sizeof words - used, "%s%.*s", !used ? "" : i > 1 ? ", " : " or ", (int)n, word);
		word = word[n] ? word + n + 1 : NULL;
	}
	wrong_usage("--%s %s: must be "
	            "one of %s%s%s", o->name, text, words, o->hint ? "; " : "", o->hint ? o->hint : "");
}

int next_option(int argc, char **argv)
{
	struct option longs[ROWS_MAX + 2] = { { "help", no_argument, NULL, 'h' } };
	bool mixed = command->operand && strcmp(command->operand, "FILE") == 0;
	/* Errors are reported here; optopt is the wrong option. */
	char letters[2 * ROWS_MAX + 4] = "+:h", *letter = letters + 3;
	unsigned n = 1;
	int c, index = 0;

	for (const struct option_row *o = command->options; option_is_row(o) && n <= ROWS_MAX; o++) {
		if (!o->value)
			continue;
		longs[n++] = (struct option){ o->name, !o->argument ? no_argument :
		                              *o->argument == '[' ? optional_argument : required_argument,
			NULL, o->value };
		if (o->value < 0x100) {
			*letter++ = (char)o->value;
			if (o->argument)
				*letter++ = ':';
		}
	}
	c = getopt_long(argc, argv, letters + mixed, longs, &index);
	given = index ? longs[index].name : NULL;
	if (c == 'h')
		help_print();
	if (c == ':')
		wrong_usage("option %s needs an argument", argv[optind - 1]);
	/*
	 * argv[optind - 1] is a different word while letters of a group remain. No option has an unknown letter as its
	 * value.
	 */
	for (const struct option *o = longs; c == '?' && optopt && o->name; o++)
		if (o->val == optopt && o->has_arg == no_argument)
			wrong_usage("option --%s takes no argument", o->name);
	if (c == '?' && optopt)
		wrong_usage("unknown option -%c", optopt);
	if (c == '?')
		refuse_long(argv[optind - 1]);
	for (const struct option_row *o = command->options; c != -1 && option_is_row(o); o++) {
		if (o->value == c && o->flag) {
			*o->flag = true;
			return next_option(argc, argv);
		}
		if (o->value == c && o->choices)
			chosen = choose(o, optarg);
	}
	return c;
}

const char *option_name(void)
{
	return given;
}

unsigned option_choice(void)
{
	return chosen;
}

long argument_number(const char *option, const char *text, long least, long most)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || *end)
		wrong_usage("%s %s: not a number", option, text);
	if (n < least || n > most)
		wrong_usage("%s %s: must be from %ld to %ld", option, text, least, most);
	return n;
}

double argument_decimal(const char *option, const char *text)
{
	char *end;
	double n = strtod(text, &end);

	/* strtod() also accepts signs, 0x10, 1e3 and nan. */
	if (end == text || *end || end != text + strspn(text, "0123456789."))
		wrong_usage("%s %s: not a decimal number, such as 10.5", option, text);
	return n;
}

const char *argument_file(const char *option, const char *text)
{
	if (!*text)
		wrong_usage("%s '': empty file name", option);
	return text;
}

enum size_fault { SIZE_RIGHT, SIZE_NONE, SIZE_TOO_LARGE };

static enum size_fault parse_size(const char *text, size_t *size)
{
	static const char units[] = "KMGT";
	unsigned long long n;
	const char *unit;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	/* A blank would match the null at the end of units. */
	unit = *end & ~0x20 ? strchr(units, *end & ~0x20) : NULL;
	for (long i = unit ? unit - units : -1; i >= 0; i--) {
		if (n > SIZE_MAX / 1024)
			errno = ERANGE;
		n *= 1024;
	}
	if (unit)
		end += end[1] == 'B' || end[1] == 'b' ? 2 : end[1] == 'i' && (end[2] & ~0x20) == 'B' ? 3 : 1;
	/* strtoull() takes blanks and signs as well. */
	if (!isdigit((unsigned char)*text) || *end)
		return SIZE_NONE;
	*size = (size_t)n;
	return errno || n > SIZE_MAX ? SIZE_TOO_LARGE : SIZE_RIGHT;
}

bool argument_is_size(const char *text)
{
	size_t size;

	return parse_size(text, &size) != SIZE_NONE;
}

size_t argument_size(const char *option, const char *text)
{
	size_t size = 0;

	switch (parse_size(text, &size)) {
	case SIZE_NONE:
		wrong_usage("%s %s: not a size, such as 4096, 64K, 16M or 1G", option, text);
	case SIZE_TOO_LARGE:
		wrong_usage("%s %s: too large", option, text);
	default:
		return size;
	}
}

long long argument_duration(const char *option, const char *text)
{
	long double ns;

	if (!moment_parse_duration(text, &ns))
		wrong_usage("%s %s: not a time, such as 10s, 500ms, 20us or 2m", option, text);
	if (ns >= DURATION_MAX)
		wrong_usage("%s %s: too long", option, text);
	return llroundl(ns);
}
