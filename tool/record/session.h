/*
 * session.h - one run of `posixtrace record`, from beginning to end
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SESSION_H
#define SESSION_H

#include "process/instruments.h"
#include "record/recording.h"

struct session_options {
	struct plan plan;
	pid_t *pids; /* null: a command */
	unsigned pid_count;
	char **command;
	struct instruments instruments; /* of the command */
	bool beside; /* show progress even if the command writes to the same terminal */
	bool no_progress;
	bool despite_seccomp; /* trace processes that a seccomp filter may kill */
};

/* Returns the exit status. */
int session_run(const struct session_options *o);

#endif
