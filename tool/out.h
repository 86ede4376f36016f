/*
 * out.h - standard output, faster than stdio
 *
 * A line of a report takes a third of a microsecond, so numbers are not
 * formatted by printf(). What is written is seen when the buffer is full, by out_flush(), and at exit.
 * A reader that goes away ends the program by SIGPIPE, as with other filters; any other error
 * by a message and STATUS_FAILED.
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
/* What may be put after one call of out_room(). */
#define OUT_ROOM 1024

extern char *out_at, out_buffer[OUT_SIZE];

void out_flush(void);
/* Not to standard output, but there; name: for messages. failed: is called if it cannot be written, before the program ends. */
void out_into(int fd, const char *name, void (*failed)(void));

typedef void out_sink_function(const char *bytes, size_t size);
/* What follows does not go to standard output, but there; null: to standard output again. */
void out_to(out_sink_function *function);

/* Room for OUT_ROOM more bytes. */
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

/* Any length. */
void out_bytes(const char *bytes, size_t size);

static inline void out_text(const char *text)
{
	out_bytes(text, strlen(text));
}

void out_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A decimal number, right-aligned in so many columns. */
void out_number(uint64_t n, int width);
void out_signed(int64_t n, int width);
/* With zeroes in front: the digits behind a point. */
void out_digits(uint64_t n, int digits);
/* 0x and as many digits as it has. */
void out_hex(uint64_t n);
/*
 * Text from elsewhere, which may be anything: what is not printable comes as \xHH, and
 * UTF-8 as it is, but for what turns the direction of writing. Left-aligned in so many columns; returns the columns that it takes.
 */
int out_foreign(const char *text, size_t size, int width);
/*
 * The same, unaligned and not printed, but to where there is room for OUT_ESCAPED times as many bytes.
 * Returns how many it has now, and adds the columns.
 */
size_t out_escape(char *to, const char *text, size_t size, int *columns);
#define OUT_ESCAPED 4

/* -- Terminals -------------------------------------------------------------------------- */

enum colour { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, BLUE, CYAN };

/* --color=auto|always|never; auto: on a terminal, if NO_COLOR is not set, or empty, and TERM is not dumb. */
void out_colours(const char *when);
/* Nothing where there are no colours. */
void out_colour(enum colour colour);
/* If standard output is a terminal, through $PAGER, or less, until exit. */
void out_pager(void);
/* Of the terminal, or 80. */
int out_columns(void);

#endif
