/*
 * memory.c - wrappers of malloc() and its kin, in a library of its own
 *
 * The next functions may be those of another allocator, before or behind the C library. Looking them up may allocate:
 * that memory is in an array here, and is never freed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "libc/libc.h"

/* -- Memory for the lookup -------------------------------------------------------------------------------- */

#define FIRST_SIZE 16384
#define ALIGNMENT 16

static char first[FIRST_SIZE] __attribute__((__aligned__(ALIGNMENT)));
static size_t first_used;

/* Whether this thread looks up a function. */
static __thread bool looking __attribute__((__tls_model__("initial-exec")));

static inline bool is_first(const void *p)
{
	return (uintptr_t)p - (uintptr_t)first < FIRST_SIZE;
}

/* Allocates zeroed memory, with its size before it. */
static void *first_new(size_t size)
{
	size_t whole, at;

	if (size > FIRST_SIZE)
		return NULL;
	whole = (size + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	at = __atomic_fetch_add(&first_used, whole, __ATOMIC_RELAXED);
	if (at + whole > FIRST_SIZE) {
		errno = ENOMEM;
		return NULL;
	}
	memcpy(first + at, &size, sizeof size);
	return first + at + ALIGNMENT;
}

static size_t first_size(const void *p)
{
	size_t size;

	memcpy(&size, (const char *)p - ALIGNMENT, sizeof size);
	return size;
}

/* Returns the next function, or null while this thread looks it up. */
static __attribute__((__noinline__, __cold__)) void *look_up(struct next *next)
{
	void *function;

	if (looking)
		return NULL;
	looking = true;
	function = next_find(next);
	looking = false;
	return function;
}

/* Declares `next`, which may be null. */
#define NEXT_ALLOCATOR(returns, name, parameters)                                                              \
	static struct next NEXT_ENTRY next_##name = { NULL, #name, NULL };                                     \
	returns(*next) parameters = (returns(*) parameters)__atomic_load_n(&next_##name.function, __ATOMIC_RELAXED); \
                                                                                                               \
	if (UNLIKELY(!next))                                                                                   \
		next = (returns(*) parameters)look_up(&next_##name)

/* -- Events ----------------------------------------------------------------------------------------------- */

struct allocated {
	uint64_t size, address;
};

struct moved {
	uint64_t old, size, address;
};

struct aligned {
	uint64_t alignment, size, address;
};

static struct posixtrace_event event_malloc = { "libc.malloc", "{size:u64/B,address:x64}", 0 };
static struct posixtrace_event event_calloc = { "libc.calloc", "{size:u64/B,address:x64}", 0 };
static struct posixtrace_event event_realloc = { "libc.realloc", "{old:x64,size:u64/B,address:x64}", 0 };
static struct posixtrace_event event_memalign = { "libc.memalign", "{alignment:u64,size:u64/B,address:x64}", 0 };
static struct posixtrace_event event_free = { "libc.free", "{address:x64}", 0 };

/* -- The beginning of a process ------------------------------------------------------------------------------ */

/*
 * Recorded before the first event of a program and of a child of fork(). A program that a process executes has none of
 * the blocks before; a child has those of its parent at the event libc.memory_fork with the same number.
 */
struct begun {
	uint64_t fork;  /* 0: no child */
	int32_t parent; /* the nearest ancestor that has recorded its memory, whose blocks the child has; 0: none */
	bool whole;     /* recorded from the beginning on */
} __attribute__((__packed__));

static struct posixtrace_event event_begin = { "libc.memory_process", "{packed;fork:x64,parent:i32,whole:bool}", 0 };
static struct posixtrace_event event_fork = { "libc.memory_fork", "{fork:x64}", 0 };

static bool begun, started, late; /* late: nobody recorded the program when it started */
static int32_t latest;            /* the process that has recorded its beginning, this one or an ancestor */
static uint64_t forked;           /* the number of the fork() from `latest`; 0: this process is no such child */
static __thread uint64_t forking __attribute__((__tls_model__("initial-exec")));

static __attribute__((__noinline__, __cold__)) void begin(const void *caller)
{
	struct begun data = { .fork = forked, .parent = forked ? latest : 0, .whole = !started || !late };

	if (__atomic_exchange_n(&begun, true, __ATOMIC_RELAXED))
		return;
	latest = getpid();
	record_data(&event_begin, &data, sizeof data, caller);
}

static inline __attribute__((__always_inline__)) bool memory_recorded(const void *caller, uintptr_t frame)
{
	if (!recorded_from(GROUP_MEMORY, caller, frame))
		return false;
	if (UNLIKELY(!__atomic_load_n(&begun, __ATOMIC_RELAXED)))
		begin(caller);
	return true;
}

#define MEMORY_RECORDED (UNLIKELY(posixtrace_enabled()) && !LIKELY(sleeps_on()) && memory_recorded(CALLER, FRAME))

/* -- Children ----------------------------------------------------------------------------------------------- */

/* What the parent does after this, the child does not have. The number of a fork() is its time. */
static void before_fork(void)
{
	struct timespec now;

	forking = 0;
	if (!begun || !MEMORY_RECORDED)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	forking = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	record_data(&event_fork, &forking, sizeof forking, CALLER);
}

/*
 * Only notes that this is a child, which may not be able to record anything. A parent that has recorded nothing had the
 * blocks of its own parent.
 */
static void in_child(void)
{
	if (begun || !forked)
		forked = forking;
	begun = false;
}

/* Runs after the constructor of start.c, which is linked before this file and looks for streams. */
static __attribute__((__constructor__)) void start_memory(void)
{
	late = (__atomic_load_n(&scope.groups, __ATOMIC_RELAXED) & GROUPS_ASLEEP) || !event_id(&event_begin);
	started = true;
	pthread_atfork(before_fork, NULL, in_child);
}

/* -- Wrappers --------------------------------------------------------------------------------------------- */

/* The product of two sizes, or the greatest size if it has no room. */
static size_t product(size_t count, size_t size)
{
	size_t all;

	return __builtin_mul_overflow(count, size, &all) ? SIZE_MAX : all;
}

static __attribute__((__noinline__)) void *malloc_recorded(void *(*next)(size_t), size_t size, const void *caller)
{
	void *p = next(size);

	if (memory_recorded(caller, FRAME))
		record_data(&event_malloc, &(struct allocated){ size, (uintptr_t)p }, sizeof(struct allocated), caller);
	return p;
}

WRAPPER void *malloc(size_t size)
{
	NEXT_ALLOCATOR(void *, malloc, (size_t));
	if (UNLIKELY(!next))
		return first_new(size);
	if (LIKELY(!posixtrace_enabled()) || LIKELY(sleeps_on()))
		return next(size);
	return malloc_recorded(next, size, CALLER);
}

static __attribute__((__noinline__)) void free_recorded(void (*next)(void *), void *p, const void *caller)
{
	/* Before the memory can belong to another thread. */
	if (p && memory_recorded(caller, FRAME)) {
		uint64_t address = (uintptr_t)p;

		record_data(&event_free, &address, sizeof address, caller);
	}
	next(p);
}

WRAPPER void free(void *p)
{
	NEXT_ALLOCATOR(void, free, (void *));
	if (UNLIKELY(!next || is_first(p)))
		return;
	if (LIKELY(!posixtrace_enabled()) || LIKELY(sleeps_on())) {
		next(p);
		return;
	}
	free_recorded(next, p, CALLER);
}

WRAPPER void *calloc(size_t count, size_t size)
{
	NEXT_ALLOCATOR(void *, calloc, (size_t, size_t));
	void *p;

	if (UNLIKELY(!next))
		return first_new(product(count, size));
	if (!MEMORY_RECORDED)
		return next(count, size);
	p = next(count, size);
	record_data(&event_calloc, &(struct allocated){ product(count, size), (uintptr_t)p }, sizeof(struct allocated),
	            CALLER);
	return p;
}

/* Moves memory of the lookup to where it can be freed. */
static void *move_first(void *old, size_t size)
{
	size_t before = first_size(old);
	void *p = malloc(size);

	if (p)
		memcpy(p, old, before < size ? before : size);
	return p;
}

WRAPPER void *realloc(void *old, size_t size)
{
	NEXT_ALLOCATOR(void *, realloc, (void *, size_t));
	void *p;

	if (UNLIKELY(!next))
		return first_new(size);
	if (UNLIKELY(is_first(old)))
		return move_first(old, size);
	if (!MEMORY_RECORDED)
		return next(old, size);
	p = next(old, size);
	record_data(&event_realloc, &(struct moved){ (uintptr_t)old, size, (uintptr_t)p }, sizeof(struct moved), CALLER);
	return p;
}

/* Calls realloc() itself in some libraries, which is not recorded a second time. */
WRAPPER void *reallocarray(void *old, size_t count, size_t size)
{
	NEXT_ALLOCATOR(void *, reallocarray, (void *, size_t, size_t));
	uintptr_t before;
	void *p;

	if (UNLIKELY(is_first(old)))
		return move_first(old, product(count, size));
	if (!MEMORY_RECORDED)
		return next(old, count, size);
	before = inside_begin();
	p = next(old, count, size);
	inside_end(before);
	record_data(&event_realloc, &(struct moved){ (uintptr_t)old, product(count, size), (uintptr_t)p },
	            sizeof(struct moved), CALLER);
	return p;
}

static void record_aligned(size_t alignment, size_t size, const void *p, const void *caller)
{
	record_data(&event_memalign, &(struct aligned){ alignment, size, (uintptr_t)p }, sizeof(struct aligned), caller);
}

WRAPPER int posix_memalign(void **to, size_t alignment, size_t size)
{
	NEXT_ALLOCATOR(int, posix_memalign, (void **, size_t, size_t));
	uintptr_t before;
	int error;

	if (!MEMORY_RECORDED)
		return next(to, alignment, size);
	before = inside_begin();
	error = next(to, alignment, size);
	inside_end(before);
	record_aligned(alignment, size, error ? NULL : *to, CALLER);
	return error;
}

/* Defines a wrapper of a function with an alignment. The allocator may implement it by calling another wrapper. */
#define ALIGNED_WRAPPER(name, parameters, arguments, alignment)                                                \
	WRAPPER void *name parameters                                                                          \
	{                                                                                                      \
		NEXT_ALLOCATOR(void *, name, parameters);                                                      \
		uintptr_t before;                                                                              \
		void *p;                                                                                       \
                                                                                                               \
		if (!MEMORY_RECORDED)                                                                   \
			return next arguments;                                                                 \
		before = inside_begin();                                                                       \
		p = next arguments;                                                                            \
		inside_end(before);                                                                            \
		record_aligned(alignment, size, p, CALLER);                                                    \
		return p;                                                                                      \
	}
ALIGNED_WRAPPER(aligned_alloc, (size_t alignment, size_t size), (alignment, size), alignment)
ALIGNED_WRAPPER(memalign, (size_t alignment, size_t size), (alignment, size), alignment)
ALIGNED_WRAPPER(valloc, (size_t size), (size), 4096)
ALIGNED_WRAPPER(pvalloc, (size_t size), (size), 4096)
