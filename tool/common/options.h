/*
 * options.h - options of the subcommands, and their arguments
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <getopt.h> /* optarg, optind */
#include <stdbool.h>
#include <stddef.h>

#include "common/command.h"

/* Options that several subcommands have; their own ones begin with OPTIONS_OWN. */
enum { OPTION_JSON = 0x100, OPTION_COLOR, OPTION_NO_PAGER, OPTIONS_OWN };
#define OPTION_ROW_COLOR OPTION(OPTION_COLOR, "color", "WHEN", "use colours: auto (default), always or never", "auto always never")
#define OPTION_ROW_NO_PAGER OPTION(OPTION_NO_PAGER, "no-pager", NULL, "do not start $PAGER, even on a terminal")

/*
 * Returns the value of the next option in the table of the subcommand that runs, with its argument in optarg; -1: there are no more, and
 * optind is the first operand. Options may follow operands only if these are files. Answers --help, and ends with wrong usage at an
 * unknown option, or an argument that is not one of the choices.
 */
int next_option(int argc, char **argv);
/* Returns the index of the last option's argument among its choices. */
unsigned option_choice(void);

/* -- Arguments: all end the program by wrong_usage() ------------------------------------ */

/* A number from least to most. option: for the message, "--count" */
long argument_number(const char *option, const char *text, long least, long most);
/* Whether argument_size() takes it. */
bool argument_is_size(const char *text);
/* The name of a file, which is not empty. */
const char *argument_file(const char *option, const char *text);
/* Bytes: 4096, 64K, 16M, 1G (powers of 1024). */
size_t argument_size(const char *option, const char *text);
/* Nanoseconds: 10s, 500ms, 20us, 100ns, 2m, 1h, 1.5s; a number alone is seconds. */
long long argument_duration(const char *option, const char *text);

#endif
