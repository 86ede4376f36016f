/*
 * step.h - a process that is led through a stretch of its own code, instruction by instruction
 *
 * The process marks the stretch by step_begin() and step_end(). Whoever has
 * started it takes it to the n-th instruction in there and does something to
 * it: step_signal() lets it go on with a signal, as if that had arrived just
 * then; step_kill() kills it.
 *
 *     step_start(&s, run);                    run() calls step_begin(), ..., step_end(), again and again
 *     for (n = 0; step_to(&s, n); n++)        stands in front of instruction n of the next stretch
 *             step_signal(&s, SIGUSR1);       goes on behind it
 *     status = step_finish(&s);               run() sees that step_last() is true
 *
 * A step interrupts, and a restartable sequence (rseq) ends when it is
 * interrupted: nobody would ever come to its second instruction. So the word
 * in which the thread says that it is in such a sequence is kept away from the
 * kernel while it is led, and put back before it goes on.
 *
 * Skips the test where a process may not be traced. One thread, one process at
 * a time; its children are not led.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef STEP_H
#define STEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "test.h"

#define STEP_MOST 200000 /* instructions; a stretch that has more has no end */

enum { STEP_BEGIN = 1, STEP_END = 2 };

static volatile struct {
	int mark; /* the last one that was passed */
	int last; /* no more of them are wanted */
} *step_shared;

struct step {
	pid_t pid;
	int status;
	bool ended;
	unsigned long word;  /* where the thread's word about sequences is; 0: it has none */
	unsigned long saved; /* what it has written there */
};

/* -- In the process that is led ---------------------------------------------- */

/* A child that comes here, and is not led, gets SIGTRAP. */
static inline __attribute__((always_inline)) void step_mark(int mark)
{
	step_shared->mark = mark;
#if defined __x86_64__ || defined __i386__
	__asm__ __volatile__("int3" : : : "memory");
#else
	raise(SIGTRAP);
#endif
}

static inline __attribute__((always_inline)) void step_begin(void)
{
	step_mark(STEP_BEGIN);
}

static inline __attribute__((always_inline)) void step_end(void)
{
	step_mark(STEP_END);
}

static inline bool step_last(void)
{
	return step_shared->last;
}

/* -- Who leads it ------------------------------------------------------------ */

/* Until the process stops: the signal; 0 if it has ended. */
static inline int step_wait(struct step *s)
{
	while (waitpid(s->pid, &s->status, 0) < 0)
		MUST(errno == EINTR);
	s->ended = !WIFSTOPPED(s->status);
	return s->ended ? 0 : WSTOPSIG(s->status);
}

/* On to the next mark, or the end; signals arrive as they do. True: it stands at a mark. */
static inline bool step_run(struct step *s, int signal)
{
	do {
		MUST(ptrace(PTRACE_CONT, s->pid, NULL, (void *)(intptr_t)signal) == 0);
		signal = step_wait(s);
	} while (!s->ended && signal != SIGTRAP);
	return !s->ended;
}

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
# define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

static inline unsigned long step_find_word(pid_t pid)
{
	struct {
		uint64_t area;
		uint32_t size, signature, flags, pad;
	} rseq = { 0, 0, 0, 0, 0 };

	if (syscall(SYS_ptrace, PTRACE_GET_RSEQ_CONFIGURATION, pid, sizeof rseq, &rseq) < 0)
		return 0;
	return rseq.area ? (unsigned long)rseq.area + 8 : 0;
}

static inline void step_start(struct step *s, void (*run)(void))
{
	memset(s, 0, sizeof *s);
	step_shared = mmap(NULL, sizeof *step_shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST((void *)step_shared != MAP_FAILED);
	fflush(stdout);
	s->pid = fork();
	MUST(s->pid >= 0);
	if (s->pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		alarm(TEST_TIMEOUT * test_slow());
		run();
		fflush(stderr);
		_exit(test_failures ? 1 : 0);
	}
	if (!step_wait(s))
		SKIP("a process may not be traced here");
	if (ptrace(PTRACE_SETOPTIONS, s->pid, NULL, (void *)PTRACE_O_EXITKILL) < 0) {
		kill(s->pid, SIGKILL);
		SKIP("a process may not be traced here");
	}
	s->word = step_find_word(s->pid);
}

/* The thread's word, out of the kernel's sight. */
static inline void step_hide(struct step *s)
{
	unsigned long word;

	if (!s->word)
		return;
	errno = 0;
	word = (unsigned long)ptrace(PTRACE_PEEKDATA, s->pid, (void *)s->word, NULL);
	MUST(errno == 0);
	if (!word)
		return;
	s->saved = word;
	MUST(ptrace(PTRACE_POKEDATA, s->pid, (void *)s->word, NULL) == 0);
}

static inline void step_show(struct step *s)
{
	if (s->word && s->saved)
		MUST(ptrace(PTRACE_POKEDATA, s->pid, (void *)s->word, (void *)s->saved) == 0);
	s->saved = 0;
}

/* On to the begin of the next stretch. False: the process has ended. */
static inline bool step_enter(struct step *s)
{
	step_shared->mark = 0;
	while (step_shared->mark != STEP_BEGIN)
		if (!step_run(s, 0))
			return false;
	s->saved = 0;
	step_hide(s);
	return true;
}

/* One instruction. False: the stretch, or the process, is at its end. */
static inline bool step_one(struct step *s)
{
	int signal;

	MUST(ptrace(PTRACE_SINGLESTEP, s->pid, NULL, NULL) == 0);
	signal = step_wait(s);
	if (s->ended)
		return false;
	step_hide(s);
	MUST(signal == SIGTRAP);
	return step_shared->mark != STEP_END;
}

/*
 * Begins the next stretch, and stops in front of its instruction n. False: it
 * has no such instruction.
 */
static inline bool step_to(struct step *s, int n)
{
	MUST(n < STEP_MOST);
	if (!step_enter(s))
		return false;
	while (n-- > 0)
		if (!step_one(s))
			return false;
	return true;
}

/* The signal, now (0: none); then on to the end of the stretch. False: the process has ended. */
static inline bool step_signal(struct step *s, int signal)
{
	step_show(s);
	return step_run(s, signal);
}

static inline void step_kill(struct step *s)
{
	kill(s->pid, SIGKILL);
	while (step_wait(s))
		;
}

/* A word of its memory. */
static inline long step_peek(struct step *s, const volatile void *at)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, s->pid, (void *)(uintptr_t)at, NULL);
	MUST(errno == 0);
	return word;
}

/* Lets it run to its end. What waitpid() says about it. */
static inline int step_finish(struct step *s)
{
	step_shared->last = 1;
	while (!s->ended)
		step_run(s, 0);
	return s->status;
}

#endif
