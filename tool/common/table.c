/*
 * table.c - rows of text whose columns are as wide as they have to be
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/table.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/display.h"
#include "common/escape.h"
#include "common/message.h"
#include "common/out.h"

#define COLUMNS_MAX 16

struct cell {
	char *text;
	size_t size;
	int columns;
};

struct table {
	int columns;
	struct {
		const char *head;
		bool right;
		int width;
	} column[COLUMNS_MAX];
	struct cell *cell;
	size_t cells, room;
};

struct table *table_new(const char *head, ...)
{
	struct table *t = calloc(1, sizeof *t);
	va_list heads;

	if (!t)
		fail("no memory");
	va_start(heads, head);
	for (; head; head = va_arg(heads, const char *))
		table_column(t, head);
	va_end(heads);
	return t;
}

void table_column(struct table *t, const char *head)
{
	if (t->columns == COLUMNS_MAX)
		return;
	t->column[t->columns].head = head + 1;
	t->column[t->columns].right = *head == '>';
	t->column[t->columns++].width = (int)strlen(head + 1);
}

/* Adds a cell. The table takes over the text. */
static void add(struct table *t, char *text, size_t size, int columns)
{
	int *width = &t->column[t->cells % (size_t)t->columns].width;

	if (t->cells == t->room) {
		t->room = t->room ? 2 * t->room : 64;
		t->cell = realloc(t->cell, t->room * sizeof *t->cell);
	}
	if (!text || !t->cell)
		fail("no memory");
	t->cell[t->cells++] = (struct cell){ text, size, columns };
	if (columns > *width)
		*width = columns;
}

void table_cell(struct table *t, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vasprintf(&text, format, arguments);
	va_end(arguments);
	add(t, n < 0 ? NULL : text, (size_t)n, n);
}

void table_seconds(struct table *t, uint64_t time, uint64_t begin, int digits)
{
	unsigned long long size = time < begin ? begin - time : time - begin, unit = 1;

	for (int i = digits; i < 9; i++)
		size /= 10;
	for (int i = 0; i < digits; i++)
		unit *= 10;
	table_cell(t, "%s%llu.%0*llu", time < begin && size ? "-" : "", size / unit, digits, size % unit);
}

void table_foreign(struct table *t, const char *text, size_t size)
{
	char *escaped = malloc(ESCAPE_MOST * size + 1);
	size_t length = 0;
	int columns = 0;

	/* Not among the arguments, whose order of evaluation is open. */
	if (escaped)
		length = escape_text(escaped, text, size, &columns);
	add(t, escaped, length, columns);
}

/* Prints a cell after pending blanks. Returns the blanks that are due before the next cell. */
static int print_cell(const struct table *t, int column, int blanks, const char *text, size_t size, int columns)
{
	int more = t->column[column].width - columns;

	if (size == 0)
		return blanks + t->column[column].width + 2;
	if (t->column[column].right)
		blanks += more;
	for (; blanks > 0; blanks--)
		out_char(' ');
	out_bytes(text, size);
	return 2 + (t->column[column].right ? 0 : more);
}

void table_print(const struct table *t, int indent)
{
	int blanks = indent;

	display_colour(BOLD);
	for (int i = 0; i < t->columns; i++) {
		const char *head = t->column[i].head;

		blanks = print_cell(t, i, blanks, head, strlen(head), (int)strlen(head));
	}
	display_colour(PLAIN);
	for (size_t i = 0; i < t->cells; i++) {
		int column = (int)(i % (size_t)t->columns);

		if (column == 0) {
			out_char('\n');
			blanks = indent;
		}
		blanks = print_cell(t, column, blanks, t->cell[i].text, t->cell[i].size, t->cell[i].columns);
	}
	out_char('\n');
}

void table_free(struct table *t)
{
	for (size_t i = 0; i < t->cells; i++)
		free(t->cell[i].text);
	free(t->cell);
	free(t);
}
