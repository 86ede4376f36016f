/*
 * clock.c - how long a call takes: which clock there is, and the rate of the processor's counter
 *
 * The rate is measured between the first moment and the present one, again each time that twice as long has passed. So
 * a duration is never longer than twice the time over which its rate was measured, and is wrong by no more than twice
 * the error of such a moment, some dozens of nanoseconds.
 *
 * SPDX-License-Identifier: MIT
 */
#include "libc/clock.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/names.h"

struct call_clock call_clock;

/* One thread measures at a time. Meanwhile other threads and handlers use the last rate. */
static int busy;

void clock_in_child(void)
{
	__atomic_store_n(&busy, 0, __ATOMIC_RELAXED);
}

#if defined __x86_64__

/* One moment on both clocks. */
struct moment {
	uint64_t ticks, ns;
};

static struct moment first;

/* How long the first measurement takes. */
#define FIRST_NS 20000
/* Rates that are measured over so many ticks, some milliseconds, differ by less than a thousandth. */
#define EXACT_TICKS (UINT64_C(1) << 24)
#define THOUSANDTH(rate) ((rate) >> 10)
static bool exact; /* the rate was measured over so many */

/* Reads both clocks; the narrowest of some readings, because an interrupt between the two would show. */
static struct moment moment_now(void)
{
	struct moment best = { 0, 0 };
	uint64_t width = UINT64_MAX;

	for (int i = 0; i < 4; i++) {
		uint64_t before = __builtin_ia32_rdtsc(), ns = clock_system(), after = __builtin_ia32_rdtsc();

		if (after - before < width) {
			width = after - before;
			best.ticks = before + width / 2;
			best.ns = ns;
		}
	}
	return best;
}

static uint64_t rate_between(struct moment from, struct moment to)
{
	return to.ticks > from.ticks
	               ? (uint64_t)(((unsigned __int128)(to.ns - from.ns) << 32) / (to.ticks - from.ticks))
	               : 0;
}

/*
 * Returns whether the kernel itself keeps time by the counter, which it has tested. By system calls, not by functions
 * that are wrapped here.
 */
static bool counter_is_good(void)
{
	static const char path[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char name[4] = "";
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	bool good;

	if (fd < 0)
		return false;
	good = syscall(SYS_read, fd, name, sizeof name) == sizeof name && memcmp(name, "tsc\n", sizeof name) == 0;
	syscall(SYS_close, fd);
	return good;
}

/* Finds out which clock there is. A seccomp filter may kill the process for the question. */
static void find_clock(void)
{
	struct moment now;

	if (names_are_confined() || !counter_is_good()) {
		__atomic_store_n(&call_clock.kind, CLOCK_SYSTEM, __ATOMIC_RELAXED);
		return;
	}
	first = moment_now();
	do
		now = moment_now();
	while (now.ns - first.ns < FIRST_NS);
	call_clock.rate = rate_between(first, now);
	call_clock.next = now.ticks + (now.ticks - first.ticks);
	__atomic_store_n(&call_clock.kind, CLOCK_COUNTER, __ATOMIC_RELEASE);
}

void clock_measure(void)
{
	struct moment now;
	uint64_t rate, old, span;

	if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return;
	now = moment_now();
	span = now.ticks - first.ticks;
	rate = rate_between(first, now);
	old = call_clock.rate;
	if (exact && (rate > old + THOUSANDTH(old) || rate < old - THOUSANDTH(old))) {
		/* The computer has slept, and one of the clocks with it: measure from now on. */
		first = now;
		exact = false;
		__atomic_store_n(&call_clock.next, now.ticks + EXACT_TICKS, __ATOMIC_RELAXED);
	} else {
		exact = span >= EXACT_TICKS;
		__atomic_store_n(&call_clock.rate, rate, __ATOMIC_RELAXED);
		__atomic_store_n(&call_clock.next, now.ticks + span, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

#else

static void find_clock(void)
{
	__atomic_store_n(&call_clock.kind, CLOCK_SYSTEM, __ATOMIC_RELAXED);
}

#endif

uint64_t clock_other(void)
{
	if (__atomic_load_n(&call_clock.kind, __ATOMIC_RELAXED) == CLOCK_UNKNOWN &&
	    !__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
		int error = errno;

		if (__atomic_load_n(&call_clock.kind, __ATOMIC_RELAXED) == CLOCK_UNKNOWN)
			find_clock();
		errno = error;
		__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	}
#if defined __x86_64__
	if (__atomic_load_n(&call_clock.kind, __ATOMIC_ACQUIRE) == CLOCK_COUNTER)
		return __builtin_ia32_rdtsc();
#endif
	return clock_system() | CLOCK_OF_SYSTEM;
}
