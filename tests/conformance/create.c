/*
 * create.c - posix_trace_create() and posix_trace_shutdown(): what a new stream is, and when there is none
 *
 * Streams of other processes are in other_process.c and permission.c; how many
 * streams there can be, in sys_max.c; which identifier is good for which
 * function, in matrix.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>

#include "numbers.h"
#include "shm.h"

TEST(new_stream)
{
	trace_event_set_t filter;
	struct posix_trace_status_info s;
	trace_id_t trid = 0;
	int member = -1;

	CHECK_EQ("CREATE-1 CREATE-3 CREATE-6 HDR-33", posix_trace_create(0, NULL, &trid), 0);
	CHECK("CREATE-7 MODEL-4", trid != 0);

	memset(&s, 0xa5, sizeof s);
	CHECK_EQ("STAT-1 CREATE-7", posix_trace_get_status(trid, &s), 0);
	CHECK_EQ("CREATE-12 CREATE-24 STAT-9 STAT-13", s.posix_stream_status, POSIX_TRACE_SUSPENDED);
	CHECK_EQ("CREATE-1 STAT-10 STAT-13", s.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
	CHECK_EQ("CREATE-16", s.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ("CREATE-17 STAT-20", s.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
	CHECK_EQ("STAT-20", s.posix_log_full_status, POSIX_TRACE_NOT_FULL);
	CHECK_EQ("STAT-17", s.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
	CHECK_EQ("STAT-17", s.posix_stream_flush_error, 0);
	CHECK_LOST("CREATE-1", ours_lost(&s), ==, 0);

	CHECK_EQ("CREATE-10", posix_trace_get_filter(trid, &filter), 0);
	for (size_t i = 0; i < ids_known(); i++) {
		if (posix_trace_eventset_ismember(ids_get(i), &filter, &member) != 0 || member != 0)
			TEST_FAIL("CREATE-13 FILT-5", "type %u is in the filter of a new stream", ids_get(i));
	}
	CHECK_EQ("CREATE-12 START-10", stream_drain(trid), 0);
	CHECK_EQ("SHUT-10 HDR-33", posix_trace_shutdown(trid), 0);
}

TEST(default_attributes)
{
	trace_id_t null = stream_create(NULL), given;
	trace_attr_t fresh, a, b;
	int x, y, z;
	size_t s, t, u;
	char name[TRACE_NAME_MAX + 1], version[TRACE_NAME_MAX + 1], version_fresh[TRACE_NAME_MAX + 1];
	struct timespec res, res_fresh;

	MUST(posix_trace_attr_init(&fresh) == 0);
	given = stream_create(&fresh);
	MUST(posix_trace_get_attr(null, &a) == 0);
	MUST(posix_trace_get_attr(given, &b) == 0);

#define SAME(ids, get, x, y, z)                                    \
	do {                                                       \
		MUST(posix_trace_attr_##get(&fresh, &x) == 0);     \
		MUST(posix_trace_attr_##get(&a, &y) == 0);         \
		MUST(posix_trace_attr_##get(&b, &z) == 0);         \
		CHECK_EQ(ids, y, x);                               \
		CHECK_EQ(ids, z, x);                               \
	} while (0)
	SAME("CREATE-3 ATTR-34", getstreamfullpolicy, x, y, z);
	CHECK_EQ("CREATE-3 ATTR-34", y, POSIX_TRACE_LOOP);
	SAME("CREATE-3 ATTR-28", getinherited, x, y, z);
	CHECK_EQ("CREATE-3 ATTR-28", y, POSIX_TRACE_CLOSE_FOR_CHILD);
	SAME("CREATE-3 ATTR-45", getmaxdatasize, s, t, u);
	MUST(posix_trace_attr_getstreamsize(&fresh, &s) == 0);
	MUST(posix_trace_attr_getstreamsize(&a, &t) == 0);
	MUST(posix_trace_attr_getstreamsize(&b, &u) == 0);
	CHECK_OP("CREATE-3 ATTR-50", t, >=, s);
	CHECK_EQ("CREATE-3 ATTR-50", t, u);
	memset(name, 'x', sizeof name);
	CHECK_EQ("CREATE-3", posix_trace_attr_getname(&a, name), 0);
	CHECK_STR("CREATE-3 ATTR-17", name, "");
	MUST(posix_trace_attr_getgenversion(&a, version) == 0);
	MUST(posix_trace_attr_getgenversion(&fresh, version_fresh) == 0);
	CHECK_STR("CREATE-3 ATTR-2", version, version_fresh);
	MUST(posix_trace_attr_getclockres(&a, &res) == 0);
	MUST(posix_trace_attr_getclockres(&fresh, &res_fresh) == 0);
	CHECK_EQ("CREATE-3 ATTR-2", nanoseconds(res), nanoseconds(res_fresh));
	stream_end(null);
	stream_end(given);
}

/* The stream keeps the attributes that the object had at the creation. */
TEST(attributes_are_copied)
{
	trace_attr_t attr, got;
	trace_id_t one, two;
	struct stream_event e;
	trace_event_id_t id = stream_id("copied");
	char name[TRACE_NAME_MAX + 1], data[40] = "0123456789";
	size_t size;
	int policy;

	stream_attr(&attr, POSIX_TRACE_UNTIL_FULL, 65536, 16);
	MUST(posix_trace_attr_setname(&attr, "first") == 0);
	one = stream_create(&attr);
	CHECK_EQ("CREATE-4", posix_trace_attr_setname(&attr, "second"), 0);
	CHECK_EQ("CREATE-4", posix_trace_attr_setmaxdatasize(&attr, 8), 0);
	CHECK_EQ("CREATE-4", posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP), 0);
	two = stream_create(&attr);
	CHECK_EQ("CREATE-4 ATTR-8", posix_trace_attr_destroy(&attr), 0);
	memset(&attr, 0xff, sizeof attr);

	CHECK_EQ("ATTR-57", posix_trace_get_attr(one, &got), 0);
	MUST(posix_trace_attr_getname(&got, name) == 0);
	CHECK_STR("CREATE-4 ATTR-8", name, "first");
	MUST(posix_trace_attr_getmaxdatasize(&got, &size) == 0);
	CHECK_EQ("CREATE-4 ATTR-8", size, 16);
	MUST(posix_trace_attr_getstreamfullpolicy(&got, &policy) == 0);
	CHECK_EQ("CREATE-4 ATTR-8", policy, POSIX_TRACE_UNTIL_FULL);
	CHECK_EQ("ATTR-57", posix_trace_get_attr(two, &got), 0);
	MUST(posix_trace_attr_getname(&got, name) == 0);
	CHECK_STR("CREATE-4 ATTR-8", name, "second");
	MUST(posix_trace_attr_getmaxdatasize(&got, &size) == 0);
	CHECK_EQ("CREATE-4 ATTR-8", size, 8);
	MUST(posix_trace_attr_getstreamfullpolicy(&got, &policy) == 0);
	CHECK_EQ("CREATE-4 ATTR-8", policy, POSIX_TRACE_LOOP);

	/* posix_trace_get_attr() returns a copy too. */
	MUST(posix_trace_attr_setmaxdatasize(&got, 1) == 0);
	MUST(posix_trace_start(one) == 0);
	MUST(posix_trace_start(two) == 0);
	posix_trace_event(id, data, sizeof data);
	stream_expect(one, POSIX_TRACE_START, &e);
	stream_expect(one, id, &e);
	CHECK_EQ("CREATE-4 MODEL-6 EVT-3", e.len, 16);
	stream_expect(two, POSIX_TRACE_START, &e);
	stream_expect(two, id, &e);
	CHECK_EQ("CREATE-4 MODEL-6 EVT-3", e.len, 8);
	stream_end(one);
	stream_end(two);
}

TEST(creation_time)
{
	struct timespec before = now(), after, created = { 0, 0 };
	trace_id_t trid = stream_create(NULL);
	trace_attr_t attr;

	after = now();
	MUST(posix_trace_get_attr(trid, &attr) == 0);
	CHECK_EQ("CREATE-5 ATTR-23", posix_trace_attr_getcreatetime(&attr, &created), 0);
	CHECK_OP("CREATE-5 ATTR-23", nanoseconds(created), >=, nanoseconds(before));
	CHECK_OP("CREATE-5 ATTR-23", nanoseconds(created), <=, nanoseconds(after));
	CHECK_OP("CREATE-5", created.tv_nsec, <, 1000000000);
	stream_end(trid);
}

/* 0 and the caller's own pid mean the same target. */
TEST(this_process)
{
	trace_event_id_t id = stream_id("who");
	struct stream_event e;
	trace_id_t by_zero, by_number;

	MUST(posix_trace_create(0, NULL, &by_zero) == 0);
	CHECK_EQ("CREATE-1 CREATE-6", posix_trace_create(getpid(), NULL, &by_number), 0);
	CHECK("CREATE-7 CREATE-14", by_zero != by_number);
	MUST(posix_trace_start(by_zero) == 0);
	MUST(posix_trace_start(by_number) == 0);
	posix_trace_event(id, "x", 1);
	for (int i = 0; i < 2; i++) {
		trace_id_t trid = i ? by_number : by_zero;

		stream_expect(trid, POSIX_TRACE_START, &e);
		stream_expect(trid, id, &e);
		CHECK_EQ("CREATE-6 MODEL-6 EVT-6", e.info.posix_pid, getpid());
		CHECK_EQ("CREATE-6 MODEL-6", e.len, 1);
		CHECK_EQ("MODEL-6", stream_drain(trid), 0);
		stream_end(trid);
	}
}

/* Names that were opened before the stream was created are known to the stream. */
TEST(earlier_names)
{
	trace_event_id_t early = stream_id("early"), other = stream_id("other early"), id;
	trace_id_t trid = stream_create(NULL);
	char name[TRACE_EVENT_NAME_MAX + 1];
	int seen = 0, unavailable = 0;

	CHECK_EQ("CREATE-26 MODEL-14 EVT-21", posix_trace_eventid_get_name(trid, early, name), 0);
	CHECK_STR("CREATE-26 MODEL-15", name, "early");
	CHECK_EQ("CREATE-26 EVT-21", posix_trace_eventid_get_name(trid, other, name), 0);
	CHECK_STR("CREATE-26 MODEL-15", name, "other early");
	CHECK_EQ("CREATE-26 ID-18", posix_trace_trid_eventid_open(trid, "early", &id), 0);
	CHECK_EQ("CREATE-26 ID-18 MODEL-12", id, early);
	for (;;) {
		MUST(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable) == 0);
		if (unavailable)
			break;
		seen += (id == early) + (id == other);
	}
	CHECK_EQ("CREATE-26 MODEL-15 ID-29", seen, 2);
	stream_end(trid);
}

/* Streams of one process are independent. */
TEST(independent)
{
	trace_id_t trid[4];
	trace_event_id_t id = stream_id("independent"), hidden = stream_id("hidden");
	trace_event_set_t filter = set_of(hidden);
	struct stream_event e;

	trid[0] = stream_running(NULL);
	trid[1] = stream_create(NULL); /* never started */
	trid[2] = stream_running(NULL);
	trid[3] = small_stream(POSIX_TRACE_UNTIL_FULL); /* full */
	MUST(posix_trace_set_filter(trid[2], &filter, POSIX_TRACE_SET_EVENTSET) == 0);
	stream_expect(trid[2], POSIX_TRACE_FILTER, &e);
	MUST(posix_trace_start(trid[3]) == 0);
	fill(trid[3], id, 0);
	stream_drain(trid[0]);
	stream_drain(trid[2]);

	posix_trace_event(hidden, "h", 1);
	posix_trace_event(id, "i", 1);
	CHECK_STR("MODEL-7 CREATE-14", state(trid[3]), "SF!");
	CHECK_STR("MODEL-7 CREATE-14", state(trid[0]), "RN");
	CHECK_STR("MODEL-7 CREATE-14", state(trid[1]), "SN");
	CHECK_STR("MODEL-7 CREATE-14", state(trid[2]), "RN");
	stream_expect(trid[0], hidden, &e);
	stream_expect(trid[0], id, &e);
	stream_expect(trid[2], id, &e);
	CHECK_EQ("MODEL-5 MODEL-6", stream_drain(trid[0]), 0);
	CHECK_EQ("MODEL-5 MODEL-6", stream_drain(trid[1]), 0);
	CHECK_EQ("MODEL-5 MODEL-6", stream_drain(trid[2]), 0);

	/* Shutting down one stream does not affect the others. */
	stream_end(trid[0]);
	CHECK_EQ("MODEL-7", posix_trace_clear(trid[3]), 0);
	posix_trace_event(id, "j", 1);
	stream_expect(trid[2], id, &e);
	CHECK_EQ("MODEL-7", e.data[0], 'j');
	for (int i = 1; i < 4; i++)
		stream_end(trid[i]);
}

/* Returns the pid of a process that has been waited for. The kernel does not reuse it for a while. */
static pid_t gone(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	MUST(pid > 0 && waitpid(pid, NULL, 0) == pid);
	return pid;
}

TEST(no_such_process)
{
	trace_id_t trid = 0x5555;

	CHECK_EQ("CREATE-23 DOC-2", posix_trace_create(gone(), NULL, &trid), ESRCH);
	CHECK("CREATE-8", trid == 0x5555);
	CHECK_EQ("CREATE-23", posix_trace_create(-1, NULL, &trid), ESRCH);
	CHECK_EQ("CREATE-23", posix_trace_create(-getpid(), NULL, &trid), ESRCH);
	CHECK_EQ("CREATE-23", posix_trace_create(0x7fffffff, NULL, &trid), ESRCH);
	CHECK("CREATE-8", trid == 0x5555);
}

TEST(no_privilege)
{
	trace_id_t trid = 0x5555;

	if (getuid() == 0 && (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0))
		SKIP("cannot become another user");
	CHECK_EQ("CREATE-22 SEC-1 DOC-2", posix_trace_create(1, NULL, &trid), EPERM);
	CHECK("CREATE-8", trid == 0x5555);
}

TEST(invalid_attributes)
{
	trace_id_t trid = 0x5555;
	trace_attr_t attr;

	MUST(posix_trace_attr_init(&attr) == 0);
	CHECK_EQ("ATTR-36", posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_FLUSH), 0);
	CHECK_EQ("CREATE-20 ATTR-36", posix_trace_create(0, &attr, &trid), EINVAL);
	CHECK("CREATE-8", trid == 0x5555);
	/* The object can still be used. */
	CHECK_EQ("CREATE-20", posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL), 0);
	CHECK_EQ("CREATE-1", posix_trace_create(0, &attr, &trid), 0);
	stream_end(trid);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	trid = 0x5555;
	CHECK_EQ("CREATE-20 DOC-1", posix_trace_create(0, &attr, &trid), EINVAL);
	memset(&attr, 0xff, sizeof attr);
	CHECK_EQ("CREATE-20 DOC-1", posix_trace_create(0, &attr, &trid), EINVAL);
	CHECK("CREATE-8", trid == 0x5555);
}

TEST(too_large)
{
	static const size_t sizes[] = {
		SIZE_MAX,
		SIZE_MAX / 2,
#if SIZE_MAX > 0xffffffff
		SIZE_MAX / 4,
		(size_t)1 << 48, /* on 32 bits, a quarter may be available */
#endif
	};
	trace_id_t trid = 0x5555;
	trace_attr_t attr;

	MUST(posix_trace_attr_init(&attr) == 0);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		if (posix_trace_attr_setstreamsize(&attr, sizes[i]) != 0)
			continue;
		CHECK_EQ("CREATE-21 DOC-2", posix_trace_create(0, &attr, &trid), ENOMEM);
		CHECK("CREATE-8", trid == 0x5555);
	}
	/* After the failures, a stream can be created. */
	MUST(posix_trace_attr_setstreamsize(&attr, 65536) == 0);
	CHECK_EQ("CREATE-1", posix_trace_create(0, &attr, &trid), 0);
	stream_end(trid);
}

/* After the shutdown a stream records nothing, even with unread events. */
TEST(shutdown)
{
	trace_event_id_t id = stream_id("shutdown");
	static const char *const how[] = { "suspended", "running", "full loop", "full until full" };

	for (int i = 0; i < 4; i++) {
		trace_id_t trid = small_stream(i == 3 ? POSIX_TRACE_UNTIL_FULL : POSIX_TRACE_LOOP), next;
		struct posix_trace_status_info s;
		struct stream_event e;

		if (i > 0)
			MUST(posix_trace_start(trid) == 0);
		if (i == 1)
			number_send(id, 0, 0);
		if (i > 1)
			fill(trid, id, 0);
		if (posix_trace_shutdown(trid) != 0)
			TEST_FAIL("SHUT-3 SHUT-10", "shutdown of a stream that is %s", how[i]);
		CHECK_EQ("SHUT-4 SHUT-11 CREATE-24", posix_trace_shutdown(trid), EINVAL);
		CHECK_EQ("SHUT-4", posix_trace_get_status(trid, &s), EINVAL);
		posix_trace_event(id, "x", 1);
		next = stream_create(NULL);
		CHECK("SHUT-4 CREATE-7", next != trid);
		CHECK_EQ("SHUT-4", posix_trace_start(trid), EINVAL);
		CHECK_STR("SHUT-4", state(next), "SN");
		CHECK_EQ("SHUT-2", stream_drain(next), 0);
		MUST(posix_trace_start(next) == 0);
		stream_expect(next, POSIX_TRACE_START, &e);
		CHECK_EQ("SHUT-2", stream_drain(next), 0);
		stream_end(next);
	}
}

/* Many short-lived streams leave no mappings and no descriptors behind. */
TEST(nothing_left)
{
	trace_event_id_t id = stream_id("again");
	int maps = 0, limit = 0, fd, first = -1;

	for (int i = 0; i < 300; i++) {
		trace_id_t trid = small_stream(i & 1 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL);

		MUST(posix_trace_start(trid) == 0);
		number_send(id, 0, 0);
		CHECK_EQ("SHUT-2", posix_trace_shutdown(trid), 0);
		fd = dup(0);
		if (fd >= 0)
			close(fd);
		if (i == 20) {
			first = fd;
			maps = shm_mappings(getpid(), "");
			limit = maps + 40; /* what malloc() or a sanitizer may add */
		}
	}
	CHECK_EQ("SHUT-2", fd, first);
	CHECK_FILES("SHUT-2", shm_mappings(getpid(), ""), <=, limit);
}

TEST_MAIN(TEST_ENTRY(new_stream), TEST_ENTRY(default_attributes), TEST_ENTRY(attributes_are_copied),
          TEST_ENTRY(creation_time), TEST_ENTRY(this_process), TEST_ENTRY(earlier_names), TEST_ENTRY(independent),
          TEST_ENTRY(no_such_process), TEST_ENTRY(no_privilege), TEST_ENTRY(invalid_attributes), TEST_ENTRY(too_large),
          TEST_ENTRY(shutdown), TEST_ENTRY(nothing_left))
