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

/* A trace point takes some 20 ns: a thread that stays busy for longer than this number of looks was interrupted. */
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
	m->reported = (struct anchor){ 0, INT64_MIN };
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
		/* In this order; an acquirer goes the opposite way. PAIR(recycle), PAIR(reset), PAIR(commit) */
		uint32_t first = load_acquire(&c->first), read = load_acquire(&c->read);
		uint64_t p = load_acquire(&c->progress);

		TEST_POINT("reset_progress");
		/*
		 * A chunk could not be emptied if a thread is stuck in the middle of a record: go past the records,
		 * but remember their owner. If the thread goes on right now, an acquirer may have emptied the chunk
		 * since, and moved read further than here: read is not moved back.
		 */
		cas(&c->read, &read, progress_records(p));
		TEST_POINT("reset_past");
		cursor_resume(cur, m->stream, c);
		/*
		 * If an acquirer turns out to have overwritten the chunk, the loss counts from here on, not from
		 * first.
		 */
		if (cur->first == first && cur->next != progress_records(p)) {
			cur->next = progress_records(p);
			cur->at = progress_position(p);
		}
		cur->gap_from = cur->gap_until = 0;
		cursor_acknowledge(cur, c);
	}
	m->unacknowledged = false;
	m->heap_count = 0;
	m->watermark = 0;
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

/* Adds the gap that the cursor has found. */
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
	if (cur->unacknowledged && m->stream->log)
		m->unacknowledged = true;
	else if (cur->unacknowledged)
		cursor_acknowledge(cur, &m->stream->chunks[chunk]);
		/* The place of the loss is not known yet: report nothing before refill() has handled it. */
	if (cur->moving)
		m->watermark = 0;
	return have;
}

/* Puts the chunk's next record, or another chunk, in the place of the top, whose record was taken or is gone. */
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
 * Waits a moment for a writer in the middle of a record. *word names the writer; it or the chunk's progress changes
 * when the record is done. Returns true if the reader has to go on waiting: not for dead threads, and not longer than
 * MERGE_PATIENCE_NS.
 */
static bool holds_up(const struct merge *m, struct held_up *held, const uint32_t *word, uint32_t ref,
                     const struct chunk *c, uint32_t thread, int *looks)
{
	uint64_t p = load_acquire(&c->progress); /* PAIR(commit) */
	int64_t now, since;

	for (; *looks > 0; --*looks) {
		/* PAIR(busy), PAIR(lock): the record that was under way at the barrier is committed. */
		if (load_acquire(word) != ref || load_acquire(&c->progress) != p) {
			held->ref = 0;
			return false;
		}
		spin_pause();
	}
	if (!thread_ref_lives(thread, 0))
		return false;
	now = clock_ns(CLOCK_MONOTONIC);
	if (held->ref != ref || held->progress != p) {
		held->ref = ref;
		held->progress = p;
		held->from = m->looked;
		held->waited = 0;
	} else {
		since = now - held->looked;
		held->waited += since < MERGE_LOOK_NS ? since : MERGE_LOOK_NS;
	}
	held->looked = now;
	if (held->waited >= MERGE_PATIENCE_NS)
		return false;
	return !m->hurry || held->waited < MERGE_STOPPED_NS || !thread_ref_stopped(thread);
}

/* Returns the new watermark: older records are all there, newer ones may still come. */
static uint64_t look_for_writers(struct merge *m, uint64_t watermark)
{
	struct stream *s = m->stream;
	uint32_t used = load_relaxed(&s->header->seats_used);
	int looks = BUSY_LOOKS; /* for all writers together: waiting for one is waiting for all */

	m->waiting = false;
	for (uint32_t i = 0; i < s->seat_count + s->chunk_count; i++) {
		const struct chunk *c;
		const uint32_t *word;
		uint32_t ref, thread;

		if (i < s->seat_count) {
			if (i >= used) {
				i = s->seat_count - 1;
				continue;
			}
			word = &s->seats[i].busy;
			ref = load_acquire(word); /* PAIR(busy) */
			if (ref == 0 || ref > s->chunk_count) {
				m->held_up[i].ref = 0;
				continue;
			}
			c = &s->chunks[ref - 1];
			thread = load_relaxed(&s->seats[i].ref);
		} else {
			c = &s->chunks[i - s->seat_count];
			word = &c->lock;
			ref = thread = load_acquire(word); /* PAIR(lock) */
			m->held_up[i].waiting = false;
			if (ref == 0) {
				m->held_up[i].ref = 0;
				continue;
			}
		}
		m->held_up[i].waiting = holds_up(m, &m->held_up[i], word, ref, c, thread | s->outsider, &looks);
		if (m->held_up[i].waiting) {
			uint64_t least = load_relaxed(&c->last_ticks);

			m->waiting = true;
			/*
			 * The writer had not begun this record at the last look, when all older records were visible.
			 */
			if (least < m->held_up[i].from)
				least = m->held_up[i].from;
			if (least < watermark)
				watermark = least;
		}
	}
	return watermark;
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
 * Moves read back after the death of an acquirer that had moved it and had not overwritten the unread records yet.
 * Under the lock no other thread moves it. Returns false if the lock is held.
 */
static bool put_back(struct merge *m, uint32_t i)
{
	struct chunk *c = &m->stream->chunks[i];
	const struct cursor *cur = &m->cursor[i];

	if (!chunk_trylock(m->stream, c, stream_thread_ref(m->stream), true))
		return false;
	if (load_relaxed(&c->first) == cur->first && load_relaxed(&c->read) != cur->next)
		exchange(&c->read, cur->next);
	chunk_unlock(c);
	return true;
}

/* Returns whether an acquirer has held the chunk's lock for longer than the reader waits. */
static bool is_stopped(const struct merge *m, uint32_t i)
{
	const struct held_up *held = &m->held_up[m->stream->seat_count + i];

	return held->ref && load_relaxed(&m->stream->chunks[i].lock) == held->ref && held->waited >= MERGE_PATIENCE_NS;
}

/* Looks at all chunks again, and sets the watermark. */
static void refill(struct merge *m)
{
	struct anchor now = anchor_now(m->stream->clock_kind);
	uint64_t watermark;

	add_anchor(m, now);
	barrier_everywhere();
	/* Include this very tick: a clock may tick seldom, and records that are still to come are not older. */
	watermark = look_for_writers(m, now.ticks + 1);
	m->looked = now.ticks + 1;
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
				/* The acquirer was interrupted. */
			m->waiting = true;
			if (cur->head.ticks < watermark)
				watermark = cur->head.ticks;
		} else if (!put_back(m, i)) {
				/*
				 * The acquirer is stopped. The records that it is about to overwrite are lost, even
				 * if it ends now and overwrites nothing.
				 */
			if (is_stopped(m, i) && cursor_give_up(cur, &m->stream->chunks[i])) {
				add_gap_of(m, cur);
				continue;
			}
				/* Another thread has the lock for a moment, or the acquirer has gone on. */
			m->waiting = true;
			if (cur->head.ticks < watermark)
				watermark = cur->head.ticks;
		} else if (look(m, i)) {
				/* Records older than those already reported are dropped, and counted. */
			if (cur->head.ticks < m->taken && !cursor_given_up(cur))
				add_gap(m, cur->head.ticks, m->taken);
			m->heap[m->heap_count] = i;
			sift_up(m, m->heap_count++);
		}
	}
	m->watermark = watermark;
	TEST_POINT("read_watermark");
}

/* Takes the top's record, which is in this chunk, and finds the next. Returns false if the record was overwritten. */
static bool take_top(struct merge *m, uint32_t chunk, void *data, size_t size)
{
	bool taken = cursor_read(&m->cursor[chunk], m->stream, &m->stream->chunks[chunk], data, size);

	replace_top(m);
	return taken;
}

bool merge_read(struct merge *m, uint32_t chunk, void *data, size_t size)
{
	uint64_t ticks = m->cursor[chunk].head.ticks;
	bool taken = take_top(m, chunk, data, size);

	if (taken && ticks > m->taken)
		m->taken = ticks;
	return taken;
}

uint64_t merge_limit(const struct merge *m)
{
	uint64_t limit = m->watermark;

	if (m->gap_from || m->unsure_until || m->watermark == 0)
		return 0;
	for (uint32_t child = 1; child <= 2 && child < m->heap_count; child++)
		if (m->cursor[m->heap[child]].head.ticks < limit)
			limit = m->cursor[m->heap[child]].head.ticks;
	return limit - 1;
}

bool merge_consume(struct merge *m, uint32_t chunk, const struct cursor *before, uint64_t last)
{
	struct cursor *cur = &m->cursor[chunk];
	bool taken = cursor_consume(cur, &m->stream->chunks[chunk], before);

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
 * Returns whether ticks are in the future. No writer's clock is further ahead than the reader waits, so the record is
 * corrupt or the counter was reset. Waiting for that time could take forever.
 */
static bool is_to_come(const struct merge *m, uint64_t ticks)
{
	uint32_t newest = (m->anchors - 1) % MERGE_ANCHORS;
	const struct anchor *a = &m->anchor[newest];

	return ticks > a->ticks &&
	       (ticks - a->ticks > INT64_MAX ||
	        anchor_convert(a, m->slope[newest], ticks) - a->monotonic > MERGE_PATIENCE_NS);
}

/* Returns the ticks of the newest event taken, or of the stream's creation. */
static uint64_t newest_taken(const struct merge *m)
{
	return m->taken ? m->taken : m->creation.ticks;
}

enum merge_result merge_next(struct merge *m, uint32_t *chunk)
{
	int64_t until = 0;

	for (unsigned i = 0;; i++) {
		uint64_t ticks = m->heap_count ? m->cursor[m->heap[0]].head.ticks : UINT64_MAX;
		bool reported;

		if (ticks >= m->watermark) {
			refill(m);
			if (m->heap_count == 0)
				return m->waiting ? MERGE_HELD_UP : MERGE_NONE;
			ticks = m->cursor[m->heap[0]].head.ticks;
			if (ticks >= m->watermark && !is_to_come(m, ticks))
				return MERGE_HELD_UP;
		}
		*chunk = m->heap[0];
		if (ticks < m->watermark && ticks > m->gap_until)
			return MERGE_RECORD;
		/* Drop a record that is older than an overwritten one, or has an impossible time. */
		reported = cursor_given_up(&m->cursor[*chunk]);
		if (take_top(m, *chunk, NULL, 0)) {
			m->dropped++;
			if (!reported)
				add_gap(m, ticks < m->watermark ? ticks : newest_taken(m), 0);
		}
		if (i % LOOKS_PER_TIME == LOOKS_PER_TIME - 1 && merge_late(&until))
			return MERGE_AGAIN;
	}
}

bool merge_keeps_back(const struct merge *m)
{
	return m->heap_count != 0;
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

void merge_acknowledge(struct merge *m)
{
	for (uint32_t i = 0; i < m->stream->chunk_count; i++)
		if (m->cursor[i].unacknowledged)
			cursor_acknowledge(&m->cursor[i], &m->stream->chunks[i]);
	m->unacknowledged = false;
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

/* Finds the line for these ticks, and the range in which it applies. */
static void find_line(struct merge *m, uint64_t ticks)
{
	uint32_t count = m->anchors < MERGE_ANCHORS ? m->anchors : MERGE_ANCHORS;
	struct merge_line *line = &m->line;

	line->end = UINT64_MAX;
		/* Nearly always the last but one, because events come from between the last two looks. */
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
	if (ticks < m->reported.ticks)
		return ns;
	/*
	 * The line may have changed since: ticks after the last anchor get their line with the next anchor, and an
	 * event held back for its writer may be older than all others.
	 */
	if (ns < m->reported.monotonic)
		ns = m->reported.monotonic;
	m->reported = (struct anchor){ ticks, ns };
	return ns;
}
