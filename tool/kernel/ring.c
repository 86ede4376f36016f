/*
 * ring.c - perf events of the kernel: opened on each processor, and read in the order of time
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernel/ring.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/ticks.h"
#include "common/unaligned.h"
#include "kernel/buffer.h"

/* Linux 6.0; the headers may be older. */
#define FORMAT_LOST (1U << 4)
/* A record in a ring with less room than this may have been lost. Records without stacks and paths are not larger. */
#define RECORD_ROOM 1024
/*
 * A record gets its time before it can be seen in the ring, and a virtual machine may stop the processor in between.
 * Only records older than this are taken, so that no older one appears later on another processor. If a ring is half
 * full, room is worth more.
 */
#define SETTLED_NS UINT64_C(20000000)
#define SETTLED_FULL_NS UINT64_C(2000000)

/* What each record has at its end, or a sample at its beginning. */
#define SAMPLE_COMMON (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

struct ring {
	struct buffer buffer;
	int cpu;
	uint64_t end;      /* records up to here are read, and later ones the next time */
	uint64_t last;     /* time of the record before */
	bool tight;        /* there was hardly any room at the last look */
	bool gap;          /* records may be missing since `last` */
	uint64_t gap_from;
	bool ready;        /* `record` is the next one */
	uint16_t bytes_of_record;
	struct ring_record record;
};

/* An open event. */
struct opened {
	uint64_t id; /* 0: none */
	uint64_t sample_type;
	unsigned kind;
	unsigned registers; /* in a sample */
};

struct rings {
	size_t size;
	unsigned count;
	struct ring **ring;
	struct pollfd *poll;
	struct {
		int fd;
		bool on_exec; /* the kernel enables it */
	} *event;
	unsigned events, event_room;
	size_t record_room;    /* a record in a ring with less room may have been lost */
	struct opened *opened; /* by id */
	unsigned slots, used;
	bool no_lost;  /* the kernel does not know FORMAT_LOST */
	uint64_t told; /* lost records that were reported */
	int64_t offset; /* from the kernel's clock to that of this process */
};

int ring_open_event(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int ring_trial(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	int fd = ring_open_event(attr, pid, cpu);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

int64_t ring_clock_offset(void)
{
	FILE *f = fopen("/proc/self/timens_offsets", "re");
	int64_t seconds = 0, ns = 0;

	/* Before Linux 5.6 there are no time namespaces. */
	if (f && fscanf(f, "monotonic %" SCNd64 " %" SCNd64, &seconds, &ns) != 2)
		seconds = ns = 0;
	if (f)
		fclose(f);
	return seconds * 1000000000 + ns;
}

/* -- Making ------------------------------------------------------------------------------------ */

static void set_common(struct perf_event_attr *attr)
{
	attr->size = sizeof *attr;
	attr->sample_type |= SAMPLE_COMMON;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->disabled = 1;
}

/* Makes the ring of a processor. Returns 0 or an error number; ENODEV: there is no such processor. */
static int make_ring(struct rings *r, int cpu)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY };
	struct ring *ring = calloc(1, sizeof *ring);
	int fd, error;

	if (!ring)
		return ENOMEM;
	set_common(&attr);
	attr.exclude_kernel = 1;
	attr.watermark = 1;
	attr.wakeup_watermark = (uint32_t)(r->size / 4);
	ring->cpu = cpu;
	fd = ring_open_event(&attr, 0, cpu);
	error = fd < 0 ? errno : buffer_map(&ring->buffer, fd, r->size);
	if (error) {
		if (fd >= 0)
			close(fd);
		free(ring);
		return error;
	}
	r->ring[r->count] = ring;
	r->poll[r->count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	return 0;
}

static void free_rings(struct rings *r)
{
	for (unsigned i = 0; i < r->count; i++) {
		buffer_unmap(&r->ring[i]->buffer);
		close(r->ring[i]->buffer.fd);
		free(r->ring[i]);
	}
	r->count = 0;
}

/* Makes all rings of this size. Returns 0 or an error number. */
static int make_rings(struct rings *r, int processors)
{
	int error = 0;

	for (int cpu = 0; cpu < processors && (error == 0 || error == ENODEV); cpu++)
		error = make_ring(r, cpu);
	if (error == ENODEV && r->count)
		error = 0;
	if (error)
		free_rings(r);
	return error;
}

struct rings *rings_new(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int processors = (int)sysconf(_SC_NPROCESSORS_CONF), error;
	struct rings *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->ring = calloc((size_t)processors, sizeof *r->ring);
	r->poll = calloc((size_t)processors + 1, sizeof *r->poll);
	r->slots = 64;
	r->record_room = RECORD_ROOM;
	r->offset = ring_clock_offset();
	r->opened = calloc(r->slots, sizeof *r->opened);
	r->size = page;
	while (r->size < size)
		r->size *= 2;
	if (!r->ring || !r->poll || !r->opened) {
		rings_free(r);
		errno = ENOMEM;
		return NULL;
	}
	error = make_rings(r, processors);
	/* EPERM and ENOMEM: an ordinary user may lock little memory. */
	while ((error == EPERM || error == ENOMEM) && r->size > page) {
		r->size /= 2;
		error = make_rings(r, processors);
	}
	if (!error)
		return r;
	rings_free(r);
	errno = error;
	return NULL;
}

size_t rings_size(const struct rings *r)
{
	return r->size;
}

unsigned rings_count(const struct rings *r)
{
	return r->count;
}

void rings_free(struct rings *r)
{
	if (!r)
		return;
	rings_close_events(r);
	if (r->ring)
		free_rings(r);
	free(r->event);
	free((void *)r->ring);
	free(r->poll);
	free(r->opened);
	free(r);
}

/* -- Events -------------------------------------------------------------------------------------- */

static struct opened *slot_of(const struct rings *r, uint64_t id)
{
	unsigned i = (unsigned)(id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (r->slots - 1);

	while (r->opened[i].id && r->opened[i].id != id)
		i = (i + 1) & (r->slots - 1);
	return &r->opened[i];
}

/* Remembers an event by the id that is in its records. Returns false if there is no memory. */
static bool remember(struct rings *r, const struct opened *o)
{
	if (2 * (r->used + 1) > r->slots) {
		struct opened *old = r->opened, *more = calloc(2 * (size_t)r->slots, sizeof *more);
		unsigned count = r->slots;

		if (!more)
			return false;
		r->opened = more;
		r->slots *= 2;
		for (unsigned i = 0; i < count; i++)
			if (old[i].id)
				*slot_of(r, old[i].id) = old[i];
		free(old);
	}
	*slot_of(r, o->id) = *o;
	r->used++;
	return true;
}

/* Makes room for one more descriptor, here and in the process's limit. Returns false if there is none. */
static bool room_for_descriptor(struct rings *r)
{
	struct rlimit limit;

	if (r->events == r->event_room) {
		unsigned room = r->event_room ? 2 * r->event_room : 64;
		void *more = realloc(r->event, room * sizeof *r->event);

		if (!more)
			return false;
		r->event = more;
		r->event_room = room;
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < r->events + 128) {
		limit.rlim_cur = 2 * (rlim_t)r->events + 1024;
		if (limit.rlim_max < limit.rlim_cur)
			limit.rlim_max = limit.rlim_cur;
		if (setrlimit(RLIMIT_NOFILE, &limit) != 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
			limit.rlim_cur = limit.rlim_max;
			setrlimit(RLIMIT_NOFILE, &limit);
		}
	}
	return true;
}

static int open_one(struct rings *r, const struct ring *ring, struct perf_event_attr *attr, pid_t pid, unsigned kind)
{
	struct opened o = { .sample_type = attr->sample_type, .kind = kind,
	                    .registers = (unsigned)__builtin_popcountll(attr->sample_regs_user) };
	int fd = -1, error;

	if (!room_for_descriptor(r))
		return ENOMEM;
	attr->read_format = r->no_lost ? 0 : FORMAT_LOST;
	fd = ring_open_event(attr, pid, ring->cpu);
	if (fd < 0 && errno == EINVAL && !r->no_lost) {
		attr->read_format = 0;
		fd = ring_open_event(attr, pid, ring->cpu);
		r->no_lost = fd >= 0;
	}
	if (fd < 0)
		return errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->buffer.fd) != 0 || ioctl(fd, PERF_EVENT_IOC_ID, &o.id) != 0) {
		error = errno;
		close(fd);
		return error;
	}
	if (!remember(r, &o)) {
		close(fd);
		return ENOMEM;
	}
	r->event[r->events].fd = fd;
	r->event[r->events++].on_exec = attr->enable_on_exec;
	return 0;
}

int rings_open(struct rings *r, const struct perf_event_attr *attr, pid_t pid, unsigned kind)
{
	struct perf_event_attr all = *attr;
	unsigned before = r->events;
	int error = 0;

	set_common(&all);
	/* The kernel adds up to 8 marks of where the addresses belong. */
	if (all.sample_type & PERF_SAMPLE_CALLCHAIN) {
		size_t room = RECORD_ROOM + 8U * (all.sample_max_stack + 8U) + all.sample_stack_user;

		r->record_room = room > r->record_room ? room : r->record_room;
	}
	for (unsigned i = 0; i < r->count && !error; i++)
		error = open_one(r, r->ring[i], &all, pid, kind);
	while (error && r->events > before)
		close(r->event[--r->events].fd);
	return error;
}

void rings_close_events(struct rings *r)
{
	while (r->events)
		close(r->event[--r->events].fd);
}

void rings_enable(struct rings *r)
{
	for (unsigned i = 0; i < r->events; i++)
		if (!r->event[i].on_exec)
			ioctl(r->event[i].fd, PERF_EVENT_IOC_ENABLE, 0);
}

void rings_disable(struct rings *r)
{
	for (unsigned i = 0; i < r->events; i++)
		ioctl(r->event[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t rings_untold(const struct rings *r)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < r->events && !r->no_lost; i++) {
		struct { uint64_t value, lost; } now;

		if (read(r->event[i].fd, &now, sizeof now) == (ssize_t)sizeof now)
			all += now.lost;
	}
	return all > r->told ? all - r->told : 0;
}

void rings_wait(const struct rings *r, int fd, int milliseconds)
{
	r->poll[r->count] = (struct pollfd){ .fd = fd, .events = POLLIN };
	poll(r->poll, r->count + 1, milliseconds);
}

/* -- Records --------------------------------------------------------------------------------------- */

/* Reads what a sample has before its data. The order of the fields is the kernel's. */
static void parse_sample(const struct rings *r, struct ring_record *to, const unsigned char *p,
                         const unsigned char *end)
{
	const struct opened *o = slot_of(r, unaligned_u64(p));
	uint32_t size = 0;

	to->kind = o->kind;
	p += 8;
	if (o->sample_type & PERF_SAMPLE_IP) {
		to->ip = unaligned_u64(p);
		p += 8;
	}
	memcpy(&to->pid, p, 4);
	memcpy(&to->tid, p + 4, 4);
	to->time = unaligned_u64(p + 8);
	p += 16;
	if (o->sample_type & PERF_SAMPLE_ADDR) {
		to->address = unaligned_u64(p);
		p += 8;
	}
	memcpy(&to->cpu, p, 4);
	p += 8;
	if (o->sample_type & PERF_SAMPLE_CALLCHAIN && p + 8 <= end) {
		to->chain_length = unaligned_u64(p);
		p += 8;
		if (to->chain_length > (uint64_t)(end - p) / 8)
			to->chain_length = 0;
		to->chain = p;
		p += 8 * to->chain_length;
	}
	to->data = p;
	to->size = 0;
	if (o->sample_type & PERF_SAMPLE_RAW && p + 4 <= end) {
		memcpy(&size, p, 4);
		p += 4;
		if (size > (size_t)(end - p))
			size = 0;
		to->data = p;
		to->size = size;
		p += size;
	}
	if (o->sample_type & PERF_SAMPLE_REGS_USER && p + 8 <= end) {
		to->abi = unaligned_u64(p);
		p += 8;
		/* A thread of the kernel has none. */
		if (to->abi && 8 * (ptrdiff_t)o->registers <= end - p) {
			to->registers = p;
			p += 8 * o->registers;
		}
	}
	/* A size, that many bytes, and how many of them are right. */
	if (o->sample_type & PERF_SAMPLE_STACK_USER && p + 8 <= end && unaligned_u64(p) &&
	    unaligned_u64(p) + 16 <= (uint64_t)(end - p)) {
		to->stack = p + 8;
		to->stack_size = unaligned_u64(to->stack + unaligned_u64(p));
		if (to->stack_size > unaligned_u64(p))
			to->stack_size = 0;
	}
}

/* Makes the next record of a ring ready. Returns false if there is none. */
static bool look(const struct rings *r, struct ring *ring)
{
	const struct perf_event_header *h;
	const unsigned char *p;

	if (ring->ready)
		return true;
	h = ring->buffer.tail == ring->end ? NULL : buffer_next(&ring->buffer);
	if (!h)
		return false;
	p = (const unsigned char *)h;
	ring->record = (struct ring_record){ .type = h->type, .misc = h->misc };
	if (h->type == PERF_RECORD_SAMPLE) {
		parse_sample(r, &ring->record, p + sizeof *h, p + h->size);
	} else {
		const unsigned char *tail = p + h->size - 32;

		memcpy(&ring->record.pid, tail, 4);
		memcpy(&ring->record.tid, tail + 4, 4);
		ring->record.time = unaligned_u64(tail + 8);
		memcpy(&ring->record.cpu, tail + 16, 4);
		ring->record.kind = slot_of(r, unaligned_u64(tail + 24))->kind;
		ring->record.data = p + sizeof *h;
		ring->record.size = h->size - sizeof *h - 32;
	}
	ring->record.time += (uint64_t)r->offset;
	/* An interrupt in the middle of a record writes its own record behind it, with a later time or the same. */
	if (ring->record.time < ring->last)
		ring->record.time = ring->last;
	ring->bytes_of_record = h->size;
	ring->ready = true;
	return true;
}

static void begin_gap(struct ring *ring, uint64_t time, const struct ring_calls *calls, void *arg)
{
	if (ring->gap)
		return;
	ring->gap = true;
	ring->gap_from = time;
	calls->gap_begins(arg, time);
}

/* Delivers the record that is ready. */
static void take(struct rings *r, struct ring *ring, const struct ring_calls *calls, void *arg)
{
	struct ring_record *rec = &ring->record;

	if (rec->type == PERF_RECORD_LOST) {
		uint64_t lost = unaligned_u64(rec->data + 8);

		r->told += lost;
		begin_gap(ring, ring->last ? ring->last : rec->time, calls, arg);
		ring->gap = false;
		calls->gap_ends(arg, ring->gap_from, rec->time, lost);
	} else {
		/* There was no room, but nothing has been lost. */
		if (ring->gap)
			calls->gap_ends(arg, ring->gap_from, rec->time, 0);
		ring->gap = false;
		calls->record(arg, rec);
	}
	ring->last = rec->time;
	ring->ready = false;
	/* What was lost is reported right before the next record, but it was lost after this one. */
	if (look(r, ring) ? ring->record.type == PERF_RECORD_LOST : ring->tight)
		begin_gap(ring, ring->last, calls, arg);
}

/* Returns the ring with the oldest record, or null. Sets *until to the time of the oldest record in other rings. */
static struct ring *oldest(const struct rings *r, uint64_t *until)
{
	struct ring *best = NULL;

	*until = UINT64_MAX;
	for (unsigned i = 0; i < r->count; i++) {
		struct ring *ring = r->ring[i];

		if (!look(r, ring))
			continue;
		if (!best || ring->record.time < best->record.time) {
			if (best)
				*until = best->record.time;
			best = ring;
		} else if (ring->record.time < *until) {
			*until = ring->record.time;
		}
	}
	return best;
}

/* Returns how many bytes can be released. The next record, which may be ready, keeps its room. */
static uint64_t held(const struct ring *ring)
{
	return buffer_held(&ring->buffer) - (ring->ready ? ring->bytes_of_record : 0U);
}

static void release(struct ring *ring)
{
	buffer_release(&ring->buffer, ring->ready ? ring->bytes_of_record : 0);
}

void rings_read(struct rings *r, const struct ring_calls *calls, void *arg, bool all)
{
	struct ring *ring;
	uint64_t now = (uint64_t)clock_ns(CLOCK_MONOTONIC), settled = SETTLED_NS, bound, until;

	for (unsigned i = 0; i < r->count; i++) {
		struct ring *each = r->ring[i];
		uint64_t used = buffer_held(&each->buffer) + buffer_look(&each->buffer);

		each->end = each->buffer.head;
		each->tight = r->size - used < r->record_room;
		if (used > r->size / 2)
			settled = SETTLED_FULL_NS;
	}
	bound = all ? UINT64_MAX : now - settled;
	while ((ring = oldest(r, &until)) != NULL && ring->record.time < bound) {
		uint64_t end = until < bound ? until : bound - 1;

		do {
			take(r, ring, calls, arg);
			/* Give room back early. */
			if (held(ring) > r->size / 16)
				release(ring);
		} while (look(r, ring) && ring->record.time <= end);
	}
	for (unsigned i = 0; i < r->count; i++)
		release(r->ring[i]);
}
