/*
 * utf8.c - recognises UTF-8 in any locale
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

size_t utf8_length(const unsigned char *p, size_t size)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 :
	           p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;
	uint32_t c = n > 1 ? p[0] & (0x7fu >> n) : p[0];

	if (n == 0 || n > size)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	return n > 1 && (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) ? 0 : n;
}

static bool control(const unsigned char *p)
{
	return p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
}

bool utf8_harmless(const unsigned char *p, size_t size, const char *also, bool *ascii)
{
	for (size_t i = 0, n; i < size; i += n) {
		n = utf8_length(p + i, size - i);
		if (n == 0 || (control(p + i) && (p[i] == 0 || !strchr(also, p[i]))))
			return false;
		if (ascii)
			*ascii &= n == 1;
	}
	return true;
}
