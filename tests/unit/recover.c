/*
 * recover.c - src/control/recover.c: files without a hold are removed, files with a hold stay
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/recover.h"

#include "shm.h"
#include "shm/procpage.h"
#include "unit.h"

static int dir;
static struct shm_dir shm_dir;

static void begin(void)
{
	shm_private("");
	shm_dir = shm_dir_own();
	dir = file_directory(&shm_dir, true);
	MUST(dir >= 0);
}

static int init(void *map, void *arg)
{
	return 0;
}

/* Creates a file of the library, which exists as long as the hold. */
static struct hold make(const char *kind, uint32_t number)
{
	char name[FILE_NAME_SIZE];
	struct file_new file = { name, 4096, strcmp(kind, "stream") == 0 ? LOCK_STREAM : LOCK_SHARED, init, NULL };
	struct hold hold = { NULL };
	void *map;

	file_name(name, kind, (struct ident){ 1, 2, 0 }, number);
	MUST(file_create(dir, &shm_dir, &file, &map, &hold) == 0);
	file_unmap(map, 4096);
	return hold;
}

static void make_dead(const char *kind, uint32_t number)
{
	struct hold hold = make(kind, number);

	lock_release(&hold);
}

static bool there(const char *kind, uint32_t number)
{
	char name[FILE_NAME_SIZE];

	file_name(name, kind, (struct ident){ 1, 2, 0 }, number);
	return faccessat(dir, name, F_OK, 0) == 0;
}

TEST(empty)
{
	begin();
	recover_directory(dir, &shm_dir, 0, NULL);
	CHECK_EQ("-", recover_count(dir, 1000, NULL), 0);
	CHECK_STR("-", shm_left(), "");
}

static const char *const kinds[] = { "page", "names", "stream", "new" };

TEST(held_and_not)
{
	int descriptors;

	begin();
	for (int i = 0; i < 4; i++) {
		make(kinds[i], 1);
		make_dead(kinds[i], 2);
		make(kinds[i], 3);
	}
	descriptors = shm_descriptors();
	CHECK_EQ("-", recover_count(dir, 1000, NULL), 2);
	recover_directory(dir, &shm_dir, 0, NULL);
	for (int i = 0; i < 4; i++) {
		CHECK("-", there(kinds[i], 1) && there(kinds[i], 3));
		CHECK("-", !there(kinds[i], 2));
	}
	CHECK_EQ("-", shm_count(shm_directory(), ""), 8);
	CHECK_EQ("-", recover_count(dir, 1000, NULL), 2);
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

static void make_in_child(void *arg)
{
	for (int i = 0; i < 4; i++)
		make(kinds[i], 7);
}

/* The creator was killed or called _exit(), or forked a child that still runs. */
TEST(dead_ones)
{
	struct unit_child child, second;

	begin();
	for (int i = 0; i < 4; i++)
		make(kinds[i], 1);
	child = unit_child(make_in_child, NULL);
	recover_directory(dir, &shm_dir, 0, NULL);
	CHECK_EQ("-", shm_count(shm_directory(), ""), 8);
	CHECK_EQ("-", recover_count(dir, 1000, NULL), 2);
	unit_kill_child(&child);
	CHECK_EQ("-", recover_count(dir, 1000, NULL), 1);
	recover_directory(dir, &shm_dir, 0, NULL);
	CHECK_EQ("-", shm_count(shm_directory(), ""), 4);
	child = unit_child(make_in_child, NULL);
	unit_end_child(&child);
	second = unit_child(NULL, NULL); /* has a copy of this memory, but no hold */
	CHECK_EQ("-", recover_count(dir, 1000, NULL), 1);
	recover_directory(dir, &shm_dir, 0, NULL);
	CHECK_EQ("-", shm_count(shm_directory(), ""), 4);
	unit_end_child(&second);
}

/* More files than one system call returns, with live streams among the dead. */
TEST(many)
{
	begin();
	for (uint32_t i = 1; i <= 500; i++) {
		if (i % 5 == 0)
			make("stream", i);
		else
			make_dead("stream", i);
	}
	CHECK_EQ("-", recover_count(dir, 1000, NULL), 100);
	/* Each call takes a limited time and leaves the rest to the next call. */
	for (int i = 0; i < 200 && shm_count(shm_directory(), "") > 100; i++) {
		int64_t before = unit_now();

		recover_directory(dir, &shm_dir, 0, NULL);
		CHECK_OP("-", unit_now() - before, <, 1000000000ll * test_slow());
	}
	CHECK_EQ("-", shm_count(shm_directory(), ""), 100);
	CHECK("-", there("stream", 500) && !there("stream", 1));
	CHECK_EQ("-", recover_count(dir, 1000, NULL), 100);
}

/* A stream whose creator has died is removed from the pages of live processes, and its state tells the writers. */
TEST(out_of_pages)
{
	struct page_entry dead = { { 1, 2, 0 }, 5, 0 }, living = { { 1, 2, 0 }, 6, 0 }, entry;
	struct stream_origin origin = { .creator = { 1, 2, 0 }, .target = { 1, 2, 0 }, .serial = 5 };
	struct hold hold = { NULL }, page_hold = { NULL };
	struct procpage *page;
	struct stream s;
	struct attr a;

	begin();
	unit_attr(&a, 4096, 16, POSIX_TRACE_LOOP);
	MUST(stream_create(dir, &shm_dir, &origin, &a, false, &s, &hold) == 0);
	make("stream", 6);
	MUST(procpage_open(dir, &shm_dir, (struct ident){ 7, 8, 9 }, NULL, NULL, &page, &page_hold) == 0);
	CHECK_EQ("-", procpage_enter(page, unit_tid(), &dead), 0);
	CHECK_EQ("-", procpage_enter(page, unit_tid(), &living), 1);
	recover_directory(dir, &shm_dir, 0, NULL);
	CHECK("-", procpage_read(page, 0, &entry) && procpage_read(page, 1, &entry));
	CHECK_EQ("-", s.header->state, 0);
	lock_release(&hold);
	recover_directory(dir, &shm_dir, 0, NULL);
	CHECK("-", !procpage_read(page, 0, &entry));
	CHECK("-", procpage_read(page, 1, &entry) && entry.serial == 6);
	CHECK_EQ("-", s.header->state, STATE_ENDED);
	CHECK_EQ("-", page->slot[0].lock, 0);
	CHECK_EQ("-", procpage_enter(page, unit_tid(), &living), 0);
}

TEST(not_ours)
{
	static const char *const name[] = { "stream", "stream-1", "stream-0001-2-3", "notes.txt", "stream-x-y-z",
	                                    "other-1-2-3" };
	int descriptors;

	begin();
	for (unsigned i = 0; i < sizeof name / sizeof name[0]; i++)
		MUST(close(openat(dir, name[i], O_CREAT | O_EXCL | O_WRONLY, 0600)) == 0);
	MUST(mkdirat(dir, "stream-1-2-3", 0700) == 0 && symlinkat("notes.txt", dir, "page-1-2-3") == 0);
	MUST(symlinkat("/nowhere", dir, "names-1-2-3") == 0);
	descriptors = shm_descriptors();
	recover_directory(dir, &shm_dir, 0, NULL);
	recover_count(dir, 1000, NULL);
	for (unsigned i = 0; i < sizeof name / sizeof name[0]; i++)
		if (faccessat(dir, name[i], F_OK, 0) < 0)
			TEST_FAIL("-", "\"%s\" is gone", name[i]);
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

/* A pipe and a device do not block the scan. */
TEST(no_files)
{
	begin();
	MUST(mkfifoat(dir, "stream-1-2-3", 0600) == 0 && mkfifoat(dir, "page-1-2-3", 0600) == 0);
	if (mknodat(dir, "names-1-2-3", S_IFCHR | 0600, 5 << 8) < 0)
		MUST(mkfifoat(dir, "names-1-2-3", 0600) == 0);
	make_dead("stream", 9);
	alarm(20);
	recover_directory(dir, &shm_dir, 0, NULL);
	CHECK("-", !there("stream", 9));
}

TEST_MAIN(TEST_ENTRY(empty), TEST_ENTRY(held_and_not), TEST_ENTRY(dead_ones), TEST_ENTRY(many),
          TEST_ENTRY(out_of_pages), TEST_ENTRY(not_ours), TEST_ENTRY(no_files))
