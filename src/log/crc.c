/*
 * crc.c - CRC-32C, by the processor where it can
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/crc.h"

#include <string.h>

/* By half bytes: a table of two lines, and no time to make it. */
static uint32_t plain(uint32_t crc, const unsigned char *p, size_t size)
{
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
		0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};

	while (size-- > 0) {
		crc ^= *p++;
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

uint32_t crc32c_plain(const void *data, size_t size)
{
	return ~plain(~UINT32_C(0), data, size);
}

#if defined __x86_64__
__attribute__((target("sse4.2"))) static uint32_t by_processor(uint32_t crc, const unsigned char *p, size_t size)
{
	uint64_t c = crc, word;

	for (; size >= sizeof word; size -= sizeof word, p += sizeof word) {
		memcpy(&word, p, sizeof word);
		c = __builtin_ia32_crc32di(c, word);
	}
	for (; size > 0; size--)
		c = __builtin_ia32_crc32qi((uint32_t)c, *p++);
	return (uint32_t)c;
}
#elif defined __i386__
__attribute__((target("sse4.2"))) static uint32_t by_processor(uint32_t crc, const unsigned char *p, size_t size)
{
	uint32_t word;

	for (; size >= sizeof word; size -= sizeof word, p += sizeof word) {
		memcpy(&word, p, sizeof word);
		crc = __builtin_ia32_crc32si(crc, word);
	}
	for (; size > 0; size--)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}
#endif

uint32_t crc32c(const void *data, size_t size)
{
#if defined __x86_64__ || defined __i386__
	if (__builtin_cpu_supports("sse4.2"))
		return ~by_processor(~UINT32_C(0), data, size);
#endif
	return crc32c_plain(data, size);
}
