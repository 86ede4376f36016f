/*
 * instructions.c - counts the instructions of trace points and reads
 *
 * Times differ between runs. Numbers of instructions do not, so instructions.py can set limits for them. Each case is
 * single-stepped (step.h). Under valgrind the C library has no restartable sequences, and so the library would take
 * other paths.
 *
 * Prints a line for each case: its name, and the median of the instructions of one event, because now and then an event
 * has to get the next chunk.
 *
 * SPDX-License-Identifier: MIT
 */
#define POSIXTRACE_SHORT_NAMES
#include <posixtrace/typed.h>

#include "step.h"

#define SIZE  ((size_t)1 << 20)
#define COUNT 9 /* events, or reads, of one case */

static trace_event_id_t event_id;
static unsigned char data[256];

/* Inlines each trace point as in a program, with a constant length. */
#define RECORD(length)                                             \
	do {                                                       \
		step_begin();                                      \
		posix_trace_event(event_id, data, length);         \
		step_end();                                        \
	} while (0)

TRACE_EVENT(instructions, text, (u32, a), (str, text), (u64, b))

static void record_text(size_t length)
{
	static char text[sizeof data + 1];

	memset(text, 'x', length);
	text[length] = 0;
	for (unsigned i = 0; i < COUNT; i++) {
		step_begin();
		trace(instructions, text, 7, text, 199);
		step_end();
	}
}

static void record_note(void)
{
	for (unsigned i = 0; i < COUNT; i++) {
		step_begin();
		tracef("instructions.note", "a %u of %s for %d", i, "nine text", 199);
		step_end();
	}
}

static void record(size_t length)
{
	for (unsigned i = 0; i < COUNT; i++) {
		switch (length) {
		case 0:
			RECORD(0);
			break;
		case 8:
			RECORD(8);
			break;
		case 32:
			RECORD(32);
			break;
		default:
			RECORD(sizeof data);
		}
	}
}

/* Calls the function itself, as other languages and function pointers do. */
static void call(void)
{
	void (*volatile function)(trace_event_id_t, const void *, size_t) = (posix_trace_event);

	for (unsigned i = 0; i < COUNT; i++) {
		step_begin();
		function(event_id, data, 32);
		step_end();
	}
}

static void read_back(trace_id_t trid)
{
	struct posix_trace_event_info info;
	unsigned char to[sizeof data];
	int unavailable = 1;
	size_t got;

	for (unsigned i = 0; i < COUNT; i++) {
		step_begin();
		posix_trace_trygetnext_event(trid, &info, to, sizeof to, &got, &unavailable);
		step_end();
		MUST(!unavailable);
	}
}

static trace_id_t stream(size_t size)
{
	trace_attr_t attr;
	trace_id_t trid;

	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, size) == 0);
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP) == 0);
	MUST(posix_trace_create(0, &attr, &trid) == 0);
	posix_trace_attr_destroy(&attr);
	return trid;
}

static void fill(size_t bytes)
{
	for (size_t n = 0; n < bytes; n += sizeof data)
		posix_trace_event(event_id, data, sizeof data);
}

enum kind { OFF, CALL_BEFORE, SUSPENDED, FILTERED, RECORDED, TEXT, NOTE, TWO, TWO_ONE, TWO_NONE, READ, CALL_AFTER,
            CALL_CHILD };

static const struct {
	const char *name;
	enum kind kind;
	size_t length;
} cases[] = {
	{ "off", OFF, 32 },
	{ "off, function", CALL_BEFORE, 32 },
	{ "suspended", SUSPENDED, 32 },
	{ "filtered", FILTERED, 32 },
	{ "record 0", RECORDED, 0 },
	{ "record 8", RECORDED, 8 },
	{ "record 32", RECORDED, 32 },
	{ "record 256", RECORDED, 256 },
	{ "a text of 9", TEXT, 9 },
	{ "a text of 60", TEXT, 60 },
	{ "a note with a text", NOTE, 0 },
	{ "two streams", TWO, 32 },
	{ "two streams, one runs", TWO_ONE, 32 },
	{ "two streams suspended", TWO_NONE, 32 },
	{ "read", READ, 32 },
	{ "off, function, streams gone", CALL_AFTER, 32 },
	/* In a separate process: */
	{ "off, function, child", CALL_CHILD, 32 },
};
#define CASES (int)(sizeof cases / sizeof cases[0])
#define CASES_FIRST (CASES - 1) /* in the first process */

static void run_case(enum kind kind, size_t length)
{
	trace_id_t trid[2];
	trace_event_set_t set;
	int streams = kind == OFF || kind == CALL_BEFORE || kind == CALL_AFTER ? 0
	              : kind == TWO || kind == TWO_ONE || kind == TWO_NONE     ? 2
	                                                                       : 1;

	if (kind == CALL_BEFORE || kind == CALL_AFTER)
		call();
	for (int i = 0; i < streams; i++)
		trid[i] = stream(SIZE);
	if (kind == OFF)
		record(length);
	for (int i = 0; i < streams; i++)
		MUST(posix_trace_start(trid[i]) == 0);
	if (streams)
		fill(kind == READ ? SIZE / 2 : 2 * SIZE);
	if (kind == FILTERED) {
		posix_trace_eventset_empty(&set);
		posix_trace_eventset_add(event_id, &set);
		MUST(posix_trace_set_filter(trid[0], &set, POSIX_TRACE_SET_EVENTSET) == 0);
	}
	if (kind == SUSPENDED || kind == READ || kind == TWO_NONE)
		MUST(posix_trace_stop(trid[0]) == 0);
	if (kind == TWO_ONE || kind == TWO_NONE)
		MUST(posix_trace_stop(trid[1]) == 0);
	if (kind == READ)
		read_back(trid[0]);
	else if (kind == TEXT)
		record_text(length);
	else if (kind == NOTE)
		record_note();
	else if (streams)
		record(length);
	for (int i = 0; i < streams; i++)
		MUST(posix_trace_shutdown(trid[i]) == 0);
}

static void run(void)
{
	MUST(posix_trace_eventid_open("instructions", &event_id) == 0);
	for (int i = 0; i < CASES_FIRST; i++)
		run_case(cases[i].kind, cases[i].length);
}

static int compare(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

static void count(struct step *s, int from, int until)
{
	for (int i = from; i < until; i++) {
		long n[COUNT] = { 0 };

		for (int k = 0; k < COUNT; k++) {
			MUST(step_enter(s));
			while (step_one(s))
				n[k]++;
			MUST(!s->ended);
		}
		qsort(n, COUNT, sizeof n[0], compare);
		printf("%s\t%ld\n", cases[i].name, n[COUNT / 2]);
	}
	CHECK_EQ("-", step_finish(s), 0);
}

TEST(instructions)
{
	struct step s;
	trace_id_t trid;

	step_start(&s, run);
	count(&s, 0, CASES_FIRST);
	/* The child of a process that is not traced any more. */
	MUST(posix_trace_eventid_open("instructions", &event_id) == 0);
	trid = stream(SIZE);
	MUST(posix_trace_start(trid) == 0);
	fill(SIZE);
	MUST(posix_trace_shutdown(trid) == 0);
	step_start(&s, call);
	count(&s, CASES_FIRST, CASES);
}

TEST_MAIN(TEST_ENTRY(instructions))
