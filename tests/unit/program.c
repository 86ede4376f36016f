/*
 * program.c - src/shm/program.c: what processes execute, noted in a stream
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/program.h"

#include "unit.h"

#include <pthread.h>

#define PLACES 16

static struct program places[PLACES];
static struct stream s;
static unsigned char bytes[PROGRAM_SIZE_MAX], back[PROGRAM_SIZE_MAX];

static void begin(void)
{
	memset(places, 0, sizeof places);
	s = (struct stream){ .program = places, .programs = PLACES, .stream_policy = POSIX_TRACE_LOOP };
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 251);
}

static bool leave(uint64_t key, uint32_t pid, size_t size)
{
	bool crowded;

	return program_leave(&s, (struct program_key){ key, pid }, bytes, size, &crowded);
}

static bool there(uint64_t key, uint32_t pid, size_t size)
{
	memset(back, 0, sizeof back);
	return program_read(&s, (struct program_key){ key, pid }, back, sizeof back) == size &&
		memcmp(back, bytes, size) == 0;
}

static unsigned unreported(void)
{
	struct program_key key;
	unsigned count = 0;

	for (uint32_t i = 0; i < s.programs; i++)
		count += program_new(&s, i, &key);
	return count;
}

static uint32_t dead_pid(void)
{
	struct unit_child child = unit_child(NULL, NULL);

	unit_end_child(&child);
	return (uint32_t)child.pid;
}

TEST(sizes)
{
	static const size_t size[] = { 1, 100, PROGRAM_DATA - 1, PROGRAM_DATA, PROGRAM_DATA + 1, 5 * PROGRAM_DATA + 17,
	                               PLACES * PROGRAM_DATA };

	for (unsigned i = 0; i < sizeof size / sizeof size[0]; i++) {
		begin();
		CHECK("-", leave(5, 6, size[i]));
		CHECK("-", there(5, 6, size[i]));
		CHECK_EQ("-", unreported(), 1);
		CHECK("-", !there(5, 7, size[i]) && !there(6, 6, size[i]));
		CHECK_EQ("-", program_read(&s, (struct program_key){ 5, 6 }, back, size[i] - 1), 0);
		program_reported(&s, (struct program_key){ 5, 6 });
		CHECK_EQ("-", unreported(), 0);
		CHECK("-", there(5, 6, size[i]));
		program_forget_reported(&s);
		CHECK_EQ("-", unreported(), 1);
	}
	begin();
	CHECK("-", !leave(5, 6, PLACES * PROGRAM_DATA + 1));
	s.programs = 0;
	CHECK("-", !leave(5, 6, 1));
}

/*
 * When all places are taken, a program that the log already has is replaced. A program that is needed is never
 * replaced.
 */
TEST(full)
{
	uint32_t dead = dead_pid(), alive = (uint32_t)getpid();
	bool crowded = false;

	begin();
	for (uint64_t i = 1; i <= PLACES; i++)
		CHECK("-", leave(i, alive, 10));
	CHECK("-", !leave(100, alive, 10));
	CHECK("-", there(1, alive, 10) && there(PLACES, alive, 10));
	program_reported(&s, (struct program_key){ 7, alive });
	program_reported(&s, (struct program_key){ 5, alive });
	CHECK("-", program_leave(&s, (struct program_key){ 101, alive }, bytes, 10, &crowded));
	CHECK("-", crowded);
	CHECK("-", !there(5, alive, 10) && there(7, alive, 10) && there(101, alive, 10));
	/* Of the dead processes, the oldest is replaced. */
	places[3].pid = dead;
	places[9].pid = dead;
	CHECK("-", leave(102, alive, 10) && leave(103, alive, 10) && leave(104, alive, 10) && !leave(105, alive, 10));
	CHECK_EQ("-", places[6].key, 102); /* program 7 had been reported */
	CHECK_EQ("-", places[3].key, 103);
	CHECK_EQ("-", places[9].key, 104);
	/* In a stream that keeps its first events, events of dead processes remain. */
	places[3].pid = dead;
	s.stream_policy = POSIX_TRACE_UNTIL_FULL;
	CHECK("-", !leave(106, alive, 10));
	s.stream_policy = POSIX_TRACE_LOOP;
	CHECK("-", leave(106, alive, 10));
}

/* A thread died while it filled a place. */
TEST(dead_lock_holder)
{
	uint32_t dead = dead_pid();

	begin();
	for (unsigned i = 0; i < PLACES; i++)
		places[i].lock = dead;
	for (uint64_t i = 1; i <= PLACES; i++)
		CHECK("-", leave(i, 1, 10) && there(i, 1, 10));
	begin();
	for (unsigned i = 0; i < PLACES; i++)
		places[i].lock = (uint32_t)sys_gettid();
	CHECK("-", !leave(1, 1, 10));
}

/* H18: whatever other processes write, no byte outside of the memory is read, and the loop ends. */
TEST(nonsense)
{
	unsigned seed = 1;
	struct program_key key;

	for (int round = 0; round < 3000; round++) {
		begin();
		for (uint64_t i = 1; i <= 4; i++)
			leave(i, 1, (size_t)i * 1500);
		for (int n = 0; n < 6; n++) {
			struct program *p = &places[rand_r(&seed) % 12];
			uint32_t *word[] = { &p->pid, &p->part, &p->parts, &p->length, &p->lock };
			static const uint32_t value[] = { 0, 1, 2, 31, 32, 33, PROGRAM_DATA, PROGRAM_DATA + 1,
			                                  INT32_MAX, UINT32_MAX };

			*word[rand_r(&seed) % 5] = value[rand_r(&seed) % 10];
			if (rand_r(&seed) % 4 == 0)
				p->key = rand_r(&seed) % 6;
		}
		for (uint32_t i = 0; i < PLACES; i++)
			if (program_new(&s, i, &key))
				CHECK_OP("-", program_read(&s, key, back, 3000), <=, 3000);
		leave(50, 2, 3000);
	}
}

/* A reader runs while places are filled: it gets a whole program or none. */
static int ended;

static void *leave_all(void *arg)
{
	uint32_t pid = *(uint32_t *)arg;
	unsigned char own[3000];
	bool crowded;

	for (uint64_t i = 1; i <= 5000; i++) {
		memset(own, (int)(i * 31 + pid), sizeof own);
		program_leave(&s, (struct program_key){ i, pid }, own, sizeof own, &crowded);
	}
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELEASE);
	return NULL;
}

TEST(at_the_same_time)
{
	uint32_t pid[2] = { dead_pid(), 0 };
	pthread_t thread[2];
	unsigned whole = 0;

#ifdef __SANITIZE_THREAD__
	SKIP("the copy is looked at afterwards, which ThreadSanitizer cannot know");
#endif
	pid[1] = dead_pid();
	begin();
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&thread[i], NULL, leave_all, &pid[i]) == 0);
	for (unsigned round = 0; __atomic_load_n(&ended, __ATOMIC_ACQUIRE) < 2; round++) {
		struct program_key key;
		size_t n = program_new(&s, round % PLACES, &key) ? program_read(&s, key, back, sizeof back) : 0;

		if (!n)
			continue;
		CHECK_EQ("-", n, 3000);
		for (size_t i = 1; i < n; i++)
			MUST(back[i] == back[0]);
		CHECK_EQ("-", back[0], (unsigned char)(key.key * 31 + key.pid));
		whole++;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	CHECK_OP("-", whole, >, 0);
}

static void *leave_one(void *arg)
{
	leave(*(uint64_t *)arg, 6, 5 * PROGRAM_DATA + 17);
	return NULL;
}

/* A program that is found is complete, so no second attempt is necessary. */
TEST(whole_when_found)
{
	for (uint64_t round = 1; round <= 500; round++) {
		struct program_key key;
		pthread_t thread;
		uint32_t i = 0;

		begin();
		MUST(pthread_create(&thread, NULL, leave_one, &round) == 0);
		while (!program_new(&s, i, &key))
			i = (i + 1) % PLACES;
		CHECK_EQ("-", program_read(&s, key, back, sizeof back), 5 * PROGRAM_DATA + 17);
		pthread_join(thread, NULL);
	}
}

TEST_MAIN(TEST_ENTRY(sizes), TEST_ENTRY(full), TEST_ENTRY(dead_lock_holder), TEST_ENTRY(nonsense),
          TEST_ENTRY(at_the_same_time), TEST_ENTRY(whole_when_found))
