/*
 * dead_state.c - the state of a log in memory is corrupted: a process that writes or completes the log is not harmed
 *
 * The state of a log is in the stream. A traced process can write there, also while a controller with more rights
 * writes its log, or completes the log of another controller that was killed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <grp.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/sysmacros.h>

#include "control/lifecycle.h"
#include "log_file.h"
#include "model/record.h"
#include "shm/layout.h"

#define NOBODY 65534
#define LATE   3 /* events that a writer counts as lost long after it has found the stream full */

/* The stream under test, mapped from its file. */
static struct stream_header *header;
static size_t stream_bytes;
static struct log_state *state;

/* -- At a test point ---------------------------------------------------------------------- */

static const char *spoil_at, *die_at, *lose_at;
static int spoiled;
static _Atomic int hold, held; /* stops the flusher before it has anything to write */

void test_point(const char *name);

/* Corrupts both positions, because the test does not know which one is current. */
static void spoil(void)
{
	for (int i = 0; i < 2; i++) {
		state->position[i].slots = 0x10000000;
		state->position[i].slot = 0x7654321;
		state->position[i].slot_used = UINT64_MAX / 2;
	}
	spoiled++;
}

void test_point(const char *name)
{
	if (spoil_at && strcmp(name, spoil_at) == 0)
		spoil();
	if (lose_at && strcmp(name, lose_at) == 0)
		atomic_fetch_add((_Atomic uint64_t *)&header->lost, LATE);
	if (die_at && strcmp(name, die_at) == 0)
		kill(getpid(), SIGKILL);
	if (hold && strcmp(name, "flusher_sleeps") == 0) {
		held = 1;
		for (;;)
			pause();
	}
}

/* -- A creator that is killed ---------------------------------------------------------------- */

static void become_nobody(void)
{
	MUST(setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	     setresuid(NOBODY, NOBODY, NOBODY) == 0);
	MUST(prctl(PR_SET_DUMPABLE, 1) == 0);
}

static void find_state(unsigned user)
{
	char command[128], path[256] = "";
	struct stat st;
	FILE *f;
	int fd;

	snprintf(command, sizeof command, "ls /dev/shm/posixtrace-%u/stream-*", user);
	f = popen(command, "re");
	MUST(f && fgets(path, sizeof path, f));
	pclose(f);
	path[strcspn(path, "\n")] = 0;
	fd = open(path, O_RDWR | O_CLOEXEC);
	MUST(fd >= 0 && fstat(fd, &st) == 0);
	header = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	MUST((void *)header != MAP_FAILED && header->log_state != 0);
	stream_bytes = (size_t)st.st_size;
	state = (struct log_state *)(void *)((char *)header + st.st_size - header->log_state);
}

/* Leaves an empty LOOP log, and a stream with events, of a killed creator. Maps the log's state. */
static void kill_creator(bool nobody)
{
	int status, fd;
	pid_t pid;

	shm_private("");
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		if (nobody)
			become_nobody();
		fd = open(LOG_PATH, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		hold = 1;
		MUST(log_try(0, fd, POSIX_TRACE_LOOP, 1 << 20, 0, 1 << 20) == 0);
		while (!held)
			usleep(1000);
		MUST(posix_trace_start(log_trid) == 0);
		log_record(100);
		kill(getpid(), SIGKILL);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	find_state(nobody ? NOBODY : (unsigned)geteuid());
	/* The beginning of the log has been written, and no segment. */
	MUST(state->position[state->position_now & 1].log != 0);
	MUST(state->position[0].slots == 0 && state->position[1].slots == 0);
}

/* Returns the number of events in the log, or -1 if it cannot be opened. */
static int events(void)
{
	int fd = log_open(LOG_PATH, O_RDONLY);
	struct log_seen seen = log_read(fd);

	close(fd);
	return seen.error ? -1 : (int)seen.count;
}

static void come_by(pid_t pid)
{
	trace_id_t trid;

	MUST(posix_trace_create(pid, NULL, &trid) == 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* -- Tests ------------------------------------------------------------------------------------- */

/* An intact state. */
TEST(unspoilt)
{
	kill_creator(false);
	come_by(0);
	CHECK_EQ("-", events(), 100);
}

/* No slot of this size fits into the log, neither the first nor a next one. */
TEST(slot_size)
{
	kill_creator(false);
	state->slot_size = UINT32_MAX - 7;
	come_by(0);
	CHECK_EQ("-", events(), 0);
}

TEST(no_slot_size)
{
	kill_creator(false);
	state->slot_size = 0;
	come_by(0);
	CHECK_EQ("-", events(), 0);
}

/* Makes root create a stream for a process of the other user, with this value of spoil_at. */
static void root_comes_by(const char *then)
{
	int wait[2];
	pid_t pid;
	char c;

	MUST(pipe(wait) == 0);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		become_nobody();
		close(wait[1]);
		MUST(read(wait[0], &c, 1) == 0);
		exit(0);
	}
	close(wait[0]);
	for (bool ready = false; !ready;) {
		struct stat st;
		char path[32];

		snprintf(path, sizeof path, "/proc/%d", (int)pid);
		MUST(stat(path, &st) == 0);
		ready = st.st_uid == NOBODY;
	}
	spoil_at = then;
	come_by(pid);
	close(wait[1]);
	MUST(waitpid(pid, NULL, 0) == pid);
}

/* Lets another user corrupt the state after all of it has been checked. */
static void spoilt_at(const char *name)
{
	if (geteuid() != 0)
		SKIP("only root can be another user");
	NEEDS_OTHERS();
	kill_creator(true);
	root_comes_by(name);
	CHECK_EQ("-", spoiled, 1);
	CHECK_EQ("-", events(), 100);
}

TEST(spoilt_before_events)
{
	spoilt_at("save_recovered");
}

TEST(spoilt_before_stop)
{
	spoilt_at("save_stopped");
}

/* Returns the contents of a file. */
static char *content(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *bytes;

	MUST(fd >= 0 && fstat(fd, &st) == 0);
	*size = (size_t)st.st_size;
	bytes = malloc(*size + 1);
	MUST(bytes && read(fd, bytes, *size) == (ssize_t)*size);
	close(fd);
	return bytes;
}

#define ROOTS_LOG "/dev/shm/roots"

/* The dead stream claims one of root's logs as its own, and root recovers the stream. */
TEST(log_of_another)
{
	char *before, *after;
	size_t size, now;
	struct stat st;
	int fd;

	if (geteuid() != 0)
		SKIP("only root can be another user");
	NEEDS_OTHERS();
	kill_creator(true);
	fd = open(ROOTS_LOG, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	MUST(log_try(0, fd, POSIX_TRACE_LOOP, 1 << 20, 0, 1 << 20) == 0 && posix_trace_start(log_trid) == 0);
	log_record(10);
	MUST(posix_trace_shutdown(log_trid) == 0 && fstat(fd, &st) == 0);
	close(fd);
	before = content(ROOTS_LOG, &size);

	strcpy(state->path, ROOTS_LOG);
	state->inode = st.st_ino;
	state->device_major = major(st.st_dev);
	state->device_minor = minor(st.st_dev);
	/* In the frame of the HEADER (docs/log-format.md). */
	for (int i = 0; i < 2; i++)
		memcpy(&state->position[i].log, before + 8, sizeof state->position[i].log);
	root_comes_by(NULL);
	after = content(ROOTS_LOG, &now);
	CHECK_EQ("-", now, size);
	CHECK("-", now == size && memcmp(before, after, size) == 0);
	free(before);
	free(after);
}

/* The dead stream claims that root's process recorded its events. The path of the executable of root's process must not
 * get into nobody's log. */
TEST(process_of_another)
{
	uint32_t owner = 0;
	char *bytes;
	size_t size;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("only root can be another user");
	NEEDS_OTHERS();
	kill_creator(true);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		execlp("sleep", "sleep", "100", (char *)NULL);
		_exit(127);
	}
	for (size_t at = 0; at + sizeof(struct record_owner) <= stream_bytes - header->log_state; at += RECORD_ALIGN) {
		struct record_owner *o = (struct record_owner *)(void *)((char *)header + at);

		if (at >= STREAM_HEADER_BYTES && o->type == RECORD_OWNER && o->pid == header->creator_pid) {
			o->pid = (uint32_t)pid;
			owner++;
		}
	}
	MUST(owner > 0);
	usleep(100000);
	root_comes_by(NULL);
	CHECK_EQ("-", events(), 100);
	bytes = content(LOG_PATH, &size);
	CHECK("-", memmem(bytes, size, "/sleep", 6) == NULL);
	free(bytes);
	kill(pid, SIGKILL);
	MUST(waitpid(pid, NULL, 0) == pid);
}

/* Root's log of another user's process, which changes the state while root's library writes the log. */
TEST(spoilt_by_traced)
{
	int go[2], done[2], fd;
	pid_t pid;
	char c = 0;

	if (geteuid() != 0)
		SKIP("only root can be another user");
	NEEDS_OTHERS();
	shm_private("");
	MUST(pipe(go) == 0 && pipe(done) == 0);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		become_nobody();
		close(go[1]);
		log_id = fault_open("logged");
		MUST(write(done[1], &c, 1) == 1);
		MUST(read(go[0], &c, 1) == 1);
		log_record(100);
		MUST(write(done[1], &c, 1) == 1);
		MUST(read(go[0], &c, 1) == 0);
		exit(test_failures ? 1 : 0);
	}
	MUST(read(done[0], &c, 1) == 1);
	fd = open(LOG_PATH, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	MUST(log_try(pid, fd, POSIX_TRACE_LOOP, 1 << 20, 0, 1 << 20) == 0 && posix_trace_start(log_trid) == 0);
	close(fd);
	find_state(NOBODY);
	spoil_at = "draft_written";
	spoil();
	MUST(write(go[1], &c, 1) == 1 && read(done[0], &c, 1) == 1);
	CHECK_EQ("-", posix_trace_shutdown(log_trid), 0);
	CHECK_OP("-", spoiled, >, 1);
	CHECK_EQ("-", events(), 100);
	close(go[1]);
	MUST(waitpid(pid, NULL, 0) == pid);
}

/* Waits until the creator has been killed, lets another process complete its log, and reads the log. */
static struct log_seen read_after_kill(pid_t pid)
{
	struct log_seen seen;
	int status, fd;

	MUST(waitpid(pid, &status, 0) == pid);
	MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	come_by(0);
	fd = log_open(LOG_PATH, O_RDONLY);
	seen = log_read(fd);
	close(fd);
	CHECK_EQ("OPEN-8", seen.error, 0);
	return seen;
}

/*
 * Checks a stream and its log that have lost events and whose creator is killed in posix_trace_clear(): the log must
 * not report more lost events than there were.
 */
static void killed_in_clear(const char *place)
{
	struct log_seen seen;
	pid_t pid;
	int fd;

	shm_private("");
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		fd = open(LOG_PATH, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		MUST(log_try(0, fd, POSIX_TRACE_APPEND, 0, POSIX_TRACE_UNTIL_FULL, 4096) == 0 &&
		     posix_trace_start(log_trid) == 0);
		log_record(20000);
		MUST(posix_trace_flush(log_trid) == 0);
		die_at = place;
		posix_trace_clear(log_trid);
	}
	seen = read_after_kill(pid);
	CHECK_OP("-", seen.status.__posix_lost_events, >=, 20000 - seen.count);
	CHECK_OP("-", seen.status.__posix_lost_events, <=, 20001);
}

TEST(killed_in_clear)
{
	killed_in_clear("clear_quiet");
	killed_in_clear("clear_reset");
	killed_in_clear("clear_filter");
}

/*
 * Checks that no lost event is missing or counted twice if the creator is killed while it clears a part of its log that
 * it has kept elsewhere, with `reported` lost events. Writers count LATE events after that.
 */
static void killed_between_parts(const char *place)
{
	struct posix_trace_status_info status;
	struct log_seen seen;
	uint64_t *reported = mmap(NULL, sizeof *reported, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;
	int fd;

	MUST((void *)reported != MAP_FAILED);
	shm_private("");
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		fd = open(LOG_PATH, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		MUST(log_try(0, fd, POSIX_TRACE_APPEND, 0, POSIX_TRACE_FLUSH, 4096) == 0);
		find_state((unsigned)geteuid());
		for (int part = 0; part < 3; part++) {
			MUST(posix_trace_start(log_trid) == 0);
			log_record(20000);
			MUST(posix_trace_stop(log_trid) == 0 && posix_trace_flush(log_trid) == 0);
			MUST(posix_trace_get_status(log_trid, &status) == 0 && status.__posix_lost_events > 0);
			*reported = status.__posix_lost_events;
			lose_at = "clear_quiet";
			die_at = part == 2 ? place : NULL;
			MUST(lifecycle_clear(log_trid, NULL, reported) == 0);
			lose_at = NULL;
			MUST(posix_trace_get_status(log_trid, &status) == 0);
			MUST(status.__posix_lost_events == LATE);
		}
		kill(getpid(), SIGKILL);
	}
	seen = read_after_kill(pid);
	/* The old contents still report all lost events; the new contents report those that were counted late. */
	CHECK_EQ("-", seen.status.__posix_lost_events, LATE + (seen.count ? *reported : 0));
	if (seen.count)
		CHECK_EQ("-", seen.count + *reported, 20000 + LATE);
	munmap(reported, sizeof *reported);
}

TEST(killed_between_parts)
{
	static const char *const places[] = {
		"clear_quiet", "clear_reset", "clear_filter", "output_written", "output_moved", NULL,
	};

	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
		killed_between_parts(places[i]);
}

TEST_MAIN(TEST_ENTRY(unspoilt), TEST_ENTRY(slot_size), TEST_ENTRY(no_slot_size), TEST_ENTRY(spoilt_before_events),
          TEST_ENTRY(spoilt_before_stop), TEST_ENTRY(log_of_another), TEST_ENTRY(process_of_another),
          TEST_ENTRY(spoilt_by_traced), TEST_ENTRY(killed_in_clear),
          TEST_ENTRY(killed_between_parts))
