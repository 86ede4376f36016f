/*
 * message.c - messages of the command, to standard error
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/command.h"
#include "common/escape.h"

const struct command *command;

#ifdef __SANITIZE_ADDRESS__
/* Memory is kept until exit on purpose, which is not a leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

static void say(const char *format, va_list arguments)
{
	char text[4096], escaped[ESCAPE_MOST * sizeof text];
	int columns = 0;

	vsnprintf(text, sizeof text, format, arguments);
	/* Names may come from a log and contain anything, newlines included. */
	escaped[escape_text(escaped, text, strlen(text), &columns)] = 0;
	/* Earlier output must appear first. */
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
	exit(command && command->failed ? command->failed : STATUS_FAILED);
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
