/*
 * mutate.h - mutates logs by frames, mostly with valid CRCs
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MUTATE_H
#define MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Changes a log in place; the same seed makes the same change. Returns the new size, at most max_size. */
size_t mutate_log(uint8_t *bytes, size_t size, size_t max_size, unsigned seed);
/* Joins the first frames of one log and the last frames of another. Returns the size, at most max_size. */
size_t mutate_cross(const uint8_t *a, size_t size_a, const uint8_t *b, size_t size_b, uint8_t *out, size_t max_size,
                    unsigned seed);

#endif
