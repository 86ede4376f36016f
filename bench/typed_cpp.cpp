/*
 * typed_cpp.cpp - what does a trace point of <posixtrace/trace.hpp> cost?
 *
 * As typed.c, for C++: next to each figure stands posix_trace_event() with the same number of bytes, ready in memory,
 * and with -Dpeers=enabled events of LTTng-UST with the same fields.
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/trace.hpp>

#include <cstdlib>
#include <string>
#include <vector>

extern "C" {
#include "common.h"
#include "rows.h"
}
#if PEERS
# define LTTNG_UST_COMPAT_API_VERSION 1
# include "lttng_point.h"
#endif

static constexpr int BATCH = 20000;

static const section RECORDED = { "typed C++ recorded", "a typed event in C++, recorded, ns", "same bytes" };
#if PEERS
static const section LTTNG = { "typed C++ LTTng", "the same event with LTTng-UST in C++, recorded, ns", "ours" };
#endif
static const section OFF = { "typed C++ off", "a typed event in C++, nobody records, ns", "same bytes" };

constexpr posixtrace::event<"bench.cpp_number", "n"> a_number;
constexpr posixtrace::event<"bench.cpp_numbers", "a", "b", "c/ns"> numbers;
constexpr posixtrace::event<"bench.cpp_text", "id", "text", "price"> texts;
constexpr posixtrace::event<"bench.cpp_array", "items"> array;
constexpr posixtrace::typed_event<unsigned long> given{ "bench.cpp_given", "n" };

static trace_event_id_t plain;
static unsigned char bytes[512];
/* Alone in its cache line: what reads a text reads 64 bytes at once, and waits for what was just written there. */
alignas(64) static unsigned count;

/* Calls a trace point in a loop of its own, as it is in a program. Returns the time of an event. */
template<class Event> static double batch(const Event &event)
{
	double begin = seconds(CLOCK_THREAD_CPUTIME_ID);

	for (count = 0; count < BATCH; count++) {
		event();
		__asm__ __volatile__("" : : : "memory");
	}
	return (seconds(CLOCK_THREAD_CPUTIME_ID) - begin) / BATCH * 1e9;
}

/* LTTng has no such event. */
struct nothing {
	void operator()() const {}
};

/* Measures typed and plain events, and those of LTTng, in turns, and takes the median of each. */
template<class Event, class Peer = nothing>
static void measure(const section &section, int round, const char *name, std::size_t size, const Event &event,
                    [[maybe_unused]] const Peer &peer = {})
{
	const int turns = bench.quick ? 3 : 25;
	std::vector<double> typed, floor, lttng;

	if (!bench_wants(name))
		return;
	batch(event);
	for (int i = 0; i < turns; i++) {
		typed.push_back(batch(event));
		floor.push_back(batch([size] { posix_trace_event(plain, bytes, size); }));
		if (&section == &RECORDED && !std::is_same_v<Peer, nothing>)
			lttng.push_back(batch(peer));
	}
	bench_row(&section, name, round, quantile(typed.data(), turns, 0.5), quantile(floor.data(), turns, 0.5));
#if PEERS
	if (!lttng.empty())
		bench_row(&LTTNG, name, round, quantile(lttng.data(), turns, 0.5),
		          quantile(typed.data(), turns, 0.5));
#endif
}

/* The events of LTTng. */
#if PEERS
# define PEER(...) , [] { lttng_ust_tracepoint(bench, __VA_ARGS__); }
#else
# define PEER(...)
#endif

static void measure_all(const section &section, int round)
{
	alignas(64) static const std::string text9(9, 'x'), text60(60, 'x');
	static const std::vector<int> items(8, 7);

	measure(section, round, "a number", 8, [] { a_number(static_cast<unsigned long>(count)); } PEER(number, count));
	measure(section, round, "a number, C++17", 8, [] { given(count); });
	measure(section, round, "three numbers", 16,
	        [] { numbers(count, 7, static_cast<unsigned long>(count)); } PEER(numbers, count, 7, count));
	measure(section, round, "two numbers, text of 9", 4 + 10 + 8,
	        [] { texts(count, text9, 199L); } PEER(text, count, text9.c_str(), 199));
	measure(section, round, "two numbers, text of 60", 4 + 61 + 8,
	        [] { texts(count, text60, 199L); } PEER(text, count, text60.c_str(), 199));
	measure(section, round, "two numbers, string_view of 9", 4 + 10 + 8,
	        [] { texts(count, std::string_view(text60).substr(0, 9), 199L); });
	measure(section, round, "8 numbers", 2 + 8 * 4, [] { array(items); });
	measure(section, round, "a span: two events", 0, [] { posixtrace::span<"bench.cpp_span"> span; });
}

static trace_id_t running()
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
	bench_begin(argc, argv, 9, "what typed trace points in C++ cost");
	must(posix_trace_eventid_open("bench.plain", &plain), "posix_trace_eventid_open");
#if PEERS
	if (!lttng_ust_tracepoint_enabled(bench, number))
		die("no session of LTTng records these events; script/bench --typed makes one");
#endif
	pin(0);
	for (int r = 0; r < bench.rounds; r++) {
		measure_all(OFF, r);
		trace_id_t trid = running();
		measure_all(RECORDED, r);
		must(posix_trace_shutdown(trid), "posix_trace_shutdown");
	}
	return bench_end();
}
