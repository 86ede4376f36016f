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
/* If there is something in FILE, it becomes FILE.N. False: it has been said why not. */
bool newlog_retire(const char *path, unsigned number);

#endif
