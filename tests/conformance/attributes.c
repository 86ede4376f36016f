/*
 * attributes.c - the attributes object: defaults, setters, getters, and what a stream makes of it
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <time.h>

#include "stream.h"

/* Default values of this implementation. */
#define DEFAULT_STREAM_SIZE   ((size_t)1 << 20)
#define DEFAULT_MAX_DATA_SIZE ((size_t)1024)
#define DEFAULT_LOG_SIZE      ((size_t)64 << 20)
#define LARGEST_MAX_DATA_SIZE ((size_t)65535)

static int get_inherited(const trace_attr_t *attr)
{
	int value = -77;

	MUST(posix_trace_attr_getinherited(attr, &value) == 0);
	return value;
}

static int get_log_policy(const trace_attr_t *attr)
{
	int value = -77;

	MUST(posix_trace_attr_getlogfullpolicy(attr, &value) == 0);
	return value;
}

static int get_stream_policy(const trace_attr_t *attr)
{
	int value = -77;

	MUST(posix_trace_attr_getstreamfullpolicy(attr, &value) == 0);
	return value;
}

static size_t get_log_size(const trace_attr_t *attr)
{
	size_t value = 77;

	MUST(posix_trace_attr_getlogsize(attr, &value) == 0);
	return value;
}

static size_t get_max_data_size(const trace_attr_t *attr)
{
	size_t value = 77;

	MUST(posix_trace_attr_getmaxdatasize(attr, &value) == 0);
	return value;
}

static size_t get_stream_size(const trace_attr_t *attr)
{
	size_t value = 77;

	MUST(posix_trace_attr_getstreamsize(attr, &value) == 0);
	return value;
}

static size_t get_system_event_size(const trace_attr_t *attr)
{
	size_t value = 0;

	MUST(posix_trace_attr_getmaxsystemeventsize(attr, &value) == 0);
	return value;
}

static size_t get_user_event_size(const trace_attr_t *attr, size_t data_len)
{
	size_t value = 0;

	MUST(posix_trace_attr_getmaxusereventsize(attr, data_len, &value) == 0);
	return value;
}

static const char *get_name(const trace_attr_t *attr)
{
	static char name[TRACE_NAME_MAX];

	memset(name, 'z', sizeof name);
	MUST(posix_trace_attr_getname(attr, name) == 0);
	MUST(memchr(name, '\0', sizeof name));
	return name;
}

static const char *get_version(const trace_attr_t *attr)
{
	static char version[TRACE_NAME_MAX];

	memset(version, 'z', sizeof version);
	MUST(posix_trace_attr_getgenversion(attr, version) == 0);
	MUST(memchr(version, '\0', sizeof version));
	return version;
}

static struct timespec get_create_time(const trace_attr_t *attr)
{
	struct timespec t = { -77, -77 };

	MUST(posix_trace_attr_getcreatetime(attr, &t) == 0);
	return t;
}

/* Checks that all attributes that a caller can set have their defaults. */
static void check_defaults(const trace_attr_t *attr)
{
	struct timespec t = get_create_time(attr);

	CHECK_STR("ATTR-1 ATTR-17", get_name(attr), "");
	CHECK_EQ("ATTR-1 ATTR-28", get_inherited(attr), POSIX_TRACE_CLOSE_FOR_CHILD);
	CHECK_EQ("ATTR-1 ATTR-31", get_log_policy(attr), POSIX_TRACE_LOOP);
	CHECK_EQ("ATTR-1 ATTR-34", get_stream_policy(attr), POSIX_TRACE_LOOP);
	CHECK_EQ("ATTR-1 ATTR-41", get_log_size(attr), DEFAULT_LOG_SIZE);
	CHECK_EQ("ATTR-1 ATTR-45", get_max_data_size(attr), DEFAULT_MAX_DATA_SIZE);
	CHECK_EQ("ATTR-1 ATTR-52", get_stream_size(attr), DEFAULT_STREAM_SIZE);
	CHECK_EQ("ATTR-1", t.tv_sec, 0); /* ours: without a stream there is no creation time */
	CHECK_EQ("ATTR-1", t.tv_nsec, 0);
}

TEST(defaults)
{
	trace_attr_t attr;

	/* Whatever the memory contained before. */
	for (int byte = 0; byte < 256; byte += 85) {
		memset(&attr, byte, sizeof attr);
		CHECK_EQ("ATTR-1 ATTR-14", posix_trace_attr_init(&attr), 0);
		check_defaults(&attr);
		CHECK_EQ("ATTR-5 ATTR-14", posix_trace_attr_destroy(&attr), 0);
	}
}

static void set_everything(trace_attr_t *attr)
{
	CHECK_EQ("ATTR-10 ATTR-14", posix_trace_attr_setname(attr, "name"), 0);
	CHECK_EQ("ATTR-11 ATTR-14", posix_trace_attr_setinherited(attr, POSIX_TRACE_INHERITED), 0);
	CHECK_EQ("ATTR-12 ATTR-14", posix_trace_attr_setlogfullpolicy(attr, POSIX_TRACE_APPEND), 0);
	CHECK_EQ("ATTR-12 ATTR-14", posix_trace_attr_setlogsize(attr, 123456), 0);
	CHECK_EQ("ATTR-10 ATTR-14", posix_trace_attr_setstreamfullpolicy(attr, POSIX_TRACE_UNTIL_FULL), 0);
	CHECK_EQ("ATTR-10 ATTR-14", posix_trace_attr_setmaxdatasize(attr, 200), 0);
	CHECK_EQ("ATTR-10 ATTR-14", posix_trace_attr_setstreamsize(attr, 200000), 0);
}

TEST(all_attributes)
{
	struct timespec t;
	trace_attr_t attr;

	stream_attr(&attr, 0, 0, 0);
	set_everything(&attr);
	/* Each setter changed only its own attribute. */
	CHECK_STR("ATTR-10 ATTR-19", get_name(&attr), "name");
	CHECK_EQ("ATTR-11 ATTR-26", get_inherited(&attr), POSIX_TRACE_INHERITED);
	CHECK_EQ("ATTR-12 ATTR-29", get_log_policy(&attr), POSIX_TRACE_APPEND);
	CHECK_EQ("ATTR-12 ATTR-39", get_log_size(&attr), 123456);
	CHECK_EQ("ATTR-10 ATTR-32", get_stream_policy(&attr), POSIX_TRACE_UNTIL_FULL);
	CHECK_EQ("ATTR-10 ATTR-44", get_max_data_size(&attr), 200);
	CHECK_EQ("ATTR-10 ATTR-50", get_stream_size(&attr), 200000);
	CHECK("ATTR-10", *get_version(&attr));
	CHECK_EQ("ATTR-10 ATTR-14", posix_trace_attr_getclockres(&attr, &t), 0);
	CHECK_EQ("ATTR-10 ATTR-14", posix_trace_attr_getcreatetime(&attr, &t), 0);
}

TEST(initialise_again)
{
	trace_attr_t attr;

	stream_attr(&attr, 0, 0, 0);
	set_everything(&attr);
	CHECK_EQ("ATTR-5", posix_trace_attr_destroy(&attr), 0);
	CHECK_EQ("ATTR-5", posix_trace_attr_init(&attr), 0);
	check_defaults(&attr);
	/* Undefined by the standard, harmless here: the object owns nothing that could be lost. */
	set_everything(&attr);
	CHECK_EQ("ATTR-4", posix_trace_attr_init(&attr), 0);
	check_defaults(&attr);
}

/* -- Values ------------------------------------------------------------- */

TEST(version)
{
	char version[TRACE_NAME_MAX + 16];
	trace_attr_t attr, attr2;

	stream_attr(&attr, 0, 0, 0);
	stream_attr(&attr2, POSIX_TRACE_UNTIL_FULL, 65536, 0);
	memset(version, '#', sizeof version);
	CHECK_EQ("ATTR-2 ATTR-15 ATTR-16", posix_trace_attr_getgenversion(&attr, version), 0);
	CHECK("ATTR-2 ATTR-15", strncmp(version, "posixtrace ", strlen("posixtrace ")) == 0);
	CHECK("ATTR-15", strpbrk(version, "0123456789") != NULL);
	CHECK_OP("ATTR-16", strlen(version), <, TRACE_NAME_MAX);
	for (size_t i = TRACE_NAME_MAX; i < sizeof version; i++)
		CHECK_EQ("ATTR-16", version[i], '#');
	CHECK_STR("ATTR-2 ATTR-15", get_version(&attr2), version);
}

TEST(clock_resolution)
{
	struct timespec t = { -1, -1 }, clock;
	trace_attr_t attr;

	stream_attr(&attr, 0, 0, 0);
	MUST(clock_getres(CLOCK_MONOTONIC, &clock) == 0);
	CHECK_EQ("ATTR-2 ATTR-22", posix_trace_attr_getclockres(&attr, &t), 0);
	CHECK_EQ("ATTR-2 ATTR-22", t.tv_sec, clock.tv_sec);
	CHECK_EQ("ATTR-2 ATTR-22", t.tv_nsec, clock.tv_nsec);
}

static int before(struct timespec a, struct timespec b)
{
	return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

TEST(creation_time)
{
	struct timespec first, last, t;
	trace_attr_t attr;
	trace_id_t trid;

	MUST(clock_gettime(CLOCK_REALTIME, &first) == 0);
	trid = stream_create(NULL);
	MUST(clock_gettime(CLOCK_REALTIME, &last) == 0);
	MUST(posix_trace_get_attr(trid, &attr) == 0);
	t = get_create_time(&attr);
	CHECK("ATTR-23", !before(t, first));
	CHECK("ATTR-23", !before(last, t));
	CHECK("ATTR-23", t.tv_nsec >= 0 && t.tv_nsec < 1000000000);
	/* The creation time does not change. */
	MUST(posix_trace_start(trid) == 0);
	MUST(posix_trace_get_attr(trid, &attr) == 0);
	CHECK_EQ("ATTR-23", get_create_time(&attr).tv_sec, t.tv_sec);
	CHECK_EQ("ATTR-23", get_create_time(&attr).tv_nsec, t.tv_nsec);
	stream_end(trid);
}

TEST(names)
{
	static const size_t lengths[] = {
		1, 8, TRACE_NAME_MAX - 2, TRACE_NAME_MAX - 1, TRACE_NAME_MAX, TRACE_NAME_MAX + 1, 5000,
	};
	char name[5001], expected[TRACE_NAME_MAX], got[TRACE_NAME_MAX + 16];
	trace_attr_t attr;

	stream_attr(&attr, 0, 0, 0);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		memset(name, 'a' + (int)i, lengths[i]);
		name[lengths[i]] = '\0';
		snprintf(expected, sizeof expected, "%.*s", TRACE_NAME_MAX - 1, name);
		memset(got, '#', sizeof got);
		CHECK_EQ("ATTR-19 ATTR-21", posix_trace_attr_setname(&attr, name), 0);
		CHECK_EQ("ATTR-18", posix_trace_attr_getname(&attr, got), 0);
		CHECK("ATTR-18", memchr(got, '\0', TRACE_NAME_MAX));
		/* A longer name is truncated. */
		CHECK_STR("ATTR-18 ATTR-19 ATTR-20", got, expected);
		for (size_t j = TRACE_NAME_MAX; j < sizeof got; j++)
			CHECK_EQ("ATTR-18", got[j], '#');
	}
	/* A shorter name leaves nothing of the longer one. A name may contain any bytes. */
	CHECK_EQ("ATTR-19", posix_trace_attr_setname(&attr, "\xff\x01 x"), 0);
	CHECK_STR("ATTR-19", get_name(&attr), "\xff\x01 x");
	CHECK_EQ("ATTR-19", posix_trace_attr_setname(&attr, ""), 0);
	CHECK_STR("ATTR-17 ATTR-19", get_name(&attr), "");
}

/* Each valid value is accepted. Every other value is refused and leaves the old one. */
TEST(inheritance)
{
	trace_attr_t attr;

	stream_attr(&attr, 0, 0, 0);
	CHECK_EQ("ATTR-26 ATTR-27", posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED), 0);
	CHECK_EQ("ATTR-26 ATTR-27", get_inherited(&attr), POSIX_TRACE_INHERITED);
	for (int value = -3; value < 100; value++)
		if (value != POSIX_TRACE_CLOSE_FOR_CHILD && value != POSIX_TRACE_INHERITED)
			CHECK_EQ("ATTR-27 ATTR-38", posix_trace_attr_setinherited(&attr, value), EINVAL);
	CHECK_EQ("ATTR-26 ATTR-27", get_inherited(&attr), POSIX_TRACE_INHERITED);
	CHECK_EQ("ATTR-26 ATTR-27", posix_trace_attr_setinherited(&attr, POSIX_TRACE_CLOSE_FOR_CHILD), 0);
	CHECK_EQ("ATTR-26 ATTR-27", get_inherited(&attr), POSIX_TRACE_CLOSE_FOR_CHILD);
}

TEST(log_policy)
{
	static const int values[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };
	trace_attr_t attr;

	stream_attr(&attr, 0, 0, 0);
	for (int i = 2; i >= 0; i--) {
		CHECK_EQ("ATTR-29 ATTR-30", posix_trace_attr_setlogfullpolicy(&attr, values[i]), 0);
		CHECK_EQ("ATTR-29 ATTR-30", get_log_policy(&attr), values[i]);
		CHECK_EQ("ATTR-30 ATTR-38", posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_FLUSH), EINVAL);
		CHECK_EQ("ATTR-30 ATTR-38", posix_trace_attr_setlogfullpolicy(&attr, -1), EINVAL);
		CHECK_EQ("ATTR-30 ATTR-38", posix_trace_attr_setlogfullpolicy(&attr, 0), EINVAL);
		CHECK_EQ("ATTR-30 ATTR-38", posix_trace_attr_setlogfullpolicy(&attr, 99), EINVAL);
		CHECK_EQ("ATTR-29 ATTR-30", get_log_policy(&attr), values[i]);
	}
}

TEST(stream_policy)
{
	static const int values[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH };
	trace_attr_t attr;
	trace_id_t trid;

	stream_attr(&attr, 0, 0, 0);
	for (int i = 2; i >= 0; i--) {
		CHECK_EQ("ATTR-32 ATTR-33", posix_trace_attr_setstreamfullpolicy(&attr, values[i]), 0);
		CHECK_EQ("ATTR-32 ATTR-33", get_stream_policy(&attr), values[i]);
		CHECK_EQ("ATTR-33 ATTR-38", posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_APPEND), EINVAL);
		CHECK_EQ("ATTR-33 ATTR-38", posix_trace_attr_setstreamfullpolicy(&attr, -1), EINVAL);
		CHECK_EQ("ATTR-33 ATTR-38", posix_trace_attr_setstreamfullpolicy(&attr, 0), EINVAL);
		CHECK_EQ("ATTR-33 ATTR-38", posix_trace_attr_setstreamfullpolicy(&attr, 99), EINVAL);
		CHECK_EQ("ATTR-32 ATTR-33", get_stream_policy(&attr), values[i]);
		if (values[i] == POSIX_TRACE_FLUSH) {
			trid = 4711;
			CHECK_EQ("ATTR-36", posix_trace_create(0, &attr, &trid), EINVAL);
			CHECK_EQ("ATTR-36", trid, 4711);
		} else {
			trid = stream_create(&attr);
			stream_end(trid);
		}
	}
}

/* An object that was not changed shows the policy that the stream uses. */
TEST(policy_without_log)
{
	trace_id_t trid = stream_create(NULL), trid2;
	trace_attr_t attr, got;

	MUST(posix_trace_get_attr(trid, &got) == 0);
	CHECK_EQ("ATTR-34", get_stream_policy(&got), POSIX_TRACE_LOOP);
	stream_attr(&attr, 0, 0, 0);
	trid2 = stream_create(&attr);
	MUST(posix_trace_get_attr(trid2, &got) == 0);
	CHECK_EQ("ATTR-34", get_stream_policy(&got), POSIX_TRACE_LOOP);
	stream_end(trid);
	stream_end(trid2);
}

TEST(sizes)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 65537, 1000000 };
	size_t value = 4711;
	trace_attr_t attr;

	stream_attr(&attr, 0, 0, 0);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		CHECK_EQ("ATTR-39", posix_trace_attr_setlogsize(&attr, sizes[i]), 0);
		CHECK_EQ("ATTR-39", get_log_size(&attr), sizes[i]);
		CHECK_EQ("ATTR-50", posix_trace_attr_setstreamsize(&attr, sizes[i]), 0);
		CHECK_EQ("ATTR-50", get_stream_size(&attr), sizes[i]);
		/* Without a log, the log size is ignored too. */
		stream_end(stream_create(&attr));
	}
	for (size_t size = 0; size <= LARGEST_MAX_DATA_SIZE; size = size * 3 + 1) {
		CHECK_EQ("ATTR-44", posix_trace_attr_setmaxdatasize(&attr, size), 0);
		CHECK_EQ("ATTR-44", get_max_data_size(&attr), size);
	}
	CHECK_EQ("ATTR-44", posix_trace_attr_setmaxdatasize(&attr, LARGEST_MAX_DATA_SIZE), 0);
	/* A size that the stream could not provide is refused at once. */
	CHECK_EQ("ATTR-56", posix_trace_attr_setmaxdatasize(&attr, LARGEST_MAX_DATA_SIZE + 1), EINVAL);
	CHECK_EQ("ATTR-56", posix_trace_attr_setmaxdatasize(&attr, (size_t)-1), EINVAL);
	CHECK_EQ("ATTR-44 ATTR-56", posix_trace_attr_getmaxdatasize(&attr, &value), 0);
	CHECK_EQ("ATTR-44 ATTR-56", value, LARGEST_MAX_DATA_SIZE);
}

/* -- Invalid objects ---------------------------------------------------- */

static void check_refused(const trace_attr_t *attr)
{
	char text[TRACE_NAME_MAX] = "text";
	struct timespec t = { 47, 11 };
	size_t size = 4711;
	int policy = 4711;

	CHECK_EQ("HDR-32 ATTR-25", posix_trace_attr_getclockres(attr, &t), EINVAL);
	CHECK_EQ("HDR-32 ATTR-25", posix_trace_attr_getcreatetime(attr, &t), EINVAL);
	CHECK_EQ("HDR-32 ATTR-25", posix_trace_attr_getgenversion(attr, text), EINVAL);
	CHECK_EQ("HDR-32 ATTR-25", posix_trace_attr_getname(attr, text), EINVAL);
	CHECK_EQ("HDR-32 ATTR-38", posix_trace_attr_getinherited(attr, &policy), EINVAL);
	CHECK_EQ("HDR-32 ATTR-38", posix_trace_attr_getlogfullpolicy(attr, &policy), EINVAL);
	CHECK_EQ("HDR-32 ATTR-38", posix_trace_attr_getstreamfullpolicy(attr, &policy), EINVAL);
	CHECK_EQ("HDR-32 ATTR-56", posix_trace_attr_getlogsize(attr, &size), EINVAL);
	CHECK_EQ("ATTR-55", size, 4711);
	CHECK_EQ("HDR-32 ATTR-56", posix_trace_attr_getmaxdatasize(attr, &size), EINVAL);
	CHECK_EQ("ATTR-55", size, 4711);
	CHECK_EQ("HDR-32 ATTR-56", posix_trace_attr_getmaxsystemeventsize(attr, &size), EINVAL);
	CHECK_EQ("ATTR-55", size, 4711);
	CHECK_EQ("HDR-32 ATTR-56", posix_trace_attr_getmaxusereventsize(attr, 8, &size), EINVAL);
	CHECK_EQ("ATTR-55", size, 4711);
	CHECK_EQ("HDR-32 ATTR-56", posix_trace_attr_getstreamsize(attr, &size), EINVAL);
	CHECK_EQ("ATTR-55", size, 4711);
}

static void check_refused_setters(trace_attr_t *attr)
{
	CHECK_EQ("HDR-32 ATTR-7", posix_trace_attr_destroy(attr), EINVAL);
	CHECK_EQ("HDR-32 ATTR-38", posix_trace_attr_setinherited(attr, POSIX_TRACE_INHERITED), EINVAL);
	CHECK_EQ("HDR-32 ATTR-38", posix_trace_attr_setlogfullpolicy(attr, POSIX_TRACE_LOOP), EINVAL);
	CHECK_EQ("HDR-32 ATTR-38", posix_trace_attr_setstreamfullpolicy(attr, POSIX_TRACE_LOOP), EINVAL);
	CHECK_EQ("HDR-32 ATTR-56", posix_trace_attr_setlogsize(attr, 65536), EINVAL);
	CHECK_EQ("HDR-32 ATTR-56", posix_trace_attr_setmaxdatasize(attr, 64), EINVAL);
	CHECK_EQ("HDR-32 ATTR-56", posix_trace_attr_setstreamsize(attr, 65536), EINVAL);
}

TEST(invalid_objects)
{
	trace_attr_t attr;
	trace_id_t trid = 4711;

	check_refused(NULL);
	check_refused_setters(NULL);
	CHECK_REFUSED("HDR-32", posix_trace_attr_init(NULL));

	memset(&attr, 0, sizeof attr);
	check_refused(&attr);
	check_refused_setters(&attr);
	memset(&attr, 0x5a, sizeof attr);
	check_refused(&attr);
	check_refused_setters(&attr);

	/* Using a destroyed object is the caller's fault, but does no harm. */
	stream_attr(&attr, 0, 0, 0);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	check_refused(&attr);
	check_refused_setters(&attr);
	CHECK_EQ("ATTR-6", posix_trace_attr_destroy(&attr), EINVAL);
	CHECK_EQ("ATTR-6 CREATE-2", posix_trace_create(0, &attr, &trid), EINVAL);
	memset(&attr, 0x5a, sizeof attr);
	CHECK_EQ("CREATE-2", posix_trace_create(0, &attr, &trid), EINVAL);
	CHECK_EQ("ATTR-6 CREATE-2", trid, 4711);
}

TEST(null_results)
{
	trace_attr_t attr;

	stream_attr(&attr, 0, 0, 0);
	CHECK_REFUSED("HDR-32 ATTR-25", posix_trace_attr_getclockres(&attr, NULL));
	CHECK_REFUSED("HDR-32 ATTR-25", posix_trace_attr_getcreatetime(&attr, NULL));
	CHECK_REFUSED("HDR-32 ATTR-25", posix_trace_attr_getgenversion(&attr, NULL));
	CHECK_REFUSED("HDR-32 ATTR-25", posix_trace_attr_getname(&attr, NULL));
	CHECK_REFUSED("HDR-32 ATTR-38", posix_trace_attr_getinherited(&attr, NULL));
	CHECK_REFUSED("HDR-32 ATTR-38", posix_trace_attr_getlogfullpolicy(&attr, NULL));
	CHECK_REFUSED("HDR-32 ATTR-38", posix_trace_attr_getstreamfullpolicy(&attr, NULL));
	CHECK_REFUSED("HDR-32 ATTR-56", posix_trace_attr_getlogsize(&attr, NULL));
	CHECK_REFUSED("HDR-32 ATTR-56", posix_trace_attr_getmaxdatasize(&attr, NULL));
	CHECK_REFUSED("HDR-32 ATTR-56", posix_trace_attr_getmaxsystemeventsize(&attr, NULL));
	CHECK_REFUSED("HDR-32 ATTR-56", posix_trace_attr_getmaxusereventsize(&attr, 8, NULL));
	CHECK_REFUSED("HDR-32 ATTR-56", posix_trace_attr_getstreamsize(&attr, NULL));
}

TEST(null_name)
{
	trace_attr_t attr;

	stream_attr(&attr, 0, 0, 0);
	MUST(posix_trace_attr_setname(&attr, "kept") == 0);
	CHECK_EQ("HDR-32", posix_trace_attr_setname(&attr, NULL), EINVAL);
	CHECK_STR("HDR-32", get_name(&attr), "kept");
}

/* -- A stream's attributes ---------------------------------------------- */

TEST(one_object_many_streams)
{
	trace_attr_t attr, got;
	trace_id_t first, second;

	stream_attr(&attr, POSIX_TRACE_UNTIL_FULL, 65536, 16);
	MUST(posix_trace_attr_setname(&attr, "first") == 0);
	first = stream_create(&attr);
	MUST(posix_trace_attr_setname(&attr, "second") == 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, 32) == 0);
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP) == 0);
	MUST(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED) == 0);
	second = stream_create(&attr);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	memset(&attr, 0xff, sizeof attr);

	CHECK_EQ("ATTR-8 ATTR-57", posix_trace_get_attr(first, &got), 0);
	CHECK_STR("ATTR-8 ATTR-57", get_name(&got), "first");
	CHECK_EQ("ATTR-8 ATTR-57", get_max_data_size(&got), 16);
	CHECK_EQ("ATTR-8 ATTR-57", get_stream_policy(&got), POSIX_TRACE_UNTIL_FULL);
	CHECK_EQ("ATTR-8 ATTR-57", get_inherited(&got), POSIX_TRACE_CLOSE_FOR_CHILD);
	CHECK_EQ("ATTR-8 ATTR-57", posix_trace_get_attr(second, &got), 0);
	CHECK_STR("ATTR-8 ATTR-57", get_name(&got), "second");
	CHECK_EQ("ATTR-8 ATTR-57", get_max_data_size(&got), 32);
	CHECK_EQ("ATTR-8 ATTR-57", get_stream_policy(&got), POSIX_TRACE_LOOP);
	CHECK_EQ("ATTR-8 ATTR-57", get_inherited(&got), POSIX_TRACE_INHERITED);
	stream_end(first);
	stream_end(second);
}

TEST(get_attr)
{
	trace_attr_t attr, got, garbage;
	trace_id_t trid;

	stream_attr(&attr, 0, 0, 0);
	set_everything(&attr);
	trid = stream_create(&attr);
	/* Into an object with different values, and into memory that is not initialized. */
	stream_attr(&got, POSIX_TRACE_LOOP, 4096, 1);
	CHECK_EQ("ATTR-9 ATTR-57", posix_trace_get_attr(trid, &got), 0);
	memset(&garbage, 0xc3, sizeof garbage);
	CHECK_EQ("ATTR-57 ATTR-60", posix_trace_get_attr(trid, &garbage), 0);
	for (int i = 0; i < 2; i++) {
		trace_attr_t *a = i ? &garbage : &got;
		struct timespec clock = { -1, -1 }, fresh = { -2, -2 };

		CHECK_STR("ATTR-9 ATTR-57", get_name(a), "name");
		CHECK_EQ("ATTR-9 ATTR-57", get_inherited(a), POSIX_TRACE_INHERITED);
		CHECK_EQ("ATTR-9 ATTR-57", get_log_policy(a), POSIX_TRACE_APPEND);
		CHECK_EQ("ATTR-9 ATTR-57", get_log_size(a), 123456);
		CHECK_EQ("ATTR-9 ATTR-57", get_stream_policy(a), POSIX_TRACE_UNTIL_FULL);
		CHECK_EQ("ATTR-9 ATTR-54 ATTR-57", get_max_data_size(a), 200);
		CHECK_OP("ATTR-9 ATTR-53 ATTR-57", get_stream_size(a), >=, 200000);
		CHECK_EQ("ATTR-57", posix_trace_attr_getclockres(a, &clock), 0);
		CHECK_EQ("ATTR-57", posix_trace_attr_getclockres(&attr, &fresh), 0);
		CHECK_EQ("ATTR-57", clock.tv_nsec, fresh.tv_nsec);
		CHECK_STR("ATTR-57", get_version(a), get_version(&attr));
		CHECK_OP("ATTR-57", get_create_time(a).tv_sec, >, 0);
		CHECK_OP("ATTR-57", get_system_event_size(a), >, 0);
	}
	stream_end(trid);
	/* Both can be used like any other object now. */
	CHECK_EQ("ATTR-60", posix_trace_attr_setname(&garbage, "other"), 0);
	CHECK_STR("ATTR-60", get_name(&garbage), "other");
	trid = stream_create(&garbage);
	stream_end(trid);
	CHECK_EQ("ATTR-60", posix_trace_attr_destroy(&garbage), 0);
	CHECK_EQ("ATTR-9", posix_trace_attr_destroy(&got), 0);
}

TEST(get_attr_of_nothing)
{
	trace_id_t trid = stream_create(NULL), gone = stream_create(NULL);
	trace_attr_t attr;

	stream_end(gone);
	stream_attr(&attr, 0, 0, 0);
	MUST(posix_trace_attr_setname(&attr, "mine") == 0);
	CHECK_EQ("ATTR-59", posix_trace_get_attr(gone, &attr), EINVAL);
	CHECK_EQ("ATTR-59", posix_trace_get_attr(0, &attr), EINVAL);
	CHECK_EQ("ATTR-59", posix_trace_get_attr((trace_id_t)-1, &attr), EINVAL);
	CHECK_EQ("ATTR-59", posix_trace_get_attr(trid ^ 1, &attr), EINVAL);
	CHECK_EQ("ATTR-59", posix_trace_get_attr(trid ^ ((trace_id_t)1 << 40), &attr), EINVAL);
	CHECK_REFUSED("HDR-32", posix_trace_get_attr(trid, NULL));
	CHECK_STR("ATTR-59", get_name(&attr), "mine");
	stream_end(trid);
}

/* The reported size is the one in use: the stream has at least this much room. */
TEST(sizes_in_use)
{
	static const size_t sizes[] = { 0, 1, 1000, 4096, 5000, 100000, 3000000 };
	trace_attr_t attr, got;
	trace_id_t trid;

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		MUST(posix_trace_attr_init(&attr) == 0);
		MUST(posix_trace_attr_setstreamsize(&attr, sizes[i]) == 0);
		trid = stream_create(&attr);
		MUST(posix_trace_get_attr(trid, &got) == 0);
		CHECK_OP("ATTR-53", get_stream_size(&got), >=, sizes[i]);
		CHECK_EQ("ATTR-54", get_max_data_size(&got), DEFAULT_MAX_DATA_SIZE);
		stream_end(trid);
	}
}

/* Data of an event is truncated to the stream's limit. */
TEST(max_data_size)
{
	static const size_t limits[] = { 0, 1, 7, 8, 100, 1024, 5000 };
	unsigned char data[6000];
	trace_event_id_t id = stream_id("attributes.max_data_size");
	struct stream_event e;
	trace_attr_t attr;
	trace_id_t trid;

	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i * 7 + i / 256);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		size_t limit = limits[i];

		stream_attr(&attr, 0, 0, 0);
		MUST(posix_trace_attr_setmaxdatasize(&attr, limit) == 0);
		trid = stream_running(&attr);
		posix_trace_event(id, data, limit);
		stream_expect(trid, id, &e);
		CHECK_EQ("ATTR-44", e.len, limit);
		CHECK_EQ("ATTR-44", e.info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
		posix_trace_event(id, data, limit + 1);
		stream_expect(trid, id, &e);
		CHECK_EQ("ATTR-46", e.len, limit);
		CHECK_EQ("ATTR-46", e.info.posix_truncation_status, POSIX_TRACE_TRUNCATED_RECORD);
		CHECK_EQ("ATTR-46", memcmp(e.data, data, limit), 0);
		stream_end(trid);
	}
}

/* -- The promise about sizes -------------------------------------------- */

TEST(event_sizes)
{
	size_t size, last = 0, greatest;
	trace_attr_t attr;

	stream_attr(&attr, 0, 0, 500);
	size = 0;
	CHECK_EQ("ATTR-47", posix_trace_attr_getmaxsystemeventsize(&attr, &size), 0);
	/* FILTER contains two sets. */
	CHECK_OP("ATTR-47", size, >=, 2 * sizeof(trace_event_set_t));
	for (size_t length = 0; length <= 500; length++) {
		size = 0;
		CHECK_EQ("ATTR-48", posix_trace_attr_getmaxusereventsize(&attr, length, &size), 0);
		CHECK_OP("ATTR-48", size, >, length);
		CHECK_OP("ATTR-48", size, >=, last);
		last = size;
	}
	greatest = last;
	/* An event's recorded data never exceeds max-data-size. */
	CHECK_EQ("ATTR-48", get_user_event_size(&attr, 501), greatest);
	CHECK_EQ("ATTR-48", get_user_event_size(&attr, 100000), greatest);
	CHECK_EQ("ATTR-48", get_user_event_size(&attr, (size_t)-1), greatest);
	MUST(posix_trace_attr_setmaxdatasize(&attr, 2000) == 0);
	CHECK_OP("ATTR-48", get_user_event_size(&attr, 2000), >, greatest);
}

/*
 * Returns a stream with a stream size that suffices exactly, according to the size functions, for START and n user
 * events with this much data. The stream must hold them all.
 */
static trace_id_t stream_for(size_t n, size_t length, size_t n_system, size_t max_data_size)
{
	trace_attr_t attr;

	stream_attr(&attr, POSIX_TRACE_UNTIL_FULL, 0, max_data_size);
	MUST(posix_trace_attr_setname(&attr, "a name as long as a stream can have; it takes no room of events") == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, n * get_user_event_size(&attr, length) +
					    (n_system + 1) * get_system_event_size(&attr)) == 0);
	return stream_create(&attr);
}

static void check_all_kept(trace_id_t trid, trace_event_id_t id, size_t n, size_t length, int line)
{
	struct posix_trace_status_info status = stream_status(trid);
	struct stream_event e;
	size_t found = 0;

	if (status.posix_stream_overrun_status != POSIX_TRACE_NO_OVERRUN ||
	    status.posix_stream_full_status != POSIX_TRACE_NOT_FULL)
		TEST_FAIL("ATTR-49 ATTR-50 ATTR-51", "line %d: overrun %d, full %d", line,
		          status.posix_stream_overrun_status,
			  status.posix_stream_full_status);
	while (stream_try(trid, &e)) {
		if (e.info.posix_event_id != id)
			continue;
		found++;
		CHECK_EQ("ATTR-49", e.len, length);
	}
	if (found != n)
		TEST_FAIL("ATTR-49 ATTR-50 ATTR-51", "line %d: %zu of %zu events with %zu bytes", line, found, n,
		          length);
}

TEST(no_loss_one_thread)
{
	static const size_t lengths[] = { 0, 1, 8, 13, 100, 1024 };
	static const size_t numbers[] = { 1, 3, 10, 50, 1000, 3000 };
	trace_event_id_t id = stream_id("attributes.no_loss");
	char name[32], data[1024] = { 0 };

	/* Names take no room in the stream. */
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof name, "attributes.no_loss.%d", i);
		stream_id(name);
	}
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
			trace_id_t trid = stream_for(numbers[j], lengths[i], 0, 0);

			MUST(posix_trace_start(trid) == 0);
			for (size_t k = 0; k < numbers[j]; k++)
				posix_trace_event(id, data, lengths[i]);
			check_all_kept(trid, id, numbers[j], lengths[i], __LINE__);
			stream_end(trid);
		}
	}
}

/* Events of the maximum size, with a small limit, the default and the greatest limit. */
TEST(no_loss_largest_data)
{
	static const size_t limits[] = { 1, 1024, 4096, LARGEST_MAX_DATA_SIZE };
	static char data[LARGEST_MAX_DATA_SIZE];
	trace_event_id_t id = stream_id("attributes.no_loss_largest");

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		trace_id_t trid = stream_for(20, limits[i], 0, limits[i]);
		struct posix_trace_event_info info;
		int unavailable = 0;
		size_t length, found = 0;

		MUST(posix_trace_start(trid) == 0);
		for (int k = 0; k < 20; k++)
			posix_trace_event(id, data, limits[i]);
		for (;;) {
			MUST(posix_trace_trygetnext_event(trid, &info, data, sizeof data, &length, &unavailable) == 0);
			if (unavailable)
				break;
			if (info.posix_event_id != id)
				continue;
			found++;
			CHECK_EQ("ATTR-49", length, limits[i]);
			CHECK_EQ("ATTR-49", info.posix_truncation_status, POSIX_TRACE_NOT_TRUNCATED);
		}
		CHECK_EQ("ATTR-49", found, 20);
		stream_end(trid);
	}
}

/* Room for system events is included. */
TEST(no_loss_system_events)
{
	enum { ROUNDS = 40 };
	trace_event_id_t id = stream_id("attributes.no_loss_system");
	trace_id_t trid = stream_for(ROUNDS, 32, 3 * ROUNDS, 0);
	size_t starts = 0, stops = 0, filters = 0, users = 0;
	trace_event_set_t set;
	struct stream_event e;
	char data[32] = { 0 };

	MUST(posix_trace_eventset_empty(&set) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		MUST(posix_trace_start(trid) == 0);
		posix_trace_event(id, data, sizeof data);
		MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) == 0);
		MUST(posix_trace_stop(trid) == 0);
	}
	CHECK_EQ("ATTR-49", stream_status(trid).posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
	while (stream_try(trid, &e)) {
		starts += e.info.posix_event_id == POSIX_TRACE_START;
		stops += e.info.posix_event_id == POSIX_TRACE_STOP;
		filters += e.info.posix_event_id == POSIX_TRACE_FILTER;
		users += e.info.posix_event_id == id;
	}
	CHECK_EQ("ATTR-47 ATTR-49", starts, ROUNDS);
	CHECK_EQ("ATTR-47 ATTR-49", stops, ROUNDS);
	CHECK_EQ("ATTR-47 ATTR-49", filters, ROUNDS);
	CHECK_EQ("ATTR-49", users, ROUNDS);
	stream_end(trid);
}

enum { THREADS = 24, EACH = 7, LENGTH = 40 };

static pthread_barrier_t barrier;

static void *record_some(void *argument)
{
	trace_event_id_t id = *(trace_event_id_t *)argument;
	char data[LENGTH] = { 0 };

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < EACH; i++)
		posix_trace_event(id, data, sizeof data);
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* The promise holds for any threads: here for many threads with a few events each, all alive until the end. */
TEST(no_loss_many_threads)
{
	trace_event_id_t id = stream_id("attributes.no_loss_threads");
	trace_id_t trid = stream_for(THREADS * EACH, LENGTH, 0, 0);
	pthread_t threads[THREADS];

	MUST(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
	MUST(posix_trace_start(trid) == 0);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, record_some, &id) == 0);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	check_all_kept(trid, id, THREADS * EACH, LENGTH, __LINE__);
	stream_end(trid);
}

/* Many threads record one event each, one thread after another. */
static void *record_one(void *argument)
{
	posix_trace_event(*(trace_event_id_t *)argument, NULL, 0);
	return NULL;
}

TEST(no_loss_short_threads)
{
	enum { N = 300 };
	trace_event_id_t id = stream_id("attributes.no_loss_short");
	trace_id_t trid = stream_for(N, 0, 0, 0);
	pthread_t thread;

	MUST(posix_trace_start(trid) == 0);
	for (int i = 0; i < N; i++) {
		MUST(pthread_create(&thread, NULL, record_one, &id) == 0);
		MUST(pthread_join(thread, NULL) == 0);
	}
	check_all_kept(trid, id, N, 0, __LINE__);
	stream_end(trid);
}

/* Events that have been read take no room: the same number fits again and again, from any thread. */
TEST(no_loss_again)
{
	static const size_t lengths[] = { 0, 24, 300, 1024 };
	trace_event_id_t id = stream_id("attributes.no_loss_again");
	char data[1024] = { 0 };

	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		for (size_t n = 1; n <= 256; n *= 4) {
			trace_id_t trid = stream_for(n, lengths[i], 0, 0);
			pthread_t thread;

			MUST(posix_trace_start(trid) == 0);
			stream_drain(trid);
			for (int round = 0; round < 30; round++) {
				for (size_t k = 0; k < n; k++) {
					if (lengths[i] == 0 && k % 2) {
						MUST(pthread_create(&thread, NULL, record_one, &id) == 0);
						MUST(pthread_join(thread, NULL) == 0);
					} else {
						posix_trace_event(id, data, lengths[i]);
					}
				}
				check_all_kept(trid, id, n, lengths[i], __LINE__);
			}
			stream_end(trid);
		}
	}
}

/* Events of mixed sizes from many threads, under both policies. */
enum { MIXED_EACH = 30, MIXED_MAX = 5000 };

static size_t mixed_length(unsigned thread, unsigned k)
{
	unsigned x = (thread * MIXED_EACH + k) * 2654435761u;

	return k % 3 ? (x >> 16) % 64 : (x >> 16) % (MIXED_MAX + 1);
}

struct mixed {
	trace_event_id_t id;
	unsigned thread;
};

static void *record_mixed(void *argument)
{
	static const char data[MIXED_MAX];
	const struct mixed *m = argument;

	pthread_barrier_wait(&barrier);
	for (unsigned k = 0; k < MIXED_EACH; k++)
		posix_trace_event(m->id, data, mixed_length(m->thread, k));
	pthread_barrier_wait(&barrier);
	return NULL;
}

TEST(no_loss_mixed)
{
	trace_event_id_t id = stream_id("attributes.no_loss_mixed");
	struct mixed mixed[THREADS];
	pthread_t threads[THREADS];

	for (int round = 0; round < 20; round++) {
		struct posix_trace_status_info status;
		size_t size = 0, bytes = 0, found = 0;
		struct stream_event e;
		trace_attr_t attr;
		trace_id_t trid;

		stream_attr(&attr, round % 2 ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL, 0, MIXED_MAX);
		for (unsigned i = 0; i < THREADS; i++)
			for (unsigned k = 0; k < MIXED_EACH; k++)
				size += get_user_event_size(&attr, mixed_length(i, k));
		MUST(posix_trace_attr_setstreamsize(&attr, size + get_system_event_size(&attr)) == 0);
		trid = stream_create(&attr);
		MUST(posix_trace_start(trid) == 0);
		MUST(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
		for (unsigned i = 0; i < THREADS; i++) {
			mixed[i] = (struct mixed){ id, i };
			MUST(pthread_create(&threads[i], NULL, record_mixed, &mixed[i]) == 0);
			for (unsigned k = 0; k < MIXED_EACH; k++)
				bytes += mixed_length(i, k);
		}
		for (unsigned i = 0; i < THREADS; i++)
			MUST(pthread_join(threads[i], NULL) == 0);
		status = stream_status(trid);
		CHECK_EQ("ATTR-49", status.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
		CHECK_LOST("ATTR-49", ours_lost(&status), ==, 0);
		while (stream_try(trid, &e)) {
			found += e.info.posix_event_id == id;
			bytes -= e.info.posix_event_id == id ? e.len : 0;
		}
		CHECK_EQ("ATTR-48 ATTR-49 ATTR-50", found, THREADS * MIXED_EACH);
		CHECK_EQ("ATTR-49", bytes, 0);
		pthread_barrier_destroy(&barrier);
		stream_end(trid);
	}
}

TEST_MAIN(TEST_ENTRY(defaults), TEST_ENTRY(all_attributes), TEST_ENTRY(initialise_again), TEST_ENTRY(version),
          TEST_ENTRY(clock_resolution), TEST_ENTRY(creation_time), TEST_ENTRY(names), TEST_ENTRY(inheritance),
          TEST_ENTRY(log_policy), TEST_ENTRY(stream_policy), TEST_ENTRY(policy_without_log), TEST_ENTRY(sizes),
          TEST_ENTRY(invalid_objects), TEST_ENTRY(null_results), TEST_ENTRY(null_name),
          TEST_ENTRY(one_object_many_streams), TEST_ENTRY(get_attr), TEST_ENTRY(get_attr_of_nothing),
          TEST_ENTRY(sizes_in_use), TEST_ENTRY(max_data_size), TEST_ENTRY(event_sizes), TEST_ENTRY(no_loss_one_thread),
          TEST_ENTRY(no_loss_largest_data), TEST_ENTRY(no_loss_system_events), TEST_ENTRY(no_loss_many_threads),
          TEST_ENTRY(no_loss_short_threads), TEST_ENTRY(no_loss_again), TEST_ENTRY(no_loss_mixed))
