/*
 * clockcheck.c - is CLOCK_MONOTONIC of perf events the one that this process reads?
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernel/clockcheck.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/ticks.h"
#include "kernel/ring.h"

/* Makes the kernel record an event now, by setting the name of this thread to its present name. */
static void keep_name(void)
{
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, name);
}

/* Finds the time of the first record. Its last 8 bytes are the time, because nothing else was asked for. */
static bool find_time(const struct perf_event_mmap_page *page, size_t bytes, uint64_t *time)
{
	const unsigned char *at = (const unsigned char *)page + bytes;
	uint64_t head = load_acquire(&page->data_head);
	struct perf_event_header h;

	memcpy(&h, at, sizeof h);
	if (head < sizeof h || h.size < sizeof h + sizeof *time || h.size > head)
		return false;
	memcpy(time, at + h.size - sizeof *time, sizeof *time);
	return true;
}

int64_t clockcheck(bool *known)
{
	struct perf_event_attr attr = {
		.size = sizeof attr, .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1,
		.comm = 1, .sample_type = PERF_SAMPLE_TIME, .sample_id_all = 1, .use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	int fd = ring_open_event(&attr, 0, -1);
	uint64_t before, after, time = 0;
	void *page;

	*known = false;
	if (fd < 0)
		return 0;
	page = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		close(fd);
		return 0;
	}
	before = (uint64_t)clock_ns(CLOCK_MONOTONIC);
	keep_name();
	after = (uint64_t)clock_ns(CLOCK_MONOTONIC);
	*known = find_time(page, bytes, &time);
	time += (uint64_t)ring_clock_offset();
	munmap(page, 2 * bytes);
	close(fd);
	if (!*known || (time >= before && time <= after))
		return 0;
	return time < before ? -(int64_t)(before - time) : (int64_t)(time - after);
}
