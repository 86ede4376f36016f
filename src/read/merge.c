/*
 * merge.c - the records of all chunks, in the order of their times
 *
 * SPDX-License-Identifier: MIT
 */
#include "read/merge.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/wait.h"
#include "shm/chunk.h"

/* A trace point takes some 20 ns: who is BUSY for longer than these looks was interrupted. */
#define BUSY_LOOKS 300

/* How often to look at the clock. */
#define LOOKS_PER_TIME 64

static size_t memory_size(const struct stream *s)
{
	return s->chunk_count * (sizeof(struct cursor) + sizeof(struct held_up) + sizeof(uint32_t)) +
	       s->seat_count * sizeof(struct held_up);
}

static void start_clock(struct merge *m, struct anchor anchor)
{
	m->creation = m->anchor[0] = anchor;
	m->slope[0] = 0;
	m->anchors = 1;
	m->line.end = 0;
	m->told = (struct anchor){ 0, INT64_MIN };
}

int merge_init(struct merge *m, struct stream *s, struct anchor anchor)
{
	void *p = sys_map(memory_size(s), -1, 1);

	if (!p)
		return ENOMEM;
	memset(m, 0, sizeof *m);
	m->stream = s;
	m->cursor = p;
	m->held_up = (struct held_up *)(m->cursor + s->chunk_count);
	m->heap = (uint32_t *)(m->held_up + s->seat_count + s->chunk_count);
	start_clock(m, anchor);
	return 0;
}

void merge_free(struct merge *m)
{
	if (m->cursor)
		sys_unmap(m->cursor, memory_size(m->stream));
	m->cursor = NULL;
}

void merge_reset(struct merge *m, struct anchor anchor)
{
	start_clock(m, anchor);
	for (uint32_t i = 0; i < m->stream->chunk_count; i++) {
		struct chunk *c = &m->stream->chunks[i];
		struct cursor *cur = &m->cursor[i];
		/* In this order; a taker goes the other way. PAIR(recycle), PAIR(reset), PAIR(commit) */
		uint32_t first = load_acquire(&c->first), read = load_acquire(&c->read);
		uint64_t p = load_acquire(&c->progress);

		TEST_POINT("reset_progress");
		/*
		 * Where a thread is stuck in the middle of a record, the chunk could not be emptied:
		 * go past it, but know whose it is. If it goes on just now, a taker may have emptied
		 * the chunk since, and moved read further than that: it is not moved back.
		 */
		cas(&c->read, &read, progress_records(p));
		TEST_POINT("reset_past");
		cursor_resume(cur, m->stream, c);
		/* What the taker that is seen only later has overwritten was lost from here on, not from first on. */
		if (cur->first == first && cur->next != progress_records(p)) {
			cur->next = progress_records(p);
			cur->at = progress_position(p);
		}
		cur->gap_from = cur->gap_until = 0;
		cursor_said(cur, c);
	}
	m->unsaid = false;
	m->heap_count = 0;
	m->horizon = 0;
	m->waiting = false;
	m->gap_from = m->gap_until = m->unsure_until = m->taken = 0;
	m->dropped = 0;
}

void merge_resume(struct merge *m, uint64_t gap_from, uint64_t gap_until, uint64_t unsure_until)
{
	for (uint32_t i = 0; i < m->stream->chunk_count; i++)
		cursor_resume(&m->cursor[i], m->stream, &m->stream->chunks[i]);
	m->gap_from = gap_from;
	m->gap_until = gap_until;
	m->unsure_until = unsure_until;
}

static bool before(const struct merge *m, uint32_t a, uint32_t b)
{
	return m->cursor[a].head.ticks < m->cursor[b].head.ticks;
}

static void sift_up(struct merge *m, uint32_t i)
{
	uint32_t chunk = m->heap[i];

	while (i > 0 && before(m, chunk, m->heap[(i - 1) / 2])) {
		m->heap[i] = m->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	m->heap[i] = chunk;
}

static void sift_down(struct merge *m, uint32_t i)
{
	uint32_t chunk = m->heap[i], child;

	while ((child = 2 * i + 1) < m->heap_count) {
		if (child + 1 < m->heap_count && before(m, m->heap[child + 1], m->heap[child]))
			child++;
		if (!before(m, m->heap[child], chunk))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = chunk;
}

static void add_gap(struct merge *m, uint64_t from, uint64_t until)
{
	if (!m->gap_from || from < m->gap_from)
		m->gap_from = from;
	if (until > m->gap_until)
		m->gap_until = until;
}

/* What the cursor has found to be lost. */
static void add_gap_of(struct merge *m, struct cursor *cur)
{
	if (cur->gap_from) {
		add_gap(m, cur->gap_from, cur->gap_until);
		cur->gap_from = 0;
	}
}

static bool look(struct merge *m, uint32_t chunk)
{
	struct cursor *cur = &m->cursor[chunk];
	bool have = cursor_look(cur, m->stream, &m->stream->chunks[chunk]);

	add_gap_of(m, cur);
	if (cur->unsaid && m->stream->log)
		m->unsaid = true;
	else if (cur->unsaid)
		cursor_said(cur, &m->stream->chunks[chunk]);
	/* Where something was lost is not known yet: nothing is reported before refill() has seen to it. */
	if (cur->moving)
		m->horizon = 0;
	return have;
}

/* The top's record was taken or is gone: its chunk's next one, or another chunk. */
static void replace_top(struct merge *m)
{
	uint32_t chunk = m->heap[0];

	if (!look(m, chunk)) {
		m->heap[0] = m->heap[--m->heap_count];
		if (m->heap_count == 0)
			return;
	}
	sift_down(m, 0);
}

/*
 * Waits a moment for whoever is in the middle of a record: *word is who, and
 * it or the chunk's progress changes when the record is done. True if we have
 * to go on waiting: not for the dead, and not for ever.
 */
static bool holds_up(struct held_up *held, const uint32_t *word, uint32_t who, const struct chunk *c, uint32_t thread,
                     int *looks)
{
	uint64_t p = load_acquire(&c->progress); /* PAIR(commit) */
	int64_t now;

	for (; *looks > 0; --*looks) {
		/* PAIR(busy), PAIR(claim): the record that was under way at the barrier is committed. */
		if (load_acquire(word) != who || load_acquire(&c->progress) != p) {
			held->who = 0;
			return false;
		}
		spin_pause();
	}
	if (!who_lives(thread, 0))
		return false;
	now = clock_ns(CLOCK_MONOTONIC);
	if (held->who != who || held->progress != p) {
		held->who = who;
		held->progress = p;
		held->since = now;
	}
	return now - held->since < MERGE_PATIENCE_NS;
}

/* Records from here on may still come; those before are all there. */
static uint64_t look_for_writers(struct merge *m, uint64_t horizon)
{
	struct stream *s = m->stream;
	uint32_t used = load_relaxed(&s->header->seats_used);
	int looks = BUSY_LOOKS; /* at all together: who has waited for one has waited for the next */

	m->waiting = false;
	for (uint32_t i = 0; i < s->seat_count + s->chunk_count; i++) {
		const struct chunk *c;
		const uint32_t *word;
		uint32_t who, thread;

		if (i < s->seat_count) {
			if (i >= used) {
				i = s->seat_count - 1;
				continue;
			}
			word = &s->seats[i].busy;
			who = load_acquire(word); /* PAIR(busy) */
			if (who == 0 || who > s->chunk_count)
				continue;
			c = &s->chunks[who - 1];
			thread = load_relaxed(&s->seats[i].who);
		} else {
			c = &s->chunks[i - s->seat_count];
			word = &c->claim;
			who = thread = load_acquire(word); /* PAIR(claim) */
			m->held_up[i].waiting = false;
			if (who == 0)
				continue;
		}
		m->held_up[i].waiting = holds_up(&m->held_up[i], word, who, c, thread | s->outsider, &looks);
		if (m->held_up[i].waiting) {
			uint64_t least = load_relaxed(&c->last_ticks);

			m->waiting = true;
			if (least < horizon)
				horizon = least;
		}
	}
	return horizon;
}

static void add_anchor(struct merge *m, struct anchor now)
{
	uint32_t last = (m->anchors - 1) % MERGE_ANCHORS, next = m->anchors % MERGE_ANCHORS;

	if (now.ticks <= m->anchor[last].ticks || now.monotonic < m->anchor[last].monotonic)
		return;
	m->slope[last] = anchor_slope(&m->anchor[last], &now);
	m->slope[next] = m->slope[last];
	m->anchor[next] = now;
	m->anchors++;
	m->line.end = 0;
}

/*
 * A taker has moved read, to overwrite what was not read yet, and has died
 * before it did: so it is there still. Under the claim nobody else moves it.
 * False: somebody has that.
 */
static bool put_back(struct merge *m, uint32_t i)
{
	struct chunk *c = &m->stream->chunks[i];
	const struct cursor *cur = &m->cursor[i];

	if (!chunk_claim(m->stream, c, stream_who(m->stream), true))
		return false;
	if (load_relaxed(&c->first) == cur->first && load_relaxed(&c->read) != cur->next)
		exchange(&c->read, cur->next);
	chunk_unclaim(c);
	return true;
}

/* The taker still has the claim, and has had it for longer than we wait. */
static bool is_stopped(const struct merge *m, uint32_t i)
{
	const struct held_up *held = &m->held_up[m->stream->seat_count + i];

	return held->who && load_relaxed(&m->stream->chunks[i].claim) == held->who &&
	       clock_ns(CLOCK_MONOTONIC) - held->since >= MERGE_PATIENCE_NS;
}

/* Looks at all chunks anew; sets the horizon. */
static void refill(struct merge *m)
{
	struct anchor now = anchor_now(m->stream->clock_kind);
	uint64_t horizon;

	add_anchor(m, now);
	barrier_everywhere();
	/* Of that very tick too: a clock may have few, and what is not there yet is not older. */
	horizon = look_for_writers(m, now.ticks + 1);
	TEST_POINT("read_writers");
	if (load_relaxed(&m->stream->header->lost_ticks)) {
		/* In this order: see emit_lost(). */
		add_gap(m, exchange(&m->stream->header->lost_ticks, 0), 0);
		TEST_POINT("read_lost");
		m->unsure_until = load_relaxed(&m->stream->header->lost_last);
	}
	for (uint32_t i = 0; i < m->stream->chunk_count; i++) {
		struct cursor *cur = &m->cursor[i];

		if (!cur->have && look(m, i)) {
			m->heap[m->heap_count] = i;
			sift_up(m, m->heap_count++);
		}
		if (!cur->moving)
			continue;
		if (m->held_up[m->stream->seat_count + i].waiting) {
			/* The taker is interrupted. */
			m->waiting = true;
			if (cur->head.ticks < horizon)
				horizon = cur->head.ticks;
		} else if (!put_back(m, i)) {
			/* Stopped there: what it is about to overwrite is lost, also if it ends now and overwrites nothing. */
			if (is_stopped(m, i) && cursor_give_up(cur, &m->stream->chunks[i])) {
				add_gap_of(m, cur);
				continue;
			}
			/* Somebody else has the claim, for a moment, or it has gone on. */
			m->waiting = true;
			if (cur->head.ticks < horizon)
				horizon = cur->head.ticks;
		} else if (look(m, i)) {
			/* Not behind what was reported before we had come to know of it: that is dropped, and counted. */
			if (cur->head.ticks < m->taken && !cursor_given_up(cur))
				add_gap(m, cur->head.ticks, m->taken);
			m->heap[m->heap_count] = i;
			sift_up(m, m->heap_count++);
		}
	}
	m->horizon = horizon;
	TEST_POINT("read_horizon");
}

/* The top's record, which is this chunk's; then the next one is at hand. False: it is gone. */
static bool take_top(struct merge *m, uint32_t chunk, void *data, size_t size)
{
	bool taken = cursor_take(&m->cursor[chunk], m->stream, &m->stream->chunks[chunk], data, size);

	replace_top(m);
	return taken;
}

bool merge_take(struct merge *m, uint32_t chunk, void *data, size_t size)
{
	uint64_t ticks = m->cursor[chunk].head.ticks;
	bool taken = take_top(m, chunk, data, size);

	if (taken && ticks > m->taken)
		m->taken = ticks;
	return taken;
}

uint64_t merge_limit(const struct merge *m)
{
	uint64_t limit = m->horizon;

	if (m->gap_from || m->unsure_until || m->horizon == 0)
		return 0;
	for (uint32_t child = 1; child <= 2 && child < m->heap_count; child++)
		if (m->cursor[m->heap[child]].head.ticks < limit)
			limit = m->cursor[m->heap[child]].head.ticks;
	return limit - 1;
}

bool merge_claim(struct merge *m, uint32_t chunk, const struct cursor *before, uint64_t last)
{
	struct cursor *cur = &m->cursor[chunk];
	bool taken = cursor_claim(cur, &m->stream->chunks[chunk], before);

	if (taken && last > m->taken)
		m->taken = last;
	if (cur->have)
		sift_down(m, 0);
	else
		replace_top(m);
	return taken;
}

bool merge_late(int64_t *until)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!*until)
		*until = now + MERGE_CALL_NS;
	return now > *until;
}

/*
 * From times to come: no clock of a writer is ahead of ours for longer than we wait. Somebody has written over it, or the counter has begun
 * again; to wait until then would be for ever.
 */
static bool is_to_come(const struct merge *m, uint64_t ticks)
{
	uint32_t newest = (m->anchors - 1) % MERGE_ANCHORS;
	const struct anchor *a = &m->anchor[newest];

	return ticks > a->ticks && (ticks - a->ticks > INT64_MAX || anchor_convert(a, m->slope[newest], ticks) - a->monotonic > MERGE_PATIENCE_NS);
}

/* Ticks of the newest event that was taken, or of the beginning. */
static uint64_t newest_taken(const struct merge *m)
{
	return m->taken ? m->taken : m->creation.ticks;
}

enum merge_result merge_next(struct merge *m, uint32_t *chunk)
{
	int64_t until = 0;

	for (unsigned i = 0;; i++) {
		uint64_t ticks = m->heap_count ? m->cursor[m->heap[0]].head.ticks : UINT64_MAX;
		bool told;

		if (ticks >= m->horizon) {
			refill(m);
			if (m->heap_count == 0)
				return m->waiting ? MERGE_HELD_UP : MERGE_NONE;
			ticks = m->cursor[m->heap[0]].head.ticks;
			if (ticks >= m->horizon && !is_to_come(m, ticks))
				return MERGE_HELD_UP;
		}
		*chunk = m->heap[0];
		if (ticks < m->horizon && ticks > m->gap_until)
			return MERGE_RECORD;
		/* Older than one that was overwritten, or of no time. */
		told = cursor_given_up(&m->cursor[*chunk]);
		if (take_top(m, *chunk, NULL, 0)) {
			m->dropped++;
			if (!told)
				add_gap(m, ticks < m->horizon ? ticks : newest_taken(m), 0);
		}
		if (i % LOOKS_PER_TIME == LOOKS_PER_TIME - 1 && merge_late(&until))
			return MERGE_AGAIN;
	}
}

bool merge_empty(const struct merge *m)
{
	for (uint32_t i = 0; i < m->stream->chunk_count; i++) {
		struct chunk *c = &m->stream->chunks[i];

		if (chunk_unread(c, load_acquire(&c->progress)) != 0) /* PAIR(commit) */
			return false;
	}
	return true;
}

uint64_t merge_unread(const struct merge *m)
{
	uint64_t unread = 0;

	for (uint32_t i = 0; i < m->stream->chunk_count; i++) {
		const struct chunk *c = &m->stream->chunks[i];

		unread += chunk_unread(c, load_acquire(&c->progress)); /* PAIR(commit) */
	}
	return unread;
}

uint64_t merge_gap(struct merge *m)
{
	uint64_t from = m->gap_from;

	m->gap_from = 0;
	return from;
}

void merge_said(struct merge *m)
{
	for (uint32_t i = 0; i < m->stream->chunk_count; i++)
		if (m->cursor[i].unsaid)
			cursor_said(&m->cursor[i], &m->stream->chunks[i]);
	m->unsaid = false;
}

void merge_gap_again(struct merge *m, uint64_t from)
{
	add_gap(m, from, 0);
}

uint64_t merge_lost(struct merge *m)
{
	uint64_t lost = m->dropped;

	for (uint32_t i = 0; i < m->stream->chunk_count; i++) {
		const struct cursor *cur = &m->cursor[i];
		uint32_t first = load_acquire(&m->stream->chunks[i].first); /* PAIR(recycle) */

		lost += cur->lost + (first != cur->first ? first - cur->next : cursor_given_up(cur));
	}
	return lost;
}

/* The line for these ticks, and from where to where it is the one. */
static void find_line(struct merge *m, uint64_t ticks)
{
	uint32_t count = m->anchors < MERGE_ANCHORS ? m->anchors : MERGE_ANCHORS;
	struct merge_line *line = &m->line;

	line->end = UINT64_MAX;
	/* Nearly always the last but one: events are between the last two looks. */
	for (uint32_t i = 1; i <= count; i++) {
		uint32_t at = (m->anchors - i) % MERGE_ANCHORS;

		line->begin = m->anchor[at].ticks;
		line->anchor = m->anchor[at];
		line->slope = m->slope[at];
		if (ticks >= line->begin)
			return;
		line->end = line->begin;
	}
	line->begin = 0;
	line->slope = anchor_slope(&m->creation, &line->anchor);
	line->anchor = m->creation;
}

int64_t merge_time(struct merge *m, uint64_t ticks)
{
	int64_t ns;

	if (ticks < m->line.begin || ticks >= m->line.end)
		find_line(m, ticks);
	ns = anchor_convert(&m->line.anchor, m->line.slope, ticks);
	if (ticks < m->told.ticks)
		return ns;
	/*
	 * The line may have moved since: what is behind the last anchor waits for
	 * the next one, and what had to wait for a writer may be older than all.
	 */
	if (ns < m->told.monotonic)
		ns = m->told.monotonic;
	m->told = (struct anchor){ ticks, ns };
	return ns;
}
