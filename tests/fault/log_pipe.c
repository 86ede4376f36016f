/*
 * log_pipe.c - a log that is piped to a reader that is slow, stops or exits
 *
 * The reader is another process, which copies the log to a file. It is stopped and killed by signals. Trace points
 * notice none of this, nothing is lost while the stream has room, no signal reaches the program, and the copy can be
 * opened.
 *
 * SPDX-License-Identifier: MIT
 */
#include <poll.h>
#include <sys/socket.h>

#include "log_file.h"

#define COPY_PATH "/dev/shm/copy"
#define FIFO_PATH "/dev/shm/fifo"

/* -- Links between log and reader ----------------------------------------------------- */

enum { PIPE, PIPE_NONBLOCK, FIFO, STREAM, STREAM_NONBLOCK, PACKETS, DATAGRAMS, LINKS };

static const char *const link_name[LINKS] = {
	"pipe",          "pipe, O_NONBLOCK", "FIFO", "stream socket", "stream socket, O_NONBLOCK",
	"packet socket", "datagram socket",
};

static bool nonblocking(int kind)
{
	return kind == PIPE_NONBLOCK || kind == STREAM_NONBLOCK;
}

static bool is_socket(int kind)
{
	return kind >= STREAM;
}

/* Opens a link with the smallest possible buffer: end[0] to read from, end[1] to write to. */
static void link_open(int kind, int end[2])
{
	static const int type[LINKS] = {
		[STREAM] = SOCK_STREAM,
		[STREAM_NONBLOCK] = SOCK_STREAM,
		[PACKETS] = SOCK_SEQPACKET,
		[DATAGRAMS] = SOCK_DGRAM,
	};
	int least = 1;

	if (is_socket(kind)) {
		MUST(socketpair(AF_UNIX, type[kind] | SOCK_CLOEXEC, 0, end) == 0);
		MUST(setsockopt(end[1], SOL_SOCKET, SO_SNDBUF, &least, sizeof least) == 0);
	} else if (kind == FIFO) {
		MUST(mkfifo(FIFO_PATH, 0600) == 0 || errno == EEXIST);
		end[0] = log_open(FIFO_PATH, O_RDONLY | O_NONBLOCK);
		end[1] = log_open(FIFO_PATH, O_WRONLY);
		MUST(fcntl(end[0], F_SETFL, 0) == 0);
	} else {
		MUST(pipe2(end, O_CLOEXEC) == 0);
	}
	if (!is_socket(kind))
		MUST(fcntl(end[1], F_SETPIPE_SZ, 4096) >= 0);
	if (nonblocking(kind))
		MUST(fcntl(end[1], F_SETFL, O_NONBLOCK) == 0);
}

/* -- The reader -------------------------------------------------------------------------- */

static pid_t reader;

/* Copies at most `most` bytes, in steps, with a pause after each. */
static void copy(int from, int to, size_t step, long pause_us, size_t most)
{
	static char bytes[1 << 20];

	while (most > 0) {
		size_t size = step < most ? step : most;
		ssize_t n = read(from, bytes, size);

		MUST(n >= 0);
		if (n == 0)
			break;
		MUST(write(to, bytes, (size_t)n) == n);
		most -= (size_t)n;
		if (pause_us)
			usleep((useconds_t)pause_us);
	}
}

/* Starts the reader. Returns the descriptor to write to. `most` 0: no limit. */
static int reader_start(int kind, size_t step, long pause_us, size_t most)
{
	int end[2], to = log_open(COPY_PATH, O_WRONLY | O_CREAT | O_TRUNC);

	link_open(kind, end);
	/* A message is truncated if it is not read at once. */
	if (kind >= PACKETS)
		step = 1 << 20;
	fflush(stdout);
	reader = fork();
	if (reader == 0) {
		close(end[1]);
		copy(end[0], to, step, pause_us, most ? most : SIZE_MAX);
		_exit(test_failures ? 1 : 0);
	}
	MUST(reader > 0);
	close(end[0]);
	close(to);
	return end[1];
}

static void reader_stop(void)
{
	int status;

	MUST(kill(reader, SIGSTOP) == 0 && waitpid(reader, &status, WUNTRACED) == reader && WIFSTOPPED(status));
}

static void reader_go_on(void)
{
	MUST(kill(reader, SIGCONT) == 0);
}

static void reader_kill(void)
{
	MUST(kill(reader, SIGKILL) == 0 && waitpid(reader, NULL, 0) == reader);
}

/* Waits for the reader, which ends because the last writer has closed the link. */
static void reader_finished(void)
{
	int status;

	MUST(waitpid(reader, &status, 0) == reader);
	CHECK_EQ("SHUT-2", status, 0);
}

/* Ends the reader. A reader of datagrams does not notice that its writer has closed the socket, so it gets an empty
 * message. */
static void reader_end(int kind, int fd)
{
	struct stat st;

	if (kind == DATAGRAMS)
		MUST(send(fd, &st, 0, 0) == 0);
	close(fd);
	reader_finished();
}

/* -- Forbidden effects ------------------------------------------------------------------- */

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	signals++;
}

/* Makes SIGPIPE kill this process, or counts the signals. */
static void sigpipe(bool handled)
{
	signals = 0;
	MUST(signal(SIGPIPE, handled ? count_signal : SIG_DFL) != SIG_ERR);
}

static void check_no_signal(void)
{
	sigset_t pending;

	MUST(sigpending(&pending) == 0);
	CHECK("-", !sigismember(&pending, SIGPIPE));
	CHECK_EQ("-", signals, 0);
}

static int64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Checks that waiting threads sleep. */
static void check_idle(void)
{
	int64_t before = cpu_time();

	usleep(300000);
	CHECK_OP("-", cpu_time() - before, <, 100000000);
}

static void start(int fd, int policy, size_t stream_size)
{
	log_number = 0;
	MUST(log_try(0, fd, policy, 100 << 20, 0, stream_size) == 0 && posix_trace_start(log_trid) == 0);
}

static bool reader_error(int error)
{
	return error == EPIPE || error == ECONNRESET || error == ECONNREFUSED || error == ENOTCONN;
}

/* -- A slow reader --------------------------------------------------------------------------- */

/* Data that waits for the reader is in the stream. */
TEST(slow_reader)
{
	shm_private("");
	for (int kind = 0; kind < LINKS; kind++) {
		int policy = kind % 2 ? POSIX_TRACE_UNTIL_FULL : POSIX_TRACE_APPEND;
		int failures = test_failures, fd = reader_start(kind, 2048, 200, 0);
		struct log_seen seen;

		sigpipe(false);
		start(fd, policy, 1 << 20);
		reader_stop();
		log_record(2500);
		CHECK_EQ("-", log_lost(), 0);
		check_idle();
		reader_go_on();
		log_record(100);
		CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
		log_record(100);
		CHECK_EQ("FLUSH-16", log_flush_error(), 0);
		CHECK_EQ("SHUT-7 SHUT-8", posix_trace_shutdown(log_trid), 0);
		CHECK_EQ("SHUT-16", fcntl(fd, F_GETFD), FD_CLOEXEC);
		reader_end(kind, fd);
		seen = log_read_file(COPY_PATH);
		log_check_all(&seen);
		check_no_signal();
		log_check_gone();
		if (failures != test_failures)
			printf("  %s\n", link_name[kind]);
	}
}

/* An event's data and its segment are longer than one message of the socket. */
TEST(long_segments)
{
	shm_private("");
	for (int kind = STREAM; kind < LINKS; kind++) {
		int fd = reader_start(kind, 1 << 20, 0, 0);
		struct log_seen seen;

		start(fd, POSIX_TRACE_APPEND, 4 << 20);
		log_record(20000);
		CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
		CHECK_EQ("FLUSH-16", log_flush_error(), 0);
		CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
		reader_end(kind, fd);
		seen = log_read_file(COPY_PATH);
		log_check_all(&seen);
	}
}

/* The application closes its descriptors, and the flusher has the only one. */
TEST(closed_by_application)
{
	shm_private("");
	for (int kind = 0; kind < DATAGRAMS; kind++) {
		int fd = reader_start(kind, 4096, 0, 0);
		struct log_seen seen;

		start(fd, POSIX_TRACE_APPEND, 1 << 20);
		log_record(100);
		close(fd);
		log_record(1000);
		CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
		log_record(100);
		CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
		/* The flusher closes its own at shutdown. */
		reader_finished();
		seen = log_read_file(COPY_PATH);
		log_check_all(&seen);
	}
}

static bool lost_much(void *arg)
{
	log_record(100);
	return log_lost() > 5000;
}

static bool nothing_lost_more(void *arg)
{
	uint64_t *before = arg, now;

	log_record(10);
	now = log_lost();
	if (now == *before)
		return true;
	*before = now;
	return false;
}

/* More than the stream can hold: events are lost and counted, and then the log continues. */
TEST(stopped_for_long)
{
	shm_private("");
	for (int kind = 0; kind < LINKS; kind++) {
		int failures = test_failures, fd = reader_start(kind, 1 << 16, 0, 0);
		struct log_seen seen;
		uint64_t lost;

		sigpipe(false);
		start(fd, POSIX_TRACE_APPEND, 65536);
		log_record(100);
		CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
		reader_stop();
		log_record(10000);
		CHECK("FLUSH-14", log_wait(lost_much, NULL));
		check_idle();
		CHECK_EQ("FLUSH-16", log_flush_error(), 0); /* no error, only a delay */
		lost = log_lost();
		reader_go_on();
		CHECK("FLUSH-14", log_wait(nothing_lost_more, &lost));
		log_record(100);
		CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
		reader_end(kind, fd);
		seen = log_read_file(COPY_PATH);
		CHECK_EQ("OPEN-8", seen.error, 0);
		CHECK("-", seen.first == 1 && seen.last == log_number);
		CHECK_EQ("-", seen.count + seen.status.__posix_lost_events, log_number);
		CHECK_EQ("-", seen.missing, seen.status.__posix_lost_events);
		CHECK("FLUSH-14", seen.stopped > 0 && seen.starts == seen.stopped + 1);
		check_no_signal();
		if (failures != test_failures)
			printf("  %s\n", link_name[kind]);
	}
}

/* -- The reader is gone ------------------------------------------------------------------------ */

static bool flush_error_reported(void *arg)
{
	int error = log_flush_error();

	CHECK("FLUSH-16", error == 0 || reader_error(error));
	return error != 0;
}

/* SIGPIPE would kill this process, or run the handler. */
TEST(gone)
{
	shm_private("");
	for (int kind = 0; kind < LINKS; kind++) {
		for (int handled = 0; handled < 2; handled++) {
			int failures = test_failures, fd = reader_start(kind, 1 << 16, 0, 0);

			sigpipe(handled);
			start(fd, POSIX_TRACE_APPEND, 65536);
			log_record(100);
			CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
			reader_kill();
			log_record(100);
			CHECK("FLUSH-20", reader_error(posix_trace_flush(log_trid)));
			CHECK("FLUSH-16", reader_error(log_flush_error()));
			/* The program can continue as long as it likes. */
			log_record(10000);
			CHECK("FLUSH-14", log_wait(lost_much, NULL));
			if (!handled) {
				check_idle();
				CHECK("FLUSH-16", log_wait(flush_error_reported, NULL));
			}
			CHECK_EQ("FLUSH-20", posix_trace_stop(log_trid), 0);
			CHECK("FLUSH-20", reader_error(posix_trace_flush(log_trid)));
			CHECK_EQ("FLUSH-20", posix_trace_start(log_trid), 0);
			log_record(100);
			CHECK("SHUT-8", reader_error(posix_trace_shutdown(log_trid)));
			CHECK_EQ("SHUT-14 SHUT-4", posix_trace_shutdown(log_trid), EINVAL);
			CHECK_EQ("SHUT-16", fcntl(fd, F_GETFD), FD_CLOEXEC);
			close(fd);
			check_no_signal();
			log_check_gone();
			if (failures != test_failures)
				printf("  %s\n", link_name[kind]);
		}
	}
}

/* The reader is gone before there is anything to read. */
TEST(gone_before)
{
	shm_private("");
	fault_works(fault_open("other"));
	for (int kind = 0; kind < LINKS; kind++) {
		for (int handled = 0; handled < 2; handled++) {
			int end[2], before;

			sigpipe(handled);
			link_open(kind, end);
			close(end[0]);
			before = shm_descriptors();
			CHECK("LOG-12", reader_error(log_try(0, end[1], POSIX_TRACE_APPEND, 0, 0, 0)));
			CHECK_EQ("-", shm_descriptors(), before);
			check_no_signal();
			log_check_gone();
			close(end[1]);
		}
	}
}

static uint32_t copied_before; /* events of the reader that has read fewer bytes */

/* Checks that the copy can be opened and read as far as it goes, wherever the reader has stopped. */
static void check_copy_begins(size_t most)
{
	struct log_seen seen = log_read_file(COPY_PATH);

	CHECK("OPEN-8", seen.error == 0 || seen.error == EINVAL);
	if (seen.error)
		CHECK_OP("OPEN-8", most, <, 4096); /* less than the header */
	else if (seen.count)
		CHECK("OPEN-3", seen.first == 1 && seen.missing == 0 && seen.last <= log_number);
	CHECK_OP("OPEN-8", seen.count, >=, copied_before);
	copied_before = seen.count;
}

TEST(gone_in_a_frame)
{
	static const size_t sizes[] = { 1, 63, 64, 700, 5000, 12345, 40000, 70001 };

	shm_private("");
	for (int kind = 0; kind < PACKETS; kind++) {
		copied_before = 0;
		for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
			int fd = reader_start(kind, 1024, 0, sizes[i]), error;

			sigpipe(false);
			log_number = 0;
			error = log_try(0, fd, POSIX_TRACE_APPEND, 0, POSIX_TRACE_UNTIL_FULL, 1 << 20);
			CHECK("LOG-12", error == 0 || (sizes[i] < 4096 && reader_error(error)));
			if (error == 0) {
				MUST(posix_trace_start(log_trid) == 0);
				for (int j = 0; j < 4; j++) {
					log_record(500);
					error = posix_trace_flush(log_trid);
					CHECK("FLUSH-20", error == 0 || reader_error(error));
				}
				CHECK("FLUSH-20", reader_error(error));
				/* Nothing can follow half a frame, and no write is tried. */
				if (!is_socket(kind))
					CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), EPIPE);
				CHECK("SHUT-8", reader_error(posix_trace_shutdown(log_trid)));
			}
			reader_finished();
			check_copy_begins(sizes[i]);
			check_no_signal();
			log_check_gone();
			close(fd);
		}
		CHECK_OP("OPEN-3", copied_before, >, 500);
	}
}

/* The reader is killed while a call waits for it. */
static void *flush_there(void *arg)
{
	*(int *)arg = posix_trace_flush(log_trid);
	return NULL;
}

static void *shut_down_there(void *arg)
{
	*(int *)arg = posix_trace_shutdown(log_trid);
	return NULL;
}

static bool is_flushing(void *arg)
{
	struct posix_trace_status_info status;

	MUST(posix_trace_get_status(log_trid, &status) == 0);
	return status.posix_stream_flush_status == POSIX_TRACE_FLUSHING;
}

/* Returns true if the link is full. A blocked writer cannot be observed directly, but its data for the reader can. */
static bool link_is_full(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLOUT };

	return poll(&p, 1, 0) == 0;
}

TEST(gone_while_waited_for)
{
	shm_private("");
	for (int kind = 0; kind < LINKS; kind++) {
		for (int end = 0; end < 2; end++) {
			int failures = test_failures, fd = reader_start(kind, 1 << 16, 0, 0), error = 0;
			pthread_t thread;

			sigpipe(false);
			log_number = 0;
			MUST(log_try(0, fd, POSIX_TRACE_APPEND, 0, POSIX_TRACE_UNTIL_FULL, 1 << 20) == 0);
			MUST(posix_trace_start(log_trid) == 0);
			reader_stop();
			log_record(2500);
			MUST(pthread_create(&thread, NULL, end ? shut_down_there : flush_there, &error) == 0);
			CHECK("-", log_wait(link_is_full, &fd));
			if (!end)
				CHECK("FLUSH-15", log_wait(is_flushing, NULL));
			reader_kill();
			MUST(pthread_join(thread, NULL) == 0);
			CHECK("FLUSH-20 SHUT-8", reader_error(error));
			if (!end)
				CHECK("SHUT-8", reader_error(posix_trace_shutdown(log_trid)));
			check_no_signal();
			log_check_gone();
			close(fd);
			if (failures != test_failures)
				printf("  %s\n", link_name[kind]);
		}
	}
}

/* -- The program exits while the reader does not read ------------------------------------------ */

enum { GO_ON, KILL_READER, TERMINATE, ENDS };

/* As with any output that is written at exit, the program waits. It can be killed nevertheless. */
TEST(exit_waits)
{
	shm_private("");
	fault_works(fault_open("other"));
	for (int how = 0; how < ENDS; how++) {
		for (int policy = POSIX_TRACE_UNTIL_FULL; policy;
		     policy = policy == POSIX_TRACE_FLUSH ? 0 : POSIX_TRACE_FLUSH) {
			int fd = reader_start(PIPE, 1 << 16, 0, 0), status;
			struct log_seen seen;
			pid_t creator;

			reader_stop();
			fflush(stdout);
			creator = fork();
			if (creator == 0) {
				sigpipe(false);
				log_number = 0;
				MUST(log_try(0, fd, POSIX_TRACE_APPEND, 0, policy, 1 << 20) == 0 &&
				     posix_trace_start(log_trid) == 0);
				log_record(2500);
				exit(test_failures ? 1 : 0);
			}
			MUST(creator > 0);
			log_number = 2500;
			CHECK("-", log_wait(link_is_full, &fd));
			close(fd);
			usleep(100000); /* enough time for a premature end */
			CHECK_EQ("SHUT-6 SHUT-8", waitpid(creator, &status, WNOHANG), 0);
			if (how == GO_ON)
				reader_go_on();
			else if (how == KILL_READER)
				reader_kill();
			else
				MUST(kill(creator, SIGTERM) == 0);
			MUST(waitpid(creator, &status, 0) == creator);
			if (how == TERMINATE) {
				CHECK("-", WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
				reader_go_on();
			} else {
				CHECK_EQ("-", status, 0);
			}
			if (how != KILL_READER)
				reader_finished();
			seen = log_read_file(COPY_PATH);
			if (how == GO_ON)
				log_check_all(&seen);
			else if (how == TERMINATE)
				CHECK("OPEN-8", seen.error == 0 && seen.missing == 0 && seen.last <= log_number);
			/* The rest cannot be written to the log by any process, so it is removed. */
			fault_works(fault_open("other"));
			log_check_gone();
		}
	}
}

/* -- Devices ------------------------------------------------------------------------------------ */

TEST(full_device)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC), before;

	if (fd < 0)
		SKIP("there is no /dev/full here");
	shm_private("");
	fault_works(fault_open("other"));
	before = shm_descriptors();
	CHECK_EQ("LOG-11", log_try(0, fd, POSIX_TRACE_APPEND, 0, 0, 0), ENOSPC);
	CHECK_EQ("LOG-11", log_try(0, fd, POSIX_TRACE_UNTIL_FULL, 100000, 0, 0), ENOSPC);
	CHECK_EQ("LOG-10", log_try(0, fd, POSIX_TRACE_LOOP, 100000, 0, 0), EINVAL);
	CHECK_EQ("-", shm_descriptors(), before);
	log_check_gone();
}

TEST(null_device)
{
	static const int policies[] = { POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };

	shm_private("");
	for (unsigned i = 0; i < 2; i++) {
		struct posix_trace_status_info status;
		int fd = log_open("/dev/null", O_WRONLY);

		log_number = 0;
		MUST(log_try(0, fd, policies[i], 100000, 0, 4 << 20) == 0 && posix_trace_start(log_trid) == 0);
		log_record(3000);
		CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
		log_record(3000);
		CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
		MUST(posix_trace_get_status(log_trid, &status) == 0);
		CHECK_EQ("FLUSH-16", status.posix_stream_flush_error, 0);
		CHECK_EQ("LOG-14 LOG-16", status.posix_log_full_status == POSIX_TRACE_FULL,
		         policies[i] == POSIX_TRACE_UNTIL_FULL);
		CHECK_EQ("-", status.__posix_lost_events, 0);
		CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
		CHECK_EQ("OPEN-8", log_read(fd).error, EINVAL);
		close(fd);
	}
	log_check_gone();
}

TEST_MAIN(TEST_ENTRY(slow_reader), TEST_ENTRY(long_segments), TEST_ENTRY(closed_by_application),
          TEST_ENTRY(stopped_for_long), TEST_ENTRY(gone), TEST_ENTRY(gone_before), TEST_ENTRY(gone_in_a_frame),
          TEST_ENTRY(gone_while_waited_for), TEST_ENTRY(exit_waits), TEST_ENTRY(full_device), TEST_ENTRY(null_device))
