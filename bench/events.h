/*
 * events.h - events with data like those of real programs, logs of them, and the files that these are in
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BENCH_EVENTS_H
#define BENCH_EVENTS_H

#include <trace.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define EVENTS_TYPES     4
#define EVENTS_TABLE     1024 /* data of so many events, again and again */
#define EVENTS_LEN       32   /* the longest ones but LARGE */
#define EVENTS_LARGE_LEN 4096 /* data of the events of large logs */

enum data { COUNTERS, POINTERS, NUMBERS, REQUESTS, RANDOM, DATA };

extern const char *const data_name[DATA];
extern unsigned char data[DATA][EVENTS_TABLE][EVENTS_LEN];
extern trace_event_id_t events_type[EVENTS_TYPES];

/* Makes the data; opens the types too, unless nothing is recorded with posix_trace_event(). First of all. */
void events_begin(bool types);
uint64_t random_word(void);

/* Event number i. Four trace points, each somewhere else, in no regular order. */
static inline void record(unsigned i, enum data what, size_t len)
{
	const void *bytes = data[what][i % EVENTS_TABLE];

	switch (i * 2654435761u >> 30) {
	case 0:
		posix_trace_event(events_type[0], bytes, len);
		break;
	case 1:
		posix_trace_event(events_type[1], bytes, len);
		break;
	case 2:
		posix_trace_event(events_type[2], bytes, len);
		break;
	default:
		posix_trace_event(events_type[3], bytes, len);
		break;
	}
}

/* Files have no name, so nothing stays behind however this ends. */
int new_file(void);
off_t size_of(int fd);
/* Seconds on this clock to read() all of a file, in pieces of 256 KiB. */
double read_all(int fd, clockid_t clock);
/* Seconds to write() as much as a file has into a new one; also until it is on the disk. */
double write_all(int like, bool sync);

/* A running stream with a log in this file, APPEND. */
trace_id_t new_log(int fd, size_t stream_size);
/* A log of so many events, none of them lost: at some distance from each other, or as fast as they can be flushed. */
void record_log(int fd, long events, enum data what, size_t len, bool apart);
/* A log of so many MiB of events that cannot be made smaller. */
int large_log(long mib);

/* Events that a stream has lost; dies if its log could not be written. */
double lost(trace_id_t trid);
/* Our events that are still to come. */
double count_events(trace_id_t trid);
/* Dies if the log has not as many. */
void check_log(int fd, double expected);

/* Milliseconds until the first event of a log is there. */
double open_log(int fd);

/* Waits. */
void sleep_until(double t);
/* A pause of up to two microseconds, by the clock. */
void pause_some(void);

#endif
