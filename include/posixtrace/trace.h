/*
 * trace.h - <trace.h> under a name that no program's own trace.h hides, and what this library adds to it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef POSIXTRACE_TRACE_H
#define POSIXTRACE_TRACE_H

#include "../trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most bytes of a layout, without its null. */
#define POSIXTRACE_LAYOUT_MAX 2047

/*
 * Opens an event type as posix_trace_eventid_open() does, and declares the layout of its data, such as
 * "{id:u32,item:z,state:u8<new,paid>}": docs/layouts.md. Reports and exports show the fields. The layout takes no event
 * type and no room in the name. It may be declared again, by any process of the family, if it is the same.
 *
 * Errors, with nothing declared: EINVAL a null pointer, a wrong layout (posixtrace_layout_wrong()), a predefined name,
 * or a name that has a layout itself; ENAMETOOLONG. With *event_id set all the same: EEXIST another layout has been
 * declared for the name; ENOSPC no room for the name, whose events are then POSIX_TRACE_UNNAMED_USEREVENT, or for the
 * layout.
 */
int posixtrace_declare(const char *__event_name, const char *__layout, trace_event_id_t *__event_id);

/*
 * Returns null if the layout can be declared. Otherwise returns what is wrong: the rest of a sentence that begins with
 * the *length bytes of the layout from *offset on, such as "is not a type: ...". offset and length may be null.
 */
const char *posixtrace_layout_wrong(const char *__layout, size_t *__offset, size_t *__length);

/*
 * Copies the declared layout of an event type, of a stream or a log, with a null. The text may be wrong, because
 * another process has declared it. EINVAL bad trid, or a null pointer; ENOENT none was declared; ERANGE size is too
 * small.
 */
int posixtrace_get_layout(trace_id_t __trid, trace_event_id_t __event_id, char *__layout, size_t __size);

/*
 * Store in *period, and set, the longest time between two flushes of a stream whose policy is POSIX_TRACE_FLUSH: the
 * attribute of a stream with a log that says how long a recorded event may wait before it is written. Default 1 s. A
 * shorter period writes more and smaller segments. The attribute is not kept in the log. EINVAL an invalid attribute, a
 * null pointer; set: less than 1 ms, or more than an hour. Parts of a microsecond are dropped.
 */
int posixtrace_attr_getflushperiod(const trace_attr_t *__POSIX_TRACE_RESTRICT __attr,
                                   struct timespec *__POSIX_TRACE_RESTRICT __period);
int posixtrace_attr_setflushperiod(trace_attr_t *__attr, const struct timespec *__period);

/* An event type that is opened when its first event is recorded. The first two members are constant. */
struct posixtrace_event {
	const char *__name;
	const char *__layout; /* null: none */
	trace_event_id_t __id; /* 0: not opened yet */
};

/*
 * Opens the event type and returns its identifier; 0, and opens nothing, if no stream traces the process. Returns
 * POSIX_TRACE_UNNAMED_USEREVENT if there is no room for the name, or it cannot be opened. If the name has another
 * layout already, the type is opened under a name with the fields, "shop.order(id:u32)". The layout is not checked: the
 * commands that read the events report a wrong one. Any number of threads, and signal handlers, may do this at the
 * same time.
 */
trace_event_id_t posixtrace_event_open(struct posixtrace_event *__event);

/*
 * Opens the streams that trace this process. Without this call the first event opens the streams, but a process cannot
 * do so after it has become another user or entered another root directory. A program with <posixtrace/typed.h> calls
 * this function before main(). Not in signal handlers.
 */
void posixtrace_attach(void);

/* Records an event like posix_trace_event(), with this address instead of the caller's. */
void posixtrace_event_at(trace_event_id_t __event_id, const void *__data, size_t __size, const void *__address);

/* The most that posixtrace_event_text() takes. */
#define POSIXTRACE_TEXT_MOST   511 /* bytes of the text, without its null */
#define POSIXTRACE_AROUND_MOST 16  /* bytes before the text, and as many behind it */

/* What is recorded around a text. Bytes behind those that count have any values. */
struct posixtrace_around {
	unsigned char __before[POSIXTRACE_AROUND_MOST];
	unsigned char __behind[POSIXTRACE_AROUND_MOST];
	const void *__address; /* where the event was recorded */
};

/*
 * How many bytes there are before the text, behind it, and at most in it. A longer text is cut, and ends with an
 * ellipsis. The second number is that of all bytes but the text's own. With POSIXTRACE_TEXT_COUNTED the text need not
 * have a null: it ends after `most` bytes, without an ellipsis, unless it has a null before.
 */
#define POSIXTRACE_TEXT_SIZES(before, behind, most) \
	((unsigned)(before) | ((unsigned)(before) + 1 + (unsigned)(behind)) << 8 | (unsigned)(most) << 16)
#define POSIXTRACE_TEXT_COUNTED 0x80000000U

/*
 * Records an event whose data are some bytes, a text with its null, and some bytes, for <posixtrace/typed.h>. A null
 * pointer is the text "(null)", or an empty text if it is counted and has no bytes. Faster than to make the data first,
 * because the text is copied once. The caller has checked that posixtrace_enabled(). In signal handlers, too.
 */
void posixtrace_event_text(trace_event_id_t __event_id, const char *__text, const struct posixtrace_around *__around,
                           unsigned __sizes);

/* An event type whose fields are the arguments of a format. The name and __types are constant. */
struct posixtrace_format {
	struct posixtrace_event __event; /* without a layout */
	const char *__types; /* a letter for each argument */
	int __precise; /* 0; the library notes here whether a text has a precision */
};

/*
 * Records an event with the arguments of a format of printf(), for POSIXTRACE_F() of <posixtrace/typed.h>. Each value
 * has the argument in its first bytes, as it is in memory; a text is a pointer. Opens the event type first, as
 * posixtrace_event_open() does, with a layout whose fields are named after the words of the format; under a name with
 * the fields if another layout has been declared for its name. In signal handlers, too.
 */
void posixtrace_event_format(struct posixtrace_format *__event, const char *__format,
                             const unsigned long long *__values);

/*
 * Returns 0 if no stream traces this process, in which case nobody sees an event. For arguments that cost something:
 * if (posixtrace_enabled()) posix_trace_event(...). Three loads, and no call, with GCC and Clang. Before the process's
 * first call of this library, and in a child before its first, it returns 1: the first trace point finds out.
 */
#if defined __GNUC__ && !defined __POSIX_TRACE_NO_INLINE
static __inline__ __attribute__((__always_inline__, __unused__)) int posixtrace_enabled(void)
{
	return __posix_trace_enabled();
}
#else
static inline int posixtrace_enabled(void)
{
	return 1;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
