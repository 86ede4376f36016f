/*
 * xray.c - functions of programs built with clang -fxray-instrument
 *
 * Such a program has places of no operations in its functions. They become calls when the program is recorded from its
 * start; in a program that nobody records they stay as they are. The runtime of XRay is a part of the program, and its
 * functions need not be exported.
 *
 * SPDX-License-Identifier: MIT
 */
#include "shadow.h"

#include <sys/mman.h>

#include "names.h"
#include "symtab.h"
#include "trampolines.h"

#if defined __x86_64__ || defined __aarch64__ || defined __arm__

/* As in <xray/xray_interface.h>. */
enum { ENTRY, EXIT, TAIL, ENTRY_WITH_ARGUMENT };

uintptr_t *xray_address; /* of each function, by its number */
size_t xray_functions;
static uintptr_t above; /* how far the caller's stack pointer is above the handler's */

/*
 * Finds where the stack pointer was when the function was entered. The place of no operations is its first instruction,
 * and its call has left a return address just below. The address of the function itself may be in a saved register.
 */
static uintptr_t find_stack(uintptr_t function, uintptr_t from)
{
	for (unsigned i = 0; i < 64; i++) {
		uintptr_t word = ((const uintptr_t *)from)[i];

		if (word - function - 1 < 40)
			return from + (i + 1) * sizeof word;
	}
	return from;
}

static void handle(int32_t id, int type)
{
	uintptr_t here = (uintptr_t)__builtin_dwarf_cfa(), distance;

	if (!posixtrace_enabled() || (uint32_t)id >= xray_functions)
		return;
	if (type == EXIT || type == TAIL) {
		shadow_leave(xray_address[id]);
	} else if (type == ENTRY) {
		distance = __atomic_load_n(&above, __ATOMIC_RELAXED);
		if (!distance) {
			distance = find_stack(xray_address[id], here) - here;
			__atomic_store_n(&above, distance, __ATOMIC_RELAXED);
		}
		shadow_enter(xray_address[id], here + distance, true);
	} else if (type == ENTRY_WITH_ARGUMENT) {
		shadow_enter(xray_address[id], find_stack(xray_address[id], here), true);
	}
}

/* Makes calls of the places. Before main(), and after the C library has been initialised. */
static __attribute__((constructor(103))) void patch(void)
{
	void (*init)(void);
	int (*set_handler)(void (*)(int32_t, int)), (*patch_all)(void), (*patch_function)(int32_t);
	size_t (*most)(void);
	uintptr_t (*address_of)(int32_t);

	if (!shadow_may_be_ready() || !symtab_program_has("xray_instr_map"))
		return;
	init = (void (*)(void))symtab_find("__xray_init");
	set_handler = (int (*)(void (*)(int32_t, int)))symtab_find("__xray_set_handler");
	patch_all = (int (*)(void))symtab_find("__xray_patch");
	patch_function = (int (*)(int32_t))symtab_find("__xray_patch_function");
	most = (size_t (*)(void))symtab_find("__xray_max_function_id");
	address_of = (uintptr_t (*)(int32_t))symtab_find("__xray_function_address");
	if (!init || !set_handler || !patch_all || !patch_function || !most || !address_of)
		return;
	init();
	xray_functions = most() + 1;
	xray_address = mmap(NULL, xray_functions * sizeof *xray_address, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (xray_address == MAP_FAILED) {
		xray_functions = 0;
		return;
	}
	for (size_t i = 1; i < xray_functions; i++)
		xray_address[i] = address_of((int32_t)i);
	trampolines_install((uintptr_t)handle);
	set_handler(handle);
	if (!settings.only || settings.in) {
		patch_all();
		return;
	}
	/* Functions that are not wanted stay without a call. */
	for (size_t i = 1; i < xray_functions; i++)
		if (names_verdict(xray_address[i]) & NAME_ONLY)
			patch_function((int32_t)i);
}

#endif
