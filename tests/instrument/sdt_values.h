/*
 * sdt_values.h - probes with each number and each type of arguments, for C and for C++
 *
 * SPDX-License-Identifier: MIT
 */
#define _SDT_HAS_SEMAPHORES 1
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sdt.h>

#define PROVIDER shop /* a macro: its value is the provider */

enum colour { RED, GREEN = 7 };
struct opaque;

unsigned short shop_n0_semaphore __attribute__((section(".probes")));
unsigned short shop_n1_semaphore, shop_n2_semaphore, shop_n3_semaphore, shop_n4_semaphore, shop_n5_semaphore,
	shop_n6_semaphore, shop_n7_semaphore, shop_n8_semaphore, shop_n9_semaphore, shop_n10_semaphore,
	shop_n11_semaphore, shop_n12_semaphore, shop_types_semaphore, shop_more_semaphore, shop_texts_semaphore,
	shop_long_semaphore, shop_page_semaphore;

static int evaluated;

static int evaluate(int value)
{
	evaluated++;
	return value;
}

static void counts(void)
{
	DTRACE_PROBE(PROVIDER, n0);
	DTRACE_PROBE1(PROVIDER, n1, 1);
	DTRACE_PROBE2(PROVIDER, n2, 1, evaluate(2));
	STAP_PROBE3(PROVIDER, n3, 1, 2, 3);
	DTRACE_PROBE4(PROVIDER, n4, 1, 2, 3, 4);
	DTRACE_PROBE5(PROVIDER, n5, 1, 2, 3, 4, 5);
	DTRACE_PROBE6(PROVIDER, n6, 1, 2, 3, 4, 5, 6);
	DTRACE_PROBE7(PROVIDER, n7, 1, 2, 3, 4, 5, 6, 7);
	DTRACE_PROBE8(PROVIDER, n8, 1, 2, 3, 4, 5, 6, 7, 8);
	DTRACE_PROBE9(PROVIDER, n9, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	DTRACE_PROBE10(PROVIDER, n10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
	STAP_PROBE11(PROVIDER, n11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
	STAP_PROBEV(PROVIDER, n12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
}

static void types(void)
{
	const volatile short negative = -3;
	struct { unsigned three : 3; int four : 4; } bits = { 5, -2 };

	DTRACE_PROBE12(PROVIDER, types, (char)-1, (signed char)-2, (unsigned char)200, negative, (unsigned short)60000,
	               -5, 4000000000U, -7L, 8UL, -9LL, 18446744073709551615ULL, (bool)1);
	STAP_PROBEV(PROVIDER, more, 1.5f, 2.5, (long double)3.5, GREEN, bits.three, bits.four, (struct opaque *)0x1234,
	            (const void *)0xabcd, (unsigned char *)0x77);
}

static void texts(void)
{
	char array[] = "array", longest[301], *page, *end;
	const char *literal = "literal";

	memset(longest, 'x', 300);
	longest[300] = '\0';
	DTRACE_PROBE4(PROVIDER, texts, literal, array, (char *)0, "\303\251");
	DTRACE_PROBE2(PROVIDER, long, longest, 1);
	/* Texts up to the end of a page: before one that cannot be read, and without a null. */
	page = (char *)mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || mprotect(page + 8192, 4096, PROT_NONE) != 0)
		exit(1);
	end = page + 8192;
	memcpy(end - 4, "last", 4);
	memcpy(page + 4096 - 3, "acrosspages", 12);
	errno = 1234;
	DTRACE_PROBE3(PROVIDER, page, end - 4, page + 4096 - 3, end - 1);
	if (errno != 1234)
		exit(2);
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("semaphore %d %d\n", shop_n0_semaphore, shop_page_semaphore);
	if (argc > 1) {
		printf("descriptors %s\n", fopen("/proc/self/fd/3", "r") ? "more" : "as usual");
		evaluated = 0;
		counts(); /* the first probe finds out that nobody records */
		evaluated = 0;
	}
	counts();
	types();
	texts();
	printf("evaluated %d\n", evaluated);
	return 0;
}
