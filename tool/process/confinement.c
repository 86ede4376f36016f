/*
 * confinement.c - whether a process's seccomp filters may kill it when it is traced
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/confinement.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lines.h"
#include "host/ident.h"

/* Values of "Seccomp:" in /proc/PID/status. */
#define MODE_STRICT 1
#define MODE_FILTER 2

struct thread_status {
	unsigned mode, no_new_privs;
	int filters; /* -1: unknown, before Linux 5.9 */
};

static void read_line(const char *line, void *arg)
{
	struct thread_status *s = arg;

	if (strncmp(line, "Seccomp:", 8) == 0)
		s->mode = (unsigned)atoi(line + 8);
	else if (strncmp(line, "Seccomp_filters:", 16) == 0)
		s->filters = atoi(line + 16);
	else if (strncmp(line, "NoNewPrivs:", 11) == 0)
		s->no_new_privs = (unsigned)atoi(line + 11);
}

/* Returns zeroes if the file cannot be read: the thread has ended, or the kernel has no seccomp. */
static struct thread_status status_of(const char *path)
{
	struct thread_status s = { .filters = -1 };

	lines_each(path, 0, read_line, &s);
	return s;
}

/*
 * Filters are inherited and never removed, so the processes of a container have the filters of its first process. A
 * process that has installed filters of its own has more of them, and has set no_new_privs before unless it was root.
 */
static enum confinement judge(const struct thread_status *s, const struct thread_status *own, bool elsewhere)
{
	if (s->mode == MODE_STRICT)
		return CONFINEMENT_STRICT;
	if (s->mode != MODE_FILTER)
		return CONFINEMENT_NONE;
	if (own->mode == MODE_FILTER && s->filters == own->filters && s->no_new_privs == own->no_new_privs &&
	    !elsewhere)
		return CONFINEMENT_SHARED;
	return CONFINEMENT_OWN;
}

static void describe(char *text, enum confinement most, unsigned confined, unsigned threads)
{
	char who[60] = "it";

	if (confined < threads)
		snprintf(who, sizeof who, "%u of its %u threads", confined, threads);
	switch (most) {
	case CONFINEMENT_NONE:
		snprintf(text, CONFINEMENT_TEXT, "no filter");
		break;
	case CONFINEMENT_SHARED:
		snprintf(text, CONFINEMENT_TEXT, "filtered like this program");
		break;
	case CONFINEMENT_OWN:
		snprintf(text, CONFINEMENT_TEXT, "%s %s under a seccomp filter, which may kill it at a trace point",
		         who, confined < threads && confined > 1 ? "run" : "runs");
		break;
	case CONFINEMENT_STRICT:
		snprintf(text, CONFINEMENT_TEXT, "%s %s in seccomp's strict mode, which kills it at a trace point", who,
		         confined < threads && confined > 1 ? "run" : "runs");
		break;
	}
}

enum confinement confinement_look(pid_t pid, char text[CONFINEMENT_TEXT])
{
	unsigned count[CONFINEMENT_STRICT + 1] = { 0 }, threads = 0;
	enum confinement most = CONFINEMENT_NONE;
	struct thread_status own = status_of("/proc/self/status");
	struct dirent *entry;
	bool elsewhere;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	dir = proc_permit((uint32_t)pid) == 0 ? opendir(path) : NULL;
	elsewhere = dir && proc_contained((uint32_t)pid);
	while (dir && (entry = readdir(dir))) {
		struct thread_status s;
		enum confinement c;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, atoi(entry->d_name));
		s = status_of(path);
		c = judge(&s, &own, elsewhere);
		threads++;
		count[c]++;
		most = c > most ? c : most;
	}
	if (dir)
		closedir(dir);
	describe(text, most, count[most], threads);
	return most;
}
