/*
 * combine.h - makes one log of the logs of a recording: that of the program, and those of its workers
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef COMBINE_H
#define COMBINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A worker's log. */
struct combine_log {
	int fd;
	void *arg;
	uint64_t skip; /* how many events, from the beginning, earlier logs have. Result: all that are there now */
	/* Results: */
	uint64_t events;  /* events of programs, without those that are left out */
	uint64_t foreign; /* events left out, because they name a process that the filter does not accept */
	unsigned processes; /* number of processes with events */
};

struct combine {
	int fd; /* the program's log, which is complete */
	struct combine_log *log;
	unsigned logs;
	uint64_t begin, end; /* period of the workers' events; 0, UINT64_MAX: everything */
	bool last; /* the workers' logs are complete; otherwise what they have lost is left to the last log */
	const char *copy; /* temporary name, if the file system needs one: see newlog_make() */
	/*
	 * Returns whether events of the process can be in the worker's log. in_program: the program's log has events of
	 * it, too.
	 */
	bool (*accepts)(void *arg, uint32_t pid, bool in_program);
	/* Results: */
	int made;        /* the new log; -1: none */
	char *meanwhile; /* its name, if it has one; to be freed by the caller */
	uint64_t users;  /* events of programs */
	uint64_t bytes;
	bool full; /* there were more event types than a log can have; those without room are unnamed */
};

/*
 * Makes the new log, unless no worker's log has an event: then made is -1. Returns 0 or an error number; then there is
 * no new file.
 */
int combine(struct combine *c);

#endif
