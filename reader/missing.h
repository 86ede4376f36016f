/*
 * missing.h - the losses of a source that wait to be reported
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_MISSING_H
#define READER_MISSING_H

#include "reader.h"

/* Queues a loss before the next event, with the members of struct posixtrace_log_loss, and counts it. */
void missing_queue(struct source *s, uint32_t reason, bool at_least, uint64_t count, uint64_t from, uint64_t until);
/* Returns the time after which the next event has to come: that of the last one, or of the source's creation. */
uint64_t missing_after(const struct source *s);

#endif
