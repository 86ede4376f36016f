/*
 * pack.c - src/log/pack.c: packed events can be unpacked, and fit into the given room
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/pack.h"

#include "log/unpack.h"
#include "unit_log.h"

#define DATA_MAX RECORD_DATA_MAX

static struct pack p;
static struct unpack u;

static struct {
	struct log_event event;
	unsigned char *data;
} sent[20000];
static unsigned count;

static unsigned char *body; /* capacity bytes, followed by an unmapped page */
static uint32_t capacity;

static void begin(uint32_t bytes)
{
	if (body)
		munmap((void *)((uintptr_t)body & ~(uintptr_t)4095), ((size_t)capacity + 4095) & ~(size_t)4095);
	capacity = bytes;
	body = log_memory(bytes);
	for (unsigned i = 0; i < count; i++)
		free(sent[i].data);
	count = 0;
}

/* Packs an event and remembers it in sent[]. Returns false if there was no room. */
static bool put(const struct log_event *e, const void *data)
{
	uint32_t before;

	MUST(count < sizeof sent / sizeof sent[0]);
	if (count == 0)
		pack_begin(&p, body, capacity, e->time);
	before = p.position;
	if (!pack_event(&p, e, data)) {
		CHECK_EQ("-", p.position, before);
		return false;
	}
	/* An event takes at most pack_size_max(), and is refused without room for that. */
	CHECK_OP("-", p.position - before, <=, pack_size_max(e->length));
	CHECK_OP("-", capacity - before, >=, pack_size_max(e->length));
	sent[count].event = *e;
	sent[count].data = malloc(e->length + 1);
	MUST(sent[count].data);
	if (e->length)
		memcpy(sent[count].data, data, e->length);
	count++;
	return true;
}

/* Unpacks the body and checks that all events come back. The copy ends where unpack must stop reading. */
static void check_round_trip(void)
{
	unsigned char *copy = log_memory((size_t)p.position + UNPACK_SLACK);
	struct frame f = { .size = p.position, .events = count, .first = sent[0].event.time,
	                   .last = sent[count - 1].event.time };
	const unsigned char *data;
	const struct log_event *e;
	int failures = test_failures;

	memcpy(copy, body, p.position);
	memset(copy + p.position, 0xa5, UNPACK_SLACK); /* any contents */
	MUST(unpack_begin(&u, &f, copy));
	for (unsigned i = 0; i < count && test_failures == failures; i++) {
		e = unpack_next(&u, &data);
		MUST(e);
		if (!log_event_same(e, data, &sent[i].event, sent[i].data))
			TEST_FAIL("LOG-20", "event %u of %u is another one", i, count);
	}
	CHECK("-", unpack_next(&u, &data) == NULL);
	CHECK("-", unpack_next(&u, &data) == NULL);
	munmap((void *)((uintptr_t)copy & ~(uintptr_t)4095),
	       ((size_t)p.position + UNPACK_SLACK + 4095) & ~(size_t)4095);
}

/*
 * Each length up to the longest packed data and a little beyond, twice, so that there is earlier data to compare
 * with.
 */
TEST(all_lengths)
{
	static unsigned char data[DATA_MAX];
	struct log_event e = { .id = 64, .pid = 1, .tid = 2, .time = 1000, .name = "t" };
	unsigned seed = 1;

	begin(1 << 20);
	for (e.length = 0; e.length < 700; e.length++)
		for (int twice = 0; twice < 2; twice++) {
			e.time += log_random(&seed, 300);
			for (uint32_t i = 0; i < e.length; i++)
				data[i] = (unsigned char)rand_r(&seed);
			MUST(put(&e, data));
		}
	check_round_trip();

	begin(1 << 20);
	for (e.length = DATA_MAX; e.length > 700; e.length = e.length * 2 / 3) {
		for (uint32_t i = 0; i < e.length; i++)
			data[i] = (unsigned char)rand_r(&seed);
		MUST(put(&e, data));
	}
	check_round_trip();
}

/* Each number of bytes in a word, at each place, with an incomplete last word. */
TEST(words)
{
	struct log_event e = { .id = 64, .pid = 1, .tid = 2 };
	unsigned char data[24];

	begin(1 << 20);
	for (e.length = 1; e.length <= sizeof data; e.length++)
		for (unsigned at = 0; at < e.length; at++) {
			memset(data, 0, sizeof data);
			data[at] = 0x80;
			MUST(put(&e, data));
			MUST(put(&e, data)); /* no change: no bytes */
			data[at] = 0;
			MUST(put(&e, data));
		}
	memset(data, 0xff, sizeof data);
	e.length = sizeof data;
	MUST(put(&e, data));
	check_round_trip();
}

TEST(random_events)
{
	static unsigned char data[DATA_MAX];

	for (unsigned round = 0; round < 60; round++) {
		unsigned seed = round;
		struct log_event e;
		uint64_t time = round % 2 ? LOG_WRITER_CREATED : 5;

		begin(round % 3 ? 200000 : 20000 + 997 * round);
		for (;;) {
			log_event_make(&e, data, &seed, round % 5 ? 300 : 5000);
			switch (log_random(&seed, 20)) {
			case 0: /* backwards */
				time -= log_random(&seed, 1000) < time
					? log_random(&seed, 1 + (unsigned)(time < 1000 ? time : 1000)) : 0;
				break;
			case 1:
				time += UINT64_C(1) << log_random(&seed, 40);
				break;
			default:
				time += log_random(&seed, 2000);
			}
			e.time = time;
			if (!put(&e, data))
				break;
		}
		MUST(count > 3);
		check_round_trip();
	}
}

/* Times from 0 to the maximum. */
TEST(times)
{
	static const uint64_t time[] = { 0, UINT64_MAX, 0, 1, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX, 1, 1, 0,
	                                 UINT64_MAX / 2, 127, 128, 255 };
	struct log_event e = { .id = 64 };

	begin(10000);
	for (unsigned i = 0; i < sizeof time / sizeof time[0]; i++) {
		e.time = time[i];
		MUST(put(&e, NULL));
	}
	check_round_trip();
}

/* Every part of a shape: a change in one of them makes a new shape. */
TEST(shapes)
{
	struct log_event base = { .id = 64, .pid = 1, .tid = 2, .pthread = 3, .address = 4, .length = 8,
	                          .name = "name" }, e;
	uint64_t data = 0;

	begin(100000);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned what = 0; what < 9; what++) {
			e = base;
			switch (what) {
			case 1: e.id++; break;
			case 2: e.truncated = true; break;
			case 3: e.pid++; break;
			case 4: e.tid++; break;
			case 5: e.pthread ^= UINT64_C(1) << 63; break;
			case 6: e.address ^= UINT64_C(1) << 63; break;
			case 7: e.length--; break;
			case 8: strcpy(e.name, "name of fifteen"); break;
			}
			data += 1000;
			MUST(put(&e, &data));
		}
		CHECK_EQ("-", p.shapes, 9);
		CHECK_EQ("-", p.threads, 5);
	}
	check_round_trip();
}

/* The maximum of shapes and threads. One more is refused, and changes nothing. */
TEST(limits)
{
	struct log_event e = { .id = 64, .pid = 1, .tid = 2, .length = 8 };
	uint64_t data = 7;

	begin(1 << 20);
	for (unsigned i = 0; i < PACK_SHAPES; i++, data++) {
		e.address = i;
		MUST(put(&e, &data));
	}
	e.address = PACK_SHAPES;
	CHECK("-", !put(&e, &data));
	CHECK_EQ("-", count, PACK_SHAPES);
	check_round_trip();

	begin(1 << 20);
	e.address = 0;
	for (unsigned i = 0; i < PACK_THREADS; i++, data++) {
		e.tid = i;
		MUST(put(&e, &data));
	}
	MUST(put(&e, &data)); /* a known shape can still be used */
	e.tid = PACK_THREADS;
	CHECK("-", !put(&e, &data));
	CHECK("-", PACK_SHAPES <= SHAPES_MAX && PACK_THREADS <= THREADS_MAX);
	check_round_trip();
}

/* The body is filled up to the last byte. Nothing is written beyond it, and a refused event changes nothing. */
TEST(room)
{
	static unsigned char data[300];
	struct log_event e = { .id = 64, .tid = 1, .time = UINT64_MAX };
	unsigned seed = 2;

	for (uint32_t bytes = 0; bytes < 1500; bytes += 1 + bytes % 7) {
		begin(bytes);
		pack_begin(&p, body, bytes, 0);
		for (;;) {
			uint32_t before = p.position;

			e.length = log_random(&seed, 290);
			e.address = log_random(&seed, 20);
			e.time = e.time ? 0 : UINT64_MAX; /* the longest encoding of a time */
			memset(data, (int)log_random(&seed, 256), sizeof data);
			if (pack_event(&p, &e, data))
				continue;
			CHECK_EQ("-", p.position, before);
			CHECK("-", bytes - before < pack_size_max(e.length));
			/* A smaller event may still fit. */
			e.length = 0;
			CHECK_EQ("-", pack_event(&p, &e, data), bytes - before >= pack_size_max(0));
			break;
		}
		CHECK("-", p.position <= bytes);
	}
}

/*
 * Events without data are removed again with their shapes and threads. Afterwards new events and the same ones again
 * are packed.
 */
TEST(taken_back)
{
	static struct pack before;
	static unsigned char data[100];
	struct pack_point point;
	struct log_event e;

	for (unsigned round = 0; round < 200; round++) {
		unsigned seed = round, n;
		uint64_t time = 1000;

		begin(1 << 15); /* long runs are rare, but each C library has a different rand_r() */
		do {
			log_event_make(&e, data, &seed, 60);
			e.time = time += log_random(&seed, 300) - log_random(&seed, 100);
			MUST(put(&e, data));
		} while (log_random(&seed, 20));
		point = pack_point(&p);
		before = p;
		for (n = log_random(&seed, 40); n > 0; n--) {
			log_event_make(&e, data, &seed, 0);
			e.time = log_random(&seed, 2000);
			e.address += log_random(&seed, 100);
			MUST(pack_event(&p, &e, NULL));
		}
		pack_back(&p, &point);
		CHECK("-", p.position == before.position && p.shapes == before.shapes && p.threads == before.threads &&
		      p.time == before.time);
		CHECK("-", memcmp(p.bucket, before.bucket, sizeof p.bucket) == 0);
		do {
			log_event_make(&e, data, &seed, 60);
			e.time = time += log_random(&seed, 300) - log_random(&seed, 100);
			MUST(put(&e, data));
		} while (log_random(&seed, 20));
		check_round_trip();
	}
}

/* -- Records of a chunk ----------------------------------------------------------------- */

#define RECORDS_BYTES 20000

/* Ends where an unmapped page begins, as does each part of it that begins at a multiple of 8. */
static unsigned char *records_end;
static const struct ticks_line line = { 0, UINT64_MAX, { 1000, 500000 }, 0.37 };
static struct log_event owner = { .pid = 5, .tid = 6, .pthread = 7, .name = "owner" };

/* Puts random records at the end of the memory, and returns where they begin. */
static unsigned char *make_records(unsigned *seed)
{
	unsigned char *at = records_end - RECORDS_BYTES, *from;
	uint64_t ticks = 2000;

	for (from = at; from < records_end; from++)
		*from = (unsigned char)rand_r(seed);
	for (;;) {
		uint32_t length = log_random(seed, 6) ? 7 * log_random(seed, 6) : log_random(seed, 400);
		struct record r = { .length = (uint16_t)length, .type = (uint16_t)(64 + log_random(seed, 5)) };

		if (record_size(length) > (size_t)(records_end - at))
			break;
		if (log_random(seed, 20) == 0)
			r.type = RECORD_TRUNCATED | POSIX_TRACE_START;
		r.ticks = ticks += log_random(seed, log_random(seed, 4) ? 500 : 1000000);
		r.address = 0x1000 + log_random(seed, 3);
		memcpy(at, &r, sizeof r);
		/* Similar data, whatever is behind them. */
		if (log_random(seed, 2))
			memset(at + sizeof r, (int)log_random(seed, 3), length);
		at += record_size(length);
	}
	from = records_end - RECORDS_BYTES + (records_end - at);
	memmove(from, records_end - RECORDS_BYTES, (size_t)(at - (records_end - RECORDS_BYTES)));
	return from;
}

/* Packs one record as an event. */
static bool put_record(struct pack *to, const unsigned char *at, uint64_t least)
{
	struct log_event e = owner;
	struct record r;

	memcpy(&r, at, sizeof r);
	e.id = r.type & RECORD_TYPE_MASK;
	e.truncated = r.type & RECORD_TRUNCATED;
	e.address = r.address;
	e.length = r.length;
	e.time = (uint64_t)anchor_convert(&line.anchor, line.slope, r.ticks) + 1000000;
	if (e.time < least)
		e.time = least;
	return pack_event(to, &e, at + sizeof r);
}

/* Many records at once become the same bytes as one after the other, and take no more room. */
TEST(records)
{
	static struct pack one;
	unsigned char *alone = log_memory(RECORDS_BYTES), *together = log_memory(RECORDS_BYTES);
	uint64_t packed = 0;

	records_end = log_memory(RECORDS_BYTES) + RECORDS_BYTES;
	for (unsigned round = 0; round < 300; round++) {
		unsigned seed = round, many, users, expected;
		uint32_t bytes = round % 2 ? RECORDS_BYTES : 500 + log_random(&seed, 5000);
		uint64_t least = 1500000 + log_random(&seed, 2000);
		const unsigned char *at = make_records(&seed);
		struct record r;

		pack_begin(&one, alone, bytes & ~7u, least);
		pack_begin(&p, together, bytes & ~7u, least);
		while (at < records_end) {
			struct pack_run run = { .owner = &owner, .at = at, .end = records_end, .line = &line,
			                        .offset = 1000000, .least = (int64_t)least };

			memcpy(&r, at, sizeof r);
			run.count = log_random(&seed, 50);
			run.ticks = r.ticks;
			run.limit = r.ticks + log_random(&seed, 3000000);
			many = (round % 4 < 2 ? pack_records : pack_records_plain)(&p, &run);
			packed += many;
			CHECK_OP("-", many, <=, run.count);
			for (users = 0; many > 0; many--) {
				memcpy(&r, at, sizeof r);
				expected = r.type & RECORD_TYPE_MASK;
				users += !eventtype_system(expected);
				CHECK("-", r.ticks <= run.limit && r.length <= PACKED_MAX);
				MUST(put_record(&one, at, least));
				at += record_size(r.length);
			}
			CHECK_EQ("-", users, run.users);
			CHECK("-", at == run.at && (at == records_end || run.ticks <= run.limit));
			if (at == records_end)
				break;
			memcpy(&r, at, sizeof r);
			if (!put_record(&p, at, least)) {
				CHECK("-", !put_record(&one, at, least));
				break;
			}
			MUST(put_record(&one, at, least));
			at += record_size(r.length);
		}
		CHECK("-", p.position == one.position && p.time == one.time && p.shapes == one.shapes);
		CHECK("-", memcmp(together, alone, p.position) == 0);
	}
	CHECK_OP("-", packed, >, 10000); /* most of them, in spite of the small counts */
}

/* H18: with arbitrary bytes, nothing outside of the records is read, and nothing outside of the body is written. */
TEST(records_of_any_bytes)
{
	struct log_event e = { .id = 64, .pid = 5, .tid = 6, .pthread = 7, .name = "owner" };
	unsigned char *to = log_memory(4096);
	static const unsigned char data[256];

	records_end = log_memory(RECORDS_BYTES) + RECORDS_BYTES;
	for (unsigned round = 0; round < 3000; round++) {
		unsigned seed = round;
		unsigned char *from = records_end - 8 * log_random(&seed, 500);
		struct pack_run run = { .owner = &owner, .at = from, .end = records_end, .count = 1000,
		                        .ticks = 0, .limit = UINT64_MAX, .line = &line };

		for (unsigned char *at = from; at < records_end; at++)
			*at = (unsigned char)log_random(&seed, round % 4 ? 2 : 256);
		pack_begin(&p, to, 4096, 0);
		/* Shapes that the bytes may have. */
		for (e.length = 0; e.length <= 256; e.length += e.length ? 255 : 1)
			for (e.address = 0; e.address <= 1; e.address++)
				MUST(pack_event(&p, &e, data));
		CHECK_OP("-", pack_records(&p, &run), <=, 500);
		CHECK("-", p.position <= 4096 && run.at >= from && run.at <= records_end);
	}
}

/* The purpose of packing: an event similar to the previous one takes few bytes. */
TEST(small)
{
	struct log_event e = { .id = 64, .pid = 1234567, .tid = 1234568, .pthread = UINT64_C(0x7f0000001000),
	                       .address = 0x55550000, .length = 8,
	                       .time = LOG_WRITER_CREATED, .name = "thread" };
	uint32_t before;

	begin(1 << 16);
	for (uint64_t i = 0; i < 1000; i++) {
		before = p.position;
		e.time += 100;
		MUST(put(&e, &i));
		/* Shape, time, number of bytes, one or two bytes of data. */
		if (i > 0)
			CHECK_OP("-", p.position - before, <=, 1 + 1 + 1 + 2);
	}
	check_round_trip();

	begin(1 << 16);
	e.length = 0;
	for (uint64_t i = 0; i < 1000; i++) {
		before = p.position;
		e.time += 100;
		MUST(put(&e, NULL));
		if (i > 0)
			CHECK_EQ("-", p.position - before, 2);
	}
}

TEST_MAIN(TEST_ENTRY(all_lengths), TEST_ENTRY(words), TEST_ENTRY(random_events), TEST_ENTRY(times), TEST_ENTRY(shapes),
          TEST_ENTRY(limits), TEST_ENTRY(room), TEST_ENTRY(taken_back), TEST_ENTRY(records),
          TEST_ENTRY(records_of_any_bytes), TEST_ENTRY(small))
