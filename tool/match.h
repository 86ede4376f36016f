/*
 * match.h - which events are wanted: by name, process, thread, time
 *
 *     -e PATTERN, --event PATTERN   names, as the shell matches files: 'sql.*', or '!sql.row': not these. Several may be
 *                                   given: the last that matches decides; if the first says '!', all others are wanted
 *     --pid PID, --tid TID          a process, a thread; several may be given
 *     --thread NAME                 threads whose name matches, as -e
 *     --from TIME, --to TIME        as docs/command.md says times; each event from the first time on, up to the second
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
	{ "from", required_argument, NULL, MATCH_FROM }, { "to", required_argument, NULL, MATCH_TO }
/* The part of --help on them. */
#define MATCH_USAGE                                                                                        \
	"  -e, --event PATTERN    events whose names match, as file names in a shell: 'sql.*'; '!sql.row' for all others\n" \
	"      --pid PID          events of a process\n"                                                       \
	"      --tid TID          events of a thread\n"                                                        \
	"      --thread PATTERN   events of threads whose names match\n"                                       \
	"      --from TIME        events from this time on: 1.5s after the beginning, 14:30:05, 2026-11-21 14:30\n" \
	"      --to TIME          events before this time\n"

struct match *match_new(void);
/* One of those options? Then it is taken. */
bool match_option(struct match *m, int option, const char *argument);
/* Are there any? */
bool match_all(const struct match *m);
/* Names by the pattern alone: for filters of streams, where there is no log. */
bool match_name(const struct match *m, const char *name);
/* Has to be called when the log is known, before match_event(). */
void match_begin(struct match *m, const struct logfile *f);
/* Fast: names are looked at once for each type and thread. */
bool match_event(struct match *m, const struct log_event *e);

#endif
