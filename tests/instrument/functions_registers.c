/*
 * functions_registers.c - arguments and results of functions with XRay's places, in all registers, for functions.py
 *
 *     functions_registers registers     computes with them, and says what is wrong
 *     functions_registers other         sets another handler of XRay, which has to be called
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NEVER __attribute__((xray_never_instrument))
#define OUTSIDE __attribute__((noinline))

/* As in <xray/xray_interface.h>, which not all packages of clang can be compiled with. */
int __xray_set_handler(void (*handler)(int32_t, int));

struct two {
	long a, b;
};

struct mixed {
	double a;
	long b;
};

struct large {
	long a[5];
};

typedef float wide __attribute__((vector_size(16)));

OUTSIDE double many(long a, long b, long c, long d, long e, long f, double g, double h, double i, double j, double k,
                    double l, double m, double n, long o, double p)
{
	return (double)(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * o) + g + 2 * h + 3 * i + 4 * j + 5 * k + 6 * l +
	       7 * m + 8 * n + 9 * p;
}

OUTSIDE double variable(int count, ...)
{
	double sum = 0;
	va_list list;

	va_start(list, count);
	for (int i = 0; i < count; i++)
		sum += i % 2 ? va_arg(list, double) : (double)va_arg(list, long);
	va_end(list);
	return sum;
}

OUTSIDE struct two two(long a)
{
	return (struct two){ a, a + 1 };
}

OUTSIDE struct mixed mixed(double a, long b)
{
	return (struct mixed){ b, (long)a };
}

OUTSIDE struct large large(long a)
{
	return (struct large){ { a, a + 1, a + 2, a + 3, a + 4 } };
}

OUTSIDE wide vector(wide a, wide b)
{
	return a * b;
}

OUTSIDE long double longer(long double a)
{
	return a / 3;
}

OUTSIDE _Complex double complex_number(double a, double b)
{
	return a + b * 1.0i;
}

/* A tail call, with arguments in all registers. */
OUTSIDE double tail(long a, long b, long c, long d, long e, long f, double g, double h, double i, double j, double k,
                    double l, double m, double n, long o, double p)
{
	return many(f, e, d, c, b, a, n, m, l, k, j, i, h, g, o, p);
}

static int wrong;

NEVER static void check(const char *what, int right)
{
	if (!right) {
		printf("wrong: %s\n", what);
		wrong = 1;
	}
}

NEVER static void registers(void)
{
	struct two t = two(7);
	struct mixed m = mixed(2.0, 3);
	struct large l = large(1);
	wide v = vector((wide){ 1, 2, 3, 4 }, (wide){ 5, 6, 7, 8 });
	_Complex double z = complex_number(1.5, 2.5);

	check("many", many(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 7, 8, 7, 9) == 91 + 49 + 204 + 81);
	check("tail", tail(6, 5, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1, 7, 9) == 91 + 49 + 204 + 81);
	check("variable", variable(6, 1L, 2.0, 3L, 4.0, 5L, 6.0) == 21);
	check("two", t.a == 7 && t.b == 8);
	check("mixed", m.a == 3 && m.b == 2);
	check("large", l.a[0] == 1 && l.a[4] == 5);
	check("vector", v[0] == 5 && v[1] == 12 && v[2] == 21 && v[3] == 32);
	check("longer", longer(1) * 3 == 1);
	check("complex", __real__ z == 1.5 && __imag__ z == 2.5);
}

static int calls[3];

NEVER static void count(int32_t id, int type)
{
	(void)id;
	if (type >= 0 && type < 3)
		calls[type]++;
}

NEVER int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "other") == 0) {
		__xray_set_handler(count);
		registers();
		__xray_set_handler(NULL);
		registers();
		/* tail() ends by a tail call or by an exit. */
		check("entries", calls[0] == 10);
		check("exits", calls[1] + calls[2] == 10);
		return wrong;
	}
	for (int i = 0; i < 100; i++)
		registers();
	return wrong;
}
