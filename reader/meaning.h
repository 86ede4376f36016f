/*
 * meaning.h - what events mean beyond their values: spans, counters, flows, levels
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_MEANING_H
#define READER_MEANING_H

#include "reader.h"

/* Fills in the meaning of a type. Its layout and its fields are known. */
void meaning_describe(struct type *t);

#endif
