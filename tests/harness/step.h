/*
 * step.h - leads a process through a section of its own code, instruction by instruction
 *
 * The process marks the section by step_begin() and step_end(). The test, which has started the process, takes it to
 * the n-th instruction of the section and acts there: step_signal() continues the process with a signal, as if the
 * signal had arrived just then; step_kill() kills it.
 *
 *     step_start(&s, run);                    run() calls step_begin(), ..., step_end(), again and again
 *     for (n = 0; step_to(&s, n); n++)        stops before instruction n of the next section
 *             step_signal(&s, SIGUSR1);       continues after the section
 *     status = step_finish(&s);               run() sees that step_last() is true
 *
 * Each step is an interruption, and an interrupted restartable sequence (rseq) is aborted: the process would never
 * reach its second instruction. So the word that announces the sequence is hidden from the kernel while the process is
 * led, and put back before it continues.
 *
 * Skips the test where a process may not be traced. Leads one thread of one process at a time; its children are not
 * led.
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

#define STEP_MOST 200000 /* instructions; a longer section does not end */

enum { STEP_BEGIN = 1, STEP_END = 2 };

static volatile struct {
	int mark; /* the last mark that was passed */
	int last; /* no more sections are wanted */
} *step_shared;

struct step {
	pid_t pid;
	int status;
	bool ended;
	unsigned long word;  /* the address of the thread's word for restartable sequences; 0: none */
	unsigned long saved; /* the content of this word */
};

/* -- In the led process -------------------------------------------------------- */

/* Stops at a mark. A child that comes here, and is not led, gets SIGTRAP. */
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

/* -- In the test ------------------------------------------------------------- */

/* Waits until the process stops. Returns the signal, or 0 if the process has ended. */
static inline int step_wait(struct step *s)
{
	while (waitpid(s->pid, &s->status, 0) < 0)
		MUST(errno == EINTR);
	s->ended = !WIFSTOPPED(s->status);
	return s->ended ? 0 : WSTOPSIG(s->status);
}

/* Continues to the next mark or the end; signals arrive as usual. Returns true if the process has stopped at a mark. */
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

/* Hides the thread's word from the kernel. */
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

/* Continues to the beginning of the next section. Returns false if the process has ended. */
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

/* Executes one instruction. Returns false at the end of the section or of the process. */
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

/* Begins the next section and stops before its instruction n. Returns false if the section is shorter. */
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

/* Sends the signal now (0: none), then continues to the end of the section. Returns false if the process has ended. */
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

/* Returns a word of the process's memory. */
static inline long step_peek(struct step *s, const volatile void *at)
{
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, s->pid, (void *)(uintptr_t)at, NULL);
	MUST(errno == 0);
	return word;
}

/* Lets the process run to its end. Returns the status of waitpid(). */
static inline int step_finish(struct step *s)
{
	step_shared->last = 1;
	while (!s->ended)
		step_run(s, 0);
	return s->status;
}

#endif
