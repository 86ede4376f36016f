/*
 * commands.h - the table of subcommands
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "common/command.h"

/* Returns the subcommand with this index, in the order of --help; null after the last one. */
const struct command *commands_each(unsigned index);
/* Returns the subcommand with this name, or null. */
const struct command *commands_find(const char *name);

#endif
