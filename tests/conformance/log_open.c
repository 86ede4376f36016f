/*
 * log_open.c - posix_trace_open(), _rewind(), _close(): what is a log, and where one reads in it
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "log.h"
#include "shm.h"

static trace_event_id_t id;

/* Returns a complete log with the numbers from 0 up to count. */
static int make_log(unsigned count)
{
	int fd = log_file();
	trace_id_t trid;

	id = stream_id("open");
	trid = log_running(POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND, 4 << 20, 0, fd);
	log_send(id, 0, count);
	stream_end(trid);
	return fd;
}

/* Checks that the next event has this number. */
static void check_number(const char *ids, int line, trace_id_t trid, unsigned number)
{
	struct stream_event e;

	if (!log_try(trid, &e))
		TEST_FAIL(ids, "line %d: the log has ended", line);
	else if (e.info.posix_event_id != id || number_of(e.data, e.len).number != number)
		TEST_FAIL(ids, "line %d: type %u, not number %u", line, e.info.posix_event_id, number);
}
#define CHECK_NUMBER(ids, ...) check_number(ids, __LINE__, __VA_ARGS__)

/* -- Position ------------------------------------------------------------------- */

TEST(oldest_first)
{
	int fd = make_log(100);
	struct stream_event e;
	trace_id_t trid = 0;

	CHECK_EQ("OPEN-1 OPEN-13 MODEL-3 MODEL-4", posix_trace_open(fd, &trid), 0);
	log_expect(trid, POSIX_TRACE_START, &e);
	for (unsigned i = 0; i < 100; i++)
		CHECK_NUMBER("OPEN-3 READ-20 MODEL-3", trid, i);
	log_expect(trid, POSIX_TRACE_STOP, &e);
	CHECK_EQ("OPEN-1", log_try(trid, &e), 0);
	CHECK_EQ("OPEN-10 OPEN-13", posix_trace_close(trid), 0);
}

/* From any position, any number of times. */
TEST(rewind_from_anywhere)
{
	int fd = make_log(5000);
	trace_id_t trid = log_open(fd);
	struct stream_event e;

	CHECK_EQ("OPEN-9 OPEN-13", posix_trace_rewind(trid), 0);
	for (unsigned stop = 0; stop <= 5000; stop += stop < 10 ? 1 : stop) {
		log_expect(trid, POSIX_TRACE_START, &e);
		for (unsigned i = 0; i < stop; i++)
			CHECK_NUMBER("OPEN-9 OPEN-15", trid, i);
		CHECK_EQ("OPEN-9 OPEN-13", posix_trace_rewind(trid), 0);
	}
	/* From the end, and after a read beyond it. */
	for (int i = 0; i < 3; i++) {
		CHECK_EQ("OPEN-9 OPEN-15", log_count(trid, id), 5000);
		CHECK_EQ("READ-6", log_try(trid, &e), 0);
		CHECK_EQ("OPEN-9", posix_trace_rewind(trid), 0);
	}
	log_close(trid);
}

/* The list of types has its own position. */
TEST(rewind_and_types)
{
	int fd = make_log(10), unavailable;
	trace_id_t trid = log_open(fd);
	trace_event_id_t first, second, t;
	struct stream_event e;

	MUST(posix_trace_eventtypelist_getnext_id(trid, &first, &unavailable) == 0 && !unavailable);
	MUST(posix_trace_eventtypelist_getnext_id(trid, &second, &unavailable) == 0 && !unavailable);
	log_expect(trid, POSIX_TRACE_START, &e);
	CHECK_NUMBER("OPEN-3", trid, 0);
	CHECK_EQ("ID-30 ID-31", posix_trace_eventtypelist_rewind(trid), 0);
	CHECK_NUMBER("OPEN-9", trid, 1);
	MUST(posix_trace_eventtypelist_getnext_id(trid, &t, &unavailable) == 0 && !unavailable);
	CHECK_EQ("ID-30", t, first);
	CHECK_EQ("OPEN-9", posix_trace_rewind(trid), 0);
	MUST(posix_trace_eventtypelist_getnext_id(trid, &t, &unavailable) == 0 && !unavailable);
	CHECK_EQ("OPEN-9 ID-26", t, second);
	log_close(trid);
}

/* A log may be opened several times, with one descriptor or several. Each stream has its own position. */
TEST(opened_more_than_once)
{
	enum { TIMES = 10 };
	int fd = make_log(200), fds[TIMES];
	trace_id_t trid[TIMES];
	struct stream_event e;

	for (int i = 0; i < TIMES; i++) {
		fds[i] = i % 2 ? log_again(fd, O_RDONLY) : fd;
		trid[i] = log_open(fds[i]);
		for (int j = 0; j < i; j++)
			CHECK("OPEN-1", trid[i] != trid[j]);
		log_expect(trid[i], POSIX_TRACE_START, &e);
	}
	for (unsigned n = 0; n < 200; n++)
		for (unsigned i = 0; i < TIMES; i++)
			if (n % (i + 1) == 0)
				CHECK_NUMBER("OPEN-1 OPEN-15", trid[i], n / (i + 1));
	for (int i = 0; i < TIMES; i += 2)
		CHECK_EQ("OPEN-10", posix_trace_close(trid[i]), 0);
	for (unsigned i = 1; i < TIMES; i += 2)
		CHECK_NUMBER("OPEN-10", trid[i], 199 / (i + 1) + 1);
	for (int i = 1; i < TIMES; i += 2)
		CHECK_EQ("OPEN-10", posix_trace_close(trid[i]), 0);
	/* Many times in sequence. */
	for (int i = 0; i < 300; i++) {
		trace_id_t t = log_open(fd);

		log_expect(t, POSIX_TRACE_START, &e);
		log_close(t);
	}
}

/* The descriptor stays open at the same offset, and need not be at the beginning. */
TEST(descriptor)
{
	int fd = make_log(100), ends[2];
	trace_id_t trid;
	char c;

	MUST(lseek(fd, 1234, SEEK_SET) == 1234);
	trid = log_open(fd);
	CHECK_EQ("OPEN-14", lseek(fd, 0, SEEK_CUR), 1234);
	CHECK_EQ("OPEN-3", log_count(trid, id), 100);
	CHECK_EQ("OPEN-14", lseek(fd, 0, SEEK_CUR), 1234);
	CHECK_EQ("OPEN-10", posix_trace_close(trid), 0);
	CHECK_EQ("OPEN-14", lseek(fd, 0, SEEK_CUR), 1234);
	CHECK_EQ("OPEN-14", read(fd, &c, 1), 1);
	/* Read access suffices. The descriptor may be closed or reused before the stream is closed. */
	ends[0] = log_again(fd, O_RDONLY);
	trid = log_open(ends[0]);
	MUST(dup2(0, ends[0]) == ends[0]);
	CHECK_EQ("MODEL-28 OPEN-2", log_count(trid, id), 100);
	close(ends[0]);
	CHECK_EQ("MODEL-28", posix_trace_rewind(trid), 0);
	CHECK_EQ("MODEL-28", log_count(trid, id), 100);
	CHECK_EQ("OPEN-10", posix_trace_close(trid), 0);
	CHECK_EQ("OPEN-14", log_length(fd) > 0, 1);
}

/* MODEL-30: reading a file updates its access time, if the kernel does so at all. */
TEST(access_time)
{
	int fd = make_log(10), other = log_file_in("/tmp"), to = log_again(other, O_RDWR), reading;
	struct timespec old[2] = { { 1000000000, 0 }, { 1000000001, 0 } };
	char block[65536];
	struct stat st;
	trace_id_t trid;
	ssize_t n;

	MUST(lseek(fd, 0, SEEK_SET) == 0);
	while ((n = read(fd, block, sizeof block)) > 0)
		MUST(write(to, block, (size_t)n) == n);
	reading = log_again(other, O_RDONLY);
	MUST(futimens(other, old) == 0);
	MUST(read(reading, block, 1) == 1 && fstat(other, &st) == 0);
	if (st.st_atim.tv_sec == 1000000000)
		SKIP("this file system marks no access times");
	MUST(futimens(other, old) == 0);
	trid = log_open(reading);
	CHECK_EQ("MODEL-30", log_count(trid, id), 10);
	MUST(fstat(other, &st) == 0);
	CHECK_OP("MODEL-30", st.st_atim.tv_sec, >, 1000000001);
	CHECK_EQ("MODEL-29", st.st_mtim.tv_sec, 1000000001); /* nothing was written */
	log_close(trid);
}

/* Signals do not interrupt the call. */
static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	alarms++;
	(void)signal;
}

TEST(interrupted)
{
	struct sigaction a = { .sa_handler = on_alarm };
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	int fd = make_log(1000);

	MUST(sigaction(SIGALRM, &a, NULL) == 0);
	alarm(0); /* replaces the harness's time limit; this test ends by itself */
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (int i = 0; i < 200 || (alarms < 100 && i < 20000); i++) {
		trace_id_t trid = 0x5555;

		CHECK_EQ("OPEN-7 THR-13", posix_trace_open(fd, &trid), 0);
		CHECK_EQ("OPEN-3 THR-13 READ-27", log_count(trid, id), 1000);
		CHECK_EQ("OPEN-9 THR-13", posix_trace_rewind(trid), 0);
		CHECK_EQ("OPEN-10 THR-13", posix_trace_close(trid), 0);
	}
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
	CHECK_OP("-", alarms, >=, 100);
}

/* -- Files that are not logs -------------------------------------------------------- */

static void no_log(const char *ids, int line, int fd)
{
	trace_id_t trid = 0x5555;
	int error = posix_trace_open(fd, &trid);

	if (error != EINVAL)
		TEST_FAIL(ids, "line %d: error %d", line, error);
	if (trid != 0x5555)
		TEST_FAIL(ids, "line %d: an identifier was stored", line);
}
#define NO_LOG(ids, ...) no_log(ids, __LINE__, __VA_ARGS__)

/* A descriptor that does not refer to a log, or does not allow reading. */
TEST(descriptors_without_log)
{
	int fd = make_log(10), writing = log_again(fd, O_WRONLY), path = log_again(fd, O_PATH), ends[2], sockets[2];
	int directory = open("/", O_RDONLY), null = open("/dev/null", O_RDWR), empty = log_file();

	MUST(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	NO_LOG("OPEN-8 OPEN-4 OPEN-13", -1);
	NO_LOG("OPEN-8 OPEN-4 OPEN-13", 4711);
	NO_LOG("OPEN-2 OPEN-8 OPEN-4 SEC-3", writing);
	NO_LOG("OPEN-2 OPEN-8 OPEN-4 SEC-3", path);
	NO_LOG("OPEN-8 OPEN-4", directory);
	NO_LOG("OPEN-8 OPEN-4", null);
	NO_LOG("OPEN-8 OPEN-4", ends[0]);
	NO_LOG("OPEN-8 OPEN-4", ends[1]);
	NO_LOG("OPEN-8 OPEN-4", sockets[0]);
	NO_LOG("OPEN-8 OPEN-4", empty);
	NO_LOG("OPEN-8 OPEN-4", open("/proc/self/maps", O_RDONLY));
	NO_LOG("OPEN-8 OPEN-4", open("/proc/self/exe", O_RDONLY));
	NO_LOG("OPEN-8 OPEN-4", open("/dev/zero", O_RDONLY));
	CHECK_REFUSED("OPEN-8", posix_trace_open(fd, NULL));
	close(fd);
	NO_LOG("OPEN-8 OPEN-4", fd);
}

/* Files of many lengths with different contents; a log without its beginning, or not at the beginning of the file. */
TEST(files_without_log)
{
	static unsigned char bytes[1 << 16];
	int log = make_log(10), fd = log_file();
	long length = (long)log_length(log);
	unsigned x = 1;

	MUST(length < (long)sizeof bytes && pread(log, bytes, (size_t)length, 0) == length);
	for (int i = 0; i < 64; i++) {
		MUST(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, (size_t)(i * 2), 0) == i * 2);
		NO_LOG("OPEN-8", fd);
	}
	MUST(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, (size_t)length, 8) == length);
	NO_LOG("OPEN-8", fd);
	MUST(ftruncate(fd, 0) == 0 && pwrite(fd, bytes + 8, (size_t)length - 8, 0) == length - 8);
	NO_LOG("OPEN-8", fd);
	for (int i = 0; i < 200; i++) {
		for (size_t j = 0; j < sizeof bytes; j += 16) {
			x = x * 1103515245u + 12345;
			memcpy(bytes + j, &x, sizeof x);
		}
		MUST(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, (x >> 8) % sizeof bytes, 0) >= 0);
		NO_LOG("OPEN-8", fd);
	}
}

/* -- Logs of other machines and of other versions of this library ---------------------- */

/*
 * According to docs/log-format.md, a frame's header has 64 bytes, with the size of its body at 24, the body's CRC at 28
 * and its own at 60. The file's first body has the versions at 16 and 18, and the byte order at 20.
 */
static uint32_t crc(const unsigned char *p, size_t n)
{
	uint32_t c = ~0u;

	while (n--) {
		c ^= *p++;
		for (int i = 0; i < 8; i++)
			c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
	}
	return ~c;
}

static uint32_t number32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void put32(unsigned char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> 8 * i);
}

/* Returns a copy of a log with one byte of its header changed, and the CRCs recomputed if checked is set. */
static int forged(int log, unsigned offset, unsigned char value, int checked)
{
	static unsigned char bytes[1 << 16];
	long length = (long)log_length(log);
	int fd = log_file();

	MUST(length < (long)sizeof bytes && pread(log, bytes, (size_t)length, 0) == length);
	bytes[64 + offset] = value;
	if (checked) {
		put32(bytes + 28, crc(bytes + 64, number32(bytes + 24)));
		put32(bytes + 60, crc(bytes, 60));
	}
	MUST(write(fd, bytes, (size_t)length) == length);
	return fd;
}

TEST(other_machines)
{
	static const uint16_t one = 1;
	unsigned char order = *(const unsigned char *)&one ? 1 : 2;
	int log = make_log(10);
	trace_id_t trid;

	/* Without a change, the copy can be read. */
	trid = log_open(forged(log, 20, order, 1));
	CHECK_EQ("LOG-21", log_count(trid, id), 10);
	log_close(trid);
	NO_LOG("LOG-22 OPEN-8 MODEL-27", forged(log, 20, order ^ 3, 1));
	NO_LOG("LOG-22 OPEN-8", forged(log, 20, 0, 1));
	NO_LOG("OPEN-8 LOG-21", forged(log, 16, 2, 1)); /* a different major version */
	NO_LOG("OPEN-8 LOG-21", forged(log, 16, 0, 1));
	NO_LOG("OPEN-8 LOG-21", forged(log, 0, 'P', 1)); /* the magic string */
	/* Damaged. */
	for (unsigned i = 0; i < 120; i++) {
		unsigned char c;

		MUST(pread(log, &c, 1, 64 + (off_t)i) == 1);
		NO_LOG("OPEN-8 LOG-21", forged(log, i, c ^ 0x40, 0));
	}
	/* A later minor version. */
	trid = log_open(forged(log, 18, 1, 1));
	CHECK_EQ("LOG-21", log_count(trid, id), 10);
	log_close(trid);
}

/* -- Logs that are not complete ---------------------------------------------------------- */

/* A log that is being written can be opened by its controller or by a different process, without harm to the stream. */
TEST(while_it_is_written)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };

	id = stream_id("open");
	for (int l = 0; l < 3; l++) {
		int fd = log_file(), status;
		trace_id_t trid = log_running(POSIX_TRACE_UNTIL_FULL, policies[l], 1 << 20, 1 << 20, fd);
		struct stream_event e;
		pid_t pid;

		for (unsigned i = 0; i < 500; i += 100) {
			trace_id_t log;

			log_send(id, i, 100);
			MUST(posix_trace_flush(trid) == 0);
			log = log_open(fd);
			log_expect_other(log, POSIX_TRACE_START, &e);
			CHECK_EQ("LOG-24", log_run(log, id, 0, &e), i + 100);
			CHECK_STR("LOG-24", state(trid), "RN");
			log_close(log);
			pid = fork();
			if (pid == 0) {
				log = log_open(fd);
				log_expect_other(log, POSIX_TRACE_START, &e);
				CHECK_EQ("LOG-24", log_run(log, id, 0, &e), i + 100);
				_exit(test_failures != 0);
			}
			MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
			CHECK_EQ("LOG-24", status, 0);
		}
		CHECK_EQ("LOG-24 SHUT-7", posix_trace_shutdown(trid), 0);
		CHECK_LOG("LOG-24 SHUT-9", fd, id, 0, 500);
		close(fd);
	}
}

/* -- Elsewhere --------------------------------------------------------------------------------- */

/*
 * The file contains everything: it can be on a disk, moved, copied, and read by a process that has never traced, when
 * nothing is left of its stream, as after a restart of the machine.
 */
TEST(all_is_in_the_file)
{
	int fd = log_file_in("/tmp"), status;
	trace_attr_t attr;
	trace_id_t trid;
	pid_t pid;

	id = stream_id("open");
	log_attr(&attr, POSIX_TRACE_FLUSH, POSIX_TRACE_LOOP, 1 << 20, 1 << 20);
	MUST(posix_trace_attr_setname(&attr, "kept") == 0);
	trid = log_create(&attr, fd);
	MUST(posix_trace_start(trid) == 0);
	log_send(id, 0, 1000);
	stream_end(trid);
	pid = fork();
	if (pid == 0) {
		char name[TRACE_EVENT_NAME_MAX + 1];
		int copy;

		MUST(lseek(fd, 0, SEEK_SET) == 0);
		copy = log_copy(fd);
		close(fd);
		shm_private("");
		CHECK_LOG("LOG-20 LOG-21 LOG-23 MODEL-1 MODEL-26 MODEL-31 OBJ-14", copy, id, 0, 1000);
		trid = log_open(copy);
		MUST(posix_trace_get_attr(trid, &attr) == 0 && posix_trace_attr_getname(&attr, name) == 0);
		CHECK_STR("LOG-20 LOG-23 ATTR-58", name, "kept");
		CHECK_EQ("LOG-20 LOG-23", posix_trace_eventid_get_name(trid, id, name), 0);
		CHECK_STR("LOG-20 LOG-23 MODEL-16", name, "open");
		CHECK_EQ("LOG-20", posix_trace_close(trid), 0);
		/* Reading has not created any files. */
		CHECK_FILES("LOG-23", shm_count(shm_directory(), "stream-"), <=, 0);
		fflush(stderr);
		_exit(test_failures != 0);
	}
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
	if (status == 77 << 8)
		SKIP("no mounts of one's own here");
	CHECK_EQ("LOG-23", status, 0);
}

/* TRACE_SYS_MAX counts active streams: opened logs do not reduce the number. */
TEST(many_logs)
{
	static trace_id_t trid[TRACE_SYS_MAX];
	struct rlimit files = { 0, 0 };
	int fd = make_log(1), n = 0;
	trace_id_t stream;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < 2 * TRACE_SYS_MAX)
		SKIP("too few descriptors");
	while (n < TRACE_SYS_MAX && posix_trace_open(fd, &trid[n]) == 0)
		n++;
	CHECK_OP("OPEN-1", n, >, 0);
	CHECK_EQ("CREATE-14 CREATE-18 LIM-3", posix_trace_create(0, NULL, &stream), 0);
	stream_end(stream);
	for (int i = 0; i < n; i++)
		log_close(trid[i]);
}

TEST_MAIN(TEST_ENTRY(oldest_first), TEST_ENTRY(rewind_from_anywhere), TEST_ENTRY(rewind_and_types),
          TEST_ENTRY(opened_more_than_once), TEST_ENTRY(descriptor), TEST_ENTRY(access_time), TEST_ENTRY(interrupted),
          TEST_ENTRY(descriptors_without_log), TEST_ENTRY(files_without_log), TEST_ENTRY(other_machines),
          TEST_ENTRY(while_it_is_written), TEST_ENTRY(all_is_in_the_file), TEST_ENTRY(many_logs))
