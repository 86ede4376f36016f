/*
 * parts.c - the cost of the operations that trace points, streams and readers consist of
 *
 * Each figure is the cost on this machine without the library. The figures explain those of the library, and show which
 * operations are too expensive. Times are CPU times of the thread; a second thread, where needed, runs on another CPU.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "floor.h"
#include "rows.h"

#define FILE_SIZE (20 * MIB / 16) /* about the file size of a stream of 1 MiB */

static const struct section PARTS = { "parts", "ns of CPU time", NULL };

static struct floor_ring ring = { .size = MIB };
static unsigned char bytes[256];
static _Alignas(64) atomic_ulong word;
static atomic_bool stop;

#define USED(x) __asm__ __volatile__("" : : "r"(x) : "memory")

static void counter(void)
{
#if defined __x86_64__ || defined __i386__
	USED((uint32_t)__builtin_ia32_rdtsc());
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	USED(&t);
#endif
}

static void clock_monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	USED(&t);
}

static void floor_0(void)
{
	floor_event(&ring, 1, bytes, 0);
}

static void floor_32(void)
{
	floor_event(&ring, 1, bytes, 32);
}

static void floor_256(void)
{
	floor_event(&ring, 1, bytes, 256);
}

static void locked(void)
{
	atomic_fetch_add(&word, 1);
}

static void system_call(void)
{
	syscall(SYS_getppid);
}

static void signals_blocked(void)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void barrier(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) < 0)
		die("membarrier: %s", strerror(errno));
}

static int memory_file(void)
{
	int fd = (int)syscall(SYS_memfd_create, "bench-parts", 1u);

	if (fd < 0)
		die("memfd_create: %s", strerror(errno));
	return fd;
}

static void reserved(void)
{
	int fd = memory_file();

	if (fallocate(fd, 0, 0, (off_t)FILE_SIZE) < 0)
		die("fallocate: %s", strerror(errno));
	close(fd);
}

static void mapped(void)
{
	static int fd;
	void *p;

	if (!fd) {
		fd = memory_file();
		if (fallocate(fd, 0, 0, (off_t)FILE_SIZE) < 0)
			die("fallocate: %s", strerror(errno));
	}
	p = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	for (size_t i = 0; i < FILE_SIZE; i += 4096)
		((volatile char *)p)[i] = 1;
	munmap(p, FILE_SIZE);
}

/* Runs on another CPU: does nothing, or uses the same word. */
static void *idle(void *arg)
{
	pin(1);
	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		;
	return arg;
}

static void *rival(void *arg)
{
	pin(1);
	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		for (int i = 0; i < 1000; i++)
			atomic_fetch_add(&word, 1);
	return arg;
}

static const struct part {
	const char *name;
	void (*what)(void);
	int times;
	void *(*other)(void *); /* runs at the same time */
} parts[] = {
	{ "read the counter", counter, 1000000, NULL },
	{ "clock_gettime()", clock_monotonic, 1000000, NULL },
	{ "floor, 0 bytes", floor_0, 1000000, NULL },
	{ "floor, 32 bytes", floor_32, 1000000, NULL },
	{ "floor, 256 bytes", floor_256, 1000000, NULL },
	{ "a locked instruction", locked, 1000000, NULL },
	{ "the same, shared by two threads", locked, 200000, rival },
	{ "a system call", system_call, 100000, NULL },
	{ "all signals blocked, and back", signals_blocked, 100000, NULL },
	{ "membarrier(), alone", barrier, 10000, NULL },
	{ "membarrier(), another thread runs", barrier, 2000, idle },
	{ "a file of 1.25 MiB reserved", reserved, 50, NULL },
	{ "a file of 1.25 MiB mapped, touched", mapped, 50, NULL },
};

static double measure(const struct part *p)
{
	int times = bench.quick ? p->times / 20 + 1 : p->times;
	pthread_t thread;
	double start;

	atomic_store(&stop, false);
	if (p->other)
		must(pthread_create(&thread, NULL, p->other, NULL), "pthread_create");
	for (int i = 0; i < times / 10 + 1; i++)
		p->what();
	start = seconds(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < times; i++)
		p->what();
	start = seconds(CLOCK_THREAD_CPUTIME_ID) - start;
	atomic_store(&stop, true);
	if (p->other)
		pthread_join(thread, NULL);
	return start / times * 1e9;
}

int main(int argc, char **argv)
{
	bench_begin(argc, argv, 7, "what the parts cost");
	pin(0);
	ring.base = mmap(NULL, ring.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (ring.base == MAP_FAILED)
		die("no memory for the floor's ring");
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
	for (int r = 0; r < bench.rounds; r++)
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
			bench_row(&PARTS, parts[i].name, r, measure(&parts[i]), NAN);
	return bench_end();
}
