/*
 * stat_log.c - makes a log of which everything is known that a program can know
 *
 *     stat_log FILE THREADS ROUNDS
 *
 * Each thread records ROUNDS times job.begin, depth{...} twice one inside the other, job.end; every tenth
 * job has no end. Prints its process id and, for each thread that ended, thread id and sum of its durations
 * as it saw them: from just before a begin to just after its end, in nanoseconds.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <trace.h>
#include <unistd.h>

#define THREADS_MAX 16

static trace_event_id_t begin, end, in, out;
static long rounds;

struct thread {
	pthread_t thread;
	int number;
	long tid;
	int64_t outside; /* the sum of durations, measured around the calls */
};

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void recurse(int depth)
{
	uint32_t data = (uint32_t)depth;

	posix_trace_event(in, &data, sizeof data);
	if (depth < 2)
		recurse(depth + 1);
	posix_trace_event(out, &data, sizeof data);
}

static void *run(void *arg)
{
	struct thread *t = arg;
	char name[16];

	snprintf(name, sizeof name, "worker %d", t->number);
	prctl(PR_SET_NAME, name);
	t->tid = syscall(SYS_gettid);
	for (long i = 1; i <= rounds; i++) {
		uint64_t job[2] = { (uint64_t)t->number, (uint64_t)i };
		int64_t since = now();

		posix_trace_event(begin, job, sizeof job);
		recurse(1);
		if (i % 10 == 0)
			continue;
		posix_trace_event(end, job, 8);
		t->outside += now() - since;
	}
	return NULL;
}

static int open_types(void)
{
	return posix_trace_eventid_open("job.begin{thread:u64,number:u64}", &begin) ||
	    posix_trace_eventid_open("job.end", &end) ||
	       posix_trace_eventid_open("depth.in{depth:u32}", &in) || posix_trace_eventid_open("depth.out", &out);
}

int main(int argc, char **argv)
{
	struct thread thread[THREADS_MAX];
	int threads = argc > 3 ? atoi(argv[2]) : 0, fd = argc > 3 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC,
	    0600) : -1;
	trace_attr_t attr;
	trace_id_t trid;

	rounds = argc > 3 ? atol(argv[3]) : 0;
	if (fd < 0 || threads > THREADS_MAX || open_types() || posix_trace_attr_init(&attr) ||
	    posix_trace_attr_setname(&attr, "stat_log") || posix_trace_attr_setstreamsize(&attr, 16 << 20) ||
	    posix_trace_attr_setlogfullpolicy(&attr, POSIX_TRACE_APPEND) || posix_trace_create_withlog(0, &attr, fd,
	        &trid) ||
	    posix_trace_start(trid))
		return 1;
	for (int i = 0; i < threads; i++) {
		thread[i] = (struct thread){ .number = i };
		if (pthread_create(&thread[i].thread, NULL, run, &thread[i]))
			return 1;
	}
	printf("%d\n", (int)getpid());
	for (int i = 0; i < threads; i++) {
		pthread_join(thread[i].thread, NULL);
		printf("%ld %lld\n", thread[i].tid, (long long)thread[i].outside);
	}
	return posix_trace_shutdown(trid) != 0;
}
