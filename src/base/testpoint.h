/*
 * testpoint.h - named places where a test stops or kills the process
 *
 * Nothing in the library as it is installed. The fault tests are linked with
 * one where each place calls test_point() with its name.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_TESTPOINT_H
#define BASE_TESTPOINT_H

#ifdef POSIXTRACE_TEST_POINTS
void test_point(const char *name);
# define TEST_POINT(name) test_point(name)
#else
# define TEST_POINT(name) ((void)0)
#endif

#endif
