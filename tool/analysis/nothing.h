/*
 * nothing.h - says why no event is what was asked for
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
 * Says of each pattern of -e, and of each end of a --span, that matches no event type of the logs which names there are. Returns true if
 * nothing of what was asked for can be there: every pattern of -e is such a one, or every span has such an end.
 */
bool nothing_matches(const struct sources *all, const struct match *m, const struct spans *spans);
/* Says what the logs have instead, after all of them were read and no event was wanted. Returns false if nothing wrong was found. */
bool nothing_wanted(struct sources *all);

#endif
