/*
 * ready.c - wrappers of calls that wait until descriptors are ready
 *
 * SPDX-License-Identifier: MIT
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "libc/clock.h"
#include "libc/libc.h"

/* What is recorded. It has no padding. */
struct ready {
	uint64_t took;
	int32_t count, result;
	int16_t error;
} __attribute__((__packed__));

#define READY_LAYOUT(count) "{packed,took=took;took:u64/ns," count ":i32,result:i32," ERRNO_FIELD "}"

static struct posixtrace_event event_poll = { "libc.poll", READY_LAYOUT("count"), 0 };
static struct posixtrace_event event_select = { "libc.select", READY_LAYOUT("count"), 0 };
static struct posixtrace_event event_epoll_wait = { "libc.epoll_wait", READY_LAYOUT("fd"), 0 };

/* Defines a wrapper. count: how many descriptors, or the one of epoll. */
#define READY_WRAPPER(name, event, parameters, arguments, count)                                               \
	WRAPPER int name parameters;                                                                           \
	WRAPPER int name parameters                                                                            \
	{                                                                                                      \
		NEXT(int, name, parameters);                                                                   \
		uint64_t began;                                                                                \
		int result;                                                                                    \
                                                                                                               \
		if (!RECORDED(GROUP_IO))                                                                       \
			return next arguments;                                                                 \
		began = clock_now();                                                                           \
		result = next arguments;                                                                       \
		record_data(&event_##event,                                                                    \
		            &(struct ready){ clock_took(began), (int32_t)(count), result,                      \
		                             (int16_t)(result < 0 ? errno : 0) },                              \
		            sizeof(struct ready), CALLER);                                                     \
		return result;                                                                                 \
	}

READY_WRAPPER(poll, poll, (struct pollfd *fds, nfds_t count, int timeout), (fds, count, timeout), count)
READY_WRAPPER(ppoll, poll,
              (struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *signals),
              (fds, count, timeout, signals), count)
READY_WRAPPER(__poll_chk, poll, (struct pollfd *fds, nfds_t count, int timeout, size_t room),
              (fds, count, timeout, room), count)
READY_WRAPPER(__ppoll_chk, poll,
              (struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *signals, size_t room),
              (fds, count, timeout, signals, room), count)
READY_WRAPPER(select, select,
              (int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
               struct timeval *restrict timeout),
              (count, in, out, except, timeout), count)
READY_WRAPPER(pselect, select,
              (int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
               const struct timespec *restrict timeout, const sigset_t *restrict signals),
              (count, in, out, except, timeout, signals), count)
READY_WRAPPER(epoll_wait, epoll_wait, (int fd, struct epoll_event *events, int most, int timeout),
              (fd, events, most, timeout), fd)
READY_WRAPPER(epoll_pwait, epoll_wait,
              (int fd, struct epoll_event *events, int most, int timeout, const sigset_t *signals),
              (fd, events, most, timeout, signals), fd)
#if __GLIBC_PREREQ(2, 35)
READY_WRAPPER(epoll_pwait2, epoll_wait,
              (int fd, struct epoll_event *events, int most, const struct timespec *timeout, const sigset_t *signals),
              (fd, events, most, timeout, signals), fd)
#endif
