/*
 * emit.c - src/record/emit.c: one event into one stream, the slow path
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/emit.h"

#include "unit.h"

#define ADDRESS ((void *)0x1234)

static struct stream s;
static struct owner_id w;

static void begin(uint64_t size, uint32_t data_size, int policy, uint32_t state)
{
	unit_stream(&s, size, data_size, policy);
	s.header->state = state;
	w = (struct owner_id){ .pid = 21, .tid = unit_tid(), .pthread = 23, .name = "unit-emit" };
}

static uint32_t records(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s.chunk_count; i++)
		n += progress_records(s.chunks[i].progress);
	return n;
}

/* Returns the only chunk that has records. */
static struct chunk *written(void)
{
	struct chunk *c = NULL;

	for (uint32_t i = 0; i < s.chunk_count; i++) {
		if (progress_records(s.chunks[i].progress) == 0)
			continue;
		MUST(!c);
		c = &s.chunks[i];
	}
	MUST(c);
	return c;
}

static bool emit(bool always, trace_event_id_t id, const void *data, size_t length)
{
	const struct call call = { id, data, length, ADDRESS };

	return emit_alone(&s, &w, always, &call);
}

TEST(bytes)
{
	const struct record_owner *owner;
	const struct record *r;
	uint64_t before, after;
	struct chunk *c;

	begin(16384, 64, POSIX_TRACE_LOOP, STATE_RUNNING);
	before = ticks_read(s.clock_kind);
	CHECK("-", emit(false, 100, "hello", 5));
	after = ticks_read(s.clock_kind);
	c = written();
	CHECK_EQ("-", c->lock, 0);
	CHECK("-", !owner_is(c->owner));
	CHECK_EQ("-", progress_records(c->progress), 1);
	CHECK_EQ("-", progress_position(c->progress), sizeof *owner + record_size(5));
	owner = (const struct record_owner *)stream_chunk_memory(&s, c);
	CHECK_EQ("-", owner->type, RECORD_OWNER);
	CHECK("-", owner->pid == 21 && owner->tid == w.tid && owner->thread == 23);
	CHECK_STR("-", owner->name, "unit-emit");
	r = (const struct record *)(owner + 1);
	CHECK_EQ("-", r->type, 100);
	CHECK_EQ("-", r->length, 5);
	CHECK("-", memcmp(r + 1, "hello", 5) == 0);
	CHECK("-", r->address == 0x1234);
	CHECK("-", before <= r->ticks && r->ticks <= after);
	CHECK("-", c->last_ticks == r->ticks);
}

static const struct record *last_record(void)
{
	const struct chunk *c = written();

	return (const struct record *)(stream_chunk_memory(&s, c) + sizeof(struct record_owner));
}

TEST(lengths)
{
	unsigned char data[300];

	for (unsigned i = 0; i < sizeof data; i++)
		data[i] = (unsigned char)(i * 7 + 1);
	for (uint32_t length = 0; length <= sizeof data; length++) {
		uint32_t kept = length < 200 ? length : 200;

		begin(16384, 200, POSIX_TRACE_LOOP, STATE_RUNNING);
		CHECK("-", emit(false, 64, data, length));
		CHECK_EQ("-", last_record()->length, kept);
		CHECK("-", memcmp(last_record() + 1, data, kept) == 0);
		CHECK_EQ("-", last_record()->type, 64 | (length > 200 ? RECORD_TRUNCATED : 0));
		stream_unmap(&s);
	}
	begin(16384, 64, POSIX_TRACE_LOOP, STATE_RUNNING);
	CHECK("-", emit(false, 64, NULL, 50)); /* nothing to copy */
	CHECK_EQ("-", last_record()->length, 0);
	CHECK_EQ("-", last_record()->type, 64);

	/* Data of system events is never truncated. */
	begin(16384, 0, POSIX_TRACE_LOOP, STATE_RUNNING);
	CHECK("-", emit(false, POSIX_TRACE_FILTER, data, 300));
	CHECK_EQ("-", last_record()->length, 300);
	CHECK_EQ("-", last_record()->type, POSIX_TRACE_FILTER);
}

TEST(states)
{
	/* Suspended by posix_trace_stop(): nothing is recorded and nothing is lost. */
	begin(16384, 64, POSIX_TRACE_LOOP, 0);
	CHECK("-", emit(false, 64, NULL, 0));
	CHECK_EQ("-", records(), 0);
	CHECK_EQ("-", s.header->lost, 0);
	CHECK_EQ("-", s.header->state, 0);
	for (uint32_t i = 0; i < s.chunk_count; i++)
		CHECK_EQ("-", s.chunks[i].lock, 0);

	/* START is recorded before the stream runs, and STOP when it no longer runs. */
	CHECK("-", emit(true, POSIX_TRACE_START, NULL, 0));
	CHECK_EQ("-", records(), 1);

	/* Stopped by itself: the event is lost, and counted. */
	begin(16384, 64, POSIX_TRACE_UNTIL_FULL, STATE_FULL | STATE_ARMED | STATE_LOSING);
	CHECK("-", emit(false, 64, NULL, 0));
	CHECK_EQ("-", records(), 0);
	CHECK_EQ("-", s.header->lost, 1);
	CHECK_EQ("-", s.header->state, STATE_FULL | STATE_ARMED | STATE_LOSING | STATE_OVERRUN);

	/* A call has disabled the automatic restart. As long as the stream is full, events are lost. */
	begin(16384, 64, POSIX_TRACE_UNTIL_FULL, STATE_FULL | STATE_LOSING);
	CHECK("-", emit(false, 64, NULL, 0));
	CHECK_EQ("-", records(), 0);
	CHECK_EQ("-", s.header->lost, 1);
	CHECK_EQ("-", s.header->state, STATE_FULL | STATE_LOSING | STATE_OVERRUN);
}

/* Checks that a stream has room for as many bytes of events as its attributes ask for, whatever the sizes. */
static void check_capacity(uint64_t size, uint32_t data_size, unsigned seed)
{
	static unsigned char data[RECORD_DATA_MAX];
	uint64_t sum = 0;
	struct attr a;
	uint32_t n = 0;

	begin(size, data_size, POSIX_TRACE_UNTIL_FULL, STATE_RUNNING);
	unit_attr(&a, size, data_size, 0);
	for (;;) {
		uint32_t length = seed == 0 ? data_size : seed == 1 ? 0
			: (uint32_t)(rand_r(&seed) % (int)(data_size + 1));

		if (!emit(false, 64, data, length)) {
			sum += attr_user_event_size(&a, length); /* the refused event need not have fitted */
			break;
		}
		sum += attr_user_event_size(&a, length);
		n++;
	}
	CHECK_EQ("-", records(), n);
	CHECK("ATTR-49", sum > s.header->stream_size);
	CHECK("-", s.header->stream_size >= size);
	CHECK_EQ("-", s.header->lost, 0);
	stream_unmap(&s);
}

TEST(capacity)
{
	static const uint64_t size[] = { 0, 1, 1000, 4096, 10000, 65536, 300000 };
	static const uint32_t data_size[] = { 0, 8, 100, 1024, 5000 };

	for (unsigned i = 0; i < sizeof size / sizeof size[0]; i++)
		for (unsigned d = 0; d < sizeof data_size / sizeof data_size[0]; d++)
			for (unsigned seed = 0; seed < 4; seed++)
				check_capacity(size[i], data_size[d], seed);
}

TEST(loop)
{
	struct chunk *c;
	uint64_t lost = 0;

	begin(4096, 64, POSIX_TRACE_LOOP, STATE_RUNNING);
	for (int i = 0; i < 10000; i++)
		CHECK("-", emit(false, 64, &i, sizeof i));
	for (c = s.chunks; c < s.chunks + s.chunk_count; c++)
		lost += c->read; /* counted as read by the writer: the test has no reader */
	CHECK("-", lost > 0);
	CHECK_EQ("-", records(), 10000);
	CHECK_EQ("-", s.header->state, STATE_RUNNING | STATE_FULL | STATE_OVERRUN);
	CHECK_EQ("-", s.header->lost, 0); /* overwritten events are counted by the chunks */
}

/* -- Full ---------------------------------------------------------------------- */

TEST(until_full)
{
	uint64_t before, after, stopped;

	begin(4096, 64, POSIX_TRACE_UNTIL_FULL, STATE_RUNNING);
	before = ticks_read(s.clock_kind);
	emit_full(&s);
	after = ticks_read(s.clock_kind);
	stopped = s.header->stopped_ticks;
	CHECK_EQ("-", s.header->state, STATE_FULL | STATE_ARMED | STATE_LOSING | STATE_OVERRUN);
	CHECK("-", before <= stopped && stopped <= after);
	CHECK_EQ("-", s.header->lost, 1);

	/* A little later in another thread: its event is lost as well, and the time of the stop stays. */
	emit_full(&s);
	CHECK_EQ("-", s.header->state, STATE_FULL | STATE_ARMED | STATE_LOSING | STATE_OVERRUN);
	CHECK("-", s.header->stopped_ticks == stopped);
	CHECK_EQ("-", s.header->lost, 2);
}

TEST(full_and_stopped)
{
	begin(4096, 64, POSIX_TRACE_UNTIL_FULL, STATE_FULL);
	emit_full(&s);
	CHECK_EQ("-", s.header->state, STATE_FULL);
	CHECK_EQ("-", s.header->lost, 0);
	CHECK("-", s.header->stopped_ticks == 0);
}

/* Under LOOP something can always be overwritten, if not just now: the stream keeps running. */
TEST(full_loop)
{
	begin(4096, 64, POSIX_TRACE_LOOP, STATE_RUNNING);
	emit_full(&s);
	CHECK_EQ("-", s.header->state, STATE_RUNNING | STATE_OVERRUN);
	CHECK_EQ("-", s.header->lost, 1);
	CHECK("-", s.header->stopped_ticks == 0);
}

/* -- Readers that sleep --------------------------------------------------------- */

TEST(wakes)
{
	begin(4096, 64, POSIX_TRACE_UNTIL_FULL, STATE_RUNNING);
	CHECK("-", emit(false, 64, NULL, 0));
	CHECK_EQ("-", s.header->wakeups, 0); /* no sleeping reader: the word is not written */
	s.header->waiting = 1;
	CHECK("-", emit(false, 64, NULL, 0));
	CHECK_EQ("-", s.header->wakeups, 1);
	CHECK_EQ("-", s.header->waiting, 0);
	CHECK("-", emit(false, 64, NULL, 0));
	CHECK_EQ("-", s.header->wakeups, 1);
	s.header->waiting = 1;
	emit_full(&s); /* the automatic STOP can be read now */
	CHECK_EQ("-", s.header->wakeups, 2);
	CHECK_EQ("-", s.header->waiting, 0);
	CHECK("-", emit(false, 64, NULL, 0));
	CHECK_EQ("-", s.header->wakeups, 2);
}

TEST_MAIN(TEST_ENTRY(bytes), TEST_ENTRY(lengths), TEST_ENTRY(states), TEST_ENTRY(capacity), TEST_ENTRY(loop),
          TEST_ENTRY(until_full), TEST_ENTRY(full_and_stopped), TEST_ENTRY(full_loop), TEST_ENTRY(wakes))
