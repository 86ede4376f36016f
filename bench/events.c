/*
 * events.c - see events.h
 *
 * SPDX-License-Identifier: MIT
 */
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "rows.h"

#define PIECE ((size_t)256 << 10) /* for one write() or read(); the length of a segment of a log */

trace_event_id_t events_type[EVENTS_TYPES];
static trace_event_id_t large;

/* -- Data ------------------------------------------------------------------------------ */

const char *const data_name[DATA] = {
	[COUNTERS] = "counters", [POINTERS] = "pointers", [NUMBERS] = "small numbers",
	[REQUESTS] = "a request", [RANDOM] = "random",
};

unsigned char data[DATA][EVENTS_TABLE][EVENTS_LEN];
static unsigned char large_data[2 * EVENTS_LARGE_LEN];

uint64_t random_word(void)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

/* The first 8 bytes by themselves are data of the same kind. */
static void make_data(void)
{
	static const uint32_t steps[4] = { 1, 1, 64, 4096 };
	uint64_t counter[4] = { 1, 1000, 1 << 20, (uint64_t)3 << 33 }, object[64];
	struct { uint64_t serial; uint64_t object; uint32_t length, status; uint64_t duration; } request;

	/* Addresses as in a program that allocates some objects of different sizes. */
	for (int i = 0; i < 64; i++)
		object[i] = 0x5581c3a0b2a0u + (uint64_t)i * 0x1c0 + (random_word() % 8) * 16;
	for (int i = 0; i < EVENTS_TABLE; i++) {
		uint64_t word[4];
		uint32_t small[8];

		for (int w = 0; w < 4; w++) {
			counter[w] += steps[w] == 1 ? 1 : random_word() % steps[w];
			word[w] = counter[w];
		}
		memcpy(data[COUNTERS][i], word, sizeof word);
		for (int w = 0; w < 4; w++)
			word[w] = object[random_word() % 64];
		memcpy(data[POINTERS][i], word, sizeof word);
		for (int n = 0; n < 8; n++)
			small[n] = (uint32_t)(random_word() % 1000);
		memcpy(data[NUMBERS][i], small, sizeof small);
		request.serial = counter[0];
		request.object = object[random_word() % 64];
		request.length = (uint32_t)(random_word() % 16384);
		request.status = random_word() % 16 ? 200 : 404;
		request.duration = 2000 + random_word() % 60000;
		memcpy(data[REQUESTS][i], &request, sizeof request);
		for (int w = 0; w < 4; w++)
			word[w] = random_word();
		memcpy(data[RANDOM][i], word, sizeof word);
	}
	for (size_t i = 0; i < sizeof large_data; i += 8) {
		uint64_t word = random_word();

		memcpy(large_data + i, &word, 8);
	}
}

void events_begin(bool types)
{
	make_data();
	for (int i = 0; types && i < EVENTS_TYPES; i++) {
		char name[16];

		snprintf(name, sizeof name, "bench.%d", i);
		must(posix_trace_eventid_open(name, &events_type[i]), "posix_trace_eventid_open");
	}
	if (types)
		must(posix_trace_eventid_open("bench.large", &large), "posix_trace_eventid_open");
}

/* -- Files and the machine ------------------------------------------------------------------ */

int new_file(void)
{
	int fd = open(bench.directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char name[4096];

	if (fd >= 0)
		return fd;
	snprintf(name, sizeof name, "%s/bench-XXXXXX", bench.directory);
	fd = mkstemp(name);
	if (fd < 0)
		die("%s: %s", name, strerror(errno));
	unlink(name);
	return fd;
}

off_t size_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		die("fstat: %s", strerror(errno));
	return st.st_size;
}

static unsigned char piece[PIECE];

double read_all(int fd, clockid_t clock)
{
	double start;
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	start = seconds(clock);
	while ((n = read(fd, piece, sizeof piece)) > 0)
		;
	if (n < 0)
		die("read: %s", strerror(errno));
	return seconds(clock) - start;
}

double write_all(int like, bool sync)
{
	off_t left = size_of(like);
	int fd = new_file();
	double start;

	lseek(like, 0, SEEK_SET);
	if (read(like, piece, sizeof piece) <= 0)
		die("an empty log");
	start = seconds(CLOCK_MONOTONIC);
	while (left > 0) {
		ssize_t n = write(fd, piece, left < (off_t)sizeof piece ? (size_t)left : sizeof piece);

		if (n < 0)
			die("write: %s", strerror(errno));
		left -= n;
	}
	if (sync && fdatasync(fd) < 0)
		die("fdatasync: %s", strerror(errno));
	start = seconds(CLOCK_MONOTONIC) - start;
	close(fd);
	return start;
}

/* -- Streams and logs ------------------------------------------------------------------------ */

trace_id_t new_log(int fd, size_t stream_size)
{
	trace_attr_t attr;
	trace_id_t trid;

	if (ftruncate(fd, 0) < 0)
		die("ftruncate: %s", strerror(errno));
	must(posix_trace_attr_init(&attr), "posix_trace_attr_init");
	must(posix_trace_attr_setstreamsize(&attr, stream_size), "posix_trace_attr_setstreamsize");
	must(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND), "posix_trace_attr_setlogfullpolicy");
	must(posix_trace_attr_setmaxdatasize(&attr, EVENTS_LARGE_LEN), "posix_trace_attr_setmaxdatasize");
	must(posix_trace_create_withlog(0, &attr, fd, &trid), "posix_trace_create_withlog");
	posix_trace_attr_destroy(&attr);
	must(posix_trace_start(trid), "posix_trace_start");
	return trid;
}

double lost(trace_id_t trid)
{
	struct posix_trace_status_info status;

	must(posix_trace_get_status(trid, &status), "posix_trace_get_status");
	if (status.posix_stream_flush_error)
		die("the log cannot be written: %s", strerror(status.posix_stream_flush_error));
	return (double)status.__posix_lost_events;
}

double count_events(trace_id_t trid)
{
	struct posix_trace_event_info info;
	unsigned char buffer[EVENTS_LARGE_LEN];
	int unavailable;
	double n = 0;
	size_t len;

	for (;;) {
		must(posix_trace_getnext_event(trid, &info, buffer, sizeof buffer, &len, &unavailable),
		     "posix_trace_getnext_event");
		if (unavailable)
			return n;
		n += info.posix_event_id >= events_type[0];
	}
}

double open_log(int fd)
{
	struct posix_trace_event_info info;
	unsigned char buffer[EVENTS_LARGE_LEN];
	int unavailable;
	trace_id_t trid;
	size_t len;
	double start = seconds(CLOCK_MONOTONIC);

	must(posix_trace_open(fd, &trid), "posix_trace_open");
	must(posix_trace_getnext_event(trid, &info, buffer, sizeof buffer, &len, &unavailable),
	     "posix_trace_getnext_event");
	start = seconds(CLOCK_MONOTONIC) - start;
	must(posix_trace_close(trid), "posix_trace_close");
	if (unavailable)
		die("a log without an event");
	return start * 1e3;
}

void check_log(int fd, double expected)
{
	trace_id_t trid;
	double n;

	must(posix_trace_open(fd, &trid), "posix_trace_open");
	n = count_events(trid);
	must(posix_trace_close(trid), "posix_trace_close");
	if (n != expected)
		die("a log with %.0f events, not %.0f", n, expected);
}

void sleep_until(double t)
{
	struct timespec until = { (time_t)t, (long)((t - (double)(time_t)t) * 1e9) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

void pause_some(void)
{
	double until = seconds(CLOCK_MONOTONIC) + (double)(random_word() % 2000) * 1e-9;

	while (seconds(CLOCK_MONOTONIC) < until)
		;
}

void record_log(int fd, long events, enum data what, size_t len, bool apart)
{
	trace_id_t trid = new_log(fd, 8 * MIB);

	for (long i = 0; i < events; i++) {
		if (apart) {
			pause_some();
		} else if (i % 20000 == 19999) {
			must(posix_trace_flush(trid), "posix_trace_flush");
		}
		record((unsigned)i, what, len);
	}
	must(posix_trace_stop(trid), "posix_trace_stop");
	if (lost(trid) > 0)
		die("%s: %.0f of %ld events lost", data_name[what], lost(trid), events);
	must(posix_trace_shutdown(trid), "posix_trace_shutdown");
}

int large_log(long mib)
{
	const size_t each = 64;
	double events = (double)mib * MIB / (EVENTS_LARGE_LEN + 8);
	int fd = new_file();
	trace_id_t trid = new_log(fd, 8 * MIB);

	for (double n = 0; n < events; n += each) {
		for (size_t i = 0; i < each; i++)
			posix_trace_event(large, large_data + random_word() % EVENTS_LARGE_LEN, EVENTS_LARGE_LEN);
		must(posix_trace_flush(trid), "posix_trace_flush");
	}
	if (lost(trid) > 0)
		die("a log of %ld MiB lost events", mib);
	must(posix_trace_shutdown(trid), "posix_trace_shutdown");
	if (size_of(fd) < (off_t)((double)mib * MIB * 0.98))
		die("a log of %.0f MiB, not %ld", (double)size_of(fd) / MIB, mib);
	return fd;
}
