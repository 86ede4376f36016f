/*
 * log.h - what the tests of logs share: files for them, streams with a log, and what a log says when it is read
 *
 * As in stream.h all of these end the test when the library refuses, so they
 * prepare a test. A log is read by posix_trace_getnext_event(), which never
 * waits there.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONFORMANCE_LOG_H
#define CONFORMANCE_LOG_H

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "numbers.h"

/* -- Files ---------------------------------------------------------------- */

/* Opens the file of fd again with these flags, at its beginning. */
static inline int log_again(int fd, int flags)
{
	char path[40];
	int again;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	again = open(path, flags | O_CLOEXEC);
	MUST(again >= 0);
	return again;
}

/* Returns a regular file in this directory whose name has been removed. */
static inline int log_file_in(const char *directory)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "%s/test-log-XXXXXX", directory);
	fd = mkostemp(path, O_CLOEXEC);
	MUST(fd >= 0 && unlink(path) == 0);
	return fd;
}

/*
 * Returns a file for a log. Preferably not on a disk, as completing a log waits for the disk; but /dev/shm may be small
 * in a container.
 */
static inline int log_file(void)
{
	struct statvfs s;

	return log_file_in(statvfs("/dev/shm", &s) == 0 && (uint64_t)s.f_blocks * s.f_frsize < UINT64_C(512) << 20
	                   ? "/tmp" : "/dev/shm");
}

static inline long long log_length(int fd)
{
	struct stat st;

	MUST(fstat(fd, &st) == 0);
	return (long long)st.st_size;
}

/* Returns a file with everything that can be read from the descriptor. */
static inline int log_copy(int from)
{
	static char block[65536];
	int to = log_file();
	ssize_t n;

	while ((n = read(from, block, sizeof block)) > 0)
		MUST(write(to, block, (size_t)n) == n);
	MUST(n == 0);
	return to;
}

/* -- Streams with a log --------------------------------------------------- */

/* Initializes *attr. 0 leaves an attribute at its default. */
static inline void log_attr(trace_attr_t *attr, int stream_policy, int log_policy, size_t stream_size, size_t log_size)
{
	stream_attr(attr, stream_policy, stream_size, 0);
	if (log_policy)
		MUST(posix_trace_attr_setlogfullpolicy(attr, log_policy) == 0);
	if (log_size)
		MUST(posix_trace_attr_setlogsize(attr, log_size) == 0);
}

/*
 * Returns the error of posix_trace_create_withlog(). Tries again while a test of the limit has all streams in another
 * process.
 */
static inline int log_try_create(pid_t pid, const trace_attr_t *attr, int fd, trace_id_t *trid)
{
	int error;

	for (int i = 0; (error = posix_trace_create_withlog(pid, attr, fd, trid)) == EAGAIN && i < 100; i++)
		usleep(100000);
	return error;
}

/* Returns a new, suspended stream for a process, or for this process if pid is 0. attr may be NULL. */
static inline trace_id_t log_create_for(pid_t pid, const trace_attr_t *attr, int fd)
{
	trace_id_t trid;
	int error = log_try_create(pid, attr, fd, &trid);

	if (error) {
		TEST_FAIL("-", "posix_trace_create_withlog: error %d", error);
		exit(1);
	}
	return trid;
}

static inline trace_id_t log_create(const trace_attr_t *attr, int fd)
{
	return log_create_for(0, attr, fd);
}

/* Returns a running stream of this process with these policies and sizes, 0 for the default. */
static inline trace_id_t log_running(int stream_policy, int log_policy, size_t stream_size, size_t log_size, int fd)
{
	trace_attr_t attr;
	trace_id_t trid;

	log_attr(&attr, stream_policy, log_policy, stream_size, log_size);
	trid = log_create(&attr, fd);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	MUST(posix_trace_start(trid) == 0);
	return trid;
}

/* The same, with a stream small enough to be filled by a test. */
static inline trace_id_t log_small(int stream_policy, int log_policy, size_t log_size, int fd)
{
	trace_attr_t attr;
	trace_id_t trid;

	log_attr(&attr, stream_policy, log_policy, 4096, log_size);
	MUST(posix_trace_attr_setmaxdatasize(&attr, NUMBER_SIZE) == 0);
	trid = log_create(&attr, fd);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	MUST(posix_trace_start(trid) == 0);
	return trid;
}

/* -- Reading -------------------------------------------------------------- */

static inline trace_id_t log_open(int fd)
{
	trace_id_t trid;
	int error = posix_trace_open(fd, &trid);

	if (error) {
		TEST_FAIL("-", "posix_trace_open: error %d", error);
		exit(1);
	}
	return trid;
}

static inline void log_close(trace_id_t trid)
{
	MUST(posix_trace_close(trid) == 0);
}

/* Reads the next event. Returns 0 at the end. */
static inline int log_try(trace_id_t trid, struct stream_event *e)
{
	int unavailable = -1;

	MUST(posix_trace_getnext_event(trid, &e->info, e->data, sizeof e->data, &e->len, &unavailable) == 0);
	return unavailable == 0;
}

static inline void log_next(trace_id_t trid, struct stream_event *e)
{
	MUST(log_try(trid, e));
}

static inline int log_is_flush(const struct stream_event *e)
{
	return e->info.posix_event_id == POSIX_TRACE_FLUSH_START || e->info.posix_event_id == POSIX_TRACE_FLUSH_STOP;
}

/* The same, without FLUSH events, which come at any time. */
static inline int log_try_other(trace_id_t trid, struct stream_event *e)
{
	while (log_try(trid, e))
		if (!log_is_flush(e))
			return 1;
	return 0;
}

/* Reads the next event, which must have this type. */
static inline void log_expect(trace_id_t trid, trace_event_id_t id, struct stream_event *e)
{
	log_next(trid, e);
	if (e->info.posix_event_id != id) {
		TEST_FAIL("-", "event type %u instead of %u", (unsigned)e->info.posix_event_id, (unsigned)id);
		exit(1);
	}
}

/* The same, skipping flushes before it. */
static inline void log_expect_other(trace_id_t trid, trace_event_id_t id, struct stream_event *e)
{
	MUST(log_try_other(trid, e));
	if (e->info.posix_event_id != id) {
		TEST_FAIL("-", "event type %u instead of %u", (unsigned)e->info.posix_event_id, (unsigned)id);
		exit(1);
	}
}

/* Reads all events. Returns how many had this type. */
static inline size_t log_count(trace_id_t trid, trace_event_id_t id)
{
	struct stream_event e;
	size_t n = 0;

	while (log_try(trid, &e))
		n += e.info.posix_event_id == id;
	return n;
}

/* Returns the int in the event's data. */
static inline int log_int(const struct stream_event *e)
{
	int value;

	MUST(e->len == sizeof value);
	memcpy(&value, e->data, sizeof value);
	return value;
}

/*
 * Reads events of type id with consecutive numbers from the given one, and skips flushes. Returns the first number that
 * did not come. *stop is the event that came instead, with type NO_TYPE if there was none.
 */
static inline unsigned log_run(trace_id_t trid, trace_event_id_t id, unsigned number, struct stream_event *stop)
{
	while (log_try_other(trid, stop)) {
		if (stop->info.posix_event_id != id || number_of(stop->data, stop->len).number != number)
			return number;
		number++;
	}
	stop->info.posix_event_id = NO_TYPE;
	return number;
}

/*
 * Checks that the log in fd has START, the numbers from first up to end, a STOP by a call, and nothing else except
 * flushes.
 */
static inline void check_log(const char *ids, int line, int fd, trace_event_id_t id, unsigned first, unsigned end)
{
	trace_id_t trid = log_open(fd);
	struct stream_event e;
	unsigned number;

	if (!log_try_other(trid, &e) || e.info.posix_event_id != POSIX_TRACE_START)
		TEST_FAIL(ids, "line %d: the first event is of type %u", line, e.info.posix_event_id);
	number = log_run(trid, id, first, &e);
	if (number != end)
		TEST_FAIL(ids, "line %d: number %u is missing, the last should be %u", line, number, end - 1);
	if (e.info.posix_event_id != POSIX_TRACE_STOP || log_int(&e) != 0)
		TEST_FAIL(ids, "line %d: behind the numbers there is type %u", line, e.info.posix_event_id);
	if (log_try_other(trid, &e))
		TEST_FAIL(ids, "line %d: behind the STOP there is type %u", line, e.info.posix_event_id);
	log_close(trid);
}
#define CHECK_LOG(ids, ...) check_log(ids, __LINE__, __VA_ARGS__)

static inline void log_send(trace_event_id_t id, unsigned first, unsigned count)
{
	for (unsigned n = 0; n < count; n++)
		number_send(id, 0, first + n);
}

/* -- Delayed logs ---------------------------------------------------------- */

/* Waits until something can be read. */
static inline void log_wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	MUST(p.revents & POLLIN);
}

/* A thread that reads a pipe, socket or terminal to its end into a file, except while the test holds the gate. */
struct log_sink {
	int from, file;
	pthread_mutex_t gate;
	pthread_t thread;
};

static inline void *log_sink_run(void *arg)
{
	struct log_sink *s = arg;
	struct pollfd p = { .fd = s->from, .events = POLLIN };
	static __thread char block[65536];
	ssize_t n;

	do {
		while (poll(&p, 1, -1) < 0 && errno == EINTR)
			;
		pthread_mutex_lock(&s->gate);
		n = read(s->from, block, sizeof block);
		pthread_mutex_unlock(&s->gate);
		if (n > 0)
			MUST(write(s->file, block, (size_t)n) == n);
	} while (n > 0);
	return NULL;
}

static inline void log_sink_start(struct log_sink *s, int from)
{
	s->from = from;
	s->file = log_file();
	MUST(pthread_mutex_init(&s->gate, NULL) == 0);
	MUST(pthread_create(&s->thread, NULL, log_sink_run, s) == 0);
}

static inline void log_sink_hold(struct log_sink *s)
{
	MUST(pthread_mutex_lock(&s->gate) == 0);
}

static inline void log_sink_release(struct log_sink *s)
{
	MUST(pthread_mutex_unlock(&s->gate) == 0);
}

/* Returns the file when all writers have closed the other end. */
static inline int log_sink_file(struct log_sink *s)
{
	MUST(pthread_join(s->thread, NULL) == 0);
	close(s->from);
	return s->file;
}

/* Returns the writing end of a pipe that holds one page and then blocks the writer. The sink reads the other end. */
static inline int log_pipe(struct log_sink *s)
{
	int ends[2];

	MUST(pipe2(ends, O_CLOEXEC) == 0);
	MUST(fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);
	log_sink_start(s, ends[0]);
	return ends[1];
}

/* A call of posix_trace_flush() in a separate thread. */
struct log_flusher {
	trace_id_t trid;
	int result;
	atomic_int done;
	pthread_t thread;
};

static inline void *log_flusher_run(void *arg)
{
	struct log_flusher *f = arg;

	f->result = posix_trace_flush(f->trid);
	atomic_store(&f->done, 1);
	return NULL;
}

static inline void log_flusher_start(struct log_flusher *f, trace_id_t trid)
{
	f->trid = trid;
	f->result = -1;
	atomic_init(&f->done, 0);
	MUST(pthread_create(&f->thread, NULL, log_flusher_run, f) == 0);
}

static inline int log_flusher_result(struct log_flusher *f)
{
	MUST(pthread_join(f->thread, NULL) == 0);
	return f->result;
}

/* Waits for a flush status. As always, asking resets some statuses. */
static inline void log_wait_flush(trace_id_t trid, int status)
{
	for (int i = 0; i < 20000 * test_slow(); i++) {
		if (stream_status(trid).posix_stream_flush_status == status)
			return;
		usleep(1000);
	}
	MUST(!"the flush status stays as it is");
}

#endif
