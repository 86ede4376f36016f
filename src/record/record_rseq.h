/*
 * record_rseq.h - writes a record in one restartable sequence, which no signal handler returns into
 *
 * Does steps 4 to 7 of a trace point (tracepoint.c), like writer_record() (writer.h). But a thread that is interrupted
 * does not resume in the middle of them, and neither does the child of a handler that forks (H2). The functions return
 * false if the thread was interrupted, a writer is wiped, or its chunk is no longer ours. Any part of the work may have
 * been done then; writer_mend() finds out.
 *
 * writer_mend() compares two words. The writer's progress changes while the thread is the owner and busy, right before
 * the chunk's progress does, and the writer's `at` changes after the end of the sequence. So if the writer's progress
 * and `at` do not agree, no other thread has changed the chunk since.
 *
 * The word that announces the sequence is not cleared at the end. That would cost a third of a nanosecond, and the
 * kernel does it when it looks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_RSEQ_H
#define RECORD_RSEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>


#include "base/rseq.h"
#include "model/record.h"
#include "record/acquire.h"
#include "record/put.h"
#include "record/self.h"
#include "shm/chunk.h"

enum together_outcome {
	TOGETHER_WRITTEN,
	TOGETHER_AWAITED, /* written, and a reader of one of the streams sleeps */
	TOGETHER_BROKEN,  /* interrupted: *written says which are written */
};

/* The room that writer_write_text() needs behind a record, because it writes whole blocks. */
#define TEXT_BEHIND 32

#if HAVE_RSEQ

/* Where each thread's word of base/rseq.h is. Not in memory that is wiped, because a child may be about to use it. */
extern ptrdiff_t rseq_offset __attribute__((visibility("hidden")));
/* Whether AVX2 may be used. */
extern bool rseq_wide __attribute__((visibility("hidden")));

/* Sets both. To be called before a thread's first event; safe in handlers. */
void rseq_prepare(void);

/* -- A record ------------------------------------------------------------------------- */

/*
 * copy() of base/copy.h: copies the data from (data) to the end of the record's head, which is at rcx. Changes rax,
 * rdx, xmm0 to xmm3. Uses the labels 5 to 9, and leads to label 9 of its user.
 */
#define STEP_COPY					\
	"cmpq $32, %[length]\n\t"			\
	"ja 6f\n\t"					\
	"cmpl $16, %k[length]\n\t"			\
	"jae 5f\n\t"					\
	"cmpl $8, %k[length]\n\t"			\
	"jae 7f\n\t"					\
	"cmpl $4, %k[length]\n\t"			\
	"jae 8f\n\t"					\
	"testl %k[length], %k[length]\n\t"		\
	"jz 9f\n\t"					\
	"movzbl (%[data]), %%edx\n\t"			\
	"movb %%dl, 24(%%rcx)\n\t"			\
	"movzbl -1(%[data], %[length]), %%edx\n\t"	\
	"movb %%dl, 23(%%rcx, %[length])\n\t"		\
	"testb $2, %b[length]\n\t"			\
	"jz 9f\n\t"					\
	"movzbl 1(%[data]), %%edx\n\t"			\
	"movb %%dl, 25(%%rcx)\n\t"			\
	"jmp 9f\n"					\
	"8:\n\t"					\
	"movl (%[data]), %%edx\n\t"			\
	"movl %%edx, 24(%%rcx)\n\t"			\
	"movl -4(%[data], %[length]), %%edx\n\t"	\
	"movl %%edx, 20(%%rcx, %[length])\n\t"		\
	"jmp 9f\n"					\
	"7:\n\t"					\
	"movq (%[data]), %%rdx\n\t"			\
	"movq %%rdx, 24(%%rcx)\n\t"			\
	"movq -8(%[data], %[length]), %%rdx\n\t"	\
	"movq %%rdx, 16(%%rcx, %[length])\n\t"		\
	"jmp 9f\n"					\
	"5:\n\t"					\
	"movups (%[data]), %%xmm0\n\t"			\
	"movups %%xmm0, 24(%%rcx)\n\t"			\
	"movups -16(%[data], %[length]), %%xmm0\n\t"	\
	"movups %%xmm0, 8(%%rcx, %[length])\n\t"	\
	"jmp 9f\n"					\
	"6:\n\t"					\
	"cmpq $128, %[length]\n\t"			\
	"ja 6f\n\t"					\
	"leaq -32(%[length]), %%rdx\n\t"		\
	"xorl %%eax, %%eax\n\t"				\
	"jmp 8f\n"					\
	"7:\n\t"					\
	"movups (%[data], %%rax), %%xmm0\n\t"		\
	"movups 16(%[data], %%rax), %%xmm1\n\t"		\
	"movups %%xmm0, 24(%%rcx, %%rax)\n\t"		\
	"movups %%xmm1, 40(%%rcx, %%rax)\n\t"		\
	"addq $32, %%rax\n"				\
	"8:\n\t"					\
	"cmpq %%rdx, %%rax\n\t"				\
	"jb 7b\n\t"					\
	"movups (%[data], %%rdx), %%xmm0\n\t"		\
	"movups 16(%[data], %%rdx), %%xmm1\n\t"		\
	"movups %%xmm0, 24(%%rcx, %%rdx)\n\t"		\
	"movups %%xmm1, 40(%%rcx, %%rdx)\n\t"		\
	"jmp 9f\n"					\
	"6:\n\t"					\
	"cmpb $0, %[wide]\n\t"				\
	"je 6f\n\t"					\
	"leaq -128(%[length]), %%rdx\n\t"		\
	"xorl %%eax, %%eax\n\t"				\
	".p2align 5\n"					\
	"7:\n\t"					\
	"vmovdqu (%[data], %%rax), %%ymm0\n\t"		\
	"vmovdqu 32(%[data], %%rax), %%ymm1\n\t"	\
	"vmovdqu 64(%[data], %%rax), %%ymm2\n\t"	\
	"vmovdqu 96(%[data], %%rax), %%ymm3\n\t"	\
	"vmovdqu %%ymm0, 24(%%rcx, %%rax)\n\t"		\
	"vmovdqu %%ymm1, 56(%%rcx, %%rax)\n\t"		\
	"vmovdqu %%ymm2, 88(%%rcx, %%rax)\n\t"		\
	"vmovdqu %%ymm3, 120(%%rcx, %%rax)\n\t"		\
	"subq $-128, %%rax\n\t"				\
	"cmpq %%rdx, %%rax\n\t"				\
	"jb 7b\n\t"					\
	"vmovdqu (%[data], %%rdx), %%ymm0\n\t"		\
	"vmovdqu 32(%[data], %%rdx), %%ymm1\n\t"	\
	"vmovdqu 64(%[data], %%rdx), %%ymm2\n\t"	\
	"vmovdqu 96(%[data], %%rdx), %%ymm3\n\t"	\
	"vmovdqu %%ymm0, 24(%%rcx, %%rdx)\n\t"		\
	"vmovdqu %%ymm1, 56(%%rcx, %%rdx)\n\t"		\
	"vmovdqu %%ymm2, 88(%%rcx, %%rdx)\n\t"		\
	"vmovdqu %%ymm3, 120(%%rcx, %%rdx)\n\t"		\
	"vzeroupper\n\t"				\
	"jmp 9f\n"					\
	"6:\n\t"					\
	"leaq -64(%[length]), %%rdx\n\t"		\
	"xorl %%eax, %%eax\n\t"				\
	".p2align 6\n"					\
	"7:\n\t"					\
	"movups (%[data], %%rax), %%xmm0\n\t"		\
	"movups 16(%[data], %%rax), %%xmm1\n\t"		\
	"movups %%xmm0, 24(%%rcx, %%rax)\n\t"		\
	"movups %%xmm1, 40(%%rcx, %%rax)\n\t"		\
	"movups 32(%[data], %%rax), %%xmm0\n\t"		\
	"movups 48(%[data], %%rax), %%xmm1\n\t"		\
	"movups %%xmm0, 56(%%rcx, %%rax)\n\t"		\
	"movups %%xmm1, 72(%%rcx, %%rax)\n\t"		\
	"addq $64, %%rax\n\t"				\
	"cmpq %%rdx, %%rax\n\t"				\
	"jb 7b\n\t"					\
	"movups (%[data], %%rdx), %%xmm0\n\t"		\
	"movups 16(%[data], %%rdx), %%xmm1\n\t"		\
	"movups %%xmm0, 24(%%rcx, %%rdx)\n\t"		\
	"movups %%xmm1, 40(%%rcx, %%rdx)\n\t"		\
	"movups 32(%[data], %%rdx), %%xmm0\n\t"		\
	"movups 48(%[data], %%rdx), %%xmm1\n\t"		\
	"movups %%xmm0, 56(%%rcx, %%rdx)\n\t"		\
	"movups %%xmm1, 72(%%rcx, %%rdx)\n"

/*
 * The steps of a record. Each is followed by the same step in C, as in writer_write_plain() (writer.h). W is the
 * register with the writer; rcx is the record's place. A step may change rax and rdx.
 */
#define RECORD_OFFSETS                                                                                \
	[at] "i"(offsetof(struct writer, at)), [seat] "i"(offsetof(struct writer, seat)),                              \
		[number] "i"(offsetof(struct writer, chunk_number)), [chunk] "i"(offsetof(struct writer, chunk)),      \
		[owner] "i"(offsetof(struct writer, owner)), [progress] "i"(offsetof(struct writer, progress)),        \
		[busy] "i"(offsetof(struct seat, busy)), [chunk_owner] "i"(offsetof(struct chunk, owner)),             \
		[last_ticks] "i"(offsetof(struct chunk, last_ticks)),                                                  \
		[chunk_progress] "i"(offsetof(struct chunk, progress))

/* at = writer->at;  if (!at) broken; */
#define STEP_PLACE(W)                     \
	"movq %c[at](" W "), %%rcx\n\t"  \
	"testq %%rcx, %%rcx\n\t"         \
	"jz %l[broken]\n\t"

/* rdx = writer->seat;  eax = writer->chunk_number; */
#define STEP_SEAT(W)                                \
	"movq %c[seat](" W "), %%rdx\n\t"          \
	"movl %c[number](" W "), %%eax\n\t"

/* rdx->busy = eax;  if (chunk->owner != writer->owner) broken;    PAIR(busy): each store is a release */
#define STEP_BUSY(W)                                \
	"movl %%eax, %c[busy](%%rdx)\n\t"          \
	"movq %c[chunk](" W "), %%rdx\n\t"         \
	"movq %c[owner](" W "), %%rax\n\t"         \
	"cmpq %%rax, %c[chunk_owner](%%rdx)\n\t"   \
	"jne %l[broken]\n\t"

/* TICKS = ticks_read(); */
#define STEP_TICKS(TICKS)                      \
	"rdtsc\n\t"                           \
	"shlq $32, %%rdx\n\t"                 \
	"leaq (%%rdx, %%rax), " TICKS "\n\t"

/* if (writer->at != at) broken;    for systems where restartable sequences are interrupted like other code */
#define STEP_STILL_THERE(W)                    \
	"cmpq %%rcx, %c[at](" W ")\n\t"       \
	"jne %l[broken]\n\t"

/* chunk->last_ticks = TICKS; */
#define STEP_NOTE_TICKS(W, TICKS)                       \
	"movq %c[chunk](" W "), %%rdx\n\t"             \
	"movq " TICKS ", %c[last_ticks](%%rdx)\n\t"

/* chunk->progress = writer->progress = rax;    chunk is in rdx. PAIR(commit): the store is a release */
#define STEP_COMMIT(W)                                  \
	"movq %%rax, %c[progress](" W ")\n\t"          \
	"movq %%rax, %c[chunk_progress](%%rdx)\n\t"

/* seat->busy = 0;    PAIR(busy): the store is a release */
#define STEP_IDLE(W)                            \
	"movq %c[seat](" W "), %%rdx\n\t"      \
	"movl $0, %c[busy](%%rdx)"

/* Writes a record for one writer. Returns false if the record may not have been written, see above. */
static inline __attribute__((always_inline)) bool writer_write(struct writer *writer, struct call call)
{
	__asm__ goto(
		RSEQ_BEGIN("%[offset]", "%%rax", "%%rdx")
		STEP_PLACE("%[writer]")
		STEP_SEAT("%[writer]")
		STEP_BUSY("%[writer]")
		/* put() */
		"movq %[length], (%%rcx)\n\t"
		"movw %w[id], 2(%%rcx)\n\t"
		"movq %[address], 16(%%rcx)\n\t"
		STEP_COPY
		"9:\n\t"
		STEP_TICKS("%%rax")
		"movq %%rax, 8(%%rcx)\n\t"
		STEP_STILL_THERE("%[writer]")
		STEP_NOTE_TICKS("%[writer]", "%%rax")
		/* rax = writer->progress + 1 record of record_size(length) bytes, rcx = the place of the next record */
		"leaq 31(%[length]), %%rax\n\t"
		"andq $-8, %%rax\n\t"
		"addq %%rax, %%rcx\n\t"
		"btsq $32, %%rax\n\t"
		"addq %c[progress](%[writer]), %%rax\n\t"
		STEP_COMMIT("%[writer]")
		STEP_IDLE("%[writer]") RSEQ_END("%l[broken]")
		"movq %%rcx, %c[at](%[writer])"
		:
		: [writer] "r"(writer), [id] "r"(call.id), [data] "r"(call.data), [length] "r"(call.length),
		  [address] "r"(call.address), [offset] "m"(rseq_offset), [wide] "m"(rseq_wide), RECORD_OFFSETS
		: "rax", "rcx", "rdx", "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory"
		: broken);
	return true;
broken:
	return false;
}

/*
 * Writes a record with a text between other bytes, as writer_write() does. first is the record's first word: the length
 * of the data, and the type. length is that of the text. Whole blocks are written, and then over what is behind the
 * bytes that count; the reader sees none of that. Whole blocks are read, too, but not in a page behind the text's last
 * byte: the first 32 bytes at the text are in one page.
 */
static inline __attribute__((always_inline)) bool writer_write_text(struct writer *writer, uint64_t first,
                                                                    const char *text, size_t length,
                                                                    const struct posixtrace_around *around,
                                                                    unsigned sizes)
{
	/* From the text on, rcx is the record's place plus the number of bytes before: STEP_COPY copies behind them. */
	__asm__ goto(
		RSEQ_BEGIN("%[offset]", "%%rax", "%%rdx")
		STEP_PLACE("%[writer]")
		STEP_SEAT("%[writer]")
		STEP_BUSY("%[writer]")
		"movq %[first], (%%rcx)\n\t"
		"movq %c[address](%[around]), %%rax\n\t"
		"movq %%rax, 16(%%rcx)\n\t"
		"movups %c[before](%[around]), %%xmm0\n\t"
		"movups %%xmm0, 24(%%rcx)\n\t"
		"movzbl %b[sizes], %%eax\n\t"
		"movq %%rcx, %%r11\n\t"
		"addq %%rax, %%rcx\n\t"
		"movups (%[data]), %%xmm0\n\t"
		"movups 16(%[data]), %%xmm1\n\t"
		"movups %%xmm0, 24(%%rcx)\n\t"
		"movups %%xmm1, 40(%%rcx)\n\t"
		"cmpq $32, %[length]\n\t"
		"jbe 9f\n\t"
		"cmpq $128, %[length]\n\t"
		"ja 10f\n\t"
		"leal -1(%[data], %[length]), %%eax\n\t"
		"andl $4095, %%eax\n\t"
		"cmpl $4096-32, %%eax\n\t"
		"ja 10f\n\t"
		"movl $32, %%eax\n"
		"11:\n\t"
		"movups (%[data], %%rax), %%xmm0\n\t"
		"movups 16(%[data], %%rax), %%xmm1\n\t"
		"movups %%xmm0, 24(%%rcx, %%rax)\n\t"
		"movups %%xmm1, 40(%%rcx, %%rax)\n\t"
		"addq $32, %%rax\n\t"
		"cmpq %[length], %%rax\n\t"
		"jb 11b\n\t"
		"jmp 9f\n"
		"10:\n\t"
		STEP_COPY
		"9:\n\t"
		"movb $0, 24(%%rcx, %[length])\n\t"
		"movups %c[behind](%[around]), %%xmm0\n\t"
		"movups %%xmm0, 25(%%rcx, %[length])\n\t"
		"movq %%r11, %%rcx\n\t"
		STEP_TICKS("%%rax")
		"movq %%rax, 8(%%rcx)\n\t"
		STEP_STILL_THERE("%[writer]")
		STEP_NOTE_TICKS("%[writer]", "%%rax")
		/* as in writer_write() */
		"movzwl %w[first], %%eax\n\t"
		"addl $31, %%eax\n\t"
		"andl $-8, %%eax\n\t"
		"addq %%rax, %%rcx\n\t"
		"btsq $32, %%rax\n\t"
		"addq %c[progress](%[writer]), %%rax\n\t"
		STEP_COMMIT("%[writer]")
		STEP_IDLE("%[writer]") RSEQ_END("%l[broken]")
		"movq %%rcx, %c[at](%[writer])"
		:
		: [writer] "r"(writer), [first] "r"(first), [data] "r"(text), [length] "r"(length),
		  [around] "r"(around), [sizes] "r"(sizes), [offset] "m"(rseq_offset), [wide] "m"(rseq_wide),
		  [address] "i"(offsetof(struct posixtrace_around, __address)),
		  [before] "i"(offsetof(struct posixtrace_around, __before)),
		  [behind] "i"(offsetof(struct posixtrace_around, __behind)), RECORD_OFFSETS
		: "rax", "rcx", "rdx", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory"
		: broken);
	return true;
broken:
	return false;
}

/*
 * Writes a record for several writers, from first to before end, and reads the counter once: reading it is the most
 * expensive part of a trace point. Each writer is busy before the counter is read, and stays the owner until its record
 * is committed, so each stream sees the same as from writer_write(). All writers must have room and use the counter as
 * their clock.
 *
 * Here the end of busy is not the end of the restartable sequence. From then on another thread may take the chunk, and
 * the chunk's progress no longer tells whether the record was committed. Therefore *written tells: the records of all
 * writers before it are written. It starts at first, and advances while the writer is still busy.
 */
static inline __attribute__((always_inline)) enum together_outcome
writers_write(struct writer *const *first, struct writer *const *end, struct writer *const *volatile *written,
              struct call call)
{
	/* The record's first word, and what the record adds to the progress. */
	uint64_t head = call.length | (uint64_t)call.id << 16;
	uint64_t grow = ((uint64_t)1 << 32) + record_size((uint32_t)call.length);

	/* r8 goes through the writers, r9 is the writer, r10 the ticks, r11 is not 0 if a reader waits. */
	__asm__ goto(
		RSEQ_BEGIN("%[offset]", "%%rax", "%%rdx")
		"movq %[first], %%r8\n"
		"5:\n\t"
		"movq (%%r8), %%r9\n\t"
		"testq %%r9, %%r9\n\t"
		"jz %l[broken]\n\t"
		STEP_SEAT("%%r9")
		/* The writer may have been wiped. */
		"testq %%rdx, %%rdx\n\t"
		"jz %l[broken]\n\t"
		STEP_BUSY("%%r9")
		"addq $8, %%r8\n\t"
		"cmpq %[end], %%r8\n\t"
		"jb 5b\n\t"
		STEP_TICKS("%%r10")
		"xorl %%r11d, %%r11d\n\t"
		"movq %[first], %%r8\n"
		"10:\n\t"
		"movq (%%r8), %%r9\n\t"
		STEP_PLACE("%%r9")
		/* put() */
		"movq %[head], (%%rcx)\n\t"
		"movq %%r10, 8(%%rcx)\n\t"
		"movq %[address], 16(%%rcx)\n\t"
		STEP_COPY
		"9:\n\t"
		STEP_STILL_THERE("%%r9")
		STEP_NOTE_TICKS("%%r9", "%%r10")
		"movq %c[progress](%%r9), %%rax\n\t"
		"addq %[grow], %%rax\n\t"
		STEP_COMMIT("%%r9")
		/* *written = the next writer;  while the seat is still busy */
		"addq $8, %%r8\n\t"
		"movq %%r8, %[written]\n\t"
		STEP_IDLE("%%r9") "\n\t"
		"movl %k[grow], %%eax\n\t"
		"addq %%rax, %%rcx\n\t"
		"movq %%rcx, %c[at](%%r9)\n\t"
		"movq %c[header](%%r9), %%rdx\n\t"
		"orl %c[waiting](%%rdx), %%r11d\n\t"
		"cmpq %[end], %%r8\n\t"
		"jb 10b" RSEQ_END("%l[broken]")
		"testl %%r11d, %%r11d\n\t"
		"jnz %l[awaited]"
		:
		: [first] "r"(first), [end] "m"(end), [written] "m"(*written), [head] "r"(head), [grow] "r"(grow),
		  [data] "r"(call.data), [length] "r"(call.length), [address] "r"(call.address),
		  [offset] "m"(rseq_offset), [wide] "m"(rseq_wide), [header] "i"(offsetof(struct writer, header)),
		  [waiting] "i"(offsetof(struct stream_header, waiting)), RECORD_OFFSETS
		: "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory"
		: broken, awaited);
	return TOGETHER_WRITTEN;
awaited:
	return TOGETHER_AWAITED;
broken:
	return TOGETHER_BROKEN;
}

/* -- An event that is lost ---------------------------------------------------------------- */

/* Counts an event as lost in the writer's stream. Returns false if it was not counted, because that was aborted. */
static inline __attribute__((always_inline)) bool writer_count_lost(struct writer *writer)
{
	/*
	 * The last instruction counts. A thread that is interrupted before it has done nothing; a thread that is
	 * interrupted after it resumes at the end.
	 */
	__asm__ goto(
		RSEQ_BEGIN("%[offset]", "%%rax", "%%rdx")
		"movq %c[header](%[writer]), %%rdx\n\t"
		"testq %%rdx, %%rdx\n\t"
		"jz %l[broken]\n\t"
		"lock incq %c[lost](%%rdx)" RSEQ_END("%l[broken]")
		:
		: [writer] "r"(writer), [offset] "m"(rseq_offset), [header] "i"(offsetof(struct writer, header)),
		  [lost] "i"(offsetof(struct stream_header, lost))
		: "rax", "rdx", "cc", "memory"
		: broken);
	return true;
broken:
	return false;
}

/* -- The next chunk ------------------------------------------------------------------- */

#define RSEQ_TEXT_(n) #n
#define RSEQ_TEXT(n)  RSEQ_TEXT_(n)
#define CANDIDATE(n)  "%c[word]+8*" RSEQ_TEXT(n) "(%[candidate])"

/*
 * The steps of writer_hold(), each after the same step in C, as in chunk_trylock(), chunk_recycle() (shm/chunk.c) and
 * writer_acquire() (writer.c). On this processor each store is a release, each load an acquire.
 */

/* writer->taking = number;    the first note for writer_give_back(): the chunk may be locked */
#define HOLD_NOTE_CHUNK                                         \
	"movl " CANDIDATE(CANDIDATE_NUMBER) ", %%edx\n\t"      \
	"movl %%edx, %c[taking](%[writer])\n\t"

/* if (!cas(&chunk->lock, 0, ref)) broken;    PAIR(lock) */
#define HOLD_LOCK                                               \
	"movl " CANDIDATE(CANDIDATE_REF) ", %%ecx\n\t"         \
	"xorl %%eax, %%eax\n\t"                                \
	"lock cmpxchgl %%ecx, %c[lock](%[chunk])\n\t"          \
	"jne %l[broken]\n\t"

/* if (chunk->owner != owner || chunk->progress != progress) broken;    another thread has had the chunk meanwhile */
#define HOLD_UNCHANGED                                          \
	"movq " CANDIDATE(CANDIDATE_OWNER) ", %%rax\n\t"       \
	"cmpq %%rax, %c[chunk_owner](%[chunk])\n\t"            \
	"jne %l[broken]\n\t"                                   \
	"movq " CANDIDATE(CANDIDATE_PROGRESS) ", %%rax\n\t"    \
	"cmpq %%rax, %c[chunk_progress](%[chunk])\n\t"         \
	"jne %l[broken]\n\t"

/*
 * if (chunk->seen == chunk->first && chunk->gap_until != chunk->last_ticks) chunk->gap_from = 0;
 * The reader has seen the old gap. PAIR(seen). Leaves first in ecx, last_ticks in rdx. Label 5 is behind it.
 */
#define HOLD_FORGET_GAP                                         \
	"movl %c[first](%[chunk]), %%ecx\n\t"                  \
	"movq %c[last_ticks](%[chunk]), %%rdx\n\t"             \
	"cmpl %%ecx, %c[seen](%[chunk])\n\t"                   \
	"jne 5f\n\t"                                           \
	"cmpq %%rdx, %c[gap_until](%[chunk])\n\t"              \
	"je 5f\n\t"                                            \
	"movq $0, %c[gap_from](%[chunk])\n"                     \
	"5:\n\t"

/*
 * if (chunk->read != records) {    unread records will be overwritten
 *         if (chunk->read != chunk->first) broken;
 *         writer->taking |= WRITER_LOSES;    the second note for writer_give_back()
 *         if (!chunk->gap_from) chunk->gap_from = oldest;
 *         chunk->gap_until = chunk->last_ticks;
 * }
 * Leaves records in eax. Label 7 is behind it.
 */
#define HOLD_NOTE_GAP                                           \
	"movl " CANDIDATE(CANDIDATE_RECORDS) ", %%eax\n\t"     \
	"cmpl %%eax, %c[read](%[chunk])\n\t"                   \
	"je 7f\n\t"                                            \
	"cmpl %%ecx, %c[read](%[chunk])\n\t"                   \
	"jne %l[broken]\n\t"                                   \
	"orl %[loses], %c[taking](%[writer])\n\t"              \
	"cmpq $0, %c[gap_from](%[chunk])\n\t"                  \
	"jne 6f\n\t"                                           \
	"movq " CANDIDATE(CANDIDATE_OLDEST) ", %%rcx\n\t"      \
	"movq %%rcx, %c[gap_from](%[chunk])\n"                  \
	"6:\n\t"                                               \
	"movq %%rdx, %c[gap_until](%[chunk])\n"                 \
	"7:\n\t"

/*
 * if (exchange(&chunk->read, records) != records) header->state |= STATE_FULL | STATE_OVERRUN;
 * From the exchange on a reader's compare-and-swap fails: PAIR(read), PAIR(reset). Leaves records in ecx.
 */
#define HOLD_MOVE_READ                                          \
	"xchgl %%eax, %c[read](%[chunk])\n\t"                  \
	"movl " CANDIDATE(CANDIDATE_RECORDS) ", %%ecx\n\t"     \
	"cmpl %%eax, %%ecx\n\t"                                \
	"je 8f\n\t"                                            \
	"movq %c[header](%[writer]), %%rdx\n\t"                \
	"testq %%rdx, %%rdx\n\t"                               \
	"jz %l[broken]\n\t"                                    \
	"movl %c[state](%%rdx), %%eax\n\t"                     \
	"andl %[full], %%eax\n\t"                              \
	"cmpl %[full], %%eax\n\t"                              \
	"je 8f\n\t"                                            \
	"lock orl %[full], %c[state](%%rdx)\n"                  \
	"8:\n\t"

/* chunk->first = records;  chunk->progress = progress_make(records, 0);    PAIR(recycle) */
#define HOLD_EMPTY                                              \
	"movl %%ecx, %c[first](%[chunk])\n\t"                  \
	"movq " CANDIDATE(CANDIDATE_EMPTIED) ", %%rax\n\t"     \
	"movq %%rax, %c[chunk_progress](%[chunk])\n\t"

/* at = memory + put_owner(memory, &owner_id);    rcx is the place from here on */
#define HOLD_PUT_OWNER                                          \
	"movq " CANDIDATE(CANDIDATE_MEMORY) ", %%rcx\n\t"      \
	"movups %c[owner_id](%[candidate]), %%xmm0\n\t"        \
	"movups %c[owner_id]+16(%[candidate]), %%xmm1\n\t"     \
	"movq %c[owner_id]+32(%[candidate]), %%rax\n\t"        \
	"movups %%xmm0, (%%rcx)\n\t"                           \
	"movups %%xmm1, 16(%%rcx)\n\t"                         \
	"movq %%rax, 32(%%rcx)\n\t"                            \
	"addq $40, %%rcx\n\t"

/* writer->chunk_number, chunk, progress, owner, at = ...;    progress stays in rax, owner in rdx */
#define HOLD_FILL_WRITER                                        \
	"movl " CANDIDATE(CANDIDATE_NUMBER) ", %%eax\n\t"      \
	"movl %%eax, %c[number](%[writer])\n\t"                \
	"movq %[chunk], %c[writer_chunk](%[writer])\n\t"       \
	"movq " CANDIDATE(CANDIDATE_BEGUN) ", %%rax\n\t"       \
	"movq %%rax, %c[progress](%[writer])\n\t"              \
	"movq " CANDIDATE(CANDIDATE_HELD) ", %%rdx\n\t"        \
	"movq %%rdx, %c[owner](%[writer])\n\t"                 \
	"movq %%rcx, %c[at](%[writer])\n\t"

/*
 * chunk->last_ticks = ticks;  chunk->progress = ...;  chunk->owner = ...;    PAIR(commit). Else it would be the oldest.
 */
#define HOLD_BEGIN_CHUNK                                        \
	"movq %[ticks], %c[last_ticks](%[chunk])\n\t"          \
	"movq %%rax, %c[chunk_progress](%[chunk])\n\t"         \
	"movq %%rdx, %c[chunk_owner](%[chunk])\n\t"

/* writer->room_end = ...;  chunk->lock = 0;    PAIR(lock) */
#define HOLD_UNLOCK                                             \
	"movq " CANDIDATE(CANDIDATE_ROOM_END) ", %%rax\n\t"    \
	"movq %%rax, %c[room_end](%[writer])\n\t"              \
	"movl $0, %c[lock](%[chunk])"

/*
 * Gives the candidate's chunk to the writer, which holds no chunk. Does the work of chunk_trylock(), chunk_recycle()
 * and the rest of writer_acquire() in one restartable sequence, so that no signal has to be blocked. The writer first
 * notes which chunk it takes, and then whether records may be lost by that, so that writer_give_back() can repair an
 * aborted sequence. Returns false if the sequence was aborted, or the chunk has changed.
 */
static inline __attribute__((always_inline)) bool writer_hold(struct writer *writer, const struct attached *attached,
                                                              const struct candidate *candidate, uint64_t ticks)
{
	__asm__ goto(
		RSEQ_BEGIN("%[offset]", "%%rax", "%%rdx")
		"cmpq %[attached], %c[writer_attached](%[writer])\n\t"
		"jne %l[broken]\n\t"
		HOLD_NOTE_CHUNK
		HOLD_LOCK
		HOLD_UNCHANGED
		HOLD_FORGET_GAP
		HOLD_NOTE_GAP
		HOLD_MOVE_READ
		HOLD_EMPTY
		HOLD_PUT_OWNER
		HOLD_FILL_WRITER
		HOLD_BEGIN_CHUNK
		HOLD_UNLOCK RSEQ_END("%l[broken]")
		"movl $0, %c[taking](%[writer])"
		:
		: [writer] "r"(writer), [candidate] "r"(candidate), [chunk] "r"(candidate->chunk),
		  [attached] "r"(attached), [ticks] "r"(ticks),
		  [offset] "m"(rseq_offset), [loses] "i"(WRITER_LOSES),
		  [full] "i"(STATE_FULL | STATE_OVERRUN), [header] "i"(offsetof(struct writer, header)),
		  [taking] "i"(offsetof(struct writer, taking)), [number] "i"(offsetof(struct writer, chunk_number)),
		  [writer_chunk] "i"(offsetof(struct writer, chunk)), [progress] "i"(offsetof(struct writer, progress)),
		  [owner] "i"(offsetof(struct writer, owner)), [at] "i"(offsetof(struct writer, at)),
		  [room_end] "i"(offsetof(struct writer, room_end)), [state] "i"(offsetof(struct stream_header, state)),
		  [lock] "i"(offsetof(struct chunk, lock)), [chunk_owner] "i"(offsetof(struct chunk, owner)),
		  [chunk_progress] "i"(offsetof(struct chunk, progress)), [first] "i"(offsetof(struct chunk, first)),
		  [last_ticks] "i"(offsetof(struct chunk, last_ticks)), [seen] "i"(offsetof(struct chunk, seen)),
		  [gap_from] "i"(offsetof(struct chunk, gap_from)), [gap_until] "i"(offsetof(struct chunk, gap_until)),
		  [read] "i"(offsetof(struct chunk, read)), [word] "i"(offsetof(struct candidate, word)),
		  [owner_id] "i"(offsetof(struct candidate, owner_id)),
		  [writer_attached] "i"(offsetof(struct writer, attached))
		: "rax", "rcx", "rdx", "xmm0", "xmm1", "cc", "memory"
		: broken);
	return true;
broken:
	return false;
}

#else /* no restartable sequences: what uses these is left out, because HAVE_RSEQ is 0 */

static inline void rseq_prepare(void)
{
}

static inline bool writer_write(struct writer *writer, struct call call)
{
	(void)writer, (void)call;
	return false;
}

static inline bool writer_write_text(struct writer *writer, uint64_t first, const char *text, size_t length,
                                     const struct posixtrace_around *around, unsigned sizes)
{
	(void)writer, (void)first, (void)text, (void)length, (void)around, (void)sizes;
	return false;
}

static inline enum together_outcome writers_write(struct writer *const *first, struct writer *const *end,
                                                  struct writer *const *volatile *written, struct call call)
{
	(void)first, (void)end, (void)written, (void)call;
	return TOGETHER_BROKEN;
}

static inline bool writer_count_lost(struct writer *writer)
{
	(void)writer;
	return false;
}

static inline bool writer_hold(struct writer *writer, const struct attached *attached,
                               const struct candidate *candidate, uint64_t ticks)
{
	(void)writer, (void)attached, (void)candidate, (void)ticks;
	return false;
}

#endif

#endif
