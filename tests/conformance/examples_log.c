/*
 * examples_log.c - the programs of the rationale that have a log: controllers of another process, and analyzers
 *
 * Each is told as a function, with its errors looked at and what is wrong in
 * print put right; the test around it makes what it works on, and looks at what
 * it has made. Those without a log are in examples.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "log.h"
#include "target.h"

static char place[64];

/* Returns a file name for a log, which is removed when the test ends. */
static const char *log_path(void)
{
	snprintf(place, sizeof place, "/dev/shm/test-example-%d", (int)getpid());
	unlink(place);
	return place;
}

/* Checks that the next event has this type and, if it is a user event, this number. */
static void expect_one(const char *ids, int line, trace_id_t trid, trace_event_id_t id, unsigned number)
{
	struct stream_event e;

	if (!log_try_other(trid, &e))
		TEST_FAIL(ids, "line %d: the log is at its end", line);
	else if (e.info.posix_event_id != id)
		TEST_FAIL(ids, "line %d: event type %u, not %u", line, e.info.posix_event_id, id);
	else if (e.len == sizeof(struct number) && number_of(e.data, e.len).number != number)
		TEST_FAIL(ids, "line %d: number %u, not %u", line, number_of(e.data, e.len).number, number);
}
#define EXPECT_ONE(ids, ...) expect_one(ids, __LINE__, __VA_ARGS__)

/* -- Controllers ------------------------------------------------------------ */

static void nothing_to_do(const struct target *t, trace_id_t trid)
{
}

/* All defaults. The stream is stopped by its shutdown. */
static void controller(const struct target *t, const char *path, void (*meanwhile)(const struct target *, trace_id_t))
{
	trace_attr_t attr;
	trace_id_t trid;
	int fd;

	CHECK_EQ("EX-1 ATTR-1", posix_trace_attr_init(&attr), 0);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR);
	MUST(fd >= 0);
	CHECK_EQ("EX-1 LOG-1", posix_trace_create_withlog(t->pid, &attr, fd, &trid), 0);
	CHECK_EQ("EX-1 ATTR-5", posix_trace_attr_destroy(&attr), 0);
	CHECK_EQ("EX-1 START-9", posix_trace_start(trid), 0);
	meanwhile(t, trid);
	CHECK_EQ("EX-1 SHUT-10", posix_trace_shutdown(trid), 0);
	close(fd);
}

static trace_event_id_t type1, type2;

static void ten_events(const struct target *t, trace_id_t trid)
{
	target_send(t, type1, 1, 0, 10);
}

TEST(first_controller)
{
	struct target t = target_image();
	trace_event_set_t filter, none = set_of(NO_TYPE);
	const char *path = log_path();
	struct stream_event e;
	trace_id_t trid;
	int fd;

	NEEDS_ROOM(128); /* the log is in /dev/shm, and has a default size of 64 MiB */
	type1 = target_id(&t, "example.1");
	controller(&t, path, ten_events);
	target_send(&t, type1, 1, 10, 10);
	target_end(&t);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	MUST(fd >= 0);
	trid = log_open(fd);
	log_expect_other(trid, POSIX_TRACE_START, &e);
	CHECK_EQ("EX-1 SYS-4", e.len, sizeof filter);
	memcpy(&filter, e.data, sizeof filter);
	CHECK("EX-1 SYS-4 FILT-5", set_equal(&filter, &none));
	CHECK_EQ("EX-1 LOG-20", log_run(trid, type1, 0, &e), 10);
	CHECK_EQ("EX-1 SHUT-1", e.info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_EQ("EX-1 SYS-5", log_int(&e), 0);
	CHECK("EX-1", !log_try_other(trid, &e));
	log_close(trid);
	close(fd);
	unlink(path);
}

/* Filters out the system types and two user types, but not POSIX_TRACE_ERROR. */
static void change_filter(trace_id_t trid, const char *name1, const char *name2)
{
	trace_event_id_t id1, id2;
	trace_event_set_t set;

	CHECK_EQ("EX-7 SET-4", posix_trace_eventset_empty(&set), 0);
	CHECK_EQ("EX-7 SET-5", posix_trace_eventset_fill(&set, POSIX_TRACE_WOPID_EVENTS), 0);
	CHECK_EQ("EX-7 ID-13", posix_trace_trid_eventid_open(trid, name1, &id1), 0);
	CHECK_EQ("EX-7 SET-2", posix_trace_eventset_add(id1, &set), 0);
	CHECK_EQ("EX-7 ID-13", posix_trace_trid_eventid_open(trid, name2, &id2), 0);
	CHECK_EQ("EX-7 SET-2", posix_trace_eventset_add(id2, &set), 0);
	CHECK_EQ("EX-7 SET-3", posix_trace_eventset_del(POSIX_TRACE_ERROR, &set), 0);
	CHECK_EQ("EX-7 FILT-2", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
}

/*
 * A controller that chooses attributes and a filter, suspends the stream in between, and uses an attributes object
 * twice.
 */
static void controller_with_choices(const struct target *t, const char *path)
{
	trace_attr_t attr;
	trace_id_t trid;
	size_t size;
	int fd, policy;

	CHECK_EQ("EX-2 EX-6 ATTR-1", posix_trace_attr_init(&attr), 0);
	CHECK_EQ("EX-2 EX-6 ATTR-19", posix_trace_attr_setname(&attr, "my_trace"), 0);
	CHECK_EQ("EX-2 EX-6 ATTR-32", posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP), 0);
	CHECK_EQ("EX-2 EX-6 ATTR-39", posix_trace_attr_setlogsize(&attr, 100000), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
	MUST(fd >= 0);
	CHECK_EQ("EX-2 LOG-1", posix_trace_create_withlog(t->pid, &attr, fd, &trid), 0);
	change_filter(trid, "example.2", "example.3");
	CHECK_EQ("EX-2 START-9", posix_trace_start(trid), 0);
	target_send(t, type1, 1, 0, 3);
	target_send(t, type2, 2, 0, 3);
	CHECK_EQ("EX-2 START-9", posix_trace_stop(trid), 0);
	target_send(t, type1, 1, 3, 3);
	CHECK_EQ("EX-2 START-9", posix_trace_start(trid), 0);
	target_send(t, type1, 1, 6, 3);
	change_filter(trid, "example.1", "example.3");
	target_send(t, type1, 1, 9, 3);
	target_send(t, type2, 2, 3, 3);
	CHECK_EQ("EX-2", posix_trace_get_attr(trid, &attr), 0);
	CHECK_EQ("EX-2 EX-6", posix_trace_attr_getstreamfullpolicy(&attr, &policy), 0);
	CHECK_EQ("EX-2 EX-6 ATTR-57", policy, POSIX_TRACE_LOOP);
	CHECK_EQ("EX-2 EX-6", posix_trace_attr_getlogsize(&attr, &size), 0);
	CHECK_OP("EX-2 EX-6 ATTR-57", size, >=, 100000);
	CHECK_EQ("EX-2 START-9", posix_trace_stop(trid), 0);
	CHECK_EQ("EX-2 SHUT-10", posix_trace_shutdown(trid), 0);
	CHECK_EQ("EX-2 ATTR-5", posix_trace_attr_destroy(&attr), 0);
	close(fd);
}

TEST(second_controller)
{
	struct target t = target_image();
	const char *path = log_path();
	struct stream_event e;
	trace_id_t trid;
	int fd;

	type1 = target_id(&t, "example.1");
	type2 = target_id(&t, "example.2");
	controller_with_choices(&t, path);
	target_end(&t);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	MUST(fd >= 0);
	trid = log_open(fd);
	/* The filter at the start is reported by START only. */
	EXPECT_ONE("EX-2 FILT-7", trid, POSIX_TRACE_START, 0);
	for (unsigned n = 0; n < 3; n++)
		EXPECT_ONE("EX-2 EX-7", trid, type1, n);
	EXPECT_ONE("EX-2", trid, POSIX_TRACE_STOP, 0);
	EXPECT_ONE("EX-2", trid, POSIX_TRACE_START, 0);
	for (unsigned n = 6; n < 9; n++)
		EXPECT_ONE("EX-2", trid, type1, n);
	EXPECT_ONE("EX-2 FILT-6", trid, POSIX_TRACE_FILTER, 0);
	for (unsigned n = 3; n < 6; n++)
		EXPECT_ONE("EX-2 EX-7", trid, type2, n);
	EXPECT_ONE("EX-2", trid, POSIX_TRACE_STOP, 0);
	CHECK("EX-2", !log_try_other(trid, &e));
	log_close(trid);
	close(fd);
	unlink(path);
}

/* -- Analyzers -------------------------------------------------------------- */

/* Prints the name of each event on a line. */
static void analyzer(const char *path, FILE *out)
{
	struct posix_trace_event_info event;
	char name[TRACE_EVENT_NAME_MAX + 1];
	int unavailable, fd = open(path, O_RDONLY | O_CLOEXEC);
	trace_id_t trid;
	size_t len;

	MUST(fd >= 0);
	CHECK_EQ("EX-4 OPEN-1", posix_trace_open(fd, &trid), 0);
	CHECK_EQ("EX-4 READ-1", posix_trace_getnext_event(trid, &event, NULL, 0, &len, &unavailable), 0);
	while (unavailable == 0) {
		CHECK_EQ("EX-4 ID-6", posix_trace_eventid_get_name(trid, event.posix_event_id, name), 0);
		CHECK_EQ("EX-4 READ-16", len, 0);
		fprintf(out, "%s%s\n", name, event.posix_truncation_status == POSIX_TRACE_TRUNCATED_READ ? " ..." : "");
		CHECK_EQ("EX-4 READ-1", posix_trace_getnext_event(trid, &event, NULL, 0, &len, &unavailable), 0);
	}
	CHECK_EQ("EX-4 OPEN-10", posix_trace_close(trid), 0);
	close(fd);
}

/* Prints the attributes and whether events are missing. Returns the size of the longest data of an event. */
static size_t information(trace_id_t trid, FILE *out)
{
	struct posix_trace_status_info status;
	char version[TRACE_NAME_MAX];
	trace_attr_t attr;
	size_t size = 0;

	memset(&attr, 0xa5, sizeof attr); /* not initialized */
	for (int i = 0; i < 2; i++) { /* asking twice gives the same result */
		CHECK_EQ("EX-8 STAT-1", posix_trace_get_status(trid, &status), 0);
		if (status.posix_stream_overrun_status == POSIX_TRACE_OVERRUN)
			fprintf(out, "events are missing\n");
	}
	CHECK_EQ("EX-8", posix_trace_get_attr(trid, &attr), 0);
	CHECK_EQ("EX-8 ATTR-15", posix_trace_attr_getgenversion(&attr, version), 0);
	CHECK_OP("EX-8 ATTR-15", strnlen(version, sizeof version), >, 0);
	CHECK_OP("EX-8 ATTR-15", strnlen(version, sizeof version), <, sizeof version);
	CHECK_EQ("EX-8", posix_trace_attr_getmaxdatasize(&attr, &size), 0);
	fprintf(out, "data of %zu bytes at most\n", size);
	CHECK_EQ("EX-8 ATTR-5", posix_trace_attr_destroy(&attr), 0);
	return size;
}

/* Returns how many of these names are in the list of types. */
static int list_of_types(trace_id_t trid, const char *const *names, int count)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	int unavailable, found = 0;
	trace_event_id_t id;

	for (;;) {
		CHECK_EQ("EX-9 ID-28", posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable), 0);
		if (unavailable)
			return found;
		CHECK_EQ("EX-9 ID-6", posix_trace_eventid_get_name(trid, id, name), 0);
		for (int i = 0; i < count; i++)
			found += strcmp(name, names[i]) == 0;
	}
}

/* Prints all information about the stream, then the name and data of each user event. */
static void analyzer_of_data(const char *path, FILE *out, const char *const *names, int count)
{
	struct posix_trace_event_info event;
	char name[TRACE_EVENT_NAME_MAX + 1];
	int unavailable, fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char *data;
	trace_id_t trid;
	size_t size, len;

	MUST(fd >= 0);
	CHECK_EQ("EX-5 OPEN-1", posix_trace_open(fd, &trid), 0);
	size = information(trid, out);
	data = malloc(size);
	MUST(data != NULL);
	fprintf(out, "%d types\n", list_of_types(trid, names, count));
	for (;;) {
		CHECK_EQ("EX-5 READ-1", posix_trace_getnext_event(trid, &event, data, size, &len, &unavailable), 0);
		if (unavailable)
			break;
		CHECK_EQ("EX-5 ID-6", posix_trace_eventid_get_name(trid, event.posix_event_id, name), 0);
		if (strncmp(name, "posix_trace_", strlen("posix_trace_")) == 0)
			continue;
		CHECK_EQ("EX-5 READ-17", event.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
		fprintf(out, "%s:", name);
		for (size_t i = 0; i < len; i++)
			fprintf(out, " %02X", data[i]);
		fprintf(out, "\n");
	}
	CHECK_EQ("EX-5 OPEN-10", posix_trace_close(trid), 0);
	free(data);
	close(fd);
}

static const char *const types[] = {
	"posix_trace_error", "posix_trace_start", "posix_trace_stop", "posix_trace_filter", "posix_trace_overflow",
	"posix_trace_resume", "posix_trace_flush_start", "posix_trace_flush_stop", "posix_trace_unnamed_userevent",
	"example.first", "example.second",
};
enum { TYPES = sizeof types / sizeof types[0] };

/* Makes a log of this process for the analyzers. */
static void make_log(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
	trace_event_set_t system_events;
	trace_attr_t attr;
	trace_id_t trid;

	MUST(fd >= 0);
	type1 = stream_id("example.first");
	type2 = stream_id("example.second");
	log_attr(&attr, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 0, 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, 48) == 0);
	trid = log_create(&attr, fd);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	MUST(posix_trace_eventset_fill(&system_events, POSIX_TRACE_WOPID_EVENTS) == 0); /* flushes can come at any
	                                                                                 * time */
	MUST(posix_trace_set_filter(trid, &system_events, POSIX_TRACE_SET_EVENTSET) == 0);
	MUST(posix_trace_start(trid) == 0);
	posix_trace_event(type1, NULL, 0);
	posix_trace_event(type2, "\x01\xfe", 2);
	posix_trace_event(type1, "abc", 3);
	stream_end(trid);
	close(fd);
}

/* Compares the whole output of an analyzer. */
static void check_output(const char *ids, char *text, const char *expected)
{
	if (strcmp(text, expected) != 0)
		TEST_FAIL(ids, "it says:\n%sand not:\n%s", text, expected);
	free(text);
}

TEST(first_analyzer)
{
	const char *path = log_path();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	MUST(out != NULL);
	make_log(path);
	analyzer(path, out);
	fclose(out);
	check_output("EX-4 READ-16 READ-17", text,
		     "posix_trace_start ...\nexample.first\nexample.second ...\nexample.first ...\n"
		     "posix_trace_stop ...\n");
	unlink(path);
}

TEST(second_analyzer)
{
	const char *path = log_path();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	MUST(out != NULL);
	make_log(path);
	analyzer_of_data(path, out, types, TYPES);
	fclose(out);
	check_output("EX-5 EX-8 EX-9", text,
		     "data of 48 bytes at most\n11 types\nexample.first:\nexample.second: 01 FE\n"
		     "example.first: 61 62 63\n");
	unlink(path);
}

/* The log contains a type without events. */
TEST(without_events)
{
	struct target t = target_image();
	const char *path = log_path();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	NEEDS_ROOM(128); /* the log is in /dev/shm, and has a default size of 64 MiB */
	MUST(out != NULL);
	type1 = target_id(&t, "example.first");
	controller(&t, path, nothing_to_do);
	target_end(&t);
	analyzer_of_data(path, out, types, TYPES - 1);
	fclose(out);
	CHECK("EX-1 EX-5", text && strstr(text, "10 types\n") && !strstr(text, "example.first:"));
	free(text);
	unlink(path);
}

TARGET_MAIN(TEST_ENTRY(first_controller), TEST_ENTRY(second_controller), TEST_ENTRY(first_analyzer),
            TEST_ENTRY(second_analyzer),
	    TEST_ENTRY(without_events))
