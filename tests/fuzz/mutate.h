/*
 * mutate.h - changes logs as logs: by frames, and mostly with the CRCs that belong to them
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MUTATE_H
#define MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* In place; the same seed, the same change. Returns the new size, at most max_size. */
size_t mutate_log(uint8_t *bytes, size_t size, size_t max_size, unsigned seed);
/* The first frames of one, the last frames of the other. Returns how many bytes that is, at most max_size. */
size_t mutate_cross(const uint8_t *a, size_t size_a, const uint8_t *b, size_t size_b, uint8_t *out, size_t max_size, unsigned seed);

#endif
