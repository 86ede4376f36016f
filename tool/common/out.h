/*
 * out.h - standard output, faster than stdio
 *
 * A line of a report takes a third of a microsecond, so numbers are not formatted by printf(). Output appears when the
 * buffer is full, after out_flush(), and at exit. If the reader goes away, SIGPIPE ends the program like other filters;
 * any other error ends it with a message and STATUS_FAILED.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef OUT_H
#define OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define OUT_SIZE (UINT32_C(256) << 10)
/* The room after one call of out_room(). */
#define OUT_ROOM 1024

extern char *out_at, out_buffer[OUT_SIZE];

void out_flush(void);
/* Redirects output to a descriptor. name: for messages. failed: called after a write error, before the program ends. */
void out_into(int fd, const char *name, void (*failed)(void));

typedef void out_sink_function(const char *bytes, size_t size);
/* Redirects output to a function; null: back to standard output. */
void out_to(out_sink_function *function);

/*
 * Sets a function to be called at the end of the program, and when the reader of standard output has gone; null: none.
 */
void out_at_end(void (*function)(void));

/* Makes room for OUT_ROOM more bytes. */
static inline void out_room(void)
{
	if (out_at > out_buffer + OUT_SIZE - OUT_ROOM)
		out_flush();
}

static inline void out_char(char c)
{
	out_room();
	*out_at++ = c;
}

/* Prints any number of bytes. */
void out_bytes(const char *bytes, size_t size);

static inline void out_text(const char *text)
{
	out_bytes(text, strlen(text));
}

void out_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints a decimal number, right-aligned in a column of this width. */
void out_number(uint64_t n, int width);
void out_signed(int64_t n, int width);
/* Prints a - b, which may be negative. */
void out_difference(uint64_t a, uint64_t b);
/* Prints a number with leading zeroes, as the digits after a decimal point. */
void out_digits(uint64_t n, int digits);
/* Prints 0x and the hexadecimal digits. */
void out_hex(uint64_t n);
/*
 * Prints a text with any contents: unprintable bytes, and characters that change the direction of writing, as \xHH;
 * other UTF-8 unchanged. Left-aligned in a column of this width. Returns the columns used.
 */
int out_foreign(const char *text, size_t size, int width);

#endif
