/*
 * group.h - stat --group-by and --of: events grouped by values, and the values of an expression in each group
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef GROUP_H
#define GROUP_H

#include "analysis/spread.h"
#include "logs/match.h"

#define GROUP_KEYS 6

/*
 * The value of a key: a number in ns, in bytes, or without a dimension; or a text. Values that are shown as words, such
 * as labels, are these words: fields of several event types may have other numbers for them.
 */
struct group_key {
	struct value value; /* a text is kept with the group */
	uint8_t dimension;  /* enum dimension */
	char *text;         /* as shown */
};

#define GROUP_WORDS 64 /* a power of two */

/* Words that have been found for numbers of a key. */
struct group_words {
	const struct formula *formula; /* null: nothing */
	struct value number;
	char *text; /* null: it has no words */
	size_t length;
};

struct group {
	struct group_key key[GROUP_KEYS];
	uint64_t hash, events;
	struct spread spread;
};

enum group_order { GROUP_EVENTS, GROUP_NAME, GROUP_SUM, GROUP_MEAN, GROUP_MAX };

struct groups {
	unsigned keys;
	struct question *by[GROUP_KEYS], *of; /* of null: only events are counted */
	uint64_t without;  /* selected events that do not have all of the values */
	uint64_t unusable; /* selected events whose value of --of is a text, or no number that is added up */
	struct group_words words[GROUP_KEYS][GROUP_WORDS];
	unsigned count, slots;
	struct group **list, **slot;
	struct spread all;
};

/* Adds the expressions of --group-by, separated by commas. Ends the program with wrong usage if one is wrong. */
void group_by(struct groups *g, const char *text);
/* Sets the expression of --of. */
void group_of(struct groups *g, const char *text);
/* Returns whether any of the options was given. */
bool group_given(const struct groups *g);
/* Begins with a log, which is not being read yet. m: after match_begin(). */
void group_begin(struct groups *g, struct logfile *f, uint64_t begin, const struct match *m);
/* Prints what no event type has, after group_begin() for all logs. Returns false if there is no such thing. */
bool group_say(const struct groups *g);
/* Counts a selected event. */
void group_event(struct groups *g, const struct log_event *e, const unsigned char *data);
/* Prints a table with at most this many lines; 0: all. */
void group_print(const struct groups *g, enum group_order order, bool reverse, size_t lines);
/* Prints all groups as a JSON array. */
void group_json(const struct groups *g, enum group_order order, bool reverse);

#endif
