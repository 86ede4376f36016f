/*
 * guest.c - runs the watched command beside the screen
 *
 * SPDX-License-Identifier: MIT
 */
#include "live/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/message.h"

struct surroundings {
	int output;
	bool apart;
	pid_t parent;
};

static void set_up(void *arg)
{
	const struct surroundings *s = arg;
	int null = s->apart ? open("/dev/null", O_RDONLY) : -1;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Ends the command however the view ends, even by SIGKILL. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != s->parent)
		_exit(0);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	if (s->output >= 0) {
		dup2(s->output, STDOUT_FILENO);
		dup2(s->output, STDERR_FILENO);
	}
	if (null > STDERR_FILENO)
		close(null);
}

static void refuse(const char *name, int error) __attribute__((noreturn));
static void refuse(const char *name, int error)
{
	complain("%s: %s", name, error == ENOENT ? "there is no such command" : strerror(error));
	exit(error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN);
}

void guest_wait(struct launch *l, char **argv, int output, bool apart)
{
	struct surroundings surroundings = { output, apart, getpid() };
	char *path = launch_find(argv[0]);
	int error;

	if (!path)
		refuse(argv[0], errno);
	error = launch_start(l, path, argv, set_up, &surroundings);
	free(path);
	if (error)
		fail("%s: cannot create a process: %s", argv[0], strerror(error));
	if (apart)
		setpgid(l->pid, l->pid);
}

void guest_go(struct launch *l, char **argv)
{
	int error = launch_go(l);

	if (error)
		refuse(argv[0], error);
}

void guest_end(struct launch *l)
{
	/* The command has not been waited for before, so its pid has not been reused. */
	if (waitpid(l->pid, NULL, WNOHANG) == 0) {
		kill(l->pid, SIGTERM);
		kill(l->pid, SIGCONT);
	}
}
