/*
 * family.c - src/shm/family.c: what a process inherits from its ancestors
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/family.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/sys.h"
#include "host/ancestor_tag.h"
#include "shm.h"
#include "unit.h"

static char path[32];
static int dir;
static struct shm_dir shm_dir;
static struct procpage *page; /* the page of this process */
static struct hold hold;

static struct procpage *make_page(struct ident id, struct hold *held)
{
	struct procpage *p;

	MUST(procpage_open(dir, &shm_dir, id, NULL, NULL, &p, held) == 0);
	return p;
}

/* Prepares a test in which this process has no page. */
static void begin_bare(void)
{
	shm_private("");
	strcpy(path, "/dev/shm");
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	shm_dir = unit_shm_dir(path);
}

static void begin(void)
{
	begin_bare();
	page = make_page(unit_ident(), &hold);
}

/* Enters a stream. If inherited is set, processes inherit it that begin at the next tick or later. */
static void enter(struct procpage *p, uint32_t serial, bool inherited)
{
	struct page_entry e = { { 11, 22, 0 }, serial, inherited ? ident_ticks() + 1 : 0 };

	MUST(procpage_enter(p, unit_tid(), &e) >= 0);
	ident_next_tick();
}

/*
 * Returns the serial numbers of the streams that a process inherits if its page is made now, as bits. Sets above to
 * the ancestor that was found.
 */
static struct ident above;

static uint32_t inherits(uint32_t number, struct ident id, const struct procpage *known)
{
	struct family f = { .dir = dir, .shm_dir = &shm_dir, .number = number, .ident = id, .known = known };
	struct procpage *p = NULL;
	struct hold held = { NULL };
	char name[FILE_NAME_SIZE];
	struct page_entry e;
	uint32_t bits = 0;

	MUST(procpage_open(dir, &shm_dir, id, family_inherit, &f, &p, &held) == 0);
	above = f.above;
	for (int i = 0; i < PAGE_SLOTS; i++)
		if (procpage_read(p, i, &e))
			bits |= 1u << e.serial;
	/* The registry is inherited with the streams. */
	CHECK("-", ident_same(procpage_names(p), bits ? (struct ident){ 7, 8, 9 } : id));
	lock_release(&held);
	procpage_close(p);
	file_name_once(name, "page", id);
	MUST(file_remove_unused(dir, &shm_dir, name, NULL, NULL));
	return bits;
}

static void name_family(struct procpage *p)
{
	p->names_pid = 7;
	p->names_start = 8;
	p->names_pidns = 9;
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

/*
 * Without descriptors the ancestor cannot be found. Then no page is made, as a page without inherited streams would
 * be final.
 */
TEST(not_now)
{
	static struct procpage untouched, p;
	struct unit_child child;
	struct family f = { .shm_dir = &shm_dir };
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
	make_page((struct ident){ 77, 88, 99 }, &other); /* page of a different process */
	child = unit_child(NULL, NULL);
	CHECK_EQ("-", child_inherits(&child), 0);
	CHECK_EQ("-", above.pid, 0);
	unit_end_child(&child);
}

/* A page without a hold belongs to no live process. */
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

/* -- Through processes that do not use the library ------------------------------------ */

static int to_test[2], from_test[2];

/* A child that forks on request. Each grandchild sends its identity. */
static void make_grandchild(void *arg)
{
	pid_t pid;
	char c;

	if (fork() == 0) { /* in the background, so that the parent can wait for the child */
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

/* The time at which the branch left the traced process counts, which is the start of the child. */
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

/* The nearest page decides: a stream that it has not inherited is not inherited through it. */
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
	/* The process in between, from make_grandchild(), began before the stream was entered. */
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
	child = unit_child(ask, page); /* forked from this process, so the page is known */
	unit_end_child(&child);
	/* A known page needs neither a name nor a hold. */
	lock_release(&hold);
	file_name_once(name, "page", unit_ident());
	MUST(file_remove_unused(dir, &shm_dir, name, NULL, NULL));
	child = unit_child(ask, page);
	unit_end_child(&child);
	expected = 0;
	child = unit_child(ask, NULL);
	unit_end_child(&child);
}

/* If the known page has nothing to inherit, no further ancestors are looked for. */
TEST(known_without)
{
	struct unit_child child;

	begin();
	enter(page, 2, false);
	expected = 0;
	child = unit_child(ask, page);
	unit_end_child(&child);
}

/* The process in between has ended, so the start of the branch is unknown. The start of the caller counts instead. */
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

/* -- The tagged ancestor, where parents have ended --------------------------------------- */

static struct procpage *begin_below(uint32_t serial)
{
	static struct hold held;
	struct procpage *own = make_page(unit_ident(), &held);

	name_family(own);
	enter(own, serial, true);
	return own;
}

/*
 * The parent is traced and has never attached, so the page that its child has in memory belongs to an ancestor above
 * it.
 */
static void marked_bears(void *known)
{
	begin_below(2);
	ancestor_tag_set(0, unit_ident());
	ask_as_orphan(known);
}

/* The parent has attached. */
static void known_bears(void *arg)
{
	ask_as_orphan(begin_below(2));
}

static void each_adoption(void (*bear)(void *))
{
	uint64_t soft, hard;

	MUST(sys_unused_limit(0, &soft, &hard) == 0);
	if (hard != SYS_NO_LIMIT)
		SKIP("somebody has set the limit that is used for the ancestor tag");
	/*
	 * The orphan is adopted first by the init process of this machine, which has no page, then by this process,
	 * which has.
	 */
	for (int reaper = 0; reaper < 2; reaper++) {
		if (prctl(PR_SET_CHILD_SUBREAPER, (long)reaper, 0L, 0L, 0L) < 0)
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

/* The processes may have begun within one clock tick or in several. */
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
	ancestor_tag_set(0, unit_ident());
	pipes();
	each_adoption(known_bears);
}

/* A tag whose page is gone is ignored. */
static void marked_once_bears(void *known)
{
	ancestor_tag_set(0, unit_ident());
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

TEST_MAIN(TEST_ENTRY(child), TEST_ENTRY(not_now), TEST_ENTRY(nobody_above), TEST_ENTRY(stale), TEST_ENTRY(grandchild),
          TEST_ENTRY(nearest), TEST_ENTRY(caller), TEST_ENTRY(known_without), TEST_ENTRY(orphan),
          TEST_ENTRY(marked_below_known), TEST_ENTRY(marked_right_below_known), TEST_ENTRY(marked_above_known),
          TEST_ENTRY(marked_once))
