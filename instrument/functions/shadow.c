/*
 * shadow.c - which functions each thread is in, and the events that tell so
 *
 * SPDX-License-Identifier: MIT
 */
#include "shadow.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "names.h"

/* Deeper frames are only counted. The memory is touched as the stack grows. */
#define FRAMES 32768

/* The bottom of a shadow stack: no function, and no place on the stack is above it. */
static const struct frame bottom[1] = { { .stack = UINTPTR_MAX } };
#define NO_FRAMES ((struct frame *)(uintptr_t)(bottom + 1))

_Thread_local struct frame *shadow_top = (struct frame *)(bottom + 1);
_Thread_local struct frame *shadow_limit = (struct frame *)(bottom + 1);
trace_event_id_t shadow_begin, shadow_end;
struct settings settings = { .depth = UINT32_MAX };

/* This thread is in a function below, which a handler must not enter. */
static _Thread_local bool busy __attribute__((tls_model("initial-exec")));
/* This thread has no shadow stack: it ends, or there is no memory. */
static _Thread_local bool without __attribute__((tls_model("initial-exec")));
/* Open functions that have no frame. */
static _Thread_local uint32_t uncounted __attribute__((tls_model("initial-exec")));

static struct posixtrace_event event_begin = { "function.begin", NULL, 0 };
static struct posixtrace_event event_end = { "function.end", NULL, 0 };
static struct posixtrace_event event_call = { "function.call", "{packed,took=time;depth:u16,time:u64/ns}", 0 };
static struct posixtrace_event event_recorded = { "functions.recorded", NULL, 0 };

static bool key_made;
static pthread_key_t key;

/* -- Events ----------------------------------------------------------------------------------------- */

static trace_event_id_t open_type(struct posixtrace_event *event)
{
	trace_event_id_t id = __atomic_load_n(&event->__id, __ATOMIC_ACQUIRE);

	return id ? id : posixtrace_event_open(event);
}

/* Opens the event types. Returns false if no stream traces the process. */
static bool open_types(void)
{
	trace_event_id_t begin = open_type(&event_begin), end = open_type(&event_end);

	if (!begin || !end || (settings.longer && !open_type(&event_call)))
		return false;
	if (!settings.any) {
		__atomic_store_n(&shadow_end, end, __ATOMIC_RELAXED);
		__atomic_store_n(&shadow_begin, begin, __ATOMIC_RELAXED);
	}
	return true;
}

static void record(const struct posixtrace_event *event, uintptr_t function)
{
	posixtrace_event_at(__atomic_load_n(&event->__id, __ATOMIC_ACQUIRE), NULL, 0, (const void *)function);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* -- Memory ------------------------------------------------------------------------------------------- */

#define SIZE (FRAMES * sizeof(struct frame))

/* Gives this thread a shadow stack. Not by malloc(), which the program may have instrumented. */
static void make_stack(void)
{
	struct frame *frames;

	if (without)
		return;
	frames = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (frames == MAP_FAILED) {
		without = true;
		return;
	}
	frames[0] = bottom[0];
	/* The key is one of the first of the process, for which no memory is allocated. */
	if (key_made)
		pthread_setspecific(key, frames);
	shadow_top = frames + 1;
	fence_signal();
	shadow_limit = frames + FRAMES;
}

static void leave(struct frame *f);

/* Ends a thread: functions that pthread_exit() has left are over. Later calls, in other destructors, have no frames. */
static void free_stack(void *frames)
{
	if (posixtrace_enabled())
		while (shadow_top[-1].function)
			leave(shadow_top - 1);
	without = true;
	shadow_limit = shadow_top = NO_FRAMES;
	munmap(frames, SIZE);
}

/* -- Entering and leaving --------------------------------------------------------------------------------- */

/* Records a call that is over, if it took long enough. */
static void record_call(const struct frame *f)
{
	struct __attribute__((packed)) {
		uint16_t depth;
		uint64_t time;
	} data = { .depth = (uint16_t)(f->depth < UINT16_MAX ? f->depth : UINT16_MAX), .time = now() - f->time };

	if (data.time >= settings.longer)
		posixtrace_event_at(__atomic_load_n(&event_call.__id, __ATOMIC_ACQUIRE), &data, sizeof data,
		                    (const void *)f->function);
}

/* Leaves the innermost function. A handler may use its frame as soon as it is free. */
static void leave(struct frame *f)
{
	const struct frame old = *f;

	fence_signal();
	shadow_top = f;
	fence_signal();
	if (old.flags & FRAME_RECORDED)
		record(&event_end, old.function);
	else if (old.flags & FRAME_TIMED)
		record_call(&old);
}

/*
 * Leaves the functions whose frames are below this place, or level with it. A signal handler with a stack of its own
 * says nothing about frames on the thread's stack, wherever that is.
 */
static void leave_below(uintptr_t stack, bool level)
{
	stack_t own;
	uintptr_t from = 0, size = UINTPTR_MAX;

	if (shadow_top[-1].stack >= stack + level)
		return;
	if (sigaltstack(NULL, &own) == 0 && (own.ss_flags & SS_ONSTACK)) {
		from = (uintptr_t)own.ss_sp;
		size = own.ss_size;
	}
	while (shadow_top[-1].stack < stack + level && shadow_top[-1].stack - from < size)
		leave(shadow_top - 1);
}

void shadow_unwind(uintptr_t stack)
{
	if (!busy)
		leave_below(stack, false);
}

void shadow_unwind_range(uintptr_t from, uintptr_t to)
{
	while (!busy && shadow_top[-1].stack >= from && shadow_top[-1].stack < to)
		leave(shadow_top - 1);
}

/* Returns NAME_ bits for a function. Handlers do not look names up while this thread does. */
static unsigned verdict_of(uintptr_t function)
{
	unsigned verdict = NAME_ONLY;
	int error = errno;

	if ((!settings.only && !settings.in) || names_known(function, &verdict))
		return verdict;
	busy = true;
	verdict = names_verdict(function);
	busy = false;
	errno = error;
	return verdict;
}

/* Sets the flags and the depth of a function that is entered, by the settings. */
static void judge(struct frame *new, const struct frame *outer)
{
	unsigned verdict = verdict_of(new->function);

	new->depth = outer->depth;
	if (!settings.in || (outer->flags & FRAME_INSIDE) || (verdict & NAME_IN))
		new->flags |= FRAME_INSIDE;
	if (!(new->flags & FRAME_INSIDE) || !(verdict & NAME_ONLY) || outer->depth >= settings.depth)
		return;
	new->depth++;
	new->flags |= settings.longer ? FRAME_TIMED : FRAME_RECORDED;
}

static void push(const struct frame *new)
{
	struct frame *f = shadow_top;

	*f = *new;
	fence_signal();
	shadow_top = f + 1;
	fence_signal();
	/* A handler may have used the frame before it counted. */
	*f = *new;
}

void shadow_enter_slow(uintptr_t function, uintptr_t stack, bool level)
{
	struct frame new = { .function = function, .stack = stack };

	if (!shadow_ready())
		return;
	leave_below(stack, level);
	if (shadow_top == shadow_limit) {
		uncounted++;
		new.flags = settings.any ? 0 : FRAME_RECORDED;
	} else {
		judge(&new, shadow_top - 1);
		if (new.flags & FRAME_TIMED)
			new.time = now();
		push(&new);
	}
	if (new.flags & FRAME_RECORDED)
		record(&event_begin, function);
}

void shadow_leave_slow(uintptr_t function)
{
	struct frame *f = shadow_top - 1;

	if (!shadow_ready())
		return;
	if (uncounted > 0) {
		uncounted--;
		if (!settings.any)
			record(&event_end, function);
		return;
	}
	while (f->function && f->function != function)
		f--;
	if (f->function)
		while (shadow_top > f)
			leave(shadow_top - 1);
	else if (!settings.any)
		record(&event_end, function); /* It was entered before the recording began. */
}

/* -- Settings ---------------------------------------------------------------------------------------------- */

/* Returns a copy of an environment variable, which the program may change; null if it is unset or empty. */
static const char *setting(char *copy, size_t size, const char *name)
{
	const char *value = getenv(name);

	if (!value || !*value)
		return NULL;
	copy[0] = '\0';
	return strncat(copy, value, size - 1);
}

static void read_settings(void)
{
	static char only[4096], in[4096], number[2][32];
	const char *depth = setting(number[0], sizeof number[0], "POSIXTRACE_FUNCTIONS_DEPTH");
	const char *longer = setting(number[1], sizeof number[1], "POSIXTRACE_FUNCTIONS_LONGER_THAN");

	settings.only = setting(only, sizeof only, "POSIXTRACE_FUNCTIONS");
	settings.in = setting(in, sizeof in, "POSIXTRACE_FUNCTIONS_IN");
	if (depth)
		settings.depth = (uint32_t)strtoul(depth, NULL, 10);
	if (longer)
		settings.longer = strtoull(longer, NULL, 10);
	settings.any = settings.only || settings.in || depth || longer;
}

/*
 * Reads the settings when the first function is recorded. Returns false if no stream traces the process, or another
 * thread is doing this. A process that has executed this program is the same as before, and its open functions are no
 * more: the event functions.recorded says so.
 */
static bool prepare(void)
{
	enum { NOT, NOW, DONE };
	static int state;
	int old = __atomic_load_n(&state, __ATOMIC_ACQUIRE);

	if (old == DONE)
		return true;
	/* Functions of .preinit_array are called before the C library has its environment. */
	if (old == NOW || !environ || !open_type(&event_recorded) ||
	    !__atomic_compare_exchange_n(&state, &old, NOW, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	read_settings();
	key_made = pthread_key_create(&key, free_stack) == 0;
	record(&event_recorded, (uintptr_t)prepare);
	__atomic_store_n(&state, DONE, __ATOMIC_RELEASE);
	return true;
}

bool shadow_ready(void)
{
	int error = errno;
	bool ready;

	if (busy)
		return false;
	/* A thread has a shadow stack only after all of this. */
	if (shadow_limit != NO_FRAMES)
		return true;
	busy = true;
	ready = posixtrace_enabled() && prepare() && open_types();
	if (ready && shadow_limit == NO_FRAMES)
		make_stack();
	busy = false;
	errno = error;
	return ready;
}

bool shadow_may_be_ready(void)
{
	const struct __posix_trace_gate *gate = __atomic_load_n(&__posix_trace_gate, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&gate->__vacant, __ATOMIC_RELAXED) != 0 && shadow_ready();
}

/*
 * Opens the streams before the program can become another user. Functions may have been called before. A process whose
 * functions are not instrumented leaves nothing in /dev/shm if its user has no streams.
 */
static __attribute__((constructor(101))) void begin(void)
{
	busy = true;
	posixtrace_attach();
	busy = false;
	shadow_may_be_ready();
}
