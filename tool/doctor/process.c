/*
 * process.c - what it takes to trace one process
 *
 * SPDX-License-Identifier: MIT
 */
#include "doctor/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>
#include <unistd.h>

#include "doctor/findings.h"
#include "doctor/library.h"
#include "event/layouts.h"
#include "process/confinement.h"
#include "process/explain.h"
#include "process/streams.h"

/* -- May it be traced? ---------------------------------------------------------------------------------- */

/* Returns false if no further check is possible. */
static bool is_there(uint32_t pid, struct proc *proc)
{
	int r = proc_read(pid, proc);
	char name[COMMAND_SIZE];

	if (r == -ESRCH && kill((pid_t)pid, 0) == 0) {
		finding(GRADE_PROBLEM, "process", "give the id of the process, which includes all its threads",
			"%u is a thread of another process", pid);
		return false;
	}
	if (r == -ESRCH && errno == EPERM) {
		finding(GRADE_PROBLEM, "process", "run as its user, or as root",
			"%u belongs to another user, and is hidden (/proc is mounted with hidepid)", pid);
		return false;
	}
	if (r < 0) {
		finding(GRADE_PROBLEM, "process", "pgrep -a NAME finds it", "%u: %s", pid,
			r == -ESRCH ? "there is no process with this id" : strerror(-r));
		return false;
	}
	process_name(pid, name);
	if (proc->ended) {
		finding(GRADE_PROBLEM, "process", "pgrep -a NAME finds running processes",
			"%u %s has ended, but its parent has not waited for it (zombie)", pid, name);
		return false;
	}
	finding(GRADE_OK, "process", NULL, "%u %s, of user %u", pid, name, proc->uid);
	return true;
}

static bool permitted(uint32_t pid)
{
	int r = proc_permit(pid);
	const char *remedy;
	char text[96];

	if (r == 0) {
		finding(GRADE_OK, "permission", NULL, "this user may trace it");
		return true;
	}
	explain_permission((pid_t)pid, text, &remedy);
	finding(GRADE_PROBLEM, "permission", remedy, "%s", text);
	return false;
}

/* Returns false if a stream may kill the process. Then tracing is not tried. */
static bool unconfined(uint32_t pid)
{
	char text[CONFINEMENT_TEXT];
	enum confinement c = confinement_look((pid_t)pid, text);

	if (c == CONFINEMENT_OWN)
		finding(GRADE_PROBLEM, "seccomp",
			"if its filter allows the system calls listed in docs/processes.md (\"Seccomp\"), use "
			"--despite-seccomp of record or live",
			"%s", text);
	else if (c == CONFINEMENT_STRICT)
		finding(GRADE_PROBLEM, "seccomp",
			"a filter instead of strict mode can allow the system calls "
			"listed in docs/processes.md (\"Seccomp\")",
			"%s", text);
	else
		finding(GRADE_OK, "seccomp", NULL, "%s", text);
	return c < CONFINEMENT_OWN;
}

static void surroundings(uint32_t pid, const struct shm_dir *shm_dir)
{
	if (proc_number() != (uint32_t)getpid())
		finding(GRADE_PROBLEM, "/proc", "mount -t proc proc /proc",
			"it belongs to a pid namespace other than this program's");
	if (proc_other_users(pid) > 0)
		finding(GRADE_OK, "container", NULL, "it is in another user namespace; its files are in %s",
			shm_dir->path);
	else if (proc_contained(pid))
		finding(GRADE_OK, "container", NULL, "it is in other namespaces; its files are in %s", shm_dir->path);
	if (proc_blind(pid))
		finding(GRADE_WARNING, "container", "mount /proc there",
			"it has no /proc, so it cannot find out when it started");
}

/* -- Does it use the library? --------------------------------------------------------------------------------- */

static bool names_library(uint32_t pid)
{
	struct evidence e;

	explain_process(&e, (pid_t)pid);
	return e.linked;
}

static void uses_library(uint32_t pid, bool attached)
{
	char path[PATH_MAX], ours[PATH_MAX];

	process_library(pid, path);
	library_found(ours, sizeof ours);
	if (strstr(path, " (deleted)"))
		finding(GRADE_WARNING, "library", "restart it", "its library has been replaced since it started: %s",
			path);
	else if (path[0] && ours[0] && strcmp(path, ours) != 0)
		finding(GRADE_OK, "library", NULL, "%s, while the dynamic loader finds %s here", path, ours);
	else if (path[0])
		finding(GRADE_OK, "library", NULL, "%s", path);
	else if (attached)
		finding(GRADE_OK, "library", NULL, "linked into its executable");
	else if (names_library(pid))
		finding(GRADE_OK, "library", NULL, "its executable names it: linked into that, or loaded by it later");
	else
		finding(GRADE_PROBLEM, "library",
			"link it with -lposixtrace and add trace points; libraries that it loads later may have some",
			"it is not linked with the library, so it has no trace points");
}

/* -- What traces it ----------------------------------------------------------------------------------------------- */

/* Prints what is wrong in the layout that an event type's name declares. */
static void look_at_name(trace_event_id_t id, const char *name, const char *layout, void *arg)
{
	struct layouts *l = arg;
	const char *wrong;

	layouts_add(l, id, name);
	if (layout[0])
		layouts_declare(l, id, layout);
	wrong = layouts_wrong(l, id);
	if (wrong)
		finding(GRADE_WARNING, "event types", "name{FIELD:TYPE,...}: docs/layouts.md has the types",
			"wrong layout: %s", wrong);
}

static void its_names(const struct streams *all, const struct seen_page *page)
{
	struct layouts *l = layouts_new();
	unsigned names = l ? streams_names(all, page->names, look_at_name, l) : 0;
	char first[REGISTRY_NAME_BYTES];
	uint64_t refused = streams_refused(all, page->names, first);

	layouts_free(l);
	if (names == 0)
		finding(GRADE_WARNING, "event types", "posix_trace_eventid_open() creates them", "none of its own yet");
	else
		finding(GRADE_OK, "event types", NULL, "%u of its own", names);
	if (refused)
		finding(GRADE_WARNING, "event types",
			"use a shorter name; posixtrace_declare() takes the layout beside it",
			"a name of more than %d bytes, or of a system event, was refused %llu time%s; "
			"the first was '%s%s'",
			TRACE_EVENT_NAME_MAX, (unsigned long long)refused, refused == 1 ? "" : "s", first,
			strlen(first) < TRACE_EVENT_NAME_MAX ? "" : "...");
}

static void its_streams(const struct streams *all, const struct seen_page *page)
{
	unsigned running = 0, count = 0;

	for (unsigned i = 0; i < page->entries; i++) {
		const struct seen_stream *s = streams_find(all, &page->entry[i]);

		count += s && s->alive;
		running += s && s->alive && (s->header.state & STATE_RUNNING);
		if (s && s->alive && s->losing)
			finding(GRADE_WARNING, "streams", "use a larger stream, a filter, or a faster reader",
				"a stream of process %u %s loses events",
				s->creator.number, s->creator.name);
	}
	finding(GRADE_OK, "streams", NULL, "%u trace it, %u of them are running; 'posixtrace list -p' shows them",
		count, running);
	its_names(all, page);
}

static void its_page(const struct streams *all, const struct seen_page *page)
{
	if (!page || !page->alive) {
		finding(GRADE_WARNING, "trace points",
			"if this does not change, the program does not execute its trace points",
			"it has not reached a trace point yet, nor opened an event type");
	} else if (!page->readable) {
		finding(GRADE_PROBLEM, "versions", "restart it with this version of the library",
			"its library has layout %u, this version has %u",
			page->version, LAYOUT_VERSION);
	} else {
		if (!page->attached)
			finding(GRADE_WARNING, "trace points",
				"if this does not change, the program does not execute its trace points",
				"it has not reached a trace point yet, nor opened an event type; "
				"a stream waits for it");
		else
			finding(GRADE_OK, "trace points", NULL,
				"it has reached a trace point, or opened an event type");
		its_streams(all, page);
	}
}

static void trial(uint32_t pid)
{
	trace_id_t trid;
	int error = posix_trace_create((pid_t)pid, NULL, &trid);

	if (error) {
		finding(GRADE_PROBLEM, "trial", create_error(error), "a stream for it cannot be created: %s",
			strerror(error));
		return;
	}
	posix_trace_shutdown(trid);
	finding(GRADE_OK, "trial", NULL, "a stream for it was created, and removed again");
}

void doctor_process(uint32_t pid)
{
	const struct seen_page *page;
	struct streams all;
	struct shm_dir shm_dir;
	struct proc proc;
	bool may_try;
	int r;

	if (!is_there(pid, &proc) || !permitted(pid))
		return;
	may_try = unconfined(pid);
	shm_dir = shm_dir_of(&proc);
	surroundings(pid, &shm_dir);
	r = streams_read(&all, &shm_dir);
	page = r == 0 ? streams_page(&all, pid) : NULL;
	uses_library(pid, page && page->attached);
	if (r < 0 && r != -ENOENT)
		finding(GRADE_PROBLEM, "directory", "ask its owner, or root, to remove it or to chmod 700 it", "%s: %s",
			shm_dir.path, strerror(-r));
	else
		its_page(&all, page);
	streams_free(&all);
	if (may_try)
		trial(pid);
}
