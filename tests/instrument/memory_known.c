/*
 * memory_known.c - a program that is known to leak, for memory.py
 *
 * SPDX-License-Identifier: MIT
 */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

/* Where the compiler cannot see that nothing is used. */
static void *volatile seen;

static NOINLINE void leak_thousand(void)
{
	seen = malloc(1000);
}

static NOINLINE void *make(size_t size)
{
	void *p = malloc(size);

	seen = p;
	return p;
}

static NOINLINE void use_and_free(void)
{
	void *p = calloc(10, 7);

	seen = p;
	free(p);
}

/* Grows a block 20 times, and leaves 2000 bytes. */
static NOINLINE void grow(void)
{
	char *p = NULL;

	for (size_t size = 100; size <= 2000; size += 100) {
		char *larger = realloc(p, size);

		if (!larger)
			exit(1);
		p = larger;
		seen = p;
	}
}

static NOINLINE void big(void)
{
	void *one = make(3000000), *other = make(2000000);

	free(one);
	free(other);
}

#define HANDED 2000

static void *slot;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Frees what the other thread allocates. */
static void *consumer(void *arg)
{
	for (int i = 0; i < HANDED; i++) {
		void *p;

		pthread_mutex_lock(&lock);
		while (!slot)
			pthread_cond_wait(&changed, &lock);
		p = slot;
		slot = NULL;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
		if (i % 3 == 0)
			p = realloc(p, 500);
		free(p);
	}
	return arg;
}

static NOINLINE void hand_over(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, consumer, NULL) != 0)
		exit(1);
	for (int i = 0; i < HANDED; i++) {
		void *p = make(40);

		pthread_mutex_lock(&lock);
		while (slot)
			pthread_cond_wait(&changed, &lock);
		slot = p;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	pthread_join(thread, NULL);
}

static NOINLINE void child(void *inherited)
{
	free(inherited);
	seen = malloc(77);
	_exit(0);
}

int main(int argc, char **argv)
{
	void *inherited;
	pid_t pid;

	/* Executes itself once: the blocks of the first program are another matter. */
	if (argc > 1 && strcmp(argv[1], "exec") == 0) {
		leak_thousand();
		execl("/proc/self/exe", argv[0], (char *)NULL);
		return 1;
	}
	for (int i = 0; i < 3; i++)
		leak_thousand();
	for (int i = 0; i < 50; i++)
		use_and_free();
	seen = memalign(64, 640);
	grow();
	big();
	hand_over();
	inherited = make(123);
	pid = fork();
	if (pid == 0)
		child(inherited);
	free(inherited);
	return waitpid(pid, NULL, 0) != pid;
}
