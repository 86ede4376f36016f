/*
 * ftrace.h - the steps of the scheduler in a trace of Perfetto, which shows processors and states of threads
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PERFETTO_FTRACE_H
#define PERFETTO_FTRACE_H

#include "analysis/history.h"

/*
 * Writes the steps of the first log's machine. Its times are of the clock that Perfetto assumes for such events;
 * shift: from times of the log to that clock.
 */
void ftrace_put(struct history *h, uint32_t machine, uint64_t shift);

#endif
