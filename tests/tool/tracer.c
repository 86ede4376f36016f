/*
 * tracer.c - a program that traces itself, or only could be traced, as it is told to line by line
 *
 *     tracer [-l LOG] [-L loop|until-full|append] [-s loop|until-full|flush] [-n NAME] [-S SIZE] [-i] [-0]
 *
 * -0: it creates no stream. Says "ready"; then, for each line of standard input, what that asks for, and "done":
 *
 *     trace N      so many events, of the types plain and sql.row in turns
 *     start, stop, flush, shutdown
 *     child        a child process that opens an event type and waits for the end; says its process id
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <trace.h>
#include <unistd.h>

static trace_id_t trid;
static trace_event_id_t plain, row;
static struct {
	uint32_t rows;
	uint64_t time;
} data;

static void must(int error, const char *what)
{
	if (error) {
		fprintf(stderr, "tracer: %s: %s\n", what, strerror(error));
		exit(1);
	}
}

static int log_policy(const char *name)
{
	return !strcmp(name, "loop")   ? POSIX_TRACE_LOOP
	     : !strcmp(name, "append") ? POSIX_TRACE_APPEND
	                               : POSIX_TRACE_UNTIL_FULL;
}

static int stream_policy(const char *name)
{
	return !strcmp(name, "loop") ? POSIX_TRACE_LOOP : !strcmp(name,
	    "flush") ? POSIX_TRACE_FLUSH : POSIX_TRACE_UNTIL_FULL;
}

static void create(int argc, char **argv)
{
	int c, log = -1, no = 0;
	trace_attr_t attr;

	must(posix_trace_attr_init(&attr), "attr");
	while ((c = getopt(argc, argv, "l:L:s:n:S:i0")) >= 0)
		switch (c) {
		case 'l':
			log = open(optarg, O_RDWR | O_CREAT | O_TRUNC, 0600);
			break;
		case 'L':
			must(posix_trace_attr_setlogfullpolicy(&attr, log_policy(optarg)), "log policy");
			break;
		case 's':
			must(posix_trace_attr_setstreamfullpolicy(&attr, stream_policy(optarg)), "stream policy");
			break;
		case 'n':
			must(posix_trace_attr_setname(&attr, optarg), "name");
			break;
		case 'S':
			must(posix_trace_attr_setstreamsize(&attr, strtoul(optarg, NULL, 10)), "size");
			break;
		case 'i':
			must(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED), "inherited");
			break;
		case '0':
			no = 1;
			break;
		default:
			exit(2);
		}
	if (no)
		return;
	must(log < 0 ? posix_trace_create(0, &attr, &trid) : posix_trace_create_withlog(0, &attr, log, &trid),
	    "create");
	must(posix_trace_start(trid), "start");
}

static void trace(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		data.rows = i;
		data.time += 1000;
		if (i % 2)
			posix_trace_event(row, &data, sizeof data);
		else
			posix_trace_event(plain, "hello", 5);
	}
}

static void child(void)
{
	int word[2];
	pid_t pid;

	fflush(stdout);
	if (pipe(word) != 0)
		exit(1);
	pid = fork();
	if (pid == 0) {
		/* "attached" follows the process id. */
		if (read(word[0], &data, 1) != 1)
			_exit(1);
		posix_trace_eventid_open("child.only", &plain);
		posix_trace_event(plain, NULL, 0);
		if (write(STDOUT_FILENO, "attached\n", 9) == 9)
			pause();
		_exit(0);
	}
	printf("child %d\n", (int)pid);
	fflush(stdout);
	if (write(word[1], "", 1) != 1)
		exit(1);
	close(word[0]);
	close(word[1]);
}

static void obey(const char *line)
{
	unsigned count;

	if (sscanf(line, "trace %u", &count) == 1)
		trace(count);
	else if (!strcmp(line, "stop\n"))
		must(posix_trace_stop(trid), "stop");
	else if (!strcmp(line, "start\n"))
		must(posix_trace_start(trid), "start");
	else if (!strcmp(line, "flush\n"))
		must(posix_trace_flush(trid), "flush");
	else if (!strcmp(line, "shutdown\n"))
		must(posix_trace_shutdown(trid), "shutdown");
	else if (!strcmp(line, "child\n"))
		child();
}

int main(int argc, char **argv)
{
	char line[100];

	signal(SIGCHLD, SIG_IGN);
	must(posix_trace_eventid_open("plain", &plain), "open");
	must(posix_trace_eventid_open("sql.row{rows:u32,time:u64/ns}", &row), "open");
	create(argc, argv);
	for (puts("ready"), fflush(stdout); fgets(line, sizeof line, stdin); puts("done"), fflush(stdout))
		obey(line);
	return 0;
}
