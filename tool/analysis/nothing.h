/*
 * nothing.h - says why no event matches the options
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NOTHING_H
#define NOTHING_H

#include "analysis/span.h"
#include "event/suggest.h"
#include "logs/sources.h"

/* Adds the names of the event types of a log's programs. */
void nothing_names(struct suggest *names, const struct logfile *f);
/*
 * Prints each pattern of -e, and each end of a --span, that matches no event type of the logs, with the names that
 * exist; and what no event type has of the fields of --where. Returns true if no result is possible: no pattern of -e
 * matches, every span lacks an end, or --where has a field that does not exist.
 */
bool nothing_matches(const struct sources *all, const struct match *m, const struct spans *spans);
/*
 * Prints what the logs have instead. Call it after no event of the logs was selected. Returns false if no option alone
 * is to blame.
 */
bool nothing_wanted(struct sources *all);

#endif
