/*
 * command.h - the subcommands, and their tables of options
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdbool.h>

/*
 * One option. Parsing, --help, completion and the manual pages (script/man-options) use these rows; the last row is
 * empty. A row without a value is a heading.
 */
struct option_row {
	int value;            /* result of next_option(): the letter, or a number above all letters */
	const char *name;     /* without "--" */
	const char *argument; /* null: none; "[SIZE]": optional. Shells complete by its name: FILE, PID, PATTERN */
	const char *help;     /* null: not shown; "": shown with the next row */
	bool *flag;           /* null, or what next_option() sets, without returning */
	const char *choices;  /* words, separated by spaces, of which the argument is one; null: any text */
	const char *hint;     /* null, or what to add to the message about an argument that is none of the choices */
};

/* Returns whether this is a row, and not the end of a table; a null table has no rows. */
static inline bool option_is_row(const struct option_row *o)
{
	return o && (o->name || o->help);
}

/* A row: OPTION('o', "output", "FILE", "help"); after the help there may be the choices, and then the hint. */
#define OPTION(v, n, a, ...) { .value = (v), .name = (n), .argument = (a), OPTION_HELP(__VA_ARGS__, NULL, NULL, 0) }
/* A row that sets a flag: OPTION_FLAG('q', "quiet", &quiet, "help"). */
#define OPTION_FLAG(v, n, f, h) { .value = (v), .name = (n), .flag = (f), .help = (h) }
#define OPTION_HELP(h, c, m, ...) .help = (h), .choices = (c), .hint = (m)
#define OPTION_HEADING(h) { .help = (h) }

struct command {
	const char *name;
	const char *summary;  /* half a line, for the list of commands */
	const char *synopsis; /* what follows the name; several lines: several forms */
	const char *about;    /* description in --help before the options */
	const struct option_row *options;
	const char *ending;   /* null, or what --help says after the options */
	const char *operand;  /* null, or what shells complete: FILE; COMMAND, a command with options */
	int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
	int failed; /* exit status of fail(); 0: STATUS_FAILED */
};

/* Defined in NAME/NAME.c, or in main's folder. */
extern const struct command command_check;
extern const struct command command_complete;
extern const struct command command_convert;
extern const struct command command_diff;
extern const struct command command_doctor;
extern const struct command command_event;
extern const struct command command_list;
extern const struct command command_live; /* only if it was built with curses */
extern const struct command command_record;
extern const struct command command_recover;
extern const struct command command_report;
extern const struct command command_run;
extern const struct command command_span;
extern const struct command command_stat;
extern const struct command command_view;

/* The current subcommand; null before main() has found it. */
extern const struct command *command;

#endif
