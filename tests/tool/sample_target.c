/*
 * sample_target.c - a program of which it is known where it runs and where it waits
 *
 *     sample_target split         three quarters of its time in three_quarters(), one quarter in one_quarter()
 *     sample_target wait          200 ms of sleep in waits_here(), and a thread that runs meanwhile
 *     sample_target family        a child that runs in three_quarters(), and executes `sample_target quarter`
 *     sample_target quarter       only in one_quarter()
 *     sample_target lib FILE      in lib_spin() of a library that is unloaded then
 *     sample_target jit           in code that it has made itself
 *     sample_target threads N     N threads
 *     sample_target children N    N children, one after the other
 *     sample_target pages N       reads lines: after "one" touches a new page, after "all" N new pages, and after each
 *                                 prints how many page faults it has had since the last "begin"
 *
 * Times are processor times of the thread, so other programs do not matter. Built with frame pointers, and without.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TURNS 20000
#define MS    1000000L

/* Leaks are looked for by a child, which the test would count. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

/* Not static, so that the names are symbols in any build. */
void three_quarters(long ms);
void one_quarter(long ms);
void calls_library(void);
void waits_here(void);
long own_time(void);

static volatile uint64_t sink;

long own_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 * MS + t.tv_nsec;
}

__attribute__((noinline)) void three_quarters(long ms)
{
	for (long end = own_time() + ms * MS; own_time() < end;)
		for (unsigned i = 0; i < TURNS; i++)
			sink += i;
}

__attribute__((noinline)) void one_quarter(long ms)
{
	for (long end = own_time() + ms * MS; own_time() < end;)
		for (unsigned i = 0; i < TURNS; i++)
			sink += i;
}

/*
 * The C library has no frame pointers, so whoever calls it is left out of the stack. This function is left out, and its
 * caller is not.
 */
__attribute__((noinline)) void calls_library(void)
{
	usleep(20000);
	sink++;
}

__attribute__((noinline)) void waits_here(void)
{
	for (unsigned i = 0; i < 10; i++) {
		calls_library();
		sink++;
	}
}

void *busy(void *arg);
__attribute__((noinline)) void *busy(void *arg)
{
	pthread_setname_np(pthread_self(), "busy");
	three_quarters(100);
	return arg;
}

static int wait_and_run(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, busy, NULL) != 0)
		return 2;
	waits_here();
	return pthread_join(thread, NULL) ? 2 : 0;
}

static int family(char *program)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		three_quarters(200);
		execl(program, program, "quarter", (char *)NULL);
		_exit(2);
	}
	return waitpid(child, &status, 0) == child && status == 0 ? 0 : 2;
}

static int library(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	union {
		void *address;
		void (*spin)(volatile uint64_t *, unsigned);
	} f = { handle ? dlsym(handle, "lib_spin") : NULL };

	if (!f.address)
		return 2;
	for (long end = own_time() + 200 * MS; own_time() < end;)
		f.spin(&sink, TURNS);
	return dlclose(handle) ? 2 : 0;
}

static int made_code(void)
{
#ifdef __x86_64__
	/* dec %rdi; jnz back; ret */
	static const unsigned char code[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	union {
		void *address;
		void (*spin)(long);
	} f;

	f.address = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f.address == MAP_FAILED)
		return 2;
	memcpy(f.address, code, sizeof code);
	if (mprotect(f.address, 4096, PROT_READ | PROT_EXEC) != 0)
		return 2;
	for (long end = own_time() + 200 * MS; own_time() < end;)
		f.spin(1000000);
#endif
	return 0;
}

static void *nothing(void *arg)
{
	usleep(1000);
	return arg;
}

static int threads(unsigned count)
{
	pthread_t *thread = calloc(count, sizeof *thread);

	for (unsigned i = 0; thread && i < count; i++)
		if (pthread_create(&thread[i], NULL, nothing, NULL) != 0)
			return 2;
	for (unsigned i = 0; thread && i < count; i++)
		pthread_join(thread[i], NULL);
	return thread ? 0 : 2;
}

static int children(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return 2;
	}
	return 0;
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static int touch_pages(size_t count)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char line[16];
	long before;

	setvbuf(stdout, NULL, _IONBF, 0);
	before = faults();
	while (fgets(line, sizeof line, stdin)) {
		size_t these = strcmp(line, "all\n") == 0 ? count : strcmp(line, "one\n") == 0;
		volatile char *pages = these ? mmap(NULL, these * page, PROT_READ | PROT_WRITE,
		                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;

		if (pages == MAP_FAILED)
			return 2;
		if (these)
			madvise((void *)pages, these * page, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < these; i++)
			pages[i * page] = 1;
		if (!these)
			before = faults();
		printf("%ld\n", faults() - before);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *more = argc > 2 ? argv[2] : "0";

	if (strcmp(what, "split") == 0) {
		for (unsigned i = 0; i < 10; i++) {
			three_quarters(60);
			one_quarter(20);
		}
		return 0;
	}
	if (strcmp(what, "quarter") == 0) {
		one_quarter(200);
		return 0;
	}
	return strcmp(what, "wait") == 0 ? wait_and_run() : strcmp(what, "family") == 0 ? family(argv[0]) :
	       strcmp(what, "lib") == 0 ? library(more) : strcmp(what, "jit") == 0 ? made_code() :
	       strcmp(what, "threads") == 0 ? threads((unsigned)atoi(more)) :
	       strcmp(what, "children") == 0 ? children((unsigned)atoi(more)) :
	       strcmp(what, "pages") == 0 ? touch_pages((size_t)atoi(more)) : 2;
}
