/*
 * identity.h - which logs are parts of one trace
 *
 * Those that one recorder made of one traced process: what `posixtrace record --rotate` leaves.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef IDENTITY_H
#define IDENTITY_H

#include <posixtrace/log.h>

#define IDENTITY_BYTES 320

/* Writes a text that is equal for all logs of one trace. Returns text. */
char *identity_text(char text[IDENTITY_BYTES], const struct posixtrace_log_about *a);
/*
 * Opens a file that can be read by position, without waiting and without side effects. Returns a negative number on
 * failure.
 */
int identity_open(const char *path);
/* Opens a reader for the log. Returns 0, or an error number of posixtrace_log_add_fd(). */
int identity_reader(int fd, const char *path, struct posixtrace_log **reader);

#endif
