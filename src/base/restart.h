/*
 * restart.h - a stretch of instructions that a signal handler never returns into
 *
 * Linux calls it a restartable sequence. The thread says which stretch it is
 * about to enter by one store. If it is interrupted there (by a signal, or
 * because another thread gets the processor) the kernel moves it to the
 * stretch's way out before anything else runs: so a handler returns there, and
 * so does the child of a handler that forks, never into the middle.
 *
 * The C library tells the kernel where each thread's word for it lies; glibc
 * does from 2.35 on. Without it, in musl, or where the kernel refuses, there
 * are none: a handler that forks would return into the middle of the stretch.
 *
 * What somebody who uses a stretch has to see to:
 *
 *  - It is one piece of assembler; no call, no system call.
 *  - The registers are not what they were when the way out is reached.
 *  - Nothing of it is ever unloaded (H8): the word goes on pointing to the
 *    stretch's description until the kernel clears it, at the next interruption.
 *  - A debugger that steps by instructions interrupts at each: the way out must
 *    not lead back into the stretch.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_RESTART_H
#define BASE_RESTART_H

#include <stddef.h>
#include <stdint.h>

/* The sanitizers must see what is written, and assembler hides it; test points cannot be in it. */
#if defined __linux__ && defined __x86_64__ && defined __LP64__ && \
	!defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ && !defined POSIXTRACE_TEST_POINTS
# define RESTART 1
# ifdef __has_feature
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#   undef RESTART
#   define RESTART 0
#  endif
# endif
#else
# define RESTART 0
#endif

#if RESTART

/* Weak: the C library may have none. By another name: <sys/rseq.h> may be there or not. */
extern const ptrdiff_t restart_libc_offset __asm__("__rseq_offset") __attribute__((weak, visibility("default")));
extern const unsigned restart_libc_size __asm__("__rseq_size") __attribute__((weak, visibility("default")));

/* In the area that is shared with the kernel: the word that it looks at. */
#define RESTART_WORD 8

/* Where each thread's word is, from its thread pointer. 0: nobody looks at any, so a stretch must not be used. */
static inline ptrdiff_t restart_find(void)
{
	if (&restart_libc_offset && &restart_libc_size && restart_libc_size >= RESTART_WORD + sizeof(uint64_t))
		return restart_libc_offset + RESTART_WORD;
	return 0;
}

/*
 * The stretch, in an asm goto: label 1 is its begin, 2 its end, 3 the way out.
 * Spoils a and b. offset is a memory operand, with what restart_find() has
 * returned; out is a label of the asm goto, to which the way out leads.
 *
 * The way out stands in the function, where a handler that looks at the stack
 * knows its way. The number in front of it is the one that the C library has
 * agreed upon with the kernel; an instruction is made of it, for those who
 * disassemble.
 */
#define RESTART_BEGIN(offset, a, b)                                    \
	".pushsection .data.rel.ro.posixtrace_restart, \"aw\"\n\t"     \
	".balign 32\n"                                                 \
	"4:\n\t"                                                       \
	".long 0, 0\n\t"                                               \
	".quad 1f, 2f - 1f, 3f\n\t"                                    \
	".popsection\n\t"                                              \
	"movq " offset ", " a "\n\t"                                   \
	"leaq 4b(%%rip), " b "\n\t"                                    \
	"movq " b ", %%fs:(" a ")\n"                                   \
	"1:\n\t"
#define RESTART_END(out)                                               \
	"\n2:\n\t"                                                     \
	"jmp 2f\n\t"                                                   \
	".byte 0x0f, 0xb9, 0x3d\n\t"                                   \
	".long 0x53053053\n"                                           \
	"3:\n\t"                                                       \
	"jmp " out "\n"                                                \
	"2:\n\t"

#endif

#endif
