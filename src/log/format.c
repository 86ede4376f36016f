/*
 * format.c - frame headers
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/format.h"

#include "log/crc.h"

#define FRAME_MAGIC 0x464c5450u
#define CRC_AT      60

void frame_put(unsigned char bytes[FRAME_BYTES], const struct frame *frame)
{
	memset(bytes, 0, FRAME_BYTES);
	put32(bytes, FRAME_MAGIC);
	put16(bytes + 4, frame->kind);
	put64(bytes + 8, frame->log);
	put64(bytes + 16, frame->number);
	put32(bytes + 24, frame->size);
	put32(bytes + 28, frame->body_crc);
	put64(bytes + 32, frame->first);
	put64(bytes + 40, frame->last);
	put32(bytes + 48, frame->events);
	put32(bytes + 52, frame->lost);
	put32(bytes + CRC_AT, crc32c(bytes, CRC_AT));
}

bool frame_get(const unsigned char bytes[FRAME_BYTES], struct frame *frame)
{
	if (get32(bytes) != FRAME_MAGIC || get32(bytes + CRC_AT) != crc32c(bytes, CRC_AT))
		return false;
	frame->kind = get16(bytes + 4);
	frame->log = get64(bytes + 8);
	frame->number = get64(bytes + 16);
	frame->size = get32(bytes + 24);
	frame->body_crc = get32(bytes + 28);
	frame->first = get64(bytes + 32);
	frame->last = get64(bytes + 40);
	frame->events = get32(bytes + 48);
	frame->lost = get32(bytes + 52);
	return true;
}
