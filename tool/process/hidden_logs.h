/*
 * hidden_logs.h - finds the logs of streams for other users' processes
 *
 * What such a stream is about is in memory of that user, but its log is its creator's, who keeps the path and the
 * numbers of the log to itself.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROCESS_HIDDEN_LOGS_H
#define PROCESS_HIDDEN_LOGS_H

#include "process/streams.h"

/* Stores the paths of the logs of all such streams that can be found. */
void hidden_logs_find(struct streams *s);

#endif
