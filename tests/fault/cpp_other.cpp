/*
 * cpp_other.cpp - the same event in another file of the program; or in a module, as the function cpp_module()
 *
 * SPDX-License-Identifier: MIT
 */
#include "cpp_events.hpp"

#ifdef MODULE
# include <posixtrace/tracy.hpp>

inline constexpr posixtrace::typed_event<int> of_module{ "shop.of_module", "n" };

/* Static variables of inline functions and templates, which keep a module from being unloaded if they are unique. */
struct in_class {
	static void record(std::uint32_t n)
	{
		POSIXTRACE_SCOPE("shop.in_class");
		POSIXTRACE_COUNTER("shop.count", n);
		POSIXTRACE_F("shop.note", "n %u of %s", n, "in_class");
	}
};

template<class T> static inline T in_template(T n)
{
	static constexpr posixtrace::typed_event<T> typed{ "shop.typed", "n" };

	POSIXTRACE_SCOPE("shop.in_template");
	POSIXTRACE_COUNTER("shop.count", n);
	POSIXTRACE_F("shop.note", "nothing");
	ZoneScopedN("shop.zone");
	TracyPlot("shop.plot", n);
	typed(n);
	of_module(1);
	return n;
}

template<class T> T (*function_of)(T) = in_template<T>;

extern "C" void cpp_module(std::uint32_t id);

void cpp_module(std::uint32_t id)
{
	in_class::record(id);
	in_template(id);
	in_template(0.5);
	order(id, "other", 2LL);
}
#else
void cpp_other(std::uint32_t id)
{
	order(id, "other", 2LL);
}

void cpp_differs(std::int64_t value)
{
# if __cplusplus >= 202002L
	posixtrace::event<"shop.differs", "value">{}(value);
	posixtrace::event<"shop.fields", "b">{}(value);
	posixtrace::event<"shop.units", "a/ns">{}(value);
	posixtrace::counter<"shop.mixed">{}(0.5);
# else
	(void)value;
# endif
}
#endif
