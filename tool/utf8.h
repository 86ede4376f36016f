/*
 * utf8.h - is it UTF-8, whatever the locale
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef UTF8_H
#define UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the character that begins there; 0: it is none. size is not 0. */
size_t utf8_length(const unsigned char *p, size_t size);
/*
 * All of it, and nothing that a terminal obeys: no control characters, neither those of one byte nor U+0080 to U+009F,
 * but for those in also ("\n\t", ""). ascii becomes false if there is anything else; null: nobody wants to know.
 */
bool utf8_harmless(const unsigned char *p, size_t size, const char *also, bool *ascii);

#endif
