/*
 * text_data.c - a text as the data of an event
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/text_data.h"

#include <stdbool.h>
#include <string.h>

#include "base/copy.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define ELLIPSIS_BYTES 3

unsigned char *text_data(unsigned char *to, const char *text, size_t most)
{
	const char *from = text ? text : "(null)";
	size_t length = strnlen(from, most + 1);

	if (length <= most) {
		copy(to, from, length);
	} else if (most < ELLIPSIS_BYTES) {
		length = most;
		memcpy(to, from, length);
	} else {
		length = most - ELLIPSIS_BYTES;
		while (length > 0 && ((unsigned char)from[length] & 0xc0) == 0x80)
			length--;
		memcpy(to, from, length);
		memcpy(to + length, ELLIPSIS, ELLIPSIS_BYTES);
		length += ELLIPSIS_BYTES;
	}
	to[length] = 0;
	return to + length + 1;
}

/* Writes a text of this length, or up to a null before, with its null. Returns the end. */
static unsigned char *counted_data(unsigned char *to, const char *text, size_t size)
{
	const char *from = text ? text : "";
	size_t length = strnlen(from, size);

	memcpy(to, from, length);
	to[length] = 0;
	return to + length + 1;
}

size_t text_call_data(unsigned char *to, const struct text_call *call)
{
	size_t before = call->sizes & 0xff, behind = (call->sizes >> 8 & 0xff) - 1 - before;
	size_t most = text_call_most(call->sizes);
	bool counted = call->sizes & POSIXTRACE_TEXT_COUNTED;
	unsigned char *at = to;

	memcpy(at, call->around->__before, before);
	at += before;
	if (counted && (call->text || most == 0))
		at = counted_data(at, call->text, most);
	else
		at = text_data(at, call->text, counted ? POSIXTRACE_TEXT_MOST : most);
	memcpy(at, call->around->__behind, behind);
	return (size_t)(at - to) + behind;
}
