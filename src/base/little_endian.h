/*
 * little_endian.h - numbers as bytes, the lowest first, on every machine
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_LITTLE_ENDIAN_H
#define BASE_LITTLE_ENDIAN_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
# define LITTLE_SWAP(bits, v) (v)
#else
# define LITTLE_SWAP(bits, v) __builtin_bswap##bits(v)
#endif

#define LITTLE_NUMBER(bits)                                                       \
	static inline uint##bits##_t get##bits(const unsigned char *p)            \
	{                                                                         \
		uint##bits##_t v;                                                 \
		memcpy(&v, p, sizeof v);                                          \
		return LITTLE_SWAP(bits, v);                                      \
	}                                                                         \
	static inline void put##bits(unsigned char *p, uint##bits##_t v)          \
	{                                                                         \
		v = LITTLE_SWAP(bits, v);                                         \
		memcpy(p, &v, sizeof v);                                          \
	}

LITTLE_NUMBER(16)
LITTLE_NUMBER(32)
LITTLE_NUMBER(64)

#endif
