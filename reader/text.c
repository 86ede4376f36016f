/*
 * text.c - texts for people: names from a log, and what events of the recording itself say
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "error.h"
#include "event/shown.h"
#include "event/system_text.h"
#include "reader.h"

size_t posixtrace_log_show(const char *text, size_t length, char *to, size_t size)
{
	return shown_copy(to, size, text ? text : "", length);
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
