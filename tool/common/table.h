/*
 * table.h - rows of text whose columns are as wide as they have to be
 *
 *     struct table *t = table_new(">events", ">bytes", "<name", NULL);
 *     table_cell(t, "%u", 7); table_cell(t, "%u", 12); table_foreign(t, name, strlen(name));
 *     table_print(t); table_free(t);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TABLE_H
#define TABLE_H

#include <stddef.h>
#include <stdint.h>

struct table;

/* Makes a table. The heads of the columns end with NULL: '>' aligns a column to the right, '<' to the left. */
struct table *table_new(const char *head, ...) __attribute__((sentinel));
/* Adds a column on the right, before the first cell is added. Its head must outlive the table. */
void table_column(struct table *t, const char *head);
/* Adds a cell; rows are filled from left to right. */
void table_cell(struct table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a time as seconds since begin, with at most 9 digits after the point; negative before begin. */
void table_seconds(struct table *t, uint64_t time, uint64_t begin, int digits);
/* Adds a text from elsewhere, escaped like out_foreign(). */
void table_foreign(struct table *t, const char *text, size_t size);
/* Prints the table to out.h, each line indented by this many blanks. */
void table_print(const struct table *t, int indent);
void table_free(struct table *t);

#endif
