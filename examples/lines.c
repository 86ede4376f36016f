/*
 * lines.c - a program with trace points, and nothing else of tracing: counts the words of each line that it reads
 *
 *     lines [-c]        -c: each line is counted by a child process of its own
 *
 * Run attach.c in another terminal to watch the program.
 *
 * SPDX-License-Identifier: MIT
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

static trace_event_id_t event_line, event_words;

static void count(const char *line)
{
	size_t length = strcspn(line, "\n");
	int words = 0;

	posix_trace_event(event_line, line, length);
	for (size_t i = 0; i < length; i++)
		words += !isspace((unsigned char)line[i]) && (i == 0 || isspace((unsigned char)line[i - 1]));
	posix_trace_event(event_words, &words, sizeof words);
	printf("%d\n", words);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	bool children = argc == 2 && strcmp(argv[1], "-c") == 0;
	char line[1000];

	if (argc > 1 && !children) {
		fprintf(stderr, "usage: lines [-c]\n");
		return 2;
	}
	posix_trace_eventid_open("line", &event_line);
	posix_trace_eventid_open("words", &event_words);
	fprintf(stderr, "process %d\n", (int)getpid());
	while (fgets(line, sizeof line, stdin)) {
		pid_t child = children ? fork() : -1;

		if (child > 0) {
			waitpid(child, NULL, 0);
			continue;
		}
		count(line);
		if (child == 0)
			_exit(0);
	}
	return 0;
}
