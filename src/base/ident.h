/*
 * ident.h - which process or thread, and does it still live
 *
 * A process id is given out again after its process has ended, and means
 * different processes in different pid namespaces; together with start time and
 * namespace it is one process, before and after exec.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_IDENT_H
#define BASE_IDENT_H

#include <stdbool.h>
#include <stdint.h>

struct ident {
	uint32_t pid;   /* as the process itself sees it */
	uint64_t start; /* clock ticks since boot; 0 where /proc does not tell */
	uint32_t space; /* of process ids: the inode number of its pid namespace; 0 where /proc does not tell */
};

/* What /proc tells about a process. */
struct proc {
	uint32_t number; /* as /proc calls it, which is how the caller sees it */
	struct ident ident;
	uint32_t parent; /* as /proc calls it; 0: none that can be seen */
	uint32_t uid;    /* effective user and group, as the caller sees them */
	uint32_t gid;
	bool ended;      /* waits to be reaped */
};

/* 0, or a negative error number that may pass. Without /proc: start and space 0. */
int ident_self(struct ident *id);
/* A number that differs in each program image, also after exec; equal in a forked child. Not 0. */
uint64_t ident_image(void);
static inline bool ident_same(struct ident a, struct ident b)
{
	return a.pid == b.pid && a.start == b.start && a.space == b.space;
}

/* -ESRCH: there is no such process, or it is a thread of one. number 0: the caller. */
int proc_read(uint32_t number, struct proc *proc);
/* Parent and start time only. */
int proc_parent(uint32_t number, uint32_t *parent, uint64_t *start);
/* The caller, as /proc calls it; 0 where it does not tell. */
uint32_t proc_number(void);
/* Calls f for each mapping of the process, a line as in /proc/PID/maps. 0 or a negative error number. */
int proc_each_map(uint32_t number, void (*f)(const char *line, void *arg), void *arg);
/* May the caller look into the process, by the rule of ptrace() for reading? 0, -EPERM, or what is in the way. */
int proc_permit(uint32_t number);
/* Not the caller's: other users or process ids, or another file system, so perhaps other rights. */
bool proc_contained(uint32_t number);
/* 1: the process has another user namespace than the caller. Negative: that cannot be told now. */
int proc_other_users(uint32_t number);
/* The process has ended: it has no root any more. */
bool proc_gone(uint32_t number);
/* The process sees no /proc, so that it does not know when it began. */
bool proc_blind(uint32_t number);
/* A user id of the caller's namespace, as that one is called outside of it. */
uint32_t proc_user_outside(uint32_t uid);

/* Clock ticks since boot, now: what start times are. */
uint64_t ident_ticks(void);
/* Waits until the next one begins. */
void ident_next_tick(void);

bool thread_alive(uint32_t tid);
/* Sure also where a process has ended and its parent does not wait for it; slow. */
bool thread_lives(uint32_t tid);

#endif
