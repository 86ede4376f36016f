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
 * Writes one character of text, of which *size bytes are left: \xHH if it cannot be printed or seen, or changes the
 * direction of writing, else unchanged. Adds its width to *columns, and sets *size to the bytes read. Returns the bytes
 * written.
 */
size_t escape_next(char *to, const char *text, size_t *size, mbstate_t *state, int *columns);
/*
 * Writes the whole text like escape_next(), with room for ESCAPE_MOST * size bytes. Adds its width to *columns. Returns
 * the bytes written.
 */
size_t escape_text(char *to, const char *text, size_t size, int *columns);

#endif
