/*
 * signals.c - the signals that end a recording, as a descriptor to poll
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/signals.h"

#include <errno.h>
#include <unistd.h>

int signals_listen(struct signals *s, bool user)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, by_default = { .sa_handler = SIG_DFL }, now;
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++)
		if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&set, ends[i]);
	/* If SIGCHLD is ignored, the status of a child is lost. */
	sigaction(SIGCHLD, &by_default, &s->child);
	sigaddset(&set, SIGCHLD);
	/* The log or the messages may go to a pipe: EPIPE is an error like others. */
	sigaction(SIGPIPE, &ignore, &s->pipe);
	s->user_too = user;
	if (user) {
		sigaction(SIGUSR1, &by_default, &s->user);
		sigaddset(&set, SIGUSR1);
	}
	sigprocmask(SIG_BLOCK, &set, &s->before);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->fd < 0 ? errno : 0;
}

void signals_restore(const struct signals *s)
{
	sigaction(SIGCHLD, &s->child, NULL);
	sigaction(SIGPIPE, &s->pipe, NULL);
	if (s->user_too)
		sigaction(SIGUSR1, &s->user, NULL);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

bool signals_next(struct signals *s, struct signalfd_siginfo *info)
{
	return read(s->fd, info, sizeof *info) == sizeof *info;
}
