/*
 * proto.h - messages as Protocol Buffers write them
 *
 * A message is a sequence of fields: a number and a wire type, then a value, which may be a message. Messages are made
 * in memory, because a length precedes its contents.
 *
 *     proto_number(p, 1, 7); at = proto_begin(p, 2); proto_text(p, 1, "x", 1); proto_end(p, at);
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROTO_H
#define PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "log/format.h"

struct proto {
	unsigned char *data;
	size_t size, room;
};

/* The size of a tag with a field number below 2048. */
#define PROTO_TAG_BYTES 2
/* The largest size of a field other than text and bytes. */
#define PROTO_FIELD_BYTES (PROTO_TAG_BYTES + VARINT_BYTES)

/* How a value is written. */
enum proto_wire { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2 };

/* Makes room for size more bytes. Ends the program if there is no memory. */
void proto_grow(struct proto *p, size_t size);

static inline void proto_room(struct proto *p, size_t size)
{
	if (p->room - p->size < size)
		proto_grow(p, size);
}

static inline void proto_clear(struct proto *p)
{
	p->size = 0;
}

/* Puts a tag. There must be room. Returns the end. */
static inline unsigned char *proto_put_tag(unsigned char *at, unsigned field, enum proto_wire wire)
{
	return put_varint(at, field << 3 | wire);
}

/* Adds an unsigned number, an enum, a bool, or a signed number as its 64 bits. */
static inline void proto_number(struct proto *p, unsigned field, uint64_t n)
{
	unsigned char *at;

	proto_room(p, PROTO_FIELD_BYTES);
	at = proto_put_tag(p->data + p->size, field, PROTO_VARINT);
	p->size = (size_t)(put_varint(at, n) - p->data);
}

/* Add a number with eight bytes. */
void proto_double(struct proto *p, unsigned field, double n);
void proto_fixed(struct proto *p, unsigned field, uint64_t n);
/* Adds bytes, or a complete message. */
void proto_bytes(struct proto *p, unsigned field, const void *data, size_t size);
/* Adds a text. Bytes that are not UTF-8 become U+FFFD. */
void proto_text(struct proto *p, unsigned field, const char *text, size_t size);
void proto_hex(struct proto *p, unsigned field, const unsigned char *data, size_t size);

/* Begins a message: the following fields belong to it. Returns its offset, for proto_end(). */
static inline size_t proto_begin(struct proto *p, unsigned field)
{
	proto_room(p, PROTO_FIELD_BYTES);
	p->size = (size_t)(proto_put_tag(p->data + p->size, field, PROTO_BYTES) - p->data);
	return ++p->size;
}

/* Ends a message whose length needs more than one byte. */
void proto_end_long(struct proto *p, size_t begin);

static inline void proto_end(struct proto *p, size_t begin)
{
	size_t size = p->size - begin;

	if (size < 0x80)
		p->data[begin - 1] = (unsigned char)size;
	else
		proto_end_long(p, begin);
}

#endif
