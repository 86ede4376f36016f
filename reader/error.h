/*
 * error.h - what was wrong in the last call of this thread
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_ERROR_H
#define READER_ERROR_H

#include <errno.h>

/* Keeps a message for posixtrace_log_error(). */
void error_keep(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Keeps a message with the system's text of an error number after it. Returns the error number. */
int error_system(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Keeps a message, and is the error number, which a compiler and an analyzer see here. */
#define error_say(error, ...) (error_keep(__VA_ARGS__), (error))

static inline int error_memory(void)
{
	return error_say(ENOMEM, "no memory is left");
}

/* For a null pointer where the interface allows none. */
static inline int error_null(void)
{
	return error_say(EINVAL, "a null pointer was passed where none is allowed");
}

#endif
