/*
 * error.h - what was wrong in the last call of this thread
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_ERROR_H
#define READER_ERROR_H

/* Keeps a message for posixtrace_log_error(), unless the error is 0. Returns the error. */
int error_say(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Does the same with the system's text of an error number after the message. */
int error_system(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
int error_memory(void);
/* For a null pointer where the interface allows none. */
int error_null(void);

#endif
