/*
 * complete.c - posixtrace complete: what shells offer to complete; for the scripts in completion/
 *
 * All that it knows of a subcommand it has from what that says about itself, so that it is right.
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "layout.h"
#include "logfile.h"
#include "out.h"
#include "traceable.h"

static const char usage[] =
	"usage: posixtrace complete commands | options COMMAND | operands COMMAND | pids | events [-p PID | FILE]\n"
	"\n"
	"Lists, for shells, what a word of a command line may be, one on each line.\n";

/* -- Subcommands ---------------------------------------------------------------------------- */

static void list_commands(void)
{
	const struct command *c;

	for (unsigned i = 0; (c = command_each(i)); i++)
		if (c->summary)
			out_printf("%s\n", c->name);
	out_text("help\n");
}

static const char *usage_of(const char *name)
{
	const struct command *c;

	for (unsigned i = 0; (c = command_each(i)); i++)
		if (strcmp(c->name, name) == 0)
			return c->usage;
	return "";
}

/* The argument of an option: a word in capitals right behind it. */
static size_t capitals(const char *text)
{
	size_t n = 0;

	while (isupper((unsigned char)text[n]) || (n > 0 && (text[n] == '_' || isdigit((unsigned char)text[n]))))
		n++;
	return n == 0 || isalnum((unsigned char)text[n]) ? 0 : n;
}

#define OPTIONS 16

/*
 * A line such as "  -e, --event PATTERN  ...", or "--u8 N, --u16 N  ...": each of its options with the argument's name, the last one if
 * there are several; "-" if there is none, or none that is the next word.
 */
static void list_line(const char *line, size_t length)
{
	const char *name[OPTIONS], *end = line + length;
	size_t size[OPTIONS], argument;
	unsigned count = 0;

	while (line < end && *line == ' ')
		line++;
	while (line < end && *line == '-' && count < OPTIONS) {
		name[count] = line;
		size[count] = strcspn(line, " ,=[\n");
		line += size[count++];
		argument = *line == ' ' ? capitals(line + 1) : 0;
		if (argument && strncmp(line + 1 + argument, ", -", 3) == 0)
			line += 1 + argument;
		line += *line == ',';
		line += line[0] == ' ' && line[1] != ' '; /* where there are more, the description begins */
	}
	/* "[=SIZE]" is in the same word or nowhere. */
	argument = count && *line != '[' ? capitals(line + (*line == '=')) : 0;
	for (unsigned i = 0; i < count; i++) {
		out_bytes(name[i], size[i]);
		out_char(' ');
		out_bytes(argument ? line : "-", argument ? argument : 1);
		out_char('\n');
	}
}

static void list_options(const char *text)
{
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (strncmp(text, "  -", 3) == 0 || strncmp(text, "      --", 8) == 0)
			list_line(text, n);
	}
}

/* What is in capitals in the first line, which is not an option's argument: FILE, COMMAND ... */
static void list_operands(const char *text)
{
	const char *end = text + strcspn(text, "\n");
	bool argument = false;

	while (text < end) {
		size_t n = strcspn(text, " \n"), open = strspn(text, "[");
		size_t word = capitals(text + open);

		if (word && !argument)
			out_printf("%.*s\n", (int)word, text + open);
		argument = text[open] == '-' && n > open + 1 && strncmp(text, "--", n) != 0 && text[n - 1] != ']';
		text += n + strspn(text + n, " ");
	}
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

/* Nothing is brought into a log of a dead creator because somebody presses a key; so not by logfile_open(). */
static void list_log(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
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

	if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0)
		print_usage();
	if (strcmp(what, "commands") == 0)
		list_commands();
	else if (strcmp(what, "options") == 0 && more)
		list_options(usage_of(more));
	else if (strcmp(what, "operands") == 0 && more)
		list_operands(usage_of(more));
	else if (strcmp(what, "pids") == 0)
		list_pids();
	else if (strcmp(what, "events") == 0 && more && argc == 4 && strcmp(more, "-p") == 0)
		traceable_names((pid_t)argument_number("-p", argv[3], 1, INT_MAX), print_name, NULL);
	else if (strcmp(what, "events") == 0 && argc <= 3)
		list_log(more ? more : LOGFILE_DEFAULT);
	else
		wrong_usage("complete what?");
	out_flush();
	return STATUS_DONE;
}

/* Without a summary: people do not need to know of it. */
const struct command command_complete = { "complete", NULL, usage, run };
