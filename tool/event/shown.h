/*
 * shown.h - texts of any bytes from a log, as UTF-8 without control characters
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SHOWN_H
#define SHOWN_H

#include <stddef.h>

/* The size that the result for a text of this size may need. */
#define SHOWN_SIZE(bytes) (4 * (bytes) + 1)

/*
 * Copies a text into size bytes, with a null, as UTF-8 without control characters; other bytes become \xHH. The text
 * ends at a null or after length bytes. Returns the length of the whole result, which was cut off behind a whole
 * character if it is not less than size.
 */
size_t shown_copy(char *to, size_t size, const char *text, size_t length);

#endif
