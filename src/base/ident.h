/*
 * ident.h - which process or thread, and does it still live
 *
 * A process id is given out again after its process has ended; together with
 * the start time it is not. Both survive exec.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_IDENT_H
#define BASE_IDENT_H

#include <stdbool.h>
#include <stdint.h>

struct ident {
	uint32_t pid;
	uint64_t start; /* clock ticks since boot; 0 where /proc does not tell */
};

struct ident ident_self(void);
/* False if there is no such process, or it has ended and only waits to be reaped. */
bool ident_alive(struct ident id);
/* A number that differs in each program image, also after exec; equal in a forked child. */
uint64_t ident_image(void);
bool thread_alive(uint32_t tid);

#endif
