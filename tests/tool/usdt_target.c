/*
 * usdt_target.c - a program with USDT probes, whose notes are made here: usdt_target WHAT [N]
 *
 *     texts       texts in registers and in memory, and two that are not there
 *     values      each place of arguments; a semaphore; and trace points of its own between the probes
 *     threads N   four threads with N probes each, which begin one after the other
 *     child N     N probes, and as many in a child
 *     files N     N probes when the file `go` is there, which it removes; then one more when it is there again
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <trace.h>
#include <unistd.h>

/* A note as the linker collects them: addresses of the probe, of nothing, of the semaphore; then three strings. */
#define PROBE(name, semaphore, arguments, ...)                                                                         \
	__asm__ __volatile__("990: nop\n"                                                                              \
	                     "\t.pushsection .note.stapsdt, \"?\", \"note\"\n"                                         \
	                     "\t.balign 4\n\t.4byte 992f - 991f, 994f - 993f, 3\n"                                     \
	                     "991: .asciz \"stapsdt\"\n992: .balign 4\n"                                               \
	                     "993: .8byte 990b, 0, " semaphore "\n"                                                    \
	                     "\t.asciz \"target\"\n\t.asciz \"" name "\"\n\t.asciz \"" arguments "\"\n"                \
	                     "994: .balign 4\n\t.popsection" : : __VA_ARGS__)

extern volatile unsigned short target_semaphore;
__attribute__((used, section(".probes"))) volatile unsigned short target_semaphore;
static int variable = 77;

static void __attribute__((noinline)) hit(int n)
{
	PROBE("hit", "0", "-4@%0", "r"(n));
}

static void __attribute__((noinline)) values(int minus, uint64_t large, unsigned char byte)
{
	volatile int on_stack = -12;
	volatile uint64_t also[3] = { 1, 2, 3 };
	trace_event_id_t own;

	/* A name that ends as a layout does: no event type can have it beside the layout of its arguments. */
	PROBE("%{b:u32%}", "0", "-4@%0", "r"(minus));
	posix_trace_eventid_open("own{n:u32}", &own);
	posix_trace_event(own, &(uint32_t){ 1 }, 4);
	PROBE("registers", "0", "-4@%0 8@%1 1@%b2 -1@%b2", "r"(minus), "r"(large), "q"(byte));
	posix_trace_event(own, &(uint32_t){ 2 }, 4);
	PROBE("memory", "0", "-4@%0 8@%1 -4@%2", "m"(on_stack), "m"(also[2]), "r"(minus));
	PROBE("constant", "0", "-4@%0 8@%1", "i"(-3), "i"(1 << 20));
	PROBE("none", "0", "");
	PROBE("left", "0", "-4@variable(%%rip) 8@16(%%rbx) 8f@%%xmm0 4@%0 what", "r"(byte));
	PROBE("register_high", "0", "1@%%ah", "a"(0x1234));
	posix_trace_event(own, &(uint32_t){ 3 }, 4);
	/* The same probe at two places, with other arguments. */
	PROBE("twice", "0", "1@%b0", "q"(byte));
	PROBE("twice", "0", "-8@%0", "r"((int64_t)minus));
	if (target_semaphore)
		PROBE("guarded", "target_semaphore", "4@%0", "r"(variable));
}

/* One probe at two places; its second text is in memory, and in a register. */
static void __attribute__((noinline)) texts(const char *first, const char *second, long n)
{
	const char *volatile on_stack = second;

	PROBE("said", "0", "8@%0 8@%1 8@%2", "r"(first), "m"(on_stack), "r"(n));
	PROBE("said", "0", "8@%0 8@%1 8@%2", "r"(second), "r"(first), "r"(n));
	/* No text, as the kernel cannot fetch a constant. */
	PROBE("fixed", "0", "8@%0 8@%1", "i"(65536), "r"(first));
}

static void *thread(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++)
		hit(i);
	return NULL;
}

static void go(void)
{
	while (access("go", F_OK) != 0)
		usleep(1000);
	unlink("go");
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t t[4];

	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "values") == 0) {
		values(-5, UINT64_C(0xfedcba9876543210), 200);
	} else if (strcmp(argv[1], "texts") == 0) {
		char large[1000];

		memset(large, 'x', sizeof large - 1);
		large[sizeof large - 1] = '\0';
		/* Only the kernel reads it. */
		__asm__ __volatile__("" : : "r"(large) : "memory");
		texts("tea", "", 200);
		texts(NULL, (const char *)8, 1000000);
		texts(large, "t\303\251", -1);
	} else if (strcmp(argv[1], "threads") == 0) {
		for (int i = 0; i < 4; i++)
			if (pthread_create(&t[i], NULL, thread, &n) != 0)
				return 3;
		for (int i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	} else if (strcmp(argv[1], "child") == 0) {
		pid_t child = fork();

		thread(&n);
		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	} else if (strcmp(argv[1], "files") == 0) {
		puts("ready");
		fflush(stdout);
		go();
		thread(&n);
		go();
		hit(n);
	}
	printf("semaphore %d\n", target_semaphore);
	return 0;
}
