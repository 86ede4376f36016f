/*
 * changes.c - tells when processes become other users, or execute another file
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/changes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGES_BYTES 8192
#define MESSAGES_MAX   256 /* taken at one time, so that a flood of messages keeps the recorder from nothing */

/* PROC_EVENT_NONE, PROC_EVENT_EXEC and PROC_EVENT_UID, whose place in linux/cn_proc.h has changed. */
enum { TOLD_NONE = 0, TOLD_EXEC = 2, TOLD_UID = 4 };

#define TOLD_OFFSET (NLMSG_HDRLEN + sizeof(struct cn_msg))

/*
 * Lets the kernel drop all other messages, of which a busy machine has thousands in a second. A filter loads numbers
 * with the highest byte first.
 */
static int filter(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, TOLD_OFFSET),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(TOLD_NONE), 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(TOLD_EXEC), 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(TOLD_UID), 1, 0),
		BPF_STMT(BPF_RET | BPF_K, 0),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
	};
	struct sock_fprog program = { .len = sizeof code / sizeof code[0], .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

/* Asks for all messages. */
static int subscribe(int fd)
{
	enum proc_cn_mcast_op operation = PROC_CN_MCAST_LISTEN;
	struct cn_msg message = { .id = { CN_IDX_PROC, CN_VAL_PROC }, .len = sizeof operation };
	unsigned char bytes[NLMSG_SPACE(sizeof message + sizeof operation)] = { 0 };
	struct nlmsghdr head = {
		.nlmsg_len = NLMSG_LENGTH(sizeof message + sizeof operation), .nlmsg_type = NLMSG_DONE,
	};

	memcpy(bytes, &head, sizeof head);
	memcpy(bytes + NLMSG_HDRLEN, &message, sizeof message);
	memcpy(bytes + NLMSG_HDRLEN + sizeof message, &operation, sizeof operation);
	return send(fd, bytes, head.nlmsg_len, 0) == (ssize_t)head.nlmsg_len ? 0 : -1;
}

void changes_listen(struct changes *c)
{
	struct sockaddr_nl address = { .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC };

	c->works = false;
	c->fd = -1;
	c->fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_CONNECTOR);
	if (c->fd >= 0 && (bind(c->fd, (struct sockaddr *)&address, sizeof address) != 0 ||
	                   filter(c->fd) != 0 || subscribe(c->fd) != 0))
		changes_close(c);
}

/* Takes one message of the kernel. */
static void take(struct changes *c, const unsigned char *bytes, size_t size)
{
	struct {
		uint32_t what, processor;
		uint64_t time;
		uint32_t thread, process; /* of TOLD_EXEC and TOLD_UID */
	} event;

	if (size < TOLD_OFFSET + sizeof event)
		return;
	memcpy(&event, bytes + TOLD_OFFSET, sizeof event);
	c->works = true;
	if (event.what != TOLD_EXEC && event.what != TOLD_UID)
		return;
	if (c->count < CHANGES_MAX)
		c->pid[c->count++] = event.process;
	else
		c->more = true;
}

void changes_take(struct changes *c)
{
	unsigned char bytes[MESSAGES_BYTES];

	c->count = 0;
	c->more = false;
	for (unsigned i = 0; c->fd >= 0 && i < MESSAGES_MAX; i++) {
		struct sockaddr_nl from = { .nl_pid = 1 };
		socklen_t length = sizeof from;
		ssize_t n = recvfrom(c->fd, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &length);

		if (n < 0 && errno == ENOBUFS)
			c->more = true;
		else if (n < 0)
			break;
		else if (from.nl_pid == 0)
			take(c, bytes, (size_t)n);
	}
}

void changes_close(struct changes *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->works = false;
}
