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

/* Options of several subcommands; those of a single one begin with OPTIONS_OWN. */
enum { OPTION_JSON = 0x100, OPTION_COLOR, OPTION_NO_PAGER, OPTIONS_OWN };
#define OPTION_ROW_COLOR \
	OPTION(OPTION_COLOR, "color", "WHEN", "use colours: auto (default), always or never", "auto always never")
#define OPTION_ROW_NO_PAGER OPTION(OPTION_NO_PAGER, "no-pager", NULL, "do not start $PAGER, even on a terminal")

/*
 * Returns the value of the next option in the table of the current subcommand, with its argument in optarg. Returns -1
 * after the last option; optind is then the first operand. Options may follow operands only if these are files. Prints
 * --help, and ends with wrong usage at an unknown option or an argument that is not among the choices.
 */
int next_option(int argc, char **argv);
/* Returns the name under which the last option was given, without "--"; null if it was given as a letter. */
const char *option_name(void);
/* Returns the index of the last option's argument among its choices. */
unsigned option_choice(void);

/* -- Arguments: all end the program by wrong_usage() ------------------------------------ */

/* Returns a number from least to most. option: its name in messages, "--count". */
long argument_number(const char *option, const char *text, long least, long most);
/* Returns a decimal number without a sign and without an exponent. */
double argument_decimal(const char *option, const char *text);
/* Returns whether argument_size() accepts the text. */
bool argument_is_size(const char *text);
/* Returns the text, the name of a file, unless it is empty. */
const char *argument_file(const char *option, const char *text);
/* Returns a number of bytes: 4096, 64K, 16M, 1G (powers of 1024). */
size_t argument_size(const char *option, const char *text);
/* Returns nanoseconds: 10s, 500ms, 20us, 100ns, 2m, 1h, 1.5s; a number alone is seconds. */
long long argument_duration(const char *option, const char *text);

#endif
