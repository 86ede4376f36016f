/*
 * steps.c - a program that traces what its arguments say, one after the other
 *
 *     NAME, NAME*N    so many events of this type; their data is a number that rises, u32
 *     +NAME           opens the type only
 *     say:TEXT        a line to standard output
 *     read            waits for a line of standard input
 *     wait:N          waits N milliseconds
 *     each:N:NAME     an event every N microseconds, until standard input ends
 *     fork            the rest is done by a child, for which this process waits
 *     ignore:N        a signal
 *     state           which signals are ignored and blocked, and the descriptors that are open
 *     kill:N, exit:N  the end
 *
 * SPDX-License-Identifier: MIT
 */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

/* What ends it by a signal shall end it so under AddressSanitizer too. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "handle_segv=0:handle_abort=0";
}

static uint32_t number;

static void trace(const char *step)
{
	const char *star = strchr(step, '*');
	long n = star ? atol(star + 1) : 1;
	char *name = star ? strndup(step, (size_t)(star - step)) : strdup(step);
	trace_event_id_t id;

	if (!name || posix_trace_eventid_open(name, &id) != 0)
		exit(99);
	for (; n > 0; n--, number++)
		posix_trace_event(id, &number, sizeof number);
	free(name);
}

static void each(const char *step)
{
	const char *name = strchr(step, ':') + 1;
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	long us = atol(step);

	while (poll(&in, 1, 0) == 0) {
		trace(name);
		usleep((useconds_t)us);
	}
}

static void state(void)
{
	struct sigaction now;
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int i = 1; i < 32; i++) {
		if (sigaction(i, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
			printf("ignored %d\n", i);
		if (sigismember(&mask, i))
			printf("blocked %d\n", i);
	}
	for (int fd = 0; fd < 256; fd++)
		if (dup2(fd, fd) == fd)
			printf("descriptor %d\n", fd);
	fflush(stdout);
}

static void step(const char *what)
{
	char line[256];
	trace_event_id_t id;
	int status;

	if (*what == '+') {
		posix_trace_eventid_open(what + 1, &id);
	} else if (strncmp(what, "say:", 4) == 0) {
		printf("%s\n", what + 4);
		fflush(stdout);
	} else if (strcmp(what, "read") == 0) {
		if (!fgets(line, sizeof line, stdin))
			exit(98);
	} else if (strncmp(what, "wait:", 5) == 0) {
		poll(NULL, 0, atoi(what + 5));
	} else if (strncmp(what, "each:", 5) == 0) {
		each(what + 5);
	} else if (strcmp(what, "fork") == 0) {
		pid_t pid = fork();

		if (pid != 0) {
			waitpid(pid, &status, 0);
			exit(WEXITSTATUS(status));
		}
	} else if (strncmp(what, "ignore:", 7) == 0) {
		signal(atoi(what + 7), SIG_IGN);
	} else if (strcmp(what, "state") == 0) {
		state();
	} else if (strncmp(what, "kill:", 5) == 0) {
		raise(atoi(what + 5));
	} else if (strncmp(what, "exit:", 5) == 0) {
		exit(atoi(what + 5));
	} else {
		trace(what);
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		step(argv[i]);
	return 0;
}
