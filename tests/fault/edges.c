/*
 * edges.c - trace points before main() and after exit(): in constructors, destructors, atexit() functions
 *
 * H9, H10. The test executes itself, because the harness begins after the constructors and ends before the destructors.
 * Built with the shared and with the static library.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

static trace_event_id_t early_id, late_id;
static trace_id_t trid;
static int early_error = -1, early_count = -1;

/* Runs before all constructors without a priority, and would run before the library's own. */
__attribute__((constructor(101))) static void early(void)
{
	errno = ERRNO_BEFORE;
	posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, "x", 1);
	if (errno != ERRNO_BEFORE || !getenv("EDGES"))
		return;
	early_error = posix_trace_eventid_open("early", &early_id);
	early_error |= posix_trace_create(0, NULL, &trid);
	early_error |= posix_trace_start(trid);
	posix_trace_event(early_id, "early", 5);
	early_count = fault_count(trid, early_id);
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(1);
}

/* Runs after all destructors without a priority, including the library's, which removes its files. */
__attribute__((destructor(101))) static void late(void)
{
	if (!getenv("EDGES"))
		return;
	for (int i = 0; i < 1000; i++)
		posix_trace_event(late_id, &i, sizeof i);
	say("late\n");
	if (strcmp(getenv("EDGES"), "shutdown") == 0)
		return;
#ifdef EDGES_ENDED
	/* With the static library the library's destructor runs first: the stream has ended, and calls return
	 * errors. */
	if (fault_count(trid, late_id) != -1 || posix_trace_shutdown(trid) != EINVAL)
		say("it has not ended\n");
#else
	/* The stream can still be read and shut down. Other threads may have overwritten its events. */
	if (strcmp(getenv("EDGES"), "threads") != 0 && fault_count(trid, late_id) < 1000)
		say("events are missing\n");
	if (posix_trace_shutdown(trid) != 0)
		say("shutdown failed\n");
#endif
	for (int i = 0; i < 1000; i++)
		posix_trace_event(late_id, &i, sizeof i);
	say("later\n");
}

static void at_exit(void)
{
	posix_trace_event(late_id, NULL, 0);
	say("exit\n");
}

static void *trace_for_ever(void *id)
{
	for (;;)
		posix_trace_event(*(trace_event_id_t *)id, NULL, 0);
	return NULL;
}

static int inner(const char *how)
{
	pthread_t thread;

	if (early_error || early_count != 1)
		return 3;
	atexit(at_exit);
	if (posix_trace_eventid_open("late", &late_id))
		return 4;
	if (strcmp(how, "threads") == 0) {
		for (int i = 0; i < 3; i++)
			if (pthread_create(&thread, NULL, trace_for_ever, &early_id))
				return 5;
	}
	if (strcmp(how, "shutdown") == 0)
		posix_trace_shutdown(trid);
	return 0;
}

static void check_run(const char *how, const char *want)
{
	char got[200] = "";
	int fd[2], status;
	ssize_t n = 0, r;
	pid_t pid;

	shm_private("");
	MUST(pipe(fd) == 0);
	pid = fork();
	if (pid == 0) {
		setenv("EDGES", how, 1);
		dup2(fd[1], 1);
		close(fd[0]);
		close(fd[1]);
		execl("/proc/self/exe", "edges", (char *)NULL);
		_exit(99);
	}
	close(fd[1]);
	while ((r = read(fd[0], got + n, sizeof got - 1 - (size_t)n)) > 0)
		n += r;
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", status, 0);
	CHECK_STR("-", got, want);
	CHECK_STR("-", shm_left(), "");
}

TEST(running)
{
	check_run("running", "exit\nlate\nlater\n");
}

TEST(shut_down_before)
{
	check_run("shutdown", "exit\nlate\n");
}

/* Other threads continue to trace while the program ends. */
TEST(with_threads)
{
	check_run("threads", "exit\nlate\nlater\n");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST_ENTRY(running), TEST_ENTRY(shut_down_before), TEST_ENTRY(with_threads), { NULL, NULL },
	};

	if (getenv("EDGES"))
		return inner(getenv("EDGES"));
	return test_main(tests, argc, argv);
}
