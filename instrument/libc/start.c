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

extern char **environ;

__thread uintptr_t inside;

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
		{ "memory", GROUP_MEMORY }, { "all", ~GROUPS_NOT_READ },
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
	unsigned found = ~GROUPS_NOT_READ;

	if (!environ)
		return 0;
	for (char **variable = environ; *variable; variable++)
		if (strncmp(*variable, name, sizeof name - 1) == 0)
			found = groups(*variable + sizeof name - 1);
	__atomic_store_n(&scope.groups, found, __ATOMIC_RELAXED);
	return found;
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

static struct posixtrace_event event_start = { "libc.start", NULL, 0 };

static __attribute__((__constructor__)) void start(void)
{
	for (struct next *next = __start_next_functions; next < __stop_next_functions; next++)
		next_function(next);
	dl_iterate_phdr(look_at_object, (void *)(uintptr_t)posixtrace_attach);
	if (__atomic_load_n(&scope.groups, __ATOMIC_RELAXED) & GROUPS_NOT_READ)
		read_settings();
	/* A daemon may become another user before its first event. */
	posixtrace_attach();
	/*
	 * The first trace point of a process finds out whether anybody records it, by more system calls than a
	 * call of the program may make later, under a seccomp filter. An event type is opened if somebody does, and nothing is recorded.
	 */
	event_id(&event_start);
}
