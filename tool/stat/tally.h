/*
 * tally.h - how often something happened, with how much data, when, and how long not
 *
 * A set has a tally for each event type, process or thread, found by its key. To find one takes time, so who counts
 * millions keeps the pointer: tallies stay where they are.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TALLY_H
#define TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trace.h>

/* What is none of its own is zero: types have a name, processes a machine and a pid, threads a tid too. */
struct tally_key {
	uint32_t machine, pid, tid;
	char name[TRACE_EVENT_NAME_MAX + 1];
};

struct tally {
	struct tally_key key;
	unsigned index; /* in its set */
	bool begun;     /* there are times */
	uint64_t events, bytes, truncated;
	uint64_t first, last;
	uint64_t pause, pause_from; /* the longest time without an event, between two */
	char *label;                /* of a thread its name, of a process its executable; or null */
};

struct tally_set {
	struct tally **list;
	unsigned count, room;
	struct tally **slot;
	unsigned slots;
};

enum tally_kind { TALLY_TYPES, TALLY_PROCESSES, TALLY_THREADS };
enum tally_order { BY_EVENTS, BY_BYTES, BY_FIRST, BY_LAST, BY_PAUSE, BY_NAME, TALLY_ORDERS };

/* Names of the orders, as --sort has them. */
extern const char *const tally_orders[TALLY_ORDERS];

/* Found or made. */
struct tally *tally_find(struct tally_set *set, const struct tally_key *key);
void tally_label(struct tally *t, const char *label, size_t size);
/* The time of its first event, or of any later one. */
void tally_begin(struct tally *t, uint64_t time);

/*
 * An event, but for its number and bytes, which are added many at a time. One that is late, in its log or because logs
 * overlap, ends no pause.
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
	uint64_t begin; /* times are shown from here on */
	double seconds; /* for rates */
	const char *(*host)(uint32_t machine); /* or null: all are of one */
};

void tally_print(const struct tally_set *set, enum tally_kind kind, const struct tally_view *view);
/* An array, of all. */
void tally_json(const struct tally_set *set, enum tally_kind kind, const struct tally_view *view);

#endif
