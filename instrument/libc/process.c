/*
 * process.c - wrappers of calls that make processes, execute programs, load libraries, wait for children
 *
 * A child of vfork() runs here in its parent's memory, with its parent's stack. What it records counts as its parent's:
 * the program that it executes.
 *
 * SPDX-License-Identifier: MIT
 */
#include <alloca.h>
#include <dlfcn.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/clock.h"
#include "libc/libc.h"
#include "libc/names.h"

extern char **environ;

/* -- fork ------------------------------------------------------------------------------------------------- */

struct forked {
	uint64_t took;
	int32_t child;
	uint16_t error;
} __attribute__((__packed__));

static struct posixtrace_event event_fork = { "libc.fork", "{packed,took=took;took:u64/ns,child:i32," ERRNO_FIELD "}", 0 };

#define FORK_WRAPPER(name)                                                                                     \
	WRAPPER pid_t name(void)                                                                               \
	{                                                                                                      \
		NEXT(pid_t, name, (void));                                                                     \
		uint64_t began = RECORDED(GROUP_PROCESS) ? clock_now() : 0;                                    \
		pid_t child = next();                                                                          \
                                                                                                               \
		if (child == 0) {                                                                              \
			names_in_child();                                                                      \
			clock_in_child();                                                                      \
		} else if (began)                                                                              \
			record_data(&event_fork,                                                               \
			            &(struct forked){ clock_took(began), child,                                \
			                              child < 0 ? (uint16_t)errno : 0 },                       \
			            sizeof(struct forked), CALLER);                                            \
		return child;                                                                                  \
	}
FORK_WRAPPER(fork)
#if __GLIBC_PREREQ(2, 34)
FORK_WRAPPER(_Fork)
#endif

/* -- exec ------------------------------------------------------------------------------------------------- */

/* Bytes of a path and of arguments, each with its null. */
#define WORDS_SIZE 256

static struct posixtrace_event event_exec = { "libc.exec", "{packed;count:u32,path:z,arguments:z}", 0 };
static struct posixtrace_event event_exec_failed = { "libc.exec_failed", "{packed;" ERRNO_FIELD ",path:z}", 0 };

/* Appends a text, which is cut at the end. Returns the end. */
static char *put(char *to, const char *end, const char *text)
{
	while (*text && to < end)
		*to++ = *text++;
	return to;
}

/* Records before the program is executed, since a successful call does not return. */
static void record_exec(const char *path, char *const argv[], const void *caller)
{
	char data[sizeof(uint32_t) + 2 * WORDS_SIZE], *to = data + sizeof(uint32_t), *end;
	uint32_t count = 0;

	to = put(to, to + WORDS_SIZE - 1, path ? path : "");
	*to++ = 0;
	end = to + WORDS_SIZE - 1;
	for (; argv && argv[count]; count++) {
		if (count > 0)
			to = put(to, end, " ");
		to = put(to, end, argv[count]);
	}
	*to++ = 0;
	memcpy(data, &count, sizeof count);
	record_data(&event_exec, data, (size_t)(to - data), caller);
}

static int record_exec_failed(const char *path, int result, const void *caller)
{
	struct posixtrace_around around = { .__address = caller };
	uint16_t error = (uint16_t)errno;

	memcpy(around.__before, &error, 2);
	record_text(&event_exec_failed, path ? path : "", &around, POSIXTRACE_TEXT_SIZES(2, 0, WORDS_SIZE));
	return result;
}

#define EXEC_WRAPPER(name, parameters, arguments)                                                              \
	WRAPPER int name parameters                                                                            \
	{                                                                                                      \
		NEXT(int, name, parameters);                                                                   \
                                                                                                               \
		if (!RECORDED(GROUP_PROCESS))                                                                  \
			return next arguments;                                                                 \
		record_exec(path, argv, CALLER);                                                               \
		return record_exec_failed(path, next arguments, CALLER);                                       \
	}
EXEC_WRAPPER(execve, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp))
EXEC_WRAPPER(execv, (const char *path, char *const argv[]), (path, argv))
EXEC_WRAPPER(execvp, (const char *path, char *const argv[]), (path, argv))
EXEC_WRAPPER(execvpe, (const char *path, char *const argv[], char *const envp[]), (path, argv, envp))
#if __GLIBC_PREREQ(2, 34)
EXEC_WRAPPER(execveat, (int directory, const char *path, char *const argv[], char *const envp[], int flags),
             (directory, path, argv, envp, flags))
#endif

WRAPPER int fexecve(int fd, char *const argv[], char *const envp[])
{
	NEXT(int, fexecve, (int, char *const[], char *const[]));
	char path[NAME_SIZE];

	if (!RECORDED(GROUP_PROCESS))
		return next(fd, argv, envp);
	names_get(fd, path);
	record_exec(path, argv, CALLER);
	return record_exec_failed(path, next(fd, argv, envp), CALLER);
}

/* Declares argv with the arguments of execl() and its kin, as the C library does. The list then leads to more. */
#define TAKE_ARGUMENTS(list, first)                                             \
	size_t count = 1;                                                       \
	char **argv;                                                            \
	va_list list;                                                           \
                                                                                \
	va_start(list, first);                                                  \
	while (va_arg(list, char *))                                            \
		count++;                                                        \
	va_end(list);                                                           \
	argv = alloca((count + 1) * sizeof *argv);                              \
	va_start(list, first);                                                  \
	argv[0] = (char *)(uintptr_t)first;                                     \
	for (size_t i = 1; i <= count; i++)                                     \
		argv[i] = va_arg(list, char *)

/* exec: the function with an array. environment: of the new program. */
#define EXECL_WRAPPER(name, exec, parameters, environment, arguments)                                          \
	WRAPPER int name(const char *path, const char *first, ...)                                             \
	{                                                                                                      \
		static struct next NEXT_ENTRY next_of_##name = { NULL, #exec, NULL };                          \
		int(*next) parameters = (int(*) parameters)next_function(&next_of_##name);                     \
		char *const *envp = NULL;                                                                      \
		TAKE_ARGUMENTS(list, first);                                                                   \
                                                                                                               \
		if (environment)                                                                               \
			envp = va_arg(list, char **);                                                          \
		va_end(list);                                                                                  \
		(void)envp;                                                                                    \
		if (!RECORDED(GROUP_PROCESS))                                                                  \
			return next arguments;                                                                 \
		record_exec(path, argv, CALLER);                                                               \
		return record_exec_failed(path, next arguments, CALLER);                                       \
	}
EXECL_WRAPPER(execl, execv, (const char *, char *const[]), false, (path, argv))
EXECL_WRAPPER(execlp, execvp, (const char *, char *const[]), false, (path, argv))
EXECL_WRAPPER(execle, execve, (const char *, char *const[], char *const[]), true, (path, argv, envp))

/* -- Calls that make a process and execute a program ---------------------------------------------------- */

static struct posixtrace_event event_spawn = {
	"libc.posix_spawn", "{packed,took=took;took:u64/ns,child:i32,result:i32,path:z}", 0
};
static struct posixtrace_event event_system = {
	"libc.system", "{packed,took=took;took:u64/ns,result:i32,command:z}", 0
};
static struct posixtrace_event event_popen = { "libc.popen", "{packed,took=took;took:u64/ns," ERRNO_FIELD ",command:z}", 0 };

static void record_command(struct posixtrace_event *event, uint64_t began, const void *numbers, unsigned size,
                           const char *command, const void *caller)
{
	struct posixtrace_around around = { .__address = caller };
	uint64_t took = clock_took(began);

	memcpy(around.__before, &took, 8);
	memcpy(around.__before + 8, numbers, size);
	record_text(event, command, &around, POSIXTRACE_TEXT_SIZES(8 + size, 0, POSIXTRACE_TEXT_MOST));
}

/* The older version of glibc 2.2.5 runs a file without a format with a shell. */
#define SPAWN_WRAPPER(name)                                                                                    \
	WRAPPER int name(pid_t *restrict child, const char *restrict path,                                     \
	                 const posix_spawn_file_actions_t *restrict actions,                                   \
	                 const posix_spawnattr_t *restrict attributes, char *const argv[restrict],             \
	                 char *const envp[restrict])                                                           \
	{                                                                                                      \
		NEXT_VERSION(int, name, "GLIBC_2.15",                                                          \
		             (pid_t *restrict, const char *restrict, const posix_spawn_file_actions_t *restrict, \
		              const posix_spawnattr_t *restrict, char *const[restrict], char *const[restrict])); \
		struct {                                                                                       \
			int32_t child, result;                                                                 \
		} numbers;                                                                                     \
		uint64_t began;                                                                                \
		pid_t made = 0;                                                                                \
                                                                                                               \
		if (!RECORDED(GROUP_PROCESS))                                                                  \
			return next(child, path, actions, attributes, argv, envp);                             \
		began = clock_now();                                                                           \
		numbers.result = next(child ? child : &made, path, actions, attributes, argv, envp);           \
		numbers.child = numbers.result != 0 ? 0 : child ? *child : made;                               \
		record_command(&event_spawn, began, &numbers, sizeof numbers, path, CALLER);                   \
		return numbers.result;                                                                         \
	}
SPAWN_WRAPPER(posix_spawn)
SPAWN_WRAPPER(posix_spawnp)

WRAPPER int system(const char *command)
{
	NEXT(int, system, (const char *));
	uint64_t began;
	int32_t result;

	if (!RECORDED(GROUP_PROCESS))
		return next(command);
	began = clock_now();
	result = next(command);
	record_command(&event_system, began, &result, sizeof result, command, CALLER);
	return result;
}

WRAPPER FILE *popen(const char *command, const char *mode)
{
	NEXT(FILE *, popen, (const char *, const char *));
	uint64_t began;
	uint16_t error;
	FILE *file;

	if (!RECORDED(GROUP_PROCESS))
		return next(command, mode);
	began = clock_now();
	file = next(command, mode);
	error = file ? 0 : (uint16_t)errno;
	record_command(&event_popen, began, &error, sizeof error, command, CALLER);
	return file;
}

/* -- Waits for children ------------------------------------------------------------------------------------ */

struct waited {
	uint64_t took;
	int32_t asked, result;
	uint16_t error;
} __attribute__((__packed__));

static struct posixtrace_event event_wait = {
	"libc.wait", "{packed,took=took;took:u64/ns,asked:i32,result:i32," ERRNO_FIELD "}", 0
};

/* asked: -1 stands for any child. */
#define WAIT_WRAPPER(name, parameters, arguments, asked)                                                       \
	WRAPPER pid_t name parameters                                                                          \
	{                                                                                                      \
		NEXT(pid_t, name, parameters);                                                                 \
		uint64_t began;                                                                                \
		pid_t result;                                                                                  \
                                                                                                               \
		if (!RECORDED(GROUP_PROCESS))                                                                  \
			return next arguments;                                                                 \
		began = clock_now();                                                                           \
		result = next arguments;                                                                       \
		record_data(&event_wait,                                                                       \
		            &(struct waited){ clock_took(began), (int32_t)(asked), result,                     \
		                              result < 0 ? (uint16_t)errno : 0 },                              \
		            sizeof(struct waited), CALLER);                                                    \
		return result;                                                                                 \
	}
WAIT_WRAPPER(wait, (int *status), (status), -1)
WAIT_WRAPPER(waitpid, (pid_t pid, int *status, int options), (pid, status, options), pid)
WAIT_WRAPPER(wait3, (int *status, int options, struct rusage *usage), (status, options, usage), -1)
WAIT_WRAPPER(wait4, (pid_t pid, int *status, int options, struct rusage *usage), (pid, status, options, usage), pid)
WAIT_WRAPPER(waitid, (idtype_t type, id_t id, siginfo_t *info, int options), (type, id, info, options),
             type == P_ALL ? -1 : (int32_t)id)

/* -- Libraries -------------------------------------------------------------------------------------------- */

static struct posixtrace_event event_dlopen = {
	"libc.dlopen", "{packed;mode:x32<RTLD_LAZY|RTLD_NOW|RTLD_NOLOAD|RTLD_DEEPBIND|RTLD_GLOBAL=0x100|RTLD_NODELETE=0x1000>,path:z}", 0
};

/*
 * Where the library is searched for depends on the caller of dlopen(), which is found by the return address. So this
 * jumps to it, and records before it.
 */
WRAPPER void *dlopen(const char *path, int mode)
{
	NEXT(void *, dlopen, (const char *, int));

	if (RECORDED(GROUP_PROCESS)) {
		struct posixtrace_around around = { .__address = CALLER };

		memcpy(around.__before, &mode, 4);
		record_text(&event_dlopen, path ? path : "", &around, POSIXTRACE_TEXT_SIZES(4, 0, POSIXTRACE_TEXT_MOST));
	}
	/* A tail call, which leaves the return address as it is; the test of dlopen() compares. */
	return next(path, mode);
}
