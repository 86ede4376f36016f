/*
 * kills_roles.c - the processes of a round: victims and survivors
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/trace.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/prctl.h>

#include "fork.h"
#include "kills.h"

extern char **environ;


static __thread int handler_source = -1, deeper_source = -1;
static trace_event_id_t number_id;

static void handle(int signal)
{
	int saved = errno;

	kills_deeper = signal == SIGUSR1 && deeper_source >= 0;
	if (handler_source >= 0)
		source_send(signal == SIGUSR1 ? handler_source : deeper_source, number_id);
	kills_deeper = false;
	errno = saved;
}

static void start_handlers(void)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec often = { { 0, 70000 }, { 0, 70000 } };
	timer_t timer;

	MUST(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGUSR2, &action, NULL) == 0);
	MUST(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &often, NULL) == 0);
}

/*
 * Opens a random name, some with a layout. With `compare`, checks that a name has the same id in all processes of a
 * family.
 */
static void open_name(uint64_t *state, bool compare)
{
	char name[32], layout[100];
	int i = (int)chance(state, NAMES), none = 0, err;
	trace_event_id_t id;

	snprintf(name, sizeof name, "name %d", i);
	snprintf(layout, sizeof layout, "{a_field_with_a_long_name:u32,the_number_%d_of_the_name:u64/ns}", i);
	err = i % 2 ? posixtrace_declare(name, layout, &id) : posix_trace_eventid_open(name, &id);
	if (err == EEXIST) {
		fprintf(stderr, "name %d has another layout\n", i);
		shared->failures++;
	}
	if ((err != 0 && err != ENOSPC) || !compare)
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
	/* The source of a further thread's handlers is free. */
	if (handler_source >= 0 && shared->round.threads == 1) {
		source_begin(source + 4);
		deeper_source = source + 4;
	}
	while (!shared->stop) {
		for (int i = 0; i < 50 && !shared->stop; i++)
			source_send(source, number_id);
		for (int i = 0; shared->round.names && i < 6; i++)
			open_name(&state, shared->round.kind == FAMILY);
		if (chance(&state, 8) == 0)
			sleep_us(chance(&state, 200));
	}
	handler_source = deeper_source = -1;
	return NULL;
}

/* Traces in several threads until a stop is requested, or until they are killed. */
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

/* -- The victims -------------------------------------------------------------- */

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

trace_attr_t *attributes(uint64_t *state, trace_attr_t *attr)
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
		until = time_in(200);
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
void become_stranger(void)
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

/* -- Roles with a log --------------------------------------------------------- */

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
char **image_arguments(const char *role)
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

void role(const char *name)
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

/* -- The target --------------------------------------------------------------- */

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

void role_target(void)
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
