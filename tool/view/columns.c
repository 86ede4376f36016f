/*
 * columns.c - the events of a page, in columns
 *
 * SPDX-License-Identifier: MIT
 */
#include "view/columns.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "log/format.h"
#include "view/page.h"

#define EVENTS 65536
#define DATA   (1u << 20) /* approximate bytes of data in a block */
#define HEAD   24

/* The current block. Separate from the struct below, so that the executable does not contain these zeros. */
static unsigned char times_memory[EVENTS * VARINT_BYTES], shapes_memory[EVENTS * 5],
        data_memory[DATA + COLUMNS_DATA_MAX];

static struct {
	/* The current block: */
	uint32_t count;
	int64_t base, time;
	unsigned char *times_at, *shapes_at, *data_at;
	/* All blocks: */
	uint32_t events;
	uint64_t bytes;
	struct shape *shape;
	uint32_t shape_count, room;
	uint32_t *slot; /* a hash table of the shapes, as index + 1; at most half of it is used */
	uint32_t slots;
} columns = { .times_at = times_memory, .shapes_at = shapes_memory, .data_at = data_memory };

/* -- Shapes -------------------------------------------------------------------------------------- */

static uint32_t *find(const struct shape *shape)
{
	uint64_t hash = 0;
	uint32_t word[sizeof *shape / 4], i;

	memcpy(word, shape, sizeof word);
	for (i = 0; i < sizeof word / sizeof word[0]; i++)
		hash = (hash ^ word[i]) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
	for (i = (uint32_t)(hash >> 32) & (columns.slots - 1); columns.slot[i]; i = (i + 1) & (columns.slots - 1))
		if (memcmp(&columns.shape[columns.slot[i] - 1], shape, sizeof *shape) == 0)
			break;
	return &columns.slot[i];
}

static void grow(void)
{
	columns.room = columns.room ? 2 * columns.room : 512;
	columns.slots = 2 * columns.room;
	columns.shape = realloc(columns.shape, columns.room * sizeof *columns.shape);
	free(columns.slot);
	columns.slot = calloc(columns.slots, sizeof *columns.slot);
	if (!columns.shape || !columns.slot)
		fail("no memory");
	for (uint32_t i = 0; i < columns.shape_count; i++)
		*find(&columns.shape[i]) = i + 1;
}

uint32_t columns_shape(const struct shape *shape)
{
	uint32_t *slot;

	if (columns.shape_count == columns.room)
		grow();
	slot = find(shape);
	if (!*slot) {
		columns.shape[columns.shape_count] = *shape;
		*slot = ++columns.shape_count;
	}
	return *slot - 1;
}

static void write_shapes(void)
{
	const uint32_t rows = 4096, words = sizeof(struct shape) / 4;
	unsigned char *bytes = malloc((size_t)rows * words * 4);

	if (!bytes)
		fail("no memory");
	for (uint32_t from = 0; from < columns.shape_count; from += rows) {
		uint32_t n = columns.shape_count - from < rows ? columns.shape_count - from : rows, word;

		for (uint32_t i = 0; i < n * words; i++) {
			memcpy(&word, (const char *)(columns.shape + from) + 4 * i, 4);
			put32(bytes + 4 * i, word);
		}
		page_block("shapes", bytes, n * sizeof(struct shape));
	}
	free(bytes);
}

/* -- Events -------------------------------------------------------------------------------------- */

static unsigned char *put_column(unsigned char *to, const unsigned char *from, const unsigned char *end)
{
	memcpy(to, from, (size_t)(end - from));
	return to + (end - from);
}

static void write_block(void)
{
	uint32_t times = (uint32_t)(columns.times_at - times_memory),
	        shapes = (uint32_t)(columns.shapes_at - shapes_memory),
		data = (uint32_t)(columns.data_at - data_memory);
	unsigned char *block = malloc(HEAD + times + shapes + data), *at;
	double base = (double)columns.base;
	uint64_t base_bits;

	if (!block)
		fail("no memory");
	memcpy(&base_bits, &base, sizeof base_bits);
	put32(block, columns.count);
	put32(block + 4, times);
	put32(block + 8, shapes);
	put32(block + 12, data);
	put64(block + 16, base_bits);
	at = put_column(block + HEAD, times_memory, columns.times_at);
	at = put_column(at, shapes_memory, columns.shapes_at);
	at = put_column(at, data_memory, columns.data_at);
	page_block("events", block, (size_t)(at - block));
	free(block);
	columns.count = 0;
	columns.times_at = times_memory;
	columns.shapes_at = shapes_memory;
	columns.data_at = data_memory;
}

void columns_add(int64_t time, uint32_t shape, const unsigned char *data)
{
	uint32_t length = columns.shape[shape].length;
	uint64_t step;

	if (columns.count == 0)
		columns.base = columns.time = time;
	step = (uint64_t)time - (uint64_t)columns.time;
	columns.times_at = put_varint(columns.times_at, step << 1 ^ (step >> 63 ? UINT64_MAX : 0));
	columns.time = time;
	columns.shapes_at = put_varint(columns.shapes_at, shape);
	if (length)
		memcpy(columns.data_at, data, length);
	columns.data_at += length;
	columns.bytes += length;
	columns.events++;
	if (++columns.count == EVENTS || columns.data_at >= data_memory + DATA)
		write_block();
}

uint32_t columns_count(void)
{
	return columns.events;
}

uint64_t columns_bytes(void)
{
	return columns.bytes;
}

void columns_end(void)
{
	if (columns.count)
		write_block();
	write_shapes();
}
