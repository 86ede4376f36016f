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
	uint32_t uid;    /* effective, as the caller sees it */
	bool ended;      /* waits to be reaped */
};

struct ident ident_self(void);
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
/* May the caller look into the process, by the rule of ptrace() for reading? 0 or -EPERM. */
int proc_permit(uint32_t number);
/* Not the caller's: other users or process ids, or another file system, so perhaps other rights. */
bool proc_contained(uint32_t number);
/* A user id, as the process calls it. */
uint32_t proc_user(uint32_t number, uint32_t uid);

/* Clock ticks since boot, now: what start times are. */
uint64_t ident_ticks(void);
/* Waits until the next one begins. */
void ident_next_tick(void);

bool thread_alive(uint32_t tid);

#endif
