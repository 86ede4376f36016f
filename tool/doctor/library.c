/*
 * library.c - the library that programs get, and what programs of this user have left or use
 *
 * SPDX-License-Identifier: MIT
 */
#include "doctor/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

#include "doctor/findings.h"
#include "process/streams.h"

#define SONAME "libposixtrace.so.1"

struct library {
	char path[1024];
	char version[TRACE_NAME_MAX + 1];
};

/* Loads the library in a child: this program is linked with it already, and must not load a second copy. */
static void load(struct library *l)
{
	int (*init)(trace_attr_t *);
	int (*version)(const trace_attr_t *, char *);
	void *handle = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
	struct link_map *map;
	trace_attr_t attr;

	if (!handle)
		return;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
		char *path = realpath(map->l_name, NULL);

		snprintf(l->path, sizeof l->path, "%s", path ? path : map->l_name);
		free(path);
	}
	*(void **)&init = dlsym(handle, "posix_trace_attr_init");
	*(void **)&version = dlsym(handle, "posix_trace_attr_getgenversion");
	if (init && version && init(&attr) == 0)
		version(&attr, l->version);
}

static void find(struct library *l)
{
	int ends[2];
	pid_t child;

	memset(l, 0, sizeof *l);
	if (pipe(ends) < 0)
		return;
	child = fork();
	if (child == 0) {
		load(l);
		_exit(write(ends[1], l, sizeof *l) != (ssize_t)sizeof *l);
	}
	close(ends[1]);
	if (read(ends[0], l, sizeof *l) != (ssize_t)sizeof *l)
		memset(l, 0, sizeof *l);
	close(ends[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
}

void library_found(char *path, int size)
{
	struct library l;

	find(&l);
	snprintf(path, (size_t)size, "%s", l.path);
}

/* Looks in a directory where the library may be installed as well. */
static void look_in(const char *directory, const char *found)
{
	char pattern[1100], path[PATH_MAX];
	glob_t files;

	snprintf(pattern, sizeof pattern, "%s/" SONAME, directory);
	if (glob(pattern, 0, NULL, &files) == 0)
		for (size_t i = 0; i < files.gl_pathc; i++)
			if (realpath(files.gl_pathv[i], path) && strcmp(path, found) != 0)
				finding(GRADE_WARNING, "library",
					"remove the unwanted library, "
					"or select the other one by LD_LIBRARY_PATH or ldconfig",
					"there is another library: %s", path);
	globfree(&files);
}

void doctor_library(void)
{
	static const char *const directories[] = { "/usr/local/lib", "/usr/local/lib/*-linux-gnu*", "/usr/local/lib64",
	                                           "/usr/lib64", "/usr/lib", "/usr/lib/*-linux-gnu*" };
	struct library l;
	trace_attr_t attr;
	char own[TRACE_NAME_MAX + 1] = "";

	find(&l);
	if (posix_trace_attr_init(&attr) == 0)
		posix_trace_attr_getgenversion(&attr, own);
	if (!l.path[0])
		finding(GRADE_WARNING, "library",
			"run ninja install and ldconfig, or set LD_LIBRARY_PATH; "
			"statically linked programs do not need it",
			"the dynamic loader does not find " SONAME ": programs that are linked with it do not start");
	else if (strcmp(l.version, own) != 0)
		finding(GRADE_WARNING, "library", "install the command and the library in the same version",
			"%s is %s, this command %s", l.path, l.version, own);
	else
		finding(GRADE_OK, "library", NULL, "%s, %s", l.path, l.version);
	for (unsigned i = 0; i < sizeof directories / sizeof directories[0]; i++)
		look_in(directories[i], l.path);
}

/* -- What is in the directory ------------------------------------------------------------------------------- */

static void other_versions(const struct streams *all)
{
	for (size_t i = 0; i < all->streams; i++)
		if (all->stream[i].trouble == STREAM_VERSION)
			finding(GRADE_WARNING, "versions", "restart the older program; all versions can read the logs",
				"a stream of process %u %s has layout %u, this version %u: "
				"they cannot trace each other",
				all->stream[i].entry.creator.pid, all->stream[i].creator.name,
				all->stream[i].header.version, LAYOUT_VERSION);
	for (size_t i = 0; i < all->pages; i++)
		if (all->page[i].alive && all->page[i].version && all->page[i].version != LAYOUT_VERSION)
			finding(GRADE_WARNING, "versions", "restart it with this version of the library",
				"process %u %s has layout %u, this version %u", all->page[i].ident.pid,
				all->page[i].process.name, all->page[i].version, LAYOUT_VERSION);
}

void doctor_directory(void)
{
	struct shm_dir shm_dir = shm_dir_own();
	unsigned dead = 0, stuck = 0, left = 0;
	double bytes = 0, stuck_bytes = 0;
	struct streams all;
	char others[64] = "";

	/* A missing directory is empty. Other errors were reported before. */
	streams_read(&all, &shm_dir);
	other_versions(&all);
	for (size_t i = 0; i < all.streams; i++) {
		const struct seen_stream *s = &all.stream[i];

		if (s->alive)
			continue;
		if (!s->trouble && s->header.log_state && s->log[0] && streams_log_there(s) < 0) {
			stuck++;
			stuck_bytes += (double)s->file_size;
		} else {
			dead++;
			bytes += (double)s->file_size;
		}
	}
	for (size_t i = 0; i < all.pages; i++)
		left += !all.page[i].alive;
	for (size_t i = 0; i < all.others; i++)
		left += !all.other[i].alive;
	if (dead)
		snprintf(others, sizeof others, "; %u other%s of killed programs, %.1f MiB", dead, dead == 1 ? "" : "s",
		         bytes / 1048576);
	if (stuck)
		finding(GRADE_WARNING, "leftovers",
			"if the log was moved: 'posixtrace recover FILE'; if it was removed: "
			"'posixtrace recover --discard'",
			"%u stream%s of programs that were killed belong%s to logs that no longer exist, %.1f MiB%s",
			stuck, stuck == 1 ? "" : "s", stuck == 1 ? "s" : "", stuck_bytes / 1048576, others);
	else if (dead)
		finding(GRADE_WARNING, "leftovers",
			"'posixtrace recover' finishes their logs; so does the next program that creates a stream",
			"%u stream%s of programs that were killed, %.1f MiB", dead, dead == 1 ? "" : "s",
			bytes / 1048576);
	else
		finding(GRADE_OK, "leftovers", NULL, "none of importance: %u file%s of processes that have ended", left,
			left == 1 ? "" : "s");
	streams_free(&all);
}
