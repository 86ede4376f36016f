/*
 * error.c - what was wrong in the last call of this thread
 *
 * SPDX-License-Identifier: MIT
 */
#include "error.h"

#include <errno.h>
#include <posixtrace/log.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE 512

static _Thread_local char message[MESSAGE];

int error_say(int error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(message, sizeof message, format, list);
	va_end(list);
	return error;
}

int error_system(int error, const char *format, ...)
{
	va_list list;
	size_t n;

	va_start(list, format);
	vsnprintf(message, sizeof message, format, list);
	va_end(list);
	n = strlen(message);
	snprintf(message + n, sizeof message - n, ": %s", strerror(error));
	return error;
}

int error_memory(void)
{
	return error_say(ENOMEM, "no memory is left");
}

int error_null(void)
{
	return error_say(EINVAL, "a null pointer was passed where none is allowed");
}

const char *posixtrace_log_error(void)
{
	return message;
}
