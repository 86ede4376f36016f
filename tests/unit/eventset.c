/*
 * eventset.c - src/model/eventset.c: sets of event types, each id for itself
 *
 * SPDX-License-Identifier: MIT
 */
#include "model/eventset.h"

#include "model/eventtype.h"
#include "test.h"

static unsigned count(const trace_event_set_t *set)
{
	unsigned n = 0;

	for (trace_event_id_t id = 0; id < EVENT_ID_END; id++)
		n += eventset_has(set, id);
	return n;
}

TEST(mark)
{
	trace_event_set_t set;

	CHECK("-", !eventset_valid(NULL));
	memset(&set, 0, sizeof set);
	CHECK("-", !eventset_valid(&set));
	memset(&set, 0xff, sizeof set);
	CHECK("-", !eventset_valid(&set));
	eventset_empty(&set);
	CHECK("-", eventset_valid(&set));
	CHECK("-", eventset_is_empty(&set));
	memset(&set, 0xff, sizeof set);
	CHECK("-", eventset_fill(&set, POSIX_TRACE_ALL_EVENTS));
	CHECK("-", eventset_valid(&set));
}

TEST(each_id)
{
	trace_event_set_t set, all;

	CHECK("-", eventset_fill(&all, POSIX_TRACE_ALL_EVENTS));
	for (trace_event_id_t id = 1; id < EVENT_ID_END; id++) {
		eventset_empty(&set);
		eventset_add(&set, id);
		CHECK_EQ("-", count(&set), 1);
		CHECK("-", eventset_has(&set, id) && eventset_valid(&set) && !eventset_is_empty(&set));
		eventset_add(&set, id); /* adding it twice has no further effect */
		CHECK_EQ("-", count(&set), 1);
		eventset_del(&set, id);
		CHECK("-", eventset_is_empty(&set) && eventset_valid(&set));

		set = all;
		eventset_del(&set, id);
		CHECK_EQ("-", count(&set), EVENT_ID_END - 2);
		CHECK("-", !eventset_has(&set, id));
	}
}

TEST(fill)
{
	trace_event_set_t set, before;

	CHECK("-", eventset_fill(&set, POSIX_TRACE_ALL_EVENTS));
	CHECK_EQ("-", count(&set), EVENT_ID_END - 1);
	CHECK("-", !eventset_has(&set, 0));

	CHECK("-", eventset_fill(&set, POSIX_TRACE_SYSTEM_EVENTS));
	for (trace_event_id_t id = 0; id < EVENT_ID_END; id++)
		CHECK_EQ("-", eventset_has(&set, id), eventtype_system(id));

	CHECK("-", eventset_fill(&set, POSIX_TRACE_WOPID_EVENTS));
	CHECK("-", eventset_has(&set, POSIX_TRACE_OVERFLOW) && eventset_has(&set, POSIX_TRACE_RESUME));
	CHECK("-", !eventset_has(&set, POSIX_TRACE_START) && !eventset_has(&set, POSIX_TRACE_FILTER));
	for (trace_event_id_t id = 0; id < EVENT_ID_END; id++)
		if (eventset_has(&set, id))
			CHECK("-", eventtype_system(id));

	/* An invalid argument leaves the set unchanged. */
	before = set;
	for (int what = -2; what < 10; what++) {
		if (what == POSIX_TRACE_WOPID_EVENTS || what == POSIX_TRACE_SYSTEM_EVENTS ||
		    what == POSIX_TRACE_ALL_EVENTS)
			continue;
		CHECK("-", !eventset_fill(&set, what));
		CHECK("-", memcmp(&set, &before, sizeof set) == 0);
	}
}

TEST(combine)
{
	trace_event_set_t a, b, r;

	eventset_empty(&a);
	eventset_empty(&b);
	for (trace_event_id_t id = 1; id < EVENT_ID_END; id++) {
		if (id % 2)
			eventset_add(&a, id);
		if (id % 3)
			eventset_add(&b, id);
	}
	for (int how = 0; how < 6; how++) {
		bool known = how == POSIX_TRACE_SET_EVENTSET || how == POSIX_TRACE_ADD_EVENTSET ||
			how == POSIX_TRACE_SUB_EVENTSET;

		r = a;
		CHECK_EQ("-", eventset_combine(&r, &b, how), known);
		CHECK("-", eventset_valid(&r));
		for (trace_event_id_t id = 1; id < EVENT_ID_END; id++) {
			bool in_a = id % 2, in_b = id % 3;
			bool want = how == POSIX_TRACE_SET_EVENTSET ? in_b : how == POSIX_TRACE_ADD_EVENTSET
				? in_a || in_b :
			            how == POSIX_TRACE_SUB_EVENTSET ? in_a && !in_b : in_a;

			CHECK_EQ("-", eventset_has(&r, id), want);
		}
	}
}

/* Reads sets as the data of START and FILTER contains them, also from logs of versions with fewer or more types. */
TEST(from_data)
{
	struct {
		trace_event_set_t set;
		unsigned char more[64];
	} data;
	trace_event_set_t set, before;

	eventset_empty(&data.set);
	eventset_add(&data.set, 3);
	eventset_add(&data.set, 1983);
	memset(data.more, 0xff, sizeof data.more);
	memset(&set, 0x55, sizeof set);
	CHECK("-", eventset_read(&set, &data, 256) && count(&set) == 2 && eventset_has(&set, 3) &&
	      eventset_has(&set, 1983));
	CHECK("-", eventset_valid(&set));
	CHECK("-", eventset_read(&set, &data, 128) && count(&set) == 1 && eventset_has(&set, 3));
	CHECK("-", eventset_read(&set, &data, sizeof set) && memcmp(&set, &data, sizeof set) == 0);
	CHECK("-", eventset_read(&set, &data, sizeof data) && count(&set) == 2);
	before = set;
	CHECK("-", !eventset_read(&set, &data, 0) && !eventset_read(&set, &data, 8) &&
	      !eventset_read(&set, &data, 255));
	data.set.__mark++;
	CHECK("-", !eventset_read(&set, &data, 256));
	CHECK("-", memcmp(&set, &before, sizeof set) == 0);
}

TEST_MAIN(TEST_ENTRY(mark), TEST_ENTRY(each_id), TEST_ENTRY(fill), TEST_ENTRY(combine), TEST_ENTRY(from_data))
