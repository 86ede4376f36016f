/*
 * libc.h - what the wrappers of both libraries share: the next function, whether a call is recorded, events
 *
 * A wrapper has the name of a function of the C library. It calls the next function of this name in the order of ld.so,
 * which may be that of another preloaded library, and records the call after its end. While nothing is recorded it
 * jumps to the next function.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LIBC_H
#define LIBC_H

#include <posixtrace/trace.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What is exported. Everything else is hidden. */
#define WRAPPER __attribute__((__visibility__("default")))
#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
/* Where the program called the wrapper: the address of its event. */
#define CALLER __builtin_return_address(0)

/* -- The next function -------------------------------------------------------------------------------- */

/*
 * A function behind a wrapper. All of them are looked up before main(); earlier calls look up their own. They are an
 * array, so no compiler may align one of them more than the others.
 */
struct next {
	void *function; /* null: not looked up yet */
	const char *name;
	const char *version; /* null: the newest. A version that the C library does not have counts as null */
} __attribute__((__aligned__(32)));

/* The linker puts all of them into one section. */
#define NEXT_ENTRY __attribute__((__section__("next_functions"), __used__))

void *next_find(struct next *next);

static inline void *next_function(struct next *next)
{
	void *function = __atomic_load_n(&next->function, __ATOMIC_RELAXED);

	return LIKELY(function != NULL) ? function : next_find(next);
}

/* Declares `next`, a pointer to the next function of a name. */
#define NEXT_VERSION(returns, name, version, parameters)                       \
	static struct next NEXT_ENTRY next_##name = { NULL, #name, version }; \
	returns(*next) parameters = (returns(*) parameters)next_function(&next_##name)
#define NEXT(returns, name, parameters) NEXT_VERSION(returns, name, NULL, parameters)

/* -- Whether a call is recorded ------------------------------------------------------------------------ */

enum group {
	GROUP_IO = 1,
	GROUP_LOCKS = 2,
	GROUP_THREADS = 4,
	GROUP_PROCESS = 8,
	GROUP_MEMORY = 16,
};

/* The frame of a wrapper: the same for all wrappers that are called from one place. */
#define FRAME ((uintptr_t)__builtin_dwarf_cfa())

/*
 * The frame that records, or is about to; 0: none. A call from a deeper frame is part of a recorded call, and is not
 * recorded. So is a call in a signal handler that has interrupted the recording. If a handler leaves by longjmp(), the
 * next call from a frame that is not as deep is recorded again.
 */
extern __thread uintptr_t inside __attribute__((__visibility__("hidden")));

static inline __attribute__((__always_inline__)) uintptr_t inside_begin(void)
{
	uintptr_t before = inside;

	inside = FRAME;
	__asm__ volatile("" ::: "memory");
	return before;
}

static inline __attribute__((__always_inline__)) void inside_end(uintptr_t before)
{
	__asm__ volatile("" ::: "memory");
	inside = before;
}

/* What is recorded: the settings, and all addresses but those of libposixtrace. */
#define GROUPS_NOT_READ 0x80000000U
/*
 * Set while this user has no streams: nobody records the process, and it has not made its page in /dev/shm. The gate of
 * <trace.h> says "look" all that time.
 */
#define GROUPS_ASLEEP 0x40000000U
struct scope {
	unsigned groups;
	uintptr_t library_begin, library_size;
};
extern struct scope scope __attribute__((__visibility__("hidden")));

/* Reads the settings, and returns the groups: none, if it is too early to know them. */
unsigned read_settings(void);
/* Returns the groups of a process that may be asleep: none, as long as it is. */
unsigned groups_now(void);

/* Returns whether calls of a group are recorded in this frame, from this address; while somebody records the process. */
static inline __attribute__((__always_inline__)) bool recorded_from(enum group group, const void *caller,
                                                                    uintptr_t frame)
{
	unsigned groups = __atomic_load_n(&scope.groups, __ATOMIC_RELAXED);

	if (UNLIKELY(groups & (GROUPS_NOT_READ | GROUPS_ASLEEP)))
		groups = groups_now();
	/* What libposixtrace does is not what the program does. */
	return (groups & group) && frame >= inside && (uintptr_t)caller - scope.library_begin >= scope.library_size;
}

/*
 * Returns whether the process is asleep, and need not look in this call either. For functions that take a few
 * nanoseconds: only one call of many is worth another look.
 */
static inline __attribute__((__always_inline__)) bool sleeps_on(void)
{
	extern __thread unsigned char naps __attribute__((__visibility__("hidden")));

	return (__atomic_load_n(&scope.groups, __ATOMIC_RELAXED) & GROUPS_ASLEEP) && ++naps;
}

/* Returns whether a call is recorded. In a process that nobody records: a few loads. */
#define RECORDED(group) (UNLIKELY(posixtrace_enabled()) && recorded_from(group, CALLER, FRAME))
/* The same for functions that take a few nanoseconds. */
#define RECORDED_OFTEN(group) \
	(UNLIKELY(posixtrace_enabled()) && !LIKELY(sleeps_on()) && recorded_from(group, CALLER, FRAME))

/* -- Events ------------------------------------------------------------------------------------------- */

/* Labels of error numbers, which are the same on all processors but MIPS, SPARC, Alpha and PA-RISC above 34. */
#define ERRNO_FIELD                                                                                                    \
	"errno:u16<ok,EPERM,ENOENT,ESRCH,EINTR,EIO,ENXIO,E2BIG,ENOEXEC,EBADF,ECHILD,EAGAIN,ENOMEM,EACCES,EFAULT,"      \
	"EBUSY=16,EEXIST,EXDEV,ENODEV,ENOTDIR,EISDIR,EINVAL,ENFILE,EMFILE,ENOTTY,ETXTBSY,EFBIG,ENOSPC,ESPIPE,EROFS,"   \
	"EMLINK,EPIPE,EDEADLK=35,ENAMETOOLONG,ENOLCK,ENOSYS,ENOTEMPTY,ELOOP,EOVERFLOW=75,ENOTSOCK=88,EDESTADDRREQ,"    \
	"EMSGSIZE,ENOPROTOOPT=92,EOPNOTSUPP=95,EAFNOSUPPORT=97,EADDRINUSE,EADDRNOTAVAIL,ENETDOWN,ENETUNREACH,"         \
	"ECONNABORTED=103,ECONNRESET,ENOBUFS,EISCONN,ENOTCONN,ETIMEDOUT=110,ECONNREFUSED,EHOSTUNREACH=113,EALREADY,"   \
	"EINPROGRESS,ECANCELED=125,EOWNERDEAD=130,ENOTRECOVERABLE>"

static inline __attribute__((__always_inline__)) trace_event_id_t event_id(struct posixtrace_event *event)
{
	/* Pairs with the release in posixtrace_event_open(). */
	trace_event_id_t id = __atomic_load_n(&event->__id, __ATOMIC_ACQUIRE);

	return LIKELY(id != 0) ? id : posixtrace_event_open(event);
}

/* Records an event. The library keeps errno. */
static inline __attribute__((__always_inline__)) void record_data(struct posixtrace_event *event, const void *data,
                                                                  size_t size, const void *caller)
{
	uintptr_t before = inside_begin();

	posixtrace_event_at(event_id(event), data, size, caller);
	inside_end(before);
}

/*
 * Records an event with a text, and up to 16 bytes before and behind it. A text of more than 511 bytes is cut. around:
 * has the caller.
 */
static inline __attribute__((__always_inline__)) void record_text(struct posixtrace_event *event, const char *text,
                                                                  const struct posixtrace_around *around,
                                                                  unsigned sizes)
{
	uintptr_t before = inside_begin();
	trace_event_id_t id = event_id(event);

	if (id)
		posixtrace_event_text(id, text, around, sizes);
	inside_end(before);
}

#endif
