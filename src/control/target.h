/*
 * target.h - finds and opens the files of the process that a stream traces
 *
 * These are the process's page and registry. The controller makes them if the
 * process has not made them yet. It finds them as the process itself would: by
 * the process's /dev/shm, user id and process id.
 *
 * A controller may trace a process if the kernel lets it read the process
 * (ptrace(2), PTRACE_MODE_READ): both have the same user, and the process is not
 * protected as set-user-ID programs are; or the controller has CAP_SYS_PTRACE.
 * The files belong to the traced process's user, so by their means the user can
 * do nothing to another user's process that was impossible before.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_TARGET_H
#define CONTROL_TARGET_H

#include <sys/types.h>

#include "control/later.h"
#include "record/self.h"

struct target {
	struct self *self; /* null: another process is traced */
	uint32_t number;   /* process id in /proc; 0: the caller */
	struct ident ident;
	struct shm_dir shm_dir;
	struct procpage *page;
	struct registry *names;
	/* Only if another process is traced: */
	struct hold page_hold;
	struct registry registry;
	bool for_user; /* the files are in the directory of a user that the process may not be */

	struct later later;
};

/* A user that descendants of the process become, or the process itself. */
struct target_user {
	uint32_t uid, gid;
	const struct registry *names; /* names that the descendants may know already */
};

/* Opens the files of a process; pid 0 is the caller. Returns 0, ESRCH, EPERM, or the error of opening the files. */
int target_open(pid_t pid, struct target *t);
/*
 * Opens files of the process in the directory of another user. Descendants that become this user find them there
 * (shm/family.h), and so does the process itself if it becomes this user. user null: does the same as target_open().
 */
int target_open_for(pid_t pid, const struct target_user *user, struct target *t);
/* Releases the process's files, and removes each file that no process holds any more. The mappings stay. */
void target_leave(struct target *t);
/* Releases the process's files like target_leave(), and unmaps them. */
void target_close(struct target *t);
/*
 * Opens the directory of the process's files. Returns a descriptor or a negative error number. The caller has set the
 * owner's fs credentials (host/fs_credentials.h), as for every access to the directory.
 */
int target_directory(const struct target *t);
/* Returns the id of a name that is not a system event's. */
trace_event_id_t target_event_id(struct target *t, const char *name);
/* Returns the number of user event names, including names that the process has opened as another user. */
uint32_t target_names(struct target *t);
/* Copies the name of a user event. Returns false if the event has no name. */
bool target_name(struct target *t, trace_event_id_t id, char name[REGISTRY_NAME_BYTES]);
/* Copies the declared layout of a user event, as registry_layout() does. */
size_t target_layout(struct target *t, trace_event_id_t id, char layout[LAYOUT_TEXT_SIZE]);
/* Sets the process's ancestor tag if it has a stream to pass on to its children; otherwise clears the tag. */
void target_inherits(const struct target *t, bool inherits);

#endif
