/*
 * verify.c - a log, frame by frame, and all that is wrong with it
 *
 * SPDX-License-Identifier: MIT
 */
#include "check/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check/index.h"
#include "log/labels.h"
#include "logs/logfile.h"

/*
 * Limit of bytes in bodies that are not events, besides twice what the file occupies on its disk. A sparse file can
 * have any number of bodies, and cost nothing (H26).
 */
#define VAIN_MAX (UINT64_C(256) << 20)

/* Marks the finding as one about this segment. Does not set the number of missing events. */
static void about(const struct frame *f, struct finding *finding)
{
	finding->segment = finding->last_segment = f->number;
}

/* -- Segments --------------------------------------------------------------------------------- */

static void read_events(struct verify *v, const struct frame *f, uint64_t at)
{
	const struct log_event *e;
	const unsigned char *data;
	uint64_t time = 0;

	while ((e = unpack_next(&v->unpack, &data))) {
		v->late += e->time < time;
		v->system += eventtype_system(e->id);
		time = e->time;
		if (!v->used[e->id].segment) {
			v->used[e->id].offset = at;
			v->used[e->id].segment = f->number;
		}
	}
}

static bool segment_body(struct verify *v, const struct frame *f, uint64_t at)
{
	struct finding *finding;
	const unsigned char *body;
	char what[40];

	snprintf(what, sizeof what, "segment %" PRIu64, f->number);
	body = verify_body(v, f, at, what);
	if (body && unpack_begin(&v->unpack, f, body)) {
		v->patience += f->size;
		read_events(v, f, at);
		v->events += f->events;
		v->segments++;
		if (!v->begin || f->first < v->begin)
			v->begin = f->first;
		if (f->last > v->end)
			v->end = f->last;
		return true;
	}
	if (body) {
		finding = verify_add(v, FINDING_CONTENT, at, "%s: the checksum matches, but the events are invalid",
		                     what);
		finding->segment = finding->last_segment = f->number;
		finding->events = f->events;
	}
	v->bad_events += f->events;
	return false;
}

/*
 * Checks that events are not older than those of the segment before. A single event may be late: its thread was held up
 * in a trace point.
 */
static void check_time(struct verify *v, const struct frame *f, uint64_t at)
{
	if (f->events > 1 && f->last < v->last)
		about(f, verify_add(v, FINDING_TIME, at,
		                    "segment %" PRIu64 ": its events are older than those of the segment before",
		                            f->number));
	else if (f->events && f->first < v->last)
		v->late++;
	if (f->last > v->last)
		v->last = f->last;
}

/* Counts a segment. Returns false if its body is damaged. */
static bool add_segment(struct verify *v, const struct frame *f, uint64_t at)
{
	v->lost += f->lost;
	v->lost_saturated |= f->lost == UINT32_MAX;
	return segment_body(v, f, at);
}

/*
 * Adds a finding for bytes since the last segment that are not frames, or for missing segments. number: of the next
 * segment; 0: the log ends here.
 */
static void end_hole(struct verify *v, uint64_t at, uint64_t number)
{
	bool missing = number && v->expected && number > v->expected;
	struct finding *f = NULL;

	if (v->hole_size) {
		f = verify_add(v, FINDING_FRAME, v->hole, v->hole + v->hole_size == v->size && !v->has_index ?
		               "the frames end here; the %" PRIu64
		               " bytes after them are damaged, unfinished, or of an older log" :
		               "%" PRIu64 " bytes that are not a frame of this log", v->hole_size);
		f->size = v->hole_size;
		f->events = missing || !number ? EVENTS_UNKNOWN : 0;
	} else if (missing) {
		f = verify_add(v, FINDING_SEQUENCE, at, "before it %s missing",
		               number == v->expected + 1 ? "a segment is" : "segments are");
		f->events = EVENTS_UNKNOWN;
	}
	if (f && missing) {
		f->segment = v->expected;
		f->last_segment = number - 1;
	}
	if (missing)
		*(struct verify_gap *)verify_append(&v->gap, sizeof(struct verify_gap)) =
			(struct verify_gap){ v->expected, number - 1 };
	v->hole_size = 0;
}

/* Returns whether the segment of this number, which is before the last valid one, was missing there. */
static bool was_missing(const struct verify *v, uint64_t number)
{
	const struct verify_gap *gap = v->gap.item;
	size_t low = 0, high = v->gap.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (gap[middle].last < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < v->gap.count && gap[low].first <= number;
}

/* Forgets the damage of the last segment, because another copy of the segment follows. */
static void replace(struct verify *v)
{
	struct finding *f = v->finding.item;

	v->bad_events -= v->bad_number_events;
	for (size_t i = v->finding.count; i > 0 && i + 4 > v->finding.count; i--)
		if (f[i - 1].segment == v->bad_number && f[i - 1].last_segment == v->bad_number)
			f[i - 1].events = 0;
	v->bad_number = v->bad_number_events = 0;
}

/* Handles a segment in a log without slots. */
static void in_file(struct verify *v, const struct frame *f, uint64_t at)
{
	end_hole(v, at, f->number);
	if (f->number == 0 || f->number == UINT64_MAX || f->number < v->least) {
		about(f, verify_add(v, FINDING_SEQUENCE, at,
		                    "segment %" PRIu64 " where %" PRIu64 " should be: it is ignored",
		                    f->number, v->expected));
		if (was_missing(v, f->number))
			v->bad_events += f->events;
		return;
	}
	if (f->number == v->bad_number)
		replace(v);
	v->expected = f->number + 1;
	check_time(v, f, at);
	if (add_segment(v, f, at)) {
		v->least = v->expected;
	} else {
		v->bad_number = f->number;
		v->bad_number_events = f->events;
	}
}

/* -- Slots ------------------------------------------------------------------------------------ */

/* Returns the offset where the slot ends. A slot that contains the index ends before it. */
static uint64_t slot_end(const struct verify *v, uint64_t at, const struct frame *f)
{
	uint64_t begin = at + FRAME_BYTES, end = v->size - begin < f->size ? v->size : begin + f->size;

	return v->index_at >= begin && v->index_at < end ? v->index_at : end;
}

/*
 * Reads the slot's segments while their numbers are consecutive. Returns the offset of the next frame after the slot.
 */
static uint64_t in_slot(struct verify *v, const struct frame *slot, uint64_t at)
{
	uint64_t end = slot_end(v, at, slot);
	struct verify_slot *s = verify_append(&v->slot, sizeof *s);
	struct frame f;

	*s = (struct verify_slot){ .offset = at, .end = at + FRAME_BYTES, .events = v->events, .system = v->system,
	                           .segments = v->segments };
	v->last = 0;
	while (s->end + FRAME_BYTES <= end && verify_frame(v, s->end, &f) && f.kind == FRAME_SEGMENT && f.number > 0 &&
	       f.number < UINT64_MAX && (!s->first_number || f.number == s->next_number) &&
	       f.size <= end - s->end - FRAME_BYTES) {
		if (!s->first_number) {
			s->first_number = f.number;
			s->first = f.first;
		}
		s->next_number = f.number + 1;
		check_time(v, &f, s->end);
		if (add_segment(v, &f, s->end))
			s->least = s->next_number;
		s->end += frame_bytes(f.size);
	}
	s->last = v->last;
	s->events = v->events - s->events;
	s->system = v->system - s->system;
	s->segments = v->segments - s->segments;
	if (v->index_at == end)
		return end;
	/* The last slot may end with the file: the bytes after its segments are or were the index. */
	return at + frame_bytes(slot->size) <= v->size ? at + frame_bytes(slot->size) : s->end;
}

/* -- The other frames ------------------------------------------------------------------------- */

static void types(struct verify *v, const struct frame *f, uint64_t at)
{
	const unsigned char *p = verify_body(v, f, at, "TYPES"), *end;

	*(uint64_t *)verify_append(&v->frame, sizeof(uint64_t)) = at;
	if (!p)
		return;
	end = p + f->size;
	while (p < end) {
		if (end - p < 3 || end - p < 3 + p[2] || p[2] > TRACE_EVENT_NAME_MAX || !eventtype_possible(get16(p))) {
			verify_add(v, FINDING_CONTENT, at,
			           "TYPES: the checksum matches, but the list of event types is invalid");
			return;
		}
		v->named[get16(p)] = true;
		p += 3 + p[2];
	}
}

static void layouts(struct verify *v, const struct frame *f, uint64_t at)
{
	const unsigned char *p = verify_body(v, f, at, "LAYOUTS"), *end;

	*(uint64_t *)verify_append(&v->frame, sizeof(uint64_t)) = at;
	if (!p)
		return;
	end = p + f->size;
	while (p < end) {
		if (end - p < 4 || end - p < 4 + get16(p + 2) || get16(p + 2) >= LAYOUT_TEXT_SIZE ||
		    !eventtype_possible(get16(p))) {
			verify_add(v, FINDING_CONTENT, at,
			           "LAYOUTS: the checksum matches, but the list of layouts is invalid");
			return;
		}
		p += 4 + get16(p + 2);
	}
}

static void count_label(const char *key, size_t key_length, const char *value, size_t value_length, void *arg)
{
	*(size_t *)arg += 4 + key_length + value_length;
	(void)key;
	(void)value;
}

static void labels(struct verify *v, const struct frame *f, uint64_t at)
{
	const unsigned char *body = verify_body(v, f, at, "LABELS");
	size_t valid = 0;

	*(uint64_t *)verify_append(&v->frame, sizeof(uint64_t)) = at;
	if (!body)
		return;
	labels_each(body, f->size, count_label, &valid);
	if (valid != f->size)
		verify_add(v, FINDING_CONTENT, at, "LABELS: the checksum matches, but a label is invalid");
}

static void clock_frame(struct verify *v, const struct frame *f, uint64_t at)
{
	const struct clock_layout *l = (const struct clock_layout *)verify_body(v, f, at, "CLOCK");

	*(struct verify_clock *)verify_append(&v->clock, sizeof(struct verify_clock)) =
		(struct verify_clock){ at, f->number };
	if (!l)
		return;
	if (f->size < CLOCK_BYTES || l->reason < CLOCK_BEGIN || l->reason > CLOCK_END || l->known > 1)
		verify_add(v, FINDING_CONTENT, at, "CLOCK: the checksum matches, but the contents are invalid");
}

/* Returns the byte after a path, or null if the path is cut off or contains a null byte. */
static const unsigned char *skip_path(const unsigned char *p, const unsigned char *end)
{
	return p && end - p >= 2 && end - p - 2 >= get16(p) && !memchr(p + 2, 0, get16(p)) ? p + 2 + get16(p) : NULL;
}

static const unsigned char *skip_string(const unsigned char *p, const unsigned char *end)
{
	return p && end - p >= 2 && end - p - 2 >= get16(p) ? p + 2 + get16(p) : NULL;
}

static void process(struct verify *v, const struct frame *f, uint64_t at)
{
	const unsigned char *body, *end, *p;
	uint32_t count;

	*(uint64_t *)verify_append(&v->frame, sizeof(uint64_t)) = at;
	if (f->size > PROCESS_BODY_MAX) {
		verify_add(v, FINDING_CONTENT, at, "PROCESS: its body has %u bytes, but %u is the most", f->size,
		           PROCESS_BODY_MAX);
		return;
	}
	body = verify_body(v, f, at, "PROCESS");
	if (!body)
		return;
	end = body + f->size;
	count = f->size >= 16 ? get32(body + 4) : 0;
	p = f->size >= 16 ? skip_path(body + 16, end) : NULL;
	for (uint32_t i = 0; p && i < count; i++) {
		p = end - p >= 24 ? skip_path(p + 24, end) : NULL;
		p = skip_string(p, end);
	}
	if (!p)
		verify_add(v, FINDING_CONTENT, at,
		           "PROCESS: the checksum matches, but the list of mappings is invalid");
}

/* Returns the offset of the next frame: the end of the file, unless the log continues after its FOOTER. */
static uint64_t footer(struct verify *v, const struct frame *f, uint64_t at)
{
	uint64_t end = at + FRAME_BYTES, next = end;
	struct frame more;

	v->has_footer = true;
	if (f->number != v->index_at || !v->index_at)
		verify_add(v, FINDING_INDEX, at, "FOOTER: the index should be at offset %" PRIu64 ", but is not there",
		           f->number);
	if (end == v->size)
		return end;
	if (!verify_search(v, &next, &more)) {
		verify_add(v, FINDING_END, end, "%" PRIu64 " bytes after the end of the log",
		           v->size - end)->size = v->size - end;
		return v->size;
	}
	verify_add(v, FINDING_END, end, "the log continues after its end, at offset %" PRIu64, next)->size = next - end;
	return next;
}

/* Returns the offset of the next frame. */
static uint64_t frame(struct verify *v, const struct frame *f, uint64_t at)
{
	switch (f->kind) {
	case FRAME_TYPES:
		types(v, f, at);
		break;
	case FRAME_LAYOUTS:
		layouts(v, f, at);
		break;
	case FRAME_PROCESS:
		process(v, f, at);
		break;
	case FRAME_LABELS:
		labels(v, f, at);
		break;
	case FRAME_CLOCK:
		clock_frame(v, f, at);
		break;
	case FRAME_SLOT:
		/* Without a header, the first SLOT shows that the log has the policy LOOP. */
		v->loop |= !v->has_header;
		if (v->loop)
			return in_slot(v, f, at);
		verify_add(v, FINDING_FRAME, at, "a SLOT in a log without slots")->events = EVENTS_UNKNOWN;
		break;
	case FRAME_SEGMENT:
		if (v->loop)
			verify_add(v, FINDING_FRAME, at, "segment %" PRIu64 " outside of a slot: it is ignored",
			           f->number);
		else
			in_file(v, f, at);
		break;
	case FRAME_INDEX: {
		const unsigned char *body = verify_body(v, f, at, "INDEX");

		if (body)
			verify_index(v, f, at);
		break;
	}
	case FRAME_SUM:
		if (verify_body(v, f, at, "SUM"))
			verify_sum(v, f, at);
		break;
	case FRAME_FOOTER:
		return footer(v, f, at);
	case FRAME_HEADER:
		verify_add(v, FINDING_FRAME, at, "a HEADER in the middle of the log");
		break;
	default:
		verify_body(v, f, at, "a frame of a kind unknown to this version");
		verify_add(v, FINDING_FRAME, at, "a frame of kind %u, unknown to this version", f->kind)->note = true;
	}
	return at + frame_bytes(f->size);
}

/* -- The whole log ---------------------------------------------------------------------------- */

static void say_header(struct verify *v, const unsigned char *body, size_t size)
{
	if (size < HEADER_FIXED || memcmp(body, FORMAT_MAGIC, sizeof FORMAT_MAGIC - 1) != 0)
		verify_add(v, FINDING_HEADER, 0, "HEADER: it does not begin like the header of a log");
	else if (get16(body + 16) != FORMAT_MAJOR)
		verify_add(v, FINDING_HEADER, 0, "HEADER: format %u.%u; this version reads %u", get16(body + 16),
		           get16(body + 18), FORMAT_MAJOR);
	else if (body[20] != FORMAT_ORDER)
		verify_add(v, FINDING_HEADER, 0, "HEADER: the log is from a machine with another byte order");
	else
		verify_add(v, FINDING_HEADER, 0, "HEADER: the checksum matches, but the contents are invalid");
}

/* Returns the offset of the first frame after the header. */
static uint64_t header(struct verify *v)
{
	const unsigned char *body;
	struct frame f;

	if (!verify_frame(v, 0, &f) || f.kind != FRAME_HEADER || !verify_fits(v, 0, &f)) {
		uint64_t next = FRAME_ALIGN;

		if (!verify_search(v, &next, &f))
			next = v->size;
		verify_add(v, FINDING_HEADER, 0,
		           "HEADER: not a frame; without a header the log cannot be opened")->size = next;
		return next;
	}
	v->log = f.log;
	body = verify_body(v, &f, 0, "HEADER");
	if (body && header_get(&v->header, body, f.size)) {
		v->has_header = true;
		v->minor = get16(body + 18);
		v->loop = v->header.attr.log_policy == POSIX_TRACE_LOOP;
		v->expected = v->loop ? 0 : 1;
	} else if (body) {
		say_header(v, body, f.size);
	}
	return frame_bytes(f.size);
}

/* Finds the index before the frames are read: the index may be inside of the last slot. */
static void find_index(struct verify *v)
{
	struct frame foot, index;

	if (v->size % FRAME_ALIGN == 0 && v->size >= FRAME_BYTES && verify_frame(v, v->size - FRAME_BYTES, &foot) &&
	    foot.kind == FRAME_FOOTER && verify_frame(v, foot.number, &index) && index.kind == FRAME_INDEX) {
		v->index_at = foot.number;
		v->log = foot.log;
	}
}

/* Adds a finding for a frame whose body goes beyond the end of the file. */
static void cut_off(struct verify *v, const struct frame *f, uint64_t at)
{
	uint64_t there = v->size - at - FRAME_BYTES;
	struct finding *finding;

	if (f->kind != FRAME_SEGMENT) {
		verify_add(v, FINDING_END, at, "the file ends in the middle of a frame, %" PRIu64 " bytes too early",
		           f->size - there);
		return;
	}
	finding = verify_add(v, FINDING_END, at,
	                     "the file ends in the middle of segment %" PRIu64 ", %" PRIu64 " bytes too early",
	                     f->number, f->size - there);
	about(f, finding);
	finding->events = f->events;
	v->bad_events += f->events;
	v->torn_events = f->events;
}

static void walk(struct verify *v, uint64_t at)
{
	struct frame f;

	while (at < v->size) {
		uint64_t from = at;

		if (verify_frame(v, at, &f) && !verify_fits(v, at, &f)) {
			end_hole(v, at, f.kind == FRAME_SEGMENT ? f.number : 0);
			cut_off(v, &f, at);
			return;
		}
		if (!verify_frame(v, at, &f)) {
			bool found = verify_search(v, &at, &f);

			if (v->hole_size)
				end_hole(v, from, 0);
			v->hole = from;
			v->hole_size = (found ? at : v->size) - from;
			if (!found)
				break;
			/*
			 * The number of the next segment shows which segments are missing; in a LOOP log, only all
			 * slots together do.
			 */
			if (v->loop)
				end_hole(v, from, 0);
		}
		v->log = f.log;
		at = frame(v, &f, at);
	}
	end_hole(v, v->size, 0);
}

static int by_offset(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

struct verify *verify_log(int fd, uint64_t size)
{
	struct verify *v = calloc(1, sizeof *v);
	struct stat st;
	uint64_t at;

	if (!v)
		return NULL;
	v->fd = fd;
	v->size = size;
	v->patience = VAIN_MAX + (fstat(fd, &st) == 0 ? 2 * 512 * (uint64_t)st.st_blocks : 0);
	for (unsigned i = 0; i < EVENTTYPE_PREDEFINED; i++)
		v->named[eventtype_predefined(i)] = true;
	at = header(v);
	find_index(v);
	walk(v, at);
	verify_whole(v);
	if (v->finding.count)
		qsort(v->finding.item, v->finding.count, sizeof(struct finding), by_offset);
	return v;
}

void verify_free(struct verify *v)
{
	free(v->finding.item);
	free(v->frame.item);
	free(v->slot.item);
	free(v->clock.item);
	free(v->gap.item);
	free(v->index);
	free(v->window);
	free(v);
}
