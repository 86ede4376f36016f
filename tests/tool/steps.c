/*
 * steps.c - a program that traces what its arguments say, one after the other
 *
 *     NAME, NAME*N    so many events of this type; their data is a number that rises, u32
 *     +NAME           opens the type only
 *     =NAME{LAYOUT}   opens the type and declares its layout beside the name
 *     !NAME, !NAME*N  events of a type that +NAME has opened: it is not opened again
 *     typed:NAME      an event of a type that is opened as <posixtrace/typed.h> does
 *     say:TEXT        a line to standard output
 *     pid             its process id, likewise
 *     read            waits for a line of standard input
 *     wait:N          waits N milliseconds
 *     each:N:NAME     an event every N microseconds, until standard input ends
 *     most:N:FILE:NAME  at most N events as fast as it can; how many it has traced is in the file, u32
 *     fork            the rest is done by a child, for which this process waits
 *     daemon          the rest is done by a child, and this process ends
 *     workers:N       the rest is done by so many children, for which this process waits
 *     child:STEP,...  a child does these steps, and this process waits for it
 *     threads:N:NAME, threads:N:NAME*M  so many threads, each with so many events, until all have ended
 *     exec:STEP;...   this program again, with these steps
 *     borrow:UID      another user, for a while: it may be root again
 *     become:UID      another user, with all its rights
 *     keep:UID        another user, that may become yet another one
 *     ignore:N        a signal
 *     state           which signals are ignored and blocked, and the descriptors that are open
 *     kill:N, exit:N  the end
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <posixtrace/trace.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A signal must end the program under AddressSanitizer too. A child would look for leaks, and tests count children. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "handle_segv=0:handle_abort=0:detect_leaks=0";
}

static uint32_t number;

#define OPENED_MAX 16

static struct opened {
	const char *name;
	trace_event_id_t id;
} opened[OPENED_MAX];

static void open_only(const char *name)
{
	int i = 0;

	while (i < OPENED_MAX - 1 && opened[i].name)
		i++;
	opened[i].name = name;
	posix_trace_eventid_open(name, &opened[i].id);
}

static void declare(const char *step)
{
	size_t length = strcspn(step, "{");
	char *name = strndup(step, length);
	trace_event_id_t id;

	if (!name || posixtrace_declare(name, step + length, &id) != 0)
		exit(99);
	free(name);
}

static void trace_opened(const char *step)
{
	size_t length = strcspn(step, "*");
	long n = step[length] ? atol(step + length + 1) : 1;

	for (int i = 0; i < OPENED_MAX && opened[i].name; i++)
		for (; strncmp(opened[i].name, step, length) == 0 && !opened[i].name[length] && n > 0; n--, number++)
			posix_trace_event(opened[i].id, &number, sizeof number);
}

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

static void typed(const char *step)
{
	struct posixtrace_event event = { step, NULL, 0 };
	trace_event_id_t id = posixtrace_event_open(&event);

	if (id)
		posix_trace_event(id, &number, sizeof number);
	number++;
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

/* May be killed at any moment. The event under way does not count then. */
static void most(const char *step)
{
	char *name, *file;
	long n = strtol(step, &file, 10);
	volatile uint32_t *traced;
	trace_event_id_t id;
	int fd;

	file = strdup(file + 1);
	name = file ? strchr(file, ':') : NULL;
	if (!name)
		exit(99);
	*name++ = '\0';
	fd = open(file, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof *traced) != 0 || posix_trace_eventid_open(name, &id) != 0)
		exit(99);
	traced = mmap(NULL, sizeof *traced, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (traced == MAP_FAILED)
		exit(99);
	while (*traced < (uint32_t)n) {
		number = *traced;
		posix_trace_event(id, &number, sizeof number);
		*traced = number + 1;
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

static void become(uid_t user, int keep)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	prctl(PR_SET_KEEPCAPS, keep);
	if (setgroups(0, NULL) < 0 || setresgid(user, user, user) < 0 || setresuid(user, user, user) < 0)
		exit(97);
	prctl(PR_SET_DUMPABLE, 1);
	if (!keep)
		return;
	/* The capabilities are still permitted, but not effective. */
	if (syscall(SYS_capget, &header, data) < 0)
		exit(96);
	data[0].effective = data[0].permitted;
	if (syscall(SYS_capset, &header, data) < 0)
		exit(95);
}

static void workers(int count)
{
	int status;

	while (count-- > 0)
		if (fork() == 0)
			return;
	while (wait(&status) > 0)
		;
	exit(0);
}

static void *thread(void *what)
{
	const char *star = strchr(what, '*');
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_id_t id;

	snprintf(name, sizeof name, "%.*s", (int)strcspn(what, "*"), (const char *)what);
	if (posix_trace_eventid_open(name, &id) != 0)
		exit(99);
	for (int i = star ? atoi(star + 1) : 1; i > 0; i--)
		posix_trace_event(id, NULL, 0);
	return NULL;
}

static void threads(char *what)
{
	int count = atoi(what);
	char *event = strchr(what, ':');
	pthread_t *started = calloc((size_t)count, sizeof *started);

	if (!event || !started)
		exit(99);
	for (int i = 0; i < count; i++)
		if (pthread_create(&started[i], NULL, thread, event + 1) != 0)
			exit(99);
	for (int i = 0; i < count; i++)
		pthread_join(started[i], NULL);
	free(started);
}

static void execute(const char *steps)
{
	char *rest = strdup(steps), *arguments[32] = { "steps" };

	for (int i = 1; i < 31 && (arguments[i] = strsep(&rest, ";")); i++)
		;
	execv("/proc/self/exe", arguments);
	exit(94);
}

static void step(const char *what);

static void child(const char *steps)
{
	char *rest = strdup(steps), *next;
	int status;

	if (fork() != 0) {
		wait(&status);
		free(rest);
		return;
	}
	while ((next = strsep(&rest, ",")) != NULL)
		step(next);
	exit(0);
}

static void step(const char *what)
{
	char line[256];
	int status;

	if (*what == '+') {
		open_only(what + 1);
	} else if (*what == '=') {
		declare(what + 1);
	} else if (*what == '!') {
		trace_opened(what + 1);
	} else if (strncmp(what, "typed:", 6) == 0) {
		typed(what + 6);
	} else if (strncmp(what, "say:", 4) == 0) {
		printf("%s\n", what + 4);
		fflush(stdout);
	} else if (strcmp(what, "pid") == 0) {
		printf("%d\n", (int)getpid());
		fflush(stdout);
	} else if (strcmp(what, "read") == 0) {
		if (!fgets(line, sizeof line, stdin))
			exit(98);
	} else if (strncmp(what, "wait:", 5) == 0) {
		poll(NULL, 0, atoi(what + 5));
	} else if (strncmp(what, "most:", 5) == 0) {
		most(what + 5);
	} else if (strncmp(what, "each:", 5) == 0) {
		each(what + 5);
	} else if (strcmp(what, "fork") == 0) {
		pid_t pid = fork();

		if (pid != 0) {
			waitpid(pid, &status, 0);
			exit(WEXITSTATUS(status));
		}
	} else if (strncmp(what, "child:", 6) == 0) {
		child(what + 6);
	} else if (strcmp(what, "daemon") == 0) {
		if (fork() != 0)
			_exit(0);
	} else if (strncmp(what, "workers:", 8) == 0) {
		workers(atoi(what + 8));
	} else if (strncmp(what, "threads:", 8) == 0) {
		char *copy = strdup(what + 8);

		threads(copy);
		free(copy);
	} else if (strncmp(what, "exec:", 5) == 0) {
		execute(what + 5);
	} else if (strncmp(what, "borrow:", 7) == 0) {
		if (seteuid((uid_t)atoi(what + 7)) != 0)
			exit(93);
	} else if (strncmp(what, "become:", 7) == 0) {
		become((uid_t)atoi(what + 7), 0);
	} else if (strncmp(what, "keep:", 5) == 0) {
		become((uid_t)atoi(what + 5), 1);
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
