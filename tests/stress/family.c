/*
 * family.c - a whole family of processes records into one stream
 *
 * A controller in another process traces the first process and all its descendants, to a depth of three. They are made
 * by fork(), _Fork() and posix_spawn(), from processes with threads and without, also from processes that have never
 * traced themselves. Some processes end before their children. Each thread of each process is a source, and the books
 * balance to the last event, whatever the controller does meanwhile.
 *
 * SPDX-License-Identifier: MIT
 */
#include "stress.h"

#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define DEPTH   3
#define EACH    3 /* children of a process, at most */
#define SHARED  60 /* descriptor */
#define MEMBERS 512

extern char **environ;

/* Shared by all members of the family and their controller. */
static struct shared {
	_Atomic uint64_t until;
	_Atomic unsigned sources_taken, members;
	_Atomic unsigned failures; /* failures of members */
	struct {
		pid_t pid;
		uint64_t start; /* as in names of files */
	} member[MEMBERS];
	struct stress_source sources[STRESS_SOURCES];
} *shared;

static void share(bool create)
{
	if (create) {
		int fd = memfd_create("family", 0);

		MUST(fd >= 0 && ftruncate(fd, sizeof *shared) == 0 && dup2(fd, SHARED) == SHARED);
		close(fd);
	}
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, SHARED, 0);
	MUST(shared != MAP_FAILED);
}

/* -- A member ------------------------------------------------------------------------ */

static struct stress_source *take_source(void)
{
	unsigned i = atomic_fetch_add(&shared->sources_taken, 1);
	struct stress_source *s = i < STRESS_SOURCES ? &shared->sources[i] : NULL;

	if (s) {
		s->pid = getpid();
		s->thread = pthread_self();
	}
	return s;
}

/* Records a few events, then yields the processor. */
static void burst(struct stress_source *s, uint64_t *random)
{
	*random = chance_mix(*random);
	for (uint64_t i = 0; i < *random % 64; i++)
		stress_record(s);
	if (*random >> 32 & 1)
		stress_sleep(20000);
}

static void *record(void *arg)
{
	struct stress_source *s = take_source();
	uint64_t random = stress_now();

	if (!s)
		return NULL;
	while (stress_now() < atomic_load(&shared->until))
		burst(s, &random);
	return NULL;
}

enum { FORK, FORK_PLAIN, SPAWN, WAYS };

static void live(int depth, int way);

static pid_t make_child(int depth, int way, uint64_t random)
{
	char number[16], *argv[] = { "stress-family", "member", number, NULL };
	pid_t pid = -1;
	int next = (int)(random % WAYS);

	/* From here on only what is allowed in the child of a process with threads. */
	if (way == FORK_PLAIN && next == FORK)
		next = FORK_PLAIN;
	if (SANITIZER_THREAD)
		next = SPAWN; /* it knows no threads in the child of a process with threads */
#if !defined __GLIBC__ || (__GLIBC__ == 2 && __GLIBC_MINOR__ < 34)
	if (next == FORK_PLAIN)
		next = SPAWN;
#else
	if (next == FORK_PLAIN) {
		pid = _Fork();
		if (pid == 0) {
			live(depth + 1, FORK_PLAIN);
			_exit(0);
		}
		return pid;
	}
#endif
	if (next == FORK) {
		pid = fork();
		if (pid == 0) {
			/*
			 * AddressSanitizer does not hold its allocator's locks over fork(), so the first thread of the
			 * child may wait for one without end.
			 */
			live(depth + 1, SANITIZER_ADDRESS ? FORK_PLAIN : FORK);
			_exit(test_failures ? 1 : 0);
		}
		return pid;
	}
	number[0] = (char)('0' + depth + 1);
	number[1] = 0;
	return posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) == 0 ? pid : -1;
}

/*
 * Enters this process, by process id and start time because ids are reused. Does only what is allowed in the child of a
 * process with threads.
 */
static void enrol(void)
{
	unsigned member = atomic_fetch_add(&shared->members, 1);
	uint64_t start = process_started("/proc/self/stat");

	if (member >= MEMBERS)
		return;
	shared->member[member].pid = getpid();
	shared->member[member].start = start;
}

static void live(int depth, int way)
{
	uint64_t random = chance_mix(stress_now() ^ (uint64_t)getpid() << 32);
	bool quiet = random >> 8 & 1, early = depth > 0 && (random >> 9 & 3) == 0;
	struct stress_source *s = NULL;
	pthread_t threads[2];
	int n_threads = 0, status;
	pid_t pid;

	enrol();
	if (way != FORK_PLAIN) {
		stress_types();
		n_threads = (int)(random >> 16 & 1) + 1;
		for (int i = 0; i < n_threads; i++)
			MUST(pthread_create(&threads[i], NULL, record, NULL) == 0);
	}
	/* Some processes trace before they have children, others only afterwards. */
	if (!quiet)
		s = take_source();
	for (int i = 0; depth < DEPTH && i < EACH; i++) {
		random = chance_mix(random);
		if (s)
			burst(s, &random);
		if (atomic_load(&shared->sources_taken) < STRESS_SOURCES &&
		    stress_now() < atomic_load(&shared->until) && make_child(depth, way, random) < 0)
			atomic_fetch_add(&shared->failures, 1);
	}
	if (!s)
		s = take_source();
	while (stress_now() < atomic_load(&shared->until) && !(early && random % 50 == 0)) {
		if (s)
			burst(s, &random);
		else
			stress_sleep(1000000);
	}
	for (int i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	if (early)
		return; /* the controller waits for the children */
	while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR)
		if (pid > 0 && status)
			atomic_fetch_add(&shared->failures, 1);
}

static int member_main(const char *depth)
{
	share(false);
	live(atoi(depth), SPAWN);
	return test_failures ? 1 : 0;
}

/* -- The controller --------------------------------------------------------------------- */

struct family {
	pid_t first;
	trace_id_t trid;
	struct tally tally;
	struct tally_reader reader;
};

/* Starts the first process of the family, traces it and lets it begin. */
static void family_start(struct family *f, int policy, size_t size, unsigned ms)
{
	int go[2];
	char c;

	share(true);
	/* Processes whose parents have ended become our children to wait for. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		SKIP("nobody can be made to take orphans here");
	tally_init(&f->tally);
	for (unsigned i = 0; i < STRESS_SOURCES; i++)
		tally_add(&f->tally, &shared->sources[i], i);
	f->tally.pid = -1;
	stress_types();
	MUST(pipe(go) == 0);
	fflush(stderr);
	f->first = fork();
	if (f->first == 0) {
		close(go[1]);
		MUST(read(go[0], &c, 1) == 1);
		close(go[0]);
		live(0, FORK);
		exit(test_failures ? 1 : 0);
	}
	MUST(f->first > 0);
	close(go[0]);
	MUST(stress_create_for(f->first, policy, size, POSIX_TRACE_INHERITED, &f->trid) == 0);
	CHECK_EQ("START-1", posix_trace_start(f->trid), 0);
	tally_reader_start(&f->reader, &f->tally, f->trid);
	atomic_store(&shared->until, UINT64_MAX);
	MUST(write(go[1], "", 1) == 1);
	close(go[1]);
	/*
	 * Wait until there is a family, which may take a while on a busy processor. The first process always has
	 * children.
	 */
	while (atomic_load(&shared->members) <= EACH || atomic_load(&shared->sources_taken) <= EACH) {
		siginfo_t ended = { .si_pid = 0 };

		MUST(waitid(P_PID, (id_t)f->first, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0);
		stress_sleep(1000000);
	}
	atomic_store(&shared->until, stress_now() + stress_ms(ms));
}

static void family_end(struct family *f)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR)
		if (pid > 0 && status)
			TEST_FAIL("INH-1", "process %d ended with status %#x", (int)pid, status);
	CHECK_EQ("-", atomic_load(&shared->failures), 0);
	tally_reader_end(&f->reader);
}

static int files_of_members(void)
{
	unsigned members = atomic_load(&shared->members);
	char path[64], name[300];
	struct dirent *entry;
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof path, "/dev/shm/posixtrace-%u", (unsigned)geteuid());
	dir = opendir(path);
	MUST(dir);
	while ((entry = readdir(dir)))
		for (unsigned i = 0; i < members && i < MEMBERS; i++) {
			snprintf(name, sizeof name, "-%d-%llu-", (int)shared->member[i].pid,
			         (unsigned long long)shared->member[i].start);
			n += strncmp(entry->d_name, "new", 3) != 0 && strstr(entry->d_name, name) != NULL;
		}
	closedir(dir);
	return n;
}

static void family_finish(struct family *f, bool exact, uint64_t called)
{
	unsigned members = atomic_load(&shared->members), sources = 0;
	trace_event_id_t id;
	trace_id_t trid;

	/* All members have the same ids, and so has the controller. */
	for (unsigned i = 0; i < STRESS_TYPES; i++) {
		char name[32];

		snprintf(name, sizeof name, "stress.%u", i);
		CHECK_EQ("ID-1", posix_trace_trid_eventid_open(f->trid, name, &id), 0);
		CHECK_EQ("ID-1", id, stress_type(i));
	}
	tally_drain(&f->tally, f->trid);
	/*
	 * If the books balance, an event that was not read was counted as lost. Some sources may have had only such
	 * events.
	 */
	for (unsigned i = 0; i < STRESS_SOURCES; i++)
		sources += (exact ? shared->sources[i].generated : f->tally.by_source[i]) > 0;
	CHECK_OP("INH-1", members, >, EACH);
	CHECK_OP("INH-1", sources, >, EACH);
	if (exact) {
		tally_check(&f->tally);
		tally_balance(&f->tally, 1, f->trid, called);
	} else {
		f->tally.unannounced = f->tally.unpaired = 0;
		tally_check(&f->tally);
		for (unsigned i = 0; i < STRESS_SOURCES; i++)
			CHECK_OP("READ-22", f->tally.by_source[i], <=, shared->sources[i].generated);
	}
	CHECK_NE("INH-1", f->tally.read, 0);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(f->trid), 0);
	CHECK_EQ("SHUT-2", stress_files(), 0);
	/* After the next stream is created at the latest, nothing of the family is left. */
	trid = stress_stream(POSIX_TRACE_LOOP, 4096);
	/* Except files that another program is removing at this moment, which may have to wait for a processor. */
	for (uint64_t end = stress_now() + stress_ms(10000); files_of_members() > 0 && stress_now() < end;)
		stress_sleep(1000000);
	CHECK_EQ("INH-14", files_of_members(), 0);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
}

/* -- The tests ----------------------------------------------------------------------------- */

/* Runs a family while the controller keeps changing the filter, for a type that is never recorded. */
static void run(int policy, size_t size, bool filter)
{
	static struct family f;
	uint64_t called = 1;

	family_start(&f, policy, size, 700);
	if (filter) {
		trace_event_set_t set;
		trace_event_id_t nobodys;

		MUST(posix_trace_trid_eventid_open(f.trid, "stress.nobody", &nobodys) == 0);
		posix_trace_eventset_empty(&set);
		posix_trace_eventset_add(nobodys, &set);
		while (stress_now() < atomic_load(&shared->until)) {
			CHECK_EQ("FILT-6", posix_trace_set_filter(f.trid, &set,
			                                          called & 1 ? POSIX_TRACE_ADD_EVENTSET
			                                                     : POSIX_TRACE_SUB_EVENTSET), 0);
			called++;
			stress_sleep(300000);
		}
	}
	family_end(&f);
	family_finish(&f, true, called);
}

TEST(loop_64k)        { run(POSIX_TRACE_LOOP, 65536, false); }
TEST(loop_1m)         { run(POSIX_TRACE_LOOP, 1 << 20, false); }
TEST(full_64k)        { run(POSIX_TRACE_UNTIL_FULL, 65536, false); }
TEST(full_16m)        { run(POSIX_TRACE_UNTIL_FULL, 16 << 20, false); }
TEST(loop_64k_filter) { run(POSIX_TRACE_LOOP, 65536, true); }
TEST(loop_1m_filter)  { run(POSIX_TRACE_LOOP, 1 << 20, true); }

/*
 * Stops, starts and clears the stream: each event that is read is intact, from its source, in order and not repeated.
 */
static void steer(int policy, size_t size)
{
	static struct family f;
	uint64_t random = stress_now();
	trace_event_set_t set;

	family_start(&f, policy, size, 700);
	posix_trace_eventset_empty(&set);
	posix_trace_eventset_add(stress_type(1), &set);
	while (stress_now() < atomic_load(&shared->until)) {
		random = chance_mix(random);
		switch (random & 3) {
		case 0:
			CHECK_EQ("START-9", posix_trace_stop(f.trid), 0);
			break;
		case 1:
			CHECK_EQ("FILT-6", posix_trace_set_filter(f.trid, &set,
			                                          random & 4 ? POSIX_TRACE_ADD_EVENTSET
			                                                     : POSIX_TRACE_SUB_EVENTSET), 0);
			break;
		default:
			CHECK_EQ("START-9", posix_trace_start(f.trid), 0);
			break;
		}
		stress_sleep(random >> 8 & 0x3ffff);
	}
	CHECK_EQ("START-9", posix_trace_start(f.trid), 0);
	family_end(&f);
	family_finish(&f, false, 0);
}

TEST(steered_loop) { steer(POSIX_TRACE_LOOP, 1 << 20); }
TEST(steered_full) { steer(POSIX_TRACE_UNTIL_FULL, 1 << 18); }

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		TEST_ENTRY(loop_64k), TEST_ENTRY(loop_1m), TEST_ENTRY(full_64k), TEST_ENTRY(full_16m),
		TEST_ENTRY(loop_64k_filter),
		TEST_ENTRY(loop_1m_filter), TEST_ENTRY(steered_loop), TEST_ENTRY(steered_full), { NULL, NULL },
	};

	if (argc == 3 && strcmp(argv[1], "member") == 0)
		return member_main(argv[2]);
	return test_main(tests, argc, argv);
}
