/*
 * columns.h - the events of a page, in columns
 *
 * Blocks of the kind "events", in order and independent of each other. Numbers are little-endian:
 *
 *     u32 count, u32 bytes of times, u32 bytes of shapes, u32 bytes of data, f64 base
 *     times     each a varint: twice the difference to the previous time or, if negative, twice its amount less one
 *     shapes    each a varint
 *     data      of one event after the other; the shape has their length
 *
 * Times are nanoseconds after the page's beginning; base is the first time of the block. The rest of an event is its
 * shape, a row of the block "shapes": u32 thread, type, place, flags, length of the data in the page, and length of the
 * data when it was recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <stdint.h>

struct shape {
	uint32_t thread, type; /* rows of these tables */
	uint32_t place;        /* row of the trace point, from 1 on; 0: unknown */
	uint32_t flags;        /* COLUMNS_... */
	uint32_t length;       /* of the data in the page: not more than COLUMNS_DATA_MAX */
	uint32_t whole;        /* of the data in the log */
};

/*
 * The data was truncated when it was recorded; a damaged part of the log; the data is text that describes the original
 * data.
 */
enum { COLUMNS_TRUNCATED = 1, COLUMNS_DAMAGED = 2, COLUMNS_WORDS = 4 };

#define COLUMNS_DATA_MAX 4096

/* Returns the number of a shape, which is added if it is new. */
uint32_t columns_shape(const struct shape *shape);
/* Adds an event. time: relative to the beginning of the page, may be negative. */
void columns_add(int64_t time, uint32_t shape, const unsigned char *data);
/* Returns the number of events so far. */
uint32_t columns_count(void);
/* Returns the size of their data. */
uint64_t columns_bytes(void);
/* Writes the last block of events, and the shapes. */
void columns_end(void);

#endif
