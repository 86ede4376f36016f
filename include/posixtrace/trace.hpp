/*
 * trace.hpp - trace points with typed fields, in C++17 and later
 *
 *     constexpr posixtrace::event<"shop.order", "id", "item", "price/ct"> order;               C++20
 *     constexpr posixtrace::typed_event<int, std::string, long> order{"shop.order", "id", "item", "price/ct"};
 *
 *     void sell(int id, const std::string &item)
 *     {
 *             posixtrace::span<"shop.work"> work;                                              C++20
 *             order(id, item, 199);
 *     }
 *
 * Each defines the event type shop.order, whose fields all tools show by name, and order() records an event. The types
 * of the fields are those of the values, or those given. "/ct" is a unit. A span records shop.work.begin, and
 * shop.work.end where the block is left. While no stream traces the process a trace point is three loads and a branch,
 * but the arguments of a function are evaluated: if (order) order(...) is for those that cost something.
 *
 * Values: integers, bool, floating point, enumerations, texts (char *, std::string, std::string_view, arrays of char),
 * std::chrono durations and time points, pointers; std::optional, arrays, std::vector and std::span of these but texts.
 * A text has at most 255 bytes, an array 512: posixtrace::text<60>(t) and posixtrace::array<9>(a) are for other limits.
 * For a type of your own, define posixtrace_value(const type &) beside it, which returns one of the others. For names
 * of the values of an enumeration: constexpr const char *posixtrace_labels(type) { return "idle,busy=4"; }.
 *
 * What the events mean, a log message, the end of a span, may stand in braces behind the name: "shop.full{level=error}"
 * (docs/layouts.md).
 *
 * Nothing here throws or allocates. Everything may be used in signal handlers, before main() and after it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef POSIXTRACE_TRACE_HPP
#define POSIXTRACE_TRACE_HPP

#if __cplusplus < 201703L
# error "posixtrace/trace.hpp is for C++17 and later; posixtrace/typed.h is for C++11 and C++14"
#endif

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "typed.h"

/* A call of such a function is a place in the program, not in this header. Debuggers and report --symbols agree. */
#define POSIXTRACE__INLINE [[gnu::always_inline, gnu::artificial]] inline

namespace posixtrace {

/* Returns whether events are recorded: for work that only an event needs. */
POSIXTRACE__INLINE bool enabled() noexcept
{
	return POSIXTRACE_ENABLED();
}

/* -- Layouts ------------------------------------------------------------------------------------- */

/*
 * What the classes are made of. Programs do not use it. Each shared object has its own, because a module that shares
 * variables with others could not be unloaded.
 */
namespace detail __attribute__((__visibility__("hidden"))) {

/* Writes a text of at most `room` bytes with a null, and counts the bytes of a longer one, too. */
struct writer {
	char *to;
	std::size_t room, length = 0;

	constexpr void put(char c)
	{
		if (length < room)
			to[length] = c;
		length++;
	}

	constexpr void put(const char *text)
	{
		while (*text)
			put(*text++);
	}

	/* Writes what stands before a character, or all. */
	constexpr void put_until(const char *text, char end)
	{
		while (*text && *text != end)
			put(*text++);
	}

	/* Writes what stands before the slash of a field. */
	constexpr void put_name(const char *field)
	{
		put_until(field, '/');
	}

	/* Writes the field. items: null, or the number of items; empty: a counter stands before the items. */
	constexpr void put_field(const char *field, const char *type, const char *labels, const char *unit,
	                         const char *items = nullptr, const char *counter = "")
	{
		if (items && !*items) {
			put("n_"), put_name(field), put(':'), put(counter), put(',');
		}
		put_name(field), put(':'), put(type);
		if (*labels)
			put('<'), put(labels), put('>');
		if (items && !*items)
			put("[n_"), put_name(field), put(']');
		else if (items)
			put('['), put(items), put(']');
		while (*field && *field != '/')
			field++;
		if (*unit)
			put('/'), put(unit);
		else
			put(field);
	}
};

constexpr std::size_t length_of(const char *text)
{
	std::size_t n = 0;

	while (text[n])
		n++;
	return n;
}

/* Returns how many bytes of a field are its name. */
constexpr std::size_t name_length(const char *field)
{
	std::size_t n = 0;

	while (field[n] && field[n] != '/')
		n++;
	return n;
}

constexpr bool contains(const char *text, char c)
{
	for (; *text; text++)
		if (*text == c)
			return true;
	return false;
}

constexpr bool same_name(const char *a, const char *b)
{
	std::size_t n = name_length(a);

	if (n != name_length(b))
		return false;
	while (n > 0 && a[n - 1] == b[n - 1])
		n--;
	return n == 0;
}

/* Returns whether the field is a name of at most 29 bytes, with or without a unit of at most 15 bytes. */
constexpr bool is_field(const char *field)
{
	std::size_t name = name_length(field), all = length_of(field);

	for (std::size_t i = 0; i < all; i++)
		if (contains(":,;[]<>{}", field[i]) || (i != name && field[i] == '/') ||
		    static_cast<unsigned char>(field[i]) < ' ')
			return false;
	return name > 0 && name <= 29 && (all == name || (all > name + 1 && all <= name + 16));
}

/* Returns whether all are fields, and no two of them have the same name. */
constexpr bool are_fields(const char *const *fields, std::size_t n)
{
	for (std::size_t i = 0; i < n; i++) {
		if (!is_field(fields[i]))
			return false;
		for (std::size_t k = 0; k < i; k++)
			if (same_name(fields[i], fields[k]))
				return false;
	}
	return true;
}

/* Returns whether it is the name of an event, from 1 to 63 bytes; with {attributes} behind it where they may be. */
constexpr bool is_name(const char *name, bool attributes)
{
	std::size_t n = 0, all = length_of(name);

	while (name[n] && name[n] != '{')
		n++;
	return n > 0 && n <= TRACE_EVENT_NAME_MAX &&
	       (n == all || (attributes && all > n + 2 && name[all - 1] == '}'));
}

/* -- Values as they are recorded ----------------------------------------------------------------- */

constexpr const char *of_size(std::size_t size, const char *of1, const char *of2, const char *of4, const char *of8)
{
	return size == 1 ? of1 : size == 2 ? of2 : size == 4 ? of4 : of8;
}

/* What a number is in the layout. */
struct as {
	static constexpr const char *labels = "", *unit = "", *items = nullptr;
};

template<class T> struct as_number : as {
	static constexpr const char *type = std::is_same_v<T, bool> ? "bool" :
		std::is_floating_point_v<T> ? of_size(sizeof(T), "", "", "f32", "f64") :
		std::is_signed_v<T> ? of_size(sizeof(T), "i8", "i16", "i32", "i64") :
	                              of_size(sizeof(T), "u8", "u16", "u32", "u64");
};

struct as_character : as {
	static constexpr const char *type = "c", *items = "1";
};

struct as_byte : as {
	static constexpr const char *type = "x8";
};

struct as_pointer : as {
	static constexpr const char *type = of_size(sizeof(void *), "", "", "x32", "x64");
};

struct as_code : as {
	static constexpr const char *type = of_size(sizeof(void *), "", "", "a32", "a64");
};

struct as_time : as {
	static constexpr const char *type = "t64";
};

/* E is only named here: two enumerations with the same labels are two types of fields. */
template<class E, class T> struct as_labelled : as {
	static constexpr const char *labels = posixtrace_labels(E{});
	static constexpr const char *type = contains(labels, '|') ? of_size(sizeof(T), "x8", "x16", "x32", "x64") :
	                                                            as_number<T>::type;
};

/* A second, or a thousandth, millionth or billionth part. */
template<class Period> constexpr bool has_unit = std::is_same_v<Period, std::ratio<1>> ||
	std::is_same_v<Period, std::milli> || std::is_same_v<Period, std::micro> || std::is_same_v<Period, std::nano>;

template<class T, class Period> struct as_duration : as_number<T> {
	static constexpr const char *unit = std::is_same_v<Period, std::nano> ? "ns" :
		std::is_same_v<Period, std::micro> ? "us" : std::is_same_v<Period, std::milli> ? "ms" : "s";
};

template<std::size_t Size, bool Signed> struct integer;
template<> struct integer<1, true> { using type = std::int8_t; };
template<> struct integer<2, true> { using type = std::int16_t; };
template<> struct integer<4, true> { using type = std::int32_t; };
template<> struct integer<8, true> { using type = std::int64_t; };
template<> struct integer<1, false> { using type = std::uint8_t; };
template<> struct integer<2, false> { using type = std::uint16_t; };
template<> struct integer<4, false> { using type = std::uint32_t; };
template<> struct integer<8, false> { using type = std::uint64_t; };

template<class T> constexpr auto fixed()
{
	if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, float>)
		return T{};
	else if constexpr (std::is_floating_point_v<T>)
		return double{};
	else
		return typename integer<sizeof(T), std::is_signed_v<T>>::type{};
}

/* The type of that size, so that long and long long, where they are the same, are the same here. */
template<class T> using fixed_t = decltype(fixed<T>());

/*
 * All of these: fields is the number of fields in the layout, most the number of bytes. Those that an event with one
 * text may have, as posixtrace_event_text() records it, have note().
 */
template<class T, class As = as_number<T>> struct number {
	static constexpr std::size_t fields = 1, most = sizeof(T);
	T value;

	static constexpr void describe(writer &w, const char *field)
	{
		w.put_field(field, As::type, As::labels, As::unit, As::items);
	}

	POSIXTRACE__INLINE unsigned char *put(unsigned char *to) const noexcept
	{
		std::memcpy(to, &value, sizeof value);
		return to + sizeof value;
	}

	POSIXTRACE__INLINE void note(posixtrace__fields &noted) const noexcept
	{
		posixtrace__fields_number(&noted, &value, sizeof value);
	}
};

/* An item, or none. */
template<class Item> struct maybe;
template<class T, class As> struct maybe<number<T, As>> {
	static constexpr std::size_t fields = 2, most = 1 + sizeof(T);
	T value;
	bool has;

	static constexpr void describe(writer &w, const char *field)
	{
		w.put_field(field, As::type, As::labels, As::unit, "", "u8");
	}

	POSIXTRACE__INLINE unsigned char *put(unsigned char *to) const noexcept
	{
		*to++ = has;
		if (has)
			std::memcpy(to, &value, sizeof value);
		return has ? to + sizeof value : to;
	}
};

/* Items that are in memory as they are recorded. */
template<class Item, std::size_t Most> struct list;
template<class T, class As, std::size_t Most> struct list<number<T, As>, Most> {
	static_assert(Most > 0 && Most <= 65535, "an array has up to 65535 items");
	static constexpr std::size_t fields = 2, most = 2 + Most * sizeof(T);
	const void *data;
	std::size_t size;

	static constexpr void describe(writer &w, const char *field)
	{
		w.put_field(field, std::is_same_v<As, as_byte> ? "b" : As::type, As::labels, As::unit, "", "u16");
	}

	POSIXTRACE__INLINE unsigned char *put(unsigned char *to) const noexcept
	{
		std::uint16_t count = static_cast<std::uint16_t>(size < Most ? size : Most);

		std::memcpy(to, &count, sizeof count);
		posixtrace__copy(to + 2, static_cast<const char *>(data), count * sizeof(T));
		return to + 2 + count * sizeof(T);
	}
};

/* For traits: any value of type T. */
template<class T> const T &a() noexcept;

template<class T, class = void> struct has_labels : std::false_type {};
template<class T> struct has_labels<T, std::void_t<decltype(posixtrace_labels(T{}))>> : std::true_type {};
template<class T, class = void> struct has_value : std::false_type {};
template<class T> struct has_value<T, std::void_t<decltype(posixtrace_value(a<T>()))>> : std::true_type {};
template<class T, class = void> struct is_range : std::false_type {};
template<class T>
struct is_range<T, std::void_t<decltype(*a<T>().data()), decltype(a<T>().size())>> : std::true_type {};
template<class T, class = void> struct has_c_str : std::false_type {};
template<class T>
struct has_c_str<T, std::enable_if_t<std::is_same_v<decltype(a<T>().c_str()), const char *>>> : std::true_type {};
template<class T, class = void> struct is_optional : std::false_type {};
template<class T>
struct is_optional<T, std::void_t<decltype(*a<T>()), decltype(a<T>().has_value())>> : std::true_type {};
template<class T> struct is_duration : std::false_type {};
template<class Rep, class Period> struct is_duration<std::chrono::duration<Rep, Period>> : std::is_arithmetic<Rep> {};
template<class T> struct is_time_point : std::false_type {};
template<class C, class D> struct is_time_point<std::chrono::time_point<C, D>> : std::true_type {};

} // namespace detail

/* A text of at most Most bytes; a longer one is cut, and then ends with an ellipsis. A null pointer is "(null)". */
template<std::size_t Most = 255> struct text {
	static constexpr std::size_t fields = 1, most = Most + 1;
	const char *data;
	std::size_t size; /* -1: up to the null */

	constexpr text(const char *t) noexcept : data(t), size(static_cast<std::size_t>(-1)) {}
	constexpr text(const char *t, std::size_t n) noexcept : data(t), size(n) {}
	template<class T,
	         class = std::enable_if_t<std::is_convertible_v<decltype(detail::a<T>().data()), const char *>>>
	constexpr text(const T &t) noexcept : data(t.data()), size(t.size()) {}

	static constexpr void describe(detail::writer &w, const char *field)
	{
		w.put_field(field, "z", "", "");
	}

	/* Looks at no more bytes than are recorded: the text may be long. */
	POSIXTRACE__INLINE unsigned char *put(unsigned char *to) const noexcept
	{
		if (!data && size > 0)
			return posixtrace__str(to, nullptr, Most);
		if (size != static_cast<std::size_t>(-1))
			return posixtrace__text(to, { data, size <= Most ? size : Most + 1 }, Most);
		return posixtrace__bytes(to, data, strnlen(data, Most + 1), Most);
	}

	POSIXTRACE__INLINE void note(posixtrace__fields &noted) const noexcept
	{
		posixtrace__fields_text(&noted, { data, size }, Most);
	}
};

namespace detail __attribute__((__visibility__("hidden"))) {

template<class T> struct is_stored : std::false_type {};
template<std::size_t Most> struct is_stored<text<Most>> : std::true_type {};
template<class Item, std::size_t Most> struct is_stored<list<Item, Most>> : std::true_type {};
template<class T> struct is_number : std::false_type {};
template<class T, class As> struct is_number<number<T, As>> : std::true_type {};

template<class T> POSIXTRACE__INLINE constexpr auto stored(const T &value) noexcept;
template<class T> using stored_t = decltype(stored(a<T>()));

/* Returns whether an array of T is one of the numbers that T is recorded as. */
template<class T> constexpr bool is_item()
{
	if constexpr (is_duration<T>::value)
		return has_unit<typename T::period> && std::is_same_v<typename T::rep, fixed_t<typename T::rep>>;
	else
		return (std::is_arithmetic_v<T> && !std::is_same_v<T, long double>) || std::is_enum_v<T> ||
		       std::is_pointer_v<T>;
}

template<std::size_t Most, class T>
POSIXTRACE__INLINE constexpr auto list_of(const T *data, std::size_t size) noexcept
{
	static_assert(is_item<T>() && is_number<stored_t<T>>::value, "the items of an array are numbers");
	return list<stored_t<T>, Most>{ data, size };
}

template<class T> constexpr std::size_t most_items = 512 / sizeof(T);

/* A function, because GCC warns about an optional text that it knows to be empty. */
template<class Text, class T> [[gnu::noinline]] Text text_or_null(const T *value) noexcept
{
	return value ? Text(stored(*value)) : Text(nullptr);
}

/* Returns a duration in units of a second or a part of it; the longest one instead of one that is too long for them. */
template<class To, class From> constexpr To at_most(const From &value) noexcept
{
	if constexpr (std::is_integral_v<typename From::rep> &&
	              std::ratio_less_v<typename To::period, typename From::period>) {
		using wide = std::chrono::duration<std::int64_t, typename From::period>;

		return wide(value) > std::chrono::duration_cast<wide>(To::max()) ? To::max() :
			wide(value) < std::chrono::duration_cast<wide>(To::min()) ? To::min() :
			                                                            std::chrono::duration_cast<To>(value);
	} else {
		return std::chrono::duration_cast<To>(value);
	}
}

/* Returns a value as it is recorded. */
template<class T> POSIXTRACE__INLINE constexpr auto stored(const T &value) noexcept
{
	if constexpr (std::is_volatile_v<T> && std::is_scalar_v<T>) {
		return stored(static_cast<std::remove_volatile_t<T>>(value));
	} else if constexpr (is_stored<T>::value) {
		return value;
	} else if constexpr (has_value<T>::value) {
		return stored(posixtrace_value(value));
	} else if constexpr (std::is_same_v<T, char>) {
		return number<char, as_character>{ value };
	} else if constexpr (std::is_same_v<T, std::byte>) {
		return number<std::byte, as_byte>{ value };
	} else if constexpr (std::is_arithmetic_v<T>) {
		static_assert(sizeof(T) <= 8 || std::is_floating_point_v<T>, "a field has up to 64 bits");
		return number<fixed_t<T>>{ static_cast<fixed_t<T>>(value) };
	} else if constexpr (std::is_enum_v<T>) {
		using number_t = fixed_t<std::underlying_type_t<T>>;
		if constexpr (has_labels<T>::value)
			return number<number_t, as_labelled<T, number_t>>{ static_cast<number_t>(value) };
		else
			return number<number_t>{ static_cast<number_t>(value) };
	} else if constexpr (is_duration<T>::value) {
		using rep = fixed_t<typename T::rep>;
		if constexpr (has_unit<typename T::period>)
			return number<rep, as_duration<rep, typename T::period>>{ static_cast<rep>(value.count()) };
		else if constexpr (std::ratio_less_v<typename T::period, std::ratio<1>>)
			return stored(at_most<std::chrono::nanoseconds>(value));
		else
			return stored(at_most<std::chrono::seconds>(value));
	} else if constexpr (is_time_point<T>::value) {
		auto since = at_most<std::chrono::nanoseconds>(value.time_since_epoch());
		if constexpr (std::is_same_v<typename T::clock, std::chrono::system_clock>)
			return number<std::uint64_t, as_time>{ static_cast<std::uint64_t>(since.count()) };
		else
			return stored(since);
	} else if constexpr (std::is_array_v<T>) {
		using item = std::remove_cv_t<std::remove_extent_t<T>>;
		if constexpr (std::is_same_v<item, char>)
			return text<>{ value, std::extent_v<T> };
		else
			return list_of<most_items<item>, item>(value, std::extent_v<T>);
	} else if constexpr (std::is_convertible_v<T, const char *> && !std::is_null_pointer_v<T>) {
		return text<>{ static_cast<const char *>(value) };
	} else if constexpr (std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>) {
		return number<T, as_code>{ value };
	} else if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>) {
		return number<const volatile void *, as_pointer>{ value };
	} else if constexpr (is_range<T>::value) {
		using item = std::decay_t<decltype(*value.data())>;
		if constexpr (has_c_str<T>::value)
			return text<>{ value.c_str() }; /* faster than to look for a null among size() bytes */
		else if constexpr (std::is_same_v<item, char>)
			return text<>{ value.data(), value.size() };
		else
			return list_of<most_items<item>, item>(value.data(), value.size());
	} else if constexpr (is_optional<T>::value) {
		using item = stored_t<std::decay_t<decltype(*value)>>;
		if constexpr (is_number<item>::value)
			return value.has_value() ? maybe<item>{ stored(*value).value, true } : maybe<item>{ {}, false };
		else
			return text_or_null<item>(value.has_value() ? &*value : nullptr);
	} else {
		static_assert(sizeof(T) == 0, "no field has this type: define posixtrace_value(const type &)");
	}
}

/* What a typed event takes for a value of type T, so that the value is converted first. */
template<class T> using parameter = std::conditional_t<std::is_convertible_v<const T &, stored_t<T>>, stored_t<T>,
	std::conditional_t<std::is_scalar_v<T>, T, const T &>>;

template<class T> struct is_text : std::false_type {};
template<std::size_t Most> struct is_text<text<Most>> : std::true_type {};

/* Opens an event type, and records its first event. Apart, so that other events keep nothing across a call. */
template<class Event>
[[gnu::noinline, gnu::cold]] trace_event_id_t record_first(Event event, const char *text,
                                                           const posixtrace_around &around, unsigned sizes) noexcept
{
	trace_event_id_t id = event.id();

	posixtrace_event_text(id, text, &around, sizes);
	return id;
}

/* Records an event. Returns its type, or 0 if nobody traces. */
template<class Event, class... Stored>
POSIXTRACE__INLINE trace_event_id_t record_from(const void *address, Event event, Stored... stored) noexcept
{
	trace_event_id_t id;

	if constexpr ((is_text<Stored>::value + ... + 0) == 1 &&
	              ((is_text<Stored>::value || is_number<Stored>::value) && ...)) {
		posixtrace__fields noted;

		posixtrace__fields_begin(&noted);
		(stored.note(noted), ...);
		if (posixtrace__fields_in_words(&noted, 1)) {
			posixtrace_around around;

			posixtrace__fields_around(&noted, &around, address);
			id = event.known_id();
			if (__builtin_expect(id == 0, 0))
				return record_first(event, noted.__text, around, posixtrace__fields_sizes(&noted));
			posixtrace_event_text(id, noted.__text, &around, posixtrace__fields_sizes(&noted));
			return id;
		}
	}

	unsigned char data[(Stored::most + ... + 1)], *at = data;

	((at = stored.put(at)), ...);
	id = event.id();
	posixtrace_event_at(id, sizeof...(stored) > 0 ? data : nullptr, static_cast<std::size_t>(at - data), address);
	return id;
}

/* Records an event at the place from which it is called. */
template<class Event, class... Stored>
[[gnu::noinline]] void record(Event event, Stored... stored) noexcept
{
	record_from(__builtin_return_address(0), event, stored...);
}

/* Does the same at the beginning of a span. Returns whether it may have been recorded. */
template<class Event, class... Stored>
[[gnu::noinline]] bool record_begin(Event event, Stored... stored) noexcept
{
	/* The first event of a process, also of a child, finds out that nobody traces. */
	return record_from(__builtin_return_address(0), event, stored...) != 0 && enabled();
}

template<class Event> struct reference {
	const Event &event;

	POSIXTRACE__INLINE trace_event_id_t id() const noexcept
	{
		return event.id();
	}

	POSIXTRACE__INLINE trace_event_id_t known_id() const noexcept
	{
		return event.known_id();
	}
};

/* Keeps the call before it from becoming a jump: its return address is that of the trace point. */
POSIXTRACE__INLINE void not_a_jump() noexcept
{
	__asm__ __volatile__("");
}

/* Writes the layout of the fields of an event. Attributes stand in braces behind its name. */
template<class... Stored> constexpr void describe(writer &w, const char *name, const char *const *fields)
{
	w.put("{packed");
	while (*name && *name != '{')
		name++;
	if (*name)
		w.put(','), w.put_until(name + 1, '}');
	w.put(';');
	((Stored::describe(w, *fields++), w.put(',')), ...);
	w.length--;
	w.put('}');
	w.put('\0');
}

/* Is called for a name or a field that no tool would show. It is no constant expression, so the compiler refuses it. */
inline void wrong_name_or_field() noexcept {}

/* Opens an event type whose layout is put together for that. Returns its identifier, or 0. */
template<class... Stored>
[[gnu::noinline, gnu::cold]] trace_event_id_t open(const char *name, const char *const *fields,
                                                                    trace_event_id_t &id) noexcept
{
	char layout[POSIXTRACE_LAYOUT_MAX + 1], text[256] = {};
	writer w{ layout, sizeof layout }, n{ text, sizeof text - 1 };
	posixtrace_event event = { text, nullptr, 0 };

	n.put_until(name, '{');
	if constexpr (sizeof...(Stored) > 0) {
		describe<Stored...>(w, name, fields);
		if (w.length <= sizeof layout)
			event.__layout = layout;
	}
	posixtrace_event_open(&event);
	__atomic_store_n(&id, event.__id, __ATOMIC_RELEASE);
	return event.__id;
}

} // namespace detail

/* At most Most items of an array, std::vector, std::span ... of numbers. */
template<std::size_t Most, class T> POSIXTRACE__INLINE constexpr auto array(const T &items) noexcept
{
	if constexpr (std::is_array_v<T>)
		return detail::list_of<Most, std::remove_cv_t<std::remove_extent_t<T>>>(items, std::extent_v<T>);
	else
		return detail::list_of<Most, std::decay_t<decltype(*items.data())>>(items.data(), items.size());
}

/* -- Events whose types are given: C++17 ---------------------------------------------------------- */

/*
 * typed_event<types...> order{"shop.order", "field/unit"...}; static or at namespace scope. If it is constexpr, the
 * compiler checks the names. order(values...) records an event. It is hidden, so that a shared object with an inline
 * one can be unloaded.
 */
template<class... Types> class __attribute__((__visibility__("hidden"))) typed_event {
public:
	template<std::size_t N, class... Fields>
	constexpr typed_event(const char (&name)[N], const Fields &...fields) noexcept
		: name_(name), fields_{ fields... }
	{
		static_assert(sizeof...(Fields) == sizeof...(Types), "each type needs a field");
		static_assert((detail::stored_t<Types>::fields + ... + 0) <= 32, "an event has up to 32 fields");
		if (!detail::is_name(name, sizeof...(Fields) > 0) || !detail::are_fields(fields_, sizeof...(Fields)))
			detail::wrong_name_or_field();
	}

	/* Records an event, if anybody traces. */
	POSIXTRACE__INLINE void operator()(detail::parameter<Types>... values) const noexcept
	{
		if (enabled()) {
			detail::record(detail::reference<typed_event>{ *this }, detail::stored(values)...);
			detail::not_a_jump();
		}
	}

	/* Returns whether events are recorded: for values that cost something. */
	POSIXTRACE__INLINE explicit operator bool() const noexcept
	{
		return enabled();
	}

	POSIXTRACE__INLINE trace_event_id_t id() const noexcept
	{
		trace_event_id_t id = known_id();

		return __builtin_expect(id != 0, 1) ? id :
			detail::open<detail::stored_t<Types>...>(name_, fields_, id_);
	}

	/* Returns the identifier, or 0 if the event type is not open. */
	POSIXTRACE__INLINE trace_event_id_t known_id() const noexcept
	{
		return __atomic_load_n(&id_, __ATOMIC_ACQUIRE);
	}

private:
	const char *name_, *fields_[sizeof...(Types) + 1];
	mutable trace_event_id_t id_ = 0;
};

/* -- Events whose types are those of the values: C++20 -------------------------------------------- */

#if __cplusplus >= 202002L
/* A string literal as an argument of a template. */
template<std::size_t N> struct literal {
	char text[N] = {};

	consteval literal() = default;
	consteval literal(const char (&t)[N])
	{
		for (std::size_t i = 0; i < N; i++)
			text[i] = t[i];
	}

	/* Returns the text up to this character. */
	consteval literal before(char end) const
	{
		literal begin;

		for (std::size_t i = 0; i < N && text[i] != end; i++)
			begin.text[i] = text[i];
		return begin;
	}

	/* Returns both texts in one. */
	template<std::size_t M> consteval auto operator+(const char (&t)[M]) const
	{
		literal<N + M - 1> both;

		for (std::size_t i = 0; i + 1 < N; i++)
			both.text[i] = text[i];
		for (std::size_t i = 0; i < M; i++)
			both.text[N - 1 + i] = t[i];
		return both;
	}
};

namespace detail __attribute__((__visibility__("hidden"))) {

/* What there is of an event name. These are members of a class because GCC hides no other templates of variables. */
template<literal Name> struct named {
	static constexpr auto name = Name.before('{');
	static inline constinit posixtrace_event untyped = { name.text, nullptr, 0 };
	static inline constinit posixtrace__counter counter = { name.text, { 0, 0, 0 } };
};

/*
 * The fields of an event. An error of the compiler at this function says that an event is recorded with other fields,
 * or with values of other types, than before.
 */
template<literal Name, class Fields, class... Stored> struct declared {
	friend void an_event_has_the_same_fields_and_types_everywhere(named<Name>) {}
};

template<literal... Field> struct fields {
	static constexpr const char *text[] = { Field.text..., nullptr };
};

/* An event with values of these types. */
template<literal Name, class Fields, class... Stored> struct event_type {
	static constexpr std::size_t layout_length()
	{
		writer w{ nullptr, 0 };

		describe<Stored...>(w, Name.text, Fields::text);
		return w.length;
	}

	/* Layouts are small, so that they may be made by the compiler. */
	static constexpr auto make_layout()
	{
		static_assert(layout_length() <= POSIXTRACE_LAYOUT_MAX + 1, "a layout has up to 2047 bytes");
		literal<layout_length()> made;
		writer w{ made.text, sizeof made.text };

		describe<Stored...>(w, Name.text, Fields::text);
		return made;
	}

	static constexpr auto layout = make_layout();
	static inline constinit posixtrace_event event = { named<Name>::name.text, layout.text, 0 };

	POSIXTRACE__INLINE static trace_event_id_t id() noexcept
	{
		return posixtrace__id(&event);
	}

	/* Returns the identifier, or 0 if the event type is not open. */
	POSIXTRACE__INLINE static trace_event_id_t known_id() noexcept
	{
		return __atomic_load_n(&event.__id, __ATOMIC_ACQUIRE);
	}
};

} // namespace detail

/*
 * event<"shop.order", "field/unit"...> order; anywhere. order(values...) records an event. The fields have the types of
 * the values, which are the same at all places.
 */
template<literal Name, literal... Fields> class event {
	static_assert(detail::is_name(Name.text, sizeof...(Fields) > 0),
	              "the name of an event has from 1 to 63 bytes, and behind it only {attributes} of its layout");
	static_assert(detail::are_fields(detail::fields<Fields...>::text, sizeof...(Fields)),
	              "a field is \"name\" or \"name/unit\", and its name stands there once");

public:
	/* Records an event, if anybody traces. */
	template<class... Values> POSIXTRACE__INLINE void operator()(const Values &...values) const noexcept
	{
		if (enabled()) {
			record(values...);
			detail::not_a_jump();
		}
	}

	/* Returns whether events are recorded: for values that cost something. */
	POSIXTRACE__INLINE explicit operator bool() const noexcept
	{
		return enabled();
	}

	/* Records an event. */
	template<class... Values> POSIXTRACE__INLINE static void record(const Values &...values) noexcept
	{
		static_assert(sizeof...(Values) == sizeof...(Fields), "each field needs a value");
		if constexpr (sizeof...(Values) == sizeof...(Fields))
			record_stored<false>(detail::stored(values)...);
	}

	/* Records an event as the beginning of a span. Returns whether it may have been recorded. */
	template<class... Values> POSIXTRACE__INLINE static bool record_begin(const Values &...values) noexcept
	{
		static_assert(sizeof...(Values) == sizeof...(Fields), "each field needs a value");
		if constexpr (sizeof...(Values) == sizeof...(Fields))
			return record_stored<true>(detail::stored(values)...);
		return false;
	}

private:
	template<bool Begin, class... Stored> POSIXTRACE__INLINE static bool record_stored(Stored... stored) noexcept
	{
		static_assert((Stored::fields + ... + 0) <= 32, "an event has up to 32 fields");
		static_assert(sizeof(detail::declared<Name, detail::fields<Fields...>, Stored...>) > 0);
		using type = detail::event_type<Name, detail::fields<Fields...>, Stored...>;

		if constexpr (sizeof...(Stored) > 0 && Begin)
			return detail::record_begin(type{}, stored...);
		else if constexpr (sizeof...(Stored) > 0)
			detail::record(type{}, stored...);
		else if constexpr (Begin)
			return posixtrace__record_begin(&detail::named<Name>::untyped);
		else
			posixtrace__record(&detail::named<Name>::untyped, nullptr, 0);
		return true;
	}
};

/*
 * span<"shop.work"> work; in a block: records shop.work.begin here, and shop.work.end where the block is left, also by
 * an exception. span<"shop.work", "id"> work{id} gives the beginning fields, as an event has. It stays where it is:
 * begin and end are in the same thread. Nothing is recorded at the end if the beginning was not recorded.
 */
template<literal Name, literal... Fields> class [[nodiscard, maybe_unused]] span {
public:
	template<class... Values>
	[[nodiscard]] POSIXTRACE__INLINE explicit span(const Values &...values) noexcept : open_(false)
	{
		if (enabled()) {
			open_ = event<Name + ".begin", Fields...>::record_begin(values...);
			detail::not_a_jump();
		}
	}

	POSIXTRACE__INLINE ~span()
	{
		end();
	}

	span(const span &) = delete;
	span &operator=(const span &) = delete;

	/* Ends the span before its block ends. */
	POSIXTRACE__INLINE void end() noexcept
	{
		if (__builtin_expect(open_, false)) {
			open_ = false;
			event<Name + ".end">::record();
			detail::not_a_jump();
		}
	}

private:
	bool open_;
};

/* counter<"shop.open_orders"> open; open(3) records a number as the field value, as POSIXTRACE_COUNTER() does. */
template<literal Name> class counter {
public:
	template<class T> POSIXTRACE__INLINE void operator()(T value) const noexcept
	{
		static_assert(std::is_arithmetic_v<T>, "a counter is a number");
		using stored = detail::number<std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>>;

		static_assert(sizeof(detail::declared<Name, counter, stored>) > 0);
		if (enabled())
			posixtrace__count_any(&detail::named<Name>::counter, value);
	}
};
#endif

} // namespace posixtrace

#endif
