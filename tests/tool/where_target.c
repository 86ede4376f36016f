/*
 * where_target.c - a program with events of random values, for tests of record --where
 *
 *     where_target SEED EVENTS THREADS [PROGRAM]
 *
 * Waits for a line of standard input, except as PROGRAM. Then so many threads record so many events each. Types are
 * opened when they are used first; "late" and "told", which gets its layout after its first events, only in the middle.
 * PROGRAM is started in the middle, as a child, with one thread.
 *
 * SPDX-License-Identifier: MIT
 */
#include <posixtrace/trace.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned events, seed;
static const char *program;

/* Returns a number less than most. */
static unsigned chance(uint64_t *state, unsigned most)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(*state >> 33) % most;
}

static trace_event_id_t type(const char *name, const char *layout)
{
	trace_event_id_t id;

	if (layout ? posixtrace_declare(name, layout, &id) : posix_trace_eventid_open(name, &id))
		abort();
	return id;
}

static void start_program(void)
{
	char number[16], few[16];
	pid_t pid;

	snprintf(number, sizeof number, "%u", seed + 100);
	snprintf(few, sizeof few, "%u", events / 4);
	pid = fork();
	if (pid == 0) {
		execl(program, program, number, few, "1", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		abort();
}

static void record(uint64_t *state, bool later)
{
	static const char *const keys[] = { "user:1", "user:22", "tmp", "" };
	struct __attribute__((packed)) { int64_t size; char key[16]; } key = { 0 };
	struct { uint32_t rows; uint8_t state; } row = { 0 };
	struct { uint16_t count, size[8]; } late = { 0 };
	uint32_t number = chance(state, 1000);

	switch (chance(state, later ? 5 : 4)) {
	case 0:
		row.rows = chance(state, 10);
		row.state = (uint8_t)chance(state, 4);
		posix_trace_event(type("row", "{rows:u32,state:u8<idle,busy,done>}"), &row, sizeof row);
		return;
	case 1:
		key.size = (int64_t)chance(state, 4000) - 2000;
		strcpy(key.key, keys[chance(state, 4)]);
		posix_trace_event(type("key{packed;size:i64/B,key:z}", NULL), &key, 8 + strlen(key.key) + 1);
		return;
	case 2:
		posix_trace_event(type("bare", NULL), &number, number % 5);
		return;
	case 3:
		posix_trace_event(type("told", later ? "{number:u32}" : NULL), &number, sizeof number);
		return;
	default:
		late.count = (uint16_t)chance(state, 8);
		for (unsigned i = 0; i < late.count; i++)
			late.size[i] = (uint16_t)chance(state, 100);
		posix_trace_event(type("late", "{count:u16,size:u16[count]}"), &late, 2 + 2u * late.count);
	}
}

static void *run(void *arg)
{
	unsigned thread = *(unsigned *)arg;
	uint64_t state = seed * UINT64_C(1000) + thread;
	char name[16];

	snprintf(name, sizeof name, "worker-%u", thread);
	prctl(PR_SET_NAME, name);
	for (unsigned i = 0; i < events; i++) {
		if (i == events / 2 && thread == 0 && program)
			start_program();
		record(&state, i >= events / 2);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 3 ? (unsigned)atoi(argv[3]) : 0, number[16];
	pthread_t thread[16];
	char line[16];

	if (threads < 1 || threads > 16)
		return 2;
	seed = (unsigned)atoi(argv[1]);
	events = (unsigned)atoi(argv[2]);
	program = argc > 4 ? argv[4] : NULL;
	if (program && !fgets(line, sizeof line, stdin))
		return 1;
	for (unsigned i = 0; i < threads; i++) {
		number[i] = i;
		if (pthread_create(&thread[i], NULL, run, &number[i]))
			return 1;
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
