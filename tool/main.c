/*
 * main.c - posixtrace, the command: finds the subcommand
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "common/command.h"
#include "common/edit_distance.h"
#include "common/file_limit.h"
#include "common/message.h"

/* Returns the exit status after something was printed. */
static int printed(void)
{
	if (fflush(stdout) != 0)
		fail("standard output: %s", strerror(errno));
	return STATUS_DONE;
}

static int print_help(void)
{
	const struct command *c;

	printf("usage: posixtrace COMMAND [ARGUMENT...]\n\nRecords the events of programs that use <trace.h>, "
	       "and shows them.\n\n");
	for (unsigned i = 0; (c = commands_each(i)); i++)
		printf("  %-8s  %s\n", c->name, c->summary);
	printf("\n'posixtrace COMMAND --help' shows its options; see also 'man posixtrace'.\n");
	return printed();
}

static void no_command(const char *asked) __attribute__((noreturn));
static void no_command(const char *asked)
{
	struct nearest nearest = { 0 };
	const struct command *c;

	if (*asked == '-')
		wrong_usage("unknown option %s; options of a command follow its name, "
		            "as in 'posixtrace record -o FILE'", asked);
#ifndef POSIXTRACE_CURSES
	if (strcmp(asked, "live") == 0)
		wrong_usage("this posixtrace was built without the command live; it needs ncurses (Debian: "
		            "libncurses-dev)");
#endif
	for (unsigned i = 0; (c = commands_each(i)); i++)
		nearest_add(&nearest, asked, c->name);
	if (nearest.name)
		wrong_usage("unknown command %s; did you mean %s?", asked, nearest.name);
	wrong_usage("unknown command %s", asked);
}

int main(int argc, char **argv)
{
	setlocale(LC_CTYPE, "");
	file_limit_is_an_error();
	if (argc < 2)
		wrong_usage("missing command");
	if (strcmp(argv[1], "--version") == 0) {
		printf("posixtrace %s\n", POSIXTRACE_VERSION);
		return printed();
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
	command = strcmp(argv[1], command_complete.name) == 0 ? &command_complete : commands_find(argv[1]);
	if (!command)
		no_command(argv[1]);
	return command->run(argc - 1, argv + 1);
}
