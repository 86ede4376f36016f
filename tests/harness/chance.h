/*
 * chance.h - reproducible random choices, and a clock
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CHANCE_H
#define CHANCE_H

#include <stdint.h>
#include <time.h>

/* Returns a hash of x. */
static inline uint64_t chance_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Returns a random number from 0 to below - 1. */
static inline uint32_t chance(uint64_t *state, uint32_t below)
{
	return (uint32_t)((*state = chance_mix(*state)) >> 32) % below;
}

static inline int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static inline void sleep_us(int64_t us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

#endif
