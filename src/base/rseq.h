/*
 * rseq.h - restartable sequences: a signal handler never returns into the middle of one
 *
 * A thread announces a restartable sequence of instructions to the kernel by one store. If the thread is interrupted
 * inside, by a signal or because another thread gets the processor, the kernel moves it to the sequence's abort handler
 * before anything else runs. So a handler, and the child of a handler that forks, return to the abort handler and never
 * into the middle.
 *
 * The C library tells the kernel where each thread's word for the announcement is; glibc does so since 2.35. With musl,
 * or if the kernel refuses, there are no restartable sequences.
 *
 * Rules for a restartable sequence:
 *
 *  - It is one piece of assembler without calls and system calls.
 *  - Registers have changed when the abort handler is reached.
 *  - Its code is never unloaded (H8): the word points to the sequence's description until the kernel clears it, at the
 *    next interruption.
 *  - A debugger that steps by instructions interrupts at each of them. So the abort handler must not lead back into the
 *    sequence.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef BASE_RSEQ_H
#define BASE_RSEQ_H

#include <stddef.h>
#include <stdint.h>

/* The sanitizers must see what is written, and assembler hides it; test points cannot be in it. */
#if defined __linux__ && defined __x86_64__ && defined __LP64__ && \
	!defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ && !defined POSIXTRACE_TEST_POINTS
# define HAVE_RSEQ 1
# ifdef __has_feature
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#   undef HAVE_RSEQ
#   define HAVE_RSEQ 0
#  endif
# endif
#else
# define HAVE_RSEQ 0
#endif

#if HAVE_RSEQ

/* Weak: the C library may have none. By another name: <sys/rseq.h> may be there or not. */
extern const ptrdiff_t rseq_libc_offset __asm__("__rseq_offset") __attribute__((weak, visibility("default")));
extern const unsigned rseq_libc_size __asm__("__rseq_size") __attribute__((weak, visibility("default")));

/* Offset of the word that the kernel reads, in the area shared with the kernel. */
#define RSEQ_WORD 8

/* Returns the offset of each thread's word from its thread pointer, or 0 if no restartable sequence must be used. */
static inline ptrdiff_t rseq_find(void)
{
	if (&rseq_libc_offset && &rseq_libc_size && rseq_libc_size >= RSEQ_WORD + sizeof(uint64_t))
		return rseq_libc_offset + RSEQ_WORD;
	return 0;
}

/*
 * The beginning and the end of a restartable sequence in an asm goto: label 1 is its begin, 2 its end, 3 the abort
 * handler. Clobbers a and b. offset is a memory operand with the result of rseq_find(). out is a label of the asm goto,
 * to which the abort handler jumps.
 *
 * The abort handler is inside the function, so that a handler can unwind the stack. The number before it is the
 * signature that the C library has registered with the kernel; it is part of an instruction, for disassemblers.
 */
#define RSEQ_BEGIN(offset, a, b)                                    \
	".pushsection .data.rel.ro.posixtrace_rseq, \"aw\"\n\t"     \
	".balign 32\n"                                                 \
	"4:\n\t"                                                       \
	".long 0, 0\n\t"                                               \
	".quad 1f, 2f - 1f, 3f\n\t"                                    \
	".popsection\n\t"                                              \
	"movq " offset ", " a "\n\t"                                   \
	"leaq 4b(%%rip), " b "\n\t"                                    \
	"movq " b ", %%fs:(" a ")\n"                                   \
	"1:\n\t"
#define RSEQ_END(out)                                               \
	"\n2:\n\t"                                                     \
	"jmp 2f\n\t"                                                   \
	".byte 0x0f, 0xb9, 0x3d\n\t"                                   \
	".long 0x53053053\n"                                           \
	"3:\n\t"                                                       \
	"jmp " out "\n"                                                \
	"2:\n\t"

#else

static inline ptrdiff_t rseq_find(void)
{
	return 0;
}

#endif

#endif
