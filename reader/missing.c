/*
 * missing.c - the losses of a source that wait to be reported
 *
 * SPDX-License-Identifier: MIT
 */
#include "missing.h"

void missing_queue(struct source *s, uint32_t reason, bool at_least, uint64_t count, uint64_t from, uint64_t until)
{
	if (++s->losses > s->about.losses)
		s->about.losses = s->losses;
	if (s->loss_count == 0)
		s->loss_first = 0;
	if (s->loss_first + s->loss_count < SOURCE_LOSSES)
		s->loss[s->loss_first + s->loss_count++] = (struct posixtrace_log_loss){
			.reason = reason,
			.at_least = at_least,
			.count = count,
			.from = from,
			.until = until,
		};
}

uint64_t missing_after(const struct source *s)
{
	return s->last ? s->last : s->about.created;
}
