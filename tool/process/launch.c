/*
 * launch.c - starts a command that waits until it is traced
 *
 * SPDX-License-Identifier: MIT
 */
#include "process/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/file_limit.h"
#include "host/ident.h"
#include "process/elf_file.h"

/* -- Which file ------------------------------------------------------------------------- */

/* Returns 0, or an error number if the file cannot be executed. */
static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	if (!S_ISREG(st.st_mode) || access(path, X_OK) != 0)
		return EACCES;
	return 0;
}

/* As many scripts may be interpreters of scripts; the kernel follows no more. */
#define SCRIPTS_MOST 5

/* Copies what a script has behind "#!". Returns false if the file is no script. */
static bool first_line(const char *path, char line[PATH_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char text[PATH_MAX];
	ssize_t n = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;

	if (fd >= 0)
		close(fd);
	if (n < 3 || text[0] != '#' || text[1] != '!')
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	strcpy(line, text + 2);
	return true;
}

/* Returns the interpreter that a script names, to be freed; null if the file is no script. */
static char *interpreter_of(const char *path)
{
	char line[PATH_MAX], *rest = line, *word = first_line(path, line) ? strtok_r(line, " \t", &rest) : NULL;

	return word ? strdup(word) : NULL;
}

/*
 * Replaces the path of a script by that of its interpreter. "#!/usr/bin/env NAME" means the file that a shell finds.
 * Returns false if the file is no script, or its interpreter is not found.
 */
static bool follow(char path[PATH_MAX])
{
	char line[PATH_MAX], *rest = line, *word = first_line(path, line) ? strtok_r(line, " \t", &rest) : NULL;
	char *found;

	if (word && (strcmp(word, "/usr/bin/env") == 0 || strcmp(word, "/bin/env") == 0))
		do
			word = strtok_r(NULL, " \t", &rest);
		while (word && (*word == '-' || strchr(word, '=')));
	found = word ? launch_find(word) : NULL;
	if (found)
		snprintf(path, PATH_MAX, "%s", found);
	free(found);
	return found != NULL;
}

void launch_program(const char *path, char program[PATH_MAX])
{
	snprintf(program, PATH_MAX, "%s", path);
	for (int i = 0; i < SCRIPTS_MOST && follow(program); i++)
		;
}

char *launch_missing(const char *path)
{
	char *at = strdup(path), *next;
	struct elf_file *f;

	for (int i = 0; at && i < SCRIPTS_MOST && access(at, F_OK) == 0; i++) {
		next = interpreter_of(at);
		f = next ? NULL : elf_file_open(at);
		if (f && elf_file_loader(f))
			next = strdup(elf_file_loader(f));
		elf_file_close(f);
		free(at);
		at = next;
	}
	if (at && (access(at, F_OK) == 0 || strcmp(at, path) == 0)) {
		free(at);
		at = NULL;
	}
	return at;
}

char *launch_find(const char *name)
{
	const char *from = getenv("PATH"), *end;
	int error = ENOENT;

	if (strchr(name, '/')) {
		error = executable(name);
		errno = error;
		return error ? NULL : strdup(name);
	}
	for (from = from ? from : "/bin:/usr/bin"; *name; from = end + 1) {
		char *path;
		int e;

		end = strchrnul(from, ':');
		if (asprintf(&path, "%.*s%s%s", (int)(end - from), from, end == from ? "./" : "/", name) < 0)
			return NULL;
		e = executable(path);
		if (e == 0)
			return path;
		/* What cannot be executed is reported if no other file is found; EACCES of a folder is not. */
		if ((e == EACCES || e == EISDIR) && access(path, F_OK) == 0)
			error = e;
		free(path);
		if (!*end)
			break;
	}
	errno = error;
	return NULL;
}

/* -- The process --------------------------------------------------------------------------- */

static void execute(const char *path, char **argv, int failure) __attribute__((noreturn));
static void execute(const char *path, char **argv, int failure)
{
	int error;

	execv(path, argv);
	error = errno;
	if (error == ENOEXEC) {
		/* A script without "#!": run it with /bin/sh, as shells do. */
		size_t n = 0;
		char **with_shell;

		while (argv[n])
			n++;
		with_shell = calloc(n + 2, sizeof *with_shell);
		if (with_shell) {
			with_shell[0] = argv[0];
			with_shell[1] = (char *)path;
			memcpy(with_shell + 2, argv + 1, n * sizeof *argv);
			execv("/bin/sh", with_shell);
		}
	}
	if (write(failure, &error, sizeof error) < 0)
		_exit(126);
	_exit(127);
}

int launch_start(struct launch *l, const char *path, char **argv, void (*set_up)(void *arg), void *arg)
{
	int go[2], failure[2];

	if (pipe2(go, O_CLOEXEC) != 0)
		return errno;
	if (pipe2(failure, O_CLOEXEC) != 0) {
		close(go[0]);
		close(go[1]);
		return EMFILE;
	}
	l->go = go[1];
	l->failure = failure[0];
	l->pid = fork();
	if (l->pid == 0) {
		char byte;

		/*
		 * The child closes its copy of the write end: else it would never see the end of the pipe if its parent
		 * is killed.
		 */
		close(l->go);
		if (read(go[0], &byte, 1) != 1)
			_exit(0);
		set_up(arg);
		file_limit_is_a_signal();
		execute(path, argv, failure[1]);
	}
	close(go[0]);
	close(failure[1]);
	if (l->pid > 0)
		return 0;
	close(l->go);
	close(l->failure);
	return EAGAIN;
}

int launch_go(struct launch *l)
{
	int error = 0;
	ssize_t n;

	do
		n = write(l->go, "", 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		error = errno;
	close(l->go);
	do
		n = read(l->failure, &error, sizeof error);
	while (n < 0 && errno == EINTR);
	close(l->failure);
	if (error)
		waitpid(l->pid, NULL, 0);
	return error;
}

bool launch_ended(pid_t pid)
{
	struct proc p;

	if (kill(pid, 0) != 0 && errno == ESRCH)
		return true;
	return proc_read((uint32_t)pid, &p) == 0 && p.ended;
}

void launch_cancel(struct launch *l)
{
	close(l->go);
	close(l->failure);
	waitpid(l->pid, NULL, 0);
}
