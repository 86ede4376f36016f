/*
 * match.h - which events are wanted: by name, process, thread, time
 *
 *     -e PATTERN, --event PATTERN   names, as the shell matches files: 'sql.*', or '!sql.row': not these. Several may be
 *                                   given: the last that matches decides; if the first says '!', all others are wanted
 *     --pid PID, --tid TID          a process, a thread; several may be given
 *     --thread NAME                 threads whose name matches, as -e
 *     --from TIME, --to TIME (--until TIME, where --to is something else)
 *                                   as docs/command.md says times; each event from the first time on, up to the second
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef MATCH_H
#define MATCH_H

#include <getopt.h>

#include "logfile.h"

struct match;

/* For the arrays of getopt_long(): their values are above all letters. */
enum { MATCH_PID = 0x100, MATCH_TID, MATCH_THREAD, MATCH_FROM, MATCH_TO, MATCH_OPTIONS_END };
#define MATCH_LETTERS "e:"
#define MATCH_OPTIONS                                                                                      \
	{ "event", required_argument, NULL, 'e' }, { "pid", required_argument, NULL, MATCH_PID },              \
	{ "tid", required_argument, NULL, MATCH_TID }, { "thread", required_argument, NULL, MATCH_THREAD },    \
	{ "from", required_argument, NULL, MATCH_FROM }, { "until", required_argument, NULL, MATCH_TO },      \
	{ "to", required_argument, NULL, MATCH_TO }
/* The part of --help on them; where --to is something else, its other name. */
#define MATCH_USAGE MATCH_USAGE_WITH("--to TIME   ")
#define MATCH_USAGE_UNTIL MATCH_USAGE_WITH("--until TIME")
#define MATCH_USAGE_WITH(to)                                                                                        \
	"  -e, --event PATTERN    events whose names match, as file names in a shell: 'sql.*'; '!sql.row' for all others\n" \
	"      --pid PID          events of a process\n"                                                       \
	"      --tid TID          events of a thread\n"                                                        \
	"      --thread PATTERN   events of threads whose names match\n"                                       \
	"      --from TIME        events from this time on: 1.5s after the beginning, 14:30:05, 2026-11-21 14:30\n" \
	"      " to "       events before this time\n"

struct match *match_new(void);
/* The same options, for another log that is read at the same time. */
struct match *match_copy(const struct match *m);
/* One of those options? Then it is taken. */
bool match_option(struct match *m, int option, const char *argument);
/* Everything is wanted: none of them was given. */
bool match_all(const struct match *m);
/* A name, with or without a layout, by the patterns alone: for filters of streams, where there is no log. */
bool match_name(const struct match *m, const char *name);
/* Before match_begin(): --from 1.5s counts from here; otherwise from the creation of the log. */
void match_origin(struct match *m, uint64_t time);
/* Has to be called when the log is known, before match_event(). */
void match_begin(struct match *m, const struct logfile *f);
/* Its type, by its name alone. */
bool match_type(const struct match *m, uint32_t id);
/* Fast: names are looked at once for each type and thread. */
bool match_event(struct match *m, const struct log_event *e);
/* By its time alone: for events that tell of losses, which belong to no process. */
bool match_time(const struct match *m, const struct log_event *e);
/* No event before this time is wanted. */
uint64_t match_first(const struct match *m);
/* No event from this time on is wanted; UINT64_MAX: there is no such time. */
uint64_t match_end(const struct match *m);

#endif
