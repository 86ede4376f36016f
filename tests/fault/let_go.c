/*
 * let_go.c - streams that ended while a thread was inside a trace point are soon unmapped
 *
 * Streams are unmapped at a trace point that finds no other thread inside. Otherwise the process tries again after a
 * while, which doubles each time; but delays of earlier streams must not count for later ones. tests/fault/crowd.c
 * found a process that had seen many streams end while another thread had no processor: it kept the last one for a
 * million trace points. It kept a stream forever if the process that had ended it could not lock the page's slot.
 *
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"

#include <sys/syscall.h>

#include "shm/layout.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>

#define ROUNDS 20   /* a delay doubled this often never ends */
#define SOON   1000 /* trace points */

enum { PASS, STOP, STOPPED };

static _Atomic int inside;
static _Atomic int tries;
static _Thread_local bool stoppable;
static trace_event_id_t id;
static _Atomic int turn, done; /* the other thread traces when `turn` changes, and then copies it to `done` */

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

/* Lets a controller create a stream, calls meanwhile(), and lets the controller shut the stream down. */
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
		if (posix_trace_create(self, NULL, &trid) != 0 || posix_trace_start(trid) != 0 ||
		    write(come[1], "", 1) != 1 || read(go[0], &c, 1) != 0 || posix_trace_shutdown(trid) != 0)
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
	/* Otherwise no thread was inside, and the test proves nothing. */
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

/* -- A stream that was not removed from the page -------------------------------- */

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

/* Locks all slots, as a process without a processor would. */
static void lock_all(void)
{
	for (int i = 0; i < PAGE_SLOTS; i++)
		page->slot[i].lock = (uint32_t)syscall(SYS_gettid);
}

TEST(left_in_the_page)
{
	shm_private("");
	id = fault_open("fault");
	visit(nothing);
	find_page();
	visit(lock_all);
	CHECK_OP("-", shm_mappings(getpid(), "/stream-"), >, 0);
	for (int i = 0; i < PAGE_SLOTS; i++)
		page->slot[i].lock = 0;
	CHECK_EQ("SHUT-2", shm_count(shm_directory(), "stream-"), 0);
	trace(10);
	CHECK_EQ("SHUT-2", shm_mappings(getpid(), "/stream-"), 0);
	CHECK("-", page->sum.vacant == ~UINT32_C(0));
}

TEST_MAIN(TEST_ENTRY(left_in_the_page), TEST_ENTRY(soon))
