/*
 * macros.hpp - what <posixtrace/tracy.hpp> and <posixtrace/perfetto.hpp> have in common: events of macros
 *
 * Programs do not include it. A macro has a place, a static variable, that knows the event type with which it was
 * recorded the last time. The name of that type comes as a pointer, so it is compared.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef POSIXTRACE_MACROS_HPP
#define POSIXTRACE_MACROS_HPP

#include "trace.hpp"

namespace posixtrace {
namespace detail __attribute__((__visibility__("hidden"))) {

/* The name is that for which there is an identifier. It never changes afterwards. */
struct place {
	const char *name = nullptr;
	trace_event_id_t id = 0;
};

/* What is given to a macro: group.name. Its suffix is that of a span, .begin or .end, or attributes in braces. */
struct event_name {
	const char *group; /* null: none */
	const char *name;
	bool constant; /* the bytes of the name never change, so the same pointer is the same name */
};

/* A whole name, and attributes in braces behind it, which do not count as a part of the name. */
using whole_name = char[TRACE_EVENT_NAME_MAX + 1 + 40];

/* Writes the whole name of an event, as far as there is room for it before its suffix. */
inline void write_name(whole_name &to, const event_name &n, const char *suffix) noexcept
{
	std::size_t most = TRACE_EVENT_NAME_MAX;

	for (const char *s = suffix; *s && *s != '{'; s++)
		most--;
	writer w{ to, most };

	if (n.group)
		w.put(n.group), w.put('.');
	w.put(n.name ? n.name : "unnamed");
	w.length = w.length < w.room ? w.length : w.room;
	for (std::size_t i = 0; i < w.length; i++)
		to[i] = to[i] == '{' ? '(' : to[i]; /* a layout would begin there */
	w.room = sizeof to;
	w.put(suffix), w.put('\0');
}

/* A name for a field: without the characters that have a meaning in a layout. */
struct field_name {
	char text[30];

	explicit field_name(const char *name) noexcept
	{
		std::size_t n = 0;

		for (; name[n] && n < sizeof text - 1; n++) {
			bool good = !contains(":,;[]<>{}/", name[n]) && static_cast<unsigned char>(name[n]) >= ' ';

			text[n] = good ? name[n] : '_';
		}
		text[n] = 0;
	}
};

/* Opens the event type, and notes it at the place, unless another name is noted there. Returns its identifier, or 0. */
template<class... Stored, std::size_t... I>
[[gnu::noinline, gnu::cold]] trace_event_id_t open_at(place &p, const event_name &n, const char *suffix,
                                                      const char *const *fields, std::index_sequence<I...>) noexcept
{
	const field_name names[] = { field_name(fields[I])..., field_name("") };
	const char *texts[] = { names[I].text..., nullptr };
	const char *none = nullptr;
	trace_event_id_t id = 0;
	whole_name name;

	write_name(name, n, suffix);
	open<Stored...>(name, texts, id);
	if (id && n.constant && (__atomic_compare_exchange_n(&p.name, &none, n.name, false, __ATOMIC_RELAXED,
	                                                     __ATOMIC_RELAXED) || none == n.name))
		__atomic_store_n(&p.id, id, __ATOMIC_RELEASE);
	return id;
}

/* An event at a place, with values of these types. */
template<class... Stored> struct event_at {
	place &at;
	event_name name;
	const char *suffix;
	const char *const *fields;

	POSIXTRACE__INLINE trace_event_id_t id() const noexcept
	{
		trace_event_id_t id = known_id();

		return id ? id : open_at<Stored...>(at, name, suffix, fields, std::index_sequence_for<Stored...>());
	}

	/* Returns the identifier, or 0 if it is that of another name, or of none. */
	POSIXTRACE__INLINE trace_event_id_t known_id() const noexcept
	{
		trace_event_id_t id = __atomic_load_n(&at.id, __ATOMIC_ACQUIRE);

		return id && name.constant && __atomic_load_n(&at.name, __ATOMIC_RELAXED) == name.name ? id : 0;
	}
};

template<class... Stored>
POSIXTRACE__INLINE void record_at(place &at, const event_name &name, const char *suffix, const char *const *fields,
                                  Stored... stored) noexcept
{
	record(event_at<Stored...>{ at, name, suffix, fields }, stored...);
	not_a_jump();
}

template<class... Stored>
POSIXTRACE__INLINE bool begin_at(place &at, const event_name &name, const char *suffix, const char *const *fields,
                                 Stored... stored) noexcept
{
	bool recorded = record_begin(event_at<Stored...>{ at, name, suffix, fields }, stored...);

	not_a_jump();
	return recorded;
}

/*
 * Records the value of a counter: as double or int64_t; or as uint64_t if it is too large. The place does not know that
 * event, because it has another one under the same name.
 */
template<class T>
POSIXTRACE__INLINE void count_at(place &at, event_name name, const char *suffix, const char *const *fields,
                                 T value) noexcept
{
	if constexpr (std::is_floating_point_v<T>) {
		record_at(at, name, suffix, fields, stored(static_cast<double>(value)));
	} else {
		if constexpr (std::is_unsigned_v<T>) {
			if (static_cast<std::uint64_t>(value) > INT64_MAX) {
				name.constant = false;
				record_at(at, name, suffix, fields, stored(static_cast<std::uint64_t>(value)));
				return;
			}
		}
		record_at(at, name, suffix, fields, stored(static_cast<std::int64_t>(value)));
	}
}

/* Both places of a span. */
struct span_places {
	place begin, end;
};

} // namespace detail
} // namespace posixtrace

#endif
