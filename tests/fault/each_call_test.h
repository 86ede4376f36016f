/*
 * each_call_test.h - included before a test program (gcc -include): gives tests/fault/each_call.c access to its
 * failures
 *
 * Includes nothing, so that the program's own headers come first.
 *
 * SPDX-License-Identifier: MIT
 */
static volatile int test_failures __attribute__((unused));
volatile int *const each_call_failures = &test_failures;
