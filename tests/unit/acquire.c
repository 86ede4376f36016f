/*
 * acquire.c - src/record/acquire.c: which chunk a writer gets next
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/acquire.h"

#include "base/wait.h"
#include "unit.h"

static struct stream s;
static uint32_t me, other;

/* Returns the only event of a chunk. */
static struct record *event_of(struct chunk *c)
{
	return (struct record *)(void *)(stream_chunk_memory(&s, c) + sizeof(struct record_owner));
}

/* Lets the event end at this position. */
static void end_at(struct chunk *c, uint32_t position)
{
	event_of(c)->length = (uint16_t)(position - sizeof(struct record_owner) - sizeof(struct record));
	c->progress = progress_make(1, position);
}

/* All chunks are held by a living thread that is not busy, full and unread. The first chunk is the oldest. */
static void begin(int policy)
{
	unit_stream(&s, 32768, 64, policy);
	barrier_register();
	me = unit_tid();
	other = unit_living_thread();
	s.header->state = STATE_RUNNING;
	for (uint32_t i = 0; i < s.seat_count; i++)
		s.seats[i].ref = other;
	for (uint32_t i = 0; i < s.chunk_count; i++) {
		struct chunk *c = &s.chunks[i];

		unit_owner(&s, c, other);
		unit_record(&s, c, 1000 + i, 64, NULL, 0);
		end_at(c, s.chunk_size);
		c->owner = (uint64_t)1 << 32 | (i + 1);
	}
}

static uint32_t position_with_room(void)
{
	return s.chunk_size - s.event_size_max;
}

/* Each make_*() gives the chunk one property that acquire_chunk() looks for. */
static void make_empty(struct chunk *c)
{
	c->owner = owner_next(c->owner, 0);
	c->read = progress_records(c->progress);
}

static void make_room(struct chunk *c)
{
	c->owner = owner_next(c->owner, 0);
	end_at(c, position_with_room());
}

static void make_idle(struct chunk *c)
{
	end_at(c, position_with_room());
}

static void make_idle_read(struct chunk *c)
{
	c->read = 1;
}

/* Calls acquire_chunk(), and checks the progress that comes with a chunk. */
static struct chunk *acquire(uint32_t ref, bool first)
{
	uint64_t progress;
	struct chunk *c = acquire_chunk(&s, ref, first, &progress);

	if (c)
		CHECK_EQ("-", progress, load_relaxed(&c->progress));
	return c;
}

/* Checks the state that acquire_chunk() leaves a chunk in when it hands it out. */
static void check_taken(struct chunk *got, uint32_t want)
{
	if (!got) {
		TEST_FAIL("-", "no chunk, not number %u", want);
		return;
	}
	CHECK_EQ("-", got - s.chunks, want);
	CHECK_EQ("-", got->lock, me);
	CHECK("-", !owner_is(got->owner));
	CHECK("-", progress_position(got->progress) + s.event_size_max <= s.chunk_size);
}

TEST(empty_first)
{
	begin(POSIX_TRACE_UNTIL_FULL);
	make_idle(&s.chunks[1]);
	make_room(&s.chunks[2]);
	make_empty(&s.chunks[4]);
	check_taken(acquire(me, false), 4);
	CHECK_EQ("-", s.chunks[4].first, 1); /* the old records are gone */
	CHECK_EQ("-", progress_position(s.chunks[4].progress), 0);
	CHECK_EQ("-", s.header->state, STATE_RUNNING); /* nothing was lost */
}

TEST(then_room)
{
	begin(POSIX_TRACE_UNTIL_FULL);
	make_idle(&s.chunks[1]);
	make_idle_read(&s.chunks[2]);
	make_room(&s.chunks[3]);
	check_taken(acquire(me, false), 3);
	/* The records in the chunk stay. */
	CHECK_EQ("-", s.chunks[3].first, 0);
	CHECK_EQ("-", chunk_unread(&s.chunks[3], s.chunks[3].progress), 1);
	CHECK_EQ("-", progress_position(s.chunks[3].progress), position_with_room());
	CHECK_EQ("-", s.header->state, STATE_RUNNING);
}

/* The chunk needs room for the largest event, and not one byte less. */
TEST(no_room)
{
	begin(POSIX_TRACE_UNTIL_FULL);
	make_room(&s.chunks[3]);
	end_at(&s.chunks[3], position_with_room() + RECORD_ALIGN);
	CHECK("-", acquire(me, false) == NULL);
	CHECK_EQ("-", s.chunks[3].lock, 0);
}

TEST(then_the_one_idle_for_longest)
{
	for (int policy = POSIX_TRACE_LOOP; policy <= POSIX_TRACE_UNTIL_FULL; policy++) {
		begin(policy);
		make_idle(&s.chunks[5]);
		make_idle(&s.chunks[3]);
		make_idle(&s.chunks[4]);
		check_taken(acquire(me, false), 3);
		CHECK_EQ("-", chunk_unread(&s.chunks[3], s.chunks[3].progress), 1);
		CHECK_EQ("-", s.header->state, STATE_RUNNING);

		/* A full chunk is acquired too if all of it has been read. */
		begin(policy);
		make_idle_read(&s.chunks[6]);
		check_taken(acquire(me, false), 6);
		CHECK_EQ("-", progress_position(s.chunks[6].progress), 0);
		CHECK_EQ("-", s.header->state, STATE_RUNNING);
	}
}

TEST(full)
{
	begin(POSIX_TRACE_UNTIL_FULL);
	CHECK("-", acquire(me, false) == NULL);
	for (uint32_t i = 0; i < s.chunk_count; i++)
		CHECK("-", s.chunks[i].lock == 0 && s.chunks[i].first == 0);
	CHECK_EQ("-", s.header->state, STATE_RUNNING); /* reporting the loss is up to the caller */
}

TEST(then_the_oldest)
{
	begin(POSIX_TRACE_LOOP);
	s.chunks[7].last_ticks = event_of(&s.chunks[7])->ticks = 1;
	check_taken(acquire(me, false), 7);
	CHECK_EQ("-", s.chunks[7].first, 1);
	CHECK_EQ("-", s.chunks[7].gap_until, 1);
	CHECK_EQ("-", s.header->state, STATE_RUNNING | STATE_FULL | STATE_OVERRUN);
}

/* Where LOOP has overwritten, a chunk with room is not taken from the thread that holds it. */
TEST(not_the_idle_one_in_a_loop)
{
	begin(POSIX_TRACE_LOOP);
	s.header->state |= STATE_FULL;
	make_idle(&s.chunks[5]);
	check_taken(acquire(me, false), 0);
}

TEST(busy_is_left_alone)
{
	begin(POSIX_TRACE_LOOP);
	s.seats[0].busy = 1;
	s.seats[1].busy = 2;
	check_taken(acquire(me, false), 2);
	CHECK("-", s.chunks[0].owner == ((uint64_t)1 << 32 | 1));
	CHECK("-", s.chunks[0].lock == 0 && s.chunks[1].lock == 0);

	begin(POSIX_TRACE_UNTIL_FULL);
	make_idle(&s.chunks[3]);
	s.seats[3].busy = 4;
	CHECK("-", acquire(me, false) == NULL);
	CHECK_EQ("-", chunk_unread(&s.chunks[3], s.chunks[3].progress), 1);
}

TEST(locked_is_left_alone)
{
	/*
	 * While another thread has the lock of an empty chunk: the acquirer gives up after a while and overwrites
	 * the oldest.
	 */
	begin(POSIX_TRACE_LOOP);
	make_empty(&s.chunks[4]);
	s.chunks[4].lock = other;
	check_taken(acquire(me, false), 0);
	CHECK_EQ("-", s.chunks[4].lock, other);

	/* While the calling thread has the lock itself, as a signal handler finds it. */
	begin(POSIX_TRACE_UNTIL_FULL);
	make_empty(&s.chunks[4]);
	s.chunks[4].lock = me;
	CHECK("-", acquire(me, false) == NULL);

	begin(POSIX_TRACE_UNTIL_FULL);
	for (uint32_t i = 0; i < s.chunk_count; i++)
		s.chunks[i].lock = other;
	CHECK("-", acquire(me, false) == NULL);
}

TEST(of_the_dead)
{
	begin(POSIX_TRACE_UNTIL_FULL);
	make_empty(&s.chunks[4]);
	s.chunks[4].lock = unit_dead_thread();
	check_taken(acquire(me, false), 4);

	begin(POSIX_TRACE_UNTIL_FULL);
	make_idle(&s.chunks[5]);
	s.seats[5].ref = unit_dead_thread();
	s.seats[5].busy = 6;
	check_taken(acquire(me, false), 5);
}

/*
 * Where LOOP has overwritten, a new writer takes a chunk with room before the oldest one if its owner is dead, or
 * was the caller before it executed its file.
 */
TEST(abandoned)
{
	for (int by = 0; by < 2; by++) {
		for (int first = 0; first < 2; first++) {
			begin(POSIX_TRACE_LOOP);
			s.header->state |= STATE_FULL;
			make_idle(&s.chunks[2]);
			make_idle(&s.chunks[5]);
			s.seats[5].ref = by ? me : unit_dead_thread();
			check_taken(acquire(me, first), first ? 5 : 0);
			CHECK_EQ("-", chunk_unread(&s.chunks[5], s.chunks[5].progress), 1);
			CHECK_EQ("-", s.header->state & STATE_OVERRUN, first ? 0 : STATE_OVERRUN);
		}
	}
}

/* A chunk is never acquired by two threads at the same time. */
#define ACQUIRERS 4
static uint32_t hands[64];

static void *take_often(void *arg)
{
	uint32_t tid = unit_tid();

	for (int i = 0; i < 3000; i++) {
		struct chunk *c = acquire(tid, i % 2);

		if (!c)
			continue;
		CHECK_EQ("-", fetch_add(&hands[c - s.chunks], 1), 0);
		CHECK_EQ("-", load_relaxed(&c->lock), tid);
		fetch_add(&hands[c - s.chunks], -1u);
		chunk_unlock(c);
	}
	return NULL;
}

TEST(several_at_once)
{
	pthread_t thread[ACQUIRERS];

	begin(POSIX_TRACE_LOOP);
	MUST(s.chunk_count <= 64);
	for (int i = 0; i < ACQUIRERS; i++)
		MUST(pthread_create(&thread[i], NULL, take_often, NULL) == 0);
	for (int i = 0; i < ACQUIRERS; i++)
		pthread_join(thread[i], NULL);
	for (uint32_t i = 0; i < s.chunk_count; i++)
		CHECK_EQ("-", s.chunks[i].lock, 0);
}

TEST_MAIN(TEST_ENTRY(empty_first), TEST_ENTRY(then_room), TEST_ENTRY(no_room),
          TEST_ENTRY(then_the_one_idle_for_longest), TEST_ENTRY(full), TEST_ENTRY(then_the_oldest),
          TEST_ENTRY(not_the_idle_one_in_a_loop), TEST_ENTRY(busy_is_left_alone), TEST_ENTRY(locked_is_left_alone),
          TEST_ENTRY(of_the_dead), TEST_ENTRY(abandoned), TEST_ENTRY(several_at_once))
