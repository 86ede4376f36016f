/*
 * trampolines.c - a shorter way from the places of XRay to the handler than that of XRay's runtime
 *
 * A place puts the number of its function into r10d, and calls a trampoline of XRay's runtime, which is a part of the
 * program: at an exit it jumps there. The trampoline keeps all registers and the flags, which takes a quarter of the
 * time of a recorded call. Nobody needs the flags there, and the handler here keeps most of the registers.
 *
 * The beginning of XRay's trampolines becomes a jump, as their runtime makes calls of the places.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trampolines.h"

#if defined __x86_64__ && defined __LP64__

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shadow.h"
#include "symtab.h"

/* Used by the assembly below, of which the compiler does not know. */
#define ASSEMBLY __attribute__((visibility("hidden"), used))
void xray_enter(uint32_t id, uintptr_t stack) ASSEMBLY;
void xray_leave(uint32_t id) ASSEMBLY;
/* The handler that XRay's runtime has now, and the one that is ours. */
extern const uintptr_t *xray_handler __attribute__((visibility("hidden")));
extern uintptr_t xray_ours __attribute__((visibility("hidden")));
/* The trampolines. */
void xray_entry(void) __attribute__((visibility("hidden")));
void xray_exit(void) __attribute__((visibility("hidden")));
void xray_tail(void) __attribute__((visibility("hidden")));

const uintptr_t *xray_handler __attribute__((used));
uintptr_t xray_ours __attribute__((used));

void xray_enter(uint32_t id, uintptr_t stack)
{
	if (posixtrace_enabled() && id < xray_functions)
		shadow_enter(xray_address[id], stack, true);
}

void xray_leave(uint32_t id)
{
	if (posixtrace_enabled() && id < xray_functions)
		shadow_leave(xray_address[id]);
}

/*
 * At an entry and at a tail call the registers of arguments are kept, at an exit those of results. The stack pointer is
 * a multiple of 16 at each call. Another handler gets the number and the type, as in <xray/xray_interface.h>.
 */
#define KEEP_ARGUMENTS                                                                                             \
	"	sub $0xc0, %rsp\n"                                                                                 \
	"	.cfi_adjust_cfa_offset 0xc0\n"                                                                     \
	"	mov %rax, 0x80(%rsp)\n	mov %rdi, 0x88(%rsp)\n	mov %rsi, 0x90(%rsp)\n	mov %rdx, 0x98(%rsp)\n"            \
	"	mov %rcx, 0xa0(%rsp)\n	mov %r8, 0xa8(%rsp)\n	mov %r9, 0xb0(%rsp)\n"                                       \
	"	mov %r11, 0xb8(%rsp)\n"                                                                            \
	"	movups %xmm0, (%rsp)\n	movups %xmm1, 0x10(%rsp)\n	movups %xmm2, 0x20(%rsp)\n"                        \
	"	movups %xmm3, 0x30(%rsp)\n	movups %xmm4, 0x40(%rsp)\n	movups %xmm5, 0x50(%rsp)\n"                \
	"	movups %xmm6, 0x60(%rsp)\n	movups %xmm7, 0x70(%rsp)\n"                                                \
	"	mov xray_handler(%rip), %rax\n	mov (%rax), %rax\n	mov %r10d, %edi\n	cmp xray_ours(%rip), %rax\n"
#define GIVE_ARGUMENTS                                                                                             \
	"	mov 0x80(%rsp), %rax\n	mov 0x88(%rsp), %rdi\n	mov 0x90(%rsp), %rsi\n	mov 0x98(%rsp), %rdx\n"            \
	"	mov 0xa0(%rsp), %rcx\n	mov 0xa8(%rsp), %r8\n	mov 0xb0(%rsp), %r9\n"                                       \
	"	mov 0xb8(%rsp), %r11\n"                                                                            \
	"	movups (%rsp), %xmm0\n	movups 0x10(%rsp), %xmm1\n	movups 0x20(%rsp), %xmm2\n"                        \
	"	movups 0x30(%rsp), %xmm3\n	movups 0x40(%rsp), %xmm4\n	movups 0x50(%rsp), %xmm5\n"                \
	"	movups 0x60(%rsp), %xmm6\n	movups 0x70(%rsp), %xmm7\n"                                                \
	"	add $0xc0, %rsp\n"                                                                                 \
	"	.cfi_adjust_cfa_offset -0xc0\n	ret\n"
#define CALL_OTHER(type, back)                                                                                     \
	"	test %rax, %rax\n	je " back "\n	mov $" type ", %esi\n	call *%rax\n	jmp " back "\n"
#define TRAMPOLINE(name, body)                                                                                     \
	"	.hidden " name "\n	.globl " name "\n	.type " name ", @function\n	.balign 16\n" name ":\n"           \
	"	.cfi_startproc\n" body "	.cfi_endproc\n	.size " name ", . - " name "\n"

/* clang-format off */
__asm__(
	"	.text\n"
	TRAMPOLINE("xray_entry",
		KEEP_ARGUMENTS
		"	jne 2f\n"
		/* Behind the return address into the function: where its own return address is. */
		"	lea 0xc8(%rsp), %rsi\n"
		"	call xray_enter\n"
		"1:\n"
		GIVE_ARGUMENTS
		"	.cfi_adjust_cfa_offset 0xc0\n"
		"2:\n"
		CALL_OTHER("0", "1b"))
	TRAMPOLINE("xray_tail",
		KEEP_ARGUMENTS
		"	jne 2f\n"
		"	call xray_leave\n"
		"1:\n"
		GIVE_ARGUMENTS
		"	.cfi_adjust_cfa_offset 0xc0\n"
		"2:\n"
		CALL_OTHER("2", "1b"))
	TRAMPOLINE("xray_exit",
		"	sub $0x38, %rsp\n"
		"	.cfi_adjust_cfa_offset 0x38\n"
		"	mov %rax, 0x20(%rsp)\n"
		"	mov %rdx, 0x28(%rsp)\n"
		"	movups %xmm0, (%rsp)\n"
		"	movups %xmm1, 0x10(%rsp)\n"
		"	mov xray_handler(%rip), %rax\n"
		"	mov (%rax), %rax\n"
		"	mov %r10d, %edi\n"
		"	cmp xray_ours(%rip), %rax\n"
		"	jne 2f\n"
		"	call xray_leave\n"
		"1:\n"
		"	mov 0x20(%rsp), %rax\n"
		"	mov 0x28(%rsp), %rdx\n"
		"	movups (%rsp), %xmm0\n"
		"	movups 0x10(%rsp), %xmm1\n"
		"	add $0x38, %rsp\n"
		"	.cfi_adjust_cfa_offset -0x38\n"
		"	ret\n"
		"	.cfi_adjust_cfa_offset 0x38\n"
		"2:\n"
		CALL_OTHER("1", "1b"))
);
/* clang-format on */

/* -- Installing -------------------------------------------------------------------------------------------- */

#define JUMP_SIZE 14

/* sub $8, %rsp: how XRay's trampolines begin. */
static const unsigned char beginning[4] = { 0x48, 0x83, 0xec, 0x08 };

/* Makes the beginning of a trampoline a jump that uses no register: jmp *0(%rip), and the address behind it. */
static void replace(uintptr_t trampoline, void (*by)(void))
{
	unsigned char code[JUMP_SIZE] = { 0xff, 0x25 };
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), to = (uintptr_t)by;
	uintptr_t begin = trampoline & -page, size = ((trampoline + JUMP_SIZE - 1) & -page) + page - begin;

	memcpy(code + 6, &to, sizeof to);
	if (mprotect((void *)begin, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		return;
	memcpy((void *)trampoline, code, sizeof code);
	mprotect((void *)begin, size, PROT_READ | PROT_EXEC);
}

void trampolines_install(uintptr_t handler)
{
	static const struct {
		const char *name;
		void (*by)(void);
	} all[] = { { "__xray_FunctionEntry", xray_entry }, { "__xray_FunctionTailExit", xray_tail },
		    { "__xray_FunctionExit", xray_exit } };
	uintptr_t found[sizeof all / sizeof *all];

	xray_handler = (const uintptr_t *)symtab_find("_ZN6__xray19XRayPatchedFunctionE");
	xray_ours = handler;
	/* The program may have made its calls before, or been told to, and threads may run them. */
	if (!xray_handler || *xray_handler || getenv("XRAY_OPTIONS"))
		return;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		found[i] = symtab_find(all[i].name);
		if (!found[i] || memcmp((const void *)found[i], beginning, sizeof beginning) != 0)
			return;
	}
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		replace(found[i], all[i].by);
}

#else

void trampolines_install(uintptr_t handler)
{
	(void)handler;
}

#endif
