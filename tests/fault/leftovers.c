/*
 * leftovers.c - what a killed process, or one that executes another program, leaves behind
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

static trace_event_id_t id;

static trace_id_t make(void)
{
	trace_id_t trid;

	id = fault_open("fault");
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	posix_trace_event(id, NULL, 0);
	return trid;
}

static void *trace_for_ever(void *arg)
{
	for (;;)
		posix_trace_event(id, &id, sizeof id);
	return NULL;
}

/* H11, H6: the process is killed at a random instruction. */
TEST(killed)
{
	int status, fd[2];
	pthread_t thread;
	char c;

	shm_private("");
	MUST(pipe(fd) == 0);
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			for (int j = 0; j < 3; j++)
				make();
			for (int j = 0; j < 2; j++)
				MUST(pthread_create(&thread, NULL, trace_for_ever, NULL) == 0);
			MUST(write(fd[1], "", 1) == 1);
			pause();
		}
		MUST(read(fd[0], &c, 1) == 1);
		usleep((unsigned)i * 300);
		kill(pid, SIGKILL);
		MUST(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
		CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 3);
		CHECK_EQ("-", shm_count(shm_directory(), "page-"), 1);

		/* Another process of the same user creates a stream. */
		pid = fork();
		if (pid == 0) {
			trace_id_t trid = make();

			CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 1);
			CHECK_EQ("-", shm_count(shm_directory(), "page-"), 1);
			CHECK_EQ("-", shm_count(shm_directory(), "names-"), 1);
			CHECK_EQ("-", shm_count(shm_directory(), ""), 3);
			CHECK_EQ("-", fault_count(trid, id), 1);
			CHECK_EQ("-", posix_trace_shutdown(trid), 0);
			exit(test_failures ? 1 : 0);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		CHECK_EQ("-", status, 0);
		CHECK_STR("-", shm_left(), ""); /* exit() leaves nothing at all */
	}
}

/* All streams of the system belong to dead processes: none of them counts. */
TEST(all_killed)
{
	int status;
	pid_t pid;

	shm_private("");
	pid = fork();
	if (pid == 0) {
		trace_attr_t attr;
		trace_id_t trid;

		posix_trace_attr_init(&attr);
		posix_trace_attr_setstreamsize(&attr, 4096);
		for (int i = 0; i < TRACE_SYS_MAX; i++)
			MUST(posix_trace_create(0, &attr, &trid) == 0);
		CHECK_EQ("-", posix_trace_create(0, &attr, &trid), EAGAIN);
		raise(test_failures ? SIGABRT : SIGKILL);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", WTERMSIG(status), SIGKILL);
	CHECK_EQ("-", shm_count(shm_directory(), "stream-"), TRACE_SYS_MAX);
	fault_works(fault_open("fault"));
}

/* _exit() runs no destructors. */
TEST(exit_without_destructors)
{
	int status;

	shm_private("");
	if (fork() == 0) {
		make();
		_exit(0);
	}
	wait(&status);
	CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 1);
	make();
	CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 1);
}

/* H21: runs a program that traces itself and executes this program again without a shutdown. The second half is in
 * main(). */
static int run(const char *how)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setenv("LEFTOVERS", how, 1);
		make();
		make();
		execl("/proc/self/exe", "leftovers", (char *)NULL);
		_exit(99);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	return status;
}

static int second_image(const char *how)
{
	trace_event_id_t first;
	trace_id_t trid;

	if (strcmp(how, "plain") == 0)
		return 0;
	if (strcmp(how, "killed") == 0)
		raise(SIGKILL);
	/* The rest of the former image does no harm. */
	for (int i = 0; i < 1000; i++)
		posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, &i, sizeof i);
	CHECK_EQ("MODEL-20", shm_count(shm_directory(), "stream-"), 0);
	first = fault_open("second");
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	posix_trace_event(first, NULL, 0);
	CHECK_EQ("-", fault_count(trid, first), 1);
	return test_failures ? 1 : 0;
}

TEST(exec_then_trace)
{
	shm_private("");
	CHECK_EQ("-", run("works"), 0);
	fault_works(fault_open("fault"));
	make();
	CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 1);
	CHECK_EQ("-", shm_count(shm_directory(), "page-"), 1);
}

/* An image that does not trace: a later process removes what the former image has left. */
TEST(exec_then_end)
{
	static const char *const how[] = { "plain", "killed" };

	shm_private("");
	for (int i = 0; i < 2; i++) {
		run(how[i]);
		make();
		CHECK_EQ("-", shm_count(shm_directory(), "stream-"), i + 1);
		CHECK_EQ("-", shm_count(shm_directory(), "page-"), 1);
		CHECK_EQ("-", shm_count(shm_directory(), "names-"), 1);
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST_ENTRY(killed),          TEST_ENTRY(all_killed),    TEST_ENTRY(exit_without_destructors),
		TEST_ENTRY(exec_then_trace), TEST_ENTRY(exec_then_end), { NULL, NULL },
	};

	if (getenv("LEFTOVERS"))
		return second_image(getenv("LEFTOVERS"));
	return test_main(tests, argc, argv);
}
