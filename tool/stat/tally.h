/*
 * tally.h - how often something happened, with how much data, when, and how long not
 *
 * A set has a tally for each event type, process or thread, found by its key. Tallies never move, so a caller that
 * counts many events keeps the pointer.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TALLY_H
#define TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trace.h>

/* Unused members are zero: event types have only a name, processes a machine and a pid, threads also a tid. */
struct tally_key {
	uint32_t machine, pid, tid;
	char name[TRACE_EVENT_NAME_MAX + 1];
};

struct tally {
	struct tally_key key;
	unsigned index; /* index in the set */
	bool begun;     /* first and last are set */
	uint64_t events, bytes, truncated;
	uint64_t first, last;
	uint64_t pause, pause_from; /* the longest time between two events, and its beginning */
	char *label;                /* name of a thread, executable of a process, or null */
};

struct tally_set {
	struct tally **list;
	unsigned count, room;
	struct tally **slot;
	unsigned slots;
};

enum tally_kind { TALLY_TYPES, TALLY_PROCESSES, TALLY_THREADS };
enum tally_order { BY_EVENTS, BY_BYTES, BY_FIRST, BY_LAST, BY_PAUSE, BY_NAME, TALLY_ORDERS };

/* The names of the orders for --sort. */
extern const char *const tally_orders[TALLY_ORDERS];

/* Returns the tally with this key, which is created if necessary. */
struct tally *tally_find(struct tally_set *set, const struct tally_key *key);
void tally_label(struct tally *t, const char *label, size_t size);
/* Records a time. Must be called for the first event, and may be called for any. */
void tally_begin(struct tally *t, uint64_t time);

/*
 * Records the time of an event. Numbers and bytes are added later, for many events at a time. A late event ends no
 * pause.
 */
static inline void tally_time(struct tally *t, uint64_t time)
{
	if (time <= t->last) {
		if (time < t->first)
			t->first = time;
		return;
	}
	if (time - t->last > t->pause) {
		t->pause = time - t->last;
		t->pause_from = t->last;
	}
	t->last = time;
}

struct tally_view {
	enum tally_order order;
	bool reverse;
	size_t lines;   /* 0: all */
	uint64_t begin; /* times are shown as differences to this time */
	double seconds; /* for rates */
	const char *(*host)(uint32_t machine); /* null: all logs are from one machine */
};

void tally_print(const struct tally_set *set, enum tally_kind kind, const struct tally_view *view);
/* Prints all tallies as a JSON array. */
void tally_json(const struct tally_set *set, enum tally_kind kind, const struct tally_view *view);

#endif
