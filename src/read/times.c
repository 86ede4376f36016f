/*
 * times.c - ticks of records to ns of CLOCK_MONOTONIC
 *
 * SPDX-License-Identifier: MIT
 */
#include "read/times.h"

void times_start(struct times *t, struct anchor creation)
{
	t->creation = t->anchor[0] = creation;
	t->slope[0] = 0;
	t->anchors = 1;
	t->line.end = 0;
	t->reported = (struct anchor){ 0, INT64_MIN };
}

void times_add(struct times *t, struct anchor now)
{
	uint32_t last = (t->anchors - 1) % TIMES_ANCHORS, next = t->anchors % TIMES_ANCHORS;

	if (now.ticks <= t->anchor[last].ticks || now.monotonic < t->anchor[last].monotonic)
		return;
	t->slope[last] = anchor_slope(&t->anchor[last], &now);
	t->slope[next] = t->slope[last];
	t->anchor[next] = now;
	t->anchors++;
	t->line.end = 0;
}

/* Finds the line for these ticks. */
static void find_line(struct times *t, uint64_t ticks)
{
	uint32_t count = t->anchors < TIMES_ANCHORS ? t->anchors : TIMES_ANCHORS;

	t->line.end = UINT64_MAX;
	/* Nearly always the last but one, because events come from between the last two looks. */
	for (uint32_t i = 1; i <= count; i++) {
		uint32_t at = (t->anchors - i) % TIMES_ANCHORS;

		t->line.begin = t->anchor[at].ticks;
		t->line.anchor = t->anchor[at];
		t->line.slope = t->slope[at];
		if (ticks >= t->line.begin)
			return;
		t->line.end = t->line.begin;
	}
	t->line.begin = 0;
	t->line.slope = anchor_slope(&t->creation, &t->line.anchor);
	t->line.anchor = t->creation;
}

int64_t times_convert(struct times *t, uint64_t ticks)
{
	int64_t ns;

	if (ticks < t->line.begin || ticks >= t->line.end)
		find_line(t, ticks);
	ns = anchor_convert(&t->line.anchor, t->line.slope, ticks);
	if (ticks < t->reported.ticks)
		return ns;
	/*
	 * The line may have changed since: ticks after the last anchor get their line with the next anchor, and an
	 * event held back for its writer may be older than all others.
	 */
	if (ns < t->reported.monotonic)
		ns = t->reported.monotonic;
	t->reported = (struct anchor){ ticks, ns };
	return ns;
}

bool times_after(const struct times *t, uint64_t ticks, int64_t ns)
{
	uint32_t newest = (t->anchors - 1) % TIMES_ANCHORS;
	const struct anchor *a = &t->anchor[newest];

	return ticks > a->ticks && (ticks - a->ticks > INT64_MAX ||
	                            anchor_convert(a, t->slope[newest], ticks) - a->monotonic > ns);
}
