/*
 * users.c - what one user can do to the tracing of others
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/resource.h>
#include <sys/syscall.h>

#include "fork.h"
#include "other.h"
#include "base/atomic.h"
#include "shm/layout.h"

#define NOBODY    65534u
#define DIRECTORY "/dev/shm/posixtrace-65534"
#define LOCK_BYTE INT64_C(0x706f736978740000) /* as in host/lock.c */

static void become_nobody(const void *arg)
{
	MUST(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
	MUST(prctl(PR_SET_DUMPABLE, 1) == 0);
	signal(SIGIO, SIG_IGN);
}

static void outside(void)
{
	if (geteuid() != 0)
		SKIP("only root can become other users");
	NEEDS_OTHERS();
	shm_private("");
}

static void lock(int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTE, .l_len = 1 };

	MUST(fcntl(fd, F_OFD_SETLK, &l) == 0);
}

/* Creates and shuts down a stream of the process. Returns the time that takes in ms, and the error of the creation. */
static int64_t life(pid_t pid, int *error)
{
	int64_t begin = other_now();
	trace_attr_t attr;
	trace_id_t trid;

	posix_trace_attr_init(&attr);
	posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED);
	*error = posix_trace_create(pid, &attr, &trid);
	if (*error == 0) {
		CHECK_EQ("-", posix_trace_start(trid), 0);
		CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	}
	return (other_now() - begin) / 1000000;
}

/* -- Files with the same locks as streams ------------------------------------------------ */

#define LOCKED (TRACE_SYS_MAX + 100)

static long task_lock_many(const void *arg)
{
	struct rlimit files;
	char name[64];

	(void)arg;
	MUST(getrlimit(RLIMIT_NOFILE, &files) == 0);
	if (files.rlim_cur < LOCKED + 50)
		return 0;
	MUST(mkdir(DIRECTORY, 0700) == 0);
	for (int i = 0; i < LOCKED; i++) {
		int fd;

		snprintf(name, sizeof name, DIRECTORY "/stream-%d-1-1", i + 1);
		fd = open(name, O_CREAT | O_RDWR, 0600);
		MUST(fd >= 0);
		lock(fd);
	}
	return 1;
}

/* The locks do not keep root from tracing its own processes, nor those of the other user. */
TEST(locks)
{
	struct rlimit files = { 2 * LOCKED, 2 * LOCKED };
	struct other o;
	int error;

	outside();
	setrlimit(RLIMIT_NOFILE, &files);
	o = other_start(become_nobody, NULL);
	if (!other_do(&o, task_lock_many, NULL, 0))
		SKIP("too few descriptors");
	life(0, &error);
	CHECK_EQ("CREATE-14", error, 0);
	life(o.pid, &error);
	CHECK_EQ("CREATE-14", error, 0);
	other_kill(&o);
}

/* -- A lease, or a lock, on the page of a process ------------------------------------------ */

/* Replaces this process's page by a file that only its user uses. Takes a lease on the file, or the lock of a process
 * that is removing the file. */
static long task_plant(const void *arg)
{
	char page[300] = "";
	struct dirent *e;
	int lease, fd;
	DIR *d;

	memcpy(&lease, arg, sizeof lease);
	fault_open("users");
	posix_trace_event(fault_open("users"), NULL, 0);
	d = opendir(DIRECTORY);
	MUST(d);
	while ((e = readdir(d)))
		if (strncmp(e->d_name, "page-", 5) == 0)
			snprintf(page, sizeof page, DIRECTORY "/%s", e->d_name);
	closedir(d);
	MUST(page[0] && unlink(page) == 0);
	fd = open(page, O_CREAT | O_RDWR, 0600);
	MUST(fd >= 0 && ftruncate(fd, 65536) == 0);
	if (lease)
		return fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCK_BYTE, .l_len = 2 };

	MUST(fcntl(fd, F_OFD_SETLK, &l) == 0);
	return 1;
}

static void planted(int lease)
{
	struct other o;
	int error;
	int64_t ms;

	outside();
	o = other_start(become_nobody, NULL);
	if (!other_do(&o, task_plant, &lease, sizeof lease))
		SKIP("no leases here");
	ms = life(o.pid, &error);
	CHECK_EQ("SEC-1", error, EACCES);
	CHECK_OP("SEC-5", ms, <, 500 * test_slow());
	other_kill(&o);
}

TEST(lease)
{
	planted(1);
}

TEST(lock_of_removal)
{
	planted(0);
}

/* -- A huge number of files ---------------------------------------------------------------- */

#define FILES 60000

static long task_fill(const void *arg)
{
	static const char *const kind[] = { "stream", "page", "new" };
	char name[64];
	int fd;

	(void)arg;
	posix_trace_event(fault_open("users"), NULL, 0);
	fd = open(DIRECTORY "/names-1-1-1", O_CREAT | O_RDWR, 0600);
	MUST(fd >= 0);
	lock(fd);
	snprintf(name, sizeof name, DIRECTORY "/stream-0-1-1");
	fd = open(name, O_CREAT | O_RDWR, 0600);
	MUST(fd >= 0);
	lock(fd);
	for (int i = 1; i < FILES; i++) {
		char other[64];

		snprintf(other, sizeof other, DIRECTORY "/%s-%d-1-1", kind[i % 3], i);
		if (link(name, other) < 0)
			return errno;
	}
	return 0;
}

/* Returns the time that this thread has had a processor, in ms. */
static int64_t busy(void)
{
	struct timespec t;

	MUST(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

TEST(many_files)
{
	struct other o;
	int error;
	int64_t before;

	outside();
	o = other_start(become_nobody, NULL);
	MUST(other_do(&o, task_fill, NULL, 0) == 0);
	before = busy();
	life(o.pid, &error);
	CHECK_EQ("CREATE-14", error, 0);
	CHECK_OP("SEC-5", busy() - before, <, 300 * test_slow());
	other_kill(&o);
}

/* -- A child that has kept the memory, and has become another user -------------------------- */

#define EVENTS 1000

enum pattern {
	ALL_LOCKED, /* all chunks and slots are locked by a living thread; at times the stream claims to have ended */
	DEAD,    /* dead threads hold all locks, and all seats are busy with locked chunks */
	GARBAGE, /* the page has slots without a stream, and changes all the time */
	OWNERS,  /* the chunks' owners change all the time */
	RANDOM,  /* random bytes anywhere but in the first page of the stream */
	PATTERNS
};

struct scribbler {
	unsigned char *page, *stream;
	size_t stream_size;
};

/* Finds the mappings of ours that this process can write to. */
static struct scribbler find_shared(void)
{
	struct scribbler s = { NULL, NULL, 0 };
	unsigned long from, to;
	char line[600], rights[8];
	FILE *f = fopen("/proc/self/maps", "r");

	MUST(f);
	while (fgets(line, sizeof line, f)) {
		if (!strstr(line, "/posixtrace-0/") || sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3 ||
		    rights[1] != 'w')
			continue;
		if (strstr(line, "/page-"))
			s.page = (unsigned char *)from;
		if (strstr(line, "/stream-")) {
			s.stream = (unsigned char *)from;
			s.stream_size = to - from;
		}
	}
	fclose(f);
	return s;
}

static void scribble(const struct scribbler *s, enum pattern pattern, unsigned round)
{
	struct procpage *page = (struct procpage *)s->page;
	struct stream_header *h = (struct stream_header *)s->stream;
	struct seat *seats = h ? (struct seat *)(s->stream + STREAM_HEADER_BYTES) : NULL;
	struct chunk *chunks = h ? (struct chunk *)(seats + h->seat_count) : NULL;
	uint32_t ref = pattern == DEAD ? 0x3ffff0 : (uint32_t)getpid();

	if (page && pattern != OWNERS && pattern != RANDOM) {
		for (int i = 0; i < PAGE_SLOTS; i++)
			store_relaxed(&page->slot[i].lock, ref);
		if (pattern == GARBAGE) {
			for (int w = 1; w < PAGE_WORDS; w++)
				store_relaxed(&page->word[w], 0);
			store_relaxed(&page->sum.vacant, 0);
			for (int i = 0; i < 1000; i++)
				fetch_add(&page->sum.generation, 1);
		}
	}
	if (h && (pattern == ALL_LOCKED || pattern == DEAD || pattern == OWNERS)) {
		if (pattern == ALL_LOCKED && round % 4 == 0)
			fetch_or(&h->state, STATE_ENDED);
		else
			fetch_and(&h->state, ~STATE_ENDED);
		store_relaxed(&h->seats_used, h->seat_count);
		for (uint32_t i = 0; i < h->seat_count; i++) {
			store_relaxed(&seats[i].busy, 1 + round % h->chunk_count);
			if (pattern == DEAD)
				store_relaxed(&seats[i].ref, 0x3ffff0 + i);
		}
		for (uint32_t i = 0; i < h->chunk_count; i++) {
			if (pattern == OWNERS)
				store_relaxed(&chunks[i].owner, (uint64_t)round << 32 | (1 + i));
			else
				store_relaxed(&chunks[i].lock, ref);
		}
	}
	if (pattern == RANDOM) {
		static unsigned seed = 1;

		for (int i = 0; h && i < 2000; i++) {
			size_t at = STREAM_HEADER_BYTES +
			            (size_t)rand_r(&seed) * 8 % (h->seat_count * 64 + h->chunk_count * 128);

			*(volatile uint64_t *)(s->stream + at) = (uint64_t)rand_r(&seed);
		}
		for (int i = 0; page && i < 200; i++)
			s->page[128 + rand_r(&seed) % (PAGE_SIZE_BYTES - 128)] = (unsigned char)rand_r(&seed);
	}
}

/* Starts a process that writes into the mappings until the test ends. It is made by clone(), so no fork() handler has
 * run in it. */
static pid_t start_scribbler(int pattern)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0) {
		struct scribbler s = find_shared();

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY) != 0 ||
		    syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY) != 0)
			_exit(1);
		for (unsigned round = 0;; round++) {
			scribble(&s, pattern, round);
			usleep(50);
		}
	}
	return pid;
}

/* No trace point of root waits for what such a child writes. */
TEST(scribbler)
{
	static const char data[200] = { 1 };
	trace_event_id_t id;

	outside();
	for (int pattern = 0; pattern < PATTERNS; pattern++) {
		int status;
		pid_t test = fork();

		if (test == 0) {
			int64_t begin, ms;
			trace_attr_t attr;
			trace_id_t trid;
			pid_t pid;

			posix_trace_attr_init(&attr);
			posix_trace_attr_setstreamsize(&attr, 65536);
			MUST(posix_trace_create(0, &attr, &trid) == 0 && posix_trace_start(trid) == 0);
			id = fault_open("users");
			posix_trace_event(id, data, sizeof data);
			pid = start_scribbler(pattern);
			MUST(pid > 0);
			usleep(20000);
			begin = other_now();
			for (int i = 0; i < EVENTS; i++)
				posix_trace_event(id, data, sizeof data);
			ms = (other_now() - begin) / 1000000;
			if (ms > 500 * test_slow())
				TEST_FAIL("SEC-5", "pattern %d: %d trace points took %d ms", pattern, EVENTS, (int)ms);
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			fflush(NULL);
			_exit(test_failures ? 1 : 0);
		}
		MUST(waitpid(test, &status, 0) == test);
		CHECK_EQ("SEC-5", status, 0);
	}
}

/* -- A process becomes another user ----------------------------------------------------------- */

static trace_event_id_t event_id;
static trace_id_t own_stream;

static long task_open(const void *name)
{
	event_id = fault_open(name);
	posix_trace_event(event_id, NULL, 0);
	return (long)event_id;
}

static long task_create(const void *pid)
{
	trace_attr_t attr;
	pid_t p;
	int error;

	memcpy(&p, pid, sizeof p);
	posix_trace_attr_init(&attr);
	posix_trace_attr_setinherited(&attr, POSIX_TRACE_INHERITED);
	error = posix_trace_create(p, &attr, &own_stream);
	return error ? error : posix_trace_start(own_stream);
}

static long task_become(const void *arg)
{
	become_nobody(arg);
	return 0;
}

/* Switches from root to nobody and back several times. */
static long task_for_a_while(const void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++) {
		MUST(seteuid(NOBODY) == 0);
		posix_trace_event(event_id, NULL, 0);
		MUST(seteuid(0) == 0);
		posix_trace_event(event_id, NULL, 0);
	}
	return 0;
}

static long task_events(const void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++)
		posix_trace_event(event_id, NULL, 0);
	return 0;
}

static long task_count(const void *id)
{
	trace_event_id_t i;

	memcpy(&i, id, sizeof i);
	return fault_count(own_stream, i);
}

static long task_shutdown(const void *arg)
{
	(void)arg;
	return posix_trace_shutdown(own_stream);
}

/* Returns the number of writable mappings of this kind of root's files in a process. */
static int writable(pid_t pid, const char *kind)
{
	char path[64], line[600];
	FILE *f;
	int n = 0;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	MUST(f);
	while (fgets(line, sizeof line, f))
		n += strstr(line, "/posixtrace-0/") && strstr(line, kind) && strstr(line, " rw-s ");
	fclose(f);
	return n;
}

static void check_traced(struct other *controller, struct other *o, trace_event_id_t id)
{
	if (controller) {
		CHECK_EQ("CREATE-1", other_do(controller, task_create, &o->pid, sizeof o->pid), 0);
		other_do(o, task_events, NULL, 0);
		CHECK_EQ("MODEL-5", other_do(controller, task_count, &id, sizeof id), 10);
		CHECK_EQ("SHUT-10", other_do(controller, task_shutdown, NULL, 0), 0);
	} else {
		CHECK_EQ("CREATE-1", task_create(&o->pid), 0);
		other_do(o, task_events, NULL, 0);
		CHECK_EQ("MODEL-5", fault_count(own_stream, id), 10);
		CHECK_EQ("SHUT-10", posix_trace_shutdown(own_stream), 0);
	}
}

/* The process opens its types as root and then becomes another user. The process has a stream of its own from before,
 * or none; and the new user or root traces the process first. */
TEST(becomes_another)
{
	static const pid_t self = 0;

	outside();
	for (int how = 0; how < 8; how++) {
		struct other o = other_start(NULL, NULL), user = other_start(become_nobody, NULL);
		trace_event_id_t id = (trace_event_id_t)other_do(&o, task_open, "before", 7), later;
		bool streams = how & 1, calls = how & 2, root_first = how & 4;

		if (streams)
			CHECK_EQ("CREATE-1", other_do(&o, task_create, &self, sizeof self), 0);
		other_do(&o, task_become, NULL, 0);
		if (calls) {
			later = (trace_event_id_t)other_do(&o, task_open, "later", 6);
			CHECK("-", later > id);
			CHECK_EQ("SEC-1", writable(o.pid, "/page-") + writable(o.pid, "/names-"), 0);
			other_do(&o, task_open, "before", 7);
		}
		check_traced(root_first ? NULL : &user, &o, id);
		CHECK_EQ("SEC-1", writable(o.pid, "/page-") + writable(o.pid, "/names-"), 0);
		check_traced(root_first ? &user : NULL, &o, id);
		if (streams) {
			CHECK_EQ("MODEL-5", other_do(&o, task_count, &id, sizeof id), 20 + (calls ? 1 : 0));
			CHECK_EQ("SHUT-10", other_do(&o, task_shutdown, NULL, 0), 0);
		}
		CHECK_EQ("CREATE-1", other_do(&o, task_create, &self, sizeof self), 0);
		other_do(&o, task_events, NULL, 0);
		CHECK_EQ("MODEL-5", other_do(&o, task_count, &id, sizeof id), 10);
		CHECK_EQ("SHUT-10", other_do(&o, task_shutdown, NULL, 0), 0);
		if (test_failures)
			fprintf(stderr, "  ... in way %d\n", how);
		other_kill(&o);
		other_kill(&user);
	}
}

/* A process that drops its rights temporarily keeps its page, because the process will be root again. */
TEST(for_a_while)
{
	static const pid_t self = 0;
	struct other o;
	trace_event_id_t id;

	outside();
	o = other_start(NULL, NULL);
	id = (trace_event_id_t)other_do(&o, task_open, "users", 6);
	CHECK_EQ("CREATE-1", other_do(&o, task_create, &self, sizeof self), 0);
	other_do(&o, task_for_a_while, NULL, 0);
	CHECK_EQ("MODEL-5", other_do(&o, task_count, &id, sizeof id), 6);
	CHECK_EQ("SEC-1", access(DIRECTORY, F_OK), -1);
	check_traced(NULL, &o, id);
	other_kill(&o);
}

/* -- Children after a change of the user ------------------------------------------------------ */

enum { BY_FORK, BY_FORK_TWICE, BY_CLONE, WAYS };

/* Makes a child that traces; BY_FORK_TWICE: the child's child traces instead. Returns the child's wait status. */
static long task_child(const void *arg)
{
	int way, status = -1;
	pid_t pid;

	memcpy(&way, arg, sizeof way);
	pid = way == BY_CLONE ? fork_clone() : fork();
	MUST(pid >= 0);
	if (pid == 0 && way == BY_FORK_TWICE) {
		way = BY_FORK;
		_exit(task_child(&way) ? 1 : 0);
	}
	if (pid == 0) {
		if (way == BY_FORK)
			MUST(fault_open("before") == event_id);
		task_events(NULL);
		_exit(test_failures ? 1 : 0);
	}
	MUST(waitpid(pid, &status, 0) == pid);
	return status;
}

/* Returns the number of a process's mappings of stream files. */
static int streams_mapped(pid_t pid)
{
	char path[64], line[600];
	FILE *f;
	int n = 0;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	MUST(f);
	while (fgets(line, sizeof line, f))
		n += strstr(line, "/stream-") && strstr(line, " rw-s ");
	fclose(f);
	return n;
}

/*
 * Children of a process that has become another user are traced into streams created before and after the change, by
 * the process itself or by root, with or without a trace call between change and fork.
 */
TEST(heirs)
{
	static const pid_t self = 0;

	outside();
	for (int how = 0; how < 4 * WAYS; how++) {
		int way = how / 4;
		bool by_root = how & 1, calls = how & 2;
		bool known = way != BY_CLONE || calls; /* no code of ours runs between such a change and clone() */
		struct other o = other_start(NULL, NULL);
		trace_event_id_t id = (trace_event_id_t)other_do(&o, task_open, "before", 7);

		CHECK_EQ("CREATE-1", by_root ? task_create(&o.pid) : other_do(&o, task_create, &self, sizeof self), 0);
		other_do(&o, task_events, NULL, 0);
		other_do(&o, task_become, NULL, 0);
		if (calls)
			CHECK_EQ("-", other_do(&o, task_open, "before", 7), id);
		CHECK_EQ("INH-1", other_do(&o, task_child, &way, sizeof way), 0);
		CHECK_EQ("INH-1", by_root ? fault_count(own_stream, id) : other_do(&o, task_count, &id, sizeof id),
		         10 + (calls ? 1 : 0) + (known ? 10 : 0));
		CHECK_EQ("-", streams_mapped(o.pid), 1 + !by_root);
		CHECK_EQ("SHUT-10", by_root ? posix_trace_shutdown(own_stream) : other_do(&o, task_shutdown, NULL, 0),
		         0);
		other_do(&o, task_events, NULL, 0);
		CHECK_EQ("CREATE-1", other_do(&o, task_create, &self, sizeof self), 0);
		CHECK_EQ("INH-1", other_do(&o, task_child, &way, sizeof way), 0);
		CHECK_EQ("INH-1", other_do(&o, task_count, &id, sizeof id), 10);
		if (test_failures)
			fprintf(stderr, "  ... in way %d\n", how);
		other_kill(&o);
	}
}

static pid_t heir;

/* Makes a child that traces until the end of its life. */
static long task_heir(const void *arg)
{
	(void)arg;
	heir = fork();
	MUST(heir >= 0);
	if (heir == 0) {
		prctl(PR_SET_PDEATHSIG, 0);
		for (;;) {
			for (int i = 0; i < 100; i++)
				task_events(NULL);
			usleep(10000);
		}
	}
	return heir;
}

/* A stream whose file children may not open ends for them when its creator shuts it down, or is killed. */
TEST(end_for_heirs)
{
	static const pid_t self = 0;

	outside();
	for (int killed = 0; killed < 2; killed++) {
		struct other o = other_start(NULL, NULL);
		trace_event_id_t id = (trace_event_id_t)other_do(&o, task_open, "before", 7);
		int64_t until;
		pid_t child;

		CHECK_EQ("CREATE-1", other_do(&o, task_create, &self, sizeof self), 0);
		other_do(&o, task_events, NULL, 0);
		other_do(&o, task_become, NULL, 0);
		child = (pid_t)other_do(&o, task_heir, NULL, 0);
		usleep(100000);
		CHECK("INH-1", other_do(&o, task_count, &id, sizeof id) > 10);
		CHECK_EQ("-", streams_mapped(child), 1);
		if (killed)
			other_kill(&o);
		else
			CHECK_EQ("SHUT-10", other_do(&o, task_shutdown, NULL, 0), 0);
		until = other_now() + INT64_C(5000000000) * test_slow();
		while (streams_mapped(child) > 0 && other_now() < until)
			usleep(20000);
		CHECK_EQ("INH-14", streams_mapped(child), 0);
		kill(child, SIGKILL);
		if (!killed)
			other_kill(&o);
	}
}

TEST_MAIN(TEST_ENTRY(locks), TEST_ENTRY(lease), TEST_ENTRY(lock_of_removal), TEST_ENTRY(many_files),
          TEST_ENTRY(scribbler), TEST_ENTRY(becomes_another), TEST_ENTRY(for_a_while), TEST_ENTRY(heirs),
          TEST_ENTRY(end_for_heirs))
