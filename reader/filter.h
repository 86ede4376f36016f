/*
 * filter.h - selects events by name, process, thread and time
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef READER_FILTER_H
#define READER_FILTER_H

#include "reader.h"

/* Selects everything. */
void filter_begin(struct filter *f);
void filter_free(struct filter *f);
/* Returns whether the patterns select a name. */
bool filter_name(const struct patterns *p, const char *name);
/* Returns whether a list selects a number: it has the number, or is empty. */
bool filter_number(const struct numbers *n, uint32_t number);
/* Lets the event that posixtrace_log_wait() has found be looked at again, because filters change. */
void filter_look_again(struct posixtrace_log *log);
/* Looks at all types again, and forgets what was found out about shapes. */
void filter_changed(struct posixtrace_log *log);

#endif
