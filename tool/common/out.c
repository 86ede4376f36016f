/*
 * out.c - standard output, faster than stdio
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/out.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

#include "common/escape.h"
#include "common/message.h"

char out_buffer[OUT_SIZE], *out_at = out_buffer;

/* The destination of output, and the handler of write errors. */
static int out_fd = STDOUT_FILENO;
static const char *out_name = "standard output";
static void (*out_failed)(void);

static void (*at_end)(void);

/* -- Bytes ------------------------------------------------------------------------------ */

/* Whatever ends the program by exit(), and however little there is. */
__attribute__((destructor)) static void at_exit(void)
{
	out_flush();
	if (at_end)
		at_end();
}

void out_into(int fd, const char *name, void (*failed)(void))
{
	out_flush();
	out_fd = fd;
	out_name = name;
	out_failed = failed;
}

void out_at_end(void (*function)(void))
{
	at_end = function;
}

static out_sink_function *sink;

void out_to(out_sink_function *function)
{
	out_flush();
	sink = function;
}

void out_flush(void)
{
	const char *from = out_buffer, *to = out_at;

	out_at = out_buffer;
	if (sink) {
		sink(from, (size_t)(to - from));
		return;
	}
	fflush(stdout);
	while (from < to) {
		ssize_t n = write(out_fd, from, (size_t)(to - from));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EPIPE && out_fd == STDOUT_FILENO) {
			if (at_end)
				at_end();
			/* A parent that ignores SIGPIPE does not want a message either. */
			signal(SIGPIPE, SIG_DFL);
			raise(SIGPIPE);
		}
		if (n < 0) {
			complain("%s: %s", out_name, strerror(errno));
			if (out_failed)
				out_failed();
			_exit(STATUS_FAILED);
		}
		from += n;
	}
}

void out_bytes(const char *bytes, size_t size)
{
	while (size > 0) {
		size_t room, n;

		out_room();
		room = (size_t)(out_buffer + OUT_SIZE - out_at);
		n = size < room ? size : room;
		memcpy(out_at, bytes, n);
		out_at += n;
		bytes += n;
		size -= n;
	}
}

void out_printf(const char *format, ...)
{
	va_list arguments;
	int n;

	out_room();
	va_start(arguments, format);
	n = vsnprintf(out_at, OUT_ROOM, format, arguments);
	va_end(arguments);
	if (n >= OUT_ROOM) {
		char *text = NULL;

		va_start(arguments, format);
		n = vasprintf(&text, format, arguments);
		va_end(arguments);
		if (n >= 0)
			out_bytes(text, (size_t)n);
		free(text);
	} else if (n > 0) {
		out_at += n;
	}
}

/* -- Numbers ------------------------------------------------------------------------------- */

static const char pairs[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

/* Returns the number of decimal digits. */
static inline unsigned count_digits(uint64_t n)
{
	static const uint64_t powers[] = {
		0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000,
		        1000000000000,
		10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
		        1000000000000000000,
		UINT64_C(10000000000000000000),
	};
	/* 1233 / 4096 is the logarithm of 2. */
	unsigned least = (64 - (unsigned)__builtin_clzll(n | 1)) * 1233 >> 12;

	return least + (n >= powers[least]);
}

/* Writes all digits to the left of end. */
static inline void digits_before(char *end, uint64_t n)
{
	uint32_t low;

	while (n > UINT32_MAX) {
		end -= 2;
		memcpy(end, pairs + 2 * (n % 100), 2);
		n /= 100;
	}
	/* 32-bit divisions take half the time. */
	low = (uint32_t)n;
	while (low >= 100) {
		end -= 2;
		memcpy(end, pairs + 2 * (low % 100), 2);
		low /= 100;
	}
	if (low >= 10)
		memcpy(end - 2, pairs + 2 * low, 2);
	else
		end[-1] = (char)('0' + low);
}

static inline void blanks(int n)
{
	for (; n > 0; n--)
		*out_at++ = ' ';
}

void out_number(uint64_t n, int width)
{
	unsigned count = count_digits(n);

	out_room();
	blanks(width - (int)count);
	out_at += count;
	digits_before(out_at, n);
}

static void put_signed(bool negative, uint64_t size, int width)
{
	unsigned count = count_digits(size);

	out_room();
	blanks(width - (int)count - negative);
	if (negative)
		*out_at++ = '-';
	out_at += count;
	digits_before(out_at, size);
}

void out_signed(int64_t n, int width)
{
	put_signed(n < 0, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, width);
}

void out_difference(uint64_t a, uint64_t b)
{
	put_signed(a < b, a < b ? b - a : a - b, 0);
}

void out_digits(uint64_t n, int digits)
{
	unsigned count = count_digits(n);

	out_room();
	for (int zeroes = digits - (int)count; zeroes > 0; zeroes--)
		*out_at++ = '0';
	out_at += count;
	digits_before(out_at, n);
}

void out_hex(uint64_t n)
{
	int digits = (67 - __builtin_clzll(n | 1)) / 4;

	out_room();
	*out_at++ = '0';
	*out_at++ = 'x';
	for (int i = digits - 1; i >= 0; i--)
		*out_at++ = "0123456789abcdef"[n >> 4 * i & 15];
}

int out_foreign(const char *text, size_t size, int width)
{
	mbstate_t state = { 0 };
	int columns = 0;

	for (size_t i = 0, n; i < size; i += n) {
		n = size - i;
		out_room();
		out_at += escape_next(out_at, text + i, &n, &state, &columns);
	}
	for (int i = columns; i < width; i++)
		out_char(' ');
	return columns > width ? columns : width;
}
