/*
 * text.c - src/base/text.h: names made of several parts
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/text.h"

#include "test.h"

TEST(pieces)
{
	char buf[32];
	struct text t = text_into(buf, sizeof buf);

	CHECK_STR("-", buf, "");
	text_add(&t, "a");
	text_add(&t, "");
	text_add(&t, "bc");
	text_add_number(&t, 0);
	text_add(&t, "-");
	text_add_number(&t, 1009);
	CHECK_STR("-", buf, "abc0-1009");
}

TEST(numbers)
{
	static const uint64_t number[] = { 0, 1, 9, 10, 99, 100, 4294967295u, 4294967296u, UINT64_MAX };

	for (unsigned i = 0; i < sizeof number / sizeof number[0]; i++) {
		char buf[32], want[32];
		struct text t = text_into(buf, sizeof buf);

		text_add_number(&t, number[i]);
		snprintf(want, sizeof want, "%llu", (unsigned long long)number[i]);
		CHECK_STR("-", buf, want);
		CHECK("-", text_number(buf) == number[i]);
	}
	CHECK_EQ("-", text_number(""), 0);
	CHECK_EQ("-", text_number("x12"), 0);
	CHECK_EQ("-", text_number("12-34"), 12);
	CHECK_EQ("-", text_number("-1"), 0);
}

/* Text that does not fit is left out, and nothing is written beyond the buffer. */
TEST(no_room)
{
	char buf[8];
	struct text t = text_into(buf, 4);

	memset(buf + 4, '#', 4);
	text_add(&t, "abcdef");
	text_add(&t, "g");
	text_add_number(&t, 12345);
	CHECK_STR("-", buf, "abc");
	CHECK("-", memcmp(buf + 4, "####", 4) == 0);

	t = text_into(buf, 1);
	text_add(&t, "a");
	CHECK_STR("-", buf, "");
}

TEST_MAIN(TEST_ENTRY(pieces), TEST_ENTRY(numbers), TEST_ENTRY(no_room))
