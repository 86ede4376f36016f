/*
 * columns.h - the events of a page, in columns
 *
 * Blocks of the kind "events", in order, each of them independent of the others. Numbers are little-endian:
 *
 *     u32 count, u32 bytes of times, u32 bytes of shapes, u32 bytes of data, f64 base
 *     times     each a varint: twice the difference to the time before, or, of a negative one, twice less one
 *     shapes    each a varint
 *     data      of one event behind the other; the shape has their length
 *
 * Times are nanoseconds after the page's beginning, the first one of a block after its base. What an event has
 * that is neither time nor data is its shape, a row of the block "shapes": u32 thread, type, place, flags,
 * length of the data in the page, and when it was recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <stdint.h>

struct shape {
	uint32_t thread, type; /* which row of these tables */
	uint32_t place;        /* where the trace point is: a row from 1 on; 0: not known */
	uint32_t flags;        /* SHAPE_... */
	uint32_t length;       /* of the data in the page: not more than COLUMNS_DATA_MAX */
	uint32_t whole;        /* of the data in the log */
};

/* When it was recorded; it stands for a part of the log that cannot be read; its data are words that tell what they meant. */
enum { COLUMNS_TRUNCATED = 1, COLUMNS_DAMAGED = 2, COLUMNS_WORDS = 4 };

#define COLUMNS_DATA_MAX 4096

/* The number of a shape. */
uint32_t columns_shape(const struct shape *shape);
/* time: after the page's beginning, or before it. */
void columns_add(int64_t time, uint32_t shape, const unsigned char *data);
/* Events and bytes of data until now. */
uint32_t columns_count(void);
uint64_t columns_bytes(void);
/* Writes what is left, and the shapes. */
void columns_end(void);

#endif
