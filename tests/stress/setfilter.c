/*
 * setfilter.c - the filter changes while threads record
 *
 * When posix_trace_set_filter() has returned, the new filter holds in every thread: each single event that begins after
 * the return and ends before the next change is recorded, or filtered out, according to the filter. The FILTER event
 * stands in the stream where the change took place: no event that it newly filters out comes later.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stress.h"

#define THREADS 4
#define TYPES   3
#define CHANGES 400

/* May an event be in the stream? Decided by the recording thread, which knows the filter during the whole event. */
enum { NEVER_RECORDED, MAY, MUST_BE, MUST_NOT };

struct recorder {
	pthread_t thread;
	unsigned number;
	uint32_t most;
	volatile uint32_t n;
	unsigned char *fate; /* by number of event */
	unsigned char *seen;
};

struct datum {
	uint32_t recorder, number, type, check;
};

static trace_event_id_t types[TYPES];
static struct recorder recorders[THREADS];
static _Atomic bool stop;
/*
 * Odd while the filter is being changed. The low bits of the other half are the types filtered out. A single word, so
 * that it is always read as a whole.
 */
static _Atomic uint64_t state;

#define CHANGING      1u
#define FILTER_OF(s)  ((unsigned)((s) >> 1) & ((1u << TYPES) - 1))
#define STATE(n, f)   ((uint64_t)(n) << 8 | (uint64_t)(f) << 1)

static void *record(void *arg)
{
	struct recorder *r = arg;
	uint64_t random = r->number;

	while (!atomic_load_explicit(&stop, memory_order_relaxed) && r->n < r->most) {
		uint32_t number = r->n, type;
		uint64_t before, after;
		struct datum d;

		random = chance_mix(random);
		type = random % TYPES;
		d = (struct datum){ r->number, number, type, ~(r->number * 31 + number) };
		before = atomic_load(&state);
		posix_trace_event(types[type], &d, sizeof d);
		after = atomic_load(&state);
		if (before != after || before & CHANGING)
			r->fate[number] = MAY;
		else
			r->fate[number] = FILTER_OF(before) >> type & 1 ? MUST_NOT : MUST_BE;
		r->n = number + 1;
		/* Record for as long as the changes go on: the stream has to hold all events. */
		if (number % 16 == 0)
			stress_sleep(500000);
	}
	return NULL;
}

static void to_set(unsigned filter, trace_event_set_t *set)
{
	MUST(posix_trace_eventset_empty(set) == 0);
	for (int i = 0; i < TYPES; i++)
		if (filter >> i & 1)
			MUST(posix_trace_eventset_add(types[i], set) == 0);
}

static unsigned from_set(const trace_event_set_t *set)
{
	unsigned filter = 0;

	for (int i = 0; i < TYPES; i++) {
		int is = 0;

		CHECK_EQ("SET-11 FILT-6", posix_trace_eventset_ismember(types[i], set, &is), 0);
		filter |= (unsigned)!!is << i;
	}
	return filter;
}

struct reading {
	uint64_t user, torn, repeated, late, filters, out_of_order;
	unsigned filter; /* according to the last FILTER event */
	struct timespec filter_at[TYPES]; /* since when each type is filtered out, if it is */
	const unsigned char *expected; /* the filters set, in order */
};

static void take(struct reading *r, const struct posix_trace_event_info *info, const void *data, size_t len)
{
	const struct datum *d = data;

	if (info->posix_event_id == POSIX_TRACE_FILTER) {
		trace_event_set_t sets[2];
		unsigned old, new;

		CHECK_EQ("SYS-6", len, sizeof sets);
		memcpy(sets, data, sizeof sets);
		old = from_set(&sets[0]);
		new = from_set(&sets[1]);
		CHECK_EQ("FILT-6 SYS-6", old, r->filter);
		CHECK_EQ("FILT-6 SYS-6", new, r->expected[r->filters]);
		for (int i = 0; i < TYPES; i++)
			if (new >> i & 1 && !(old >> i & 1))
				r->filter_at[i] = info->posix_timestamp;
		r->filter = new;
		r->filters++;
		return;
	}
	if (info->posix_event_id < POSIX_TRACE_UNNAMED_USEREVENT)
		return;
	r->user++;
	if (len != sizeof *d || d->recorder >= THREADS || d->check != ~(d->recorder * 31 + d->number) ||
	    d->type >= TYPES || d->number >= recorders[d->recorder].most || info->posix_event_id != types[d->type]) {
		r->torn++;
		return;
	}
	if (recorders[d->recorder].seen[d->number]++)
		r->repeated++;
	if (r->filter >> d->type & 1 && stress_before(&r->filter_at[d->type], &info->posix_timestamp))
		r->late++;
}

static void read_all(struct reading *r, trace_id_t trid)
{
	static union { unsigned char bytes[4096]; uint64_t align; } data;
	struct posix_trace_event_info info;
	int unavailable;
	size_t len;

	for (;;) {
		CHECK_EQ("READ-14", posix_trace_trygetnext_event(trid, &info, data.bytes, sizeof data, &len,
		                                                 &unavailable), 0);
		if (unavailable || test_failures > 20)
			break;
		take(r, &info, data.bytes, len);
	}
}

TEST(changes)
{
	static unsigned char expected[CHANGES];
	struct reading reading = { .expected = expected };
	struct posix_trace_status_info status;
	const size_t size = 24 << 20;
	uint64_t random = 1, missing = 0, unwanted = 0, certain = 0;
	int n = stress_count(CHANGES, 100);
	unsigned filter = 0;
	trace_attr_t attr;
	size_t system, user;
	trace_id_t trid;

	for (int i = 0; i < TYPES; i++) {
		char name[32];

		snprintf(name, sizeof name, "filter.%d", i);
		MUST(posix_trace_eventid_open(name, &types[i]) == 0);
	}
	trid = stress_stream(POSIX_TRACE_UNTIL_FULL, size);
	MUST(posix_trace_attr_init(&attr) == 0);
	CHECK_EQ("ATTR-47", posix_trace_attr_getmaxsystemeventsize(&attr, &system), 0);
	CHECK_EQ("ATTR-48", posix_trace_attr_getmaxusereventsize(&attr, sizeof(struct datum), &user), 0);
	MUST(size > system * (CHANGES + 1));
	for (unsigned i = 0; i < THREADS; i++) {
		recorders[i].number = i;
		recorders[i].most = (uint32_t)((size - system * (CHANGES + 1)) / user / THREADS);
		recorders[i].fate = calloc(recorders[i].most, 1);
		recorders[i].seen = calloc(recorders[i].most, 1);
		MUST(recorders[i].fate && recorders[i].seen);
	}
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&recorders[i].thread, NULL, record, &recorders[i]) == 0);
	for (int i = 0; i < n; i++) {
		unsigned change = (unsigned)((random = chance_mix(random)) % (1u << TYPES));
		trace_event_set_t set;
		int how;

		to_set(change, &set);
		switch (random >> 32 & 3) {
		case 0:
			how = POSIX_TRACE_SUB_EVENTSET;
			change = filter & ~change;
			break;
		case 1:
			how = POSIX_TRACE_ADD_EVENTSET;
			change = filter | change;
			break;
		default:
			how = POSIX_TRACE_SET_EVENTSET;
			break;
		}
		expected[i] = (unsigned char)change;
		atomic_store(&state, STATE(i + 1, change) | CHANGING);
		CHECK_EQ("FILT-2 FILT-3", posix_trace_set_filter(trid, &set, how), 0);
		filter = change;
		atomic_store(&state, STATE(i + 1, filter));
		CHECK_EQ("FILT-1", posix_trace_get_filter(trid, &set), 0);
		CHECK_EQ("FILT-8 FILT-9 FILT-10", from_set(&set), filter);
		stress_sleep(1000000 + (random >> 40) % 2000000);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(recorders[i].thread, NULL);
	MUST(posix_trace_get_status(trid, &status) == 0);
	CHECK_EQ("ATTR-49 MODEL-8", status.__posix_lost_events, 0);
	read_all(&reading, trid);

	CHECK_EQ("FILT-6", reading.filters, n);
	CHECK_EQ("EVT-2", reading.torn, 0);
	CHECK_EQ("READ-22", reading.repeated, 0);
	CHECK_EQ("FILT-6 READ-21", reading.late, 0);
	for (int i = 0; i < THREADS; i++) {
		for (uint32_t k = 0; k < recorders[i].n; k++) {
			bool seen = recorders[i].seen[k];

			certain += recorders[i].fate[k] != MAY;
			missing += recorders[i].fate[k] == MUST_BE && !seen;
			unwanted += recorders[i].fate[k] == MUST_NOT && seen;
		}
		free(recorders[i].fate);
		free(recorders[i].seen);
	}
	CHECK_NE("-", certain, 0);
	CHECK_EQ("EVT-4 FILT-4", unwanted, 0);
	CHECK_EQ("EVT-1 FILT-4", missing, 0);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-2", stress_files(), 0);
}

/* -- At full speed, with a reader, and as many changes as there can be ---- */

static void *record_fast(void *arg)
{
	struct recorder *r = arg;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		struct datum d = { r->number, r->n, 0, 0 };

		posix_trace_event(types[0], &d, sizeof d);
		r->n++;
	}
	return NULL;
}

static void *read_fast(void *arg)
{
	struct tally_reader *reader = arg;
	static union { unsigned char bytes[4096]; uint64_t align; } data;
	struct posix_trace_event_info info;
	struct timespec since = { 0, 0 };
	bool filtered = false;
	int unavailable;
	size_t len;

	/* Ends when the stream is empty and the writers have ended. */
	for (;;) {
		bool ending = atomic_load(&reader->end);
		int error = posix_trace_trygetnext_event(reader->trid, &info, data.bytes, sizeof data, &len,
		                                         &unavailable);

		if (error) {
			reader->tally->error++;
			reader->tally->last_error = error;
			break;
		}
		if (unavailable && ending)
			break;
		if (unavailable) {
			sched_yield();
			continue;
		}
		if (info.posix_event_id == POSIX_TRACE_FILTER || info.posix_event_id == POSIX_TRACE_START) {
			/* The last set is the filter from now on: FILTER has two sets, START has one. */
			const trace_event_set_t *sets = (const trace_event_set_t *)data.bytes;
			int is = 0;

			posix_trace_eventset_ismember(types[0], &sets[len / sizeof *sets - 1], &is);
			filtered = is != 0;
			since = info.posix_timestamp;
			if (info.posix_event_id == POSIX_TRACE_FILTER)
				reader->tally->called++;
		} else if (info.posix_event_id == types[0]) {
			reader->tally->read++;
			if (filtered && stress_before(&since, &info.posix_timestamp))
				reader->tally->backwards++;
		}
	}
	return NULL;
}

/*
 * The reader cannot keep up with all events. But no event that is read may come after the FILTER event that filters it
 * out, or after such a START of a stream that was full.
 */
TEST(full_speed)
{
	static struct tally tally;
	struct tally_reader reader = { .tally = &tally };
	trace_id_t trid = stress_stream(POSIX_TRACE_UNTIL_FULL, 1 << 20);
	trace_event_set_t set;
	uint64_t end;
	bool filtered = false;

	MUST(posix_trace_eventid_open("filter.0", &types[0]) == 0);
	MUST(posix_trace_eventset_empty(&set) == 0);
	MUST(posix_trace_eventset_add(types[0], &set) == 0);
	reader.trid = trid;
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	MUST(pthread_create(&reader.thread, NULL, read_fast, &reader) == 0);
	for (unsigned i = 0; i < THREADS; i++) {
		recorders[i].number = i;
		MUST(pthread_create(&recorders[i].thread, NULL, record_fast, &recorders[i]) == 0);
	}
	end = stress_now() + stress_ms(1500);
	while (stress_now() < end) {
		filtered = !filtered;
		CHECK_EQ("FILT-2 FILT-3", posix_trace_set_filter(trid, &set,
		                                                 filtered ? POSIX_TRACE_ADD_EVENTSET
		                                                          : POSIX_TRACE_SUB_EVENTSET), 0);
		stress_sleep(filtered ? 20000 : 100000);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(recorders[i].thread, NULL);
	atomic_store(&reader.end, true);
	pthread_join(reader.thread, NULL);
	CHECK_EQ("READ-25", tally.last_error, 0);
	CHECK_NE("EVT-1", tally.read, 0);
	CHECK_NE("FILT-6", tally.called, 0);
	CHECK_EQ("FILT-6 READ-21", tally.backwards, 0);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
}

TEST_MAIN(TEST_ENTRY(changes), TEST_ENTRY(full_speed))
