/*
 * policy.c - what full policies are called
 *
 * SPDX-License-Identifier: MIT
 */
#include "event/policy.h"

#include <trace.h>

const char *policy_name(int policy)
{
	switch (policy) {
	case POSIX_TRACE_LOOP:
		return "LOOP";
	case POSIX_TRACE_UNTIL_FULL:
		return "UNTIL_FULL";
	case POSIX_TRACE_FLUSH:
		return "FLUSH";
	case POSIX_TRACE_APPEND:
		return "APPEND";
	default:
		return "?";
	}
}
