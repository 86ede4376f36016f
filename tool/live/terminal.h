/*
 * terminal.h - uses the whole screen through curses, and restores it in all cases
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Colour pairs. Without colours they differ by weight. */
enum terminal_look { LOOK_PLAIN, LOOK_TITLE, LOOK_HEAD, LOOK_NAME, LOOK_DIM, LOOK_SPARK, LOOK_ALARM, LOOK_GOOD };

/* Ends the program with a message if standard input and output are not a known terminal. */
void terminal_check(void);
/* Takes the screen. Call terminal_check() before. */
void terminal_open(bool colours);
/* Restores the screen. May be called twice. */
void terminal_close(void);

/* Descriptors to poll for keys and for signals. */
int terminal_keys(void);
int terminal_signals(void);
/*
 * Handles pending signals, and adapts to a new size. Returns the signal that asks to end the program, or 0. *resized,
 * if not null, is set if the size has changed.
 */
int terminal_signal(bool *resized);
/*
 * Returns the next key: a byte of text, or one of the values below; 0 if there is none. *gone: the terminal has been
 * closed.
 */
int terminal_key(bool *gone);

enum terminal_keys {
	TERMINAL_ENTER = '\r', TERMINAL_ESCAPE = 27, TERMINAL_ERASE = 127,
	TERMINAL_UP = 0x1000, TERMINAL_DOWN, TERMINAL_PAGE_UP, TERMINAL_PAGE_DOWN, TERMINAL_HOME, TERMINAL_END,
	        TERMINAL_OTHER
};

int terminal_lines(void);
int terminal_columns(void);

/* Returns whether the terminal can show non-ASCII characters. */
bool terminal_unicode(void);

/* Clears the drawing. What is drawn becomes visible by terminal_show(). */
void terminal_clear(void);
/* Shows the drawing with the cursor at a position; line -1 hides the cursor. */
void terminal_show(int line, int column);
/*
 * Draws text at a position, in at most this many columns; an unprintable character becomes '?'. fill: pads with blanks.
 * Returns the columns used.
 */
int terminal_put(int line, int column, int columns, enum terminal_look look, const char *text, size_t length,
                 bool fill);
int terminal_printf(int line, int column, int columns, enum terminal_look look, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

#endif
