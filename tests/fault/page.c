/*
 * page.c - streams that come and go at a process's page, at each place of the other's change
 *
 * The word that trace points look at never says "nobody traces" where a stream is in the page: also while whoever takes another one out stands
 * still at the most unlucky place, and for ever if it is killed there (H11).
 *
 * SPDX-License-Identifier: MIT
 */
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shm/procpage.h"
#include "shm/who.h"
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

/* Whoever has entered is traced from now on, whatever the other one is at. */
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

/* One does something, and another in between; alone, and killed there. */
static void between(const char *place, void (*one)(void), void (*other)(void))
{
	for (int killed = 0; killed <= 1; killed++) {
		pid_t pid;
		int status;

		MUST(enter(1) == 0);
		pid = fork();
		MUST(pid >= 0);
		if (pid == 0) {
			stop_at = place;
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
		/* Whoever is in the page is seen, but for one who was killed before it had entered. */
		for (int i = 0; i < PAGE_SLOTS; i++) {
			struct page_entry e;

			if (!procpage_read(page, i, &e))
				continue;
			CHECK("-", some() || (killed && one == enter_second && e.serial == 2 && strcmp(place, "page_bit") == 0));
			leave(i, e.serial);
		}
		/* At worst it says "some" in vain, until the next one has gone. */
		leave(enter(3), 3);
		CHECK("-", !some());
	}
}

TEST(page)
{
	static const char *leaving[] = { "page_leave_claimed", "page_bit_back", "page_none", "page_sum_back", "page_left", "page_freed" };
	static const char *entering[] = { "page_claimed", "page_filled", "page_bit", "page_sum", "page_freed", "page_entered" };
	struct procpage *made;
	struct hold hold = { NULL };
	char path[32];
	struct place place;
	int dir = unit_directory(path);

	place = unit_place(path);
	MUST(procpage_open(dir, &place, someone, NULL, NULL, &made, &hold) == 0);
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
