/*
 * utf8.h - recognises UTF-8 in any locale
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the length of the character at p, or 0 if the bytes are not UTF-8. size is not 0. */
size_t utf8_length(const unsigned char *p, size_t size);
/*
 * Returns whether all bytes are UTF-8 without control characters of one byte or U+0080 to U+009F, except those in also
 * ("\n\t", ""). *ascii, if not null, is cleared if there are other than ASCII characters.
 */
bool utf8_harmless(const unsigned char *p, size_t size, const char *also, bool *ascii);

#endif
