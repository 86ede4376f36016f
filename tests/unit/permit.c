/*
 * permit.c - src/control/permit.c: which process is meant, and may it be traced
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/permit.h"

#include <limits.h>

#include "test.h"

TEST(self)
{
	CHECK_EQ("-", permit(0), 0);
	CHECK_EQ("-", permit(getpid()), 0);
}

TEST(nobody)
{
	CHECK_EQ("-", permit(-1), ESRCH);
	CHECK_EQ("-", permit(-getpid()), ESRCH); /* no process groups */
	CHECK_EQ("-", permit(INT_MIN), ESRCH);
	CHECK_EQ("-", permit(INT_MAX), ESRCH);
}

TEST(another)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		pause();
		_exit(0);
	}
	CHECK_EQ("-", permit(child), ENOTSUP);
	kill(child, SIGKILL);
	MUST(waitpid(child, &status, 0) == child);
	CHECK_EQ("-", permit(child), ESRCH);
}

TEST(somebody_elses)
{
	if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
		SKIP("root cannot become somebody else here");
	if (kill(1, 0) == 0 || errno != EPERM)
		SKIP("process 1 may be sent signals");
	CHECK_EQ("-", permit(1), EPERM);
}

TEST_MAIN(TEST_ENTRY(self), TEST_ENTRY(nobody), TEST_ENTRY(another), TEST_ENTRY(somebody_elses))
