/*
 * chunk.c - src/shm/chunk.c: each transition of a chunk, and seats
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/chunk.h"

#include "base/wait.h"
#include "unit.h"

static struct stream s;

static void begin(void)
{
	unit_stream(&s, 16384, 64, POSIX_TRACE_LOOP);
	/* Taking a chunk from a thread needs it. */
	barrier_register();
}

TEST(words)
{
	static const uint32_t value[] = { 0, 1, 77, 0x7fffffff, 0x80000000, UINT32_MAX };

	for (int i = 0; i < 6; i++) {
		for (int j = 0; j < 6; j++) {
			uint64_t p = progress_make(value[i], value[j]);
			uint64_t owner = (uint64_t)value[i] << 32 | value[j], next = owner_next(owner, 9);

			CHECK_EQ("-", progress_records(p), value[i]);
			CHECK_EQ("-", progress_position(p), value[j]);
			CHECK_EQ("-", owner_is(owner), value[j] != 0);
			CHECK_EQ("-", (uint32_t)next, 9);
			CHECK_EQ("-", (uint32_t)(next >> 32), (uint32_t)(value[i] + 1)); /* no word comes twice */
			CHECK("-", !owner_is(owner_next(owner, 0)) && owner_next(owner, 0) != owner);
		}
	}
}

TEST(unread)
{
	struct chunk c = { 0 };

	CHECK_EQ("-", chunk_unread(&c, progress_make(0, 100)), 0);
	CHECK_EQ("-", chunk_unread(&c, progress_make(3, 100)), 3);
	c.read = 2;
	CHECK_EQ("-", chunk_unread(&c, progress_make(3, 100)), 1);
	/* The count of records goes round. */
	c.read = UINT32_MAX;
	CHECK_EQ("-", chunk_unread(&c, progress_make(1, 100)), 2);
}

/* -- Claim ------------------------------------------------------------------- */

TEST(claim)
{
	struct chunk *c;
	uint32_t me = unit_tid(), other = unit_living_thread(), dead = unit_dead_thread();

	begin();
	c = &s.chunks[1];
	CHECK("-", chunk_claim(&s, c, me, false));
	CHECK_EQ("-", c->claim, me);
	CHECK("-", !chunk_claim(&s, c, me, false)); /* a handler that interrupts its own thread */
	CHECK("-", !chunk_claim(&s, c, other, false));
	CHECK_EQ("-", c->claim, me);
	chunk_unclaim(c);
	CHECK_EQ("-", c->claim, 0);
	CHECK("-", chunk_claim(&s, c, other, false));
	CHECK("-", !chunk_claim(&s, c, me, false));
	chunk_unclaim(c);

	c->claim = dead;
	CHECK("-", chunk_claim(&s, c, me, false));
	CHECK_EQ("-", c->claim, me);
}

/* shm/who.h: of a thread of another pid namespace nothing can be told, so it passes for alive. */
TEST(who)
{
	uint32_t me = unit_tid(), dead = unit_dead_thread();

	CHECK_EQ("-", who_make(5, 1, 1), 5);
	CHECK_EQ("-", who_make(5, 1, 2), 5 | WHO_OUTSIDER);
	CHECK_EQ("-", who_make(5, 0, 2), 5); /* not known: as if the same */
	CHECK_EQ("-", who_make(5, 1, 0), 5);
	CHECK("-", who_alive(me, me) && who_alive(unit_living_thread(), 0));
	CHECK("-", !who_alive(dead, me) && !who_alive(dead, 0));
	CHECK("-", who_alive(dead | WHO_OUTSIDER, me));
	CHECK("-", who_alive(dead, me | WHO_OUTSIDER) && who_alive(dead, WHO_OUTSIDER));
}

/* Of a process that has ended and waits to be reaped: its id is still there, so a sure look is needed. */
TEST(claim_of_zombies)
{
	struct unit_child child = unit_child(NULL, NULL);
	struct chunk *c;

	begin();
	c = &s.chunks[1];
	c->claim = (uint32_t)child.pid;
	CHECK("-", !chunk_claim(&s, c, unit_tid(), false) && !chunk_claim(&s, c, unit_tid(), true)); /* it lives */
	close(child.end);
	MUST(waitid(P_PID, (id_t)child.pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) == 0);
	CHECK("-", !chunk_claim(&s, c, unit_tid(), false));
	CHECK("-", chunk_claim(&s, c, unit_tid(), true));
	waitpid(child.pid, NULL, 0);
}

TEST(claim_of_outsiders)
{
	uint32_t me = unit_tid(), dead = unit_dead_thread();
	struct chunk *c;

	begin();
	c = &s.chunks[1];
	c->claim = dead | WHO_OUTSIDER;
	CHECK("-", !chunk_claim(&s, c, me, false));
	c->claim = dead;
	CHECK("-", !chunk_claim(&s, c, me | WHO_OUTSIDER, false)); /* it could be any thread of theirs */
	CHECK_EQ("-", c->claim, dead);
	CHECK("-", chunk_claim(&s, c, me, false));
	chunk_unclaim(c);
	CHECK("-", chunk_claim(&s, c, me | WHO_OUTSIDER, false));
	CHECK("-", !chunk_claim(&s, c, me, false)); /* the same number, another thread */
	chunk_unclaim(c);
}

#define CLAIMERS 4
#define CLAIMS 3000

/*
 * Somebody took the chunk away from its owner and died before he looked whether
 * that was in the middle of a record. Whoever takes the claim over has to.
 */
TEST(claim_of_the_dead_over_a_record)
{
	uint32_t me = unit_tid(), other = unit_living_thread(), dead = unit_dead_thread();
	struct chunk *c;

	begin();
	c = &s.chunks[2];
	s.header->seats_used = 5;
	s.seats[4].who = other;
	s.seats[4].busy = 3;
	c->owner = UINT64_C(8) << 32; /* nobody's */
	c->claim = dead;
	CHECK("-", chunk_claim(&s, c, me, false));
	CHECK_EQ("-", (uint32_t)c->owner, 5);
	CHECK("-", c->owner >> 32 > 8); /* not by a word that it may have */
	CHECK("-", !chunk_revoke(&s, c));
	CHECK_EQ("-", (uint32_t)c->owner, 5);
	chunk_unclaim(c);
	/* It has come out: the chunk is free. */
	s.seats[4].busy = 0;
	CHECK("-", chunk_claim(&s, c, me, false) && chunk_revoke(&s, c));
	chunk_unclaim(c);
	/* One that is dead too does not hold it up. */
	c->owner = UINT64_C(8) << 32;
	s.seats[4].who = dead;
	s.seats[4].busy = 3;
	c->claim = dead;
	CHECK("-", chunk_claim(&s, c, me, false));
	CHECK_EQ("-", (uint32_t)c->owner, 0);
	chunk_unclaim(c);
}

static uint32_t inside, most, claims;

static void *claim_often(void *arg)
{
	for (int i = 0; i < CLAIMS; i++) {
		uint32_t n;

		if (!chunk_claim(&s, arg, unit_tid(), false))
			continue;
		n = fetch_add(&inside, 1) + 1;
		if (n > 1)
			store_relaxed(&most, n);
		fetch_add(&claims, 1);
		fetch_add(&inside, -1u);
		chunk_unclaim(arg);
	}
	return NULL;
}

TEST(claim_excludes)
{
	pthread_t thread[CLAIMERS];

	begin();
	s.chunks[0].claim = unit_dead_thread();
	for (int i = 0; i < CLAIMERS; i++)
		MUST(pthread_create(&thread[i], NULL, claim_often, &s.chunks[0]) == 0);
	for (int i = 0; i < CLAIMERS; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ("-", most, 0);
	CHECK("-", claims > 0);
}

/* -- Revoke and leave ---------------------------------------------------------- */

/* A chunk held by seat 2 of this thread, which is busy there or not. */
static struct chunk *held(uint32_t tid, uint32_t busy)
{
	struct chunk *c = &s.chunks[3];

	s.seats[2].who = tid;
	s.seats[2].busy = busy;
	c->owner = (uint64_t)41 << 32 | (2 + 1);
	c->claim = unit_tid();
	return c;
}

static void check_revoked(struct chunk *c)
{
	uint64_t before = c->owner;

	CHECK("-", chunk_revoke(&s, c));
	CHECK("-", !owner_is(c->owner));
	CHECK("-", c->owner != before);
}

/* As an outsider cannot tell who is dead, it takes nothing from who looks busy. */
TEST(revoke_as_outsider)
{
	struct chunk *c;
	uint64_t before;

	begin();
	s.outsider = WHO_OUTSIDER;
	c = held(unit_dead_thread(), 3 + 1);
	before = c->owner;
	CHECK("-", !chunk_revoke(&s, c));
	CHECK("-", c->owner == before);
	check_revoked(held(unit_dead_thread(), 0));
}

TEST(revoke_nobodys)
{
	begin();
	s.chunks[3].claim = unit_tid();
	CHECK("-", chunk_revoke(&s, &s.chunks[3]));
	CHECK("-", !owner_is(s.chunks[3].owner));
}

TEST(revoke_idle)
{
	begin();
	check_revoked(held(unit_living_thread(), 0));
	check_revoked(held(unit_tid(), 0));
	/* Busy, but elsewhere. */
	check_revoked(held(unit_living_thread(), 3 + 1 + 1));
	/* Never a tenure that was there before. */
	CHECK_EQ("-", s.chunks[3].owner >> 32, 42);
}

TEST(revoke_busy)
{
	struct chunk *c;
	uint64_t before;

	begin();
	c = held(unit_living_thread(), 3 + 1);
	before = c->owner;
	CHECK("-", !chunk_revoke(&s, c));
	CHECK("-", c->owner == before); /* given back as it was: its owner goes on with it */
}

TEST(revoke_dead)
{
	begin();
	check_revoked(held(unit_dead_thread(), 3 + 1));
	check_revoked(held(unit_dead_thread(), 0));
}

/* A word that no writer of ours makes. */
TEST(revoke_nonsense)
{
	begin();
	s.chunks[3].claim = unit_tid();
	s.chunks[3].owner = (uint64_t)1 << 32 | (s.seat_count + 1);
	check_revoked(&s.chunks[3]);
	s.chunks[3].owner = UINT64_MAX;
	check_revoked(&s.chunks[3]);
}

TEST(revoke_in_two_halves)
{
	struct chunk *c;
	uint64_t was, before;

	begin();
	c = held(unit_living_thread(), 3 + 1);
	before = c->owner;
	chunk_withdraw(c, &was);
	CHECK("-", was == before && !owner_is(c->owner));
	CHECK("-", !chunk_withdrawn(&s, c, was));
	chunk_give_back(c, was);
	CHECK("-", c->owner == before);
	s.seats[2].busy = 0;
	chunk_withdraw(c, &was);
	CHECK("-", chunk_withdrawn(&s, c, was));
	CHECK("-", !owner_is(c->owner));
	/* Nobody's: nothing to be given back. */
	before = c->owner;
	chunk_withdraw(c, &was);
	CHECK("-", !owner_is(was) && chunk_withdrawn(&s, c, was));
	chunk_give_back(c, was);
	CHECK("-", c->owner == before);
}

TEST(leave)
{
	struct chunk *c;
	uint64_t mine, others;

	begin();
	c = held(unit_tid(), 0);
	mine = c->owner;
	chunk_leave(c, mine);
	CHECK("-", !owner_is(c->owner) && c->owner != mine);
	others = c->owner = owner_next(c->owner, 9);
	chunk_leave(c, mine); /* it has been taken away meanwhile */
	CHECK("-", c->owner == others);
}

/* -- Revoke, while the owner records ----------------------------------------- */

#define FIRST_TENURE ((uint64_t)1 << 32 | 1) /* of seat 0 */

static uint32_t stop;
static uint64_t written, refused;

/* The writer's half of the protocol of shm/chunk.h: one record is 8 bytes, in turn at 64 places. */
static void *record_for_ever(void *arg)
{
	struct chunk *c = arg;
	struct seat *seat = &s.seats[0];
	uint64_t *memory = (uint64_t *)stream_chunk_memory(&s, c), mine = FIRST_TENURE;

	while (!load_relaxed(&stop)) {
		store_relaxed(&seat->busy, 1);
		fence_signal();
		if (load_relaxed(&c->owner) != mine) {
			store_relaxed(&seat->busy, 0);
			refused++;
			while (!load_relaxed(&stop) && !chunk_claim(&s, c, unit_tid(), false))
				spin_pause();
			if (load_relaxed(&stop))
				break;
			mine = owner_next(load_relaxed(&c->owner), 1);
			store_release(&c->owner, mine);
			chunk_unclaim(c);
			continue;
		}
		store_relaxed(&memory[written % 64], written + 1);
		store_release(&c->progress, load_relaxed(&c->progress) + ((uint64_t)1 << 32));
		store_release(&seat->busy, 0);
		written++;
		/* Or, on one processor, it would nearly always be interrupted while it is busy. */
		for (int i = 0; i < 20; i++)
			spin_pause();
	}
	return NULL;
}

TEST(revoke_while_recording)
{
	int64_t until = unit_now() + 300000000;
	uint64_t copy[64], *memory;
	unsigned revoked = 0, changed = 0, missing = 0;
	pthread_t thread;
	struct chunk *c;

	begin();
	if (!barrier_register())
		SKIP("no membarrier() here");
	c = &s.chunks[0];
	memory = (uint64_t *)stream_chunk_memory(&s, c);
	s.seats[0].who = unit_tid(); /* alive, whichever */
	c->owner = FIRST_TENURE;
	MUST(pthread_create(&thread, NULL, record_for_ever, c) == 0);
	while (unit_now() < until) {
		uint64_t before;

		if (!chunk_claim(&s, c, unit_tid(), false))
			continue;
		if (chunk_revoke(&s, c)) {
			/* From here to the end of the claim nobody writes, and all that was counted is there. */
			before = load_acquire(&c->progress);
			for (int i = 0; i < 64; i++)
				copy[i] = load_relaxed(&memory[i]);
			for (int i = 0; i < 200; i++)
				spin_pause();
			changed += load_relaxed(&c->progress) != before;
			for (int i = 0; i < 64; i++)
				changed += load_relaxed(&memory[i]) != copy[i];
			if (progress_records(before))
				missing += (uint32_t)copy[(progress_records(before) - 1) % 64] != progress_records(before);
			revoked++;
		}
		chunk_unclaim(c);
		sched_yield();
	}
	store_relaxed(&stop, 1);
	pthread_join(thread, NULL);
	CHECK_EQ("-", progress_records(c->progress), (uint32_t)written);
	CHECK_EQ("-", changed, 0);
	CHECK_EQ("-", missing, 0);
	CHECK("-", revoked > 0);
	CHECK("-", refused > 0);
	CHECK("-", written > 0);
}

/* -- Recycle ------------------------------------------------------------------- */

static void check_empty(const struct chunk *c, uint32_t records)
{
	CHECK_EQ("-", progress_position(c->progress), 0);
	CHECK_EQ("-", progress_records(c->progress), records); /* the count goes on */
	CHECK_EQ("-", c->first, records);
	CHECK_EQ("-", c->read, records);
	CHECK_EQ("-", chunk_unread(c, c->progress), 0);
}

TEST(recycle)
{
	struct chunk *c;

	begin();
	c = &s.chunks[2];
	c->claim = unit_tid();
	CHECK_EQ("-", chunk_recycle(&s, c), 0);
	check_empty(c, 0);
	CHECK("-", c->gap_from == 0);

	/* All read: nothing is lost. */
	unit_owner(&s, c, 1);
	for (unsigned i = 0; i < 5; i++)
		unit_record(&s, c, 100 + i, 64, NULL, 0);
	c->read = 5;
	CHECK_EQ("-", chunk_recycle(&s, c), 0);
	check_empty(c, 5);
	CHECK("-", c->gap_from == 0);

	/* Two of five not read; owner records and data in between do not confuse the count. */
	unit_owner(&s, c, 1);
	unit_record(&s, c, 200, 64, "abc", 3);
	unit_record(&s, c, 201, 64, NULL, 0);
	unit_owner(&s, c, 2);
	unit_record(&s, c, 202, 64, "0123456789", 10);
	unit_record(&s, c, 203, 64, NULL, 0);
	unit_owner(&s, c, 3);
	unit_record(&s, c, 204, 64, "x", 1);
	c->read = 5 + 3;
	CHECK_EQ("-", chunk_recycle(&s, c), 2);
	check_empty(c, 10);
	CHECK_EQ("-", c->gap_from, 203);
	CHECK_EQ("-", c->gap_until, 204);

	/* The reader has not looked: the gap only grows. */
	unit_record(&s, c, 300, 64, NULL, 0);
	CHECK_EQ("-", chunk_recycle(&s, c), 1);
	CHECK_EQ("-", c->gap_from, 203);
	CHECK_EQ("-", c->gap_until, 300);

	/* It has looked, and everything was read since: no gap. */
	c->seen = c->first;
	unit_record(&s, c, 400, 64, NULL, 0);
	c->read = 12;
	CHECK_EQ("-", chunk_recycle(&s, c), 0);
	CHECK("-", c->gap_from == 0);
	check_empty(c, 12);

	/* And a new gap begins anew. */
	c->seen = c->first;
	unit_record(&s, c, 500, 64, NULL, 0);
	unit_record(&s, c, 501, 64, NULL, 0);
	CHECK_EQ("-", chunk_recycle(&s, c), 2);
	CHECK_EQ("-", c->gap_from, 500);
	CHECK_EQ("-", c->gap_until, 501);
}

/* The count of records goes round. */
TEST(recycle_wraps)
{
	struct chunk *c;

	begin();
	c = &s.chunks[2];
	c->claim = unit_tid();
	c->first = c->seen = c->read = UINT32_MAX - 1;
	c->progress = progress_make(UINT32_MAX - 1, 0);
	for (unsigned i = 0; i < 4; i++)
		unit_record(&s, c, 600 + i, 64, NULL, 0);
	CHECK_EQ("-", chunk_unread(c, c->progress), 4);
	c->read = 0; /* two of them */
	CHECK_EQ("-", chunk_recycle(&s, c), 2);
	check_empty(c, 2);
	CHECK_EQ("-", c->gap_from, 602);
	CHECK_EQ("-", c->gap_until, 603);
}

/* H18: another process may have written anything there: no record is looked for outside of the chunk. */
TEST(recycle_nonsense)
{
	struct chunk *c;

	begin();
	c = &s.chunks[s.chunk_count - 1];
	c->claim = unit_tid();
	memset(stream_chunk_memory(&s, c), 0xff, s.chunk_size);
	c->progress = progress_make(1000, s.chunk_size);
	CHECK_EQ("-", chunk_recycle(&s, c), 1000);
	check_empty(c, 1000);
	memset(stream_chunk_memory(&s, c), 0x01, s.chunk_size);
	c->progress = progress_make(5000, UINT32_MAX);
	CHECK_EQ("-", chunk_recycle(&s, c), 4000);
	check_empty(c, 5000);
}

/* -- Seats ----------------------------------------------------------------------- */

TEST(seats)
{
	uint32_t me = unit_tid(), other = unit_living_thread(), dead = unit_dead_thread();
	struct seat *seat, *second;

	begin();
	seat = seat_take(&s, me);
	MUST(seat);
	CHECK_EQ("-", seat->who, me);
	CHECK("-", s.header->seats_used > (uint32_t)(seat - s.seats));
	/* Taken just now by whom the asking handler has interrupted: the same one. */
	CHECK("-", seat_take(&s, me) == seat);
	second = seat_take(&s, other);
	MUST(second && second != seat);
	CHECK_EQ("-", second->who, other);
	CHECK("-", s.header->seats_used > (uint32_t)(second - s.seats));

	/* All taken by the living: none. */
	for (uint32_t i = 0; i < s.seat_count; i++)
		s.seats[i].who = other;
	CHECK("-", seat_take(&s, me) == NULL);
	/* One of the dead, which was killed in the middle of a record. */
	s.seats[s.seat_count - 1].who = dead;
	s.seats[s.seat_count - 1].busy = 2;
	seat = seat_take(&s, me);
	CHECK("-", seat == &s.seats[s.seat_count - 1]);
	CHECK_EQ("-", seat->who, me);
	CHECK_EQ("-", seat->busy, 0);
	CHECK_EQ("-", s.header->seats_used, s.seat_count);
	/* As long as there is a free one, the kernel is not asked. */
	s.seats[3].who = dead;
	s.seats[5].who = 0;
	CHECK("-", seat_take(&s, unit_dead_thread() + 1000000) == &s.seats[5]);
}

/* Two namespaces: the same number is not the same thread, and nobody is known to be dead. */
TEST(seats_of_outsiders)
{
	uint32_t me = unit_tid(), dead = unit_dead_thread();
	struct seat *seat;

	begin();
	s.outsider = WHO_OUTSIDER;
	seat = seat_take(&s, me | WHO_OUTSIDER);
	MUST(seat);
	CHECK_EQ("-", seat->who, me | WHO_OUTSIDER);
	CHECK("-", seat_take(&s, me | WHO_OUTSIDER) != seat);
	for (uint32_t i = 0; i < s.seat_count; i++)
		s.seats[i].who = dead | (i % 2 ? WHO_OUTSIDER : 0);
	CHECK("-", seat_take(&s, me | WHO_OUTSIDER) == NULL);
	/* One of the stream's own namespace can tell about its own. */
	s.outsider = 0;
	CHECK("-", seat_take(&s, me) == &s.seats[0]);
	for (uint32_t i = 0; i < s.seat_count; i++)
		s.seats[i].who = dead | WHO_OUTSIDER;
	CHECK("-", seat_take(&s, me) == NULL);
}

#define SITTERS 16

static struct seat *sat[SITTERS];
static uint32_t ready;

static void *sit(void *arg)
{
	sat[(uintptr_t)arg] = seat_take(&s, unit_tid());
	fetch_add(&ready, 1);
	while (load_acquire(&ready) < SITTERS)
		sched_yield(); /* the dead would be replaced */
	return NULL;
}

TEST(seats_differ)
{
	pthread_t thread[SITTERS];

	begin();
	for (uintptr_t i = 0; i < SITTERS; i++)
		MUST(pthread_create(&thread[i], NULL, sit, (void *)i) == 0);
	for (int i = 0; i < SITTERS; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < SITTERS; i++) {
		MUST(sat[i]);
		CHECK("-", (uint32_t)(sat[i] - s.seats) < s.header->seats_used);
		for (int j = 0; j < i; j++)
			CHECK("-", sat[i] != sat[j]);
	}
}

TEST_MAIN(TEST_ENTRY(words), TEST_ENTRY(unread), TEST_ENTRY(claim), TEST_ENTRY(claim_of_the_dead_over_a_record), TEST_ENTRY(who),
          TEST_ENTRY(claim_of_zombies), TEST_ENTRY(claim_of_outsiders), TEST_ENTRY(claim_excludes), TEST_ENTRY(revoke_as_outsider), TEST_ENTRY(revoke_nobodys),
          TEST_ENTRY(revoke_idle), TEST_ENTRY(revoke_busy), TEST_ENTRY(revoke_dead), TEST_ENTRY(revoke_nonsense),
          TEST_ENTRY(revoke_in_two_halves), TEST_ENTRY(leave), TEST_ENTRY(revoke_while_recording), TEST_ENTRY(recycle),
          TEST_ENTRY(recycle_wraps), TEST_ENTRY(recycle_nonsense), TEST_ENTRY(seats),
          TEST_ENTRY(seats_of_outsiders), TEST_ENTRY(seats_differ))
