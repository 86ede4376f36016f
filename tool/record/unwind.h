/*
 * unwind.h - record --sample-dwarf: walks a copied stack by the rules that compilers write for exceptions (.eh_frame)
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef UNWIND_H
#define UNWIND_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/ring.h"
#include "record/modules.h"

/* Returns whether stacks can be walked here: libdw, and this processor. */
bool unwind_works(void);
/*
 * Stores the addresses of a sample's stack, from the innermost on, and returns how many: at most `most`. Sets *cut if
 * the outermost ones cannot be found.
 */
unsigned unwind(struct modules *m, const struct ring_record *r, uint64_t *address, unsigned most, bool *cut);

#endif
