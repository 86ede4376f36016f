/*
 * threads.c - wrappers of calls that make threads, and name them
 *
 * A new thread begins in a function here, which records that and jumps to the function of the program. Its arguments
 * are passed in a slot of a small table, because nothing here allocates; if all slots are taken, the thread begins
 * without being recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "libc/clock.h"
#include "libc/libc.h"
#include "libc/names.h"

#define SLOTS 256

struct slot {
	int taken;
	void *(*function)(void *);
	void *argument;
};

struct created {
	uint64_t took, thread, function;
	int32_t result;
};

struct started {
	uint64_t thread, function;
};

static struct slot slots[SLOTS];

static struct posixtrace_event event_created = {
	"libc.pthread_create", "{took=took;took:u64/ns,thread:x64,function:a64,result:i32}", 0
};
static struct posixtrace_event event_started = { "libc.thread_start", "{thread:x64,function:a64}", 0 };
static struct posixtrace_event event_name = { "libc.thread_name", "{packed;thread:x64,name:z}", 0 };

/* Returns a slot for a thread; null if all are taken. */
static struct slot *slot_take(void)
{
	for (int i = 0; i < SLOTS; i++) {
		int taken = 0;

		if (__atomic_load_n(&slots[i].taken, __ATOMIC_RELAXED) == 0 &&
		    __atomic_compare_exchange_n(&slots[i].taken, &taken, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return &slots[i];
	}
	return NULL;
}

static void slot_return(struct slot *slot)
{
	__atomic_store_n(&slot->taken, 0, __ATOMIC_RELEASE);
}

/* Begins a thread. */
static void *begin_thread(void *arg)
{
	struct slot *slot = arg;
	void *(*function)(void *) = slot->function;
	void *argument = slot->argument;
	struct started started = { (uint64_t)pthread_self(), (uintptr_t)function };

	slot_return(slot);
	record_data(&event_started, &started, sizeof started, (const void *)(uintptr_t)function);
	return function(argument);
}

WRAPPER int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                           void *(*function)(void *), void *restrict argument)
{
	NEXT(int, pthread_create, (pthread_t *restrict, const pthread_attr_t *restrict, void *(*)(void *), void *restrict));
	struct created created;
	struct slot *slot;
	uint64_t began;

	if (!RECORDED(GROUP_THREADS))
		return next(thread, attributes, function, argument);
	slot = slot_take();
	if (slot) {
		slot->function = function;
		slot->argument = argument;
	}
	began = clock_now();
	created.result = slot ? next(thread, attributes, begin_thread, slot) :
	                        next(thread, attributes, function, argument);
	created.took = clock_took(began);
	if (slot && created.result != 0)
		slot_return(slot);
	created.thread = created.result == 0 ? (uint64_t)*thread : 0;
	created.function = (uintptr_t)function;
	record_data(&event_created, &created, offsetof(struct created, result) + 4, CALLER);
	return created.result;
}

static void record_name(pthread_t thread, const char *name, const void *caller)
{
	struct posixtrace_around around = { .__address = caller };
	uint64_t number = (uint64_t)thread;

	memcpy(around.__before, &number, 8);
	record_text(&event_name, name, &around, POSIXTRACE_TEXT_SIZES(8, 0, 15));
}

WRAPPER int pthread_setname_np(pthread_t thread, const char *name)
{
	NEXT(int, pthread_setname_np, (pthread_t, const char *));
	int result = next(thread, name);

	if (RECORDED(GROUP_THREADS) && result == 0)
		record_name(thread, name, CALLER);
	return result;
}

/* Names the thread, and may announce a seccomp filter. All arguments are passed as long, as the C library does. */
WRAPPER int prctl(int option, ...)
{
	NEXT(int, prctl, (int, ...));
	unsigned long argument[4];
	va_list list;
	int result;

	va_start(list, option);
	for (int i = 0; i < 4; i++)
		argument[i] = va_arg(list, unsigned long);
	va_end(list);
	/* A filter needs one of both, unless the process has CAP_SYS_ADMIN and does not use this function. */
	if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS)
		names_confined();
	if (option != PR_SET_NAME)
		return next(option, argument[0], argument[1], argument[2], argument[3]);
	result = next(option, argument[0], argument[1], argument[2], argument[3]);
	if (RECORDED(GROUP_THREADS) && result == 0)
		record_name(pthread_self(), (const char *)argument[0], CALLER);
	return result;
}
