/*
 * fuzz.h - the functions that libFuzzer calls
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t size_a, const uint8_t *b, size_t size_b, uint8_t *out,
                                 size_t max_size, unsigned seed);
/* Provided by libFuzzer. */
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size);

#endif
