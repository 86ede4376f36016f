/*
 * symtab.h - the symbols of the program and of its shared objects, read from their files
 *
 * dladdr() knows only exported functions. Nothing here allocates or keeps a descriptor.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SYMTAB_H
#define SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the name of the function that begins at an address; null if it has none, or its file cannot be read. */
const char *symtab_name(uintptr_t function);
/* Returns whether the file of the program has a section of this name. */
bool symtab_program_has(const char *section);
/* Returns the address of a symbol of the program itself, exported or not; 0 if there is none. */
uintptr_t symtab_find(const char *name);

#endif
