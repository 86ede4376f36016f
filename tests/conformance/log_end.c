/*
 * log_end.c - how a log is completed: by posix_trace_shutdown(), also one that fails, and by each end of the controller
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/resource.h>

#include "disk.h"
#include "log.h"

static trace_event_id_t id;

static const int log_policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };
static const int stream_policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH };

/* -- Shutdown -------------------------------------------------------------------- */

/* When the call returns, the log has all unflushed events, followed by the STOP of this call. */
TEST(all_is_flushed)
{
	id = stream_id("end");
	for (int s = 0; s < 3; s++) {
		for (int l = 0; l < 3; l++) {
			int fd = log_file();
			trace_id_t trid = log_running(stream_policies[s], log_policies[l], 1 << 20, 4 << 20, fd);
			long long before, after;
			struct stream_event e;

			log_send(id, 0, 4000);
			before = nanoseconds(now());
			CHECK_EQ("SHUT-7 SHUT-8 SHUT-10", posix_trace_shutdown(trid), 0);
			after = nanoseconds(now());
			CHECK_EQ("SHUT-4 SHUT-11", posix_trace_shutdown(trid), EINVAL);
			CHECK_LOG("SHUT-1 SHUT-7 SHUT-8 SHUT-9 MODEL-9", fd, id, 0, 4000);
			trid = log_open(fd);
			while (log_try(trid, &e) && e.info.posix_event_id != POSIX_TRACE_STOP)
				;
			CHECK_EQ("SHUT-1 SYS-15", e.info.posix_pid, getpid());
			CHECK("SHUT-1 SYS-16", pthread_equal(e.info.posix_thread_id, pthread_self()));
			CHECK("SHUT-1 SYS-17", e.info.posix_prog_address != NULL);
			CHECK_OP("SHUT-1", nanoseconds(e.info.posix_timestamp), >=, before - 50000000);
			CHECK_OP("SHUT-1", nanoseconds(e.info.posix_timestamp), <=, after + 50000000);
			log_close(trid);
			close(fd);
		}
	}
}

/* A stream that does not run gets no STOP. */
TEST(not_running)
{
	struct stream_event e;
	int fd = log_file();
	trace_id_t trid = log_create(NULL, fd);

	stream_end(trid);
	trid = log_open(fd);
	CHECK_EQ("SHUT-1 START-5", log_try(trid, &e), 0);
	log_close(trid);

	id = stream_id("end");
	trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 0, 0, fd);
	log_send(id, 0, 10);
	MUST(posix_trace_stop(trid) == 0);
	log_send(id, 10, 10);
	stream_end(trid);
	CHECK_LOG("SHUT-1 START-5", fd, id, 0, 10); /* with a single STOP */
}

/* A stream that stopped because it was full: its log ends with that STOP. */
TEST(full)
{
	struct stream_event e;
	int fd = log_file();
	trace_id_t trid = log_small(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 0, fd);
	unsigned end;

	id = stream_id("end");
	end = fill(trid, id, 0);
	stream_end(trid);
	trid = log_open(fd);
	log_expect(trid, POSIX_TRACE_START, &e);
	CHECK_EQ("SHUT-7", log_run(trid, id, 0, &e), end - 1);
	CHECK_EQ("SHUT-7 START-13", e.info.posix_event_id, POSIX_TRACE_STOP);
	CHECK_NE("SHUT-7 START-13", log_int(&e), 0);
	CHECK_EQ("SHUT-1 START-6", log_try(trid, &e), 0);
	CHECK_LOST("STAT-5", lost_events(trid), ==, 1);
	log_close(trid);
}

/* The call returns when everything is written, and not before. */
struct ender {
	trace_id_t trid;
	int result;
	atomic_int done;
};

static void *ender_run(void *arg)
{
	struct ender *e = arg;

	e->result = posix_trace_shutdown(e->trid);
	atomic_store(&e->done, 1);
	return NULL;
}

TEST(waits)
{
	struct ender ender = { .result = -1 };
	struct log_sink sink;
	int fd = log_pipe(&sink);
	pthread_t thread;

	id = stream_id("end");
	ender.trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 1 << 20, 0, fd);
	log_sink_hold(&sink);
	log_send(id, 0, 3000);
	MUST(pthread_create(&thread, NULL, ender_run, &ender) == 0);
	/* When the write has begun, the pipe holds one page and blocks the rest. */
	log_wait_readable(sink.from);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ("SHUT-8", atomic_load(&ender.done), 0);
		sleep_ms(5);
	}
	log_sink_release(&sink);
	MUST(pthread_join(thread, NULL) == 0);
	CHECK_EQ("SHUT-7", ender.result, 0);
	close(fd);
	CHECK_LOG("SHUT-7 SHUT-8", log_sink_file(&sink), id, 0, 3000);
}

/* -- Shutdowns that fail --------------------------------------------------------------- */

/*
 * Checks that the shutdown fails and the stream has ended: its identifier is invalid, trace points do nothing, and a
 * new stream can be created. What had been written can be read.
 */
static void check_gone(const char *ids, int line, trace_id_t trid, int fd, unsigned written)
{
	struct stream_event e;
	int error = posix_trace_shutdown(trid);
	unsigned number;

	if (error != EINVAL)
		TEST_FAIL(ids, "line %d: the second shutdown returns %d", line, error);
	posix_trace_event(id, NULL, 0);
	stream_end(stream_running(NULL));
	if (fd < 0)
		return;
	if (fcntl(fd, F_GETFD) < 0)
		TEST_FAIL(ids, "line %d: the descriptor is closed", line);
	trid = log_open(fd);
	log_expect_other(trid, POSIX_TRACE_START, &e);
	number = log_run(trid, id, 0, &e);
	if (number < written)
		TEST_FAIL(ids, "line %d: %u events of %u", line, number, written);
	log_close(trid);
}
#define CHECK_GONE(ids, ...) check_gone(ids, __LINE__, __VA_ARGS__)

TEST(file_size_limit)
{
	id = stream_id("end");
	for (int s = 0; s < 3; s++) {
		struct rlimit limit;
		rlim_t before;
		int fd = log_file();
		trace_id_t trid = log_running(stream_policies[s], POSIX_TRACE_APPEND, 1 << 20, 0, fd);

		log_send(id, 0, 100);
		MUST(posix_trace_flush(trid) == 0);
		MUST(getrlimit(RLIMIT_FSIZE, &limit) == 0);
		before = limit.rlim_cur;
		limit.rlim_cur = (rlim_t)log_length(fd) + 2000;
		MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
		log_send(id, 100, 2000);
		CHECK_EQ("SHUT-12 DOC-2", posix_trace_shutdown(trid), EFBIG);
		limit.rlim_cur = before;
		MUST(setrlimit(RLIMIT_FSIZE, &limit) == 0);
		CHECK_GONE("SHUT-14 SHUT-4 SHUT-16", trid, fd, 100);
		close(fd);
	}
}

TEST(full_device)
{
	int fd;
	trace_id_t trid;

	disk("size=1m");
	fd = disk_file(0);
	id = stream_id("end");
	trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 4 << 20, 0, fd);
	log_send(id, 0, 100);
	MUST(posix_trace_flush(trid) == 0);
	disk_fill(0);
	log_send(id, 100, 2000);
	CHECK_EQ("SHUT-13 DOC-2", posix_trace_shutdown(trid), ENOSPC);
	CHECK_GONE("SHUT-14 SHUT-4 SHUT-16", trid, fd, 100);
}

TEST(reader_gone)
{
	int ends[2];
	trace_id_t trid;

	id = stream_id("end");
	MUST(pipe2(ends, O_CLOEXEC) == 0);
	trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 1 << 20, 0, ends[1]);
	log_send(id, 0, 100);
	close(ends[0]);
	CHECK_EQ("SHUT-14", posix_trace_shutdown(trid), EPIPE);
	CHECK_GONE("SHUT-14 SHUT-4", trid, -1, 0);
}

/* -- Other ways in which the controller ends ---------------------------------------------- */

enum { EXIT, EXIT_OF_THREAD, QUICK_EXIT, KILLED, ABORTED, EXECUTED, ENDS };

static void *exit_here(void *arg)
{
	exit(0);
	return arg;
}

/* A controller that traces itself with a log and ends in this way. */
static void control(int how, int stream_policy, int log_policy, const char *path)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	trace_id_t trid;
	pthread_t thread;
	sigset_t none;

	MUST(fd >= 0);
	trid = log_running(stream_policy, log_policy, 1 << 20, 4 << 20, fd);
	log_send(id, 0, 500);
	if (how % 2)
		MUST(posix_trace_flush(trid) == 0);
	log_send(id, 500, 1000);
	switch (how) {
	case EXIT:
		exit(0);
	case EXIT_OF_THREAD:
		MUST(pthread_create(&thread, NULL, exit_here, NULL) == 0);
		for (;;)
			pause();
	case QUICK_EXIT:
		_exit(0);
	case KILLED:
		raise(SIGKILL);
		break;
	case ABORTED:
		signal(SIGABRT, SIG_DFL);
		sigemptyset(&none);
		raise(SIGABRT);
		break;
	default:
		/* Continues as a program that copies its input to its output until its input ends. */
		execl("/bin/cat", "cat", (char *)NULL);
		_exit(99);
	}
}

static const char *log_path(void)
{
	static char path[64];

	if (!path[0])
		snprintf(path, sizeof path, "/dev/shm/posixtrace-log-%d", (int)getpid());
	return path;
}

static void end_so(int how, int another_comes)
{
	for (int s = 0; s < 3; s++) {
		for (int l = 0; l < 3; l++) {
			int to[2], from[2], fd;
			pid_t pid;
			char c;

			log_path();
			MUST(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
			MUST(write(to[1], "x", 1) == 1);
			pid = fork();
			if (pid == 0) {
				dup2(to[0], 0);
				dup2(from[1], 1);
				control(how, stream_policies[s], log_policies[l], log_path());
			}
			MUST(pid > 0);
			close(to[0]);
			close(from[1]);
			if (how == EXECUTED)
				MUST(read(from[0], &c, 1) == 1);
			else
				MUST(waitpid(pid, NULL, 0) == pid);
			if (another_comes)
				stream_end(stream_create(NULL));
			fd = open(log_path(), O_RDONLY | O_CLOEXEC);
			MUST(fd >= 0);
			/* Opened twice, the log is the same each time: all events and the STOP of a shutdown. */
			CHECK_LOG("SHUT-6 INH-14 MODEL-20 MODEL-31", fd, id, 0, 1500);
			CHECK_LOG("SHUT-6 INH-14 MODEL-20 MODEL-31", fd, id, 0, 1500);
			close(fd);
			MUST(unlink(log_path()) == 0);
			close(to[1]);
			close(from[0]);
			if (how == EXECUTED)
				MUST(waitpid(pid, NULL, 0) == pid);
		}
	}
}

/* After exit() the log is complete before a process reads it. */
TEST(by_exit)
{
	id = stream_id("end");
	for (int how = EXIT; how <= EXIT_OF_THREAD; how++)
		end_so(how, 0);
}

TEST(by_quick_exit)
{
	id = stream_id("end");
	end_so(QUICK_EXIT, 0);
	end_so(QUICK_EXIT, 1);
}

TEST(by_signal)
{
	id = stream_id("end");
	for (int how = KILLED; how <= ABORTED; how++) {
		end_so(how, 0);
		end_so(how, 1);
	}
}

TEST(by_exec)
{
	id = stream_id("end");
	end_so(EXECUTED, 0);
	end_so(EXECUTED, 1);
}

/* A copy of the log made after exit() is complete, so completing it needs no reader's help. */
TEST(exit_completes)
{
	int fd = log_file();
	pid_t pid;

	id = stream_id("end");
	pid = fork();
	if (pid == 0) {
		log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 1 << 20, 0, fd);
		log_send(id, 0, 2000);
		exit(0);
	}
	MUST(pid > 0 && waitpid(pid, NULL, 0) == pid);
	lseek(fd, 0, SEEK_SET);
	CHECK_LOG("SHUT-6 INH-14", log_copy(fd), id, 0, 2000);
}

/*
 * A child of the controller has copies of its memory and descriptors, but does not affect the log, whichever of them
 * ends first.
 */
TEST(child_of_the_controller)
{
	id = stream_id("end");
	for (int how = 0; how < 3; how++) {
		int to[2], from[2], fd;
		pid_t controller;
		char c = 0;

		log_path();
		MUST(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
		controller = fork();
		if (controller == 0) {
			trace_id_t trid;
			pid_t child;

			fd = open(log_path(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
			trid = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 1 << 20, 0, fd);
			log_send(id, 0, 100);
			child = fork();
			if (child == 0) {
				CHECK_EQ("INH-8 CREATE-15 FLUSH-10", posix_trace_flush(trid), EINVAL);
				CHECK_EQ("INH-8 CREATE-15 SHUT-11", posix_trace_shutdown(trid), EINVAL);
				posix_trace_event(id, NULL, 0); /* only the parent is traced */
				if (how == 0)
					exit(test_failures != 0);
				/* The others outlive the controller. */
				close(to[1]);
				MUST(read(to[0], &c, 1) == 0);
				_exit(test_failures != 0);
			}
			if (how == 0) {
				int status;

				MUST(waitpid(child, &status, 0) == child);
				CHECK_EQ("INH-8", status, 0);
			}
			log_send(id, 100, 100);
			if (how == 0)
				CHECK_EQ("INH-8 SHUT-7", posix_trace_shutdown(trid), 0);
			if (how == 1)
				exit(test_failures != 0);
			if (how == 2)
				raise(SIGKILL);
			_exit(test_failures != 0);
		}
		MUST(controller > 0);
		close(to[0]);
		MUST(waitpid(controller, NULL, 0) == controller);
		fd = open(log_path(), O_RDONLY | O_CLOEXEC);
		MUST(fd >= 0);
		CHECK_LOG("INH-8 SHUT-6 INH-14", fd, id, 0, 200);
		close(fd);
		MUST(unlink(log_path()) == 0);
		close(to[1]);
		close(from[0]);
		close(from[1]);
	}
}

TEST_MAIN(TEST_ENTRY(all_is_flushed), TEST_ENTRY(not_running), TEST_ENTRY(full), TEST_ENTRY(waits),
          TEST_ENTRY(file_size_limit), TEST_ENTRY(full_device), TEST_ENTRY(reader_gone), TEST_ENTRY(by_exit),
          TEST_ENTRY(by_quick_exit), TEST_ENTRY(by_signal), TEST_ENTRY(by_exec), TEST_ENTRY(exit_completes),
          TEST_ENTRY(child_of_the_controller))
