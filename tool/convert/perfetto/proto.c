/*
 * proto.c - messages as Protocol Buffers write them
 *
 * SPDX-License-Identifier: MIT
 */
#include "convert/perfetto/proto.h"

#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "base/utf8.h"

void proto_grow(struct proto *p, size_t size)
{
	p->room = 2 * (p->room + size) + 256;
	p->data = realloc(p->data, p->room);
	if (!p->data)
		fail("no memory");
}

void proto_fixed(struct proto *p, unsigned field, uint64_t n)
{
	unsigned char *at;

	proto_room(p, PROTO_FIELD_BYTES);
	at = proto_put_tag(p->data + p->size, field, PROTO_FIXED64);
	put64(at, n);
	p->size = (size_t)(at + 8 - p->data);
}

void proto_double(struct proto *p, unsigned field, double n)
{
	uint64_t bits;

	memcpy(&bits, &n, sizeof bits);
	proto_fixed(p, field, bits);
}

void proto_bytes(struct proto *p, unsigned field, const void *data, size_t size)
{
	unsigned char *at;

	proto_room(p, PROTO_FIELD_BYTES + size);
	at = put_varint(proto_put_tag(p->data + p->size, field, PROTO_BYTES), size);
	if (size > 0)
		memcpy(at, data, size);
	p->size = (size_t)(at + size - p->data);
}

/* One invalid byte becomes three. */
#define REPLACEMENT "\xef\xbf\xbd"

static unsigned char *put_text(unsigned char *to, const unsigned char *from, size_t size)
{
	for (size_t i = 0; i < size;) {
		size_t n = utf8_length(from + i, size - i);

		memcpy(to, n ? (const char *)from + i : REPLACEMENT, n ? n : 3);
		to += n ? n : 3;
		i += n ? n : 1;
	}
	return to;
}

void proto_text(struct proto *p, unsigned field, const char *text, size_t size)
{
	size_t begin;

	proto_room(p, PROTO_FIELD_BYTES + 3 * size + VARINT_BYTES);
	begin = proto_begin(p, field);
	p->size = (size_t)(put_text(p->data + begin, (const unsigned char *)text, size) - p->data);
	proto_end(p, begin);
}

void proto_hex(struct proto *p, unsigned field, const unsigned char *data, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char *at;

	proto_room(p, PROTO_FIELD_BYTES + 2 * size);
	at = put_varint(proto_put_tag(p->data + p->size, field, PROTO_BYTES), 2 * size);
	for (size_t i = 0; i < size; i++) {
		*at++ = (unsigned char)digits[data[i] >> 4];
		*at++ = (unsigned char)digits[data[i] & 15];
	}
	p->size = (size_t)(at - p->data);
}

void proto_end_long(struct proto *p, size_t begin)
{
	size_t size = p->size - begin;
	unsigned char length[VARINT_BYTES];
	size_t bytes = (size_t)(put_varint(length, size) - length);

	proto_room(p, bytes);
	memmove(p->data + begin - 1 + bytes, p->data + begin, size);
	memcpy(p->data + begin - 1, length, bytes);
	p->size += bytes - 1;
}
