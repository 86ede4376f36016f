/*
 * writer.c - src/record/writer.c: what holds of a writer outside of a record; writer_check() finds what does not
 *
 * Everything else about writers is tested by what they record: conformance, fault/instructions, fault/kills.
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/writer.h"

#include "test.h"

static int broken;

void invariant_broken(const char *what);

void invariant_broken(const char *what)
{
	(void)what;
	broken++;
}

static trace_event_id_t id;

/* Returns this thread's writer in a running stream, after an event, so that the writer holds a chunk. */
static struct writer *writer_at_work(trace_id_t *trid)
{
	MUST(posix_trace_eventid_open("writer", &id) == 0);
	MUST(posix_trace_create(0, NULL, trid) == 0);
	MUST(posix_trace_start(*trid) == 0);
	posix_trace_event(id, &id, sizeof id);
	MUST(thread_self && thread_self->count == 1 && thread_self->order[0]->chunk);
	return thread_self->order[0];
}

/* Checks a writer in which a field has another value for a moment. */
#define CHECK_BROKEN(field, value)                                     \
	do {                                                           \
		__typeof__(field) was = (field);                       \
		broken = 0;                                            \
		(field) = (value);                                     \
		writer_check(w);                                       \
		CHECK_NE("-", broken, 0);                              \
		(field) = was;                                         \
	} while (0)

TEST(broken_invariants)
{
	trace_id_t trid;
	struct writer *w = writer_at_work(&trid);

	broken = 0;
	writer_check(w);
	CHECK_EQ("-", broken, 0);
	CHECK_BROKEN(w->taking, 1);
	CHECK_BROKEN(w->seat->busy, w->chunk_number);
	CHECK_BROKEN(w->seat, NULL);
	CHECK_BROKEN(w->at, NULL);
	CHECK_BROKEN(w->at, w->at + 8);
	CHECK_BROKEN(w->room_end, 0);
	CHECK_BROKEN(w->chunk, NULL);
	CHECK_BROKEN(w->chunk, w->chunk + 1);
	CHECK_BROKEN(w->owner, w->owner + 1);
	CHECK_BROKEN(w->progress, w->progress + 8);
	CHECK_BROKEN(w->chunk->progress, w->progress + 8);
	broken = 0;
	writer_check(w);
	CHECK_EQ("-", broken, 0);
	MUST(posix_trace_shutdown(trid) == 0);
}

/* A writer that has lost its chunk to another thread knows less, which is no fault. */
TEST(revoked)
{
	trace_id_t trid;
	struct writer *w = writer_at_work(&trid);

	broken = 0;
	w->chunk->owner = owner_next(w->owner, 0);
	w->chunk->progress += 8;
	writer_check(w);
	CHECK_EQ("-", broken, 0);
	w->chunk->progress -= 8;
	posix_trace_event(id, &id, sizeof id);
	CHECK_EQ("-", broken, 0);
	MUST(posix_trace_shutdown(trid) == 0);
}

TEST_MAIN(TEST_ENTRY(broken_invariants), TEST_ENTRY(revoked))
