/*
 * start.c - the beginning of a process, and of a call: settings, next functions, whether a call is recorded
 *
 * Other libraries may call a wrapper before the constructor here. It finds its next function alone, and reads the
 * settings as soon as there is an environment.
 *
 * SPDX-License-Identifier: MIT
 */
#include "libc/libc.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <time.h>

#ifndef LIBC_MEMORY
# include "libc/names.h"
#endif

extern char **environ;

__thread uintptr_t inside;
__thread unsigned char naps;

/* -- The next function -------------------------------------------------------------------------------- */

extern struct next __start_next_functions[] __attribute__((__visibility__("hidden")));
extern struct next __stop_next_functions[] __attribute__((__visibility__("hidden")));

void *next_find(struct next *next)
{
	void *function = NULL;
	int error = errno;

	if (next->version)
		function = dlvsym(RTLD_NEXT, next->name, next->version);
	if (!function)
		function = dlsym(RTLD_NEXT, next->name);
	errno = error;
	__atomic_store_n(&next->function, function, __ATOMIC_RELAXED);
	return function;
}

/* -- Settings ----------------------------------------------------------------------------------------- */

struct scope scope = { .groups = GROUPS_NOT_READ };

/* Returns the groups of a list, separated by commas. Unknown words are for later versions. */
static unsigned groups(const char *list)
{
	static const struct {
		const char *name;
		unsigned groups;
	} names[] = {
		{ "io", GROUP_IO }, { "locks", GROUP_LOCKS }, { "threads", GROUP_THREADS }, { "process", GROUP_PROCESS },
		{ "memory", GROUP_MEMORY }, { "all", ~(GROUPS_NOT_READ | GROUPS_ASLEEP) },
	};
	unsigned found = 0;

	while (*list) {
		size_t length = strcspn(list, ",");

		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (strlen(names[i].name) == length && memcmp(names[i].name, list, length) == 0)
				found |= names[i].groups;
		list += length + (list[length] == ',');
	}
	return found;
}

unsigned read_settings(void)
{
	static const char name[] = "POSIXTRACE_LIBC=";
	unsigned found = ~(GROUPS_NOT_READ | GROUPS_ASLEEP);

	if (!environ)
		return 0;
	for (char **variable = environ; *variable; variable++)
		if (strncmp(*variable, name, sizeof name - 1) == 0)
			found = groups(*variable + sizeof name - 1);
	__atomic_store_n(&scope.groups, found, __ATOMIC_RELAXED);
	return found;
}

/* -- Processes that nobody records ---------------------------------------------------------------------- */

/*
 * A process looks for streams at its start. If its user has none, it sleeps: it makes no page in /dev/shm, and asks
 * again now and then, in a call that is wrapped, whether there are any; never again after it has confined itself.
 * libposixtrace-libc.so does that for both libraries, because it knows of seccomp filters.
 */
#define SLEEP_NS 100000000

static struct posixtrace_event event_start = { "libc.start", NULL, 0 };

/* Returns whether this process has looked whether it is recorded, for which it makes its page. */
static bool has_looked(void)
{
	const struct __posix_trace_gate *gate = __atomic_load_n(&__posix_trace_gate, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&gate->__vacant, __ATOMIC_RELAXED) != 0;
}

/*
 * Looks whether anybody records the process, by more system calls than a call of the program may make later, under a
 * seccomp filter. An event type is opened if somebody does, and nothing is recorded.
 */
static void look(void)
{
	uintptr_t before = inside_begin();

	event_id(&event_start);
	inside_end(before);
}

static void wake_up(void)
{
	if (__atomic_fetch_and(&scope.groups, ~GROUPS_ASLEEP, __ATOMIC_RELAXED) & GROUPS_ASLEEP)
		look();
}

static __attribute__((__noinline__, __cold__)) void look_for_streams(void)
{
	uintptr_t before = inside_begin();
	int error = errno;

	posixtrace_attach();
	if (has_looked())
		wake_up();
	errno = error;
	inside_end(before);
}

#ifdef LIBC_MEMORY

/* In libposixtrace-libc.so. Alone, this library looks only at its start: a filter may forbid later looks. */
extern void posixtrace_libc_look(void) __attribute__((__weak__, __visibility__("default")));

static bool may_sleep(void)
{
	return true;
}

static void look_again(void)
{
	if (posixtrace_libc_look)
		posixtrace_libc_look();
}

#else

WRAPPER void posixtrace_libc_look(void);

static bool may_sleep(void)
{
	return !names_are_confined();
}

/* Looks for streams if it is time to. */
static inline void look_again(void)
{
	static int64_t next;
	int64_t now, then = __atomic_load_n(&next, __ATOMIC_RELAXED);
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	/* A seccomp filter may kill the process for it, and a child of vfork() would do it in its parent's name. */
	if (LIKELY(now < then) || names_are_confined() || !names_own_process())
		return;
	/* One thread looks. */
	if (__atomic_compare_exchange_n(&next, &then, now + SLEEP_NS, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		look_for_streams();
}

void posixtrace_libc_look(void)
{
	if (__atomic_load_n(&scope.groups, __ATOMIC_RELAXED) & GROUPS_ASLEEP)
		look_again();
}

#endif

/* Looks for streams for the first time. */
static __attribute__((__noinline__, __cold__)) void look_first(void)
{
	look_for_streams();
	if (!has_looked() && may_sleep())
		__atomic_fetch_or(&scope.groups, GROUPS_ASLEEP, __ATOMIC_RELAXED);
	else
		look();
}

unsigned groups_now(void)
{
	unsigned groups = __atomic_load_n(&scope.groups, __ATOMIC_RELAXED);

	if (groups & GROUPS_NOT_READ) {
		/* A call before the constructor. It is recorded if there is a stream, and leaves nothing if there is none. */
		if (!read_settings() || inside)
			return 0;
		look_first();
	}
	if (!has_looked()) {
		/* A call from within a wrapper. */
		if (inside)
			return 0;
		look_again();
		if (!has_looked())
			return 0;
	}
	/* The program may have looked by itself, with a trace point of its own. */
	wake_up();
	return __atomic_load_n(&scope.groups, __ATOMIC_RELAXED);
}

/* -- The beginning -------------------------------------------------------------------------------------- */

/* Notes where libposixtrace is in memory. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t wanted = (uintptr_t)arg, begin = UINTPTR_MAX, end = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		if (at < begin)
			begin = at;
		if (at + info->dlpi_phdr[i].p_memsz > end)
			end = at + info->dlpi_phdr[i].p_memsz;
	}
	if (wanted < begin || wanted >= end)
		return 0;
	scope.library_begin = begin;
	scope.library_size = end - begin;
	return 1;
}

static __attribute__((__constructor__)) void start(void)
{
	for (struct next *next = __start_next_functions; next < __stop_next_functions; next++)
		next_function(next);
	dl_iterate_phdr(look_at_object, (void *)(uintptr_t)posixtrace_attach);
	if (__atomic_load_n(&scope.groups, __ATOMIC_RELAXED) & GROUPS_NOT_READ)
		read_settings();
	/* A daemon may become another user before its first event. */
	look_first();
}
