/*
 * signals.h - the signals that end a recording, as a descriptor to poll
 *
 * A signal that was ignored when the program began stays ignored: nohup, and shells for background processes, ignore
 * some.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

struct signals {
	int fd; /* readable when a signal is pending */
	sigset_t before; /* signal mask */
	/* Dispositions that had to be changed. */
	struct sigaction child, pipe, user;
	bool user_too;
};

/* Listens to SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD and, if user, SIGUSR1. Returns 0 or an error number. */
int signals_listen(struct signals *s, bool user);
/* Restores mask and dispositions in a forked child. */
void signals_restore(const struct signals *s);
/* Takes the next signal. Returns false if there is none. */
bool signals_next(struct signals *s, struct signalfd_siginfo *info);

#endif
