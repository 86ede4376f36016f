/*
 * doctor.c - posixtrace doctor: why does tracing not work here?
 *
 * SPDX-License-Identifier: MIT
 */
#include "doctor/doctor.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/command.h"
#include "common/display.h"
#include "common/json.h"
#include "common/message.h"
#include "common/options.h"
#include "common/out.h"

static unsigned told[3];
static bool json;

static void tell_json(enum grade grade, const char *about, const char *text, const char *remedy)
{
	static const char *const grades[] = { "ok", "warning", "problem" };

	json_begin('{');
	json_key("about");
	json_string(about);
	json_key("grade");
	json_string(grades[grade]);
	json_key("text");
	json_string(text);
	json_key("remedy");
	remedy ? json_string(remedy) : json_null();
	json_end('}');
	json_done();
}

void tell(enum grade grade, const char *about, const char *remedy, const char *format, ...)
{
	static const char *const words[] = { "ok", "warning", "PROBLEM" };
	static const enum colour colours[] = { GREEN, YELLOW, RED };
	va_list arguments;
	char text[1024];

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	told[grade]++;
	if (json) {
		tell_json(grade, about, text, remedy);
		return;
	}
	display_colour(colours[grade]);
	out_printf("%-8s", words[grade]);
	display_colour(PLAIN);
	out_printf(" %-12s ", about);
	out_foreign(text, strlen(text), 0);
	out_char('\n');
	if (remedy)
		out_printf("%-21s -> %s\n", "", remedy);
	/* Print each finding at once: the next check may hang. */
	out_flush();
}

const char *create_error(int error)
{
	switch (error) {
	case EPERM:
		return "this user may not trace that process: run as its user, or as root";
	case ESRCH:
		return "the process no longer exists";
	case ENOENT:
		return "there is no /dev/shm: mount -t tmpfs -o mode=1777 tmpfs /dev/shm";
	case EACCES:
		return "the directory in /dev/shm belongs to another user, or other users can write to it: see above";
	case ENOMEM:
		return "no memory: /dev/shm is full, or a limit is too low (ulimit -f, -v; a container's memory)";
	case EAGAIN:
		return "too many streams exist, or no thread can be made: 'posixtrace list --all', ulimit -u";
	case EINVAL:
		return "the files in /dev/shm have another layout: programs use another version of the library";
	case EMFILE:
	case ENFILE:
		return "no descriptors are left: ulimit -n";
	default:
		return "see above for possible causes";
	}
}

char *first_line(const char *path, char *line, int size)
{
	FILE *f = fopen(path, "re");

	if (!f || !fgets(line, size, f))
		line[0] = 0;
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = 0;
	return line;
}

static void sum(void)
{
	if (json)
		return;
	if (told[GRADE_PROBLEM])
		out_printf("\n%u problem%s, %u warning%s\n", told[GRADE_PROBLEM], told[GRADE_PROBLEM] == 1 ? "" : "s",
		           told[GRADE_WARNING], told[GRADE_WARNING] == 1 ? "" : "s");
	else
		out_printf("\nno problems, %u warning%s\n", told[GRADE_WARNING], told[GRADE_WARNING] == 1 ? "" : "s");
}

static int run(int argc, char **argv)
{
	const char *colours = "auto";
	uint32_t pid = 0;
	int c;

	while ((c = next_option(argc, argv)) >= 0)
		if (c == 'p')
			pid = (uint32_t)argument_number("--pid", optarg, 1, INT32_MAX);
		else
			colours = optarg;
	if (optind < argc)
		wrong_usage("unexpected argument '%s'", argv[optind]);
	display_colours(colours);
	if (pid) {
		doctor_process(pid);
	} else {
		doctor_machine();
		doctor_library();
		doctor_directory();
		doctor_trials();
	}
	sum();
	out_flush();
	return told[GRADE_PROBLEM] ? STATUS_FAILED : STATUS_DONE;
}

static const struct option_row option_rows[] = {
	OPTION('p', "pid", "PID", "find out why this process cannot be traced"),
	OPTION_FLAG(OPTION_JSON, "json", &json, "a JSON object on each line"),
	OPTION_ROW_COLOR,
	{ 0 },
};

const struct command command_doctor = {
	.name = "doctor",
	.summary = "find out why tracing does not work here",
	.synopsis = "[options]",
	.about = "Checks everything that tracing needs on this machine, and tries it; with -p, what it needs to trace that process.",
	.options = option_rows,
	.ending = "Exit status: 0 no problem, 1 a problem, 2 wrong usage.",
	.run = run,
};
