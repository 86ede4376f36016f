/*
 * pidset.h - the processes that are recorded: added when they are born, and left out when they have ended
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef PIDSET_H
#define PIDSET_H

#include <stdbool.h>
#include <stdint.h>

struct pidset {
	struct pidset_entry {
		uint32_t pid;     /* 0: free */
		uint32_t threads; /* that are known to live */
		bool unsure;      /* records were lost, so there may be more or fewer threads */
		bool gone;        /* had ended at the last sweep */
	} *entry;
	unsigned slots, used;
};

/* Returns whether the process is recorded. */
bool pidset_has(const struct pidset *p, uint32_t pid);
/* Adds a process, or a thread of one that is there. Ends the program if there is no memory. */
void pidset_add(struct pidset *p, uint32_t pid);
/* Takes the end of a thread. Returns whether the process has ended, and is not in the set any more. */
bool pidset_exit(struct pidset *p, uint32_t pid);
/* Records are missing: births and ends may be among them. */
void pidset_gap(struct pidset *p);
/*
 * Removes the processes whose ends were lost: those that do not exist now, and did not at the sweep before. So the
 * records of their last moments have been read.
 */
void pidset_sweep(struct pidset *p);
void pidset_free(struct pidset *p);

#endif
