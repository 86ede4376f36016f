/*
 * stream.c - fuzzes a controller whose traced process writes garbage into their shared memory (H18)
 *
 * The input is a sequence of acts of eight bytes. An act changes a word of the stream, of the process's page or of its
 * registry, at once or at a later test point (base/testpoint.h) in the middle of any call; or it records a valid event;
 * or the controller makes a call. In the end the controller reads everything and shuts the stream down.
 *
 * The traced process is a child that does nothing: this process writes what the child could write, so that the same
 * input makes the same run. Time passes only when the clock is read, and a sleep returns at once.
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
#include <sys/syscall.h>
#include <time.h>
#include <trace.h>
#include <unistd.h>

#include "base/testpoint.h"
#include "control/handle.h"
#include "host/ident.h"
#include "heap.h"
#include "model/record.h"
#include "read/live.h"
#include "record/emit.h"
#include "shm/chunk.h"

/* -- Time --------------------------------------------------------------------------------- */

#define LOOK_NS  20000 /* the duration of reading the clock */
#define BEGIN_NS (INT64_C(1700000000) * NS_PER_S)

static int64_t gone_by; /* time since the beginning of the input */

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
uint32_t __wrap_ticks_kind(void);
int __wrap_sys_futex_wait(uint32_t *word, uint32_t value, const struct timespec *deadline);
void __wrap_sys_yield(void);
void __wrap_sys_sleep_ns(long ns);
int __wrap_sys_membarrier(int command);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	int r = __real_clock_gettime(clock, t);
	int64_t ns = gone_by;

	if (r != 0 || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME && clock != CLOCK_BOOTTIME))
		return r;
	/* The kernel tells start times of processes by the real clock. */
	ns += clock == CLOCK_BOOTTIME ? t->tv_sec * NS_PER_S + t->tv_nsec : BEGIN_NS;
	gone_by += LOOK_NS;
	t->tv_sec = (time_t)(ns / NS_PER_S);
	t->tv_nsec = (long)(ns % NS_PER_S);
	return 0;
}

/* The processor's counter would continue meanwhile. */
uint32_t __wrap_ticks_kind(void)
{
	return CLOCK_KIND_MONOTONIC;
}

int __wrap_sys_futex_wait(uint32_t *word, uint32_t value, const struct timespec *deadline)
{
	int64_t left;

	if (load_relaxed(word) != value)
		return -EAGAIN;
	MUST(deadline); /* nothing would wake it */
	left = deadline->tv_sec * NS_PER_S + deadline->tv_nsec - clock_ns(CLOCK_REALTIME);
	if (left > 0)
		gone_by += left;
	return -ETIMEDOUT;
}

void __wrap_sys_yield(void)
{
	gone_by += LOOK_NS;
}

void __wrap_sys_sleep_ns(long ns)
{
	gone_by += ns;
}

/* No other thread exists. */
int __wrap_sys_membarrier(int command)
{
	(void)command;
	return 0;
}

/* -- The traced process ----------------------------------------------------------------------- */

static pid_t traced;

static void be_traced(int ready)
{
	trace_event_id_t id;
	char name[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof name, "fuzz.%d", i);
		MUST(posix_trace_eventid_open(name, &id) == 0);
	}
	MUST(write(ready, "", 1) == 1);
	for (;;)
		pause();
}

/* The files of the traced process, and their original contents. */
static struct file {
	const char *kind;
	unsigned char *map, *sound;
	size_t size;
	int fd;
} page = { "page", NULL, NULL, 0, -1 }, names = { "names", NULL, NULL, 0, -1 };

static int directory;

static void map_file(struct file *f)
{
	struct dirent *e;
	DIR *d = fdopendir(dup(directory));
	struct ident id;
	uint32_t number;
	struct stat st;
	char kind[16];

	MUST(d);
	rewinddir(d);
	while (f->fd < 0 && (e = readdir(d)))
		if (file_name_parse(e->d_name, kind, &id, &number) && strcmp(kind, f->kind) == 0 &&
		    (pid_t)id.pid == traced)
			f->fd = openat(directory, e->d_name, O_RDWR | O_CLOEXEC);
	closedir(d);
	MUST(f->fd >= 0 && fstat(f->fd, &st) == 0);
	f->size = (size_t)st.st_size;
	f->map = mmap(NULL, f->size, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	f->sound = malloc(f->size);
	MUST(f->map != MAP_FAILED && f->sound);
	memcpy(f->sound, f->map, f->size);
}

static void make_sound(const struct file *f)
{
	struct stat st;

	/* The file may have grown. */
	MUST(fstat(f->fd, &st) == 0);
	if ((size_t)st.st_size != f->size)
		MUST(ftruncate(f->fd, (off_t)f->size) == 0);
	memcpy(f->map, f->sound, f->size);
}

/* Removes files that an input has made. */
static void clean(void)
{
	DIR *d = fdopendir(dup(directory));
	struct dirent *e;
	struct ident id;
	uint32_t number;
	char kind[16];

	MUST(d);
	rewinddir(d);
	while ((e = readdir(d)))
		if (file_name_parse(e->d_name, kind, &id, &number) && (pid_t)id.pid != traced &&
		    (pid_t)id.pid != getpid())
			unlinkat(directory, e->d_name, 0);
	closedir(d);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	trace_id_t trid;
	int ready[2];
	char c;

	(void)argc;
	(void)argv;
	heap_own_shm();
	MUST(pipe(ready) == 0);
	traced = fork();
	if (traced == 0)
		be_traced(ready[1]);
	close(ready[1]);
	if (traced < 0 || read(ready[0], &c, 1) != 1 || posix_trace_create(traced, NULL, &trid) != 0 ||
	    posix_trace_shutdown(trid) != 0) {
		fprintf(stderr, "nothing can be traced here\n");
		exit(77);
	}
	close(ready[0]);
	{
		struct shm_dir shm_dir = shm_dir_own();

		directory = file_directory(&shm_dir, false);
		MUST(directory >= 0);
	}
	map_file(&page);
	map_file(&names);
	heap_begin();
	return 0;
}

/* -- The input ------------------------------------------------------------------------------------ */

struct act {
	uint8_t what, when, field, index, kind, value[3];
};

_Static_assert(sizeof(struct act) == 8, "so is the input");

static trace_id_t trid;
static struct handle *handle; /* null: no stream */

static uint32_t value_of(const struct act *a)
{
	return a->value[0] | (uint32_t)a->value[1] << 8 | (uint32_t)a->value[2] << 16;
}

/* -- Garbage -------------------------------------------------------------------------------------- */

enum area { HEADER, SEAT, CHUNK, RECORD, MEMORY, PAGE, SLOT, NAMES, INDEX, NAME };

#define FIELD(area, type, member) { area, offsetof(struct type, member), sizeof(((struct type *)0)->member) }

static const struct field {
	uint8_t area;
	uint16_t offset;
	uint8_t size;
} fields[] = {
	/* Important fields come several times. */
	FIELD(CHUNK, chunk, owner), FIELD(CHUNK, chunk, progress), FIELD(CHUNK, chunk, progress),
	FIELD(CHUNK, chunk, progress),
	FIELD(CHUNK, chunk, last_ticks), FIELD(CHUNK, chunk, gap_from), FIELD(CHUNK, chunk, gap_until),
	FIELD(CHUNK, chunk, first),
	FIELD(CHUNK, chunk, first), FIELD(CHUNK, chunk, lock), FIELD(CHUNK, chunk, read), FIELD(CHUNK, chunk, read),
	FIELD(CHUNK, chunk, seen),
	{ CHUNK, offsetof(struct chunk, progress), 4 }, { CHUNK, offsetof(struct chunk, progress) + 4, 4 },
	{ CHUNK, offsetof(struct chunk, owner), 4 },
	FIELD(SEAT, seat, busy), FIELD(SEAT, seat, ref),
	FIELD(RECORD, record, length), FIELD(RECORD, record, length), FIELD(RECORD, record, type),
	FIELD(RECORD, record, ticks),
	FIELD(RECORD, record, address), FIELD(RECORD, record_owner, pid), FIELD(RECORD, record_owner, tid),
	{ MEMORY, 0, 8 }, { MEMORY, 0, 2 },
	FIELD(HEADER, stream_header, state), FIELD(HEADER, stream_header, state), FIELD(HEADER, stream_header, waiting),
	FIELD(HEADER, stream_header, wakeups), FIELD(HEADER, stream_header, seats_used),
	{ HEADER, offsetof(struct stream_header, filter), 4 },
	FIELD(HEADER, stream_header, flush_waiting), FIELD(HEADER, stream_header, stops),
	FIELD(HEADER, stream_header, stopped_ticks), FIELD(HEADER, stream_header, lost),
	FIELD(HEADER, stream_header, lost_ticks), FIELD(HEADER, stream_header, lost_last),
	/* Values that the library has copied. */
	FIELD(HEADER, stream_header, magic), FIELD(HEADER, stream_header, version),
	FIELD(HEADER, stream_header, header_size),
	FIELD(HEADER, stream_header, chunk_size), FIELD(HEADER, stream_header, chunk_count),
	FIELD(HEADER, stream_header, seat_count),
	FIELD(HEADER, stream_header, event_size_max), FIELD(HEADER, stream_header, file_size),
	FIELD(HEADER, stream_header, pidns),
	FIELD(HEADER, stream_header, data_size), FIELD(HEADER, stream_header, stream_policy),
	FIELD(HEADER, stream_header, clock_kind),
	FIELD(HEADER, stream_header, stream_size), FIELD(HEADER, stream_header, log_state),
	FIELD(PAGE, procpage, magic), FIELD(PAGE, procpage, pid), FIELD(PAGE, procpage, start),
	FIELD(PAGE, procpage, names_pidns),
	FIELD(PAGE, procpage, names_start), FIELD(PAGE, procpage, names_pid), FIELD(PAGE, procpage, names_before),
	FIELD(PAGE, procpage, image), FIELD(PAGE, procpage, sum.vacant), FIELD(PAGE, procpage, sum.generation),
	{ PAGE, offsetof(struct procpage, word), 8 },
	FIELD(SLOT, page_slot, creator_start), FIELD(SLOT, page_slot, inherit_from),
	FIELD(SLOT, page_slot, creator_pid),
	FIELD(SLOT, page_slot, serial), FIELD(SLOT, page_slot, lock),
	FIELD(NAMES, registry_header, magic), FIELD(NAMES, registry_header, entries),
	FIELD(NAMES, registry_header, bytes),
	{ INDEX, offsetof(struct registry_header, index), 2 }, { INDEX, offsetof(struct registry_header, index), 2 },
	{ NAME, REGISTRY_NAMES_OFFSET, 8 },
};

#define FIELDS (sizeof fields / sizeof fields[0])

/* Returns the offset of the n-th record of a chunk, as far as the records are consistent. */
static size_t record_at(const struct chunk *c, unsigned n)
{
	const unsigned char *memory = stream_chunk_memory(&handle->stream, c);
	size_t at = 0, end = handle->stream.chunk_size - sizeof(struct record_owner);
	struct record r;

	for (; n > 0; n--) {
		size_t next;

		memcpy(&r, memory + at, sizeof r);
		next = at + (r.type & RECORD_OWNER ? sizeof(struct record_owner) : record_size(r.length));
		if (next > end)
			break;
		at = next;
	}
	return at;
}

static unsigned char *place_of_field(const struct field *f, unsigned index)
{
	const struct stream *s = handle ? &handle->stream : NULL;
	size_t stride = 0, count = 1;
	const struct chunk *c;
	unsigned char *base;

	switch (f->area) {
	case PAGE:
		base = page.map + f->offset;
		stride = f->offset == offsetof(struct procpage, word) ? 8 : 0;
		count = PAGE_WORDS;
		break;
	case SLOT:
		base = page.map + offsetof(struct procpage, slot) + f->offset;
		stride = sizeof(struct page_slot);
		count = PAGE_SLOTS;
		break;
	case NAMES:
		base = names.map + f->offset;
		break;
	case INDEX:
		base = names.map + f->offset;
		stride = 2;
		count = EVENT_USER_MAX;
		break;
	case NAME:
		base = names.map + f->offset;
		stride = 8;
		count = 64;
		break;
	default:
		if (!s)
			return NULL;
		switch (f->area) {
		case HEADER:
			base = (unsigned char *)s->header + f->offset;
			stride = f->offset == offsetof(struct stream_header, filter) ? 4 : 0;
			count = EVENT_ID_END / 32;
			break;
		case SEAT:
			base = (unsigned char *)s->seats + f->offset;
			stride = sizeof(struct seat);
			count = s->seat_count;
			break;
		case CHUNK:
			base = (unsigned char *)s->chunks + f->offset;
			stride = sizeof(struct chunk);
			count = s->chunk_count;
			break;
		case RECORD:
			c = &s->chunks[index % 16 % s->chunk_count];
			return stream_chunk_memory(s, c) + record_at(c, index / 16) + f->offset;
		default:
			base = s->memory;
			stride = 8;
			count = (size_t)s->chunk_count * s->chunk_size / 8;
			break;
		}
	}
	return base + index % count * stride;
}

/* Returns a new value for a field. */
static uint64_t nonsense(const struct act *a, uint64_t was)
{
	static const uint64_t harmful[] = {
		0, 1, 2, 7, 8, 23, 24, 25, 39, 40, 63, 64, 255, 256, 4095, 4096, 65535, 65536, INT32_MAX,
		UINT32_C(1) << 31, UINT32_MAX - 63, UINT32_MAX - 7, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX,
		UINT64_C(1) << 63, UINT64_MAX - 63, UINT64_MAX,
	};
	uint32_t v = value_of(a);
	int32_t delta = (int32_t)(v << 8) >> 8;
	const struct stream *s = handle ? &handle->stream : NULL;

	switch (a->kind % 9) {
	case 0:
		return v;
	case 1:
		return was + (uint64_t)(int64_t)delta;
	case 2:
		return was ^ UINT64_C(1) << v % 64;
	case 3:
		return harmful[v % (sizeof harmful / sizeof harmful[0])];
	case 4: /* e.g. a position and a number of records */
		return (uint64_t)(v >> 16) << 32 | (v & 0xffff);
	case 5: /* time */
		return ticks_read(s ? s->clock_kind : CLOCK_KIND_MONOTONIC) + (uint64_t)(int64_t)delta * 1000;
	case 6: /* a living thread */
		return v % 2 ? (uint32_t)syscall(SYS_gettid) : (uint32_t)traced;
	case 7: /* the end of a chunk */
		return (s ? s->chunk_size : 4096) - (uint64_t)(int64_t)delta;
	default:
		return was + (uint64_t)(int64_t)delta * (UINT64_C(1) << 32);
	}
}

static void change(const struct act *a)
{
	const struct field *f = &fields[a->field % FIELDS];
	unsigned char *at = place_of_field(f, a->index);
	uint64_t value = 0;

	if (!at)
		return;
	memcpy(&value, at, f->size);
	value = nonsense(a, value);
	memcpy(at, &value, f->size);
}

/* Acts that wait for a test point. */
#define WAITING 16
static struct {
	struct act act;
	unsigned left;
} waiting[WAITING];
static unsigned waiting_count, points;

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
	(void)name;
	MUST(++points < POINTS_MAX);
	for (unsigned i = 0; i < waiting_count;) {
		if (--waiting[i].left > 0) {
			i++;
			continue;
		}
		change(&waiting[i].act);
		waiting[i] = waiting[--waiting_count];
	}
}

/* -- Valid events ------------------------------------------------------------------------------------ */

/* Records an event as a trace point does, in the chunk that the input selects. */
static void append(const struct act *a)
{
	const struct stream *s = &handle->stream;
	struct chunk *c = &s->chunks[a->index % s->chunk_count];
	uint64_t p = load_relaxed(&c->progress);
	uint32_t at = progress_position(p), length = value_of(a) % (s->data_size + 1);
	struct record_owner o = {
		.type = RECORD_OWNER, .pid = (uint32_t)traced, .tid = (uint32_t)traced, .name = "fuzz"
	};
	struct record r = { .length = (uint16_t)length,
		            .type = (uint16_t)(EVENT_ID_USER + a->kind % 8),
		            .ticks = ticks_read(s->clock_kind) };
	uint32_t more = (uint32_t)sizeof o + record_size(length);

	if (at > s->chunk_size || at % RECORD_ALIGN || s->chunk_size - at < more)
		return;
	memcpy(stream_chunk_memory(s, c) + at, &o, sizeof o);
	memcpy(stream_chunk_memory(s, c) + at + sizeof o, &r, sizeof r);
	store_relaxed(&c->last_ticks, r.ticks);
	store_release(&c->progress, progress_make(progress_records(p) + 1, at + more));
}

/* Records events by the library, which selects the chunk: LOOP overwrites. */
static void emit(const struct act *a)
{
	static unsigned char data[RECORD_DATA_MAX];
	struct owner_id w = { .pid = (uint32_t)traced, .tid = (uint32_t)syscall(SYS_gettid), .name = "fuzz" };

	for (unsigned i = 0; i <= a->index % 16u; i++) {
		const struct call call = { EVENT_ID_USER + a->kind % 8, data,
			                   value_of(a) % (handle->stream.data_size + 1), data };

		if (!emit_alone(&handle->stream, &w, false, &call))
			emit_full(&handle->stream);
	}
}

/* -- Calls ----------------------------------------------------------------------------------------------- */

static void check_event(const struct posix_trace_event_info *e, size_t length, size_t size)
{
	MUST(e->posix_event_id >= 1 && e->posix_event_id < EVENT_ID_END);
	MUST(e->posix_timestamp.tv_sec >= 0 && e->posix_timestamp.tv_nsec >= 0 &&
	     e->posix_timestamp.tv_nsec < NS_PER_S);
	MUST(length <= size && length <= handle->stream.event_size_max);
	MUST(e->posix_truncation_status == POSIX_TRACE_NOT_TRUNCATED ||
	     e->posix_truncation_status == POSIX_TRACE_TRUNCATED_RECORD ||
	     (e->posix_truncation_status == POSIX_TRACE_TRUNCATED_READ && length == size));
}

/* Reads one event, with at most `size` bytes of its data, into memory of that size. Returns false if there is none. */
static bool read_one(size_t size, bool timed, long nsec)
{
	struct posix_trace_event_info e;
	struct timespec until;
	size_t length = SIZE_MAX;
	int unavailable = 4711, error;
	unsigned char *data = malloc(size ? size : 1);

	MUST(data);
	memset(&e, 0xee, sizeof e);
	if (timed) {
		MUST(clock_gettime(CLOCK_REALTIME, &until) == 0);
		until.tv_nsec = nsec;
		error = posix_trace_timedgetnext_event(trid, &e, data, size, &length, &unavailable, &until);
		MUST(error == 0 || error == ETIMEDOUT || (error == EINVAL && (nsec < 0 || nsec >= NS_PER_S)));
		MUST(error == 0 ? unavailable == 0 : unavailable == 1);
	} else {
		error = posix_trace_trygetnext_event(trid, &e, data, size, &length, &unavailable);
		MUST(error == 0 && (unavailable == 0 || unavailable == 1));
	}
	if (!unavailable)
		check_event(&e, length, size);
	free(data);
	return !unavailable;
}

static void check_status(void)
{
	struct posix_trace_status_info s;

	MUST(posix_trace_get_status(trid, &s) == 0);
	MUST(s.posix_stream_status == POSIX_TRACE_RUNNING || s.posix_stream_status == POSIX_TRACE_SUSPENDED);
	MUST(s.posix_stream_full_status == POSIX_TRACE_FULL || s.posix_stream_full_status == POSIX_TRACE_NOT_FULL);
	MUST(s.posix_stream_overrun_status == POSIX_TRACE_OVERRUN ||
	     s.posix_stream_overrun_status == POSIX_TRACE_NO_OVERRUN);
	MUST(s.posix_stream_flush_status == POSIX_TRACE_FLUSHING ||
	     s.posix_stream_flush_status == POSIX_TRACE_NOT_FLUSHING);
	MUST(s.posix_stream_flush_error >= 0);
}

static void check_types(void)
{
	char *name = malloc(TRACE_EVENT_NAME_MAX + 1);
	int unavailable = 0, error;
	trace_event_id_t id;
	unsigned count = 0;

	MUST(name && posix_trace_eventtypelist_rewind(trid) == 0);
	for (;;) {
		MUST(posix_trace_eventtypelist_getnext_id(trid, &id, &unavailable) == 0);
		if (unavailable)
			break;
		MUST(id >= 1 && id < EVENT_ID_END && ++count < EVENT_ID_END);
		memset(name, 1, TRACE_EVENT_NAME_MAX + 1);
		error = posix_trace_eventid_get_name(trid, id, name);
		MUST(error == EINVAL ||
		     (error == 0 && strnlen(name, TRACE_EVENT_NAME_MAX + 1) <= TRACE_EVENT_NAME_MAX));
	}
	free(name);
}

static void open_name(unsigned n)
{
	trace_event_id_t id = 0;
	char name[32];

	snprintf(name, sizeof name, "fuzz.%u", n % 100);
	MUST(posix_trace_trid_eventid_open(trid, name, &id) == 0);
	MUST(id >= POSIX_TRACE_UNNAMED_USEREVENT && id < EVENT_ID_END);
}

/* Maps the stream as another process would, according to its current header, and reads its events. */
static void attach_and_read(void)
{
	struct shm_dir shm_dir = shm_dir_own();
	struct anchor anchor = anchor_now(CLOCK_KIND_MONOTONIC);
	struct stream s;
	struct live live;
	struct event event;
	unsigned char *data;

	if (stream_map(directory, &shm_dir, handle->entry.creator, handle->entry.serial, handle->target.ident.pidns,
	               &s) != 0)
		return;
	MUST(s.chunk_count > 0 &&
	     s.memory + (size_t)s.chunk_count * s.chunk_size <= (unsigned char *)s.header + s.size);
	data = malloc(s.event_size_max);
	MUST(data && live_init(&live, &s, anchor) == 0);
	for (size_t i = 0; i < s.size && live_next(&live, &event, data, s.event_size_max) == MERGE_RECORD; i++)
		MUST(event.length <= s.event_size_max && eventtype_possible(event.id));
	live_free(&live);
	free(data);
	stream_unmap(&s);
}

static void call(const struct act *a)
{
	trace_event_set_t set;
	trace_attr_t attr;

	switch (a->field % 14) {
	case 0:
		MUST(posix_trace_start(trid) == 0);
		break;
	case 1:
		MUST(posix_trace_stop(trid) == 0);
		break;
	case 2:
		MUST(posix_trace_clear(trid) == 0);
		break;
	case 3:
		check_status();
		break;
	case 4:
		MUST(posix_trace_eventset_empty(&set) == 0);
		MUST(posix_trace_eventset_add(1 + value_of(a) % (EVENT_ID_END - 1), &set) == 0);
		MUST(posix_trace_set_filter(trid, &set, POSIX_TRACE_SET_EVENTSET + a->kind % 3) == 0);
		break;
	case 5:
		MUST(posix_trace_get_filter(trid, &set) == 0);
		break;
	case 6:
		MUST(posix_trace_get_attr(trid, &attr) == 0 && posix_trace_attr_destroy(&attr) == 0);
		break;
	case 7:
		open_name(value_of(a));
		break;
	case 8:
		check_types();
		break;
	case 9:
		read_one(value_of(a) % 2000, true, a->kind % 4 ? NS_PER_S / 2 : (long)value_of(a) - 100);
		break;
	case 10:
		attach_and_read();
		break;
	default:
		for (unsigned i = 0; i <= a->index % 32u; i++)
			read_one(a->kind % 2 ? value_of(a) % 70000 : 0, false, 0);
		break;
	}
}

/* -- One input ------------------------------------------------------------------------------------------- */

static void do_act(const struct act *a)
{
	points = 0;
	switch (a->what % 8) {
	case 0:
	case 1:
	case 2:
		change(a);
		break;
	case 3:
	case 4:
		if (waiting_count < WAITING) {
			waiting[waiting_count].act = *a;
			waiting[waiting_count++].left = 1u + a->when;
		}
		break;
	case 5:
		if (handle && a->when % 2)
			append(a);
		else if (handle)
			emit(a);
		break;
	default:
		if (handle)
			call(a);
		break;
	}
}

static void create(const struct act *a)
{
	trace_attr_t attr;
	int error;

	MUST(posix_trace_attr_init(&attr) == 0);
	MUST(posix_trace_attr_setstreamsize(&attr, a->index * 256u) == 0);
	MUST(posix_trace_attr_setmaxdatasize(&attr, value_of(a) % 3000) == 0);
	MUST(posix_trace_attr_setstreamfullpolicy(&attr, a->kind % 2 ? POSIX_TRACE_UNTIL_FULL : POSIX_TRACE_LOOP) == 0);
	MUST(posix_trace_attr_setinherited(&attr, a->kind & 2 ? POSIX_TRACE_INHERITED : POSIX_TRACE_CLOSE_FOR_CHILD) ==
	     0);
	error = posix_trace_create(traced, &attr, &trid);
	/* The errors of create in <trace.h>. */
	MUST(error == 0 || error == EAGAIN || error == EINVAL || error == ENOMEM || error == EPERM || error == ESRCH ||
	     error == ENOENT || error == EACCES);
	if (error)
		return;
	handle = &handle_table_lock()[(trid & 0xff) - 1];
	handle_table_unlock();
}

/* Reads all events. Nothing changes any more, so this must come to an end. */
static void read_all(void)
{
	const struct stream *s = &handle->stream;
	size_t most = 2 * (size_t)s->chunk_count * (s->chunk_size / sizeof(struct record) + 1) + 64;

	waiting_count = 0;
	for (size_t i = 0; read_one(64, false, 0); i++) {
		points = 0;
		MUST(i < most);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct act a;
	int fd = dup(0);
	unsigned pieces = heap_pieces();

	MUST(fd >= 0);
	close(fd);
	waiting_count = 0;
	gone_by = 0;
	make_sound(&page);
	make_sound(&names);
	/* The first act creates the stream; some of the following acts may precede it. */
	if (size < sizeof a)
		return 0;
	memcpy(&a, bytes, sizeof a);
	for (unsigned before = a.when % 4; before > 0 && size >= 2 * sizeof a; before--) {
		struct act first;

		bytes += sizeof a;
		size -= sizeof a;
		memcpy(&first, bytes, sizeof first);
		do_act(&first);
	}
	points = 0;
	create(&a);
	for (size_t at = sizeof a; handle && at + sizeof a <= size && at < 256 * sizeof a; at += sizeof a) {
		memcpy(&a, bytes + at, sizeof a);
		do_act(&a);
	}
	if (handle) {
		points = 0;
		check_status();
		check_types();
		read_all();
		points = 0;
		MUST(posix_trace_shutdown(trid) == 0);
		MUST(posix_trace_start(trid) == EINVAL);
		handle = NULL;
	}
	clean();
	MUST(heap_pieces() == pieces);
	MUST(dup(0) == fd); /* no descriptor is left open */
	close(fd);
	return 0;
}
