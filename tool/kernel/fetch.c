/*
 * fetch.c - probes with a name in tracefs, for which the kernel also fetches texts from the program's memory
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernel/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "host/ident.h"

#define COMMAND_SIZE 1024
#define GROUP_SIZE   64

static int group_of_self(char group[GROUP_SIZE])
{
	struct ident self;
	int r = ident_self(&self);

	/* Without all three the name may be that of another process. */
	if (r == 0 && (!self.start || !self.pidns))
		r = -ENOENT;
	if (r == 0)
		snprintf(group, GROUP_SIZE, "posixtrace_%" PRIu32 "_%" PRIu64 "_%" PRIu32, self.pid, self.start,
		         self.pidns);
	return r;
}

static int open_names(int flags)
{
	const char *why, *folder = tracefs_folder(&why);
	char path[80];
	int fd;

	if (!folder)
		return -ENOENT;
	snprintf(path, sizeof path, "%s/uprobe_events", folder);
	/* With O_TRUNC the kernel would remove the probes of all users. */
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Has the kernel do a command. Returns 0 or a negative error number. */
static int tell(const char *command)
{
	int fd = open_names(O_WRONLY | O_APPEND), r;
	size_t length = strlen(command);

	if (fd < 0)
		return fd;
	r = write(fd, command, length) == (ssize_t)length ? 0 : -errno;
	close(fd);
	return r;
}

/* Removes a name if its process has ended. line: "p:GROUP/NAME ..." */
static void remove_left(const char *line, const struct ident *self)
{
	char group[GROUP_SIZE], name[GROUP_SIZE], command[2 * GROUP_SIZE + 8];
	struct ident of = { 0 };
	struct proc p;

	if (sscanf(line, "p:%63[^/ ]/%63[^/ \n]", group, name) != 2 ||
	    sscanf(group, "posixtrace_%" SCNu32 "_%" SCNu64 "_%" SCNu32, &of.pid, &of.start, &of.pidns) != 3 ||
	    of.pidns != self->pidns)
		return;
	if (proc_read(of.pid, &p) == 0 && p.ident.start == of.start)
		return;
	snprintf(command, sizeof command, "-:%s/%s\n", group, name);
	tell(command);
}

/* Removes the names of processes that were killed. */
static void remove_all_left(void)
{
	int fd = open_names(O_RDONLY);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	struct ident self;
	char line[COMMAND_SIZE];

	if (fd >= 0 && !file)
		close(fd);
	while (file && ident_self(&self) == 0 && fgets(line, sizeof line, file))
		remove_left(line, &self);
	if (file)
		fclose(file);
}

int fetch_define(struct uprobe *u, const char *fields, struct tracefs_format *f)
{
	static uint32_t count; /* each recorded process has a thread that defines names */
	char group[GROUP_SIZE], semaphore[32] = "", event[GROUP_SIZE + 16], command[COMMAND_SIZE];
	int r = group_of_self(group), length;
	uint32_t number;

	if (r < 0)
		return r;
	number = fetch_add(&count, 1) + 1;
	if (number == 1)
		remove_all_left();
	if (u->semaphore)
		snprintf(semaphore, sizeof semaphore, "(0x%" PRIx64 ")", u->semaphore);
	length = snprintf(command, sizeof command, "p:%s/p%" PRIu32 " /proc/self/fd/%d:0x%" PRIx64 "%s %s\n", group,
	                  number, u->file, u->offset, semaphore, fields);
	if (length >= (int)sizeof command)
		return -E2BIG;
	r = tell(command);
	if (r < 0)
		return r;
	u->name = number;
	snprintf(event, sizeof event, "%s/p%" PRIu32, group, number);
	if (tracefs_read(event, f)) {
		u->tracepoint = f->id;
		return 0;
	}
	fetch_undefine(u);
	u->name = 0;
	return -ENOENT;
}

void fetch_undefine(const struct uprobe *u)
{
	char group[GROUP_SIZE], command[GROUP_SIZE + 16];

	if (!u->name || group_of_self(group) < 0)
		return;
	snprintf(command, sizeof command, "-:%s/p%u\n", group, u->name);
	tell(command);
}
