/*
 * log_process.c - a process with a log forks, executes, exits or closes descriptors while its flusher is active
 *
 * H1 to H3, H9, H21, H25, H27 for the thread that writes a log. In each test a creator lives in its own process and
 * stores in shared memory how many events it has recorded. The log that it leaves must have all of them.
 *
 * SPDX-License-Identifier: MIT
 */
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "fork.h"
#include "log.h"
#include "sanitizer.h"
#include "shm.h"

extern char **environ;

static trace_event_id_t id;

static struct shared {
	atomic_uint sent; /* number of recorded events */
	atomic_int ready, faults;
	atomic_bool ends; /* the process is ending: its identifiers may be invalid */
} *shared;

static const char *path(void)
{
	static char name[64];

	if (!name[0])
		snprintf(name, sizeof name, "/dev/shm/posixtrace-log-%d", (int)getpid());
	return name;
}

static void prepare(void)
{
	id = stream_id("process");
	path();
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(shared != MAP_FAILED);
}

static int create_file(void)
{
	int fd = open(path(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);

	MUST(fd >= 0);
	return fd;
}

static void send_one(void)
{
	number_send(id, 0, atomic_load(&shared->sent));
	atomic_fetch_add(&shared->sent, 1);
}

/* -- Threads of the creator --------------------------------------------------------- */

static trace_id_t stream;
static atomic_int over;

static void *flush_often(void *arg)
{
	while (!atomic_load(&over)) {
		int error = posix_trace_flush(stream);

		if (error && !atomic_load(&shared->ends))
			atomic_fetch_add(&shared->faults, 1);
		atomic_fetch_add(&shared->ready, 1);
	}
	return arg;
}

static void *flush_once(void *arg)
{
	posix_trace_flush(stream);
	return arg;
}

static pthread_t thread_start(void *(*run)(void *))
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, run, NULL) == 0);
	return thread;
}

/* -- What is left --------------------------------------------------------------------- */

/* Checks that the log has all recorded events; one more may have been in progress. Closes the file. */
static void check_left(const char *ids, int line, int fd)
{
	unsigned sent = atomic_load(&shared->sent), number;
	trace_id_t trid = log_open(fd);
	struct stream_event e;

	log_expect_other(trid, POSIX_TRACE_START, &e);
	number = log_run(trid, id, 0, &e);
	if (number < sent || number > sent + 1)
		TEST_FAIL(ids, "line %d: %u events, %u were recorded", line, number, sent);
	if (e.info.posix_event_id != POSIX_TRACE_STOP)
		TEST_FAIL(ids, "line %d: behind the last event there is type %u", line, e.info.posix_event_id);
	if (log_try_other(trid, &e))
		TEST_FAIL(ids, "line %d: behind the STOP there is type %u", line, e.info.posix_event_id);
	log_close(trid);
	close(fd);
}
#define CHECK_LEFT(ids, fd) check_left(ids, __LINE__, fd)

static int log_left(void)
{
	int fd = open(path(), O_RDONLY | O_CLOEXEC);

	MUST(fd >= 0);
	MUST(unlink(path()) == 0);
	return fd;
}

/* Returns a copy of the log, which cannot be completed any more: so the log was complete. */
static int copy_left(void)
{
	int fd = log_left(), copy = log_copy(fd);

	close(fd);
	return copy;
}

/* -- Children, while a flush runs -------------------------------------------------------- */

enum { FORK, UNDERSCORE, CLONE, WAYS };

static pid_t make_child(int way)
{
	return way == UNDERSCORE && !SANITIZER_THREAD ? fork_underscore()
	       : way == CLONE && !SANITIZER_THREAD    ? fork_clone()
	                                              : fork();
}

/* Returns the number of this process's threads. Async-signal-safe, for a child. */
static int threads_of_mine(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) == 0 ? (int)st.st_nlink - 2 : -1;
}

/* Runs the child. Returns its exit status, a mask of what is wrong. */
static int child_of(int way, trace_id_t parents, int log)
{
	struct posix_trace_status_info status;
	int wrong = 0;

	alarm((unsigned)(20 * test_slow()));
	wrong |= posix_trace_flush(parents) != EINVAL;
	wrong |= (posix_trace_get_status(parents, &status) != EINVAL) << 1;
	wrong |= (posix_trace_shutdown(parents) != EINVAL) << 2;
	if (!SANITIZER_THREAD) /* ThreadSanitizer has a thread of its own */
		wrong |= (threads_of_mine() != 1) << 3;
	posix_trace_event(id, "of the child", 12);
	close(log);
	/* The child makes its own log, unless the C library does not know that this is a child. */
	if (way == FORK && !SANITIZER_THREAD && !SANITIZER_ADDRESS) {
		int fd = log_file();
		trace_id_t own = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 0, 0, fd);

		log_send(id, 0, 200);
		wrong |= (posix_trace_flush(own) != 0) << 4;
		log_send(id, 200, 100);
		wrong |= (posix_trace_shutdown(own) != 0) << 5;
		CHECK_LOG("INH-8 CREATE-15 SHUT-7", fd, id, 0, 300);
		close(fd);
	}
	return wrong | (test_failures != 0) << 6;
}

TEST(children_while_flushing)
{
	prepare();
	for (int way = 0; way < WAYS; way++) {
		struct log_flusher flusher;
		struct log_sink sink;
		int fd = log_pipe(&sink), status, to[2], from[2];
		char c = 1;
		pid_t pid;

		MUST(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
		atomic_store(&shared->sent, 0);
		stream = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 1 << 20, 0, fd);
		log_sink_hold(&sink);
		for (int i = 0; i < 3000; i++)
			send_one();
		log_flusher_start(&flusher, stream);
		log_wait_readable(sink.from); /* the flusher is in the middle of a write, and blocks there */
		pid = make_child(way);
		if (pid == 0) {
			c = (char)child_of(way, stream, fd);
			MUST(write(from[1], &c, 1) == 1);
			close(to[1]);
			/* The child outlives the parent's stream. */
			while (read(to[0], &c, 1) < 0 && errno == EINTR)
				;
			if (way == FORK)
				exit(0);
			_exit(0);
		}
		MUST(pid > 0);
		MUST(read(from[0], &c, 1) == 1);
		CHECK_EQ("INH-8 CREATE-15", c, 0);
		CHECK_EQ("-", atomic_load(&flusher.done), 0);
		log_sink_release(&sink);
		CHECK_EQ("FLUSH-20 INH-8", log_flusher_result(&flusher), 0);
		send_one();
		CHECK_EQ("SHUT-7 INH-8", posix_trace_shutdown(stream), 0);
		close(fd);
		/* End of file on the pipe: the child has closed the descriptor that it knows, and has no further
		 * one. */
		CHECK_LEFT("INH-8 SHUT-7", log_sink_file(&sink));
		MUST(write(to[1], &c, 1) == 1);
		MUST(waitpid(pid, &status, 0) == pid);
		CHECK_EQ("INH-8", status, 0);
		for (int i = 0; i < 2; i++) {
			close(to[i]);
			close(from[i]);
		}
	}
}

/* Returns the number of descriptors of a program that a child executes, by vfork() or posix_spawn(). */
static int program(int spawn)
{
	static char script[] = "set -- /proc/$$/fd/*; exit $#";
	char *argv[] = { (char *)"sh", (char *)"-c", script, NULL };
	int status;
	pid_t pid;

	if (spawn) {
		MUST(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) == 0);
	} else {
		pid = vfork();
		if (pid == 0) {
			execv("/bin/sh", argv);
			_exit(0);
		}
	}
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Children that execute other programs while another thread flushes inherit no descriptor of the log. */
TEST(programs_while_flushing)
{
	int fd, before;
	pthread_t thread;

	prepare();
	before = program(0);
	CHECK_OP("-", before, >=, 3);
	fd = create_file();
	stream = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 1 << 20, 0, fd);
	thread = thread_start(flush_often);
	for (int i = 0; i < 20; i++) {
		send_one();
		CHECK_EQ("INH-8", program(i % 2), before);
	}
	atomic_store(&over, 1);
	pthread_join(thread, NULL);
	CHECK_EQ("FLUSH-20", atomic_load(&shared->faults), 0);
	CHECK_EQ("SHUT-7", posix_trace_shutdown(stream), 0);
	close(fd);
	CHECK_LEFT("SHUT-7 INH-8", copy_left());
}

/* A child becomes a daemon, closes all descriptors, and survives. The log belongs to the creator, and is complete after
 * its end. */
TEST(daemon_of_a_child)
{
	prepare();
	for (int parent_ends = 0; parent_ends < 2; parent_ends++) {
		int to[2], from[2], status;
		pid_t pid;
		char c;

		atomic_store(&shared->sent, 0);
		MUST(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
		pid = fork();
		if (pid == 0) {
			stream = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 1 << 20, 0, create_file());
			for (int i = 0; i < 100; i++)
				send_one();
			pid = fork();
			if (pid == 0) {
				setsid();
				if (fork() != 0)
					_exit(0);
				dup2(to[0], 3);
				dup2(from[1], 4);
				for (int fd = 5; fd < 1024; fd++)
					close(fd);
				c = posix_trace_flush(stream) == EINVAL;
				MUST(write(4, &c, 1) == 1);
				_exit(read(3, &c, 1) != 0);
			}
			MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
			for (int i = 0; i < 100; i++)
				send_one();
			if (parent_ends)
				_exit(0);
			exit(test_failures != 0);
		}
		MUST(pid > 0);
		close(to[0]);
		close(from[1]);
		MUST(read(from[0], &c, 1) == 1);
		CHECK_EQ("INH-8", c, 1);
		MUST(waitpid(pid, &status, 0) == pid);
		CHECK_EQ("-", status, 0);
		/* exit() completes the log. After _exit() the next process that opens it does so, although a child is
		 * alive. */
		CHECK_LEFT("SHUT-6 INH-14", parent_ends ? log_left() : copy_left());
		close(to[1]);
		close(from[0]);
	}
}

/* -- Ends while all threads are active ------------------------------------------------------- */

enum { EXIT, EXIT_OF_HANDLER, QUICK_EXIT, MAIN_ENDED, TERMINATED, ABORTED, EXECUTED, ENDS };

static void exit_now(int sig)
{
	(void)sig;
	exit(0);
}

static void *exit_soon(void *arg)
{
	int before = atomic_load(&shared->ready);

	while (atomic_load(&shared->ready) < before + 3)
		sched_yield();
	atomic_store(&shared->ends, 1);
	exit(0);
	return arg;
}

/* Ends this process while two threads record and flush, a little later in each round. */
static void live_and_end(int how, int stream_policy, int log_policy, int round)
{
	struct sigaction action = { .sa_handler = exit_now };
	pthread_t thread[2];
	sigset_t none;

	alarm((unsigned)(20 * test_slow()));
	stream = log_running(stream_policy, log_policy, 1 << 20, 16 << 20, create_file());
	thread[0] = thread_start(flush_often);
	thread[1] = how == QUICK_EXIT || how == EXECUTED ? thread_start(flush_often) : thread[0];
	/* Do not record more than the stream can hold. */
	while (atomic_load(&shared->ready) < 2)
		sched_yield();
	for (int i = 0; i < 2000 + round * 37; i++)
		send_one();
	atomic_store(&shared->ends, how != MAIN_ENDED);
	switch (how) {
	case EXIT:
		exit(0);
	case EXIT_OF_HANDLER:
		/* In the thread that flushes: the handler interrupts it at any place. */
		sigaction(SIGUSR1, &action, NULL);
		pthread_kill(thread[0], SIGUSR1);
		for (;;)
			pause();
	case QUICK_EXIT:
		quick_exit(0);
	case MAIN_ENDED:
		thread_start(exit_soon);
		pthread_exit(NULL);
	case TERMINATED:
		signal(SIGTERM, SIG_DFL);
		kill(getpid(), SIGTERM);
		for (;;)
			pause();
	case ABORTED:
		signal(SIGABRT, SIG_DFL);
		abort();
	default:
		sigemptyset(&none);
		execl("/bin/true", "true", (char *)NULL);
		_exit(99);
	}
}

static void end_so(int how)
{
	static const int stream_policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH };
	static const int log_policies[] = { POSIX_TRACE_APPEND, POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL };

	prepare();
	for (int round = 0; round < 9; round++) {
		int status;
		pid_t pid;

		memset(shared, 0, sizeof *shared);
		fflush(stderr);
		pid = fork();
		if (pid == 0)
			live_and_end(how, stream_policies[round % 3], log_policies[round / 3], round);
		MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
		if (how == TERMINATED)
			CHECK_EQ("-", WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, 1);
		else if (how != ABORTED) /* sanitizers turn an abort into an exit */
			CHECK_EQ("-", status, 0);
		CHECK_EQ("FLUSH-20", atomic_load(&shared->faults), 0);
		CHECK_LEFT("SHUT-6 INH-14 MODEL-20", log_left());
	}
}

/* -- The end of the last thread ------------------------------------------------------------- */

static void *send_some(void *arg)
{
	for (int i = 0; i < 500; i++)
		send_one();
	usleep(50000);
	printf("the last words");
	return arg;
}

static void at_exit(void)
{
	atomic_store(&shared->ready, 77);
}

/* main() and the last thread end without a call of exit(). Two logs make more than one thread of the library. */
TEST(last_thread_ends)
{
	if (SANITIZER_THREAD || test_in_valgrind())
		SKIP("has threads of its own, or keeps the first one");
	prepare();
	for (int round = 0; round < 3; round++) {
		int out[2], status;
		char words[64] = "";
		pid_t pid;

		memset(shared, 0, sizeof *shared);
		MUST(pipe2(out, O_CLOEXEC) == 0);
		pid = fork();
		if (pid == 0) {
			alarm((unsigned)(20 * test_slow()));
			MUST(dup2(out[1], 1) == 1);
			setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
			atexit(at_exit);
			stream = log_running(round == 1 ? POSIX_TRACE_LOOP : POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND,
			                     1 << 20, 0, create_file());
			if (round == 2)
				log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 1 << 20, 0, log_file());
			if (round > 0)
				thread_start(send_some);
			else
				send_some(NULL);
			pthread_exit(NULL);
		}
		MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
		CHECK_EQ("-", status, 0);
		CHECK_EQ("-", atomic_load(&shared->ready), 77);
		close(out[1]);
		CHECK_EQ("-", read(out[0], words, sizeof words - 1), strlen("the last words"));
		CHECK_STR("-", words, "the last words");
		close(out[0]);
		CHECK_EQ("-", atomic_load(&shared->sent), 500);
		CHECK_LEFT("SHUT-6 INH-14 MODEL-20", copy_left());
	}
}

TEST(exits)            { end_so(EXIT); }
TEST(exits_in_handler) { end_so(EXIT_OF_HANDLER); }
TEST(exits_quickly)    { end_so(QUICK_EXIT); }
TEST(main_has_ended)   { end_so(MAIN_ENDED); }
TEST(terminated)       { end_so(TERMINATED); }
TEST(aborted)          { end_so(ABORTED); }
TEST(executes)         { end_so(EXECUTED); }

/* exit() does not wait for a reader of its log if another thread is already waiting for it. This reader never
 * continues. */
TEST(exit_beside_a_flush_that_hangs)
{
	struct log_sink sink;
	int fd = log_pipe(&sink), status;
	pid_t pid;

	prepare();
	log_sink_hold(&sink);
	pid = fork();
	if (pid == 0) {
		alarm((unsigned)(20 * test_slow()));
		stream = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 1 << 20, 0, fd);
		log_send(id, 0, 3000);
		thread_start(flush_once);
		log_wait_readable(sink.from);
		while (stream_status(stream).posix_stream_flush_status != POSIX_TRACE_FLUSHING)
			sched_yield();
		exit(test_failures != 0);
	}
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK_EQ("SHUT-6", status, 0);
	close(fd);
	log_sink_release(&sink);
	close(log_sink_file(&sink));
	/* Other streams are not affected. */
	stream_end(stream_running(NULL));
}

/* -- Signals ------------------------------------------------------------------------------------ */

static volatile sig_atomic_t handled;
static atomic_int aim_over;
static pthread_t aimed_at;

static void on_signal(int sig)
{
	(void)sig;
	handled = handled + 1;
	if (!pthread_equal(pthread_self(), aimed_at))
		atomic_fetch_add(&shared->faults, 1);
	posix_trace_event(id, NULL, 0);
}

static void *aim(void *arg)
{
	while (!atomic_load(&aim_over)) {
		pthread_kill(aimed_at, SIGUSR1);
		kill(getpid(), SIGUSR2); /* goes to any thread with the signal unblocked */
		usleep(50);
	}
	return arg;
}

/* Endless signals, with and without SA_RESTART: no call is interrupted, and no signal reaches the flusher. */
TEST(signals_without_end)
{
	prepare();
	for (int restart = 0; restart < 2; restart++) {
		struct sigaction action = { .sa_handler = on_signal, .sa_flags = restart ? SA_RESTART : 0 };
		sigset_t set;
		pthread_t thread;

		MUST(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGUSR2, &action, NULL) == 0);
		aimed_at = pthread_self();
		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		atomic_store(&aim_over, 0);
		/* The new thread inherits a mask that blocks the signals, so only this thread and the flusher can get
		 * them. */
		sigaddset(&set, SIGUSR1);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		thread = thread_start(aim);
		pthread_sigmask(SIG_UNBLOCK, &set, NULL);
		for (int round = 0; round < 20; round++) {
			int fd = log_file(), unavailable = 0, error;
			size_t n = 0;
			struct stream_event e;
			trace_id_t trid = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 1 << 20, 0, fd);

			for (int i = 0; i < 5; i++) {
				log_send(id, 0, 100);
				CHECK_EQ("FLUSH-20 THR-6", posix_trace_flush(trid), 0);
			}
			CHECK_EQ("SHUT-10 THR-6", posix_trace_shutdown(trid), 0);
			CHECK_EQ("OPEN-1", posix_trace_open(fd, &trid), 0);
			while ((error = posix_trace_getnext_event(trid, &e.info, e.data, sizeof e.data, &e.len,
			                                          &unavailable)) == 0 &&
			       !unavailable)
				n += e.info.posix_event_id == id && e.len == NUMBER_SIZE;
			CHECK_EQ("READ-25", error, 0);
			CHECK_EQ("FLUSH-1 SHUT-7", n, 500);
			log_close(trid);
			close(fd);
		}
		atomic_store(&aim_over, 1);
		pthread_join(thread, NULL);
		CHECK_NE("-", handled, 0);
		CHECK_EQ("-", atomic_load(&shared->faults), 0);
	}
}

/* A signal that all threads of the application block stays pending. */
TEST(signal_that_all_block)
{
	trace_id_t trid;
	sigset_t set;

	prepare();
	trid = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 0, 0, log_file());
	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGUSR1, exit_now);
	for (int i = 0; i < 20; i++) {
		kill(getpid(), SIGTERM); /* the process would end if it were delivered */
		kill(getpid(), SIGUSR1);
		log_send(id, 0, 100);
		CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
		sigpending(&set);
		CHECK("-", sigismember(&set, SIGTERM) && sigismember(&set, SIGUSR1));
	}
	stream_end(trid);
}

/* -- Before and after main() ----------------------------------------------------------------------- */

static const char *edge; /* not null: edges, how this program ends, as run by constructors_and_destructors */
static trace_id_t early_stream;
static int early_error;

static void edge_fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", edge, what);
	_exit(1);
}

__attribute__((constructor(101))) static void early(void)
{
	trace_attr_t attr;
	int fd;

	edge = getenv("LOG_PROCESS");
	if (!edge)
		return;
	fd = open(getenv("LOG_PATH"), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	early_error |= posix_trace_eventid_open("process", &id);
	early_error |= posix_trace_attr_init(&attr);
	early_error |= posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_FLUSH);
	/* The default is 64 MiB, which a container's /dev/shm does not have. */
	early_error |= posix_trace_attr_setlogsize(&attr, 1 << 20);
	early_error |= posix_trace_create_withlog(0, &attr, fd, &early_stream);
	early_error |= posix_trace_start(early_stream);
	log_send(id, 0, 10);
	early_error |= posix_trace_flush(early_stream);
}

/* Runs after destructors without a priority, and before the library's destructor. With the static library it is the
 * other way round. */
__attribute__((destructor(101))) static void late(void)
{
	if (!edge)
		return;
	log_send(id, 20, 10);
	if (strcmp(edge, "shutdown") == 0 && posix_trace_shutdown(early_stream) != 0)
		edge_fail("shutdown");
	if (strcmp(edge, "flush") == 0 && posix_trace_flush(early_stream) != 0)
		edge_fail("flush");
	if (strcmp(edge, "create") == 0) {
		/* Create another stream when the process has almost ended. */
		trace_id_t trid;

		if (posix_trace_shutdown(early_stream) != 0)
			edge_fail("shutdown");
		trid = log_running(POSIX_TRACE_FLUSH, POSIX_TRACE_APPEND, 0, 0, log_file());

		log_send(id, 0, 10);
		if (posix_trace_shutdown(trid) != 0)
			edge_fail("create");
	}
}

TEST(constructors_and_destructors)
{
	static const char *const how[] = { "return", "exit", "flush", "shutdown", "create" };

#ifdef STATIC_LIBRARY
	SKIP("linked statically the library ends before the program's last destructors");
#endif
	prepare();
	for (int i = 0; i < 5; i++) {
		int status, fd;
		pid_t pid = fork();

		if (pid == 0) {
			setenv("LOG_PROCESS", how[i], 1);
			setenv("LOG_PATH", path(), 1);
			execl("/proc/self/exe", "log_process", (char *)NULL);
			_exit(99);
		}
		MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
		CHECK_EQ("-", status, 0);
		fd = copy_left();
		CHECK_LOG("SHUT-6 SHUT-7 INH-14", fd, id, 0, 30);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST_ENTRY(children_while_flushing),
		TEST_ENTRY(programs_while_flushing),
		TEST_ENTRY(daemon_of_a_child),
		TEST_ENTRY(last_thread_ends),
		TEST_ENTRY(exits),
		TEST_ENTRY(exits_in_handler),
		TEST_ENTRY(exits_quickly),
		TEST_ENTRY(main_has_ended),
		TEST_ENTRY(terminated),
		TEST_ENTRY(aborted),
		TEST_ENTRY(executes),
		TEST_ENTRY(exit_beside_a_flush_that_hangs),
		TEST_ENTRY(signals_without_end),
		TEST_ENTRY(signal_that_all_block),
		TEST_ENTRY(constructors_and_destructors),
		{ NULL, NULL },
	};

	if (edge) {
		if (early_error)
			return 3;
		log_send(id, 10, 10);
		if (strcmp(edge, "exit") == 0)
			exit(0);
		return 0;
	}
	return test_main(tests, argc, argv);
}
