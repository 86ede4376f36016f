/*
 * kills.c - kills processes by SIGKILL, at random instants and at every test point
 *
 * A *round* is one victim, some survivors, and one kill. After a round, the books of all streams that a survivor reads
 * must balance (kills_books.h). After the next posix_trace_create() nothing of the dead may be left: no file, no stream
 * that counts towards TRACE_SYS_MAX, and no descriptor or mapping in the survivors. The test process is controller and
 * analyzer of most rounds, so it has to survive all of them.
 *
 *     TRACED      the victim is traced; the reader continues
 *     CONTROLLER  the victim traces the target. The target lives for many rounds and has two streams:
 *                 its own, which may lose nothing, and one that the test reads
 *     FAMILY      a process and its children share one stream; one of them is killed
 *     SELF        the victim traces itself; no other process is involved
 *     RECOVERER   the victim finds what another victim left behind
 *     ORPHAN      the victim's controller has been killed
 *     LOGGER      the victim creates a stream with a log, for itself or for another
 *                 process, which survives or is killed as well
 *     LOG_TRACED  the victim is traced into a log that the test creates
 *     SAVER       the victim finds a log whose creator has been killed
 *
 * KILLS_SEED repeats a run. KILLS_ROUND=KIND:SEED[:POINT[:PASSAGES[:STOP]]] repeats a failed round (KILLS times). KILLS
 * and KILLS_SECONDS limit the number of kills and the time, KILLS_POINT and KILLS_KIND select one point or kind, and
 * KILLS_PROGRESS prints a line every ten seconds. script/soak sets these variables. See docs/testing.md.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>

#include "fork.h"
#include "kills_books.h"
#include "control/lifecycle.h"
#include "kills_log.h"
#include "shm.h"

extern char **environ;

/* Sources: the first ones belong to the victim or its family, the last ones to the target. */
#define PER_PROCESS    6 /* up to three threads and their handlers */
#define TARGET_SOURCES 28
#define TARGET_THREADS 2

#define STRANGER 65534

/* -- Recording ------------------------------------------------------------ */

static __thread int handler_source = -1;
static trace_event_id_t number_id;

static void handle(int signal)
{
	int saved = errno;

	if (handler_source >= 0)
		source_send(handler_source, number_id);
	errno = saved;
}

static void start_handlers(void)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec often = { { 0, 70000 }, { 0, 70000 } };
	timer_t timer;

	MUST(sigaction(SIGUSR1, &action, NULL) == 0);
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0);
}

/* Opens a random name. With `compare`, checks that a name has the same id in all processes of a family. */
static void open_name(uint64_t *state, bool compare)
{
	char name[32];
	int i = (int)chance(state, NAMES), none = 0;
	trace_event_id_t id;

	snprintf(name, sizeof name, "name %d", i);
	if (posix_trace_eventid_open(name, &id) != 0 || !compare)
		return;
	if (!atomic_compare_exchange_strong(&shared->name_id[i], &none, (int)id) && none != (int)id) {
		fprintf(stderr, "name %d has the ids %d and %u\n", i, none, id);
		shared->failures++;
	}
}

static void *trace(void *arg)
{
	int source = (int)(intptr_t)arg;
	uint64_t state = shared->round.seed + (unsigned)source;

	source_begin(source);
	if (shared->round.handlers && source < PER_PROCESS * 4) {
		source_begin(source + 3);
		handler_source = source + 3;
	}
	while (!shared->stop) {
		for (int i = 0; i < 50 && !shared->stop; i++)
			source_send(source, number_id);
		for (int i = 0; shared->round.names && i < 6; i++)
			open_name(&state, shared->round.kind == FAMILY);
		if (chance(&state, 8) == 0)
			sleep_us(chance(&state, 200));
	}
	handler_source = -1;
	return NULL;
}

/* Traces in several threads until they are told to stop, or killed. */
static void trace_with(int first, int threads)
{
	pthread_t thread[3];

	if (shared->round.handlers)
		start_handlers();
	for (int i = 1; i < threads; i++)
		MUST(pthread_create(&thread[i], NULL, trace, (void *)(intptr_t)(first + i)) == 0);
	trace((void *)(intptr_t)first);
	for (int i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
}

static void wait_for(_Atomic int *word)
{
	while (!*word)
		sleep_us(30);
}

static void begin_role(bool victim)
{
	alarm((unsigned)(40 * test_slow()));
	source_visible();
	kills_victim = victim;
	test_failures = 0;
}

static void end_role(void) __attribute__((noreturn));
static void end_role(void)
{
	if (test_failures)
		shared->failures++;
	fflush(stderr);
	exit(0);
}

static void open_number_id(void)
{
	if (posix_trace_eventid_open("number", &number_id) != 0)
		abort();
}

/* -- The victims ------------------------------------------------------------ */

static void role_traced(void)
{
	begin_role(true);
	/* An early event is recorded before the stream exists, so no books count it. */
	if (shared->round.early || shared->round.running)
		open_number_id();
	if (shared->round.early)
		posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
	shared->ready = 1;
	if (!shared->round.running)
		wait_for(&shared->go);
	open_number_id();
	trace_with(0, shared->round.threads);
	end_role();
}

static trace_attr_t *attributes(uint64_t *state, trace_attr_t *attr)
{
	static const size_t sizes[] = { 0, 4096, 65536, 300000, 1 << 20 };

	posix_trace_attr_init(attr);
	posix_trace_attr_setstreamsize(attr, sizes[chance(state, 5)]);
	posix_trace_attr_setmaxdatasize(attr, NUMBER_SIZE);
	posix_trace_attr_setstreamfullpolicy(attr, chance(state, 2) ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL);
	if (shared->round.tight) {
		posix_trace_attr_setstreamsize(attr, 0);
		posix_trace_attr_setstreamfullpolicy(attr, POSIX_TRACE_LOOP);
	}
	return attr;
}

static void read_some(trace_id_t trid, uint64_t *state)
{
	struct posix_trace_event_info event;
	struct timespec until;
	struct number n;
	size_t length;
	int unavailable = 0;

	/* Sometimes reads all events: a stream that stopped because it was full starts again after that. */
	for (int i = chance(state, 4) ? (int)chance(state, 100) : 3000; i >= 0 && !unavailable; i--) {
		if (i > 100 || chance(state, 20)) {
			posix_trace_trygetnext_event(trid, &event, &n, sizeof n, &length, &unavailable);
			if (!unavailable)
				continue;
		}
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 200000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		posix_trace_timedgetnext_event(trid, &event, &n, sizeof n, &length, &unavailable, &until);
	}
}

/* Creates streams and makes random calls of all kinds that a controller can make. */
static void control(pid_t pid, uint64_t *state)
{
	trace_id_t trid[3];
	trace_event_set_t set;
	trace_event_id_t id;
	trace_attr_t attr;
	char name[32];
	int count = shared->round.tight ? 1 : 1 + (int)chance(state, 3);

	attributes(state, &attr);
	if (!shared->round.tight && chance(state, 4) == 0)
		posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED);
	for (int i = 0; i < count; i++) {
		int error = posix_trace_create(pid, &attr, &trid[i]);

		if (error) {
			fprintf(stderr, "a controller cannot create a stream: %s\n", strerror(error));
			shared->failures++;
			return;
		}
		posix_trace_start(trid[i]);
	}
	for (int i = shared->round.tight ? 400 : (int)chance(state, 12); i >= 0; i--) {
		trace_id_t t = trid[chance(state, (uint32_t)count)];

		/* The stream has three chunks: an event of the fourth concurrent writer is lost. */
		if (shared->round.tight)
			posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
		switch (shared->round.tight ? 7 : chance(state, 8)) {
		case 0:
			posix_trace_stop(t);
			break;
		case 1:
			posix_trace_start(t);
			break;
		case 2:
			posix_trace_clear(t);
			break;
		case 3:
			posix_trace_eventset_empty(&set);
			posix_trace_eventset_add(POSIX_TRACE_UNNAMED_USEREVENT, &set);
			posix_trace_set_filter(t, &set,
			                       chance(state, 2) ? POSIX_TRACE_ADD_EVENTSET : POSIX_TRACE_SUB_EVENTSET);
			break;
		case 4:
			snprintf(name, sizeof name, "name %u", chance(state, NAMES));
			posix_trace_trid_eventid_open(t, name, &id);
			break;
		case 5:
			sleep_us(chance(state, 500));
			break;
		default:
			read_some(t, state);
		}
	}
	/* exit() shuts down the remaining streams. */
	for (int i = 0; i < count; i++)
		if (chance(state, 4))
			posix_trace_shutdown(trid[i]);
}

static void role_controller(void)
{
	uint64_t state = shared->round.seed;

	begin_role(true);
	shared->ready = 1;
	wait_for(&shared->go);
	for (int i = (int)chance(&state, 4); i >= 0; i--)
		control(shared->target, &state);
	end_role();
}

static void *control_self(void *arg)
{
	uint64_t state = shared->round.seed;

	for (int i = (int)chance(&state, 4); i >= 0; i--)
		control(chance(&state, 2) ? 0 : getpid(), &state);
	shared->stop = 1;
	return NULL;
}

/* Becomes another user, whose directory does not exist yet. */
static void become_stranger(void)
{
	MUST(setresgid(STRANGER, STRANGER, STRANGER) == 0 && setresuid(STRANGER, STRANGER, STRANGER) == 0);
	prctl(PR_SET_DUMPABLE, 1);
}

static void role_self(void)
{
	uint64_t state = shared->round.seed;
	pthread_t thread;
	pid_t child;

	begin_role(true);
	setpgid(0, 0);
	if (shared->round.stranger)
		become_stranger();
	if (shared->round.early)
		posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
	shared->ready = 1;
	wait_for(&shared->go);
	open_number_id();
	MUST(pthread_create(&thread, NULL, control_self, NULL) == 0);
	trace_with(0, shared->round.threads);
	pthread_join(thread, NULL);
	/* Forks a child that traces itself, and waits for its end. */
	if (chance(&state, 3) == 0) {
		child = fork();
		if (child == 0) {
			posix_trace_event(number_id, NULL, 0);
			control(0, &state);
			end_role();
		}
		waitpid(child, NULL, 0);
	}
	end_role();
}

static void role_recoverer(void)
{
	uint64_t state = shared->round.seed;
	trace_id_t trid;

	begin_role(true);
	shared->ready = 1;
	wait_for(&shared->go);
	for (int i = 0; i < 3; i++)
		if (posix_trace_create(chance(&state, 2) ? 0 : shared->target, NULL, &trid) == 0 && chance(&state, 2))
			posix_trace_shutdown(trid);
	end_role();
}

/* -- Roles with a log -------------------------------------------------------- */

static void role_logged(void)
{
	begin_role(shared->round.kind == LOG_TRACED || shared->round.log.of == LOG_OF_BOTH);
	if (shared->round.early)
		posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
	open_number_id();
	shared->family[0] = getpid();
	trace_with(0, shared->round.threads);
	end_role();
}

static void *log_self(void *arg)
{
	uint64_t state = shared->round.seed;

	log_life(chance(&state, 2) ? 0 : getpid(), &state);
	shared->stop = 1;
	return NULL;
}

static void role_logger(void)
{
	uint64_t state = shared->round.seed;
	pthread_t thread;

	begin_role(true);
	shared->ready = 1;
	wait_for(&shared->go);
	if (shared->round.log.of == LOG_OF_SELF) {
		open_number_id();
		MUST(pthread_create(&thread, NULL, log_self, NULL) == 0);
		trace_with(0, shared->round.threads);
		pthread_join(thread, NULL);
	} else {
		log_life(shared->family[0], &state);
	}
	end_role();
}

static void role_saver(void)
{
	uint64_t state = shared->round.seed;
	int fd = open(LOG_FILE, O_RDONLY | O_CLOEXEC);
	trace_id_t trid;

	begin_role(true);
	shared->ready = 1;
	wait_for(&shared->go);
	for (int i = 0; i < 3; i++) {
		if (chance(&state, 2) ? posix_trace_open(fd, &trid) == 0 && chance(&state, 2)
		                      : posix_trace_create(0, NULL, &trid) == 0)
			(void)(posix_trace_close(trid) == EINVAL && posix_trace_shutdown(trid));
	}
	end_role();
}

static void role_child(int index)
{
	begin_role(index == shared->round.child);
	shared->family[index + 1] = getpid();
	open_number_id();
	trace_with(PER_PROCESS * (index + 1), 1);
	end_role();
}

/* Returns the arguments that execute this program again, in the given role. */
static char **image_arguments(const char *role)
{
	static char path[64] = "/proc/self/exe", option[] = "--image", name[32];
	static char *arguments[] = { path, option, name, NULL };

	snprintf(name, sizeof name, "%s", role);
	return arguments;
}

static void start_child(int index)
{
	char role[2] = { (char)('0' + index), 0 };
	pid_t pid;

	switch (shared->round.how[index]) {
	case 0:
		if (fork() == 0)
			role_child(index);
		break;
	case 1:
		if (fork_underscore() == 0)
			role_child(index);
		break;
	case 2:
		posix_spawn(&pid, "/proc/self/exe", NULL, NULL, image_arguments(role), environ);
		break;
	case 3:
		pid = vfork();
		if (pid == 0) {
			execv("/proc/self/exe", image_arguments(role));
			_exit(1);
		}
		break;
	default: /* a grandchild: the process in between has ended */
		pid = fork();
		if (pid == 0) {
			if (fork() == 0)
				role_child(index);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static void role_parent(void)
{
	uint64_t state = shared->round.seed;

	begin_role(shared->round.child < 0);
	shared->family[0] = getpid();
	open_number_id();
	if (shared->round.early)
		posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
	shared->ready = 1;
	wait_for(&shared->go);
	source_begin(0);
	for (int i = 0; i < 20; i++)
		source_send(0, number_id);
	for (int i = 0; i < 3; i++) {
		start_child(i);
		for (int j = (int)chance(&state, 100); j > 0; j--)
			source_send(0, number_id);
	}
	while (!shared->stop) {
		for (int i = 0; i < 50; i++)
			source_send(0, number_id);
		sleep_us(chance(&state, 50));
	}
	end_role();
}

static void role(const char *name)
{
	if (strcmp(name, "traced") == 0)
		role_traced();
	else if (strcmp(name, "controller") == 0)
		role_controller();
	else if (strcmp(name, "parent") == 0)
		role_parent();
	else if (strcmp(name, "self") == 0)
		role_self();
	else if (strcmp(name, "recoverer") == 0)
		role_recoverer();
	else if (strcmp(name, "logged") == 0)
		role_logged();
	else if (strcmp(name, "logger") == 0)
		role_logger();
	else if (strcmp(name, "saver") == 0)
		role_saver();
	else
		role_child(name[0] - '0');
	abort();
}

/* -- The target -------------------------------------------------------------- */

static _Atomic int target_stop;

/* Traces, but never gets further ahead of the reader than the stream's capacity: so no event may be lost. */
static void *target_trace(void *arg)
{
	int source = (int)(intptr_t)arg;
	struct source *s = &shared->source[source];

	source_begin(source);
	while (!target_stop) {
		for (int i = 0; i < 16; i++)
			source_send(source, number_id);
		do
			sleep_us(100);
		while (s->done - s->read > 300 && !target_stop);
	}
	return NULL;
}

static void on_terminate(int signal)
{
	target_stop = 1;
}

static void role_target(void)
{
	struct books books = { .first = TARGET_SOURCES, .count = TARGET_THREADS, .system = 1, .awaited = true };
	pthread_t thread[TARGET_THREADS];
	trace_attr_t attr;

	begin_role(false);
	alarm((unsigned)(300 * test_slow()));
	signal(SIGTERM, on_terminate);
	open_number_id();
	posix_trace_attr_init(&attr);
	posix_trace_attr_setmaxdatasize(&attr, NUMBER_SIZE);
	posix_trace_attr_setstreamsize(&attr, 1 << 20);
	MUST(posix_trace_create(0, &attr, &books.trid) == 0 && posix_trace_start(books.trid) == 0);
	books.id = number_id;
	for (int i = 0; i < TARGET_THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, target_trace, (void *)(intptr_t)(TARGET_SOURCES + i)) == 0);
	while (!target_stop)
		books_timed(&books, 5000);
	for (int i = 0; i < TARGET_THREADS; i++)
		pthread_join(thread[i], NULL);
	shared->ready = 1;
	/* Wait until the test has read its stream of the target, too. */
	while (shared->ready)
		sleep_us(100);
	posix_trace_stop(books.trid);
	books_drain(&books);
	books_balance(&books);
	if (books.total != 1 + shared->source[TARGET_SOURCES].done + shared->source[TARGET_SOURCES + 1].done)
		TEST_FAIL("-", "the target's own stream has lost events");
	posix_trace_shutdown(books.trid);
	end_role();
}

/* -- What is left behind ----------------------------------------------------- */

struct left {
	int descriptors, mappings;
};

static struct left left_in(pid_t pid)
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

static pid_t target_pid;          /* 0: no target is running */
static struct left target_before, own_before;
static struct books target_books; /* the test's stream of the target */
static int target_rounds;

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
static void create_once(uint64_t *state)
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

static void check_left(uint64_t *state)
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
static void check_sys_max(void)
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
static bool gone(pid_t pid, bool reap, siginfo_t *info)
{
	info->si_pid = 0;
	return waitid(P_PID, (id_t)pid, info, WEXITED | WNOHANG | (reap ? 0 : WNOWAIT)) == 0 && info->si_pid == pid;
}

static void target_begin(uint64_t *state)
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

static void target_read(void)
{
	for (int i = 0; i < 20000 && books_try(&target_books); i++)
		;
}

/* Checks that the target continues to trace, whatever happened to other processes. */
static void target_lives(void)
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

static void target_end(void)
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

/* -- A round --------------------------------------------------------------- */

enum reading { READ_ALONG, READ_AFTER, READ_THREAD, READ_DISTURB, READINGS, READ_TURNS };

/* The number of the group of streams that take turns: each event is in one stream of the group, or lost in one. */
#define TURNS 7

struct reader {
	struct books books[2];
	int streams;
	int running; /* index of the running stream, if two take turns */
	enum reading how;
	pthread_t thread;
	_Atomic int ended;
};

static void *read_for_ever(void *arg)
{
	struct reader *r = arg;
	struct posix_trace_event_info e;
	struct number n;
	size_t length;
	int unavailable;

	while (posix_trace_getnext_event(r->books[0].trid, &e, &n, sizeof n, &length, &unavailable) == 0)
		books_event(&r->books[0], &e, &n, length);
	r->ended = 1;
	return NULL;
}

static bool reader_create(struct reader *r, pid_t pid, uint64_t *state, int first, int count, bool inherited)
{
	trace_attr_t attr;

	memset(r, 0, sizeof *r);
	r->streams = 1 + (shared->round.turns || chance(state, 4) == 0);
	r->how = shared->round.turns ? READ_TURNS : (enum reading)chance(state, READINGS);
	for (int i = 0; i < r->streams; i++) {
		struct books *b = &r->books[i];
		int error, policy;

		attributes(state, &attr);
		if (inherited)
			posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED);
		posix_trace_attr_getstreamfullpolicy(&attr, &policy);
		if (r->how == READ_DISTURB && policy != POSIX_TRACE_LOOP)
			r->how = READ_ALONG;
		*b = (struct books){ .first = first, .count = count, .system = 1 };
		if (shared->round.turns)
			posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL);
		error = lifecycle_create(pid, &attr, NULL, shared->round.turns ? TURNS : 0, &b->trid);
		if (error) {
			ROUND_FAIL("create: %s", strerror(error));
			r->streams = i;
			r->how = READ_AFTER;
			return false;
		}
		MUST(posix_trace_trid_eventid_open(b->trid, "number", &b->id) == 0);
		if (shared->round.turns && i > 0)
			break;
		b->running = shared->round.running;
		if (b->running)
			books_mark(b, b->before);
		MUST(posix_trace_start(b->trid) == 0);
		if (b->running)
			books_mark(b, b->after);
	}
	if (r->how == READ_THREAD)
		MUST(pthread_create(&r->thread, NULL, read_for_ever, r) == 0);
	return true;
}

static trace_id_t own_log; /* a stream with a log that the test created; 0: none */

static void take_turns(struct reader *r)
{
	MUST(posix_trace_start(r->books[!r->running].trid) == 0);
	MUST(posix_trace_stop(r->books[r->running].trid) == 0);
	r->running = !r->running;
}

/* Returns how many of the sources' events both streams together lack. A negative value means that they have too
 * many. */
static int64_t turns_lacking(struct reader *r, int64_t *sources)
{
	uint64_t lost[2] = { 0, 0 };
	int64_t lacking = 0;

	*sources = 0;
	for (int i = 0; i < 2; i++)
		books_have(&r->books[i], &lost[i]);
	for (int i = r->books[0].first; i < r->books[0].first + r->books[0].count; i++) {
		const struct source *s = &shared->source[i];

		lacking += (int64_t)(s->done - r->books[0].seen[i] - r->books[1].seen[i]);
		*sources += s->pid != 0;
	}
	return lacking - (int64_t)(lost[0] + lost[1]);
}

/* Checks, after all writers have ended, that each event is in one of the two streams, or lost in one. */
static void turns_end(struct reader *r)
{
	int64_t until = now_ns() + DEADLINE_NS, lacking, sources;

	for (int i = 0; i < 2; i++)
		posix_trace_stop(r->books[i].trid);
	do {
		for (int i = 0; i < 2; i++)
			while (books_try(&r->books[i]))
				;
		lacking = turns_lacking(r, &sources);
		sleep_us(lacking > 0 ? 1000 : 0);
	} while (lacking > 0 && now_ns() < until);
	if (lacking > 0)
		ROUND_FAIL("of two streams that take turns %lld events are in neither", (long long)lacking);
	else if (lacking < -sources)
		ROUND_FAIL("two streams that take turns have %lld events more than there were", (long long)-lacking);
}

/* Makes the reader do its part while the victim lives. */
static void reader_go_on(struct reader *r, uint64_t *state)
{
	trace_event_set_t set;

	if (own_log)
		log_call(own_log, state);
	switch (r ? r->how : READ_AFTER) {
	case READ_ALONG:
		for (int i = 0; i < r->streams; i++)
			for (int j = 0; j < 100 && books_try(&r->books[i]); j++)
				;
		break;
	case READ_TURNS:
		if (!shared->arrived)
			take_turns(r);
		for (int i = 0; i < r->streams; i++)
			for (int j = 0; j < 100 && books_try(&r->books[i]); j++)
				;
		break;
	case READ_DISTURB:
		/* A type that is never recorded: setting the filter searches for writers in the middle of a record. */
		posix_trace_eventset_empty(&set);
		posix_trace_eventset_add(POSIX_TRACE_UNNAMED_USEREVENT, &set);
		for (int i = 0; i < r->streams; i++) {
			posix_trace_set_filter(r->books[i].trid, &set,
			                       chance(state, 2) ? POSIX_TRACE_ADD_EVENTSET : POSIX_TRACE_SUB_EVENTSET);
			r->books[i].system++;
		}
		break;
	default:
		break;
	}
	sleep_us(30);
}

/* Stops, checks and shuts down the reader's streams, after all writers have ended. */
static void reader_end(struct reader *r)
{
	int64_t begin = now_ns(), until;

	if (r->how == READ_TURNS)
		turns_end(r);
	for (int i = 0; i < r->streams && r->how != READ_TURNS; i++) {
		struct books *b = &r->books[i];

		posix_trace_stop(b->trid);
		if (now_ns() - begin > DEADLINE_NS)
			ROUND_FAIL("stop took %lld ms", (long long)(now_ns() - begin) / 1000000);
		if (r->how != READ_THREAD || i > 0) {
			books_drain(b);
			books_balance(b);
		} else {
			/* The reader thread is woken by the last event, and reads on by itself. */
			until = now_ns() + DEADLINE_NS;
			for (uint64_t total = 0; now_ns() < until;) {
				if (total == *(volatile uint64_t *)&b->total && !books_open(b))
					break;
				total = *(volatile uint64_t *)&b->total;
				sleep_us(300);
			}
		}
		if (r->how == READ_THREAD && i == 0) {
			/* The reader thread sleeps and has read everything, so only this thread accesses the books
			 * now. */
			books_balance(b);
		} else if (i == 0 && chance(&(uint64_t){ shared->round.seed }, 8) == 0 && books_timed(b, 2000)) {
			ROUND_FAIL("one more event after all had been read");
		}
	}
	for (int i = 0; i < r->streams; i++) {
		begin = now_ns();
		if (posix_trace_shutdown(r->books[i].trid) != 0)
			ROUND_FAIL("shutdown");
		if (r->how == READ_THREAD && i == 0)
			pthread_join(r->thread, NULL);
		if (now_ns() - begin > DEADLINE_NS)
			ROUND_FAIL("shutdown took %lld ms", (long long)(now_ns() - begin) / 1000000);
	}
}

static pid_t start_role(const char *name, bool image)
{
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0) {
		if (image) {
			execv("/proc/self/exe", image_arguments(name));
			abort();
		}
		role(name);
	}
	return pid;
}

static void wait_ready(pid_t pid)
{
	siginfo_t info;
	int64_t until = now_ns() + 5 * DEADLINE_NS;

	while (!shared->ready && !shared->arrived && !gone(pid, false, &info)) {
		if (now_ns() > until) {
			ROUND_FAIL("the victim does not begin");
			return;
		}
		sleep_us(30);
	}
}

/* Runs the victim until its end. Returns true if it was killed from here or at the point. */
static bool kill_victim(pid_t pid, struct reader *r, uint64_t *state)
{
	static const unsigned longest[] = { 100, 500, 3000, 12000 };
	int64_t begin = now_ns(), until = begin + 1000 * (int64_t)chance(state, longest[chance(state, 4)]);
	siginfo_t info;

	if (shared->arm != ARM_NOT)
		until = begin + (shared->round.tight ? 400000000ll : 25000000ll) * test_slow();
	while (now_ns() < until && !gone(pid, false, &info) && !shared->arrived)
		reader_go_on(r, state);
	if (shared->arrived) {
		/* One thread of the victim stays at the point; its other threads continue for a while. */
		until = now_ns() + 1000 * (int64_t)chance(state, 2000);
		while (now_ns() < until)
			reader_go_on(r, state);
	}
	log_killed();
	kill(pid, SIGKILL);
	while (!gone(pid, false, &info))
		sleep_us(20);
	if (info.si_code == CLD_KILLED && info.si_status == SIGKILL)
		return true;
	if (info.si_code != CLD_EXITED || info.si_status != 0)
		ROUND_FAIL("the victim has ended by itself: %d, status %d", info.si_code, info.si_status);
	return false;
}

static void reap(pid_t pid)
{
	waitpid(pid, NULL, 0);
}

static bool has_other_child(void)
{
	char path[64], line[4096];
	bool other = false;
	FILE *f;
	int pid, at = 0, n;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "r");
	if (!f || !fgets(line, sizeof line, f))
		line[0] = 0;
	if (f)
		fclose(f);
	while (sscanf(line + at, "%d%n", &pid, &n) == 1) {
		other |= pid != target_pid;
		at += n;
	}
	return other;
}

/* Reaps all children but the target. Orphaned grandchildren become children of the test. */
static void reap_all(void)
{
	int64_t until = now_ns() + DEADLINE_NS;
	siginfo_t info;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
			return; /* no children */
		if (info.si_pid && info.si_pid != target_pid) {
			reap(info.si_pid);
		} else if (info.si_pid || (target_pid && !has_other_child())) {
			return;
		} else if (now_ns() > until) {
			ROUND_FAIL("a child does not end");
			return;
		} else {
			sleep_us(50);
		}
	}
}

static bool round_traced(uint64_t *state)
{
	pid_t pid = start_role("traced", shared->round.image);
	struct reader r;
	bool killed, early;

	wait_ready(pid);
	if (!reader_create(&r, pid, state, 0, PER_PROCESS, false)) {
		kill(pid, SIGKILL);
		reap(pid);
		reader_end(&r);
		return false;
	}
	shared->go = 1;
	killed = kill_victim(pid, &r, state);
	/* The threads of a zombie can still be found. */
	early = chance(state, 4) != 0;
	if (early)
		reap(pid);
	else
		round_note = ", zombie";
	reader_end(&r);
	if (!early)
		reap(pid);
	return killed;
}

static bool round_controller(uint64_t *state)
{
	pid_t pid;
	bool killed;

	if (target_pid && target_rounds++ >= 30)
		target_end();
	if (!target_pid)
		target_begin(state);
	shared->ready = 0;
	pid = start_role("controller", shared->round.image);
	wait_ready(pid);
	shared->go = 1;
	killed = kill_victim(pid, NULL, state);
	reap(pid);
	target_lives();
	target_read();
	return killed;
}

/* Returns true if a process of the family is alive. */
static bool family_lives(void)
{
	for (int i = 0; i < 4; i++)
		if (shared->family[i] && kill(shared->family[i], 0) == 0)
			return true;
	return false;
}

static bool round_family(uint64_t *state)
{
	int index = shared->round.child + 1;
	pid_t parent = start_role("parent", shared->round.image), pid;
	int64_t until = now_ns() + 2 * DEADLINE_NS;
	struct reader r;
	siginfo_t info;
	bool killed = false;

	wait_ready(parent);
	if (!reader_create(&r, parent, state, 0, 4 * PER_PROCESS, true)) {
		kill(parent, SIGKILL);
		reap(parent);
		reader_end(&r);
		return false;
	}
	shared->go = 1;
	/* Wait for the victim. */
	while (!shared->family[index] && now_ns() < until && !gone(parent, false, &info))
		reader_go_on(&r, state);
	pid = shared->family[index];
	if (!pid && shared->round.child >= 0)
		ROUND_FAIL("child %d does not come", shared->round.child);
	if (pid == parent) {
		killed = kill_victim(pid, &r, state);
	} else if (pid) {
		/* The victim is not our child as long as its parent lives. */
		until = now_ns() + (shared->arm ? 25000000ll * test_slow() : 1000 * (int64_t)chance(state, 3000));
		while (now_ns() < until && !shared->arrived)
			reader_go_on(&r, state);
		killed = kill(pid, SIGKILL) == 0;
	}
	/* The rest of the family continues. */
	until = now_ns() + 1000 * (int64_t)chance(state, 3000);
	while (now_ns() < until)
		reader_go_on(&r, state);
	shared->stop = 1;
	until = now_ns() + 4 * DEADLINE_NS;
	while ((!gone(parent, false, &info) || family_lives()) && now_ns() < until) {
		pid = waitpid(-1, NULL, WNOHANG);
		if (target_pid && pid == target_pid)
			ROUND_FAIL("the target has ended");
		if (pid == parent)
			parent = 0;
		if (pid <= 0)
			reader_go_on(&r, state);
		if (!parent && !family_lives())
			break;
	}
	if (now_ns() >= until)
		ROUND_FAIL("somebody of the family does not end");
	reap_all();
	reader_end(&r);
	return killed;
}

static bool round_alone(const char *name, uint64_t *state)
{
	pid_t pid = start_role(name, shared->round.image);
	bool killed;

	wait_ready(pid);
	shared->go = 1;
	killed = kill_victim(pid, NULL, state);
	/* Kill the victim's child, too. */
	kill(-pid, SIGKILL);
	reap_all();
	return killed;
}

/* First a process leaves files behind, then the victim finds them. */
static bool round_recoverer(uint64_t *state)
{
	int arm = shared->arm;

	shared->arm = ARM_NOT;
	shared->round.kind = SELF;
	if (target_pid && chance(state, 2))
		round_controller(state);
	else
		round_alone("self", state);
	shared->round.kind = RECOVERER;
	shared->go = shared->ready = shared->stop = 0;
	shared->arm = arm;
	return round_alone("recoverer", state);
}

/* Waits until the word has reached the value, or the process has ended. */
static void wait_word(_Atomic int *word, int value, pid_t pid, const char *what)
{
	int64_t until = now_ns() + 5 * DEADLINE_NS;
	siginfo_t info;

	while (*word < value && !shared->arrived && !gone(pid, false, &info)) {
		if (now_ns() > until) {
			ROUND_FAIL("%s", what);
			return;
		}
		sleep_us(30);
	}
}

/* Runs a log from its beginning to the death of its creator. */
static bool logger_killed(uint64_t *state)
{
	pid_t traced = 0, pid;
	bool killed;

	if (shared->round.log.of != LOG_OF_SELF) {
		traced = start_role("logged", shared->round.image);
		wait_word(&shared->family[0], 1, traced, "who is to be traced does not begin");
	}
	pid = start_role("logger", shared->round.image && !traced);
	wait_ready(pid);
	shared->go = 1;
	if (shared->round.log.endless)
		wait_word(&shared->log.phase, LOG_STARTED, pid, "a stream with a log does not start");
	killed = kill_victim(pid, NULL, state);
	if (traced && shared->round.log.of == LOG_OF_BOTH) {
		kill(traced, SIGKILL);
	} else if (traced) {
		/* The traced process continues to record until the log is recovered. */
		sleep_us(chance(state, 2000));
		shared->stop = 1;
	}
	reap(pid);
	if (traced)
		reap(traced);
	return killed;
}

static bool round_logger(uint64_t *state)
{
	bool killed = logger_killed(state);

	log_check(state);
	return killed;
}

static bool round_log_traced(uint64_t *state)
{
	pid_t pid = start_role("logged", shared->round.image);
	bool killed, early;

	wait_word(&shared->family[0], 1, pid, "who is to be traced does not begin");
	if (log_create(pid, &own_log) != 0) {
		ROUND_FAIL("create with a log: %s", strerror(shared->log.error));
		kill(pid, SIGKILL);
		reap(pid);
		return false;
	}
	killed = kill_victim(pid, NULL, state);
	early = chance(state, 4) != 0;
	if (early)
		reap(pid);
	log_end(own_log);
	own_log = 0;
	if (!early)
		reap(pid);
	log_check(state);
	return killed;
}

/* First a process leaves an unfinished log, then the victim finds it. */
static bool round_saver(uint64_t *state)
{
	int arm = shared->arm;
	bool killed;

	shared->arm = ARM_NOT;
	shared->round.kind = LOGGER;
	logger_killed(state);
	shared->round.kind = SAVER;
	shared->go = shared->ready = shared->stop = 0;
	shared->arm = arm;
	killed = round_alone("saver", state);
	log_check(state);
	return killed;
}

/* Checks that the traced process finds out by itself that its controller is dead: no stream is created meanwhile. */
static void check_noticed(void)
{
	int64_t until = now_ns() + 2 * DEADLINE_NS;
	int mine = target_pid ? 2 : 0;

	while (shm_count(shm_directory(), "stream-") > mine && now_ns() < until)
		sleep_us(1000);
	if (shm_count(shm_directory(), "stream-") > mine)
		ROUND_FAIL("the stream of a dead controller stays, although it is recorded to");
}

/* Returns true for a point of the check that a traced process makes once a second: is the controller alive? */
static bool after_a_second(int point)
{
	return strncmp(kills_points[point], "check_", 6) == 0;
}

static bool round_orphan(uint64_t *state)
{
	bool early = shared->round.early, logged = shared->round.log.policy != 0;
	pid_t pid, controller;
	trace_id_t trid;
	bool killed;
	int status = 0;

	shared->round.running = false;
	pid = start_role("traced", shared->round.image);
	wait_ready(pid);
	controller = fork();
	if (controller == 0) {
		if (logged)
			log_create(pid, &trid);
		else if (posix_trace_create(pid, NULL, &trid) == 0)
			posix_trace_start(trid);
		/* The controller dies before the victim has mapped its stream, or while the victim records into it. */
		if (!early) {
			shared->go = 1;
			sleep_us(2000);
		}
		log_killed();
		raise(SIGKILL);
	}
	waitpid(controller, &status, 0);
	shared->go = 1;
	if (!early && shared->arm != ARM_NOT && after_a_second(shared->point)) {
		siginfo_t info;
		int64_t until = now_ns() + 1500000000;

		while (now_ns() < until && !gone(pid, false, &info) && !shared->arrived)
			sleep_us(500);
	}
	/* A stream with a log stays until a process finds it that can write the log. */
	if (!early && !logged && shared->arm == ARM_NOT && chance(state, 10) == 0)
		check_noticed();
	killed = kill_victim(pid, NULL, state);
	reap(pid);
	log_check(state);
	return killed;
}

static void round_choose(int kind, uint64_t seed)
{
	struct round *r = &shared->round;
	uint64_t state = seed;

	memset(r, 0, sizeof *r);
	r->kind = kind;
	r->seed = seed;
	r->threads = 1 + (int)chance(&state, 3);
	r->handlers = chance(&state, 3) == 0;
	r->image = chance(&state, 3) == 0;
	r->early = chance(&state, 2);
	r->running = kind == TRACED && chance(&state, 4) == 0;
	r->names = chance(&state, 2);
	r->child = (int)chance(&state, 4) - 1;
	for (int i = 0; i < 3; i++)
		r->how[i] = (int)chance(&state, 5);
	r->jitter = chance(&state, 3) == 0 ? 1 << (4 + chance(&state, 8)) : 0;
	r->stranger = kind == SELF && geteuid() == 0 && chance(&state, 4) == 0;
	if (r->stranger)
		r->image = false;
	r->tight = (kind == TRACED || kind == SELF) && chance(&state, 12) == 0;
	if (r->tight) {
		r->threads = 3;
		r->handlers = true;
	}
	r->turns = kind == TRACED && !r->tight && !r->running && chance(&state, 4) == 0;
	if (kind == FAMILY)
		r->handlers = false;
	if (kind == LOGGER || kind == LOG_TRACED || kind == SAVER || (kind == ORPHAN && chance(&state, 3) == 0))
		log_choose(r, &state);
	r->log.endless = kind == SAVER;
}

/* Runs a round. Returns true if the victim was killed. */
static bool round_run(int kind, uint64_t seed, int arm, int point, int passages)
{
	uint64_t state = chance_mix(seed);
	bool killed;
	int jitter;

	alarm((unsigned)(60 * test_slow()));
	round_choose(kind, seed);
	shared->go = shared->ready = shared->stop = shared->arrived = 0;
	for (int i = 0; i < TARGET_SOURCES; i++)
		memset((void *)&shared->source[i], 0, sizeof shared->source[i]);
	memset((void *)shared->name_id, 0, sizeof shared->name_id);
	memset((void *)shared->family, 0, sizeof shared->family);
	memset((void *)&shared->log, 0, sizeof shared->log);
	unlink(LOG_FILE);
	unlink(LOG_MOVED);
	round_note = "";
	shared->point = point;
	shared->passages = passages;
	shared->arm = arm;
	switch (kind) {
	case TRACED:
		killed = round_traced(&state);
		break;
	case CONTROLLER:
		killed = round_controller(&state);
		break;
	case FAMILY:
		killed = round_family(&state);
		break;
	case SELF:
		killed = round_alone("self", &state);
		break;
	case RECOVERER:
		killed = round_recoverer(&state);
		break;
	case LOGGER:
		killed = round_logger(&state);
		break;
	case LOG_TRACED:
		killed = round_log_traced(&state);
		break;
	case SAVER:
		killed = round_saver(&state);
		break;
	default:
		killed = round_orphan(&state);
	}
	jitter = shared->round.jitter;
	check_left(&state);
	if (failed()) {
		const struct round *r = &shared->round;

		fprintf(stderr, "%d threads%s%s%s%s%s%s%s%s, jitter %d, child %d of %d %d %d\n", r->threads,
		        r->handlers ? ", handlers" : "", r->image ? ", image" : "", r->tight ? ", tight" : "",
		        r->turns ? ", turns" : "", r->early ? ", early" : "", r->running ? ", running" : "",
		        r->names ? ", names" : "", r->stranger ? ", stranger" : "", jitter, r->child, r->how[0],
		        r->how[1], r->how[2]);
		fprintf(stderr, "to repeat it: KILLS_ROUND=%d:%#llx:%s:%d:%d %s round\n", kind,
		        (unsigned long long)seed, arm == ARM_NOT ? "-" : kills_points[point], passages, arm == ARM_STOP,
		        program_invocation_short_name);
	}
	return killed;
}

/* -- Tests ------------------------------------------------------------------- */

static uint64_t seed_given(void)
{
	const char *s = getenv("KILLS_SEED");
	uint64_t seed = s ? strtoull(s, NULL, 0) : (uint64_t)now_ns() ^ (uint64_t)getpid() << 32;

	printf("seed %#llx\n", (unsigned long long)seed);
	fflush(stdout);
	return seed;
}

static int number_given(const char *name, int otherwise)
{
	const char *s = getenv(name);

	return s ? atoi(s) : otherwise;
}

static int kills, rounds_run;

static void progress(bool last)
{
	static int64_t begin, next;
	int64_t now = now_ns();

	if (!begin)
		begin = now;
	if (!last && (!getenv("KILLS_PROGRESS") || now < next))
		return;
	next = now + 10000000000ll;
	printf("%d kills in %d rounds, %lld s\n", kills, rounds_run, (long long)(now - begin) / 1000000000);
	fflush(stdout);
}

static bool enough(int wanted)
{
	static int64_t until;
	int seconds = number_given("KILLS_SECONDS", 0);

	if (!until)
		until = now_ns() + seconds * 1000000000ll;
	progress(false);
	return failed() || (seconds ? now_ns() > until : kills >= wanted);
}

static void prepare(void)
{
	uint64_t state = 1;

	shm_private("");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	shared_map(true);
	failures_before = test_failures;
	/* Make what the test itself needs, before anything is counted. */
	create_once(&state);
	own_before = left_in(getpid());
}

static void finish(void)
{
	target_end();
	check_sys_max();
	progress(true);
}

static const int often[] = {
	TRACED,    TRACED, TRACED, CONTROLLER, CONTROLLER, FAMILY, SELF,
	RECOVERER, ORPHAN, LOGGER, LOGGER,     LOG_TRACED, SAVER,
};

static void random_rounds(uint64_t *state, int wanted)
{
	int only = number_given("KILLS_KIND", -1);

	while (!enough(wanted)) {
		int kind = only >= 0 ? only : often[chance(state, sizeof often / sizeof often[0])];
		uint64_t seed = *state = chance_mix(*state);

		kills += round_run(kind, seed, ARM_NOT, 0, 0);
		if (++rounds_run % 500 == 0)
			check_sys_max();
	}
}

/* Kills at random instants. */
TEST(random)
{
	uint64_t state = seed_given();
	int wanted = number_given("KILLS", (test_thorough() ? 1200 : 500) / test_slow());

	prepare();
	random_rounds(&state, wanted);
	finish();
	CHECK("-", failed() || getenv("KILLS_SECONDS") || kills >= wanted);
}

static unsigned surveyed[KINDS];

/* Returns how often victims of a kind have passed the point in a round on average, in thousandths, at most 1000. */
static unsigned rate(int kind, int point)
{
	unsigned passed = shared->passed[kind][point];

	return !surveyed[kind] ? 0 : passed >= surveyed[kind] ? 1000 : passed * 1000 / surveyed[kind];
}

/* Returns a random kind of round in which victims pass the point, or -1 if none is known. */
static int kind_with(int point, uint64_t *state)
{
	int kind = (int)chance(state, KINDS);

	for (int i = 0; i < KINDS; i++, kind = (kind + 1) % KINDS)
		if (shared->passed[kind][point])
			return kind;
	return -1;
}

/* Returns the kind whose victims pass the point most often, a random one of several, or -1 if none is known. */
static int kind_best(int point, uint64_t *state)
{
	int best = -1, kind = (int)chance(state, KINDS);

	for (int i = 0; i < KINDS; i++, kind = (kind + 1) % KINDS)
		if (shared->passed[kind][point] && (best < 0 || rate(kind, point) > rate(best, point)))
			best = kind;
	return best;
}

/* Returns a random passage for the end of the victim, not later than victims of this kind usually get. */
static int passages_at(int point, int kind, uint64_t *state)
{
	unsigned times = kind < 0 || !surveyed[kind] ? 0 : shared->passed[kind][point] / surveyed[kind];

	return 1 + (int)chance(state, times > 20 ? 20 : times > 1 ? times : 1);
}

/* Returns true for points of lost events. Under LOOP an event is lost only if all chunks are in use by other
 * writers. */
static bool needs_tight(int point)
{
	return strcmp(kills_points[point], "lost_last") == 0 || strcmp(kills_points[point], "read_lost") == 0;
}

/* Returns true for a point that is passed only if some streams of a process run and others do not. */
static bool needs_turns(int point)
{
	return strcmp(kills_points[point], "record_looked") == 0;
}

/* Returns true for a point that only another user passes: the test's own directory exists. */
static bool needs_root(int point)
{
	return strcmp(kills_points[point], "directory_made") == 0;
}

/* Returns a seed for a round in which the point can be passed. */
static uint64_t seed_for(int point, int kind, uint64_t *state)
{
	do
		round_choose(kind, *state = chance_mix(*state));
	while ((needs_tight(point) && !shared->round.tight) || (needs_turns(point) && !shared->round.turns));
	return *state;
}

#define TRIES_GOOD 8 /* tries with the best kinds; later tries use all kinds in turn as well */

/* Returns the kind of round to try next. */
static int kind_for(int point, int try, uint64_t *state)
{
	int kind;

	if (needs_tight(point)) /* lost_last needs a writer that loses events, read_lost a reader as well */
		return strcmp(kills_points[point], "read_lost") == 0 ? SELF : TRACED;
	if (needs_turns(point))
		return TRACED;
	if (after_a_second(point))
		return ORPHAN;
	if (try >= TRIES_GOOD && try % 2)
		return try / 2 % KINDS;
	kind = try < TRIES_GOOD / 2 ? kind_with(point, state) : kind_best(point, state);
	return kind >= 0 ? kind : (int)chance(state, KINDS);
}

/* Runs one round in which the victim may end at the point. */
static void try_point(int point, int try, uint64_t *state)
{
	int kind = kind_for(point, try, state), passages = try < TRIES_GOOD ? passages_at(point, kind, state) : 1;
	uint64_t seed = seed_for(point, kind, state);

	kills += round_run(kind, seed, chance(state, 2) ? ARM_KILL : ARM_STOP, point, passages);
	surveyed[kind]++;
	rounds_run++;
	progress(false);
}

/* Runs rounds until `wanted` victims have ended at each point, or the time is over. */
static void try_points(unsigned wanted, int64_t until, uint64_t *state)
{
	const char *only = getenv("KILLS_POINT");

	for (int point = 0; point < POINTS; point++) {
		unsigned enough = needs_tight(point) || after_a_second(point) ? 2 : wanted;

		if (only && strcmp(only, kills_points[point]) != 0)
			continue;
		for (int try = 0; shared->ended[point] < (wanted < enough ? wanted : enough); try++) {
			if (failed() || now_ns() > until || (needs_root(point) && geteuid() != 0))
				break;
			try_point(point, try, state);
		}
		if (only && wanted == 1)
			printf("%s: %u\n", only, shared->ended[point]);
	}
}

/* In seconds, multiplied by test_slow(): the time to reach each point once, and to reach points more often. */
#define REACH_SECONDS 120
#define MORE_SECONDS  40

/* Kills at each test point: first once at all of them, then more often while there is time. */
TEST(points)
{
	uint64_t state = seed_given();
	const char *only = getenv("KILLS_POINT");
	int each = number_given("KILLS", 0) ? number_given("KILLS", 0) / POINTS + 1
	           : test_slow() > 3        ? 1
	           : test_thorough()        ? 5
	                                    : 2;
	int64_t begin = now_ns();
	bool patient = test_thorough() || getenv("KILLS");

	prepare();
	/* Find out which kinds pass which points. */
	for (int i = 0; i < (test_slow() > 3 ? 4 : 10) * KINDS && !failed(); i++) {
		kills += round_run(i % KINDS, state = chance_mix(state), ARM_NOT, 0, 0);
		surveyed[i % KINDS]++;
		rounds_run++;
	}
	try_points(1, begin + REACH_SECONDS * 1000000000ll, &state);
	for (int point = 0; point < POINTS && !failed(); point++)
		if (!shared->ended[point] && (!only || strcmp(only, kills_points[point]) == 0) &&
		    (geteuid() == 0 || !needs_root(point)))
			TEST_FAIL("-", "nobody was killed at %s", kills_points[point]);
	if (each > 1)
		try_points((unsigned)each, patient ? INT64_MAX : begin + MORE_SECONDS * 1000000000ll, &state);
	finish();
}

/* Kills at random instants and at test points, for as long as requested. */
static void soak(void)
{
	uint64_t state = seed_given();
	int wanted = number_given("KILLS", 100000);

	prepare();
	while (!enough(wanted)) {
		int point = (int)chance(&state, (uint32_t)POINTS), kind = kind_with(point, &state);
		bool at_point = kind >= 0 && chance(&state, 2);

		if (!at_point)
			kind = often[chance(&state, sizeof often / sizeof often[0])];
		kills += round_run(kind, state = chance_mix(state),
		                   !at_point           ? ARM_NOT
		                   : chance(&state, 2) ? ARM_KILL
		                                       : ARM_STOP,
		                   point, 1 + (int)chance(&state, 20));
		if (++rounds_run % 500 == 0)
			check_sys_max();
	}
	finish();
}

TEST(soak)
{
	if (!getenv("KILLS_PROGRESS"))
		SKIP("script/soak does it");
	soak();
}

/* Repeats a round that has failed. */
TEST(round)
{
	const char *text = getenv("KILLS_ROUND");
	char name[64] = "-";
	unsigned long long seed;
	int kind, passages = 1, stop = 0, point = 0, times = number_given("KILLS", 1);

	if (!text)
		SKIP("KILLS_ROUND says which");
	MUST(sscanf(text, "%d:%llx:%63[^:]:%d:%d", &kind, &seed, name, &passages, &stop) >= 2);
	while (point < POINTS && strcmp(kills_points[point], name) != 0)
		point++;
	MUST(point < POINTS || strcmp(name, "-") == 0);
	prepare();
	for (int i = 0; i < times && !failed(); i++, rounds_run++)
		kills += round_run(kind, seed,
		                   point == POINTS ? ARM_NOT
		                   : stop          ? ARM_STOP
		                                   : ARM_KILL,
		                   point % POINTS, passages);
	finish();
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST_ENTRY(random), TEST_ENTRY(points), TEST_ENTRY(soak), TEST_ENTRY(round), { NULL, NULL },
	};

	if (argc == 3 && strcmp(argv[1], "--image") == 0) {
		shared_map(false);
		if (strcmp(argv[2], "target") == 0)
			role_target();
		role(argv[2]);
	}
	return test_main(tests, argc, argv);
}
