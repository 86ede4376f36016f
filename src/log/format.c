/*
 * format.c - frame headers
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/format.h"

#include "log/crc.h"

#define FRAME_MAGIC 0x464c5450u

void frame_put(unsigned char bytes[FRAME_BYTES], const struct frame *frame)
{
	struct frame_layout *l = (struct frame_layout *)bytes;

	memset(l, 0, sizeof *l);
	PUT_FIELD(l->magic, FRAME_MAGIC);
	PUT_FIELD(l->kind, frame->kind);
	PUT_FIELD(l->log, frame->log);
	PUT_FIELD(l->number, frame->number);
	PUT_FIELD(l->size, frame->size);
	PUT_FIELD(l->body_crc, frame->body_crc);
	PUT_FIELD(l->first, frame->first);
	PUT_FIELD(l->last, frame->last);
	PUT_FIELD(l->events, frame->events);
	PUT_FIELD(l->lost, frame->lost);
	PUT_FIELD(l->crc, crc32c(bytes, offsetof(struct frame_layout, crc)));
}

bool frame_get(const unsigned char bytes[FRAME_BYTES], struct frame *frame)
{
	const struct frame_layout *l = (const struct frame_layout *)bytes;

	if (GET_FIELD(l->magic) != FRAME_MAGIC ||
	    GET_FIELD(l->crc) != crc32c(bytes, offsetof(struct frame_layout, crc)))
		return false;
	frame->kind = GET_FIELD(l->kind);
	frame->log = GET_FIELD(l->log);
	frame->number = GET_FIELD(l->number);
	frame->size = GET_FIELD(l->size);
	frame->body_crc = GET_FIELD(l->body_crc);
	frame->first = GET_FIELD(l->first);
	frame->last = GET_FIELD(l->last);
	frame->events = GET_FIELD(l->events);
	frame->lost = GET_FIELD(l->lost);
	return true;
}
