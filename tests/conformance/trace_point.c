/*
 * trace_point.c - posix_trace_event(): what is recorded, where, and that nothing else happens
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <time.h>

#include "stream.h"

static unsigned char pattern[70000];

static void make_pattern(void)
{
	for (size_t i = 0; i < sizeof pattern; i++)
		pattern[i] = (unsigned char)(i * 31 + i / 256 + 1);
}

/* -- Data --------------------------------------------------------------- */

TEST(data)
{
	trace_event_id_t id = stream_id("point.data");
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;

	make_pattern();
	/* Each length up to the default limit, with each alignment. */
	for (size_t length = 0; length <= 1024; length++) {
		const unsigned char *from = pattern + length % 8;

		posix_trace_event(id, from, length);
		stream_expect(trid, id, &e);
		CHECK_EQ("EVT-1 EVT-2", e.len, length);
		CHECK_EQ("EVT-2", e.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
		CHECK_EQ("EVT-1 EVT-2", memcmp(e.data, from, length), 0);
	}
	stream_end(trid);
}

TEST(data_too_long)
{
	static const size_t limits[] = { 0, 1, 7, 8, 9, 64, 1000 };
	trace_event_id_t id = stream_id("point.too_long");
	struct stream_event e;
	trace_attr_t attr;
	trace_id_t trid;

	make_pattern();
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		size_t limit = limits[i];

		stream_attr(&attr, 0, 0, 0);
		MUST(posix_trace_attr_setmaxdatasize(&attr, limit) == 0);
		trid = stream_running(&attr);
		for (size_t length = limit; length < sizeof pattern; length += length < limit + 20 ? 1 : length) {
			posix_trace_event(id, pattern, length);
			stream_expect(trid, id, &e);
			CHECK_EQ("EVT-3", e.len, limit);
			CHECK_EQ("EVT-3", e.info.posix_truncation_status,
				 length > limit ? POSIX_TRACE_TRUNCATED_RECORD : POSIX_TRACE_NOT_TRUNCATED);
			CHECK_EQ("EVT-3", memcmp(e.data, pattern, limit), 0);
		}
		stream_end(trid);
	}
}

struct mixture {
	char c;
	short s;
	long long l;
	double d;
	float f[3];
	struct { int x, y; } point;
	void *p;
};

TEST(data_of_every_type)
{
	struct mixture m, got;
	trace_event_id_t id = stream_id("point.mixture");
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;
	double d = -1.5e300;

	memset(&m, 0, sizeof m);
	m.c = 'c';
	m.s = -2;
	m.l = 1LL << 60;
	m.d = 3.25;
	m.f[2] = 0.5f;
	m.point.y = 9;
	m.p = &m;
	posix_trace_event(id, &m, sizeof m);
	posix_trace_event(id, &d, sizeof d);
	/* The data is copied at the call. */
	{
		struct mixture copy = m;

		memset(&m, 0xff, sizeof m);
		stream_expect(trid, id, &e);
		CHECK_EQ("EVT-12", e.len, sizeof got);
		memcpy(&got, e.data, sizeof got);
		CHECK_EQ("EVT-12", memcmp(&got, &copy, sizeof got), 0);
		CHECK("EVT-12", got.c == 'c' && got.s == -2 && got.l == 1LL << 60 && got.d == 3.25 &&
		      got.f[2] == 0.5f &&
		      got.point.y == 9 && got.p == &m);
	}
	stream_expect(trid, id, &e);
	CHECK_EQ("EVT-12", e.len, sizeof d);
	CHECK_EQ("EVT-12", memcmp(e.data, &d, sizeof d), 0);
	stream_end(trid);
}

/* Undefined by the standard. Ours: an event without data, and no fault. */
TEST(null_data)
{
	trace_event_id_t id = stream_id("point.null");
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;

	posix_trace_event(id, NULL, 0);
	stream_expect(trid, id, &e);
	CHECK_EQ("EVT-2", e.len, 0);
	CHECK_EQ("EVT-2", e.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	posix_trace_event(id, NULL, 16);
	stream_expect(trid, id, &e);
	CHECK_EQ("EVT-5 HDR-32", e.len, 0);
	CHECK_EQ("EVT-5 HDR-32", e.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
	posix_trace_event(id, NULL, 100000);
	stream_expect(trid, id, &e);
	CHECK_EQ("EVT-5 HDR-32", e.len, 0);
	stream_end(trid);
}

TEST(unnamed)
{
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;

	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "abc", 3);
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
	stream_expect(trid, POSIX_TRACE_UNNAMED_USEREVENT, &e);
	CHECK_EQ("EVT-25", e.len, 3);
	CHECK_EQ("EVT-25", memcmp(e.data, "abc", 3), 0);
	stream_expect(trid, POSIX_TRACE_UNNAMED_USEREVENT, &e);
	CHECK_EQ("EVT-25", e.len, 0);
	stream_end(trid);
}

/* -- Where nothing must happen ------------------------------------------ */

TEST(no_effect)
{
	trace_event_id_t id = stream_id("point.no_effect");
	struct stream_event e;
	struct posix_trace_status_info status;
	trace_event_set_t set;
	trace_id_t trid;

	/* Without a stream. */
	posix_trace_event(id, "early", 5);
	trid = stream_create(NULL);
	/* Not started. */
	posix_trace_event(id, "suspended", 9);
	CHECK("EVT-4", !stream_try(trid, &e));
	MUST(posix_trace_start(trid) == 0);
	stream_expect(trid, POSIX_TRACE_START, &e);
	CHECK("EVT-4", !stream_try(trid, &e));
	/* Filtered out. */
	MUST(posix_trace_eventset_empty(&set) == 0);
	MUST(posix_trace_eventset_add(id, &set) == 0);
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
	stream_expect(trid, POSIX_TRACE_FILTER, &e);
	posix_trace_event(id, "filtered", 8);
	CHECK("EVT-4", !stream_try(trid, &e));
	MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SUB_EVENTSET) == 0);
	stream_expect(trid, POSIX_TRACE_FILTER, &e);
	posix_trace_event(id, "seen", 4);
	stream_expect(trid, id, &e);
	CHECK_EQ("EVT-1", memcmp(e.data, "seen", 4), 0);
	/* Stopped. */
	MUST(posix_trace_stop(trid) == 0);
	stream_expect(trid, POSIX_TRACE_STOP, &e);
	posix_trace_event(id, "stopped", 7);
	CHECK("EVT-4", !stream_try(trid, &e));
	/* None of these events counts as lost. */
	CHECK_EQ("EVT-4", stream_status(trid).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	status = stream_status(trid);
	CHECK_LOST("EVT-4", ours_lost(&status), ==, 0);
	stream_end(trid);
	posix_trace_event(id, "late", 4);
}

/* System types and ids that were not given out are not recorded in any state. */
TEST(not_a_user_event)
{
	static const trace_event_id_t ids[] = {
		0, POSIX_TRACE_START, POSIX_TRACE_STOP, POSIX_TRACE_FILTER, POSIX_TRACE_OVERFLOW, POSIX_TRACE_RESUME,
		POSIX_TRACE_FLUSH_START, POSIX_TRACE_FLUSH_STOP, POSIX_TRACE_ERROR, 9, 40, 62, 1983, 1984, 4096, 8127,
		8128,
		65535, 65536, 0x7fffffffu, 0x80000000u, 0xffffffffu,
	};
	trace_event_id_t known = stream_id("point.known");
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;

	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		posix_trace_event(ids[i], "data", 4);
		CHECK("EVT-4 EVT-5", !stream_try(trid, &e));
	}
	posix_trace_event(known + 1, NULL, 0);
	CHECK("EVT-4 EVT-5", !stream_try(trid, &e));
	posix_trace_event(known, NULL, 0);
	CHECK("EVT-1", stream_try(trid, &e));
	stream_end(trid);
}

/* errno does not change, and a stream that cannot record has no effect on the program. */
TEST(no_trouble)
{
	trace_event_id_t id = stream_id("point.no_trouble");
	trace_attr_t attr;
	trace_id_t trid;

	make_pattern();
	errno = E2BIG;
	posix_trace_event(id, pattern, 100);
	CHECK_EQ("EVT-5 THR-6", errno, E2BIG);
	for (int policy = 0; policy < 2; policy++) {
		stream_attr(&attr, policy ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL, 4096, 0);
		trid = stream_create(&attr);
		posix_trace_event(id, pattern, 100);
		MUST(posix_trace_start(trid) == 0);
		errno = E2BIG;
		for (int i = 0; i < 10000; i++)
			posix_trace_event(id, pattern, 100);
		posix_trace_event(id, NULL, 100);
		posix_trace_event(0xffffffffu, pattern, 100);
		CHECK_EQ("EVT-5 THR-6", errno, E2BIG);
		CHECK_EQ("EVT-5", stream_status(trid).posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
		stream_end(trid);
	}
}

/* -- Origin ------------------------------------------------------------- */

struct origin {
	trace_event_id_t id;
	pthread_t thread;
	pid_t kernel_thread;
};

static void *record_from_thread(void *argument)
{
	struct origin *o = argument;

	o->thread = pthread_self();
	o->kernel_thread = gettid();
	posix_trace_event(o->id, NULL, 0);
	return NULL;
}

TEST(process_and_thread)
{
	struct origin o = { stream_id("point.origin"), 0, 0 };
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;
	pthread_t thread;

	posix_trace_event(o.id, NULL, 0);
	stream_expect(trid, o.id, &e);
	CHECK_EQ("EVT-6", e.info.posix_pid, getpid());
	CHECK("EVT-7", pthread_equal(e.info.posix_thread_id, pthread_self()));
	CHECK_TID("HDR-12", &e.info, ==, gettid());
	for (int i = 0; i < 20; i++) {
		MUST(pthread_create(&thread, NULL, record_from_thread, &o) == 0);
		MUST(pthread_join(thread, NULL) == 0);
		stream_expect(trid, o.id, &e);
		CHECK_EQ("EVT-6", e.info.posix_pid, getpid());
		CHECK("EVT-7", pthread_equal(e.info.posix_thread_id, o.thread));
		CHECK("EVT-7", !pthread_equal(e.info.posix_thread_id, pthread_self()) || o.thread == pthread_self());
		CHECK_TID("HDR-12", &e.info, ==, o.kernel_thread);
	}
	stream_end(trid);
}

/*
 * Each function has its own section, so that the linker defines symbols for its beginning and end. The compiler may
 * turn the last call of a function into a jump, and the return address would then be in the caller.
 */
#define IN_SECTION(name) __attribute__((noinline, noclone, section(#name)))
#if defined __clang__
# undef IN_SECTION
# define IN_SECTION(name) __attribute__((noinline, section(#name)))
#endif
#define SECTION_BOUNDS(name) extern const char __start_##name[], __stop_##name[]

SECTION_BOUNDS(point_middle);
SECTION_BOUNDS(point_tail);
SECTION_BOUNDS(point_branch);
SECTION_BOUNDS(point_function);
SECTION_BOUNDS(point_two);

static volatile int after_call;

IN_SECTION(point_middle) static void middle(trace_event_id_t id, const void *data, size_t length)
{
	posix_trace_event(id, data, length);
	after_call++;
}

IN_SECTION(point_tail) static void tail(trace_event_id_t id, const void *data, size_t length)
{
	posix_trace_event(id, data, length);
}

IN_SECTION(point_branch) static void branch(trace_event_id_t id, const void *data, size_t length)
{
	if (length)
		posix_trace_event(id, data, length);
	else
		posix_trace_event(id, NULL, 0);
}

IN_SECTION(point_function) static void function(trace_event_id_t id, const void *data, size_t length)
{
	(posix_trace_event)(id, data, length);
	after_call++;
}

IN_SECTION(point_two) static void two(trace_event_id_t id, const void *data, size_t length)
{
	posix_trace_event(id, data, length);
	posix_trace_event(id, data, length);
}

static const void *address_in(trace_id_t trid, trace_event_id_t id, const char *start, const char *stop,
                              const char *name)
{
	struct stream_event e;
	const char *address;

	stream_expect(trid, id, &e);
	address = e.info.posix_prog_address;
	/*
	 * The address is after the call. After a call that does not return it could be outside of the function, but
	 * these calls return.
	 */
	if (address <= start || address >= stop)
		TEST_FAIL("EVT-8", "%s: %p is not between %p and %p", name, (const void *)address, (const void *)start,
			  (const void *)stop);
	return address;
}

TEST(address)
{
	trace_event_id_t id = stream_id("point.address");
	trace_id_t trid = stream_running(NULL);
	const void *first, *second;

	for (int i = 0; i < 2; i++) {
		const void *data = i ? "data" : NULL;
		size_t length = i ? 4 : 0;

		middle(id, data, length);
		first = address_in(trid, id, __start_point_middle, __stop_point_middle, "middle");
		middle(id, data, length);
		second = address_in(trid, id, __start_point_middle, __stop_point_middle, "middle again");
		CHECK("EVT-8", first == second);
		tail(id, data, length);
		address_in(trid, id, __start_point_tail, __stop_point_tail, "tail");
		branch(id, data, length);
		address_in(trid, id, __start_point_branch, __stop_point_branch, "branch");
		function(id, data, length);
		address_in(trid, id, __start_point_function, __stop_point_function, "function");
		/* Two trace points of one type have different addresses. */
		two(id, data, length);
		first = address_in(trid, id, __start_point_two, __stop_point_two, "first of two");
		second = address_in(trid, id, __start_point_two, __stop_point_two, "second of two");
		CHECK("EVT-8", first != second); /* the compiler chooses their order */
	}
	stream_end(trid);
}

/* -- Time --------------------------------------------------------------- */

static long long nanoseconds(struct timespec t)
{
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long now(void)
{
	struct timespec t;

	MUST(clock_gettime(CLOCK_REALTIME, &t) == 0);
	return nanoseconds(t);
}

TEST(time_of_an_event)
{
	/* The library's clock is not slewed as the system's may be. */
	const long long tolerance = 2000000;
	trace_event_id_t id = stream_id("point.time");
	trace_id_t trid = stream_running(NULL);
	struct stream_event e;
	trace_attr_t attr;
	struct timespec resolution, created;
	long long last = 0;

	MUST(posix_trace_get_attr(trid, &attr) == 0);
	MUST(posix_trace_attr_getclockres(&attr, &resolution) == 0);
	MUST(posix_trace_attr_getcreatetime(&attr, &created) == 0);
	CHECK("EVT-9", resolution.tv_sec == 0 && resolution.tv_nsec > 0 && resolution.tv_nsec <= 1000);
	for (int i = 0; i < 50; i++) {
		long long begin = now(), end, t;

		posix_trace_event(id, NULL, 0);
		end = now();
		if (i % 10 == 0)
			usleep(3000); /* the time of recording counts, not of reading */
		stream_expect(trid, id, &e);
		CHECK("EVT-9", e.info.posix_timestamp.tv_nsec >= 0 && e.info.posix_timestamp.tv_nsec < 1000000000);
		t = nanoseconds(e.info.posix_timestamp);
		CHECK_OP("EVT-9", t, >=, begin - tolerance);
		CHECK_OP("EVT-9", t, <=, end + tolerance);
		CHECK_OP("EVT-9", t, >=, last);
		CHECK_OP("EVT-9", t, >=, nanoseconds(created));
		last = t;
	}
	/* Short intervals can be distinguished. */
	posix_trace_event(id, NULL, 0);
	usleep(20);
	posix_trace_event(id, NULL, 0);
	stream_expect(trid, id, &e);
	last = nanoseconds(e.info.posix_timestamp);
	stream_expect(trid, id, &e);
	CHECK_OP("EVT-9", nanoseconds(e.info.posix_timestamp), >, last + 10000);
	stream_end(trid);
}

/* -- Several streams ---------------------------------------------------- */

TEST(several_streams)
{
	enum { N = 5 };
	static const size_t limits[N] = { 1, 8, 100, 1000, 4000 };
	trace_event_id_t odd = stream_id("point.odd"), even = stream_id("point.even");
	trace_id_t trid[N];
	struct stream_event e, e0;
	trace_event_set_t set;
	trace_attr_t attr;

	make_pattern();
	for (int i = 0; i < N; i++) {
		stream_attr(&attr, 0, 0, limits[i]);
		trid[i] = stream_running(&attr);
		MUST(posix_trace_eventset_empty(&set) == 0);
		MUST(posix_trace_eventset_add(i & 1 ? even : odd, &set) == 0);
		MUST(posix_trace_set_filter(trid[i], &set, POSIX_TRACE_SET_EVENTSET) == 0);
		stream_drain(trid[i]);
	}
	MUST(posix_trace_stop(trid[2]) == 0);
	stream_drain(trid[2]);
	for (size_t length = 0; length < 5000; length += 99) {
		posix_trace_event(odd, pattern, length);
		posix_trace_event(even, pattern, length);
		for (int i = 0; i < N; i++) {
			size_t expected = length < limits[i] ? length : limits[i];

			if (i == 2) {
				CHECK("EVT-1 EVT-4 MODEL-6", !stream_try(trid[i], &e));
				continue;
			}
			stream_expect(trid[i], i & 1 ? odd : even, &e);
			CHECK_EQ("EVT-1 EVT-3 MODEL-6", e.len, expected);
			CHECK_EQ("EVT-1 EVT-3", memcmp(e.data, pattern, expected), 0);
			CHECK_EQ("EVT-3", e.info.posix_truncation_status,
				 length > limits[i] ? POSIX_TRACE_TRUNCATED_RECORD : POSIX_TRACE_NOT_TRUNCATED);
			CHECK("EVT-1", !stream_try(trid[i], &e0));
		}
	}
	for (int i = 0; i < N; i++)
		stream_end(trid[i]);
}

/* One trace point: the records in all streams agree in time and address. */
TEST(same_in_all_streams)
{
	trace_event_id_t id = stream_id("point.same");
	trace_id_t trid[3];
	struct stream_event e[3];

	for (int i = 0; i < 3; i++)
		trid[i] = stream_running(NULL);
	posix_trace_event(id, "same", 4);
	for (int i = 0; i < 3; i++) {
		stream_expect(trid[i], id, &e[i]);
		CHECK_EQ("EVT-1", e[i].len, 4);
		CHECK("EVT-1 EVT-8", e[i].info.posix_prog_address == e[0].info.posix_prog_address);
		CHECK_EQ("EVT-1 EVT-6", e[i].info.posix_pid, getpid());
		CHECK("EVT-1 EVT-7", pthread_equal(e[i].info.posix_thread_id, pthread_self()));
	}
	for (int i = 0; i < 3; i++)
		stream_end(trid[i]);
}

/* As many streams as possible, up to twenty: each has all events that it does not filter out, in order. */
TEST(many_streams)
{
	enum { MOST = 20, IDS = 3, EVENTS = 60 };
	static const char *const names[IDS] = { "point.many.0", "point.many.1", "point.many.2" };
	long most = sysconf(_SC_TRACE_SYS_MAX);
	int streams = most > 0 && most < MOST ? (int)most : MOST;
	trace_event_id_t ids[IDS];
	trace_id_t trid[MOST];
	trace_event_set_t set;
	struct stream_event e;

	for (int k = 0; k < IDS; k++)
		ids[k] = stream_id(names[k]);
	for (int i = 0; i < streams; i++) {
		trid[i] = stream_running(NULL);
		MUST(posix_trace_eventset_empty(&set) == 0);
		MUST(posix_trace_eventset_add(ids[i % IDS], &set) == 0);
		if (i % 4)
			MUST(posix_trace_set_filter(trid[i], &set, POSIX_TRACE_SET_EVENTSET) == 0);
		if (i % 7 == 3)
			MUST(posix_trace_stop(trid[i]) == 0);
		stream_drain(trid[i]);
	}
	for (int n = 0; n < EVENTS; n++)
		posix_trace_event(ids[n % IDS], &n, sizeof n);
	for (int i = 0; i < streams; i++) {
		for (int n = 0; n < EVENTS && i % 7 != 3; n++) {
			if (i % 4 && n % IDS == i % IDS)
				continue;
			stream_expect(trid[i], ids[n % IDS], &e);
			CHECK_EQ("EVT-1 EVT-3 MODEL-6", e.len, sizeof n);
			CHECK_EQ("EVT-1 EVT-3 MODEL-6", memcmp(e.data, &n, sizeof n), 0);
		}
		CHECK("EVT-1 EVT-4 MODEL-6", !stream_try(trid[i], &e));
		stream_end(trid[i]);
	}
}

TEST_MAIN(TEST_ENTRY(data), TEST_ENTRY(data_too_long), TEST_ENTRY(data_of_every_type), TEST_ENTRY(null_data),
          TEST_ENTRY(unnamed), TEST_ENTRY(no_effect), TEST_ENTRY(not_a_user_event), TEST_ENTRY(no_trouble),
          TEST_ENTRY(process_and_thread), TEST_ENTRY(address), TEST_ENTRY(time_of_an_event),
          TEST_ENTRY(several_streams), TEST_ENTRY(same_in_all_streams), TEST_ENTRY(many_streams))
