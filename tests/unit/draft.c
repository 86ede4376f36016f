/*
 * draft.c - src/log/draft.c: wherever the writer dies, each record is either in the draft or in its chunk
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/draft.h"

#include "base/invariant.h"
#include "log/unpack.h"
#include "unit_log.h"

#define CAPACITY 8192

static struct stream s;
static struct log_state *state;
static struct draft d;
static uint64_t now = 1000;

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
	unit_stream(&s, 16384, 100, POSIX_TRACE_UNTIL_FULL);
	state = (struct log_state *)(void *)log_memory(stream_log_bytes(CAPACITY));
	state->capacity = CAPACITY;
	MUST(draft_init(&d, state) == 0);
}

static bool add(unsigned char number, uint32_t length)
{
	struct log_event e = { .id = 70, .pid = 1, .tid = 2, .time = now, .length = length };
	unsigned char data[1000];

	memset(data, number, sizeof data);
	now += 10;
	return draft_add(&d, &e, data, e.time + 5);
}

/* Returns the events that the current mark counts, as a string of the first byte of each event's data. */
static const char *contents(void)
{
	static struct unpack u;
	static char text[4096];
	const struct log_mark *m = draft_mark(&d);
	struct frame f = { .size = m->position, .events = m->events, .first = m->first, .last = m->last };
	const unsigned char *data;
	char *p = text;

	MUST(unpack_begin(&u, &f, d.body));
	while (unpack_next(&u, &data))
		*p++ = (char)data[0];
	*p = 0;
	return text;
}

/* Recovers the draft as the process does that finds the writer dead. */
static void another(void)
{
	draft_free(&d);
	memset(&d, 0, sizeof d);
	MUST(draft_init(&d, state) == 0);
	draft_recover(&d, &s);
}

/* put() records an event in a chunk, take() consumes it as a reader does. */
static void put(uint32_t chunk)
{
	unit_record(&s, &s.chunks[chunk], now, 70, "x", 1);
}

static void take(uint32_t chunk)
{
	s.chunks[chunk].read++;
}

TEST(first)
{
	begin();
	/* The draft is empty, and nothing can be added before draft_begin(). */
	CHECK("-", draft_empty(&d));
	CHECK("-", !add('a', 1));
	CHECK_EQ("-", draft_mark(&d)->position, 0);
	draft_begin(&d, 7, 1 << 20);
	CHECK_EQ("-", draft_mark(&d)->sequence, 7);
	CHECK_EQ("-", draft_mark(&d)->chunk, LOG_NO_CHUNK);
	CHECK("-", draft_empty(&d));
	draft_free(&d);
}

TEST(marks)
{
	const struct log_mark *m;

	begin();
	draft_begin(&d, 1, CAPACITY);
	CHECK("-", add('a', 4));
	CHECK("-", !draft_empty(&d));
	CHECK_STR("-", contents(), ""); /* not committed yet */
	draft_prepare(&d, 3, 17, 1);
	CHECK_STR("-", contents(), "");
	draft_commit(&d);
	CHECK_STR("-", contents(), "a");
	m = draft_mark(&d);
	CHECK("-", m->sequence == 1 && m->events == 1 && m->records == 1 && m->chunk == 3 && m->number == 17 &&
	      m->position > 0);
	CHECK("-", m->first == 1000 && m->last == 1000 && m->last_ticks == 1005);

	/* Three events at once, one of them stored as a record; then an event without a record. */
	CHECK("-", add('b', 4) && add('c', 0) && add('d', 300));
	draft_prepare(&d, 5, 1, 1);
	draft_commit(&d);
	CHECK("-", add('e', 4));
	draft_prepare(&d, LOG_NO_CHUNK, 0, 0);
	m = draft_mark(&d);
	CHECK("-", m->events == 5 && m->records == 2 && m->chunk == LOG_NO_CHUNK && m->first == 1000 &&
	      m->last == 1040);

	/* The next segment: the count of records continues. */
	draft_begin(&d, 2, CAPACITY);
	CHECK("-", draft_empty(&d));
	m = draft_mark(&d);
	CHECK("-", m->sequence == 2 && m->events == 0 && m->position == 0 && m->records == 2);
	CHECK("-", add('f', 4));
	draft_prepare(&d, LOG_NO_CHUNK, 0, 0);
	CHECK_STR("-", contents(), "f");
	CHECK_EQ("-", draft_mark(&d)->first, 1050);
	draft_free(&d);
}

/* A run of events is committed as a whole or not at all. */
TEST(runs)
{
	begin();
	for (unsigned i = 0; i < 5; i++)
		put(3);
	draft_begin(&d, 1, CAPACITY);
	CHECK("-", add('a', 4) && add('b', 4) && add('c', 4));
	draft_prepare(&d, 3, 2, 3);
	another();
	CHECK("-", draft_empty(&d) && draft_mark(&d)->records == 0);
	draft_begin(&d, 1, CAPACITY);
	CHECK("-", add('a', 4) && add('b', 4) && add('c', 4));
	draft_prepare(&d, 3, 2, 3);
	s.chunks[3].read = 3;
	another();
	CHECK_STR("-", contents(), "abc");
	CHECK_EQ("-", draft_mark(&d)->records, 3);
	draft_begin(&d, 2, CAPACITY);
	CHECK("-", add('d', 4) && add('e', 4));
	draft_prepare(&d, 3, 4, 2);
	draft_commit(&d);
	CHECK_STR("-", contents(), "de");
	CHECK_EQ("-", draft_mark(&d)->records, 5);
	draft_free(&d);
}

/*
 * If an event finds no room, draft_rollback() also removes the loss reported before it. Earlier events stay, and the
 * segment can go on after draft_extend().
 */
TEST(back)
{
	uint32_t position;

	begin();
	draft_begin(&d, 1, 1000);
	while (add('a', 200))
		draft_prepare(&d, LOG_NO_CHUNK, 0, 0);
	position = draft_mark(&d)->position;
	draft_begin(&d, 1, 1000);
	CHECK("-", add('a', 200));
	draft_prepare(&d, LOG_NO_CHUNK, 0, 0);
	CHECK("-", add('o', 0) && add('r', 0) && !add('b', 800));
	draft_rollback(&d);
	CHECK_STR("-", contents(), "a");
	CHECK_EQ("-", d.next.events, 1);
	CHECK_EQ("-", d.next.position, draft_mark(&d)->position);
	CHECK("-", !add('b', 1)); /* the segment is closed even though the event would fit */
	draft_extend(&d, position);
	CHECK("-", add('c', 1) && add('d', 0));
	draft_prepare(&d, LOG_NO_CHUNK, 0, 0);
	CHECK("-", memcmp(contents(), "ac", 2) == 0);
	CHECK_EQ("-", draft_mark(&d)->events, 3);
	/* The draft was empty before: the next event is the first again, and sets the segment's first time. */
	draft_begin(&d, 2, 300);
	CHECK("-", add('o', 0) && !add('b', 800));
	draft_rollback(&d);
	CHECK("-", draft_empty(&d));
	draft_extend(&d, 300);
	CHECK("-", add('c', 1));
	draft_prepare(&d, LOG_NO_CHUNK, 0, 0);
	CHECK_STR("-", contents(), "c");
	CHECK_EQ("-", draft_mark(&d)->first, now - 10);
	draft_free(&d);
}

TEST(forgotten)
{
	begin();
	draft_begin(&d, 1, CAPACITY);
	CHECK("-", add('a', 4));
	draft_prepare(&d, 0, 0, 1);
	draft_commit(&d);
	CHECK("-", add('b', 4));
	draft_prepare(&d, 0, 1, 1);
	draft_abort(&d); /* as when the record could not be consumed */
	CHECK_STR("-", contents(), "a");
	CHECK("-", !draft_empty(&d));
	CHECK_EQ("-", draft_mark(&d)->records, 1);
	/* The segment ends after draft_abort(): the encoder knows shapes of events that are not in the segment. */
	CHECK("-", !add('c', 4));
	draft_begin(&d, 2, CAPACITY);
	CHECK("-", add('c', 4));
	draft_prepare(&d, 0, 1, 1);
	draft_commit(&d);
	CHECK_STR("-", contents(), "c");
	CHECK_EQ("-", draft_mark(&d)->records, 2);
	draft_free(&d);
}

TEST(full)
{
	uint32_t position, events;

	begin();
	draft_begin(&d, 1, 1000);
	for (events = 0; add('a', 250); events++)
		draft_prepare(&d, LOG_NO_CHUNK, 0, 0);
	CHECK("-", events > 2);
	position = draft_mark(&d)->position;
	CHECK("-", position <= 1000);
	CHECK_EQ("-", draft_mark(&d)->events, events);
	CHECK("-", !add('b', 0)); /* not even a small event, which would be out of order */
	CHECK_EQ("-", draft_mark(&d)->position, position);
	/* An extension for the last event. */
	draft_extend(&d, position + pack_size_max(4));
	CHECK("-", add('z', 4));
	draft_prepare(&d, LOG_NO_CHUNK, 0, 0);
	CHECK_EQ("-", strlen(contents()), events + 1);
	CHECK_EQ("-", contents()[events], 'z');
	/* Never more than the draft's memory. */
	draft_begin(&d, 2, UINT32_MAX);
	CHECK_EQ("-", d.pack->capacity, CAPACITY);
	draft_extend(&d, UINT64_MAX);
	CHECK_EQ("-", d.pack->capacity, CAPACITY);
	draft_free(&d);
}

/* -- H25: deaths --------------------------------------------------------------------------- */

/*
 * Event 'a' is committed and 'b' is under way. The step at which the writer dies decides where b's record is: in the
 * draft or in the chunk.
 */
static void die(unsigned step)
{
	begin();
	put(2);
	draft_begin(&d, 4, CAPACITY);
	MUST(add('a', 4));
	draft_prepare(&d, 2, 0, 1);
	take(2);
	draft_commit(&d);
	put(2);
	if (step >= 1)
		MUST(add('b', 4));
	if (step >= 2)
		draft_prepare(&d, 2, 1, 1);
	if (step >= 3)
		take(2);
	if (step >= 4)
		draft_commit(&d);
	another();
}

TEST(death_at_each_step)
{
	for (unsigned step = 0; step <= 4; step++) {
		die(step);
		CHECK_STR("-", contents(), step < 3 ? "a" : "ab");
		CHECK_EQ("-", chunk_unread(&s.chunks[2], s.chunks[2].progress), step < 3 ? 1 : 0);
		CHECK_EQ("-", draft_mark(&d)->records, step < 3 ? 1 : 2);
		CHECK_EQ("-", d.next.events, draft_mark(&d)->events);
		CHECK_EQ("-", d.next.position, draft_mark(&d)->position);
		CHECK("-", !add('c', 4)); /* the next process begins a segment of its own */
		/* If that process dies as well, its successor finds the same state. */
		another();
		CHECK_STR("-", contents(), step < 3 ? "a" : "ab");
		draft_begin(&d, 5, CAPACITY);
		CHECK("-", add('c', 4));
		draft_prepare(&d, LOG_NO_CHUNK, 0, 0);
		another();
		CHECK_STR("-", contents(), "c");
		CHECK_EQ("-", draft_mark(&d)->sequence, 5);
		draft_free(&d);
	}
}

/* A death between two segments: the other mark, of the segment before, does not count for this segment. */
TEST(death_between_segments)
{
	die(3);
	draft_begin(&d, 5, CAPACITY);
	another();
	CHECK("-", draft_empty(&d));
	CHECK_EQ("-", draft_mark(&d)->sequence, 5);
	put(2);
	CHECK_EQ("-", s.chunks[2].read, 2);
	draft_begin(&d, 6, CAPACITY);
	MUST(add('c', 4));
	another();
	CHECK("-", draft_empty(&d));
	CHECK_EQ("-", chunk_unread(&s.chunks[2], s.chunks[2].progress), 1);
	draft_free(&d);
}

/* The record was overwritten while its writer was dying: it counts as lost, and is not in the log. */
TEST(overwritten)
{
	begin();
	put(2);
	draft_begin(&d, 4, CAPACITY);
	MUST(add('a', 4));
	draft_prepare(&d, 2, 0, 1);
	s.chunks[2].lock = unit_tid();
	chunk_recycle(&s, &s.chunks[2]);
	chunk_unlock(&s.chunks[2]);
	another();
	CHECK("-", draft_empty(&d));
	put(2);
	take(2); /* consumes record 1; record 0 was overwritten */
	another();
	CHECK("-", draft_empty(&d));
	draft_free(&d);
}

/* Record numbers wrap. */
TEST(numbers_go_round)
{
	begin();
	s.chunks[1].first = s.chunks[1].read = UINT32_MAX;
	s.chunks[1].progress = progress_make(UINT32_MAX, 0);
	draft_begin(&d, 1, CAPACITY);
	for (unsigned i = 0; i < 3; i++) {
		put(1);
		MUST(add((unsigned char)('a' + i), 1));
		draft_prepare(&d, 1, UINT32_MAX + i, 1);
		take(1);
		if (i < 2)
			draft_commit(&d);
	}
	another();
	CHECK_STR("-", contents(), "abc");
	draft_free(&d);
}

/* H18: an invalid mark is ignored. */
TEST(nonsense)
{
	begin();
	draft_begin(&d, 1, CAPACITY);
	MUST(add('a', 1));
	draft_prepare(&d, s.chunk_count, 0, 1);
	another();
	CHECK("-", draft_empty(&d));
	draft_begin(&d, 1, CAPACITY);
	MUST(add('a', 1));
	draft_prepare(&d, LOG_NO_CHUNK - 1, 0, 1);
	another();
	CHECK("-", draft_empty(&d));
	draft_free(&d);
}

/* -- Events that are in no segment ---------------------------------------------------------------- */

TEST(skipped)
{
	begin();
	draft_begin(&d, 1, CAPACITY);
	MUST(add('a', 1));
	draft_prepare(&d, LOG_NO_CHUNK, 0, 0);
	draft_skip(&d, 10, 3, 0);
	CHECK_STR("-", contents(), "a");
	CHECK_EQ("-", draft_mark(&d)->records, 10);
	CHECK_EQ("-", draft_mark(&d)->discarded, 3);
	draft_skip(&d, UINT32_MAX, 0, 0);
	CHECK_EQ("-", draft_mark(&d)->records, 9);
	another();
	CHECK_EQ("-", draft_mark(&d)->records, 9);
	draft_free(&d);
}

/* Records that the log leaves out are counted as they are consumed, with and without events beside them. */
TEST(left_out)
{
	begin();
	draft_begin(&d, 1, CAPACITY);
	put(2);
	put(2);
	put(2);
	d.next.left_out++;
	draft_prepare(&d, 2, 0, 1);
	another(); /* a death before the record is consumed */
	CHECK_EQ("-", draft_mark(&d)->left_out, 0);
	CHECK_EQ("-", draft_mark(&d)->records, 0);
	d.next.left_out++;
	draft_prepare(&d, 2, 0, 1);
	take(2);
	another(); /* and after it */
	CHECK_EQ("-", draft_mark(&d)->left_out, 1);
	CHECK_EQ("-", draft_mark(&d)->records, 1);
	draft_begin(&d, 1, CAPACITY);
	MUST(add('a', 1));
	d.next.left_out++;
	draft_prepare(&d, 2, 2, 2);
	take(2);
	take(2);
	another();
	CHECK_STR("-", contents(), "a");
	CHECK_EQ("-", draft_mark(&d)->left_out, 2);
	CHECK_EQ("-", draft_mark(&d)->records, 3);
	d.next.left_out += 5;
	draft_abort(&d);
	CHECK_EQ("-", d.next.left_out, 2);
	draft_clear(&d, &s);
	CHECK_EQ("-", draft_mark(&d)->left_out, 0);
	draft_free(&d);
}

/* The last event of a full log and the information that the log is full are committed together or not at all. */
TEST(last)
{
	begin();
	draft_begin(&d, 1, CAPACITY);
	MUST(add('a', 1));
	draft_prepare(&d, LOG_NO_CHUNK, 0, 0);
	MUST(add('b', 1));
	another();
	CHECK("-", !draft_mark(&d)->full);
	CHECK_STR("-", contents(), "a");
	draft_begin(&d, 2, CAPACITY);
	MUST(add('c', 1));
	draft_last(&d);
	CHECK("-", !add('d', 1));
	another();
	CHECK("LOG-15", draft_mark(&d)->full);
	CHECK_STR("LOG-15", contents(), "c");
	draft_skip(&d, 1, 1, 0);
	CHECK("-", draft_mark(&d)->full);
	draft_clear(&d, &s);
	CHECK("-", !draft_mark(&d)->full && draft_mark(&d)->discarded == 0);
	draft_free(&d);
}

/* posix_trace_clear(): the mark counts exactly the records consumed so far. */
TEST(cleared)
{
	uint32_t records = 0;

	begin();
	draft_begin(&d, 9, CAPACITY);
	for (uint32_t i = 0; i < s.chunk_count; i++) {
		for (uint32_t n = 0; n < i % 4; n++)
			put(i);
		s.chunks[i].read = i % 4;
	}
	s.chunks[1].read = 0;
	MUST(add('a', 1));
	draft_prepare(&d, 1, 0, 1);
	draft_clear(&d, &s);
	CHECK("-", draft_empty(&d) && !add('b', 1));
	for (uint32_t i = 0; i < s.chunk_count; i++)
		records += s.chunks[i].read;
	CHECK_EQ("-", draft_mark(&d)->records, records);
	/* After a death now, the record that was under way belongs to the log that has been cleared. */
	take(1);
	another();
	CHECK("-", draft_empty(&d));
	CHECK_EQ("-", draft_mark(&d)->sequence, 0);
	draft_begin(&d, 1, CAPACITY);
	another();
	CHECK("-", draft_empty(&d) && draft_mark(&d)->sequence == 1);
	draft_free(&d);
}

/* Returns how many invariants of the draft do not hold. */
static unsigned check(void)
{
	breaks = true;
	broken = 0;
	draft_check(&d);
	breaks = false;
	return broken;
}

TEST(invariants)
{
	struct log_state was;
	struct draft good;
	struct log_mark *m;

	begin();
	draft_begin(&d, 1, CAPACITY);
	CHECK("-", add('a', 8));
	draft_prepare(&d, 0, 0, 1);
	draft_commit(&d);
	CHECK("-", add('b', 8));
	CHECK_EQ("-", check(), 0);
	good = d;
	was = *state;
	m = &state->mark[state->mark_now];
	state->mark_now += 2;
	CHECK_EQ("-", check(), 1);
	*state = was;
	m->users = m->events + 1;
	CHECK_OP("-", check(), >=, 1);
	*state = was;
	m->position = CAPACITY + 1;
	CHECK_OP("-", check(), >=, 1);
	*state = was;
	state->mark_now ^= 1; /* the one of before */
	CHECK_OP("-", check(), >=, 1);
	*state = was;
	m->sequence++;
	CHECK_EQ("-", check(), 1);
	*state = was;
	m->discarded++; /* more than the next one */
	CHECK_EQ("-", check(), 1);
	*state = was;
	d.next.events = m->events - 1; /* an event was forgotten */
	CHECK_OP("-", check(), >=, 1);
	d = good;
	d.next.position = m->position - 1;
	CHECK_OP("-", check(), >=, 1);
	d = good;
	d.next.full = 2;
	CHECK_EQ("-", check(), 1);
	d = good;
	d.pack->position--;
	CHECK_EQ("-", check(), 1);
	d.ended = true;
	CHECK_EQ("-", check(), 0);
	d = good;
	d.pack->position++;
	d.point.position--;
	CHECK_EQ("-", check(), 1);
	d = good;
	CHECK_EQ("-", check(), 0);
	draft_free(&d);
}

TEST_MAIN(TEST_ENTRY(first), TEST_ENTRY(marks), TEST_ENTRY(runs), TEST_ENTRY(back), TEST_ENTRY(forgotten),
          TEST_ENTRY(full), TEST_ENTRY(death_at_each_step), TEST_ENTRY(death_between_segments),
          TEST_ENTRY(overwritten), TEST_ENTRY(numbers_go_round), TEST_ENTRY(nonsense), TEST_ENTRY(skipped),
          TEST_ENTRY(left_out), TEST_ENTRY(last), TEST_ENTRY(cleared), TEST_ENTRY(invariants))
