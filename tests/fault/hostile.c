/*
 * hostile.c - a traced user attacks the files that a controller with more rights uses
 *
 * Root controls and reads a process of nobody. Two threads of another process of nobody write garbage into all files,
 * truncate, replace and lock them, and move the directory away. Whatever happens, each call must return a documented
 * error number, and soon; nothing outside of the directory may change, nothing may leak, and afterwards everything
 * works.
 *
 * HOSTILE_ROUNDS (of 0.1 s each) makes longer runs. HOSTILE_SEED repeats a run as far as threads allow.
 *
 * SPDX-License-Identifier: MIT
 */
#define TEST_TIMEOUT 300

#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/un.h>

#include "base/ticks.h"
#include "model/record.h"
#include "other.h"
#include "shm/layout.h"

#define NOBODY    65534u
#define ROUNDS    25 /* of each kind */
#define ROUND_NS  (100000000LL * test_slow()) /* no new calls in a round after this time */
#define LIMIT_NS  (3000000000LL * test_slow()) /* for one call, in fair_time() */
#define DIRECTORY "/dev/shm/posixtrace-65534"
#define AWAY      "/dev/shm/away-65534" /* the directory is moved here */
#define CANARY    "/dev/shm/canary"     /* root's: must not change */

/* No leak check, because the threads of this process never end. Bus errors are left to the library. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0:handle_sigbus=0";
}

/* -- Chance ------------------------------------------------------------------ */

static __thread uint64_t chance_state;

static uint64_t chance(void)
{
	uint64_t x = chance_state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(chance() % n);
}

/* -- The hostile user ----------------------------------------------------------- */

enum { GARBAGE = 1, CUT = 2, HOLES = 4, REPLACE = 8, MOVE = 16, LOCK = 32, FLOOD = 64, QUIET = 128 };

/* Shared by the test and the attackers. */
static struct shared {
	atomic_uint kinds; /* what to do now; 0: nothing */
	atomic_uint idle;  /* number of attackers that do nothing */
	atomic_uint done;  /* acts */
	uint64_t seed;
} *shared;

#define ATTACKERS 2

static uint64_t nasty(void)
{
	static const uint64_t values[] = {
		0, 1, 2, 7, 8, 23, 24, 25, 39, 40, 41, 63, 64, 65, 127, 128, 4095, 4096, 65534, 65535, 65536,
		0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
		~UINT64_C(0), ~UINT64_C(0) - 7,
	};

	if (below(8) == 0)
		return chance();
	if (below(8) == 0) /* a little more or less, in both halves */
		return (chance() & 0xffffffff00000000) | (uint32_t)(values[below(30)] + below(5) - 2);
	return values[below(sizeof values / sizeof values[0])] + (below(4) ? 0 : below(5) - 2);
}

/* Writes a word, or changes the present one a little. */
static void spoil(unsigned char *at)
{
	if (below(2)) {
		volatile uint32_t *word = (volatile uint32_t *)at;

		*word = below(4) ? (uint32_t)nasty() : *word + below(17) - 8;
	} else {
		volatile uint64_t *word = (volatile uint64_t *)((uintptr_t)at & ~(uintptr_t)7);

		*word = below(4) ? nasty() : *word + below(17) - 8;
	}
}

/* Fills a chunk with made-up records, and claims that it is full. */
static void lie(unsigned char *map, size_t size, const struct stream_header *h, uint32_t number)
{
	size_t chunks = STREAM_HEADER_BYTES + (size_t)h->seat_count * sizeof(struct seat);
	uint32_t room = h->chunk_size & ~(RECORD_ALIGN - 1), length = (uint32_t)nasty();
	size_t at = chunks + (size_t)h->chunk_count * sizeof(struct chunk) + (size_t)number * room;
	struct chunk *c = (struct chunk *)(map + chunks) + number;
	uint64_t records = c->read + 1 + (uint32_t)nasty() % 100000;

	if (at + room > size)
		return;
	for (uint32_t i = 0; i + sizeof(struct record_owner) <= room;
	     i += below(8) ? record_size(length) : 8 * below(9)) {
		struct record *r = (struct record *)(map + at + i);

		if (below(4) == 0)
			length = (uint32_t)nasty();
		r->length = (uint16_t)length;
		r->type = (uint16_t)(below(8) ? below(EVENT_ID_END) : nasty());
		r->ticks = below(2) ? ticks_counter() : nasty();
		length = r->length;
	}
	if (below(4) == 0)
		for (uint32_t i = 0; i + sizeof(struct record_owner) <= room; i += sizeof(struct record_owner))
			((struct record_owner *)(map + at + i))->type = RECORD_OWNER;
	*(volatile uint64_t *)&c->progress = records << 32 | (below(4) ? room : (uint32_t)nasty());
}

static void garbage_stream(unsigned char *map, size_t size)
{
	/* The original layout, which the attacker knows. */
	struct stream_header h = *(struct stream_header *)map;
	size_t seats = STREAM_HEADER_BYTES, chunks, memory;

	if (h.seat_count > 4096 || h.chunk_count > 4096)
		h.seat_count = 64, h.chunk_count = 18, h.chunk_size = 4096;
	chunks = seats + h.seat_count * sizeof(struct seat);
	memory = chunks + h.chunk_count * sizeof(struct chunk);
	if (memory + LINE > size || !h.seat_count || !h.chunk_count)
		return;
	switch (below(8)) {
	case 0:
		spoil(map + below(sizeof h / 4) * 4);
		break;
	case 1: /* fields that readers use */
		spoil(map + offsetof(struct stream_header, state) +
		      below((sizeof h - offsetof(struct stream_header, state)) / 4) * 4);
		break;
	case 2:
		spoil(map + seats + below(h.seat_count) * sizeof(struct seat) + below(2) * 4);
		break;
	case 3: /* all threads claim to be in the middle of a record */
		for (uint32_t i = 0; i < h.seat_count; i++) {
			struct seat *s = (struct seat *)(map + seats) + i;

			s->busy = 1 + i % h.chunk_count;
			s->ref = below(2) ? (uint32_t)getpid() : (uint32_t)nasty();
			((struct chunk *)(map + chunks))[i % h.chunk_count].owner = chance() << 32 | (i + 1);
		}
		break;
	case 4:
	case 5:
		spoil(map + chunks + below(h.chunk_count) * sizeof(struct chunk) + below(18) * 4);
		break;
	case 6:
		if (h.chunk_size < size)
			lie(map, size, &h, below(h.chunk_count));
		break;
	default:
		spoil(map + memory + below((uint32_t)(size - memory) / 8 - 1) * 8);
	}
}

static void garbage(const char *name, unsigned char *map, size_t size)
{
	int count = 1 + (int)below(64);

	for (int i = 0; i < count; i++) {
		if (strncmp(name, "stream", 6) == 0)
			garbage_stream(map, size);
		else if (strncmp(name, "page", 4) == 0 && below(2))
			spoil(map + below(64) * 4); /* its beginning */
		else if (strncmp(name, "names", 5) == 0 && below(2))
			spoil(map + below(40) * 4);
		else
			spoil(map + below((uint32_t)size / 8) * 8);
	}
}

static sigjmp_buf *volatile cut_short[ATTACKERS]; /* for SIGBUS: an attacker may truncate the file that it writes to */
static __thread int attacker;

static void on_bus(int signal)
{
	siglongjmp(*cut_short[attacker], 1);
}

static void spoil_file(int dir, const char *name)
{
	static __thread sigjmp_buf buf;
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	void *map;

	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 4096 || st.st_uid != NOBODY) {
		close(fd);
		return;
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return;
	cut_short[attacker] = &buf;
	if (sigsetjmp(buf, 1) == 0)
		garbage(name, map, (size_t)st.st_size);
	munmap(map, (size_t)st.st_size);
}

static void cut_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
	static const long to[] = { 0, 1, 4095, 4096, 8192, 12288, 65536, 1000000 };
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		long size = below(3) ? to[below(8)] : (long)below((uint32_t)st.st_size + 10000);

		if (ftruncate(fd, size) == 0 && below(2))
			(void)!ftruncate(fd, st.st_size); /* zeros without allocated space */
	}
	close(fd);
}

static void punch_file(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size)
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, below((uint32_t)st.st_size),
		          4096 * (1 + below(20)));
	close(fd);
}

/* Takes all free space for a moment. */
static void fill_up(void)
{
	int fd = open("/dev/shm/filler", O_RDWR | O_CREAT, 0600);

	for (long size = 64 << 20; fd >= 0 && size >= 4096; size /= 2) {
		struct stat st;

		while (fstat(fd, &st) == 0 && fallocate(fd, 0, st.st_size, size) == 0)
			;
	}
	usleep(below(3000));
	unlink("/dev/shm/filler");
	close(fd);
}

static void replace_file(int dir, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char link[32];
	int fd;

	snprintf(link, sizeof link, "root-%u", below(8));
	switch (below(10)) {
	case 0:
		unlinkat(dir, name, 0);
		break;
	case 1:
		renameat(dir, name, dir, "other");
		break;
	case 2:
		renameat(dir, "other", dir, name);
		break;
	case 3:
		unlinkat(dir, name, 0);
		(void)!symlinkat(below(2) ? CANARY "/file" : CANARY, dir, name);
		break;
	case 4:
		unlinkat(dir, name, 0);
		mkfifoat(dir, name, 0600);
		break;
	case 5:
		unlinkat(dir, name, 0);
		mkdirat(dir, name, 0700);
		break;
	case 6: /* root's file, under another name: where links to files of other users are allowed */
		renameat(dir, link, dir, name);
		break;
	case 7:
		unlinkat(dir, name, 0);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		snprintf(address.sun_path, sizeof address.sun_path, DIRECTORY "/%.40s", name);
		(void)!bind(fd, (struct sockaddr *)&address, sizeof address);
		close(fd);
		break;
	case 8:
		unlinkat(dir, name, 0);
		fd = openat(dir, name, O_CREAT | O_RDWR | O_EXCL | O_NONBLOCK, below(2) ? 0600 : 0666);
		(void)!ftruncate(fd, below(4) * 4096);
		close(fd);
		break;
	default:
		unlinkat(dir, name, AT_REMOVEDIR);
	}
}

static void move_directory(void)
{
	switch (below(6)) {
	case 0:
		rename(DIRECTORY, AWAY);
		break;
	case 1:
		rename(AWAY, DIRECTORY);
		break;
	case 2:
		chmod(DIRECTORY, below(2) ? 0 : 0777);
		break;
	case 3:
		if (rename(DIRECTORY, AWAY) == 0)
			(void)!symlink(CANARY, DIRECTORY);
		break;
	case 4:
		unlink(DIRECTORY);
		mkdir(DIRECTORY, 0700);
		break;
	default:
		chmod(DIRECTORY, 0700);
	}
	usleep(below(500));
}

/* Takes locks like the library's, or a lease, which would block others in open(). */
static void lock_file(int dir, const char *name)
{
	struct flock64 lock = { .l_type = below(2) ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET };
	int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return;
	if (below(2))
		lock.l_start = INT64_C(0x706f736978740000) + below(2);
	lock.l_len = below(2);
	if (below(2))
		fcntl(fd, F_OFD_SETLK, &lock);
	else
		fcntl(fd, F_SETLEASE, below(2) ? F_WRLCK : F_RDLCK);
	usleep(below(2000));
	close(fd);
}

/* Makes many files with names like the library's, and fills some with garbage. */
static void flood(int dir)
{
	static const char *const kinds[] = { "page", "names", "stream", "new" };

	for (int i = 0; i < 50; i++) {
		char name[64];
		int fd;

		snprintf(name, sizeof name, "%s-%u-0-%u", kinds[below(4)], below(40), below(50));
		fd = openat(dir, name, O_CREAT | O_RDWR | O_NONBLOCK, 0600);
		if (fd < 0)
			continue;
		(void)!ftruncate(fd, below(3) * 8192);
		close(fd);
		if (below(2))
			spoil_file(dir, name);
	}
}

static void act(int dir, const char *name, unsigned kinds)
{
	unsigned kind = 1u << below(7);

	if (!(kinds & kind))
		return;
	atomic_fetch_add(&shared->done, 1);
	switch (kind) {
	case GARBAGE:
		spoil_file(dir, name);
		break;
	case CUT:
		if (below(4) == 0)
			cut_file(dir, name);
		break;
	case HOLES:
		if (below(50))
			punch_file(dir, name);
		else
			fill_up();
		break;
	case REPLACE:
		if (below(4) == 0)
			replace_file(dir, name);
		break;
	case MOVE:
		if (below(8) == 0)
			move_directory();
		break;
	case LOCK:
		lock_file(dir, name);
		break;
	default:
		if (below(8) == 0)
			flood(dir);
	}
}

static void *attack(void *arg)
{
	bool idle = false;

	attacker = (int)(intptr_t)arg;
	chance_state = shared->seed + (uint64_t)attacker * 1000003;
	for (;;) {
		unsigned kinds = atomic_load(&shared->kinds);
		struct dirent *e;
		DIR *d;

		if (!kinds != idle) {
			idle = !kinds;
			atomic_fetch_add(&shared->idle, idle ? 1u : ~0u);
		}
		d = kinds ? opendir(DIRECTORY) : NULL;
		if (!d) {
			if (kinds & MOVE)
				move_directory();
			usleep(200);
			continue;
		}
		while ((e = readdir(d)) && atomic_load(&shared->kinds) == kinds)
			if (e->d_name[0] != '.')
				act(dirfd(d), e->d_name, kinds);
		closedir(d);
	}
	return NULL;
}

static long task_attack(const void *arg)
{
	pthread_t thread;

	signal(SIGBUS, on_bus);
	signal(SIGSEGV, on_bus);
	signal(SIGIO, SIG_IGN); /* a process opens a file with a lease */
	for (intptr_t i = 0; i < ATTACKERS; i++)
		MUST(pthread_create(&thread, NULL, attack, (void *)i) == 0);
	return 0;
}

/* Stops the attackers, and waits until they are idle. */
static void peace(void)
{
	atomic_store(&shared->kinds, 0);
	for (int i = 0; i < 5000 * test_slow() && atomic_load(&shared->idle) != ATTACKERS; i++)
		usleep(1000);
	MUST(atomic_load(&shared->idle) == ATTACKERS);
}

/* -- The traced process of the hostile user ---------------------------------------- */

static void *trace_on(void *arg)
{
	trace_event_id_t id[] = { fault_open("hostile.a"), fault_open("hostile.b"), POSIX_TRACE_UNNAMED_USEREVENT };
	static const char data[2000];

	for (unsigned i = 0;; i++) {
		posix_trace_event(id[i % 3], data, i * 37 % sizeof data);
		if (i % 512 == 0)
			usleep(100);
	}
	return NULL;
}

static long task_trace(const void *arg)
{
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&thread, NULL, trace_on, NULL) == 0);
	return 0;
}

static void become_nobody(const void *arg)
{
	MUST(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
	MUST(prctl(PR_SET_DUMPABLE, 1) == 0);
}

/* Returns a traced process, a new one if the former has ended: it may crash when its files are changed. */
static struct other traced(struct other *before)
{
	struct other o;

	if (before->pid && waitpid(before->keeper, NULL, WNOHANG) == 0)
		return *before;
	if (before->pid)
		close(before->socket);
	o = other_start(become_nobody, NULL);
	other_do(&o, task_trace, NULL, 0);
	return o;
}

/* -- The controller -------------------------------------------------------------- */

static struct call {
	_Atomic int64_t begin; /* 0: no call is in progress */
	const char *name;
} calls[2];

static int64_t longest;
static const char *longest_name;
static unsigned kinds_now;
static long calls_made;
static uint64_t seed;
static int64_t round_end;

static long processors; /* called once, because sysconf() opens a file */
static int load = -1; /* /proc/loadavg; always open, because descriptors are counted */

/*
 * Returns how long a call would have taken with the processors to itself. On a loaded machine a call takes long because
 * its thread, a kernel thread or another process in its way waits for a processor (reading the list of all locks takes
 * several rounds of all processors): it does not hang.
 */
static int64_t fair_time(int64_t ns)
{
	long running;
	char text[128];
	ssize_t n = pread(load, text, sizeof text - 1, 0);

	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%*f %*f %*f %ld", &running) == 1 && running > processors)
		ns = ns * processors / running;
	return ns;
}

static void *watch(void *arg)
{
	int64_t last = other_now(), of[2] = { 0 }, taken[2] = { 0 };

	for (;;) {
		int64_t now = other_now(), time = fair_time(now - last);

		last = now;
		for (int i = 0; i < 2; i++) {
			int64_t begin = atomic_load(&calls[i].begin);

			taken[i] = begin && begin == of[i] ? taken[i] + time : 0;
			of[i] = begin;
			if (taken[i] > LIMIT_NS) {
				fprintf(stderr, "%s hangs; kinds %u, seed %llu\n", calls[i].name, kinds_now,
				        (unsigned long long)seed);
				abort();
			}
		}
		usleep(20000);
	}
	return NULL;
}

static void begin_call(int i, const char *name)
{
	calls[i].name = name;
	atomic_store(&calls[i].begin, other_now());
}

static void end_call(int i, const char *name, int error, const int *allowed)
{
	int64_t time = other_now() - atomic_exchange(&calls[i].begin, 0);

	if (i == 0)
		calls_made++;
	if (time > longest) {
		longest = time;
		longest_name = name;
	}
	for (; *allowed; allowed++)
		if (error == *allowed)
			return;
	if (error)
		TEST_FAIL("-", "%s: %s; kinds %u", name, strerror(error), kinds_now);
}

static const int only_einval[] = { EINVAL, 0 }, of_reading[] = { EINVAL, ETIMEDOUT, 0 };
/* The errors of create in <trace.h>. */
static const int of_create[] = { EAGAIN, EINVAL, ENOMEM, EPERM, ESRCH, ENOENT, EACCES, 0 };

#define CALL(name, call)                                    \
	({                                                  \
		begin_call(0, name);                        \
		int error_ = (call);                        \
		end_call(0, name, error_, only_einval);     \
		error_;                                     \
	})

static void look_at(const struct posix_trace_event_info *info, size_t length, size_t size)
{
	CHECK_OP("-", length, <=, size);
	CHECK_OP("-", info->posix_event_id, <, EVENT_ID_END);
	CHECK_OP("-", info->posix_event_id, >, 0);
	CHECK_OP("-", info->posix_timestamp.tv_nsec, >=, 0);
	CHECK_OP("-", info->posix_timestamp.tv_nsec, <, 1000000000);
	CHECK("-", info->posix_truncation_status >= POSIX_TRACE_NOT_TRUNCATED &&
	      info->posix_truncation_status <= POSIX_TRACE_TRUNCATED_READ);
}

static void read_one(trace_id_t trid)
{
	struct posix_trace_event_info info;
	struct timespec until;
	size_t size = below(4) ? below(3000) : 0, length = 0;
	int unavailable = 1, error;
	unsigned char *data = malloc(size + 8); /* sanitizers check the end; the mark replaces them in other builds */

	memset(data, 0xaa, size + 8);
	if (below(2)) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 2000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		begin_call(0, "timedgetnext");
		error = posix_trace_timedgetnext_event(trid, &info, data, size, &length, &unavailable, &until);
		end_call(0, "timedgetnext", error, of_reading);
	} else {
		begin_call(0, "trygetnext");
		error = posix_trace_trygetnext_event(trid, &info, data, size, &length, &unavailable);
		end_call(0, "trygetnext", error, only_einval);
	}
	if (!error && !unavailable)
		look_at(&info, length, size);
	for (int i = 0; i < 8; i++)
		CHECK_EQ("-", data[size + (size_t)i], 0xaa);
	free(data);
}

/* Reads events until the stream is shut down. */
static void *read_on(void *arg)
{
	trace_id_t trid = *(trace_id_t *)arg;
	struct posix_trace_event_info info;
	unsigned char data[64];
	size_t length;
	int unavailable, error;

	for (;;) {
		error = posix_trace_getnext_event(trid, &info, data, sizeof data, &length, &unavailable);
		if (error)
			break;
		if (!unavailable)
			look_at(&info, length, sizeof data);
	}
	CHECK_EQ("-", error, EINVAL);
	return NULL;
}

static void one_call(trace_id_t trid)
{
	struct posix_trace_status_info status;
	char name[TRACE_EVENT_NAME_MAX + 1];
	trace_event_set_t set;
	trace_event_id_t id;
	trace_attr_t attr;
	int unavailable;

	switch (below(24)) {
	case 0:
	case 1:
		CALL("start", posix_trace_start(trid));
		break;
	case 2:
		CALL("stop", posix_trace_stop(trid));
		break;
	case 3:
		MUST(posix_trace_eventset_empty(&set) == 0);
		if (below(2))
			posix_trace_eventset_add(64 + below(10), &set);
		CALL("set_filter", posix_trace_set_filter(trid, &set, 1 + (int)below(3)));
		break;
	case 4:
		CALL("get_filter", posix_trace_get_filter(trid, &set));
		break;
	case 5:
		CALL("clear", posix_trace_clear(trid));
		break;
	case 6:
		CALL("get_status", posix_trace_get_status(trid, &status));
		break;
	case 7:
		CALL("get_attr", posix_trace_get_attr(trid, &attr));
		break;
	case 8:
	case 9:
		snprintf(name, sizeof name, "hostile.%u", below(2000));
		CALL("trid_eventid_open", posix_trace_trid_eventid_open(trid, name, &id));
		break;
	case 10:
		memset(name, 1, sizeof name);
		if (CALL("eventid_get_name", posix_trace_eventid_get_name(trid, 60 + below(2000), name)) == 0)
			CHECK_OP("-", strnlen(name, sizeof name), <, sizeof name);
		break;
	case 11:
		CALL("rewind", posix_trace_eventtypelist_rewind(trid));
		break;
	case 12:
		for (int i = 0; i < 100; i++)
			if (CALL("eventtypelist", posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable)) ||
			    unavailable)
				break;
		break;
	default:
		for (int i = 0; i < 20 && other_now() < round_end; i++)
			read_one(trid);
	}
}

static void round_of(unsigned kinds, struct other *o, int n)
{
	trace_id_t trid = 0;
	trace_attr_t attr;
	pthread_t reader;
	bool reading = below(3) == 0;
	int error;

	kinds_now = kinds;
	round_end = other_now() + ROUND_NS;
	*o = traced(o);
	/* Half of the rounds attack from the beginning, the others after a sound stream was created. */
	if (n % 2)
		atomic_store(&shared->kinds, kinds);
	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, 1u << (12 + below(8))) == 0);
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, below(3) ? POSIX_TRACE_LOOP : POSIX_TRACE_UNTIL_FULL) == 0);
	MUST(posix_trace_attr_setinherited(&attr, below(4) ? POSIX_TRACE_CLOSE_FOR_CHILD : POSIX_TRACE_INHERITED) == 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, below(1500)) == 0);
	for (int try = 0; try < 4; try++) {
		begin_call(0, "create");
		error = posix_trace_create(o->pid, &attr, &trid);
		end_call(0, "create", error, of_create);
		if (!error)
			break;
		*o = traced(o);
		usleep(500);
	}
	if (!error) {
		if (reading)
			MUST(pthread_create(&reader, NULL, read_on, &trid) == 0);
		CALL("start", posix_trace_start(trid));
		if (n % 2 == 0) {
			usleep(1000);
			atomic_store(&shared->kinds, kinds);
		}
		for (int i = 0; i < 40 && other_now() < round_end; i++)
			one_call(trid);
		CHECK_EQ("-", CALL("shutdown", posix_trace_shutdown(trid)), 0);
		CHECK_EQ("-", posix_trace_start(trid), EINVAL);
		if (reading) {
			begin_call(0, "a reader that sleeps");
			MUST(pthread_join(reader, NULL) == 0);
			end_call(0, "a reader that sleeps", 0, only_einval);
		}
	}
}

/* Removes everything, as nobody, so that the next round begins with a clean directory. */
static long task_clean(const void *arg)
{
	static const char *const where[] = { DIRECTORY, AWAY };

	for (int i = 0; i < 2; i++) {
		struct dirent *e;
		DIR *d;

		unlink(where[i]); /* if it is a link */
		chmod(where[i], 0700);
		d = opendir(where[i]);
		while (d && (e = readdir(d))) {
			unlinkat(dirfd(d), e->d_name, 0);
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
		}
		if (d)
			closedir(d);
		rmdir(where[i]);
	}
	unlink("/dev/shm/filler");
	return 0;
}

/* -- What must not change ------------------------------------------------------------- */

static unsigned char canary[65536];

static void canary_make(void)
{
	int fd;

	for (size_t i = 0; i < sizeof canary; i++)
		canary[i] = (unsigned char)(i * 7 >> 3);
	MUST(mkdir(CANARY, 0755) == 0);
	fd = open(CANARY "/file", O_CREAT | O_RDWR | O_NONBLOCK, 0600);
	MUST(fd >= 0 && write(fd, canary, sizeof canary) == sizeof canary);
	close(fd);
}

/* Links root's file into nobody's directory, as user nobody could where links to others' files are allowed. */
static void canary_link(void)
{
	char name[64];

	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof name, DIRECTORY "/root-%d", i);
		(void)!link(CANARY "/file", name);
	}
}

static void canary_check(void)
{
	static unsigned char now[sizeof canary + 1];
	int fd = open(CANARY "/file", O_RDONLY);
	struct stat st;

	MUST(fd >= 0 && fstat(fd, &st) == 0);
	CHECK_EQ("SEC-5", st.st_uid, 0);
	CHECK_EQ("SEC-5", st.st_mode & 0777, 0600);
	CHECK_EQ("SEC-5", read(fd, now, sizeof now), sizeof canary);
	if (memcmp(now, canary, sizeof canary) != 0)
		TEST_FAIL("SEC-5", "a file of root's was written to; kinds %u", kinds_now);
	close(fd);
	CHECK_EQ("SEC-5", shm_count(CANARY, ""), 1);
	MUST(stat(CANARY, &st) == 0);
	CHECK("SEC-5", st.st_uid == 0 && (st.st_mode & 07777) == 0755);
}

/* -- Tests ------------------------------------------------------------------------------ */

static struct other attackers, victim;

static void set_up(bool root)
{
	const char *s = getenv("HOSTILE_SEED");
	pthread_t thread;

	if (geteuid() != 0)
		SKIP("only root has more rights than others");
	shm_private("size=48m");
	canary_make();
	seed = s ? strtoull(s, NULL, 0) : (uint64_t)other_now() % 1000000007;
	printf("  HOSTILE_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	chance_state = seed;
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(shared != MAP_FAILED);
	shared->seed = seed + 1;
	processors = sysconf(_SC_NPROCESSORS_ONLN);
	load = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	attackers = other_start(become_nobody, NULL);
	other_do(&attackers, task_attack, NULL, 0);
	peace();
	if (!root)
		become_nobody(NULL);
	MUST(pthread_create(&thread, NULL, watch, NULL) == 0);
}

static int rounds(void)
{
	const char *s = getenv("HOSTILE_ROUNDS");

	return s ? atoi(s) : ROUNDS / (test_slow() > 1 ? 2 : 1);
}

static void attacked(unsigned kinds, bool root)
{
	int descriptors, maps;

	set_up(root);
	victim = traced(&victim);
	round_of(QUIET, &victim, 1);
	descriptors = shm_descriptors();
	maps = shm_mappings(getpid(), "/posixtrace-");
	/* More rounds where the attackers get the processor seldom. */
	for (int i = 0; !test_failures &&
	     (i < rounds() || (i < 4 * rounds() && atomic_load(&shared->done) <= (unsigned)rounds())); i++) {
		if (root && (kinds & REPLACE))
			canary_link();
		round_of(kinds, &victim, i);
		peace();
		other_do(&attackers, task_clean, NULL, 0);
		if (root)
			canary_check();
		CHECK_EQ("-", shm_descriptors(), descriptors);
		CHECK_EQ("-", shm_mappings(getpid(), "/posixtrace-"), maps);
	}
	/* Everything works again. */
	kill(victim.pid, SIGKILL);
	waitpid(victim.keeper, NULL, 0);
	victim.pid = 0;
	victim = traced(&victim);
	for (int i = 0; i < 2; i++) {
		int64_t until = other_now() + 10 * LIMIT_NS; /* the threads may have to wait for a processor */
		trace_id_t trid = 0;
		trace_event_id_t id;
		int count = 0;

		MUST(posix_trace_create(victim.pid, NULL, &trid) == 0);
		CHECK_EQ("-", posix_trace_trid_eventid_open(trid, "hostile.a", &id), 0);
		CHECK_EQ("-", posix_trace_start(trid), 0);
		while (count <= 10 && other_now() < until) {
			usleep(50000);
			count += fault_count(trid, id);
		}
		CHECK_EQ("-", posix_trace_stop(trid), 0);
		CHECK_OP("-", count, >, 10);
		CHECK_EQ("-", posix_trace_shutdown(trid), 0);
	}
	fault_works(fault_open("hostile.own"));
	printf("  %ld calls, %u acts, longest %s: %.3f s\n", calls_made, atomic_load(&shared->done), longest_name,
	       (double)longest / 1e9);
	fflush(stdout);
	CHECK_OP("-", atomic_load(&shared->done), >, rounds());
}

TEST(garbage)
{
	attacked(GARBAGE, true);
}

TEST(cut)
{
	attacked(CUT, true);
}

TEST(holes)
{
	attacked(HOLES, true);
}

TEST(replaced)
{
	attacked(REPLACE, true);
}

TEST(moved)
{
	attacked(MOVE, true);
}

TEST(locked)
{
	attacked(LOCK, true);
}

TEST(flooded)
{
	attacked(FLOOD | GARBAGE, true);
}

TEST(everything)
{
	attacked(GARBAGE | CUT | HOLES | REPLACE | MOVE | LOCK | FLOOD, true);
}

static long task_silent(const void *arg)
{
	return (long)fault_open("hostile.silent");
}

/*
 * Links root's file to names of files that are in use, or that are found unused and removed. Any user can do this where
 * links to files of other users are allowed.
 */

TEST(linked)
{
	static const char *const dead[] = { "stream-1-1-1", "page-1-1-1", "names-1-1-1", "new-1-1-1" };
	char names[8][300];
	struct dirent *e;
	trace_id_t trid;
	int n = 0, error;
	DIR *d;

	set_up(true);
	victim = other_start(become_nobody, NULL);
	other_do(&victim, task_silent, NULL, 0);
	d = opendir(DIRECTORY);
	MUST(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && n < 4)
			snprintf(names[n++], sizeof names[0], DIRECTORY "/%s", e->d_name);
	closedir(d);
	MUST(n > 0); /* the victim's page and names */
	for (int i = 0; i < 4; i++)
		snprintf(names[n++], sizeof names[0], DIRECTORY "/%s", dead[i]);
	for (int i = 0; i < n; i++) {
		char away[320];

		snprintf(away, sizeof away, "%.299s-away", names[i]);
		rename(names[i], away);
		MUST(link(CANARY "/file", names[i]) == 0);
		begin_call(0, "create");
		error = posix_trace_create(victim.pid, NULL, &trid);
		end_call(0, "create", error, of_create);
		if (!error)
			CHECK_EQ("-", posix_trace_shutdown(trid), 0);
		canary_check();
		if (test_failures) {
			fprintf(stderr, "it was %s\n", names[i]);
			return;
		}
		unlink(names[i]);
		rename(away, names[i]);
	}
	CHECK_EQ("-", posix_trace_create(victim.pid, NULL, &trid), 0);
	CHECK_EQ("-", posix_trace_shutdown(trid), 0);
}

/* -- SIGBUS belongs to the application, too ------------------------------------------- */

static sigjmp_buf bus_jump;
static volatile int bus_seen;

static void application_bus(int signal)
{
	bus_seen++;
	siglongjmp(bus_jump, 1);
}

/* Causes a bus error of the application. */
static void application_error(void)
{
	int fd = memfd_create("cut", MFD_CLOEXEC);
	volatile char *map;

	MUST(fd >= 0 && ftruncate(fd, 4096) == 0);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(map != MAP_FAILED && ftruncate(fd, 0) == 0);
	if (sigsetjmp(bus_jump, 1) == 0)
		*map = 1;
	munmap((void *)map, 4096);
	close(fd);
}

static long task_cut(const void *arg)
{
	DIR *d = opendir(DIRECTORY);
	struct dirent *e;

	MUST(d);
	while ((e = readdir(d))) {
		int fd = openat(dirfd(d), e->d_name, O_RDWR | O_NONBLOCK);

		if (fd >= 0 && strncmp(e->d_name, "stream", 6) == 0)
			MUST(ftruncate(fd, 0) == 0);
		close(fd);
	}
	closedir(d);
	return 0;
}

/* `how`: the application installs its handler 0: before the library, 1: after it, 2: never. */
static void bus_errors(int how)
{
	struct posix_trace_status_info status;
	trace_id_t trid = 0;
	pid_t pid;
	int wait_status;

	victim = traced(&victim);
	if (how == 0)
		signal(SIGBUS, application_bus);
	MUST(posix_trace_create(victim.pid, NULL, &trid) == 0);
	if (how == 1)
		signal(SIGBUS, application_bus);
	CHECK_EQ("-", posix_trace_start(trid), 0);
	other_do(&attackers, task_cut, NULL, 0);
	/* The library handles its own bus errors ... */
	CALL("get_status", posix_trace_get_status(trid, &status));
	CHECK_EQ("-", CALL("stop", posix_trace_stop(trid)), EINVAL);
	CHECK_EQ("-", bus_seen, 0);
	/* ... and the application handles the others. */
	if (how < 2) {
		application_error();
		CHECK_EQ("-", bus_seen, 1);
		bus_seen = 0;
	}
	CHECK_EQ("-", CALL("shutdown", posix_trace_shutdown(trid)), 0);
	pid = fork();
	if (pid == 0) {
		/* A bus error with only the library's handler installed must have the default effect. */
		if (how < 2)
			signal(SIGBUS, SIG_DFL);
		application_error();
		_exit(0);
	}
	MUST(waitpid(pid, &wait_status, 0) == pid);
	CHECK("-", WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGBUS);
	kill(victim.pid, SIGKILL);
}

TEST(bus_before)
{
	set_up(true);
	bus_errors(0);
}

TEST(bus_after)
{
	set_up(true);
	bus_errors(1);
}

TEST(bus_alone)
{
	set_up(true);
	bus_errors(2);
}

/* Among equal users: files keep their length, their content is arbitrary. */
TEST(equals)
{
	attacked(GARBAGE, false);
}

TEST_MAIN(TEST_ENTRY(garbage), TEST_ENTRY(cut), TEST_ENTRY(holes), TEST_ENTRY(replaced), TEST_ENTRY(moved),
          TEST_ENTRY(locked), TEST_ENTRY(flooded), TEST_ENTRY(everything), TEST_ENTRY(linked),
          TEST_ENTRY(bus_before), TEST_ENTRY(bus_after), TEST_ENTRY(bus_alone), TEST_ENTRY(equals))
