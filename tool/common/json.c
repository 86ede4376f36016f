/*
 * json.c - JSON to standard output
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/json.h"

#include <math.h>
#include <string.h>
#include <wchar.h>

#include "common/out.h"
#include "base/utf8.h"

/* For each level a bit: a comma comes before the next item. */
static uint64_t filled;

static void separate(void)
{
	if (filled & 1)
		out_char(',');
	filled |= 1;
}

void json_begin(char bracket)
{
	separate();
	out_char(bracket);
	filled <<= 1;
}

void json_end(char bracket)
{
	out_char(bracket);
	filled >>= 1;
}

static void put_string(const char *text, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;

	out_char('"');
	for (size_t i = 0; i < size;) {
		size_t n = 0;

		/* Prints runs of plain characters at once. */
		while (i + n < size && p[i + n] >= 0x20 && p[i + n] < 0x7f && p[i + n] != '"' && p[i + n] != '\\')
			n++;
		if (n > 0) {
			out_bytes(text + i, n);
			i += n;
			continue;
		}
		n = utf8_length(p + i, size - i);
		if (n == 0) {
			out_text("\xef\xbf\xbd");
			n = 1;
		} else if (p[i] == '"' || p[i] == '\\') {
			out_char('\\');
			out_char(text[i]);
		} else if (p[i] < 0x20 || p[i] == 0x7f) {
			out_printf("\\u%04x", p[i]);
		} else if (p[i] == 0xc2 && p[i + 1] < 0xa0) {
			/* A terminal may take U+0080 to U+009F for commands, too. */
			out_printf("\\u%04x", p[i + 1]);
		} else {
			out_bytes(text + i, n);
		}
		i += n;
	}
	out_char('"');
}

void json_key(const char *key)
{
	separate();
	put_string(key, strlen(key));
	out_char(':');
	/* A value is not an item of its own. */
	filled &= ~(uint64_t)1;
}

void json_text(const char *text, size_t size)
{
	separate();
	put_string(text, size);
}

void json_string(const char *text)
{
	json_text(text, strlen(text));
}

void json_number(uint64_t n)
{
	separate();
	out_number(n, 0);
}

void json_signed(int64_t n)
{
	separate();
	out_signed(n, 0);
}

void json_difference(uint64_t a, uint64_t b)
{
	separate();
	out_difference(a, b);
}

void json_real(double n)
{
	separate();
	/* JSON has no infinities. */
	if (isfinite(n))
		out_printf("%.17g", n);
	else
		out_text("null");
}

void json_hex(uint64_t n)
{
	separate();
	out_char('"');
	out_hex(n);
	out_char('"');
}

void json_thousandths(int64_t n)
{
	uint64_t size = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	separate();
	if (n < 0)
		out_char('-');
	out_number(size / 1000, 0);
	out_char('.');
	out_digits(size % 1000, 3);
}

void json_bool(bool b)
{
	separate();
	out_text(b ? "true" : "false");
}

void json_null(void)
{
	separate();
	out_text("null");
}

void json_done(void)
{
	out_char('\n');
	filled = 0;
}
