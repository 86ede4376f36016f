/*
 * text_data.h - a text as the data of an event
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_TEXT_DATA_H
#define RECORD_TEXT_DATA_H

#include <stddef.h>

#include "record/put.h"

/* The most bytes of text_call_data(). */
#define TEXT_CALL_DATA (sizeof(struct posixtrace_around) + POSIXTRACE_TEXT_MOST)

/*
 * Writes a text of at most `most` bytes with its null; a longer one ends with an ellipsis, behind a whole character. A
 * null pointer is "(null)". Returns the end.
 */
unsigned char *text_data(unsigned char *to, const char *text, size_t most);

/* Returns the most bytes that a call's text has. */
static inline __attribute__((always_inline)) size_t text_call_most(unsigned sizes)
{
	return (sizes & ~POSIXTRACE_TEXT_COUNTED) >> 16;
}

/* Writes the data of a call. Returns the number of bytes. */
size_t text_call_data(unsigned char *to, const struct text_call *call);

#endif
