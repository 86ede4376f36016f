/*
 * index.c - what the index of a log, and its frames among themselves, say of the whole
 *
 * SPDX-License-Identifier: MIT
 */
#include "check/index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"

/* Returns how many bytes follow the lists of an INDEX. */
static unsigned behind_lists(unsigned minor)
{
	return minor >= 4 ? INDEX_BEHIND : minor == 3 ? 16 : minor > 0 ? 8 : 0;
}

void verify_index(struct verify *v, const struct frame *f, uint64_t at)
{
	const unsigned char *body = verify_bytes(v, at + FRAME_BYTES, f->size);
	uint64_t lists;

	if (v->has_index) {
		verify_add(v, FINDING_INDEX, at, "INDEX: the log has a second one");
		return;
	}
	lists = 0;
	if (body && f->size >= INDEX_FIXED)
		lists = 8 * ((uint64_t)get32(body + 32) + get32(body + 36)) + MARK_BYTES * (uint64_t)get32(body + 40);
	/* A later version of the format may have appended fields. */
	if (!body || f->size < INDEX_FIXED || get32(body + 32) > LOG_SLOTS || INDEX_FIXED + lists > f->size ||
	    (v->has_header && v->minor <= FORMAT_MINOR &&
	     INDEX_FIXED + lists + behind_lists(v->minor) != f->size)) {
		verify_add(v, FINDING_CONTENT, at, "INDEX: its checksum matches, but its lists are invalid");
		return;
	}
	v->index = malloc(f->size);
	if (!v->index)
		fail("no memory");
	memcpy(v->index, body, f->size);
	v->index_size = f->size;
	v->has_index = v->ended = true;
	v->index_at = at;
	v->index_events = get64(body);
	v->index_lost = get64(body + 8);
	v->index_discarded = get64(body + 16);
	v->index_error = get32(body + 28);
	v->unwritten = INDEX_FIXED + lists + 8 <= f->size ? get64(body + INDEX_FIXED + lists) : 0;
	v->left_out = INDEX_FIXED + lists + 16 <= f->size ? get64(body + INDEX_FIXED + lists + 8) : 0;
	v->index_clock = INDEX_FIXED + lists + INDEX_BEHIND <= f->size ? get64(body + INDEX_FIXED + lists + 16) : 0;
}

void verify_sum(struct verify *v, const struct frame *f, uint64_t at)
{
	const unsigned char *body = verify_bytes(v, at + FRAME_BYTES, f->size);

	if (v->has_sum) {
		verify_add(v, FINDING_FRAME, at, "SUM: the log has a second one");
		return;
	}
	if (!body || f->size < SUM_BYTES) {
		verify_add(v, FINDING_CONTENT, at, "SUM: its checksum matches, but its size is invalid");
		return;
	}
	memcpy(v->sum, body, SUM_BYTES);
	v->has_sum = true;
}

/* Takes the totals of the last SUM frame, for a log whose creator did not write an index. */
static void take_sum(struct verify *v)
{
	v->unwritten = get64(v->sum + 24);
	v->index_error = get32(v->sum + 36);
	if (!(get32(v->sum + 48) & 1))
		return;
	v->ended = true;
	v->index_events = get64(v->sum);
	v->index_lost = get64(v->sum + 8);
	v->index_discarded = get64(v->sum + 16);
	v->left_out = get64(v->sum + 56);
}

/* Compares the INDEX with a SUM that was also written at the end. */
static void compare_sum(struct verify *v)
{
	if (!(get32(v->sum + 48) & 1))
		return;
	if (get64(v->sum + 56) != v->left_out)
		verify_add(v, FINDING_INDEX, v->index_at,
		           "INDEX: %" PRIu64 " events did not match --where, but SUM counts %" PRIu64, v->left_out,
		           get64(v->sum + 56));
	if (get64(v->sum + 24) == v->unwritten)
		return;
	verify_add(v, FINDING_INDEX, v->index_at,
	           "INDEX: %" PRIu64 " events could not be written, but SUM counts %" PRIu64, v->unwritten,
	           get64(v->sum + 24));
	v->unwritten = get64(v->sum + 24);
}

/*
 * Adds the events that could not be written. If the creator did not end the log, the segment in whose middle the file
 * ends is among them, and was counted.
 */
static void add_unwritten(struct verify *v)
{
	uint64_t counted = v->ended ? 0 : v->torn_events;
	struct finding *f;

	if (v->unwritten <= counted)
		return;
	f = verify_add(v, FINDING_UNWRITTEN, v->size, "%s could not be written%s%s%s",
	               v->ended ? "the end" : "the end, or more than that,",
	               v->index_error ? ": " : "", v->index_error ? strerror((int)v->index_error) : "",
	                       v->ended ? "" : "; at least so many");
	f->events = v->unwritten - counted;
	if (v->missing != EVENTS_UNKNOWN)
		v->missing += v->unwritten - counted;
}

static struct finding *finding(struct verify *v, size_t i)
{
	return (struct finding *)v->finding.item + i;
}

/* -- Damage that was reported already ------------------------------------------------------------------- */

/* A damaged range of the file. to: the highest end of all ranges up to this one. */
struct range {
	uint64_t from, to;
};

static int by_begin(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Collects the damaged ranges, sorted for a binary search: a hostile log may have any number of offsets to look up. */
static void find_damage(const struct verify *v, struct verify_list *damage)
{
	struct range *r;

	*damage = (struct verify_list){ NULL, 0 };
	for (size_t i = 0; i < v->finding.count; i++) {
		const struct finding *f = verify_finding(v, i);

		if (f->size)
			*(struct range *)verify_append(damage, sizeof *r) =
				(struct range){ f->offset, f->offset + f->size };
	}
	r = damage->item;
	if (damage->count)
		qsort(r, damage->count, sizeof *r, by_begin);
	for (size_t i = 1; i < damage->count; i++)
		if (r[i].to < r[i - 1].to)
			r[i].to = r[i - 1].to;
}

static bool damaged(const struct verify_list *damage, uint64_t offset)
{
	const struct range *r = damage->item;
	size_t low = 0, high = damage->count;

	/* Find the last range that begins at or before the offset. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r[middle].from <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && offset < r[low - 1].to;
}

/* -- Slots --------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	const struct verify_slot *x = a, *y = b;

	return x->first_number < y->first_number ? -1 : x->first_number > y->first_number;
}

/*
 * Returns the next finding, from the *at-th on, about bytes that are not frames and whose missing events are unknown.
 * Returns null if there is none.
 */
static struct finding *unexplained(struct verify *v, size_t *at)
{
	for (; *at < v->finding.count; ++*at)
		if (finding(v, *at)->kind == FINDING_FRAME && finding(v, *at)->events == EVENTS_UNKNOWN &&
		    !finding(v, *at)->segment)
			return finding(v, *at);
	return NULL;
}

static void between(struct verify *v, const struct verify_slot *before, const struct verify_slot *s, size_t *explained)
{
	if (s->first_number > before->next_number) {
		struct finding *f = unexplained(v, explained);

		if (!f)
			f = verify_add(v, FINDING_SEQUENCE, before->end,
			               "here the segments of the slot at offset %" PRIu64 " end, too early",
			                       before->offset);
		f->segment = before->next_number;
		f->last_segment = s->first_number - 1;
		f->events = EVENTS_UNKNOWN;
	}
	/* A slot with a single event may be older: the event may be late. */
	if (s->events > 1 && s->last < before->last)
		verify_add(v, FINDING_TIME, s->offset, "the slot's events are older than those of the slot before");
	else if (s->first < before->last)
		v->late++;
}

static void check_slots(struct verify *v)
{
	struct verify_slot *slot = v->slot.item, *before = NULL;
	size_t n = v->slot.count, explained = 0;
	uint64_t least = 0;

	if (n == 0)
		return;
	qsort(slot, n, sizeof *slot, by_number);
	for (size_t i = 0; i < n && !slot[i].first_number; i++) {
		struct finding *f = verify_add(v, FINDING_FRAME, slot[i].end,
		                               "the slot has no segment at its beginning");

		f->events = EVENTS_UNKNOWN;
		f->size = FRAME_BYTES;
	}
	for (size_t i = 0; i < n; i++) {
		if (!slot[i].first_number)
			continue;
		if (slot[i].first_number < least) {
			verify_add(v, FINDING_SEQUENCE, slot[i].offset,
			           "the slot begins with segment %" PRIu64 ", which is also in another slot",
			           slot[i].first_number);
			v->events -= slot[i].events;
			v->system -= slot[i].system;
			v->segments -= slot[i].segments;
			continue;
		}
		if (before)
			between(v, before, &slot[i], &explained);
		before = &slot[i];
		if (slot[i].least)
			least = slot[i].least;
	}
}

/* -- What the index lists ----------------------------------------------------------------------------------- */

/* After this many findings of one kind, the rest is only counted. */
#define WRONG_MAX 100

static void and_more(struct verify *v, uint32_t wrong, const char *what)
{
	if (wrong > WRONG_MAX)
		verify_add(v, FINDING_INDEX, v->index_at, "INDEX: and so %u more %s", wrong - WRONG_MAX, what);
}

static int compare_offsets(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Returns whether the list of offsets, which is sorted, has this offset. */
static bool has_offset(const struct verify_list *list, uint64_t offset)
{
	return list->count && bsearch(&offset, list->item, list->count, sizeof offset, compare_offsets);
}

static void check_frames(struct verify *v, const struct verify_list *damage, const unsigned char *list, uint32_t count)
{
	const uint64_t *at = v->frame.item;
	uint32_t wrong = 0, again = 0;
	uint64_t before = 0;
	size_t known = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t offset = get64(list + 8 * i);

		again += offset <= before;
		before = offset > before ? offset : before;
		if (known < v->frame.count && at[known] == offset)
			known++;
		else if (!has_offset(&v->frame, offset) && !damaged(damage, offset) && ++wrong <= WRONG_MAX)
			verify_add(v, FINDING_INDEX, v->index_at,
			           "INDEX: no TYPES, PROCESS, LAYOUTS or LABELS at offset %" PRIu64 ", where it says",
			           offset);
	}
	and_more(v, wrong, "frames that describe");
	if (again)
		verify_add(v, FINDING_INDEX, v->index_at,
		           "INDEX: of the frames that describe that it lists, %u are there twice, or out of order",
		           again);
	if (count < v->frame.count)
		verify_add(v, FINDING_INDEX, v->index_at, "INDEX: it lists %u frames that describe, there are %zu",
		           count, v->frame.count);
}

static void check_slot_list(struct verify *v, const struct verify_list *damage, const unsigned char *list,
                            uint32_t count)
{
	const struct verify_slot *slot = v->slot.item;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t offset = get64(list + 8 * i);
		size_t k = 0;

		while (k < v->slot.count && slot[k].offset != offset)
			k++;
		if (k == v->slot.count && !damaged(damage, offset))
			verify_add(v, FINDING_INDEX, v->index_at, "INDEX: no slot at offset %" PRIu64 ", where it says",
			           offset);
		else if (k < v->slot.count && v->slot.count == count && k != i && slot[0].first_number)
			verify_add(v, FINDING_INDEX, v->index_at,
			           "INDEX: the slot at offset %" PRIu64 " is number %zu by age, not %u",
			           offset, k + 1, i + 1);
	}
	if (count < v->slot.count)
		verify_add(v, FINDING_INDEX, v->index_at, "INDEX: it lists %u slots, there are %zu", count,
		           v->slot.count);
}

static void check_marks(struct verify *v, const unsigned char *mark, uint32_t count)
{
	bool all = verify_problems(v) == 0;
	uint32_t wrong = 0;
	struct frame f;

	for (uint32_t i = 0; i < count; i++, mark += MARK_BYTES) {
		uint64_t offset = get64(mark), number = get64(mark + 8), first = get64(mark + 16);

		if ((verify_peek(v, offset, &f) ? f.kind != FRAME_SEGMENT || f.number != number || f.first != first :
		     all) &&
		    ++wrong <= WRONG_MAX)
			verify_add(v, FINDING_INDEX, v->index_at, "INDEX: segment %" PRIu64 " is not at offset %"
			           PRIu64 ", or does not begin when it says", number, offset);
	}
	and_more(v, wrong, "segments");
}

/* -- Events ----------------------------------------------------------------------------------------------------- */

/*
 * Returns the number that the index gives for the segment at this offset; for offset 0, for the last segment. Returns 0
 * if the index does not list the segment.
 */
static uint64_t marked(const struct verify *v, uint64_t offset)
{
	uint32_t marks = v->has_index ? get32(v->index + 40) : 0;
	uint64_t lists = marks ? 8 * ((uint64_t)get32(v->index + 32) + get32(v->index + 36)) : 0;
	const unsigned char *mark = marks ? v->index + INDEX_FIXED + lists : NULL;
	uint64_t number = 0;

	for (uint32_t i = 0; i < marks; i++, mark += MARK_BYTES)
		if (!offset || get64(mark) == offset)
			number = get64(mark + 8);
	return number;
}

/*
 * Sets which segments a finding has cost, if they were before the first or after the last remaining segment. Between
 * two segments this is known already.
 */
static void number_segments(const struct verify *v, struct finding *f)
{
	const struct verify_slot *slot = v->slot.item;
	uint64_t begin = f->kind == FINDING_FRAME ? marked(v, f->offset) : 0, last = marked(v, 0);
	uint64_t next = v->slot.count ? slot[v->slot.count - 1].next_number : v->expected;
	size_t later = 0;

	while (later < v->slot.count && slot[later].first_number <= begin)
		later++;
	if (begin) {
		f->segment = begin;
		f->last_segment = later < v->slot.count ? slot[later].first_number - 1 : last;
	} else if (next && (f->kind == FINDING_SEQUENCE || !v->slot.count || last >= next)) {
		f->segment = next;
		f->last_segment = last > next ? last : next;
	}
}

/*
 * Corrects the findings when the totals show that no event is missing: the file was emptied while it was written, and
 * the earlier segments were dropped on purpose.
 */
static void nothing_missing(struct verify *v)
{
	for (size_t i = 0; i < v->finding.count; i++) {
		struct finding *f = finding(v, i);

		if (f->events != EVENTS_UNKNOWN)
			continue;
		f->events = 0;
		f->note |= f->kind == FINDING_SEQUENCE && f->segment == 1;
	}
}

/* Assigns missing events, which no finding accounts for, to the only finding with an unknown number of events. */
static void explain(struct verify *v, uint64_t missing)
{
	const struct verify_slot *newest = v->slot.count ? (struct verify_slot *)v->slot.item + v->slot.count - 1 :
	                                   NULL;
	struct finding *only = NULL;
	unsigned unknown = 0;

	v->missing = v->bad_events + missing;
	if (missing == 0) {
		nothing_missing(v);
		return;
	}
	for (size_t i = 0; i < v->finding.count; i++)
		if (finding(v, i)->events == EVENTS_UNKNOWN) {
			only = finding(v, i);
			unknown++;
		}
	if (unknown == 0) {
		only = verify_add(v, FINDING_SEQUENCE, newest ? newest->end : v->index_at,
		                  "segments that were counted at the end are not here");
		unknown = 1;
	}
	if (unknown > 1)
		return;
	only->events = missing;
	if (!only->segment)
		number_segments(v, only);
}

static void count_events(struct verify *v)
{
	uint64_t have = v->events + v->bad_events, should = v->index_events;

	if (v->ended && v->loop)
		should = v->index_events >= v->index_discarded ? v->index_events - v->index_discarded : have;
	if (v->ended && have <= should) {
		explain(v, should - have);
		return;
	}
	if (v->ended)
		verify_add(v, FINDING_INDEX, v->index_at, "%s: it counts %" PRIu64 " events, there are %" PRIu64,
		           v->has_index ? "INDEX" : "SUM", should, have);
	v->missing = v->bad_events;
	for (size_t i = 0; i < v->finding.count; i++)
		if (finding(v, i)->events == EVENTS_UNKNOWN)
			v->missing = EVENTS_UNKNOWN;
}

static void check_types(struct verify *v)
{
	for (uint32_t id = 1; id < EVENT_ID_END; id++)
		if (v->used[id].segment && !v->named[id])
			verify_add(v, FINDING_TYPE, v->used[id].offset,
			           "event type %u has no name; it is used from segment %" PRIu64 " on", id,
			           v->used[id].segment)->segment = v->used[id].segment;
}

/* Checks that each frame CLOCK, and the index, tell where the one before is. */
static void check_clocks(struct verify *v, const struct verify_list *damage)
{
	const struct verify_clock *c = v->clock.item;
	uint64_t before = 0;
	uint32_t wrong = 0;

	for (size_t i = 0; i < v->clock.count; before = c[i++].offset)
		if (c[i].before != before && !damaged(damage, c[i].before) && ++wrong <= WRONG_MAX)
			verify_add(v, FINDING_FRAME, c[i].offset, "CLOCK: the frame before it is at offset %" PRIu64
			           ", not at %" PRIu64, before, c[i].before);
	if (v->minor >= 4 && v->index_clock != before && !damaged(damage, v->index_clock))
		verify_add(v, FINDING_INDEX, v->index_at, "INDEX: the last frame CLOCK is at offset %" PRIu64
		           ", not at %" PRIu64, before, v->index_clock);
}

static void check_lists(struct verify *v)
{
	const unsigned char *list = v->index + INDEX_FIXED;
	uint32_t slots = get32(v->index + 32), frames = get32(v->index + 36), marks = get32(v->index + 40);
	struct verify_list damage;

	find_damage(v, &damage);
	check_slot_list(v, &damage, list, slots);
	check_frames(v, &damage, list + 8 * (uint64_t)slots, frames);
	check_marks(v, list + 8 * ((uint64_t)slots + frames), marks);
	check_clocks(v, &damage);
	free(damage.item);
	if (v->lost > v->index_lost && !v->lost_saturated)
		verify_add(v, FINDING_INDEX, v->index_at,
		           "INDEX: it counts %" PRIu64 " lost events, the segments %" PRIu64, v->index_lost, v->lost);
}

void verify_whole(struct verify *v)
{
	check_slots(v);
	if (v->has_index)
		check_lists(v);
	if (v->has_sum && !v->has_index)
		take_sum(v);
	else if (v->has_sum)
		compare_sum(v);
	count_events(v);
	add_unwritten(v);
	check_types(v);
	if (!v->index_at && v->ended && v->missing == v->unwritten)
		verify_add(v, FINDING_END, v->size,
		           "there is no index: either no room was left for it, or the file was cut off");
	else if (!v->index_at)
		verify_add(v, FINDING_END, v->size, "the log was not closed: it has no index");
	else if (!v->has_footer)
		verify_add(v, FINDING_END, v->size, "the end is missing: no FOOTER follows the index");
}
