/*
 * escape.h - text from elsewhere, as it may be printed
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stddef.h>
#include <wchar.h>

/* How many bytes one byte can become. */
#define ESCAPE_MOST 4

/*
 * Writes one character of text, of which *size bytes are left: \xHH if it cannot be printed or turns the direction of
 * writing, else as it is. Adds to *columns what it takes on a terminal, sets *size to the bytes read, returns the bytes written.
 */
size_t escape_next(char *to, const char *text, size_t *size, mbstate_t *state, int *columns);
/*
 * Writes all of text in that way to where there is room for ESCAPE_MOST * size bytes. Adds to *columns,
 * returns the bytes written.
 */
size_t escape_text(char *to, const char *text, size_t size, int *columns);

#endif
