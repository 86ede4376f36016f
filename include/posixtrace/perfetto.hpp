/*
 * perfetto.hpp - the track event macros of Perfetto's SDK, which record events of posixtrace instead
 *
 * For a program that has these macros: add -I.../include/posixtrace/compat to the compiler's options, and the program's
 * #include <perfetto.h> is this file.
 *
 *     TRACE_EVENT(category, name, key, value...)     category.name.begin with the fields, and category.name.end
 *     TRACE_EVENT_BEGIN, TRACE_EVENT_END             the same; an end is that of the thread's last beginning
 *     TRACE_EVENT_INSTANT                            category.name
 *     TRACE_COUNTER(category, name, value)           category.name with the field value
 *     TRACE_EVENT0, 1, 2 ...                         the older macros, as far as they are the same
 *
 *     perfetto::Flow, perfetto::TerminatingFlow      of these but the end: the field flow_id, sent and received
 *
 * Of several flows of an event the first one is recorded. Arguments of the end of a span are ignored, and so are other
 * arguments that are no key and value: tracks, times, and functions that take a perfetto::EventContext, which are not
 * called: they compile if they only add debug annotations. There are no protobuf messages and no TracedValue. All
 * categories are on.
 * Of the functions there is what a program needs to start: perfetto::Tracing::Initialize(),
 * perfetto::TrackEvent::Register(). There are no sessions, because posixtrace record records.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef POSIXTRACE_PERFETTO_HPP
#define POSIXTRACE_PERFETTO_HPP

#ifdef POSIXTRACE_SHORT_NAMES
# error "posixtrace/perfetto.hpp and POSIXTRACE_SHORT_NAMES both define TRACE_EVENT and TRACE_COUNTER"
#endif

#include <cstdint>
#include <string>
#include <tuple>
#include <unistd.h>

#include "macros.hpp"

namespace perfetto {

struct StaticString {
	const char *value;

	constexpr explicit StaticString(const char *text) noexcept : value(text) {}
};

struct DynamicString {
	const char *value;

	explicit DynamicString(const char *text) noexcept : value(text) {}
	explicit DynamicString(const std::string &text) noexcept : value(text.c_str()) {}
};

/* Events are in the thread that records them: a track changes nothing. */
struct Track {
	constexpr Track() noexcept = default;
	constexpr explicit Track(std::uint64_t) noexcept {}
	constexpr Track(std::uint64_t, Track) noexcept {}
	template<class... Any> static constexpr Track FromPointer(Any...) noexcept { return Track(); }
	template<class... Any> static constexpr Track Global(Any...) noexcept { return Track(); }
	template<class... Any> static constexpr Track ThreadScoped(Any...) noexcept { return Track(); }
};

struct ThreadTrack : Track {
	static constexpr ThreadTrack Current() noexcept { return {}; }
	template<class Thread> static constexpr ThreadTrack ForThread(Thread) noexcept { return {}; }
};

struct ProcessTrack : Track {
	static constexpr ProcessTrack Current() noexcept { return {}; }
};

struct NamedTrack : Track {
	template<class... Any> constexpr explicit NamedTrack(Any...) noexcept {}
};

struct CounterTrack {
	const char *name;
	bool constant = true; /* the bytes of the name never change */

	template<class... Any> constexpr explicit CounterTrack(const char *text, Any...) noexcept : name(text) {}
	template<class... Any> constexpr explicit CounterTrack(StaticString text, Any...) noexcept : name(text.value) {}
	template<class... Any> explicit CounterTrack(DynamicString text, Any...) noexcept
		: name(text.value), constant(false)
	{
	}
	constexpr CounterTrack set_unit_name(const char *) const noexcept { return *this; }
	constexpr CounterTrack set_unit_multiplier(std::int64_t) const noexcept { return *this; }
	constexpr CounterTrack set_is_incremental(bool = true) const noexcept { return *this; }
};

/* Returns a number for this number of this process: posixtrace connects flows of all processes. Makes a system call. */
inline std::uint64_t posixtrace_process_scoped(std::uint64_t id) noexcept
{
	return id ^ static_cast<std::uint64_t>(getpid()) << 40;
}

/* A flow that goes through all events with the same number. */
struct Flow {
	std::uint64_t id;

	static Flow ProcessScoped(std::uint64_t number) noexcept { return { posixtrace_process_scoped(number) }; }
	static constexpr Flow Global(std::uint64_t number) noexcept { return { number }; }
	template<class T> static Flow FromPointer(T *at) noexcept
	{
		return ProcessScoped(reinterpret_cast<std::uintptr_t>(at));
	}
};

/* A flow that ends in the event. */
struct TerminatingFlow {
	std::uint64_t id;

	static TerminatingFlow ProcessScoped(std::uint64_t number) noexcept
	{
		return { posixtrace_process_scoped(number) };
	}
	static constexpr TerminatingFlow Global(std::uint64_t number) noexcept { return { number }; }
	template<class T> static TerminatingFlow FromPointer(T *at) noexcept { return { Flow::FromPointer(at).id }; }
};

/* What a function for the details of an event takes. Such a function is not called. */
struct EventContext {
	template<class... Any> void AddDebugAnnotation(const Any &...) noexcept {}
};

/* There is no recording to be started. */
enum BackendType : unsigned { kUnspecifiedBackend, kInProcessBackend = 1, kSystemBackend = 2, kCustomBackend = 4 };

struct TracingInitArgs {
	std::uint32_t backends = 0, shmem_size_hint_kb = 0, shmem_page_size_hint_kb = 0;
};

struct Tracing {
	static void Initialize(const TracingInitArgs &) noexcept {}
	static bool IsInitialized() noexcept { return true; }
	static void Shutdown() noexcept {}
};

struct TrackEvent {
	static bool Register() noexcept { return true; }
	static bool IsEnabled() noexcept { return posixtrace::enabled(); }
	static void Flush() noexcept {}
	template<class... Any> static void SetTrackDescriptor(const Any &...) noexcept {}
	template<class... Any> static void EraseTrackDescriptor(const Any &...) noexcept {}
	static std::uint64_t GetTraceTimeNs() noexcept
	{
		std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();

		return static_cast<std::uint64_t>(now.count());
	}
};

} // namespace perfetto

namespace posixtrace {
namespace detail __attribute__((__visibility__("hidden"))) {

template<class T> constexpr bool is_event_name = std::is_convertible_v<const T &, const char *> ||
	std::is_same_v<T, perfetto::StaticString> || std::is_same_v<T, perfetto::DynamicString>;

inline const char *bytes_of(const char *text) noexcept
{
	return text;
}

template<class T> auto bytes_of(const T &text) noexcept -> decltype(text.value)
{
	return text.value;
}

/* Returns the values of a list of keys and values, and stores the keys. Leaves out the arguments that are neither. */
inline std::tuple<> values_of(const char **) noexcept
{
	return {};
}

template<class... Rest> auto values_of(const char **keys, const Rest &...rest) noexcept;

template<class Key, class Value, class... Rest>
auto value_and(const char **keys, const Key &key, const Value &value, const Rest &...rest) noexcept
{
	*keys = bytes_of(key);
	if constexpr (is_event_name<Value>)
		return std::tuple_cat(std::make_tuple(text<>(bytes_of(value))), values_of(keys + 1, rest...));
	else
		return std::tuple_cat(std::make_tuple(stored(value)), values_of(keys + 1, rest...));
}

template<class First, class... Rest>
auto values_from(const char **keys, const First &first, const Rest &...rest) noexcept
{
	if constexpr (is_event_name<First> && sizeof...(Rest) > 0)
		return value_and(keys, first, rest...);
	else
		return values_of(keys, rest...);
}

template<class... Rest> auto values_of(const char **keys, const Rest &...rest) noexcept
{
	return values_from(keys, rest...);
}

struct as_flow : as {
	static constexpr const char *type = "x64";
};

/* Returns the first flow among the arguments, as a value; a tuple without items if there is none. Stores its key. */
inline std::tuple<> flow_of(const char **) noexcept
{
	return {};
}

template<class First, class... Rest>
auto flow_of(const char **keys, const First &first, const Rest &...rest) noexcept
{
	if constexpr (std::is_same_v<First, perfetto::Flow> || std::is_same_v<First, perfetto::TerminatingFlow>) {
		*keys = "flow_id";
		return std::make_tuple(number<std::uint64_t, as_flow>{ first.id });
	} else {
		return flow_of(keys, rest...);
	}
}

/* Returns the suffix with the meaning of the first flow among the arguments, if there is one. */
template<class... Values> constexpr const char *suffix_of(const char *suffix) noexcept
{
	constexpr bool is_end[] = { std::is_same_v<Values, perfetto::TerminatingFlow>..., false };
	constexpr bool is_step[] = { std::is_same_v<Values, perfetto::Flow>..., false };

	for (std::size_t i = 0; i < sizeof...(Values); i++) {
		if (is_end[i])
			return *suffix ? ".begin{receive=flow_id}" : "{receive=flow_id}";
		if (is_step[i])
			return *suffix ? ".begin{send=flow_id,receive=flow_id}" : "{send=flow_id,receive=flow_id}";
	}
	return suffix;
}

template<class Name> event_name name_in(const char *category, const Name &name) noexcept
{
	return { category, bytes_of(name), !std::is_same_v<Name, perfetto::DynamicString> };
}

inline event_name name_in(const char *category, std::nullptr_t) noexcept
{
	return { category, "unnamed", true };
}

/* Records an event with keys and values. Its suffix is .begin or empty. Returns whether it may have been recorded. */
template<class Name, class... Values>
POSIXTRACE__INLINE bool perfetto_event(place &at, const char *suffix, const char *category, const Name &name,
                                       const Values &...values) noexcept
{
	const char *keys[sizeof...(Values) + 1] = {};
	auto flow = flow_of(keys, values...);
	auto record = [&](auto... stored) {
		if (*suffix)
			return begin_at(at, name_in(category, name), suffix_of<Values...>(suffix), keys, stored...);
		record_at(at, name_in(category, name), suffix_of<Values...>(suffix), keys, stored...);
		return true;
	};

	return std::apply(record, std::tuple_cat(flow, values_of(keys + std::tuple_size_v<decltype(flow)>, values...)));
}

/* Opens the type of the event at the end of a span whose name may not live as long as the span. */
template<class Name, class... Values>
POSIXTRACE__INLINE trace_event_id_t perfetto_begin(span_places &at, const char *category, const Name &name,
                                                   const Values &...values) noexcept
{
	if (!perfetto_event(at.begin, ".begin", category, name, values...))
		return 0;
	return event_at<>{ at.end, name_in(category, name), ".end", nullptr }.id();
}

POSIXTRACE__INLINE void perfetto_end(trace_event_id_t end) noexcept
{
	posixtrace_event event = { nullptr, nullptr, end };

	if (end) {
		posixtrace__record(&event, nullptr, 0);
		not_a_jump();
	}
}

/* The span of a block. */
struct perfetto_span {
	trace_event_id_t end = 0;

	perfetto_span() = default;
	perfetto_span(const perfetto_span &) = delete;
	perfetto_span &operator=(const perfetto_span &) = delete;

	POSIXTRACE__INLINE ~perfetto_span()
	{
		perfetto_end(end);
	}
};

/*
 * The spans that a thread has begun and not ended. An end of 0 is that of a span that nobody recorded. No more than
 * `most` are recorded.
 */
struct perfetto_spans {
	static constexpr unsigned most = 128;
	unsigned depth;
	trace_event_id_t end[most];

	void push(trace_event_id_t id) noexcept
	{
		if (depth < most)
			end[depth] = id;
		depth++;
	}

	/* Returns the end of the last one. 0: there is none. */
	trace_event_id_t pop() noexcept
	{
		return depth == 0 || --depth >= most ? 0 : end[depth];
	}
};

struct perfetto_thread {
	static inline thread_local perfetto_spans spans;
};

template<class T>
POSIXTRACE__INLINE void perfetto_count(place &at, const event_name &name, T value) noexcept
{
	const char *const keys[] = { "value", nullptr };

	count_at(at, name, "{counter}", keys, value);
}

template<class T>
POSIXTRACE__INLINE void perfetto_count(place &at, const char *category, const char *name, T value) noexcept
{
	perfetto_count(at, { category, name, true }, value);
}

template<class T>
POSIXTRACE__INLINE void perfetto_count(place &at, const char *category, const perfetto::CounterTrack &track,
                                       T value) noexcept
{
	perfetto_count(at, { category, track.name, track.constant }, value);
}

/* With the time of the event, which is now all the same. */
template<class Track, class Time, class T>
POSIXTRACE__INLINE void perfetto_count(place &at, const char *category, const Track &track, Time, T value) noexcept
{
	perfetto_count(at, category, track, value);
}

} // namespace detail
} // namespace posixtrace

#define PERFETTO_DEFINE_CATEGORIES(...)                         static_assert(true, "")
#define PERFETTO_DEFINE_CATEGORIES_IN_NAMESPACE(...)            static_assert(true, "")
#define PERFETTO_DEFINE_CATEGORIES_IN_NAMESPACE_WITH_ATTRS(...) static_assert(true, "")
#define PERFETTO_DEFINE_TEST_CATEGORY_PREFIXES(...)             static_assert(true, "")
#define PERFETTO_USE_CATEGORIES_FROM_NAMESPACE(...)             static_assert(true, "")
#define PERFETTO_USE_CATEGORIES_FROM_NAMESPACE_SCOPED(...)      static_assert(true, "")
#define PERFETTO_TRACK_EVENT_STATIC_STORAGE()                   static_assert(true, "")
#define PERFETTO_TRACK_EVENT_STATIC_STORAGE_IN_NAMESPACE(...)   static_assert(true, "")
#define PERFETTO_TRACK_EVENT_STATIC_STORAGE_IN_NAMESPACE_WITH_ATTRS(...) static_assert(true, "")

/* Defines something for this line, and calls a function if anybody traces. */
#define POSIXTRACE__PERFETTO(type, call)                                                                               \
	do {                                                                                                           \
		static posixtrace::detail::type posixtrace_place;                                                      \
		if (POSIXTRACE_ENABLED())                                                                              \
			posixtrace::detail::call;                                                                      \
	} while (0)

#define TRACE_EVENT(category, ...)                                                                                     \
	static posixtrace::detail::span_places POSIXTRACE__CAT(posixtrace_places_, __LINE__);                          \
	posixtrace::detail::perfetto_span POSIXTRACE__CAT(posixtrace_span_, __LINE__);                                 \
	if (POSIXTRACE_ENABLED())                                                                                      \
		POSIXTRACE__CAT(posixtrace_span_, __LINE__).end = posixtrace::detail::perfetto_begin(                  \
			POSIXTRACE__CAT(posixtrace_places_, __LINE__), category, __VA_ARGS__)
#define TRACE_EVENT_BEGIN(category, ...)                                                                               \
	do {                                                                                                           \
		static posixtrace::detail::span_places posixtrace_places;                                              \
		posixtrace::detail::perfetto_spans &posixtrace_spans = posixtrace::detail::perfetto_thread::spans;     \
		if (POSIXTRACE_ENABLED() && posixtrace_spans.depth < posixtrace_spans.most)                            \
			posixtrace_spans.push(posixtrace::detail::perfetto_begin(posixtrace_places, category,          \
			                                                         __VA_ARGS__));                        \
		else if (posixtrace_spans.depth > 0)                                                                   \
			posixtrace_spans.push(0);                                                                      \
	} while (0)
#define TRACE_EVENT_END(...)                                                                                           \
	posixtrace::detail::perfetto_end(posixtrace::detail::perfetto_thread::spans.pop())
#define TRACE_EVENT_INSTANT(category, ...)                                                                             \
	POSIXTRACE__PERFETTO(place, perfetto_event(posixtrace_place, "", category, __VA_ARGS__))
#define TRACE_COUNTER(category, ...)                                                                                   \
	POSIXTRACE__PERFETTO(place, perfetto_count(posixtrace_place, category, __VA_ARGS__))
#define TRACE_EVENT_CATEGORY_ENABLED(category) posixtrace::enabled()
#define TRACE_EVENT_CATEGORY_GROUP_ENABLED(category, to) static_cast<void>(*(to) = posixtrace::enabled())

#define TRACE_EVENT0(category, name)                               TRACE_EVENT(category, name)
#define TRACE_EVENT1(category, name, ...)                          TRACE_EVENT(category, name, __VA_ARGS__)
#define TRACE_EVENT2(category, name, ...)                          TRACE_EVENT(category, name, __VA_ARGS__)
#define TRACE_EVENT_BEGIN0(category, name)                         TRACE_EVENT_BEGIN(category, name)
#define TRACE_EVENT_BEGIN1(category, name, ...)                    TRACE_EVENT_BEGIN(category, name, __VA_ARGS__)
#define TRACE_EVENT_BEGIN2(category, name, ...)                    TRACE_EVENT_BEGIN(category, name, __VA_ARGS__)
#define TRACE_EVENT_END0(category, name)                           TRACE_EVENT_END(category)
#define TRACE_EVENT_END1(category, name, ...)                      TRACE_EVENT_END(category)
#define TRACE_EVENT_END2(category, name, ...)                      TRACE_EVENT_END(category)
#define TRACE_EVENT_INSTANT0(category, name, scope)                TRACE_EVENT_INSTANT(category, name)
#define TRACE_EVENT_INSTANT1(category, name, scope, ...)           TRACE_EVENT_INSTANT(category, name, __VA_ARGS__)
#define TRACE_EVENT_INSTANT2(category, name, scope, ...)           TRACE_EVENT_INSTANT(category, name, __VA_ARGS__)
#define TRACE_COUNTER1(category, name, value)                      TRACE_COUNTER(category, name, value)
#define TRACE_ID_LOCAL(id)                                         (id)

#endif
