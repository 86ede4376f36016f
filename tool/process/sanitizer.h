/*
 * sanitizer.h - which sanitizer a program was built with
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SANITIZER_OF_PROGRAM_H
#define SANITIZER_OF_PROGRAM_H

#include "process/elf_file.h"

/* Returns the name of the sanitizer that wants to be the first library of the program; null: none. */
const char *sanitizer_of(const struct elf_file *f);

#endif
