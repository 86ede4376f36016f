/*
 * peer.c - events of LTTng-UST, at a steady rate or in a given number
 *
 * peers.py makes sessions that record the events. It runs this program alternately with bench-disk, bench-size and
 * bench-read, which have the same events.
 *
 *     bench-peer rate LENGTH RATE SECONDS     RATE events per second
 *     bench-peer apart LENGTH DATA EVENTS     about one event per microsecond; DATA as in bench-size
 *     bench-peer flushed LENGTH DATA EVENTS   slow enough for any session
 *
 * Prints the number of events and the seconds that they took.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "common.h"
#include "events.h"
#include "lttng.h"
#include "rows.h"

#define TICK 100e-6 /* as in disk.c */

/* Records at a steady rate like bench-disk. */
static double steady(size_t len, double rate, double time)
{
	enum data what = len == 8 ? COUNTERS : REQUESTS;
	double start = seconds(CLOCK_MONOTONIC), now = start, next = start, owed = 0;
	unsigned n = 0;

	prctl(PR_SET_TIMERSLACK, 1);
	for (; now - start < time; now = seconds(CLOCK_MONOTONIC)) {
		unsigned until;

		next = now > next + 10 * TICK ? now : next + TICK;
		sleep_until(next);
		owed += rate * TICK;
		until = n + (unsigned)owed;
		owed -= (unsigned)owed;
		for (; n < until; n++)
			lttng_event(data[what][n % EVENTS_TABLE], len);
	}
	return n;
}

static enum data kind(const char *name)
{
	for (enum data what = 0; what < DATA; what++)
		if (strcmp(data_name[what], name) == 0)
			return what;
	die("%s: no such data", name);
}

static double some(size_t len, enum data what, long events, bool apart)
{
	for (long i = 0; i < events; i++) {
		if (apart)
			pause_some();
		else if (i % 1000 == 999)
			sleep_until(seconds(CLOCK_MONOTONIC) + 1e-3);
		lttng_event(data[what][i % EVENTS_TABLE], len);
	}
	return (double)events;
}

int main(int argc, char **argv)
{
	double start, events;
	size_t len;

	if (argc != 5)
		die("usage: %s rate LENGTH RATE SECONDS | apart | flushed LENGTH DATA EVENTS", argv[0]);
	len = strtoul(argv[2], NULL, 10);
	if (!lttng_has(len))
		die("no trace point for %zu bytes", len);
	if (!lttng_records(len))
		die("no session of LTTng records these events");
	events_begin(false);
	start = seconds(CLOCK_MONOTONIC);
	if (strcmp(argv[1], "rate") == 0)
		events = steady(len, strtod(argv[3], NULL), strtod(argv[4], NULL));
	else
		events = some(len, kind(argv[3]), strtol(argv[4], NULL, 10), strcmp(argv[1], "apart") == 0);
	printf("%.0f %.6f\n", events, seconds(CLOCK_MONOTONIC) - start);
	return 0;
}
