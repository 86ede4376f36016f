/*
 * loads.c - what a command will execute
 *
 * SPDX-License-Identifier: MIT
 */
#include "usdt/loads.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/message.h"
#include "usdt/notes.h"

#define SCRIPT_LINE 256 /* what the kernel reads of it */

static char *find_in_path(const char *name)
{
	for (const char *from = getenv("PATH"), *end; from && *from; from = *end ? end + 1 : end) {
		char *found;

		end = strchrnul(from, ':');
		if (asprintf(&found, "%.*s/%s", (int)(end - from), from, name) < 0)
			fail("no memory");
		if (access(found, X_OK) == 0)
			return found;
		free(found);
	}
	return NULL;
}

char *loads_interpreter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char line[SCRIPT_LINE + 1], *word, *next, *at, *last;
	ssize_t n = fd < 0 ? -1 : read(fd, line, SCRIPT_LINE);

	if (fd >= 0)
		close(fd);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return NULL;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &at);
	if (!word)
		return NULL;
	next = strtok_r(NULL, " \t", &at);
	last = strrchr(word, '/');
	if (next && strcmp(last ? last + 1 : word, "env") == 0)
		return find_in_path(next);
	return strdup(word);
}

/* Executes ld.so, whose output goes into the pipe. */
static void list(const char *interpreter, const char *path, int output) __attribute__((noreturn));
static void list(const char *interpreter, const char *path, int output)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execl(interpreter, interpreter, "--list", path, (char *)NULL);
	_exit(127);
}

void loads_each(const char *path, void (*each)(const char *path, void *arg), void *arg)
{
	char interpreter[PATH_MAX], line[PATH_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ends[2];
	int r = fd < 0 ? -1 : notes_interpreter(fd, interpreter, sizeof interpreter);
	FILE *lines;
	pid_t pid;

	if (fd >= 0)
		close(fd);
	if (r < 0 || pipe2(ends, O_CLOEXEC) != 0)
		return;
	pid = fork();
	if (pid == 0)
		list(interpreter, path, ends[1]);
	close(ends[1]);
	lines = fdopen(ends[0], "re");
	while (lines && fgets(line, sizeof line, lines)) {
		char *library = strchr(line, '/'), *end = library ? strstr(library, " (0x") : NULL;

		/* "libc.so.6 => /lib/libc.so.6 (0x7f...)", "/lib64/ld-linux-x86-64.so.2 (0x7f...)" */
		if (!end)
			continue;
		*end = '\0';
		each(library, arg);
	}
	if (lines)
		fclose(lines);
	else
		close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
}
