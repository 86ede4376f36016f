/*
 * unfinished.h - who can complete a log that was not closed
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef UNFINISHED_H
#define UNFINISHED_H

#include <stdbool.h>
#include <stdint.h>

#include "logs/logfile.h"

/*
 * Returns whether the rest of a log that was not closed is in a stream of another user, whose creator has ended as far
 * as this process may know. That user, whose number is in *user then, completes the log by opening it.
 */
bool unfinished_owner(const struct log_header *h, uint32_t *user);
/* Prints a message if another user can complete the log. */
void unfinished_say(const struct logfile *f);
/*
 * Prints a message if there is a log beside this one, which the recorder had not merged into it when it was killed, and
 * which is not among the given paths.
 */
void unfinished_say_beside(const struct logfile *f, const char *const *paths, unsigned count);

#endif
