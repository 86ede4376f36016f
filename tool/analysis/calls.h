/*
 * calls.h - rebuilds the calls of functions from the events of record --functions
 *
 * function.begin and function.end are at the addresses of functions; function.call is a whole call, at its end. From
 * them come the functions, with their times, and the tree of calls: a node is a function as it was called by the
 * functions above it. Times in a function and in all that it calls are "total", those in the function alone "self".
 *
 * A function that is open at the end of the log, or where events are missing, counts as a call until then.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CALLS_H
#define CALLS_H

#include "analysis/histogram.h"
#include "analysis/span.h"
#include "common/lookup.h"
#include "logs/sources.h"
#include "logs/tasks.h"

struct calls_function {
	struct lookup_key key;
	const char *name;
	const char *image, *source; /* file of the program; source file, null: unknown */
	unsigned line;
	uint64_t calls;
	uint64_t total; /* of recursive calls only the outermost one counts */
	uint64_t self;
	struct histogram durations; /* of all calls */
};

struct calls_node {
	struct lookup_key key;
	struct calls_function *function; /* null: a thread */
	const char *name;
	struct calls_node *parent;       /* null: not called by a recorded function */
	struct calls_node *child, *last, *next; /* in the order of their first calls */
	uint64_t number;
	bool recursive; /* the function is also above */
	uint64_t calls, total, self;
};

struct calls {
	bool by_thread; /* the outermost nodes are names of threads */
	struct calls_node root;
	struct calls_function **function; /* in the order of their first calls */
	size_t functions;
	uint64_t events;
	uint64_t open;     /* calls without an end */
	uint64_t no_begin; /* ends without a begin: the function had been called before the recording */
	bool recorded;     /* programs were recorded with --functions, even if none of their calls was */

	struct tasks tasks;
	struct lookup nodes, threads, by_symbol, by_name;
	uint64_t last_node;
};

/* Prepares for the events of logs that were opened with symbols. */
void calls_begin(struct calls *c, const struct sources *logs, bool by_thread);
/* Takes the next event of a source, whatever its type is. Returns whether it tells of functions. */
bool calls_event(struct calls *c, const struct source *s);
/* Ends all calls in a source: events are missing from this time on. */
void calls_cut(struct calls *c, const struct source *s, uint64_t time);
/* Ends all calls in all sources. */
void calls_finish(struct calls *c);

/* Looks up functions in the logs that have such events, and in no others. Rewinds all. */
void calls_symbols(struct sources *logs);
/*
 * Returns the name of the function whose call the next event begins, if it belongs to a span of functions; null
 * otherwise. The same function has the same pointer.
 */
const char *calls_slice(const struct source *s, const struct span *span);

/* What an event type says. */
enum calls_kind { CALLS_OTHER, CALLS_BEGIN, CALLS_END, CALLS_WHOLE, CALLS_RECORDED };
enum calls_kind calls_kind(const char *type);
/* Returns the name of a function for people; it is never freed. */
const char *calls_name(const struct symbol *symbol);

#endif
