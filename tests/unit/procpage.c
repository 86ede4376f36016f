/*
 * procpage.c - src/shm/procpage.c: which streams trace a process
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/procpage.h"

#include <sys/mman.h>

#include "base/file.h"
#include "unit.h"

static const struct ident someone = { 77, 88 };
static char path[32];
static int dir;

static struct procpage *open_page(void)
{
	struct procpage *page = NULL;

	MUST(procpage_open(dir, someone, &page) == 0);
	return page;
}

static void begin(void)
{
	dir = unit_directory(path);
}

static void end(void)
{
	unlinkat(dir, "page-77-88", 0);
	CHECK_EQ("-", rmdir(path), 0);
}

TEST(made_once)
{
	struct procpage *page, *again;

	begin();
	page = open_page();
	CHECK_EQ("-", page->pid, someone.pid);
	CHECK("-", page->start == someone.start);
	CHECK("-", page->vacant == UINT64_MAX);
	CHECK("-", page->change != 0); /* 0 is a thread that has never looked */
	CHECK_EQ("-", faccessat(dir, "page-77-88", F_OK, 0), 0);
	again = open_page();
	CHECK("-", again != page);
	CHECK_EQ("-", procpage_enter(page, someone, 5), 0);
	CHECK("-", again->vacant == (UINT64_MAX & ~UINT64_C(1)));
	CHECK_EQ("-", again->slot[0].serial, 5);
	procpage_close(again);
	procpage_close(page);
	end();
}

TEST(refused)
{
	struct procpage *page, *none = NULL, good;

	begin();
	page = open_page();
	good = *page;
	page->magic++;
	CHECK_EQ("-", procpage_open(dir, someone, &none), -EINVAL);
	*page = good;
	page->version--;
	CHECK_EQ("-", procpage_open(dir, someone, &none), -EINVAL);
	*page = good;
	page->size++;
	CHECK_EQ("-", procpage_open(dir, someone, &none), -EINVAL);
	*page = good;
	CHECK_EQ("-", procpage_open(dir, someone, &none), 0);
	end();

	begin();
	MUST(close(openat(dir, "page-77-88", O_CREAT | O_RDWR, 0600)) == 0);
	CHECK_EQ("-", procpage_open(dir, someone, &none), -EINVAL); /* too short to be touched */
	end();
}

TEST(slots)
{
	struct procpage *page;
	struct ident creator = { 5, 6 };
	uint32_t change;

	begin();
	page = open_page();
	for (uint32_t i = 0; i < PAGE_SLOTS; i++) {
		change = page->change;
		CHECK_EQ("-", procpage_enter(page, creator, i + 1), i);
		CHECK("-", page->change != change);
		CHECK("-", page->vacant == (i == 63 ? 0 : UINT64_MAX << (i + 1)));
		CHECK_EQ("-", page->slot[i].creator_pid, 5);
		CHECK("-", page->slot[i].creator_start == 6);
		CHECK_EQ("-", page->slot[i].serial, i + 1);
		CHECK_EQ("-", page->slot[i].claim, 0);
	}
	CHECK_EQ("-", procpage_enter(page, creator, 100), -EAGAIN);

	/* Vacant, but not to be had until the mappings of the old stream are gone. */
	change = page->change;
	procpage_leave(page, 17);
	CHECK("-", page->vacant == UINT64_C(1) << 17);
	CHECK("-", page->change != change);
	CHECK_EQ("-", procpage_enter(page, creator, 100), -EAGAIN);
	procpage_free(page, 17);
	CHECK_EQ("-", procpage_enter(page, creator, 100), 17);
	CHECK_EQ("-", page->slot[17].serial, 100);
	end();
}

#define THREADS 8
#define EACH (PAGE_SLOTS / THREADS)
#define ROUNDS 20

static uint32_t taken[PAGE_SLOTS];

static void *enter_all(void *arg)
{
	struct ident creator = { (uint32_t)(uintptr_t)arg, (uintptr_t)arg * 1000 };
	struct procpage *page = open_page();

	for (int round = 0; round < ROUNDS; round++) {
		int slot[EACH];

		for (uint32_t i = 0; i < EACH; i++) {
			/* There is one for each, but a scan may pass by what is being freed behind it. */
			while ((slot[i] = procpage_enter(page, creator, i + 1)) == -EAGAIN)
				sched_yield();
			MUST(slot[i] >= 0 && slot[i] < PAGE_SLOTS);
			CHECK_EQ("-", fetch_add(&taken[slot[i]], 1), 0);
		}
		for (uint32_t i = 0; i < EACH; i++) {
			const struct page_slot *s = &page->slot[slot[i]];

			CHECK("-", s->creator_pid == creator.pid && s->creator_start == creator.start && s->serial == i + 1);
			fetch_add(&taken[slot[i]], -1);
			procpage_leave(page, slot[i]);
			procpage_free(page, slot[i]);
		}
	}
	procpage_close(page);
	return NULL;
}

/* Also the page is made by all of them at once. */
TEST(several_at_once)
{
	pthread_t thread[THREADS];
	struct procpage *page;

	begin();
	for (uintptr_t i = 0; i < THREADS; i++)
		MUST(pthread_create(&thread[i], NULL, enter_all, (void *)(i + 1)) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	page = open_page();
	CHECK("-", page->vacant == UINT64_MAX);
	for (int i = 0; i < PAGE_SLOTS; i++)
		CHECK_EQ("-", page->slot[i].claim, 0);
	end();
}

TEST_MAIN(TEST_ENTRY(made_once), TEST_ENTRY(refused), TEST_ENTRY(slots), TEST_ENTRY(several_at_once))
