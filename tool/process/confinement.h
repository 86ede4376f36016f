/*
 * confinement.h - whether a process's seccomp filters may kill it when it is traced
 *
 * A process that begins to be traced by a stream opens and maps the stream at its next trace point. A filter that does
 * not allow the necessary system calls may kill the process. Only the process itself can read its filters, so the
 * result is a cautious guess.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONFINEMENT_H
#define CONFINEMENT_H

#include <stdbool.h>
#include <sys/types.h>

enum confinement {
	CONFINEMENT_NONE,
	/* filters that probably apply to this program too, as in a container: both allow the same calls */
	CONFINEMENT_SHARED,
	CONFINEMENT_OWN,    /* filters for the process only */
	CONFINEMENT_STRICT, /* read(), write() and exit() only */
};

#define CONFINEMENT_TEXT 160

/*
 * Returns the strictest confinement of any thread of the process, and CONFINEMENT_NONE if the caller may not look.
 * text: the same in words.
 */
enum confinement confinement_look(pid_t pid, char text[CONFINEMENT_TEXT]);

#endif
