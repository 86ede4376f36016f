/*
 * libc_sanitized.c - a program that is built with AddressSanitizer
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

int main(void)
{
	puts("started");
	return 0;
}
