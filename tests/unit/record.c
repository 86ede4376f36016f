/*
 * record.c - src/model/record.h: the bytes of one record
 *
 * SPDX-License-Identifier: MIT
 */
#include "model/record.h"

#include "test.h"

TEST(layout)
{
	CHECK_EQ("-", offsetof(struct record, length), 0);
	CHECK_EQ("-", offsetof(struct record, type), 2);
	CHECK_EQ("-", offsetof(struct record, reserved), 4);
	CHECK_EQ("-", offsetof(struct record, ticks), 8);
	CHECK_EQ("-", offsetof(struct record, address), 16);
	CHECK_EQ("-", sizeof(struct record), 24);

	CHECK_EQ("-", offsetof(struct record_owner, length), 0);
	CHECK_EQ("-", offsetof(struct record_owner, type), 2);
	CHECK_EQ("-", offsetof(struct record_owner, pid), 4);
	CHECK_EQ("-", offsetof(struct record_owner, tid), 8);
	CHECK_EQ("-", offsetof(struct record_owner, thread), 16);
	CHECK_EQ("-", offsetof(struct record_owner, name), 24);
	CHECK_EQ("-", sizeof(struct record_owner), 40);
}

/* Kinds, ids and flags have separate bits. */
TEST(bits)
{
	static const unsigned flag[] = { RECORD_OWNER, RECORD_TRUNCATED };
	unsigned seen = RECORD_TYPE_MASK;

	for (unsigned i = 0; i < sizeof flag / sizeof flag[0]; i++) {
		CHECK("-", flag[i] <= 0xffff && (flag[i] & (flag[i] - 1)) == 0);
		CHECK("-", !(seen & flag[i]));
		seen |= flag[i];
	}
	CHECK_EQ("-", (EVENT_ID_END - 1) & RECORD_TYPE_MASK, EVENT_ID_END - 1);
}

TEST(sizes)
{
	for (uint32_t length = 0; length <= RECORD_DATA_MAX; length++) {
		uint32_t size = record_size(length);

		if (size % RECORD_ALIGN || size < sizeof(struct record) + length ||
		    size >= sizeof(struct record) + length + RECORD_ALIGN)
			TEST_FAIL("-", "record_size(%u) is %u", length, size);
		if (record_size_max(length) != size + sizeof(struct record_owner))
			TEST_FAIL("-", "record_size_max(%u) is %u", length, record_size_max(length));
	}
	/* The record after an owner record is aligned. */
	CHECK_EQ("-", sizeof(struct record_owner) % RECORD_ALIGN, 0);
}

TEST_MAIN(TEST_ENTRY(layout), TEST_ENTRY(bits), TEST_ENTRY(sizes))
