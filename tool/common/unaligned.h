/*
 * unaligned.h - numbers of this machine at any address, as in the records of the kernel and in events
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef UNALIGNED_H
#define UNALIGNED_H

#include <stdint.h>
#include <string.h>

static inline uint32_t unaligned_u32(const unsigned char *p)
{
	uint32_t n;

	memcpy(&n, p, sizeof n);
	return n;
}

static inline uint64_t unaligned_u64(const unsigned char *p)
{
	uint64_t n;

	memcpy(&n, p, sizeof n);
	return n;
}

#endif
