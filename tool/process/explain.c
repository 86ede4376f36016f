/*
 * explain.c - why a recording is empty
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/explain.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/message.h"
#include "process/confinement.h"
#include "process/streams.h"
#include "process/typenames.h"

#define LIBRARY "posixtrace"

/* -- Looking ----------------------------------------------------------------------------- */

/*
 * Returns whether the file names the library: it is linked with the library, statically or not, or is about to load it.
 * The file is read and not mapped, and only up to a limit: it may belong to another user, have a hole of terabytes, and
 * be truncated meanwhile.
 */
static bool names_library(int fd)
{
	static char bytes[1 << 16];
	const off_t most = 256 << 20;
	const size_t overlap = sizeof LIBRARY - 2;
	size_t kept = 0;

	for (off_t at = 0; at < most;) {
		ssize_t n = pread(fd, bytes + kept, sizeof bytes - kept, at);

		if (n <= 0)
			return false;
		at += n;
		kept += (size_t)n;
		if (memmem(bytes, kept, LIBRARY, sizeof LIBRARY - 1))
			return true;
		n = (ssize_t)(kept > overlap ? overlap : kept);
		memmove(bytes, bytes + kept - n, (size_t)n);
		kept = (size_t)n;
	}
	return true; /* longer than the limit: undecided */
}

static void look_into(struct evidence *e, int fd)
{
	struct stat st;
	char head[2];

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || pread(fd, head, 2, 0) != 2)
		return;
	e->script = head[0] == '#' && head[1] == '!';
	e->linked = !e->script && names_library(fd);
	e->other_user = ((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
	                ((st.st_mode & S_ISGID) && st.st_gid != getegid());
}

void explain_file(struct evidence *e, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	*e = (struct evidence){ .linked = fd < 0 };
	if (fd < 0)
		return; /* can be executed, but not read: undecided */
	look_into(e, fd);
	close(fd);
}

void explain_process(struct evidence *e, pid_t pid)
{
	char path[PATH_MAX], text[CONFINEMENT_TEXT];

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	explain_file(e, path);
	e->filtered = confinement_look(pid, text) >= CONFINEMENT_OWN;
	e->other_user = false;
	e->linked |= process_library((uint32_t)pid, path);
}

/* Returns the wait status of a process that waits to be reaped; 0 if it may not be known. */
static int wait_status(pid_t pid)
{
	char path[40], text[2048], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	/* The second field is the program's name in parentheses, which may contain spaces; the 52nd is the status. */
	at = strrchr(text, ')');
	for (int field = 2; at && field < 52; field++)
		at = strchr(at + 1, ' ');
	return at ? atoi(at + 1) : 0;
}

void explain_user(struct evidence *e, pid_t pid)
{
	struct proc proc;

	if (proc_read((uint32_t)pid, &proc) < 0) {
		e->gone = true;
		return;
	}
	e->gone = proc.ended;
	if (proc.ended) {
		int status = wait_status(pid);

		e->sigsys = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
	}
	if (!e->user_known)
		e->user = proc.uid;
	e->user_known = true;
	e->last_user = proc.uid;
	e->last_known |= proc.ended;
}

/* Collects the names that match the pattern or, if none matches, all names. */
void explain_stream(struct evidence *e, trace_id_t trid, const struct match *m)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;

	e->attached = stream_attached(trid);
	e->became = stream_user_since(trid);
	e->types = e->wanted = 0;
	suggest_clear(&e->names);
	for (int pass = 0; pass < 2 && !e->wanted; pass++)
		for (bool first = true; stream_next_type(trid, first, &id, name); first = false) {
			bool wanted = match_name(m, name);

			if (id == POSIX_TRACE_UNNAMED_USEREVENT || (pass == 0 && !wanted))
				continue;
			e->types++;
			e->wanted += wanted;
			suggest_add(&e->names, name);
		}
}

void explain_names(trace_id_t trid, const char *what, const struct match *m, const char *option)
{
	char name[TRACE_EVENT_NAME_MAX + 1];
	struct suggest names = { 0 };
	const char *pattern;
	trace_event_id_t id;

	for (bool first = true; stream_next_type(trid, first, &id, name); first = false)
		if (id != POSIX_TRACE_UNNAMED_USEREVENT)
			suggest_add(&names, name);
	for (unsigned i = 0; names.count && (pattern = match_wanted(m, i)) != NULL; i++) {
		bool there = false;

		for (unsigned k = 0; k < names.count && !there; k++)
			there = fnmatch(pattern, names.name[k], 0) == 0;
		if (!there)
			complain("%s %s: no event type of %s has that name; it has %s", option, pattern, what,
			         suggest_text(&names, pattern));
	}
}

const char *explain_permission(pid_t pid, char text[96], const char **remedy)
{
	struct proc proc;

	if (geteuid() != 0 && proc_read((uint32_t)pid, &proc) == 0 && proc.uid != geteuid()) {
		*remedy = "run as that user, or as root";
		snprintf(text, 96, "it belongs to user %u, this command to user %u", proc.uid, (unsigned)geteuid());
	} else if (geteuid() == 0) {
		*remedy = "give the container CAP_SYS_PTRACE";
		snprintf(text, 96, "it has capabilities, or a user namespace, that this root does not have");
	} else {
		*remedy = "run as root; or start it without set-user-ID, file capabilities, or PR_SET_DUMPABLE";
		snprintf(text, 96,
		         "it is not dumpable, like programs that have more rights than the user who starts them");
	}
	return text;
}

/* -- Messages --------------------------------------------------------------------------------- */

/* Returns whether only record --libc has opened event types, and not the program. */
static bool only_libc(const struct suggest *names)
{
	for (unsigned i = 0; i < names->count; i++)
		if (strncmp(names->name[i], "libc.", 5) != 0)
			return false;
	return names->count > 0;
}

static void say_not_attached(const struct evidence *e, const char *what, bool children)
{
	if (e->other_user)
		complain("%s runs with the rights of its file (set-user-ID), so the user who starts it cannot trace it",
		         what);
	else if (e->linked && e->user_known && e->last_user != e->user)
		complain("%s became user %u before it reached a trace point, and earlier streams are not open to "
		         "that user: record it again, with -p", what, e->last_user);
	else if (e->linked && e->user_known && e->user == 0 && !e->last_known)
		complain("%s is linked with lib" LIBRARY ", or loads it, but has not reached a trace point as root: "
		         "it reached none at all, or became another user first, then record it again, with -p", what);
	else if (e->linked)
		complain("%s is linked with lib" LIBRARY ", or loads it, but has not reached a trace point", what);
	else if (e->script)
		complain("%s is a script, and its interpreter has no trace points", what);
	else
		complain("%s has no trace points: its file does not name lib" LIBRARY ", and no library that it has "
		         "loaded has reached a trace point", what);
	if (children && !e->other_user)
		complain("no program that it started has reached a trace point either");
	else if (!e->other_user && !e->not_found && !e->linked)
		complain("use --children to trace the programs that it starts, or 'posixtrace run' to record what "
		         "there is without trace points");
	else if (!e->other_user && !e->not_found)
		complain("use --children to trace the programs that it starts");
}

bool explain_killed(const struct evidence *e, const char *what)
{
	if (!e->filtered || !e->sigsys)
		return false;
	complain("%s was killed by its seccomp filter (SIGSYS), perhaps because it was traced; docs/processes.md "
	         "(\"Seccomp\") lists the system calls that trace points need", what);
	return true;
}

void explain_say(struct evidence *e, const char *what, const struct match *m, bool children, unsigned alive)
{
	const char *asked = match_wanted(m, 0), *names = suggest_text(&e->names, asked ? asked : "");

	complain("no events were recorded:");
	if (explain_killed(e, what))
		return;
	if (e->filtered && e->gone && !(e->types && !e->wanted))
		complain("%s has ended, and its seccomp filter may have killed it; docs/processes.md (\"Seccomp\") "
		         "lists the system calls that trace points need", what);
	else if (!e->attached && !e->types && alive)
		complain("neither %s nor a program that it started reached a trace point before %s ended", what, what);
	else if (!e->attached && !e->types)
		say_not_attached(e, what, children);
	else if (e->types && !e->wanted)
		complain("no event type of %s matches; it has %s", what, names);
	else if (e->became)
		complain("%s became user %u before its first event, and earlier streams are not open to that user: "
		         "record it again, with -p", what, e->became);
	else if (e->types && only_libc(&e->names))
		complain("%s has called nothing that --libc was to record; what the C library does inside itself, as "
		         "printf() and fread() do, is not seen: --kernel syscalls records system calls%s", what,
		         e->last_known && !children ? "; --family records a program that goes to the background" : "");
	else if (e->types)
		complain("%s has opened event types (%s), but reached none of their trace points while it was "
		         "recorded%s", what, names, e->last_known && !children ?
		         "; --family records a program that goes to the background" : "");
	else
		complain("%s uses lib" LIBRARY ", but reached no trace point: it has opened no event type", what);
	if (children && e->attached && !e->became && (!e->types || e->wanted) && e->user_known && e->user == 0)
		complain("a child that becomes another user before its first trace call is recorded only from when it "
		         "is found: --also-user USER records it from its first event");
}
