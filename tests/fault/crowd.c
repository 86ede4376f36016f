/*
 * crowd.c - some fifty processes that start and end in every way, traced by controllers that do the same
 *
 * Families of processes trace with several threads each. They fork, execute themselves again, exit and are killed at
 * random. Controllers trace them, some from before the first event until after the last, others at random times; in
 * LOOP, in UNTIL_FULL, and into logs. Controllers are killed, too. Every event must be accounted for (crowd_books.c,
 * crowd_log.c).
 *
 * Four processes live as long as the test: the test itself, which starts all others and waits for them; the *elder*, a
 * family of one process, which any controller may trace; the *steward*, a controller; and the *auditor*, which reads
 * all logs. At each *census* all other processes have ended. The four must then have as many descriptors, mappings and
 * threads as at the first census, and hardly more memory, and no file of a dead process may be left.
 *
 * CROWD_SEED repeats a run, CROWD_SECONDS sets its duration, and CROWD_PROGRESS prints a line a minute. script/soak
 * --crowd sets these variables. See docs/testing.md.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#if __has_include(<execinfo.h>)
# include <execinfo.h>
#endif
#include <pthread.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>

#include "crowd.h"
#include "fork.h"
#include "sanitizer.h"
#include "shm.h"

extern char **environ;

#define POPULATION 50
#define CROWDED    58 /* from this population on processes make no children */

/* How much more memory a lasting process may have than at the first census, in KiB: mostly the C library's. */
#define MORE_MEMORY 3072
/* As much of the stacks of ended threads as glibc keeps for later threads, and as much again. */
#define MORE_SPACE 81920

/* Events of one thread before it slows down: all of them have to be read, too. */
#define ENOUGH 40000

/* The longest that a process may take to end after the request to do so. */
#define DEADLINE_NS (20000000000ll * test_slow())

static trace_event_id_t number_id;

/*
 * The census looks for leaks. AddressSanitizer would do so at each exit() with all threads stopped, and may then wait
 * forever in a forked process.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* -- Members -------------------------------------------------------------------- */

/* Returns the arguments for executing this program again, as this member. */
static char **image_arguments(const struct family *f, int member)
{
	static char path[] = "/proc/self/exe", option[] = "--member", numbers[2][12];
	static char *arguments[] = { path, option, numbers[0], numbers[1], NULL };

	snprintf(numbers[0], sizeof numbers[0], "%d", (int)(f - shared->family));
	snprintf(numbers[1], sizeof numbers[1], "%d", member);
	return arguments;
}

/* Sends some events, and rests. */
static void burst(struct family *f, struct source *s, uint64_t *state)
{
	static const uint32_t most[] = { 500, 60, 12 }, rest[] = { 40, 3000, 30000 };

	for (uint32_t i = chance(state, most[f->pace]); s && i > 0 && !f->stop; i--)
		source_send(f, s, number_id);
	if (f->pace || chance(state, 8) == 0 || (s && s->done > ENOUGH))
		sleep_us(chance(state, s && s->done > ENOUGH ? 10000 : rest[f->pace]));
}

struct tracer {
	struct family *f;
	int member;
	uint64_t seed;
	bool mortal; /* the thread may end before its process */
};

static void *trace(void *arg)
{
	struct tracer t = *(struct tracer *)arg;
	struct source *s = source_take(t.f, t.member);

	free(arg);
	while (s && !t.f->stop) {
		burst(t.f, s, &t.seed);
		if (t.mortal && chance(&t.seed, 60) == 0)
			break;
	}
	return NULL;
}

static bool start_thread(struct family *f, int member, uint64_t *state, pthread_t *thread)
{
	struct tracer *t = malloc(sizeof *t);

	MUST(t);
	*t = (struct tracer){
		.f = f, .member = member, .seed = chance_mix(*state), .mortal = !f->lasting && chance(state, 3) == 0
	};
	chance(state, 2);
	if (pthread_create(thread, NULL, trace, t) == 0)
		return true;
	free(t);
	return false;
}

/* Returns the index of a new member for a child, or -1 if there is none. */
static int member_new(struct family *f, int parent)
{
	int m;

	if (f->stop || shared->population >= CROWDED || f->sources > SOURCES - 12)
		return -1;
	m = atomic_fetch_add(&f->members, 1);
	if (m >= MEMBERS)
		return -1;
	f->member[m].parent = parent;
	f->member[m].images = f->member[m].headed = 0;
	f->member[m].born = now_ns();
	return m;
}

static void member_live(struct family *f, int m) __attribute__((noreturn));

static void execute(struct family *f, int m) __attribute__((noreturn));
static void execute(struct family *f, int m)
{
	execv("/proc/self/exe", image_arguments(f, m));
	_exit(9);
}

/* Runs the child of a multithreaded process: only async-signal-safe functions are allowed here. */
static void member_bare(struct family *f, int m) __attribute__((noreturn));
static void member_bare(struct family *f, int m)
{
	uint64_t state = f->seed ^ chance_mix((unsigned)m);
	struct source *s;

	f->member[m].pid = getpid();
	source_visible();
	s = source_take(f, m);
	for (uint32_t i = chance(&state, 200); s && i > 0; i--)
		source_send(f, s, number_id);
	switch (chance(&state, 4)) {
	case 0:
		kill(getpid(), SIGKILL);
		_exit(9);
	case 1:
		_exit(0);
	default:
		execute(f, m);
	}
}

/* Counts the end of a process. Called before the end. */
static void noted(_Atomic uint64_t *what)
{
	atomic_fetch_add(what, 1);
}

static void make_child(struct family *f, int parent, uint64_t *state)
{
	int way = (int)chance(state, 6), m = member_new(f, parent);
	pid_t pid = 0;

	if (m < 0)
		return;
	f->member[m].way = way;
	noted(&shared->total.forks);
	switch (way) {
	case 0:
	case 1:
		/* AddressSanitizer does not hold its allocator's locks across fork(). */
		pid = fork();
		if (pid == 0 && SANITIZER_ADDRESS)
			member_bare(f, m);
		if (pid == 0)
			member_live(f, m);
		break;
	case 2:
		pid = fork_underscore();
		if (pid == 0)
			member_bare(f, m);
		break;
	case 3:
		if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, image_arguments(f, m), environ) != 0)
			CROWD_FAIL("posix_spawn: %s", strerror(errno));
		break;
	case 4: {
		char **arguments = image_arguments(f, m);

		pid = vfork();
		if (pid == 0) {
			execv("/proc/self/exe", arguments);
			_exit(9);
		}
		break;
	}
	default: /* a grandchild: the process in between has ended, and has never traced */
		pid = fork();
		if (pid == 0) {
			pid = fork_underscore();
			if (pid == 0)
				execute(f, m);
			_exit(0);
		}
	}
	if (pid < 0)
		CROWD_FAIL("fork: %s", strerror(errno));
}

/* Checks that a process has ended normally, or was killed. */
static void ended_well(const char *ref, pid_t pid, int status)
{
	if (status != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
		CROWD_FAIL("seed %#llx: %s %d has ended with %#x", (unsigned long long)shared->seed, ref, (int)pid,
		           status);
}

static void reap_children(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		ended_well("process", pid, status);
}

/*
 * Reports where a process is that has not ended in time. Each of its threads runs this handler, first the thread that
 * got the alarm. It prints its place in the kernel and in this program; addr2line gives the places names.
 */

static void say_file(const char *path)
{
	char text[512];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);

	if (fd >= 0)
		close(fd);
	if (n > 0 && write(STDERR_FILENO, text, (size_t)n) < 0)
		return;
}

/* Prints what the kernel knows of a thread. */
static void say_kernel(pid_t pid, pid_t thread)
{
	char path[128];

	for (const char *const *name = (const char *const[]){ "stat", "wchan", "syscall", "stack", "schedstat", NULL };
	     *name; name++) {
		snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)thread, *name);
		say_file(path);
		if (write(STDERR_FILENO, "\n", 1) < 0)
			return;
	}
}

static void say_where(int signal)
{
	static _Atomic int first;
	pid_t me = (pid_t)syscall(SYS_gettid);
	struct dirent *entry;
	char line[128];
	int none = 0;
	DIR *dir;

	snprintf(line, sizeof line, "process %d of %d, thread %d: not through in time\n", (int)getpid(), (int)getpgrp(),
	         (int)me);
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		_exit(9);
	say_kernel(getpid(), me);
#if __has_include(<execinfo.h>)
	void *frame[32];

	backtrace_symbols_fd(frame, backtrace(frame, 32), STDERR_FILENO);
#endif
	if (!atomic_compare_exchange_strong(&first, &none, me)) {
		for (;;)
			pause();
	}
	dir = opendir("/proc/self/task");
	while (dir && (entry = readdir(dir)))
		if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != me)
			syscall(SYS_tgkill, getpid(), atoi(entry->d_name), signal);
	sleep_us(1000000);
	_exit(SIGALRM);
}

static void end_in_time(int64_t ns)
{
	struct sigaction action = { .sa_handler = say_where };

	MUST(sigaction(SIGALRM, &action, NULL) == 0);
	alarm((unsigned)(ns / 1000000000));
}

/* Traces this process for a moment. Sometimes the stream is left for a later process to remove. */
static void trace_self(uint64_t *state)
{
	struct posix_trace_event_info e;
	struct number n;
	trace_attr_t attr;
	trace_id_t trid;
	size_t length;
	int unavailable = 0;

	posix_trace_attr_init(&attr);
	posix_trace_attr_setstreamsize(&attr, 4096);
	if (posix_trace_create(0, &attr, &trid) != 0)
		return; /* the number of streams per page is limited */
	posix_trace_start(trid);
	sleep_us(chance(state, 3000));
	for (int i = 0; i < 100 && !unavailable; i++)
		if (posix_trace_trygetnext_event(trid, &e, &n, sizeof n, &length, &unavailable) != 0)
			CROWD_FAIL("a process cannot read its own stream");
	if (chance(state, 4))
		posix_trace_shutdown(trid);
}

/* Does something random that a process may do. */
static void member_act(struct family *f, int m, uint64_t *state)
{
	reap_children();
	switch (chance(state, f->pace ? 40 : 150)) {
	case 0:
	case 1:
	case 2:
	case 3:
		make_child(f, m, state);
		break;
	case 4:
		if (f->sources > SOURCES - 6)
			break;
		noted(&shared->total.images);
		f->member[m].images++;
		execute(f, m);
	case 5:
		noted(&shared->total.exits);
		exit(0); /* while all other threads are recording */
	case 6:
		noted(&shared->total.exits);
		_exit(0);
	case 7:
		noted(&shared->total.kills);
		kill(getpid(), SIGKILL);
		break;
	case 8:
	case 9:
		trace_self(state);
		break;
	default:
		break;
	}
}

static void member_live(struct family *f, int m)
{
	uint64_t state = f->seed ^ chance_mix((unsigned)m * 100u + (unsigned)f->member[m].images);
	pthread_t threads[3];
	int count = 0;
	struct source *s;

	if (!f->lasting)
		end_in_time(DEADLINE_NS * 3);
	source_visible();
	/* Some members trace before any other process can know them. */
	if (!f->member[m].pid && m == HEAD && chance(&state, 2))
		posix_trace_event(POSIX_TRACE_UNNAMED_USEREVENT, NULL, 0);
	f->member[m].pid = getpid();
	if (posix_trace_eventid_open("crowd", &number_id) != 0)
		CROWD_FAIL("a name cannot be opened");
	while (!f->go && !f->stop)
		sleep_us(500);
	for (int wanted = f->lasting ? 2 : (int)chance(&state, 3); count < wanted; count++)
		if (!start_thread(f, m, &state, &threads[count]))
			break;
	s = source_take(f, m);
	while (!f->stop) {
		burst(f, s, &state);
		if (!f->lasting)
			member_act(f, m, &state);
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	reap_children();
	noted(&shared->total.exits);
	exit(0);
}

/* Creates a stream and shuts it down, only to remove what dead processes have left. */
static void create_once(pid_t pid)
{
	trace_id_t trid;
	int error = posix_trace_create(pid, NULL, &trid);

	if (error || posix_trace_shutdown(trid) != 0)
		CROWD_FAIL("a stream cannot be created, or shut down: %s", strerror(error));
}

/* -- Controllers ------------------------------------------------------------------- */

#define STREAMS 3

/* Returns the index of a living member of the family, or -1 if there is none. */
static int choose_target(struct family *f, uint64_t *state)
{
	int members = f->members < MEMBERS ? f->members : MEMBERS;
	int m = members > 0 ? (int)chance(state, (uint32_t)members) : 0;

	for (int i = 0; i < members; i++, m = (m + 1) % members)
		if (f->member[m].pid && kill(f->member[m].pid, 0) == 0)
			return m;
	return -1;
}

static bool stream_attributes(struct job *j, struct subject *s, bool log, trace_attr_t *attr, uint64_t *state)
{
	static const size_t sizes[] = { 0, 4096, 65536, 300000, 1 << 20 };

	posix_trace_attr_init(attr);
	posix_trace_attr_setmaxdatasize(attr, NUMBER_SIZE);
	if (s->all)
		posix_trace_attr_setinherited(attr, POSIX_TRACE_INHERITED);
	if (!log) {
		posix_trace_attr_setstreamsize(attr, sizes[chance(state, 5)]);
		posix_trace_attr_setstreamfullpolicy(attr,
		                                     chance(state, 2) ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL);
		return true;
	}
	posix_trace_attr_setstreamsize(attr, j->stream_size);
	posix_trace_attr_setstreamfullpolicy(attr, j->stream_policy);
	posix_trace_attr_setlogfullpolicy(attr, j->log_policy);
	posix_trace_attr_setlogsize(attr, j->log_size);
	return true;
}

static int create(struct job *j, struct subject *s, bool log, pid_t pid, trace_id_t *trid, uint64_t *state)
{
	trace_attr_t attr;
	int error, fd;

	stream_attributes(j, s, log, &attr, state);
	if (!log)
		return posix_trace_create(pid, &attr, trid);
	fd = open(log_path(j), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	MUST(fd >= 0);
	j->phase = LOG_CREATING;
	error = posix_trace_create_withlog(pid, &attr, fd, trid);
	close(fd);
	j->phase = error ? LOG_NONE : LOG_CREATED;
	return error;
}

/* Begins a stream. Returns false if its process has ended. */
static bool begin_stream(struct job *j, struct books *b, struct subject *s, bool log, uint64_t *state)
{
	struct family *f = &shared->family[j->family];
	trace_event_set_t set;
	trace_id_t trid;
	pid_t pid;
	int error;

	memset(s, 0, sizeof *s);
	s->family = j->family;
	s->all = !f->lasting && chance(state, 2);
	s->with_system = !log || chance(state, 2);
	s->target = j->early ? HEAD : choose_target(f, state);
	if (s->target < 0)
		return false;
	pid = f->member[s->target].pid;
	if (s->all)
		f->member[s->target].headed++;
	error = create(j, s, log, pid, &trid, state);
	s->created = now_ns();
	/* Check that pid is still the same process: process ids are reused. */
	if (kill(pid, 0) != 0 || f->member[s->target].pid != pid || getpgid(pid) != f->group)
		s->doubtful = true;
	books_begin(b, s, trid, false);
	if (error) {
		/* A process cannot be looked into while it is ending or executing another file. */
		if (error != ESRCH && !((error == EACCES || error == EPERM) && !j->early) && error != EAGAIN)
			BOOKS_FAIL(b, "create: %s", strerror(error));
		return false;
	}
	if ((error = posix_trace_trid_eventid_open(trid, "crowd", &b->id)) != 0)
		BOOKS_FAIL(b, "trid_eventid_open: %s", strerror(error));
	if (!s->with_system) {
		posix_trace_eventset_fill(&set, POSIX_TRACE_SYSTEM_EVENTS);
		if (posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET) != 0)
			BOOKS_FAIL(b, "set_filter");
	}
	sources_note(f, DONE, s->before);
	if ((error = posix_trace_start(trid)) != 0)
		BOOKS_FAIL(b, "start: %s", strerror(error));
	sources_note(f, BEGUN, s->after);
	/* No source may have begun yet. */
	if (j->early)
		for (int i = 0; i < SOURCES; i++)
			if (s->after[i])
				BOOKS_FAIL(b, "it has not been there from the beginning");
	if (log)
		j->phase = LOG_STARTED;
	noted(&shared->total.streams);
	return true;
}

/* Makes a call after which the number of events is uncertain. */
static void disturb(struct books *b, uint64_t *state)
{
	trace_event_set_t set;
	int error = 0;

	b->subject->doubtful = true;
	switch (chance(state, 4)) {
	case 0:
		error = posix_trace_stop(b->trid);
		break;
	case 1:
		error = posix_trace_clear(b->trid);
		break;
	case 2:
		posix_trace_eventset_empty(&set);
		posix_trace_eventset_add(POSIX_TRACE_UNNAMED_USEREVENT, &set);
		error = posix_trace_set_filter(b->trid, &set,
		                               chance(state, 2) ? POSIX_TRACE_ADD_EVENTSET : POSIX_TRACE_SUB_EVENTSET);
		break;
	default:
		error = posix_trace_start(b->trid);
	}
	if (error)
		BOOKS_FAIL(b, "stop, start, clear or set_filter: %s", strerror(error));
}

/* Makes one random call of a controller on its stream. */
static void go_on(struct books *b, bool log, bool disturbs, uint64_t *state)
{
	struct posix_trace_status_info status;
	trace_attr_t attr;
	int error = 0;

	if (disturbs && chance(state, 20) == 0)
		disturb(b, state);
	if (log) {
		switch (chance(state, 20)) {
		case 0:
		case 1:
			error = posix_trace_flush(b->trid);
			break;
		case 2:
			error = posix_trace_get_attr(b->trid, &attr);
			break;
		case 3:
			error = posix_trace_get_status(b->trid, &status);
			break;
		default:
			sleep_us(chance(state, 2000));
		}
		if (error)
			BOOKS_FAIL(b, "flush, get_attr or get_status: %s", strerror(error));
		return;
	}
	switch (chance(state, 6)) {
	case 0:
		books_timed(b, chance(state, 2000));
		break;
	case 1:
		sleep_us(chance(state, 2000));
		break;
	default:
		for (uint32_t i = chance(state, 3) ? chance(state, 500) : 20000; i > 0 && books_try(b); i--)
			;
	}
}

/* Reads all events, and waits as long as the reader may have to wait for a writer. */
static void drain(struct books *b)
{
	int64_t until = now_ns() + DEADLINE_NS / 4;

	while (books_try(b))
		;
	while (books_open(b) && now_ns() < until)
		if (!books_try(b))
			sleep_us(1000);
	while (books_try(b))
		;
}

static void end_stream(struct books *b, bool leave)
{
	struct posix_trace_status_info status;

	sources_note(b->family, DONE, b->subject->kept);
	if (posix_trace_stop(b->trid) != 0)
		BOOKS_FAIL(b, "stop");
	drain(b);
	sources_note(b->family, BEGUN, b->subject->end);
	while (books_try(b))
		;
	if (posix_trace_get_status(b->trid, &status) != 0)
		BOOKS_FAIL(b, "no status");
	else
		books_balance(b, status.__posix_lost_events, 0, 0);
	if (!leave && posix_trace_shutdown(b->trid) != 0)
		BOOKS_FAIL(b, "shutdown");
}

static void end_log(struct job *j, struct books *b, bool leave)
{
	job_cut(j);
	j->phase = LOG_ENDING;
	if (leave)
		return; /* exit() does the rest */
	if (posix_trace_shutdown(b->trid) != 0)
		BOOKS_FAIL(b, "shutdown of a stream with a log");
	sources_note(b->family, BEGUN, j->log.end);
	j->phase = LOG_ENDED;
}

/* Does all that a controller does, except for ending. `mine`: the process ends with the job. */
static void job_do(struct job *j, bool mine)
{
	static struct books books[STREAMS];
	static struct subject subjects[STREAMS];
	struct family *f = &shared->family[j->family];
	uint64_t state = j->seed;
	int count = 1 + (int)chance(&state, STREAMS), logs = (int)chance(&state, 2), n = 0;
	bool log[STREAMS] = { false }, disturbs = chance(&state, 5) == 0;
	int64_t until = now_ns() + chance(&state, 1500) * 1000000ll;

	for (int i = 0; i < count; i++) {
		log[n] = logs && i == 0;
		if (begin_stream(j, &books[n], log[n] ? &j->log : &subjects[n], log[n], &state))
			n++;
	}
	j->ready = 1;
	while (n > 0 && (j->patient ? !f->stop && f->state != FAMILY_DEAD : now_ns() < until))
		for (int i = 0; i < n; i++)
			go_on(&books[i], log[i], disturbs, &state);
	/* Continue until the whole family has ended: then the number of events is known. */
	while (n > 0 && j->patient && f->state != FAMILY_DEAD)
		for (int i = 0; i < n; i++)
			go_on(&books[i], log[i], false, &state);
	for (int i = 0; i < n; i++) {
		bool leave = mine && chance(&state, 4) == 0;

		if (log[i])
			end_log(j, &books[i], leave);
		else
			end_stream(&books[i], leave);
	}
}

/* Runs the steward: does jobs until the test ends. */
static void steward(void)
{
	create_once(0);
	while (!shared->leave) {
		struct job *found = NULL;

		for (int i = 0; i < JOBS; i++)
			if (shared->job[i].state == JOB_GIVEN && shared->job[i].pid == getpid())
				found = &shared->job[i];
		if (!found) {
			sleep_us(500);
			continue;
		}
		found->state = JOB_RUNS;
		job_do(found, false);
		found->state = JOB_OVER;
	}
	exit(test_failures > 0);
}

/* Runs the auditor: checks the logs of controllers that have ended, together with their families. */
static void auditor(void)
{
	create_once(0);
	while (!shared->leave) {
		bool found = false;

		for (int i = 0; i < JOBS; i++)
			if (shared->job[i].state == JOB_AUDIT) {
				log_check(&shared->job[i]);
				shared->job[i].state = JOB_FREE;
				found = true;
			}
		if (!found)
			sleep_us(500);
	}
	exit(test_failures > 0);
}

/* -- The keeper, which starts, kills and reaps all other processes --------------------------- */

static pid_t steward_pid, auditor_pid;
static struct family *elder;
static int64_t family_until[FAMILIES], job_until[JOBS]; /* job: 0: it is not killed */
static bool job_killed[JOBS];

static struct family *family_start(uint64_t *state, bool lasting)
{
	struct family *f = NULL;
	pid_t pid;

	for (int i = 0; i < FAMILIES && !f; i++)
		if (shared->family[i].state == FAMILY_FREE)
			f = &shared->family[i];
	if (!f)
		return NULL;
	memset((void *)f, 0, sizeof *f);
	f->seed = chance_mix(*state);
	f->stamp = ++shared->stamps;
	f->pace = lasting ? 1 : (int)chance(state, 3);
	f->lasting = lasting;
	f->members = 1;
	f->state = FAMILY_WAITS;
	noted(&shared->total.families);
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		setpgid(0, 0);
		f->group = getpid();
		if (lasting)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!lasting && f->seed % 3 == 0)
			execute(f, HEAD);
		member_live(f, HEAD);
	}
	setpgid(pid, pid);
	f->group = pid;
	while (!f->member[HEAD].pid)
		sleep_us(100);
	return f;
}

static int family_jobs(int family)
{
	int n = 0;

	for (int i = 0; i < JOBS; i++)
		n += shared->job[i].state != JOB_FREE && shared->job[i].family == family;
	return n;
}

static bool steward_is_free(void)
{
	for (int i = 0; i < JOBS; i++)
		if (shared->job[i].state != JOB_FREE && shared->job[i].pid == steward_pid)
			return false;
	return true;
}

/* Starts a controller of this family: the steward, if it is wanted and free, or a new process. */
static void job_start(struct family *f, bool early, bool to_steward, uint64_t *state)
{
	static const int logs[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_APPEND };
	static const int streams[] = { POSIX_TRACE_FLUSH, POSIX_TRACE_FLUSH, POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL };
	static const size_t log_sizes[] = { 0, 20000, 300000, 5000000 },
			    stream_sizes[] = { 0, 4096, 65536, 300000, 1 << 20 };
	struct job *j = NULL;
	pid_t pid;

	for (int i = 0; i < JOBS && !j; i++)
		if (shared->job[i].state == JOB_FREE)
			j = &shared->job[i];
	if (!j)
		return;
	to_steward = to_steward && steward_is_free();
	memset((void *)j, 0, sizeof *j);
	j->seed = chance_mix(*state);
	j->family = (int)(f - shared->family);
	j->early = early;
	j->patient = !f->lasting && chance(state, 3);
	j->log_policy = logs[chance(state, 3)];
	j->stream_policy = streams[chance(state, 4)];
	j->log_size = log_sizes[chance(state, 4)];
	j->stream_size = stream_sizes[chance(state, 5)];
	j->pid = to_steward ? steward_pid : 0;
	j->state = JOB_GIVEN;
	noted(&shared->total.controllers);
	job_until[j - shared->job] = to_steward || chance(state, 5) < 3
	                                     ? 0
	                                     : now_ns() + chance(state, chance(state, 2) ? 50 : 1500) * 1000000ll;
	job_killed[j - shared->job] = false;
	if (to_steward)
		return;
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		end_in_time(DEADLINE_NS * 4);
		j->state = JOB_RUNS;
		job_do(j, true);
		exit(0);
	}
	j->pid = pid;
}

/* Kills the process with this id, if the process belongs to this group. Returns true on success. */
static bool kill_member(pid_t pid, pid_t group)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	bool killed = false;

	if (fd >= 0 && getpgid(pid) == group)
		killed = syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
	if (fd >= 0)
		close(fd);
	return killed;
}

/* Reaps processes that have ended. */
static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct job *j = NULL;

		for (int i = 0; i < JOBS; i++)
			if (shared->job[i].state != JOB_FREE && shared->job[i].pid == pid)
				j = &shared->job[i];
		ended_well(j ? "controller" : "process", pid, status);
		if (pid == steward_pid || pid == auditor_pid || (elder && pid == elder->group))
			CROWD_FAIL("a lasting process has ended: %#x", status);
		else if (j)
			j->state = JOB_OVER;
	}
}

static void family_step(struct family *f, uint64_t *state)
{
	int i = (int)(f - shared->family), m;
	bool ready = true;

	switch (atomic_load(&f->state)) {
	case FAMILY_WAITS:
		for (int k = 0; k < JOBS; k++)
			if (shared->job[k].state != JOB_FREE && shared->job[k].family == i)
				ready &= shared->job[k].ready || shared->job[k].state == JOB_OVER;
		if (!ready)
			return;
		f->state = FAMILY_LIVES;
		family_until[i] = now_ns() + (100 + chance(state, 2500)) * 1000000ll;
		f->go = 1;
		return;
	case FAMILY_LIVES:
		if (!f->lasting && chance(state, 40) == 0 && (m = choose_target(f, state)) >= 0 &&
		    kill_member(f->member[m].pid, f->group))
			noted(&shared->total.kills);
		if (!f->lasting && (now_ns() > family_until[i] || family_gone(f))) {
			f->state = FAMILY_ENDS;
			f->stop = 1;
			/* Kill the whole family at once. */
			if (chance(state, 3) == 0 && kill(-f->group, SIGKILL) == 0)
				noted(&shared->total.kills);
			family_until[i] = now_ns() + DEADLINE_NS;
		}
		return;
	case FAMILY_ENDS:
		if (family_gone(f)) {
			f->state = FAMILY_DEAD;
		} else if (now_ns() > family_until[i]) {
			CROWD_FAIL("seed %#llx: a process of family %d does not end", (unsigned long long)shared->seed,
			           i);
			kill(-f->group, SIGKILL);
			family_until[i] = now_ns() + DEADLINE_NS;
		}
		return;
	case FAMILY_DEAD:
		if (family_jobs(i))
			return;
		for (int k = 0; k < sources_of(f); k++)
			shared->total.events += f->source[k].done;
		shared->total.sources += (uint64_t)sources_of(f);
		f->state = FAMILY_FREE;
		return;
	default:
		return;
	}
}

static void job_step(struct job *j)
{
	int i = (int)(j - shared->job), family_state = shared->family[j->family].state;

	if ((j->state == JOB_RUNS || j->state == JOB_GIVEN) && job_until[i] && !job_killed[i] &&
	    now_ns() > job_until[i]) {
		/* Note the events that must be in the log. */
		if (j->phase >= LOG_STARTED)
			job_cut(j);
		kill(j->pid, SIGKILL);
		job_killed[i] = true;
		noted(&shared->total.controllers_killed);
	}
	if (j->state == JOB_OVER && (family_state == FAMILY_DEAD || shared->family[j->family].lasting))
		j->state = j->phase == LOG_NONE ? JOB_FREE : JOB_AUDIT;
}

static void count_population(void)
{
	int n = 0;

	for (int i = 0; i < FAMILIES; i++) {
		struct family *f = &shared->family[i];

		if (f->state == FAMILY_FREE || f->state == FAMILY_DEAD)
			continue;
		for (int m = 0; m < MEMBERS && m < f->members; m++)
			n += f->member[m].pid && kill(f->member[m].pid, 0) == 0;
	}
	shared->population = n;
}

static uint64_t population_sum, population_count;

/* Starts a new family, and its controllers from the beginning. */
static void more_people(uint64_t *state)
{
	struct family *f = family_start(state, false);

	if (!f)
		return;
	for (uint32_t i = 1 + chance(state, 3) / 2; i > 0; i--)
		job_start(f, true, chance(state, 4) == 0, state);
}

static void step(uint64_t *state, bool more)
{
	struct family *f = &shared->family[chance(state, FAMILIES)];

	reap();
	for (int i = 0; i < FAMILIES; i++)
		family_step(&shared->family[i], state);
	for (int i = 0; i < JOBS; i++)
		job_step(&shared->job[i]);
	count_population();
	if (more) {
		population_sum += (uint64_t)shared->population;
		population_count++;
		if (shared->population < POPULATION)
			more_people(state);
		if (f->state == FAMILY_LIVES && chance(state, 6) == 0)
			job_start(f, false, chance(state, 3) == 0, state);
	}
	sleep_us(1500);
}

/* Makes each controller print where it is, after a process was not ready in time: a controller may be the cause without
 * knowing it. */
static void ask_controllers(void)
{
	for (int i = 0; i < JOBS; i++) {
		struct job *j = &shared->job[i];

		if (j->pid <= 0 || (j->state != JOB_GIVEN && j->state != JOB_RUNS))
			continue;
		fprintf(stderr, "controller %d of family %d: %s\n", (int)j->pid, (int)shared->family[j->family].group,
		        j->ready ? "traces" : "is not ready");
		say_kernel(j->pid, j->pid);
		/* SIGALRM would kill the steward without any output. */
		if (j->pid != steward_pid)
			kill(j->pid, SIGALRM);
	}
	sleep_us(3000000);
}

/* -- The census ------------------------------------------------------------------------------- */

struct census {
	int descriptors, mappings, threads;
	long memory, space; /* KiB: resident private memory, size of the data segment */
};

static long status_line(pid_t pid, const char *name)
{
	char path[64], line[256];
	long n = -1;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, name, strlen(name)) == 0)
			n = atol(line + strlen(name));
	if (f)
		fclose(f);
	return n;
}

static struct census census_of(pid_t pid)
{
	struct census c;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	c.descriptors = shm_count(path, "");
	c.mappings = shm_mappings(pid, "/posixtrace-");
	c.threads = (int)status_line(pid, "Threads:");
	c.memory = status_line(pid, "RssAnon:");
	c.space = status_line(pid, "VmData:");
	return c;
}

/* Returns true if a file of a dead process exists, and copies its name. */
static bool strange_file(char *name, size_t size)
{
	DIR *d = opendir(shm_directory());
	bool found = false;
	struct dirent *e;
	char kind[16];
	int pid;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' &&
		    (sscanf(e->d_name, "%15[a-z]-%d-", kind, &pid) != 2 ||
		     (pid != getpid() && pid != steward_pid && pid != auditor_pid && pid != elder->group) ||
		     (strcmp(kind, "page") != 0 && strcmp(kind, "names") != 0))) {
			snprintf(name, size, "%s", e->d_name);
			found = true;
		}
	if (d)
		closedir(d);
	return found;
}

static long space_used(void)
{
	struct statvfs s;

	MUST(statvfs("/dev/shm", &s) == 0);
	return (long)((s.f_blocks - s.f_bfree) * (s.f_frsize / 1024));
}

#define BARE 6 /* mappings of a process without a stream: page and names, each read-only as well, and two holds */
#define LASTING 4 /* the test, the elder, the steward, the auditor */

static struct census first[LASTING], last[LASTING];
static long first_space, last_space;
static int censuses;
static int64_t begin_ns;
static const char *const lasting[] = { "the test", "the elder", "the steward", "the auditor" };

static bool census_differs(int i)
{
	return last[i].descriptors != first[i].descriptors || last[i].mappings > first[i].mappings ||
	       last[i].threads != first[i].threads;
}

/* Checks that the system's maximum of streams can be created. */
static void check_sys_max(void)
{
	trace_id_t trid[TRACE_SYS_MAX + 1];
	trace_attr_t attr;
	int n = 0;

	posix_trace_attr_init(&attr);
	posix_trace_attr_setstreamsize(&attr, 0);
	while (n <= TRACE_SYS_MAX && posix_trace_create(0, &attr, &trid[n]) == 0)
		n++;
	if (n != TRACE_SYS_MAX)
		CROWD_FAIL("%d streams can be created, not %d", n, TRACE_SYS_MAX);
	while (n > 0)
		posix_trace_shutdown(trid[--n]);
}

/* Checks the lasting processes, after all others have ended. */
static void census(void)
{
	pid_t ref[] = { getpid(), elder->group, steward_pid, auditor_pid };
	int64_t until = now_ns() + DEADLINE_NS;
	char name[300] = "";
	bool strange;

	create_once(0);
	/* A process that is reading /proc/PID of a dead process keeps its memory, and so its locks, for a moment
	 * longer. */
	while ((strange = strange_file(name, sizeof name)) && now_ns() < until) {
		sleep_us(20000);
		create_once(0);
	}
	if (strange)
		CROWD_FAIL("seed %#llx: left behind: %s", (unsigned long long)shared->seed, name);
	if (censuses % 4 == 0)
		check_sys_max();
	for (int i = 0; i < LASTING; i++) {
		/* The elder drops mappings at its next trace points, or with the next stream. */
		for (;;) {
			last[i] = census_of(ref[i]);
			if (censuses && (!census_differs(i) || now_ns() > until))
				break;
			/* At the first census each of them has a page, and nothing more. */
			if (!censuses && (last[i].mappings == BARE || now_ns() > until))
				break;
			create_once(elder->group);
			sleep_us(20000);
		}
		/* The C library's memory has reached its size at the second census. */
		if (!censuses)
			first[i] = last[i];
		if (censuses == 1)
			first[i].memory = last[i].memory, first[i].space = last[i].space;
		if (!censuses && last[i].mappings != BARE)
			CROWD_FAIL("seed %#llx: %s begins with %d mappings", (unsigned long long)shared->seed,
			           lasting[i], last[i].mappings);
		if (census_differs(i))
			CROWD_FAIL(
				"seed %#llx: %s has %d descriptors, %d mappings and %d threads, where it had %d, %d "
				"and %d",
				(unsigned long long)shared->seed, lasting[i], last[i].descriptors, last[i].mappings,
				last[i].threads, first[i].descriptors, first[i].mappings, first[i].threads);
		if (!SANITIZER_ADDRESS && censuses &&
		    (last[i].memory > first[i].memory + MORE_MEMORY || last[i].space > first[i].space + MORE_SPACE))
			CROWD_FAIL("seed %#llx: %s has %ld KiB of memory and %ld of data, where it had %ld and %ld",
			           (unsigned long long)shared->seed, lasting[i], last[i].memory, last[i].space,
			           first[i].memory, first[i].space);
	}
	last_space = space_used();
	if (censuses <= 1)
		first_space = last_space;
	if (last_space > first_space)
		CROWD_FAIL("seed %#llx: %ld KiB of /dev/shm are in use, where it was %ld",
		           (unsigned long long)shared->seed, last_space, first_space);
	censuses++;
}

/* Ends all families and controllers but the lasting ones. */
static void clear_the_place(uint64_t *state)
{
	int64_t until = now_ns() + 4 * DEADLINE_NS;
	bool busy;

	for (int i = 0; i < FAMILIES; i++)
		if (!shared->family[i].lasting && shared->family[i].state < FAMILY_ENDS)
			family_until[i] = 0;
	do {
		busy = false;
		step(state, false);
		for (int i = 0; i < FAMILIES; i++)
			busy |= shared->family[i].state != FAMILY_FREE && !shared->family[i].lasting;
		for (int i = 0; i < JOBS; i++)
			busy |= shared->job[i].state != JOB_FREE;
	} while (busy && now_ns() < until);
	if (busy)
		CROWD_FAIL("seed %#llx: not everybody ends", (unsigned long long)shared->seed);
}

/* -- The test ------------------------------------------------------------------------------------ */

static void figures(void)
{
	const struct totals *t = &shared->total;
	uint64_t events = t->events;

	for (int i = 0; i < FAMILIES; i++)
		for (int k = 0; shared->family[i].state != FAMILY_FREE && k < sources_of(&shared->family[i]); k++)
			events += shared->family[i].source[k].done;
#define F(name) (unsigned long long)t->name
	printf("%lld s: %llu trace points of %llu threads; read %llu, lost %llu, discarded %llu, %llu gaps; %llu books "
	    "balance, %llu exactly\n"
	       "    %llu families, %llu forks, %llu executions, %llu exits, %llu kills; %d processes at a time\n"
	       "    %llu controllers, %llu killed; %llu streams; %llu logs, %llu completed by others; %d censuses: "
	       "memory %ld, %ld, %ld, %ld KiB"
	       " (%ld, %ld, %ld, %ld at first), %ld KiB of files\n",
	       (long long)(now_ns() - begin_ns) / 1000000000, (unsigned long long)events, F(sources), F(read), F(lost),
	       F(discarded), F(gaps), F(balanced), F(exact), F(families), F(forks), F(images), F(exits), F(kills),
	       population_count ? (int)(population_sum / population_count) : 0, F(controllers), F(controllers_killed),
	       F(streams), F(logs), F(logs_saved), censuses, last[0].memory, last[1].memory, last[2].memory,
	       last[3].memory, first[0].memory, first[1].memory, first[2].memory, first[3].memory, last_space);
#undef F
	fflush(stdout);
}

static pid_t start_lasting(void (*live)(void))
{
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live();
	}
	return pid;
}

static void prepare(uint64_t *state, uint64_t seed)
{
	shm_private("");
	prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
	shared = memory_map(SHARED_FILE, sizeof *shared, true);
	shared->seed = seed;
	elder = family_start(state, true);
	elder->state = FAMILY_LIVES;
	elder->go = 1;
	steward_pid = start_lasting(steward);
	auditor_pid = start_lasting(auditor);
	create_once(0);
	begin_ns = now_ns();
	census();
}

static void finish(void)
{
	int64_t until = now_ns() + DEADLINE_NS;
	int status;

	shared->leave = 1;
	elder->stop = 1;
	for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) >= 0 && now_ns() < until;) {
		if (pid > 0)
			ended_well("a lasting process", pid, status);
		else
			sleep_us(1000);
	}
	if (now_ns() >= until)
		CROWD_FAIL("the elder, the steward or the auditor does not end");
}

/* Runs the crowd for some seconds, with a census after each epoch. */
static void crowd(int seconds, int epoch)
{
	const char *given = getenv("CROWD_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)now_ns() ^ (uint64_t)getpid() << 32, state = seed;
	int64_t until, next, minute;

	printf("seed %#llx\n", (unsigned long long)seed);
	fflush(stdout);
	alarm((unsigned)((seconds + 100) * test_slow()));
	prepare(&state, seed);
	until = begin_ns + seconds * 1000000000ll;
	minute = begin_ns + 60000000000ll;
	while (now_ns() < until && !shared->failures) {
		for (next = now_ns() + epoch * 1000000000ll; now_ns() < next && now_ns() < until && !shared->failures;)
			step(&state, true);
		if (shared->failures)
			ask_controllers();
		clear_the_place(&state);
		census();
		if (getenv("CROWD_PROGRESS") && now_ns() > minute) {
			figures();
			minute += 60000000000ll;
		}
	}
	figures();
	finish();
	if (shared->failures)
		test_failures++;
	/* Check that all kinds of incidents have occurred in the run. */
	if (!shared->failures && seconds > 5) {
		CHECK_NE("-", shared->total.gaps, 0);
		CHECK_NE("-", shared->total.exact, 0);
		CHECK_NE("-", shared->total.logs_saved, 0);
		CHECK_NE("-", shared->total.discarded, 0);
		CHECK_NE("-", shared->total.controllers_killed, 0);
		CHECK_NE("-", shared->total.images, 0);
	}
}

TEST(crowd)
{
	const char *seconds = getenv("CROWD_SECONDS");

	int wanted = seconds ? atoi(seconds) : 12;

	crowd(wanted, wanted < 60 ? 4 : 20);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = { TEST_ENTRY(crowd), { NULL, NULL } };

	if (argc == 4 && strcmp(argv[1], "--member") == 0) {
		shared = memory_map(SHARED_FILE, sizeof *shared, false);
		member_live(&shared->family[atoi(argv[2])], atoi(argv[3]));
	}
	return test_main(tests, argc, argv);
}
