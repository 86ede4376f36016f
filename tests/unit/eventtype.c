/*
 * eventtype.c - src/model/eventtype.c: ids and names of the predefined event types
 *
 * SPDX-License-Identifier: MIT
 */
#include "model/eventtype.h"

#include "test.h"

TEST(ranges)
{
	CHECK("-", !eventtype_possible(0));
	CHECK("-", eventtype_possible(1));
	CHECK("-", eventtype_possible(EVENT_ID_END - 1));
	CHECK("-", !eventtype_possible(EVENT_ID_END));
	CHECK("-", !eventtype_possible(UINT32_MAX));

	CHECK("-", !eventtype_system(0));
	CHECK("-", eventtype_system(1));
	CHECK("-", eventtype_system(62));
	CHECK("-", !eventtype_system(POSIX_TRACE_UNNAMED_USEREVENT));
	CHECK("-", !eventtype_system(EVENT_ID_USER));
	CHECK("-", !eventtype_system(UINT32_MAX));
	CHECK_EQ("-", EVENT_ID_USER, POSIX_TRACE_UNNAMED_USEREVENT + 1);
}

TEST(names)
{
	unsigned long long seen = 0;

	for (unsigned i = 0; i < EVENTTYPE_PREDEFINED; i++) {
		trace_event_id_t id = eventtype_predefined(i);
		const char *name = eventtype_predefined_name(id);

		CHECK("-", eventtype_possible(id) && id < EVENT_ID_USER);
		CHECK("-", !(seen >> id & 1)); /* each id occurs once */
		seen |= 1ull << id;
		MUST(name);
		CHECK("-", strlen(name) <= TRACE_EVENT_NAME_MAX && strncmp(name, "posix_trace_", 12) == 0);
		CHECK_EQ("-", eventtype_predefined_id(name), id);
	}
	for (trace_event_id_t id = 0; id < EVENT_ID_END; id++)
		if (id >= 64 || !(seen >> id & 1))
			CHECK("-", eventtype_predefined_name(id) == NULL);
	CHECK_STR("-", eventtype_predefined_name(POSIX_TRACE_START), "posix_trace_start");
	CHECK_STR("-", eventtype_predefined_name(POSIX_TRACE_UNNAMED_USEREVENT), "posix_trace_unnamed_userevent");
	CHECK_EQ("-", eventtype_predefined_id(""), 0);
	CHECK_EQ("-", eventtype_predefined_id("posix_trace_star"), 0);
	CHECK_EQ("-", eventtype_predefined_id("posix_trace_start "), 0);
}

TEST_MAIN(TEST_ENTRY(ranges), TEST_ENTRY(names))
