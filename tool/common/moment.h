/*
 * moment.h - times of events, as people write and read them
 *
 *     absolute   2026-11-21 14:30:05.123456789, local time
 *     relative   seconds since the beginning of the log: 1.500000000
 *     delta      seconds since the line before
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MOMENT_H
#define MOMENT_H

#include <stdbool.h>
#include <stdint.h>

/* Limit of durations in ns, below which they fit into an integer. */
#define DURATION_MAX 9e18L

/*
 * Parses 1.5s, 500 ms, 20us, 100ns, 2m, 2min, 1h, or a number of seconds: decimal digits, no sign, no exponent. Returns
 * false if the text is nothing like this.
 */
bool moment_parse_duration(const char *text, long double *ns);
/*
 * Parses a time: 1.5s, 500ms or a number alone is relative to begin; 14:30:05[.123] is on the day of begin; 2026-11-21
 * [14:30[:05[.123]][Z]], also with a T instead of the blank, is absolute. Local time, with a Z UTC. *time: ns of
 * CLOCK_REALTIME; 0 and UINT64_MAX stand for all times out of range. Returns false if the text is no time.
 */
bool moment_parse(const char *text, uint64_t begin, uint64_t *time);
/* Prints a local time to out.h. Fast for consecutive times that are close together. */
void moment_print(uint64_t time);
/* Formats a time in UTC, 2026-11-21T21:05:05Z, in text of at least 40 bytes. Returns text. */
char *moment_utc(char *text, uint64_t time);
/* Returns the nanoseconds between two times, or the nearest number that the type has. */
int64_t moment_difference(uint64_t time, uint64_t since);
/* Prints the seconds between two times with nine digits, right-aligned in a column of this width. May be negative. */
void moment_print_seconds(uint64_t time, uint64_t since, int width);
/* Formats a duration for people: 1.5 ms, 20 us, 3 ns, 2 min 5 s. text has at least 16 bytes. Returns text. */
char *moment_duration(char *text, uint64_t ns);

#endif
