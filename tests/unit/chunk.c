/*
 * chunk.c - src/shm/chunk.c: each transition of a chunk, and seats
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/chunk.h"

#include "base/invariant.h"
#include "base/wait.h"
#include "unit.h"

static struct stream s;

/* -- Invariants: those that tests break on purpose ---------------------------- */

static bool breaks;
static unsigned broken;

void invariant_broken(const char *what)
{
	if (!breaks)
		TEST_FAIL("-", "%s", what);
	broken++;
}

static void begin(void)
{
	unit_stream(&s, 16384, 64, POSIX_TRACE_LOOP);
	/* chunk_revoke() needs the barrier. */
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
			CHECK_EQ("-", (uint32_t)(next >> 32), (uint32_t)(value[i] + 1)); /* the generation counts up,
			                                                                  * so no owner word is used
			                                                                  * twice */
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
	/* The count of records wraps. */
	c.read = UINT32_MAX;
	CHECK_EQ("-", chunk_unread(&c, progress_make(1, 100)), 2);
}

/* -- Lock ------------------------------------------------------------------- */

TEST(lock)
{
	struct chunk *c;
	uint32_t me = unit_tid(), other = unit_living_thread(), dead = unit_dead_thread();

	begin();
	c = &s.chunks[1];
	CHECK("-", chunk_trylock(&s, c, me, false));
	CHECK_EQ("-", c->lock, me);
	CHECK("-", !chunk_trylock(&s, c, me, false)); /* as for a handler that interrupts its own thread */
	CHECK("-", !chunk_trylock(&s, c, other, false));
	CHECK_EQ("-", c->lock, me);
	chunk_unlock(c);
	CHECK_EQ("-", c->lock, 0);
	CHECK("-", chunk_trylock(&s, c, other, false));
	CHECK("-", !chunk_trylock(&s, c, me, false));
	chunk_unlock(c);

	c->lock = dead;
	CHECK("-", chunk_trylock(&s, c, me, false));
	CHECK_EQ("-", c->lock, me);
}

/* host/thread_ref.h: a thread of another pid namespace cannot be probed, so it counts as alive. */
TEST(ref)
{
	uint32_t me = unit_tid(), dead = unit_dead_thread();

	CHECK_EQ("-", thread_ref_make(5, 1, 1), 5);
	CHECK_EQ("-", thread_ref_make(5, 1, 2), 5 | THREAD_REF_OUTSIDER);
	CHECK_EQ("-", thread_ref_make(5, 0, 2), 5); /* an unknown namespace counts as the same */
	CHECK_EQ("-", thread_ref_make(5, 1, 0), 5);
	CHECK("-", thread_ref_alive(me, me) && thread_ref_alive(unit_living_thread(), 0));
	CHECK("-", !thread_ref_alive(dead, me) && !thread_ref_alive(dead, 0));
	CHECK("-", thread_ref_alive(dead | THREAD_REF_OUTSIDER, me));
	CHECK("-", thread_ref_alive(dead, me | THREAD_REF_OUTSIDER) && thread_ref_alive(dead, THREAD_REF_OUTSIDER));
}

/* A zombie's thread id still exists, so only a thorough check finds that the thread is dead. */
TEST(lock_of_zombies)
{
	struct unit_child child = unit_child(NULL, NULL);
	struct chunk *c;

	begin();
	c = &s.chunks[1];
	c->lock = (uint32_t)child.pid;
	/* The child is alive. */
	CHECK("-", !chunk_trylock(&s, c, unit_tid(), false) && !chunk_trylock(&s, c, unit_tid(), true));
	close(child.end);
	MUST(waitid(P_PID, (id_t)child.pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT) == 0);
	CHECK("-", !chunk_trylock(&s, c, unit_tid(), false));
	CHECK("-", chunk_trylock(&s, c, unit_tid(), true));
	waitpid(child.pid, NULL, 0);
}

TEST(lock_of_outsiders)
{
	uint32_t me = unit_tid(), dead = unit_dead_thread();
	struct chunk *c;

	begin();
	c = &s.chunks[1];
	c->lock = dead | THREAD_REF_OUTSIDER;
	CHECK("-", !chunk_trylock(&s, c, me, false));
	c->lock = dead;
	CHECK("-", !chunk_trylock(&s, c, me | THREAD_REF_OUTSIDER, false)); /* could be a live thread of the other
	                                                                     * namespace */
	CHECK_EQ("-", c->lock, dead);
	CHECK("-", chunk_trylock(&s, c, me, false));
	chunk_unlock(c);
	CHECK("-", chunk_trylock(&s, c, me | THREAD_REF_OUTSIDER, false));
	CHECK("-", !chunk_trylock(&s, c, me, false)); /* same number, different thread */
	chunk_unlock(c);
}

#define LOCKERS 4
#define LOCKS 3000

/*
 * A thread revoked the chunk and died before it checked whether the owner was in the middle of a record. The thread
 * that takes over the lock makes that check.
 */
TEST(lock_of_the_dead_over_a_record)
{
	uint32_t me = unit_tid(), other = unit_living_thread(), dead = unit_dead_thread();
	struct chunk *c;

	begin();
	c = &s.chunks[2];
	s.header->seats_used = 5;
	s.seats[4].ref = other;
	s.seats[4].busy = 3;
	c->owner = UINT64_C(8) << 32; /* no owner */
	c->lock = dead;
	CHECK("-", chunk_trylock(&s, c, me, false));
	CHECK_EQ("-", (uint32_t)c->owner, 5);
	CHECK("-", c->owner >> 32 > 8); /* with a new generation: the dead thread may have handed out the old one */
	CHECK("-", !chunk_revoke(&s, c));
	CHECK_EQ("-", (uint32_t)c->owner, 5);
	chunk_unlock(c);
	/* The owner has finished its record: the chunk can be revoked. */
	s.seats[4].busy = 0;
	CHECK("-", chunk_trylock(&s, c, me, false) && chunk_revoke(&s, c));
	chunk_unlock(c);
	/* A dead owner does not prevent the chunk from being revoked. */
	c->owner = UINT64_C(8) << 32;
	s.seats[4].ref = dead;
	s.seats[4].busy = 3;
	c->lock = dead;
	CHECK("-", chunk_trylock(&s, c, me, false));
	CHECK_EQ("-", (uint32_t)c->owner, 0);
	chunk_unlock(c);
}

static uint32_t inside, most, locks;

static void *claim_often(void *arg)
{
	for (int i = 0; i < LOCKS; i++) {
		uint32_t n;

		if (!chunk_trylock(&s, arg, unit_tid(), false))
			continue;
		n = fetch_add(&inside, 1) + 1;
		if (n > 1)
			store_relaxed(&most, n);
		fetch_add(&locks, 1);
		fetch_add(&inside, -1u);
		chunk_unlock(arg);
	}
	return NULL;
}

TEST(lock_excludes)
{
	pthread_t thread[LOCKERS];

	begin();
	s.chunks[0].lock = unit_dead_thread();
	for (int i = 0; i < LOCKERS; i++)
		MUST(pthread_create(&thread[i], NULL, claim_often, &s.chunks[0]) == 0);
	for (int i = 0; i < LOCKERS; i++)
		pthread_join(thread[i], NULL);
	CHECK_EQ("-", most, 0);
	CHECK("-", locks > 0);
}

/* -- Revoke and leave ---------------------------------------------------------- */

/* Returns a chunk held by seat 2, which belongs to tid. busy is the value of the seat's busy word. */
static struct chunk *held(uint32_t tid, uint32_t busy)
{
	struct chunk *c = &s.chunks[3];

	s.seats[2].ref = tid;
	s.seats[2].busy = busy;
	c->owner = (uint64_t)41 << 32 | (2 + 1);
	c->lock = unit_tid();
	return c;
}

static void check_revoked(struct chunk *c)
{
	uint64_t before = c->owner;

	CHECK("-", chunk_revoke(&s, c));
	CHECK("-", !owner_is(c->owner));
	CHECK("-", c->owner != before);
}

/* An outsider cannot tell whether a thread is dead, so it does not revoke a chunk whose owner looks busy. */
TEST(revoke_as_outsider)
{
	struct chunk *c;
	uint64_t before;

	begin();
	s.outsider = THREAD_REF_OUTSIDER;
	c = held(unit_dead_thread(), 3 + 1);
	before = c->owner;
	CHECK("-", !chunk_revoke(&s, c));
	CHECK("-", c->owner == before);
	check_revoked(held(unit_dead_thread(), 0));
}

TEST(revoke_nobodys)
{
	begin();
	s.chunks[3].lock = unit_tid();
	CHECK("-", chunk_revoke(&s, &s.chunks[3]));
	CHECK("-", !owner_is(s.chunks[3].owner));
}

TEST(revoke_idle)
{
	begin();
	check_revoked(held(unit_living_thread(), 0));
	check_revoked(held(unit_tid(), 0));
	/* Busy with a different chunk. */
	check_revoked(held(unit_living_thread(), 3 + 1 + 1));
	/* The generation is always a new one. */
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
	CHECK("-", c->owner == before); /* given back unchanged, for its owner to continue */
}

TEST(revoke_dead)
{
	begin();
	check_revoked(held(unit_dead_thread(), 3 + 1));
	check_revoked(held(unit_dead_thread(), 0));
}

/* An owner word that no writer makes. */
TEST(revoke_nonsense)
{
	begin();
	s.chunks[3].lock = unit_tid();
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
	/* Without an owner there is nothing to give back. */
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
	chunk_leave(c, mine); /* the chunk has been revoked meanwhile */
	CHECK("-", c->owner == others);
}

/* -- Revoke, while the owner records ----------------------------------------- */

#define FIRST_GENERATION ((uint64_t)1 << 32 | 1) /* of seat 0 */

static uint32_t stop;
static uint64_t written, refused;

/* The writer's side of the protocol in shm/chunk.h. A record is 8 bytes, written to each of 64 places in turn. */
static void *record_for_ever(void *arg)
{
	struct chunk *c = arg;
	struct seat *seat = &s.seats[0];
	uint64_t *memory = (uint64_t *)stream_chunk_memory(&s, c), mine = FIRST_GENERATION;

	while (!load_relaxed(&stop)) {
		store_relaxed(&seat->busy, 1);
		fence_signal();
		if (load_relaxed(&c->owner) != mine) {
			store_relaxed(&seat->busy, 0);
			refused++;
			while (!load_relaxed(&stop) && !chunk_trylock(&s, c, unit_tid(), false))
				spin_pause();
			if (load_relaxed(&stop))
				break;
			mine = owner_next(load_relaxed(&c->owner), 1);
			store_release(&c->owner, mine);
			chunk_unlock(c);
			continue;
		}
		store_relaxed(&memory[written % 64], written + 1);
		store_release(&c->progress, load_relaxed(&c->progress) + ((uint64_t)1 << 32));
		store_release(&seat->busy, 0);
		written++;
		/* Without the pause, a preemption on a single processor would nearly always find the thread busy. */
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

	breaks = true; /* these records have no ticks and no end */
	begin();
	if (!barrier_register())
		SKIP("no membarrier() here");
	c = &s.chunks[0];
	memory = (uint64_t *)stream_chunk_memory(&s, c);
	s.seats[0].ref = unit_tid(); /* any thread that is alive */
	c->owner = FIRST_GENERATION;
	MUST(pthread_create(&thread, NULL, record_for_ever, c) == 0);
	while (unit_now() < until) {
		uint64_t before;

		if (!chunk_trylock(&s, c, unit_tid(), false))
			continue;
		if (chunk_revoke(&s, c)) {
			/*
			 * From here until the lock is released the owner cannot write, and all counted records are
			 * complete.
			 */
			before = load_acquire(&c->progress);
			for (int i = 0; i < 64; i++)
				copy[i] = load_relaxed(&memory[i]);
			for (int i = 0; i < 200; i++)
				spin_pause();
			changed += load_relaxed(&c->progress) != before;
			for (int i = 0; i < 64; i++)
				changed += load_relaxed(&memory[i]) != copy[i];
			if (progress_records(before))
				missing += (uint32_t)copy[(progress_records(before) - 1) % 64] !=
					progress_records(before);
			revoked++;
		}
		chunk_unlock(c);
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
	CHECK_EQ("-", progress_records(c->progress), records); /* the count is not reset */
	CHECK_EQ("-", c->first, records);
	CHECK_EQ("-", c->read, records);
	CHECK_EQ("-", chunk_unread(c, c->progress), 0);
}

TEST(recycle)
{
	struct chunk *c;

	begin();
	c = &s.chunks[2];
	c->lock = unit_tid();
	CHECK_EQ("-", chunk_recycle(&s, c), 0);
	check_empty(c, 0);
	CHECK("-", c->gap_from == 0);

	/* All records were read: no loss. */
	unit_owner(&s, c, 1);
	for (unsigned i = 0; i < 5; i++)
		unit_record(&s, c, 100 + i, 64, NULL, 0);
	c->read = 5;
	CHECK_EQ("-", chunk_recycle(&s, c), 0);
	check_empty(c, 5);
	CHECK("-", c->gap_from == 0);

	/* Two of the five events were not read. Owner records and data between them are not counted. */
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

	/* The reader has not looked since: the gap grows. */
	unit_record(&s, c, 300, 64, NULL, 0);
	CHECK_EQ("-", chunk_recycle(&s, c), 1);
	CHECK_EQ("-", c->gap_from, 203);
	CHECK_EQ("-", c->gap_until, 300);

	/* The reader has seen the gap and read everything since: no gap. */
	c->seen = c->first;
	unit_record(&s, c, 400, 64, NULL, 0);
	c->read = 12;
	CHECK_EQ("-", chunk_recycle(&s, c), 0);
	CHECK("-", c->gap_from == 0);
	check_empty(c, 12);

	/* After that a new gap begins. */
	c->seen = c->first;
	unit_record(&s, c, 500, 64, NULL, 0);
	unit_record(&s, c, 501, 64, NULL, 0);
	CHECK_EQ("-", chunk_recycle(&s, c), 2);
	CHECK_EQ("-", c->gap_from, 500);
	CHECK_EQ("-", c->gap_until, 501);
}

/* The count of records wraps. */
TEST(recycle_wraps)
{
	struct chunk *c;

	begin();
	c = &s.chunks[2];
	c->lock = unit_tid();
	c->first = c->seen = c->read = UINT32_MAX - 1;
	c->progress = progress_make(UINT32_MAX - 1, 0);
	for (unsigned i = 0; i < 4; i++)
		unit_record(&s, c, 600 + i, 64, NULL, 0);
	CHECK_EQ("-", chunk_unread(c, c->progress), 4);
	c->read = 0; /* two of them were read */
	CHECK_EQ("-", chunk_recycle(&s, c), 2);
	check_empty(c, 2);
	CHECK_EQ("-", c->gap_from, 602);
	CHECK_EQ("-", c->gap_until, 603);
}

/* H18: another process may have written anything to the chunk. Records are never looked for outside of it. */
TEST(recycle_nonsense)
{
	struct chunk *c;

	begin();
	c = &s.chunks[s.chunk_count - 1];
	c->lock = unit_tid();
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
	seat = seat_acquire(&s, me);
	MUST(seat);
	CHECK_EQ("-", seat->ref, me);
	CHECK("-", s.header->seats_used > (uint32_t)(seat - s.seats));
	/* A handler that interrupts seat_acquire() just after it took a seat gets the same seat. */
	CHECK("-", seat_acquire(&s, me) == seat);
	/* A further seat of this thread is none of those that it has, nor one where it is in the middle of a record. */
	second = seat_acquire_further(&s, me, &seat, 1);
	MUST(second && second != seat);
	CHECK_EQ("-", second->ref, me);
	CHECK("-", seat_acquire_further(&s, me, &second, 1) == seat);
	seat->busy = 1;
	CHECK("-", seat_acquire_further(&s, me, NULL, 0) == second);
	CHECK("-", seat_acquire_further(&s, me, &second, 1) != seat);
	CHECK_EQ("-", seat->busy, 1);
	seat->busy = 0;
	second = seat_acquire(&s, other);
	MUST(second && second != seat);
	CHECK_EQ("-", second->ref, other);
	CHECK("-", s.header->seats_used > (uint32_t)(second - s.seats));

	/* All seats belong to live threads: none is free. */
	for (uint32_t i = 0; i < s.seat_count; i++)
		s.seats[i].ref = other;
	CHECK("-", seat_acquire(&s, me) == NULL);
	/* The seat of a thread that was killed in the middle of a record can be taken. */
	s.seats[s.seat_count - 1].ref = dead;
	s.seats[s.seat_count - 1].busy = 2;
	seat = seat_acquire(&s, me);
	CHECK("-", seat == &s.seats[s.seat_count - 1]);
	CHECK_EQ("-", seat->ref, me);
	CHECK_EQ("-", seat->busy, 0);
	CHECK_EQ("-", s.header->seats_used, s.seat_count);
	/* As long as there is a free seat, the kernel is not asked for dead threads. */
	s.seats[3].ref = dead;
	s.seats[5].ref = 0;
	CHECK("-", seat_acquire(&s, unit_dead_thread() + 1000000) == &s.seats[5]);
}

/* Two pid namespaces: the same number does not mean the same thread, and no thread is known to be dead. */
TEST(seats_of_outsiders)
{
	uint32_t me = unit_tid(), dead = unit_dead_thread();
	struct seat *seat;

	begin();
	s.outsider = THREAD_REF_OUTSIDER;
	seat = seat_acquire(&s, me | THREAD_REF_OUTSIDER);
	MUST(seat);
	CHECK_EQ("-", seat->ref, me | THREAD_REF_OUTSIDER);
	CHECK("-", seat_acquire(&s, me | THREAD_REF_OUTSIDER) != seat);
	for (uint32_t i = 0; i < s.seat_count; i++)
		s.seats[i].ref = dead | (i % 2 ? THREAD_REF_OUTSIDER : 0);
	CHECK("-", seat_acquire(&s, me | THREAD_REF_OUTSIDER) == NULL);
	/* A thread of the stream's own namespace can probe the other threads of that namespace. */
	s.outsider = 0;
	CHECK("-", seat_acquire(&s, me) == &s.seats[0]);
	for (uint32_t i = 0; i < s.seat_count; i++)
		s.seats[i].ref = dead | THREAD_REF_OUTSIDER;
	CHECK("-", seat_acquire(&s, me) == NULL);
}

#define SITTERS 16

static struct seat *sat[SITTERS];
static uint32_t ready;

static void *sit(void *arg)
{
	sat[(uintptr_t)arg] = seat_acquire(&s, unit_tid());
	fetch_add(&ready, 1);
	while (load_acquire(&ready) < SITTERS)
		sched_yield(); /* a seat of a thread that has ended would be reused */
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

/* Returns how many invariants of the locked chunk do not hold. */
static unsigned check(struct chunk *c)
{
	breaks = true;
	broken = 0;
	chunk_check(&s, c);
	breaks = false;
	return broken;
}

TEST(invariants)
{
	struct chunk *c, good;
	struct record *second;

	begin();
	c = &s.chunks[0];
	unit_owner(&s, c, 1);
	unit_record(&s, c, 10, 70, "data", 4);
	second = (struct record *)(void *)(stream_chunk_memory(&s, c) + progress_position(c->progress));
	unit_record(&s, c, 20, 70, NULL, 0);
	CHECK_EQ("-", check(c), 1); /* not locked */
	MUST(chunk_trylock(&s, c, unit_tid(), true));
	c->read = 1;
	CHECK_EQ("-", check(c), 0);
	good = *c;
	c->owner = owner_next(c->owner, s.seat_count + 1);
	CHECK_EQ("-", check(c), 1);
	*c = good;
	c->read = 3; /* one was read that was not written */
	CHECK_EQ("-", check(c), 1);
	c->read = c->first - 1;
	CHECK_EQ("-", check(c), 1);
	*c = good;
	c->progress += 4; /* not aligned */
	CHECK_EQ("-", check(c), 1);
	c->progress = progress_make(2, s.chunk_size + RECORD_ALIGN);
	CHECK_EQ("-", check(c), 1);
	*c = good;
	c->progress -= RECORD_ALIGN; /* in the middle of a record */
	CHECK_EQ("-", check(c), 1);
	*c = good;
	c->progress = progress_make(3, progress_position(c->progress)); /* one record counts twice */
	CHECK_EQ("-", check(c), 1);
	*c = good;
	c->last_ticks = 19;
	CHECK_EQ("-", check(c), 1);
	*c = good;
	second->ticks = 9; /* time goes back */
	CHECK_EQ("-", check(c), 1);
	second->ticks = 20;
	/* As an acquirer leaves it that is killed. */
	c->first = c->read = 2;
	CHECK_EQ("-", check(c), 0);
	*c = good;
	CHECK_EQ("-", chunk_recycle(&s, c), 1);
	chunk_unlock(c);
}

TEST_MAIN(TEST_ENTRY(words), TEST_ENTRY(unread), TEST_ENTRY(lock), TEST_ENTRY(lock_of_the_dead_over_a_record),
          TEST_ENTRY(ref), TEST_ENTRY(lock_of_zombies), TEST_ENTRY(lock_of_outsiders), TEST_ENTRY(lock_excludes),
          TEST_ENTRY(revoke_as_outsider), TEST_ENTRY(revoke_nobodys), TEST_ENTRY(revoke_idle), TEST_ENTRY(revoke_busy),
          TEST_ENTRY(revoke_dead), TEST_ENTRY(revoke_nonsense), TEST_ENTRY(revoke_in_two_halves), TEST_ENTRY(leave),
          TEST_ENTRY(revoke_while_recording), TEST_ENTRY(recycle), TEST_ENTRY(recycle_wraps),
          TEST_ENTRY(recycle_nonsense), TEST_ENTRY(seats), TEST_ENTRY(seats_of_outsiders), TEST_ENTRY(seats_differ),
          TEST_ENTRY(invariants))
