/*
 * refusal.c - refuses to trace a process whose seccomp filters may kill it
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/refusal.h"

#include "common/message.h"
#include "process/confinement.h"

bool refusal_confined(pid_t pid, const char *what, bool despite)
{
	char text[CONFINEMENT_TEXT];
	enum confinement most = confinement_look(pid, text);

	if (most < CONFINEMENT_OWN || (most == CONFINEMENT_OWN && despite))
		return false;
	complain("%s is not traced: %s", what, text);
	if (most == CONFINEMENT_OWN)
		complain("use --despite-seccomp if its filter allows the system calls "
		         "listed in docs/processes.md (\"Seccomp\")");
	return true;
}
