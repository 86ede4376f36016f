/*
 * cpp_values.cpp - records values of all kinds, before main(), in it and after it, for cpp.py
 *
 * SPDX-License-Identifier: MIT
 */
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <posixtrace/trace.hpp>

using namespace std::chrono_literals;

enum class how { cash, card, voucher = 7 };
constexpr const char *posixtrace_labels(how) { return "cash,card,voucher=7"; }
enum rights : unsigned char { may_read = 1, may_write = 2 };
constexpr const char *posixtrace_labels(rights) { return "read|write"; }
struct customer {
	std::string name;
};
inline const std::string &posixtrace_value(const customer &c) { return c.name; }

/* Is made before main(), and destroyed after it. */
static struct early {
	early() { posixtrace::event<"life.early", "n">{}(1); }
	~early() { posixtrace::event<"life.late", "n">{}(2); }
} early;

constexpr posixtrace::event<"v.numbers", "a", "b", "c", "d", "e", "f/B", "g", "h"> numbers;
constexpr posixtrace::event<"v.kinds", "a", "b", "c", "d", "e", "f", "g", "h"> kinds;
constexpr posixtrace::event<"v.texts", "a", "b", "c", "d", "e", "f"> texts;
constexpr posixtrace::event<"v.arrays", "a", "b", "c", "d", "e/ct", "f"> arrays;
constexpr posixtrace::event<"v.options", "a", "b", "c", "d"> options;
constexpr posixtrace::typed_event<long, std::string, double> given{ "v.given", "a", "b", "c/%" };
constexpr posixtrace::counter<"v.count"> count;

static void work(int id)
{
	posixtrace::span<"v.work", "id"> span{ id };

	if (id == 2)
		throw std::runtime_error("two");
}

int main()
{
	const std::vector<int> vector{ 1, -2, 3 };
	const double pair[] = { 0.5, 0.25 };
	const char unended[3] = { 'a', 'b', 'c' };

	numbers(std::numeric_limits<std::int8_t>::min(), std::numeric_limits<std::uint16_t>::max(), -5,
	        std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<long long>::min(), 4096u, 0.5F, 0.25);
	kinds(true, 'x', how::voucher, rights(3), 1500us, std::chrono::minutes(2),
	      std::chrono::sys_days(std::chrono::days(1)), std::byte{ 255 });
	texts("literal", std::string("string"), std::string_view("view of it", 4), unended, customer{ "Ann" },
	      posixtrace::text<6>("a long text"));
	arrays(vector, pair, std::array<how, 2>{ how::cash, how::card }, std::span(vector).first(1),
	       posixtrace::array<2>(vector), std::vector<std::byte>{ std::byte{ 1 }, std::byte{ 171 } });
	options(std::optional(3), std::optional<double>(), std::optional<std::string>("text"),
	        std::optional<std::string>());
	given(-1, "text", 0.5);
	count(-3);
	try {
		work(1);
		work(2);
	} catch (const std::runtime_error &) {
	}
	return posixtrace::enabled() ? 0 : 1;
}
