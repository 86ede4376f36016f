/*
 * error.c - what was wrong in the last call of this thread
 *
 * SPDX-License-Identifier: MIT
 */
#include "error.h"

#include <posixtrace/log.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE 512

static _Thread_local char message[MESSAGE];

void error_keep(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(message, sizeof message, format, list);
	va_end(list);
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

const char *posixtrace_log_error(void)
{
	return message;
}
