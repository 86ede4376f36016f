/*
 * ident.h - identity and life of processes and threads
 *
 * A process id is given out again after its process has ended, and means different processes in different pid
 * namespaces. Together with start time and namespace it identifies one process, before and after exec.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HOST_IDENT_H
#define HOST_IDENT_H

#include <stdbool.h>
#include <stdint.h>

struct ident {
	uint32_t pid;   /* as the process itself sees it */
	uint64_t start; /* clock ticks since boot; 0 if /proc does not show it */
	uint32_t pidns; /* inode number of its pid namespace; 0 if /proc does not show it */
};

/* What /proc shows of a process. */
struct proc {
	uint32_t number; /* in /proc, as seen by the caller */
	struct ident ident;
	uint32_t parent; /* in /proc; 0: none is visible */
	uint32_t uid;    /* effective user and group, as the caller sees them */
	uint32_t gid;
	bool ended;      /* waits to be reaped */
};

/*
 * Gets the caller's identity. Returns 0, or a negative error number that may go away. Without /proc start and pidns
 * are 0.
 */
int ident_self(struct ident *id);
/* Returns a number that differs in each program image, also after exec. A forked child has the same. Never 0. */
uint64_t ident_image(void);
static inline bool ident_same(struct ident a, struct ident b)
{
	return a.pid == b.pid && a.start == b.start && a.pidns == b.pidns;
}

/* Returns the path /proc/NUMBER followed by `what`, which begins with a slash. number 0: the caller. */
struct proc_path {
	char text[64];
};
struct proc_path proc_path(uint32_t number, const char *what);
/*
 * Reads what /proc shows of a process. Returns -ESRCH if number is no process, or a thread of one. number 0: the
 * caller.
 */
int proc_read(uint32_t number, struct proc *proc);
/* Reads parent and start time only. */
int proc_parent(uint32_t number, uint32_t *parent, uint64_t *start);
/* Returns the caller's number in /proc; 0 if it is not shown. */
uint32_t proc_number(void);
/*
 * Opens the memory of a process for reading and writing. Returns a negative error number without the right to trace
 * the process with ptrace().
 */
int proc_memory(uint32_t number);
/* Calls f for each mapping of the process, with a line as in /proc/PID/maps. Returns 0 or a negative error number. */
int proc_each_map(uint32_t number, void (*f)(const char *line, void *arg), void *arg);
/* Returns 0 if ptrace()'s rule for reading lets the caller look into the process, -EPERM if not, or another error. */
int proc_permit(uint32_t number);
/* Returns whether user ids, process ids or file system are not the caller's, so that rights may differ. */
bool proc_contained(uint32_t number);
/* Returns 1 if the process has another user namespace than the caller, 0 if not, negative if it cannot be told now. */
int proc_other_users(uint32_t number);
/* Returns whether the process has ended, and so has no root any more. */
bool proc_gone(uint32_t number);
/* Returns whether the process sees no /proc, and so does not know its start time. */
bool proc_blind(uint32_t number);
/* Returns the id of a user outside of the caller's user namespace. */
uint32_t proc_user_outside(uint32_t uid);

/* Returns the time in clock ticks since boot, the unit of start times. */
uint64_t ident_ticks(void);
/* Waits until the next clock tick begins. */
void ident_next_tick(void);

bool thread_alive(uint32_t tid);
/* Like thread_alive(), but false also for a process that has ended and was not waited for by its parent; slow. */
bool thread_lives(uint32_t tid);
/* Returns whether /proc shows the thread as stopped by a signal or a debugger. */
bool thread_stopped(uint32_t tid);

#endif
