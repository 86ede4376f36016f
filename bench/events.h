/*
 * events.h - events with data like those of real programs, and logs of them
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
#define EVENTS_TABLE     1024 /* number of events with different data; then the data repeat */
#define EVENTS_LEN       32   /* longest data of all kinds but LARGE */
#define EVENTS_LARGE_LEN 4096 /* data of the events of large logs */

enum data { COUNTERS, POINTERS, NUMBERS, REQUESTS, RANDOM, DATA };

extern const char *const data_name[DATA];
extern unsigned char data[DATA][EVENTS_TABLE][EVENTS_LEN];
extern trace_event_id_t events_type[EVENTS_TYPES];

/* Makes the data, and opens the event types if types is set: only posix_trace_event() needs them. Call it first. */
void events_begin(bool types);
uint64_t random_word(void);

/* Records event number i, at one of four trace points in no regular order. */
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

/* Opens a file without a name, so that nothing is left in the directory however the benchmark ends. */
int new_file(void);
off_t size_of(int fd);
/* Returns the seconds on this clock to read() a whole file, in pieces of 256 KiB. */
double read_all(int fd, clockid_t clock);
/* Returns the seconds to write() as many bytes as a file has into a new file; with sync, until they are on the disk. */
double write_all(int like, bool sync);

/* Returns a running stream with a log in this file, policy APPEND. */
trace_id_t new_log(int fd, size_t stream_size);
/* Makes a log of this many events without loss: with pauses between them, or as fast as they can be flushed. */
void record_log(int fd, long events, enum data what, size_t len, bool apart);
/* Returns a log of this many MiB, with events that cannot be compressed. */
int large_log(long mib);

/* Returns the number of events that a stream has lost. Dies if its log could not be written. */
double lost(trace_id_t trid);
/* Returns the number of user events that are still to be read. */
double count_events(trace_id_t trid);
/* Dies if the log does not have the expected number of events. */
void check_log(int fd, double expected);

/* Returns the milliseconds from opening a log to its first event. */
double open_log(int fd);

/* Sleeps until this time. */
void sleep_until(double t);
/* Spins for up to two microseconds, by the clock. */
void pause_some(void);

#endif
