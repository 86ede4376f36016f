/*
 * moment.c - times of events, as people write and read them
 *
 * SPDX-License-Identifier: MIT
 */
/* Logs have times after 2038 as well, where a time_t has 32 bits. */
#define _TIME_BITS 64

#include "common/moment.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ticks.h"
#include "common/out.h"

/* -- Reading ------------------------------------------------------------------------------ */

bool moment_parse_duration(const char *text, long double *ns)
{
	static const struct {
		const char *name;
		long double ns;
	} units[] = {
		{ "", 1e9L }, { "s", 1e9L }, { "ms", 1e6L }, { "us", 1e3L }, { "ns", 1 }, { "m", 60e9L },
		        { "min", 60e9L }, { "h", 3600e9L },
	};
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	*ns = strtold(text, &end);
	/* strtold() also accepts 0x10 and 1e3. */
	if (end == text || end != text + strspn(text, "0123456789."))
		return false;
	while (*end == ' ')
		end++;
	for (unsigned i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strcmp(end, units[i].name) == 0) {
			*ns *= units[i].ns;
			return true;
		}
	return false;
}

/* Parses exactly `digits` digits, a number of at most `most`. Returns the text after it, or null. */
static const char *parse_digits(const char *p, int digits, int most, int *n)
{
	*n = 0;
	for (int i = 0; i < digits; i++, p++) {
		if (!isdigit((unsigned char)*p))
			return NULL;
		*n = *n * 10 + (*p - '0');
	}
	return *n <= most ? p : NULL;
}

/* Parses 14:30[:05[.123]][Z]. utc null: a Z must not follow. */
static bool parse_clock(const char *p, struct tm *tm, int *ns, bool *utc)
{
	*ns = 0;
	tm->tm_sec = 0;
	p = parse_digits(p, 2, 23, &tm->tm_hour);
	p = p && *p == ':' ? parse_digits(p + 1, 2, 59, &tm->tm_min) : NULL;
	if (p && *p == ':')
		p = parse_digits(p + 1, 2, 60, &tm->tm_sec);
	if (p && *p == '.' && isdigit((unsigned char)p[1])) {
		int unit = 100000000;

		for (p++; isdigit((unsigned char)*p); p++, unit /= 10)
			*ns += (*p - '0') * unit;
	}
	if (p && utc && *p == 'Z') {
		*utc = true;
		p++;
	}
	return p && !*p;
}

/* Returns the number of days of a month, from 1 on. */
static int days_of(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

/* Parses 2026-11-21. Returns the text after it, or null. */
static const char *parse_date(const char *p, struct tm *tm)
{
	p = parse_digits(p, 4, 9999, &tm->tm_year);
	p = p && *p == '-' ? parse_digits(p + 1, 2, 12, &tm->tm_mon) : NULL;
	p = p && *p == '-' ? parse_digits(p + 1, 2, 31, &tm->tm_mday) : NULL;
	if (!p || tm->tm_mon < 1 || tm->tm_mday < 1 || tm->tm_mday > days_of(tm->tm_year, tm->tm_mon))
		return NULL;
	tm->tm_year -= 1900;
	tm->tm_mon--;
	return p;
}

bool moment_parse(const char *text, uint64_t begin, uint64_t *time)
{
	time_t day = (time_t)(begin / NS_PER_S), at;
	struct tm tm = { 0 };
	long double after;
	const char *p;
	bool utc = false;
	int ns = 0;

	if (moment_parse_duration(text, &after)) {
		uint64_t size;

		if (after >= DURATION_MAX)
			return false;
		size = (uint64_t)llroundl(after);
		*time = size < UINT64_MAX - begin ? begin + size : UINT64_MAX;
		return true;
	}
	p = parse_date(text, &tm);
	if (!p) {
		if (!localtime_r(&day, &tm) || !parse_clock(text, &tm, &ns, NULL))
			return false;
	} else if (*p == ' ' || *p == 'T') {
		if (!parse_clock(p + 1, &tm, &ns, &utc))
			return false;
	} else if (*p) {
		return false;
	}
	/* Let mktime() find out about summer time. */
	tm.tm_isdst = -1;
	tm.tm_wday = -1;
	at = utc ? timegm(&tm) : mktime(&tm);
	/* -1 is a valid time if mktime() has set the weekday. */
	if (at == (time_t)-1 && tm.tm_wday < 0)
		return false;
	/* Times outside the range of nanoseconds since the Epoch are before or after all events. */
	if (at < 0)
		*time = 0;
	else if ((uint64_t)at >= UINT64_MAX / NS_PER_S)
		*time = UINT64_MAX;
	else
		*time = (uint64_t)at * NS_PER_S + (uint64_t)ns;
	return true;
}

/* -- Printing ------------------------------------------------------------------------------- */

void moment_print(uint64_t time)
{
	static uint64_t shown = UINT64_MAX;
	static char text[32];
	static size_t length;
	uint64_t second = time / NS_PER_S;

	if (second != shown) {
		time_t t = (time_t)second;
		struct tm tm;

		shown = second;
		length = localtime_r(&t, &tm) ? strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S.", &tm) : 0;
	}
	out_bytes(text, length);
	out_digits(time - second * NS_PER_S, 9);
}

char *moment_utc(char *text, uint64_t time)
{
	time_t t = (time_t)(time / NS_PER_S);
	struct tm tm;

	if (!gmtime_r(&t, &tm) || strftime(text, 40, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		*text = 0;
	return text;
}

int64_t moment_difference(uint64_t time, uint64_t since)
{
	if (time < since)
		return since - time > INT64_MAX ? INT64_MIN : -(int64_t)(since - time);
	return time - since > INT64_MAX ? INT64_MAX : (int64_t)(time - since);
}

void moment_print_seconds(uint64_t time, uint64_t since, int width)
{
	uint64_t size = time < since ? since - time : time - since, seconds = size / NS_PER_S;
	int before = width > 10 ? width - 10 : 0;

	if (time >= since)
		out_number(seconds, before);
	else if (seconds > 0)
		out_signed(-(int64_t)seconds, before);
	else
		out_printf("%*s", before, "-0");
	out_char('.');
	out_digits(size - seconds * NS_PER_S, 9);
}

/* Prints three digits without trailing zeroes. */
static void below_a_minute(char *text, double n)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	unsigned unit = 0;
	size_t length;

	for (; n >= 999.5 && unit < 3; unit++)
		n /= 1000;
	snprintf(text, 16, "%.*f", unit == 0 || n >= 99.95 ? 0 : n >= 9.995 ? 1 : 2, n);
	length = strlen(text);
	if (strchr(text, '.')) {
		while (text[length - 1] == '0')
			length--;
		if (text[length - 1] == '.')
			length--;
	}
	snprintf(text + length, 16 - length, " %s", units[unit]);
}

char *moment_duration(char *text, uint64_t ns)
{
	const unsigned long long s = ns / NS_PER_S, day = 24 * 3600;

	if (s >= day)
		sprintf(text, "%llu d %llu h", s / day, s / 3600 % 24);
	else if (s >= 3600)
		sprintf(text, "%llu h %llu min", s / 3600, s / 60 % 60);
	else if (s >= 60)
		sprintf(text, "%llu min %llu s", s / 60, s % 60);
	else
		below_a_minute(text, (double)ns);
	return text;
}
