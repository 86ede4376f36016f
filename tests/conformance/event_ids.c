/*
 * event_ids.c - event types: their names, their identifiers, and the list of them
 *
 * SPDX-License-Identifier: MIT
 */
#include "predefined.h"
#include "stream.h"

static int is_predefined(trace_event_id_t id)
{
	for (int i = 0; i < PREDEFINED; i++)
		if (predefined[i].id == id)
			return 1;
	return 0;
}

/* Has room for a name of the maximum length with its terminating null byte, and detects writes beyond it. */
struct name {
	char text[TRACE_EVENT_NAME_MAX + 1];
	char guard[16];
};

static struct name get_name(trace_id_t trid, trace_event_id_t id)
{
	struct name n;

	memset(&n, '#', sizeof n);
	MUST(posix_trace_eventid_get_name(trid, id, n.text) == 0);
	MUST(memchr(n.text, '\0', sizeof n.text));
	for (size_t i = 0; i < sizeof n.guard; i++)
		CHECK_EQ("ID-7", n.guard[i], '#');
	return n;
}

static trace_event_id_t trid_open(trace_id_t trid, const char *name)
{
	trace_event_id_t id = 0;

	MUST(posix_trace_trid_eventid_open(trid, name, &id) == 0);
	return id;
}

/* -- posix_trace_eventid_open() ----------------------------------------- */

TEST(open)
{
	trace_event_id_t id = 0, id2 = 0, other = 0;
	trace_id_t trid;

	CHECK_EQ("EVT-13 EVT-22 ID-1", posix_trace_eventid_open("ids.open", &id), 0);
	CHECK_NE("EVT-13", id, 0);
	CHECK("EVT-13 HDR-28", !is_predefined(id));
	CHECK_EQ("EVT-22", posix_trace_eventid_open("ids.other", &other), 0);
	CHECK_NE("EVT-17", id, other);
	/* The same name at a different address. */
	{
		char copy[] = "ids.open";

		CHECK_EQ("EVT-19 EVT-22", posix_trace_eventid_open(copy, &id2), 0);
		CHECK_EQ("EVT-19", id2, id);
		memset(copy, 'x', sizeof copy - 1);
	}
	/* With a stream. */
	trid = stream_create(NULL);
	CHECK_EQ("EVT-19", stream_id("ids.open"), id);
	CHECK_STR("EVT-13 EVT-21", get_name(trid, id).text, "ids.open");
	CHECK_STR("EVT-13 EVT-21", get_name(trid, other).text, "ids.other");
	stream_end(trid);
}

/* A type is known before the first stream and after the last one. */
TEST(over_time)
{
	trace_event_id_t id = stream_id("ids.over_time"), during, after;
	struct stream_event e;
	trace_id_t trid;

	trid = stream_running(NULL);
	posix_trace_event(id, "x", 1);
	stream_expect(trid, id, &e);
	CHECK_STR("EVT-21", get_name(trid, id).text, "ids.over_time");
	during = stream_id("ids.during");
	stream_end(trid);

	after = stream_id("ids.after");
	CHECK_EQ("EVT-24", stream_id("ids.over_time"), id);
	CHECK_EQ("EVT-24", stream_id("ids.during"), during);
	CHECK("EVT-24", id != during && id != after && during != after);

	trid = stream_running(NULL);
	posix_trace_event(during, NULL, 0);
	posix_trace_event(after, NULL, 0);
	posix_trace_event(id, NULL, 0);
	stream_expect(trid, during, &e);
	stream_expect(trid, after, &e);
	stream_expect(trid, id, &e);
	CHECK_STR("EVT-21 EVT-24", get_name(trid, id).text, "ids.over_time");
	CHECK_STR("EVT-21 EVT-24", get_name(trid, during).text, "ids.during");
	CHECK_STR("EVT-21 EVT-24", get_name(trid, after).text, "ids.after");
	stream_end(trid);
}

TEST(name_lengths)
{
	char name[5001], name2[TRACE_EVENT_NAME_MAX + 1];
	trace_id_t trid = stream_create(NULL);
	trace_event_id_t id, id2, one, empty;

	for (size_t length = 2; length <= TRACE_EVENT_NAME_MAX; length++) {
		memset(name, 'm', length);
		name[length] = '\0';
		id = 0;
		CHECK_EQ("EVT-14 EVT-15", posix_trace_eventid_open(name, &id), 0);
		CHECK("EVT-14", id != 0 && id != POSIX_TRACE_UNNAMED_USEREVENT);
		CHECK_STR("EVT-14 ID-7", get_name(trid, id).text, name);
		id2 = 0;
		CHECK_EQ("ID-15", posix_trace_trid_eventid_open(trid, name, &id2), 0);
		CHECK_EQ("ID-15 ID-18", id2, id);
	}
	/* Names of the maximum length may differ in the last byte only. */
	memset(name, 'm', TRACE_EVENT_NAME_MAX);
	name[TRACE_EVENT_NAME_MAX] = '\0';
	memcpy(name2, name, sizeof name2);
	name2[TRACE_EVENT_NAME_MAX - 1] = 'n';
	CHECK_NE("EVT-17", stream_id(name), stream_id(name2));
	CHECK_STR("EVT-14", get_name(trid, stream_id(name2)).text, name2);

	for (size_t length = TRACE_EVENT_NAME_MAX + 1; length <= 5000; length = length * 3 / 2) {
		memset(name, 'm', length);
		name[length] = '\0';
		id = 4711;
		CHECK_EQ("EVT-15", posix_trace_eventid_open(name, &id), ENAMETOOLONG);
		CHECK_EQ("EVT-22", id, 4711);
		CHECK_EQ("ID-15 ID-21", posix_trace_trid_eventid_open(trid, name, &id), ENAMETOOLONG);
		CHECK_EQ("ID-22", id, 4711);
	}
	/* Ours: a name may have any bytes, or none. */
	empty = stream_id("");
	one = stream_id("\xff\n\x01");
	CHECK_NE("EVT-13", empty, one);
	CHECK_STR("EVT-13", get_name(trid, empty).text, "");
	CHECK_STR("EVT-13", get_name(trid, one).text, "\xff\n\x01");
	CHECK_EQ("EVT-19", stream_id(""), empty);
	stream_end(trid);
}

/* Two parts of a program that are independent of each other. */
static trace_event_id_t one_library(void)
{
	static trace_event_id_t id;

	if (!id)
		MUST(posix_trace_eventid_open("ids.shared", &id) == 0);
	return id;
}

static trace_event_id_t another_library(void)
{
	static trace_event_id_t id;

	if (!id)
		MUST(posix_trace_eventid_open("ids.shared", &id) == 0);
	return id;
}

TEST(shared_name)
{
	trace_id_t trid = stream_running(NULL);

	CHECK_EQ("EVT-26", one_library(), another_library());
	posix_trace_event(one_library(), NULL, 0);
	posix_trace_event(another_library(), NULL, 0);
	CHECK_EQ("EVT-26", stream_count(trid, one_library()), 2);
	stream_end(trid);
}

/* Both functions open names in turn. Beyond the limit all names are the same type. */
TEST(too_many_names)
{
	enum { OWN = TRACE_USER_EVENT_MAX - 1, MORE = 20 };
	static trace_event_id_t ids[OWN];
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;
	trace_event_id_t id;
	char name[32];

	for (int i = 0; i < OWN + MORE; i++) {
		snprintf(name, sizeof name, "ids.many.%d", i);
		id = 0;
		if (i & 1)
			CHECK_EQ("EVT-16 EVT-20", posix_trace_eventid_open(name, &id), 0);
		else
			CHECK_EQ("ID-15 ID-19", posix_trace_trid_eventid_open(trid, name, &id), 0);
		if (i < OWN) {
			ids[i] = id;
			CHECK("EVT-16 ID-15 HDR-28", !is_predefined(id));
		} else if (i & 1) {
			CHECK_EQ("EVT-16 EVT-20", id, POSIX_TRACE_UNNAMED_USEREVENT);
		} else {
			CHECK_EQ("ID-15 ID-19", id, POSIX_TRACE_UNNAMED_USEREVENT);
		}
	}
	for (int i = 0; i < OWN; i++) {
		for (int j = 0; j < i; j++)
			if (ids[i] == ids[j])
				TEST_FAIL("EVT-17 ID-16 HDR-28", "names %d and %d have one id", i, j);
		snprintf(name, sizeof name, "ids.many.%d", i);
		CHECK_EQ("EVT-19", stream_id(name), ids[i]);
		CHECK_EQ("ID-18", trid_open(trid, name), ids[i]);
		CHECK_STR("ID-6", get_name(trid, ids[i]).text, name);
	}
	/* Events of the unnamed type are recorded like others, with any data. */
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "data", 4);
	posix_trace_event(stream_id("ids.one too many"), "other data", 10);
	posix_trace_event(ids[OWN - 1], NULL, 0);
	stream_expect(trid, POSIX_TRACE_UNNAMED_USEREVENT, &e);
	CHECK_EQ("EVT-25", e.len, 4);
	CHECK_EQ("EVT-25", memcmp(e.data, "data", 4), 0);
	stream_expect(trid, POSIX_TRACE_UNNAMED_USEREVENT, &e);
	CHECK_EQ("EVT-20 EVT-25", e.len, 10);
	CHECK_EQ("EVT-20 EVT-25", memcmp(e.data, "other data", 10), 0);
	stream_expect(trid, ids[OWN - 1], &e);
	CHECK_STR("EVT-20 ID-12", get_name(trid, POSIX_TRACE_UNNAMED_USEREVENT).text, "posix_trace_unnamed_userevent");
	stream_end(trid);
}

/* -- posix_trace_trid_eventid_open() ------------------------------------ */

TEST(trid_open_agrees)
{
	trace_id_t trid = stream_create(NULL), trid2 = stream_create(NULL);
	trace_event_id_t controller = 0, target = 0;
	struct stream_event e;

	/* The controller opens the name first. */
	CHECK_EQ("ID-1 ID-13 ID-14 ID-22", posix_trace_trid_eventid_open(trid, "ids.controller first", &controller), 0);
	CHECK("ID-13", controller != 0 && !is_predefined(controller));
	CHECK_STR("ID-13", get_name(trid, controller).text, "ids.controller first");
	CHECK_EQ("ID-18", trid_open(trid, "ids.controller first"), controller);
	CHECK_EQ("ID-18 ID-23 EVT-19", stream_id("ids.controller first"), controller);
	/* The target opens the name first. */
	target = stream_id("ids.target first");
	CHECK_EQ("ID-18", trid_open(trid, "ids.target first"), target);
	CHECK_NE("ID-16", target, controller);
	/* The same through a second stream. */
	CHECK_EQ("ID-24", trid_open(trid2, "ids.controller first"), controller);
	CHECK_EQ("ID-24", trid_open(trid2, "ids.target first"), target);
	CHECK_STR("ID-24", get_name(trid2, controller).text, "ids.controller first");
	/* Also in a running stream. */
	MUST(posix_trace_start(trid) == 0);
	stream_drain(trid);
	CHECK_EQ("ID-14 ID-18", trid_open(trid, "ids.target first"), target);
	posix_trace_event(trid_open(trid, "ids.opened late"), NULL, 0);
	stream_expect(trid, stream_id("ids.opened late"), &e);
	stream_end(trid);
	CHECK_EQ("ID-18", trid_open(trid2, "ids.controller first"), controller);
	stream_end(trid2);
}

/* A filter for a type that the target has not opened yet. */
TEST(filter_in_advance)
{
	trace_id_t trid = stream_create(NULL);
	trace_event_set_t set;

	MUST(posix_trace_eventset_empty(&set) == 0);
	MUST(posix_trace_eventset_add(trid_open(trid, "ids.in advance"), &set) == 0);
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
	MUST(posix_trace_start(trid) == 0);
	stream_drain(trid);
	posix_trace_event(stream_id("ids.in advance"), NULL, 0);
	CHECK_EQ("ID-23", stream_drain(trid), 0);
	posix_trace_event(stream_id("ids.not in advance"), NULL, 0);
	CHECK_EQ("ID-23", stream_drain(trid), 1);
	stream_end(trid);
}

TEST(system_names)
{
	trace_id_t trid = stream_create(NULL);

	for (int i = 0; i < PREDEFINED; i++) {
		CHECK_EQ("ID-25", trid_open(trid, predefined[i].name), predefined[i].id);
		CHECK_EQ("ID-25 EVT-19", stream_id(predefined[i].name), predefined[i].id);
		CHECK_STR("ID-6 ID-12", get_name(trid, predefined[i].id).text, predefined[i].name);
	}
	stream_end(trid);
}

TEST(trid_open_refused)
{
	trace_id_t trid = stream_create(NULL), gone = stream_create(NULL);
	const trace_id_t bad[] = { 0, gone, (trace_id_t)-1, trid ^ 1, trid ^ ((trace_id_t)1 << 40) };
	trace_event_id_t id = 4711;

	stream_end(gone);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (bad[i] == trid)
			continue;
		CHECK_EQ("ID-14 ID-20", posix_trace_trid_eventid_open(bad[i], "ids.refused", &id), EINVAL);
		CHECK_EQ("ID-22", id, 4711);
	}
	CHECK_REFUSED("HDR-32", posix_trace_trid_eventid_open(trid, NULL, &id));
	CHECK_REFUSED("HDR-32", posix_trace_trid_eventid_open(trid, "ids.refused", NULL));
	CHECK_REFUSED("HDR-32", posix_trace_eventid_open(NULL, &id));
	CHECK_REFUSED("HDR-32", posix_trace_eventid_open("ids.refused", NULL));
	stream_end(trid);
}

/* -- Comparing and naming ----------------------------------------------- */

TEST(equal)
{
	trace_event_id_t a = stream_id("ids.equal.a"), b = stream_id("ids.equal.b");
	trace_id_t trid = stream_create(NULL);

	CHECK_NE("ID-2 ID-4", posix_trace_eventid_equal(trid, a, a), 0);
	CHECK_NE("ID-2 ID-4", posix_trace_eventid_equal(trid, a, stream_id("ids.equal.a")), 0);
	CHECK_NE("ID-2 ID-4", posix_trace_eventid_equal(trid, a, trid_open(trid, "ids.equal.a")), 0);
	CHECK_EQ("ID-2 ID-4", posix_trace_eventid_equal(trid, a, b), 0);
	CHECK_EQ("ID-2 ID-4", posix_trace_eventid_equal(trid, b, a), 0);
	CHECK_EQ("ID-2 ID-4", posix_trace_eventid_equal(trid, a, POSIX_TRACE_UNNAMED_USEREVENT), 0);
	for (int i = 0; i < PREDEFINED; i++)
		for (int j = 0; j < PREDEFINED; j++)
			CHECK_EQ("ID-2 ID-4", posix_trace_eventid_equal(trid, predefined[i].id, predefined[j].id) != 0,
			         i == j);
	stream_end(trid);
	/* No errors: the function also compares for a stream that has ended, and with invalid ids. */
	CHECK_NE("ID-3 ID-5", posix_trace_eventid_equal(trid, a, a), 0);
	CHECK_EQ("ID-3 ID-5", posix_trace_eventid_equal(0, a, b), 0);
	CHECK_NE("ID-5", posix_trace_eventid_equal((trace_id_t)-1, 0, 0), 0);
	CHECK_EQ("ID-5", posix_trace_eventid_equal(trid, 0, 0xffffffffu), 0);
}

TEST(get_name_again)
{
	trace_event_id_t a = stream_id("ids.name.a"), b = stream_id("ids.name.b");
	trace_id_t trid = stream_create(NULL), trid2 = stream_create(NULL);
	struct stream_event e;
	char name[TRACE_EVENT_NAME_MAX + 1] = "";

	CHECK_EQ("ID-6 ID-11", posix_trace_eventid_get_name(trid, a, name), 0);
	CHECK_STR("ID-6", name, "ids.name.a");
	for (int i = 0; i < 3; i++) {
		CHECK_STR("ID-6 ID-8", get_name(trid, a).text, "ids.name.a");
		CHECK_STR("ID-6 ID-8", get_name(trid, b).text, "ids.name.b");
		CHECK_STR("ID-6", get_name(trid2, a).text, "ids.name.a");
		switch (i) {
		case 0: MUST(posix_trace_start(trid) == 0); break;
		case 1: MUST(posix_trace_clear(trid) == 0); break;
		}
	}
	/* As a reader does: the name of an event's id. */
	stream_drain(trid);
	posix_trace_event(b, NULL, 0);
	stream_next(trid, &e);
	CHECK_STR("ID-6", get_name(trid, e.info.posix_event_id).text, "ids.name.b");
	stream_end(trid);
	stream_end(trid2);
}

TEST(get_name_refused)
{
	trace_id_t trid = stream_create(NULL), gone = stream_create(NULL);
	const trace_id_t bad_stream[] = { 0, gone, (trace_id_t)-1, trid ^ 1, trid ^ ((trace_id_t)1 << 40) };
	/* Zero; reserved for the system; not opened; impossible. */
	static const trace_event_id_t bad_id[] = { 0, 9, 40, 62, 1983, 1984, 8127, 8128, 0x7fffffffu, 0xffffffffu };
	trace_event_id_t id = stream_id("ids.refused");
	char name[TRACE_EVENT_NAME_MAX + 1] = "untouched";

	stream_end(gone);
	for (size_t i = 0; i < sizeof bad_stream / sizeof *bad_stream; i++) {
		if (bad_stream[i] == trid)
			continue;
		CHECK_EQ("ID-9", posix_trace_eventid_get_name(bad_stream[i], id, name), EINVAL);
		CHECK_EQ("ID-9", posix_trace_eventid_get_name(bad_stream[i], POSIX_TRACE_START, name), EINVAL);
		CHECK_STR("ID-11", name, "untouched");
	}
	for (size_t i = 0; OURS_IDS && i < sizeof bad_id / sizeof *bad_id; i++) {
		CHECK_EQ("ID-10", posix_trace_eventid_get_name(trid, bad_id[i], name), EINVAL);
		CHECK_STR("ID-11", name, "untouched");
	}
	if (OURS_IDS)
		CHECK_EQ("ID-10", posix_trace_eventid_get_name(trid, id + 1, name), EINVAL);
	CHECK_STR("ID-11", name, "untouched");
	CHECK_REFUSED("HDR-32", posix_trace_eventid_get_name(trid, id, NULL));
	stream_end(trid);
}

/* -- The list ----------------------------------------------------------- */

/* Returns the next id, or NO_TYPE at the end. */
static trace_event_id_t list_next(trace_id_t trid)
{
	const trace_event_id_t none = 4711;
	trace_event_id_t id = none;
	int unavailable = -77;

	MUST(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable) == 0);
	CHECK("ID-27 ID-28", unavailable != -77);
	if (unavailable) {
		CHECK_EQ("ID-28", id, none);
		return NO_TYPE;
	}
	CHECK_NE("ID-27", id, NO_TYPE);
	return id;
}

/* Reads the list to its end. Returns how many types were left. */
static int list_rest(trace_id_t trid, struct ids *seen)
{
	trace_event_id_t id;
	int count = 0;

	while ((id = list_next(trid)) != NO_TYPE) {
		ids_add(seen, id);
		count++;
	}
	return count;
}

TEST(list)
{
	static struct ids seen, again;
	trace_event_id_t a = stream_id("ids.list.a"), b, c, first, second, id = 0;
	trace_id_t trid = stream_create(NULL);
	int count, unavailable = -77;

	b = stream_id("ids.list.b");
	c = trid_open(trid, "ids.list.c");
	CHECK_EQ("ID-26 ID-33", posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable), 0);
	CHECK_EQ("ID-26 ID-27", unavailable, 0);
	first = id;
	second = list_next(trid);
	ids_add(&seen, first);
	ids_add(&seen, second);
	CHECK_NE("ID-26", first, second);
	count = 2 + list_rest(trid, &seen);
	CHECK_OURS(OURS_IDS, "ID-29", count, ==, PREDEFINED + 3); /* other implementations may have more */
	for (int i = 0; i < PREDEFINED; i++)
		CHECK_EQ("ID-26 ID-29", ids_times(&seen, predefined[i].id), 1);
	CHECK_EQ("ID-1 ID-29 ID-31", ids_times(&seen, a), 1);
	CHECK_EQ("ID-29 ID-31", ids_times(&seen, b), 1);
	CHECK_EQ("ID-29 ID-31", ids_times(&seen, c), 1);
	/* The end stays the end. */
	for (int i = 0; i < 3; i++) {
		unavailable = 0;
		id = 4711;
		CHECK_EQ("ID-28 ID-33", posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable), 0);
		CHECK_NE("ID-28", unavailable, 0);
		CHECK_EQ("ID-28", id, 4711);
	}
	CHECK_EQ("ID-30 ID-33", posix_trace_eventtypelist_rewind(trid), 0);
	CHECK_EQ("ID-30", list_next(trid), first);
	CHECK_EQ("ID-30", list_next(trid), second);
	/* Also from the middle of the list. */
	CHECK_EQ("ID-30 ID-31", posix_trace_eventtypelist_rewind(trid), 0);
	CHECK_EQ("ID-30", list_rest(trid, &again), count);
	for (size_t i = 0; i < seen.n; i++)
		CHECK_EQ("ID-30", ids_times(&again, seen.id[i]), 1);
	stream_end(trid);
}

/* The name of each type leads back to its id. */
TEST(list_names)
{
	trace_id_t trid = stream_create(NULL);
	trace_event_id_t id;
	int count = 0;

	stream_id("ids.list_names");
	while ((id = list_next(trid)) != NO_TYPE) {
		count++;
		CHECK_EQ("ID-1 ID-26 ID-29", trid_open(trid, get_name(trid, id).text), id);
	}
	CHECK_OURS(OURS_IDS, "ID-29", count, ==, PREDEFINED + 1); /* other implementations may have more */
	stream_end(trid);
}

/* A type opened after the end was reached is found. Each stream has its own position in the list. */
TEST(list_grows)
{
	static struct ids seen;
	trace_id_t trid = stream_create(NULL), trid2 = stream_create(NULL);
	trace_event_id_t late;

	CHECK_OURS(OURS_IDS, "ID-29", list_rest(trid, &seen), ==, PREDEFINED); /* other implementations may have more */
	CHECK_NE("ID-26", list_next(trid2), NO_TYPE);
	late = stream_id("ids.late");
	CHECK_EQ("ID-29", list_next(trid), late);
	CHECK_EQ("ID-28 ID-29", list_next(trid), NO_TYPE);
	CHECK_OURS(OURS_IDS, "ID-26 ID-29", list_rest(trid2, &seen), ==, PREDEFINED); /* other implementations may
	                                                                               * have more */
	CHECK_EQ("ID-29", ids_times(&seen, late), 1);
	MUST(posix_trace_eventtypelist_rewind(trid) == 0);
	CHECK_EQ("ID-30", list_next(trid2), NO_TYPE);
	CHECK_OURS(OURS_IDS, "ID-29 ID-30", list_rest(trid, &seen), ==, PREDEFINED + 1); /* other implementations may
	                                                                                  * have more */
	stream_end(trid);
	stream_end(trid2);
}

TEST(list_full)
{
	static struct ids seen;
	trace_id_t trid = stream_create(NULL);
	char name[32];

	for (int i = 0; i < TRACE_USER_EVENT_MAX + 5; i++) {
		snprintf(name, sizeof name, "ids.full.%d", i);
		stream_id(name);
	}
	CHECK_OURS(OURS_IDS, "ID-29 EVT-16", list_rest(trid, &seen), ==, PREDEFINED + TRACE_USER_EVENT_MAX - 1);
	for (size_t i = 0; i < seen.n; i++)
		CHECK_EQ("ID-26", seen.times[i], 1);
	stream_end(trid);
}

TEST(list_refused)
{
	trace_id_t trid = stream_create(NULL), gone = stream_create(NULL);
	const trace_id_t bad[] = { 0, gone, (trace_id_t)-1, trid ^ 1, trid ^ ((trace_id_t)1 << 40) };
	trace_event_id_t id = 4711;
	int unavailable;

	stream_end(gone);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (bad[i] == trid)
			continue;
		CHECK_EQ("ID-32 ID-33", posix_trace_eventtypelist_getnext_id(bad[i], &id, &unavailable), EINVAL);
		CHECK_EQ("ID-32", id, 4711);
		CHECK_EQ("ID-32 ID-33", posix_trace_eventtypelist_rewind(bad[i]), EINVAL);
	}
	CHECK_REFUSED("HDR-32", posix_trace_eventtypelist_getnext_id(trid, NULL, &unavailable));
	CHECK_REFUSED("HDR-32", posix_trace_eventtypelist_getnext_id(trid, &id, NULL));
	stream_end(trid);
}

TEST_MAIN(TEST_ENTRY(open), TEST_ENTRY(over_time), TEST_ENTRY(name_lengths), TEST_ENTRY(shared_name),
          TEST_ENTRY(too_many_names), TEST_ENTRY(trid_open_agrees), TEST_ENTRY(filter_in_advance),
          TEST_ENTRY(system_names), TEST_ENTRY(trid_open_refused), TEST_ENTRY(equal), TEST_ENTRY(get_name_again),
          TEST_ENTRY(get_name_refused), TEST_ENTRY(list), TEST_ENTRY(list_names), TEST_ENTRY(list_grows),
          TEST_ENTRY(list_full), TEST_ENTRY(list_refused))
