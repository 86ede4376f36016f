/*
 * session.h - everything that one `posixtrace record` records, from the beginning to the end
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SESSION_H
#define SESSION_H

#include "recording.h"

struct session_options {
	struct plan plan;
	pid_t *pids; /* none: a command */
	unsigned pid_count;
	char **command;
	bool beside; /* the line of progress, too, where the command writes to the terminal */
	bool no_progress;
};

/* The exit status. */
int session_run(const struct session_options *o);

#endif
