/*
 * logpipe.h - reads logs from pipes
 *
 * A log is written front to back into a pipe, but it is also read from its end. So the data is copied into a file
 * without a name, in $TMPDIR or /tmp.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOGPIPE_H
#define LOGPIPE_H

/*
 * Opens a log for reading; "-" is standard input. A pipe or a socket is read to its end first, and only once: opening
 * it again yields the same data. Returns a descriptor, or ends the program with a message.
 */
int logpipe_open(const char *path);

#endif
