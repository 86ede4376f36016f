/*
 * trace.h - tracing, as in POSIX.1-2017 (IEEE Std 1003.1-2017), all four options
 *
 * A program marks places in its code (trace points); a controller creates a
 * trace stream for a process, starts it, and an analyzer reads the events.
 * Any of these roles may be in one process, or each in its own.
 *
 *     trace_event_id_t id;
 *     posix_trace_eventid_open("request", &id);       once, anywhere
 *     posix_trace_event(id, &number, sizeof number);  a trace point
 *
 * Unless it says otherwise, a function returns 0 or an error number; it does
 * not use errno. "XSH" is the System Interfaces volume of the standard, "XBD"
 * its Base Definitions; a page is named by its function. What the standard
 * leaves to the implementation is in docs/choices.md, point by point. In the
 * comments arguments have their names without the underscores, which keep them
 * apart from the program's own macros.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef __POSIX_TRACE_H
#define __POSIX_TRACE_H

#define __need_size_t /* only size_t of <stddef.h> */
#include <stddef.h>
#include <sys/types.h>

#if defined __GLIBC__
/* Only the needed parts of <time.h>, <pthread.h> and <unistd.h>, in every language mode. */
# include <bits/types/struct_timespec.h>
# include <bits/pthreadtypes.h>
# include <bits/posix_opt.h>
#else
# include <time.h>
#endif

#ifdef __cplusplus
# define __POSIX_TRACE_RESTRICT __restrict
extern "C" {
#else
# define __POSIX_TRACE_RESTRICT __restrict__
#endif

/*
 * Options (XBD 2.1.3, <unistd.h>): the system's headers define them as -1,
 * without this library. Include <trace.h> before you test one of them.
 */
#undef _POSIX_TRACE
#undef _POSIX_TRACE_EVENT_FILTER
#undef _POSIX_TRACE_LOG
#undef _POSIX_TRACE_INHERIT
#define _POSIX_TRACE              200809L
#define _POSIX_TRACE_EVENT_FILTER 200809L
#define _POSIX_TRACE_LOG          200809L
#define _POSIX_TRACE_INHERIT      200809L

/* Limits (XBD <limits.h>): the least that any system has, then ours. */
#ifndef _POSIX_TRACE_EVENT_NAME_MAX
# define _POSIX_TRACE_EVENT_NAME_MAX 30
# define _POSIX_TRACE_NAME_MAX       8
# define _POSIX_TRACE_SYS_MAX        8
# define _POSIX_TRACE_USER_EVENT_MAX 32
#endif
#ifndef TRACE_EVENT_NAME_MAX
# define TRACE_EVENT_NAME_MAX 63   /* bytes of an event name; its null not counted */
# define TRACE_NAME_MAX       63   /* bytes of a stream's name or version */
# define TRACE_SYS_MAX        1024 /* streams of one user that exist at one time */
# define TRACE_USER_EVENT_MAX 4096 /* user event types of a process, the unnamed one included */
#endif

/* -- Types (XBD <trace.h>, <sys/types.h>) ------------------------------- */

__extension__ typedef __UINT64_TYPE__ __posix_trace_word;

/* A trace event type. 0 is none. Compare with posix_trace_eventid_equal(). */
typedef unsigned int trace_event_id_t;

/* A trace stream, active or opened from a log, in the process that created or opened it. */
typedef __posix_trace_word trace_id_t;

/*
 * A set of trace event types. May be assigned and passed by value.
 * posix_trace_eventset_empty() or _fill() first.
 */
typedef struct {
	__posix_trace_word __mark;
	__posix_trace_word __bits[127];
} trace_event_set_t;

/* Attributes of a stream. posix_trace_attr_init() or posix_trace_get_attr() first. */
typedef union {
	unsigned char __size[384];
	__posix_trace_word __align;
} trace_attr_t;

/* The properties of an event, without its data (XSH 2.11.1). */
struct posix_trace_event_info {
	trace_event_id_t posix_event_id;
	pid_t            posix_pid;               /* 0: no process */
	void            *posix_prog_address;      /* return address of the trace point */
	pthread_t        posix_thread_id;         /* 0: no thread */
	struct timespec  posix_timestamp;         /* CLOCK_REALTIME, without steps after the stream's creation */
	int              posix_truncation_status; /* POSIX_TRACE_NOT_TRUNCATED, ... */

	pid_t            __posix_kernel_tid;      /* extension: the kernel's thread id; 0: no thread */
};

/* The state of a stream (XSH 2.11.1). */
struct posix_trace_status_info {
	int posix_stream_status;         /* POSIX_TRACE_RUNNING or _SUSPENDED */
	int posix_stream_full_status;    /* POSIX_TRACE_FULL or _NOT_FULL */
	int posix_stream_overrun_status; /* POSIX_TRACE_OVERRUN or _NO_OVERRUN */
	int posix_stream_flush_status;   /* POSIX_TRACE_FLUSHING or _NOT_FLUSHING */
	int posix_stream_flush_error;    /* 0, or the error number of the first flush that failed */
	int posix_log_overrun_status;    /* POSIX_TRACE_OVERRUN or _NO_OVERRUN */
	int posix_log_full_status;       /* POSIX_TRACE_FULL or _NOT_FULL */

	/* Extension: events lost since the stream was created or cleared; reading does not reset it. */
	__posix_trace_word __posix_lost_events;
};

/* -- Constants ---------------------------------------------------------- */

/* posix_stream_status */
#define POSIX_TRACE_SUSPENDED 0
#define POSIX_TRACE_RUNNING   1

/* posix_stream_full_status, posix_log_full_status */
#define POSIX_TRACE_NOT_FULL 0
#define POSIX_TRACE_FULL     1

/* posix_stream_overrun_status, posix_log_overrun_status. "Reset to zero" is NO_OVERRUN. */
#define POSIX_TRACE_NO_OVERRUN 0
#define POSIX_TRACE_OVERRUN    1

/* posix_stream_flush_status */
#define POSIX_TRACE_NOT_FLUSHING 0
#define POSIX_TRACE_FLUSHING     1

/* posix_truncation_status */
#define POSIX_TRACE_NOT_TRUNCATED    0
#define POSIX_TRACE_TRUNCATED_RECORD 1 /* when recorded: to max-data-size */
#define POSIX_TRACE_TRUNCATED_READ   2 /* when read: to num_bytes */

/* stream-full-policy and log-full-policy */
#define POSIX_TRACE_LOOP       1 /* the newest events overwrite the oldest */
#define POSIX_TRACE_UNTIL_FULL 2 /* stop when full; a stream restarts after it was read */
#define POSIX_TRACE_FLUSH      3 /* streams only: like UNTIL_FULL, and flushed to the log before */
#define POSIX_TRACE_APPEND     4 /* logs only: no limit */

/* inheritance */
#define POSIX_TRACE_CLOSE_FOR_CHILD 0
#define POSIX_TRACE_INHERITED       1

/* posix_trace_eventset_fill() */
#define POSIX_TRACE_WOPID_EVENTS  1 /* system event types that belong to no process */
#define POSIX_TRACE_SYSTEM_EVENTS 2 /* all system event types */
#define POSIX_TRACE_ALL_EVENTS    3 /* all, including types defined later */

/* posix_trace_set_filter() */
#define POSIX_TRACE_SET_EVENTSET 1
#define POSIX_TRACE_ADD_EVENTSET 2
#define POSIX_TRACE_SUB_EVENTSET 3

/* Predefined event types (XSH 2.11.2), the same in every stream and log, with their data. */
#define POSIX_TRACE_START       ((trace_event_id_t)1) /* one trace_event_set_t: the filter */
#define POSIX_TRACE_STOP        ((trace_event_id_t)2) /* int: 0 for a call; otherwise automatic */
#define POSIX_TRACE_FILTER      ((trace_event_id_t)3) /* two trace_event_set_t: the old filter, the new one */
#define POSIX_TRACE_OVERFLOW    ((trace_event_id_t)4) /* none; events are missing from this time */
#define POSIX_TRACE_RESUME      ((trace_event_id_t)5) /* none; the next event is reliable again */
#define POSIX_TRACE_FLUSH_START ((trace_event_id_t)6) /* none */
#define POSIX_TRACE_FLUSH_STOP  ((trace_event_id_t)7) /* none */
#define POSIX_TRACE_ERROR       ((trace_event_id_t)8) /* int: an error number */
/* The user event type of all names beyond TRACE_USER_EVENT_MAX. The standard has both spellings. */
#define POSIX_TRACE_UNNAMED_USEREVENT  ((trace_event_id_t)63)
#define POSIX_TRACE_UNNAMED_USER_EVENT POSIX_TRACE_UNNAMED_USEREVENT

/* -- Attributes (XSH posix_trace_attr_*) -------------------------------- */
/*
 * Every function here returns EINVAL for a null pointer, for an object that was
 * never initialised or is destroyed, and for an unknown value. Results are
 * stored on success only.
 */

/* Gives every attribute of *attr its default. XSH posix_trace_attr_destroy. */
int posix_trace_attr_init(trace_attr_t *__attr);
/* Destroys *attr, which may be initialised again. Streams created with it do not change. */
int posix_trace_attr_destroy(trace_attr_t *__attr);

/* Returns the resolution of event times. XSH posix_trace_attr_getclockres. */
int posix_trace_attr_getclockres(const trace_attr_t *__attr, struct timespec *__resolution);
/* Returns the creation time of the stream, CLOCK_REALTIME; 0 in an object that does not come from a stream. */
int posix_trace_attr_getcreatetime(const trace_attr_t *__attr, struct timespec *__createtime);
/* Returns the name and version of the tracing software; at most TRACE_NAME_MAX bytes, null included. */
int posix_trace_attr_getgenversion(const trace_attr_t *__attr, char *__genversion);
/* Returns the stream's name; at most TRACE_NAME_MAX bytes, null included. Default "". */
int posix_trace_attr_getname(const trace_attr_t *__attr, char *__tracename);
/* Sets the name, truncated to TRACE_NAME_MAX - 1 bytes. */
int posix_trace_attr_setname(trace_attr_t *__attr, const char *__tracename);

/* Returns whether children of a traced process are traced into the same stream. XSH posix_trace_attr_getinherited. */
int posix_trace_attr_getinherited(const trace_attr_t *__POSIX_TRACE_RESTRICT __attr,
	int *__POSIX_TRACE_RESTRICT __inheritancepolicy);
/* Sets POSIX_TRACE_CLOSE_FOR_CHILD (default) or POSIX_TRACE_INHERITED; else EINVAL. */
int posix_trace_attr_setinherited(trace_attr_t *__attr, int __inheritancepolicy);
/* Returns what happens when the log is full. */
int posix_trace_attr_getlogfullpolicy(const trace_attr_t *__POSIX_TRACE_RESTRICT __attr,
	int *__POSIX_TRACE_RESTRICT __logpolicy);
/* Sets POSIX_TRACE_LOOP (default), POSIX_TRACE_UNTIL_FULL or POSIX_TRACE_APPEND; else EINVAL. */
int posix_trace_attr_setlogfullpolicy(trace_attr_t *__attr, int __logpolicy);
/* Returns what happens when the stream is full. */
int posix_trace_attr_getstreamfullpolicy(const trace_attr_t *__POSIX_TRACE_RESTRICT __attr,
	int *__POSIX_TRACE_RESTRICT __streampolicy);
/*
 * Sets POSIX_TRACE_LOOP, POSIX_TRACE_UNTIL_FULL or POSIX_TRACE_FLUSH; else EINVAL.
 * The default is LOOP for a stream without a log, and FLUSH for a stream with a log.
 */
int posix_trace_attr_setstreamfullpolicy(trace_attr_t *__attr, int __streampolicy);

/*
 * The maximum size of the events in the log; not for POSIX_TRACE_APPEND. Default
 * 64 MiB. A log has room at least for its largest event;
 * posix_trace_get_attr() returns the actual size. XSH posix_trace_attr_getlogsize.
 */
int posix_trace_attr_getlogsize(const trace_attr_t *__POSIX_TRACE_RESTRICT __attr,
	size_t *__POSIX_TRACE_RESTRICT __logsize);
int posix_trace_attr_setlogsize(trace_attr_t *__attr, size_t __logsize);
/* The maximum size of the data of a user event; longer data is truncated. */
int posix_trace_attr_getmaxdatasize(const trace_attr_t *__POSIX_TRACE_RESTRICT __attr,
	size_t *__POSIX_TRACE_RESTRICT __maxdatasize);
/* At most 65535, else EINVAL. */
int posix_trace_attr_setmaxdatasize(trace_attr_t *__attr, size_t __maxdatasize);
/* Returns how many bytes of a stream a system event can take at most. */
int posix_trace_attr_getmaxsystemeventsize(const trace_attr_t *__POSIX_TRACE_RESTRICT __attr,
	size_t *__POSIX_TRACE_RESTRICT __eventsize);
/* Returns how many bytes of a stream a user event with data_len bytes of data can take at most. */
int posix_trace_attr_getmaxusereventsize(const trace_attr_t *__POSIX_TRACE_RESTRICT __attr, size_t __data_len,
	size_t *__POSIX_TRACE_RESTRICT __eventsize);
/*
 * The number of bytes reserved for events. If the sizes of events, by the two functions
 * above, add up to no more than this, all are kept, whichever threads record them.
 */
int posix_trace_attr_getstreamsize(const trace_attr_t *__POSIX_TRACE_RESTRICT __attr,
	size_t *__POSIX_TRACE_RESTRICT __streamsize);
int posix_trace_attr_setstreamsize(trace_attr_t *__attr, size_t __streamsize);

/* -- Streams (XSH posix_trace_create) ----------------------------------- */

/*
 * Creates a stream for the process pid (0: the caller), suspended, with an
 * empty filter, and stores its identifier. attr may be null: all defaults.
 * EAGAIN TRACE_SYS_MAX streams exist; EINVAL a null trid, an invalid attribute, or
 * POSIX_TRACE_FLUSH; ENOMEM no memory for a stream of this size; EPERM not
 * allowed to trace pid; ESRCH no such process, or in its exit; ENOENT there is no /dev/shm;
 * EACCES the directory there belongs to another user, or other users can use it;
 * ENOSYS a kernel before Linux 4.14; EMFILE, ENFILE, ENOSPC, EROFS a file there
 * cannot be made.
 */
int posix_trace_create(pid_t __pid, const trace_attr_t *__POSIX_TRACE_RESTRICT __attr,
	trace_id_t *__POSIX_TRACE_RESTRICT __trid);
/*
 * Creates a stream with a log. A thread of this process writes the log to
 * file_desc: a regular file is overwritten from its beginning; other files are
 * written sequentially. The events go to the log, so the stream itself cannot
 * be read. With POSIX_TRACE_FLUSH, the default, the stream is flushed
 * automatically, when a part of it is full and at least once a second. The
 * caller may close file_desc afterwards. The errors of posix_trace_create(), and EBADF not
 * open for writing (it need not be for reading); EINVAL POSIX_TRACE_LOOP and not
 * a regular file; ENOSPC no space for log-max-size; EAGAIN also no thread; EFBIG,
 * EPIPE, EIO and others from writing the beginning of the log.
 */
int posix_trace_create_withlog(pid_t __pid, const trace_attr_t *__POSIX_TRACE_RESTRICT __attr, int __file_desc,
	trace_id_t *__POSIX_TRACE_RESTRICT __trid);
/*
 * Writes the events that were recorded before this call to the log, and frees
 * their space in the stream. Recording continues meanwhile. EINVAL
 * not an active stream with log of this process; ENOSPC, EFBIG, EPIPE, EIO and
 * others from writing: events that could not be written are kept for the next
 * flush, except those for a pipe without a reader.
 */
int posix_trace_flush(trace_id_t __trid);
/*
 * Stops the stream, flushes and completes its log, and frees everything, even
 * if it returns an error. Waiting readers get EINVAL. EINVAL not an active
 * stream of this process; ENOSPC, EFBIG, EPIPE, EIO and others from the last
 * flush: then the log has the events that could be written, and can be opened.
 */
int posix_trace_shutdown(trace_id_t __trid);
/*
 * Returns the stream to the state after creation: no events, empty filter, new
 * creation time. Names, and whether it runs, do not change. A log in a regular
 * file begins again; data in a pipe are not taken back. EINVAL not an active stream of this process;
 * ENOSPC and others from writing the beginning of the log.
 */
int posix_trace_clear(trace_id_t __trid);
/* Records POSIX_TRACE_START and starts the stream, unless it runs or is full. EINVAL. XSH posix_trace_start. */
int posix_trace_start(trace_id_t __trid);
/* Records POSIX_TRACE_STOP and suspends the stream, unless it is suspended. EINVAL. */
int posix_trace_stop(trace_id_t __trid);
/* Stores the attributes of a stream or log; *attr need not be initialised. EINVAL. XSH posix_trace_get_attr. */
int posix_trace_get_attr(trace_id_t __trid, trace_attr_t *__attr);
/*
 * Stores the status, and resets the overrun statuses and the flush error. For an
 * opened log it stores the status that the stream had at the end, and resets
 * nothing. EINVAL.
 */
int posix_trace_get_status(trace_id_t __trid, struct posix_trace_status_info *__statusinfo);

/* -- Logs (XSH posix_trace_close) --------------------------------------- */

/*
 * Opens the log in the regular file file_desc for reading, from its oldest event,
 * and stores an identifier, which posix_trace_get_attr(), _get_status(),
 * _eventid_get_name() and _eventtypelist_getnext_id() also accept. The position
 * of the file is ignored and not changed; file_desc may be closed. The log of a
 * killed creator is completed first, if that is still possible. A log that is
 * being written ends with the last event in the file. EINVAL a null trid, not
 * open for reading, not a regular file, not a log, another byte order, or an
 * unknown version; ENOMEM no memory, or too many logs are open in this process; EMFILE no descriptor is left.
 */
int posix_trace_open(int __file_desc, trace_id_t *__trid);
/* Makes the oldest event the next event to be read. EINVAL not a log opened by this process. */
int posix_trace_rewind(trace_id_t __trid);
/* Closes trid and frees its resources; file_desc stays open. EINVAL not a log opened by this process. */
int posix_trace_close(trace_id_t __trid);

/* -- Trace points and event types --------------------------------------- */

/*
 * A trace point: records an event with data_len bytes of data in every stream
 * that traces this process, runs, and does not filter event_id out. Ignores an
 * event_id that no function here has returned. Never fails, never blocks, keeps
 * errno, async-signal-safe. XSH posix_trace_event.
 */
void posix_trace_event(trace_event_id_t __event_id, const void *__POSIX_TRACE_RESTRICT __data_ptr, size_t __data_len);
/*
 * Stores the id of the user event type event_name, which is the same at each call;
 * beyond TRACE_USER_EVENT_MAX it is POSIX_TRACE_UNNAMED_USEREVENT. ENAMETOOLONG more
 * than TRACE_EVENT_NAME_MAX bytes; EINVAL a null pointer.
 */
int posix_trace_eventid_open(const char *__POSIX_TRACE_RESTRICT __event_name,
	trace_event_id_t *__POSIX_TRACE_RESTRICT __event_id);
/* Like posix_trace_eventid_open(), for the processes traced by trid. EINVAL not an active stream; ENAMETOOLONG. */
int posix_trace_trid_eventid_open(trace_id_t __trid, const char *__POSIX_TRACE_RESTRICT __event_name,
	trace_event_id_t *__POSIX_TRACE_RESTRICT __event_id);
/* Returns a value other than 0 if both are the same event type. No errors. XSH posix_trace_eventid_equal. */
int posix_trace_eventid_equal(trace_id_t __trid, trace_event_id_t __event1, trace_event_id_t __event2);
/* Stores the name: at most TRACE_EVENT_NAME_MAX bytes, and a null byte. EINVAL bad trid, or no such type. */
int posix_trace_eventid_get_name(trace_id_t __trid, trace_event_id_t __event_id, char *__event_name);
/*
 * Stores the next event type of the stream or log; at the end *unavailable is not 0.
 * EINVAL. XSH posix_trace_eventtypelist_getnext_id.
 */
int posix_trace_eventtypelist_getnext_id(trace_id_t __trid, trace_event_id_t *__POSIX_TRACE_RESTRICT __event_id,
	int *__POSIX_TRACE_RESTRICT __unavailable);
/* Makes the first event type the next one. EINVAL. */
int posix_trace_eventtypelist_rewind(trace_id_t __trid);

/* -- Event sets and filters --------------------------------------------- */
/*
 * Every function here returns EINVAL for a null pointer, a set that was not
 * initialised, and an id that no event type can have.
 */

/* Makes *set empty, whatever it held. XSH posix_trace_eventset_add. */
int posix_trace_eventset_empty(trace_event_set_t *__set);
/* what: POSIX_TRACE_WOPID_EVENTS, _SYSTEM_EVENTS or _ALL_EVENTS; else EINVAL, and *set does not change. */
int posix_trace_eventset_fill(trace_event_set_t *__set, int __what);
/* Adds or deletes a type; no error if the set already contains it, or does not contain it. */
int posix_trace_eventset_add(trace_event_id_t __event_id, trace_event_set_t *__set);
int posix_trace_eventset_del(trace_event_id_t __event_id, trace_event_set_t *__set);
/* Sets *ismember to a value other than 0 if the type is in the set. */
int posix_trace_eventset_ismember(trace_event_id_t __event_id, const trace_event_set_t *__POSIX_TRACE_RESTRICT __set,
	int *__POSIX_TRACE_RESTRICT __ismember);

/* Stores the event types that trid does NOT record. EINVAL not an active stream. XSH posix_trace_get_filter. */
int posix_trace_get_filter(trace_id_t __trid, trace_event_set_t *__set);
/*
 * how: POSIX_TRACE_SET_EVENTSET, _ADD_ (filter more out) or _SUB_ (record more).
 * A running stream records POSIX_TRACE_FILTER. EINVAL.
 */
int posix_trace_set_filter(trace_id_t __trid, const trace_event_set_t *__set, int __how);

/* -- Reading (XSH posix_trace_getnext_event) ---------------------------- */

/*
 * Reports the oldest event that was not reported yet: *event, up to num_bytes
 * of its data, their number in *data_len, and *unavailable 0. Waits for an event;
 * at the end of a log it sets *unavailable instead. EINVAL bad trid, a stream with
 * a log, or shut down meanwhile; EINTR a signal handler without SA_RESTART ran.
 * A cancellation point.
 */
int posix_trace_getnext_event(trace_id_t __trid, struct posix_trace_event_info *__POSIX_TRACE_RESTRICT __event,
                              void *__POSIX_TRACE_RESTRICT __data, size_t __num_bytes,
                              size_t *__POSIX_TRACE_RESTRICT __data_len, int *__POSIX_TRACE_RESTRICT __unavailable);
/*
 * Like posix_trace_getnext_event(), but waits only until abstime (CLOCK_REALTIME).
 * The errors of posix_trace_getnext_event(), and ETIMEDOUT no event until then;
 * EINVAL also for a log, and an invalid abstime.
 */
int posix_trace_timedgetnext_event(trace_id_t __trid, struct posix_trace_event_info *__POSIX_TRACE_RESTRICT __event,
                                   void *__POSIX_TRACE_RESTRICT __data, size_t __num_bytes,
                                   size_t *__POSIX_TRACE_RESTRICT __data_len, int *__POSIX_TRACE_RESTRICT __unavailable,
                                   const struct timespec *__POSIX_TRACE_RESTRICT __abstime);
/* Does not wait: *unavailable is not 0 if there is no event. EINVAL bad trid, a stream with a log, or a log. */
int posix_trace_trygetnext_event(trace_id_t __trid, struct posix_trace_event_info *__POSIX_TRACE_RESTRICT __event,
                                 void *__POSIX_TRACE_RESTRICT __data, size_t __num_bytes,
                                 size_t *__POSIX_TRACE_RESTRICT __data_len, int *__POSIX_TRACE_RESTRICT __unavailable);

/* -- The inline trace point ---------------------------------------------- */
/*
 * While the process is not traced, a trace point is three loads and a branch.
 * The gate has the distance to a word in shared memory that is all ones while no
 * stream traces the process. In a forked child the gate is zeroed, so the distance
 * leads to the gate itself, which is 0: take the slow path. The arguments are
 * always evaluated once (XSH 2.1.1). The empty asm keeps the call from becoming a
 * jump, because posix_prog_address is the return address of the call.
 */
#if defined __GNUC__ && !defined __POSIX_TRACE_NO_INLINE
struct __posix_trace_gate {
	__posix_trace_word __vacant; /* distance in bytes to the word, which is all ones if not traced */
};
extern const struct __posix_trace_gate *__posix_trace_gate;
/* posix_trace_event() behind the gate. */
void __posix_trace_record(trace_event_id_t __id, const void *__data, size_t __len);

/* Processors load what a distance leads to after the distance; ThreadSanitizer wants to be told. */
# if defined __SANITIZE_THREAD__
#  define __POSIX_TRACE_LEADING __ATOMIC_ACQUIRE
# elif defined __has_feature
#  if __has_feature(thread_sanitizer)
#   define __POSIX_TRACE_LEADING __ATOMIC_ACQUIRE
#  endif
# endif
# ifndef __POSIX_TRACE_LEADING
#  define __POSIX_TRACE_LEADING __ATOMIC_RELAXED
# endif

static __inline__ __attribute__((__always_inline__, __unused__)) int __posix_trace_enabled(void)
{
	const struct __posix_trace_gate *__gate = __atomic_load_n(&__posix_trace_gate, __ATOMIC_ACQUIRE);
	/* Calculates with integers: the word may be before the gate, and a pointer must not wrap around. */
	size_t __vacant = (size_t)__gate + (size_t)__atomic_load_n(&__gate->__vacant, __POSIX_TRACE_LEADING);

	return __atomic_load_n((const __UINT32_TYPE__ *)__vacant, __ATOMIC_RELAXED) != ~(__UINT32_TYPE__)0;
}

static __inline__ __attribute__((__always_inline__, __unused__)) void
__posix_trace_point(trace_event_id_t __id, const void *__data, size_t __len)
{
	if (__builtin_expect(__posix_trace_enabled(), 0)) {
		__posix_trace_record(__id, __data, __len);
		__asm__ __volatile__("");
	}
}
/* Variadic, so that a compound literal may be an argument. */
# if !defined __cplusplus || __cplusplus >= 201103L
#  define posix_trace_event(...) __posix_trace_point(__VA_ARGS__)
# else
#  define posix_trace_event(event_id, data_ptr, data_len) __posix_trace_point(event_id, data_ptr, data_len)
# endif
#endif

#ifdef __cplusplus
}
#endif

#endif
