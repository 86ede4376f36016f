/*
 * page.c - streams enter and leave a process's page at each step of another stream's change
 *
 * The word that trace points read never says "nobody traces" while a stream is in the page: not even while a thread
 * that removes another stream has stopped at the worst place, or was killed there (H11).
 *
 * SPDX-License-Identifier: MIT
 */
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/thread_ref.h"
#include "shm/procpage.h"
#include "test.h"
#include "unit.h"

static const struct ident someone = { 77, 88, 99 };

static struct procpage *page;
static const char *stop_at;
static void (*then)(void);
static bool was_there, die;

void test_point(const char *name);

void test_point(const char *name)
{
	if (!stop_at || strcmp(name, stop_at) != 0)
		return;
	stop_at = NULL;
	was_there = true;
	then();
	if (die)
		kill(getpid(), SIGKILL);
}

static struct page_entry entry_of(uint32_t serial)
{
	return (struct page_entry){ { 5, 6, 0 }, serial, 0 };
}

static int enter(uint32_t serial)
{
	struct page_entry e = entry_of(serial);

	return procpage_enter(page, unit_tid(), &e);
}

static void leave(int slot, uint32_t serial)
{
	struct page_entry e = entry_of(serial);

	if (procpage_leave(page, slot, unit_tid(), &e))
		procpage_free(page, slot);
}

static bool some(void)
{
	return (load_relaxed(&page->sum.vacant) | PAGE_LOOK) != UINT32_MAX;
}

/* A stream that has entered is traced from now on, whatever the other stream's change has reached. */
static void enter_between(void)
{
	MUST(enter(2) >= 0);
	CHECK("-", some());
}

static void nothing(void)
{
}

static void leave_first(void)
{
	leave(0, 1);
}

static void enter_second(void)
{
	MUST(enter(2) == 1);
}

/* Runs one(), and other() at a point in the middle of it; once normally, and once with a kill at the point. */
static void between(const char *point, void (*one)(void), void (*other)(void))
{
	for (int killed = 0; killed <= 1; killed++) {
		pid_t pid;
		int status;

		MUST(enter(1) == 0);
		pid = fork();
		MUST(pid >= 0);
		if (pid == 0) {
			stop_at = point;
			then = other;
			die = killed;
			one();
			MUST(was_there);
			_exit(test_failures != 0);
		}
		MUST(waitpid(pid, &status, 0) == pid);
		if (killed)
			CHECK("-", WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		else
			CHECK("-", WIFEXITED(status) && WEXITSTATUS(status) == 0);
		/* The word covers each stream in the page, except one whose process was killed before it had entered
		 * it. */
		for (int i = 0; i < PAGE_SLOTS; i++) {
			struct page_entry e;

			if (!procpage_read(page, i, &e))
				continue;
			CHECK("-", some() || (killed && one == enter_second && e.serial == 2 &&
			                      strcmp(point, "page_bit") == 0));
			leave(i, e.serial);
		}
		/* At worst the word says "some" unnecessarily, until the next stream has left. */
		leave(enter(3), 3);
		CHECK("-", !some());
	}
}

TEST(page)
{
	static const char *leaving[] = { "page_leave_locked", "page_bit_back", "page_none",
		                         "page_sum_back",     "page_left",     "page_freed" };
	static const char *entering[] = { "page_locked", "page_filled", "page_bit",
		                          "page_sum",    "page_freed",  "page_entered" };
	struct procpage *made;
	struct hold hold = { NULL };
	char path[32];
	struct shm_dir shm_dir;
	int dir = unit_directory(path);

	shm_dir = unit_shm_dir(path);
	MUST(procpage_open(dir, &shm_dir, someone, NULL, NULL, &made, &hold) == 0);
	page = made;
	for (unsigned i = 0; i < sizeof leaving / sizeof *leaving; i++) {
		between(leaving[i], leave_first, enter_between);
		between(leaving[i], leave_first, nothing);
	}
	for (unsigned i = 0; i < sizeof entering / sizeof *entering; i++) {
		between(entering[i], enter_second, leave_first);
		between(entering[i], enter_second, nothing);
	}
	unlinkat(dir, "page-77-88-99", 0);
	CHECK_EQ("-", rmdir(path), 0);
}

TEST_MAIN(TEST_ENTRY(page))
