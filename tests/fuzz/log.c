/*
 * log.c - fuzzes <trace.h> with arbitrary bytes as a log: opens it, reads it, and makes all queries
 *
 * For libFuzzer (script/fuzz); with replay.c it is a program that repeats the inputs found. A violation ends the
 * program.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz.h"
#include "must.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <trace.h>
#include <unistd.h>

#define DATA_MAX 65535

static trace_id_t trid;

/* -- Events ------------------------------------------------------------------------------ */

/* A checksum of what was read. */
struct sum {
	uint64_t events;
	uint64_t sum;
};

static uint64_t mix(uint64_t sum, uint64_t value)
{
	sum = (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return sum ^ sum >> 29;
}

/* Reads the next event, with at most `size` bytes of its data, into memory of that size. Returns 0 if there is none. */
static int next(struct posix_trace_event_info *e, unsigned char *data, size_t size, size_t *length)
{
	int unavailable = 4711;

	memset(e, 0xee, sizeof *e);
	*length = SIZE_MAX;
	MUST(posix_trace_getnext_event(trid, e, data, size, length, &unavailable) == 0);
	if (unavailable)
		return 0;
	MUST(e->posix_event_id >= 1 && e->posix_event_id < 8128);
	MUST(e->posix_timestamp.tv_sec >= 0 && e->posix_timestamp.tv_nsec >= 0 &&
	     e->posix_timestamp.tv_nsec < 1000000000);
	MUST(*length <= size && *length <= DATA_MAX);
	MUST(e->posix_truncation_status == POSIX_TRACE_NOT_TRUNCATED ||
	     e->posix_truncation_status == POSIX_TRACE_TRUNCATED_RECORD ||
	     (e->posix_truncation_status == POSIX_TRACE_TRUNCATED_READ && *length == size));
	return 1;
}

static uint64_t mix_event(uint64_t sum, const struct posix_trace_event_info *e)
{
	sum = mix(sum, e->posix_event_id);
	sum = mix(sum, (uint32_t)e->posix_pid | (uint64_t)(uint32_t)e->__posix_kernel_tid << 32);
	sum = mix(sum, (uintptr_t)e->posix_prog_address);
	sum = mix(sum, (uint64_t)e->posix_thread_id);
	return mix(sum, (uint64_t)e->posix_timestamp.tv_sec * 1000000000 + (uint64_t)e->posix_timestamp.tv_nsec);
}

static struct sum read_all(unsigned char *data)
{
	struct posix_trace_event_info e;
	struct sum s = { 0, 0 };
	size_t length;

	while (next(&e, data, DATA_MAX, &length)) {
		s.events++;
		s.sum = mix(mix_event(s.sum, &e), (uint64_t)e.posix_truncation_status);
		for (size_t i = 0; i < length; i++)
			s.sum = mix(s.sum, data[i]);
	}
	MUST(!next(&e, data, DATA_MAX, &length));
	return s;
}

static void read_events(unsigned char *data)
{
	struct sum first = read_all(data), again;
	struct posix_trace_event_info e;
	size_t length, little = first.events % 40;
	unsigned char *short_data = malloc(little ? little : 1);

	MUST(short_data);
	/* Rewind from the middle, and read with short buffers; then read everything again. */
	MUST(posix_trace_rewind(trid) == 0);
	for (uint64_t i = 0; i < first.events; i++)
		MUST(next(&e, short_data, little, &length));
	MUST(!next(&e, short_data, little, &length));
	MUST(posix_trace_rewind(trid) == 0);
	for (uint64_t i = 0; i < first.events / 2; i++)
		MUST(next(&e, NULL, 0, &length));
	MUST(posix_trace_rewind(trid) == 0);
	again = read_all(data);
	MUST(again.events == first.events && again.sum == first.sum);
	free(short_data);
}

/* -- Other queries -------------------------------------------------------------------------- */

static void read_attributes(void)
{
	char *name = malloc(TRACE_NAME_MAX), *version = malloc(TRACE_NAME_MAX);
	int stream_policy, log_policy, inheritance;
	struct timespec created, resolution;
	size_t size;
	trace_attr_t attr;

	MUST(name && version);
	MUST(posix_trace_get_attr(trid, &attr) == 0);
	MUST(posix_trace_attr_getname(&attr, name) == 0 && strlen(name) < TRACE_NAME_MAX);
	MUST(posix_trace_attr_getgenversion(&attr, version) == 0 && strlen(version) < TRACE_NAME_MAX);
	MUST(posix_trace_attr_getcreatetime(&attr, &created) == 0);
	/* After 2038, 32-bit seconds are negative. */
	MUST((created.tv_sec >= 0 || sizeof created.tv_sec == 4) && created.tv_nsec >= 0 &&
	     created.tv_nsec < 1000000000);
	MUST(posix_trace_attr_getclockres(&attr, &resolution) == 0);
	MUST(resolution.tv_sec >= 0 && resolution.tv_nsec >= 0 && resolution.tv_nsec < 1000000000);
	MUST(posix_trace_attr_getstreamsize(&attr, &size) == 0);
	MUST(posix_trace_attr_getlogsize(&attr, &size) == 0);
	MUST(posix_trace_attr_getmaxdatasize(&attr, &size) == 0 && size <= DATA_MAX);
	MUST(posix_trace_attr_getstreamfullpolicy(&attr, &stream_policy) == 0);
	MUST(stream_policy == POSIX_TRACE_LOOP || stream_policy == POSIX_TRACE_UNTIL_FULL ||
	     stream_policy == POSIX_TRACE_FLUSH);
	MUST(posix_trace_attr_getlogfullpolicy(&attr, &log_policy) == 0);
	MUST(log_policy == POSIX_TRACE_LOOP || log_policy == POSIX_TRACE_UNTIL_FULL ||
	     log_policy == POSIX_TRACE_APPEND);
	MUST(posix_trace_attr_getinherited(&attr, &inheritance) == 0);
	MUST(inheritance == POSIX_TRACE_CLOSE_FOR_CHILD || inheritance == POSIX_TRACE_INHERITED);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	free(name);
	free(version);
}

static void read_types(void)
{
	char *name = malloc(TRACE_EVENT_NAME_MAX + 1);
	trace_event_id_t id;
	int unavailable = 0;
	unsigned count = 0;

	MUST(name);
	for (;;) {
		MUST(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable) == 0);
		if (unavailable)
			break;
		count++;
		MUST(id >= 1 && id < 8128);
		MUST(posix_trace_eventid_get_name(trid, id, name) == 0 && strlen(name) <= TRACE_EVENT_NAME_MAX);
	}
	MUST(count >= 9 && count <= 8127); /* at least the predefined types */
	MUST(posix_trace_eventtypelist_rewind(trid) == 0);
	MUST(posix_trace_eventid_get_name(trid, 0, name) == EINVAL);
	MUST(posix_trace_eventid_get_name(trid, 8128, name) == EINVAL);
	MUST(posix_trace_eventid_get_name(trid, UINT32_MAX, name) == EINVAL);
	free(name);
}

static void read_status(void)
{
	struct posix_trace_status_info s;

	MUST(posix_trace_get_status(trid, &s) == 0);
	MUST(s.posix_stream_status == POSIX_TRACE_SUSPENDED && s.posix_stream_flush_status == POSIX_TRACE_NOT_FLUSHING);
	MUST(s.posix_stream_full_status == POSIX_TRACE_FULL || s.posix_stream_full_status == POSIX_TRACE_NOT_FULL);
	MUST(s.posix_stream_overrun_status == POSIX_TRACE_OVERRUN ||
	     s.posix_stream_overrun_status == POSIX_TRACE_NO_OVERRUN);
	MUST(s.posix_log_full_status == POSIX_TRACE_FULL || s.posix_log_full_status == POSIX_TRACE_NOT_FULL);
	MUST(s.posix_log_overrun_status == POSIX_TRACE_OVERRUN || s.posix_log_overrun_status == POSIX_TRACE_NO_OVERRUN);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static unsigned char *data;
	int fd = memfd_create("fuzz", MFD_CLOEXEC), error;

	/* On the heap, so that an access beyond the end is noticed. */
	if (!data)
		data = malloc(DATA_MAX);
	MUST(data && fd >= 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size);
	trid = 4711;
	error = posix_trace_open(fd, &trid);
	MUST(error == 0 || error == EINVAL);
	if (error == 0) {
		read_attributes();
		read_types();
		read_status();
		read_events(data);
		read_status();
		MUST(posix_trace_close(trid) == 0);
	} else {
		MUST(trid == 4711);
	}
	MUST(lseek(fd, 0, SEEK_CUR) == 0);
	MUST(close(fd) == 0);
	return 0;
}
