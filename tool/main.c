/*
 * main.c - posixtrace, the command: finds the subcommand
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

static const struct command *const commands[] = {
	&command_record,
	&command_report,
	&command_stat,
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
	&command_complete,
};

#define COMMANDS (sizeof commands / sizeof commands[0])

const struct command *command_each(unsigned index)
{
	return index < COMMANDS ? commands[index] : NULL;
}

/* All that was to be said has been. */
static int said(void)
{
	if (fflush(stdout) != 0)
		fail("standard output: %s", strerror(errno));
	return STATUS_DONE;
}

static int print_help(void)
{
	printf("usage: posixtrace COMMAND [ARGUMENT...]\n\nRecords what programs do that trace by <trace.h>, and shows it.\n\n");
	for (unsigned i = 0; i < COMMANDS; i++)
		if (commands[i]->summary)
			printf("  %-8s  %s\n", commands[i]->name, commands[i]->summary);
	printf("\n'posixtrace COMMAND --help' tells more about one of them, 'man posixtrace' about all.\n");
	return said();
}

int main(int argc, char **argv)
{
	setlocale(LC_CTYPE, "");
	if (argc < 2)
		wrong_usage("what shall be done?");
	if (strcmp(argv[1], "--version") == 0) {
		printf("posixtrace %s\n", POSIXTRACE_VERSION);
		return said();
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_help();
	if (strcmp(argv[1], "help") == 0) {
		if (argc < 3)
			return print_help();
		argv[1] = argv[2];
		argv[2] = "--help";
		argc = 3;
	}
	for (unsigned i = 0; i < COMMANDS; i++)
		if (strcmp(argv[1], commands[i]->name) == 0) {
			command = commands[i];
			return command->run(argc - 1, argv + 1);
		}
	wrong_usage("no command %s", argv[1]);
}
