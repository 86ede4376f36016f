/*
 * signals.h - what ends a recording, as something to poll
 *
 * Signals that were ignored when the program began, as nohup and shells do for what runs in the
 * background, stay ignored.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>

struct signals {
	int fd; /* readable: there is one */
	sigset_t before; /* the mask */
	/* Dispositions that had to change. */
	struct sigaction child, pipe, user;
	bool user_too;
};

/* Listens to SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, and SIGUSR1 if user. 0 or an error number. */
int signals_listen(struct signals *s, bool user);
/* In a forked child: all is as it was before. */
void signals_restore(const struct signals *s);
/* False: there is no more. */
bool signals_next(struct signals *s, struct signalfd_siginfo *info);

#endif
