/*
 * probelog.h - a log FILE.SUFFIX beside FILE, with the events of another tracer, that is merged into FILE at the end
 *
 * If the recorder is killed, both logs remain, and all commands that read logs take both.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PROBELOG_H
#define PROBELOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct posixtrace_log_writer;

struct probelog {
	struct posixtrace_log_writer *writer;
	char *path;
	int fd; /* -1: none */
	bool kept; /* there was such a log of an earlier recorder, which is FILE.SUFFIX.old now */
	int64_t offset; /* from CLOCK_MONOTONIC to the times of FILE */
	uint64_t begin; /* the creation of FILE: no event is before */
	uint64_t last;  /* time of the last event */
	uint64_t events, lost;
	int error;      /* the first error of writing; 0: none */
};

/* What probelog_merge() has found. */
struct merged {
	uint64_t events, lost; /* of the log beside */
};

/* Creates the log. path, fd: of FILE, a log that was begun. Returns false after it has printed the reason. */
bool probelog_open(struct probelog *b, const char *path, int fd, const char *suffix, uint32_t pid);
/* Puts an event, with its time on CLOCK_MONOTONIC. Times that go back are raised. */
void probelog_put(struct probelog *b, uint64_t time, uint32_t pid, uint32_t tid, uint64_t address, uint32_t type,
                const void *data, size_t length);
/* Returns the time of the log for one on CLOCK_MONOTONIC. */
uint64_t probelog_time(const struct probelog *b, uint64_t monotonic);
/* Reports lost events between two such times. */
void probelog_lose(struct probelog *b, uint64_t from, uint64_t until, uint64_t count);
/* Completes the log. */
void probelog_finish(struct probelog *b);
/*
 * Merges the log, which is complete, into FILE, which is complete too, and removes it. *fd: of FILE; it becomes the
 * descriptor of the merged file. Returns 0 or an error number: then both logs remain.
 */
int probelog_merge(struct probelog *b, const char *path, int fd, struct merged *m);
/* Removes the log without merging. */
void probelog_cancel(struct probelog *b);
/* Leaves the log where it is. */
void probelog_leave(struct probelog *b);

#endif
