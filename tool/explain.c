/*
 * explain.c - why a recording is empty
 *
 * SPDX-License-Identifier: MIT
 */
#include "explain.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "part.h"
#include "streams.h"

#define LIBRARY "posixtrace"

/* -- Looking ----------------------------------------------------------------------------- */

/* Linked with it, statically or not, or about to load it: its name is somewhere in the file. */
static void look_into(struct evidence *e, int fd)
{
	struct stat st;
	char *map;

	if (fstat(fd, &st) != 0 || st.st_size < 2)
		return;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return;
	e->script = map[0] == '#' && map[1] == '!';
	e->linked = !e->script && memmem(map, (size_t)st.st_size, LIBRARY, sizeof LIBRARY - 1) != NULL;
	e->other_user = ((st.st_mode & S_ISUID) && st.st_uid != geteuid()) || ((st.st_mode & S_ISGID) && st.st_gid != getegid());
	munmap(map, (size_t)st.st_size);
}

void explain_file(struct evidence *e, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	*e = (struct evidence){ .linked = fd < 0 };
	if (fd < 0)
		return; /* executed, but not read: nothing is claimed */
	look_into(e, fd);
	close(fd);
}

void explain_process(struct evidence *e, pid_t pid)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	explain_file(e, path);
	e->other_user = false;
	e->linked |= process_library((uint32_t)pid, path);
}

static void add_name(struct evidence *e, const char *name)
{
	size_t used = strlen(e->names);

	if (used + strlen(name) + 8 > sizeof e->names) {
		if (used < 4 || strcmp(e->names + used - 3, "...") != 0)
			strcat(e->names, ", ...");
		return;
	}
	if (used)
		strcat(e->names, ", ");
	strcat(e->names, name);
}

/* Those that are wanted; if there are none, all. */
void explain_stream(struct evidence *e, trace_id_t trid, const struct match *m)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;

	e->attached = stream_attached(trid);
	e->types = e->wanted = 0;
	e->names[0] = 0;
	for (int pass = 0; pass < 2 && !e->wanted; pass++)
		for (bool first = true; stream_next_type(trid, first, &id, name); first = false) {
			bool wanted = match_name(m, name);

			if (id == POSIX_TRACE_UNNAMED_USEREVENT || (pass == 0 && !wanted))
				continue;
			e->types++;
			e->wanted += wanted;
			add_name(e, name);
		}
}

/* -- Telling ------------------------------------------------------------------------------- */

static void say_not_attached(const struct evidence *e, const char *what, bool children)
{
	if (e->other_user)
		complain("%s runs with the rights of its file (set-user-ID), and such a program is not traced by who calls it", what);
	else if (e->linked)
		complain("%s is linked with lib" LIBRARY ", or loads it, but has come to no trace point", what);
	else if (e->script)
		complain("%s is a script, and its interpreter does not trace", what);
	else
		complain("%s does not trace: its file does not name lib" LIBRARY ", and no library that it has loaded has come to a trace point", what);
	if (!children && !e->other_user)
		complain("the programs that it starts are traced with --children");
}

void explain_say(const struct evidence *e, const char *what, bool children)
{
	complain("no events were recorded:");
	if (!e->attached && !e->types)
		say_not_attached(e, what, children);
	else if (e->types && !e->wanted)
		complain("no event type of %s matches; it has %s", what, e->names);
	else if (e->types)
		complain("%s has opened event types (%s), and come to none of their trace points while it was recorded", what, e->names);
	else
		complain("%s uses lib" LIBRARY ", and has opened no event type", what);
}
