/*
 * bytes.h - how many bytes, for people
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BYTES_H
#define BYTES_H

#include <stdint.h>

/* Both functions write to a text of at least 16 bytes, and return it. */

/* Formats a size: 100 bytes, 4 KiB, 56.3 MiB. */
char *bytes_text(char *text, uint64_t bytes);
/* Formats a size in at most five characters, for a column: 512, 4.2M, 64K. */
char *bytes_short(char *text, uint64_t bytes);

#endif
