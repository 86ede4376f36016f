/*
 * doctor.c - posixtrace doctor: why does tracing not work here?
 *
 * SPDX-License-Identifier: MIT
 */
#include "doctor.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json.h"
#include "out.h"

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
	out_colour(colours[grade]);
	out_printf("%-8s", words[grade]);
	out_colour(PLAIN);
	out_printf(" %-12s ", about);
	out_foreign(text, strlen(text), 0);
	out_char('\n');
	if (remedy)
		out_printf("%-21s -> %s\n", "", remedy);
	/* Each as soon as it is known: the next may not come back. */
	out_flush();
}

const char *create_error(int error)
{
	switch (error) {
	case EPERM:
		return "this user may not trace that process: be its user, or root";
	case ESRCH:
		return "there is no such process any more";
	case ENOENT:
		return "there is no /dev/shm: mount -t tmpfs -o mode=1777 tmpfs /dev/shm";
	case EACCES:
		return "the directory in /dev/shm is somebody else's, or open to others: see above";
	case ENOMEM:
		return "no memory: /dev/shm is full, or a limit is too low (ulimit -f, -v; a container's memory)";
	case EAGAIN:
		return "too many streams exist, or no thread can be made: 'posixtrace list --all', ulimit -u";
	case EINVAL:
		return "what is in /dev/shm is not what this version expects: programs use another version of the library";
	case EMFILE:
	case ENFILE:
		return "no descriptors are left: ulimit -n";
	default:
		return "look above for what may be in the way";
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
	enum { JSON = 0x100, COLOR };
	static const struct option options[] = {
		{ "pid", required_argument, NULL, 'p' }, { "json", no_argument, NULL, JSON }, { "color", required_argument, NULL, COLOR },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	const char *colours = "auto";
	uint32_t pid = 0;
	int c;

	while ((c = next_option(argc, argv, "p:", options)) >= 0)
		if (c == 'p')
			pid = (uint32_t)argument_number("--pid", optarg, 1, INT32_MAX);
		else if (c == JSON)
			json = true;
		else
			colours = optarg;
	if (optind < argc)
		wrong_usage("what is '%s'?", argv[optind]);
	out_colours(colours);
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

const struct command command_doctor = {
	"doctor",
	"why does tracing not work here?",
	"usage: posixtrace doctor [options]\n\n"
	"Looks at all that tracing needs on this machine, and tries it; with a process, at what it takes to trace that.\n\n"
	"  -p, --pid PID          one process\n"
	"      --json             an object for each line\n"
	"      --color WHEN       auto, always or never\n\n"
	"Exit status: 0 no problem, 1 a problem, 2 wrong usage.\n",
	run,
};
