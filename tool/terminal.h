/*
 * terminal.h - the whole screen, by curses: taken, given back on every way out, and what happens to it meanwhile
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Pairs of colours; without colours they differ by weight. */
enum terminal_look { LOOK_PLAIN, LOOK_TITLE, LOOK_HEAD, LOOK_NAME, LOOK_DIM, LOOK_SPARK, LOOK_ALARM, LOOK_GOOD };

/* Ends the program with a message if standard input and output are no terminal, or one that is not known. */
void terminal_check(void);
/* After that. */
void terminal_open(bool colours);
/* Gives it back; may be called twice. */
void terminal_close(void);

/* Descriptors to wait for: of keys, and of signals. */
int terminal_keys(void);
int terminal_signals(void);
/*
 * Looks at the signals: 0, or one that asks to end. The size of the screen is as it is now then.
 * *resized, if that is not null: it was another one before.
 */
int terminal_signal(bool *resized);
/* The next key: a byte of text, or one of these; 0: none. *gone: the terminal is not there any more. */
int terminal_key(bool *gone);

enum terminal_keys {
	TERMINAL_ENTER = '\r', TERMINAL_ESCAPE = 27, TERMINAL_ERASE = 127,
	TERMINAL_UP = 0x1000, TERMINAL_DOWN, TERMINAL_PAGE_UP, TERMINAL_PAGE_DOWN, TERMINAL_HOME, TERMINAL_END, TERMINAL_OTHER
};

int terminal_lines(void);
int terminal_columns(void);

/* The terminal shows other characters than those of ASCII. */
bool terminal_unicode(void);

/* Nothing is on it; what is put there then is seen by terminal_show(). */
void terminal_clear(void);
/* With the cursor at a place, line -1: without. */
void terminal_show(int line, int column);
/*
 * Text at a place, in so many columns at the most; what is not printable, or not a character, as a '?'.
 * Filled up with blanks if fill. Returns the columns that it took.
 */
int terminal_put(int line, int column, int columns, enum terminal_look look, const char *text, size_t length, bool fill);
int terminal_printf(int line, int column, int columns, enum terminal_look look, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

#endif
