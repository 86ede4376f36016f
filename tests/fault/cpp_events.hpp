/*
 * cpp_events.hpp - an event that several files and shared objects define, in C++17 and in C++20
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CPP_EVENTS_HPP
#define CPP_EVENTS_HPP

#include <string>

#include <posixtrace/trace.hpp>

#if __cplusplus >= 202002L
inline constexpr posixtrace::event<"shop.order", "id", "item", "price/ct"> order;
#else
inline constexpr posixtrace::typed_event<std::uint32_t, std::string, long long> order{ "shop.order", "id", "item",
	                                                                                "price/ct" };
#endif

#define ORDER_LAYOUT "{packed;id:u32,item:z,price:i64/ct}"

/* Records shop.order in another file of the program. */
void cpp_other(std::uint32_t id);
/* Records events of which cpp.cpp has others with the same names. */
void cpp_differs(std::int64_t value);

#endif
