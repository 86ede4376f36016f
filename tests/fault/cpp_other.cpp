/*
 * cpp_other.cpp - the same event in another file of the program; or in a module, as the function cpp_module()
 *
 * SPDX-License-Identifier: MIT
 */
#include "cpp_events.hpp"

#ifdef MODULE
extern "C" void cpp_module(std::uint32_t id);

void cpp_module(std::uint32_t id)
{
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
	posixtrace::event<"shop.differs", "value"> differs;

	differs(value);
# else
	(void)value;
# endif
}
#endif
