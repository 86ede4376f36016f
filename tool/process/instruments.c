/*
 * instruments.c - record --lttng, --functions, --libc: libraries that are preloaded into COMMAND, and their settings
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/instruments.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/message.h"

/* -- Where they are --------------------------------------------------------------------------------- */

/*
 * Returns the path of a file among the instruments, or null; the caller frees it. They lie beside the command: where
 * both are installed (POSIXTRACE_INSTRUMENTS is the folder; a relative path begins at the folder of the command), or
 * where both were built.
 */
static char *look_for(const char *name)
{
	static const char *const folders[] = { POSIXTRACE_INSTRUMENTS, "../instrument" };
	char self[PATH_MAX], *path;
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

	if (length <= 0)
		fail("/proc/self/exe cannot be read, so the libraries of posixtrace cannot be found: mount /proc");
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
		bool absolute = folders[i][0] == '/';
		char *real;

		if (asprintf(&path, "%s%s%s/%s", absolute ? "" : self, absolute ? "" : "/", folders[i], name) < 0)
			fail("no memory");
		real = realpath(path, NULL);
		free(path);
		if (real)
			return real;
	}
	return NULL;
}

static char *find(const char *name)
{
	char *path = look_for(name);

	if (!path)
		fail("%s is not installed; it should be in %s, seen from the folder of posixtrace", name,
		     POSIXTRACE_INSTRUMENTS);
	return path;
}

bool instruments_installed(const char *name)
{
	char *path = look_for(name);

	free(path);
	return path != NULL;
}

/* -- What COMMAND gets ------------------------------------------------------------------------------ */

/* Adds a path to a list. ld.so splits lists at ':' and ' ', and expands '$'. */
static void add(char **list, char *path, const char *variable)
{
	char *longer;

	if (strpbrk(path, ": ;$"))
		fail("%s: a path with ':', ';', '$' or a space cannot be in %s: install posixtrace elsewhere", path,
		     variable);
	if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? ":" : "", path) < 0)
		fail("no memory");
	free(*list);
	free(path);
	*list = longer;
}

void instruments_preload(struct instruments *i, const char *name)
{
	add(&i->preload, find(name), "LD_PRELOAD");
}

void instruments_replace(struct instruments *i, const char *name)
{
	add(&i->libraries, find(name), "LD_LIBRARY_PATH");
}

void instruments_set(struct instruments *i, const char *name, const char *value)
{
	i->settings = realloc(i->settings, (i->settings_count + 2) * sizeof *i->settings);
	if (!i->settings)
		fail("no memory");
	i->settings[i->settings_count++] = strdup(name);
	i->settings[i->settings_count++] = strdup(value);
	if (!i->settings[i->settings_count - 2] || !i->settings[i->settings_count - 1])
		fail("no memory");
}

bool instruments_any(const struct instruments *i)
{
	return i->preload || i->libraries || i->settings_count;
}

/* Puts a list before what the environment variable has already. */
static bool put_before(const char *variable, const char *list)
{
	const char *old = getenv(variable);
	char *both;
	bool done;

	if (!list)
		return true;
	if (!old || !*old)
		return setenv(variable, list, 1) == 0;
	if (asprintf(&both, "%s:%s", list, old) < 0)
		return false;
	done = setenv(variable, both, 1) == 0;
	free(both);
	return done;
}

bool instruments_apply(const struct instruments *i)
{
	for (unsigned n = 0; n < i->settings_count; n += 2)
		if (setenv(i->settings[n], i->settings[n + 1], 1) != 0)
			return false;
	return put_before("LD_PRELOAD", i->preload) && put_before("LD_LIBRARY_PATH", i->libraries);
}
