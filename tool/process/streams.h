/*
 * streams.h - lists a user's directory of shared memory: streams, and the processes that they trace
 *
 * The files are copied by pread(). Nothing is mapped, locked or changed, and no content is trusted. Writers may change
 * a file while it is copied, so figures may be off by the events of that moment.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STREAMS_H
#define STREAMS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/file.h"
#include "host/ident.h"
#include "shm/layout.h"
#include "shm/procpage.h"

#define COMMAND_SIZE 16

/* What list and recover say about streams that only their users can complete: a number, "s" or "", and whose. */
#define STREAMS_OF_OTHERS "%zu stream%s of other users: %s ended; 'posixtrace recover', run by the user whose " \
	"stream it is, finishes the log and removes the stream"

/* A process as the caller sees it. number 0: the process has ended, or is not visible in the caller's pid namespace. */
struct seen_process {
	uint32_t number;
	char name[COMMAND_SIZE]; /* of the main thread; "" if unknown */
};

enum stream_trouble {
	STREAM_FINE,
	STREAM_UNREADABLE, /* the file cannot be opened or read; see error */
	STREAM_VERSION,    /* made by a library with another layout */
	STREAM_DAMAGED,    /* the file contradicts its header */
};

struct seen_stream {
	char file[FILE_NAME_SIZE];
	struct page_entry entry; /* parsed from the file's name */
	bool alive; /* the creator holds the file */
	enum stream_trouble trouble;
	int error;
	struct seen_process creator, target;
	struct stream_header header; /* a copy; its strings are terminated */
	uint64_t file_size;
	/* Its contents: */
	uint64_t unread; /* events not yet read by a reader, or not yet in the log */
	uint64_t used;   /* bytes of the unread events, approximately */
	uint64_t lost;
	/* without a log, only the reader knows how many of the events that LOOP overwrote were lost */
	bool lost_at_least;
	bool losing;        /* events were lost since the status or the events were last read */
	/* The stream's log, if header.log_state: */
	char log[LOG_PATH_BYTES]; /* "": the log has no path, for instance a pipe */
	bool log_hidden; /* its state is not in the file, but only in its creator's memory */
	uint64_t log_inode;
	uint32_t log_device_major, log_device_minor;
	struct log_position log_position; /* written so far */
	struct log_mark mark;   /* being written */
};

/* A process that can be traced. */
struct seen_page {
	char file[FILE_NAME_SIZE];
	struct ident ident;
	bool alive;    /* the process, or a controller that traces it, holds the page */
	bool readable; /* the page has the layout of this version */
	bool attached; /* the process has reached a trace point, or opened an event type */
	uint32_t version;
	struct seen_process process;
	char names[FILE_NAME_SIZE]; /* file of the registry */
	unsigned entries;
	struct page_entry *entry; /* its streams */
};

/* Any other file in the directory: a registry ("names-"), or a temporary file ("new-") that was never renamed. */
struct seen_file {
	char file[FILE_NAME_SIZE];
	char kind[16];
	struct ident ident;
	bool alive;
	struct seen_process process;
};

struct streams {
	int dir;
	struct shm_dir shm_dir;
	struct seen_stream *stream;
	struct seen_page *page;
	struct seen_file *other;
	size_t streams, pages, others;
};

/*
 * Reads the whole directory. Returns 0, -ENOENT if the directory does not exist, or another negative error number. The
 * caller calls streams_free() in any case.
 */
int streams_read(struct streams *s, const struct shm_dir *shm_dir);
void streams_free(struct streams *s);
/*
 * Reads the stream in a file of the directory. Returns false if the stream does not exist. Nothing needs to be freed.
 */
bool streams_read_one(struct seen_stream *s, const struct shm_dir *shm_dir, const char *file);

/* Calls f for the directory of each user, including directories that cannot be opened. */
void streams_each_user(void (*f)(const struct shm_dir *shm_dir, void *arg), void *arg);

/* Returns the stream of a page's entry, or null if the directory has no such stream. */
const struct seen_stream *streams_find(const struct streams *s, const struct page_entry *entry);
/* Returns the page of a process, given its number in /proc, or null if the process has no page. */
const struct seen_page *streams_page(const struct streams *s, uint32_t number);
/*
 * Returns 0 if the stream's log still has its path, else a negative error number: -ENOENT also if the path names
 * another file now.
 */
int streams_log_there(const struct seen_stream *stream);

/*
 * Calls f, which may be null, for each user event type, by ascending id from EVENT_ID_USER on, with its name and the
 * layout that was declared beside it, or "". Returns the number of types.
 */
typedef void seen_name(trace_event_id_t id, const char *name, const char *layout, void *arg);
unsigned streams_names(const struct streams *s, const char *names, seen_name *f, void *arg);

/*
 * Returns how many names were refused because they are too long, and the beginning of the first in name. Returns 0 if
 * none was.
 */
uint64_t streams_refused(const struct streams *s, const char *names, char name[REGISTRY_NAME_BYTES]);

/* Returns the process with this identity. ident.pidns 0 matches any namespace. */
struct seen_process process_find(struct ident ident);
/* Returns in name the name of the command, "" if it is unknown. */
void process_name(uint32_t number, char name[COMMAND_SIZE]);
/*
 * Returns in path the library's file that the process has mapped, followed by " (deleted)" if the file has been
 * replaced. Returns false if the process has not mapped the library.
 */
bool process_library(uint32_t number, char path[PATH_MAX]);

#endif
