/*
 * target.h - the process that a stream traces, as its controller has it
 *
 * Its page and its registry, made if the process has not come to that itself,
 * and found through its own eyes: its /dev/shm, its user id, its process id.
 *
 * Who may trace whom is what the kernel says about looking into a process
 * (ptrace(2), PTRACE_MODE_READ): the same user, if the process does not hide
 * itself as set-user-ID programs do, or one with CAP_SYS_PTRACE. The files belong to
 * the traced process's user; so what it could do to another's process by them, it
 * could do anyway.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_TARGET_H
#define CONTROL_TARGET_H

#include <sys/types.h>

#include "record/self.h"

struct target {
	struct self *self; /* null: another process */
	uint32_t number;   /* as /proc calls it; 0: the caller */
	struct ident ident;
	struct place place;
	struct procpage *page;
	struct registry *names;
	/* Of another process: */
	struct hold page_hold;
	struct registry registry;
};

/* pid 0: the caller. 0, or ESRCH, EPERM, or what is in the way of its files. */
int target_open(pid_t pid, struct target *t);
/* Its files are not used any more by this controller, and removed if that was the last one. Its memory stays. */
void target_leave(struct target *t);
/* The memory too. */
void target_close(struct target *t);
/* The directory of its files, or a negative error number. With the owner's guise (base/guise.h), as whatever is done there. */
int target_directory(const struct target *t);
/* The id of a name that is no system event's. */
trace_event_id_t target_event_id(struct target *t, const char *name);
/* There is an inherited stream for it, or there is none any more. */
void target_inherits(const struct target *t, bool inherits);

#endif
