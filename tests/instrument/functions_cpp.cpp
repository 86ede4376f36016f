/*
 * functions_cpp.cpp - a C++ program whose calls are known, for functions.py: names, exceptions
 *
 * SPDX-License-Identifier: MIT
 */
#include <cstdio>
#include <stdexcept>

#if defined __clang__
# pragma clang diagnostic ignored "-Wunknown-attributes"
#endif
#define PLAIN __attribute__((no_instrument_function))
#define CALL  __attribute__((noinline))

static volatile int sink;

namespace shape {

struct circle {
	int radius;
	CALL explicit circle(int r) : radius(r) { sink = sink + 1; }
	CALL ~circle() { sink = sink + radius; }
	CALL int draw(int n) const;
	CALL bool operator()(int n) const { return n > radius; }
	CALL bool operator<(const circle &other) const { return radius < other.radius; }
};

template <typename T> CALL T area(T of)
{
	sink = sink + 1;
	return of * of;
}

CALL static void fail(int n)
{
	circle kept(n);

	sink = sink + 1;
	if (n == 0)
		throw std::runtime_error("no more");
	fail(n - 1);
	sink = sink + 1;
}

int circle::draw(int n) const
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += area(i);
	return sum + radius;
}

}

namespace {

CALL void after()
{
	sink = sink + 1;
}

}

CALL static void caught(int n)
{
	try {
		shape::fail(n);
	} catch (const std::exception &) {
		after();
	}
	after();
	sink = sink + 1;
}

PLAIN int main()
{
	for (int i = 0; i < 10; i++)
		caught(3);
	{
		shape::circle one(1), two(2);

		one.draw(5);
		sink = sink + one(3) + (one < two);
	}
	shape::area(2.5);
	return 0;
}
