/*
 * index.h - what the index of a log, and its frames among themselves, say of the whole
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef INDEX_H
#define INDEX_H

#include "check/frames.h"

/* Reads the body of an INDEX frame, and adds findings if it is invalid. */
void verify_index(struct verify *v, const struct frame *f, uint64_t at);
/* Reads the body of a SUM frame, and adds findings if it is invalid. */
void verify_sum(struct verify *v, const struct frame *f, uint64_t at);
/* Compares the index with the frames, and the frames with each other. Call it after the last frame. */
void verify_whole(struct verify *v);

#endif
