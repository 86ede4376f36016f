/*
 * kills.c - kills processes by SIGKILL, at random instants and at every test point
 *
 * A *round* is one victim, some survivors, and one kill. After a round, the books of all streams that a survivor reads
 * must balance (kills_books.c). After the next posix_trace_create() nothing of the dead may be left: no file, no stream
 * that counts towards TRACE_SYS_MAX, and no descriptor or mapping in the survivors. The test process is controller and
 * analyzer of most rounds, so it has to survive all of them.
 *
 *     TRACED      the victim is traced; the reader continues
 *     CONTROLLER  the victim traces the target. The target lives for many rounds and has two streams:
 *                 its own, which may lose nothing, and one that the test reads
 *     FAMILY      a process and its children share one stream; one of them is killed
 *     SELF        the victim traces itself; no other process is involved
 *     RECOVERER   the victim finds what another victim left behind
 *     ORPHAN      the victim's controller has been killed
 *     LOGGER      the victim creates a stream with a log, for itself or for another
 *                 process, which survives or is killed as well
 *     LOG_TRACED  the victim is traced into a log that the test creates
 *     SAVER       the victim finds a log whose creator has been killed
 *
 * KILLS_SEED repeats a run. KILLS_ROUND=KIND:SEED[:POINT[:PASSAGES[:STOP]]] repeats a failed round (KILLS times). KILLS
 * and KILLS_SECONDS limit the number of kills and the time, KILLS_POINT and KILLS_KIND select one point or kind, and
 * KILLS_PROGRESS prints a line every ten seconds. script/soak sets these variables. See docs/testing.md.
 *
 * SPDX-License-Identifier: MIT
 */
#include <sched.h>
#include <sys/prctl.h>

#include "kills.h"
#include "shm.h"


static uint64_t seed_given(void)
{
	const char *s = getenv("KILLS_SEED");
	uint64_t seed = s ? strtoull(s, NULL, 0) : (uint64_t)now_ns() ^ (uint64_t)getpid() << 32;

	printf("seed %#llx\n", (unsigned long long)seed);
	fflush(stdout);
	return seed;
}

static int number_given(const char *name, int otherwise)
{
	const char *s = getenv(name);

	return s ? atoi(s) : otherwise;
}

static int kills, rounds_run;

static void progress(bool last)
{
	static int64_t begin, next;
	int64_t now = now_ns();

	if (!begin)
		begin = now;
	if (!last && (!getenv("KILLS_PROGRESS") || now < next))
		return;
	next = now + 10000000000ll;
	printf("%d kills in %d rounds, %lld s\n", kills, rounds_run, (long long)(now - begin) / 1000000000);
	fflush(stdout);
}

static bool enough(int wanted)
{
	static int64_t until;
	int seconds = number_given("KILLS_SECONDS", 0);

	if (!until)
		until = now_ns() + seconds * 1000000000ll;
	progress(false);
	return failed() || (seconds ? now_ns() > until : kills >= wanted);
}

static void prepare(void)
{
	uint64_t state = 1;

	shm_private("");
	prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
	shared = memory_map(SHARED_FILE, sizeof *shared, true);
	failures_before = test_failures;
	/* Make what the test itself needs, before anything is counted. */
	create_once(&state);
	own_before = left_in(getpid());
}

static void finish(void)
{
	target_end();
	check_sys_max();
	progress(true);
}

static const int often[] = {
	TRACED,    TRACED, TRACED, CONTROLLER, CONTROLLER, FAMILY, SELF,
	RECOVERER, ORPHAN, LOGGER, LOGGER,     LOG_TRACED, SAVER,
};

static void random_rounds(uint64_t *state, int wanted)
{
	int only = number_given("KILLS_KIND", -1);

	while (!enough(wanted)) {
		int kind = only >= 0 ? only : often[chance(state, sizeof often / sizeof often[0])];
		uint64_t seed = *state = chance_mix(*state);

		kills += round_run(kind, seed, ARM_NOT, 0, 0);
		if (++rounds_run % 500 == 0)
			check_sys_max();
	}
}

/* Kills at random instants. */
TEST(random)
{
	uint64_t state = seed_given();
	int wanted = number_given("KILLS", (test_thorough() ? 1200 : 500) / test_slow());

	prepare();
	random_rounds(&state, wanted);
	finish();
	CHECK("-", failed() || getenv("KILLS_SECONDS") || kills >= wanted);
}

static unsigned surveyed[KINDS];

/* Returns how often victims of a kind have passed the point in a round on average, in thousandths, at most 1000. */
static unsigned rate(int kind, int point)
{
	unsigned passed = shared->passed[kind][point];

	return !surveyed[kind] ? 0 : passed >= surveyed[kind] ? 1000 : passed * 1000 / surveyed[kind];
}

/* Returns a random kind of round in which victims pass the point, or -1 if none is known. */
static int kind_with(int point, uint64_t *state)
{
	int kind = (int)chance(state, KINDS);

	for (int i = 0; i < KINDS; i++, kind = (kind + 1) % KINDS)
		if (shared->passed[kind][point])
			return kind;
	return -1;
}

/* Returns the kind whose victims pass the point most often, a random one of several, or -1 if none is known. */
static int kind_best(int point, uint64_t *state)
{
	int best = -1, kind = (int)chance(state, KINDS);

	for (int i = 0; i < KINDS; i++, kind = (kind + 1) % KINDS)
		if (shared->passed[kind][point] && (best < 0 || rate(kind, point) > rate(best, point)))
			best = kind;
	return best;
}

/* Returns a random passage for the end of the victim, not later than victims of this kind usually get. */
static int passages_at(int point, int kind, uint64_t *state)
{
	unsigned times = kind < 0 || !surveyed[kind] ? 0 : shared->passed[kind][point] / surveyed[kind];

	return 1 + (int)chance(state, times > 20 ? 20 : times > 1 ? times : 1);
}

/* Returns true for points of lost events. Under LOOP an event is lost only if all chunks are in use by other
 * writers. */
static bool needs_tight(int point)
{
	return strcmp(kills_points[point], "lost_last") == 0 || strcmp(kills_points[point], "read_lost") == 0;
}

/* Returns true for a point that is passed only if some streams of a process run and others do not. */
static bool needs_turns(int point)
{
	return strcmp(kills_points[point], "record_looked") == 0;
}

/* Returns true for a point that only another user passes: the test's own directory exists. */
static bool needs_root(int point)
{
	return strcmp(kills_points[point], "directory_made") == 0;
}

/* Returns a seed for a round in which the point can be passed. */
static uint64_t seed_for(int point, int kind, uint64_t *state)
{
	do
		round_choose(kind, *state = chance_mix(*state));
	while ((needs_tight(point) && !shared->round.tight) || (needs_turns(point) && !shared->round.turns));
	return *state;
}

#define TRIES_GOOD 8 /* tries with the best kinds; later tries use all kinds in turn as well */

/* Returns the kind of round to try next. */
static int kind_for(int point, int try, uint64_t *state)
{
	int kind;

	if (needs_tight(point)) /* lost_last needs a writer that loses events, read_lost a reader as well */
		return strcmp(kills_points[point], "read_lost") == 0 ? SELF : TRACED;
	if (needs_turns(point))
		return TRACED;
	if (after_a_second(point))
		return ORPHAN;
	if (try >= TRIES_GOOD && try % 2)
		return try / 2 % KINDS;
	kind = try < TRIES_GOOD / 2 ? kind_with(point, state) : kind_best(point, state);
	return kind >= 0 ? kind : (int)chance(state, KINDS);
}

/* Runs one round in which the victim may end at the point. */
static void try_point(int point, int try, uint64_t *state)
{
	int kind = kind_for(point, try, state), passages = try < TRIES_GOOD ? passages_at(point, kind, state) : 1;
	uint64_t seed = seed_for(point, kind, state);

	kills += round_run(kind, seed, chance(state, 2) ? ARM_KILL : ARM_STOP, point, passages);
	surveyed[kind]++;
	rounds_run++;
	progress(false);
}

/* Runs rounds until `wanted` victims have ended at each point, or the time is over. */
static void try_points(unsigned wanted, int64_t until, uint64_t *state)
{
	const char *only = getenv("KILLS_POINT");

	for (int point = 0; point < POINTS; point++) {
		unsigned enough = needs_tight(point) || after_a_second(point) ? 2 : wanted;

		if (only && strcmp(only, kills_points[point]) != 0)
			continue;
		for (int try = 0; shared->ended[point] < (wanted < enough ? wanted : enough); try++) {
			if (failed() || now_ns() > until || (needs_root(point) && geteuid() != 0))
				break;
			try_point(point, try, state);
		}
		if (only && wanted == 1)
			printf("%s: %u\n", only, shared->ended[point]);
	}
}

/* In seconds, multiplied by test_slow(): the time to reach each point once, and to reach points more often. */
#define REACH_SECONDS 120
#define MORE_SECONDS  40

/* Kills at each test point: first once at all of them, then more often while there is time. */
TEST(points)
{
	uint64_t state = seed_given();
	const char *only = getenv("KILLS_POINT");
	int each = number_given("KILLS", 0) ? number_given("KILLS", 0) / POINTS + 1
	           : test_slow() > 3        ? 1
	           : test_thorough()        ? 5
	                                    : 2;
	int64_t begin = now_ns();
	bool patient = test_thorough() || getenv("KILLS");

	prepare();
	/* Find out which kinds pass which points. */
	for (int i = 0; i < (test_slow() > 3 ? 4 : 10) * KINDS && !failed(); i++) {
		kills += round_run(i % KINDS, state = chance_mix(state), ARM_NOT, 0, 0);
		surveyed[i % KINDS]++;
		rounds_run++;
	}
	try_points(1, begin + REACH_SECONDS * 1000000000ll, &state);
	for (int point = 0; point < POINTS && !failed(); point++)
		if (!shared->ended[point] && (!only || strcmp(only, kills_points[point]) == 0) &&
		    (geteuid() == 0 || !needs_root(point)))
			TEST_FAIL("-", "nobody was killed at %s", kills_points[point]);
	if (each > 1)
		try_points((unsigned)each, patient ? INT64_MAX : begin + MORE_SECONDS * 1000000000ll, &state);
	finish();
}

/* Kills at random instants and at test points, for as long as requested. */
static void soak(void)
{
	uint64_t state = seed_given();
	int wanted = number_given("KILLS", 100000);

	prepare();
	while (!enough(wanted)) {
		int point = (int)chance(&state, (uint32_t)POINTS), kind = kind_with(point, &state);
		bool at_point = kind >= 0 && chance(&state, 2);

		if (!at_point)
			kind = often[chance(&state, sizeof often / sizeof often[0])];
		kills += round_run(kind, state = chance_mix(state),
		                   !at_point           ? ARM_NOT
		                   : chance(&state, 2) ? ARM_KILL
		                                       : ARM_STOP,
		                   point, 1 + (int)chance(&state, 20));
		if (++rounds_run % 500 == 0)
			check_sys_max();
	}
	finish();
}

TEST(soak)
{
	if (!getenv("KILLS_PROGRESS"))
		SKIP("script/soak does it");
	soak();
}

/* Repeats a round that has failed. */
TEST(round)
{
	const char *text = getenv("KILLS_ROUND");
	char name[64] = "-";
	unsigned long long seed;
	int kind, passages = 1, stop = 0, point = 0, times = number_given("KILLS", 1);

	if (!text)
		SKIP("KILLS_ROUND says which");
	MUST(sscanf(text, "%d:%llx:%63[^:]:%d:%d", &kind, &seed, name, &passages, &stop) >= 2);
	while (point < POINTS && strcmp(kills_points[point], name) != 0)
		point++;
	MUST(point < POINTS || strcmp(name, "-") == 0);
	prepare();
	for (int i = 0; i < times && !failed(); i++, rounds_run++)
		kills += round_run(kind, seed,
		                   point == POINTS ? ARM_NOT
		                   : stop          ? ARM_STOP
		                                   : ARM_KILL,
		                   point % POINTS, passages);
	finish();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST_ENTRY(random), TEST_ENTRY(points), TEST_ENTRY(soak), TEST_ENTRY(round), { NULL, NULL },
	};

	if (argc == 3 && strcmp(argv[1], "--image") == 0) {
		shared = memory_map(SHARED_FILE, sizeof *shared, false);
		if (strcmp(argv[2], "target") == 0)
			role_target();
		role(argv[2]);
	}
	return test_main(tests, argc, argv);
}
