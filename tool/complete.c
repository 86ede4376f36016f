/*
 * complete.c - posixtrace complete: the tables of options for scripts: completion in shells, and the manual pages
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common/help.h"
#include "common/json.h"
#include "common/message.h"
#include "common/options.h"
#include "common/out.h"
#include "model/data_layout.h"
#include "logs/logfile.h"
#include "process/traceable.h"

/* -- Subcommands ---------------------------------------------------------------------------- */

static void list_commands(void)
{
	const struct command *c;

	for (unsigned i = 0; (c = commands_each(i)); i++)
		out_printf("%s\n", c->name);
	out_text("help\n");
}

/*
 * Prints each option, the name of its argument, and the choices: "--by SCOPE thread process all". "-": no argument
 * follows as a separate word.
 */
static void list_options(const struct option_row *o)
{
	for (; option_is_row(o); o++) {
		bool next = o->argument && *o->argument != '[';

		if (!o->value || !o->help)
			continue;
		for (int letter = o->value < 0x100; letter >= 0; letter--) {
			if (letter)
				out_printf("-%c", o->value);
			else
				out_printf("--%s", o->name);
			out_printf(" %s%s%s\n", next ? o->argument : "-", o->choices ? " " : "",
			           o->choices ? o->choices : "");
		}
	}
	out_text("-h -\n--help -\n");
}

/* Prints null as null. */
static void print_member(const char *key, const char *text)
{
	json_key(key);
	text ? json_string(text) : json_null();
}

static void print_row(const struct option_row *o)
{
	const char letter[] = { o->value < 0x100 ? (char)o->value : 0, 0 };

	json_begin('{');
	print_member("letter", *letter ? letter : NULL);
	print_member("name", o->name);
	print_member("argument", o->argument);
	print_member("choices", o->choices);
	print_member("help", o->help);
	json_end('}');
}

/* Prints how a subcommand is called, and its rows that --help shows, as JSON; for script/man-options. */
static void print_table(const struct command *c)
{
	json_begin('{');
	print_member("synopsis", c->synopsis);
	json_key("rows");
	json_begin('[');
	for (const struct option_row *o = c->options; option_is_row(o); o++) {
		if (o->value && o->help) {
			print_row(o);
		} else if (o->help) {
			json_begin('{');
			print_member("heading", o->help);
			json_end('}');
		}
	}
	json_end(']');
	json_end('}');
	json_done();
}

/* -- Processes and events ------------------------------------------------------------------- */

static void list_pids(void)
{
	unsigned count;
	struct traceable *all = traceable_all(&count);

	for (unsigned i = 0; i < count; i++) {
		out_printf("%d\t", (int)all[i].pid);
		out_foreign(all[i].command, strlen(all[i].command), 0);
		out_char('\n');
	}
}

static void print_name(const char *name, void *unused)
{
	out_foreign(name, layout_name(name), 0);
	out_char('\n');
}

/*
 * Prints the event types of a log. Does not use logfile_open(), because completion must not change the log of a dead
 * creator.
 */
static void list_log(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct input in;

	if (fd < 0 || input_open(&in, fd) != 0)
		return;
	for (uint32_t id = EVENT_ID_USER; id < EVENT_ID_END; id++)
		if (in.type[id])
			print_name(in.name[id], NULL);
	input_close(&in);
}

static int run(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *more = argc > 2 ? argv[2] : NULL;
	const struct command *c = more ? commands_find(more) : NULL;

	if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0)
		help_print();
	if (strcmp(what, "commands") == 0)
		list_commands();
	else if (strcmp(what, "options") == 0 && more)
		list_options(c ? c->options : NULL);
	else if (strcmp(what, "table") == 0 && c)
		print_table(c);
	else if (strcmp(what, "operand") == 0 && more)
		out_printf("%s\n", c && c->operand ? c->operand : "");
	else if (strcmp(what, "pids") == 0)
		list_pids();
	else if (strcmp(what, "events") == 0 && more && argc == 4 && strcmp(more, "-p") == 0)
		traceable_names((pid_t)argument_number("-p", argv[3], 1, INT_MAX), print_name, NULL);
	else if (strcmp(what, "events") == 0 && argc <= 3)
		list_log(more ? more : LOGFILE_DEFAULT);
	else
		wrong_usage("expected commands, options COMMAND, table COMMAND, operand COMMAND, pids or events");
	out_flush();
	return STATUS_DONE;
}

const struct command command_complete = {
	.name = "complete",
	.synopsis = "commands\noptions COMMAND\ntable COMMAND\noperand COMMAND\npids\nevents [-p PID | FILE]",
	.about = "Lists what a word of the command line can be, one on each line; for completion in shells. table "
	         "prints the options of COMMAND as JSON.",
	.run = run,
};
