/*
 * command.h - the subcommands, and what they have in common
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Exit statuses. `posixtrace record` passes on that of its command, and has its own beyond it. */
enum {
	STATUS_DONE = 0,
	STATUS_FAILED = 1, /* it could not be done, or what was looked for was found: damage, leftovers, ... */
	STATUS_USAGE = 2,
	STATUS_RECORD = 125,      /* record: nothing could be recorded */
	STATUS_NOT_RUN = 126,     /* record: the command cannot be executed */
	STATUS_NOT_FOUND = 127,   /* record: there is no such command */
};

struct command {
	const char *name;
	const char *summary; /* half a line; null: it is not for people, and not in the list */
	const char *usage;   /* all that --help says, from "usage:" on */
	int (*run)(int argc, char **argv); /* argv[0] is the name; returns the exit status */
};

/* One in each file NAME.c. */
extern const struct command command_check;
extern const struct command command_complete;
extern const struct command command_convert;
extern const struct command command_doctor;
extern const struct command command_event;
extern const struct command command_list;
extern const struct command command_live; /* only where there is curses */
extern const struct command command_record;
extern const struct command command_recover;
extern const struct command command_report;
extern const struct command command_stat;
extern const struct command command_view;

/* All of them, one after the other; null: no more. */
const struct command *command_each(unsigned index);

/* The one that runs. */
extern const struct command *command;

/* -- Messages, to standard error: "posixtrace report: ..." ---------------------------- */

void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and ends with STATUS_FAILED. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* The same, where to find help, and ends with STATUS_USAGE. */
void wrong_usage(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* --help: to standard output, and ends with STATUS_DONE. */
void print_usage(void) __attribute__((noreturn));

/* -- Arguments: all end the program by wrong_usage() ------------------------------------ */

struct option;

/*
 * The next option, as getopt_long() does; --help and -h are answered here, and what is no option is
 * wrong usage. Options behind the first operand are operands, unless letters begin with a '*'. -1: no more; optind is the first operand.
 */
int next_option(int argc, char **argv, const char *letters, const struct option *options);
/* A number from least to most. option: for the message, "--count" */
long argument_number(const char *option, const char *text, long least, long most);
/* Bytes: 4096, 64K, 16M, 1G (powers of 1024). */
size_t argument_size(const char *option, const char *text);
/* Nanoseconds: 10s, 500ms, 20us, 100ns, 2m, 1h, 1.5s; a number alone is seconds. */
long long argument_duration(const char *option, const char *text);

#endif
