/*
 * locks.c - wrappers of calls that wait for locks, conditions, barriers, semaphores and the ends of threads
 *
 * Only waits are recorded. A wrapper tries first, and calls the function itself if that would block: the function then
 * reports whatever else there is to report, such as a deadlock. The trying functions are those of the C library, in the
 * order of ld.so.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <semaphore.h>

#include "libc/clock.h"
#include "libc/libc.h"

#define RESULT_FIELD "result:i32<ok=0,EPERM=1,EINTR=4,EAGAIN=11,EBUSY=16,EINVAL=22,EDEADLK=35,ETIMEDOUT=110,EOWNERDEAD=130>"

/* -- Mutexes and locks for reading and writing ------------------------------------------------------------ */

/* What is recorded of a lock. */
struct lock_wait {
	uint64_t took, lock;
	int32_t holder, result;
};

#define LOCK_LAYOUT "{took=took;took:u64/ns,lock:x64,holder:i32," RESULT_FIELD "}"

static struct posixtrace_event event_mutex = { "libc.mutex_wait", LOCK_LAYOUT, 0 };
static struct posixtrace_event event_rdlock = { "libc.rdlock_wait", LOCK_LAYOUT, 0 };
static struct posixtrace_event event_wrlock = { "libc.wrlock_wait", LOCK_LAYOUT, 0 };

/* Returns the thread that holds a mutex, which may change at any time; 0: none, or it is not known. */
static int32_t mutex_holder(const pthread_mutex_t *mutex)
{
	int32_t owner = __atomic_load_n(&mutex->__data.__owner, __ATOMIC_RELAXED);

	/* The C library marks robust mutexes that cannot be recovered with INT_MAX. */
	return owner > 0 && owner < INT32_MAX ? owner : 0;
}

/* Returns the thread that holds a lock for writing; 0: none, so there are readers. */
static int32_t rwlock_holder(const pthread_rwlock_t *lock)
{
	return __atomic_load_n(&lock->__data.__cur_writer, __ATOMIC_RELAXED);
}

/* Defines a wrapper. try: what returns EBUSY if the lock is held. */
#define LOCK_WRAPPER(name, try, event, type, lock_holder, parameters, arguments)                               \
	WRAPPER int name parameters                                                                            \
	{                                                                                                      \
		NEXT(int, name, parameters);                                                                   \
		static struct next NEXT_ENTRY next_try_##name = { NULL, #try, NULL };                          \
		struct lock_wait wait;                                                                         \
		uint64_t began;                                                                                \
		int tried;                                                                                     \
                                                                                                               \
		if (!RECORDED(GROUP_LOCKS))                                                                    \
			return next arguments;                                                                 \
		tried = ((int (*)(type *))next_function(&next_try_##name))(lock);                              \
		if (tried != EBUSY)                                                                            \
			return tried;                                                                          \
		wait.holder = lock_holder(lock);                                                               \
		began = clock_now();                                                                           \
		wait.result = next arguments;                                                                  \
		wait.took = clock_took(began);                                                                 \
		wait.lock = (uintptr_t)lock;                                                                   \
		record_data(&event_##event, &wait, sizeof wait, CALLER);                                       \
		return wait.result;                                                                            \
	}

#define MUTEX_WRAPPER(name, parameters, arguments) \
	LOCK_WRAPPER(name, pthread_mutex_trylock, mutex, pthread_mutex_t, mutex_holder, parameters, arguments)
#define RDLOCK_WRAPPER(name, parameters, arguments) \
	LOCK_WRAPPER(name, pthread_rwlock_tryrdlock, rdlock, pthread_rwlock_t, rwlock_holder, parameters, arguments)
#define WRLOCK_WRAPPER(name, parameters, arguments) \
	LOCK_WRAPPER(name, pthread_rwlock_trywrlock, wrlock, pthread_rwlock_t, rwlock_holder, parameters, arguments)

#define TIME const struct timespec *restrict time

MUTEX_WRAPPER(pthread_mutex_lock, (pthread_mutex_t *lock), (lock))
MUTEX_WRAPPER(pthread_mutex_timedlock, (pthread_mutex_t *restrict lock, TIME), (lock, time))
RDLOCK_WRAPPER(pthread_rwlock_rdlock, (pthread_rwlock_t *lock), (lock))
RDLOCK_WRAPPER(pthread_rwlock_timedrdlock, (pthread_rwlock_t *restrict lock, TIME), (lock, time))
WRLOCK_WRAPPER(pthread_rwlock_wrlock, (pthread_rwlock_t *lock), (lock))
WRLOCK_WRAPPER(pthread_rwlock_timedwrlock, (pthread_rwlock_t *restrict lock, TIME), (lock, time))
#if __GLIBC_PREREQ(2, 30)
MUTEX_WRAPPER(pthread_mutex_clocklock, (pthread_mutex_t *restrict lock, clockid_t clock, TIME), (lock, clock, time))
RDLOCK_WRAPPER(pthread_rwlock_clockrdlock, (pthread_rwlock_t *restrict lock, clockid_t clock, TIME), (lock, clock, time))
WRLOCK_WRAPPER(pthread_rwlock_clockwrlock, (pthread_rwlock_t *restrict lock, clockid_t clock, TIME), (lock, clock, time))
#endif

/* -- Conditions and barriers, which are there to wait ------------------------------------------------------ */

struct cond_wait {
	uint64_t took, cond, mutex;
	int32_t result;
};

struct barrier_wait {
	uint64_t took, barrier;
	int32_t result;
};

static struct posixtrace_event event_cond = {
	"libc.cond_wait", "{took=took;took:u64/ns,cond:x64,mutex:x64," RESULT_FIELD "}", 0
};
static struct posixtrace_event event_barrier = {
	"libc.barrier_wait", "{took=took;took:u64/ns,barrier:x64,result:i32<ok=0,last=-1,EINVAL=22>}", 0
};

/*
 * On processors that glibc 2.3.2 supported, the function has an older version for an older pthread_cond_t. A lookup
 * without a version may find that one.
 */
#define COND_WRAPPER(name, version, parameters, arguments)                                                     \
	WRAPPER int name parameters                                                                            \
	{                                                                                                      \
		NEXT_VERSION(int, name, version, parameters);                                                  \
		struct cond_wait wait;                                                                         \
		uint64_t began;                                                                                \
                                                                                                               \
		if (!RECORDED(GROUP_LOCKS))                                                                    \
			return next arguments;                                                                 \
		began = clock_now();                                                                           \
		wait.result = next arguments;                                                                  \
		wait.took = clock_took(began);                                                                 \
		wait.cond = (uintptr_t)cond;                                                                   \
		wait.mutex = (uintptr_t)mutex;                                                                 \
		record_data(&event_cond, &wait, offsetof(struct cond_wait, result) + 4, CALLER);               \
		return wait.result;                                                                            \
	}

COND_WRAPPER(pthread_cond_wait, "GLIBC_2.3.2", (pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex),
             (cond, mutex))
COND_WRAPPER(pthread_cond_timedwait, "GLIBC_2.3.2",
             (pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex, TIME), (cond, mutex, time))
#if __GLIBC_PREREQ(2, 30)
COND_WRAPPER(pthread_cond_clockwait, NULL,
             (pthread_cond_t *restrict cond, pthread_mutex_t *restrict mutex, clockid_t clock, TIME),
             (cond, mutex, clock, time))
#endif

WRAPPER int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	NEXT(int, pthread_barrier_wait, (pthread_barrier_t *));
	struct barrier_wait wait;
	uint64_t began;

	if (!RECORDED(GROUP_LOCKS))
		return next(barrier);
	began = clock_now();
	wait.result = next(barrier);
	wait.took = clock_took(began);
	wait.barrier = (uintptr_t)barrier;
	record_data(&event_barrier, &wait, offsetof(struct barrier_wait, result) + 4, CALLER);
	return wait.result;
}

/* -- Semaphores ----------------------------------------------------------------------------------------- */

struct sem_wait {
	uint64_t took, semaphore;
	uint16_t error;
};

static struct posixtrace_event event_sem = { "libc.sem_wait", "{took=took;took:u64/ns,semaphore:x64," ERRNO_FIELD "}", 0 };

/*
 * sem_wait() is left by a cancellation that is pending, even if it need not block. The function itself is called if the
 * semaphore cannot be taken at once.
 */
#define SEM_WRAPPER(name, parameters, arguments)                                                               \
	WRAPPER int name parameters                                                                            \
	{                                                                                                      \
		NEXT(int, name, parameters);                                                                   \
		static struct next NEXT_ENTRY next_try_##name = { NULL, "sem_trywait", NULL };                 \
		struct sem_wait wait;                                                                          \
		uint64_t began;                                                                                \
		int result, error = errno;                                                                     \
                                                                                                               \
		if (!RECORDED(GROUP_LOCKS))                                                                    \
			return next arguments;                                                                 \
		pthread_testcancel();                                                                          \
		if (((int (*)(sem_t *))next_function(&next_try_##name))(semaphore) == 0)                       \
			return 0;                                                                              \
		errno = error;                                                                                 \
		began = clock_now();                                                                           \
		result = next arguments;                                                                       \
		wait.took = clock_took(began);                                                                 \
		wait.semaphore = (uintptr_t)semaphore;                                                         \
		wait.error = result < 0 ? (uint16_t)errno : 0;                                                 \
		record_data(&event_sem, &wait, offsetof(struct sem_wait, error) + 2, CALLER);                  \
		return result;                                                                                 \
	}

SEM_WRAPPER(sem_wait, (sem_t *semaphore), (semaphore))
SEM_WRAPPER(sem_timedwait, (sem_t *restrict semaphore, TIME), (semaphore, time))
#if __GLIBC_PREREQ(2, 30)
SEM_WRAPPER(sem_clockwait, (sem_t *restrict semaphore, clockid_t clock, TIME), (semaphore, clock, time))
#endif

/* -- The ends of threads ---------------------------------------------------------------------------------- */

struct join_wait {
	uint64_t took, thread;
	int32_t tid, result;
};

static struct posixtrace_event event_join = {
	"libc.join_wait", "{took=took;took:u64/ns,thread:x64,tid:i32," RESULT_FIELD "}", 0
};

/* Returns the kernel's number of a thread that can be joined; 0: it has ended. The clock of a thread has its number. */
static int32_t thread_number(pthread_t thread)
{
	clockid_t clock;

	return pthread_getcpuclockid(thread, &clock) == 0 ? (int32_t)~(clock >> 3) : 0;
}

#define JOIN_WRAPPER(name, parameters, arguments)                                                              \
	WRAPPER int name parameters                                                                            \
	{                                                                                                      \
		NEXT(int, name, parameters);                                                                   \
		static struct next NEXT_ENTRY next_try_##name = { NULL, "pthread_tryjoin_np", NULL };          \
		struct join_wait wait;                                                                         \
		uint64_t began;                                                                                \
		int tried;                                                                                     \
                                                                                                               \
		if (!RECORDED(GROUP_LOCKS))                                                                    \
			return next arguments;                                                                 \
		tried = ((int (*)(pthread_t, void **))next_function(&next_try_##name))(thread, value);         \
		if (tried != EBUSY)                                                                            \
			return tried;                                                                          \
		wait.thread = (uint64_t)thread;                                                                \
		wait.tid = thread_number(thread);                                                              \
		began = clock_now();                                                                           \
		wait.result = next arguments;                                                                  \
		wait.took = clock_took(began);                                                                 \
		record_data(&event_join, &wait, sizeof wait, CALLER);                                          \
		return wait.result;                                                                            \
	}

JOIN_WRAPPER(pthread_join, (pthread_t thread, void **value), (thread, value))
JOIN_WRAPPER(pthread_timedjoin_np, (pthread_t thread, void **value, const struct timespec *time), (thread, value, time))
#if __GLIBC_PREREQ(2, 31)
JOIN_WRAPPER(pthread_clockjoin_np, (pthread_t thread, void **value, clockid_t clock, const struct timespec *time),
             (thread, value, clock, time))
#endif
