/*
 * cursor.c - src/read/cursor.c: the next record of one chunk, whatever its memory contains
 *
 * SPDX-License-Identifier: MIT
 */
#include "read/cursor.h"

#include <sys/mman.h>

#include "unit.h"

static struct stream s;
static struct chunk *c;
static struct cursor cur;

static void begin(void)
{
	unit_stream(&s, 16384, 1000, POSIX_TRACE_LOOP);
	c = &s.chunks[1];
	memset(&cur, 0, sizeof cur);
}

static void recycle(void)
{
	unit_recycle(&s, c);
}

TEST(in_order)
{
	char data[16];

	begin();
	CHECK("-", !cursor_look(&cur, &s, c));
	unit_owner(&s, c, 501);
	CHECK("-", !cursor_look(&cur, &s, c)); /* no event yet */
	unit_record(&s, c, 1000, 70, "abcde", 5);
	unit_record(&s, c, 1001, 71, NULL, 0);
	unit_owner(&s, c, 502);
	unit_owner(&s, c, 503);
	unit_record(&s, c, 1002, 72, "0123456789", 10);

	CHECK("-", cursor_look(&cur, &s, c));
	CHECK("-", cur.have);
	CHECK_EQ("-", cur.head.type, 70);
	CHECK_EQ("-", cur.head.length, 5);
	CHECK_EQ("-", cur.head.ticks, 1000);
	CHECK_EQ("-", cur.owner.tid, 501);
	CHECK("-", cursor_look(&cur, &s, c)); /* a second look finds the same record */
	CHECK_EQ("-", cur.head.ticks, 1000);
	CHECK_EQ("-", c->read, 0); /* looking does not consume */
	memset(data, '#', sizeof data);
	CHECK("-", cursor_read(&cur, &s, c, data, sizeof data));
	CHECK("-", memcmp(data, "abcde#", 6) == 0);
	CHECK_EQ("-", c->read, 1);

	CHECK("-", cursor_look(&cur, &s, c));
	CHECK_EQ("-", cur.head.ticks, 1001);
	CHECK_EQ("-", cur.owner.tid, 501);
	CHECK("-", cursor_read(&cur, &s, c, NULL, 0));

	CHECK("-", cursor_look(&cur, &s, c));
	CHECK_EQ("-", cur.head.ticks, 1002);
	CHECK_EQ("-", cur.owner.tid, 503); /* the last owner record counts */
	memset(data, '#', sizeof data);
	CHECK("-", cursor_read(&cur, &s, c, data, 4));
	CHECK("-", memcmp(data, "0123#", 5) == 0); /* no more than the requested length */

	CHECK("-", !cursor_look(&cur, &s, c));
	CHECK_EQ("-", chunk_unread(c, c->progress), 0);
	unit_record(&s, c, 1003, 73, NULL, 0);
	CHECK("-", cursor_look(&cur, &s, c));
	CHECK_EQ("-", cur.head.ticks, 1003);
	CHECK_EQ("-", cur.owner.tid, 503);
	CHECK("-", cur.gap_from == 0 && cur.lost == 0);
}

TEST(overwritten)
{
	begin();
	unit_owner(&s, c, 501);
	for (unsigned i = 0; i < 5; i++)
		unit_record(&s, c, 1000 + i, 70, NULL, 0);
	CHECK("-", cursor_look(&cur, &s, c));
	CHECK("-", cursor_read(&cur, &s, c, NULL, 0));
	CHECK("-", cursor_look(&cur, &s, c));
	recycle();
	/* The record under the cursor has been overwritten. */
	CHECK("-", !cursor_read(&cur, &s, c, NULL, 0));
	CHECK("-", !cursor_look(&cur, &s, c));
	CHECK_EQ("-", cur.lost, 4);
	CHECK_EQ("-", cur.gap_from, 1001);
	CHECK_EQ("-", cur.gap_until, 1004);
	CHECK("-", cur.unacknowledged && c->seen != 5);
	cursor_acknowledge(&cur, c);
	CHECK_EQ("-", c->seen, 5); /* acknowledges the gap to the writer */
	CHECK("-", !cur.unacknowledged);

	cur.gap_from = 0; /* as the caller does when it has reported the gap */
	unit_owner(&s, c, 502);
	unit_record(&s, c, 2000, 71, NULL, 0);
	CHECK("-", cursor_look(&cur, &s, c));
	CHECK_EQ("-", cur.head.ticks, 2000);
	CHECK_EQ("-", cur.owner.tid, 502);
	CHECK_EQ("-", cur.gap_from, 0);
	CHECK("-", cursor_read(&cur, &s, c, NULL, 0));

	/* Recycled with nothing lost: no gap. */
	recycle();
	unit_owner(&s, c, 503);
	unit_record(&s, c, 3000, 72, NULL, 0);
	CHECK("-", cursor_look(&cur, &s, c));
	CHECK_EQ("-", cur.head.ticks, 3000);
	CHECK_EQ("-", cur.gap_from, 0);
	CHECK_EQ("-", cur.lost, 4);
	cursor_acknowledge(&cur, c);

	/* Overwritten several times before the reader looks: one gap, from the first loss to the last. */
	for (unsigned i = 1; i <= 3; i++) {
		recycle();
		unit_owner(&s, c, 504);
		unit_record(&s, c, 3000 + 1000 * i, 73, NULL, 0);
	}
	CHECK("-", cursor_look(&cur, &s, c));
	CHECK_EQ("-", cur.head.ticks, 6000);
	CHECK_EQ("-", cur.gap_from, 3000);
	CHECK_EQ("-", cur.gap_until, 5000);
	CHECK_EQ("-", cur.lost, 7);
}

/* -- H18: what only a hostile writer makes ------------------------------------------------ */

/* The chunk is the last one and the page after it is not mapped: a read beyond the chunk kills the test. */
static void begin_at_the_edge(void)
{
	unsigned char *map, *end;
	size_t size;

	begin();
	size = s.size + (size_t)sysconf(_SC_PAGESIZE);
	map = mmap(NULL, size + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	MUST(map != MAP_FAILED);
	size = (s.chunk_size + 4095) & ~(size_t)4095;
	end = map + size;
	MUST(mprotect(map, size, PROT_READ | PROT_WRITE) == 0);
	/* Chunk 1's memory ends where the page ends. */
	s.memory = end - 2 * (size_t)s.chunk_size;
	MUST(stream_chunk_memory(&s, c) + s.chunk_size == end);
}

TEST(position_outside)
{
	begin_at_the_edge();
	unit_owner(&s, c, 1);
	unit_record(&s, c, 1000, 70, NULL, 0);
	c->progress = progress_make(1, s.chunk_size + 8);
	CHECK("-", !cursor_look(&cur, &s, c));
	c->progress = progress_make(1, UINT32_MAX);
	CHECK("-", !cursor_look(&cur, &s, c));
	c->progress = progress_make(1, 0);
	CHECK("-", !cursor_look(&cur, &s, c));
	c->progress = progress_make(1, 63); /* one byte short of two records */
	CHECK("-", !cursor_look(&cur, &s, c));
}

TEST(length_outside)
{
	struct record r = { .length = 65535, .type = 70, .ticks = 1 };

	begin_at_the_edge();
	memcpy(stream_chunk_memory(&s, c) + s.chunk_size - sizeof r, &r, sizeof r);
	c->progress = progress_make(1, s.chunk_size);
	cur.at = s.chunk_size - (uint32_t)sizeof r;
	CHECK("-", !cursor_look(&cur, &s, c));

	/* An owner record that is cut off by the end of the chunk. */
	r.type = RECORD_OWNER;
	memcpy(stream_chunk_memory(&s, c) + s.chunk_size - sizeof r, &r, sizeof r);
	CHECK("-", !cursor_look(&cur, &s, c));
}

TEST(only_owners)
{
	begin_at_the_edge();
	while (progress_position(c->progress) + sizeof(struct record_owner) <= s.chunk_size)
		unit_owner(&s, c, 1);
	c->progress = progress_make(1, s.chunk_size);
	CHECK("-", !cursor_look(&cur, &s, c));
}

/*
 * With arbitrary bytes the cursor terminates, reads nothing outside of the chunk, and never copies more data than
 * requested.
 */
TEST(any_bytes)
{
	unsigned char data[100];
	unsigned seed = 1;

	for (int round = 0; round < 300; round++) {
		unsigned char *memory;
		int taken = 0;

		if (round == 0)
			begin_at_the_edge();
		memset(&cur, 0, sizeof cur);
		memory = stream_chunk_memory(&s, c);
		for (uint32_t i = 0; i < s.chunk_size; i++)
			memory[i] = (unsigned char)(rand_r(&seed) % (round % 4 == 0 ? 256 : 1 + round % 20));
		c->first = 0;
		c->read = 0;
		c->progress = progress_make(10000, s.chunk_size);
		while (cursor_look(&cur, &s, c) && taken++ < 20000) {
			memset(data, '#', sizeof data);
			if (!cursor_read(&cur, &s, c, data, 50))
				break;
			CHECK("-", data[50] == '#');
		}
		CHECK("-", taken <= (int)(s.chunk_size / sizeof(struct record)));
	}
}

/* -- Runs of records, and where another reader has left off ------------------------------------ */

/* Records events with ticks 1000, 1001, ... of threads 501, 502, ..., two of each thread. */
static void put_events(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned char data[20];

		if (i % 2 == 0)
			unit_owner(&s, c, 501 + i / 2);
		memset(data, 'a' + (int)i, sizeof data);
		unit_record(&s, c, 1000 + i, 70 + i, data, (uint16_t)(i + 1));
	}
}

static void check_event(unsigned i)
{
	unsigned char data[20], want[20];

	MUST(cur.have);
	CHECK_EQ("-", cur.head.ticks, 1000 + i);
	CHECK_EQ("-", cur.head.type, 70 + i);
	CHECK_EQ("-", cur.head.length, i + 1);
	CHECK_EQ("-", cur.owner.tid, 501 + i / 2);
	memset(data, '#', sizeof data);
	memset(want, '#', sizeof want);
	memset(want, 'a' + (int)i, i + 1);
	cursor_copy(&cur, &s, c, data, sizeof data);
	CHECK("-", memcmp(data, want, sizeof data) == 0);
}

/* Copying the data does not consume the record. */
TEST(copied)
{
	char data[8];

	begin();
	put_events(3);
	CHECK("-", cursor_look(&cur, &s, c));
	check_event(0);
	CHECK("-", cursor_read(&cur, &s, c, NULL, 0) && cursor_look(&cur, &s, c));
	memset(data, '#', sizeof data);
	cursor_copy(&cur, &s, c, data, 1); /* no more than the requested length */
	CHECK("-", memcmp(data, "b#", 2) == 0);
	cursor_copy(&cur, &s, c, NULL, 0);
	check_event(1);
	CHECK("-", c->read == 1 && cur.next == 1);
	CHECK("-", cursor_read(&cur, &s, c, data, sizeof data) && data[0] == 'b');
}

/*
 * Resumes after the last record that was consumed, whichever reader consumed it, and finds the owner of the next
 * one.
 */
TEST(resumed)
{
	enum { COUNT = 7 };

	for (unsigned read = 0; read <= COUNT; read++)
		for (unsigned recycled = 0; recycled < 2; recycled++) {
			begin();
			if (recycled) {
				unit_owner(&s, c, 99);
				unit_record(&s, c, 5, 70, "x", 1);
				unit_record(&s, c, 6, 70, "x", 1);
				recycle();
			}
			put_events(COUNT);
			for (unsigned i = 0; i < read; i++)
				CHECK("-", cursor_look(&cur, &s, c) && cursor_read(&cur, &s, c, NULL, 0));
			if (read)
				cursor_acknowledge(&cur, c);
			memset(&cur, 0xee, sizeof cur);
			cursor_resume(&cur, &s, c);
			CHECK("-", cur.lost == 0 && !cur.have);
			/* Records overwritten before the cursor resumed are reported by the earlier reader. */
			CHECK_EQ("-", cur.gap_from, recycled && !read ? 5 : 0);
			CHECK_EQ("-", cur.gap_until, recycled && !read ? 6 : 0);
			CHECK_EQ("-", cur.next, c->first + read);
			for (unsigned i = read; i < COUNT; i++) {
				CHECK("-", cursor_look(&cur, &s, c));
				check_event(i);
				CHECK("-", cursor_read(&cur, &s, c, NULL, 0));
			}
			CHECK("-", !cursor_look(&cur, &s, c));
			CHECK_EQ("-", cur.lost, 0);
			unit_record(&s, c, 2000, 99, NULL, 0);
			CHECK("-", cursor_look(&cur, &s, c) && cur.owner.tid == 501 + (COUNT - 1) / 2);
		}
}

/* H18, and an acquirer that died in recycling the chunk: the cursor reads nothing outside and terminates. */
TEST(resumed_at_nonsense)
{
	unsigned seed = 3;

	begin_at_the_edge();
	put_events(5);
	c->read = 77; /* more than the chunk has */
	cursor_resume(&cur, &s, c);
	CHECK_EQ("-", cur.next, 5);
	c->read = UINT32_MAX;
	cursor_resume(&cur, &s, c);
	CHECK_EQ("-", cur.next, 5);
	c->read = 0;
	c->progress = progress_make(5, s.chunk_size + 8);
	cursor_resume(&cur, &s, c);
	CHECK_EQ("-", cur.at, 0);
	for (int round = 0; round < 300; round++) {
		unsigned char *memory = stream_chunk_memory(&s, c);

		for (uint32_t i = 0; i < s.chunk_size; i++)
			memory[i] = (unsigned char)(rand_r(&seed) % (round % 4 == 0 ? 256 : 1 + round % 20));
		c->first = (uint32_t)rand_r(&seed) % 3;
		c->read = (uint32_t)rand_r(&seed) % 3000;
		c->progress = progress_make(10000, s.chunk_size - (uint32_t)round);
		cursor_resume(&cur, &s, c);
		CHECK("-", cur.next >= c->first && (cur.next <= c->read || cur.next == c->first));
		cursor_look(&cur, &s, c);
	}
}

/* A run of records is consumed as a whole. */
TEST(runs)
{
	struct cursor before;

	begin();
	put_events(6);
	CHECK("-", cursor_look(&cur, &s, c));
	for (unsigned i = 0; i < 3; i++) {
		check_event(i);
		if (i == 0)
			before = cur;
		CHECK("-", cursor_step(&cur, &s, c));
	}
	CHECK_EQ("-", c->read, 0);
	CHECK("-", cursor_consume(&cur, c, &before));
	CHECK_EQ("-", c->read, 3);
	/* The cursor is at the next record. */
	check_event(3);
	before = cur;
	CHECK("-", cursor_step(&cur, &s, c));
	CHECK("-", cursor_step(&cur, &s, c));
	check_event(5);
	CHECK("-", !cursor_step(&cur, &s, c)); /* the run ends after the last record */
	CHECK("-", !cur.have);
	CHECK("-", cursor_consume(&cur, c, &before));
	CHECK_EQ("-", c->read, 6);
	CHECK("-", !cursor_look(&cur, &s, c));
	unit_record(&s, c, 2000, 99, NULL, 0);
	CHECK("-", cursor_look(&cur, &s, c) && cur.head.ticks == 2000 && cur.owner.tid == 503);
}

/* Records that the caller has gone through by itself are passed together, up to the next owner and beyond. */
TEST(passes)
{
	const unsigned char *from, *to;
	struct cursor before;

	begin();
	put_events(6); /* two of each owner */
	CHECK("-", cursor_look(&cur, &s, c));
	before = cur;
	CHECK_EQ("-", cursor_rest(&cur, &s, c, &from, &to), 6);
	CHECK("-", from == stream_chunk_memory(&s, c) + cur.at && to > from);
	CHECK("-", cursor_step(&cur, &s, c));
	CHECK_EQ("-", cursor_rest(&cur, &s, c, &from, &to), 5);
	check_event(1);
	cur = before;
	CHECK("-", cursor_pass(&cur, &s, c, 2, 2 * record_size(cur.head.length)));
	check_event(2);
	CHECK("-", cursor_consume(&cur, c, &before));
	CHECK_EQ("-", c->read, 2);
	/* Nothing where a hostile process says that there is something outside of the chunk, or that is not aligned. */
	c->progress = progress_make(6, s.chunk_size + 8);
	CHECK_EQ("-", cursor_rest(&cur, &s, c, &from, &to), 0);
	c->progress = progress_make(6, cur.at - 8);
	CHECK_EQ("-", cursor_rest(&cur, &s, c, &from, &to), 0);
	c->progress = progress_make(6, s.chunk_size);
	cur.at |= 4;
	CHECK_EQ("-", cursor_rest(&cur, &s, c, &from, &to), 0);
	CHECK("-", from == to);
}

/* The chunk is overwritten while the run is read: none of the run is consumed, and its loss is counted once. */
TEST(run_overwritten)
{
	struct cursor before;

	for (unsigned steps = 1; steps <= 6; steps++) {
		begin();
		put_events(6);
		CHECK("-", cursor_look(&cur, &s, c));
		before = cur;
		for (unsigned i = 0; i < steps; i++) {
			if (i == steps / 2) {
				recycle();
				unit_owner(&s, c, 600);
				unit_record(&s, c, 3000, 80, NULL, 0);
			}
			cursor_step(&cur, &s, c);
		}
		CHECK("-", !cursor_consume(&cur, c, &before));
		CHECK("-", !cur.have && cur.next == before.next && cur.at == before.at);
		CHECK("-", cursor_look(&cur, &s, c));
		CHECK("-", cur.head.ticks == 3000 && cur.owner.tid == 600);
		CHECK("-", cur.lost == 6 && cur.gap_from == 1000 && cur.gap_until == 1005);
	}
}

/* H18: with arbitrary bytes, cursor_step() stays inside the chunk and terminates. */
TEST(steps_through_any_bytes)
{
	unsigned seed = 6;

	begin_at_the_edge();
	for (int round = 0; round < 300; round++) {
		unsigned char *memory = stream_chunk_memory(&s, c), data[100];
		uint32_t steps = 0;

		for (uint32_t i = 0; i < s.chunk_size; i++)
			memory[i] = (unsigned char)(rand_r(&seed) % (round % 4 == 0 ? 256 : 1 + round % 20));
		memset(&cur, 0, sizeof cur);
		c->first = c->read = 0;
		c->progress = progress_make(100000, round % 10 ? s.chunk_size : UINT32_MAX);
		if (!cursor_look(&cur, &s, c))
			continue;
		do {
			memset(data, '#', sizeof data);
			cursor_copy(&cur, &s, c, data, 50);
			CHECK("-", data[50] == '#');
		} while (steps++ < 100000 && cursor_step(&cur, &s, c));
		CHECK("-", steps <= s.chunk_size / sizeof(struct record));
	}
}

/* -- A reader and a writer ------------------------------------------------------------ */

static uint32_t stop;
static uint64_t sent;

/* Overwrites the chunk all the time, as LOOP does. Each event contains its number three times. */
static void *write_for_ever(void *arg)
{
	while (!load_relaxed(&stop)) {
		uint64_t data[2] = { sent, sent };

		if (s.chunk_size - progress_position(c->progress) < s.event_size_max) {
			recycle();
			unit_owner(&s, c, 1);
		}
		unit_record(&s, c, sent + 1, 70, data, sizeof data);
		sent++;
		if (sent % 64 == 0)
			sched_yield();
	}
	return NULL;
}

TEST(while_overwritten)
{
	int64_t until = unit_now() + 200000000;
	uint64_t got = 0, last = 0, broken = 0, data[2];
	pthread_t thread;

	begin();
	MUST(pthread_create(&thread, NULL, write_for_ever, NULL) == 0);
	for (;;) {
		if (load_relaxed(&stop) == 0 && unit_now() > until) {
			store_relaxed(&stop, 1);
			pthread_join(thread, NULL);
		}
		if (!cursor_look(&cur, &s, c)) {
			if (load_relaxed(&stop))
				break;
			continue;
		}
		if (!cursor_read(&cur, &s, c, data, sizeof data))
			continue;
		/* Every record that was consumed is intact, and no record is consumed twice. */
		broken += cur.head.ticks != data[0] + 1 || data[0] != data[1] || cur.head.ticks <= last;
		last = data[0] + 1;
		got++;
	}
	CHECK_EQ("-", broken, 0);
	CHECK("-", got > 0);
	/* Each event was either read or counted as lost. */
	CHECK_EQ("-", got + cur.lost, sent);
}

TEST_MAIN(TEST_ENTRY(in_order), TEST_ENTRY(overwritten), TEST_ENTRY(position_outside), TEST_ENTRY(length_outside),
          TEST_ENTRY(only_owners), TEST_ENTRY(any_bytes), TEST_ENTRY(copied), TEST_ENTRY(resumed),
          TEST_ENTRY(resumed_at_nonsense), TEST_ENTRY(runs), TEST_ENTRY(passes),
          TEST_ENTRY(run_overwritten), TEST_ENTRY(steps_through_any_bytes), TEST_ENTRY(while_overwritten))
