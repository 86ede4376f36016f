/*
 * streams.h - what lies in a user's directory of shared memory: streams, and the processes that they trace
 *
 * A look at it from outside, copied by pread(): nothing is mapped, locked or changed, and nothing in there is trusted.
 * What others write meanwhile may make figures differ by what came in between.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STREAMS_H
#define STREAMS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/file.h"
#include "base/ident.h"
#include "shm/layout.h"
#include "shm/procpage.h"

#define COMMAND_SIZE 16

/* A process, as this one sees it. number 0: it has ended, or cannot be seen from here. */
struct seen_process {
	uint32_t number;
	char name[COMMAND_SIZE]; /* of its main thread; "" */
};

enum stream_trouble {
	STREAM_FINE,
	STREAM_UNREADABLE, /* the file cannot be opened or read; error says why */
	STREAM_VERSION,    /* of a library with another layout */
	STREAM_DAMAGED,    /* not what its header says */
};

struct seen_stream {
	char file[FILE_NAME_SIZE];
	struct page_entry entry; /* its name */
	bool alive; /* its creator holds it */
	enum stream_trouble trouble;
	int error;
	struct seen_process creator, target;
	struct stream_header header; /* a copy; strings have their null */
	uint64_t file_size;
	/* What is in it: */
	uint64_t unread; /* events that nobody has read, or that are not in the log yet */
	uint64_t used;   /* bytes that they take, about */
	uint64_t lost;
	bool lost_at_least; /* what LOOP has overwritten without a log, only its reader can tell */
	bool losing;        /* events were lost since the status or the events were asked for */
	/* Its log, if header.log_state: */
	char log[LOG_PATH_BYTES]; /* "": it has no path, as a pipe */
	uint64_t log_inode;
	uint32_t log_device_major, log_device_minor;
	struct log_place place; /* what has been written */
	struct log_mark mark;   /* what is on its way */
};

/* A process that can be traced. */
struct seen_page {
	char file[FILE_NAME_SIZE];
	struct ident ident;
	bool alive;    /* it, or one who traces it, holds the page */
	bool readable; /* the page is one that this version knows */
	bool attached; /* it has come to a trace point, or opened an event type */
	uint32_t version;
	struct seen_process process;
	char names[FILE_NAME_SIZE]; /* file of its registry */
	unsigned entries;
	struct page_entry *entry; /* its streams */
};

/* Another file there: names, and what was to be one of these. */
struct seen_file {
	char file[FILE_NAME_SIZE];
	char kind[16];
	struct ident ident;
	bool alive;
	struct seen_process process;
};

struct streams {
	int dir;
	struct place place;
	struct seen_stream *stream;
	struct seen_page *page;
	struct seen_file *other;
	size_t streams, pages, others;
};

/*
 * All of the directory: 0; -ENOENT: there is none, so nothing either; or another negative error number.
 * streams_free() in any case.
 */
int streams_read(struct streams *s, const struct place *place);
void streams_free(struct streams *s);
/* The stream in this file of the directory; false: there is none. Nothing is to be freed. */
bool streams_read_one(struct seen_stream *s, const struct place *place, const char *file);

/* The directories of all users, one after the other, that can be opened or not. */
void streams_each_user(void (*f)(const struct place *place, void *arg), void *arg);

/* The stream of a page's entry; null: there is none. */
const struct seen_stream *streams_find(const struct streams *s, const struct page_entry *entry);
/* The page of a process, as /proc calls it; null: it has none. */
const struct seen_page *streams_page(const struct streams *s, uint32_t number);
/* Is its log where it was? 0, or a negative error number: -ENOENT also if another file is there now. */
int streams_log_there(const struct seen_stream *stream);

/* Names of user event types, by id from EVENT_ID_USER on; f may be null. Returns how many there are. */
unsigned streams_names(const struct streams *s, const char *names,
                       void (*f)(trace_event_id_t id, const char *name, void *arg), void *arg);

/* The process with this identity, or ident.space 0: whatever its namespace. */
struct seen_process process_find(struct ident ident);
/* The command's name; "" if it cannot be told. */
void process_name(uint32_t number, char name[COMMAND_SIZE]);
/* The library's file that it has mapped, " (deleted)" behind it if that has been replaced; false: none. */
bool process_library(uint32_t number, char path[PATH_MAX]);

#endif
