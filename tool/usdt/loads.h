/*
 * loads.h - what a command will execute: the interpreter of a script, the libraries that ld.so loads
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef USDT_LOADS_H
#define USDT_LOADS_H

/*
 * Returns the path of the program that executes a script, to be freed; of "#!/usr/bin/env NAME" that is NAME in $PATH.
 * Returns null if the file is no script.
 */
char *loads_interpreter(const char *path);
/*
 * Calls each with the path of each library that ld.so will load for a program. ld.so lists them itself, and executes
 * nothing of the program. Libraries that the program loads later are not among them.
 */
void loads_each(const char *path, void (*each)(const char *path, void *arg), void *arg);

#endif
