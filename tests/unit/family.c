/*
 * family.c - src/shm/family.c: what a process inherits from those that it descends from
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/family.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/birthmark.h"
#include "base/sys.h"
#include "shm.h"
#include "unit.h"

static char path[32];
static int dir;
static struct place place;
static struct procpage *page; /* of this process */
static struct hold hold;

static struct procpage *make_page(struct ident id, struct hold *held)
{
	struct procpage *p;

	MUST(procpage_open(dir, &place, id, NULL, NULL, &p, held) == 0);
	return p;
}

/* Not with a page of this process already. */
static void begin_bare(void)
{
	shm_private("");
	strcpy(path, "/dev/shm");
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	place = unit_place(path);
}

static void begin(void)
{
	begin_bare();
	page = make_page(unit_ident(), &hold);
}

/* A stream that is inherited by what begins from the next tick on; 0: one that is not inherited. */
static void enter(struct procpage *p, uint32_t serial, bool inherited)
{
	struct page_entry e = { { 11, 22, 0 }, serial, inherited ? ident_ticks() + 1 : 0 };

	MUST(procpage_enter(p, unit_tid(), &e) >= 0);
	ident_next_tick();
}

/* Which serial numbers the page of a process has that is made now, as bits; and who is above it. */
static struct ident above;

static uint32_t inherits(uint32_t number, struct ident id, const struct procpage *known)
{
	struct family f = { .dir = dir, .place = &place, .number = number, .ident = id, .known = known };
	struct procpage *p = NULL;
	struct hold held = { NULL };
	char name[FILE_NAME_SIZE];
	struct page_entry e;
	uint32_t bits = 0;

	MUST(procpage_open(dir, &place, id, family_inherit, &f, &p, &held) == 0);
	above = f.above;
	for (int i = 0; i < PAGE_SLOTS; i++)
		if (procpage_read(p, i, &e))
			bits |= 1u << e.serial;
	/* The names go with the streams. */
	CHECK("-", ident_same(procpage_names(p), bits ? (struct ident){ 7, 8, 9 } : id));
	lock_release(&held);
	procpage_close(p);
	file_name_once(name, "page", id);
	MUST(file_remove_unused(dir, &place, name, NULL, NULL));
	return bits;
}

static void name_family(struct procpage *p)
{
	p->names_pid = 7;
	p->names_start = 8;
	p->names_space = 9;
}

static uint32_t child_inherits(const struct unit_child *child)
{
	return inherits((uint32_t)child->pid, child->ident, NULL);
}

TEST(child)
{
	struct unit_child before, after;

	begin();
	name_family(page);
	before = unit_child(NULL, NULL);
	enter(page, 1, true);
	enter(page, 2, false);
	after = unit_child(NULL, NULL);
	CHECK_EQ("-", child_inherits(&before), 0);
	CHECK("-", ident_same(above, unit_ident()));
	CHECK_EQ("-", child_inherits(&after), 1u << 1);
	CHECK("-", ident_same(above, unit_ident()));
	unit_end_child(&after);
	unit_end_child(&before);
}

/* Without descriptors nobody knows who is above: then there is no page yet, rather than one that has inherited nothing for good. */
TEST(not_now)
{
	static struct procpage untouched, p;
	struct unit_child child;
	struct family f = { .place = &place };
	struct rlimit before, none;

	begin();
	name_family(page);
	enter(page, 1, true);
	child = unit_child(NULL, NULL);
	f.dir = dir;
	f.number = (uint32_t)child.pid;
	f.ident = child.ident;
	MUST(getrlimit(RLIMIT_NOFILE, &before) == 0);
	none = before;
	none.rlim_cur = 0;
	MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK_EQ("INH-1", family_inherit(&p, &f), -EMFILE);
	CHECK("-", memcmp(&p, &untouched, sizeof p) == 0);
	MUST(setrlimit(RLIMIT_NOFILE, &before) == 0);
	CHECK_EQ("INH-1", child_inherits(&child), 1u << 1);
	unit_end_child(&child);
}

TEST(nobody_above)
{
	struct unit_child child;
	struct hold other;

	begin_bare();
	make_page((struct ident){ 77, 88, 99 }, &other); /* of somebody else */
	child = unit_child(NULL, NULL);
	CHECK_EQ("-", child_inherits(&child), 0);
	CHECK_EQ("-", above.pid, 0);
	unit_end_child(&child);
}

/* One that nobody holds is of no process that lives. */
TEST(stale)
{
	struct unit_child child;

	begin();
	enter(page, 1, true);
	lock_release(&hold);
	child = unit_child(NULL, NULL);
	CHECK_EQ("-", child_inherits(&child), 0);
	CHECK_EQ("-", above.pid, 0);
	unit_end_child(&child);
}

/* -- Through processes that know nothing of it ---------------------------------------- */

static int to_test[2], from_test[2];

/* A child whose child tells who it is when it is made, which it is when told so. */
static void make_grandchild(void *arg)
{
	pid_t pid;
	char c;

	if (fork() == 0) { /* in the background, so that the child can be waited for */
		if (read(from_test[0], &c, 1) != 1)
			_exit(0);
		pid = fork();
		if (pid == 0) {
			if (!unit_send_ident(to_test[1]))
				_exit(1);
			_exit(read(from_test[0], &c, 1) != 1);
		}
		waitpid(pid, NULL, 0);
		_exit(0);
	}
}

static void pipes(void)
{
	MUST(pipe(to_test) == 0 && pipe(from_test) == 0);
}

/* Its branch begins with that of the child, which is when it counts. */
TEST(grandchild)
{
	struct unit_child child;
	struct ident id;

	begin();
	name_family(page);
	enter(page, 1, true);
	pipes();
	child = unit_child(make_grandchild, NULL);
	enter(page, 2, true);
	MUST(write(from_test[1], "", 1) == 1);
	id = unit_receive_ident(to_test[0]);
	CHECK_EQ("-", inherits(id.pid, id, NULL), 1u << 1);
	CHECK("-", ident_same(above, unit_ident()));
	MUST(write(from_test[1], "", 1) == 1);
	unit_end_child(&child);
}

/* The nearest page counts: what that one has not inherited is not inherited through it. */
TEST(nearest)
{
	struct unit_child child;
	struct procpage *childs;
	struct hold held;
	struct ident id;

	begin();
	name_family(page);
	enter(page, 1, true);
	pipes();
	child = unit_child(make_grandchild, NULL);
	childs = make_page(child.ident, &held);
	name_family(childs);
	enter(childs, 2, true);
	MUST(write(from_test[1], "", 1) == 1);
	id = unit_receive_ident(to_test[0]);
	/* make_grandchild() has one in between, which is of before. */
	CHECK_EQ("-", inherits(id.pid, id, NULL), 0);
	CHECK("-", ident_same(above, child.ident));
	MUST(write(from_test[1], "", 1) == 1);
	unit_end_child(&child);
}

/* -- As the process itself asks ---------------------------------------------------------- */

static uint32_t expected;

static void ask(void *known)
{
	CHECK_EQ("-", inherits(0, unit_ident(), known), expected);
}

TEST(caller)
{
	struct unit_child child;
	char name[FILE_NAME_SIZE];

	begin();
	name_family(page);
	enter(page, 1, true);
	expected = 1u << 1;
	child = unit_child(ask, NULL);
	unit_end_child(&child);
	child = unit_child(ask, page); /* forked from it: its page is known */
	unit_end_child(&child);
	/* Known, it need not have a name any more, nor be held. */
	lock_release(&hold);
	file_name_once(name, "page", unit_ident());
	MUST(file_remove_unused(dir, &place, name, NULL, NULL));
	child = unit_child(ask, page);
	unit_end_child(&child);
	expected = 0;
	child = unit_child(ask, NULL);
	unit_end_child(&child);
}

/* Nothing to be had there: then nothing more is asked. */
TEST(known_without)
{
	struct unit_child child;

	begin();
	enter(page, 2, false);
	expected = 0;
	child = unit_child(ask, page);
	unit_end_child(&child);
}

/* Who is in between has ended, so nobody knows when the branch began: the caller's own beginning counts. */
static void ask_as_orphan(void *known)
{
	pid_t middle = fork();

	if (middle == 0) {
		pid_t middle_pid = getpid();

		if (fork() == 0) {
			char c = 0;

			while (getppid() == middle_pid)
				unit_sleep_ms(1);
			CHECK_EQ("-", inherits(0, unit_ident(), known), expected);
			c = (char)test_failures;
			_exit(write(to_test[1], &c, 1) != 1);
		}
		_exit(0);
	}
	MUST(waitpid(middle, NULL, 0) == middle);
}

static void check_orphan(void (*bear)(void *), void *arg)
{
	struct unit_child child = unit_child(bear, arg);
	char failures;

	MUST(read(to_test[0], &failures, 1) == 1);
	CHECK_EQ("-", failures, 0);
	unit_end_child(&child);
}

TEST(orphan)
{
	begin();
	name_family(page);
	enter(page, 1, true);
	pipes();
	expected = 1u << 1;
	check_orphan(ask_as_orphan, page);
}

/* -- The marked one, where parents have ended -------------------------------------------- */

static struct procpage *begin_below(uint32_t serial)
{
	static struct hold held;
	struct procpage *own = make_page(unit_ident(), &held);

	name_family(own);
	enter(own, serial, true);
	return own;
}

/* A process that is traced and has never attached: what its child has in memory is the page of somebody above it. */
static void marked_bears(void *known)
{
	begin_below(2);
	birthmark_set(0, unit_ident());
	ask_as_orphan(known);
}

/* And one that has attached. */
static void known_bears(void *arg)
{
	ask_as_orphan(begin_below(2));
}

static void each_adoption(void (*bear)(void *))
{
	uint64_t soft, hard;

	MUST(sys_unused_limit(0, &soft, &hard) == 0);
	if (hard != SYS_NO_LIMIT)
		SKIP("somebody has set the limit that is used for the birthmark");
	/* Adopted by whoever adopts here, who has no page, and then by this process, which has one. */
	for (int reaper = 0; reaper < 2; reaper++) {
		if (prctl(PR_SET_CHILD_SUBREAPER, reaper) < 0)
			SKIP("nobody can be made to take orphans here");
		expected = 1u << 2;
		check_orphan(bear, page);
	}
}

TEST(marked_below_known)
{
	begin();
	name_family(page);
	enter(page, 1, true);
	pipes();
	each_adoption(marked_bears);
}

/* All of them began within one clock tick, or not. */
TEST(marked_right_below_known)
{
	begin();
	name_family(page);
	pipes();
	each_adoption(marked_bears);
}

TEST(marked_above_known)
{
	begin();
	name_family(page);
	enter(page, 1, true);
	birthmark_set(0, unit_ident());
	pipes();
	each_adoption(known_bears);
}

/* A mark whose page is gone means nothing. */
static void marked_once_bears(void *known)
{
	birthmark_set(0, unit_ident());
	expected = 1u << 1;
	ask_as_orphan(known);
}

TEST(marked_once)
{
	begin();
	name_family(page);
	enter(page, 1, true);
	pipes();
	each_adoption(marked_once_bears);
}

TEST_MAIN(TEST_ENTRY(child), TEST_ENTRY(not_now), TEST_ENTRY(nobody_above), TEST_ENTRY(stale), TEST_ENTRY(grandchild), TEST_ENTRY(nearest),
          TEST_ENTRY(caller), TEST_ENTRY(known_without), TEST_ENTRY(orphan), TEST_ENTRY(marked_below_known),
          TEST_ENTRY(marked_right_below_known), TEST_ENTRY(marked_above_known), TEST_ENTRY(marked_once))
