/*
 * clocks.c - the machine's clocks at one moment, for a frame CLOCK
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/clocks.h"

#include "base/clock.h"

#define CLOCKS_PERIOD (10 * NS_PER_S)
/*
 * CLOCK_REALTIME was set if it has moved further against CLOCK_MONOTONIC than by this, and by more than a thousandth of
 * the time since: a clock that is only made slower or faster moves by half of that.
 */
#define STEP_LEAST    (NS_PER_S / 1000)

enum clock_reason clocks_due(const struct clocks *c)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC), passed = now - c->monotonic;
	int64_t moved = clock_ns(CLOCK_REALTIME) - now - c->difference;

	if (moved < 0)
		moved = -moved;
	if (moved > STEP_LEAST + passed / 1000)
		return CLOCK_STEP;
	return passed >= CLOCKS_PERIOD ? CLOCK_PERIOD : CLOCK_NONE;
}

void clocks_read(struct clocks *c, enum clock_reason reason, clocks_ask ask, unsigned char body[CLOCK_BYTES])
{
	struct clock_layout *l = (struct clock_layout *)body;
	int64_t before = clock_ns(CLOCK_MONOTONIC), real = clock_ns(CLOCK_REALTIME);
	int64_t boot = clock_ns(CLOCK_BOOTTIME), tai = clock_ns(CLOCK_TAI);
	int64_t took = clock_ns(CLOCK_MONOTONIC) - before;

	c->monotonic = before + took / 2;
	c->difference = real - c->monotonic;
	memset(l, 0, sizeof *l);
	PUT_FIELD(l->monotonic, (uint64_t)c->monotonic);
	PUT_FIELD(l->realtime, (uint64_t)real);
	PUT_FIELD(l->boottime, (uint64_t)boot);
	PUT_FIELD(l->took, (uint64_t)took);
	/* Both were read within a microsecond or so, and differ by whole seconds. */
	PUT_FIELD(l->tai, (uint32_t)((tai - real + NS_PER_S / 2) / NS_PER_S));
	l->reason = (unsigned char)reason;
	if (ask)
		ask(l);
}
