/*
 * log_read.c - what an opened log says: events with little room for them, types and their names, attributes
 *
 * SPDX-License-Identifier: MIT
 */
#include "log.h"

static trace_event_id_t id;

static const int log_policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };
static const int stream_policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH };

/* -- Events --------------------------------------------------------------------- */

/* After the last event, each read reports that there is none. It is not an error, and the call does not wait. */
TEST(end_of_the_log)
{
	struct posix_trace_event_info info, untouched;
	unsigned char data[16], old[16];
	int fd = log_file();
	trace_id_t trid = log_running(0, 0, 0, 1 << 20, fd);

	stream_end(trid);
	trid = log_open(fd);
	CHECK_EQ("READ-6", log_count(trid, POSIX_TRACE_STOP), 1);
	memset(&untouched, 0xa5, sizeof untouched);
	memset(old, 0xa5, sizeof old);
	info = untouched;
	memcpy(data, old, sizeof data);
	for (int i = 0; i < 10; i++) {
		size_t len = 4711;
		int unavailable = 0;

		CHECK_EQ("READ-6 READ-25", posix_trace_getnext_event(trid, &info, data, sizeof data, &len,
		                                                     &unavailable), 0);
		CHECK_NE("READ-6 READ-7", unavailable, 0);
		CHECK("READ-24", memcmp(&info, &untouched, sizeof info) == 0 && memcmp(data, old, sizeof data) == 0 &&
		      len == 4711);
	}
	log_close(trid);
}

/* The other two functions are for live streams only. */
TEST(other_functions)
{
	struct timespec soon = now_plus_ms(1000), past = { 0, 0 }, wrong = { 0, -1 };
	const struct timespec *times[] = { &soon, &past, &wrong };
	struct posix_trace_event_info info;
	unsigned char data[600];
	int fd = log_file(), unavailable;
	struct stream_event e;
	size_t len;
	trace_id_t trid = log_running(0, 0, 0, 1 << 20, fd);

	stream_end(trid);
	trid = log_open(fd);
	for (int i = 0; i < 3; i++) {
		unavailable = 0;
		CHECK_EQ("READ-15 READ-28 DOC-2", posix_trace_trygetnext_event(trid, &info, data, sizeof data, &len,
		                                                               &unavailable), EINVAL);
		CHECK_NE("READ-7 READ-15", unavailable, 0);
		unavailable = 0;
		CHECK_EQ("READ-13", posix_trace_timedgetnext_event(trid, &info, data, sizeof data, &len, &unavailable,
		                                                   times[i]), EINVAL);
		CHECK_NE("READ-7 READ-13", unavailable, 0);
	}
	/* They have consumed nothing. */
	log_expect(trid, POSIX_TRACE_START, &e);
	log_close(trid);
}

/*
 * Buffers of all sizes, for data of all lengths, complete or truncated when it was recorded. The log keeps the data, so
 * it can be read again with a larger buffer.
 */
TEST(truncation)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 9, 63, 100, 255, 256, 257, 299, 300, 301, 1000, 3000 };
	enum { COUNT = sizeof sizes / sizeof sizes[0], MOST = 300 };
	static unsigned char sent[3000], room[4000];
	trace_attr_t attr;
	int fd = log_file();
	trace_id_t trid;

	id = stream_id("truncated");
	for (size_t i = 0; i < sizeof sent; i++)
		sent[i] = (unsigned char)(i * 7 + 3);
	log_attr(&attr, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 0, 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, MOST) == 0);
	trid = log_create(&attr, fd);
	MUST(posix_trace_start(trid) == 0);
	for (int i = 0; i < COUNT; i++)
		posix_trace_event(id, sent, sizes[i]);
	stream_end(trid);

	trid = log_open(fd);
	for (int r = COUNT - 1; r >= 0; r--) {
		struct stream_event start;

		log_expect(trid, POSIX_TRACE_START, &start);
		for (int i = 0; i < COUNT; i++) {
			size_t recorded = sizes[i] < MOST ? sizes[i] : MOST, len = 4711;
			size_t want = recorded < sizes[r] ? recorded : sizes[r];
			struct posix_trace_event_info info;
			int unavailable = 1;

			memset(room, 0xa5, sizeof room);
			CHECK_EQ("READ-1 READ-25", posix_trace_getnext_event(trid, &info, sizes[r] ? room : NULL,
			                                                     sizes[r], &len, &unavailable), 0);
			CHECK_EQ("READ-7 READ-24", unavailable, 0);
			CHECK_EQ("READ-4 READ-24", info.posix_event_id, id);
			CHECK_EQ("READ-16 READ-17 READ-18 EVT-3 ATTR-46", len, want);
			CHECK("READ-17 READ-18", memcmp(room, sent, want) == 0);
			CHECK_EQ("READ-18", room[want], 0xa5);
			if (recorded > sizes[r])
				CHECK_EQ("READ-18 READ-19", info.posix_truncation_status, POSIX_TRACE_TRUNCATED_READ);
			else
				CHECK_EQ("READ-17 EVT-2 EVT-3", info.posix_truncation_status,
					 sizes[i] > MOST ? POSIX_TRACE_TRUNCATED_RECORD : POSIX_TRACE_NOT_TRUNCATED);
		}
		/* Data of system events is truncated by a short buffer too, but never when it is recorded. */
		CHECK_EQ("READ-20", log_count(trid, POSIX_TRACE_STOP), 1);
		CHECK_EQ("OPEN-9 OPEN-15", posix_trace_rewind(trid), 0);
	}
	{
		struct posix_trace_event_info info;
		size_t len = 4711;
		int unavailable;

		CHECK_EQ("READ-18", posix_trace_getnext_event(trid, &info, NULL, 0, &len, &unavailable), 0);
		CHECK_EQ("READ-18", info.posix_event_id, POSIX_TRACE_START);
		CHECK_EQ("READ-18", info.posix_truncation_status, POSIX_TRACE_TRUNCATED_READ);
		CHECK_EQ("READ-18", len, 0);
	}
	log_close(trid);
}

/* Several threads read one log, which has one position: each event is returned to one of them. */
enum { SHARED = 20000, READERS = 4 };
static trace_id_t shared;
static unsigned char seen[SHARED];

static void *read_shared(void *arg)
{
	struct stream_event e;
	long long last = -1;

	while (log_try_other(shared, &e)) {
		struct number n;

		if (e.info.posix_event_id != id)
			continue;
		n = number_of(e.data, e.len);
		MUST(n.number < SHARED);
		CHECK_OP("READ-20 THR-1", n.number, >, last);
		last = n.number;
		__atomic_fetch_add(&seen[n.number], 1, __ATOMIC_RELAXED);
	}
	return arg;
}

TEST(several_readers)
{
	pthread_t thread[READERS];
	int fd = log_file();
	trace_id_t trid;

	id = stream_id("shared");
	trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 8 << 20, 0, fd);
	log_send(id, 0, SHARED);
	stream_end(trid);
	shared = log_open(fd);
	for (int i = 0; i < READERS; i++)
		MUST(pthread_create(&thread[i], NULL, read_shared, NULL) == 0);
	for (int i = 0; i < READERS; i++)
		MUST(pthread_join(thread[i], NULL) == 0);
	for (int i = 0; i < SHARED; i++)
		MUST(seen[i] == 1);
	log_close(shared);
}

/* Meanwhile one thread rewinds, others ask for information, and one closes the log. */
static atomic_int over;

static void *use_shared(void *arg)
{
	unsigned me = *(unsigned *)arg;

	while (!atomic_load(&over)) {
		char name[TRACE_EVENT_NAME_MAX + 1];
		struct posix_trace_status_info s;
		struct posix_trace_event_info info;
		unsigned char data[NUMBER_SIZE];
		trace_event_id_t t;
		trace_attr_t attr;
		size_t len;
		int unavailable, error;

		switch (me) {
		case 0:
			error = posix_trace_rewind(shared);
			break;
		case 1:
			error = posix_trace_get_status(shared, &s);
			break;
		case 2:
			error = posix_trace_eventtypelist_getnext_id(shared, &t, &unavailable);
			if (!error && unavailable)
				error = posix_trace_eventtypelist_rewind(shared);
			break;
		case 3:
			error = posix_trace_get_attr(shared, &attr);
			break;
		case 4:
			error = posix_trace_eventid_get_name(shared, id, name);
			if (!error)
				CHECK_STR("THR-1", name, "shared");
			break;
		default:
			error = posix_trace_getnext_event(shared, &info, data, sizeof data, &len, &unavailable);
			if (!error && !unavailable && info.posix_event_id == id)
				number_of(data, len);
			break;
		}
		/* EINVAL after the log was closed. */
		CHECK("THR-1 OPEN-10", error == 0 || error == EINVAL);
		if (error)
			break;
	}
	return NULL;
}

TEST(several_users)
{
	enum { USERS = 8 };
	pthread_t thread[USERS];
	unsigned me[USERS];
	int fd = log_file();
	trace_id_t trid;

	id = stream_id("shared");
	trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 1 << 20, 0, fd);
	log_send(id, 0, 2000);
	stream_end(trid);
	for (int round = 0; round < 10; round++) {
		shared = log_open(fd);
		atomic_store(&over, 0);
		for (unsigned i = 0; i < USERS; i++) {
			me[i] = i;
			MUST(pthread_create(&thread[i], NULL, use_shared, &me[i]) == 0);
		}
		sleep_ms(20);
		if (round % 2)
			atomic_store(&over, 1);
		CHECK_EQ("OPEN-10 THR-1", posix_trace_close(shared), 0);
		CHECK_EQ("OPEN-10 OPEN-11", posix_trace_close(shared), EINVAL);
		for (int i = 0; i < USERS; i++)
			MUST(pthread_join(thread[i], NULL) == 0);
	}
}

/* -- Types --------------------------------------------------------------------------- */

struct type {
	trace_event_id_t id;
	char name[TRACE_EVENT_NAME_MAX + 1];
};

/* Returns all types of a stream or log in the order of its list. */
static unsigned list_types(trace_id_t trid, struct type *types, unsigned room)
{
	unsigned n = 0;
	int unavailable = 0;

	for (;;) {
		MUST(n < room);
		memset(&types[n], 0xa5, sizeof types[n]);
		CHECK_EQ("ID-26 ID-31 ID-33", posix_trace_eventtypelist_getnext_id(trid, &types[n].id, &unavailable),
		         0);
		if (unavailable)
			return n;
		CHECK_EQ("ID-11 ID-31", posix_trace_eventid_get_name(trid, types[n].id, types[n].name), 0);
		memset(types[n].name + strlen(types[n].name), 0, sizeof types[n].name - strlen(types[n].name));
		n++;
	}
}

/*
 * Names of all lengths, with unusual bytes, opened by the traced process and by its controller, with and without
 * events.
 */
TEST(types)
{
	enum { ROOM = 1500 };
	static struct type live[ROOM], logged[ROOM], again[ROOM];
	int fd = log_file(), unavailable;
	trace_event_id_t t, other;
	char name[200], got[TRACE_EVENT_NAME_MAX + 1];
	trace_id_t trid;
	unsigned n;

	trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 1 << 20, 0, fd);
	for (unsigned i = 0; i <= TRACE_EVENT_NAME_MAX; i++) {
		memset(name, 0, sizeof name);
		for (unsigned j = 0; j < i; j++)
			name[j] = (char)(unsigned char)(1 + (i * 37 + j * 11) % 255);
		if (i % 3 == 2)
			MUST(posix_trace_trid_eventid_open(trid, name, &t) == 0);
		else
			t = stream_id(name);
		if (i % 2)
			posix_trace_event(t, NULL, 0);
		if (i % 10 == 5)
			MUST(posix_trace_flush(trid) == 0);
	}
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "any", 3);
	n = list_types(trid, live, ROOM);
	CHECK_EQ("ID-29", n, 9 + TRACE_EVENT_NAME_MAX + 1);
	stream_end(trid);

	trid = log_open(fd);
	CHECK_EQ("LOG-20 ID-29 ID-31 MODEL-16 SYS-14", list_types(trid, logged, ROOM), n);
	for (unsigned i = 0; i < n; i++) {
		unsigned j;

		for (j = 0; j < n && logged[j].id != live[i].id; j++)
			;
		MUST(j < n);
		CHECK("LOG-20 ID-6 ID-7 ID-8 MODEL-12 MODEL-16", strcmp(live[i].name, logged[j].name) == 0);
		CHECK("ID-2 ID-4", posix_trace_eventid_equal(trid, live[i].id, logged[j].id) != 0);
		CHECK("ID-2 ID-4", posix_trace_eventid_equal(trid, live[i].id, logged[(j + 1) % n].id) == 0);
	}
	/* The end stays the end, and a second pass returns the same types. */
	for (int i = 0; i < 3; i++) {
		unavailable = 0;
		t = 4711;
		CHECK_EQ("ID-28 ID-33", posix_trace_eventtypelist_getnext_id(trid, &t, &unavailable), 0);
		CHECK_NE("ID-28", unavailable, 0);
		CHECK_EQ("ID-28", t, 4711);
		CHECK_EQ("ID-30 ID-33", posix_trace_eventtypelist_rewind(trid), 0);
		CHECK_EQ("ID-30", list_types(trid, again, ROOM), n);
		CHECK_EQ("ID-30", memcmp(logged, again, n * sizeof *again), 0);
	}
	/* Reading events does not change the position in the list, and their types are on the list. */
	{
		struct stream_event e;

		while (log_try(trid, &e)) {
			unsigned j;

			for (j = 0; j < n && logged[j].id != e.info.posix_event_id; j++)
				;
			CHECK_OP("ID-29 MODEL-11", j, <, n);
		}
	}
	/* A name that this process opens now is not in the log. */
	other = stream_id("named later");
	CHECK_EQ("MODEL-16 ID-10", posix_trace_eventid_get_name(trid, other, got), EINVAL);
	CHECK_EQ("ID-14 ID-20", posix_trace_trid_eventid_open(trid, "named later", &t), EINVAL);
	CHECK_EQ("MODEL-16", posix_trace_eventtypelist_rewind(trid), 0);
	CHECK_EQ("MODEL-16", list_types(trid, again, ROOM), n);
	log_close(trid);
}

/* The maximum number of types. */
TEST(all_types)
{
	enum { ROOM = TRACE_USER_EVENT_MAX + 2000 };
	static struct type live[ROOM], logged[ROOM];
	int fd = log_file();
	trace_id_t trid = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_LOOP, 1 << 20, 100000, fd);
	unsigned n;

	for (unsigned i = 0; i < TRACE_USER_EVENT_MAX + 5; i++) {
		char name[TRACE_EVENT_NAME_MAX + 1];

		snprintf(name, sizeof name, "type.%u.with a name of some length", i);
		posix_trace_event(stream_id(name), &i, sizeof i);
	}
	n = list_types(trid, live, ROOM);
	CHECK_OURS(OURS_IDS, "ID-29", n, ==, 9 + TRACE_USER_EVENT_MAX - 1);
	stream_end(trid);
	trid = log_open(fd);
	CHECK_EQ("LOG-19 LOG-20 ID-29", list_types(trid, logged, ROOM), n);
	CHECK_EQ("LOG-19 LOG-20 ID-6", memcmp(live, logged, n * sizeof *live), 0);
	log_close(trid);
}

/* The predefined names. */
TEST(system_types)
{
	static const struct {
		trace_event_id_t id;
		const char *name;
	} types[] = {
		{ POSIX_TRACE_ERROR, "posix_trace_error" }, { POSIX_TRACE_START, "posix_trace_start" },
		{ POSIX_TRACE_STOP, "posix_trace_stop" }, { POSIX_TRACE_FILTER, "posix_trace_filter" },
		{ POSIX_TRACE_OVERFLOW, "posix_trace_overflow" }, { POSIX_TRACE_RESUME, "posix_trace_resume" },
		{ POSIX_TRACE_FLUSH_START, "posix_trace_flush_start" },
		{ POSIX_TRACE_FLUSH_STOP, "posix_trace_flush_stop" },
		{ POSIX_TRACE_UNNAMED_USEREVENT, "posix_trace_unnamed_userevent" },
	};
	char name[TRACE_EVENT_NAME_MAX + 1];
	int fd = log_file();
	trace_id_t trid = log_create(NULL, fd);

	stream_end(trid);
	trid = log_open(fd);
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		CHECK_EQ("ID-12 SYS-14", posix_trace_eventid_get_name(trid, types[i].id, name), 0);
		CHECK_STR("ID-12 SYS-14", name, types[i].name);
	}
	memset(name, 0xa5, sizeof name);
	for (trace_event_id_t t = 0; OURS_IDS && t < 5000; t++) {
		if ((t >= 1 && t <= 8) || t == POSIX_TRACE_UNNAMED_USEREVENT)
			continue;
		CHECK_EQ("ID-10 ID-11", posix_trace_eventid_get_name(trid, t, name), EINVAL);
		MUST(test_failures < 10);
	}
	CHECK_EQ("ID-11", (unsigned char)name[0], 0xa5);
	CHECK_EQ("ID-10", posix_trace_eventid_get_name(trid, NO_TYPE, name), EINVAL);
	log_close(trid);
}

/* -- Attributes ------------------------------------------------------------------------- */

struct attributes {
	char version[TRACE_NAME_MAX + 1], name[TRACE_NAME_MAX + 1];
	struct timespec created, resolution;
	size_t stream_size, log_size, data_size, system_event, user_event;
	int stream_policy, log_policy, inherited;
};

static void get_attributes(trace_id_t trid, struct attributes *a)
{
	trace_attr_t attr;

	memset(&attr, 0xa5, sizeof attr); /* need not be initialized */
	memset(a, 0, sizeof *a);
	CHECK_EQ("ATTR-57 ATTR-58 ATTR-60", posix_trace_get_attr(trid, &attr), 0);
	CHECK_EQ("ATTR-61", posix_trace_attr_getgenversion(&attr, a->version), 0);
	CHECK_EQ("ATTR-61", posix_trace_attr_getname(&attr, a->name), 0);
	CHECK_EQ("ATTR-61", posix_trace_attr_getcreatetime(&attr, &a->created), 0);
	CHECK_EQ("ATTR-61", posix_trace_attr_getclockres(&attr, &a->resolution), 0);
	CHECK_EQ("ATTR-61", posix_trace_attr_getstreamsize(&attr, &a->stream_size), 0);
	CHECK_EQ("ATTR-61", posix_trace_attr_getlogsize(&attr, &a->log_size), 0);
	CHECK_EQ("ATTR-61", posix_trace_attr_getmaxdatasize(&attr, &a->data_size), 0);
	CHECK_EQ("ATTR-61", posix_trace_attr_getmaxsystemeventsize(&attr, &a->system_event), 0);
	CHECK_EQ("ATTR-61", posix_trace_attr_getmaxusereventsize(&attr, 100, &a->user_event), 0);
	CHECK_EQ("ATTR-61", posix_trace_attr_getstreamfullpolicy(&attr, &a->stream_policy), 0);
	CHECK_EQ("ATTR-61", posix_trace_attr_getlogfullpolicy(&attr, &a->log_policy), 0);
	CHECK_EQ("ATTR-61", posix_trace_attr_getinherited(&attr, &a->inherited), 0);
	/* The object can be used and changed like any other, which changes nothing else. */
	CHECK_EQ("ATTR-9 ATTR-61", posix_trace_attr_setname(&attr, "changed"), 0);
	CHECK_EQ("ATTR-60", posix_trace_attr_destroy(&attr), 0);
}

/* The log has the attributes that the stream actually used. The process that reads gets them from the log only. */
TEST(attributes)
{
	for (int i = 0; i < 9; i++) {
		struct attributes live, logged[2];
		int fd = log_file(), ends[2], status;
		trace_attr_t attr;
		trace_id_t trid;
		char name[TRACE_NAME_MAX + 10];
		pid_t pid;

		log_attr(&attr, stream_policies[i % 3], log_policies[i / 3], 10000 + 5000 * (size_t)i,
		         50000 * (size_t)i);
		memset(name, 0, sizeof name);
		memset(name, 'a' + i, (size_t)i * (TRACE_NAME_MAX + 1) / 8);
		MUST(posix_trace_attr_setname(&attr, name) == 0);
		MUST(posix_trace_attr_setmaxdatasize(&attr, 13 * (size_t)i) == 0);
		MUST(posix_trace_attr_setinherited(&attr, i % 2 ? POSIX_TRACE_INHERITED
		                                   : POSIX_TRACE_CLOSE_FOR_CHILD) == 0);
		trid = log_create(&attr, fd);
		MUST(posix_trace_start(trid) == 0);
		get_attributes(trid, &live);
		stream_end(trid);
		trid = log_open(fd);
		get_attributes(trid, &logged[0]);
		log_close(trid);
		CHECK_STR("ATTR-58 LOG-20", logged[0].version, live.version);
		CHECK_STR("ATTR-58 LOG-20", logged[0].name, live.name);
		CHECK_EQ("ATTR-58 LOG-20", nanoseconds(logged[0].created), nanoseconds(live.created));
		CHECK_EQ("ATTR-58 LOG-20", nanoseconds(logged[0].resolution), nanoseconds(live.resolution));
		CHECK_EQ("ATTR-58 LOG-20", logged[0].stream_size, live.stream_size);
		CHECK_EQ("ATTR-58 LOG-20", logged[0].log_size, live.log_size);
		CHECK_EQ("ATTR-58 LOG-20", logged[0].data_size, live.data_size);
		CHECK_EQ("ATTR-58 LOG-20", logged[0].system_event, live.system_event);
		CHECK_EQ("ATTR-58 LOG-20", logged[0].user_event, live.user_event);
		CHECK_EQ("ATTR-58 LOG-20", logged[0].stream_policy, stream_policies[i % 3]);
		CHECK_EQ("ATTR-58 LOG-20", logged[0].log_policy, log_policies[i / 3]);
		CHECK_EQ("ATTR-58 LOG-20", logged[0].inherited,
		         i % 2 ? POSIX_TRACE_INHERITED : POSIX_TRACE_CLOSE_FOR_CHILD);
		/* The same in a different process. */
		MUST(pipe(ends) == 0);
		pid = fork();
		if (pid == 0) {
			trid = log_open(fd);
			get_attributes(trid, &logged[1]);
			MUST(write(ends[1], &logged[1], sizeof logged[1]) == sizeof logged[1]);
			log_close(trid);
			_exit(test_failures != 0);
		}
		MUST(pid > 0 && read(ends[0], &logged[1], sizeof logged[1]) == sizeof logged[1]);
		MUST(waitpid(pid, &status, 0) == pid);
		CHECK_EQ("ATTR-61", status, 0);
		CHECK("ATTR-58 ATTR-61", memcmp(&logged[0], &logged[1], sizeof logged[0]) == 0);
		MUST(posix_trace_attr_destroy(&attr) == 0);
		close(ends[0]);
		close(ends[1]);
		close(fd);
	}
}

TEST_MAIN(TEST_ENTRY(end_of_the_log), TEST_ENTRY(other_functions), TEST_ENTRY(truncation), TEST_ENTRY(several_readers),
          TEST_ENTRY(several_users), TEST_ENTRY(types), TEST_ENTRY(all_types), TEST_ENTRY(system_types),
          TEST_ENTRY(attributes))
