/*
 * held_up.c - the writers in the middle of a record, and how long a reader waits for them
 *
 * SPDX-License-Identifier: MIT
 */
#include "read/held_up.h"

#include "base/atomic.h"
#include "base/clock.h"
#include "base/wait.h"
#include "host/thread_ref.h"

/* A trace point takes some 20 ns: a thread that stays busy for longer than this number of looks was interrupted. */
#define BUSY_LOOKS 300

/*
 * Waits a moment for a writer in the middle of a record. *word names the writer; it or the chunk's progress changes
 * when the record is done. Returns true if the reader has to go on waiting: not for dead threads, and not longer than
 * HELD_UP_PATIENCE_NS.
 */
static bool holds_up(const struct held_up *h, struct held_up_writer *w, const uint32_t *word, uint32_t ref,
                     const struct chunk *c, uint32_t thread, int *looks)
{
	uint64_t p = load_acquire(&c->progress); /* PAIR(commit) */
	int64_t now, since;

	for (; *looks > 0; --*looks) {
		/* PAIR(busy), PAIR(lock): the record that was under way at the barrier is committed. */
		if (load_acquire(word) != ref || load_acquire(&c->progress) != p) {
			w->ref = 0;
			return false;
		}
		spin_pause();
	}
	if (!thread_ref_lives(thread, 0))
		return false;
	now = clock_ns(CLOCK_MONOTONIC);
	if (w->ref != ref || w->progress != p) {
		w->ref = ref;
		w->progress = p;
		w->from = h->looked;
		w->waited = 0;
	} else {
		since = now - w->looked;
		w->waited += since < HELD_UP_LOOK_NS ? since : HELD_UP_LOOK_NS;
	}
	w->looked = now;
	if (w->waited >= HELD_UP_PATIENCE_NS)
		return false;
	return !h->hurry || w->waited < HELD_UP_STOPPED_NS || !thread_ref_stopped(thread);
}

bool held_up_look(struct held_up *h, uint64_t *watermark)
{
	const struct stream *s = h->stream;
	uint32_t used = load_relaxed(&s->header->seats_used);
	int looks = BUSY_LOOKS; /* for all writers together: waiting for one is waiting for all */
	uint64_t now = *watermark;
	bool waiting = false;

	for (uint32_t i = 0; i < s->seat_count + s->chunk_count; i++) {
		struct held_up_writer *w = &h->writer[i];
		const struct chunk *c;
		const uint32_t *word;
		uint32_t ref, thread;
		uint64_t least;

		if (i < s->seat_count) {
			if (i >= used) {
				i = s->seat_count - 1;
				continue;
			}
			word = &s->seats[i].busy;
			ref = load_acquire(word); /* PAIR(busy) */
			if (ref > s->chunk_count)
				ref = 0;
			c = ref ? &s->chunks[ref - 1] : NULL;
			thread = load_relaxed(&s->seats[i].ref);
		} else {
			c = &s->chunks[i - s->seat_count];
			word = &c->lock;
			ref = thread = load_acquire(word); /* PAIR(lock) */
		}
		w->waiting = ref && holds_up(h, w, word, ref, c, thread | s->outsider, &looks);
		if (!ref)
			w->ref = 0;
		if (!w->waiting)
			continue;
		waiting = true;
		/* The writer had not begun this record at the last look, when all older records were visible. */
		least = load_relaxed(&c->last_ticks);
		if (least < w->from)
			least = w->from;
		if (least < *watermark)
			*watermark = least;
	}
	h->looked = now;
	return waiting;
}

bool held_up_waits(const struct held_up *h, uint32_t chunk)
{
	return h->writer[h->stream->seat_count + chunk].waiting;
}

bool held_up_too_long(const struct held_up *h, uint32_t chunk)
{
	const struct held_up_writer *w = &h->writer[h->stream->seat_count + chunk];

	return w->ref && load_relaxed(&h->stream->chunks[chunk].lock) == w->ref && w->waited >= HELD_UP_PATIENCE_NS;
}
