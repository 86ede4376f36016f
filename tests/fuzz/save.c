/*
 * save.c - fuzzes the recovery of a log from what a killed creator has left of its stream, with arbitrary bytes
 *
 * The memory of a program that was killed may be corrupt, perhaps because of stray writes. The first two bytes of the
 * input select one of several streams, killed in the middle of a flush, and how it is found. The rest are changes of
 * eight bytes each, to the stream's file or to the log. A process that recovers the log must survive them, and can then
 * read what the log has.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fuzz.h"
#include "must.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

#include "base/testpoint.h"
#include "control/recover.h"
#include "control/save.h"
#include "host/ident.h"
#include "heap.h"
#include "log/format.h"
#include "model/record.h"
#include "shm/reap.h"
#include "shm/stream.h"

#define EVENTS 120 /* of each creator */

/* -- The creators that are killed ------------------------------------------------------------------- */

static const struct death {
	int policy;        /* of the log */
	const char *point; /* the test point where the creator is killed, see base/testpoint.h */
	unsigned passage;
} deaths[] = {
	{ POSIX_TRACE_LOOP, "draft_marked", 2 },        { POSIX_TRACE_LOOP, "read_run", 1 },
	{ POSIX_TRACE_LOOP, "output_written", 1 },      { POSIX_TRACE_UNTIL_FULL, "draft_marked", 2 },
	{ POSIX_TRACE_UNTIL_FULL, "output_moved", 1 },  { POSIX_TRACE_APPEND, "draft_commit", 2 },
	{ POSIX_TRACE_APPEND, "output_written", 1 },    { POSIX_TRACE_APPEND, "end_flushed", 1 },
};

#define DEATHS (sizeof deaths / sizeof deaths[0])

/* What each creator has left. */
static struct left {
	struct page_entry entry;
	unsigned char *stream, *log;
	size_t stream_size, log_size;
} left[DEATHS];

static const char *kill_point;
static unsigned kill_passage, points;

static void change_meanwhile(void);

/* Garbage keeps to no invariants. */
void invariant_broken(const char *what);
void invariant_broken(const char *what)
{
	(void)what;
}

/* No call should pass more points than this, whatever garbage it meets. */
#define POINTS_MAX 1000000

void test_point(const char *name)
{
	if (kill_point) {
		if (strcmp(name, kill_point) == 0 && --kill_passage == 0)
			raise(SIGKILL);
		return;
	}
	MUST(++points < POINTS_MAX);
	change_meanwhile();
}

static void live_and_die(const struct death *death, int fd)
{
	trace_event_id_t id[4];
	trace_attr_t attr;
	trace_id_t trid;
	char name[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	MUST(posix_trace_attr_init(&attr) == 0 && posix_trace_attr_setstreamsize(&attr, 8192) == 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, 100) == 0 && posix_trace_attr_setlogsize(&attr, 4096) == 0);
	/* Only explicit flushes. */
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, POSIX_TRACE_UNTIL_FULL) == 0);
	MUST(posix_trace_attr_setlogfullpolicy(&attr, death->policy) == 0);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "fuzz.%d", i);
		MUST(posix_trace_eventid_open(name, &id[i]) == 0);
	}
	MUST(posix_trace_create_withlog(0, &attr, fd, &trid) == 0 && posix_trace_start(trid) == 0);
	for (unsigned i = 0; i < EVENTS; i++) {
		posix_trace_event(id[i % 4], name, i % 32);
		if (i % 40 == 39) {
			kill_passage = i == EVENTS - 1 ? death->passage : 0;
			kill_point = death->point;
			MUST(posix_trace_flush(trid) == 0);
		}
	}
	posix_trace_shutdown(trid);
	_exit(1); /* not reached */
}

static unsigned char *whole_file(int fd, size_t *size)
{
	struct stat st;
	unsigned char *bytes;

	MUST(fd >= 0 && fstat(fd, &st) == 0);
	*size = (size_t)st.st_size;
	bytes = malloc(*size + 1);
	MUST(bytes && pread(fd, bytes, *size, 0) == (ssize_t)*size);
	return bytes;
}

static int directory;
static struct shm_dir shm_dir;
static uint32_t pidns;
static char log_path[64];

static void name_of(const struct left *l, char name[FILE_NAME_SIZE])
{
	stream_name(name, l->entry.creator, l->entry.serial);
}

static bool find(struct left *l, pid_t pid)
{
	DIR *d = fdopendir(dup(directory));
	struct dirent *e;
	char kind[16];
	bool found = false;

	MUST(d);
	rewinddir(d);
	while (!found && (e = readdir(d)))
		found = file_name_parse(e->d_name, kind, &l->entry.creator, &l->entry.serial) &&
		        strcmp(kind, "stream") == 0 && (pid_t)l->entry.creator.pid == pid;
	closedir(d);
	return found;
}

static void make(struct left *l, const struct death *death)
{
	int fd = open(log_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status;
	char name[FILE_NAME_SIZE];
	pid_t pid = fork();

	MUST(fd >= 0 && pid >= 0);
	if (pid == 0)
		live_and_die(death, fd);
	MUST(waitpid(pid, &status, 0) == pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fprintf(stderr, "nobody was killed at %s\n", death->point);
	MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	MUST(find(l, pid));
	name_of(l, name);
	l->log = whole_file(fd, &l->log_size);
	close(fd);
	fd = openat(directory, name, O_RDWR | O_CLOEXEC);
	l->stream = whole_file(fd, &l->stream_size);
	close(fd);
	unlinkat(directory, name, 0);
	unlink(log_path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct ident self;
	trace_id_t trid;

	(void)argc;
	(void)argv;
	heap_own_shm();
	if (posix_trace_create(0, NULL, &trid) != 0 || posix_trace_shutdown(trid) != 0) {
		fprintf(stderr, "nothing can be traced here\n");
		exit(77);
	}
	shm_dir = shm_dir_own();
	directory = file_directory(&shm_dir, false);
	MUST(directory >= 0 && ident_self(&self) == 0);
	pidns = self.pidns;
	/* The same length in each process, because the path is part of the changed memory. Not on a disk, because a log
	 * is synchronized in the end. */
	snprintf(log_path, sizeof log_path, "/dev/shm/fuzz-save-%010d.log", (int)getpid());
	for (unsigned i = 0; i < DEATHS; i++)
		make(&left[i], &deaths[i]);
	heap_begin();
	return 0;
}

/* -- Changes -------------------------------------------------------------------------------------------- */

struct change {
	uint8_t area, kind;
	uint16_t index;
	uint32_t value;
};

_Static_assert(sizeof(struct change) == 8, "so is the input");

static uint64_t nonsense(const struct change *c, uint64_t was)
{
	static const uint64_t harmful[] = {
		0, 1, 2, 7, 8, 15, 16, 17, 63, 64, 65, 255, 4095, 4096, 65535, 65536, INT32_MAX, UINT32_C(1) << 31,
		UINT32_MAX - 63, UINT32_MAX - 7, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX / 2, INT64_MAX,
		UINT64_C(1) << 63, UINT64_MAX - 63, UINT64_MAX - 7, UINT64_MAX,
	};
	int32_t delta = (int32_t)(c->value << 8) >> 8;

	switch (c->kind / 2 % 6) {
	case 0:
		return c->value;
	case 1:
		return was + (uint64_t)(int64_t)delta;
	case 2:
		return was ^ UINT64_C(1) << c->value % 64;
	case 3:
		return harmful[c->value % (sizeof harmful / sizeof harmful[0])];
	case 4:
		return (uint64_t)(c->value >> 16) << 32 | (c->value & 0xffff);
	default:
		return was + (uint64_t)(int64_t)delta * (UINT64_C(1) << 32);
	}
}

static void change_word(unsigned char *bytes, size_t size, size_t at, const struct change *c)
{
	size_t width = c->kind % 2 ? 8 : 4;
	uint64_t value = 0;

	if (size < width)
		return;
	if (at > size - width)
		at = (size - width) & ~(size_t)3;
	memcpy(&value, bytes + at, width);
	value = nonsense(c, value);
	memcpy(bytes + at, &value, width);
}

#define AREAS    10
#define AREA_LOG 9

/* Changes the stream, or the log unless that is null. */
static void change(const struct left *l, unsigned char *stream, unsigned char *log, size_t *log_size,
                   const struct change *c)
{
	const struct stream_header *h = (const struct stream_header *)l->stream;
	size_t chunks = STREAM_HEADER_BYTES + h->seat_count * sizeof(struct seat),
	       memory = chunks + h->chunk_count * sizeof(struct chunk);
	size_t state = memory + (size_t)h->chunk_count * h->chunk_size, body = state + LOG_BODY_OFFSET;

	switch (c->area % AREAS) {
	case 0: /* important fields, more often than the rest */
	case 1:
	case 2:
		change_word(stream + state, sizeof(struct log_state),
		            c->index % offsetof(struct log_state, names) & ~3u, c);
		break;
	case 3:
		change_word(stream, sizeof *h, c->index % sizeof *h & ~3u, c);
		break;
	case 4:
	case 5:
		change_word(stream + chunks, h->chunk_count * sizeof(struct chunk),
		            c->index * 4u % (h->chunk_count * sizeof(struct chunk)), c);
		break;
	case 6:
		change_word(stream + memory, (size_t)h->chunk_count * h->chunk_size,
		            c->index * 8u % (h->chunk_count * h->chunk_size), c);
		break;
	case 7:
		change_word(stream + body - FRAME_BYTES, l->stream_size - body + FRAME_BYTES, c->index % 4096 & ~3u, c);
		break;
	case 8:
		change_word(stream + state + offsetof(struct log_state, names), LOG_NAMES_BYTES + 200,
		            c->index % (LOG_NAMES_BYTES + 200), c);
		break;
	default:
		/* Truncate the log. */
		if (c->kind == 255)
			*log_size = c->value % (l->log_size + 1);
		else
			change_word(log, l->log_size, c->index % l->log_size, c);
		break;
	}
}

/* Changes to a stream's file while it is recovered, one at each test point. */
static struct {
	const struct left *of;
	unsigned char *map;
	const unsigned char *next;
	unsigned left;
} hostile;

static void change_meanwhile(void)
{
	struct change c;

	if (hostile.left == 0)
		return;
	memcpy(&c, hostile.next, sizeof c);
	hostile.next += sizeof c;
	hostile.left--;
	if (c.area % AREAS < AREA_LOG)
		change(hostile.of, hostile.map, NULL, NULL, &c);
}

/* -- The result ---------------------------------------------------------------------------------------------- */

static trace_id_t trid;

/* Reads one event. Returns false at the end of the log. */
static bool read_one(unsigned char *data, uint64_t *sum)
{
	struct posix_trace_event_info e;
	int unavailable = 4711;
	size_t length;

	MUST(posix_trace_getnext_event(trid, &e, data, RECORD_DATA_MAX, &length, &unavailable) == 0);
	if (unavailable)
		return false;
	MUST(e.posix_event_id >= 1 && e.posix_event_id < EVENT_ID_END && length <= RECORD_DATA_MAX);
	*sum = *sum * UINT64_C(0x9e3779b97f4a7c15) + e.posix_event_id + length + (uint64_t)e.posix_timestamp.tv_nsec;
	return true;
}

/* Returns the number of events in the log, or -1 if it is no log. */
static long read_log(void)
{
	static unsigned char *data;
	uint64_t sum = 0, again = 0;
	long events = 0;
	int fd = open(log_path, O_RDONLY | O_CLOEXEC), error;

	if (!data)
		data = malloc(RECORD_DATA_MAX);
	MUST(data && fd >= 0);
	points = 0;
	error = posix_trace_open(fd, &trid);
	MUST(error == 0 || error == EINVAL);
	if (error == 0) {
		while (read_one(data, &sum))
			events++;
		MUST(posix_trace_rewind(trid) == 0);
		while (read_one(data, &again))
			;
		MUST(again == sum && posix_trace_close(trid) == 0);
	}
	close(fd);
	return error ? -1 : events;
}

/* Writes the files to be found. */
static void put(const struct left *l, unsigned char *stream, const unsigned char *log, size_t log_size)
{
	const struct stream_header *h = (const struct stream_header *)l->stream;
	size_t state = l->stream_size - h->log_state;
	struct log_state *s = (struct log_state *)(stream + state), *was = (struct log_state *)(l->stream + state);
	int fd = open(log_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char name[FILE_NAME_SIZE];
	struct stat st;

	MUST(fd >= 0 && write(fd, log, log_size) == (ssize_t)log_size && fstat(fd, &st) == 0);
	close(fd);
	/* The log is a new file each time. If the input has not changed the stored identity, make it match. */
	if (s->inode == was->inode && s->device_major == was->device_major && s->device_minor == was->device_minor) {
		s->inode = st.st_ino;
		s->device_major = major(st.st_dev);
		s->device_minor = minor(st.st_dev);
	}
	name_of(l, name);
	fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	MUST(fd >= 0 && write(fd, stream, l->stream_size) == (ssize_t)l->stream_size);
	close(fd);
}

/* Recovers a stream whose creator has fewer rights, and changes the stream meanwhile (H18). */
static void save_hostile(const struct left *l, const unsigned char *changes, unsigned count)
{
	struct shm_dir guarded = shm_dir;
	struct save save = { directory, &guarded, pidns, log_path };
	char name[FILE_NAME_SIZE];
	int fd;

	guarded.guarded = true;
	name_of(l, name);
	fd = openat(directory, name, O_RDWR | O_CLOEXEC);
	MUST(fd >= 0);
	hostile.map = mmap(NULL, l->stream_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(hostile.map != MAP_FAILED && close(fd) == 0);
	hostile.of = l;
	hostile.next = changes;
	hostile.left = count;
	MUST(stream_reap(directory, &guarded, pidns, &l->entry, save_stream, &save));
	hostile.left = 0;
	MUST(munmap(hostile.map, l->stream_size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static unsigned char *stream, *log;
	struct save save = { directory, &shm_dir, pidns, NULL };
	const struct left *l;
	char name[FILE_NAME_SIZE];
	unsigned pieces = heap_pieces();
	size_t log_size, at = 2;
	unsigned count, meanwhile = 0;
	struct change c;
	long events;
	int fd = dup(0);

	if (size < 2)
		return 0;
	MUST(fd >= 0);
	close(fd);
	l = &left[bytes[0] % DEATHS];
	stream = realloc(stream, l->stream_size);
	log = realloc(log, l->log_size + 1);
	MUST(stream && log);
	memcpy(stream, l->stream, l->stream_size);
	memcpy(log, l->log, l->log_size);
	log_size = l->log_size;
	count = (unsigned)((size - 2) / sizeof c < 64 ? (size - 2) / sizeof c : 64);
	/* The second half of the changes happens during the recovery. */
	if (bytes[1] % 4 == 2)
		count -= meanwhile = (count + 1) / 2;
	for (unsigned i = 0; i < count; i++, at += sizeof c) {
		memcpy(&c, bytes + at, sizeof c);
		change(l, stream, log, &log_size, &c);
	}
	put(l, stream, log, log_size);
	points = 0;
	/* Recover by another creator, or by the opener of the log; posix_trace_open() finds the stream, too. */
	if (bytes[1] % 4 < 2) {
		save.log = bytes[1] % 4 ? log_path : NULL;
		MUST(stream_reap(directory, &shm_dir, pidns, &l->entry, save_stream, &save));
	} else if (bytes[1] % 4 == 2) {
		save_hostile(l, bytes + at, meanwhile);
	}
	events = read_log();
	/* Without changes all events are there, except those for which the log has no room. */
	if (count + meanwhile == 0)
		MUST(deaths[bytes[0] % DEATHS].policy == POSIX_TRACE_APPEND ? events >= EVENTS : events > 0);
	/* The log is read the same way again. */
	MUST(read_log() == events);
	name_of(l, name);
	unlinkat(directory, name, 0);
	unlink(log_path);
	MUST(heap_pieces() == pieces);
	MUST(dup(0) == fd); /* no descriptor is left open */
	close(fd);
	return 0;
}
