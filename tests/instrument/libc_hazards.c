/*
 * libc_hazards.c - what a wrapper of the C library could break, a hazard for each argument, for libc.py
 *
 *     libc_hazards HAZARD      ends with status 0 if nothing was broken
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define MUST(condition)                                                       \
	do {                                                                  \
		if (!(condition)) {                                           \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			_exit(1);                                             \
		}                                                             \
	} while (0)

static int pipe_ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

/* -- errno ------------------------------------------------------------------------------------------------ */

/* Successful calls leave errno alone, also the first use of a descriptor. */
static void test_errno(void)
{
	char byte;
	void *p;
	int fd, count, ends[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	errno = 99;
	fd = open("/dev/zero", O_RDONLY);
	MUST(fd >= 0 && errno == 99);
	MUST(read(fd, &byte, 1) == 1 && errno == 99);
	MUST(write(ends[0], "x", 1) == 1 && errno == 99);
	MUST(recv(ends[1], &byte, 1, 0) == 1 && errno == 99);
	MUST(ioctl(ends[0], FIONREAD, &count) == 0 && errno == 99);
	MUST(close(fd) == 0 && errno == 99);
	p = malloc(100);
	free(p);
	MUST(errno == 99);
	MUST(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_trylock(&mutex) == EBUSY && errno == 99);
	MUST(sem_init(&semaphore, 0, 1) == 0 && sem_wait(&semaphore) == 0 && errno == 99);
	/* Failures say why. */
	MUST(read(1000, &byte, 1) == -1 && errno == EBADF);
	MUST(open("/", O_WRONLY) == -1 && errno == EISDIR);
	MUST(accept(ends[0], NULL, NULL) == -1 && errno != EBADF);
	MUST(fcntl(1000, F_GETFD) == -1 && errno == EBADF);
	MUST(lseek(ends[0], 0, SEEK_CUR) == -1 && pread(ends[0], &byte, 1, 0) == -1 && errno == ESPIPE);
}

/* -- Cancellation ------------------------------------------------------------------------------------------- */

static int cleaned;

static void clean(void *arg)
{
	cleaned++;
	if (arg)
		MUST(pthread_mutex_unlock(arg) == 0);
}

static void *cancelled_in_read(void *arg)
{
	char byte;

	pthread_cleanup_push(clean, NULL);
	MUST(read(pipe_ends[0], &byte, 1) == 1);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *cancelled_in_cond(void *arg)
{
	MUST(pthread_mutex_lock(&mutex) == 0);
	pthread_cleanup_push(clean, &mutex);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *cancelled_in_sem(void *arg)
{
	pthread_cleanup_push(clean, NULL);
	/* The semaphore is free, but the cancellation is pending. */
	pthread_cancel(pthread_self());
	sem_wait(&semaphore);
	pthread_cleanup_pop(0);
	return NULL;
}

static void test_cancellation(void)
{
	void *(*functions[])(void *) = { cancelled_in_read, cancelled_in_cond, cancelled_in_sem };
	int value;

	MUST(pipe(pipe_ends) == 0 && sem_init(&semaphore, 0, 1) == 0);
	for (int round = 0; round < 30; round++) {
		pthread_t thread;
		void *result;

		MUST(pthread_create(&thread, NULL, functions[round % 3], NULL) == 0);
		if (round % 2)
			sched_yield();
		MUST(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
	}
	/* The waiting threads have left no lock, and no semaphore was taken. */
	MUST(pthread_mutex_trylock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
	MUST(sem_getvalue(&semaphore, &value) == 0 && value == 1);
	MUST(write(pipe_ends[1], "x", 1) == 1);
}

/* -- Signal handlers -------------------------------------------------------------------------------------- */

static volatile sig_atomic_t handled;
static jmp_buf out;

static void handler(int signal)
{
	char byte;
	int error = errno;

	handled++;
	MUST(write(pipe_ends[1], "x", 1) == 1 && read(pipe_ends[0], &byte, 1) == 1);
	errno = error;
}

static void leave(int signal)
{
	longjmp(out, 1);
}

static void test_handlers(void)
{
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	int zero = open("/dev/zero", O_RDONLY);

	MUST(pipe(pipe_ends) == 0 && sigaction(SIGALRM, &action, NULL) == 0);
	MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (int i = 0; handled < 200 || i < 2000; i++) {
		char bytes[64];
		void *p = malloc((size_t)i % 1000);

		errno = 99;
		MUST(read(zero, bytes, sizeof bytes) == sizeof bytes && errno == 99);
		free(p);
	}
	MUST(setitimer(ITIMER_REAL, &never, NULL) == 0);
}

/* A handler that leaves the interrupted call. Afterwards calls are recorded: the test looks for the last write. */
static void test_longjmp(void)
{
	struct itimerval soon = { { 0, 0 }, { 0, 300 } };
	struct sigaction action = { .sa_handler = leave, .sa_flags = SA_NODEFER };
	int zero = open("/dev/zero", O_RDONLY), file = open("after", O_CREAT | O_WRONLY, 0600);
	volatile int rounds = 0;
	char byte;

	MUST(zero >= 0 && file >= 0 && sigaction(SIGALRM, &action, NULL) == 0);
	setjmp(out);
	if (rounds++ < 100) {
		setitimer(ITIMER_REAL, &soon, NULL);
		for (;;)
			MUST(read(zero, &byte, 1) == 1);
	}
	MUST(write(file, "after", 5) == 5);
}

/* -- Processes -------------------------------------------------------------------------------------------- */

static void test_fork(void)
{
	char name[16];
	int fd = open("parent", O_CREAT | O_RDWR, 0600), status;
	pid_t child;

	MUST(fd >= 0 && write(fd, "x", 1) == 1);
	child = fork();
	if (child == 0) {
		/* The same number is another file in the child, which forks again. */
		MUST(close(fd) == 0 && open("child", O_CREAT | O_RDWR, 0600) == fd && write(fd, "xx", 2) == 2);
		child = fork();
		if (child == 0) {
			MUST(write(fd, "xxx", 3) == 3);
			_exit(5);
		}
		MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 5);
		_exit(6);
	}
	MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 6);
	MUST(write(fd, "xxxx", 4) == 4);
	MUST(readlink("/proc/self/exe", name, sizeof name) > 0);
}

/* A child of vfork() changes descriptors of its own, in the memory of its parent. */
static void test_vfork(void)
{
	int fd = open("parent", O_CREAT | O_RDWR, 0600), status;

	MUST(fd >= 0 && write(fd, "1", 1) == 1);
	for (int i = 0; i < 20; i++) {
		pid_t child = vfork();

		if (child == 0) {
			int null = open("/dev/null", O_WRONLY);

			if (dup2(null, fd) != fd || write(fd, "22", 2) != 2)
				_exit(1);
			close(null);
			if (i % 2)
				_exit(7);
			execl("/bin/sh", "sh", "-c", "exit 7", NULL);
			_exit(1);
		}
		MUST(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
		MUST(write(fd, "333", 3) == 3);
	}
}

static void test_spawn(void)
{
	char *arguments[] = { "sh", "-c", "read line && test \"$line\" = hello && exit 9", NULL };
	posix_spawn_file_actions_t actions;
	int ends[2], status;
	pid_t child;

	MUST(pipe(ends) == 0 && write(ends[1], "hello\n", 6) == 6);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[0], 0);
	posix_spawn_file_actions_addclose(&actions, ends[1]);
	MUST(posix_spawnp(&child, "sh", &actions, NULL, arguments, environ) == 0);
	MUST(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9);
	MUST(posix_spawnp(NULL, "true", NULL, NULL, arguments, environ) == 0 && wait(&status) > 0);
}

/* -- Descriptors ------------------------------------------------------------------------------------------ */

static void test_descriptors(void)
{
	struct rlimit limit;
	int fd = open("one", O_CREAT | O_RDWR, 0600), high;

	MUST(fd >= 0 && write(fd, "1", 1) == 1);
#if __GLIBC_PREREQ(2, 34)
	MUST(close_range((unsigned)fd, UINT_MAX, 0) == 0);
	MUST(open("two", O_CREAT | O_RDWR, 0600) == fd && write(fd, "22", 2) == 2);
	closefrom(fd);
	MUST(open("three", O_CREAT | O_RDWR, 0600) == fd && write(fd, "333", 3) == 3);
#else
	MUST(close(fd) == 0 && open("three", O_CREAT | O_RDWR, 0600) == fd && write(fd, "333", 3) == 3);
#endif
	/* All numbers are closed one by one, as old daemons do. */
	for (int i = fd; i < 2000; i++)
		close(i);
	MUST(open("four", O_CREAT | O_RDWR, 0600) == fd && write(fd, "4444", 4) == 4);
	MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	/* The greatest number there is. */
	high = fcntl(fd, F_DUPFD_CLOEXEC, (int)(limit.rlim_cur - 1));
	MUST(high < 0 || (write(high, "x", 1) == 1 && close(high) == 0));
}

/* The process is killed if it asks for the name of a descriptor. */
static void test_seccomp(void)
{
	static const int refused[] = {
#ifdef SYS_readlink
		SYS_readlink,
#endif
		SYS_readlinkat, SYS_getpeername, SYS_getsockname,
	};
	enum { COUNT = sizeof refused / sizeof *refused };
	struct sock_filter code[COUNT + 3] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0) };
	struct sock_fprog program = { COUNT + 3, code };
	int ends[2], fd;
	char byte;

	for (int i = 0; i < COUNT; i++)
		code[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)refused[i],
		                                           COUNT - i, 0);
	code[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	MUST(write(ends[0], "x", 1) == 1 && recv(ends[1], &byte, 1, 0) == 1);
	fd = open("confined", O_CREAT | O_RDWR, 0600);
	MUST(fd >= 0 && write(fd, "12", 2) == 2);
}

/* -- Variadic functions, pairs of functions, functions with checks ---------------------------------------- */

extern int __open_2(const char *, int), __open64_2(const char *, int);
extern int __openat_2(int, const char *, int), __openat64_2(int, const char *, int);
extern ssize_t __read_chk(int, void *, size_t, size_t), __pread_chk(int, void *, size_t, off_t, size_t);
extern ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t), __recv_chk(int, void *, size_t, size_t, int);

static void test_arguments(void)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open("mode", O_CREAT | O_RDWR | O_EXCL, 0640), count = 0, ends[2];
	char bytes[16], path[32];

	MUST(fd >= 0 && write(fd, "0123456789", 10) == 10);
	MUST(system("test \"$(stat -c %a mode)\" = 640") == 0);
	MUST(fcntl(fd, F_SETLK, &lock) == 0);
	MUST((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
	MUST(fcntl(fd, F_SETFL, O_APPEND) == 0 && (fcntl(fd, F_GETFL) & O_APPEND));
	MUST(ioctl(fd, FIOCLEX) == 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	MUST(ioctl(fd, FIONCLEX) == 0 && fcntl(fd, F_GETFD) == 0);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[0], "abc", 3) == 3);
	MUST(ioctl(ends[1], FIONREAD, &count) == 0 && count == 3);
	MUST(__recv_chk(ends[1], bytes, 3, sizeof bytes, 0) == 3);
	MUST(__pread_chk(fd, bytes, 2, 3, sizeof bytes) == 2 && memcmp(bytes, "34", 2) == 0);
	MUST(__pread64_chk(fd, bytes, 2, 4, sizeof bytes) == 2 && memcmp(bytes, "45", 2) == 0);
	for (int i = 0; i < 4; i++) {
		int more = i == 0 ? __open_2("mode", O_RDONLY) : i == 1 ? __open64_2("mode", O_RDONLY) :
		           i == 2 ? __openat_2(AT_FDCWD, "mode", O_RDONLY) : __openat64_2(AT_FDCWD, "mode", O_RDONLY);

		MUST(more >= 0 && __read_chk(more, bytes, 4, sizeof bytes) == 4 && memcmp(bytes, "0123", 4) == 0);
		MUST(close(more) == 0);
	}
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	MUST(open64(path, O_RDONLY) >= 0 && openat64(AT_FDCWD, "made", O_CREAT | O_WRONLY, 0600) >= 0);
	MUST(access("made", W_OK) == 0);
#ifdef O_TMPFILE
	MUST(open(".", O_TMPFILE | O_RDWR, 0600) >= 0 || errno == EOPNOTSUPP);
#endif
}

/* -- Threads ---------------------------------------------------------------------------------------------- */

static void *ends_at_once(void *arg)
{
	void *p = malloc(100);

	free(p);
	if ((uintptr_t)arg % 2)
		pthread_exit(arg);
	return arg;
}

static pthread_key_t key;

static void writes_at_end(void *arg)
{
	void *p = malloc(10);

	MUST(p && write(pipe_ends[1], "x", 1) == 1);
	free(p);
}

static void *has_key(void *arg)
{
	MUST(pthread_setspecific(key, arg) == 0);
	return NULL;
}

static void test_threads(void)
{
	pthread_attr_t attributes;
	pthread_t threads[40];

	MUST(pipe(pipe_ends) == 0 && pthread_key_create(&key, writes_at_end) == 0);
	for (uintptr_t round = 0; round < 10; round++) {
		for (uintptr_t i = 0; i < 40; i++)
			MUST(pthread_create(&threads[i], NULL, i % 4 == 3 ? has_key : ends_at_once,
			                    (void *)(i + 1)) == 0);
		for (uintptr_t i = 0; i < 40; i++) {
			void *result;

			MUST(pthread_join(threads[i], &result) == 0);
			MUST(result == (i % 4 == 3 ? NULL : (void *)(i + 1)));
		}
	}
	/* Detached, with the least stack. */
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN));
	for (int i = 0; i < 100; i++)
		while (pthread_create(&threads[0], &attributes, ends_at_once, NULL) != 0)
			sched_yield();
	/* Refused. */
	pthread_attr_setstacksize(&attributes, (size_t)1 << 60);
	MUST(pthread_create(&threads[0], &attributes, ends_at_once, NULL) != 0);
	pthread_exit(NULL);
}

/* -- dlopen ----------------------------------------------------------------------------------------------- */

/* The library lies where only the RUNPATH of this program leads. */
static void test_dlopen(void)
{
	void *library = dlopen("liblibc_early.so", RTLD_NOW), *self = dlopen(NULL, RTLD_NOW);

	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	MUST(library && self && dlsym(library, "early_ran") && dlclose(library) == 0);
}

/* -- Memory ----------------------------------------------------------------------------------------------- */

static void *allocates(void *arg)
{
	void *pointers[100] = { NULL };

	for (unsigned i = 0; i < 20000; i++) {
		void **p = &pointers[i * 7 % 100];

		if (i % 3 == 0) {
			*p = realloc(*p, i % 500 + 1);
		} else {
			free(*p);
			*p = i % 3 == 1 ? malloc(i % 300) : calloc(3, i % 100);
		}
	}
	for (unsigned i = 0; i < 100; i++)
		free(pointers[i]);
	return NULL;
}

static void test_memory(void)
{
	volatile size_t huge = SIZE_MAX / 2;
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&threads[i], NULL, allocates, NULL) == 0);
	for (int i = 0; i < 4; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	MUST(calloc(huge, 3) == NULL && reallocarray(NULL, huge, 3) == NULL);
	free(realloc(NULL, 10));
}

/* -- Durations -------------------------------------------------------------------------------------------- */

/* Prints how long calls take at most: short and long ones. */
static void test_took(void)
{
	for (int i = 0; i < 60; i++) {
		struct timespec before, after;

		clock_gettime(CLOCK_MONOTONIC, &before);
		MUST(poll(NULL, 0, i % 20 == 0 ? 30 : 0) == 0);
		clock_gettime(CLOCK_MONOTONIC, &after);
		printf("%lld\n", (after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec);
	}
}

/* -- Nobody records --------------------------------------------------------------------------------------- */

/*
 * Prints what the process has: descriptors, threads, files in /dev/shm that are mapped, and those named after it. Waits
 * for longer than a process that nobody records goes without looking for a recorder.
 */
static void test_idle(void)
{
	char byte;
	int zero = open("/dev/zero", O_RDONLY);

	for (int i = 0; i < 100; i++) {
		MUST(read(zero, &byte, 1) == 1);
		free(malloc((size_t)i));
		usleep(i % 10 == 0 ? 50000 : 0);
	}
	close(zero);
	MUST(system("cd /proc/$PPID && ls fd task | grep -v '^$' | wc -l && grep -c /dev/shm/.*/ maps; "
	            "ls /dev/shm/*/*-$PPID-* 2>/dev/null | wc -l") >= 0);
}

/* Reads until the file "stop" exists, which it looks for without a call that is recorded. */
static void test_late(void)
{
	char byte;
	int zero = open("/dev/zero", O_RDONLY);

	MUST(zero >= 0 && creat("ready", 0600) >= 0);
	while (access("stop", F_OK) != 0) {
		MUST(read(zero, &byte, 1) == 1);
		usleep(1000);
	}
}

/* Looks for nobody after it has confined itself: the process is killed if it opens a file. */
static void test_confined_idle(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof code / sizeof *code, code };
	int zero = open("/dev/zero", O_RDONLY);
	char byte;

	MUST(read(zero, &byte, 1) == 1);
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	for (int i = 0; i < 20; i++) {
		MUST(read(zero, &byte, 1) == 1);
		free(malloc(100));
		usleep(20000);
	}
}

/*
 * A child of vfork() calls functions while another process is recorded. Prints the files in /dev/shm that the parent
 * has mapped and that are not its own.
 */
static void test_idle_vfork(void)
{
	pid_t child;
	int status;

	MUST(creat("ready", 0600) >= 0);
	while (access("stop", F_OK) != 0)
		usleep(1000);
	child = vfork();
	if (child == 0) {
		for (int i = 0; i < 10; i++) {
			usleep(30000);
			close(-1);
		}
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child && status == 0);
	MUST(system("grep /dev/shm/ /proc/$PPID/maps | grep -v -e \"-$PPID-\" -e '/stream-'; true") == 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*test)(void);
	} tests[] = {
		{ "errno", test_errno }, { "cancellation", test_cancellation }, { "handlers", test_handlers },
		{ "longjmp", test_longjmp }, { "fork", test_fork }, { "vfork", test_vfork }, { "spawn", test_spawn },
		{ "descriptors", test_descriptors }, { "seccomp", test_seccomp }, { "arguments", test_arguments },
		{ "threads", test_threads },
		{ "dlopen", test_dlopen }, { "memory", test_memory }, { "idle", test_idle },
		{ "took", test_took }, { "late", test_late }, { "confined_idle", test_confined_idle },
		{ "idle_vfork", test_idle_vfork },
	};

	for (unsigned n = 0; n < sizeof tests / sizeof *tests; n++)
		if (argc > 1 && strcmp(argv[1], tests[n].name) == 0) {
			tests[n].test();
			return 0;
		}
	return 2;
}
