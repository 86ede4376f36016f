/*
 * pidset.c - the recorder forgets processes that have ended, also if it has not seen their ends
 *
 * SPDX-License-Identifier: MIT
 */
#include "record/pidset.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

TEST(threads)
{
	struct pidset p = { 0 };

	CHECK("-", !pidset_has(&p, 7));
	pidset_add(&p, 7);
	pidset_add(&p, 7);
	CHECK("-", pidset_has(&p, 7) && !pidset_has(&p, 8) && !pidset_has(&p, 0));
	CHECK("-", !pidset_exit(&p, 7) && pidset_has(&p, 7));
	CHECK("-", pidset_exit(&p, 7) && !pidset_has(&p, 7) && p.used == 0);
	CHECK("-", !pidset_exit(&p, 7));
	pidset_free(&p);
}

/* Processes come and go, a hundred at a time: the set stays as small as those that live. */
TEST(many)
{
	struct pidset p = { 0 };
	bool right = true;

	for (uint32_t i = 1; i <= 100000; i++) {
		pidset_add(&p, i);
		if (i > 100)
			right &= pidset_exit(&p, i - 100);
		right &= pidset_has(&p, i) && (i <= 100 || !pidset_has(&p, i - 100));
		right &= i < 100 || pidset_has(&p, i - 99);
	}
	CHECK("-", right && p.used == 100);
	CHECK("-", p.slots <= 512);
	for (uint32_t i = 1; i <= 100000; i++)
		right &= pidset_has(&p, i) == (i > 99900);
	CHECK("-", right);
	pidset_free(&p);
}

/* After a gap, only the process table tells that a process has ended, and only at the second look. */
TEST(lost_ends)
{
	struct pidset p = { 0 };
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	CHECK("-", child > 0 && waitpid(child, NULL, 0) == child);
	pidset_add(&p, (uint32_t)getpid());
	pidset_add(&p, (uint32_t)child);
	pidset_gap(&p);
	CHECK("-", !pidset_exit(&p, (uint32_t)getpid()) && pidset_has(&p, (uint32_t)getpid()));
	pidset_sweep(&p);
	CHECK("-", pidset_has(&p, (uint32_t)child));
	pidset_sweep(&p);
	CHECK("-", !pidset_has(&p, (uint32_t)child) && pidset_has(&p, (uint32_t)getpid()) && p.used == 1);
	pidset_free(&p);
}

TEST_MAIN(TEST_ENTRY(threads), TEST_ENTRY(many), TEST_ENTRY(lost_ends))
