/*
 * names.h - whether the name of a function is one of --functions=PATTERN and --functions-in
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NAMES_H
#define NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_ONLY 1u /* matches settings.only */
#define NAME_IN   2u /* matches settings.in */

/* Stores NAME_ bits for a function that was looked up before. Returns false if it was not. */
bool names_known(uintptr_t function, unsigned *verdict);
/*
 * Returns NAME_ bits for a function's address. Looks each function up once. Does not allocate, so it may be called in
 * any function of the program; the caller keeps its own signal handlers out.
 */
unsigned names_verdict(uintptr_t function);

/*
 * Writes the qualified name of a mangled C++ symbol, without arguments: "shape::circle::draw". All operators
 * are "operator". Returns false if it is none.
 */
bool names_qualified(char *to, size_t size, const char *symbol);

#endif
