/*
 * event_sets.c - sets of event types: made, changed and asked by the application alone
 *
 * SPDX-License-Identifier: MIT
 */
#include "stream.h"

static const trace_event_id_t system_types[] = {
	POSIX_TRACE_START, POSIX_TRACE_STOP, POSIX_TRACE_FILTER, POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME,
	POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP, POSIX_TRACE_ERROR,
};
enum { SYSTEM_TYPES = sizeof system_types / sizeof *system_types };

static int is_member(trace_event_id_t id, const trace_event_set_t *set)
{
	int member = -77;

	MUST(posix_trace_eventset_ismember(id, set, &member) == 0);
	MUST(member != -77);
	return member != 0;
}

static int members(const trace_event_set_t *set)
{
	int n = 0;

	for (size_t i = 0; i < ids_known(); i++)
		n += is_member(ids_get(i), set);
	return n;
}

TEST(empty)
{
	trace_event_id_t id = stream_id("sets.empty");
	trace_event_set_t set;

	/* Whatever the memory contains. */
	for (int byte = 0; byte < 256; byte += 51) {
		memset(&set, byte, sizeof set);
		CHECK_EQ("SET-4 SET-12", posix_trace_eventset_empty(&set), 0);
		CHECK_EQ("SET-4", members(&set), 0);
	}
	for (int i = 0; i < SYSTEM_TYPES; i++)
		CHECK("SET-4", !is_member(system_types[i], &set));
	CHECK("SET-4", !is_member(POSIX_TRACE_UNNAMED_USEREVENT, &set));
	CHECK("SET-4", !is_member(id, &set));
}

TEST(add_and_delete)
{
	trace_event_id_t ids[] = {
		stream_id("sets.a"), stream_id("sets.b"), POSIX_TRACE_START, POSIX_TRACE_ERROR,
		POSIX_TRACE_UNNAMED_USEREVENT,
	};
	enum { N = sizeof ids / sizeof *ids };
	trace_event_set_t set;

	MUST(posix_trace_eventset_empty(&set) == 0);
	for (int i = 0; i < N; i++) {
		CHECK_EQ("SET-2 SET-12", posix_trace_eventset_add(ids[i], &set), 0);
		CHECK("SET-2 SET-11", is_member(ids[i], &set));
		CHECK_EQ("SET-2", members(&set), i + 1);
		/* Adding a type twice has no effect, and is not an error. */
		CHECK_EQ("SET-2", posix_trace_eventset_add(ids[i], &set), 0);
		CHECK_EQ("SET-2", members(&set), i + 1);
	}
	for (int i = 0; i < N; i++) {
		CHECK_EQ("SET-3 SET-12", posix_trace_eventset_del(ids[i], &set), 0);
		CHECK("SET-3 SET-11", !is_member(ids[i], &set));
		CHECK_EQ("SET-3", members(&set), N - i - 1);
		CHECK_EQ("SET-3", posix_trace_eventset_del(ids[i], &set), 0);
		CHECK_EQ("SET-3", members(&set), N - i - 1);
	}
}

/* Every possible identifier. */
TEST(every_type)
{
	trace_event_set_t set, full;
	int member;

	stream_id("sets.every");
	MUST(posix_trace_eventset_empty(&set) == 0);
	MUST(posix_trace_eventset_fill(&full, POSIX_TRACE_ALL_EVENTS) == 0);
	for (size_t i = 0; i < ids_known(); i++) {
		trace_event_id_t id = ids_get(i);

		CHECK_EQ("SET-2", posix_trace_eventset_add(id, &set), 0);
		CHECK_EQ("SET-2", members(&set), 1);
		member = 0;
		CHECK_EQ("SET-11 SET-12", posix_trace_eventset_ismember(id, &set, &member), 0);
		CHECK_NE("SET-11", member, 0);
		CHECK_EQ("SET-3", posix_trace_eventset_del(id, &set), 0);
		member = 1;
		CHECK_EQ("SET-11 SET-12", posix_trace_eventset_ismember(id, &set, &member), 0);
		CHECK_EQ("SET-11", member, 0);
		CHECK_EQ("SET-3", posix_trace_eventset_del(id, &full), 0);
	}
	CHECK_EQ("SET-3", members(&set), 0);
	CHECK_EQ("SET-3", members(&full), 0);
}

TEST(fill_system)
{
	trace_event_id_t id = stream_id("sets.fill_system");
	trace_event_set_t set;

	/* The earlier contents do not matter, nor does memory that is not a set. */
	memset(&set, 0xff, sizeof set);
	CHECK_EQ("SET-5 SET-12", posix_trace_eventset_fill(&set, POSIX_TRACE_SYSTEM_EVENTS), 0);
	for (int i = 0; i < SYSTEM_TYPES; i++)
		CHECK("SET-7", is_member(system_types[i], &set));
	CHECK("SET-7 SET-9", !is_member(POSIX_TRACE_UNNAMED_USEREVENT, &set));
	CHECK("SET-7", !is_member(id, &set));

	MUST(posix_trace_eventset_empty(&set) == 0);
	MUST(posix_trace_eventset_add(id, &set) == 0);
	CHECK_EQ("SET-5", posix_trace_eventset_fill(&set, POSIX_TRACE_SYSTEM_EVENTS), 0);
	CHECK("SET-5", !is_member(id, &set));
	CHECK("SET-5", is_member(POSIX_TRACE_START, &set));
}

/*
 * Which system events do not depend on a process is implementation-defined. Ours: the events that no call of the
 * application causes.
 */
TEST(fill_wopid)
{
	trace_event_id_t id = stream_id("sets.fill_wopid");
	trace_event_set_t set, all_system;

	MUST(posix_trace_eventset_fill(&set, POSIX_TRACE_ALL_EVENTS) == 0);
	MUST(posix_trace_eventset_fill(&all_system, POSIX_TRACE_SYSTEM_EVENTS) == 0);
	CHECK_EQ("SET-5 SET-12", posix_trace_eventset_fill(&set, POSIX_TRACE_WOPID_EVENTS), 0);
	CHECK("SET-6", is_member(POSIX_TRACE_ERROR, &set) || !OURS_IDS);
	CHECK("SET-6", is_member(POSIX_TRACE_OVERFLOW, &set) || !OURS_IDS);
	CHECK("SET-6", is_member(POSIX_TRACE_RESUME, &set) || !OURS_IDS);
	CHECK("SET-6", is_member(POSIX_TRACE_FLUSH_START, &set) || !OURS_IDS);
	CHECK("SET-6", is_member(POSIX_TRACE_FLUSH_STOP, &set) || !OURS_IDS);
	CHECK("SET-6", !is_member(POSIX_TRACE_START, &set) || !OURS_IDS);
	CHECK("SET-6", !is_member(POSIX_TRACE_STOP, &set) || !OURS_IDS);
	CHECK("SET-6", !is_member(POSIX_TRACE_FILTER, &set) || !OURS_IDS);
	CHECK("SET-6 SET-9", !is_member(POSIX_TRACE_UNNAMED_USEREVENT, &set));
	CHECK("SET-6", !is_member(id, &set));
	for (size_t i = 0; i < ids_known(); i++)
		CHECK("SET-6 SET-7", !is_member(ids_get(i), &set) || is_member(ids_get(i), &all_system));
}

TEST(fill_all)
{
	trace_event_id_t before = stream_id("sets.before"), after;
	trace_event_set_t set;

	MUST(posix_trace_eventset_empty(&set) == 0);
	CHECK_EQ("SET-5 SET-12", posix_trace_eventset_fill(&set, POSIX_TRACE_ALL_EVENTS), 0);
	after = stream_id("sets.after");
	for (int i = 0; i < SYSTEM_TYPES; i++)
		CHECK("SET-8", is_member(system_types[i], &set));
	CHECK("SET-8 SET-9", is_member(POSIX_TRACE_UNNAMED_USEREVENT, &set));
	CHECK("SET-8", is_member(before, &set));
	/* Ours: "all" includes types of names that are opened later. */
	CHECK("SET-8", is_member(after, &set) || !OURS_IDS);
	CHECK_OP("SET-8", members(&set), >=, OURS_IDS ? ids_known() : ids_known() - 1);
}

TEST(invalid_arguments)
{
	static const trace_event_id_t bad[] = { 0, 127 * 64, 127 * 64 + 1, 16384, 0x80000000u, 0xffffffffu };
	trace_event_set_t set, copy;
	int member = 4711;

	MUST(posix_trace_eventset_fill(&set, POSIX_TRACE_SYSTEM_EVENTS) == 0);
	copy = set;
	for (size_t i = 0; OURS_IDS && i < sizeof bad / sizeof *bad; i++) {
		CHECK_EQ("SET-13", posix_trace_eventset_add(bad[i], &set), EINVAL);
		CHECK_EQ("SET-13", posix_trace_eventset_del(bad[i], &set), EINVAL);
		CHECK_EQ("SET-13", posix_trace_eventset_ismember(bad[i], &set, &member), EINVAL);
		CHECK_EQ("SET-13", member, 4711);
	}
	for (int what = -3; what < 50; what++)
		if (what != POSIX_TRACE_WOPID_EVENTS && what != POSIX_TRACE_SYSTEM_EVENTS &&
		    what != POSIX_TRACE_ALL_EVENTS)
			CHECK_EQ("SET-13", posix_trace_eventset_fill(&set, what), EINVAL);
	CHECK("SET-13", set_equal(&set, &copy));
	CHECK_REFUSED("SET-13", posix_trace_eventset_empty(NULL));
	CHECK_REFUSED("SET-13", posix_trace_eventset_fill(NULL, POSIX_TRACE_ALL_EVENTS));
	CHECK_REFUSED("SET-13", posix_trace_eventset_add(POSIX_TRACE_START, NULL));
	CHECK_REFUSED("SET-13", posix_trace_eventset_del(POSIX_TRACE_START, NULL));
	CHECK_REFUSED("SET-13", posix_trace_eventset_ismember(POSIX_TRACE_START, NULL, &member));
	CHECK_REFUSED("SET-13", posix_trace_eventset_ismember(POSIX_TRACE_START, &set, NULL));
}

/* Undefined by the standard. Ours: a mark shows that the set is not initialized, and the functions return EINVAL. */
TEST(never_initialised)
{
	trace_event_set_t set;
	int member = 4711;

	for (int byte = 0; byte < 256; byte += 85) {
		memset(&set, byte, sizeof set);
		CHECK_REFUSED("SET-10", posix_trace_eventset_add(POSIX_TRACE_START, &set));
		CHECK_REFUSED("SET-10", posix_trace_eventset_del(POSIX_TRACE_START, &set));
		CHECK_REFUSED("SET-10", posix_trace_eventset_ismember(POSIX_TRACE_START, &set, &member));
		CHECK_EQ("SET-10", member, 4711);
	}
}

/* The functions change the caller's object and no filter, wherever the object was copied from or to. */
TEST(not_the_filter)
{
	trace_event_id_t a = stream_id("sets.filtered"), b = stream_id("sets.recorded");
	trace_id_t trid = stream_running(NULL);
	trace_event_set_t set, filter, now;

	MUST(posix_trace_eventset_empty(&set) == 0);
	MUST(posix_trace_eventset_add(a, &set) == 0);
	filter = set;
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
	MUST(posix_trace_eventset_add(b, &set) == 0);
	MUST(posix_trace_eventset_del(a, &set) == 0);
	MUST(posix_trace_get_filter(trid, &now) == 0);
	CHECK("SET-1", set_equal(&now, &filter));
	MUST(posix_trace_eventset_fill(&now, POSIX_TRACE_ALL_EVENTS) == 0);
	MUST(posix_trace_get_filter(trid, &now) == 0);
	CHECK("SET-1", set_equal(&now, &filter));
	stream_drain(trid);
	posix_trace_event(a, NULL, 0);
	posix_trace_event(b, NULL, 0);
	{
		struct stream_event e;

		stream_expect(trid, b, &e);
		CHECK("SET-1", !stream_try(trid, &e));
	}
	stream_end(trid);
}

TEST_MAIN(TEST_ENTRY(empty), TEST_ENTRY(add_and_delete), TEST_ENTRY(every_type), TEST_ENTRY(fill_system),
	  TEST_ENTRY(fill_wopid), TEST_ENTRY(fill_all), TEST_ENTRY(invalid_arguments), TEST_ENTRY(never_initialised),
	  TEST_ENTRY(not_the_filter))
