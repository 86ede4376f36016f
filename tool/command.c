/*
 * command.c - messages and arguments of the subcommands
 *
 * SPDX-License-Identifier: MIT
 */
#include "command.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "moment.h"
#include "out.h"

const struct command *command;

#ifdef __SANITIZE_ADDRESS__
/* What one run of a command needs it keeps to its end: that is no leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

/* -- Messages ------------------------------------------------------------------------------ */

static void say(const char *format, va_list arguments)
{
	char text[4096], escaped[OUT_ESCAPED * sizeof text];
	int columns = 0;

	vsnprintf(text, sizeof text, format, arguments);
	/* Names in it may be from a log, and so be anything, another line as well. */
	escaped[out_escape(escaped, text, strlen(text), &columns)] = 0;
	/* What was printed before comes before. */
	fflush(stdout);
	fprintf(stderr, "posixtrace%s%s: %s\n", command ? " " : "", command ? command->name : "", escaped);
}

void complain(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
	exit(STATUS_FAILED);
}

void wrong_usage(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
	fprintf(stderr, "Try 'posixtrace%s%s --help'.\n", command ? " " : "", command ? command->name : "");
	exit(STATUS_USAGE);
}

void print_usage(void)
{
	fputs(command->usage, stdout);
	if (fflush(stdout) != 0)
		fail("standard output: %s", strerror(errno));
	exit(STATUS_DONE);
}

/* -- Arguments ------------------------------------------------------------------------------- */

int next_option(int argc, char **argv, const char *letters, const struct option *options)
{
	char with_more[64];
	int c;

	/* The first operand ends them, or none does; messages are ours, optopt tells of what. */
	snprintf(with_more, sizeof with_more, "%s:h%s", *letters == '*' ? "" : "+", letters + (*letters == '*'));
	c = getopt_long(argc, argv, with_more, options, NULL);
	if (c == 'h')
		print_usage();
	if (c == ':')
		wrong_usage("%s needs an argument", argv[optind - 1]);
	/* argv[optind - 1] is another one as long as there are more letters in a word. No value of an option is a letter that is none. */
	for (const struct option *o = options; c == '?' && optopt && o->name; o++)
		if (o->val == optopt && o->has_arg == no_argument)
			wrong_usage("--%s takes no argument", o->name);
	if (c == '?' && optopt)
		wrong_usage("no option -%c", optopt);
	if (c == '?')
		wrong_usage("no option %s", argv[optind - 1]);
	return c;
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
		wrong_usage("%s %s: not from %ld to %ld", option, text, least, most);
	return n;
}

size_t argument_size(const char *option, const char *text)
{
	static const char units[] = "KMGT";
	unsigned long long n;
	const char *unit;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	/* Not of a blank, which would be the null behind the units. */
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
		wrong_usage("%s %s: not a size, as 4096, 64K, 16M or 1G", option, text);
	if (errno || n > SIZE_MAX)
		wrong_usage("%s %s: too large", option, text);
	return (size_t)n;
}

long long argument_duration(const char *option, const char *text)
{
	long double ns;

	if (!moment_parse_duration(text, &ns))
		wrong_usage("%s %s: not a time, as 10s, 500ms, 20us or 2m", option, text);
	if (ns >= DURATION_MAX)
		wrong_usage("%s %s: too long", option, text);
	return llroundl(ns);
}
