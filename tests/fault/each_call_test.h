/*
 * each_call_test.h - read before a test program (gcc -include): lets tests/fault/each_call.c see, and add to, its failures
 *
 * Includes nothing, so that the program begins with its own headers.
 *
 * SPDX-License-Identifier: MIT
 */
static volatile int test_failures __attribute__((unused));
volatile int *const each_call_failures = &test_failures;
