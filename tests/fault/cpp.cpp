/*
 * cpp.cpp - <posixtrace/trace.hpp>: what is recorded, and by threads, handlers, children, several files and modules
 *
 * Built for C++17 without exceptions, and for C++20.
 *
 * SPDX-License-Identifier: MIT
 */
#include <array>
#include <atomic>
#include <dlfcn.h>
#include <optional>
#include <pthread.h>
#include <stdexcept>
#include <string_view>
#include <sys/syscall.h>
#include <sys/time.h>
#include <vector>

#include "fault.h"
#include "../conformance/stream.h"
#include "cpp_events.hpp"
#include <posixtrace/tracy.hpp>

using namespace std::chrono_literals;

enum class how { cash, card, voucher };
constexpr const char *posixtrace_labels(how) { return "cash,card,voucher"; }
enum rights : std::uint16_t { may_read = 1, may_write = 2 };
constexpr const char *posixtrace_labels(rights) { return "read|write"; }
enum plain : unsigned char { zero, one };
struct named {
	std::string name;
};
inline const std::string &posixtrace_value(const named &n) { return n.name; }

constexpr posixtrace::typed_event<std::uint32_t> first_of_many{ "shop.first_of_many", "n" };
constexpr posixtrace::typed_event<std::uint32_t> in_handler{ "shop.in_handler", "n" };
constexpr posixtrace::typed_event<int> answered{ "shop.answered{end=request,by=id}", "id" };
constexpr posixtrace::typed_event<> opened{ "shop.open" };

static trace_id_t running()
{
	trace_attr_t attr;
	trace_id_t trid;

	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, 4 << 20) == 0);
	trid = stream_running(&attr);
	posix_trace_attr_destroy(&attr);
	return trid;
}

static std::string layout_of(trace_id_t trid, trace_event_id_t id)
{
	char layout[POSIXTRACE_LAYOUT_MAX + 1];
	int error = posixtrace_get_layout(trid, id, layout, sizeof layout);

	return error == ENOENT ? "none" : error ? "error" : layout;
}

static std::string name_of(trace_id_t trid, trace_event_id_t id)
{
	char name[TRACE_EVENT_NAME_MAX + 1];

	MUST(posix_trace_eventid_get_name(trid, id, name) == 0);
	return name;
}

/* Checks that the next event has this name, this layout, which is right, and these bytes. */
static void expect(trace_id_t trid, const char *name, const char *layout, std::string_view data)
{
	stream_event e;

	stream_next(trid, &e);
	std::string its_name = name_of(trid, e.info.posix_event_id);
	std::string its_layout = layout_of(trid, e.info.posix_event_id);
	CHECK_STR("-", its_name.c_str(), name);
	CHECK_STR("-", its_layout.c_str(), layout);
	CHECK("-", strcmp(layout, "none") == 0 || !posixtrace_layout_wrong(layout, nullptr, nullptr));
	CHECK_EQ("-", e.len, data.size());
	/* The bytes are those of a machine that is little-endian. */
	CHECK("-", __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || e.len != data.size() ||
	           memcmp(e.data, data.data(), e.len) == 0);
}

template<std::size_t N> static std::string_view bytes(const char (&text)[N])
{
	return { text, N - 1 };
}

TEST(numbers)
{
	trace_id_t trid;

	shm_private("");
	trid = running();
	constexpr posixtrace::typed_event<unsigned char, short, unsigned, long long, bool, char, float, double, how,
	                                  rights, plain, std::byte> all{
		"shop.all", "a", "b/B", "c", "d", "e", "f", "g/%", "h", "i", "j", "k", "l" };
	all(1, -2, 3, -4, true, 'x', 0.5F, 0.25, how::card, rights(3), one, std::byte{ 255 });
	expect(trid, "shop.all", "{packed;a:u8,b:i16/B,c:u32,d:i64,e:bool,f:c[1],g:f32/%,h:f64,"
	                         "i:i32<cash,card,voucher>,j:x16<read|write>,k:u8,l:x8}",
	       bytes("\1\376\377\3\0\0\0\374\377\377\377\377\377\377\377\1x\0\0\0\77\0\0\0\0\0\0\320\77"
	             "\1\0\0\0\3\0\1\377"));
	using ms = std::chrono::duration<int, std::milli>;
	using minutes = std::chrono::duration<int, std::ratio<60>>;
	using system = std::chrono::system_clock::time_point;
	using steady = std::chrono::steady_clock::time_point;
	constexpr posixtrace::typed_event<ms, minutes, system, steady> times{ "shop.times", "a", "b", "c", "d" };
	times(ms(3), minutes(2), system(5ns), steady(6ns));
	expect(trid, "shop.times", "{packed;a:i32/ms,b:i64/s,c:t64,d:i64/ns}",
	       bytes("\3\0\0\0\170\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0"));
	/* Times that are too long for their units. */
	using hours = std::chrono::hours;
	using days = std::chrono::time_point<std::chrono::system_clock, hours>;
	constexpr posixtrace::typed_event<hours, hours, days> longest{ "shop.longest", "a", "b", "c" };
	longest(hours::max(), hours::min(), days::max());
	using centuries = std::chrono::duration<signed char, std::ratio<3155760000>>;
	constexpr posixtrace::typed_event<centuries> short_type{ "shop.short_type", "a" };
	expect(trid, "shop.longest", "{packed;a:i64/s,b:i64/s,c:t64}",
	       bytes("\377\377\377\377\377\377\377\177\0\0\0\0\0\0\0\200\377\377\377\377\377\377\377\177"));
	short_type(centuries(-1));
	expect(trid, "shop.short_type", "{packed;a:i64/s}", bytes("\200\354\346\103\377\377\377\377"));
	opened();
	expect(trid, "shop.open", "none", "");
	answered(7);
	expect(trid, "shop.answered", "{packed,end=request,by=id;id:i32}", bytes("\7\0\0\0"));
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

TEST(places)
{
	stream_event e;
	trace_id_t trid;

	shm_private("");
	trid = running();
	constexpr posixtrace::typed_event<const void *, int *, void (*)(), std::nullptr_t> places{
		"shop.places", "a", "b", "c", "d" };
	places(&e, nullptr, test_numbers, nullptr);
	stream_next(trid, &e);
	std::string layout = layout_of(trid, e.info.posix_event_id);
	CHECK_STR("-", layout.c_str(), sizeof(void *) == 8 ? "{packed;a:x64,b:x64,c:a64,d:x64}" :
	                                                     "{packed;a:x32,b:x32,c:a32,d:x32}");
	CHECK_EQ("-", e.len, 4 * sizeof(void *));
	void (*function)() = test_numbers;
	CHECK("-", memcmp(e.data + 2 * sizeof(void *), &function, sizeof function) == 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

TEST(texts)
{
	constexpr posixtrace::typed_event<const char *, std::string, std::string_view, posixtrace::text<5>, named> text{
		"shop.text", "a", "b", "c", "d", "e" };
	constexpr const char *layout = "{packed;a:z,b:z,c:z,d:z,e:z}";
	trace_id_t trid;

	shm_private("");
	trid = running();
	text("a", std::string("bb"), std::string_view("cccc", 3), "longer", named{ "n" });
	expect(trid, "shop.text", layout, bytes("a\0bb\0ccc\0lo\xe2\x80\xa6\0n\0"));
	/* Null pointers, and nulls inside. */
	text(nullptr, std::string("b\0b", 3), std::string_view(), nullptr, named{});
	expect(trid, "shop.text", layout, bytes("(null)\0b\0\0(n\xe2\x80\xa6\0\0"));
	constexpr posixtrace::typed_event<posixtrace::text<20>> sized{ "shop.sized", "a" };
	sized(posixtrace::text<20>(nullptr, 3));
	expect(trid, "shop.sized", "{packed;a:z}", bytes("(null)\0"));
	for (std::size_t n = 0; n < 600; n++) {
		stream_event e;
		std::string all(n, 'x');

		order(7u, all, 199LL);
		stream_next(trid, &e);
		CHECK_EQ("-", e.len, 4 + (n < 255 ? n : 255) + 1 + 8);
		CHECK_EQ("-", strlen(reinterpret_cast<char *>(e.data) + 4), n < 255 ? n : 255);
		CHECK_EQ("-", e.data[e.len - 8], 199);
	}
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

TEST(arrays)
{
	using list = std::vector<int>;
	using times = std::array<std::chrono::milliseconds, 1>;
	constexpr posixtrace::typed_event<list, times, short[2], std::vector<std::byte>, std::optional<short>,
	                                  std::optional<std::string>> arrays{
		"shop.arrays", "a/ct", "b", "c", "d", "e", "f" };
	constexpr posixtrace::typed_event<std::vector<std::uint64_t>> many{ "shop.many", "a" };
	constexpr const char *layout = "{packed;n_a:u16,a:i32[n_a]/ct,n_b:u16,b:i64[n_b]/ms,n_c:u16,c:i16[n_c],n_d:u16,"
		                       "d:b[n_d],n_e:u8,e:i16[n_e],f:z}";
	const std::optional<std::string> some = "x", none;
	const short c[2] = { 5, 6 };
	stream_event e;
	trace_id_t trid;

	shm_private("");
	trid = running();
	arrays({ 1, 2 }, { 3ms }, c, { std::byte{ 7 }, std::byte{ 8 } }, short(9), some);
	expect(trid, "shop.arrays", layout,
	       bytes("\2\0\1\0\0\0\2\0\0\0" "\1\0\3\0\0\0\0\0\0\0" "\2\0\5\0\6\0" "\2\0\7\10" "\1\11\0" "x\0"));
	arrays({}, { 3ms }, c, {}, std::nullopt, none);
	expect(trid, "shop.arrays", layout, bytes("\0\0" "\1\0\3\0\0\0\0\0\0\0" "\2\0\5\0\6\0" "\0\0" "\0" "(null)\0"));
	/* A longer array is cut. */
	for (std::size_t n : { 63, 64, 65, 10000 }) {
		many(std::vector<std::uint64_t>(n, 1));
		stream_next(trid, &e);
		CHECK_EQ("-", e.len, 2 + 8 * (n < 64 ? n : 64));
	}
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* In a process that nobody traces nothing is opened. */
TEST(nobody_traces)
{
	trace_id_t trid;

	shm_private("");
	first_of_many(1);
	CHECK("-", !posixtrace::enabled() && !first_of_many && !order);
	for (int i = 0; i < 10; i++)
		first_of_many(1);
	CHECK_EQ("-", shm_count(shm_directory(), "names-"), 0);
	trid = running();
	CHECK("-", posixtrace::enabled() && first_of_many && order);
	first_of_many(2);
	CHECK_EQ("-", stream_count(trid, stream_id("shop.first_of_many")), 1);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* A zone that finds out that nobody traces has no end. */
TEST(zones_first)
{
	int status;
	pid_t child;

	shm_private("");
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		trace_id_t trid;

		CHECK("-", posixtrace::enabled());
		{
			ZoneScopedN("shop.zone");

			trid = running();
		}
		CHECK_EQ("-", stream_drain(trid), 0);
		CHECK_EQ("-", posix_trace_shutdown(trid), 0);
		_exit(test_failures != 0);
	}
	MUST(waitpid(child, &status, 0) == child);
	CHECK_EQ("-", status, 0);
}

static __attribute__((noinline)) void here()
{
	first_of_many(1);
}

/* The address of an event is that of the trace point, not of a function of the header. */
TEST(addresses)
{
	stream_event e;
	trace_id_t trid;

	shm_private("");
	trid = running();
	here();
	stream_next(trid, &e);
	CHECK("-", reinterpret_cast<uintptr_t>(e.info.posix_prog_address) - reinterpret_cast<uintptr_t>(here) < 2000);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

#if __cplusplus >= 202002L
static void throwing(bool throws)
{
	posixtrace::span<"shop.work", "throws"> work{ throws };

	if (throws)
		throw std::runtime_error("early");
}

TEST(spans)
{
	trace_id_t trid;

	shm_private("");
	fault_open("anything");
	{
		/* No end without a beginning. */
		posixtrace::span<"shop.untraced"> untraced;

		trid = running();
	}
	throwing(false);
	try {
		throwing(true);
	} catch (const std::runtime_error &) {
		opened();
	}
	{
		posixtrace::span<"shop.early"> early;

		early.end();
		opened();
	}
	expect(trid, "shop.work.begin", "{packed;throws:bool}", bytes("\0"));
	expect(trid, "shop.work.end", "none", "");
	expect(trid, "shop.work.begin", "{packed;throws:bool}", bytes("\1"));
	expect(trid, "shop.work.end", "none", "");
	expect(trid, "shop.open", "none", "");
	expect(trid, "shop.early.begin", "none", "");
	expect(trid, "shop.early.end", "none", "");
	expect(trid, "shop.open", "none", "");
	CHECK_EQ("-", stream_drain(trid), 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* A beginning that finds out that nobody traces has no end: the first event of a process, and that of a child. */
TEST(spans_first)
{
	int status;

	shm_private("");
	for (bool opened_before : { false, true }) {
		trace_id_t before = 0;

		if (opened_before) {
			trace_attr_t attr;

			MUST(posix_trace_attr_init(&attr) == 0);
			MUST(posix_trace_attr_setinherited(&attr, POSIX_TRACE_CLOSE_FOR_CHILD) == 0);
			before = stream_running(&attr);
			posix_trace_attr_destroy(&attr);
			throwing(false);
		}
		for (bool has_field : { false, true }) {
			pid_t child = fork();

			MUST(child >= 0);
			if (child == 0) {
				trace_id_t trid;

				CHECK("-", posixtrace::enabled());
				if (has_field) {
					posixtrace::span<"shop.work", "throws"> work{ false };

					trid = running();
				} else {
					posixtrace::span<"shop.untraced"> untraced;

					trid = running();
				}
				CHECK_EQ("-", stream_drain(trid), 0);
				CHECK_EQ("-", posix_trace_shutdown(trid), 0);
				_exit(test_failures != 0);
			}
			MUST(waitpid(child, &status, 0) == child);
			CHECK_EQ("-", status, 0);
		}
		if (opened_before)
			CHECK_EQ("-", posix_trace_shutdown(before), 0);
	}
}

TEST(counters)
{
	posixtrace::counter<"shop.open_orders"> open_orders;
	posixtrace::counter<"shop.load"> load;
	trace_id_t trid;

	shm_private("");
	trid = running();
	open_orders(-2);
	open_orders(3u);
	load(0.25F);
	POSIXTRACE_COUNTER("shop.open_orders", 4);
	open_orders(~std::uint64_t(0));
	POSIXTRACE_COUNTER("shop.load", std::atomic<double>(0.25));
	POSIXTRACE_COUNTER("shop.open_orders", how::voucher);
	expect(trid, "shop.open_orders", "{counter;value:i64}", bytes("\376\377\377\377\377\377\377\377"));
	expect(trid, "shop.open_orders", "{counter;value:i64}", bytes("\3\0\0\0\0\0\0\0"));
	expect(trid, "shop.load", "{counter;value:f64}", bytes("\0\0\0\0\0\0\320\77"));
	expect(trid, "shop.open_orders", "{counter;value:i64}", bytes("\4\0\0\0\0\0\0\0"));
	expect(trid, "shop.open_orders(value:u64)", "{counter;value:u64}",
	       bytes("\377\377\377\377\377\377\377\377"));
	expect(trid, "shop.load", "{counter;value:f64}", bytes("\0\0\0\0\0\0\320\77"));
	expect(trid, "shop.open_orders", "{counter;value:i64}", bytes("\2\0\0\0\0\0\0\0"));
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* What the events mean stands behind the name. */
TEST(attributes)
{
	posixtrace::event<"shop.full{level=error}", "path"> full;
	posixtrace::event<"shop.query{took=time}", "time", "id"> query;
	trace_id_t trid;

	shm_private("");
	trid = running();
	full("/tmp");
	query(std::chrono::duration<int, std::micro>(3), 4);
	expect(trid, "shop.full", "{packed,level=error;path:z}", bytes("/tmp\0"));
	expect(trid, "shop.query", "{packed,took=time;time:i32/us,id:i32}", bytes("\3\0\0\0\4\0\0\0"));
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* Two files that do not agree about the fields and their types: nothing is garbled, and the name tells the fields. */
TEST(other_types)
{
	posixtrace::event<"shop.differs", "value"> differs;
	posixtrace::event<"shop.fields", "a"> fields;
	posixtrace::event<"shop.units", "a"> units;
	posixtrace::counter<"shop.mixed"> mixed;
	trace_id_t trid;

	shm_private("");
	trid = running();
	for (int i = 0; i < 2; i++) {
		differs("text");
		fields(std::int64_t(8));
		units(std::int64_t(9));
		mixed(1);
		cpp_differs(7);
		expect(trid, "shop.differs", "{packed;value:z}", bytes("text\0"));
		expect(trid, "shop.fields", "{packed;a:i64}", bytes("\10\0\0\0\0\0\0\0"));
		expect(trid, "shop.units", "{packed;a:i64}", bytes("\11\0\0\0\0\0\0\0"));
		expect(trid, "shop.mixed", "{counter;value:i64}", bytes("\1\0\0\0\0\0\0\0"));
		expect(trid, "shop.differs(value:i64)", "{packed;value:i64}", bytes("\7\0\0\0\0\0\0\0"));
		expect(trid, "shop.fields(b:i64)", "{packed;b:i64}", bytes("\7\0\0\0\0\0\0\0"));
		expect(trid, "shop.units(a:i64/ns)", "{packed;a:i64/ns}", bytes("\7\0\0\0\0\0\0\0"));
		expect(trid, "shop.mixed(value:f64)", "{counter;value:f64}", bytes("\0\0\0\0\0\0\340\77"));
	}
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}
#endif

#define THREADS 8
#define EACH    500

static std::atomic<int> waiting;

static void *many(void *arg)
{
	/* All have their first event at the same time. */
	waiting++;
	while (waiting < THREADS)
		;
	for (std::uint32_t i = 0; i < EACH; i++) {
		first_of_many(i);
		order(i, "thread", 1LL);
	}
	return arg;
}

TEST(threads)
{
	std::uint32_t of_first = 0, of_order = 0;
	pthread_t thread[THREADS];
	stream_event e;
	trace_id_t trid;

	shm_private("");
	trid = running();
	for (pthread_t &t : thread)
		MUST(pthread_create(&t, nullptr, many, nullptr) == 0);
	for (pthread_t &t : thread)
		pthread_join(t, nullptr);
	while (stream_try(trid, &e)) {
		of_first += name_of(trid, e.info.posix_event_id) == "shop.first_of_many";
		of_order += name_of(trid, e.info.posix_event_id) == "shop.order";
	}
	CHECK_EQ("-", of_first, THREADS * EACH);
	CHECK_EQ("-", of_order, THREADS * EACH);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

static volatile std::uint32_t handled;

static void handler(int)
{
	in_handler(handled);
	order(handled, "handler", 1LL);
	handled = handled + 1;
}

/* The handler's first event comes at any time, also while the program has its own first one. */
TEST(handlers)
{
	for (int round = 0; round < 20; round++) {
		int status;
		pid_t child = fork();

		MUST(child >= 0);
		if (child == 0) {
			itimerval often = { { 0, 50 + round }, { 0, 30 + round } };
			std::uint32_t n = 0, of_program = 0, of_handler = 0, of_order = 0;
			stream_event e;
			trace_id_t trid;

			shm_private("");
			trid = running();
			signal(SIGALRM, handler);
			setitimer(ITIMER_REAL, &often, nullptr);
			while (n < 200 || handled < 20)
				first_of_many(n++);
			often.it_value.tv_usec = often.it_interval.tv_usec = 0;
			setitimer(ITIMER_REAL, &often, nullptr);
			while (stream_try(trid, &e)) {
				std::string name = name_of(trid, e.info.posix_event_id);

				of_handler += name == "shop.in_handler";
				of_order += name == "shop.order";
				of_program += name == "shop.first_of_many";
			}
			CHECK_EQ("-", of_handler, handled);
			CHECK_EQ("-", of_order, handled);
			/* A program that is faster than 4 MiB of events is none of this test's business. */
			CHECK("-", of_program == n || n > 50000);
			_exit(test_failures != 0);
		}
		MUST(waitpid(child, &status, 0) == child);
		CHECK_EQ("-", status, 0);
	}
}

/* Children by fork and by a bare system call, before and after the parent's first event. */
TEST(children)
{
	trace_id_t trid;

	shm_private("");
	trid = running();
	for (std::uint32_t i = 0; i < 4; i++) {
		pid_t child = i % 2 ? static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) : fork();

		MUST(child >= 0);
		if (child == 0) {
			first_of_many(i);
			order(i, "child", 1LL);
			_exit(0);
		}
		MUST(waitpid(child, nullptr, 0) == child);
		if (i > 0)
			first_of_many(10 + i);
	}
	CHECK_EQ("-", stream_count(trid, stream_id("shop.first_of_many")), 4 + 3);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* One event type, whoever defines it; a module may be unloaded and loaded again. */
TEST(files_and_modules)
{
	trace_id_t trid;

	shm_private("");
	trid = running();
	order(1u, "here", 1LL);
	cpp_other(1);
	expect(trid, "shop.order", ORDER_LAYOUT, bytes("\1\0\0\0here\0\1\0\0\0\0\0\0\0"));
	expect(trid, "shop.order", ORDER_LAYOUT, bytes("\1\0\0\0other\0\2\0\0\0\0\0\0\0"));
#ifdef MODULE_PATH
	for (int i = 0; i < 3; i++) {
		void *module = dlopen(MODULE_PATH, RTLD_NOW);

		MUST(module);
		auto record = reinterpret_cast<void (*)(std::uint32_t)>(dlsym(module, "cpp_module"));
		MUST(record);
		record(2);
		dlclose(module);
		for (bool found = false; !found;) {
			stream_event e;

			/* What comes before the last one. */
			stream_next(trid, &e);
			found = name_of(trid, e.info.posix_event_id) == "shop.typed(n:f64)";
		}
		stream_event e;
		for (const char *name : { "shop.of_module", "shop.zone.end", "shop.in_template.end" }) {
			stream_next(trid, &e);
			CHECK("-", name_of(trid, e.info.posix_event_id) == name);
		}
		/* Nothing of the header keeps a module from being unloaded. */
		CHECK("-", !dlopen(MODULE_PATH, RTLD_NOW | RTLD_NOLOAD));
		expect(trid, "shop.order", ORDER_LAYOUT, bytes("\2\0\0\0other\0\2\0\0\0\0\0\0\0"));
	}
#endif
	CHECK_EQ("-", stream_drain(trid), 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

TEST_MAIN(TEST_ENTRY(numbers), TEST_ENTRY(places), TEST_ENTRY(texts), TEST_ENTRY(arrays), TEST_ENTRY(nobody_traces),
          TEST_ENTRY(zones_first), TEST_ENTRY(addresses),
#if __cplusplus >= 202002L
          TEST_ENTRY(spans), TEST_ENTRY(spans_first), TEST_ENTRY(counters), TEST_ENTRY(attributes),
          TEST_ENTRY(other_types),
#endif
          TEST_ENTRY(threads), TEST_ENTRY(handlers), TEST_ENTRY(children), TEST_ENTRY(files_and_modules))
