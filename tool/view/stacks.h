/*
 * stacks.h - the stacks of record --sample and --off-cpu in a page: each different one is there once
 *
 * They are a tree, whose nodes are functions as they were called by the functions above them. In the page, the stack in
 * the data of an event is the number of a node, and the layout of its type is as if it had been recorded so. Node 0 is
 * the root, which is no function. The others are in the block "stacks", in order, each after the one above it: u32 node
 * above, u32 function, a row of the table "functions".
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STACKS_H
#define STACKS_H

#include "analysis/samples.h"
#include "event/layouts.h"
#include "logs/sources.h"

/* Room for the data of an event as it is in the page. */
#define STACKS_DATA (SAMPLES_BEFORE_MAX + 1 + 4)

/* Reads the names of functions. Rewinds the logs. */
void stacks_begin(struct sources *logs);
/* Returns the layout that a type with stacks has in the page, or null if it has none; kind: SAMPLES_ON, SAMPLES_OFF. */
const struct layout *stacks_layout(const struct source *s, uint32_t id, enum samples_kind *kind);
/* Makes the data that the next event has in the page. Returns their length, or 0 if it has no stack. */
uint32_t stacks_data(const struct source *s, unsigned char data[STACKS_DATA]);
/* Writes the block, and the member "functions" of the tables. */
void stacks_write_block(void);
void stacks_write_functions(void);

#endif
