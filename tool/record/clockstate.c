/*
 * clockstate.c - whether the kernel says that the clock is right
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/clockstate.h"

#include <sys/timex.h>

void clockstate(struct clock_layout *l)
{
	struct timex t = { .modes = 0 };
	int state = adjtimex(&t);
	int64_t unit;

	if (state < 0)
		return;
	/* Offsets are in microseconds, unless this bit is set; errors always are. */
	unit = t.status & STA_NANO ? 1 : 1000;
	l->known = 1;
	PUT_FIELD(l->state, (uint16_t)state);
	PUT_FIELD(l->status, (uint32_t)t.status);
	PUT_FIELD(l->offset, (uint64_t)(t.offset * unit));
	PUT_FIELD(l->frequency, (uint64_t)(int64_t)t.freq);
	PUT_FIELD(l->max_error, (uint64_t)t.maxerror * 1000);
	PUT_FIELD(l->estimated_error, (uint64_t)t.esterror * 1000);
}
