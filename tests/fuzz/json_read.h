/*
 * json_read.h - a reader of JSON that allows nothing else
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef JSON_READ_H
#define JSON_READ_H

#include <stddef.h>
#include <string.h>

#include "must.h"
#include "base/utf8.h"

static inline const char *json_value(const char *p, unsigned depth);

static inline const char *json_blanks(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

static inline const char *json_digits(const char *p)
{
	MUST(*p >= '0' && *p <= '9');
	while (*p >= '0' && *p <= '9')
		p++;
	return p;
}

static inline const char *json_quoted(const char *p)
{
	MUST(*p++ == '"');
	while (*p != '"') {
		size_t n = utf8_length((const unsigned char *)p, strlen(p));

		MUST((unsigned char)*p >= 0x20 && n > 0);
		if (*p != '\\') {
			p += n;
			continue;
		}
		MUST(strchr("\"\\/bfnrtu", p[1]) && p[1]);
		if (p[1] == 'u')
			for (int i = 2; i < 6; i++)
				MUST(strchr("0123456789abcdefABCDEF", p[i]) && p[i]);
		p += p[1] == 'u' ? 6 : 2;
	}
	return p + 1;
}

static inline const char *json_items(const char *p, char end, unsigned depth)
{
	p = json_blanks(p);
	if (*p == end)
		return p + 1;
	for (;;) {
		if (end == '}') {
			p = json_blanks(json_quoted(json_blanks(p)));
			MUST(*p++ == ':');
		}
		p = json_blanks(json_value(json_blanks(p), depth + 1));
		if (*p == end)
			return p + 1;
		MUST(*p++ == ',');
	}
}

static inline const char *json_value(const char *p, unsigned depth)
{
	static const char *const words[] = { "true", "false", "null" };

	MUST(depth < 32);
	if (*p == '{' || *p == '[')
		return json_items(p + 1, *p == '{' ? '}' : ']', depth);
	if (*p == '"')
		return json_quoted(p);
	for (unsigned i = 0; i < 3; i++)
		if (strncmp(p, words[i], strlen(words[i])) == 0)
			return p + strlen(words[i]);
	p += *p == '-';
	p = *p == '0' ? p + 1 : json_digits(p);
	if (*p == '.')
		p = json_digits(p + 1);
	if (*p == 'e' || *p == 'E') {
		p++;
		p = json_digits(p + (*p == '+' || *p == '-'));
	}
	return p;
}

/* Reads one value at the beginning of a null-terminated text. Returns its end. */
static inline const char *json_read(const char *text)
{
	return json_value(text, 0);
}

#endif
