/*
 * typed.c - what does a trace point of <posixtrace/typed.h> cost?
 *
 * Next to each figure stands posix_trace_event() with the same number of bytes, ready in memory: what is more is the
 * cost of making the data. "By hand" is what a program without the header does: a struct, with the text at its end.
 * "Measured only" is a floor: a function that stores the numbers into ready data and asks how long the text is.
 *
 * The stream is a LOOP stream of 1 MiB, in use: nothing is read. The kinds run in turns.
 *
 * With -Dpeers=enabled the events of LTTng-UST with the same fields are measured in the same turns. A session has to
 * record them: script/bench --typed.
 *
 * SPDX-License-Identifier: MIT
 */
#define POSIXTRACE_SHORT_NAMES
#include <posixtrace/typed.h>

#include <stdlib.h>

#include "common.h"
#include "rows.h"
#if PEERS
# define LTTNG_UST_COMPAT_API_VERSION 1 /* without LTTng's old names, one of which is tracef */
# include <lttng/tracef.h>
# include "lttng_point.h"
#endif

#define BATCH 20000

static const struct section RECORDED = { "typed recorded", "a typed event, recorded, ns", "same bytes" };
#if PEERS
static const struct section LTTNG = { "typed LTTng", "the same event with LTTng-UST, recorded, ns", "ours" };
#endif
static const struct section OFF = { "typed off", "a typed event, nobody records, ns", "same bytes" };

TRACE_EVENT(bench, number, (u64, n))
TRACE_EVENT(bench, numbers, (u32, a), (u32, b), (u64, c, "ns"))
TRACE_EVENT(bench, array, (u32, id), (u32s, sizes, 16))
TRACE_EVENT(bench, text, (u32, id), (str, text), (u64, price))

static trace_event_id_t plain;
static unsigned char bytes[512];
static char text[256];
static uint32_t sizes[8];
static uint32_t count;

static inline __attribute__((always_inline)) void number_typed(void)
{
	trace(bench, number, count);
}

static inline __attribute__((always_inline)) void numbers_typed(void)
{
	trace(bench, numbers, count, 7, count);
}

static inline __attribute__((always_inline)) void array_typed(void)
{
	trace(bench, array, count, POSIXTRACE_ARRAY(sizes, sizeof sizes / sizeof sizes[0]));
}

static inline __attribute__((always_inline)) void numbers_note(void)
{
	tracef("bench.note", "a %u b %u c %zu", count, 7U, (size_t)count);
}

static inline __attribute__((always_inline)) void text_note(void)
{
	tracef("bench.note_text", "id %u is %s for %zu", count, text, (size_t)199);
}

static inline __attribute__((always_inline)) void text_typed(void)
{
	trace(bench, text, count, text, 199);
}

static inline __attribute__((always_inline)) void text_by_hand(void)
{
	struct {
		uint32_t id;
		uint64_t price;
		char text[sizeof text];
	} e;
	size_t length = strnlen(text, sizeof text - 1);

	e.id = count;
	e.price = 199;
	memcpy(e.text, text, length);
	e.text[length] = 0;
	posix_trace_event(plain, &e, offsetof(__typeof__(e), text) + length + 1);
}

static __attribute__((noinline)) void measure_and_record(uint32_t id, const char *measured, uint64_t price)
{
	memcpy(bytes, &id, sizeof id);
	memcpy(bytes + 8, &price, sizeof price);
	posix_trace_event(plain, bytes, sizeof id + sizeof price + strlen(measured) + 1);
}

static inline __attribute__((always_inline)) void text_measured(void)
{
	if (POSIXTRACE_ENABLED())
		measure_and_record(count, text, 199);
}

static const struct kind {
	const char *name;
	void (*record)(void);
	size_t size;        /* of the data */
	size_t text_length; /* of the text that is in it */
} kinds[] = {
	{ "a number", number_typed, 8, 0 },
	{ "three numbers", numbers_typed, 16, 0 },
	{ "the same with tracef()", numbers_note, 16, 0 },
	{ "a number, array of 8", array_typed, 4 + 2 + sizeof sizes, 0 },
	{ "two numbers, text of 9", text_typed, 4 + 10 + 8, 9 },
	{ "the same by hand", text_by_hand, 16 + 10, 9 },
	{ "the same measured only", text_measured, 4 + 10 + 8, 9 },
	{ "the same with tracef(), 9", text_note, 4 + 10 + 8, 9 },
	{ "two numbers, text of 60", text_typed, 4 + 61 + 8, 60 },
	{ "the same by hand, 60", text_by_hand, 16 + 61, 60 },
	{ "the same measured only, 60", text_measured, 4 + 61 + 8, 60 },
};

#define KINDS (sizeof kinds / sizeof kinds[0])

/* Inlines the trace point into a loop of its own, as it is in a program. */
#define LOOP(call)                                             \
	for (count = 0; count < BATCH; count++) {              \
		call;                                          \
		__asm__ __volatile__("" : : : "memory");       \
	}

static void typed_batch(const struct kind *k)
{
	if (k->record == number_typed)
		LOOP(number_typed())
	else if (k->record == numbers_typed)
		LOOP(numbers_typed())
	else if (k->record == array_typed)
		LOOP(array_typed())
	else if (k->record == numbers_note)
		LOOP(numbers_note())
	else if (k->record == text_note)
		LOOP(text_note())
	else if (k->record == text_typed)
		LOOP(text_typed())
	else if (k->record == text_measured)
		LOOP(text_measured())
	else
		LOOP(text_by_hand())
}

#if PEERS
/* Records the same fields with LTTng. Returns false if there is no such event. */
static bool lttng_batch(const struct kind *k)
{
	const uint16_t items = sizeof sizes / sizeof sizes[0];

	if (k->record == number_typed)
		LOOP(lttng_ust_tracepoint(bench, number, count))
	else if (k->record == numbers_typed)
		LOOP(lttng_ust_tracepoint(bench, numbers, count, 7, count))
	else if (k->record == array_typed)
		LOOP(lttng_ust_tracepoint(bench, array, count, sizes, items))
	else if (k->record == text_typed)
		LOOP(lttng_ust_tracepoint(bench, text, count, text, 199))
	else if (k->record == numbers_note)
		LOOP(lttng_ust_tracef("a %u b %u c %zu", count, 7U, (size_t)count))
	else if (k->record == text_note)
		LOOP(lttng_ust_tracef("id %u is %s for %zu", count, text, (size_t)199))
	else
		return false;
	return true;
}
#endif

static double per_event(double begin)
{
	return (seconds(CLOCK_THREAD_CPUTIME_ID) - begin) / BATCH * 1e9;
}

/* Measures typed and plain events in turns, and takes the median of each. */
static void measure(const struct section *section, int round, const struct kind *k, int turns)
{
	double *typed = new_values(turns), *floor = new_values(turns), begin;
	size_t size = k->size;
#if PEERS
	double *peer = new_values(turns);
	bool has_peer;
#endif

	memset(text, 'x', k->text_length);
	text[k->text_length] = 0;
	typed_batch(k);
#if PEERS
	has_peer = section == &RECORDED && lttng_batch(k);
#endif
	for (int i = 0; i < turns; i++) {
		begin = seconds(CLOCK_THREAD_CPUTIME_ID);
		typed_batch(k);
		typed[i] = per_event(begin);
		begin = seconds(CLOCK_THREAD_CPUTIME_ID);
		LOOP(posix_trace_event(plain, bytes, size))
		floor[i] = per_event(begin);
#if PEERS
		if (has_peer) {
			begin = seconds(CLOCK_THREAD_CPUTIME_ID);
			lttng_batch(k);
			peer[i] = per_event(begin);
		}
#endif
	}
	bench_row(section, k->name, round, quantile(typed, turns, 0.5), quantile(floor, turns, 0.5));
#if PEERS
	if (has_peer)
		bench_row(&LTTNG, k->name, round, quantile(peer, turns, 0.5), quantile(typed, turns, 0.5));
	free(peer);
#endif
	free(typed);
	free(floor);
}

static trace_id_t running(void)
{
	trace_attr_t attr;
	trace_id_t trid;

	must(posix_trace_attr_init(&attr), "posix_trace_attr_init");
	must(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP), "posix_trace_attr_setstreamfullpolicy");
	must(posix_trace_attr_setstreamsize(&attr, MIB), "posix_trace_attr_setstreamsize");
	must(posix_trace_create(0, &attr, &trid), "posix_trace_create");
	must(posix_trace_start(trid), "posix_trace_start");
	posix_trace_attr_destroy(&attr);
	return trid;
}

int main(int argc, char **argv)
{
	trace_id_t trid;
	int turns;

	bench_begin(argc, argv, 9, "what typed trace points cost");
	turns = bench.quick ? 3 : 25;
	must(posix_trace_eventid_open("bench.plain", &plain), "posix_trace_eventid_open");
#if PEERS
	if (!lttng_ust_tracepoint_enabled(bench, number) || !lttng_ust_tracepoint_enabled(lttng_ust_tracef, event))
		die("no session of LTTng records these events; script/bench --typed makes one");
#endif
	pin(0);
	for (int r = 0; r < bench.rounds; r++) {
		for (size_t i = 0; i < KINDS; i++)
			if (bench_wants(kinds[i].name))
				measure(&OFF, r, &kinds[i], turns);
		trid = running();
		for (size_t i = 0; i < KINDS; i++)
			if (bench_wants(kinds[i].name))
				measure(&RECORDED, r, &kinds[i], turns);
		must(posix_trace_shutdown(trid), "posix_trace_shutdown");
	}
	return bench_end();
}
