/*
 * let_go.c - streams that have ended while a thread was inside a trace point are let go soon
 *
 * They are unmapped at a trace point that finds nobody else inside. One that
 * does not tries again after a while, which doubles each time; but not for what
 * others have held up before. tests/fault/crowd.c found a process which, having
 * seen many streams end while it had no processor, kept the last one for a million trace points; or for ever,
 * where whoever had ended it had not got the page's slot.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

#include <sys/syscall.h>

#include "shm/layout.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>

#define ROUNDS 20   /* doubled so often, it is for ever */
#define SOON   1000 /* trace points */

enum { PASS, STOP, STOPPED };

static _Atomic int inside;
static _Atomic int tries;
static _Thread_local bool stoppable;
static trace_event_id_t id;
static _Atomic int turn, done; /* the other thread traces when the one rises, and says so by the other */

void test_point(const char *name);

void test_point(const char *name)
{
	if (strcmp(name, "detach_retired") == 0)
		tries++;
	if (!stoppable || strcmp(name, "event_inside") != 0)
		return;
	if (inside == STOP)
		inside = STOPPED;
	while (inside == STOPPED)
		usleep(100);
}

static void *other(void *arg)
{
	int seen = 0;

	stoppable = true;
	while (seen >= 0) {
		while (turn == seen)
			usleep(100);
		seen = turn;
		for (int i = 0; i < 10; i++)
			posix_trace_event(id, "other", 5);
		done = seen;
	}
	return NULL;
}

static void trace(int n)
{
	while (n-- > 0)
		posix_trace_event(id, "data", 4);
}

/* A controller comes, sees, and goes. */
static void visit(void (*meanwhile)(void))
{
	pid_t self = getpid(), child;
	int come[2], go[2], status;
	char c;

	MUST(pipe(come) == 0 && pipe(go) == 0);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		trace_id_t trid;

		close(go[1]);
		if (posix_trace_create(self, NULL, &trid) != 0 || posix_trace_start(trid) != 0 || write(come[1], "", 1) != 1 ||
		    read(go[0], &c, 1) != 0 || posix_trace_shutdown(trid) != 0)
			_exit(1);
		_exit(0);
	}
	close(come[1]);
	close(go[0]);
	MUST(read(come[0], &c, 1) == 1);
	trace(10);
	meanwhile();
	close(go[1]);
	close(come[0]);
	MUST(waitpid(child, &status, 0) == child);
	CHECK("-", WIFEXITED(status) && WEXITSTATUS(status) == 0);
	trace(10);
}

static void nothing(void)
{
}

static void wait_for_other(void)
{
	while (done != turn)
		usleep(100);
}

static void other_traces(void)
{
	turn++;
	wait_for_other();
}

static void other_stops(void)
{
	inside = STOP;
	turn++;
	while (inside != STOPPED)
		usleep(100);
}

TEST(soon)
{
	pthread_t thread;
	int bare;

	shm_private("");
	id = fault_open("fault");
	MUST(pthread_create(&thread, NULL, other, NULL) == 0);
	visit(other_traces);
	trace(SOON);
	bare = shm_mappings(getpid(), "/stream-");
	CHECK_EQ("SHUT-2", bare, 0);

	visit(other_stops);
	for (int i = 0; i < ROUNDS; i++)
		visit(nothing);
	/* Or nobody was inside, and this shows nothing. */
	CHECK_OP("-", shm_mappings(getpid(), "/stream-"), >=, ROUNDS);
	tries = 0;
	trace(SOON);
	CHECK_OP("SHUT-2", tries, >, 0);
	CHECK_OP("-", tries, <, 10);
	inside = PASS;
	wait_for_other();
	trace(SOON);
	CHECK_EQ("SHUT-2", shm_mappings(getpid(), "/stream-"), 0);
	turn = -1;
	pthread_join(thread, NULL);
}

/* -- One that nobody has taken out of the page ---------------------------------- */

static struct procpage *page;

static void find_page(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long at;

	MUST(f);
	while (fgets(line, sizeof line, f))
		if (strstr(line, " rw-s ") && strstr(line, "/page-") && sscanf(line, "%lx", &at) == 1)
			page = (struct procpage *)at;
	fclose(f);
	MUST(page && page->magic == PAGE_MAGIC);
}

/* Somebody has claimed all slots, and has no processor for a while. */
static void claim_all(void)
{
	for (int i = 0; i < PAGE_SLOTS; i++)
		page->slot[i].claim = (uint32_t)syscall(SYS_gettid);
}

TEST(left_in_the_page)
{
	shm_private("");
	id = fault_open("fault");
	visit(nothing);
	find_page();
	visit(claim_all);
	CHECK_OP("-", shm_mappings(getpid(), "/stream-"), >, 0);
	for (int i = 0; i < PAGE_SLOTS; i++)
		page->slot[i].claim = 0;
	CHECK_EQ("SHUT-2", shm_count(shm_directory(), "stream-"), 0);
	trace(10);
	CHECK_EQ("SHUT-2", shm_mappings(getpid(), "/stream-"), 0);
	CHECK("-", page->sum.vacant == ~UINT32_C(0));
}

TEST_MAIN(TEST_ENTRY(left_in_the_page), TEST_ENTRY(soon))
