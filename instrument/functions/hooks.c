/*
 * hooks.c - what a program built with -finstrument-functions calls in each function
 *
 * The hooks get the address of the function. It is the address of the event, which therefore has no data. The return
 * address would name the wrong function where one is part of another: inlined.
 *
 * SPDX-License-Identifier: MIT
 */
#include "shadow.h"

/* Called by the program. */
EXPORT void __cyg_profile_func_enter(void *function, void *site);
EXPORT void __cyg_profile_func_exit(void *function, void *site);

/* The stack pointer of the caller, at its call. */
#define STACK() ((uintptr_t)__builtin_dwarf_cfa())

void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	if (unlikely(posixtrace_enabled()))
		shadow_enter((uintptr_t)function, STACK(), false);
}

void __cyg_profile_func_exit(void *function, void *site)
{
	(void)site;
	if (unlikely(posixtrace_enabled()))
		shadow_leave((uintptr_t)function);
}
