/*
 * attr.c - src/model/attr.c: the attributes of a stream as plain values
 *
 * SPDX-License-Identifier: MIT
 */
#include "model/attr.h"

#include <stddef.h>

#include "model/record.h"
#include "test.h"

TEST(recognised)
{
	union {
		trace_attr_t attr;
		struct attr a;
		unsigned char bytes[sizeof(trace_attr_t)];
	} u;

	CHECK("-", attr_get(NULL) == NULL);
	CHECK("-", attr_get_const(NULL) == NULL);
	for (int fill = 0; fill < 256; fill++) {
		memset(&u, fill, sizeof u);
		CHECK("-", attr_get(&u.attr) == NULL && attr_get_const(&u.attr) == NULL);
	}
	attr_init(&u.a);
	CHECK("-", attr_get(&u.attr) == &u.a);
	CHECK("-", attr_get_const(&u.attr) == &u.a);
	attr_destroy(&u.a);
	CHECK("-", attr_get(&u.attr) == NULL);
	attr_init(&u.a);
	CHECK("-", attr_get(&u.attr) == &u.a);
}

/* Values that the functions never set: the application has overwritten the object. */
TEST(overwritten)
{
	union {
		trace_attr_t attr;
		struct attr a;
	} u;

#define WITH(member, value)                                                     \
	do {                                                                    \
		attr_init(&u.a);                                                \
		u.a.member = (value);                                           \
		CHECK("-", !attr_get(&u.attr) && !attr_get_const(&u.attr));     \
	} while (0)

	WITH(data_size, 65536);
	WITH(stream_policy, -1);
	WITH(stream_policy, 99);
	WITH(log_policy, 0);
	WITH(inheritance, 0x01010101);
	WITH(create_nsec, -1);
	WITH(create_nsec, 1000000000);
	WITH(resolution_nsec, -1);
	WITH(flush_us, 999);
	/* A string without a terminating null byte would make the caller's copy run on. */
	attr_init(&u.a);
	memset(u.a.name, 'n', sizeof u.a.name);
	CHECK("-", !attr_get(&u.attr) && !attr_get_const(&u.attr));
	attr_init(&u.a);
	memset(u.a.version, 'v', sizeof u.a.version);
	CHECK("-", !attr_get(&u.attr) && !attr_get_const(&u.attr));
}

TEST(defaults)
{
	struct attr a;

	memset(&a, 0xff, sizeof a);
	attr_init(&a);
	CHECK("-", a.stream_size == ATTR_STREAM_SIZE_DEFAULT);
	CHECK("-", a.log_size == ATTR_LOG_SIZE_DEFAULT);
	CHECK_EQ("-", a.data_size, ATTR_DATA_SIZE_DEFAULT);
	CHECK_EQ("-", a.stream_policy, 0);
	CHECK_EQ("-", a.log_policy, POSIX_TRACE_LOOP);
	CHECK_EQ("-", a.inheritance, POSIX_TRACE_CLOSE_FOR_CHILD);
	CHECK_EQ("-", a.create_sec, 0);
	CHECK_EQ("-", a.create_nsec, 0);
	CHECK_EQ("-", a.resolution_nsec, 1);
	CHECK("-", strncmp(a.version, "posixtrace ", 11) == 0 && strlen(a.version) > 11 &&
	      strlen(a.version) < TRACE_NAME_MAX);
	CHECK_STR("-", a.name, "");
	CHECK("-", attr_valid(&a, false));
	CHECK("-", attr_valid(&a, true));
}

TEST(name_is_cut)
{
	char name[TRACE_NAME_MAX + 20];
	struct attr a;

	for (size_t length = 0; length < sizeof name; length++) {
		size_t kept = length < TRACE_NAME_MAX - 1 ? length : TRACE_NAME_MAX - 1;

		memset(name, 'n', sizeof name);
		name[length < sizeof name - 1 ? length : sizeof name - 1] = 0;
		attr_init(&a);
		memset(a.name, '#', sizeof a.name);
		attr_set_name(&a, name);
		CHECK_EQ("-", strlen(a.name), kept);
		CHECK("-", strncmp(a.name, name, kept) == 0);
		/*
		 * Nothing of an older, longer name stays after the new one: objects are compared and stored as
		 * bytes.
		 */
		for (size_t i = kept; i < sizeof a.name; i++)
			CHECK_EQ("-", a.name[i], 0);
	}
}

TEST(stream_policy)
{
	static const int policy[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH };
	struct attr a;

	attr_init(&a);
	CHECK_EQ("-", attr_stream_policy(&a, false), POSIX_TRACE_LOOP);
	CHECK_EQ("-", attr_stream_policy(&a, true), POSIX_TRACE_FLUSH);
	for (int i = 0; i < 3; i++) {
		a.stream_policy = policy[i];
		CHECK_EQ("-", attr_stream_policy(&a, false), policy[i]);
		CHECK_EQ("-", attr_stream_policy(&a, true), policy[i]);
	}
}

TEST(valid)
{
	struct attr a;

	attr_init(&a);
	for (int policy = -1; policy < 10; policy++) {
		bool without = policy == 0 || policy == POSIX_TRACE_LOOP || policy == POSIX_TRACE_UNTIL_FULL;

		a.stream_policy = policy;
		CHECK_EQ("-", attr_valid(&a, false), without);
		CHECK_EQ("-", attr_valid(&a, true), without || policy == POSIX_TRACE_FLUSH);
	}
	a.stream_policy = POSIX_TRACE_LOOP;
	a.data_size = RECORD_DATA_MAX;
	CHECK("-", attr_valid(&a, false));
	a.data_size = RECORD_DATA_MAX + 1;
	CHECK("-", !attr_valid(&a, false) && !attr_valid(&a, true));
}

TEST(event_sizes)
{
	static const uint32_t data_size[] = { 0, 1, 7, 8, 9, 100, 1024, RECORD_DATA_MAX };
	struct attr a;

	attr_init(&a);
	for (unsigned d = 0; d < sizeof data_size / sizeof data_size[0]; d++) {
		uint32_t last = 0, limit;

		a.data_size = data_size[d];
		limit = attr_user_event_size(&a, data_size[d]);
		for (uint32_t length = 0; length <= data_size[d] + 100; length++) {
			uint32_t size = attr_user_event_size(&a, length);

			CHECK("-", size >= last && size % RECORD_ALIGN == 0);
			/* Longer data is truncated, so it takes no more space. */
			if (length <= data_size[d])
				CHECK_EQ("-", size, sizeof(struct record_owner) + record_size(length));
			else
				CHECK_EQ("-", size, limit);
			last = size;
		}
		CHECK_EQ("-", attr_user_event_size(&a, SIZE_MAX), limit);
		CHECK("-", attr_event_size_max(&a) >= limit);
		CHECK("-", attr_event_size_max(&a) >= attr_system_event_size(&a));
		CHECK("-", attr_event_size_max(&a) == limit || attr_event_size_max(&a) == attr_system_event_size(&a));
	}
	/* START has the data of one event set, FILTER of two. */
	CHECK("-", attr_system_event_size(&a) >= record_size_max(2 * sizeof(trace_event_set_t)));
}

/* Programs store these objects, and a newer library reads the objects of older programs. */
TEST(layout)
{
	CHECK_EQ("-", sizeof(struct attr), 256);
	CHECK_EQ("-", offsetof(struct attr, magic), 0);
	CHECK_EQ("-", offsetof(struct attr, stream_size), 8);
	CHECK_EQ("-", offsetof(struct attr, log_size), 16);
	CHECK_EQ("-", offsetof(struct attr, data_size), 24);
	CHECK_EQ("-", offsetof(struct attr, stream_policy), 28);
	CHECK_EQ("-", offsetof(struct attr, log_policy), 32);
	CHECK_EQ("-", offsetof(struct attr, inheritance), 36);
	CHECK_EQ("-", offsetof(struct attr, create_sec), 40);
	CHECK_EQ("-", offsetof(struct attr, create_nsec), 48);
	CHECK_EQ("-", offsetof(struct attr, resolution_nsec), 56);
	CHECK_EQ("-", offsetof(struct attr, version), 64);
	CHECK_EQ("-", offsetof(struct attr, name), 128);
	CHECK_EQ("-", offsetof(struct attr, flush_us), 192);
}

TEST_MAIN(TEST_ENTRY(recognised), TEST_ENTRY(overwritten), TEST_ENTRY(defaults), TEST_ENTRY(name_is_cut),
          TEST_ENTRY(stream_policy), TEST_ENTRY(valid), TEST_ENTRY(event_sizes), TEST_ENTRY(layout))
