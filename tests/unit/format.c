/*
 * format.c - src/log/format.c: numbers and frame headers, byte by byte as in docs/log-format.md
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/format.h"

#include "log/crc.h"
#include "test.h"

TEST(numbers)
{
	unsigned char bytes[16];

	for (unsigned at = 0; at < 8; at++) {
		memset(bytes, '#', sizeof bytes);
		put16(bytes + at, 0x0102);
		CHECK("-", memcmp(bytes + at, "\2\1#", 3) == 0);
		CHECK_EQ("-", get16(bytes + at), 0x0102);
		put32(bytes + at, 0x01020304);
		CHECK("-", memcmp(bytes + at, "\4\3\2\1#", 5) == 0);
		CHECK_EQ("-", get32(bytes + at), 0x01020304);
		put64(bytes + at, UINT64_C(0x0102030405060708));
		CHECK("-", memcmp(bytes + at, "\10\7\6\5\4\3\2\1", 8) == 0);
		CHECK("-", get64(bytes + at) == UINT64_C(0x0102030405060708));
	}
}

static void check_varint(uint64_t value, unsigned want)
{
	unsigned char bytes[VARINT_BYTES + 1];
	uint64_t got = ~value;
	unsigned size;

	memset(bytes, '#', sizeof bytes);
	size = (unsigned)(put_varint(bytes, value) - bytes);
	CHECK_EQ("-", size, want);
	CHECK_EQ("-", bytes[size], '#');
	CHECK("-", get_varint(bytes, bytes + size, &got) == bytes + size && got == value);
	CHECK("-", get_varint(bytes, bytes + sizeof bytes, &got) == bytes + size && got == value);
	for (unsigned cut = 0; cut < size; cut++)
		CHECK("-", get_varint(bytes, bytes + cut, &got) == NULL);
}

TEST(varints)
{
	static const unsigned char too_large[][11] = {
		"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
		"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x81", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",
	};
	static const unsigned char more[] = { 0x85, 0x80, 0x00 };
	uint64_t value = 4711;
	unsigned seed = 3;

	for (unsigned bits = 0; bits < 64; bits++) {
		unsigned bytes = bits / 7 + 1;

		check_varint(UINT64_C(1) << bits, bytes);
		check_varint((UINT64_C(2) << bits) - 1, bytes);
		check_varint((UINT64_C(1) << bits) | (uint64_t)rand_r(&seed) % (UINT64_C(1) << bits), bytes);
	}
	check_varint(0, 1);
	for (unsigned i = 0; i < sizeof too_large / sizeof too_large[0]; i++)
		CHECK("-", get_varint(too_large[i], too_large[i] + 11, &value) == NULL);
	CHECK_EQ("-", value, 4711);
	/* More bytes than necessary are accepted, up to the limit. */
	CHECK("-", get_varint(more, more + 3, &value) == more + 3 && value == 5);
	CHECK("-", get_varint(more, more + 2, &value) == NULL);
}

static const struct frame example = {
	.kind = FRAME_SEGMENT, .log = UINT64_C(0x1112131415161718), .number = UINT64_C(0x2122232425262728),
	.size = 0x31323334,
	.body_crc = 0x41424344, .first = UINT64_C(0x5152535455565758), .last = UINT64_C(0x6162636465666768),
	.events = 0x71727374,
	.lost = 0x81828384,
};

TEST(frame_layout)
{
	static const unsigned char want[60] = {
		'P', 'T', 'L', 'F', 5, 0, 0, 0, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25,
		0x24, 0x23, 0x22, 0x21, 0x34, 0x33, 0x32, 0x31, 0x44, 0x43, 0x42, 0x41, 0x58, 0x57, 0x56, 0x55, 0x54,
		0x53,
		0x52, 0x51, 0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61, 0x74, 0x73, 0x72, 0x71, 0x84, 0x83, 0x82,
		0x81,
		0, 0, 0, 0,
	};
	unsigned char bytes[FRAME_BYTES + 1];

	memset(bytes, '#', sizeof bytes);
	frame_put(bytes, &example);
	for (unsigned i = 0; i < sizeof want; i++)
		if (bytes[i] != want[i])
			TEST_FAIL("-", "byte %u is %02x", i, bytes[i]);
	CHECK_EQ("-", get32(bytes + 60), crc32c(bytes, 60));
	CHECK_EQ("-", bytes[FRAME_BYTES], '#');
}

static bool same(const struct frame *a, const struct frame *b)
{
	return a->kind == b->kind && a->log == b->log && a->number == b->number && a->size == b->size &&
		a->body_crc == b->body_crc &&
	       a->first == b->first && a->last == b->last && a->events == b->events && a->lost == b->lost;
}

TEST(frame_read)
{
	unsigned char bytes[FRAME_BYTES];
	struct frame frame = { .kind = 99 };

	frame_put(bytes, &example);
	CHECK("-", frame_get(bytes, &frame) && same(&frame, &example));
	/* Reserved fields are ignored as long as the CRC is right. */
	put16(bytes + 6, 0xffff);
	put32(bytes + 56, 0xffffffff);
	CHECK("-", !frame_get(bytes, &frame));
	put32(bytes + 60, crc32c(bytes, 60));
	memset(&frame, 0, sizeof frame);
	CHECK("-", frame_get(bytes, &frame) && same(&frame, &example));
	/* An unknown kind is accepted. */
	put16(bytes + 4, 77);
	put32(bytes + 60, crc32c(bytes, 60));
	CHECK("-", frame_get(bytes, &frame) && frame.kind == 77);
	/* An unknown magic is not. */
	put32(bytes, 0x464c5451);
	put32(bytes + 60, crc32c(bytes, 60));
	CHECK("-", !frame_get(bytes, &frame));
}

TEST(frame_damaged)
{
	unsigned char bytes[FRAME_BYTES];
	struct frame frame;
	unsigned seed = 5, taken = 0;

	frame_put(bytes, &example);
	for (unsigned bit = 0; bit < 8 * FRAME_BYTES; bit++) {
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		taken += frame_get(bytes, &frame);
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	CHECK("-", frame_get(bytes, &frame));
	memset(bytes, 0, sizeof bytes);
	taken += frame_get(bytes, &frame);
	memset(bytes, 0xff, sizeof bytes);
	taken += frame_get(bytes, &frame);
	for (int i = 0; i < 10000; i++) {
		for (unsigned k = 4; k < FRAME_BYTES; k++)
			bytes[k] = (unsigned char)rand_r(&seed);
		put32(bytes, 0x464c5450);
		taken += frame_get(bytes, &frame);
	}
	CHECK_EQ("-", taken, 0);
}

TEST(frame_size)
{
	CHECK_EQ("-", frame_bytes(0), 64);
	CHECK_EQ("-", frame_bytes(1), 72);
	CHECK_EQ("-", frame_bytes(8), 72);
	CHECK_EQ("-", frame_bytes(9), 80);
	CHECK_EQ("-", frame_bytes(UINT32_MAX), INT64_C(0x100000040));
}

TEST_MAIN(TEST_ENTRY(numbers), TEST_ENTRY(varints), TEST_ENTRY(frame_layout), TEST_ENTRY(frame_read),
          TEST_ENTRY(frame_damaged), TEST_ENTRY(frame_size))
