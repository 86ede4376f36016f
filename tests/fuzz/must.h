/*
 * must.h - ends the program if a condition is false, so that libFuzzer reports the input
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_MUST_H
#define FUZZ_MUST_H

#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                                                      \
	do {                                                                                 \
		if (!(condition)) {                                                          \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
			abort();                                                             \
		}                                                                            \
	} while (0)

#endif
