/*
 * crc.c - CRC-32C, by processor instructions if available
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/crc.h"

#include <string.h>
#ifdef __x86_64__
# include <immintrin.h>
#endif

/* Four bits at a time: a table of two cache lines, which needs no time to be made. */
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

/*
 * LANE: bytes. The other two: factors that append LANE or 2 * LANE zeros to a remainder: x^(8 * bytes - 33) modulo
 * the polynomial, with the bits reversed.
 */
#define LANE       512
#define LANE_ZEROS 0xdd7e3b0c
#define TWO_ZEROS  0x170076fa

/*
 * Returns the remainder with zeros appended. Reversed bits make a product larger by a factor of x, and the
 * instruction takes its operand 32 bits further up. So the factor has 33 less in its exponent.
 */
__attribute__((target("sse4.2,pclmul"))) static inline uint32_t move(uint32_t crc, uint32_t zeros)
{
	__m128i product = _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)crc), _mm_cvtsi32_si128((int)zeros), 0);

	return (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

/* Each instruction waits three cycles for the one before, so three interleaved rows take the time of one row. */
__attribute__((target("sse4.2,pclmul"))) static uint32_t by_three(uint32_t crc, const unsigned char *p, size_t size)
{
	for (; size >= 3 * LANE; size -= 3 * LANE, p += 3 * LANE) {
		uint64_t first = crc, second = 0, third = 0, word[3];

		for (size_t i = 0; i < LANE; i += sizeof *word) {
			memcpy(&word[0], p + i, sizeof *word);
			memcpy(&word[1], p + LANE + i, sizeof *word);
			memcpy(&word[2], p + 2 * LANE + i, sizeof *word);
			first = _mm_crc32_u64(first, word[0]);
			second = _mm_crc32_u64(second, word[1]);
			third = _mm_crc32_u64(third, word[2]);
		}
		crc = move((uint32_t)first, TWO_ZEROS) ^ move((uint32_t)second, LANE_ZEROS) ^ (uint32_t)third;
	}
	return by_processor(crc, p, size);
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
#ifdef __x86_64__
	if (size >= 3 * LANE && __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.2"))
		return ~by_three(~UINT32_C(0), data, size);
#endif
#if defined __x86_64__ || defined __i386__
	if (__builtin_cpu_supports("sse4.2"))
		return ~by_processor(~UINT32_C(0), data, size);
#endif
	return crc32c_plain(data, size);
}
