/*
 * newlog.h - the file for a new log
 *
 * What is there already is overwritten if it is a log that nobody writes any more, and else left alone. Where
 * there are several, FILE is the one that is being written, and FILE.1, FILE.2, ... are what was
 * there before, the oldest first.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef NEWLOG_H
#define NEWLOG_H

#include <stdbool.h>

/* A descriptor, locked against other recorders as long as it is open; empty. -1: it has been said why not. "-": standard output. */
int newlog_open(const char *path);
/* The largest N of which there is a FILE.N; 0: there is none. */
unsigned newlog_last(const char *path);
/* FILE.N, to be freed. */
char *newlog_numbered(const char *path, unsigned number);
/* Removes all but the newest of them; 0: none. Only what is a log. */
void newlog_keep(const char *path, unsigned keep);
/* Nothing is overwritten: EEXIST then. 0 or an error number. */
int newlog_rename(const char *from, const char *to);
/* FILE.next, the file of the stream that comes next where two take turns; to be freed. */
char *newlog_next(const char *path);
/* FILE.unfinished, which becomes FILE.N when it is complete; to be freed. */
char *newlog_copy(const char *path);
/*
 * What there is in FILE gets the next number, and so does FILE.next, which there is if its recorder was killed: the
 * older one first. Not if it is certain that no events are in it, or somebody writes to it. What was copied before the recorder was
 * killed is removed. False: it has been said why it cannot be kept.
 */
bool newlog_retire(const char *path);

#endif
