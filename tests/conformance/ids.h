/*
 * ids.h - event types as the standard has them: values of a type of which little is known
 *
 * Ours are small numbers, so the tests go through all that there can be. Of
 * another implementation they know the predefined ones and what stream_id() has
 * given to this test. NO_TYPE is what the tests call none.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONFORMANCE_IDS_H
#define CONFORMANCE_IDS_H

#include "ours.h"
#include "predefined.h"

#define NO_TYPE ((trace_event_id_t)-1)

/* The types that have been seen, and how often. */
struct ids {
	size_t n;
	trace_event_id_t id[16384];
	unsigned char times[16384];
};

static inline unsigned ids_times(const struct ids *ids, trace_event_id_t id)
{
	for (size_t i = 0; i < ids->n; i++)
		if (ids->id[i] == id)
			return ids->times[i];
	return 0;
}

/* Counts a type. Returns how often it had been seen before. */
static inline unsigned ids_add(struct ids *ids, trace_event_id_t id)
{
	size_t i = 0;

	while (i < ids->n && ids->id[i] != id)
		i++;
	if (i == ids->n) {
		MUST(i < sizeof ids->id / sizeof ids->id[0]);
		ids->n++;
		ids->id[i] = id;
		ids->times[i] = 0;
	}
	return ids->times[i]++;
}

/* Returns how many types can be in a set, as far as this process knows, and fills ids_opened. */
static struct ids ids_opened;

static inline size_t ids_known(void)
{
	return OURS_IDS ? 31 * 64 - 1 : PREDEFINED + ids_opened.n;
}

static inline trace_event_id_t ids_get(size_t i)
{
	if (OURS_IDS)
		return (trace_event_id_t)(i + 1);
	return i < PREDEFINED ? predefined[i].id : ids_opened.id[i - PREDEFINED];
}

#if !defined _POSIX_TRACE_EVENT_FILTER || _POSIX_TRACE_EVENT_FILTER >= 0
/* Returns whether two sets have the same members. */
static inline int set_equal(const trace_event_set_t *a, const trace_event_set_t *b)
{
	for (size_t i = 0; i < ids_known(); i++) {
		int in_a, in_b;

		MUST(posix_trace_eventset_ismember(ids_get(i), a, &in_a) == 0);
		MUST(posix_trace_eventset_ismember(ids_get(i), b, &in_b) == 0);
		if (!in_a != !in_b)
			return 0;
	}
	return 1;
}
#endif

#endif
