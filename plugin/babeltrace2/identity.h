/*
 * identity.h - which logs are parts of one trace
 *
 * Those that one recorder made of one traced process: what `posixtrace record --rotate` leaves.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef IDENTITY_H
#define IDENTITY_H

#include <stdbool.h>

#include "log/header.h"

#define IDENTITY_BYTES 320

/* Writes a text that is equal for all logs of one trace. Returns text. */
char *identity_text(char text[IDENTITY_BYTES], const struct log_header *h);
/*
 * Opens a file that can be read by position, without waiting and without side effects. Returns a negative number on
 * failure.
 */
int identity_open(const char *path);
/* Returns whether the file begins like a log. */
bool identity_is_log(int fd);
/* Reads only the header of a log. Returns false if it is damaged, or of another version or byte order. */
bool identity_read(int fd, struct log_header *h);

#endif
