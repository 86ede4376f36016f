/*
 * libc_calls.c - calls of the C library, a group of them for each argument, for libc.py
 *
 *     libc_calls GROUP...      files, sockets, ready, locks, threads, process, memory
 *
 * Prints what the test cannot know: numbers of threads and processes, addresses.
 *
 * SPDX-License-Identifier: MIT
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define MUST(condition)                                                       \
	do {                                                                  \
		if (!(condition)) {                                           \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			exit(1);                                              \
		}                                                             \
	} while (0)

/* -- Files, sockets --------------------------------------------------------------------------------------- */

static void files(void)
{
	char text[8] = "1234567";
	struct iovec parts[2] = { { text, 3 }, { text + 3, 4 } };
	int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0600), copy, none;

	MUST(fd >= 0);
	MUST(write(fd, "hello", 5) == 5);
	MUST(pwrite(fd, "HE", 2, 0) == 2);
	MUST(pwrite64(fd, "L", 1, 2) == 1);
	MUST(writev(fd, parts, 2) == 7);
	MUST(lseek(fd, 0, SEEK_SET) == 0);
	MUST(read(fd, text, 4) == 4 && memcmp(text, "HELl", 4) == 0);
	MUST(readv(fd, parts, 2) == 7);
	MUST(pread(fd, text, 2, 3) == 2);
	MUST(pread64(fd, text, 2, 4) == 2);
	MUST(preadv(fd, parts, 1, 5) == 3);
	MUST(pwritev(fd, parts, 1, 5) == 3);
	MUST(fdatasync(fd) == 0 && fsync(fd) == 0);
	MUST(ftruncate(fd, 100) == 0);
	copy = dup(fd);
	MUST(copy > fd);
	MUST(write(copy, "copy", 4) == 4);
	MUST(close(copy) == 0);
	none = fcntl(fd, F_DUPFD, 50);
	MUST(none >= 50);
	MUST(fcntl(none, F_SETFD, FD_CLOEXEC) == 0 && fcntl(none, F_GETFD) == FD_CLOEXEC);
	MUST(dup2(fd, none) == none);
	MUST(read(none, text, 1) == 1);
	MUST(close(none) == 0);
	MUST(ioctl(fd, FIONREAD, &none) == 0);
	MUST(close(fd) == 0);
	MUST(close(fd) == -1 && errno == EBADF);
	MUST(open("/no/such/file", O_RDONLY) == -1 && errno == ENOENT);
	MUST(read(-1, text, 1) == -1 && errno == EBADF);
	fd = openat(AT_FDCWD, "file", O_RDONLY);
	MUST(fd >= 0 && read(fd, text, 1) == 1 && close(fd) == 0);
	fd = open64("file", O_RDONLY);
	MUST(fd >= 0 && close(fd) == 0);
	fd = creat("made", 0600);
	MUST(fd >= 0 && close(fd) == 0 && access("made", W_OK) == 0);
}

static void sockets(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un local = { .sun_family = AF_UNIX, .sun_path = "socket" };
	struct msghdr message = { 0 };
	struct iovec part = { "abc", 3 };
	socklen_t size = sizeof address;
	int server = socket(AF_INET, SOCK_STREAM, 0), client, accepted, pair[2];
	char text[8];

	MUST(server >= 0 && bind(server, (struct sockaddr *)&address, sizeof address) == 0);
	MUST(getsockname(server, (struct sockaddr *)&address, &size) == 0);
	printf("port %d\n", ntohs(address.sin_port));
	MUST(listen(server, 5) == 0);
	client = socket(AF_INET, SOCK_STREAM, 0);
	MUST(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
	accepted = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	MUST(accepted >= 0);
	MUST(send(client, "0123456", 7, 0) == 7);
	MUST(recv(accepted, text, 3, 0) == 3);
	MUST(recvfrom(accepted, text, 4, 0, NULL, NULL) == 4);
	MUST(sendto(client, "ab", 2, 0, NULL, 0) == 2);
	MUST(read(accepted, text, 2) == 2);
	message.msg_iov = &part;
	message.msg_iovlen = 1;
	MUST(sendmsg(accepted, &message, 0) == 3);
	part.iov_base = text;
	MUST(recvmsg(client, &message, 0) == 3);
	MUST(shutdown(client, SHUT_RDWR) == 0);
	MUST(recv(client, text, 1, MSG_DONTWAIT) == 0);
	MUST(close(client) == 0 && close(accepted) == 0 && close(server) == 0);
	server = socket(AF_UNIX, SOCK_STREAM, 0);
	unlink(local.sun_path);
	MUST(bind(server, (struct sockaddr *)&local, sizeof local) == 0 && listen(server, 1) == 0);
	client = socket(AF_UNIX, SOCK_STREAM, 0);
	MUST(connect(client, (struct sockaddr *)&local, sizeof local) == 0);
	MUST(write(client, "local", 5) == 5);
	MUST(close(client) == 0 && close(server) == 0);
	client = socket(AF_UNIX, SOCK_STREAM, 0);
	strcpy(local.sun_path, "nobody");
	MUST(connect(client, (struct sockaddr *)&local, sizeof local) == -1 && errno == ENOENT);
	MUST(close(client) == 0);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	MUST(write(pair[0], "x", 1) == 1 && read(pair[1], text, 1) == 1);
	close(pair[0]);
	close(pair[1]);
	/* Datagrams have a peer each. */
	for (int i = 0; i < 2; i++) {
		pair[i] = socket(AF_INET, SOCK_DGRAM, 0);
		address.sin_port = 0;
		MUST(bind(pair[i], (struct sockaddr *)&address, sizeof address) == 0);
		MUST(getsockname(pair[i], (struct sockaddr *)&address, &size) == 0);
		printf("datagrams%d %d\n", i, ntohs(address.sin_port));
	}
	message.msg_name = &address;
	message.msg_namelen = sizeof address;
	MUST(sendmsg(pair[0], &message, 0) == 3);
	MUST(recvmsg(pair[1], &message, 0) == 3 && message.msg_namelen == sizeof address);
	/* Less room than the address needs. */
	message.msg_namelen = sizeof address;
	MUST(sendmsg(pair[1], &message, 0) == 3);
	message.msg_namelen = 4;
	MUST(recvmsg(pair[0], &message, 0) == 3);
	close(pair[0]);
	close(pair[1]);
}

static void ready(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct timeval zero = { 0, 0 };
	int ends[2], epoll = epoll_create1(0);
	struct pollfd fds;
	fd_set set;

	MUST(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
	fds = (struct pollfd){ .fd = ends[0], .events = POLLIN };
	MUST(poll(&fds, 1, -1) == 1);
	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	MUST(select(ends[0] + 1, &set, NULL, NULL, &zero) == 1);
	MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
	MUST(epoll_wait(epoll, &event, 1, -1) == 1);
	MUST(epoll_wait(ends[0], &event, 1, 0) == -1 && errno == EINVAL);
}

/* -- Locks ------------------------------------------------------------------------------------------------ */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int turn;
static pid_t waiter;

/* Waits until a thread that is about to block in a call sleeps there. */
static void until_asleep(const int *turns, int value)
{
	char path[64], line[256], *state;
	FILE *file;

	while (__atomic_load_n(turns, __ATOMIC_ACQUIRE) != value)
		sched_yield();
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)waiter);
	do {
		sched_yield();
		file = fopen(path, "r");
		MUST(file && fgets(line, sizeof line, file));
		fclose(file);
		state = strrchr(line, ')');
	} while (!state || state[2] != 'S');
}

static void my_turn(int value)
{
	__atomic_store_n(&turn, value, __ATOMIC_RELEASE);
}

static void *waits(void *unused)
{
	waiter = (pid_t)syscall(SYS_gettid);
	my_turn(1);
	MUST(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
	my_turn(2);
	MUST(pthread_rwlock_rdlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
	my_turn(3);
	MUST(pthread_rwlock_wrlock(&rwlock) == 0 && pthread_rwlock_unlock(&rwlock) == 0);
	MUST(pthread_mutex_lock(&other) == 0);
	my_turn(4);
	MUST(pthread_cond_wait(&cond, &other) == 0 && pthread_mutex_unlock(&other) == 0);
	my_turn(5);
	pthread_barrier_wait(&barrier);
	my_turn(6);
	MUST(sem_wait(&semaphore) == 0);
	return NULL;
}

static void *ends_late(void *unused)
{
	/* The other thread is in pthread_join(). */
	until_asleep(&turn, 7);
	return NULL;
}

static void locks(void)
{
	struct timespec past = { 1, 0 };
	pthread_mutexattr_t attributes;
	pthread_mutex_t checking;
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	sem_init(&semaphore, 0, 0);
	printf("mutex %lx rwlock %lx cond %lx other %lx barrier %lx semaphore %lx holder %d\n", (long)&mutex,
	       (long)&rwlock, (long)&cond, (long)&other, (long)&barrier, (long)&semaphore, (int)getpid());
	/* Nothing here waits. */
	MUST(pthread_mutex_lock(&mutex) == 0 && pthread_rwlock_wrlock(&rwlock) == 0);
	MUST(pthread_create(&thread, NULL, waits, NULL) == 0);
	until_asleep(&turn, 1);
	pthread_mutex_unlock(&mutex);
	until_asleep(&turn, 2);
	pthread_rwlock_unlock(&rwlock);
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) < 4)
		sched_yield();
	until_asleep(&turn, 4);
	MUST(pthread_mutex_lock(&other) == 0);
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&other);
	until_asleep(&turn, 5);
	pthread_barrier_wait(&barrier);
	until_asleep(&turn, 6);
	sem_post(&semaphore);
	MUST(pthread_join(thread, NULL) == 0);
	/* Not free: a timeout, and a deadlock. */
	sem_init(&semaphore, 0, 1);
	MUST(sem_wait(&semaphore) == 0);
	errno = 0;
	MUST(sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&checking, &attributes);
	MUST(pthread_mutex_lock(&checking) == 0 && pthread_mutex_lock(&checking) == EDEADLK);
	MUST(pthread_mutex_unlock(&checking) == 0 && pthread_mutex_timedlock(&checking, &past) == 0);
	MUST(pthread_mutex_timedlock(&checking, &past) == EDEADLK && pthread_mutex_unlock(&checking) == 0);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&checking, &attributes);
	MUST(pthread_mutex_lock(&checking) == 0 && pthread_mutex_lock(&checking) == 0);
	/* A join that waits. */
	waiter = getpid();
	turn = 0;
	MUST(pthread_create(&thread, NULL, ends_late, NULL) == 0);
	my_turn(7);
	MUST(pthread_join(thread, NULL) == 0);
	printf("thread %lx\n", (long)thread);
}

/* -- Threads, processes, memory --------------------------------------------------------------------------- */

static void *named(void *arg)
{
	printf("started %d\n", (int)syscall(SYS_gettid));
	MUST(pthread_setname_np(pthread_self(), "first") == 0);
	MUST(prctl(PR_SET_NAME, "second") == 0);
	return arg;
}

static void threads(void)
{
	pthread_t thread;
	void *result;

	MUST(pthread_create(&thread, NULL, named, &mutex) == 0 && pthread_join(thread, &result) == 0);
	MUST(result == &mutex);
	printf("thread %lx function %lx\n", (long)thread, (long)named);
}

static void process(void)
{
	char *arguments[] = { "true", "of", "spawn", NULL };
	pid_t child = fork();
	int status;

	if (child == 0) {
		execl("/bin/true", "true", "of", "execl", NULL);
		_exit(1);
	}
	MUST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	printf("child %d\n", (int)child);
	MUST(posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) == 0);
	MUST(waitpid(child, &status, 0) == child && status == 0);
	printf("spawned %d\n", (int)child);
	MUST(posix_spawn(&child, "/no/such/file", NULL, NULL, arguments, environ) == ENOENT);
	MUST(system("exit 3") == 3 << 8);
	MUST(pclose(popen("exit 4", "r")) == 4 << 8);
	MUST(execlp("no-such-program", "no", NULL) == -1 && errno == ENOENT);
	MUST(execve("/no/such/file", arguments, environ) == -1 && errno == ENOENT);
	MUST(!dlopen("libnothing.so.77", RTLD_NOW));
}

static void memory(void)
{
	void *p = malloc(1001), *q = calloc(10, 101), *r;

	MUST(p && q);
	printf("malloc %lx calloc %lx", (long)p, (long)q);
	r = realloc(p, 100001);
	printf(" realloc %lx", (long)r);
	free(r);
	MUST(posix_memalign(&p, 64, 1003) == 0 && (uintptr_t)p % 64 == 0);
	free(q);
	q = aligned_alloc(32, 1024);
	printf(" memalign %lx %lx\n", (long)p, (long)q);
	MUST(malloc_usable_size(q) >= 1024);
	free(p);
	free(q);
	q = reallocarray(NULL, 11, 103);
	MUST(q);
	printf("reallocarray %lx\n", (long)q);
	free(q);
	errno = 0;
	q = malloc(PTRDIFF_MAX);
	MUST(!q && errno == ENOMEM);
	q = strdup("1234567890123456");
	printf("strdup %lx\n", (long)q);
	free(q);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*function)(void);
	} groups[] = {
		{ "files", files },     { "sockets", sockets }, { "ready", ready },   { "locks", locks },
		{ "threads", threads }, { "process", process }, { "memory", memory },
	};

	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 1; i < argc; i++)
		for (unsigned n = 0; n < sizeof groups / sizeof *groups; n++)
			if (strcmp(argv[i], groups[n].name) == 0)
				groups[n].function();
	return 0;
}
