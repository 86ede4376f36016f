/*
 * selection.h - record --where: which events of a stream go into its log
 *
 * The thread that writes the log asks. The expression is compiled for each event type when the type has its first
 * event, and again when a layout is declared later.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SELECTION_H
#define SELECTION_H

#include "control/flush.h"
#include "logs/match.h"

struct selection;

/* Returns a selection for one stream; it is never freed. where: a correct expression. only: the options -e. */
struct selection *selection_new(const char *where, const struct match *only);
/* Returns the filter for the stream. */
struct flush_filter *selection_filter(struct selection *s);
/*
 * Prints, after the stream has ended, what no event type has that could be recorded, or what cannot be calculated.
 * what: the program. Prints nothing if no event type is known.
 */
void selection_say(struct selection *s, const char *what);

#endif
