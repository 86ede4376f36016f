/*
 * kills_shared.c - the shared memory, and the test points where victims are killed
 *
 * SPDX-License-Identifier: MIT
 */
#include "kills.h"

struct shared *shared;
bool kills_victim;
__thread bool kills_deeper;


/* Returns the index of a name in kills_points, or POINTS. Compares names only once for each address. */
static int point_number(const char *name)
{
	static struct {
		_Atomic(const char *) name;
		_Atomic int number;
	} known[1024];
	unsigned i = (unsigned)((uintptr_t)name * 2654435761u >> 7) % 1024;
	int number = -1;

	for (;; i = (i + 1) % 1024) {
		const char *there = atomic_load(&known[i].name);

		if (there == name && (number = atomic_load(&known[i].number)) > 0)
			return number - 1;
		if (there && there != name)
			continue;
		for (number = 0; number < POINTS; number++)
			if (strcmp(kills_points[number], name) == 0)
				break;
		if (there || atomic_compare_exchange_strong(&known[i].name, &there, name) || there == name) {
			atomic_store(&known[i].number, number + 1);
			return number;
		}
	}
}

static void point_wait(int jitter)
{
	static __thread uint64_t state;

	if (!state)
		state = (uint64_t)now_ns() ^ (uintptr_t)&state;
	if (chance(&state, (uint32_t)jitter) == 0)
		sleep_us(chance(&state, 200));
}

/*
 * Stays in the middle of a record, whatever signals arrive, to keep the chunk from other writers. Stops after 60 ms, or
 * when a writer has lost an event: on a loaded machine writers wait for long.
 */
static void point_stay(void)
{
	int64_t until = now_ns() + 60000000;
	int before = shared->losses;

	while (now_ns() < until && shared->losses == before)
		sleep_us(1000);
}

/* Notes what must be in the log. Called when the end of a log's creator, or of its stream, is about to begin. Only the
 * first call has an effect. */
void log_cut(void)
{
	if (atomic_fetch_add(&shared->log.cut, 1) > 0)
		return;
	for (int i = 0; i < SOURCES; i++)
		shared->log.kept[i] = shared->source[i].done;
}

/* Notes, before a kill, what must be in the log if the victim is a log's creator. */
void log_killed(void)
{
	if (shared->log.phase != LOG_NONE && shared->round.kind != LOG_TRACED)
		log_cut();
}

/* The library calls this function at each test point. */
void test_point(const char *name);
void test_point(const char *name)
{
	int number, saved = errno;

	if (!shared)
		return;
	if (shared->round.jitter)
		point_wait(shared->round.jitter);
	if (shared->round.tight && strcmp(name, "lost_counted") == 0)
		shared->losses++;
	if (kills_deeper && strcmp(name, "event_deeper") == 0) {
		kills_deeper = false;
		raise(SIGUSR2);
	}
	if (kills_victim) {
		if (shared->round.tight && strcmp(name, "record_owned") == 0 && shared->go)
			point_stay();
		number = point_number(name);
		if (number >= POINTS)
			abort(); /* tests/check/points.py reports it in words */
		atomic_fetch_add(&shared->passed[shared->round.kind][number], 1);
		if (shared->arm != ARM_NOT && shared->point == number && atomic_fetch_sub(&shared->passages, 1) == 1) {
			atomic_fetch_add(&shared->ended[number], 1);
			if (shared->arm == ARM_KILL) {
				log_killed();
				kill(getpid(), SIGKILL);
			}
			shared->arrived = 1;
			for (;;)
				pause();
		}
	}
	errno = saved;
}

void source_begin(int source)
{
	shared->source[source].done = 0;
	shared->source[source].read = 0;
	shared->source[source].longest = 0;
	shared->source[source].pid = getpid();
}

void source_send(int source, trace_event_id_t id)
{
	struct source *s = &shared->source[source];
	uint64_t number = atomic_load_explicit(&s->done, memory_order_relaxed) + 1;
	struct number n;
	size_t length = number_fill(&n, 0, (uint32_t)source, number);
	int64_t begin = now_ns(), took;

	posix_trace_event(id, &n, length);
	took = now_ns() - begin;
	if (took > atomic_load_explicit(&s->longest, memory_order_relaxed))
		atomic_store_explicit(&s->longest, took, memory_order_relaxed);
	atomic_store_explicit(&s->done, number, memory_order_release);
}
