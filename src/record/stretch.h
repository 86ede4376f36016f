/*
 * stretch.h - a record is written in one stretch that no signal handler returns into
 *
 * Steps 4 to 7 of a trace point (tracepoint.c), as in lane_record() (lane.h), but who
 * is interrupted does not come back to them, nor does the child of a handler
 * that forks (H2). False: interrupted, or a lane is wiped, or its chunk is not
 * ours any more; anything may have been done, and lane_mend() finds out.
 *
 * What it finds out by: the lane's progress changes when the thread is the
 * owner and busy, right before the chunk's, and the lane's place behind the
 * end. So if the two do not agree, nobody else has changed the chunk since.
 *
 * The word is not cleared at the end; that would cost a third of a nanosecond,
 * and the kernel does it when it looks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef RECORD_STRETCH_H
#define RECORD_STRETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <trace.h>

#include "base/restart.h"
#include "model/record.h"
#include "record/self.h"
#include "record/take.h"
#include "shm/chunk.h"

#if RESTART

/* Where each thread's word of base/restart.h is. Not in memory that is wiped: a child may be about to use it. */
extern ptrdiff_t stretch_offset __attribute__((visibility("hidden")));
/* May AVX be used? */
extern bool stretch_wide __attribute__((visibility("hidden")));

/* Finds out both. Before a thread's first event; safe in handlers. */
void stretch_prepare(void);

/*
 * The data, as copy() of base/copy.h does it, from (data) to behind the head of the record at rcx. Spoils rax, rdx, xmm0 to xmm3;
 * labels 5 to 9, of which 9 is where it leads to.
 */
#define STRETCH_COPY					\
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

/* One lane. */
static inline __attribute__((always_inline)) bool lane_write(struct lane *lane, trace_event_id_t id, const void *data,
                                                             size_t length, const void *address)
{
	/* rcx is the place, and then the next one. PAIR(commit), PAIR(busy): on this processor each store is a release. */
	__asm__ goto(
		RESTART_BEGIN("%[offset]", "%%rax", "%%rdx")
		"movq %c[at](%[lane]), %%rcx\n\t"
		"testq %%rcx, %%rcx\n\t"
		"jz %l[broken]\n\t"
		"movq %c[seat](%[lane]), %%rdx\n\t"
		"movl %c[number](%[lane]), %%eax\n\t"
		"movl %%eax, %c[busy](%%rdx)\n\t"
		"movq %c[chunk](%[lane]), %%rdx\n\t"
		"movq %c[owner](%[lane]), %%rax\n\t"
		"cmpq %%rax, %c[chunk_owner](%%rdx)\n\t"
		"jne %l[broken]\n\t"
		"movq %[length], (%%rcx)\n\t"
		"movw %w[id], 2(%%rcx)\n\t"
		"movq %[address], 16(%%rcx)\n\t"
		STRETCH_COPY
		"9:\n\t"
		"rdtsc\n\t"
		"shlq $32, %%rdx\n\t"
		"orq %%rdx, %%rax\n\t"
		"movq %%rax, 8(%%rcx)\n\t"
		/* Looked at again, for where stretches are interrupted like other code. */
		"cmpq %%rcx, %c[at](%[lane])\n\t"
		"jne %l[broken]\n\t"
		"movq %c[chunk](%[lane]), %%rdx\n\t"
		"movq %%rax, %c[last_ticks](%%rdx)\n\t"
		"leaq 31(%[length]), %%rax\n\t"
		"andq $-8, %%rax\n\t"
		"addq %%rax, %%rcx\n\t"
		"btsq $32, %%rax\n\t"
		"addq %c[progress](%[lane]), %%rax\n\t"
		"movq %%rax, %c[progress](%[lane])\n\t"
		"movq %%rax, %c[chunk_progress](%%rdx)\n\t"
		"movq %c[seat](%[lane]), %%rdx\n\t"
		"movl $0, %c[busy](%%rdx)" RESTART_END("%l[broken]")
		"movq %%rcx, %c[at](%[lane])"
		:
		: [lane] "r"(lane), [id] "r"(id), [data] "r"(data), [length] "r"(length), [address] "r"(address),
		  [offset] "m"(stretch_offset), [wide] "m"(stretch_wide), [at] "i"(offsetof(struct lane, at)), [seat] "i"(offsetof(struct lane, seat)),
		  [number] "i"(offsetof(struct lane, chunk_number)), [chunk] "i"(offsetof(struct lane, chunk)),
		  [owner] "i"(offsetof(struct lane, owner)), [progress] "i"(offsetof(struct lane, progress)),
		  [busy] "i"(offsetof(struct seat, busy)), [chunk_owner] "i"(offsetof(struct chunk, owner)),
		  [last_ticks] "i"(offsetof(struct chunk, last_ticks)),
		  [chunk_progress] "i"(offsetof(struct chunk, progress))
		: "rax", "rcx", "rdx", "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory"
		: broken);
	return true;
broken:
	return false;
}

/* More take another look at the clock: stacks of handlers are small. */
#define TOGETHER_MAX 8

enum together_outcome {
	TOGETHER_WRITTEN,
	TOGETHER_AWAITED, /* written, and the reader of one of them sleeps */
	TOGETHER_BROKEN,  /* interrupted: *written says which are */
};

/*
 * Several lanes, first to before end, with one look at the counter: reading it is the most expensive part of a trace point. Each
 * of them is busy before, and its own all the while, so each stream sees what it sees of lane_write(). They have room, and the
 * clock of all is the counter.
 *
 * Here the end of busy is not the end of the stretch: from then on another may take the chunk, and its progress says nothing
 * of this record any more. So *written says it, which goes on while the lane is busy still: all before it are written. At first
 * that is none.
 */
static inline __attribute__((always_inline)) enum together_outcome lanes_write(struct lane *const *first, struct lane *const *end,
                                                                               struct lane *const *volatile *written,
                                                                               trace_event_id_t id, const void *data,
                                                                               size_t length, const void *address)
{
	/* The record's first word, and what it adds to the progress. */
	uint64_t head = length | (uint64_t)id << 16, grow = ((uint64_t)1 << 32) + record_size((uint32_t)length);

	/* r8 goes through them, r9 is the lane, rcx its place, r10 the ticks, r11 who waits. PAIR(commit), PAIR(busy): as in lane_write(). */
	__asm__ goto(
		RESTART_BEGIN("%[offset]", "%%rax", "%%rdx")
		"movq %[first], %%r8\n"
		"5:\n\t"
		"movq (%%r8), %%r9\n\t"
		"testq %%r9, %%r9\n\t"
		"jz %l[broken]\n\t"
		"movq %c[seat](%%r9), %%rdx\n\t"
		"movl %c[number](%%r9), %%eax\n\t"
		"testq %%rdx, %%rdx\n\t"
		"jz %l[broken]\n\t"
		"movl %%eax, %c[busy](%%rdx)\n\t"
		"movq %c[chunk](%%r9), %%rdx\n\t"
		"movq %c[owner](%%r9), %%rax\n\t"
		"cmpq %%rax, %c[chunk_owner](%%rdx)\n\t"
		"jne %l[broken]\n\t"
		"addq $8, %%r8\n\t"
		"cmpq %[end], %%r8\n\t"
		"jb 5b\n\t"
		"rdtsc\n\t"
		"shlq $32, %%rdx\n\t"
		"leaq (%%rdx, %%rax), %%r10\n\t"
		"xorl %%r11d, %%r11d\n\t"
		"movq %[first], %%r8\n"
		"10:\n\t"
		"movq (%%r8), %%r9\n\t"
		"movq %c[at](%%r9), %%rcx\n\t"
		"testq %%rcx, %%rcx\n\t"
		"jz %l[broken]\n\t"
		"movq %[head], (%%rcx)\n\t"
		"movq %%r10, 8(%%rcx)\n\t"
		"movq %[address], 16(%%rcx)\n\t"
		STRETCH_COPY
		/* The lane is looked at again, as in lane_write(). */
		"9:\n\t"
		"movq %c[progress](%%r9), %%rax\n\t"
		"movq %c[chunk](%%r9), %%rdx\n\t"
		"addq %[grow], %%rax\n\t"
		"cmpq %%rcx, %c[at](%%r9)\n\t"
		"jne %l[broken]\n\t"
		"movq %%rax, %c[progress](%%r9)\n\t"
		"movq %%r10, %c[last_ticks](%%rdx)\n\t"
		"movq %%rax, %c[chunk_progress](%%rdx)\n\t"
		"addq $8, %%r8\n\t"
		"movq %%r8, %[written]\n\t"
		"movq %c[seat](%%r9), %%rdx\n\t"
		"movl $0, %c[busy](%%rdx)\n\t"
		"movl %k[grow], %%eax\n\t"
		"addq %%rax, %%rcx\n\t"
		"movq %%rcx, %c[at](%%r9)\n\t"
		"movq %c[header](%%r9), %%rdx\n\t"
		"orl %c[waiting](%%rdx), %%r11d\n\t"
		"cmpq %[end], %%r8\n\t"
		"jb 10b" RESTART_END("%l[broken]")
		"testl %%r11d, %%r11d\n\t"
		"jnz %l[awaited]"
		:
		: [first] "r"(first), [end] "rm"(end), [written] "m"(*written), [head] "r"(head), [grow] "rm"(grow),
		  [data] "r"(data), [length] "r"(length), [address] "r"(address), [offset] "m"(stretch_offset), [wide] "m"(stretch_wide),
		  [header] "i"(offsetof(struct lane, header)), [chunk] "i"(offsetof(struct lane, chunk)),
		  [at] "i"(offsetof(struct lane, at)), [owner] "i"(offsetof(struct lane, owner)),
		  [progress] "i"(offsetof(struct lane, progress)), [seat] "i"(offsetof(struct lane, seat)),
		  [number] "i"(offsetof(struct lane, chunk_number)), [busy] "i"(offsetof(struct seat, busy)),
		  [waiting] "i"(offsetof(struct stream_header, waiting)), [chunk_owner] "i"(offsetof(struct chunk, owner)),
		  [last_ticks] "i"(offsetof(struct chunk, last_ticks)), [chunk_progress] "i"(offsetof(struct chunk, progress))
		: "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "cc", "memory"
		: broken, awaited);
	return TOGETHER_WRITTEN;
awaited:
	return TOGETHER_AWAITED;
broken:
	return TOGETHER_BROKEN;
}

#define STRETCH_TEXT_(n) #n
#define STRETCH_TEXT(n)  STRETCH_TEXT_(n)
#define OFFERED(n)       "%c[word]+8*" STRETCH_TEXT(n) "(%[offer])"

/*
 * The lane, which holds no chunk, gets the one of the offer: chunk_claim(), chunk_recycle() and the rest of lane_take() in one
 * stretch, so that no signal has to be blocked for it. The lane says what it takes, and that records may be lost by it, so
 * that lane_give_back() can put in order what was broken off. False: broken off, or the chunk is not as it was.
 */
static inline __attribute__((always_inline)) bool lane_hold(struct lane *lane, const struct attached *attached,
                                                            const struct offer *offer, uint64_t ticks)
{
	/*
	 * rcx is first, and then the place. On this processor each store is a release: PAIR(claim), PAIR(recycle), PAIR(commit);
	 * and seen is looked at by an acquire: PAIR(seen). PAIR(read), PAIR(reset): xchg, from which on a reader's claim fails.
	 */
	__asm__ goto(
		RESTART_BEGIN("%[offset]", "%%rax", "%%rdx")
		"cmpq %[attached], %c[lane_attached](%[lane])\n\t"
		"jne %l[broken]\n\t"
		"movl " OFFERED(OFFER_NUMBER) ", %%edx\n\t"
		"movl %%edx, %c[taking](%[lane])\n\t"
		"movl " OFFERED(OFFER_WHO) ", %%ecx\n\t"
		"xorl %%eax, %%eax\n\t"
		"lock cmpxchgl %%ecx, %c[claim](%[chunk])\n\t"
		"jne %l[broken]\n\t"
		"movq " OFFERED(OFFER_OWNER) ", %%rax\n\t"
		"cmpq %%rax, %c[chunk_owner](%[chunk])\n\t"
		"jne %l[broken]\n\t"
		"movq " OFFERED(OFFER_PROGRESS) ", %%rax\n\t"
		"cmpq %%rax, %c[chunk_progress](%[chunk])\n\t"
		"jne %l[broken]\n\t"
		/* The gap that the reader knows of. */
		"movl %c[first](%[chunk]), %%ecx\n\t"
		"movq %c[last_ticks](%[chunk]), %%rdx\n\t"
		"cmpl %%ecx, %c[seen](%[chunk])\n\t"
		"jne 5f\n\t"
		"cmpq %%rdx, %c[gap_until](%[chunk])\n\t"
		"je 5f\n\t"
		"movq $0, %c[gap_from](%[chunk])\n"
		/* The new one. */
		"5:\n\t"
		"movl " OFFERED(OFFER_RECORDS) ", %%eax\n\t"
		"cmpl %%eax, %c[read](%[chunk])\n\t"
		"je 7f\n\t"
		"cmpl %%ecx, %c[read](%[chunk])\n\t"
		"jne %l[broken]\n\t"
		"orl %[loses], %c[taking](%[lane])\n\t"
		"cmpq $0, %c[gap_from](%[chunk])\n\t"
		"jne 6f\n\t"
		"movq " OFFERED(OFFER_OLDEST) ", %%rcx\n\t"
		"movq %%rcx, %c[gap_from](%[chunk])\n"
		"6:\n\t"
		"movq %%rdx, %c[gap_until](%[chunk])\n"
		"7:\n\t"
		"xchgl %%eax, %c[read](%[chunk])\n\t"
		"movl " OFFERED(OFFER_RECORDS) ", %%ecx\n\t"
		"cmpl %%eax, %%ecx\n\t"
		"je 8f\n\t"
		"movq %c[header](%[lane]), %%rdx\n\t"
		"testq %%rdx, %%rdx\n\t"
		"jz %l[broken]\n\t"
		"movl %c[state](%%rdx), %%eax\n\t"
		"andl %[full], %%eax\n\t"
		"cmpl %[full], %%eax\n\t"
		"je 8f\n\t"
		"lock orl %[full], %c[state](%%rdx)\n"
		/* Empty. */
		"8:\n\t"
		"movl %%ecx, %c[first](%[chunk])\n\t"
		"movq " OFFERED(OFFER_EMPTIED) ", %%rax\n\t"
		"movq %%rax, %c[chunk_progress](%[chunk])\n\t"
		/* And ours. */
		"movq " OFFERED(OFFER_MEMORY) ", %%rcx\n\t"
		"movups %c[writer](%[offer]), %%xmm0\n\t"
		"movups %c[writer]+16(%[offer]), %%xmm1\n\t"
		"movq %c[writer]+32(%[offer]), %%rax\n\t"
		"movups %%xmm0, (%%rcx)\n\t"
		"movups %%xmm1, 16(%%rcx)\n\t"
		"movq %%rax, 32(%%rcx)\n\t"
		"addq $40, %%rcx\n\t"
		"movl " OFFERED(OFFER_NUMBER) ", %%eax\n\t"
		"movl %%eax, %c[number](%[lane])\n\t"
		"movq %[chunk], %c[lane_chunk](%[lane])\n\t"
		"movq " OFFERED(OFFER_BEGUN) ", %%rax\n\t"
		"movq %%rax, %c[progress](%[lane])\n\t"
		"movq " OFFERED(OFFER_HELD) ", %%rdx\n\t"
		"movq %%rdx, %c[owner](%[lane])\n\t"
		"movq %%rcx, %c[at](%[lane])\n\t"
		"movq %[ticks], %c[last_ticks](%[chunk])\n\t" /* or it would pass for the oldest */
		"movq %%rax, %c[chunk_progress](%[chunk])\n\t"
		"movq %%rdx, %c[chunk_owner](%[chunk])\n\t"
		"movq " OFFERED(OFFER_ROOM_END) ", %%rax\n\t"
		"movq %%rax, %c[room_end](%[lane])\n\t"
		"movl $0, %c[claim](%[chunk])" RESTART_END("%l[broken]")
		"movl $0, %c[taking](%[lane])"
		:
		: [lane] "r"(lane), [offer] "r"(offer), [chunk] "r"(offer->chunk), [attached] "r"(attached), [ticks] "r"(ticks),
		  [offset] "m"(stretch_offset), [loses] "i"(LANE_LOSES),
		  [full] "i"(STATE_FULL | STATE_OVERRUN), [header] "i"(offsetof(struct lane, header)),
		  [taking] "i"(offsetof(struct lane, taking)), [number] "i"(offsetof(struct lane, chunk_number)),
		  [lane_chunk] "i"(offsetof(struct lane, chunk)), [progress] "i"(offsetof(struct lane, progress)),
		  [owner] "i"(offsetof(struct lane, owner)), [at] "i"(offsetof(struct lane, at)),
		  [room_end] "i"(offsetof(struct lane, room_end)), [state] "i"(offsetof(struct stream_header, state)),
		  [claim] "i"(offsetof(struct chunk, claim)), [chunk_owner] "i"(offsetof(struct chunk, owner)),
		  [chunk_progress] "i"(offsetof(struct chunk, progress)), [first] "i"(offsetof(struct chunk, first)),
		  [last_ticks] "i"(offsetof(struct chunk, last_ticks)), [seen] "i"(offsetof(struct chunk, seen)),
		  [gap_from] "i"(offsetof(struct chunk, gap_from)), [gap_until] "i"(offsetof(struct chunk, gap_until)),
		  [read] "i"(offsetof(struct chunk, read)), [word] "i"(offsetof(struct offer, word)),
		  [writer] "i"(offsetof(struct offer, writer)), [lane_attached] "i"(offsetof(struct lane, attached))
		: "rax", "rcx", "rdx", "xmm0", "xmm1", "cc", "memory"
		: broken);
	return true;
broken:
	return false;
}

#else /* there are none */

static inline void stretch_prepare(void)
{
}

#endif

#endif
