/*
 * doctor_process.c - what it takes to trace one process
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>
#include <unistd.h>

#include "doctor.h"
#include "explain.h"
#include "streams.h"

/* -- May it be traced? ---------------------------------------------------------------------------------- */

/* False: there is no more to be said. */
static bool is_there(uint32_t pid, struct proc *proc)
{
	int r = proc_read(pid, proc);
	char name[COMMAND_SIZE];

	if (r == -ESRCH && kill((pid_t)pid, 0) == 0) {
		tell(GRADE_PROBLEM, "process", "give the process, which has all its threads", "%u is a thread of another process",
		     pid);
		return false;
	}
	if (r == -ESRCH && errno == EPERM) {
		tell(GRADE_PROBLEM, "process", "be its user, or root", "%u is another user's, and hidden (/proc is mounted with hidepid)", pid);
		return false;
	}
	if (r < 0) {
		tell(GRADE_PROBLEM, "process", "pgrep -a NAME finds it", "%u: %s", pid,
		     r == -ESRCH ? "there is none with this id" : strerror(-r));
		return false;
	}
	process_name(pid, name);
	if (proc->ended) {
		tell(GRADE_PROBLEM, "process", "pgrep -a NAME finds those that have not",
		     "%u %s has ended, and waits for its parent to take notice", pid, name);
		return false;
	}
	tell(GRADE_OK, "process", NULL, "%u %s, of user %u", pid, name, proc->uid);
	return true;
}

static bool permitted(uint32_t pid, const struct proc *proc)
{
	int r = proc_permit(pid);

	if (r == 0) {
		tell(GRADE_OK, "permission", NULL, "this user may look into it");
		return true;
	}
	if (proc->uid != geteuid() && geteuid() != 0)
		tell(GRADE_PROBLEM, "permission", "be that user, or root", "it belongs to user %u, and this one is %u", proc->uid,
		     (unsigned)geteuid());
	else if (geteuid() == 0)
		tell(GRADE_PROBLEM, "permission", "give the container CAP_SYS_PTRACE",
		     "it has rights, or a user namespace, that this root has not");
	else
		tell(GRADE_PROBLEM, "permission", "be root; or start it without set-user-ID, capabilities of its file, or PR_SET_DUMPABLE",
		     "it hides itself, as programs do that have more rights than who starts them");
	return false;
}

static void surroundings(uint32_t pid, const struct place *place)
{
	if (proc_number() != (uint32_t)getpid())
		tell(GRADE_PROBLEM, "/proc", "mount -t proc proc /proc", "it is that of another pid namespace than this program's");
	if (proc_other_users(pid) > 0)
		tell(GRADE_OK, "container", NULL, "it is in another user namespace; its files are in %s", place->path);
	else if (proc_contained(pid))
		tell(GRADE_OK, "container", NULL, "it is in other namespaces; its files are in %s", place->path);
	if (proc_blind(pid))
		tell(GRADE_WARNING, "container", "mount /proc there", "it sees no /proc, so it does not know when it began");
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
		tell(GRADE_WARNING, "library", "restart it", "its library has been replaced since it started: %s", path);
	else if (path[0] && ours[0] && strcmp(path, ours) != 0)
		tell(GRADE_OK, "library", NULL, "%s, while the dynamic loader finds %s here", path, ours);
	else if (path[0])
		tell(GRADE_OK, "library", NULL, "%s", path);
	else if (attached)
		tell(GRADE_OK, "library", NULL, "linked into its executable");
	else if (names_library(pid))
		tell(GRADE_OK, "library", NULL, "its executable names it: linked into that, or loaded by it later");
	else
		tell(GRADE_PROBLEM, "library", "link it with -lposixtrace and add trace points; what it loads later may still have some",
		     "it is not linked with the library, so it has no trace points");
}

/* -- What traces it ----------------------------------------------------------------------------------------------- */

static void its_streams(const struct streams *all, const struct seen_page *page)
{
	unsigned names = streams_names(all, page->names, NULL, NULL), running = 0, count = 0;

	for (unsigned i = 0; i < page->entries; i++) {
		const struct seen_stream *s = streams_find(all, &page->entry[i]);

		count += s && s->alive;
		running += s && s->alive && (s->header.state & STATE_RUNNING);
		if (s && s->alive && s->losing)
			tell(GRADE_WARNING, "streams", "a larger stream, a filter, or a reader that is faster",
			     "a stream of process %u %s loses events",
			     s->creator.number, s->creator.name);
	}
	tell(GRADE_OK, "streams", NULL, "%u trace it, %u of them are running; 'posixtrace list -p' shows them", count,
	     running);
	if (names == 0)
		tell(GRADE_WARNING, "event types", "it opens them by posix_trace_eventid_open()", "it has none of its own yet");
	else
		tell(GRADE_OK, "event types", NULL, "%u of its own", names);
}

static void its_page(const struct streams *all, const struct seen_page *page)
{
	if (!page || !page->alive) {
		tell(GRADE_WARNING, "trace points", "if it stays so, its trace points are not where it runs",
		     "it has not come to one yet, nor opened an event type");
	} else if (!page->readable) {
		tell(GRADE_PROBLEM, "versions", "restart it with the library of this version",
		     "it uses a library with layout %u, this version has %u",
		     page->version, LAYOUT_VERSION);
	} else {
		if (!page->attached)
			tell(GRADE_WARNING, "trace points", "if it stays so, its trace points are not where it runs",
			     "it has not come to one yet, nor opened an event type; somebody waits for it");
		else
			tell(GRADE_OK, "trace points", NULL, "it has come to one, or opened an event type");
		its_streams(all, page);
	}
}

static void trial(uint32_t pid)
{
	trace_id_t trid;
	int error = posix_trace_create((pid_t)pid, NULL, &trid);

	if (error) {
		tell(GRADE_PROBLEM, "trial", create_error(error), "a stream for it cannot be created: %s", strerror(error));
		return;
	}
	posix_trace_shutdown(trid);
	tell(GRADE_OK, "trial", NULL, "a stream for it was created, and removed again");
}

void doctor_process(uint32_t pid)
{
	const struct seen_page *page;
	struct streams all;
	struct place place;
	struct proc proc;
	int r;

	if (!is_there(pid, &proc) || !permitted(pid, &proc))
		return;
	place = place_of(&proc);
	surroundings(pid, &place);
	r = streams_read(&all, &place);
	page = r == 0 ? streams_page(&all, pid) : NULL;
	uses_library(pid, page && page->attached);
	if (r < 0 && r != -ENOENT)
		tell(GRADE_PROBLEM, "directory", "its owner, or root, has to remove it or chmod 700 it", "%s: %s", place.path,
		     strerror(-r));
	else
		its_page(&all, page);
	streams_free(&all);
	trial(pid);
}
