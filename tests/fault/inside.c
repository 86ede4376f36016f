/*
 * inside.c - events of a handler that has interrupted a trace point, and of handlers that interrupt these
 *
 * H4, H17. A trace point is interrupted at a known place: where it reads its data, which are in a page that cannot be
 * read. The handler of SIGSEGV records events, some of which are interrupted likewise, and then lets the page be read.
 * The events have numbers in the order in which they are recorded, so the stream shows each that is lost, repeated or
 * out of order. The interrupted events are counted: their time may be that of their beginning or of their end. Other
 * tests jump out of the handlers. In others the events of the handler may not block signals, or ask the kernel for
 * anything else: that made them cost a hundred times as much as others, so that a handler with many events took longer
 * than the time to the next signal, and the program made no progress.
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/trace.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "fault.h"

#define LEVELS 6 /* handlers inside each other: more than have the fast way */
#define EVENTS 100
#define TRIES  20 /* an event that is interrupted for another process begins again with signals blocked */

static trace_event_id_t id, interrupted_id;
static uint32_t numbers;       /* of the events recorded so far */
static uint32_t interrupted;   /* events that were interrupted, and went on */
static uint32_t *page[LEVELS]; /* the data of the event that is interrupted by handler n */
static volatile int level;     /* how many handlers run */
static int levels;
static enum { RETURN, JUMP, JUMP_TO_HANDLER, CALLS } act; /* what the deepest handler does */
static bool quiet; /* a handler that was jumped to records no more */
static sigjmp_buf back;
static _Atomic int came;

static void record(int count)
{
	for (int i = 0; i < count; i++, numbers++)
		posix_trace_event(id, &numbers, sizeof numbers);
}

/* Kills the process if this thread makes a system call but those that the tests need. */
static bool forbid_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof filter[0], filter };

	if (geteuid() != 0)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* Records an event that the next handler interrupts. */
static __attribute__((noinline)) void record_interrupted(void)
{
	posix_trace_event(interrupted_id, page[level], sizeof numbers);
	__asm__ __volatile__("" : : : "memory");
}

static void handle(int signal)
{
	int own = level++;

	/* The library itself has used memory that is not there. */
	if (own >= levels)
		_exit(1);
	record(EVENTS);
	if (level < levels) {
		if (act != JUMP_TO_HANDLER || own > 0 || sigsetjmp(back, 1) == 0)
			record_interrupted();
		else
			level = 1;
		if (quiet)
			goto out;
	} else if (act == JUMP || act == JUMP_TO_HANDLER) {
		siglongjmp(back, 1);
	} else if (act == CALLS) {
		if (!forbid_calls())
			_exit(77);
		record(EVENTS);
		atomic_store(&came, 1);
		syscall(SYS_exit, 0);
	}
	record(EVENTS);
out:
	if (mprotect(page[own], 4096, PROT_READ | PROT_WRITE) != 0)
		abort();
	*page[own] = interrupted++;
	level--;
	(void)signal;
}

static trace_id_t begin(int how_many, bool own_stack)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_NODEFER | (own_stack ? SA_ONSTACK : 0) };
	trace_id_t trid;

	levels = how_many;
	for (int i = 0; i < LEVELS; i++) {
		page[i] = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST((void *)page[i] != MAP_FAILED);
	}
	id = fault_open("fault");
	interrupted_id = fault_open("interrupted");
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	MUST(sigaction(SIGSEGV, &action, NULL) == 0);
	record(EVENTS);
	return trid;
}

/* Checks that the stream has all events, in order, and has lost no more than `most` others. */
static void check(trace_id_t trid, unsigned long most)
{
	struct posix_trace_status_info status;
	struct posix_trace_event_info event;
	uint32_t number, expected = 0, went_on = 0, sum = 0;
	size_t length;
	int unavailable;

	CHECK_EQ("THR-3", posix_trace_stop(trid), 0);
	while (posix_trace_trygetnext_event(trid, &event, &number, sizeof number, &length, &unavailable) == 0 &&
	       !unavailable) {
		if (event.posix_event_id == id) {
			CHECK_EQ("EVT-1 THR-3", number, expected);
			expected = number + 1;
		} else if (event.posix_event_id == interrupted_id) {
			went_on++;
			sum += number;
		}
	}
	CHECK_EQ("EVT-1 THR-3", went_on, interrupted);
	CHECK_EQ("EVT-1 THR-3", sum, interrupted * (interrupted - 1) / 2);
	CHECK_EQ("EVT-1 THR-3", expected, numbers);
	CHECK_EQ("THR-3", posix_trace_get_status(trid, &status), 0);
	CHECK_OP("EVT-1 H17", status.__posix_lost_events, <=, most);
	CHECK_EQ("SHUT-1", posix_trace_shutdown(trid), 0);
}

static void all_return(int how_many)
{
	trace_id_t trid;

	shm_private("");
	trid = begin(how_many, false);
	record_interrupted();
	record(EVENTS);
	CHECK_EQ("-", numbers, EVENTS * (2 + 2 * how_many));
	CHECK_EQ("-", interrupted, how_many);
	check(trid, 0);
}

TEST(one)  { all_return(1); }
TEST(two)  { all_return(2); }
TEST(many) { all_return(LEVELS); }

/* A second time, where the blocks and chunks are there; and in two streams. */
TEST(again)
{
	trace_id_t trid, second;

	shm_private("");
	trid = begin(3, false);
	MUST(posix_trace_create(0, NULL, &second) == 0);
	record_interrupted();
	record(EVENTS);
	for (int i = 0; i < 3; i++)
		MUST(mprotect(page[i], 4096, PROT_NONE) == 0);
	MUST(posix_trace_start(second) == 0);
	record_interrupted();
	CHECK_EQ("SHUT-1", posix_trace_shutdown(second), 0);
	for (int i = 0; i < 3; i++)
		MUST(mprotect(page[i], 4096, PROT_NONE) == 0);
	record_interrupted();
	record(EVENTS);
	check(trid, 0);
}

/* The handlers' stack is above the interrupted trace point, whose address then does not tell that it goes on. */
TEST(signal_stack)
{
	char memory[65536 + 4096 * LEVELS];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof memory };
	trace_id_t trid;

	shm_private("");
	MUST(sigaltstack(&stack, NULL) == 0);
	trid = begin(3, true);
	record_interrupted();
	record(EVENTS);
	CHECK_EQ("-", numbers, EVENTS * (2 + 2 * 3));
	CHECK_EQ("-", interrupted, 3);
	check(trid, 0);
	stack.ss_flags = SS_DISABLE;
	MUST(sigaltstack(&stack, NULL) == 0);
}

/* H17. The deepest handler jumps out of all trace points. */
TEST(jump)
{
	volatile int jumps = 0;
	trace_id_t trid;

	shm_private("");
	act = JUMP;
	trid = begin(3, false);
	sigsetjmp(back, 1);
	if (jumps++ < 10) {
		level = 0;
		record_interrupted();
	}
	record(EVENTS);
	check(trid, 10 * 3);
}

/* H17. The deepest handler jumps to another one, which goes on and returns. */
TEST(jump_to_handler)
{
	trace_id_t trid;

	shm_private("");
	act = JUMP_TO_HANDLER;
	trid = begin(3, false);
	record_interrupted();
	record(EVENTS);
	CHECK_EQ("-", numbers, EVENTS * (2 + 4));
	CHECK_EQ("-", interrupted, 1);
	check(trid, 2);
}

/* H17, H7. The thread that has left trace points by a jump shuts the stream down before its next event. */
TEST(jump_and_shutdown)
{
	trace_id_t trid, first;

	shm_private("");
	act = JUMP;
	first = begin(3, false);
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	numbers = 0;
	if (sigsetjmp(back, 1) == 0)
		record_interrupted();
	CHECK_EQ("SHUT-1 H17", posix_trace_shutdown(first), 0);
	record(EVENTS);
	check(trid, 3);
}

/* The same with a jump from a handler's trace point only: the interrupted one has ended. */
TEST(jump_to_handler_and_shutdown)
{
	trace_id_t trid, first;

	shm_private("");
	act = JUMP_TO_HANDLER;
	quiet = true;
	first = begin(3, false);
	MUST(posix_trace_create(0, NULL, &trid) == 0 && posix_trace_start(trid) == 0);
	numbers = 0;
	record_interrupted();
	CHECK_EQ("SHUT-1 H17", posix_trace_shutdown(first), 0);
	record(EVENTS);
	check(trid, 2);
}

/* An event whose text is there, and the rest is not. Inlined nowhere: each call has the same frame. */
static __attribute__((noinline)) void record_text(void)
{
	posixtrace_event_text(interrupted_id, "text", (const struct posixtrace_around *)page[0],
	                      POSIXTRACE_TEXT_SIZES(4, 0, POSIXTRACE_TEXT_MOST));
	__asm__ __volatile__("" : : : "memory");
}

static void *shut_down(void *trid)
{
	CHECK_EQ("SHUT-1", posix_trace_shutdown(*(trace_id_t *)trid), 0);
	return NULL;
}

/* H17. The next event with a text, which may be the only kind that a thread records, finds the thread outside again. */
TEST(jump_from_text)
{
	pthread_t thread;
	trace_id_t trid;

	shm_private("");
	act = JUMP;
	trid = begin(1, false);
	if (sigsetjmp(back, 1) == 0)
		record_text();
	MUST(mprotect(page[0], 4096, PROT_READ | PROT_WRITE) == 0);
	for (int i = 0; i < EVENTS; i++)
		record_text();
	/* No trace point goes on, so another thread need not wait to let go of the stream. */
	MUST(pthread_create(&thread, NULL, shut_down, &trid) == 0 && pthread_join(thread, NULL) == 0);
	CHECK_EQ("SHUT-2 H17", shm_mappings(getpid(), "/stream-"), 0);
}

/* -- What the events of a handler cost --------------------------------------------- */

static void *interrupted_without_calls(void *own_stack)
{
	char memory[65536 + 4096 * LEVELS];
	stack_t stack = { .ss_sp = memory, .ss_size = sizeof memory };

	if (own_stack && sigaltstack(&stack, NULL) != 0)
		abort();
	record(EVENTS);
	record_interrupted();
	return NULL;
}

static void calls(int how_many, bool own_stack)
{
	struct timespec t = { 0, 100000 };
	trace_id_t trid;
	pthread_t thread;
	int status = SIGSYS;
	pid_t pid;

	/* Where threads are not made to pass a barrier, each event takes the slow way. */
	if (syscall(SYS_membarrier, 0, 0, 0) <= 0)
		SKIP("no membarrier()");
	shm_private("");
	for (int try = 0; try < TRIES && WIFSIGNALED(status); try++) {
		pid = fork();
		MUST(pid >= 0);
		if (pid == 0) {
			act = CALLS;
			trid = begin(how_many, own_stack);
			MUST(pthread_create(&thread, NULL, interrupted_without_calls, own_stack ? &thread : NULL) == 0);
			while (!atomic_load(&came))
				nanosleep(&t, NULL);
			check(trid, 0);
			_exit(test_failures ? 1 : 0);
		}
		MUST(waitpid(pid, &status, 0) == pid);
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("no filters of system calls here");
	CHECK("EVT-1 THR-3", WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(calls)              { calls(1, false); }
TEST(calls_deeper)       { calls(3, false); }
TEST(calls_signal_stack) { calls(2, true); }

TEST_MAIN(TEST_ENTRY(one), TEST_ENTRY(two), TEST_ENTRY(many), TEST_ENTRY(again), TEST_ENTRY(signal_stack),
          TEST_ENTRY(jump), TEST_ENTRY(jump_to_handler), TEST_ENTRY(jump_and_shutdown),
          TEST_ENTRY(jump_to_handler_and_shutdown), TEST_ENTRY(jump_from_text), TEST_ENTRY(calls),
          TEST_ENTRY(calls_deeper), TEST_ENTRY(calls_signal_stack))
