/*
 * input.c - reading a log
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/input.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sys.h"
#include "log/crc.h"
#include "log/format.h"

/* How far to look for a frame after a damaged one: further than the longest frame. */
#define SEARCH_MAX  (UINT64_C(64) << 20)
#define SEARCH_STEP (UINT32_C(64) << 10)
/*
 * Upper limit of bytes read without a valid frame, in each pass through a log. A sparse file can be huge and cost
 * nothing (H26).
 */
#define VAIN_MAX (UINT64_C(256) << 20)

#define NAMES_SIZE (EVENT_ID_END * (size_t)(TRACE_EVENT_NAME_MAX + 1))
#define LAYOUTS_SIZE (EVENT_ID_END * sizeof(struct input_layout))

/* -- Bytes and frames ------------------------------------------------------------------- */

/* Reads size bytes. Returns false if they are incomplete, or cannot be read. */
static bool get(struct input *in, void *to, size_t size, uint64_t offset)
{
	unsigned char *p = to;

	while (size > 0) {
		long n = sys_read_at(in->fd, p, size, offset);

		if (n == -EINTR)
			continue;
		if (n < 0)
			in->error = (int)n;
		if (n <= 0)
			return false;
		p += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return true;
}

/* Returns whether a frame of this log is at `at`, with its body before end. A slot may be truncated. */
static bool is_frame(const struct input *in, const unsigned char *bytes, struct frame *f, uint64_t at, uint64_t end)
{
	if (!frame_get(bytes, f) || (in->log && f->log != in->log))
		return false;
	return f->kind == FRAME_SLOT || (f->size <= FORMAT_BODY_MAX && (f->size <= end - at - FRAME_BYTES ||
	                                                                (in->cut && f->kind == FRAME_SEGMENT)));
}

static bool get_frame(struct input *in, struct frame *f, uint64_t at, uint64_t end)
{
	unsigned char bytes[FRAME_BYTES];

	return at <= end && end - at >= FRAME_BYTES && get(in, bytes, sizeof bytes, at) &&
	       is_frame(in, bytes, f, at, end);
}

/* Reserves memory for a body, and for the bytes that unpack reads after it. */
static bool reserve(struct input *in, size_t size)
{
	size += UNPACK_SLACK;
	if (size <= in->body_size)
		return true;
	if (in->body)
		sys_unmap(in->body, in->body_size);
	in->body = sys_map(size, -1, 1);
	in->body_size = in->body ? size : 0;
	if (!in->body)
		in->error = -ENOMEM;
	return in->body != NULL;
}

/* Counts bytes read without result. Returns false if the limit is reached. */
static bool in_vain(struct input *in, uint64_t bytes)
{
	if (bytes > in->patience)
		return false;
	in->patience -= bytes;
	return true;
}

/* Reads a body into in->body. The bytes count as read without result until next_segment() gives them back. */
static bool get_body(struct input *in, const struct frame *f, uint64_t at)
{
	return in_vain(in, f->size) && reserve(in, f->size) && get(in, in->body, f->size, at + FRAME_BYTES) &&
	       crc32c(in->body, f->size) == f->body_crc;
}

/*
 * Returns where data follow after a block of zeros. The distance is a whole number of blocks, so that frames stay
 * aligned. A hole costs no time, however large.
 */
static uint64_t skip_hole(const struct input *in, const unsigned char *bytes, uint64_t block, uint64_t end)
{
	uint64_t data;

	/* The first bytes of most blocks are enough to tell. */
	if (get64(bytes) || memcmp(bytes, bytes + 8, SEARCH_STEP - 8) != 0)
		return block;
	data = sys_next_data(in->fd, block);
	if (data > end)
		data = end;
	return data > block ? block + (data - block) / SEARCH_STEP * SEARCH_STEP : block;
}

/* Finds the next frame after damage. Returns false if there is none near, except for holes. */
static bool search(struct input *in, struct frame *f, uint64_t *at, uint64_t end)
{
	uint64_t from = *at, last = end - from > SEARCH_MAX ? from + SEARCH_MAX : end;
	unsigned char *bytes;

	if (!reserve(in, SEARCH_STEP + FRAME_BYTES))
		return false;
	bytes = in->body;
	for (uint64_t block = from; block < last; block += SEARCH_STEP) {
		uint64_t left = end - block;
		size_t size = left < SEARCH_STEP + FRAME_BYTES ? (size_t)left : SEARCH_STEP + FRAME_BYTES;

		if (size < FRAME_BYTES || !in_vain(in, size) || !get(in, bytes, size, block))
			return false;
		for (size_t i = 0; i < SEARCH_STEP && i + FRAME_BYTES <= size; i += FRAME_ALIGN)
			if (is_frame(in, bytes + i, f, block + i, end)) {
				*at = block + i;
				return true;
			}
		if (size >= SEARCH_STEP) {
			uint64_t data = skip_hole(in, bytes, block, end);

			/* The next step continues there. */
			if (data > block + SEARCH_STEP) {
				last = end - last < data - block ? end : last + (data - block);
				block = data - SEARCH_STEP;
			}
		}
	}
	return false;
}

/* Finds the frame at *at, or the next one. Returns false if there is none. */
static bool next_frame(struct input *in, struct frame *f, uint64_t *at, uint64_t end, uint64_t *skipped)
{
	uint64_t from = *at;

	if (from >= end)
		return false;
	if (get_frame(in, f, from, end))
		return true;
	if (!search(in, f, at, end)) {
		*skipped += end - from;
		return false;
	}
	*skipped += *at - from;
	return true;
}

/* Returns whether a frame is a segment with a number that can be incremented. */
static bool is_segment(const struct frame *f)
{
	return f->kind == FRAME_SEGMENT && f->number > 0 && f->number < UINT64_MAX;
}

/* -- Opening ------------------------------------------------------------------------------- */

static bool open_header(struct input *in)
{
	struct frame f;

	if (!get_frame(in, &f, 0, in->size) || f.kind != FRAME_HEADER || f.log == 0 || !get_body(in, &f, 0) ||
	    !header_get(&in->header, in->body, f.size))
		return false;
	in->log = f.log;
	in->begin = frame_bytes(f.size);
	return true;
}

static void add_types(struct input *in, size_t size)
{
	const unsigned char *p = in->body, *end = p + size;

	while (end - p >= 3 && end - p >= 3 + p[2]) {
		uint16_t id = get16(p);
		size_t n = p[2] < TRACE_EVENT_NAME_MAX ? p[2] : TRACE_EVENT_NAME_MAX;

		if (eventtype_possible(id)) {
			in->type[id] = true;
			memset(in->name[id], 0, sizeof in->name[id]);
			memcpy(in->name[id], p + 3, n);
		}
		p += 3 + p[2];
	}
}

static void add_layouts(struct input *in, size_t size, uint64_t at)
{
	const unsigned char *p = in->body, *end = p + size;

	while (end - p >= 4 && end - p >= 4 + get16(p + 2)) {
		uint16_t id = get16(p), length = get16(p + 2);

		if (eventtype_possible(id) && length < LAYOUT_TEXT_SIZE)
			in->layout[id] = (struct input_layout){
				at + FRAME_BYTES + (uint64_t)(p + 4 - in->body), length };
		p += 4 + length;
	}
}

/* Evaluates a frame outside of the slots. */
static void add_frame(struct input *in, const struct frame *f, uint64_t at)
{
	if (f->kind == FRAME_LAYOUTS && get_body(in, f, at))
		add_layouts(in, f->size, at);
	if (f->kind == FRAME_TYPES && get_body(in, f, at))
		add_types(in, f->size);
}

static bool open_index(struct input *in)
{
	struct frame footer, index, f;
	const struct index_layout *l;
	const unsigned char *p;
	uint32_t frames;
	uint64_t *list, end = 0, marks;
	size_t size;

	if (in->size < in->begin + FRAME_BYTES || !get_frame(in, &footer, in->size - FRAME_BYTES, in->size) ||
	    footer.kind != FRAME_FOOTER || footer.number < in->begin ||
	    !get_frame(in, &index, footer.number, in->size) || index.kind != FRAME_INDEX || index.size < INDEX_FIXED ||
	    !get_body(in, &index, footer.number))
		return false;
	p = in->body;
	l = (const struct index_layout *)p;
	in->slots = GET_FIELD(l->slots);
	frames = GET_FIELD(l->frames);
	if (in->slots > LOG_SLOTS || INDEX_FIXED + 8 * ((uint64_t)in->slots + frames) > index.size)
		return false;
	marks = INDEX_FIXED + 8 * ((uint64_t)in->slots + frames) + MARK_BYTES * (uint64_t)GET_FIELD(l->marks);
	/* Before version 1.1 nothing followed the marks, and before 1.3 only the first number. */
	in->unwritten = marks + 8 <= index.size ? get64(p + marks) : 0;
	in->left_out = marks + INDEX_BEHIND <= index.size ? get64(p + marks + 8) : 0;
	in->events = GET_FIELD(l->totals.events);
	in->lost = GET_FIELD(l->totals.lost);
	in->discarded = GET_FIELD(l->totals.discarded);
	in->status = GET_FIELD(l->status);
	in->flush_error = GET_FIELD(l->flush_error);
	p += INDEX_FIXED;
	for (uint32_t i = 0; i < in->slots; i++, p += 8)
		in->slot[i] = get64(p);
	/* Copy the list, because the frames need the body's memory. */
	size = (frames + 1) * sizeof *list;
	list = sys_map(size, -1, 1);
	if (!list) {
		in->error = -ENOMEM;
		return false;
	}
	for (uint32_t i = 0; i < frames; i++)
		list[i] = get64(p + 8 * i);
	/* In the order of the file, so no frame is read twice. */
	for (uint32_t i = 0; i < frames; i++)
		if (list[i] >= end && get_frame(in, &f, list[i], in->size)) {
			add_frame(in, &f, list[i]);
			end = list[i] + frame_bytes(f.size);
		}
	sys_unmap(list, size);
	return true;
}

/* Returns the number of the last segment. In a LOOP log it is in the newest slot, otherwise it is known. */
static uint64_t last_segment(struct input *in, uint64_t last)
{
	uint64_t at = in->slots ? in->slot[in->slots - 1] + FRAME_BYTES : in->size;
	struct frame f;

	while (get_frame(in, &f, at, in->size) && f.kind == FRAME_SEGMENT && f.number > last) {
		last = f.number;
		at += frame_bytes(f.size);
	}
	return last;
}

/*
 * Reads the frame SUM, the creator's last report on missing events, if there is no index. Returns true if the numbers
 * are now as complete as the frames allow.
 */
static bool take_sum(struct input *in, uint64_t last)
{
	const struct sum_layout *l;
	struct frame f;

	if (!get_frame(in, &f, in->begin, in->size) || f.kind != FRAME_SUM || f.size < SUM_BYTES ||
	    !get_body(in, &f, in->begin))
		return false;
	l = (const struct sum_layout *)in->body;
	in->unwritten = GET_FIELD(l->unwritten);
	in->left_out = GET_FIELD(l->left_out);
	in->flush_error = GET_FIELD(l->flush_error);
	in->ended = GET_FIELD(l->ended) & 1;
	if (in->lost < GET_FIELD(l->totals.lost))
		in->lost = GET_FIELD(l->totals.lost);
	in->status |= GET_FIELD(l->status);
	if (!in->ended)
		return false;
	in->events = GET_FIELD(l->totals.events);
	in->lost = GET_FIELD(l->totals.lost);
	in->discarded = GET_FIELD(l->totals.discarded);
	in->status = GET_FIELD(l->status);
	in->segments = GET_FIELD(l->segments);
	/* If the file was truncated since, at least the number of events is known. */
	in->ended = in->segments == last_segment(in, last);
	return true;
}

/* Returns the number of a slot's first segment, 0 if there is none. */
static uint64_t slot_number(struct input *in, uint64_t slot)
{
	struct frame f;

	return get_frame(in, &f, slot + FRAME_BYTES, in->size) && f.kind == FRAME_SEGMENT ? f.number : 0;
}

static void sort_slots(struct input *in)
{
	uint64_t number[LOG_SLOTS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < in->slots; i++) {
		uint64_t slot = in->slot[i], first = slot_number(in, slot);
		uint32_t at = n;

		if (!first)
			continue;
		for (; at > 0 && number[at - 1] > first; at--) {
			number[at] = number[at - 1];
			in->slot[at] = in->slot[at - 1];
		}
		number[at] = first;
		in->slot[at] = slot;
		n++;
	}
	in->slots = n;
}

/* Reads a log without an index, frame by frame. */
static void open_by_frames(struct input *in)
{
	uint64_t at = in->begin, last = 0;
	struct frame f;

	in->slots = 0;
	in->events = in->lost = in->discarded = in->unwritten = in->left_out = in->segments = 0;
	in->status = in->flush_error = 0;
	while (next_frame(in, &f, &at, in->size, &in->skipped)) {
		add_frame(in, &f, at);
		/* A segment that is there twice is read once. */
		if (is_segment(&f) && f.number > last) {
			in->events += f.events;
			in->lost += f.lost;
			last = f.number;
		} else if (f.kind == FRAME_SLOT && in->slots < LOG_SLOTS) {
			in->slot[in->slots++] = at;
		}
		at += frame_bytes(f.size);
	}
	sort_slots(in);
	if (!take_sum(in, last) && in->lost)
		in->status |= INDEX_STREAM_OVERRUN;
}

static void add_predefined(struct input *in)
{
	for (unsigned i = 0; i < EVENTTYPE_PREDEFINED; i++) {
		trace_event_id_t id = eventtype_predefined(i);

		in->type[id] = true;
		strncpy(in->name[id], eventtype_predefined_name(id), TRACE_EVENT_NAME_MAX);
	}
}

int input_open_header(struct input *in, int fd)
{
	struct sys_stat st;
	int r;

	memset(in, 0, sizeof *in);
	in->fd = fd;
	in->patience = VAIN_MAX;
	r = sys_stat(fd, &st);
	if (r < 0 || !S_ISREG(st.mode))
		return r < 0 ? r : -EINVAL;
	in->size = st.size;
	in->inode = st.inode;
	in->device_major = st.device_major;
	in->device_minor = st.device_minor;
	in->name = sys_map(NAMES_SIZE, -1, 1);
	in->layout = sys_map(LAYOUTS_SIZE, -1, 1);
	in->unpack = sys_map(sizeof *in->unpack, -1, 1);
	if (!in->name || !in->layout || !in->unpack) {
		input_close(in);
		return -ENOMEM;
	}
	if (!open_header(in)) {
		r = in->error ? in->error : -EINVAL;
		input_close(in);
		return r;
	}
	add_predefined(in);
	in->complete = in->ended = open_index(in);
	return 0;
}

bool input_frame(struct input *in, struct frame *f, uint64_t *at)
{
	return next_frame(in, f, at, in->size, &in->skipped);
}

int input_open_rest(struct input *in)
{
	if (!in->complete)
		open_by_frames(in);
	/* An unreadable part counts as damage. Lack of memory does not: the log is intact. */
	if (in->error == -ENOMEM) {
		input_close(in);
		return -ENOMEM;
	}
	input_rewind(in);
	return 0;
}

int input_open(struct input *in, int fd)
{
	int r = input_open_header(in, fd);

	if (r != 0)
		return r == -ENOMEM ? r : -EINVAL;
	return input_open_rest(in);
}

size_t input_layout(struct input *in, trace_event_id_t id, char layout[LAYOUT_TEXT_SIZE])
{
	size_t length = eventtype_possible(id) ? in->layout[id].length : 0;

	/* Another process may have changed the file since the frame was read. */
	if (length == 0 || !get(in, layout, length, in->layout[id].at) || memchr(layout, 0, length))
		return 0;
	layout[length] = 0;
	return length;
}

void input_close(struct input *in)
{
	if (in->name)
		sys_unmap(in->name, NAMES_SIZE);
	if (in->layout)
		sys_unmap(in->layout, LAYOUTS_SIZE);
	if (in->unpack)
		sys_unmap(in->unpack, sizeof *in->unpack);
	if (in->body)
		sys_unmap(in->body, in->body_size);
	in->name = NULL;
	in->layout = NULL;
	in->unpack = NULL;
	in->body = NULL;
}

/* -- Reading ------------------------------------------------------------------------------------ */

static void enter_slot(struct input *in, uint32_t slot)
{
	struct frame f;

	in->position = (struct input_position){ .slot = slot };
	if (slot < in->slots && get_frame(in, &f, in->slot[slot], in->size) && f.kind == FRAME_SLOT) {
		uint64_t begin = in->slot[slot] + FRAME_BYTES;

		in->position.at = begin;
		in->position.end = in->size - begin < f.size ? in->size : begin + f.size;
	}
}

void input_rewind(struct input *in)
{
	/* In a LOOP log the number of the oldest segment is unknown. */
	in->expected = in->header.attr.log_policy == POSIX_TRACE_LOOP ? 0 : 1;
	in->patience = VAIN_MAX;
	in->gaps = 0;
	in->last = 0;
	in->end_reported = in->unwritten == 0;
	in->at_end = in->cut = false;
	in->segment = (struct frame){ 0 };
	in->unpack->at = in->unpack->end = NULL;
	if (in->header.attr.log_policy == POSIX_TRACE_LOOP)
		enter_slot(in, 0);
	else
		in->position = (struct input_position){ .at = in->begin, .end = in->size };
}

/* Counts a segment whose body cannot be read, unless a copy of it was counted. */
static void add_to_hole(struct input_hole *h, const struct frame *f)
{
	if (f->number <= h->last.number)
		return;
	h->known++;
	h->events += f->events;
	h->lost += f->lost;
	h->last = *f;
}

/* Finds the next segment in a log without slots. Returns false if there is none. */
static bool next_in_file(struct input *in, struct frame *f, uint64_t *at)
{
	struct input_position *p = &in->position;
	uint64_t skipped = 0, from = p->at;

	while (next_frame(in, f, &p->at, p->end, &skipped)) {
		*at = p->at;
		p->at += frame_bytes(f->size);
		from = p->at;
		if (is_segment(f) && f->number >= in->expected)
			return true;
	}
	/* What a segment had that the end of the file has cut off is known from its frame. */
	in->cut = true;
	if (next_frame(in, f, &from, p->end, &skipped) && is_segment(f) && f->number >= in->expected)
		add_to_hole(&in->hole, f);
	in->cut = false;
	p->at = p->end;
	return false;
}

/* Finds the segment at this position of a slot. */
static bool follows_in_slot(struct input *in, struct frame *f)
{
	const struct input_position *p = &in->position;

	return get_frame(in, f, p->at, p->end) && is_segment(f) &&
	       (p->follows ? f->number == p->follows : f->number >= in->expected);
}

static bool next_in_slots(struct input *in, struct frame *f, uint64_t *at)
{
	while (in->position.slot < in->slots) {
		struct input_position *p = &in->position;

		if (follows_in_slot(in, f)) {
			*at = p->at;
			p->at += frame_bytes(f->size);
			p->follows = f->number + 1;
			return true;
		}
		in->cut = p->end == in->size;
		if (in->cut && follows_in_slot(in, f))
			add_to_hole(&in->hole, f);
		in->cut = false;
		enter_slot(in, p->slot + 1);
	}
	return false;
}

/* Sums up the losses in a slot's valid frames, without reading their bodies. */
static uint64_t lost_in_slot(struct input *in, uint64_t slot)
{
	uint64_t at = slot + FRAME_BYTES, follows = 0, lost = 0;
	struct frame f;

	while (get_frame(in, &f, at, in->size) && is_segment(&f) && (!follows || f.number == follows)) {
		lost += f.lost;
		follows = f.number + 1;
		at += frame_bytes(f.size);
	}
	return lost;
}

uint64_t input_lost_early(struct input *in)
{
	uint64_t lost = 0;

	if (in->header.attr.log_policy != POSIX_TRACE_LOOP)
		return 0;
	for (uint32_t i = 0; i < in->slots; i++)
		lost += lost_in_slot(in, in->slot[i]);
	return in->lost > lost ? in->lost - lost : 0;
}

/* Ends a hole before the valid segment of this number. A damaged segment is not missing if this is a valid copy. */
static void end_hole(struct input *in, uint64_t number)
{
	struct input_hole *h = &in->hole;

	if (h->known && h->last.number >= number) {
		h->known--;
		h->events -= h->last.events;
		h->lost -= h->last.lost;
	}
	h->missing = in->expected ? number - in->expected : h->known;
	if (h->missing == 0)
		*h = (struct input_hole){ 0 };
}

/* Begins the next valid segment. Returns false if there is none. */
static bool next_segment(struct input *in)
{
	bool loop = in->header.attr.log_policy == POSIX_TRACE_LOOP, hole;
	struct frame f;
	uint64_t at;

	if (in->at_end)
		return false;
	in->hole = (struct input_hole){ 0 };
	while (loop ? next_in_slots(in, &f, &at) : next_in_file(in, &f, &at)) {
		if (!get_body(in, &f, at) || !unpack_begin(in->unpack, &f, in->body)) {
			add_to_hole(&in->hole, &f);
			continue;
		}
		hole = in->expected != 0 && f.number != in->expected;
		end_hole(in, f.number);
		in->segment = f;
		in->expected = f.number + 1;
		/* A log with more valid bytes may also have more invalid ones. */
		in->patience += 2 * (uint64_t)f.size;
		if (hole && (in->last || !loop)) {
			uint64_t created = attr_created(&in->header.attr);

			in->gap[0] = (struct log_event){ .id = POSIX_TRACE_RESUME, .time = f.first };
			in->gap[1] = (struct log_event){ .id = POSIX_TRACE_OVERFLOW,
				                         .time = in->last ? in->last : created };
			in->gaps = 2;
		}
		return true;
	}
	in->hole.missing = in->hole.known;
	in->at_end = true;
	return false;
}

const struct log_event *input_next_elsewhere(struct input *in, const unsigned char **data)
{
	const struct log_event *e;

	do {
		if (in->gaps) {
			*data = NULL;
			return &in->gap[--in->gaps];
		}
		e = unpack_next(in->unpack, data);
		if (e) {
			in->last = e->time;
			return e;
		}
	} while (next_segment(in));
	/* Events are missing at the end, and no segment follows that could show it. */
	if (!in->end_reported) {
		uint64_t created = attr_created(&in->header.attr);

		in->end_reported = true;
		in->gap[0] = (struct log_event){ .id = POSIX_TRACE_OVERFLOW, .time = in->last ? in->last : created };
		*data = NULL;
		return &in->gap[0];
	}
	return NULL;
}
