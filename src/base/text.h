/*
 * text.h - names put together from pieces, safe in signal handlers
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
	char *at;
	char *last; /* the terminating null's last possible place */
};

static inline struct text text_into(char *buf, size_t size)
{
	buf[0] = 0;
	return (struct text){ buf, buf + size - 1 };
}

static inline void text_add(struct text *t, const char *s)
{
	while (*s && t->at < t->last)
		*t->at++ = *s++;
	*t->at = 0;
}

static inline void text_add_number(struct text *t, uint64_t n)
{
	char digits[21];
	char *p = digits + sizeof digits - 1;

	*p = 0;
	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	text_add(t, p);
}

/* The decimal number at s, up to the first other character. */
static inline uint64_t text_number(const char *s)
{
	uint64_t n = 0;

	while (*s >= '0' && *s <= '9')
		n = n * 10 + (uint64_t)(*s++ - '0');
	return n;
}

/* The number in base 16 at the beginning of a string. */
static inline uint64_t text_hex(const char *s)
{
	uint64_t n = 0;

	for (;; s++) {
		if (*s >= '0' && *s <= '9')
			n = n * 16 + (uint64_t)(*s - '0');
		else if (*s >= 'a' && *s <= 'f')
			n = n * 16 + (uint64_t)(*s - 'a') + 10;
		else
			return n;
	}
}

#endif
