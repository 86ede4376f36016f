/*
 * changes.h - tells when processes become other users, or execute another file
 *
 * The kernel tells root of such changes (proc connector), but not in most containers. The messages only say when to
 * look: what is true of a process is read from /proc. So a message that is lost, or that another process has sent, does
 * no harm.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CHANGES_H
#define CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#define CHANGES_MAX 64

struct changes {
	int fd;     /* readable when there are messages; -1: the kernel tells nothing */
	bool works; /* the kernel has answered */
	/* Result of changes_take(): */
	uint32_t pid[CHANGES_MAX]; /* processes that have changed */
	unsigned count;
	bool more; /* others have changed, too */
};

void changes_listen(struct changes *c);
/* Takes all messages. */
void changes_take(struct changes *c);
void changes_close(struct changes *c);

#endif
