/*
 * common.c - liblttng-ust-common.so.1: read-side sections, records of threads, and what has nothing to do with recording
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lock.h"
#include "thread.h"

/* Exported for programs, whose headers declare them. */
EXPORT void lttng_ust_urcu_register_thread(void);
EXPORT void lttng_ust_urcu_read_lock(void);
EXPORT void lttng_ust_urcu_read_unlock(void);
EXPORT int lttng_ust_urcu_read_ongoing(void);
EXPORT void lttng_ust_urcu_synchronize_rcu(void);
EXPORT void lttng_ust_urcu_before_fork(void);
EXPORT void lttng_ust_urcu_after_fork_parent(void);
EXPORT void lttng_ust_urcu_after_fork_child(void);

/* -- Records of threads -------------------------------------------------------------------------------- */

#define BLOCK_THREADS 64

/* Records, each in pages of its own: those of threads that never come here take no memory. Never unmapped. */
struct block {
	struct block *next;
	unsigned char *threads; /* BLOCK_THREADS records of THREAD_SIZE bytes */
};

EXPORT __thread struct thread *lttng_ust_urcu_reader __attribute__((tls_model("initial-exec")));
static struct block *blocks;
/* For all threads that found no memory. Has no room for events. */
static struct thread spare;

static struct thread *record(const struct block *b, unsigned i)
{
	return (struct thread *)(b->threads + (size_t)i * THREAD_SIZE);
}

static bool claim(struct thread *t, pid_t old, pid_t own)
{
	if (!__atomic_compare_exchange_n(&t->owner, &old, own, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&t->ctr, 0, __ATOMIC_RELAXED);
	t->room = THREAD_SIZE - offsetof(struct thread, data);
	t->top = 0;
	return true;
}

/* Returns whether the thread has ended, without leaving a sign: the kernel knows. */
static bool has_ended(pid_t tid)
{
	return syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH;
}

/* Returns a record that no thread has. ended: also look for those whose thread has ended, with a system call for each. */
static struct thread *find(pid_t own, bool ended)
{
	for (struct block *b = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE); b; b = b->next)
		for (unsigned i = 0; i < BLOCK_THREADS; i++) {
			struct thread *t = record(b, i);
			pid_t owner = __atomic_load_n(&t->owner, __ATOMIC_RELAXED);

			if ((owner == 0 || (ended && owner != own && has_ended(owner))) && claim(t, owner, own))
				return t;
		}
	return NULL;
}

static struct thread *add_block(pid_t own)
{
	size_t size = sizeof(struct block) + (size_t)(BLOCK_THREADS + 1) * THREAD_SIZE;
	unsigned char *memory = (unsigned char *)mmap(NULL, size, PROT_READ | PROT_WRITE,
	                                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct block *b = (struct block *)memory;

	if (memory == MAP_FAILED)
		return &spare;
	b->threads = memory + THREAD_SIZE;
	claim(record(b, 0), 0, own);
	b->next = __atomic_load_n(&blocks, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&blocks, &b->next, b, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	return record(b, 0);
}

EXPORT void lttng_ust_urcu_register(void)
{
	int kept = errno;
	pid_t own = (pid_t)syscall(SYS_gettid);
	struct thread *t = find(own, false);

	if (!t)
		t = find(own, true);
	if (!t)
		t = add_block(own);
	/* A handler may have come here meanwhile: then its record is the thread's. */
	if (!lttng_ust_urcu_reader)
		lttng_ust_urcu_reader = t;
	else if (t != &spare)
		__atomic_store_n(&t->owner, 0, __ATOMIC_RELEASE);
	errno = kept;
}

EXPORT void lttng_ust_urcu_register_thread(void)
{
	thread_own();
}

/* -- Read-side sections --------------------------------------------------------------------------------- */

/* How long to wait for a section that does not end, because its thread has left it by longjmp(). */
#define WAIT_ROUNDS 10000
#define WAIT_NS     100000

EXPORT struct section_phase lttng_ust_urcu_gp = { SECTION_ONE };
EXPORT int lttng_ust_urcu_has_sys_membarrier;
static struct lock phase_lock;

EXPORT void lttng_ust_urcu_read_lock(void)
{
	section_begin();
}

EXPORT void lttng_ust_urcu_read_unlock(void)
{
	section_end();
}

EXPORT int lttng_ust_urcu_read_ongoing(void)
{
	return (thread_own()->ctr & SECTION_NEST) != 0;
}

/* Makes all threads see what this one has stored, and the other way round. PAIR(lttng-sections) */
static void fence_all(void)
{
	if (lttng_ust_urcu_has_sys_membarrier &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0 &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Returns whether the thread is in a section that began before the phase was changed. */
static bool in_old_section(const struct thread *t)
{
	unsigned long ctr = __atomic_load_n(&t->ctr, __ATOMIC_RELAXED);

	return (ctr & SECTION_NEST) != 0 && ((ctr ^ lttng_ust_urcu_gp.ctr) & SECTION_PHASE) != 0;
}

/* Waits until a thread's section has ended. Returns false if it does not end. */
static bool wait_for(struct thread *t)
{
	/* By the system call, because nanosleep() is a cancellation point. */
	struct timespec pause = { 0, WAIT_NS };

	if (t == lttng_ust_urcu_reader)
		return !in_old_section(t);
	for (unsigned round = 0; in_old_section(t); round++) {
		pid_t owner = __atomic_load_n(&t->owner, __ATOMIC_ACQUIRE);

		if (owner == 0 || (round % 64 == 63 && has_ended(owner)))
			return true;
		if (round == WAIT_ROUNDS)
			return false;
		syscall(SYS_nanosleep, &pause, NULL);
	}
	return true;
}

static bool change_phase(void)
{
	bool ended = true;

	__atomic_store_n(&lttng_ust_urcu_gp.ctr, lttng_ust_urcu_gp.ctr ^ SECTION_PHASE, __ATOMIC_RELAXED);
	fence_all();
	for (struct block *b = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE); b; b = b->next)
		for (unsigned i = 0; i < BLOCK_THREADS && ended; i++)
			if (__atomic_load_n(&record(b, i)->owner, __ATOMIC_ACQUIRE) != 0)
				ended = wait_for(record(b, i));
	return ended;
}

EXPORT bool posixtrace_lttng_sections_end(void)
{
	int kept = errno;
	bool ended;

	lock_take(&phase_lock);
	fence_all();
	/* Twice: a section that took the phase just before the first change may have begun after it. */
	ended = change_phase();
	ended = change_phase() && ended;
	fence_all();
	lock_release(&phase_lock);
	errno = kept;
	return ended;
}

EXPORT void lttng_ust_urcu_synchronize_rcu(void)
{
	posixtrace_lttng_sections_end();
}

/* -- fork() ------------------------------------------------------------------------------------------------ */

/* Frees the records of the threads that do not exist in the child, and makes the caller's its own. */
static void after_fork_in_child(void)
{
	pid_t own = (pid_t)syscall(SYS_gettid);

	for (struct block *b = blocks; b; b = b->next)
		for (unsigned i = 0; i < BLOCK_THREADS; i++)
			if (record(b, i)->owner != 0)
				record(b, i)->owner = record(b, i) == lttng_ust_urcu_reader ? own : 0;
	/* Another thread may have had it. */
	phase_lock.state = 0;
}

/* What LTTng's fork wrapper calls around clone() as well: fork() itself comes to the function above. */
EXPORT void lttng_ust_urcu_before_fork(void)
{
}

EXPORT void lttng_ust_urcu_after_fork_parent(void)
{
}

EXPORT void lttng_ust_urcu_after_fork_child(void)
{
}

/* -- Begin ---------------------------------------------------------------------------------------------------- */

EXPORT void lttng_ust_common_ctor(void) __attribute__((constructor));

EXPORT void lttng_ust_common_ctor(void)
{
	static bool done;
	int kept = errno;

	if (done)
		return;
	done = true;
	pthread_atfork(NULL, NULL, after_fork_in_child);
	/* Until then sections have fences of their own, which are enough whatever the other side does. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0)
		__atomic_store_n(&lttng_ust_urcu_has_sys_membarrier, 1, __ATOMIC_RELAXED);
	errno = kept;
}

EXPORT void lttng_ust_common_alloc_tls(void);

EXPORT void lttng_ust_common_alloc_tls(void)
{
	thread_own();
}

/* -- Functions without a meaning here ---------------------------------------------------------------------------- */

/*
 * LTTng's fd wrapper asks before it closes a descriptor, so that a program cannot close those of the tracer. This one has
 * none that it keeps.
 */
EXPORT void lttng_ust_lock_fd_tracker(void);
EXPORT void lttng_ust_unlock_fd_tracker(void);
EXPORT int lttng_ust_add_fd_to_tracker(int fd);
EXPORT void lttng_ust_delete_fd_from_tracker(int fd);
EXPORT int lttng_ust_safe_close_fd(int fd, int (*close_fd)(int));
EXPORT int lttng_ust_safe_fclose_stream(FILE *stream, int (*close_stream)(FILE *));
EXPORT int lttng_ust_safe_closefrom_fd(int lowest, int (*close_fd)(int));

EXPORT void lttng_ust_lock_fd_tracker(void)
{
}

EXPORT void lttng_ust_unlock_fd_tracker(void)
{
}

EXPORT int lttng_ust_add_fd_to_tracker(int fd)
{
	return fd;
}

EXPORT void lttng_ust_delete_fd_from_tracker(int fd)
{
}

EXPORT int lttng_ust_safe_close_fd(int fd, int (*close_fd)(int))
{
	return close_fd(fd);
}

EXPORT int lttng_ust_safe_fclose_stream(FILE *stream, int (*close_stream)(FILE *))
{
	return close_stream(stream);
}

EXPORT int lttng_ust_safe_closefrom_fd(int lowest, int (*close_fd)(int))
{
	long most = sysconf(_SC_OPEN_MAX);

	for (int fd = lowest < 0 ? 0 : lowest; fd < most; fd++)
		close_fd(fd);
	return 0;
}

static __thread int cancel_depth __attribute__((tls_model("initial-exec")));
static __thread int cancel_state __attribute__((tls_model("initial-exec")));

EXPORT int lttng_ust_cancelstate_disable_push(void);
EXPORT int lttng_ust_cancelstate_disable_pop(void);

EXPORT int lttng_ust_cancelstate_disable_push(void)
{
	if (cancel_depth++ == 0)
		return pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state) ? -1 : 0;
	return 0;
}

EXPORT int lttng_ust_cancelstate_disable_pop(void)
{
	int state;

	if (cancel_depth == 0)
		return -1;
	if (--cancel_depth == 0)
		return pthread_setcancelstate(cancel_state, &state) ? -1 : 0;
	return 0;
}

EXPORT void *lttng_ust_rcu_dereference_sym(void *p);
EXPORT void *lttng_ust_rcu_set_pointer_sym(void **p, void *v);
EXPORT void *lttng_ust_rcu_xchg_pointer_sym(void **p, void *v);
EXPORT void *lttng_ust_rcu_cmpxchg_pointer_sym(void **p, void *old, void *v);

EXPORT void *lttng_ust_rcu_dereference_sym(void *p)
{
	return p;
}

EXPORT void *lttng_ust_rcu_set_pointer_sym(void **p, void *v)
{
	__atomic_store_n(p, v, __ATOMIC_SEQ_CST);
	return v;
}

EXPORT void *lttng_ust_rcu_xchg_pointer_sym(void **p, void *v)
{
	return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
}

EXPORT void *lttng_ust_rcu_cmpxchg_pointer_sym(void **p, void *old, void *v)
{
	__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}

/*
 * A program's own clock, and its own number of the processor: accepted, and not used. Events have the time of
 * posix_trace_event(). Null, as LTTng's tools that need this library find them: none was set.
 */
EXPORT void *lttng_ust_trace_clock;
EXPORT int (*lttng_ust_get_cpu_sym)(void);

EXPORT int lttng_ust_getcpu_override(int (*getcpu)(void));
EXPORT int lttng_ust_enable_trace_clock_override(void);

EXPORT int lttng_ust_getcpu_override(int (*getcpu)(void))
{
	return 0;
}

EXPORT int lttng_ust_enable_trace_clock_override(void)
{
	return 0;
}

/* Defines the functions that set and tell a part of the clock. */
#define CLOCK_PART(part, type)                                                                                         \
	EXPORT int lttng_ust_trace_clock_set_##part##_cb(type callback);                                               \
	EXPORT int lttng_ust_trace_clock_get_##part##_cb(type *callback);                                              \
	static type clock_##part;                                                                                      \
	EXPORT int lttng_ust_trace_clock_set_##part##_cb(type callback)                                                \
	{                                                                                                              \
		clock_##part = callback;                                                                               \
		return 0;                                                                                              \
	}                                                                                                              \
	EXPORT int lttng_ust_trace_clock_get_##part##_cb(type *callback)                                               \
	{                                                                                                              \
		if (!callback)                                                                                         \
			return -EINVAL;                                                                                \
		*callback = clock_##part;                                                                              \
		return 0;                                                                                              \
	}

typedef uint64_t (*clock_number)(void);
typedef const char *(*clock_text)(void);
typedef int (*clock_identity)(char *uuid);
CLOCK_PART(read64, clock_number)
CLOCK_PART(freq, clock_number)
CLOCK_PART(uuid, clock_identity)
CLOCK_PART(name, clock_text)
CLOCK_PART(description, clock_text)
