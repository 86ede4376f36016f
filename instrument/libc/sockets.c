/*
 * sockets.c - wrappers of calls on sockets
 *
 * SPDX-License-Identifier: MIT
 */
#include <sys/socket.h>
#include <sys/uio.h>

#include "libc/call.h"

/* -- Transfers ------------------------------------------------------------------------------------------ */

CALL_EVENT(send, "");
CALL_EVENT(sendto, "");
CALL_EVENT(sendmsg, "");
CALL_EVENT(sendmmsg, "");
CALL_EVENT(recv, "");
CALL_EVENT(recvfrom, "");
CALL_EVENT(recvmsg, "");
CALL_EVENT(recvmmsg, "");

CALL_WRAPPER(ssize_t, send, send, (int fd, const void *from, size_t size, int flags), (fd, from, size, flags))
CALL_WRAPPER(ssize_t, recv, recv, (int fd, void *to, size_t size, int flags), (fd, to, size, flags))
CALL_WRAPPER(int, sendmmsg, sendmmsg, (int fd, struct mmsghdr *messages, unsigned count, int flags),
             (fd, messages, count, flags))
CALL_WRAPPER(int, recvmmsg, recvmmsg,
             (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout),
             (fd, messages, count, flags, timeout))
CALL_WRAPPER(ssize_t, __recv_chk, recv, (int fd, void *to, size_t size, size_t room, int flags),
             (fd, to, size, room, flags))
/*
 * Records a transfer whose peer is the one that was given, unless there is none: a socket of datagrams has a new peer
 * with each of them.
 */
static void record_with_peer(struct posixtrace_event *event, uint64_t began, int fd, ssize_t result,
                             const struct sockaddr *address, socklen_t size, const void *caller)
{
	struct call call;
	char *name = call_name(&call);
	size_t length = 0;

	call_before(call.data, began, fd, result < 0, errno);
	if (address && size) {
		names_address(address, size, name);
		length = strlen(name);
	}
	if (!length)
		length = names_get(fd, name);
	call_end(event, &call, length, result, 0, 0, caller);
}

WRAPPER ssize_t sendto(int fd, const void *from, size_t size, int flags, const struct sockaddr *address,
                       socklen_t address_size)
{
	NEXT(ssize_t, sendto, (int, const void *, size_t, int, const struct sockaddr *, socklen_t));
	uint64_t began;
	ssize_t result;

	if (!RECORDED(GROUP_IO))
		return next(fd, from, size, flags, address, address_size);
	began = clock_now();
	result = next(fd, from, size, flags, address, address_size);
	/* The kernel has read the address, unless it says that it cannot be read. */
	record_with_peer(&event_sendto, began, fd, result, result < 0 ? NULL : address, address_size, CALLER);
	return result;
}

WRAPPER ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	NEXT(ssize_t, sendmsg, (int, const struct msghdr *, int));
	uint64_t began;
	ssize_t result;

	if (!RECORDED(GROUP_IO))
		return next(fd, message, flags);
	began = clock_now();
	result = next(fd, message, flags);
	record_with_peer(&event_sendmsg, began, fd, result, result < 0 ? NULL : message->msg_name,
	                 result < 0 ? 0 : message->msg_namelen, CALLER);
	return result;
}

/* room: of the address, before the call. */
#define RECVFROM_WRAPPER(name, parameters, arguments)                                                          \
	WRAPPER ssize_t name parameters;                                                                       \
	WRAPPER ssize_t name parameters                                                                        \
	{                                                                                                      \
		NEXT(ssize_t, name, parameters);                                                               \
		socklen_t room = 0;                                                                            \
		uint64_t began;                                                                                \
		ssize_t result;                                                                                \
                                                                                                               \
		if (!RECORDED(GROUP_IO))                                                                       \
			return next arguments;                                                                 \
		if (address && address_size)                                                                   \
			room = *address_size;                                                                  \
		began = clock_now();                                                                           \
		result = next arguments;                                                                       \
		if (result < 0 || !room)                                                                       \
			room = 0;                                                                              \
		else if (*address_size < room)                                                                 \
			room = *address_size;                                                                  \
		record_with_peer(&event_recvfrom, began, fd, result, room ? address : NULL, room, CALLER);     \
		return result;                                                                                 \
	}
RECVFROM_WRAPPER(recvfrom, (int fd, void *restrict to, size_t size, int flags, struct sockaddr *restrict address,
                            socklen_t *restrict address_size), (fd, to, size, flags, address, address_size))
RECVFROM_WRAPPER(__recvfrom_chk, (int fd, void *to, size_t size, size_t room_of_buffer, int flags,
                                  struct sockaddr *address, socklen_t *address_size),
                 (fd, to, size, room_of_buffer, flags, address, address_size))

/* Forgets the names of the numbers that received descriptors have got. */
static void forget_received(struct msghdr *message)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		int fd;

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t at = 0; CMSG_LEN(at + sizeof fd) <= part->cmsg_len; at += sizeof fd) {
			memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
			names_forget(fd);
		}
	}
}

WRAPPER ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	NEXT(ssize_t, recvmsg, (int, struct msghdr *, int));
	uint64_t began = RECORDED(GROUP_IO) ? clock_now() : 0;
	socklen_t room = began && message->msg_name ? message->msg_namelen : 0;
	ssize_t result = next(fd, message, flags);

	if (result >= 0 && message->msg_controllen > 0)
		forget_received(message);
	if (!began)
		return result;
	/* The address may have been longer than its room. */
	if (result < 0)
		room = 0;
	else if (message->msg_namelen < room)
		room = message->msg_namelen;
	record_with_peer(&event_recvmsg, began, fd, result, room ? message->msg_name : NULL, room, CALLER);
	return result;
}

/* -- Life ------------------------------------------------------------------------------------------------- */

CALL_EVENT(socket, "");
CALL_EVENT(connect, "");
CALL_EVENT(bind, "");
CALL_EVENT(listen, "");
CALL_EVENT(shutdown, "");
CALL_EVENT(accept, "");

CALL_WRAPPER(int, listen, listen, (int fd, int backlog), (fd, backlog))
CALL_WRAPPER(int, shutdown, shutdown, (int fd, int how), (fd, how))

WRAPPER int socket(int domain, int type, int protocol)
{
	NEXT(int, socket, (int, int, int));
	uint64_t began = RECORDED(GROUP_IO) ? clock_now() : 0;
	int fd = next(domain, type, protocol);

	names_forget(fd);
	if (began)
		record_with_peer(&event_socket, began, fd, fd, NULL, 0, CALLER);
	return fd;
}

/* A connection or an address changes the name. */
#define ADDRESS_WRAPPER(name)                                                                                  \
	WRAPPER int name(int fd, const struct sockaddr *address, socklen_t size)                               \
	{                                                                                                      \
		NEXT(int, name, (int, const struct sockaddr *, socklen_t));                                    \
		uint64_t began = RECORDED(GROUP_IO) ? clock_now() : 0;                                         \
		int result = next(fd, address, size);                                                          \
                                                                                                               \
		names_forget(fd);                                                                              \
		if (began)                                                                                     \
			record_with_peer(&event_##name, began, fd, result,                                     \
			                 result < 0 && errno == EFAULT ? NULL : address, size, CALLER);        \
		return result;                                                                                 \
	}
ADDRESS_WRAPPER(connect)
ADDRESS_WRAPPER(bind)

/* The descriptor of the event is the listening one, the result the new one, and the name that of the peer. */
#define ACCEPT_WRAPPER(name, parameters, arguments)                                                            \
	WRAPPER int name parameters                                                                            \
	{                                                                                                      \
		NEXT(int, name, parameters);                                                                   \
		uint64_t began = RECORDED(GROUP_IO) ? clock_now() : 0;                                         \
		int result = next arguments;                                                                   \
                                                                                                               \
		names_forget(result);                                                                          \
		if (began)                                                                                     \
			record_accept(began, fd, result, CALLER);                                              \
		return result;                                                                                 \
	}

static void record_accept(uint64_t began, int fd, int result, const void *caller)
{
	struct call call;

	call_before(call.data, began, fd, result < 0, errno);
	call_end(&event_accept, &call, names_get(result < 0 ? fd : result, call_name(&call)), result, 0, 0, caller);
}

ACCEPT_WRAPPER(accept, (int fd, struct sockaddr *restrict address, socklen_t *restrict size), (fd, address, size))
ACCEPT_WRAPPER(accept4, (int fd, struct sockaddr *restrict address, socklen_t *restrict size, int flags),
               (fd, address, size, flags))
