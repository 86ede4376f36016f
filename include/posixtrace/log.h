/*
 * log.h - reads the logs of posixtrace and running programs, and writes logs with the events of other tracers
 *
 *     struct posixtrace_log *log;
 *     const struct posixtrace_log_event *event;
 *
 *     posixtrace_log_open("posixtrace.log", &log);
 *     while (posixtrace_log_next(log, &event) == 0 && event)
 *             if (event->type)
 *                     printf("%lld %s\n", (long long)event->relative, event->type->name);
 *     posixtrace_log_close(log);
 *
 * Link with -lposixtrace-log (pkg-config posixtrace-log), which needs only the C library. For C99, C++ and bindings of
 * other languages; docs/reading-logs.md is an introduction.
 *
 * A log may be damaged, cut off, or still be written: what can be read is read, and what is missing is reported as a
 * loss, in its place among the events. No file can harm the program, and no function ends it or prints.
 *
 * Unless it says otherwise, a function returns 0 or an error number of <errno.h>; posixtrace_log_error() then says what
 * is wrong. Times are in nanoseconds of CLOCK_REALTIME, since 1970-01-01 UTC, as it was set when the log was created.
 * Texts end with a null; texts from a log may contain any other bytes, and may not be UTF-8. In the comments arguments
 * have their names without the underscores.
 *
 * The structures are made by the library, which may append members in later versions: use only pointers to them. They
 * and the texts in them live as long as the reader, except those of an event. One thread at a time may use a reader or
 * a writer; different ones are independent.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef POSIXTRACE_LOG_H
#define POSIXTRACE_LOG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A reader: a log or a running process, or several of them, whose events are merged by time. */
struct posixtrace_log;
/* A writer of a log. */
struct posixtrace_log_writer;

/*
 * Returns what was wrong in the last call of this thread that has returned an error number: a sentence without its
 * full stop, such as "x.log: not a posixtrace log". Valid until the next call of this thread.
 */
const char *posixtrace_log_error(void);

/* -- Opening ---------------------------------------------------------------------------------- */

/*
 * Opens a log, and stores a reader. path "-": standard input. A pipe, a FIFO or a socket is read to its end first, into
 * an unnamed file in $TMPDIR or /tmp. path null: a reader without logs, for the functions below. The file is not
 * changed: see posixtrace_log_recover(). EINVAL not a log, or a null pointer; EBADMSG a log, but its header is damaged,
 * or it is of another version or byte order; ENOMEM; and others: the system's for opening or reading the file.
 */
int posixtrace_log_open(const char *__path, struct posixtrace_log **__log);

/*
 * Add another log, whose events are then merged with the others; before the first event is read. fd: an open file or
 * pipe, which remains the caller's. size bytes of memory are copied. name: for messages and `path`, may be null. The
 * errors of posixtrace_log_open(), and EBUSY reading has begun.
 */
int posixtrace_log_add(struct posixtrace_log *__log, const char *__path);
/* The errors of posixtrace_log_add(). */
int posixtrace_log_add_fd(struct posixtrace_log *__log, int __fd, const char *__name);
/* The errors of posixtrace_log_add(). */
int posixtrace_log_add_memory(struct posixtrace_log *__log, const void *__bytes, size_t __size, const char *__name);

/*
 * Adds to the log of a recorder that was killed what is still in memory, as `posixtrace recover` does. To be called
 * before the log is opened; that of another recorder is not changed. fd: the log, a regular file. If the log cannot be
 * written, it stays as it is, and the result is 0. EINVAL not a log; EBADMSG as posixtrace_log_open(); ENOMEM; and
 * others: the system's for reading the file.
 */
int posixtrace_log_recover(int __fd);

/* -- Running processes ------------------------------------------------------------------------- */

/* How a running process is recorded; made by the caller. 0: as it is usual. */
struct posixtrace_log_recording {
	size_t size;              /* sizeof(struct posixtrace_log_recording) */
	uint64_t stream_size;     /* bytes of shared memory for events that were not read yet; 0: 8 MiB */
	uint32_t data_size;       /* bytes of an event's data that are kept, at most 65535; 0: 1024 */
	uint32_t children;        /* 1: also the children that the process starts from now on, and theirs */
	uint32_t despite_seccomp; /* 1: a process with a seccomp filter too, which the filter may kill */
};

/*
 * Records the events of a running process from now on, and stores a reader for them. pid may be the caller's own.
 * recording null: as it is usual. The reader is used like that of a log, but for three points:
 *
 * - posixtrace_log_next() waits for an event. At the end of the process it stores null, after the last event. With
 *   children, at the end of all processes that have recorded events.
 * - Of events that are not read in time the oldest are lost, and reported. The process never waits for the reader.
 * - Events can be read once: posixtrace_log_rewind() does nothing, and posixtrace_log_scan() fails.
 *
 * Nothing remains in the process or in shared memory when the reader is closed or ends. Event types are known when the
 * process has opened them. A child that the caller forks cannot use the reader; it may close it.
 *
 * EPERM the process belongs to another user, or has more rights than the caller, or has a seccomp filter; ESRCH no such
 * process; EINVAL a null pointer, or a wrong recording; EAGAIN the user has TRACE_SYS_MAX streams; ENOMEM no memory, or
 * no space in shared memory; ENOENT there is no /dev/shm; and others: those of posix_trace_create().
 */
int posixtrace_log_live(uint32_t __pid, const struct posixtrace_log_recording *__recording,
                        struct posixtrace_log **__log);
/* Adds a running process to a reader, at any time. The errors of posixtrace_log_live(). */
int posixtrace_log_add_live(struct posixtrace_log *__log, uint32_t __pid,
                            const struct posixtrace_log_recording *__recording);
/*
 * Waits until posixtrace_log_next() would not: for a selected event or loss, or the end. timeout: ns; 0: does not wait;
 * negative: no limit. Of a log the result is 0 without waiting. ETIMEDOUT nothing came; EINTR a signal handler has run;
 * EINVAL a null pointer; ENOMEM, EIO as posixtrace_log_next().
 */
int posixtrace_log_wait(struct posixtrace_log *__log, int64_t __timeout);

/* Frees a reader and all that was returned for it; null: does nothing. */
void posixtrace_log_close(struct posixtrace_log *__log);

/* -- Event types ------------------------------------------------------------------------------ */

/* What the value of a field is. */
#define POSIXTRACE_LOG_UNSIGNED 0
#define POSIXTRACE_LOG_SIGNED   1
#define POSIXTRACE_LOG_HEX      2  /* unsigned, usually shown in hexadecimal */
#define POSIXTRACE_LOG_FLOAT    3
#define POSIXTRACE_LOG_BOOL     4
#define POSIXTRACE_LOG_CODE     5  /* an address in the program */
#define POSIXTRACE_LOG_WHEN     6  /* a time since 1970-01-01 UTC, in the field's unit */
#define POSIXTRACE_LOG_TEXT     7
#define POSIXTRACE_LOG_BYTES    8

/* A field of an event type, as its program has declared it. */
struct posixtrace_log_field {
	const char *name;
	const char *unit;  /* "" if it has none; of POSIXTRACE_LOG_WHEN: "s", "ms", "us" or "ns" */
	uint32_t kind;     /* POSIXTRACE_LOG_UNSIGNED ... */
	uint32_t size;     /* bytes of one item: 1, 2, 4 or 8; 1 for texts and bytes */
	uint32_t array;    /* 1: a list of items */
	uint32_t count;    /* items of an array, or bytes; 0: different in each event */
	uint32_t labels;   /* how many values or bits have names */
	uint32_t bits;     /* 1: the labels name bits, and not values */
	uint32_t counter;  /* 1: the value of a counter */
};

/* An event type. Types of several logs with one name and the same fields are one. */
struct posixtrace_log_type {
	const char *name;
	const char *layout; /* as declared, "{rows:u32,time:u64/ns}"; "" if there is none */
	const char *wrong;  /* what is wrong with the layout, whose fields are then missing; null: nothing */
	uint32_t index;     /* of posixtrace_log_type_at() */
	uint32_t fields;
	uint32_t system;    /* 1: about the recording itself, as posix_trace_start */
	uint32_t id;        /* in the log where the type was found first */
	uint64_t events;    /* read so far */
};

/* Returns the number of event types. */
size_t posixtrace_log_types(const struct posixtrace_log *__log);
/* Returns the type with this index, from 0 on; null if there is none. */
const struct posixtrace_log_type *posixtrace_log_type_at(const struct posixtrace_log *__log, size_t __index);
/* Returns the first type of this name, without a layout; null if there is none. */
const struct posixtrace_log_type *posixtrace_log_find_type(const struct posixtrace_log *__log, const char *__name);
/* Returns the field with this index, from 0 on; null if there is none. */
const struct posixtrace_log_field *posixtrace_log_field_at(const struct posixtrace_log_type *__type, unsigned __index);
/* Returns the index of the field of this name, or -1. The index is valid for all events of the type. */
int posixtrace_log_find_field(const struct posixtrace_log_type *__type, const char *__name);
/* Returns the label with this index, null if there is none. Stores its value or its bits, unless value is null. */
const char *posixtrace_log_label_at(const struct posixtrace_log_type *__type, unsigned __field, unsigned __index,
                                 int64_t *__value);

/* -- What events mean ----------------------------------------------------------------------------- */

/* Levels of log messages, in the order of syslog. */
#define POSIXTRACE_LOG_NO_LEVEL  0
#define POSIXTRACE_LOG_EMERGENCY 1
#define POSIXTRACE_LOG_ALERT     2
#define POSIXTRACE_LOG_CRITICAL  3
#define POSIXTRACE_LOG_ERROR     4
#define POSIXTRACE_LOG_WARNING   5
#define POSIXTRACE_LOG_NOTICE    6
#define POSIXTRACE_LOG_INFO      7
#define POSIXTRACE_LOG_DEBUG     8

/*
 * What the attributes of a layout say of the events of a type (docs/layouts.md, "Meanings"). Two names that differ in
 * the last word, as sql.begin and sql.end, are a span without attributes. A field is an index; -1: none.
 */
struct posixtrace_log_meaning {
	const char *begin;   /* the span that an event begins; "": none */
	const char *end;     /* the span that an event ends; "": none */
	const char *span;    /* the span that an event is as a whole; "": none */
	int32_t took;        /* of a whole span: the field that has how long it took, until the time of the event */
	int32_t by;          /* has the same value in the begin and in the end; of counters: which one it is */
	int32_t send;        /* a flow goes from here to the events that receive the same value */
	int32_t receive;     /* a flow comes here from the event that has sent the same value */
	int32_t level_field; /* the labels of this field are levels */
	uint32_t level;      /* of all events of the type; POSIXTRACE_LOG_NO_LEVEL: none, or the field says it */
	uint32_t counter;    /* 1: fields whose `counter` is 1 are values of counters */
	uint32_t named;      /* 1: begin and end are of the names; a type that comes later may change them */
};

/* Returns what the events of a type mean, which may be nothing of this. Null for a null pointer only. */
const struct posixtrace_log_meaning *posixtrace_log_meaning_of(const struct posixtrace_log_type *__type);
/* Returns the word for a level, "error"; null if it is none. */
const char *posixtrace_log_level_name(uint32_t __level);

/* -- Processes and threads --------------------------------------------------------------------- */

/* A piece of a file that a process has mapped, to find the function at an address. */
struct posixtrace_log_module {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* of start in the file */
	uint64_t time;       /* when it was seen */
	const char *path;
	const unsigned char *build_id;
	uint32_t build_id_length; /* 0: it has none */
};

/* A process with events, or that a log describes. */
struct posixtrace_log_process {
	uint32_t pid;    /* in the traced process's pid namespace */
	uint32_t parent; /* 0: unknown */
	uint64_t time;   /* when it was first described, at its first event; 0: it was not */
	const char *executable; /* path; "" if unknown */
	const char *name;       /* its last part */
	const char *command;    /* the arguments, each with a null behind it */
	size_t command_length;  /* 0: unknown */
	size_t modules;
	uint32_t index;   /* of posixtrace_log_process_at() */
	uint32_t machine; /* the first log of the same boot of the same machine: pids of others are others */
};

/* A thread that has recorded events. */
struct posixtrace_log_thread {
	const struct posixtrace_log_process *process;
	const char *name; /* in the last event read */
	uint32_t tid;     /* of the kernel */
	uint32_t index;   /* of posixtrace_log_thread_at() */
	uint64_t events;  /* read so far */
};

/* Returns the number of processes: those that the logs describe, and those with events read so far. */
size_t posixtrace_log_processes(const struct posixtrace_log *__log);
/* Returns the process with this index, from 0 on; null if there is none. */
const struct posixtrace_log_process *posixtrace_log_process_at(const struct posixtrace_log *__log, size_t __index);
/* Returns the number of threads with events read so far. */
size_t posixtrace_log_threads(const struct posixtrace_log *__log);
/* Returns the thread with this index, from 0 on; null if there is none. */
const struct posixtrace_log_thread *posixtrace_log_thread_at(const struct posixtrace_log *__log, size_t __index);
/* Returns the module with this index, from 0 on, in the order of the log; null if there is none. */
const struct posixtrace_log_module *posixtrace_log_module_at(const struct posixtrace_log_process *__process,
                                                          size_t __index);
/* Returns the module in which an address was at a time; null if none is known. */
const struct posixtrace_log_module *posixtrace_log_find_module(const struct posixtrace_log_process *__process,
                                                               uint64_t __address, uint64_t __time);

/* -- Events and losses -------------------------------------------------------------------------- */

/* Why events are missing. */
/* The stream lost them: its reader was too slow, or it is a LOOP. Or posixtrace_log_put() could not write them. */
#define POSIXTRACE_LOG_LOST        0
#define POSIXTRACE_LOG_STOPPED     1 /* the stream was full, and recording stopped until it was restarted */
#define POSIXTRACE_LOG_OVERWRITTEN 2 /* newer events took their place in a LOOP log */
#define POSIXTRACE_LOG_DISCARDED   3 /* the log was full */
#define POSIXTRACE_LOG_UNWRITTEN   4 /* the log could not be written, for example to a full disk */
#define POSIXTRACE_LOG_DAMAGED     5 /* they were in a part of the log, or of shared memory, that cannot be read */
#define POSIXTRACE_LOG_OPEN        6 /* the log was not closed: cut off, or still being written */

/* Events that are missing. The counts of all losses of a log are what its posixtrace_log_about says. */
struct posixtrace_log_loss {
	uint32_t reason;     /* POSIXTRACE_LOG_LOST ... */
	uint32_t at_least;   /* 1: the count is a lower bound */
	uint64_t count;      /* events that no earlier loss has counted */
	uint64_t from, until; /* the events were between these times; until 0: unknown, or the end of the log */
};

/*
 * A segment of a log: events that the recorder has written together. Losses come between segments, but for
 * POSIXTRACE_LOG_STOPPED. In formats with packets a segment is a packet.
 */
struct posixtrace_log_segment {
	uint64_t number;     /* in its log, from 1 on; the first ones of a LOOP log were overwritten */
	uint64_t begin, end; /* the first and the latest time; with several processors, not always of the last event */
	uint64_t missing;    /* segments that are missing before it because the log is damaged, as far as is known */
};

/* An event, or a loss. Valid until the next call for its reader. */
struct posixtrace_log_event {
	uint64_t time;
	int64_t relative; /* ns since the creation of the first log; a time too far away: INT64_MAX or INT64_MIN */
	const struct posixtrace_log_type *type; /* null: a loss */
	const struct posixtrace_log_loss *loss; /* null: an event */
	/* Null: an event of the recording itself, or a loss; or a running process has more than 262144 threads. */
	const struct posixtrace_log_process *process;
	const struct posixtrace_log_thread *thread;
	const char *thread_name; /* at the time of the event; "" if unknown */
	uint64_t address;        /* of the trace point; 0: unknown */
	uint64_t pthread;        /* pthread_t of the thread; 0: unknown */
	const unsigned char *data; /* not aligned */
	uint32_t length;         /* bytes of data */
	uint32_t pid, tid;       /* 0: none */
	uint32_t truncated;      /* 1: the data were cut when they were recorded */
	uint32_t source;         /* index of posixtrace_log_about_at() */
	const struct posixtrace_log_segment *segment; /* null: a loss, or an event of a running process */
};

/*
 * Stores the next event or loss, in the order of their times as far as the clocks can tell; null at the end. EINVAL a
 * null pointer; ENOMEM; EIO a part of a file could not be read, and what is missing there is reported as damaged. Of a
 * running process: waits; EINTR a signal handler has run meanwhile.
 */
int posixtrace_log_next(struct posixtrace_log *__log, const struct posixtrace_log_event **__event);

/* Goes back to the first event of each log. */
void posixtrace_log_rewind(struct posixtrace_log *__log);

/*
 * Reads all events, for the tables of threads and processes and for the counts, and goes back to the first. The filters
 * do not matter. ESPIPE there is a running process; EINVAL, ENOMEM, EIO as posixtrace_log_next().
 */
int posixtrace_log_scan(struct posixtrace_log *__log);

/* -- Filters: they count from the next event on, and an event has to pass all of them --------------- */

/*
 * Selects events by the names of their types. pattern: as for file names in a shell, "sql.*"; "!sql.row" selects all
 * others. The last of several patterns that matches decides. EINVAL a null pointer; ENOMEM.
 */
int posixtrace_log_only_event(struct posixtrace_log *__log, const char *__pattern);
/* Selects by the name of the thread. The errors of posixtrace_log_only_event(). */
int posixtrace_log_only_thread(struct posixtrace_log *__log, const char *__pattern);
/* Selects events of this process, and those selected by earlier calls. The errors of posixtrace_log_only_event(). */
int posixtrace_log_only_pid(struct posixtrace_log *__log, uint32_t __pid);
/* Selects events of this thread, and those selected by earlier calls. The errors of posixtrace_log_only_event(). */
int posixtrace_log_only_tid(struct posixtrace_log *__log, uint32_t __tid);
/*
 * Selects events and losses at or after `from` and before `until`, which may be UINT64_MAX: no end. EINVAL a null
 * pointer, or the end is not later.
 */
int posixtrace_log_only_time(struct posixtrace_log *__log, uint64_t __from, uint64_t __until);
/*
 * Selects events and losses for which the function returns another value than 0. wanted null: no such function. EINVAL
 * a null pointer.
 */
int posixtrace_log_only_if(struct posixtrace_log *__log,
                           int (*__wanted)(const struct posixtrace_log_event *__event, void *__context),
                           void *__context);
/* Selects all events again. */
void posixtrace_log_all(struct posixtrace_log *__log);

/* -- Values of fields ------------------------------------------------------------------------------ */

/*
 * Stores the value of a field of an event. item: 0, or the index in an array. The event may lack its last fields: its
 * data was cut, or the program recorded less. Times, booleans and addresses are numbers; a signed value can be read as
 * unsigned if it is not negative. ENOENT the event has no such item or field; EINVAL the field is no number, or a null
 * pointer; ERANGE the value does not fit.
 */
int posixtrace_log_get_unsigned(const struct posixtrace_log_event *__event, unsigned __field, size_t __item,
                                uint64_t *__value);
/* The errors of posixtrace_log_get_unsigned(). */
int posixtrace_log_get_signed(const struct posixtrace_log_event *__event, unsigned __field, size_t __item,
                              int64_t *__value);
/* Converts integers. ENOENT the event has no such item or field; EINVAL the field is no number, or a null pointer. */
int posixtrace_log_get_double(const struct posixtrace_log_event *__event, unsigned __field, size_t __item,
                              double *__value);
/*
 * Stores a pointer to a text, which has no null at its end, and its length in bytes. ENOENT the event has no such
 * field; EINVAL the field is no text, or a null pointer.
 */
int posixtrace_log_get_text(const struct posixtrace_log_event *__event, unsigned __field, const char **__text,
                            size_t *__length);
/* Stores the bytes of any field, which are not aligned. ENOENT the event has no such field; EINVAL a null pointer. */
int posixtrace_log_get_bytes(const struct posixtrace_log_event *__event, unsigned __field,
                             const unsigned char **__bytes, size_t *__length);
/* Stores the number of items in this event: 1 if the field is no array. ENOENT no such field; EINVAL a null pointer. */
int posixtrace_log_get_count(const struct posixtrace_log_event *__event, unsigned __field, size_t *__count);
/*
 * Writes the label of a value, or of its bits as "read|write|0x40", with a null, into size bytes. ENOENT the event has
 * no such item or field, or the value has no label; EINVAL a null pointer; ERANGE size is too small.
 */
int posixtrace_log_get_label(const struct posixtrace_log_event *__event, unsigned __field, size_t __item, char *__text,
                             size_t __size);
/*
 * Stores the level of a log message, which its type or a field tells. ENOENT the event has no level; EINVAL a null
 * pointer.
 */
int posixtrace_log_get_level(const struct posixtrace_log_event *__event, uint32_t *__level);
/*
 * Stores how long a whole span took, in nanoseconds; 0 if its field is negative, and UINT64_MAX if it is too large.
 * ENOENT the event is no whole span, or ends before the field; EINVAL a null pointer.
 */
int posixtrace_log_get_took(const struct posixtrace_log_event *__event, uint64_t *__ns);
/*
 * Stores the bytes that belong to no field: behind the fields, or all of them if no layout was declared. Padding is not
 * among them. ENOENT there are none; EINVAL a null pointer.
 */
int posixtrace_log_get_rest(const struct posixtrace_log_event *__event, const unsigned char **__bytes,
                            size_t *__length);

/* Forms of an event's data, for formats where each kind of event has fixed fields. No form lacks a byte. */
#define POSIXTRACE_LOG_FORM_NONE   0 /* no data */
#define POSIXTRACE_LOG_FORM_FIELDS 1 /* exactly the declared fields */
#define POSIXTRACE_LOG_FORM_MORE   2 /* the declared fields, and posixtrace_log_get_rest() */
#define POSIXTRACE_LOG_FORM_TEXT   3 /* text in UTF-8, perhaps with a null; no or other fields are declared */
#define POSIXTRACE_LOG_FORM_BYTES  4 /* no text either */

/* Stores the form of the data. EINVAL a null pointer. */
int posixtrace_log_get_form(const struct posixtrace_log_event *__event, uint32_t *__form);
/*
 * Writes in words what an event of the recording itself says, with a null, into size bytes: why recording stopped, or
 * which types are filtered out; an empty text if there is nothing to say. ENOENT an event of a program, or its data are
 * not of a known kind; EINVAL a null pointer; ERANGE size is too small, for which 4096 bytes are enough.
 */
int posixtrace_log_get_system_text(const struct posixtrace_log_event *__event, char *__text, size_t __size);

/*
 * Copies a text from a log into size bytes, with a null, as UTF-8 without control characters: other bytes become \xHH.
 * So it can be shown in a terminal. The text ends at a null or after length bytes. Returns the length of the whole
 * result, which was cut off if it is not less than size.
 */
size_t posixtrace_log_show(const char *__text, size_t __length, char *__shown, size_t __size);

/* -- Columns: the values of many events at once ------------------------------------------------------ */

/* What a column has, besides the indexes of fields. */
#define POSIXTRACE_LOG_TIME    (-1)
#define POSIXTRACE_LOG_PID     (-2)
#define POSIXTRACE_LOG_TID     (-3)
#define POSIXTRACE_LOG_ADDRESS (-4)
#define POSIXTRACE_LOG_LENGTH  (-5)
#define POSIXTRACE_LOG_SOURCE  (-6)
#define POSIXTRACE_LOG_TYPE    (-7) /* its index */
#define POSIXTRACE_LOG_THREAD  (-8) /* its index; UINT64_MAX: none */

/* The type of the values in a column. */
#define POSIXTRACE_LOG_UINT64 0
#define POSIXTRACE_LOG_INT64  1
#define POSIXTRACE_LOG_DOUBLE 2

/* A column to be filled; made by the caller. */
struct posixtrace_log_column {
	int32_t field;   /* index of a field, or POSIXTRACE_LOG_TIME ... */
	uint32_t values_type; /* POSIXTRACE_LOG_UINT64 ... */
	void *values;    /* an array with room for the rows: uint64_t, int64_t or double */
	unsigned char *present; /* null, or an array that becomes 1 where the event has the value, and 0 where not */
};

/*
 * Reads on, and stores the values of the next events of a type, up to `most` of them; other events and losses are
 * passed by, and filters count. type null: events of any type, for columns that are no fields. Of an array, the first
 * item is stored. A value that the event lacks is stored as 0; one that does not fit is converted as C does it. Stores
 * the number of events: 0 at the end. Of a running process: waits for the first event, and reads what there is. EINVAL
 * a column is no number, or a null pointer; ENOMEM, EIO, EINTR as posixtrace_log_next().
 */
int posixtrace_log_read(struct posixtrace_log *__log, const struct posixtrace_log_type *__type,
                        const struct posixtrace_log_column *__columns, size_t __count, size_t __most, size_t *__rows);

/* -- About a log ---------------------------------------------------------------------------------------- */

/* A label of a log: `posixtrace record --label version=1.2`. UTF-8 without control characters. */
struct posixtrace_log_label {
	const char *key, *value;
};

/* Why the clocks were read. */
#define POSIXTRACE_LOG_CLOCK_BEGIN  1 /* at the beginning */
#define POSIXTRACE_LOG_CLOCK_PERIOD 2 /* ten seconds have passed */
#define POSIXTRACE_LOG_CLOCK_STEP   3 /* CLOCK_REALTIME was set */
#define POSIXTRACE_LOG_CLOCK_END    4 /* at the end */

/* The clocks of the machine at one moment. */
struct posixtrace_log_clock {
	uint64_t monotonic, realtime, boottime; /* CLOCK_MONOTONIC ..., ns */
	uint64_t took;   /* all were read within this time, ns */
	int32_t tai;     /* CLOCK_TAI - CLOCK_REALTIME, s; 0: unknown */
	uint32_t reason; /* POSIXTRACE_LOG_CLOCK_BEGIN ... */
	uint32_t known;  /* 1: adjtimex() was asked; 0: it was not, and what follows is 0 */
	uint32_t state;  /* its result: 5 not synchronized */
	uint32_t status; /* STA_..., of <sys/timex.h> */
	int64_t offset;      /* correction that remains, ns */
	int64_t frequency;   /* correction, 2^-16 ppm */
	uint64_t max_error, estimated_error; /* ns */
};

/* Where a log comes from, and what is missing from it. Of a running process some members are 0. */
struct posixtrace_log_about {
	const char *path;      /* as given; "process 1234" */
	const char *name;      /* of the trace: usually the program */
	const char *generator; /* what has written it, with its version */
	const char *host, *kernel, *machine;
	const unsigned char *boot; /* 16 bytes: the boot id; zeroes: unknown */
	uint64_t created;
	uint64_t created_monotonic; /* the same moment on CLOCK_MONOTONIC */
	uint64_t resolution;        /* of the clock, ns */
	uint32_t target;            /* process id of the traced process */
	uint32_t creator;           /* process id of the recorder */
	uint32_t word;              /* bytes of a pointer: 4 or 8 */
	uint32_t children;          /* 1: children of the traced process are recorded too */
	uint32_t stream_policy, log_policy; /* POSIX_TRACE_LOOP 1, UNTIL_FULL 2, FLUSH 3, APPEND 4 */
	uint64_t stream_size, log_size;     /* bytes */
	uint64_t data_size;                 /* of an event, at most */
	uint64_t bytes;      /* of the file */
	uint64_t skipped;    /* bytes that are no part of the log */
	uint32_t complete;   /* 1: closed, nothing unwritten, and not cut off */
	uint32_t closed;     /* 1: the counts of what is missing are exact */
	uint32_t error;      /* error number of the last attempt to write it; 0: none */
	uint32_t machine_index; /* the first log of the same boot of the same machine */
	/* What is missing; `damaged` is known when the last event has been read. */
	uint64_t lost, overwritten, discarded, unwritten, damaged;
	/* Events read so far, and their first and last time; 0: none. */
	uint64_t events, first, last;
	uint64_t losses;     /* losses met so far, also those that no filter has selected */
	uint32_t live;       /* 1: a running process */
	uint32_t ended;      /* 1: it has ended, and all its events were read */
	/* A segment of a log is known everywhere by these two and its offset in the file. */
	uint64_t id;         /* a random number */
	uint64_t generation; /* how often the log was begun anew */
	uint64_t unknown;    /* parts of kinds that this version does not know, read so far */
	const struct posixtrace_log_label *label;
	size_t labels;
	/* In the order of the file; those of the period may be thinned out. */
	const struct posixtrace_log_clock *clock;
	size_t clocks;
};

/* Returns the number of logs and running processes. */
size_t posixtrace_log_sources(const struct posixtrace_log *__log);
/* Returns what is known of the log or process with this index, from 0 on; null if there is none. */
const struct posixtrace_log_about *posixtrace_log_about_at(const struct posixtrace_log *__log, size_t __index);

/* -- Writing ----------------------------------------------------------------------------------------------- */

/* Where the events come from; made by the caller. A null pointer or 0: unknown, or as it is on this machine. */
struct posixtrace_log_origin {
	size_t size;           /* sizeof(struct posixtrace_log_origin) */
	const char *name;      /* of the trace: the program */
	const char *generator; /* what has recorded the events, with its version */
	const char *host, *kernel, *machine; /* null: this machine's */
	uint64_t created;      /* time 0 of the log; 0: the time of the first event */
	uint64_t resolution;   /* of the clock, ns */
	uint32_t target;       /* process id of the traced process */
	uint32_t word;         /* bytes of its pointers, 4 or 8; 0: as in this process */
};

/*
 * Creates a log at path for the events of another tracer, and stores a writer. origin null: nothing is known. A file
 * there is overwritten if it is empty or a log. In a directory that other users can write to, links and files of other
 * users are refused, as by the command (docs/command.md, "Files of other users"). EACCES such a link or file; EEXIST
 * the file is neither empty nor a log; EINVAL a null pointer, or a wrong origin; ENOMEM; and others: the system's for
 * creating the file.
 */
int posixtrace_log_create(const char *__path, const struct posixtrace_log_origin *__origin,
                          struct posixtrace_log_writer **__writer);
/*
 * Writes the log to an open file, from its beginning, or to a pipe. The descriptor remains the caller's. EBADF it is
 * not open for writing; EEXIST the file is neither empty nor a log, or it is not empty and open with O_APPEND; EINVAL
 * as posixtrace_log_create(), or the file cannot be a log; ENOMEM; and others.
 */
int posixtrace_log_create_fd(int __fd, const struct posixtrace_log_origin *__origin,
                             struct posixtrace_log_writer **__writer);

/*
 * Stores the number of an event type, a new one for a new name. layout: what its data are (docs/layouts.md), or null.
 * EEXIST the type has another layout; EINVAL the layout is wrong, the name is empty or begins with posix_trace_, or a
 * null pointer; ENAMETOOLONG the name has more than 63 bytes; ENOMEM; ENOSPC there are 8064 types.
 */
int posixtrace_log_declare(struct posixtrace_log_writer *__writer, const char *__name, const char *__layout,
                           uint32_t *__type);
/* Names a thread in the events put from now on; at most 15 bytes of it. EINVAL a null pointer; ENOMEM. */
int posixtrace_log_name_thread(struct posixtrace_log_writer *__writer, uint32_t __pid, uint32_t __tid,
                               const char *__name);
/*
 * Describes a process. parent 0, executable null, command null: unknown. command: the arguments, each with a null
 * behind it, of which 1024 bytes are kept. EINVAL a null pointer, or pid is 0; ENAMETOOLONG executable has more than
 * 4095 bytes; ENOMEM; and others: the system's for writing the file.
 */
int posixtrace_log_describe(struct posixtrace_log_writer *__writer, uint64_t __time, uint32_t __pid, uint32_t __parent,
                            const char *__executable, const char *__command, size_t __command_length);
/*
 * Adds a module to a process, with the members of struct posixtrace_log_module. The errors of
 * posixtrace_log_describe().
 */
int posixtrace_log_describe_module(struct posixtrace_log_writer *__writer, uint64_t __time, uint32_t __pid,
                                   uint64_t __start, uint64_t __end, uint64_t __offset, const char *__path,
                                   const void *__build_id, size_t __build_id_length);

/*
 * Puts an event. Times must not go back. pid and tid 0: of no thread. address 0: unknown. type: of
 * posixtrace_log_declare(). EINVAL no such type, the time is before that of the last event or before the creation, or a
 * null pointer; EMSGSIZE more than 65535 bytes; ENOMEM; and others: the system's for writing the file. Then the event
 * is counted as missing: in this place as POSIXTRACE_LOG_LOST if a later event can be written, and otherwise at the end
 * as POSIXTRACE_LOG_UNWRITTEN. No function of a writer causes SIGXFSZ or SIGPIPE: EFBIG the limit of file sizes is
 * reached; EPIPE the pipe's reader has gone.
 */
int posixtrace_log_put(struct posixtrace_log_writer *__writer, uint64_t __time, uint32_t __pid, uint32_t __tid,
                       uint64_t __address, uint32_t __type, const void *__data, size_t __length);
/* Reports that `count` events are missing between two times. The errors of posixtrace_log_put(). */
int posixtrace_log_put_loss(struct posixtrace_log_writer *__writer, uint64_t __from, uint64_t __until,
                            uint64_t __count);

/*
 * Writes the events put so far into the file. Without it they are written when there are some 256 KiB of them. If the
 * program is killed, the log has all that was written. EINVAL a null pointer; ENOMEM; and others: the system's for
 * writing the file.
 */
int posixtrace_log_flush(struct posixtrace_log_writer *__writer);
/* Closes the log, and frees the writer in any case. The errors of posixtrace_log_flush(). */
int posixtrace_log_finish(struct posixtrace_log_writer *__writer);

#ifdef __cplusplus
}
#endif

#endif
