/*
 * preloadable.h - whether libraries can be preloaded into the file of a program
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PRELOADABLE_H
#define PRELOADABLE_H

#include <stdbool.h>

/*
 * Prints why nothing can be preloaded into a program, and returns false. It may be harmed: a sanitizer wants to be the
 * first library, and ld.so writes to standard error if a library is of another kind. If it is only in vain, prints that
 * and returns true. name: of the program, for messages.
 */
bool preloadable(const char *path, const char *name);
/*
 * Prints a message if the functions of the program are not prepared, or in a way that --functions cannot use. children:
 * the programs that it starts are recorded, too, so it need not have any itself.
 */
void preloadable_functions(const char *path, const char *name, bool children);
/*
 * Prints that no function was recorded although the library for it was loaded. patterns: with their
 * options, as "--functions=x*"; null: none were given.
 */
void preloadable_no_functions(const char *name, const char *patterns);

#endif
