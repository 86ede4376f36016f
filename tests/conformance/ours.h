/*
 * ours.h - what these tests know of our implementation that <trace.h> of the standard does not have
 *
 * Other implementations need not have it. script/conformance tries what there
 * is, and says by -DOURS_...=0 what is not; then the checks that need it are not
 * made, and all others are.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONFORMANCE_OURS_H
#define CONFORMANCE_OURS_H

#include <trace.h>

#include "test.h"

/* A member that counts the lost events. The standard only reports whether there are any. */
#ifndef OURS_LOST_EVENTS
# define OURS_LOST_EVENTS 1
#endif
/* A member with the kernel's id of the thread. */
#ifndef OURS_KERNEL_TID
# define OURS_KERNEL_TID 1
#endif
/*
 * Streams are files in shm_directory(), which exists after the first one. Nothing else stays open, mapped or running.
 */
#ifndef OURS_FILES
# define OURS_FILES 1
#endif

/*
 * Null pointers and uninitialized objects are recognized and refused with EINVAL. Elsewhere they may end the process.
 */
#ifndef OURS_REFUSALS
# define OURS_REFUSALS 1
#endif
/* Event types are small numbers: 0 is invalid, sets hold all below 127 * 64, and user types follow the system types. */
#define OURS_IDS (POSIX_TRACE_START == 1 && POSIX_TRACE_ERROR == 8 && POSIX_TRACE_UNNAMED_USEREVENT == 63)

/* Returns 0 where lost events are not counted. */
static inline unsigned long long ours_lost(const struct posix_trace_status_info *status)
{
#if OURS_LOST_EVENTS
	return status->__posix_lost_events;
#else
	(void)status;
	return 0;
#endif
}

static inline pid_t ours_tid(const struct posix_trace_event_info *event)
{
#if OURS_KERNEL_TID
	return event->__posix_kernel_tid;
#else
	(void)event;
	return -1;
#endif
}

/*
 * CHECK_OP for values that are known in this implementation only. Both sides are always evaluated, as they may ask for
 * a status.
 */
#define CHECK_OURS(known, ids, a, op, b)                                            \
	do {                                                                        \
		long long ours_a = (long long)(a), ours_b = (long long)(b);         \
		if ((known) && !(ours_a op ours_b))                                 \
			TEST_FAIL(ids, "%s " #op " %s: %lld, %lld", #a, #b, ours_a, ours_b); \
	} while (0)
#define CHECK_LOST(ids, a, op, b)  CHECK_OURS(OURS_LOST_EVENTS, ids, a, op, b)
#define CHECK_TID(ids, info, op, b) CHECK_OURS(OURS_KERNEL_TID, ids, ours_tid(info), op, b)
#define CHECK_FILES(ids, a, op, b) CHECK_OURS(OURS_FILES, ids, a, op, b)

/* For calls that are undefined by the standard and refused by this implementation. */
#define CHECK_REFUSED(ids, call)                                                    \
	do {                                                                        \
		if (OURS_REFUSALS)                                                  \
			CHECK_EQ(ids, call, EINVAL);                                \
	} while (0)

/* For tests that depend on the count. */
#define NEEDS_LOST_EVENTS()                                                         \
	do {                                                                        \
		if (!OURS_LOST_EVENTS)                                              \
			SKIP("only where lost events are counted");                 \
	} while (0)
#define NEEDS_FILES()                                                               \
	do {                                                                        \
		if (!OURS_FILES)                                                    \
			SKIP("only where streams are files that can be counted");   \
	} while (0)

#endif
