/*
 * mutate.c - mutates logs by frames, mostly with valid CRCs
 *
 * With CRCs, libFuzzer's changes of single bytes would never get past the first check. So a log is split into its
 * frames here, and a frame is changed, duplicated, moved or removed. Then, most times, fields that would be rejected at
 * once are corrected: CRCs, the log's number, sequence numbers, numbers of events, the position of the index and its
 * offsets. Each is corrected independently, so that each check meets logs that pass all other checks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "mutate.h"

#include <stdbool.h>
#include <string.h>
#include <trace.h>

#include "fuzz.h"
#include "log/crc.h"
#include "log/format.h"

/* -- Random numbers -------------------------------------------------------------------------- */

static uint64_t state;

static uint32_t below(uint64_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return n ? (uint32_t)((state >> 33) % n) : 0;
}

static bool one_of(uint32_t n)
{
	return below(n) == 0;
}

/* Returns a new number, often one that has caused bugs before. */
static uint64_t number(uint64_t was)
{
	static const uint64_t harmful[] = {
		0, 1, 7, 8, 63, 64, 65, 255, 256, 257, 4095, 4096, 65535, 65536, UINT32_C(16) << 20,
		(UINT32_C(16) << 20) + 1, INT32_MAX, UINT32_C(1) << 31, UINT32_MAX - 63, UINT32_MAX, UINT64_C(1) << 32,
		INT64_MAX, UINT64_C(1) << 63, UINT64_MAX - 63, UINT64_MAX,
	};

	switch (below(5)) {
	case 0:
		return was + 1 + below(16);
	case 1:
		return was - 1 - below(16);
	case 2:
		return was ^ UINT64_C(1) << below(64);
	case 3:
		return below(100000);
	default:
		return harmful[below(sizeof harmful / sizeof harmful[0])];
	}
}

/* -- Frames -------------------------------------------------------------------------------------- */

#define FRAMES 400

static struct {
	size_t at;
	size_t size; /* with its header; a slot has only the header */
} frames[FRAMES];
static unsigned count;

static bool looks_like_a_frame(const uint8_t *p)
{
	return memcmp(p, "PTLF", 4) == 0;
}

static unsigned kind_of(const uint8_t *bytes, unsigned i)
{
	return get16(bytes + frames[i].at + 4);
}

static void take_apart(const uint8_t *bytes, size_t size)
{
	size_t at = 0;

	for (count = 0; at + FRAME_BYTES <= size && count < FRAMES;) {
		uint64_t all;

		if (!looks_like_a_frame(bytes + at)) {
			at += 8;
			continue;
		}
		all = get16(bytes + at + 4) == FRAME_SLOT ? FRAME_BYTES : frame_bytes(get32(bytes + at + 24));
		if (all > size - at)
			all = FRAME_BYTES;
		frames[count].at = at;
		frames[count++].size = (size_t)all;
		at += (size_t)all;
	}
}

/* Makes room for n bytes at `at`. Returns the new size, or the old one if there is no room. */
static size_t insert(uint8_t *bytes, size_t size, size_t max_size, size_t at, size_t n)
{
	if (n > max_size - size)
		return size;
	memmove(bytes + at + n, bytes + at, size - at);
	return size + n;
}

static size_t take_out(uint8_t *bytes, size_t size, size_t at, size_t n)
{
	memmove(bytes + at, bytes + at + n, size - at - n);
	return size - n;
}

/* -- Bodies of segments ------------------------------------------------------------------------ */

/* A part of a body that can be changed on its own. */
enum point_kind {
	POINT_ITEM,   /* the beginning of an item */
	POINT_NUMBER, /* a varint */
	POINT_BYTE,
	POINT_NAME,   /* length and name of a thread */
	POINT_HALVES, /* the lengths of the words */
};

#define POINTS 3000

static struct {
	uint32_t at;
	uint32_t size;
	enum point_kind kind;
} points[POINTS];
static unsigned point_count;

static void add_point(const uint8_t *body, const unsigned char *from, const unsigned char *to, enum point_kind kind)
{
	if (point_count == POINTS)
		return;
	points[point_count].at = (uint32_t)(from - body);
	points[point_count].size = (uint32_t)(to - from);
	points[point_count++].kind = kind;
}

static const unsigned char *pass_number(const uint8_t *body, const unsigned char *p, const unsigned char *end,
                                        uint64_t *v)
{
	const unsigned char *behind = p ? get_varint(p, end, v) : NULL;

	if (behind)
		add_point(body, p, behind, POINT_NUMBER);
	return behind;
}

/* Parses a body as far as possible. Finds its points, the number of its events, and the time of the last one. */
static void look_through(const uint8_t *body, size_t size, uint64_t first, uint32_t *events, uint64_t *last)
{
	static uint32_t length[SHAPES_MAX];
	const unsigned char *p = body, *end = body + size, *begin;
	uint64_t item, a, b, c, time = first;
	uint32_t shapes = 0;

	*events = 0;
	*last = first;
	point_count = 0;
	while (p < end) {
		begin = p;
		p = pass_number(body, p, end, &item);
		if (!p || p == end)
			return;
		if (item == 0) {
			add_point(body, p, p + 1, POINT_BYTE);
			switch (*p++) {
			case ITEM_THREAD:
				if (end - p < 17 || end - p < 17 + p[16])
					return;
				add_point(body, p + 16, p + 17 + p[16], POINT_NAME);
				p += 17 + p[16];
				break;
			case ITEM_SHAPE:
				p = pass_number(body, p, end, &a);
				p = pass_number(body, p, end, &b);
				if (!p || p == end)
					return;
				add_point(body, p, p + 1, POINT_BYTE);
				p = pass_number(body, p + 1, end, &c);
				if (!p || end - p < 8 || shapes == SHAPES_MAX)
					return;
				length[shapes++] = (uint32_t)c;
				p += 8;
				break;
			default:
				p = pass_number(body, p, end, &a);
				if (!p)
					return;
				time -= a;
				break;
			}
			add_point(body, begin, p, POINT_ITEM);
			continue;
		}
		if (item > shapes)
			return;
		p = pass_number(body, p, end, &a);
		if (!p)
			return;
		time += a;
		c = length[item - 1];
		if (c <= PACKED_MAX) {
			uint64_t words = (c + 7) / 8, halves = (words + 1) / 2;

			if ((uint64_t)(end - p) < halves)
				return;
			c = halves;
			for (uint64_t i = 0; i < words; i++)
				c += p[i / 2] >> (i & 1) * 4 & 15;
			if (halves)
				add_point(body, p, p + halves, POINT_HALVES);
		}
		if ((uint64_t)(end - p) < c)
			return;
		p += c;
		add_point(body, begin, p, POINT_ITEM);
		++*events;
		*last = time;
	}
}

/* -- Corrections ---------------------------------------------------------------------------------- */

static void set_right(uint8_t *bytes, size_t size)
{
	bool crcs = !one_of(16), logs = !one_of(8), numbers = one_of(3), events = !one_of(3), ends = !one_of(3),
	     offsets = one_of(3);
	uint64_t log = 0, sequence = 1, index = 0;

	take_apart(bytes, size);
	for (unsigned i = 0; i < count; i++) {
		uint8_t *p = bytes + frames[i].at, *body = p + FRAME_BYTES;
		size_t room = frames[i].size - FRAME_BYTES;
		uint32_t length = get32(p + 24), n;
		uint64_t last;

		if (i == 0)
			log = get64(p + 8) ? get64(p + 8) : 1;
		if (logs)
			put64(p + 8, log);
		switch (kind_of(bytes, i)) {
		case FRAME_SEGMENT:
			if (numbers)
				put64(p + 16, sequence++);
			if (events && length <= room) {
				look_through(body, length, get64(p + 32), &n, &last);
				put64(p + 40, last);
				put32(p + 48, n);
			}
			break;
		case FRAME_INDEX:
			index = frames[i].at;
			if (offsets && length <= room && length >= INDEX_FIXED) {
				uint32_t at = INDEX_FIXED, slots = 0, others = 0;

				for (unsigned k = 0; k < count && at + 8 <= length && slots < 16; k++)
					if (kind_of(bytes, k) == FRAME_SLOT) {
						put64(body + at, frames[k].at);
						at += 8;
						slots++;
					}
				for (unsigned k = 0; k < count && at + 8 <= length; k++)
					if (kind_of(bytes, k) == FRAME_TYPES || kind_of(bytes, k) == FRAME_PROCESS) {
						put64(body + at, frames[k].at);
						at += 8;
						others++;
					}
				put32(body + 32, slots);
				put32(body + 36, others);
			}
			break;
		case FRAME_FOOTER:
			if (ends && index)
				put64(p + 16, index);
			break;
		}
		if (crcs) {
			if (kind_of(bytes, i) != FRAME_SLOT && length <= room)
				put32(p + 28, crc32c(body, length));
			put32(p + 60, crc32c(p, 60));
		}
	}
}

/* -- Changes ----------------------------------------------------------------------------------------- */

static void change_header(uint8_t *p)
{
	static const struct {
		unsigned char at, bytes;
	} fields[] = { { 4, 2 },  { 6, 2 },  { 8, 8 },  { 16, 8 }, { 24, 4 }, { 28, 4 },
		       { 32, 8 }, { 40, 8 }, { 48, 4 }, { 52, 4 }, { 56, 4 } };
	unsigned i = below(sizeof fields / sizeof fields[0]);
	uint64_t value = 0;
	unsigned char *at = p + fields[i].at;

	memcpy(&value, at, fields[i].bytes);
	value = fields[i].at == 4 && !one_of(4) ? 1 + below(8) : number(value);
	memcpy(at, &value, fields[i].bytes);
}

#define BODY_MAX (1u << 16)

static uint8_t body_now[BODY_MAX + 1024]; /* the body of the frame that is being changed */
static size_t length_now;

static void take_body(const uint8_t *bytes, unsigned i)
{
	size_t room = frames[i].size - FRAME_BYTES;

	length_now = get32(bytes + frames[i].at + 24);
	if (length_now > room)
		length_now = room;
	if (length_now > BODY_MAX)
		length_now = BODY_MAX;
	memcpy(body_now, bytes + frames[i].at + FRAME_BYTES, length_now);
}

/* Resizes a part of the body; its contents are arbitrary. Returns false if there is no room. */
static bool resize_now(size_t at, size_t was, size_t is)
{
	if (length_now - was + is > BODY_MAX)
		return false;
	memmove(body_now + at + is, body_now + at + was, length_now - at - was);
	length_now = length_now - was + is;
	return true;
}

/* Stores the body in its frame, and moves what follows. Returns the new size. */
static size_t put_body(uint8_t *bytes, size_t size, size_t max_size, unsigned i)
{
	size_t at = frames[i].at + FRAME_BYTES, room = frames[i].size - FRAME_BYTES,
	       want = (length_now + 7) & ~(size_t)7;

	if (size - room + want > max_size)
		return size;
	memmove(bytes + at + want, bytes + at + room, size - at - room);
	memcpy(bytes + at, body_now, length_now);
	memset(bytes + at + length_now, 0, want - length_now);
	put32(bytes + frames[i].at + 24, (uint32_t)length_now);
	return size - room + want;
}

/* Lets libFuzzer mutate the body, which may change its length. */
static void change_bytes(void)
{
	size_t at, n;

	if (length_now == 0 || one_of(3)) {
		length_now = LLVMFuzzerMutate(body_now, length_now, length_now + 64);
		return;
	}
	/* Change a few bytes only, such as those of a number. */
	at = below(length_now);
	n = length_now - at < 16 ? length_now - at : 1 + below(16);
	LLVMFuzzerMutate(body_now + at, n, n);
}

static void random_bytes(size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		body_now[at + i] = (uint8_t)(one_of(3) ? below(256) : 'a' + below(26));
}

static void put_number(size_t at, size_t was, uint64_t n)
{
	unsigned char bytes[VARINT_BYTES];
	size_t is = (size_t)(put_varint(bytes, n) - bytes);

	if (resize_now(at, was, is))
		memcpy(body_now + at, bytes, is);
}

/* Changes a string, its length field, or mostly both. */
static void change_string(size_t at, size_t width, size_t was)
{
	static const uint16_t lengths[] = { 0, 1, 14, 15, 16, 17, 61, 62, 63, 64, 65, 66, 67, 255, 256, 257 };
	size_t is = one_of(3) ? below(80) : lengths[below(sizeof lengths / sizeof lengths[0])];

	if (width == 1)
		is &= 255;
	if (!one_of(5)) {
		if (!resize_now(at + width, was, is))
			return;
		random_bytes(at + width, is);
	}
	if (width == 1)
		body_now[at] = (uint8_t)is;
	else
		put16(body_now + at, (uint16_t)is);
}

/* Changes one number, name or item of a segment. */
static void change_segment(void)
{
	uint32_t events;
	uint64_t last, was = 0;
	size_t at, n;
	unsigned i;

	look_through(body_now, length_now, 0, &events, &last);
	if (point_count == 0 || one_of(10)) {
		change_bytes();
		return;
	}
	/* Half of the changes are at the beginning, where definitions are. */
	i = below(one_of(2) ? point_count : point_count < 12 ? point_count : 12);
	at = points[i].at;
	n = points[i].size;
	switch (points[i].kind) {
	case POINT_NUMBER:
		get_varint(body_now + at, body_now + at + n, &was);
		put_number(at, n, one_of(2) ? below(20) : number(was));
		break;
	case POINT_BYTE:
		body_now[at] = (uint8_t)(one_of(2) ? below(6) : below(256));
		break;
	case POINT_NAME:
		change_string(at, 1, n - 1);
		break;
	case POINT_HALVES: {
		size_t half = below(2 * n), byte = at + half / 2, shift = half % 2 * 4, behind = at + n;
		unsigned before = body_now[byte] >> shift & 15, now = below(16);

		for (size_t k = 0; k < half; k++)
			behind += body_now[at + k / 2] >> k % 2 * 4 & 15;
		body_now[byte] = (uint8_t)((body_now[byte] & ~(15u << shift)) | now << shift);
		/* Mostly change the number of bytes accordingly. */
		if (!one_of(4) && behind + before <= length_now && resize_now(behind, before, now))
			random_bytes(behind, now);
		break;
	}
	case POINT_ITEM:
		switch (below(3)) {
		case 0:
			resize_now(at, n, 0);
			break;
		case 1: /* duplicate it */
			if (resize_now(at, 0, n))
				memcpy(body_now + at, body_now + at + n, n);
			break;
		default: /* insert another item before it */
			if (one_of(2)) {
				if (resize_now(at, 0, 3))
					body_now[at] = 0, body_now[at + 1] = ITEM_BACK,
					body_now[at + 2] = (uint8_t)below(128);
			} else if (resize_now(at, 0, 14)) {
				static const unsigned char shape[14] = { 0, ITEM_SHAPE, 0, 64, 0, 8 };

				memcpy(body_now + at, shape, sizeof shape);
				put_number(at + 5, 1, number(8));
			}
			break;
		}
		break;
	}
}

/* Changes one of the six strings, or the fixed part before them. */
static void change_header_body(void)
{
	size_t at = HEADER_FIXED;

	if (one_of(3) || length_now < HEADER_FIXED) {
		change_bytes();
		return;
	}
	for (unsigned string = below(6); string > 0 && at + 2 <= length_now; string--)
		at += 2u + get16(body_now + at);
	if (at + 2 <= length_now && at + 2 + get16(body_now + at) <= length_now)
		change_string(at, 2, get16(body_now + at));
}

static void change_types(void)
{
	size_t at = 0, last = 0;

	for (unsigned type = below(20); at + 3 <= length_now && at + 3 + body_now[at + 2] <= length_now; type--) {
		last = at;
		if (type == 0)
			break;
		at += 3u + body_now[at + 2];
	}
	if (length_now < 3 || one_of(8))
		change_bytes();
	else if (one_of(2))
		put16(body_now + last, (uint16_t)(one_of(2) ? below(2100) : number(get16(body_now + last))));
	else if (last + 3 + body_now[last + 2] <= length_now)
		change_string(last + 2, 1, body_now[last + 2]);
}

static void change_index(void)
{
	size_t words = length_now / 8, at;

	if (length_now < INDEX_FIXED || one_of(8)) {
		change_bytes();
		return;
	}
	switch (below(4)) {
	case 0:
		put32(body_now + 24 + 4 * below(6), one_of(2) ? below(40) : (uint32_t)number(0));
		break;
	case 1: /* more offsets */
		at = INDEX_FIXED + 8 * below(words - INDEX_FIXED / 8 + 1);
		if (resize_now(at, 0, 8 * (1 + below(20))))
			random_bytes(at, 8);
		break;
	default:
		at = 8 * below(words);
		put64(body_now + at, number(get64(body_now + at)));
		break;
	}
}

static size_t change_body(uint8_t *bytes, size_t size, size_t max_size, unsigned i)
{
	take_body(bytes, i);
	switch (kind_of(bytes, i)) {
	case FRAME_SEGMENT:
		change_segment();
		break;
	case FRAME_HEADER:
		change_header_body();
		break;
	case FRAME_TYPES:
		change_types();
		break;
	case FRAME_INDEX:
		change_index();
		break;
	default:
		change_bytes();
		break;
	}
	return put_body(bytes, size, max_size, i);
}

/* Changes a number of any width somewhere in the body. */
static void change_number(uint8_t *bytes, unsigned i)
{
	size_t room = frames[i].size - FRAME_BYTES, width = (size_t)1 << below(4);
	uint8_t *at = bytes + frames[i].at + FRAME_BYTES;
	uint64_t value = 0;

	if (room < width)
		return;
	at += one_of(2) ? below(room - width + 1) : below(room / width) * width;
	memcpy(&value, at, width);
	value = number(value);
	memcpy(at, &value, width);
}

static size_t copy_frame(uint8_t *bytes, size_t size, size_t max_size, unsigned i)
{
	size_t n = frames[i].size, from = frames[i].at, to = frames[below(count)].at;
	size_t larger = insert(bytes, size, max_size, to, n);

	if (larger == size)
		return size;
	memmove(bytes + to, bytes + (from >= to ? from + n : from), n);
	return larger;
}

/* Returns a random frame. Each kind is equally likely, although most frames are segments. */
static unsigned some_frame(const uint8_t *bytes)
{
	unsigned kind = 1 + below(FRAME_FOOTER), first = below(count);

	for (unsigned i = 0; i < count; i++)
		if (kind_of(bytes, (first + i) % count) == kind)
			return (first + i) % count;
	return first;
}

size_t mutate_log(uint8_t *bytes, size_t size, size_t max_size, unsigned seed)
{
	state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (unsigned rounds = 1 + (one_of(3) ? below(4) : 0); rounds > 0; rounds--) {
		unsigned i;

		take_apart(bytes, size);
		if (count == 0 || one_of(20)) {
			size = LLVMFuzzerMutate(bytes, size, max_size);
			continue;
		}
		i = some_frame(bytes);
		switch (below(10)) {
		case 0:
		case 1:
			change_header(bytes + frames[i].at);
			break;
		case 2:
		case 3:
		case 4:
			size = change_body(bytes, size, max_size, i);
			break;
		case 5:
		case 6:
			change_number(bytes, i);
			break;
		case 7:
			size = copy_frame(bytes, size, max_size, i);
			break;
		case 8:
			if (count > 1)
				size = take_out(bytes, size, frames[i].at, frames[i].size);
			break;
		default:
			if (one_of(2)) {
				size_t n = 8 * (1 + below(20)), larger = insert(bytes, size, max_size, frames[i].at, n);

				if (larger != size)
					memset(bytes + frames[i].at, 0, n);
				size = larger;
			} else {
				size = frames[i].at + below(frames[i].size) + 1;
			}
			break;
		}
	}
	set_right(bytes, size);
	return size;
}

size_t mutate_cross(const uint8_t *a, size_t size_a, const uint8_t *b, size_t size_b, uint8_t *out, size_t max_size,
                    unsigned seed)
{
	size_t from_a, from_b;

	state = seed * UINT64_C(0x9e3779b97f4a7c15) + 2;
	take_apart(a, size_a);
	from_a = count ? frames[below(count)].at : size_a / 2;
	if (from_a > max_size)
		from_a = max_size;
	take_apart(b, size_b);
	from_b = count ? frames[below(count)].at : size_b / 2;
	if (size_b - from_b > max_size - from_a)
		size_b = from_b + max_size - from_a;
	memcpy(out, a, from_a);
	memcpy(out + from_a, b + from_b, size_b - from_b);
	set_right(out, from_a + size_b - from_b);
	return from_a + size_b - from_b;
}
