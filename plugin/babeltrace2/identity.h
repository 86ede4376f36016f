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

/* Text that is the same for the logs of one trace. Returns it. */
char *identity_text(char text[IDENTITY_BYTES], const struct log_header *h);
/* A file that can be read by position, and is neither waited for nor changed by it; else negative. */
int identity_open(const char *path);
/* Does this file claim to be a log? */
bool identity_is_log(int fd);
/* What it says of itself, and nothing else of it is read. False: it is damaged there, or of another version or byte order. */
bool identity_read(int fd, struct log_header *h);

#endif
