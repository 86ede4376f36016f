/*
 * program.c - what the processes of a stream execute, as they have described it in the stream
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/program.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "host/thread_ref.h"

/* How often to look for another entry after losing a race for one. */
#define TRIES 8

/* -- Leaving ---------------------------------------------------------------------------- */

enum rank { REPORTED_DEAD, REPORTED, DEAD, NEEDED };

static bool same(const struct program *entry, struct program_key key)
{
	return load_relaxed(&entry->key) == key.key && load_relaxed(&entry->pid) == key.pid;
}

static bool is_reported(const struct program *entry, uint64_t key)
{
	return load_relaxed(&entry->reported) == key;
}

/* Returns whether the process has ended. A process of another pid namespace cannot be asked about. */
static bool dead(const struct stream *s, const struct program *entry)
{
	return !s->outsider && sys_kill_probe((int)load_relaxed(&entry->pid)) == -ESRCH;
}

static enum rank rank_of(const struct stream *s, const struct program *entry, uint64_t key)
{
	if (is_reported(entry, key))
		return dead(s, entry) ? REPORTED_DEAD : REPORTED;
	/* A dead process's events may be overwritten by now, but not in a stream that keeps its first events. */
	return s->stream_policy != POSIX_TRACE_UNTIL_FULL && dead(s, entry) ? DEAD : NEEDED;
}

/* Returns an empty entry, or null. */
static struct program *find_empty(const struct stream *s)
{
	for (uint32_t i = 0; i < s->programs; i++) {
		struct program *entry = &s->program[i];
		uint32_t lock = load_relaxed(&entry->lock);

		if (load_relaxed(&entry->key) == 0 && !(lock && thread_ref_alive(lock, stream_thread_ref(s))))
			return entry;
	}
	return NULL;
}

/* Returns the entry that is needed least, the oldest of equals. Null if all are needed. */
static struct program *find_spare(const struct stream *s, struct program_key own, uint64_t *key)
{
	struct program *best = NULL;
	enum rank least = NEEDED;

	for (uint32_t i = 0; i < s->programs; i++) {
		struct program *entry = &s->program[i];
		uint64_t now = load_relaxed(&entry->key);
		enum rank rank = now && !same(entry, own) ? rank_of(s, entry, now) : NEEDED;

		if (rank == NEEDED || rank > least || (rank == least && now >= *key))
			continue;
		best = entry;
		least = rank;
		*key = now;
	}
	return best;
}

static bool trylock(struct program *entry, uint32_t ref)
{
	uint32_t lock = load_relaxed(&entry->lock);

	/* PAIR(program) */
	return !(lock && (lock == ref || thread_ref_alive(lock, ref))) && cas(&entry->lock, &lock, ref);
}

static void unlock(struct program *entry)
{
	store_release(&entry->lock, 0); /* PAIR(program) */
	TEST_POINT("program_unlocked");
}

/* Returns an entry, locked and emptied; null if there is no room. */
static struct program *take(const struct stream *s, struct program_key own)
{
	for (int try = 0; try < TRIES; try++) {
		uint64_t key = 0;
		struct program *entry = find_empty(s);

		if (!entry)
			entry = find_spare(s, own, &key);
		if (!entry)
			return NULL;
		if (!trylock(entry, stream_thread_ref(s)))
			continue;
		TEST_POINT("program_locked");
		if (load_relaxed(&entry->key) == key) {
			store_relaxed(&entry->key, 0);
			/* PAIR(program): the key is cleared before the content changes. */
			fence_full();
			return entry;
		}
		unlock(entry);
	}
	return NULL;
}

bool program_leave(const struct stream *s, struct program_key key, const unsigned char *bytes, size_t size,
                   bool *crowded)
{
	uint32_t parts = (uint32_t)((size + PROGRAM_DATA - 1) / PROGRAM_DATA), needed = 0;

	*crowded = false;
	if (parts > PROGRAM_PARTS || parts > s->programs)
		return false;
	/* program_new() looks for the first part. It is written last, when all other parts are in place. */
	for (uint32_t part = parts; part-- > 0;) {
		struct program *entry = take(s, key);
		size_t at = (size_t)part * PROGRAM_DATA, length = size - at < PROGRAM_DATA ? size - at : PROGRAM_DATA;

		if (!entry)
			return false;
		entry->pid = key.pid;
		entry->part = part;
		entry->parts = parts;
		entry->length = (uint32_t)length;
		memcpy(entry->data, bytes + at, length);
		TEST_POINT("program_filled");
		store_release(&entry->key, key.key); /* PAIR(program) */
		TEST_POINT("program_left");
		unlock(entry);
	}
	for (uint32_t i = 0; i < s->programs; i++) {
		uint64_t now = load_relaxed(&s->program[i].key);

		needed += now && !is_reported(&s->program[i], now);
	}
	*crowded = needed > s->programs - s->programs / 4;
	return true;
}

/* -- Reading ------------------------------------------------------------------------------ */

bool program_new(const struct stream *s, uint32_t i, struct program_key *key)
{
	const struct program *entry = &s->program[i];

	key->key = load_acquire(&entry->key); /* PAIR(program) */
	if (!key->key) /* empty, or the writer is still filling it in */
		return false;
	key->pid = load_relaxed(&entry->pid);
	return load_relaxed(&entry->part) == 0 && !is_reported(entry, key->key);
}

/*
 * Copies one part and returns its length; 0 if it is missing or not valid. Other processes may write here at any
 * time, so nothing but the key is read twice.
 */
static size_t read_part(const struct stream *s, struct program_key key, uint32_t part, unsigned char *bytes,
                        size_t size, uint32_t *parts)
{
	for (uint32_t i = 0; i < s->programs; i++) {
		const struct program *entry = &s->program[i];
		uint32_t length;

		/* PAIR(program) */
		if (load_acquire(&entry->key) != key.key || load_relaxed(&entry->pid) != key.pid ||
		    load_relaxed(&entry->part) != part)
			continue;
		*parts = load_relaxed(&entry->parts);
		length = load_relaxed(&entry->length);
		if (length == 0 || length > PROGRAM_DATA || length > size)
			return 0;
		memcpy(bytes, entry->data, length);
		fence_acquire();
		return load_relaxed(&entry->key) == key.key ? length : 0;
	}
	return 0;
}

size_t program_read(const struct stream *s, struct program_key key, unsigned char *bytes, size_t size)
{
	uint32_t parts = 1, first = 1;
	size_t used = 0;

	for (uint32_t part = 0; part < first; part++) {
		size_t n = read_part(s, key, part, bytes + used, size - used, &parts);

		if (part == 0)
			first = parts;
		if (n == 0 || parts != first || parts > PROGRAM_PARTS)
			return 0;
		used += n;
	}
	return used;
}

void program_reported(const struct stream *s, struct program_key key)
{
	for (uint32_t i = 0; i < s->programs; i++)
		if (same(&s->program[i], key))
			store_relaxed(&s->program[i].reported, key.key);
	TEST_POINT("program_reported");
}

void program_forget_reported(const struct stream *s)
{
	for (uint32_t i = 0; i < s->programs; i++)
		store_relaxed(&s->program[i].reported, 0);
}
