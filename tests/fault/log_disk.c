/*
 * log_disk.c - the file of a log: no space, limits, errors, and programs that remove, rename, truncate or overwrite it
 *
 * Trace points notice none of this. The status has the flush error, what was written can be read, what could not be
 * written waits in the stream, and when writing is possible again the log continues without a gap.
 *
 * The linker's --wrap puts the functions of this file in front of src/base/sys.c, so that a test can make writes fail.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/sys.h"
#include "disk.h"
#include "log_file.h"

/* -- Writes that fail --------------------------------------------------------------------- */

static _Atomic int write_error;  /* 0: writes succeed */
static _Atomic int write_error_from; /* ... from this offset on */
static _Atomic int write_short;  /* the most bytes per write; 0: no limit */
static _Atomic int interrupted;  /* the number of writes to interrupt first */
static _Atomic int no_own_table; /* as before Linux 5.9 */
static _Atomic int stat_error;   /* the error of sys_stat(); 0: it does not fail */
static _Atomic int link_error;

long __real_sys_write_at(int fd, const void *buf, size_t size, uint64_t offset);
long __wrap_sys_write_at(int fd, const void *buf, size_t size, uint64_t offset);
long __wrap_sys_write_at(int fd, const void *buf, size_t size, uint64_t offset)
{
	if (interrupted > 0 && interrupted-- > 0)
		return -EINTR;
	if (write_error && offset >= (uint64_t)write_error_from)
		return -write_error;
	if (write_short && size > (size_t)write_short)
		size = (size_t)write_short;
	return __real_sys_write_at(fd, buf, size, offset);
}

int __real_sys_own_descriptors(int fd);
int __wrap_sys_own_descriptors(int fd);
int __wrap_sys_own_descriptors(int fd)
{
	return no_own_table ? -ENOSYS : __real_sys_own_descriptors(fd);
}

long __real_sys_read_link(const char *path, char *buf, size_t size);
long __wrap_sys_read_link(const char *path, char *buf, size_t size);
long __wrap_sys_read_link(const char *path, char *buf, size_t size)
{
	return link_error ? -link_error : __real_sys_read_link(path, buf, size);
}

struct sys_stat;
int __real_sys_stat(int fd, struct sys_stat *st);
int __wrap_sys_stat(int fd, struct sys_stat *st);
int __wrap_sys_stat(int fd, struct sys_stat *st)
{
	return stat_error ? -stat_error : __real_sys_stat(fd, st);
}

/* -- A small disk ------------------------------------------------------------------------------ */

/* Begins a log on a small disk, writes 100 events to it, and fills the disk. */
static void begin_and_fill(const char *options, size_t stream_size)
{
	disk(options);
	log_begin(disk_file(0), stream_size);
	log_record(100);
	CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
	disk_fill(0);
}

/* Checks that a flush fails. FLUSH-16: the status keeps the first error until it is read. */
static void check_flush_fails(int with)
{
	int reported;

	CHECK_EQ("FLUSH-12 FLUSH-20", posix_trace_flush(log_trid), with);
	reported = log_flush_error();
	CHECK_EQ("FLUSH-16", reported, with);
}

/* H12: the stream's contents wait for the disk. Up to its size nothing is lost. */
TEST(full_for_a_while)
{
	struct log_seen seen;

	begin_and_fill("size=512k", 1 << 20);
	log_record(3000);
	check_flush_fails(ENOSPC);
	log_record(1000);
	check_flush_fails(ENOSPC);
	/* Another process can read what was written. */
	seen = log_read_file(FILE_ON_DISK);
	CHECK("-", seen.error == 0 && seen.first == 1 && seen.count >= 100 && seen.missing == 0);
	disk_free();
	log_record(100);
	CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
	log_flush_error();
	log_record(100);
	CHECK_EQ("FLUSH-16", log_flush_error(), 0);
	CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
	seen = log_read_file(FILE_ON_DISK);
	log_check_all(&seen);
	log_check_gone();
}

static bool flush_error_reported(void *arg)
{
	return log_flush_error() == *(int *)arg;
}

static bool nothing_lost_more(void *arg)
{
	uint64_t before = *(uint64_t *)arg;

	log_record(10);
	return (*(uint64_t *)arg = log_lost()) == before;
}

/* More than the stream can hold: events are lost and counted, and then the log continues by itself, without
 * posix_trace_flush(). */
TEST(full_for_long)
{
	struct log_seen seen;
	int full = ENOSPC;
	uint64_t lost;

	begin_and_fill("size=512k", 65536);
	log_record(20000);
	CHECK("FLUSH-16", log_wait(flush_error_reported, &full));
	lost = log_lost();
	CHECK_OP("-", lost, >, 5000);
	disk_free();
	CHECK("FLUSH-14", log_wait(nothing_lost_more, &lost));
	log_record(100);
	CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
	seen = log_read_file(FILE_ON_DISK);
	CHECK_EQ("OPEN-8", seen.error, 0);
	CHECK("-", seen.first == 1 && seen.last == log_number);
	CHECK_EQ("-", seen.count + seen.status.__posix_lost_events, log_number);
	CHECK_EQ("-", seen.missing, seen.status.__posix_lost_events);
	/* FLUSH-14: the stream has stopped by itself where events are missing. */
	CHECK("FLUSH-14", seen.stopped > 0 && seen.starts == seen.stopped + 1);
}

/* Checks that the events in the log and its count of lost events add up exactly. */
static void check_incomplete(const struct log_seen *seen, int error)
{
	CHECK_OP("STAT-18", seen->status.__posix_lost_events, >, 0);
	CHECK_EQ("STAT-18", seen->count + seen->status.__posix_lost_events, log_number);
	CHECK_EQ("STAT-18", seen->status.posix_log_overrun_status, POSIX_TRACE_OVERRUN);
	CHECK_EQ("FLUSH-16", seen->status.posix_stream_flush_error, error);
	/* After the last event. */
	CHECK_EQ("-", seen->last_id, POSIX_TRACE_OVERFLOW);
}

/* No further flush follows: what could not be written is lost, and the log says so. */
TEST(full_at_the_end)
{
	struct log_seen seen;

	begin_and_fill("size=512k", 1 << 20);
	log_record(2000);
	CHECK_EQ("SHUT-13", posix_trace_shutdown(log_trid), ENOSPC);
	CHECK_EQ("SHUT-14 SHUT-4", posix_trace_shutdown(log_trid), EINVAL);
	seen = log_read_file(FILE_ON_DISK);
	CHECK("SHUT-14", seen.error == 0 && seen.first == 1 && seen.count >= 100 && seen.missing == 0);
	check_incomplete(&seen, ENOSPC);
	log_check_gone();
}

/* The disk has space for all events, but not for the index. */
TEST(full_before_the_index)
{
	struct log_seen seen;
	int error;

	disk("size=256k");
	log_begin(disk_file(0), 1 << 20);
	for (int i = 0; i < 100; i++) {
		log_record(1);
		CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
	}
	disk_fill(0);
	/* The rest of the file's last page is enough for STOP, but not for the index of a hundred segments. */
	error = posix_trace_shutdown(log_trid);
	CHECK("SHUT-13", error == ENOSPC || error == 0);
	seen = log_read_file(FILE_ON_DISK);
	log_check_all(&seen);
}

TEST(full_at_the_beginning)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };

	disk("size=256k");
	for (unsigned i = 0; i < 3; i++) {
		int fd = disk_file(O_TRUNC);

		/* The final size is reserved, except for APPEND. */
		if (policies[i] != POSIX_TRACE_APPEND)
			CHECK_EQ("LOG-11", log_try(0, fd, policies[i], 1 << 20, 0, 0), ENOSPC);
		MUST(ftruncate(fd, 0) == 0);
		disk_fill(0);
		CHECK_EQ("LOG-11", log_try(0, fd, policies[i], 100000, 0, 0), ENOSPC);
		log_check_gone();
		CHECK_EQ("SHUT-16", fcntl(fd, F_GETFD), FD_CLOEXEC);
		disk_free();
		CHECK_EQ("-", log_try(0, fd, policies[i], 100000, 0, 0), 0);
		CHECK_EQ("-", posix_trace_shutdown(log_trid), 0);
		close(fd);
	}
}

/* Space that the application has reserved remains available when the disk is full. */
TEST(reserved_before)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };

	disk("size=512k");
	for (unsigned i = 0; i < 3; i++) {
		int fd = disk_file(O_TRUNC);
		struct log_seen seen;

		MUST(posix_fallocate(fd, 0, 200000) == 0);
		disk_fill(0);
		CHECK_EQ("LOG-18", log_try(0, fd, policies[i], 100000, 0, 1 << 20), 0);
		CHECK_EQ("-", posix_trace_start(log_trid), 0);
		log_number = 0;
		log_record(1000);
		CHECK_EQ("LOG-18", posix_trace_flush(log_trid), 0);
		log_record(200);
		CHECK_EQ("LOG-18", posix_trace_shutdown(log_trid), 0);
		seen = log_read(fd);
		log_check_all(&seen);
		close(fd);
		disk_free();
	}
}

/* -- Limits of the file size: SIGXFSZ would end this program (H13) -------------------------- */

static void limit(rlim_t most)
{
	struct rlimit l;

	MUST(getrlimit(RLIMIT_FSIZE, &l) == 0);
	l.rlim_cur = most;
	MUST(setrlimit(RLIMIT_FSIZE, &l) == 0);
}

TEST(file_size)
{
	struct log_seen seen;
	struct rlimit before;

	shm_private("");
	MUST(getrlimit(RLIMIT_FSIZE, &before) == 0);
	log_begin(log_open(LOG_PATH, O_RDWR | O_CREAT), 1 << 20);
	limit(60000);
	log_record(100);
	CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
	log_record(2000);
	check_flush_fails(EFBIG);
	CHECK_EQ("FLUSH-11", posix_trace_flush(log_trid), EFBIG);
	seen = log_read_file(LOG_PATH);
	CHECK("-", seen.error == 0 && seen.first == 1 && seen.count >= 100 && seen.missing == 0);
	limit(before.rlim_cur);
	CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
	log_record(10);
	CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
	seen = log_read_file(LOG_PATH);
	log_check_all(&seen);
}

TEST(file_size_at_the_end)
{
	struct log_seen seen;

	shm_private("");
	log_begin(log_open(LOG_PATH, O_RDWR | O_CREAT), 1 << 20);
	limit(60000);
	log_record(2000);
	CHECK_EQ("SHUT-12", posix_trace_shutdown(log_trid), EFBIG);
	log_check_gone();
	seen = log_read_file(LOG_PATH);
	CHECK("SHUT-14", seen.error == 0 && seen.missing == 0);
	check_incomplete(&seen, EFBIG);
}

/* More than the stream can hold: some events are lost in the stream, and the rest could not be written. */
TEST(full_for_ever)
{
	struct log_seen seen;

	begin_and_fill("size=512k", 65536);
	log_record(20000);
	CHECK_EQ("SHUT-13", posix_trace_shutdown(log_trid), ENOSPC);
	seen = log_read_file(FILE_ON_DISK);
	CHECK("SHUT-14", seen.error == 0 && seen.first == 1 && seen.missing == 0);
	CHECK_EQ("STAT-15", seen.status.posix_stream_overrun_status, POSIX_TRACE_OVERRUN);
	check_incomplete(&seen, ENOSPC);
}

/* Writes fail beyond an offset only, as with a quota. */
TEST(errors_at_the_end)
{
	static const int errors[] = { EIO, EDQUOT, ENOSPC, EFBIG };

	shm_private("");
	for (unsigned i = 0; i < 4; i++) {
		struct log_seen seen;

		log_begin(log_open(LOG_PATH, O_RDWR | O_CREAT | O_TRUNC), 1 << 20);
		log_number = 0;
		log_record(100);
		CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
		write_error = errors[i];
		write_error_from = 4096;
		log_record(1000);
		CHECK_EQ("SHUT-14", posix_trace_shutdown(log_trid), errors[i]);
		write_error = 0;
		write_error_from = 0;
		seen = log_read_file(LOG_PATH);
		CHECK("SHUT-14", seen.error == 0 && seen.first == 1 && seen.count >= 100 && seen.missing == 0);
		check_incomplete(&seen, errors[i]);
	}
}

TEST(file_size_at_the_beginning)
{
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };
	int fd;

	shm_private("");
	fd = log_open(LOG_PATH, O_RDWR | O_CREAT);
	for (unsigned i = 0; i < 3; i++) {
		struct rlimit before;
		int error;

		MUST(getrlimit(RLIMIT_FSIZE, &before) == 0);
		limit(0);
		/* Under such a limit a stream without a log cannot be created either. */
		error = log_try(0, fd, policies[i], 100000, 0, 0);
		CHECK("CREATE-21", error == ENOMEM);
		/* A limit that allows the stream, but not the log. */
		limit(2000000);
		error = log_try(0, fd, policies[i], 4000000, 0, 65536);
		if (policies[i] == POSIX_TRACE_APPEND)
			CHECK("-", error == 0 && posix_trace_shutdown(log_trid) == 0);
		else
			CHECK_EQ("LOG-11", error, EFBIG);
		log_check_gone();
		limit(before.rlim_cur);
	}
}

/* -- All kinds of errors, as of a disk that breaks or becomes read-only --------------------------- */

TEST(errors)
{
	static const int errors[] = { EIO, EROFS, EDQUOT, ENOSPC, EFBIG, EBADF };
	static const int policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };

	shm_private("");
	for (unsigned p = 0; p < 3; p++) {
		int fd = log_open(LOG_PATH, O_RDWR | O_CREAT | O_TRUNC);
		struct log_seen seen;

		MUST(log_try(0, fd, policies[p], 1 << 20, 0, 1 << 20) == 0 && posix_trace_start(log_trid) == 0);
		log_number = 0;
		for (unsigned i = 0; i < 6; i++) {
			log_record(100);
			CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
			write_error = errors[i];
			log_record(100);
			check_flush_fails(errors[i]);
			CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), errors[i]);
			write_error = i ? errors[0] : errors[1];
			/* FLUSH-16: later errors do not matter until the first one has been read. */
			CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), write_error);
			CHECK_EQ("FLUSH-16", log_flush_error(), errors[i]);
			write_error = 0;
		}
		CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
		seen = log_read(fd);
		log_check_all(&seen);
		close(fd);
	}
	log_check_gone();
}

/* Interrupted and short writes are no errors. */
TEST(short_writes)
{
	static const int sizes[] = { 1, 63, 511, 4096 };
	struct log_seen seen;

	shm_private("");
	log_begin(log_open(LOG_PATH, O_RDWR | O_CREAT), 1 << 20);
	for (unsigned i = 0; i < 4; i++) {
		write_short = sizes[i];
		interrupted = 3;
		log_record(60);
		CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
	}
	write_short = 100;
	interrupted = 3;
	CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
	seen = log_read_file(LOG_PATH);
	log_check_all(&seen);
}

/* -- Other programs ---------------------------------------------------------------------------------- */

TEST(removed)
{
	struct log_seen seen;
	int fd;

	shm_private("");
	fd = log_open(LOG_PATH, O_RDWR | O_CREAT);
	log_begin(fd, 1 << 20);
	log_record(100);
	CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
	MUST(unlink(LOG_PATH) == 0);
	log_record(1000);
	CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
	CHECK_EQ("FLUSH-16", log_flush_error(), 0);
	log_record(10);
	CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
	/* A process that has the file open has all of it. */
	seen = log_read(fd);
	log_check_all(&seen);
	CHECK_EQ("-", access(LOG_PATH, F_OK), -1);
}

/* A child records into the log until it is killed. It stores its progress in shared memory. */
static volatile uint32_t *recorded;

static pid_t killed_child(void (*misfortune)(void))
{
	pid_t pid;
	int status;

	recorded = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST((void *)recorded != MAP_FAILED);
	fflush(stderr);
	pid = fork();
	if (pid == 0) {
		log_begin(log_open(LOG_PATH, O_WRONLY | O_CREAT), 1 << 20);
		log_record(500);
		MUST(posix_trace_flush(log_trid) == 0);
		log_record(100);
		misfortune();
		log_record(100);
		*recorded = test_failures ? 0 : log_number;
		raise(SIGKILL);
	}
	MUST(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	CHECK_EQ("-", *recorded, 700);
	log_number = *recorded;
	return pid;
}

static void rename_it(void)
{
	MUST(rename(LOG_PATH, LOG_PATH " elsewhere") == 0);
}

/* H25: a process that opens the log by its new name has all of it. A process that creates a stream cannot know the new
 * name, and changes nothing. */
TEST(renamed_then_killed)
{
	struct log_seen seen;

	shm_private("");
	killed_child(rename_it);
	fault_works(fault_open("other"));
	CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 1);
	seen = log_read_file(LOG_PATH " elsewhere");
	log_check_all(&seen);
	log_check_gone();
	fault_works(fault_open("other"));
	CHECK_EQ("-", shm_count(shm_directory(), ""), 2);
	CHECK_EQ("-", access(LOG_PATH, F_OK), -1);
}

static void leave_it(void)
{
}

/* The creator could not find out the name of its log, so other processes cannot know it either. The log is completed
 * when it is opened. */
TEST(not_found_then_killed)
{
	struct log_seen seen;

	shm_private("");
	link_error = ENOENT;
	killed_child(leave_it);
	link_error = 0;
	fault_works(fault_open("other"));
	CHECK_EQ("-", shm_count(shm_directory(), "stream-"), 1);
	seen = log_read_file(LOG_PATH);
	log_check_all(&seen);
	log_check_gone();
}

static int kept_fd;

static void remove_it(void)
{
	kept_fd = -1;
	MUST(unlink(LOG_PATH) == 0);
}

/* A process that has the removed file open has all of it. */
TEST(removed_then_killed)
{
	struct log_seen seen;

	shm_private("");
	kept_fd = log_open(LOG_PATH, O_RDWR | O_CREAT);
	killed_child(remove_it);
	fault_works(fault_open("other"));
	seen = log_read(kept_fd);
	log_check_all(&seen);
	log_check_gone();
}

static void put_another_there(void)
{
	int fd;

	MUST(rename(LOG_PATH, LOG_PATH " elsewhere") == 0);
	fd = log_open(LOG_PATH, O_WRONLY | O_CREAT);
	MUST(write(fd, "something else", 14) == 14);
	close(fd);
}

/* Another file has the log's name: it must not be written to. */
TEST(replaced_then_killed)
{
	struct log_seen seen;
	char text[32] = "";
	int fd;

	shm_private("");
	killed_child(put_another_there);
	fault_works(fault_open("other"));
	fd = log_open(LOG_PATH, O_RDONLY);
	CHECK_EQ("-", read(fd, text, sizeof text), 14);
	CHECK_STR("-", text, "something else");
	close(fd);
	seen = log_read_file(LOG_PATH " elsewhere");
	log_check_all(&seen);
	log_check_gone();
}

/* As a program that rotates logs by copying and truncating them. */
TEST(cut_to_nothing)
{
	struct log_seen seen;
	int fd;

	shm_private("");
	fd = log_open(LOG_PATH, O_RDWR | O_CREAT);
	log_begin(fd, 1 << 20);
	log_record(500);
	CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
	MUST(ftruncate(fd, 0) == 0);
	log_record(500);
	CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
	log_record(500);
	CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
	seen = log_read(fd);
	CHECK_EQ("-", seen.error, 0);
	CHECK("-", seen.last == log_number && seen.missing == 0 && seen.first > 1);
}

/* -- Descriptors (H27) ------------------------------------------------------------------------------- */

#define OTHERS 40

/* Files of the application that get the numbers of the closed descriptors. */
static int others[OTHERS];

static void others_open(void)
{
	for (int i = 0; i < OTHERS; i++) {
		char path[64];

		snprintf(path, sizeof path, "/dev/shm/test-other%d", i);
		others[i] = log_open(path, O_RDWR | O_CREAT);
	}
}

static void others_check(void)
{
	for (int i = 0; i < OTHERS; i++) {
		struct stat st;

		MUST(fstat(others[i], &st) == 0); /* the library has not closed it */
		CHECK_EQ("-", st.st_size, 0);
	}
}

TEST(all_closed)
{
	static const int flags[] = { 0, O_APPEND };

	shm_private("");
	for (unsigned i = 0; i < 2; i++) {
		struct log_seen seen;

		log_begin(log_open(LOG_PATH, O_WRONLY | O_CREAT | O_TRUNC | flags[i]), 1 << 20);
		log_number = 0;
		log_record(100);
		close_all(3);
		others_open();
		log_record(1000);
		CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
		log_record(100);
		CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
		others_check();
		close_all(3);
		seen = log_read_file(LOG_PATH);
		log_check_all(&seen);
	}
}

/* On an old kernel the flusher cannot have its own descriptor table, and loses the log. But it writes to no other file,
 * and closes none. */
TEST(all_closed_without_own_table)
{
	static const int flags[] = { 0, O_APPEND };

	shm_private("");
	no_own_table = 1;
	for (unsigned i = 0; i < 2; i++) {
		struct log_seen seen;
		int error;

		log_begin(log_open(LOG_PATH, O_WRONLY | O_CREAT | O_TRUNC | flags[i]), 1 << 20);
		log_number = 0;
		log_record(100);
		CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
		close_all(3);
		others_open();
		log_record(1000);
		CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), EBADF);
		CHECK_EQ("FLUSH-16", log_flush_error(), EBADF);
		error = posix_trace_shutdown(log_trid);
		CHECK_EQ("SHUT-14", error, EBADF);
		others_check();
		close_all(3);
		seen = log_read_file(LOG_PATH);
		CHECK("-", seen.error == 0 && seen.first == 1 && seen.count == 100);
		log_check_gone();
	}
}

/* The file's identity cannot be determined for a while: nothing is written, the error is reported, and then the log
 * continues. */
TEST(unknown_without_own_table)
{
	struct log_seen seen;

	shm_private("");
	no_own_table = 1;
	log_begin(log_open(LOG_PATH, O_RDWR | O_CREAT | O_TRUNC), 1 << 20);
	log_record(100);
	stat_error = EIO;
	CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), EIO);
	CHECK_EQ("FLUSH-16", log_flush_error(), EIO);
	stat_error = 0;
	log_record(100);
	CHECK_EQ("FLUSH-20", posix_trace_flush(log_trid), 0);
	CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
	seen = log_read_file(LOG_PATH);
	log_check_all(&seen);
}

/* On an old kernel no descriptor is left open either. */
TEST(without_own_table)
{
	struct log_seen seen;
	int before;

	shm_private("");
	no_own_table = 1;
	fault_works(fault_open("other"));
	before = shm_descriptors();
	for (int i = 0; i < 3; i++) {
		int fd = log_open(LOG_PATH, O_RDWR | O_CREAT | O_TRUNC | (i == 2 ? O_APPEND : 0));

		log_begin(fd, 1 << 20);
		log_number = 0;
		if (i == 1)
			MUST(lseek(fd, 5000, SEEK_SET) == 5000);
		log_record(1000);
		CHECK_EQ("SHUT-8", posix_trace_shutdown(log_trid), 0);
		CHECK_EQ("SHUT-16", fcntl(fd, F_GETFD), FD_CLOEXEC);
		seen = log_read(fd);
		log_check_all(&seen);
		close(fd);
	}
	CHECK_EQ("-", shm_descriptors(), before);
}

TEST_MAIN(TEST_ENTRY(full_for_a_while), TEST_ENTRY(full_for_long), TEST_ENTRY(full_at_the_end),
          TEST_ENTRY(full_before_the_index), TEST_ENTRY(full_for_ever), TEST_ENTRY(errors_at_the_end),
          TEST_ENTRY(full_at_the_beginning), TEST_ENTRY(reserved_before), TEST_ENTRY(file_size),
          TEST_ENTRY(file_size_at_the_end), TEST_ENTRY(file_size_at_the_beginning), TEST_ENTRY(errors),
          TEST_ENTRY(short_writes), TEST_ENTRY(removed), TEST_ENTRY(renamed_then_killed),
          TEST_ENTRY(not_found_then_killed), TEST_ENTRY(removed_then_killed), TEST_ENTRY(replaced_then_killed),
          TEST_ENTRY(cut_to_nothing), TEST_ENTRY(all_closed), TEST_ENTRY(all_closed_without_own_table),
          TEST_ENTRY(unknown_without_own_table), TEST_ENTRY(without_own_table))
