/*
 * log_create.c - posix_trace_create_withlog(): what is made, and which descriptors it takes
 *
 * SPDX-License-Identifier: MIT
 */
#include <pty.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <termios.h>

#include "disk.h"
#include "log.h"
#include "target.h"

static trace_event_id_t id;

static const int log_policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };
static const int stream_policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH };

/* -- The stream -------------------------------------------------------------- */

static int stream_policy(trace_id_t trid)
{
	trace_attr_t attr;
	int policy = -1;

	MUST(posix_trace_get_attr(trid, &attr) == 0);
	CHECK_EQ("ATTR-57", posix_trace_attr_getstreamfullpolicy(&attr, &policy), 0);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	return policy;
}

static int log_policy(trace_id_t trid)
{
	trace_attr_t attr;
	int policy = -1;

	MUST(posix_trace_get_attr(trid, &attr) == 0);
	CHECK_EQ("ATTR-57", posix_trace_attr_getlogfullpolicy(&attr, &policy), 0);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	return policy;
}

/* Without attributes, or with an unchanged object, the stream's policy is FLUSH and the log's is LOOP. */
TEST(defaults)
{
	for (int given = 0; given < 2; given++) {
		struct timespec before = now(), created;
		struct posix_trace_status_info s;
		trace_event_set_t filter, empty = set_of(NO_TYPE);
		trace_attr_t attr, of_stream;
		trace_id_t trid = 0, plain;
		int fd = log_file(), policy;

		MUST(posix_trace_attr_init(&attr) == 0);
		CHECK_EQ("LOG-1 LOG-2 CREATE-3 SHUT-10", log_try_create(0, given ? &attr : NULL, fd, &trid), 0);
		CHECK_EQ("ATTR-35", stream_policy(trid), POSIX_TRACE_FLUSH);
		CHECK_EQ("ATTR-31", log_policy(trid), POSIX_TRACE_LOOP);
		/* For a stream without a log, the same object means LOOP. */
		plain = stream_create(given ? &attr : NULL);
		CHECK_EQ("ATTR-34 ATTR-35", stream_policy(plain), POSIX_TRACE_LOOP);
		stream_end(plain);
		/* The object is unchanged. */
		MUST(posix_trace_attr_getstreamfullpolicy(&attr, &policy) == 0);
		CHECK_EQ("ATTR-8", policy, POSIX_TRACE_LOOP);

		s = stream_status(trid);
		CHECK_EQ("LOG-1 CREATE-12", s.posix_stream_status, POSIX_TRACE_SUSPENDED);
		CHECK_EQ("LOG-1", s.posix_stream_full_status, POSIX_TRACE_NOT_FULL);
		CHECK_EQ("LOG-1 CREATE-16", s.posix_stream_overrun_status, POSIX_TRACE_NO_OVERRUN);
		CHECK_EQ("CREATE-17", s.posix_log_overrun_status, POSIX_TRACE_NO_OVERRUN);
		CHECK_EQ("STAT-19", s.posix_log_full_status, POSIX_TRACE_NOT_FULL);
		CHECK_EQ("FLUSH-15", s.posix_stream_flush_status, POSIX_TRACE_NOT_FLUSHING);
		CHECK_EQ("FLUSH-16", s.posix_stream_flush_error, 0);
		CHECK_EQ("LOG-1 CREATE-13", posix_trace_get_filter(trid, &filter), 0);
		CHECK("LOG-1 CREATE-13 LOG-7", set_equal(&filter, &empty));
		MUST(posix_trace_get_attr(trid, &of_stream) == 0);
		MUST(posix_trace_attr_getcreatetime(&of_stream, &created) == 0);
		CHECK_OP("LOG-1 CREATE-5", nanoseconds(created), >=, nanoseconds(before) - 50000000);
		CHECK_OP("LOG-1 CREATE-5", nanoseconds(created), <=, nanoseconds(now()) + 50000000);
		CHECK_EQ("SHUT-10", posix_trace_shutdown(trid), 0);
		/* A log without events. */
		trid = log_open(fd);
		CHECK_EQ("LOG-20 LOG-21", log_count(trid, 0), 0);
		log_close(trid);
		MUST(posix_trace_attr_destroy(&attr) == 0);
		close(fd);
	}
}

/*
 * Attributes that were set are used, even if they equal a different default. The object may be changed or destroyed at
 * once.
 */
TEST(attributes_are_a_snapshot)
{
	for (int s = 0; s < 3; s++) {
		for (int l = 0; l < 3; l++) {
			char name[TRACE_NAME_MAX + 1];
			trace_attr_t attr, of_stream;
			int fd = log_file(), inherited;
			trace_id_t trid;
			size_t size;

			log_attr(&attr, stream_policies[s], log_policies[l], 65536, 100000);
			MUST(posix_trace_attr_setname(&attr, "snapshot") == 0);
			MUST(posix_trace_attr_setmaxdatasize(&attr, 77) == 0);
			MUST(posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED) == 0);
			trid = log_create(&attr, fd);
			MUST(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_LOOP) == 0);
			MUST(posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_LOOP) == 0);
			MUST(posix_trace_attr_setname(&attr, "changed") == 0);
			MUST(posix_trace_attr_setlogsize(&attr, 5) == 0);
			MUST(posix_trace_attr_destroy(&attr) == 0);
			CHECK_EQ("LOG-1 CREATE-4 ATTR-8 ATTR-33", stream_policy(trid), stream_policies[s]);
			CHECK_EQ("LOG-1 CREATE-4 ATTR-8 ATTR-30", log_policy(trid), log_policies[l]);
			MUST(posix_trace_get_attr(trid, &of_stream) == 0);
			MUST(posix_trace_attr_getname(&of_stream, name) == 0);
			CHECK_STR("ATTR-8 ATTR-57", name, "snapshot");
			MUST(posix_trace_attr_getmaxdatasize(&of_stream, &size) == 0);
			CHECK_EQ("ATTR-8 ATTR-57", size, 77);
			MUST(posix_trace_attr_getlogsize(&of_stream, &size) == 0);
			CHECK_EQ("ATTR-8 ATTR-57 ATTR-39", size, 100000);
			MUST(posix_trace_attr_getinherited(&of_stream, &inherited) == 0);
			CHECK_EQ("ATTR-8 ATTR-57", inherited, POSIX_TRACE_INHERITED);
			stream_end(trid);
			close(fd);
		}
	}
}

/* A log size that is too small for the largest event is increased, and the attribute shows the increased size. */
TEST(log_size_in_use)
{
	static unsigned char big[60000];
	trace_event_set_t system_events;

	MUST(posix_trace_eventset_fill(&system_events, POSIX_TRACE_SYSTEM_EVENTS) == 0);
	id = stream_id("big");
	for (int l = 0; l < 3; l++) {
		for (int others = 0; others < 2; others++) {
			trace_attr_t attr, of_stream;
			int fd = log_file(), found = 0;
			struct stream_event e;
			trace_id_t trid;
			size_t size = 0;

			log_attr(&attr, POSIX_TRACE_UNTIL_FULL, log_policies[l], 1 << 20, 1);
			MUST(posix_trace_attr_setmaxdatasize(&attr, sizeof big) == 0);
			trid = log_create(&attr, fd);
			MUST(posix_trace_attr_destroy(&attr) == 0);
			MUST(posix_trace_get_attr(trid, &of_stream) == 0);
			MUST(posix_trace_attr_getlogsize(&of_stream, &size) == 0);
			if (log_policies[l] != POSIX_TRACE_APPEND)
				CHECK_OP("ATTR-53", size, >=, sizeof big);
			/* After other events, UNTIL_FULL may have no room left. */
			if (!others)
				MUST(posix_trace_set_filter(trid, &system_events, POSIX_TRACE_SET_EVENTSET) == 0);
			MUST(posix_trace_start(trid) == 0);
			posix_trace_event(id, big, sizeof big);
			stream_end(trid);
			trid = log_open(fd);
			while (log_try(trid, &e))
				found += e.info.posix_event_id == id;
			if (!others || log_policies[l] != POSIX_TRACE_UNTIL_FULL)
				CHECK_EQ("ATTR-42 LOG-13 LOG-14", found, 1);
			log_close(trid);
			close(fd);
		}
	}
}

/* Identifiers are independent: one process has four streams, three of them with logs. */
TEST(independent_streams)
{
	trace_id_t trid[4];
	int fd[3];

	id = stream_id("shared");
	for (int i = 0; i < 3; i++) {
		fd[i] = log_file();
		trid[i] = log_running(stream_policies[i], log_policies[2 - i], 0, 1 << 20, fd[i]);
	}
	trid[3] = stream_running(NULL);
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			CHECK("LOG-5 CREATE-7", trid[i] != trid[j]);
	log_send(id, 0, 10);
	MUST(posix_trace_stop(trid[1]) == 0);
	log_send(id, 10, 10);
	CHECK_EQ("LOG-5", posix_trace_shutdown(trid[0]), 0);
	log_send(id, 20, 10);
	CHECK_EQ("LOG-5", posix_trace_shutdown(trid[1]), 0);
	CHECK_EQ("LOG-5", posix_trace_shutdown(trid[2]), 0);
	CHECK_EQ("LOG-5 MODEL-7", stream_count(trid[3], id), 30);
	stream_end(trid[3]);
	CHECK_LOG("LOG-5 OBJ-16 MODEL-6 MODEL-9", fd[0], id, 0, 20);
	CHECK_LOG("LOG-5 OBJ-16 MODEL-6 MODEL-9", fd[1], id, 0, 10);
	CHECK_LOG("LOG-5 OBJ-16 MODEL-6 MODEL-9", fd[2], id, 0, 30);
}

/* -- Errors -------------------------------------------------------------------- */

/*
 * Checks that the call is refused with this error, creates no stream, and leaves the identifier and the file as they
 * were.
 */
static void refused(const char *ids, int line, pid_t pid, const trace_attr_t *attr, int fd, int error)
{
	trace_id_t trid = 0x5555;
	int got = posix_trace_create_withlog(pid, attr, fd, &trid);

	if (got != error)
		TEST_FAIL(ids, "line %d: error %d instead of %d", line, got, error);
	if (trid != 0x5555)
		TEST_FAIL(ids, "line %d: an identifier was stored", line);
}
#define REFUSED(ids, ...) refused(ids, __LINE__, __VA_ARGS__)

TEST(not_writable)
{
	int fd = log_file(), reading = log_again(fd, O_RDONLY), path = log_again(fd, O_PATH),
	    directory = open("/", O_RDONLY);
	int ends[2];
	trace_attr_t attr;

	MUST(pipe(ends) == 0 && directory >= 0);
	for (int l = 0; l < 3; l++) {
		log_attr(&attr, 0, log_policies[l], 0, 0);
		REFUSED("LOG-9 DOC-2 CREATE-8", 0, &attr, -1, EBADF);
		REFUSED("LOG-9 DOC-2 CREATE-8", 0, &attr, 4711, EBADF);
		REFUSED("LOG-9 DOC-2 CREATE-8", 0, &attr, reading, EBADF);
		REFUSED("LOG-9 DOC-2 CREATE-8", 0, &attr, path, EBADF);
		REFUSED("LOG-9 DOC-2 CREATE-8", 0, &attr, directory, EBADF);
		REFUSED("LOG-9 DOC-2 CREATE-8", 0, &attr, ends[0], EBADF);
		MUST(posix_trace_attr_destroy(&attr) == 0);
	}
	CHECK_EQ("LOG-9", log_length(fd), 0);
	close(fd);
	REFUSED("LOG-9 DOC-2 CREATE-8", 0, NULL, fd, EBADF);
}

/* All other errors are the same as those of posix_trace_create(). */
TEST(other_errors)
{
	int fd = log_file();
	trace_attr_t attr;

	memset(&attr, 0, sizeof attr);
	REFUSED("LOG-12 CREATE-20", 0, &attr, fd, EINVAL);
	MUST(posix_trace_attr_init(&attr) == 0 && posix_trace_attr_destroy(&attr) == 0);
	REFUSED("LOG-12 CREATE-20", 0, &attr, fd, EINVAL);
	REFUSED("LOG-12 CREATE-23", -1, NULL, fd, ESRCH);
	REFUSED("LOG-12 CREATE-23", 0x7fffffff, NULL, fd, ESRCH);
	log_attr(&attr, 0, 0, SIZE_MAX / 2, 0);
	REFUSED("LOG-12 CREATE-21", 0, &attr, fd, ENOMEM);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	CHECK_REFUSED("LOG-12", posix_trace_create_withlog(0, NULL, fd, NULL));
	CHECK_EQ("LOG-12 CREATE-8", log_length(fd), 0);
}

/* EPERM requires a second user. */
TEST(no_right)
{
	struct target t = target_fork();
	int fd = log_file();

	target_become(65534, 65534);
	REFUSED("LOG-12 CREATE-22 SEC-1", t.pid, NULL, fd, EPERM);
	CHECK_EQ("LOG-12", log_length(fd), 0);
	exit(test_failures ? 1 : 0); /* this user cannot end the target, which ends when its socket is closed */
}

/*
 * EAGAIN requires the maximum number of streams. Streams with and without a log share one limit. Only a few have a log
 * here, as each log may take a thread.
 */
TEST(too_many)
{
	static trace_id_t trid[TRACE_SYS_MAX];
	struct rlimit files = { 0, 0 };
	trace_attr_t attr;
	int fd[5], others = 0, error = 0, with_log = 0;

	shm_private("");
	NEEDS_ROOM(256);
	getrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < 2 * TRACE_SYS_MAX)
		SKIP("too few descriptors");
	stream_attr(&attr, POSIX_TRACE_LOOP, 4096, 64);
	for (; others < TRACE_SYS_MAX - 4 && error == 0; others += error == 0)
		error = posix_trace_create(0, &attr, &trid[others]);
	CHECK_EQ("CREATE-14 LIM-3", error, 0);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	log_attr(&attr, POSIX_TRACE_LOOP, POSIX_TRACE_APPEND, 4096, 0);
	for (; with_log < 5; with_log++) {
		fd[with_log] = log_file();
		if (with_log < 4)
			CHECK_EQ("LOG-12 CREATE-14", posix_trace_create_withlog(0, &attr, fd[with_log],
			                                                        &trid[others + with_log]), 0);
	}
	REFUSED("LOG-12 CREATE-18", 0, &attr, fd[4], EAGAIN);
	CHECK_EQ("LOG-12", log_length(fd[4]), 0);
	/* The limit counts active streams only: a log can still be opened. */
	log_close(log_open(fd[0]));
	/* A stream that has ended makes room for either kind. */
	for (int i = 0; i < 2; i++) {
		int ended = i ? others + 1 : 0;

		stream_end(trid[ended]);
		CHECK_EQ("LOG-12 CREATE-18 SHUT-2", posix_trace_create_withlog(0, &attr, fd[4], &trid[ended]), 0);
		REFUSED("LOG-12 CREATE-18", 0, &attr, fd[4], EAGAIN);
		CHECK_EQ("LOG-12 CREATE-18 SHUT-2", posix_trace_shutdown(trid[ended]), 0);
		CHECK_EQ("CREATE-18 SHUT-2", posix_trace_create(0, NULL, &trid[ended]), 0);
		CHECK_EQ("CREATE-18", posix_trace_create(0, NULL, &trid[ended]), EAGAIN);
	}
	for (int i = 0; i < TRACE_SYS_MAX; i++)
		stream_end(trid[i]);
}

/* -- Space ------------------------------------------------------------------------ */

/* A log with a size limit needs its space at the creation. */
TEST(no_space)
{
	struct stat st;
	trace_id_t trid;
	trace_attr_t attr;
	int fd;

	disk("size=1m");
	fd = disk_file(0);
	for (int l = 0; l < 2; l++) {
		log_attr(&attr, 0, log_policies[l], 65536, 4 << 20);
		for (int i = 0; i < 3; i++)
			REFUSED("LOG-11 DOC-2 CREATE-8", 0, &attr, fd, ENOSPC);
		MUST(posix_trace_attr_setlogsize(&attr, 512 << 10) == 0);
		CHECK_EQ("LOG-11", log_try_create(0, &attr, fd, &trid), 0);
		CHECK_EQ("LOG-11", posix_trace_shutdown(trid), 0);
		MUST(posix_trace_attr_destroy(&attr) == 0);
		MUST(ftruncate(fd, 0) == 0);
	}
	/* A log without a limit only needs room for its beginning. */
	log_attr(&attr, 0, POSIX_TRACE_APPEND, 65536, 4 << 20);
	CHECK_EQ("LOG-11 ATTR-43", log_try_create(0, &attr, fd, &trid), 0);
	CHECK_EQ("LOG-11", posix_trace_shutdown(trid), 0);
	MUST(ftruncate(fd, 0) == 0 && fstat(fd, &st) == 0);
	disk_fill(0);
	REFUSED("LOG-11 DOC-2 CREATE-8", 0, &attr, fd, ENOSPC);
	disk_free();
	CHECK_EQ("LOG-11", log_try_create(0, &attr, fd, &trid), 0);
	CHECK_EQ("LOG-11", posix_trace_shutdown(trid), 0);
}

/* A device that is always full. */
TEST(full_device)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	trace_attr_t attr;

	if (fd < 0)
		SKIP("there is no /dev/full");
	log_attr(&attr, 0, POSIX_TRACE_APPEND, 0, 0);
	REFUSED("LOG-11 DOC-2 CREATE-8", 0, &attr, fd, ENOSPC);
}

/* Space that the application has reserved suffices, however full the device is. */
TEST(preallocated)
{
	disk("size=2m");
	id = stream_id("preallocated");
	for (int l = 0; l < 3; l++) {
		trace_attr_t attr;
		trace_id_t trid;
		size_t events = 2000;
		int fd = disk_file(O_TRUNC);

		MUST(posix_fallocate(fd, 0, 1 << 20) == 0);
		disk_fill(0);
		log_attr(&attr, POSIX_TRACE_UNTIL_FULL, log_policies[l], 1 << 20, 512 << 10);
		CHECK_EQ("LOG-18", log_try_create(0, &attr, fd, &trid), 0);
		MUST(posix_trace_start(trid) == 0);
		for (size_t i = 0; i < events; i += 500) {
			log_send(id, (unsigned)i, 500);
			CHECK_EQ("LOG-18 FLUSH-20", posix_trace_flush(trid), 0);
			CHECK_EQ("LOG-18", stream_status(trid).posix_stream_flush_error, 0);
		}
		CHECK_EQ("LOG-18 SHUT-13", posix_trace_shutdown(trid), 0);
		/* Unused space does not affect readers. */
		CHECK_LOG("LOG-18 EX-12", fd, id, 0, (unsigned)events);
		CHECK_OP("LOG-18", log_length(fd), <, 1 << 20);
		MUST(posix_trace_attr_destroy(&attr) == 0);
		close(fd);
		disk_free();
	}
}

/* -- Files of all kinds --------------------------------------------------------------- */

/*
 * Access mode, offset and earlier contents of a regular file do not matter. The application's descriptor is not
 * changed.
 */
TEST(regular_files)
{
	static const int flags[] = { O_RDWR, O_WRONLY, O_WRONLY | O_APPEND, O_RDWR | O_APPEND, O_WRONLY | O_NONBLOCK };
	static char stale[300000];

	id = stream_id("regular");
	memset(stale, 'x', sizeof stale);
	for (size_t f = 0; f < sizeof flags / sizeof flags[0]; f++) {
		for (int l = 0; l < 3; l++) {
			for (int held = 0; held < 3; held++) {
				int file = log_file(), fd = log_again(file, flags[f]), after;
				off_t at = held == 1 ? 1000 : 0;
				trace_id_t trid;

				/* Empty; no log, with the offset in the middle; a longer log. */
				if (held == 1)
					MUST(pwrite(file, stale, sizeof stale, 0) == sizeof stale);
				if (held == 2) {
					trid = log_running(POSIX_TRACE_LOOP, POSIX_TRACE_APPEND, 0, 0, file);
					log_send(stream_id("older"), 0, 3000);
					stream_end(trid);
				}
				MUST(lseek(fd, at, SEEK_SET) == at);
				trid = log_running(POSIX_TRACE_UNTIL_FULL, log_policies[l], 0, 200000, fd);
				log_send(id, 0, 100);
				CHECK_EQ("LOG-17 LOG-4 FLUSH-20", posix_trace_flush(trid), 0);
				log_send(id, 100, 100);
				CHECK_EQ("LOG-17 LOG-4 SHUT-7", posix_trace_shutdown(trid), 0);
				CHECK_LOG("LOG-2 LOG-4 LOG-9 LOG-17 SHUT-9", file, id, 0, 200);
				CHECK_OP("SHUT-9", log_length(file), <, held ? 200000 : 1 << 20);
				/* Open as before, with the same offset. */
				CHECK_EQ("SHUT-16", lseek(fd, 0, SEEK_CUR), at);
				CHECK_EQ("SHUT-16", fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK), flags[f]);
				after = log_length(file);
				CHECK_EQ("SHUT-16", write(fd, "more", 4), 4);
				if (flags[f] & O_APPEND)
					CHECK_EQ("SHUT-16", log_length(file), after + 4);
				CHECK_EQ("SHUT-16", close(fd), 0);
				close(file);
			}
		}
	}
}

/* A file in memory is a regular file too. */
TEST(memory_file)
{
	id = stream_id("memory");
	for (int l = 0; l < 3; l++) {
		int fd = memfd_create("log", MFD_CLOEXEC);
		trace_id_t trid;

		MUST(fd >= 0);
		trid = log_running(POSIX_TRACE_FLUSH, log_policies[l], 0, 1 << 20, fd);
		log_send(id, 0, 500);
		stream_end(trid);
		CHECK_LOG("LOG-4 LOG-17", fd, id, 0, 500);
		close(fd);
	}
}

/*
 * LOOP has to seek, which is not possible here. The other policies write sequentially, and the reader gets a valid log.
 */
static void front_to_back(int to, int from, int raw)
{
	struct log_sink sink;
	trace_attr_t attr;
	trace_id_t trid;

	log_attr(&attr, POSIX_TRACE_LOOP, POSIX_TRACE_LOOP, 0, 1 << 20);
	REFUSED("LOG-3 LOG-4 LOG-10 DOC-2", 0, &attr, to, EINVAL);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	/* LOOP is also the default. */
	REFUSED("LOG-3 LOG-10 ATTR-31", 0, NULL, to, EINVAL);
	if (raw)
		log_sink_start(&sink, from);
	trid = log_running(POSIX_TRACE_UNTIL_FULL, raw == 2 ? POSIX_TRACE_UNTIL_FULL : POSIX_TRACE_APPEND, 0, 1 << 20,
	                   to);
	id = stream_id("front");
	log_send(id, 0, 3000);
	CHECK_EQ("LOG-4 FLUSH-20", posix_trace_flush(trid), 0);
	log_send(id, 3000, 100);
	CHECK_EQ("LOG-4 SHUT-7", posix_trace_shutdown(trid), 0);
	CHECK_NE("SHUT-16", fcntl(to, F_GETFD), -1);
	close(to);
	if (raw) {
		int file = log_sink_file(&sink);

		CHECK_LOG("LOG-2 LOG-4 FLUSH-9", file, id, 0, 3100);
		close(file);
	}
}

TEST(pipes)
{
	for (int how = 1; how <= 2; how++) {
		int ends[2];

		MUST(pipe2(ends, O_CLOEXEC) == 0);
		front_to_back(ends[1], ends[0], how);
		/* A non-blocking pipe, which returns EAGAIN instead of blocking the writer. */
		MUST(pipe2(ends, O_CLOEXEC) == 0);
		MUST(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
		front_to_back(ends[1], ends[0], how);
	}
}

TEST(fifo)
{
	char path[] = "/tmp/test-fifo-XXXXXX";
	int from, to;

	MUST(mkdtemp(path) != NULL && rmdir(path) == 0 && mkfifo(path, 0600) == 0);
	from = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	to = open(path, O_WRONLY | O_CLOEXEC);
	MUST(unlink(path) == 0 && from >= 0 && to >= 0);
	MUST(fcntl(from, F_SETFL, 0) == 0);
	front_to_back(to, from, 1);
}

TEST(sockets)
{
	for (int how = 1; how <= 2; how++) {
		int ends[2];

		MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
		front_to_back(ends[1], ends[0], how);
	}
}

TEST(terminals)
{
	for (int l = 1; l < 3; l++) {
		struct termios raw;
		struct log_sink s;
		trace_attr_t attr;
		trace_id_t trid;
		int from, to;

		if (openpty(&from, &to, NULL, NULL, NULL) < 0)
			SKIP("there are no terminals here");
		MUST(tcgetattr(to, &raw) == 0);
		cfmakeraw(&raw);
		MUST(tcsetattr(to, TCSANOW, &raw) == 0);
		MUST(fcntl(to, F_SETFD, FD_CLOEXEC) == 0);
		log_attr(&attr, 0, POSIX_TRACE_LOOP, 0, 0);
		REFUSED("LOG-3 LOG-4 LOG-10 DOC-2", 0, &attr, to, EINVAL);
		MUST(posix_trace_attr_destroy(&attr) == 0);
		log_sink_start(&s, from);
		trid = log_running(0, log_policies[l], 0, 1 << 20, to);
		id = stream_id("terminal");
		log_send(id, 0, 1000);
		CHECK_EQ("LOG-4 SHUT-7", posix_trace_shutdown(trid), 0);
		close(to);
		/* The other end reports EIO when no process has the terminal open. */
		CHECK_LOG("LOG-4 FLUSH-9", log_sink_file(&s), id, 0, 1000);
	}
}

/*
 * Devices are written sequentially, and /dev/null accepts everything. A descriptor that is not a file, device or pipe
 * is refused.
 */
TEST(other_types)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC), event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	trace_attr_t attr;

	MUST(null >= 0 && event >= 0);
	front_to_back(null, -1, 0);
	for (int l = 0; l < 3; l++) {
		log_attr(&attr, 0, log_policies[l], 0, 0);
		REFUSED("LOG-3 LOG-4 LOG-10", 0, &attr, event, EINVAL);
		MUST(posix_trace_attr_destroy(&attr) == 0);
	}
}

/* -- The descriptor while the stream lives --------------------------------------------- */

/*
 * An application that closes the descriptor early, or opens a different file with its number, gets its log, and the new
 * file is not changed.
 */
TEST(closed_early)
{
	id = stream_id("early");
	for (int l = 0; l < 3; l++) {
		int file = log_file(), fd = log_again(file, O_WRONLY), other = log_file();
		trace_id_t trid = log_running(POSIX_TRACE_FLUSH, log_policies[l], 0, 1 << 20, fd);

		log_send(id, 0, 100);
		MUST(dup2(other, fd) == fd);
		log_send(id, 100, 100);
		CHECK_EQ("MODEL-28", posix_trace_flush(trid), 0);
		close(fd);
		log_send(id, 200, 100);
		CHECK_EQ("MODEL-28 SHUT-7", posix_trace_shutdown(trid), 0);
		CHECK_LOG("MODEL-28", file, id, 0, 300);
		CHECK_EQ("MODEL-28", log_length(other), 0);
		close(file);
		close(other);
	}
}

/* Streams with logs and opened logs leave no descriptors behind. */
TEST(descriptors)
{
	int file = log_file(), before = shm_descriptors(), threads = 0;
	trace_id_t trid;

	id = stream_id("descriptors");
	for (int i = 0; i < 20; i++) {
		if (i == 1)
			threads = target_threads(getpid()); /* a sanitizer may have threads */
		trid = log_running(POSIX_TRACE_FLUSH, log_policies[i % 3], 65536, 1 << 20, file);
		log_send(id, 0, 10);
		CHECK_EQ("SHUT-2", posix_trace_shutdown(trid), 0);
		CHECK_FILES("SHUT-2", shm_descriptors(), ==, before);
		trid = log_open(file);
		CHECK_EQ("OPEN-3", log_count(trid, id), 10);
		CHECK_EQ("OPEN-10", posix_trace_close(trid), 0);
		CHECK_FILES("OPEN-10", shm_descriptors(), ==, before);
		/* Calls that are refused leave none either. */
		CHECK_EQ("OPEN-8", posix_trace_open(0, &trid), EINVAL);
		CHECK_EQ("LOG-9", posix_trace_create_withlog(0, NULL, -1, &trid), EBADF);
		CHECK_FILES("OPEN-8", shm_descriptors(), ==, before);
		MUST(ftruncate(file, 0) == 0);
	}
	/* A thread that has been joined may be visible for a moment. */
	for (int i = 0; OURS_FILES && i < 5000 && target_threads(getpid()) != threads; i++)
		sleep_ms(1);
	CHECK_FILES("SHUT-2", target_threads(getpid()), ==, threads);
}

/* MODEL-29: a write updates the times of a file. A log is written by such writes. */
TEST(file_times)
{
	int fd = log_file();
	trace_id_t trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 0, 0, fd);
	struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	struct stat st;

	id = stream_id("times");
	for (int i = 0; i < 2; i++) {
		long long before;

		log_send(id, (unsigned)i, 1);
		MUST(futimens(fd, old) == 0 && fstat(fd, &st) == 0);
		MUST(st.st_mtim.tv_sec == 1000000000);
		before = nanoseconds(st.st_ctim);
		sleep_ms(20); /* file times have the resolution of the kernel's clock tick */
		if (i == 0)
			CHECK_EQ("FLUSH-20", posix_trace_flush(trid), 0);
		else
			CHECK_EQ("SHUT-7", posix_trace_shutdown(trid), 0);
		MUST(fstat(fd, &st) == 0);
		CHECK_OP("MODEL-29", nanoseconds(st.st_mtim), >, before);
		CHECK_OP("MODEL-29", nanoseconds(st.st_ctim), >, before);
	}
}

TEST_MAIN(TEST_ENTRY(defaults), TEST_ENTRY(attributes_are_a_snapshot), TEST_ENTRY(log_size_in_use),
          TEST_ENTRY(independent_streams), TEST_ENTRY(not_writable), TEST_ENTRY(other_errors), TEST_ENTRY(no_right),
          TEST_ENTRY(too_many), TEST_ENTRY(no_space), TEST_ENTRY(full_device), TEST_ENTRY(preallocated),
          TEST_ENTRY(regular_files), TEST_ENTRY(memory_file), TEST_ENTRY(pipes), TEST_ENTRY(fifo), TEST_ENTRY(sockets),
          TEST_ENTRY(terminals), TEST_ENTRY(other_types), TEST_ENTRY(closed_early), TEST_ENTRY(descriptors),
          TEST_ENTRY(file_times))
