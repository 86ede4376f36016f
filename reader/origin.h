/*
 * origin.h - who has recorded a log, and what the clocks of the machine said
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_ORIGIN_H
#define READER_ORIGIN_H

#include "reader.h"

/* Adds the labels in the body of a frame LABELS. Returns false if there is no memory. */
bool origin_labels(struct source *s, const unsigned char *body, size_t size);
/* Adds the body of a frame CLOCK. Returns false if there is no memory. */
bool origin_clock(struct source *s, const unsigned char *body, size_t size);
void origin_free(struct source *s);

#endif
