/*
 * log.c - streams with a log, and everything at once: many threads, handlers, forks, ends of threads; flushes, stops,
 * clears
 *
 * Events of a log pass through one more stage, the flusher, which takes them out of the stream while threads record.
 * Whatever the two policies and the sizes, the log has each event once, intact, in its thread's order and in the order
 * of time; and to the last event
 *
 *     events generated == events in the log + events lost by the stream + events discarded by the log
 *
 * Only the end of the file says how many were discarded (docs/log-format.md, INDEX).
 *
 * SPDX-License-Identifier: MIT
 */
#include "stress.h"

#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "fork.h"

#define RECORDERS 3
#define MORTALS   12 /* threads that record a little and end, started in sequence */
#define SOURCES   (2 * RECORDERS + MORTALS + 1)
#define FORKER    (SOURCES - 1)
/* ns; a record that was held up for twice as long may come after newer ones (docs/reading.md) */
#define HELD_UP   50000000

static const int stream_policies[] = { POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL, POSIX_TRACE_FLUSH };
static const size_t stream_sizes[] = { 4096, 1 << 20 };

/* -- Recording threads -------------------------------------------------------------- */

/* 0 to RECORDERS - 1: threads; then their handlers; then the mortals; last the forking thread. */
static struct stress_source sources[SOURCES];
static pthread_t recorders[RECORDERS], others[3];
static _Thread_local struct stress_source *handlers_source;
static _Atomic bool stop, stop_signals;
static atomic_int begun;
static trace_id_t current;

static _Atomic bool held_up; /* some records were held up: times may go backwards */

static void record_one(struct stress_source *s)
{
	uint64_t begin = stress_now();

	stress_record(s);
	if (stress_now() - begin > HELD_UP)
		atomic_store(&held_up, true);
}

static void on_signal(int sig)
{
	(void)sig;
	if (handlers_source)
		record_one(handlers_source);
}

static void rest(uint64_t random)
{
	/* Leave time for the flusher, too: there may be only two processors. */
	if (random & 3)
		stress_sleep(random >> 8 & 0x1ffff);
}

static void *record(void *arg)
{
	struct stress_source *s = arg;
	uint64_t random = s->number;

	s->thread = s[RECORDERS].thread = pthread_self();
	handlers_source = &s[RECORDERS];
	atomic_fetch_add(&begun, 1);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		random = chance_mix(random);
		for (uint64_t i = 0; i < random % 128; i++)
			record_one(s);
		rest(random >> 16);
	}
	return NULL;
}

static void *disturb(void *arg)
{
	uint64_t random = 1;

	while (!atomic_load(&stop_signals)) {
		random = chance_mix(random);
		pthread_kill(recorders[random % RECORDERS], SIGUSR1);
		stress_sleep(random >> 8 & 0x3ffff);
	}
	return arg;
}

static void *live_and_end(void *arg)
{
	struct stress_source *s = arg;

	s->thread = pthread_self();
	for (int i = 0; i < 20; i++)
		record_one(s);
	return NULL;
}

static void *bear(void *arg)
{
	pthread_t thread;

	for (int i = 0; i < MORTALS; i++) {
		MUST(pthread_create(&thread, NULL, live_and_end, &sources[2 * RECORDERS + i]) == 0);
		pthread_join(thread, NULL);
		stress_sleep(5000000);
	}
	return arg;
}

static int children;

/*
 * Forks often. A child has a copy of its parent's memory but no part in the log: it records as every source, with a
 * process id that is not expected in the log.
 */
static void *fork_often(void *arg)
{
	struct stress_source *s = &sources[FORKER];
	int status;

	s->thread = pthread_self();
	while (!atomic_load(&stop)) {
		pid_t pid = children % 2 && !SANITIZER_THREAD ? fork_underscore() : fork();

		if (pid == 0) {
			for (int i = 0; i < SOURCES; i++)
				stress_record(&sources[i]);
			_exit(posix_trace_flush(current) == EINVAL ? 0 : 1);
		}
		MUST(pid > 0);
		for (int i = 0; i < 50; i++)
			record_one(s);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		CHECK_EQ("INH-8 FLUSH-10", status, 0);
		children++;
		stress_sleep(2000000);
	}
	return arg;
}

static void sources_prepare(struct tally *t)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	MUST(sigaction(SIGUSR1, &action, NULL) == 0);
	stress_types();
	tally_init(t);
	for (unsigned i = 0; i < SOURCES; i++)
		tally_add(t, &sources[i], i >= RECORDERS && i < 2 * RECORDERS ? i - RECORDERS : i);
}

static void sources_start(trace_id_t trid)
{
	static void *(*const run[3])(void *) = { disturb, bear, fork_often };

	current = trid;
	children = 0;
	atomic_store(&held_up, false);
	atomic_store(&begun, 0);
	atomic_store(&stop, false);
	atomic_store(&stop_signals, false);
	for (int i = 0; i < RECORDERS; i++)
		MUST(pthread_create(&recorders[i], NULL, record, &sources[i]) == 0);
	while (atomic_load(&begun) < RECORDERS)
		sched_yield();
	for (int i = 0; i < 3; i++)
		MUST(pthread_create(&others[i], NULL, run[i], NULL) == 0);
}

static void sources_end(void)
{
	/* Threads that have ended take no signals. */
	atomic_store(&stop_signals, true);
	pthread_join(others[0], NULL);
	atomic_store(&stop, true);
	for (int i = 0; i < RECORDERS; i++)
		pthread_join(recorders[i], NULL);
	for (int i = 1; i < 3; i++)
		pthread_join(others[i], NULL);
	CHECK_NE("-", children, 0);
	for (int i = 0; i < SOURCES; i++)
		/* ThreadSanitizer delays the delivery of signals. */
		if (!SANITIZER_THREAD || i < RECORDERS || i >= 2 * RECORDERS)
			CHECK_NE("-", sources[i].generated, 0);
}

/* -- The stream and its log ----------------------------------------------------------- */

/*
 * Returns a file that is gone after the test, and that needs no disk where memory has room for it: not beside the
 * streams in a container's 64 MiB.
 */
static int log_file(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "%s/test-log-XXXXXX", stress_little_room() ? "/tmp" : "/dev/shm");
	fd = mkostemp(path, O_CLOEXEC);

	MUST(fd >= 0 && unlink(path) == 0);
	return fd;
}

static trace_id_t create(int stream_policy, int log_policy, size_t stream_size, size_t log_size, int fd)
{
	uint64_t end = stress_now() + stress_ms(10000);
	trace_attr_t attr;
	trace_id_t trid;
	int error;

	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, stream_policy) == 0);
	MUST(posix_trace_attr_setlogfullpolicy(&attr, log_policy) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, stream_size) == 0);
	MUST(posix_trace_attr_setlogsize(&attr, log_size) == 0);
	while ((error = posix_trace_create_withlog(0, &attr, fd, &trid)) == EAGAIN && stress_now() < end)
		stress_sleep(1000000);
	MUST(posix_trace_attr_destroy(&attr) == 0);
	errno = error;
	MUST(error == 0);
	return trid;
}

static void filter_of(trace_event_set_t *set, bool system, trace_event_id_t user)
{
	MUST(posix_trace_eventset_empty(set) == 0);
	if (system)
		MUST(posix_trace_eventset_fill(set, POSIX_TRACE_SYSTEM_EVENTS) == 0);
	if (user)
		MUST(posix_trace_eventset_add(user, set) == 0);
}

/* -- What is in the log ------------------------------------------------------------------ */

struct books {
	struct tally *tally;
	bool wraps;       /* the log may begin at any event */
	uint64_t all;     /* all events */
	uint64_t started; /* START and FILTER of calls */
	uint64_t flushes, begun, ended; /* FLUSH_START and FLUSH_STOP: of calls; of all flushes */
	uint64_t late;    /* events with an earlier time than their predecessor */
	int64_t late_by;
	uint64_t written, lost, discarded; /* as the end of the file says */
	trace_event_id_t last_id;
	struct timespec newest;
	uint64_t sum; /* checksum of everything read */
};

/* Reads the index, see docs/log-format.md, INDEX and FOOTER. */
static void read_index(int fd, struct books *b)
{
	unsigned char foot[64];
	uint64_t at, index[3];
	struct stat st;

	MUST(fstat(fd, &st) == 0 && st.st_size > 64 && pread(fd, foot, 64, st.st_size - 64) == 64);
	MUST(memcmp(foot, "PTLF\7", 5) == 0);
	memcpy(&at, foot + 16, 8);
	MUST(pread(fd, index, sizeof index, (off_t)at + 64) == sizeof index);
	b->written = index[0];
	b->lost = index[1];
	b->discarded = index[2];
}

static void take(struct books *b, const struct posix_trace_event_info *e, const void *data, size_t len)
{
	trace_event_id_t id = e->posix_event_id;
	int64_t behind = stress_behind(&e->posix_timestamp, &b->newest);
	uint64_t word = 0;

	b->all++;
	memcpy(&word, data, len < sizeof word ? len : sizeof word);
	b->sum = chance_mix(b->sum ^ id ^ (uint64_t)e->posix_timestamp.tv_nsec << 12 ^
	                    (uint64_t)e->posix_pid << 44) + word;
	if (behind > 0) {
		b->late++;
		b->late_by = behind > b->late_by ? behind : b->late_by;
	}
	if (behind < 0)
		b->newest = e->posix_timestamp;
	if (id == POSIX_TRACE_FLUSH_START || id == POSIX_TRACE_FLUSH_STOP) {
		b->flushes += e->posix_pid != 0;
		b->begun += id == POSIX_TRACE_FLUSH_START;
		b->ended += id == POSIX_TRACE_FLUSH_STOP;
		return;
	}
	/* Except the end of a flush that had begun before. */
	b->last_id = id;
	b->started += e->posix_pid != 0 && (id == POSIX_TRACE_START || id == POSIX_TRACE_FILTER);
	/* The log may have lost the first half of a pair. */
	if (b->wraps && b->tally->reports == 0)
		b->tally->last_id = id == POSIX_TRACE_RESUME ? POSIX_TRACE_OVERFLOW : POSIX_TRACE_STOP;
	/* After a stop numbers are missing, whether a call has stopped the stream or the library. */
	if (id == POSIX_TRACE_STOP)
		b->tally->loss_reported = b->tally->reports + 1;
	tally_event(b->tally, e, data, len);
	if (id == POSIX_TRACE_STOP)
		b->tally->loss_reported = b->tally->reports;
}

/* Reads a log, up to this many events. Returns false if the log cannot be opened. */
static bool read_log(int fd, struct books *b, uint64_t most)
{
	struct posix_trace_event_info e;
	unsigned char data[2048];
	int unavailable = 0;
	trace_id_t trid;
	size_t len = 0;

	if (posix_trace_open(fd, &trid) != 0)
		return false;
	while (b->all < most) {
		if (posix_trace_getnext_event(trid, &e, data, sizeof data, &len, &unavailable) != 0)
			b->tally->error++;
		if (unavailable || b->tally->error)
			break;
		take(b, &e, data, len);
	}
	b->tally->error += posix_trace_close(trid) != 0;
	return true;
}

static uint64_t status_lost(int fd)
{
	struct posix_trace_status_info status;
	trace_id_t trid;

	MUST(posix_trace_open(fd, &trid) == 0);
	MUST(posix_trace_get_status(trid, &status) == 0);
	MUST(posix_trace_close(trid) == 0);
	return status.__posix_lost_events;
}

/* Checks what holds for every log. with_system: the log has system events, which report losses. */
static void check_books(struct books *b, int stream_policy, int log_policy, bool with_system)
{
	/* This policy has OVERFLOW and RESUME between its STOP and START (SYS-20). */
	if (stream_policy == POSIX_TRACE_FLUSH || !with_system)
		b->tally->unpaired = 0;
	if (!with_system)
		b->tally->unannounced = 0;
	/*
	 * A handler's event may come before that of the thread that it has interrupted. Late events are placed where
	 * possible, even inside a pair.
	 */
	if (held_up)
		b->late = b->tally->backwards = b->tally->unpaired = 0;
	/* A full log has room left for the last STOP, but not for the START before it. */
	if (log_policy == POSIX_TRACE_UNTIL_FULL && b->discarded && b->tally->unpaired == 1 &&
	    b->tally->unpaired_at == b->tally->reports)
		b->tally->unpaired = 0;
	tally_check(b->tally);
	if (b->late)
		TEST_FAIL("READ-20 READ-21", "%llu events before an older one, up to %lld ns",
		          (unsigned long long)b->late, (long long)b->late_by);
	/* A log that wraps may begin between the two, and a full log may end between them. */
	CHECK_OP("FLUSH-19", b->begun + (log_policy == POSIX_TRACE_LOOP), >=, b->ended);
	CHECK_OP("FLUSH-19", b->begun, <=, b->ended + (log_policy == POSIX_TRACE_UNTIL_FULL));
	CHECK_EQ("FLUSH-1 LOG-13 LOG-14", b->written, b->all + (log_policy == POSIX_TRACE_LOOP ? b->discarded : 0));
	if (log_policy == POSIX_TRACE_APPEND)
		CHECK_EQ("LOG-16", b->discarded, 0);
	if (with_system && (log_policy != POSIX_TRACE_UNTIL_FULL || b->discarded))
		CHECK_EQ("SHUT-1 LOG-15 START-13", b->last_id, POSIX_TRACE_STOP);
}

static uint64_t generated(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < SOURCES; i++)
		sum += sources[i].generated;
	return sum;
}

/* -- Books to the last event ----------------------------------------------------------------- */

/*
 * Controls the stream, but neither stops nor empties it. system: system events count. Returns the number of such
 * events.
 */
static uint64_t control(trace_id_t trid, unsigned ms, bool system)
{
	uint64_t end = stress_now() + stress_ms(ms), random = stress_now(), flushes = 0;
	struct posix_trace_status_info status;
	trace_event_set_t set;
	int error;

	while (stress_now() < end) {
		random = chance_mix(random);
		switch (random % 4) {
		case 0:
			error = posix_trace_flush(trid);
			stress_show_room(error);
			CHECK_EQ("FLUSH-20 THR-1", error, 0);
			flushes++;
			break;
		case 1:
			CHECK_EQ("STAT-1 THR-1", posix_trace_get_status(trid, &status), 0);
			CHECK_EQ("FLUSH-16", status.posix_stream_flush_error, 0);
			break;
		case 2:
			/*
			 * FILTER is recorded only while the stream runs, which a full stream does not: filter FILTER
			 * itself in this case.
			 */
			filter_of(&set, !system, random & 256 ? POSIX_TRACE_UNNAMED_USEREVENT : 0);
			if (!system)
				CHECK_EQ("THR-1", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
			break;
		default:
			stress_sleep(random >> 16 & 0x3fffff);
		}
	}
	return flushes;
}

static void run(int log_policy, int stream_policy, size_t stream_size, bool system)
{
	static struct tally tally;
	struct books b = { .tally = &tally };
	uint64_t flushes, have;
	trace_event_set_t set;
	int fd = log_file();
	trace_id_t trid = create(stream_policy, log_policy, stream_size, 256 << 10, fd);

	sources_prepare(&tally);
	filter_of(&set, !system, 0);
	CHECK_EQ("-", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	sources_start(trid);
	flushes = control(trid, 100, system);
	sources_end();
	CHECK_EQ("SHUT-7 SHUT-10", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-2", stress_files(), 0);

	read_index(fd, &b);
	/* A log that wraps does not say which events are missing before its first one. */
	b.wraps = log_policy == POSIX_TRACE_LOOP;
	if (b.wraps)
		tally.loss_reported = 1;
	MUST(read_log(fd, &b, UINT64_MAX));
	CHECK_EQ("STAT-5", status_lost(fd), b.lost);
	check_books(&b, stream_policy, log_policy, system);
	CHECK_NE("FLUSH-1 SHUT-7", tally.read, 0);
	CHECK_OP("FLUSH-19", b.flushes, <=, 2 * flushes);
	have = tally.read + b.started + b.lost + b.discarded;
	/* Where system events are traced, the log may have discarded some, too. */
	if (have != generated() + system && !(system && b.discarded))
		TEST_FAIL("MODEL-8 MODEL-9 SHUT-7",
		          "policies %d and %d, stream of %zu%s: generated %llu, read %llu, lost %llu, discarded %llu: "
		          "%lld unaccounted for",
		          log_policy, stream_policy, stream_size, system ? ", system events" : "",
		          (unsigned long long)generated() + system, (unsigned long long)(tally.read + b.started),
		          (unsigned long long)b.lost, (unsigned long long)b.discarded,
		          (long long)(generated() + system - have));
	CHECK_OP("MODEL-8 MODEL-9 SHUT-7", have, >=, generated() + system);
	close(fd);
}

static void run_all(int log_policy)
{
	for (size_t s = 0; s < 3; s++)
		for (size_t i = 0; i < 2; i++)
			for (int system = 0; system < 2; system++)
				run(log_policy, stream_policies[s], stream_sizes[i], system);
}

TEST(append)     { run_all(POSIX_TRACE_APPEND); }
TEST(loop)       { run_all(POSIX_TRACE_LOOP); }
TEST(until_full) { run_all(POSIX_TRACE_UNTIL_FULL); }

/* -- Stops, starts, filters and clears as well --------------------------------------------------- */

/*
 * For each source: the number of events it had generated at the last clear, and the number it has certainly generated
 * while the stream ran. The event in progress at either end is uncertain.
 */
static uint64_t cleared[SOURCES], begins[SOURCES], surely[SOURCES];

/*
 * Passes a barrier: a processor may load before its stores are visible to others. After this, a source that is seen at
 * n events has really got no farther than n.
 */
static void settle(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) != 0)
		stress_sleep(1000000);
}

static uint64_t generated_by(int i)
{
	return __atomic_load_n(&sources[i].generated, __ATOMIC_RELAXED);
}

static void window_begin(void)
{
	settle();
	for (int i = 0; i < SOURCES; i++)
		begins[i] = generated_by(i);
}

static void window_end(void)
{
	settle();
	for (int i = 0; i < SOURCES; i++) {
		uint64_t now = generated_by(i);

		/* Events of this type are filtered out now and then. */
		if (sources[i].number % STRESS_TYPES != STRESS_TYPES - 1 && now > begins[i] + 1)
			surely[i] += now - begins[i] - 1;
	}
}

static void stop_and_start(trace_id_t trid, uint64_t random)
{
	window_end();
	CHECK_EQ("START-1 THR-1", posix_trace_stop(trid), 0);
	stress_sleep(random & 0xfffff);
	CHECK_EQ("START-1 THR-1", posix_trace_start(trid), 0);
	window_begin();
}

static void clear(trace_id_t trid)
{
	settle();
	for (int i = 0; i < SOURCES; i++)
		cleared[i] = generated_by(i);
	CHECK_EQ("CLEAR-13 THR-1", posix_trace_clear(trid), 0);
	/* A stream that has stopped because it is full stays stopped. */
	CHECK_EQ("START-1 THR-1", posix_trace_start(trid), 0);
	memset(surely, 0, sizeof surely);
	window_begin();
}

static void control_all(trace_id_t trid, unsigned ms)
{
	uint64_t end = stress_now() + stress_ms(ms), random = stress_now();
	trace_event_set_t set;

	while (stress_now() < end) {
		random = chance_mix(random);
		switch (random % 8) {
		case 0:
			if (random >> 32 & 1)
				clear(trid);
			break;
		case 1: case 2:
			stop_and_start(trid, random >> 32);
			break;
		case 3: case 4:
			filter_of(&set, false, random >> 32 & 1 ? stress_type(STRESS_TYPES - 1) : 0);
			CHECK_EQ("THR-1", posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET), 0);
			break;
		default:
			stress_sleep(random >> 16 & 0x3fffff);
		}
	}
}

static trace_id_t flushed;

static void *flush_often(void *arg)
{
	uint64_t *flushes = arg;
	struct posix_trace_status_info status;

	while (!atomic_load(&stop)) {
		CHECK_EQ("FLUSH-20 THR-1", posix_trace_flush(flushed), 0);
		CHECK_EQ("STAT-1 THR-1", posix_trace_get_status(flushed, &status), 0);
		++*flushes;
		stress_sleep(1000000);
	}
	return NULL;
}

static void run_disturbed(int log_policy, int stream_policy, size_t stream_size)
{
	static struct tally tally;
	struct books b = { .tally = &tally };
	uint64_t least = 0, most = 0, flushes = 0, have;
	pthread_t thread;
	int fd = log_file();
	trace_id_t trid = create(stream_policy, log_policy, stream_size, 256 << 10, fd);

	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
	sources_prepare(&tally);
	memset(cleared, 0, sizeof cleared);
	memset(surely, 0, sizeof surely);
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	window_begin();
	sources_start(trid);
	flushed = trid;
	MUST(pthread_create(&thread, NULL, flush_often, &flushes) == 0);
	control_all(trid, 150);
	sources_end();
	pthread_join(thread, NULL);
	window_end();
	CHECK_EQ("SHUT-7 SHUT-10", posix_trace_shutdown(trid), 0);
	CHECK_EQ("SHUT-2", stress_files(), 0);
	CHECK_NE("-", flushes, 0);

	read_index(fd, &b);
	/* After a clear the numbers begin anywhere, and filtered events are missing without a report. */
	MUST(read_log(fd, &b, UINT64_MAX));
	check_books(&b, stream_policy, log_policy, false);
	for (int i = 0; i < SOURCES; i++) {
		least += surely[i];
		/* One more event may have been in progress when the stream was cleared. */
		most += sources[i].generated - cleared[i] + (cleared[i] != 0);
	}
	have = tally.read + b.lost + b.discarded;
	if (have < least || tally.read > most)
		TEST_FAIL("MODEL-8 MODEL-9 CLEAR-9",
		          "policies %d and %d, stream of %zu: generated %llu to %llu, read %llu, lost %llu, discarded "
		          "%llu",
		          log_policy, stream_policy, stream_size, (unsigned long long)least, (unsigned long long)most,
		          (unsigned long long)tally.read, (unsigned long long)b.lost, (unsigned long long)b.discarded);
	for (int i = 0; i < SOURCES; i++)
		CHECK_OP("CLEAR-5 CLEAR-9", tally.by_source[i], <=,
		         sources[i].generated - cleared[i] + (cleared[i] != 0));
	close(fd);
}

static void run_all_disturbed(int log_policy)
{
	for (size_t s = 0; s < 3; s++)
		for (size_t i = 0; i < 2; i++)
			run_disturbed(log_policy, stream_policies[s], stream_sizes[i]);
}

TEST(append_disturbed)     { run_all_disturbed(POSIX_TRACE_APPEND); }
TEST(loop_disturbed)       { run_all_disturbed(POSIX_TRACE_LOOP); }
TEST(until_full_disturbed) { run_all_disturbed(POSIX_TRACE_UNTIL_FULL); }

/* -- Read while it is written ------------------------------------------------------------------------- */

#define LOOKS 64

/* The result of reading a log that was not complete yet. */
struct look {
	uint64_t all, sum, faults;
};

struct looker {
	int fd;
	_Atomic bool end;
	volatile int n;
	volatile uint64_t refused;
	struct look looks[LOOKS];
};

static void look_once(struct looker *l, struct tally *t)
{
	struct books b = { .tally = t };

	/* Back to the initial state: nothing read. */
	tally_init(t);
	t->pid = sources[0].pid;
	for (int i = 0; i < SOURCES; i++)
		t->sources[t->n_sources++] = &sources[i];
	if (!read_log(l->fd, &b, UINT64_MAX)) {
		l->refused++;
		return;
	}
	/* The same result again takes no more room. */
	if (l->n && l->looks[l->n - 1].all == b.all)
		l->n--;
	l->looks[l->n] = (struct look){ b.all, b.sum,
		                        t->torn + t->foreign + t->repeated + t->wrong_type + t->truncated +
		                                t->unannounced + t->error };
	l->n++;
}

static void *look(void *arg)
{
	static _Thread_local struct tally tally;
	struct looker *l = arg;

	while (!atomic_load(&l->end) && l->n < LOOKS) {
		look_once(l, &tally);
		stress_sleep(5000000);
	}
	return NULL;
}

/* Checks that each look has read a beginning of the final log. */
static void check_looks(const struct looker *l, int fd)
{
	static struct tally tally;

	CHECK_EQ("LOG-24", l->refused, 0);
	CHECK_OP("LOG-24", l->n, >, 0);
	for (int i = 0; i < l->n; i++) {
		struct books b = { .tally = &tally };

		tally_init(&tally);
		MUST(read_log(fd, &b, l->looks[i].all));
		CHECK_EQ("LOG-24 OPEN-1", b.all, l->looks[i].all);
		CHECK("LOG-24 OPEN-1", b.sum == l->looks[i].sum);
		CHECK_EQ("LOG-24 READ-21", l->looks[i].faults, 0);
		if (test_failures > 10)
			break;
	}
}

static void run_read(int stream_policy)
{
	static struct tally tally;
	static struct looker thread_looks;
	struct books b = { .tally = &tally };
	struct looker *process_looks;
	int fd = log_file(), status;
	pthread_t thread;
	trace_id_t trid;
	pid_t pid;

	process_looks = mmap(NULL, sizeof *process_looks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(process_looks != MAP_FAILED);
	memset(&thread_looks, 0, sizeof thread_looks);
	thread_looks.fd = process_looks->fd = fd;
	trid = create(stream_policy, POSIX_TRACE_APPEND, 1 << 20, 0, fd);
	sources_prepare(&tally);
	for (int i = 0; i < SOURCES; i++)
		sources[i].pid = getpid();
	fflush(stderr);
	pid = fork();
	if (pid == 0) {
		alarm((unsigned)(30 * test_slow()));
		look(process_looks);
		_exit(0);
	}
	MUST(pid > 0);
	CHECK_EQ("START-1", posix_trace_start(trid), 0);
	sources_start(trid);
	MUST(pthread_create(&thread, NULL, look, &thread_looks) == 0);
	control(trid, 250, true);
	atomic_store(&thread_looks.end, true);
	pthread_join(thread, NULL);
	sources_end();
	/* One process goes on looking until after the end. */
	CHECK_EQ("SHUT-7 SHUT-10", posix_trace_shutdown(trid), 0);
	atomic_store(&process_looks->end, true);
	MUST(waitpid(pid, &status, 0) == pid);
	CHECK_EQ("-", status, 0);
	/* The log has grown between the first look and the last. */
	CHECK_OP("LOG-24", process_looks->n + thread_looks.n, >, 2);

	read_index(fd, &b);
	MUST(read_log(fd, &b, UINT64_MAX));
	check_books(&b, stream_policy, POSIX_TRACE_APPEND, true);
	/* Opening the log while it was written has taken nothing from it. */
	CHECK_EQ("MODEL-8 MODEL-9 SHUT-7", tally.read + b.started + b.lost, generated() + 1);
	check_looks(&thread_looks, fd);
	check_looks(process_looks, fd);
	munmap(process_looks, sizeof *process_looks);
	close(fd);
}

TEST(read_while_written)
{
	for (size_t s = 0; s < 3; s++)
		run_read(stream_policies[s]);
}

TEST_MAIN(TEST_ENTRY(append), TEST_ENTRY(loop), TEST_ENTRY(until_full), TEST_ENTRY(append_disturbed),
          TEST_ENTRY(loop_disturbed), TEST_ENTRY(until_full_disturbed), TEST_ENTRY(read_while_written))
