/*
 * ticks.c - the clock of trace events: which one, and conversion
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/ticks.h"

#include <fcntl.h>
#include <string.h>

#include "base/sys.h"

uint32_t ticks_kind(void)
{
#if defined __x86_64__ || defined __i386__
	/* The kernel has tested the counter for us, and marks it unstable where it is not. */
	char name[16] = "";
	int fd = sys_open(AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY, 0);

	if (fd < 0)
		return CLOCK_KIND_MONOTONIC;
	if (sys_read(fd, name, sizeof name - 1) < 0)
		name[0] = 0;
	sys_close(fd);
	return strcmp(name, "tsc\n") == 0 ? CLOCK_KIND_COUNTER : CLOCK_KIND_MONOTONIC;
#elif defined __aarch64__
	return CLOCK_KIND_COUNTER; /* architected: one rate, all processors alike */
#else
	return CLOCK_KIND_MONOTONIC;
#endif
}

struct anchor anchor_now(uint32_t kind)
{
	struct anchor best = { 0, 0 };
	uint64_t best_width = UINT64_MAX;

	if (kind != CLOCK_KIND_COUNTER) {
		best.monotonic = clock_ns(CLOCK_MONOTONIC);
		best.ticks = (uint64_t)best.monotonic;
		return best;
	}
	/* The narrowest of three: an interrupt between the readings would show. */
	for (int i = 0; i < 3; i++) {
		uint64_t before = ticks_counter();
		int64_t ns = clock_ns(CLOCK_MONOTONIC);
		uint64_t after = ticks_counter();

		if (after - before < best_width) {
			best_width = after - before;
			best.ticks = before + (after - before) / 2;
			best.monotonic = ns;
		}
	}
	return best;
}

double anchor_slope(const struct anchor *a, const struct anchor *b)
{
	int64_t ticks = (int64_t)(b->ticks - a->ticks);
	int64_t ns = b->monotonic - a->monotonic;

	return ticks > 0 && ns >= 0 ? (double)ns / (double)ticks : 0;
}
