/*
 * guest.c - a command that does not begin before it is traced
 *
 * SPDX-License-Identifier: MIT
 */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

static void set_up(int output, bool apart)
{
	int null = apart ? open("/dev/null", O_RDONLY) : -1;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (apart)
		setpgid(0, 0);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	if (output >= 0) {
		dup2(output, STDOUT_FILENO);
		dup2(output, STDERR_FILENO);
	}
	if (null > STDERR_FILENO)
		close(null);
}

struct guest guest_wait(char **argv, int output, bool apart)
{
	int go[2], error[2];
	struct guest l;
	char byte;

	if (pipe2(go, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0)
		fail("%s: %s", argv[0], strerror(errno));
	l.pid = fork();
	if (l.pid < 0)
		fail("%s: no process for it: %s", argv[0], strerror(errno));
	if (l.pid == 0) {
		close(go[1]);
		close(error[0]);
		set_up(output, apart);
		/* Nobody there any more: then it is not wanted. */
		if (read(go[0], &byte, 1) == 1) {
			int number;

			execvp(argv[0], argv);
			number = errno;
			if (write(error[1], &number, sizeof number) < 0)
				_exit(STATUS_NOT_RUN);
		}
		_exit(STATUS_NOT_FOUND);
	}
	close(go[0]);
	close(error[1]);
	l.go = go[1];
	l.error = error[0];
	return l;
}

void guest_go(struct guest *l, char **argv)
{
	int error = 0;
	ssize_t n;

	while (write(l->go, "", 1) < 0 && errno == EINTR)
		;
	close(l->go);
	/* Nothing comes when it has executed the command: the pipe is closed by that. */
	do
		n = read(l->error, &error, sizeof error);
	while (n < 0 && errno == EINTR);
	close(l->error);
	if (n != sizeof error)
		return;
	complain("%s: %s", argv[0], error == ENOENT ? "there is no such command" : strerror(error));
	waitpid(l->pid, NULL, 0);
	exit(error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_RUN);
}

void guest_end(struct guest *l)
{
	/* Not waited for before, so its id is still its own. */
	if (waitpid(l->pid, NULL, WNOHANG) == 0) {
		kill(l->pid, SIGTERM);
		kill(l->pid, SIGCONT);
	}
}
