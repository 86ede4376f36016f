/*
 * debuginfo.h - files that were mapped by traced processes, and what is in them
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DEBUGINFO_H
#define DEBUGINFO_H

#include <stddef.h>
#include <stdint.h>

#include "symbols.h"

struct image;

/* The same one for the same path and build-id. */
struct image *image_of(const char *path, size_t length, const unsigned char *id, size_t id_length);
const char *image_path(const struct image *i);
/* s->offset, in the file, is known: fills in what else can be. Says once of each file why it cannot. */
void image_look_up(struct image *i, struct symbol *s);

#endif
