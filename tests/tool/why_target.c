/*
 * why_target.c - a program that waits in each way, once in a span of its own
 *
 *     why_target FILE
 *
 * Spans: lock, sleep, socket, pipe, relay, disk, fault, busy. FILE is made, and remains. The waiting for a lock, a
 * socket, a pipe and a relay is ended by threads of these names, after the kernel has said that the main thread sleeps.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <posixtrace/trace.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MS 1000
#define PAGES 64

/* Leaks are looked for by a child, which the test would count. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static pid_t main_tid;
static atomic_int stage;    /* the main thread is about to wait */
static atomic_int relay_tid, ready, stop;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pipes[3][2], sockets[2];

static void event(const char *name, const char *what)
{
	trace_event_id_t id;
	char text[64];

	snprintf(text, sizeof text, "%s.%s", name, what);
	posix_trace_eventid_open(text, &id);
	posix_trace_event(id, NULL, 0);
}

static void expect(int right)
{
	if (!right)
		abort();
}

/* Waits until a thread sleeps. */
static void until_sleeps(pid_t tid)
{
	char path[64], text[256], state = 0;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
	while (state != 'S') {
		FILE *f = fopen(path, "r");
		const char *end;

		usleep(MS);
		expect(f != NULL);
		memset(text, 0, sizeof text);
		expect(fread(text, 1, sizeof text - 1, f) > 0);
		fclose(f);
		end = strrchr(text, ')');
		state = end ? end[2] : 0;
	}
}

static void until_stage(int at)
{
	while (atomic_load(&stage) < at)
		usleep(MS);
	until_sleeps(main_tid);
	usleep(5 * MS);
}

static void *hold(void *arg)
{
	pthread_mutex_lock(&lock);
	atomic_store(&ready, 1);
	until_stage(1);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *send_byte(void *arg)
{
	until_stage(2);
	expect(send(sockets[1], "", 1, 0) == 1);
	return arg;
}

static void *write_byte(void *arg)
{
	until_stage(3);
	expect(write(pipes[0][1], "", 1) == 1);
	return arg;
}

/* Passes a byte on from the third thread to the first. */
static void *relay(void *arg)
{
	char byte;

	atomic_store(&relay_tid, (int)syscall(SYS_gettid));
	expect(read(pipes[2][0], &byte, 1) == 1);
	expect(write(pipes[1][1], &byte, 1) == 1);
	return arg;
}

static void *begin_relay(void *arg)
{
	while (!atomic_load(&relay_tid))
		usleep(MS);
	until_sleeps(atomic_load(&relay_tid));
	until_stage(4);
	expect(write(pipes[2][1], "", 1) == 1);
	return arg;
}

static void *spin(void *arg)
{
	atomic_store(&ready, 2);
	while (!atomic_load(&stop))
		;
	return arg;
}

static pthread_t start(const char *name, void *(*function)(void *))
{
	pthread_t thread;

	expect(pthread_create(&thread, NULL, function, NULL) == 0);
	pthread_setname_np(thread, name);
	return thread;
}

/* Shares a processor with a thread that does not wait, until it was preempted a few times. */
static void be_preempted(void)
{
	struct rusage usage;
	cpu_set_t all, one;
	long before;
	int cpu = 0;

	sched_getaffinity(0, sizeof all, &all);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof one, &one);
	pthread_t thread = start("busy", spin); /* inherits the processor */

	while (atomic_load(&ready) != 2)
		sched_yield();
	event("busy", "begin");
	getrusage(RUSAGE_THREAD, &usage);
	before = usage.ru_nivcsw;
	while (usage.ru_nivcsw < before + 3)
		getrusage(RUSAGE_THREAD, &usage);
	event("busy", "end");
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
	sched_setaffinity(0, sizeof all, &all);
}

static void use_disk(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	long page = sysconf(_SC_PAGESIZE);
	char *bytes = calloc(PAGES, (size_t)page);
	volatile char *map;

	expect(fd >= 0 && bytes);
	expect(write(fd, bytes, (size_t)(PAGES * page)) == PAGES * page);
	event("disk", "begin");
	expect(fsync(fd) == 0);
	event("disk", "end");
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	map = mmap(NULL, (size_t)(PAGES * page), PROT_READ, MAP_SHARED, fd, 0);
	expect(map != MAP_FAILED);
	event("fault", "begin");
	expect(map[17 * page] == 0);
	event("fault", "end");
	free(bytes);
	close(fd);
}

int main(int argc, char **argv)
{
	pthread_t threads[5];
	char byte;

	expect(argc == 2);
	main_tid = getpid();
	for (unsigned i = 0; i < 3; i++)
		expect(pipe(pipes[i]) == 0);
	expect(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	threads[0] = start("lock", hold);
	while (!atomic_load(&ready))
		usleep(MS);
	event("lock", "begin");
	atomic_store(&stage, 1);
	pthread_mutex_lock(&lock);
	event("lock", "end");

	for (unsigned i = 0; i < 3; i++) {
		event("sleep", "begin");
		usleep((i + 1) * 5 * MS);
		event("sleep", "end");
	}

	threads[1] = start("socket", send_byte);
	event("socket", "begin");
	atomic_store(&stage, 2);
	expect(recv(sockets[0], &byte, 1, 0) == 1);
	event("socket", "end");

	threads[2] = start("pipe", write_byte);
	event("pipe", "begin");
	atomic_store(&stage, 3);
	expect(read(pipes[0][0], &byte, 1) == 1);
	event("pipe", "end");

	threads[3] = start("relay", relay);
	threads[4] = start("first", begin_relay);
	event("relay", "begin");
	atomic_store(&stage, 4);
	expect(read(pipes[1][0], &byte, 1) == 1);
	event("relay", "end");

	for (unsigned i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	use_disk(argv[1]);
	be_preempted();
	return 0;
}
