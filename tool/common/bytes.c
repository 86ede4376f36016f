/*
 * bytes.c - how many bytes, for people
 *
 * SPDX-License-Identifier: MIT
 */
#include "common/bytes.h"

#include <stdio.h>

static const char units[] = "KMGTPE";

/*
 * Scales to the largest unit not above the size; unit 0: bytes, else units[unit - 1]. A number that would be rounded up
 * to 1024 takes the next unit.
 */
static double scaled(uint64_t bytes, unsigned *unit)
{
	double n = (double)bytes;

	for (*unit = 0; n >= (*unit ? 1023.5 : 1024) && *unit < sizeof units - 1; (*unit)++)
		n /= 1024;
	return n;
}

char *bytes_text(char *text, uint64_t bytes)
{
	unsigned unit;
	double n = scaled(bytes, &unit);

	if (unit == 0)
		snprintf(text, 16, "%u bytes", (unsigned)bytes);
	else
		snprintf(text, 16, "%.*f %ciB", n < 99.95 && n != (double)(unsigned)n ? 1 : 0, n, units[unit - 1]);
	return text;
}

char *bytes_short(char *text, uint64_t bytes)
{
	unsigned unit;
	double n = scaled(bytes, &unit);

	if (unit == 0)
		snprintf(text, 16, "%u", (unsigned)bytes);
	else
		snprintf(text, 16, "%.*f%c", n < 9.95 ? 1 : 0, n, units[unit - 1]);
	return text;
}
