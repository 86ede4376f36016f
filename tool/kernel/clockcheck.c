/*
 * clockcheck.c - how exact the times of perf events are, on the clock that this process reads
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernel/clockcheck.h"

#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "common/unaligned.h"
#include "kernel/buffer.h"
#include "kernel/ring.h"

#define TRIES 8

/* Makes the kernel record an event now, by setting the name of this thread to its present name. */
static void keep_name(void)
{
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, name);
}

/* Makes one record, and compares its time with the clock. Returns false if there is no record. */
static bool try(struct buffer *b, int64_t offset, struct clock_check *c)
{
	int64_t before = clock_ns(CLOCK_MONOTONIC), after, time;
	const struct perf_event_header *h;

	keep_name();
	after = clock_ns(CLOCK_MONOTONIC);
	h = buffer_next(b);
	if (!h || h->size < sizeof *h + sizeof time)
		return false;
	/* Its last 8 bytes are the time, because nothing else was asked for. */
	time = (int64_t)unaligned_u64((const unsigned char *)h + h->size - sizeof time) + offset;
	c->off = time < before ? time - before : time > after ? time - after : 0;
	c->bound = (uint64_t)(after - before) + (uint64_t)(c->off < 0 ? -c->off : c->off);
	return true;
}

bool clock_check(struct clock_check *c)
{
	struct perf_event_attr attr = {
		.size = sizeof attr, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1,
		.comm = 1, .sample_type = PERF_SAMPLE_TIME, .sample_id_all = 1, .use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	int fd = ring_open_event(&attr, 0, -1);
	int64_t offset = ring_clock_offset();
	struct clock_check one;
	struct buffer b;
	bool known = false;

	if (fd < 0)
		return false;
	if (buffer_map(&b, fd, (size_t)sysconf(_SC_PAGESIZE)) == 0) {
		for (unsigned i = 0; i < TRIES && try(&b, offset, &one); i++) {
			if (!known || one.bound < c->bound)
				*c = one;
			known = true;
		}
		buffer_unmap(&b);
	}
	close(fd);
	return known;
}
