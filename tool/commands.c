/*
 * commands.c - the table of subcommands
 *
 * Without `complete`, which reads this table and is for scripts only.
 *
 * SPDX-License-Identifier: MIT
 */
#include "commands.h"

#include <string.h>

static const struct command *const commands[] = {
	&command_run,
	&command_record,
	&command_report,
	&command_stat,
	&command_diff,
	&command_view,
#ifdef POSIXTRACE_CURSES
	&command_live,
#endif
	&command_convert,
	&command_list,
	&command_check,
	&command_recover,
	&command_doctor,
	&command_event,
	&command_span,
	NULL,
};

const struct command *commands_each(unsigned index)
{
	return commands[index];
}

const struct command *commands_find(const char *name)
{
	for (unsigned i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}
