/*
 * take.c - src/record/take.c: which chunk is the next
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/take.h"

#include "base/wait.h"
#include "unit.h"

static struct stream s;
static uint32_t me, other;

/* All chunks held by a living thread that is not busy, full and unread; the first one is the oldest. */
static void begin(int policy)
{
	unit_stream(&s, 32768, 64, policy);
	barrier_register();
	me = unit_tid();
	other = unit_living_thread();
	s.header->state = STATE_RUNNING;
	for (uint32_t i = 0; i < s.seat_count; i++)
		s.seats[i].who = other;
	for (uint32_t i = 0; i < s.chunk_count; i++) {
		struct chunk *c = &s.chunks[i];

		unit_owner(&s, c, other);
		unit_record(&s, c, 1000 + i, 64, NULL, 0);
		c->progress = progress_make(1, s.chunk_size);
		c->owner = (uint64_t)1 << 32 | (i + 1);
	}
}

static uint32_t position_with_room(void)
{
	return s.chunk_size - s.event_size_max;
}

/* A chunk with this property, in turn each of the kinds. */
static void make_empty(struct chunk *c)
{
	c->owner = owner_next(c->owner, 0);
	c->read = progress_records(c->progress);
}

static void make_room(struct chunk *c)
{
	c->owner = owner_next(c->owner, 0);
	c->progress = progress_make(1, position_with_room());
}

static void make_idle(struct chunk *c)
{
	c->progress = progress_make(1, position_with_room());
}

static void make_idle_read(struct chunk *c)
{
	c->read = 1;
}

/* What every chunk that is handed out must be. */
static void check_taken(struct chunk *got, uint32_t want)
{
	if (!got) {
		TEST_FAIL("-", "no chunk, not number %u", want);
		return;
	}
	CHECK_EQ("-", got - s.chunks, want);
	CHECK_EQ("-", got->claim, me);
	CHECK("-", !owner_is(got->owner));
	CHECK("-", progress_position(got->progress) + s.event_size_max <= s.chunk_size);
}

TEST(empty_first)
{
	begin(POSIX_TRACE_UNTIL_FULL);
	make_idle(&s.chunks[1]);
	make_room(&s.chunks[2]);
	make_empty(&s.chunks[4]);
	check_taken(take_chunk(&s, me), 4);
	CHECK_EQ("-", s.chunks[4].first, 1); /* begun anew */
	CHECK_EQ("-", progress_position(s.chunks[4].progress), 0);
	CHECK_EQ("-", s.header->state, STATE_RUNNING); /* nothing was lost */
}

TEST(then_room)
{
	begin(POSIX_TRACE_UNTIL_FULL);
	make_idle(&s.chunks[1]);
	make_idle_read(&s.chunks[2]);
	make_room(&s.chunks[3]);
	check_taken(take_chunk(&s, me), 3);
	/* What is there stays. */
	CHECK_EQ("-", s.chunks[3].first, 0);
	CHECK_EQ("-", chunk_unread(&s.chunks[3], s.chunks[3].progress), 1);
	CHECK_EQ("-", progress_position(s.chunks[3].progress), position_with_room());
	CHECK_EQ("-", s.header->state, STATE_RUNNING);
}

/* Enough room is for the largest event, not one byte less. */
TEST(no_room)
{
	begin(POSIX_TRACE_UNTIL_FULL);
	make_room(&s.chunks[3]);
	s.chunks[3].progress += RECORD_ALIGN;
	CHECK("-", take_chunk(&s, me) == NULL);
	CHECK_EQ("-", s.chunks[3].claim, 0);
}

TEST(then_the_one_idle_for_longest)
{
	for (int policy = POSIX_TRACE_LOOP; policy <= POSIX_TRACE_UNTIL_FULL; policy++) {
		begin(policy);
		make_idle(&s.chunks[5]);
		make_idle(&s.chunks[3]);
		make_idle(&s.chunks[4]);
		check_taken(take_chunk(&s, me), 3);
		CHECK_EQ("-", chunk_unread(&s.chunks[3], s.chunks[3].progress), 1);
		CHECK_EQ("-", s.header->state, STATE_RUNNING);

		/* Also one without room, if it has been read. */
		begin(policy);
		make_idle_read(&s.chunks[6]);
		check_taken(take_chunk(&s, me), 6);
		CHECK_EQ("-", progress_position(s.chunks[6].progress), 0);
		CHECK_EQ("-", s.header->state, STATE_RUNNING);
	}
}

TEST(full)
{
	begin(POSIX_TRACE_UNTIL_FULL);
	CHECK("-", take_chunk(&s, me) == NULL);
	for (uint32_t i = 0; i < s.chunk_count; i++)
		CHECK("-", s.chunks[i].claim == 0 && s.chunks[i].first == 0);
	CHECK_EQ("-", s.header->state, STATE_RUNNING); /* what that means is for the caller to say */
}

TEST(then_the_oldest)
{
	begin(POSIX_TRACE_LOOP);
	s.chunks[7].last_ticks = 1;
	check_taken(take_chunk(&s, me), 7);
	CHECK_EQ("-", s.chunks[7].first, 1);
	CHECK_EQ("-", s.chunks[7].gap_until, 1);
	CHECK_EQ("-", s.header->state, STATE_RUNNING | STATE_FULL | STATE_OVERRUN);
}

/* Where LOOP has overwritten, a busy thread's room is not taken from it. */
TEST(not_the_idle_one_in_a_loop)
{
	begin(POSIX_TRACE_LOOP);
	s.header->state |= STATE_FULL;
	make_idle(&s.chunks[5]);
	check_taken(take_chunk(&s, me), 0);
}

TEST(busy_is_left_alone)
{
	begin(POSIX_TRACE_LOOP);
	s.seats[0].busy = 1;
	s.seats[1].busy = 2;
	check_taken(take_chunk(&s, me), 2);
	CHECK("-", s.chunks[0].owner == ((uint64_t)1 << 32 | 1));
	CHECK("-", s.chunks[0].claim == 0 && s.chunks[1].claim == 0);

	begin(POSIX_TRACE_UNTIL_FULL);
	make_idle(&s.chunks[3]);
	s.seats[3].busy = 4;
	CHECK("-", take_chunk(&s, me) == NULL);
	CHECK_EQ("-", chunk_unread(&s.chunks[3], s.chunks[3].progress), 1);
}

TEST(claimed_is_left_alone)
{
	/* An empty one in somebody's hands: after a while the oldest is overwritten, and not for ever waited. */
	begin(POSIX_TRACE_LOOP);
	make_empty(&s.chunks[4]);
	s.chunks[4].claim = other;
	check_taken(take_chunk(&s, me), 0);
	CHECK_EQ("-", s.chunks[4].claim, other);

	/* In our own, as a handler sees it that interrupts its thread. */
	begin(POSIX_TRACE_UNTIL_FULL);
	make_empty(&s.chunks[4]);
	s.chunks[4].claim = me;
	CHECK("-", take_chunk(&s, me) == NULL);

	begin(POSIX_TRACE_UNTIL_FULL);
	for (uint32_t i = 0; i < s.chunk_count; i++)
		s.chunks[i].claim = other;
	CHECK("-", take_chunk(&s, me) == NULL);
}

TEST(of_the_dead)
{
	begin(POSIX_TRACE_UNTIL_FULL);
	make_empty(&s.chunks[4]);
	s.chunks[4].claim = unit_dead_thread();
	check_taken(take_chunk(&s, me), 4);

	begin(POSIX_TRACE_UNTIL_FULL);
	make_idle(&s.chunks[5]);
	s.seats[5].who = unit_dead_thread();
	s.seats[5].busy = 6;
	check_taken(take_chunk(&s, me), 5);
}

/* The same chunk never in two hands. */
#define TAKERS 4
static uint32_t hands[64];

static void *take_often(void *arg)
{
	uint32_t tid = unit_tid();

	for (int i = 0; i < 3000; i++) {
		struct chunk *c = take_chunk(&s, tid);

		if (!c)
			continue;
		CHECK_EQ("-", fetch_add(&hands[c - s.chunks], 1), 0);
		CHECK_EQ("-", load_relaxed(&c->claim), tid);
		fetch_add(&hands[c - s.chunks], -1u);
		chunk_unclaim(c);
	}
	return NULL;
}

TEST(several_at_once)
{
	pthread_t thread[TAKERS];

	begin(POSIX_TRACE_LOOP);
	MUST(s.chunk_count <= 64);
	for (int i = 0; i < TAKERS; i++)
		MUST(pthread_create(&thread[i], NULL, take_often, NULL) == 0);
	for (int i = 0; i < TAKERS; i++)
		pthread_join(thread[i], NULL);
	for (uint32_t i = 0; i < s.chunk_count; i++)
		CHECK_EQ("-", s.chunks[i].claim, 0);
}

TEST_MAIN(TEST_ENTRY(empty_first), TEST_ENTRY(then_room), TEST_ENTRY(no_room), TEST_ENTRY(then_the_one_idle_for_longest),
          TEST_ENTRY(full), TEST_ENTRY(then_the_oldest), TEST_ENTRY(not_the_idle_one_in_a_loop), TEST_ENTRY(busy_is_left_alone),
          TEST_ENTRY(claimed_is_left_alone), TEST_ENTRY(of_the_dead), TEST_ENTRY(several_at_once))
