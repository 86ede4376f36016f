/*
 * log_watch.c - prints the events of running processes as they come, with their levels and durations
 *
 *     log_watch PID...
 *
 * Ctrl-C ends it. The processes do not wait for it, and nothing of it remains in them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <posixtrace/log.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	interrupted = signal;
}

static void print(const struct posixtrace_log_event *event)
{
	uint32_t level;
	uint64_t ns;

	if (event->loss) {
		printf("%llu events are missing\n", (unsigned long long)event->loss->count);
		return;
	}
	printf("%.6f %s/%u %s", (double)event->relative / 1e9, event->thread_name, event->tid, event->type->name);
	if (posixtrace_log_get_level(event, &level) == 0)
		printf(" %s", posixtrace_log_level_name(level));
	if (posixtrace_log_get_took(event, &ns) == 0)
		printf(" took %.3f ms", (double)ns / 1e6);
	for (unsigned i = 0; i < event->type->fields; i++) {
		const struct posixtrace_log_field *field = posixtrace_log_field_at(event->type, i);
		const char *text;
		size_t length;
		double number;

		if (posixtrace_log_get_text(event, i, &text, &length) == 0)
			printf(" %s=%.*s", field->name, (int)length, text);
		else if (posixtrace_log_get_double(event, i, 0, &number) == 0)
			printf(" %s=%g", field->name, number);
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = interrupt };
	const struct posixtrace_log_event *event = NULL;
	struct posixtrace_log *log;
	int error;

	sigaction(SIGINT, &action, NULL);
	error = posixtrace_log_open(NULL, &log);
	for (int i = 1; i < argc && !error; i++)
		error = posixtrace_log_add_live(log, (uint32_t)atoi(argv[i]), NULL);
	printf("%d processes\n", argc - 1);
	while (!error && !interrupted) {
		fflush(stdout);
		/* The limit is for a signal that comes just before the wait. */
		error = posixtrace_log_wait(log, 1000000000);
		if (error == ETIMEDOUT || error == EINTR) {
			error = 0;
			continue;
		}
		if (!error)
			error = posixtrace_log_next(log, &event);
		if (error || !event)
			break;
		if (event->loss || !event->type->system)
			print(event);
	}
	if (error)
		fprintf(stderr, "log_watch: %s\n", posixtrace_log_error());
	else
		printf(interrupted ? "interrupted\n" : "all processes have ended\n");
	posixtrace_log_close(log);
	return error != 0;
}
