/*
 * copy.h - short copies without a call
 *
 * Most events have a few dozen bytes: moves that may overlap are faster than a call of memcpy().
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stddef.h>
#include <string.h>

/* More is worth a call. */
#define COPY_INLINE 512

static inline __attribute__((always_inline)) void copy(void *to_, const void *from_, size_t n)
{
	unsigned char *to = to_;
	const unsigned char *from = from_;

	if (n > COPY_INLINE) {
		memcpy(to, from, n);
	} else if (n >= 32) {
		for (size_t i = 0; i + 32 < n; i += 32) {
			memcpy(to + i, from + i, 16);
			memcpy(to + i + 16, from + i + 16, 16);
		}
		memcpy(to + n - 32, from + n - 32, 16);
		memcpy(to + n - 16, from + n - 16, 16);
	} else if (n >= 16) {
		memcpy(to, from, 16);
		memcpy(to + n - 16, from + n - 16, 16);
	} else if (n >= 8) {
		memcpy(to, from, 8);
		memcpy(to + n - 8, from + n - 8, 8);
	} else if (n >= 4) {
		memcpy(to, from, 4);
		memcpy(to + n - 4, from + n - 4, 4);
	} else if (n) {
		to[0] = from[0];
		to[n / 2] = from[n / 2];
		to[n - 1] = from[n - 1];
	}
}

#endif
