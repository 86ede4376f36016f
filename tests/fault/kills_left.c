/*
 * kills_left.c - the target, and what the dead leave behind
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>

#include "kills.h"
#include "shm.h"


struct left left_in(pid_t pid)
{
	char path[64];
	struct left left;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	left.descriptors = shm_count(path, "");
	left.mappings = shm_mappings(pid, "/posixtrace-");
	return left;
}

/* Prints the mappings of trace files of a process to standard error. */
static void show_maps(pid_t pid)
{
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (strstr(line, "/posixtrace-"))
			fputs(line, stderr);
	if (f)
		fclose(f);
}

pid_t target_pid;
int target_rounds;
struct left own_before;
static struct left target_before;
static struct books target_books; /* the test's stream of the target */

/* Returns true if the directory has the files of living processes only. Else puts the reason into `what`. */
static bool only_the_living(char *what, size_t size)
{
	DIR *d = opendir(shm_directory());
	struct dirent *e;
	bool right = true;
	int streams = 0;

	if (!d)
		return true;
	while ((e = readdir(d))) {
		char kind[16];
		int pid;

		if (e->d_name[0] == '.')
			continue;
		if (sscanf(e->d_name, "%15[a-z]-%d-", kind, &pid) != 2 ||
		    (pid != getpid() && (pid != target_pid || !pid)) || strcmp(kind, "new") == 0) {
			snprintf(what, size, "%s", e->d_name);
			right = false;
		}
		streams += strncmp(e->d_name, "stream-", 7) == 0;
	}
	closedir(d);
	if (right && streams != (target_pid ? 2 : 0)) {
		snprintf(what, size, "%d streams", streams);
		right = false;
	}
	return right;
}

/* Creates and shuts down a stream as this user. */
void create_once(uint64_t *state)
{
	pid_t pid = target_pid && chance(state, 2) ? target_pid : 0;
	int64_t begin = now_ns();
	trace_id_t trid;
	int error = posix_trace_create(pid, NULL, &trid);

	if (error)
		ROUND_FAIL("create afterwards: %s", strerror(error));
	else if (posix_trace_shutdown(trid) != 0)
		ROUND_FAIL("shutdown afterwards");
	if (now_ns() - begin > DEADLINE_NS)
		ROUND_FAIL("create and shutdown took %lld ms", (long long)(now_ns() - begin) / 1000000);
}

/* Checks that the stranger's directory is empty after the next create by the same user. */
static void check_stranger(void)
{
	char path[64];
	int status = 1;
	pid_t pid = fork();

	if (pid == 0) {
		uint64_t state = 2;

		become_stranger();
		target_pid = 0;
		create_once(&state);
		exit(test_failures > 0);
	}
	waitpid(pid, &status, 0);
	snprintf(path, sizeof path, "/dev/shm/posixtrace-%d", STRANGER);
	if (status != 0)
		ROUND_FAIL("another user cannot create a stream afterwards");
	else if (rmdir(path) != 0)
		ROUND_FAIL("left behind in %s: %d files", path, shm_count(path, ""));
}

void check_left(uint64_t *state)
{
	char what[300] = "";
	int64_t until, again;
	struct left left;
	trace_id_t trid;

	shared->round.jitter = 0;

	if (shared->round.stranger)
		check_stranger();
	create_once(state);
	/* A process that is reading /proc/PID of a dead process keeps its memory, and so its locks, for a moment
	 * longer. */
	for (int i = 0; i < 50 && !only_the_living(what, sizeof what); i++) {
		sleep_us(10000);
		create_once(state);
	}
	if (!only_the_living(what, sizeof what))
		ROUND_FAIL("left behind: %s", what);
	left = left_in(getpid());
	if (left.descriptors != own_before.descriptors || left.mappings > own_before.mappings)
		ROUND_FAIL("in the test: %d descriptors, there were %d; %d mappings, there were %d", left.descriptors,
		           own_before.descriptors, left.mappings, own_before.mappings);
	if (failed())
		show_maps(getpid());
	if (!target_pid)
		return;
	/* The target may have a descriptor open at the moment. It drops mappings at its next trace point. */
	until = now_ns() + DEADLINE_NS;
	again = now_ns() + 20000000;
	do {
		left = left_in(target_pid);
		if (left.descriptors == target_before.descriptors && left.mappings == target_before.mappings)
			return;
		sleep_us(300);
		/*
		 * Two kinds of mappings are dropped only together with the next stream: mappings that other threads
		 * used for too long, and a stream whose remover was killed after it emptied the slot and before it
		 * reported that.
		 */
		if (now_ns() > again) {
			again += 300000000;
			if (posix_trace_create(target_pid, NULL, &trid) != 0 || posix_trace_shutdown(trid) != 0)
				ROUND_FAIL("the target cannot be traced afterwards");
		}
	} while (now_ns() < until);
	ROUND_FAIL("in the target: %d descriptors, there were %d; %d mappings, there were %d", left.descriptors,
	           target_before.descriptors, left.mappings, target_before.mappings);
	show_maps(target_pid);
}

/* Checks that dead processes' streams do not count: the survivors' streams and new ones together reach
 * TRACE_SYS_MAX. */
void check_sys_max(void)
{
	trace_id_t trid[TRACE_SYS_MAX + 1];
	trace_attr_t attr;
	int n = 0, right = TRACE_SYS_MAX - (target_pid ? 2 : 0);

	posix_trace_attr_init(&attr);
	posix_trace_attr_setstreamsize(&attr, 0);
	while (n <= TRACE_SYS_MAX && posix_trace_create(0, &attr, &trid[n]) == 0)
		n++;
	if (n != right)
		ROUND_FAIL("%d streams can be created, not %d", n, right);
	while (n > 0)
		posix_trace_shutdown(trid[--n]);
}

/* -- The target's life -------------------------------------------------------- */

/* Returns true if the process has ended, and reaps it if `reap` is set. Does not wait. */
bool gone(pid_t pid, bool reap, siginfo_t *info)
{
	info->si_pid = 0;
	return waitid(P_PID, (id_t)pid, info, WEXITED | WNOHANG | (reap ? 0 : WNOWAIT)) == 0 && info->si_pid == pid;
}

void target_begin(uint64_t *state)
{
	trace_attr_t attr;

	memset((void *)&shared->source[TARGET_SOURCES], 0, TARGET_THREADS * sizeof shared->source[0]);
	target_pid = fork();
	MUST(target_pid >= 0);
	if (target_pid == 0) {
		if (chance(state, 2)) {
			execv("/proc/self/exe", image_arguments("target"));
			abort();
		}
		role_target();
	}
	shared->target = target_pid;
	posix_trace_attr_init(&attr);
	posix_trace_attr_setmaxdatasize(&attr, NUMBER_SIZE);
	posix_trace_attr_setstreamsize(&attr, 200000);
	for (int i = 0; i < TARGET_THREADS; i++)
		while (shared->source[TARGET_SOURCES + i].done < 10)
			sleep_us(200);
	target_books = (struct books){ .first = TARGET_SOURCES, .count = TARGET_THREADS, .system = 1, .running = true };
	MUST(posix_trace_create(target_pid, &attr, &target_books.trid) == 0);
	MUST(posix_trace_trid_eventid_open(target_books.trid, "number", &target_books.id) == 0);
	books_mark(&target_books, target_books.before);
	MUST(posix_trace_start(target_books.trid) == 0);
	books_mark(&target_books, target_books.after);
	while (!books_timed(&target_books, 1000) || target_books.total < 10)
		;
	sleep_us(2000);
	target_before = left_in(target_pid);
	/* The target opens and closes descriptors whenever it finds something new: take the minimum. */
	for (int i = 0; i < 5; i++) {
		struct left again = left_in(target_pid);

		if (again.descriptors < target_before.descriptors)
			target_before = again;
		sleep_us(500);
	}
	own_before = left_in(getpid());
	target_rounds = 0;
}

void target_read(void)
{
	for (int i = 0; i < 20000 && books_try(&target_books); i++)
		;
}

/* Checks that the target continues to trace, whatever happened to other processes. */
void target_lives(void)
{
	uint64_t done[TARGET_THREADS];
	int64_t until = now_ns() + DEADLINE_NS;
	siginfo_t info;

	for (int i = 0; i < TARGET_THREADS; i++)
		done[i] = shared->source[TARGET_SOURCES + i].done;
	for (int i = 0; i < TARGET_THREADS; i++) {
		while (shared->source[TARGET_SOURCES + i].done == done[i] && now_ns() < until)
			sleep_us(100);
		if (shared->source[TARGET_SOURCES + i].done == done[i] && !gone(target_pid, false, &info))
			ROUND_FAIL("a thread of the target does not go on");
	}
	if (gone(target_pid, false, &info))
		ROUND_FAIL("the target has ended: %d, status %d", info.si_code, info.si_status);
}

void target_end(void)
{
	siginfo_t info;
	int64_t until = now_ns() + 5 * DEADLINE_NS;

	if (!target_pid)
		return;
	shared->ready = 0;
	kill(target_pid, SIGTERM);
	while (!shared->ready && now_ns() < until && !gone(target_pid, false, &info))
		sleep_us(200);
	posix_trace_stop(target_books.trid);
	books_drain(&target_books);
	books_balance(&target_books);
	shared->ready = 0;
	while (!gone(target_pid, true, &info) && now_ns() < until)
		sleep_us(200);
	if (info.si_pid != target_pid || info.si_code != CLD_EXITED)
		ROUND_FAIL("the target does not end well: %d, status %d", info.si_code, info.si_status);
	posix_trace_shutdown(target_books.trid);
	target_pid = 0;
	shared->target = 0;
	own_before = left_in(getpid());
}
