/*
 * output.c - writing a log
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "log/crc.h"

#define CAPACITY     (UINT32_C(256) << 10)
#define FRAMES_FIRST 512u
/* An UNTIL_FULL log reserves this for its last event, STOP. */
#define STOP_ROOM 128u
/* A segment goes into the next slot if less than this part of the current slot is left. */
#define SLOT_REST 16

/* -- Which files, which sizes --------------------------------------------------------- */

int output_possible(int fd, int policy, bool *seeks)
{
	struct sys_stat st;
	int flags = sys_open_flags(fd);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || (flags & O_PATH) || sys_stat(fd, &st) < 0)
		return -EBADF;
	*seeks = S_ISREG(st.mode);
	if (*seeks)
		return 0;
	if (!(st.mode & S_IFMT))
		return -EINVAL; /* an eventfd or the like: what is written there cannot be read as a log */
	/*
	 * Writing front to back works everywhere but in a directory. A device may allow going back, but this is not
	 * known.
	 */
	return S_ISDIR(st.mode) || policy == POSIX_TRACE_LOOP ? -EINVAL : 0;
}

uint32_t output_longest(uint32_t data_size)
{
	uint32_t filter = 2 * (uint32_t)sizeof(trace_event_set_t);

	return data_size > filter ? data_size : filter;
}

/* The largest event, and OVERFLOW and RESUME before it. All three are consumed at once, and go into one segment. */
static uint32_t largest(uint32_t data_size)
{
	return 2 * pack_size_max(0) + pack_size_max(output_longest(data_size));
}

uint64_t output_size(int policy, uint64_t asked, uint32_t data_size)
{
	uint64_t least = (largest(data_size) + FRAME_ALIGN - 1) & ~(uint64_t)(FRAME_ALIGN - 1);

	switch (policy) {
	case POSIX_TRACE_LOOP:
		least = 2 * (FRAME_BYTES + least);
		break;
	case POSIX_TRACE_UNTIL_FULL:
		least += STOP_ROOM;
		break;
	default:
		least = 0;
		break;
	}
	return asked > least ? asked : least;
}

static uint64_t slot_size(int policy, uint64_t size, uint32_t data_size)
{
	uint64_t least = output_size(POSIX_TRACE_LOOP, 0, data_size) / 2, slots = size / least;

	if (policy != POSIX_TRACE_LOOP)
		return 0;
	size /= slots < LOG_SLOTS ? slots : LOG_SLOTS;
	if (size > UINT32_MAX - FRAME_BYTES)
		size = UINT32_MAX - FRAME_BYTES;
	return size & ~(uint64_t)(FRAME_ALIGN - 1);
}

uint32_t output_capacity(int policy, uint64_t size, uint32_t data_size)
{
	uint64_t slot = slot_size(policy, size, data_size);
	uint32_t least = largest(data_size), capacity = CAPACITY;

	if (slot && slot - FRAME_BYTES < capacity)
		capacity = (uint32_t)slot - FRAME_BYTES;
	return capacity > least ? capacity : least;
}

void output_plan(struct log_state *state, int policy, uint64_t size, uint32_t data_size)
{
	state->capacity = output_capacity(policy, size, data_size);
	state->largest = largest(data_size);
	state->size = size;
	state->slot_size = slot_size(policy, size, data_size);
}

/* -- Bytes ---------------------------------------------------------------------------------- */

const struct log_position *output_position(const struct output *o)
{
	return &o->state->position[load_relaxed(&o->state->position_now) & 1];
}

/* Stores the next position of the file, which is not valid yet. */
static void prepare_mark(struct output *o, const struct log_position *next)
{
	o->state->position[~load_relaxed(&o->state->position_now) & 1] = *next;
	fence_release();
}

/* Makes the next position valid, after the file has been written. */
static void move_on(struct output *o, const struct log_position *next)
{
	prepare_mark(o, next);
	store_release(&o->state->position_now, ~load_relaxed(&o->state->position_now) & 1);
	TEST_POINT("output_moved");
}

/* Returns 0 if the descriptor is still the log's file and not one of the application (H27), else an error. */
static int ours(const struct output *o)
{
	struct sys_stat st;
	int r;

	if (!o->shared)
		return 0;
	r = sys_stat(o->fd, &st);
	if (r < 0)
		return r;
	return sys_same_file(&st, &o->file) ? 0 : -EBADF;
}

static int put(struct output *o, const void *buf, size_t size, uint64_t offset)
{
	const unsigned char *p = buf;
	size_t most = size;
	bool begun = false;
	int r;

	if (o->error)
		return -o->error; /* the reader of a pipe will not come back (H28) */
	r = ours(o);
	if (r < 0)
		return r;
	while (size > 0) {
		size_t part = size < most ? size : most;
		long n = o->seeks ? sys_write_at(o->fd, p, part, offset) : sys_write(o->fd, p, part);

		TEST_POINT("output_written");
		if (n == -EAGAIN)
			n = sys_wait_writable(o->fd) < 0 ? -EIO : 0;
		else if (n == -EINTR)
			n = 0;
		else if (n == 0)
			n = -EIO;
		/* A socket of messages accepts smaller messages, in order. */
		if (n == -EMSGSIZE && part > 1) {
			most = part / 2;
			n = 0;
		}
		if (n < 0) {
			if (n == -EPIPE || n == -EFBIG)
				o->signalled = (int)-n;
			/* Half a frame stays in a pipe, and nothing can follow it. */
			if (!o->seeks && (begun || n == -EPIPE))
				o->error = (int)-n;
			return (int)n;
		}
		begun |= n > 0;
		o->bytes_sent += (uint64_t)n;
		p += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* Writes a frame. bytes: room for the frame header, and the body after it. */
static int put_frame(struct output *o, unsigned char *bytes, struct frame *frame, uint64_t offset)
{
	uint64_t all = frame_bytes(frame->size);

	frame->log = output_position(o)->log;
	frame->body_crc = crc32c(bytes + FRAME_BYTES, frame->size);
	frame_put(bytes, frame);
	memset(bytes + FRAME_BYTES + frame->size, 0, all - FRAME_BYTES - frame->size);
	return put(o, bytes, all, offset);
}

/* -- Beginning ----------------------------------------------------------------------------------- */

int output_init(struct output *o, int fd, bool seeks, int policy, struct log_state *state)
{
	memset(o, 0, sizeof *o);
	o->fd = fd;
	o->seeks = seeks;
	o->policy = policy;
	o->state = state;
	o->stride = 1;
	o->frames_max = FRAMES_FIRST;
	o->frame = sys_map(o->frames_max * sizeof *o->frame, -1, 1);
	o->mark = sys_map(MARKS_MAX * sizeof *o->mark, -1, 1);
	if (sys_pipe_bytes(fd) >= 0)
		o->sent = sys_map(OUTPUT_SENT * sizeof *o->sent, -1, 1);
	if (o->frame && o->mark)
		return 0;
	output_free(o);
	return -ENOMEM;
}

void output_free(struct output *o)
{
	if (o->frame)
		sys_unmap(o->frame, o->frames_max * sizeof *o->frame);
	if (o->mark)
		sys_unmap(o->mark, MARKS_MAX * sizeof *o->mark);
	if (o->sent)
		sys_unmap(o->sent, OUTPUT_SENT * sizeof *o->sent);
	o->frame = NULL;
	o->mark = NULL;
	o->sent = NULL;
}

int output_share(struct output *o)
{
	o->shared = true;
	return sys_stat(o->fd, &o->file);
}

void output_close(struct output *o)
{
	if (ours(o) == 0)
		sys_close(o->fd);
}

/* Writes the totals that begin a frame SUM and a frame INDEX. */
static void put_totals(struct totals_layout *l, const struct log_position *p, const struct output_end *end)
{
	PUT_FIELD(l->events, p->events);
	PUT_FIELD(l->lost, end->lost);
	PUT_FIELD(l->discarded, p->discarded + end->discarded);
}

/* Makes a frame SUM. ended: the log is finished. */
static void put_sum(unsigned char bytes[FRAME_BYTES + SUM_BYTES], const struct log_position *p,
                    const struct output_end *end, bool ended)
{
	struct frame frame = { .kind = FRAME_SUM, .log = p->log, .size = SUM_BYTES };
	struct sum_layout *l = (struct sum_layout *)(bytes + FRAME_BYTES);

	memset(l, 0, sizeof *l);
	put_totals(&l->totals, p, end);
	PUT_FIELD(l->unwritten, end->unwritten);
	PUT_FIELD(l->status, end->status);
	PUT_FIELD(l->flush_error, end->flush_error);
	PUT_FIELD(l->segments, p->sequence - 1);
	PUT_FIELD(l->ended, ended);
	PUT_FIELD(l->left_out, end->left_out);
	frame.body_crc = crc32c(l, sizeof *l);
	frame_put(bytes, &frame);
}

static int put_header(struct output *o, const struct log_header *h, struct log_position *next)
{
	static const struct output_end nothing = { 0 };
	unsigned char bytes[FRAME_BYTES + HEADER_BODY_MAX + FRAME_ALIGN + FRAME_BYTES + SUM_BYTES];
	struct frame frame = { .kind = FRAME_HEADER, .log = next->log };
	int r;

	frame.size = (uint32_t)header_put(bytes + FRAME_BYTES, h);
	frame.body_crc = crc32c(bytes + FRAME_BYTES, frame.size);
	frame_put(bytes, &frame);
	memset(bytes + FRAME_BYTES + frame.size, 0, FRAME_ALIGN);
	next->end = frame_bytes(frame.size);
	next->sum = 0;
	/* Written before the file system can be full, so that the frame needs no space later. */
	if (o->seeks) {
		next->sum = (uint32_t)next->end;
		put_sum(bytes + next->sum, next, &nothing, false);
		next->end += FRAME_BYTES + SUM_BYTES;
	}
	/* If this process dies, the file has another log than the valid position, so recovery compares both. */
	prepare_mark(o, next);
	r = put(o, bytes, next->end, 0);
	if (r < 0)
		return r;
	o->frames = o->marks = 0;
	o->clock = 0;
	o->stride = 1;
	move_on(o, next);
	return 0;
}

int output_begin(struct output *o, const struct log_header *h)
{
	struct log_position next = { .sequence = 1, .lost_base = o->lost_base };

	/* The contents of a pipe stay. Only the counters begin anew. */
	if (!o->seeks && output_position(o)->log) {
		next = *output_position(o);
		next.bytes = next.discarded = next.lost = 0;
		next.lost_base = o->lost_base;
		move_on(o, &next);
		return 0;
	}
	do
		sys_random(&next.log, sizeof next.log);
	while (next.log == 0);
	return put_header(o, h, &next);
}

bool output_cut(const struct output *o)
{
	struct sys_stat st;

	return o->seeks && output_position(o)->log && sys_stat(o->fd, &st) == 0 && st.size < FRAME_BYTES &&
	       ours(o) == 0;
}

int output_begin_again(struct output *o, const struct log_header *h)
{
	struct log_position next = *output_position(o);

	/* The same log, without its first segments. */
	next.bytes = next.events = next.users = next.discarded = 0;
	next.types = next.slots = 0;
	next.slot_used = 0;
	return put_header(o, h, &next);
}

/* -- Frames ----------------------------------------------------------------------------------------- */

static bool remember_frame(struct output *o, uint64_t offset)
{
	if (o->frames == o->frames_max) {
		size_t size = o->frames_max * sizeof *o->frame;
		uint64_t *more = sys_map(2 * size, -1, 1);

		if (!more)
			return false; /* the index will lack the frame, and readers have to search */
		memcpy(more, o->frame, size);
		sys_unmap(o->frame, size);
		o->frame = more;
		o->frames_max *= 2;
	}
	o->frame[o->frames++] = offset;
	return true;
}

int output_frame(struct output *o, enum frame_kind kind, const void *body, size_t size, uint32_t types)
{
	size_t room = FRAME_BYTES + size + FRAME_ALIGN;
	unsigned char *bytes = size > FORMAT_BODY_MAX ? NULL : sys_map(room, -1, 1);
	struct frame frame = { .kind = (uint16_t)kind, .size = (uint32_t)size };
	struct log_position next = *output_position(o);
	int r;

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes + FRAME_BYTES, body, size);
	if (kind == FRAME_CLOCK)
		frame.number = o->clock;
	r = put_frame(o, bytes, &frame, next.end);
	sys_unmap(bytes, room);
	if (r == 0 && kind == FRAME_CLOCK)
		o->clock = next.end;
	else if (r == 0 && !remember_frame(o, next.end))
		r = -ENOMEM;
	if (r < 0)
		return r;
	next.end += frame_bytes(size);
	next.types = types;
	move_on(o, &next);
	return 0;
}

int output_clock(struct output *o, const unsigned char body[CLOCK_BYTES])
{
	const struct log_position *p = output_position(o);
	uint64_t first = (uint64_t)p->sum + FRAME_BYTES + SUM_BYTES;
	unsigned char bytes[FRAME_BYTES + CLOCK_BYTES];
	struct frame frame = { .kind = FRAME_CLOCK, .size = CLOCK_BYTES };

	/* A LOOP log that lasts long must not grow, so the first frame CLOCK is written again. */
	if (o->policy != POSIX_TRACE_LOOP || !p->sum || !o->clock ||
	    ((const struct clock_layout *)body)->reason != CLOCK_PERIOD)
		return output_frame(o, FRAME_CLOCK, body, CLOCK_BYTES, p->types);
	memcpy(bytes + FRAME_BYTES, body, CLOCK_BYTES);
	return put_frame(o, bytes, &frame, first);
}

static void remember_segment(struct output *o, uint64_t offset, uint64_t number, uint64_t first)
{
	if (number % o->stride)
		return;
	if (o->marks == MARKS_MAX) {
		o->stride *= 2;
		o->marks = 0;
		for (uint32_t i = 0; i < MARKS_MAX; i++)
			if (o->mark[i].number % o->stride == 0)
				o->mark[o->marks++] = o->mark[i];
		if (number % o->stride)
			return;
	}
	o->mark[o->marks++] = (struct output_mark){ offset, number, first };
}

void output_resume(struct log_state *state, uint64_t log)
{
	uint32_t other = ~load_relaxed(&state->position_now) & 1;

	if (state->position[~other & 1].log != log && state->position[other].log == log)
		store_release(&state->position_now, other);
}

int output_recall(struct output *o, const struct frame *f, uint64_t offset)
{
	if (frame_describes(f->kind) && !remember_frame(o, offset))
		return -ENOMEM;
	if (f->kind == FRAME_CLOCK)
		o->clock = offset;
	if (f->kind == FRAME_SEGMENT)
		remember_segment(o, offset, f->number, f->first);
	return 0;
}

uint32_t output_room(const struct output *o)
{
	const struct log_position *p = output_position(o);
	uint64_t room = o->state->capacity;

	if (o->policy == POSIX_TRACE_UNTIL_FULL) {
		uint64_t used = p->bytes + STOP_ROOM;
		uint64_t left = used < o->state->size ? o->state->size - used : 0;

		return (uint32_t)(left < room ? left : room);
	}
	if (o->policy == POSIX_TRACE_LOOP && p->slots) {
		uint64_t left = o->state->slot_size - p->slot_used;

		if (left > o->state->slot_size / SLOT_REST && left >= FRAME_BYTES + o->state->largest &&
		    left - FRAME_BYTES < room)
			room = left - FRAME_BYTES;
	}
	return (uint32_t)room;
}

/* Finds the slot, and the offset, for a segment of `all` bytes with its frame header. */
static int find_slot(struct output *o, uint64_t all, struct log_position *next, uint64_t *offset)
{
	unsigned char bytes[FRAME_BYTES];
	struct frame frame = { .kind = FRAME_SLOT, .log = next->log, .size = (uint32_t)o->state->slot_size };
	int r;

	if (next->slots == 0 || next->slot_used + all > o->state->slot_size) {
		if (next->slots == 0 ||
		    (next->slots < LOG_SLOTS && (next->slots + 1) * o->state->slot_size <= o->state->size)) {
			frame_put(bytes, &frame);
			r = put(o, bytes, FRAME_BYTES, next->end);
			if (r < 0)
				return r;
			next->slot = next->slots++;
			next->slot_offset[next->slot] = next->end;
			next->end += FRAME_BYTES + o->state->slot_size;
		} else {
			next->slot = (next->slot + 1) % next->slots;
			next->discarded += next->slot_events[next->slot];
		}
		next->slot_used = 0;
		next->slot_events[next->slot] = 0;
		next->slot_first[next->slot] = next->sequence;
	}
	*offset = next->slot_offset[next->slot] + FRAME_BYTES + next->slot_used;
	next->slot_used += all;
	return 0;
}

int output_segment(struct output *o, struct draft *d, uint64_t lost)
{
	const struct log_mark *m = draft_mark(d);
	struct log_position next = *output_position(o);
	uint64_t all = frame_bytes(m->position), offset = next.end, more = lost - next.lost;
	struct frame frame = {
		.kind = FRAME_SEGMENT,
		.number = next.sequence,
		.size = m->position,
		.first = m->first,
		.last = m->last,
		.events = m->events,
		.lost = more > UINT32_MAX ? UINT32_MAX : (uint32_t)more,
	};
	int r = 0;

	if (o->policy == POSIX_TRACE_LOOP)
		r = find_slot(o, all, &next, &offset);
	else
		next.end += all;
	if (r == 0)
		r = put_frame(o, d->body - FRAME_BYTES, &frame, offset);
	if (r < 0)
		return r;
	remember_segment(o, offset, next.sequence, m->first);
	if (o->sent)
		o->sent[next.sequence % OUTPUT_SENT] = (struct output_sent){ o->bytes_sent, m->events, m->users };
	next.sequence++;
	next.bytes += m->position;
	next.events += m->events;
	next.users += m->users;
	next.lost = lost;
	if (o->policy == POSIX_TRACE_LOOP)
		next.slot_events[next.slot] += m->events;
	move_on(o, &next);
	return 0;
}

/* -- The end -------------------------------------------------------------------------------------------- */

/*
 * Returns the end of the used part of the file, without the unused rest of the last slot. The slot's frame stays
 * unchanged: half a frame, after a power loss, would make the whole slot unreadable.
 */
static uint64_t used_end(const struct output *o, const struct log_position *p)
{
	uint64_t slot = p->slots ? p->slot_offset[p->slot] + FRAME_BYTES : 0;

	return p->slots && slot + o->state->slot_size == p->end ? slot + p->slot_used : p->end;
}

static uint64_t oldest(const struct log_position *p)
{
	if (p->slots == 0)
		return 1;
	return p->slot_first[(p->slot + 1) % p->slots];
}

static size_t put_index(unsigned char *to, const struct output *o, const struct log_position *p,
                        const struct output_end *end)
{
	struct index_layout *l = (struct index_layout *)to;
	unsigned char *at = to + sizeof *l;
	uint32_t marks = 0;

	memset(l, 0, sizeof *l);
	put_totals(&l->totals, p, end);
	PUT_FIELD(l->status, end->status);
	PUT_FIELD(l->flush_error, end->flush_error);
	PUT_FIELD(l->slots, p->slots);
	PUT_FIELD(l->frames, o->frames);
	for (uint32_t i = 1; i <= p->slots; i++, at += 8)
		put64(at, p->slot_offset[(p->slot + i) % p->slots]);
	for (uint32_t i = 0; i < o->frames; i++, at += 8)
		put64(at, o->frame[i]);
	for (uint32_t i = 0; i < o->marks; i++) {
		struct mark_layout *mark = (struct mark_layout *)at;

		if (o->mark[i].number < oldest(p))
			continue;
		PUT_FIELD(mark->offset, o->mark[i].offset);
		PUT_FIELD(mark->number, o->mark[i].number);
		PUT_FIELD(mark->first, o->mark[i].first);
		at += sizeof *mark;
		marks++;
	}
	PUT_FIELD(l->marks, marks);
	put64(at, end->unwritten);
	put64(at + 8, end->left_out);
	put64(at + 16, o->clock);
	return (size_t)(at - to) + INDEX_BEHIND;
}

int output_tell(struct output *o, const struct output_end *end)
{
	const struct log_position *p = output_position(o);
	unsigned char bytes[FRAME_BYTES + SUM_BYTES];

	/* Do not write into a truncated file, because that would hide the need to begin the log again. */
	if (!p->log || !p->sum || output_cut(o))
		return 0;
	put_sum(bytes, p, end, false);
	return put(o, bytes, sizeof bytes, p->sum);
}

uint64_t output_abandoned(const struct output *o, uint64_t *events)
{
	uint64_t next = output_position(o)->sequence, users = 0, taken;
	long left = o->sent && sys_peer_gone(o->fd) ? sys_pipe_bytes(o->fd) : 0;

	*events = 0;
	if (left <= 0)
		return 0;
	taken = o->bytes_sent - (uint64_t)left;
	for (uint64_t i = 1; i < next && i <= OUTPUT_SENT && o->sent[(next - i) % OUTPUT_SENT].end > taken; i++) {
		users += o->sent[(next - i) % OUTPUT_SENT].users;
		*events += o->sent[(next - i) % OUTPUT_SENT].events;
	}
	return users;
}

static int put_index_frames(struct output *o, const struct log_position *p, const struct output_end *end,
                            uint64_t *size)
{
	size_t room = FRAME_BYTES + INDEX_FIXED + 8 * (LOG_SLOTS + (size_t)o->frames) +
	              MARK_BYTES * (size_t)o->marks + INDEX_BEHIND + FRAME_ALIGN;
	struct frame frame = { .kind = FRAME_INDEX }, footer = { .kind = FRAME_FOOTER, .number = *size };
	unsigned char foot[FRAME_BYTES + FRAME_ALIGN];
	unsigned char *bytes = sys_map(room, -1, 1);
	int r;

	if (!bytes)
		return -ENOMEM;
	frame.size = (uint32_t)put_index(bytes + FRAME_BYTES, o, p, end);
	r = put_frame(o, bytes, &frame, *size);
	sys_unmap(bytes, room);
	if (r == 0)
		r = put_frame(o, foot, &footer, *size + frame_bytes(frame.size));
	if (r == 0)
		*size += frame_bytes(frame.size) + FRAME_BYTES;
	return r;
}

int output_end(struct output *o, const struct output_end *end)
{
	struct log_position p = *output_position(o);
	unsigned char sum[FRAME_BYTES + SUM_BYTES];
	uint64_t size = used_end(o, &p);
	int r, reported = -ENOENT;

	if (!p.log)
		return 0; /* the log has no header yet */
	if (p.sum) {
		put_sum(sum, &p, end, true);
		reported = put(o, sum, sizeof sum, p.sum);
		TEST_POINT("output_reported");
	}
	r = put_index_frames(o, &p, end, &size);
	TEST_POINT("output_ended");
	/* Also if the index did not fit, because half an index is useless. */
	if (o->seeks && ours(o) == 0) {
		int cut = sys_truncate(o->fd, size);

		r = r ? r : cut;
	}
	TEST_POINT("output_cut");
	if (r < 0 && reported == 0 && end->unwritten == 0)
		r = 0;
	if (r == 0 && o->seeks)
		r = sys_sync_data(o->fd);
	return r;
}
