/*
 * text.c - texts for people: names from a log, and what events of the recording itself say
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "error.h"
#include "event/system_text.h"
#include "reader.h"

size_t posixtrace_log_show(const char *text, size_t length, char *to, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t whole = 0, used = 0;
	char hex[5];

	length = text ? strnlen(text, length) : 0;
	for (size_t i = 0, n, more; i < length; i += n, whole += more) {
		const void *part = p + i;

		n = more = utf8_length(p + i, length - i);
		if (!n || !utf8_harmless(p + i, n, "", NULL)) {
			n = 1;
			more = (size_t)snprintf(hex, sizeof hex, "\\x%02x", p[i]);
			part = hex;
		}
		/* After the first character without room all others are only counted. */
		if (used == whole && more < size - used && size) {
			memcpy(to + used, part, more);
			used += more;
		}
	}
	if (size)
		to[used] = 0;
	return whole;
}

int posixtrace_log_get_system_text(const struct posixtrace_log_event *event, char *text, size_t size)
{
	char words[SYSTEM_TEXT];
	const struct source *s;

	if (!event || !text || !size)
		return error_null();
	*text = 0;
	if (!event->type || !event->type->system || !event->length)
		return error_say(ENOENT, "the event says nothing about the recording");
	s = ((const struct type *)event->type)->log->source[event->source];
	if (!system_text(words, s->layouts, s->event, event->data))
		return error_say(ENOENT, "the data of %s are of an unknown kind", event->type->name);
	if (strlen(words) >= size)
		return error_say(ERANGE, "the text needs more than %zu bytes", size);
	strcpy(text, words);
	return 0;
}
