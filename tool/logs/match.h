/*
 * match.h - selects events by name, process, thread, time and fields
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MATCH_H
#define MATCH_H

#include "common/options.h"
#include "logs/question.h"
#include "model/eventtype.h"

struct match;

/* Rows of option tables that select events. MATCH_ROWS_UNTIL is for subcommands where --to is another option. */
enum { MATCH_PID = OPTIONS_OWN, MATCH_TID, MATCH_THREAD, MATCH_FROM, MATCH_TO, MATCH_SYSTEM, MATCH_WHERE,
       MATCH_OPTIONS_END };
#define MATCH_PATTERN_HELP " whose names match PATTERN, as file names in a shell: 'sql.*'; '!sql.row': all others"
#define MATCH_ROW_SYSTEM \
	OPTION(MATCH_SYSTEM, "system", NULL, "include events of the recording itself: start, stop, filter, flush")
#define MATCH_ROW_WHERE \
	OPTION(MATCH_WHERE, "where", "EXPRESSION", \
	       "only events whose fields satisfy EXPRESSION: 'size > 100 && key ~ \"user:*\"', or 'time >= 1.5ms'")
#define MATCH_ROWS_ANY_TIME \
	OPTION('e', "event", "PATTERN", \
	       "only events" MATCH_PATTERN_HELP ". The last of several patterns that matches decides"), \
	MATCH_ROW_WHERE, \
	OPTION(MATCH_PID, "pid", "PID", "only events of this process; may be repeated"), \
	OPTION(MATCH_TID, "tid", "TID", "only events of this thread; may be repeated"), \
	OPTION(MATCH_THREAD, "thread", "THREAD", "only events of threads whose names match THREAD, a pattern"), \
	OPTION(MATCH_FROM, "from", "TIME", \
	       "only events at or after this time: 1.5s after the beginning, 14:30:05, '2026-11-21 14:30'")
#define MATCH_ROW_TO(name) OPTION(MATCH_TO, name, "TIME", "only events before this time")
#define MATCH_ROWS \
	MATCH_ROWS_ANY_TIME, MATCH_ROW_TO("to"), OPTION(MATCH_TO, "until", "TIME", NULL), MATCH_ROW_SYSTEM
#define MATCH_ROWS_UNTIL MATCH_ROWS_ANY_TIME, MATCH_ROW_TO("until"), MATCH_ROW_SYSTEM

struct match *match_new(void);
/* Returns a copy with the same options, for another log that is read at the same time. */
struct match *match_copy(const struct match *m);
/* Handles an option of MATCH_ROWS. Returns false if it is another option. */
bool match_option(struct match *m, int option, const char *argument);
/*
 * Returns the pattern to compare names with; it is never freed. A layout is cut off, so a name can be given as in the
 * program's source.
 */
char *match_pattern(const char *text);
/*
 * Returns the pattern of -e with this index, counted without patterns that begin with '!'. Returns null after the last.
 */
const char *match_wanted(const struct match *m, unsigned index);
/*
 * Deselects events of the recording itself (its starts, stops, filters and flushes), unless --system or an -e that
 * begins with posix_ was given. Call it after all options were handled.
 */
void match_hide_system(struct match *m);
/* Returns whether match_hide_system() deselected events of this system event type. */
bool match_hides_system(const struct match *m, uint32_t id);
/* Does the same for any type. Inline, because nearly all events are the program's. */
static inline bool match_hides(const struct match *m, uint32_t id)
{
	return eventtype_system(id) && match_hides_system(m, id);
}
/* Returns whether any option that selects events was given. */
bool match_given(const struct match *m);
/* Returns whether all events are selected: no such option was given, and no event is hidden. */
bool match_all(const struct match *m);
/* Returns whether all events of the program are selected: no such option but --system was given. */
bool match_all_user(const struct match *m);
/*
 * Returns whether the patterns of -e select a name, with or without a layout. For filters of streams, where there is no
 * log.
 */
bool match_name(const struct match *m, const char *name);
/* Sets the time that --from 1.5s counts from; the default is the log's creation. Call it before match_begin(). */
void match_origin(struct match *m, uint64_t time);
/* Prepares for the events of a log. Must be called before match_event(). */
void match_begin(struct match *m, struct logfile *f);
/* Returns whether -e selects the event type. */
bool match_type(const struct match *m, uint32_t id);
/* Returns whether the event is selected. Fast: names are compared once for each type and thread. */
bool match_event(struct match *m, const struct log_event *e, const unsigned char *data);
/* Returns the question of --where, or null. */
struct question *match_where(const struct match *m);
/* Returns which of the options the event satisfies, each alone: to explain why no event satisfies all of them. */
enum match_kind {
	MATCHES_EVENT = 1, MATCHES_PID = 2, MATCHES_TID = 4, MATCHES_THREAD = 8, MATCHES_TIME = 16, MATCHES_WHERE = 32
};
unsigned match_kinds(struct match *m, const struct log_event *e, const unsigned char *data);
/* Returns whether the event's time is selected. For reports of losses, which belong to no process. */
bool match_time(const struct match *m, const struct log_event *e);
/* Returns the given options --from, --to and --until as a condition, such as "at or after --from, and before --to". */
#define MATCH_TIMES 48
const char *match_times(const struct match *m, char text[MATCH_TIMES]);
/* Returns the time before which no event is selected. */
uint64_t match_first(const struct match *m);
/* Returns the time after which no event is selected. */
uint64_t match_last(const struct match *m);

#endif
