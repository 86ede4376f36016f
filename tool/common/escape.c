/*
 * escape.c - text from elsewhere, as it may be printed
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/escape.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Characters that cannot be seen, or that change the direction of writing, so that text can look like other text. The
 * page of view has the same list (view/page/text.mjs).
 */
static const struct {
	uint32_t first, last;
} unseen[] = {
	{ 0x0080, 0x009f }, { 0x00ad, 0x00ad }, { 0x061c, 0x061c }, { 0x115f, 0x1160 }, { 0x180e, 0x180e },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 }, { 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe03ff },
};

static bool is_unseen(wchar_t c)
{
	for (unsigned i = 0; i < sizeof unseen / sizeof unseen[0]; i++)
		if ((uint32_t)c >= unseen[i].first && (uint32_t)c <= unseen[i].last)
			return true;
	return false;
}

/* Writes one character; *size: bytes left, then bytes read. Returns the number of bytes written. */
size_t escape_next(char *to, const char *text, size_t *size, mbstate_t *state, int *columns)
{
	unsigned char c = (unsigned char)*text;
	wchar_t wide;
	size_t n;

	if (c >= 0x20 && c < 0x7f) {
		*to = *text;
		*columns += 1;
		return *size = 1;
	}
	n = c < 0x80 ? 0 : mbrtowc(&wide, text, *size, state);
	if (n > 0 && n < (size_t)-2 && wcwidth(wide) >= 0 && !is_unseen(wide)) {
		memcpy(to, text, n);
		*columns += wcwidth(wide);
		return *size = n;
	}
	memset(state, 0, sizeof *state);
	to[0] = '\\';
	to[1] = 'x';
	to[2] = "0123456789abcdef"[c >> 4];
	to[3] = "0123456789abcdef"[c & 15];
	*columns += 4;
	*size = 1;
	return 4;
}

size_t escape_text(char *to, const char *text, size_t size, int *columns)
{
	mbstate_t state = { 0 };
	char *end = to;

	for (size_t i = 0, n; i < size; i += n) {
		n = size - i;
		end += escape_next(end, text + i, &n, &state, columns);
	}
	return (size_t)(end - to);
}
