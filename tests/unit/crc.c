/*
 * crc.c - src/log/crc.c: CRC-32C, the same by table and by processor
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/crc.h"

#include <sys/mman.h>

#include "test.h"

static void check_vector(const void *data, size_t size, uint32_t want)
{
	CHECK_EQ("-", crc32c(data, size), want);
	CHECK_EQ("-", crc32c_plain(data, size), want);
}

/* RFC 3720, B.4, and the check value of the CRC catalogues. */
TEST(vectors)
{
	static const unsigned char command[48] = {
		0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 0x04, 0,
		0, 0, 0, 0x14, 0, 0, 0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0,
	};
	unsigned char bytes[32];

	check_vector("", 0, 0);
	check_vector("123456789", 9, 0xe3069283);
	check_vector(memset(bytes, 0, sizeof bytes), sizeof bytes, 0x8a9136aa);
	check_vector(memset(bytes, 0xff, sizeof bytes), sizeof bytes, 0x62a8ab43);
	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)i;
	check_vector(bytes, sizeof bytes, 0x46dd794e);
	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)(31 - i);
	check_vector(bytes, sizeof bytes, 0x113fdb5c);
	check_vector(command, sizeof command, 0xd9963a56);
}

/* Each length and each alignment. No byte before or after the buffer is read. */
TEST(both_ways)
{
	enum { SIZE = 8192 };
	unsigned char *map = mmap(NULL, SIZE + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	              *end = map + SIZE;
	unsigned seed = 11, different = 0;

	MUST(map != MAP_FAILED && munmap(end, 4096) == 0);
	for (unsigned i = 0; i < SIZE; i++)
		map[i] = (unsigned char)rand_r(&seed);
	for (size_t size = 0; size < 300; size++) {
		different += crc32c(end - size, size) != crc32c_plain(end - size, size);
		different += crc32c(map + size % 17, size) != crc32c_plain(map + size % 17, size);
	}
	for (int i = 0; i < 1000; i++) {
		size_t from = (size_t)rand_r(&seed) % SIZE, size = (size_t)rand_r(&seed) % (SIZE - from);

		different += crc32c(map + from, size) != crc32c_plain(map + from, size);
	}
	CHECK_EQ("-", different, 0);
}

/* Detects any change of a single bit and any exchange of two bytes. */
TEST(sees_changes)
{
	unsigned char bytes[60];
	uint32_t right;
	unsigned seed = 12;

	for (unsigned i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)rand_r(&seed);
	right = crc32c(bytes, sizeof bytes);
	for (unsigned bit = 0; bit < 8 * sizeof bytes; bit++) {
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		CHECK("-", crc32c(bytes, sizeof bytes) != right);
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	for (unsigned i = 0; i + 1 < sizeof bytes; i++) {
		unsigned char first = bytes[i];

		bytes[i] = bytes[i + 1];
		bytes[i + 1] = first;
		CHECK("-", bytes[i] == first || crc32c(bytes, sizeof bytes) != right);
		bytes[i + 1] = bytes[i];
		bytes[i] = first;
	}
	CHECK_EQ("-", crc32c(bytes, sizeof bytes), right);
}

TEST_MAIN(TEST_ENTRY(vectors), TEST_ENTRY(both_ways), TEST_ENTRY(sees_changes))
