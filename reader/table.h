/*
 * table.h - finds structures by two numbers
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_TABLE_H
#define READER_TABLE_H

#include "reader.h"

/* Returns the structure with this key, or null. */
void *table_find(const struct table *t, uint64_t first, uint64_t second);
/* Adds a structure of `size` bytes, all zero. Returns null if there is no memory. */
void *table_add(struct table *t, uint64_t first, uint64_t second, size_t size);
/* Frees the table and its structures, but not what these point to. */
void table_free(struct table *t);

#endif
