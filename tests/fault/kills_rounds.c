/*
 * kills_rounds.c - a round: a victim, its survivors, a kill, and the books afterwards
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>

#include "control/lifecycle.h"
#include "kills.h"
#include "shm.h"


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

void reap(pid_t pid)
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
		wait_word(&shared->family[0], 1, traced, "the traced process does not begin");
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

	wait_word(&shared->family[0], 1, pid, "the traced process does not begin");
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
bool after_a_second(int point)
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

void round_choose(int kind, uint64_t seed)
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
bool round_run(int kind, uint64_t seed, int arm, int point, int passages)
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
