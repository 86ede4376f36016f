/*
 * help.h - what --help prints, from the table of options
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HELP_H
#define HELP_H

/* Prints the help of the subcommand that runs to standard output, and exits with STATUS_DONE. */
void help_print(void) __attribute__((noreturn));

#endif
