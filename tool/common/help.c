/*
 * help.c - what --help prints, from the table of options
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/help.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/command.h"
#include "common/message.h"

#define WIDTH       80
#define DESCRIPTION 25 /* column where the description of an option begins */

/*
 * Prints text from this column on, wrapped at WIDTH with further lines indented. A newline in the text begins a line.
 */
static void print_wrapped(const char *text, size_t column, size_t indent)
{
	while (*text) {
		size_t gap = strspn(text, " "), word = strcspn(text + gap, " \n");

		if (column > indent && column + gap + word > WIDTH) {
			printf("\n%*s", (int)indent, "");
			column = indent;
			text += gap;
			gap = 0;
		}
		printf("%.*s", (int)(gap + word), text);
		column += gap + word;
		text += gap + word;
		if (*text == '\n') {
			text++;
			printf("\n%*s", *text == '\n' ? 0 : (int)indent, "");
			column = indent;
		}
	}
	putchar('\n');
}

/* Prints an option with its argument, after earlier options on the same line. Returns the column after it. */
static size_t print_option(const struct option_row *o, size_t column)
{
	if (column)
		column += (size_t)printf(", --%s", o->name);
	else if (o->value < 0x100)
		column += (size_t)printf("  -%c, --%s", o->value, o->name);
	else
		column += (size_t)printf("      --%s", o->name);
	if (o->argument)
		column += (size_t)printf(" %s", o->argument);
	return column;
}

static void print_options(const struct option_row *o)
{
	size_t column = 0;

	for (; option_is_row(o); o++) {
		if (!o->value)
			printf("\n%s\n", o->help);
		if (!o->value || !o->help)
			continue;
		column = print_option(o, column);
		if (!*o->help)
			continue;
		if (column + 2 > DESCRIPTION)
			putchar('\n');
		printf("%*s", column + 2 > DESCRIPTION ? DESCRIPTION : DESCRIPTION - (int)column, "");
		print_wrapped(o->help, DESCRIPTION, DESCRIPTION);
		column = 0;
	}
}

void help_print(void)
{
	static const struct option_row help[] = { OPTION('h', "help", NULL, "show this help"), { 0 } };
	const char *form = command->synopsis;

	for (size_t n; *form; form += n + (form[n] == '\n')) {
		n = strcspn(form, "\n");
		printf("%s posixtrace %s %.*s\n", form == command->synopsis ? "usage:" : "      ", command->name,
		       (int)n, form);
	}
	putchar('\n');
	print_wrapped(command->about, 0, 0);
	putchar('\n');
	print_options(command->options);
	print_options(help);
	if (command->ending) {
		putchar('\n');
		print_wrapped(command->ending, 0, 0);
	}
	if (fflush(stdout) != 0)
		fail("standard output: %s", strerror(errno));
	exit(STATUS_DONE);
}
