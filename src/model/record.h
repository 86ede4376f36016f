/*
 * record.h - the bytes of one record in a chunk
 *
 * Records follow one another from the start of a chunk, each rounded up to RECORD_ALIGN. There are two kinds. An event:
 *
 *      0  u16  length of its data
 *      2  u16  trace event type (bits 0..12), flags (bits 13..15)
 *      4  u32  0
 *      8  u64  ticks
 *     16  u64  address after the call of the trace point
 *     24       data
 *
 * and an owner: the events after it, up to the next owner, are of this thread. Each thread that begins to write in a
 * chunk writes an owner first, so that no table of threads can overflow.
 *
 *      0  u16  0
 *      2  u16  flags: RECORD_OWNER
 *      4  u32  process id
 *      8  u32  thread id, the kernel's
 *     12  u32  0
 *     16  u64  pthread_t
 *     24  char[16]  name of the thread, as last looked up
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MODEL_RECORD_H
#define MODEL_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "model/eventtype.h"

#define RECORD_ALIGN       8u
#define RECORD_DATA_MAX    65535u
#define RECORD_TYPE_MASK   0x1fffu
#define RECORD_OWNER       0x8000u
#define RECORD_TRUNCATED   0x4000u /* when it was recorded */

struct record {
	uint16_t length;
	uint16_t type;
	uint32_t reserved;
	uint64_t ticks;
	uint64_t address;
};

struct record_owner {
	uint16_t length;
	uint16_t type;
	uint32_t pid;
	uint32_t tid;
	uint32_t reserved;
	uint64_t thread;
	char name[16];
};

_Static_assert(sizeof(struct record) == 24, "layout above");
_Static_assert(sizeof(struct record_owner) == 40, "layout above");
_Static_assert(EVENT_ID_END - 1 <= RECORD_TYPE_MASK, "an id fits");

/* Returns a record's length, and from bit 16 on its type and flags. word: its first eight bytes. */
static inline uint32_t record_kind(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return (uint32_t)word;
#else
	return (uint32_t)(word >> 48) | (uint32_t)(word >> 32) << 16;
#endif
}

static inline uint32_t record_size(uint32_t length)
{
	return (uint32_t)sizeof(struct record) + ((length + RECORD_ALIGN - 1) & ~(RECORD_ALIGN - 1));
}

/* Returns the most bytes that an event can take, with an owner before it. */
static inline uint32_t record_size_max(uint32_t length)
{
	return (uint32_t)sizeof(struct record_owner) + record_size(length);
}

#endif
