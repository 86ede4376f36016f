/*
 * callnames.h - the names of system calls by number; callnames.py makes the tables at build time
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KERNEL_CALLNAMES_H
#define KERNEL_CALLNAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of this command's own kind of programs, and of 32-bit programs on a 64-bit kernel. */
extern const unsigned callnames_own_count, callnames_compat_count;
extern const char *const callnames_own[], *const callnames_compat[];

/* Returns the name of a call, or null. */
static inline const char *callnames_find(uint64_t number, bool is_compat)
{
	if (is_compat)
		return number < callnames_compat_count ? callnames_compat[number] : NULL;
	return number < callnames_own_count ? callnames_own[number] : NULL;
}

#endif
