/*
 * kernel.c - what Linux does and qemu-user 7.2 only pretends to do, for the programs under test
 *
 * Loaded into each of them before the C library (script/test-more aarch64, armhf):
 *
 * - madvise() with MADV_WIPEONFORK and MADV_DONTFORK. qemu-user treats all
 *   advice as hints, reports success and ignores it. This library remembers the
 *   advice, and applies it in the child of fork(), _Fork() and clone().
 * - A program that executes another one. The kernel could only do this with
 *   qemu-user registered as its interpreter, which needs root and affects the
 *   whole machine.
 *
 * Each test has to detect and report what else qemu-user lacks.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The C library's functions, found before main(), because a signal handler may not search for them. */
static __typeof__(&mmap) real_mmap;
static __typeof__(&munmap) real_munmap;
static __typeof__(&syscall) real_syscall;
static __typeof__(&_Fork) real_fork;
static __typeof__(&execve) real_execve;
static __typeof__(&posix_spawn) real_spawn;

static void find(void)
{
	real_munmap = (__typeof__(&munmap))dlsym(RTLD_NEXT, "munmap");
	real_syscall = (__typeof__(&syscall))dlsym(RTLD_NEXT, "syscall");
	real_fork = (__typeof__(&_Fork))dlsym(RTLD_NEXT, "_Fork");
	real_execve = (__typeof__(&execve))dlsym(RTLD_NEXT, "execve");
	real_spawn = (__typeof__(&posix_spawn))dlsym(RTLD_NEXT, "posix_spawn");
	real_mmap = (__typeof__(&mmap))dlsym(RTLD_NEXT, "mmap64");
}

/* Another library's constructor may run before ours. */
#define REAL(name) (real_mmap ? (void)0 : find(), real_##name)

/* -- Advice ----------------------------------------------------------------- */

#define RANGES 4096
#define SHARED (-1)

/* Entries are claimed by a compare-and-swap, because a signal handler may use them, too. */
static struct range {
	uintptr_t begin; /* 0: free; 1: being filled */
	uintptr_t end;
	int advice; /* or SHARED: no advice, a shared mapping */
} range[RANGES];
static unsigned used;

static int keep(uintptr_t begin, size_t size, int advice)
{
	for (unsigned i = 0; i < RANGES; i++) {
		uintptr_t none = 0;
		unsigned before = __atomic_load_n(&used, __ATOMIC_SEQ_CST);

		if (!__atomic_compare_exchange_n(&range[i].begin, &none, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			continue;
		range[i].end = begin + ((size + 4095) & ~(size_t)4095);
		range[i].advice = advice;
		__atomic_store_n(&range[i].begin, begin, __ATOMIC_SEQ_CST);
		while (before <= i &&
		       !__atomic_compare_exchange_n(&used, &before, i + 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			;
		return 0;
	}
	errno = ENOMEM;
	return -1;
}

static void forget(uintptr_t begin, size_t size)
{
	uintptr_t end = begin + ((size + 4095) & ~(size_t)4095);

	for (unsigned i = 0; i < __atomic_load_n(&used, __ATOMIC_SEQ_CST); i++) {
		uintptr_t at = __atomic_load_n(&range[i].begin, __ATOMIC_SEQ_CST);

		if (at > 1 && at >= begin && at < end && range[i].end <= end)
			__atomic_store_n(&range[i].begin, 0, __ATOMIC_SEQ_CST);
	}
}

static void in_child(void)
{
	int saved = errno;

	for (unsigned i = 0; i < used; i++) {
		void *at = (void *)range[i].begin;
		size_t size = range[i].end - range[i].begin;

		if (range[i].begin <= 1 || range[i].advice == SHARED)
			continue;
		if (range[i].advice == MADV_WIPEONFORK)
			REAL(mmap)(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		else
			munmap(at, size);
	}
	errno = saved;
}

/* Returns true for shared memory, which cannot be wiped, as in the kernel. */
static bool is_shared(uintptr_t at)
{
	for (unsigned i = 0; i < __atomic_load_n(&used, __ATOMIC_SEQ_CST); i++)
		if (range[i].advice == SHARED && range[i].begin > 1 && range[i].begin <= at && at < range[i].end)
			return true;
	return false;
}

static long advise(uintptr_t at, size_t size, int advice)
{
	if (at % 4096 || (advice == MADV_WIPEONFORK && is_shared(at))) {
		errno = EINVAL;
		return -1;
	}
	return keep(at, size, advice);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	void *p;

	if (flags & MAP_FIXED)
		forget((uintptr_t)at, size);
	p = REAL(mmap)(at, size, protection, flags, fd, offset);
	if (p != MAP_FAILED && (flags & MAP_TYPE) == MAP_SHARED)
		keep((uintptr_t)p, size, SHARED);
	return p;
}

#if __SIZEOF_POINTER__ == 8 /* otherwise mmap() with 64-bit offsets already has this name */
/* With _FILE_OFFSET_BITS programs call mmap64(). */
void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));
#endif

int munmap(void *at, size_t size)
{
	forget((uintptr_t)at, size);
	return REAL(munmap)(at, size);
}

pid_t _Fork(void)
{
	pid_t pid = REAL(fork)();

	if (pid == 0)
		in_child();
	return pid;
}

long syscall(long number, ...)
{
	long a[6], result;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_madvise && ((int)a[2] == MADV_WIPEONFORK || (int)a[2] == MADV_DONTFORK))
		return advise((uintptr_t)a[0], (size_t)a[1], (int)a[2]);
	result = REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (number == SYS_clone && result == 0 && !(a[0] & CLONE_VM))
		in_child();
	return result;
}

/* Runs before the program registers its own fork handlers. */
__attribute__((constructor)) static void begin(void)
{
	find();
	pthread_atfork(NULL, NULL, in_child);
}

/* -- Programs ---------------------------------------------------------------- */

#if defined __aarch64__
# define QEMU    "qemu-aarch64"
# define PREFIX  "/usr/aarch64-linux-gnu"
# define MACHINE EM_AARCH64
#else
# define QEMU    "qemu-arm"
# define PREFIX  "/usr/arm-linux-gnueabihf"
# define MACHINE EM_ARM
#endif
#define ARGUMENTS 64

static bool for_arm(const char *path)
{
	ElfW(Ehdr) header;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool yes = fd >= 0 && read(fd, &header, sizeof header) == sizeof header &&
	           memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == MACHINE;

	if (fd >= 0)
		close(fd);
	return yes && access(path, X_OK) == 0;
}

struct command {
	const char *path;
	char *argument[ARGUMENTS];
	char *variable[1024];
	char preload[4096];
};

/* Makes the same command for a program of this machine type. LD_PRELOAD is passed to qemu for the program, because
 * qemu's own loader could not load our library. */
static void make(struct command *c, const char *path, char *const argument[], char *const variable[])
{
	int n = 0, v = 0;
	bool arm = for_arm(path);

	c->path = path;
	if (arm) {
		c->path = "/usr/bin/" QEMU;
		c->argument[n++] = (char *)QEMU;
		c->argument[n++] = (char *)"-0";
		c->argument[n++] = argument && argument[0] ? argument[0] : (char *)path;
		c->argument[n++] = (char *)path;
	}
	for (int i = arm ? 1 : 0; argument && argument[0] && argument[i] && n < ARGUMENTS - 1; i++)
		c->argument[n++] = argument[i];
	c->argument[n] = NULL;
	for (int i = 0; variable && variable[i] && v < 1020; i++) {
		if (strncmp(variable[i], "LD_PRELOAD=", 11) == 0)
			snprintf(c->preload, sizeof c->preload, "QEMU_SET_ENV=%s", variable[i]),
				c->variable[v++] = c->preload;
		else if (strncmp(variable[i], "QEMU_", 5) != 0)
			c->variable[v++] = variable[i];
	}
	c->variable[v++] = (char *)"QEMU_LD_PREFIX=" PREFIX;
	c->variable[v] = NULL;
}

int execve(const char *path, char *const argument[], char *const variable[])
{
	struct command c;

	make(&c, path, argument, variable);
	return REAL(execve)(c.path, c.argument, c.variable);
}

int execv(const char *path, char *const argument[])
{
	return execve(path, argument, environ);
}

/* Copies the arguments of a variadic call into an array. */
#define GATHER(first)                                                             \
	char *argument[ARGUMENTS] = { (char *)(uintptr_t)(first) };               \
	va_list list;                                                             \
	va_start(list, first);                                                    \
	for (int n = 1; argument[n - 1] && n < ARGUMENTS - 1; n++)                \
		argument[n] = va_arg(list, char *);                               \
	va_end(list)

int execl(const char *path, const char *first, ...)
{
	GATHER(first);
	return execve(path, argument, environ);
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
                char *const argument[], char *const variable[])
{
	struct command c;

	make(&c, path, argument, variable);
	return REAL(spawn)(pid, c.path, actions, attr, c.argument, c.variable);
}
