/*
 * findings.c - what doctor has found, printed line by line
 *
 * SPDX-License-Identifier: MIT
 */
#include "doctor/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/display.h"
#include "common/json.h"
#include "common/out.h"

bool findings_json;

static unsigned found[3]; /* findings of each grade */

static void print_json(enum grade grade, const char *about, const char *text, const char *remedy)
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

void finding(enum grade grade, const char *about, const char *remedy, const char *format, ...)
{
	static const char *const words[] = { "ok", "warning", "PROBLEM" };
	static const enum colour colours[] = { GREEN, YELLOW, RED };
	va_list arguments;
	char text[1024];

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	found[grade]++;
	if (findings_json) {
		print_json(grade, about, text, remedy);
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

bool findings_end(void)
{
	if (findings_json)
		return found[GRADE_PROBLEM] > 0;
	if (found[GRADE_PROBLEM])
		out_printf("\n%u problem%s, %u warning%s\n", found[GRADE_PROBLEM], found[GRADE_PROBLEM] == 1 ? "" : "s",
		           found[GRADE_WARNING], found[GRADE_WARNING] == 1 ? "" : "s");
	else
		out_printf("\nno problems, %u warning%s\n", found[GRADE_WARNING], found[GRADE_WARNING] == 1 ? "" : "s");
	return found[GRADE_PROBLEM] > 0;
}
