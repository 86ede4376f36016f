/*
 * clear.c - posix_trace_clear(): as after creation, but names, memory and whether it runs stay
 *
 * Clearing a stream in each of its states is also in start_stop.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "waiter.h"

static trace_event_id_t id;

TEST(events_are_gone)
{
	trace_id_t trid = stream_create(NULL);
	struct stream_event e;

	id = stream_id("clear");
	MUST(posix_trace_start(trid) == 0);
	for (unsigned n = 0; n < 100; n++)
		number_send(id, 0, n);
	CHECK_EQ("CLEAR-5 CLEAR-13", posix_trace_clear(trid), 0);
	CHECK_EQ("CLEAR-5", stream_drain(trid), 0);
	CHECK_STR("CLEAR-4", state(trid), "RN");
	number_send(id, 0, 100);
	stream_expect(trid, id, &e); /* no START, as the stream kept running */
	CHECK_EQ("CLEAR-4 CLEAR-5", number_of(e.data, e.len).number, 100);
	CHECK_EQ("CLEAR-13", posix_trace_clear(trid), 0); /* of an empty stream */
	CHECK_EQ("CLEAR-13", posix_trace_clear(trid), 0);
	MUST(posix_trace_stop(trid) == 0);
	stream_expect(trid, POSIX_TRACE_STOP, &e);
	CHECK_EQ("CLEAR-5", stream_drain(trid), 0);
	stream_end(trid);
}

/* Earlier events do not reappear if a reader was in the middle of them. */
TEST(half_read)
{
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;

	id = stream_id("clear");
	for (int round = 0; round < 50; round++) {
		unsigned base = 1000 * (unsigned)round;

		for (unsigned n = 0; n < 100; n++)
			number_send(id, 0, base + n);
		for (int n = 0; n < round; n++)
			stream_expect(trid, id, &e);
		CHECK_EQ("CLEAR-5", posix_trace_clear(trid), 0);
		number_send(id, 0, base + 500);
		stream_expect(trid, id, &e);
		CHECK_EQ("CLEAR-5 READ-20", number_of(e.data, e.len).number, base + 500);
	}
	CHECK_EQ("CLEAR-5", stream_drain(trid), 0);
	stream_end(trid);
}

TEST(statuses)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL };

	id = stream_id("clear");
	for (int i = 0; i < 2; i++) {
		trace_id_t trid = small_stream(policies[i]);

		MUST(posix_trace_start(trid) == 0);
		fill(trid, id, 0);
		for (unsigned n = 0; n < 500; n++)
			number_send(id, 0, n);
		MUST(posix_trace_clear(trid) == 0);
		/* No exclamation mark: the overrun was cleared too. */
		CHECK_STR("CLEAR-1 CLEAR-4 CLEAR-6", state(trid), policies[i] == POSIX_TRACE_LOOP ? "RN" : "SN");
		CHECK_LOST("CLEAR-1", lost_events(trid), ==, 0);
		CHECK_EQ("CLEAR-1 CLEAR-5", stream_drain(trid), 0);
		stream_end(trid);
	}
}

/* A gap that was not reported before the clear is not reported after it. */
TEST(gap_is_gone)
{
	trace_id_t trid = small_stream(POSIX_TRACE_LOOP);
	struct stream_event e;

	id = stream_id("clear");
	MUST(posix_trace_start(trid) == 0);
	fill(trid, id, 0);
	MUST(posix_trace_clear(trid) == 0);
	number_send(id, 0, 7);
	stream_expect(trid, id, &e);
	CHECK_EQ("CLEAR-1 SYS-7", number_of(e.data, e.len).number, 7);
	stream_end(trid);
}

/* The memory is reused: after each clear a stream holds as much as its size promises. */
TEST(same_memory)
{
	trace_attr_t attr;
	size_t size, cost, system_cost;

	stream_attr(&attr, POSIX_TRACE_UNTIL_FULL, 8192, NUMBER_SIZE);
	id = stream_id("clear");
	for (int running = 0; running < 2; running++) {
		trace_id_t trid = stream_create(&attr);
		trace_attr_t real;
		unsigned promised;
		struct stream_event e;

		MUST(posix_trace_get_attr(trid, &real) == 0);
		MUST(posix_trace_attr_getstreamsize(&real, &size) == 0);
		MUST(posix_trace_attr_getmaxusereventsize(&real, NUMBER_SIZE, &cost) == 0);
		MUST(posix_trace_attr_getmaxsystemeventsize(&real, &system_cost) == 0);
		promised = (unsigned)((size - system_cost) / cost);
		MUST(promised > 0);
		if (running)
			MUST(posix_trace_start(trid) == 0);
		for (int round = 0; round < 30; round++) {
			if (!running) {
				MUST(posix_trace_start(trid) == 0);
				stream_expect(trid, POSIX_TRACE_START, &e);
			}
			for (unsigned n = 0; n < promised; n++)
				number_send(id, 0, n);
			CHECK_STR("CLEAR-2 ATTR-49", state(trid), "RN");
			if (round == 29)
				break;
			if (!running)
				MUST(posix_trace_stop(trid) == 0);
			CHECK_EQ("CLEAR-2", posix_trace_clear(trid), 0);
			CHECK_STR("CLEAR-4", state(trid), running ? "RN" : "SN");
		}
		CHECK_EQ("CLEAR-2 MODEL-8", number_run(trid, id, 0, &e), promised);
		stream_end(trid);
	}
}

TEST(names_stay)
{
	trace_id_t trid = stream_create(NULL);
	trace_event_id_t a = stream_id("a"), b, got;
	char name[TRACE_EVENT_NAME_MAX + 1];
	int unavailable = 0;
	trace_event_id_t first, second;
	size_t n = 0, m = 0;

	MUST(posix_trace_trid_eventid_open(trid, "b", &b) == 0);
	MUST(posix_trace_eventtypelist_getnext_id(trid, &first, &unavailable) == 0 && !unavailable);
	MUST(posix_trace_eventtypelist_rewind(trid) == 0);
	while (posix_trace_eventtypelist_getnext_id(trid, &got, &unavailable) == 0 && !unavailable)
		n++;
	CHECK_EQ("CLEAR-3", posix_trace_clear(trid), 0);
	CHECK_EQ("CLEAR-3", posix_trace_eventid_get_name(trid, a, name), 0);
	CHECK_STR("CLEAR-3", name, "a");
	CHECK_EQ("CLEAR-3", posix_trace_eventid_get_name(trid, b, name), 0);
	CHECK_STR("CLEAR-3", name, "b");
	MUST(posix_trace_trid_eventid_open(trid, "a", &got) == 0);
	CHECK_EQ("CLEAR-3 ID-18", got, a);
	CHECK_EQ("CLEAR-3 EVT-19", stream_id("b"), b);
	/* The list starts from its beginning, as after creation. */
	MUST(posix_trace_eventtypelist_getnext_id(trid, &second, &unavailable) == 0 && !unavailable);
	CHECK_EQ("CLEAR-1", second, first);
	for (m = 1; posix_trace_eventtypelist_getnext_id(trid, &got, &unavailable) == 0 && !unavailable;)
		m++;
	CHECK_EQ("CLEAR-3", m, n);
	stream_end(trid);
}

/* The filter is that of a new stream. In a running stream, FILTER records the change. */
TEST(filter)
{
	trace_id_t trid = stream_create(NULL);
	trace_event_id_t hidden = stream_id("hidden");
	trace_event_set_t set = set_of(hidden), empty = set_of(NO_TYPE), got[2];
	struct stream_event e;

	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
	CHECK_EQ("CLEAR-1", posix_trace_clear(trid), 0);
	MUST(posix_trace_get_filter(trid, &got[0]) == 0);
	CHECK("CLEAR-1 CREATE-13", set_equal(&got[0], &empty));
	CHECK_EQ("CLEAR-1 FILT-7", stream_drain(trid), 0);

	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
	MUST(posix_trace_start(trid) == 0);
	CHECK_EQ("CLEAR-1", posix_trace_clear(trid), 0);
	posix_trace_event(hidden, "x", 1);
	stream_expect(trid, POSIX_TRACE_FILTER, &e);
	CHECK_EQ("SYS-6", e.len, sizeof got);
	memcpy(got, e.data, sizeof got);
	CHECK("CLEAR-1 SYS-6 SYS-18", set_equal(&got[0], &set));
	CHECK("CLEAR-1 SYS-6 SYS-18", set_equal(&got[1], &empty));
	stream_expect(trid, hidden, &e);
	CHECK_EQ("CLEAR-1", stream_drain(trid), 0);
	/* Without a change of the filter there is no FILTER event. */
	CHECK_EQ("CLEAR-1", posix_trace_clear(trid), 0);
	CHECK_EQ("CLEAR-1", stream_drain(trid), 0);
	stream_end(trid);
}

TEST(attributes)
{
	trace_attr_t attr, before, after;
	trace_id_t trid;
	struct timespec asked, created;
	char name[TRACE_NAME_MAX + 1];
	size_t x, y;
	int policy;

	stream_attr(&attr, POSIX_TRACE_UNTIL_FULL, 10000, 100);
	MUST(posix_trace_attr_setname(&attr, "cleared") == 0);
	trid = stream_create(&attr);
	MUST(posix_trace_get_attr(trid, &before) == 0);
	sleep_ms(2);
	asked = now();
	CHECK_EQ("CLEAR-13", posix_trace_clear(trid), 0);
	MUST(posix_trace_get_attr(trid, &after) == 0);
	MUST(posix_trace_attr_getcreatetime(&after, &created) == 0);
	CHECK_OP("CLEAR-1 CREATE-5", nanoseconds(created), >=, nanoseconds(asked));
	CHECK_OP("CLEAR-1 CREATE-5", nanoseconds(created), <=, nanoseconds(now()));
	MUST(posix_trace_attr_getname(&after, name) == 0);
	CHECK_STR("CLEAR-1", name, "cleared");
	MUST(posix_trace_attr_getstreamfullpolicy(&after, &policy) == 0);
	CHECK_EQ("CLEAR-1", policy, POSIX_TRACE_UNTIL_FULL);
	MUST(posix_trace_attr_getmaxdatasize(&after, &x) == 0);
	CHECK_EQ("CLEAR-1", x, 100);
	MUST(posix_trace_attr_getstreamsize(&before, &x) == 0);
	MUST(posix_trace_attr_getstreamsize(&after, &y) == 0);
	CHECK_EQ("CLEAR-1 CLEAR-2", x, y);
	stream_end(trid);
}

/* A waiting reader goes on waiting, and gets an event recorded after the clear. */
TEST(reader_waits)
{
	trace_id_t trid = stream_running(NULL);
	struct waiter w;

	id = stream_id("clear");
	waiter_start(&w, trid, NULL);
	CHECK_EQ("CLEAR-13", posix_trace_clear(trid), 0);
	waiter_settle(&w);
	CHECK_EQ("CLEAR-1 READ-5", atomic_load(&w.done), 0);
	number_send(id, 0, 3);
	waiter_join(&w);
	CHECK_EQ("READ-5", w.result, 0);
	CHECK_EQ("CLEAR-1", number_of(w.data, w.len).number, 3);
	stream_end(trid);
}

/* Other threads keep recording. After the clear, the events of this thread are complete and in order. */
static atomic_int stop;

static void *tracer(void *arg)
{
	for (unsigned n = 0; !atomic_load(&stop); n++)
		number_send(id, 1, n);
	return arg;
}

TEST(while_traced)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL };

	id = stream_id("clear");
	for (int i = 0; i < 2; i++) {
		trace_id_t trid;
		trace_attr_t attr;
		pthread_t thread;

		stream_attr(&attr, policies[i], 65536, NUMBER_SIZE);
		trid = stream_running(&attr);
		atomic_store(&stop, 0);
		MUST(pthread_create(&thread, NULL, tracer, NULL) == 0);
		for (unsigned round = 0; round < 300 / (unsigned)test_slow(); round++) {
			struct stream_event e;
			unsigned next = 0, any = 0;

			CHECK_EQ("CLEAR-13 THR-1", posix_trace_clear(trid), 0);
			if (policies[i] == POSIX_TRACE_UNTIL_FULL)
				MUST(posix_trace_start(trid) == 0); /* it may have been full */
			if (round % 2) {
				for (unsigned n = 0; n < 20 && stream_try(trid, &e);) {
					struct number k;

					if (e.info.posix_event_id != id)
						continue;
					k = number_of(e.data, e.len);
					if (any && k.number < next)
						TEST_FAIL("CLEAR-5 CLEAR-7 READ-20", "number %u after %u", k.number,
						          next - 1);
					next = k.number + 1;
					any = 1;
					n++;
				}
			}
		}
		atomic_store(&stop, 1);
		MUST(pthread_join(thread, NULL) == 0);
		MUST(posix_trace_clear(trid) == 0);
		MUST(posix_trace_start(trid) == 0); /* if it was full, it is still suspended after the clear */
		number_send(id, 0, 77);
		{
			struct stream_event e;

			stream_next(trid, &e);
			if (e.info.posix_event_id == POSIX_TRACE_START)
				stream_next(trid, &e);
			CHECK_EQ("CLEAR-5", e.info.posix_event_id, id);
			CHECK_EQ("CLEAR-5", number_of(e.data, e.len).number, 77);
			CHECK_EQ("CLEAR-5", stream_drain(trid), 0);
		}
		stream_end(trid);
	}
}

TEST_MAIN(TEST_ENTRY(events_are_gone), TEST_ENTRY(half_read), TEST_ENTRY(statuses), TEST_ENTRY(gap_is_gone),
          TEST_ENTRY(same_memory), TEST_ENTRY(names_stay), TEST_ENTRY(filter), TEST_ENTRY(attributes),
          TEST_ENTRY(reader_waits), TEST_ENTRY(while_traced))
