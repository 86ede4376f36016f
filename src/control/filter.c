/*
 * filter.c - reads and changes the set of event types that a stream does not record
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/filter.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/testpoint.h"
#include "control/announce.h"
#include "control/quiesce.h"
#include "model/eventset.h"

void filter_load(const struct handle *h, trace_event_set_t *set)
{
	eventset_empty(set);
	for (int i = 0; i < EVENTSET_WORDS; i++)
		set->__bits[i] = load_relaxed(&h->stream.header->filter[2 * i]) |
		                 (uint64_t)load_relaxed(&h->stream.header->filter[2 * i + 1]) << 32;
}

void filter_store(struct handle *h, const trace_event_set_t *set)
{
	for (int i = 0; i < EVENTSET_WORDS; i++) {
		store_relaxed(&h->stream.header->filter[2 * i], (uint32_t)set->__bits[i]);
		store_relaxed(&h->stream.header->filter[2 * i + 1], (uint32_t)(set->__bits[i] >> 32));
	}
	/* Each traced thread has a copy of the filter. */
	procpage_look_again(h->target.page);
}

int filter_change(struct handle *h, const trace_event_set_t *set, int how, const void *address)
{
	trace_event_set_t sets[2], both; /* old and new: the data of FILTER */

	filter_load(h, &sets[0]);
	sets[1] = sets[0];
	if (!eventset_valid(set) || !eventset_combine(&sets[1], set, how))
		return EINVAL;
	if (!(load_relaxed(&h->stream.header->state) & STATE_RUNNING)) {
		filter_store(h, &sets[1]);
		return 0;
	}
	/*
	 * The filter changes in two steps: an event that the new filter excludes
	 * cannot come after FILTER, and an event that only the new filter admits
	 * cannot come before FILTER.
	 */
	both = sets[0];
	eventset_combine(&both, &sets[1], POSIX_TRACE_ADD_EVENTSET);
	if (!eventset_has(&sets[0], POSIX_TRACE_FILTER)) /* the old filter decides */
		eventset_del(&both, POSIX_TRACE_FILTER);
	filter_store(h, &both);
	TEST_POINT("filter_both");
	quiesce(h);
	TEST_POINT("filter_quiet");
	if (!announce(h, false, POSIX_TRACE_FILTER, sets, sizeof sets, address))
		emit_full(&h->stream);
	filter_store(h, &sets[1]);
	TEST_POINT("filter_new");
	return 0;
}
