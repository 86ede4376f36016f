/*
 * message.h - messages of the command, and its exit statuses
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MESSAGE_H
#define MESSAGE_H

/* Exit statuses. `posixtrace record` also returns the status of its command. */
enum {
	STATUS_DONE = 0,
	STATUS_FAILED = 1, /* the command failed, or it found damage, leftovers, ... */
	STATUS_USAGE = 2,
	STATUS_INCOMPLETE = 123,  /* record: the command has succeeded, but events could not be written */
	STATUS_RECORD = 125,      /* record: nothing could be recorded */
	STATUS_NOT_RUN = 126,     /* record: the command cannot be executed */
	STATUS_NOT_FOUND = 127,   /* record: the command does not exist */
};

/* -- Messages, to standard error: "posixtrace report: ..." ---------------------------- */

void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a message, and exits with STATUS_FAILED, unless the subcommand has another status for it. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Prints a message and a hint to --help, and exits with STATUS_USAGE. */
void wrong_usage(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
