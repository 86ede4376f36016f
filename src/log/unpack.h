/*
 * unpack.h - unpacks the body of a segment into events
 *
 * Two passes: the first one checks everything, so that either the whole segment counts or none of it. The second one
 * relies on the check, and is fast.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_UNPACK_H
#define LOG_UNPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "log/format.h"

struct unpack_thread {
	uint64_t pthread;
	uint32_t pid;
	uint32_t tid;
	char name[16];
};

struct unpack_shape {
	struct log_event event; /* all but the time */
	unsigned char *before;  /* data of the shape's last event; null: the data are not packed */
};

struct unpack {
	const unsigned char *at, *end;
	uint64_t time;
	uint64_t latest; /* the latest time in the segment; the last event may be earlier */
	uint32_t shapes, threads;
	unsigned char *before; /* for the next shape */
	struct unpack_thread thread_of[THREADS_MAX];
	struct unpack_shape shape_of[SHAPES_MAX];
	unsigned char memory[SHAPES_MAX * PACKED_MAX];
};

/* Number of bytes after the body that may be read, whatever their values. */
#define UNPACK_SLACK 8

/* Begins with the body of this segment. Returns false if the body is not valid. */
bool unpack_begin(struct unpack *u, const struct frame *frame, const unsigned char *body);
/* Reads a number that has been checked, and returns the address after it. */
static inline const unsigned char *unpack_number(const unsigned char *at, uint64_t *number)
{
	uint64_t v = *at++, byte;
	unsigned shift = 7;

	if (v >= 0x80) {
		v &= 0x7f;
		do {
			byte = *at++;
			v |= (byte & 0x7f) << shift;
			shift += 7;
		} while (byte & 0x80);
	}
	*number = v;
	return at;
}

/* Changes a word by its n bytes at this address. Up to eight bytes after the body are read, but not used. */
static inline void unpack_word(unsigned char *word, const unsigned char *at, unsigned n)
{
	static const uint64_t mask[9] = {
		0, 0xff, 0xffff, 0xffffff, 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
		0xffffffffffffffff,
	};

	put64(word, get64(word) ^ (get64(at) & mask[n]));
}

static inline const unsigned char *unpack_data(const unsigned char *counts, unsigned char *before, uint32_t length)
{
	uint32_t words = (length + 7) / 8;
	const unsigned char *at = counts + (words + 1) / 2;

	for (; words >= 2; words -= 2, before += 16, counts++) {
		unpack_word(before, at, *counts & 15);
		at += *counts & 15;
		unpack_word(before + 8, at, *counts >> 4);
		at += *counts >> 4;
	}
	if (words) {
		unpack_word(before, at, *counts);
		at += *counts;
	}
	return at;
}

/* Takes a definition, and returns the address after it. */
const unsigned char *unpack_define(struct unpack *u, const unsigned char *at);
/* Returns the next event, which stays valid with its data until the next call. Null at the end. */
static inline const struct log_event *unpack_next(struct unpack *u, const unsigned char **data)
{
	const unsigned char *at = u->at, *const end = u->end;

	while (at < end) {
		struct unpack_shape *s;
		uint64_t item, step;

		at = unpack_number(at, &item);
		if (item == ITEM_DEFINITION) {
			at = unpack_define(u, at);
			continue;
		}
		s = &u->shape_of[item - 1];
		at = unpack_number(at, &step);
		s->event.time = u->time += step;
		if (s->before) {
			u->at = unpack_data(at, s->before, s->event.length);
			*data = s->before;
		} else {
			u->at = at + s->event.length;
			*data = at;
		}
		return &s->event;
	}
	u->at = at;
	return NULL;
}

#endif
