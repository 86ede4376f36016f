/*
 * procpage.c - src/shm/procpage.c: which streams trace a process
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/procpage.h"

#include "shm.h"
#include "host/thread_ref.h"
#include "unit.h"

static const struct ident someone = { 77, 88, 99 };
#define FILE_NAME "page-77-88-99"

static char path[32];
static int dir;
static struct shm_dir shm_dir;
static uint32_t me;

static int open_of(struct ident id, struct procpage **page, struct hold *hold)
{
	*page = NULL;
	hold->at = NULL;
	return procpage_open(dir, &shm_dir, id, NULL, NULL, page, hold);
}

static struct procpage *open_page(void)
{
	struct procpage *page;
	struct hold hold;

	MUST(open_of(someone, &page, &hold) == 0);
	CHECK("-", hold.at != NULL);
	return page;
}

static void begin(void)
{
	dir = unit_directory(path);
	shm_dir = unit_shm_dir(path);
	me = unit_tid();
}

static void end(void)
{
	unlinkat(dir, FILE_NAME, 0);
	CHECK_EQ("-", rmdir(path), 0);
}

static struct page_entry entry_of(uint32_t serial)
{
	return (struct page_entry){ { 5, 6, 0 }, serial, 0 };
}

static int enter(struct procpage *page, uint32_t serial)
{
	struct page_entry e = entry_of(serial);

	return procpage_enter(page, me, &e);
}

static bool leave(struct procpage *page, int slot, uint32_t serial)
{
	struct page_entry e = entry_of(serial);

	return procpage_leave(page, slot, me, &e);
}

static bool traced(const struct procpage *page)
{
	return page->sum.vacant != UINT32_MAX;
}

TEST(made_once)
{
	struct procpage *page, *again;
	struct page_entry e;

	begin();
	page = open_page();
	CHECK_EQ("-", page->pid, someone.pid);
	CHECK("-", page->start == someone.start);
	CHECK_EQ("-", page->pidns, someone.pidns);
	CHECK("-", ident_same(procpage_names(page), someone)); /* its own names */
	CHECK("-", page->sum.vacant == UINT32_MAX);
	CHECK("-", page->sum.generation != 0); /* 0 stands for a thread that has never looked */
	for (int i = 0; i < PAGE_SLOTS; i++)
		CHECK("-", !procpage_read(page, i, &e));
	CHECK_EQ("-", faccessat(dir, FILE_NAME, F_OK, 0), 0);
	again = open_page();
	CHECK("-", again != page);
	CHECK_EQ("-", enter(page, 5), 0);
	CHECK("-", traced(again));
	CHECK("-", procpage_read(again, 0, &e));
	CHECK_EQ("-", e.serial, 5);
	procpage_close(again);
	procpage_close(page);
	end();
}

/* The file exists while it has a hold. procpage_look() creates nothing and holds nothing. */
TEST(looked_at)
{
	struct procpage *page, *seen = NULL;
	struct hold hold;

	begin();
	CHECK_EQ("-", procpage_look(dir, &shm_dir, someone, &seen), -ENOENT);
	MUST(open_of(someone, &page, &hold) == 0);
	CHECK_EQ("-", procpage_look(dir, &shm_dir, someone, &seen), 0);
	CHECK("-", seen && seen != page);
	procpage_close(seen);
	lock_release(&hold);
	CHECK_EQ("-", procpage_look(dir, &shm_dir, someone, &seen), -ESTALE);
	CHECK("-", !unit_held(dir, FILE_NAME));
	MUST(open_of(someone, &page, &hold) == 0); /* procpage_open() makes a stale page usable again */
	CHECK_EQ("-", procpage_look(dir, &shm_dir, someone, &seen), 0);
	page->start++;
	CHECK_EQ("-", procpage_look(dir, &shm_dir, someone, &seen), -EINVAL);
	end();
}

TEST(refused)
{
	struct procpage *page, *none, good;
	struct hold hold;
	int descriptors;

	begin();
	page = open_page();
	descriptors = shm_descriptors();
	good = *page;
#define REFUSED(field)                                                     \
	do {                                                               \
		page->field++;                                             \
		CHECK_EQ("-", open_of(someone, &none, &hold), -EINVAL);    \
		CHECK("-", hold.at == NULL);                               \
		*page = good;                                              \
	} while (0)
	REFUSED(magic);
	REFUSED(version);
	REFUSED(size);
	REFUSED(pid);
	REFUSED(start);
	REFUSED(pidns);
	CHECK_EQ("-", open_of(someone, &none, &hold), 0);
	MUST(truncate(strcat(strcpy((char[64]){ 0 }, path), "/" FILE_NAME), PAGE_SIZE_BYTES - 1) == 0);
	CHECK_EQ("-", open_of(someone, &none, &hold), -EINVAL); /* too short to be touched */
	CHECK_EQ("-", shm_descriptors(), descriptors);
	end();
}

/* Checks the words that a trace point reads, for each slot. */
static void check_words(const struct procpage *page, int taken)
{
	for (int i = 0; i < PAGE_SLOTS; i++)
		CHECK_EQ("-", procpage_taken(page->word[i / 64], i), i < taken);
	for (int w = 0; w < PAGE_WORDS; w++)
		CHECK_EQ("-", page->sum.vacant >> w & 1, taken <= 64 * w);
	/* Unused bits always say "vacant". */
	for (int w = PAGE_WORDS; w < 31; w++)
		CHECK("-", page->sum.vacant >> w & 1);
	for (int i = PAGE_SLOTS; i < 64 * PAGE_WORDS; i++)
		CHECK("-", page->word[i / 64] >> i % 64 & 1);
}

TEST(slots)
{
	struct procpage *page;
	struct page_entry e;
	uint32_t change;

	begin();
	page = open_page();
	check_words(page, 0);
	for (uint32_t i = 0; i < PAGE_SLOTS; i++) {
		change = page->sum.generation;
		e = (struct page_entry){ { 5, 6, 0 }, i + 1, i % 2 ? 1000 + i : 0 };
		CHECK_EQ("-", procpage_enter(page, me, &e), i);
		CHECK("-", page->sum.generation != change);
		check_words(page, (int)i + 1);
		CHECK("-", procpage_read(page, (int)i, &e));
		CHECK("-", e.creator.pid == 5 && e.creator.start == 6 && e.inherit_from == (i % 2 ? 1000 + i : 0));
		CHECK_EQ("-", e.serial, i + 1);
		CHECK_EQ("-", page->slot[i].lock, 0);
	}
	CHECK_EQ("-", enter(page, 1000), -EAGAIN);

	/* A slot is only emptied by a caller that names its stream. */
	CHECK("-", !leave(page, 17, 17));
	CHECK("-", procpage_read(page, 17, &e) && page->slot[17].lock == 0);
	e = entry_of(18);
	e.creator.start++;
	CHECK("-", !procpage_leave(page, 17, me, &e));
	CHECK("-", procpage_read(page, 17, &e));

	/* Vacant, but not free until the mappings of the old stream are gone. */
	change = page->sum.generation;
	CHECK("-", leave(page, 17, 18));
	CHECK("-", !procpage_read(page, 17, &e));
	CHECK("-", page->sum.generation != change);
	CHECK("-", !(page->sum.vacant & PAGE_LOOK)); /* the next trace point looks */
	CHECK_EQ("-", enter(page, 1000), -EAGAIN);
	CHECK("-", !leave(page, 17, 18)); /* only once */
	procpage_free(page, 17);
	CHECK_EQ("-", enter(page, 1000), 17);
	CHECK("-", procpage_read(page, 17, &e) && e.serial == 1000);
	end();
}

/* The bits that summarize 64 slots each are right when the last slot of a group is emptied. */
TEST(sums)
{
	struct procpage *page;
	uint32_t last[] = { 0, 63, 64, 127, 128, 200, PAGE_SLOTS - 1 };

	begin();
	page = open_page();
	for (uint32_t i = 0; i < PAGE_SLOTS; i++)
		MUST(enter(page, i + 1) == (int)i);
	for (uint32_t i = 0; i < PAGE_SLOTS; i++) {
		bool stays = false;

		for (unsigned k = 0; k < sizeof last / sizeof last[0]; k++)
			stays |= last[k] == i;
		if (stays)
			continue;
		CHECK("-", leave(page, (int)i, i + 1));
		procpage_free(page, (int)i);
	}
	CHECK_EQ("-", page->sum.vacant & 15, 0);
	for (unsigned k = 0; k < sizeof last / sizeof last[0]; k++) {
		CHECK("-", leave(page, (int)last[k], last[k] + 1));
		procpage_free(page, (int)last[k]);
		for (unsigned w = 0; w < PAGE_WORDS; w++) {
			bool some = false;

			for (unsigned j = k + 1; j < sizeof last / sizeof last[0]; j++)
				some |= last[j] / 64 == w;
			CHECK_EQ("-", page->sum.vacant >> w & 1, !some);
		}
	}
	CHECK("-", page->sum.vacant == (UINT32_MAX & ~PAGE_LOOK));
	end();
}

/*
 * Locks of live threads are respected, including the caller's own. Locks of dead threads are ignored. Locks of other
 * namespaces count as held.
 */
TEST(slot_locks)
{
	uint32_t other = unit_living_thread(), dead = unit_dead_thread();
	struct procpage *page;
	struct page_entry e = entry_of(1);

	begin();
	page = open_page();
	page->slot[0].lock = other;
	page->slot[1].lock = me;
	page->slot[2].lock = dead | THREAD_REF_OUTSIDER;
	page->slot[3].lock = dead;
	CHECK_EQ("-", enter(page, 1), 3);
	CHECK_EQ("-", page->slot[3].lock, 0);
	CHECK("-", page->slot[0].lock == other && page->slot[1].lock == me &&
	      page->slot[2].lock == (dead | THREAD_REF_OUTSIDER));
	/* An outsider cannot probe the other threads, so it respects all locks. */
	page->slot[4].lock = dead;
	CHECK_EQ("-", procpage_enter(page, me | THREAD_REF_OUTSIDER, &e), 5);

	/* The holder was killed between two of its steps, with an entry or without one. */
	page->slot[3].lock = dead;
	CHECK("-", leave(page, 3, 1));
	procpage_free(page, 3);
	CHECK_EQ("-", page->slot[3].lock, 0);
	/* If a thread keeps the lock, the wait has a limit. */
	page->slot[5].lock = other;
	CHECK("-", !procpage_leave(page, 5, me, &e));
	CHECK_EQ("-", page->slot[5].lock, other);
	end();
}

/* -- Inheritance -------------------------------------------------------------------- */

TEST(inherited)
{
	/* inherited from: never, long ago, now, later */
	static const uint64_t from[] = { 0, 10, 100, 101, 0, 50, UINT64_MAX };
	struct procpage *parent, *child;
	struct ident names = { 7, 8, 9 };
	struct page_entry e;
	struct hold hold;

	begin();
	parent = open_page();
	parent->names_pid = names.pid;
	parent->names_start = names.start;
	parent->names_pidns = names.pidns;
	for (uint32_t i = 0; i < sizeof from / sizeof from[0]; i++) {
		e = (struct page_entry){ { 50 + i, 60 + i, 0 }, i + 1, from[i] };
		MUST(procpage_enter(parent, me, &e) == (int)i);
	}
	MUST(open_of((struct ident){ 2, 2, 2 }, &child, &hold) == 0);
	procpage_inherit(child, parent, 100);
	check_words(child, 3);
	for (int i = 0; i < 3; i++) {
		static const uint32_t want[] = { 2, 3, 6 };

		CHECK("-", procpage_read(child, i, &e));
		CHECK_EQ("-", e.serial, want[i]);
		CHECK("-", e.creator.pid == 49 + want[i] && e.creator.start == 59 + want[i] &&
		      e.inherit_from == from[want[i] - 1]);
	}
	CHECK("-", ident_same(procpage_names(child), names)); /* the family's names */
	unlinkat(dir, "page-2-2-2", 0);

	/* With nothing to inherit, the child has its own names. */
	MUST(open_of((struct ident){ 3, 3, 3 }, &child, &hold) == 0);
	procpage_inherit(child, parent, 9);
	check_words(child, 0);
	CHECK("-", ident_same(procpage_names(child), (struct ident){ 3, 3, 3 }));
	unlinkat(dir, "page-3-3-3", 0);
	end();
}

static int prepare(struct procpage *page, void *arg)
{
	struct page_entry e = entry_of(9);

	++*(int *)arg;
	CHECK("-", faccessat(dir, FILE_NAME, F_OK, 0) < 0); /* called before the page has its name */
	CHECK_EQ("-", procpage_enter(page, me, &e), 0);
	return 0;
}

static int fail(struct procpage *page, void *arg)
{
	return -EMFILE;
}

TEST(prepared)
{
	struct procpage *page;
	struct hold hold;
	int calls = 0;

	begin();
	CHECK_EQ("-", procpage_open(dir, &shm_dir, someone, fail, NULL, &page, &hold), -EMFILE);
	CHECK("-", !hold.at && faccessat(dir, FILE_NAME, F_OK, 0) < 0);
	CHECK_EQ("-", procpage_open(dir, &shm_dir, someone, prepare, &calls, &page, &hold), 0);
	CHECK_EQ("-", calls, 1);
	CHECK("-", traced(page));
	CHECK_EQ("-", procpage_open(dir, &shm_dir, someone, prepare, &calls, &page, &hold), 0);
	CHECK_EQ("-", calls, 1); /* called by the creator of the page only */
	end();
}

/* A stream is removed from all pages, and other streams are not. */
TEST(forgotten)
{
	struct procpage *page[3];
	struct hold hold[3];
	struct page_entry e = entry_of(4), other;

	begin();
	for (uint32_t i = 0; i < 3; i++) {
		MUST(open_of((struct ident){ 10 + i, 1, 1 }, &page[i], &hold[i]) == 0);
		for (uint32_t k = 0; k < i; k++)
			enter(page[i], 100 + k); /* in a different slot in each page */
		if (i != 1)
			MUST(enter(page[i], 4) >= 0);
		other = e;
		other.creator.pid++;
		MUST(procpage_enter(page[i], me, &other) >= 0);
	}
	lock_release(&hold[2]); /* its process has ended: a page without a hold is skipped */
	MUST(mkdirat(dir, "page-1-2-3", 0700) == 0); /* anything but a page is skipped */
	procpage_forget(dir, &shm_dir, 1, &e, false);
	for (int i = 0; i < 3; i++) {
		int taken = 0;

		for (int k = 0; k < PAGE_SLOTS; k++)
			taken += procpage_read(page[i], k, &other);
		CHECK_EQ("-", taken, i == 2 ? 4 : i + 1);
		for (int k = 0; k < PAGE_SLOTS; k++)
			CHECK_EQ("-", page[i]->slot[k].lock, 0);
	}
	CHECK("-", !procpage_read(page[0], 0, &other));
	unlinkat(dir, "page-1-2-3", AT_REMOVEDIR);
	for (int i = 0; i < 3; i++) {
		char name[FILE_NAME_SIZE];

		sprintf(name, "page-%d-1-1", 10 + i);
		unlinkat(dir, name, 0);
	}
	end();
}

/* -- Several at once ------------------------------------------------------------------ */

#define THREADS 8
#define EACH (PAGE_SLOTS / THREADS)
#define ROUNDS 20

static uint32_t taken[PAGE_SLOTS];

/*
 * A thread that holds the lock may be off the processor for longer than procpage_leave() waits, so this tries again.
 */
static void leave_in_turn(struct procpage *page, int slot, uint32_t ref, const struct page_entry *entry)
{
	int try = 0;

	while (!procpage_leave(page, slot, ref, entry))
		MUST(++try < 500);
}

static void *enter_all(void *arg)
{
	struct ident creator = { (uint32_t)(uintptr_t)arg, (uintptr_t)arg * 1000, 0 };
	struct procpage *page = open_page();
	uint32_t ref = unit_tid();

	for (int round = 0; round < ROUNDS; round++) {
		int slot[EACH];

		for (uint32_t i = 0; i < EACH; i++) {
			struct page_entry e = { creator, i + 1, 0 };

			/* There are enough slots, but a scan may miss a slot that is freed after it has passed. */
			while ((slot[i] = procpage_enter(page, ref, &e)) == -EAGAIN)
				sched_yield();
			MUST(slot[i] >= 0 && slot[i] < PAGE_SLOTS);
			CHECK_EQ("-", fetch_add(&taken[slot[i]], 1), 0);
		}
		for (uint32_t i = 0; i < EACH; i++) {
			struct page_entry e = { creator, i + 1, 0 }, read;

			/*
			 * Other threads change their slots all the time, so a read may fail, but never returns a
			 * mixture.
			 */
			for (int try = 0; !procpage_read(page, slot[i], &read); try++)
				MUST(try < 10000);
			CHECK("-", ident_same(read.creator, creator) && read.serial == i + 1);
			fetch_add(&taken[slot[i]], -1);
			leave_in_turn(page, slot[i], ref, &e);
			procpage_free(page, slot[i]);
		}
	}
	procpage_close(page);
	return NULL;
}

/* All threads also create the page at the same time. */
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
	CHECK("-", (page->sum.vacant | PAGE_LOOK) == UINT32_MAX);
	for (int i = 0; i < PAGE_SLOTS; i++)
		CHECK_EQ("-", page->slot[i].lock, 0);
	end();
}

/* A slot is filled and emptied while another thread reads it: the reader gets a complete entry or none. */
static uint32_t stop;

static void *change_often(void *arg)
{
	struct procpage *page = arg;
	uint32_t ref = unit_tid();

	for (uint32_t i = 1; !load_relaxed(&stop); i++) {
		struct page_entry e = { { i, (uint64_t)i * 3, 0 }, i * 7, (uint64_t)i * 11 };
		int slot = procpage_enter(page, ref, &e);

		/*
		 * Valgrind lets a thread run for a fixed number of steps. The steps of a round vary, or the thread
		 * would always be stopped at the same place.
		 */
		for (uint32_t steps = i % 7; steps > 0; steps--)
			fence_signal();
		if (slot >= 0 && procpage_leave(page, slot, ref, &e))
			procpage_free(page, slot);
	}
	return NULL;
}

TEST(no_mixture)
{
	int64_t until = unit_now() + 200000000;
	struct procpage *page;
	unsigned mixed = 0, read = 0;
	pthread_t thread;

	begin();
	page = open_page();
	MUST(pthread_create(&thread, NULL, change_often, page) == 0);
	/* Under valgrind one thread runs at a time, and a reading may take a while to find no change under way. */
	while (unit_now() < until || (read == 0 && unit_now() < until + 10 * (int64_t)1000000000)) {
		struct page_entry e;

		if (!procpage_read(page, 0, &e))
			continue;
		read++;
		mixed += e.creator.start != (uint64_t)e.creator.pid * 3 || e.serial != e.creator.pid * 7 ||
		         e.inherit_from != (uint64_t)e.creator.pid * 11;
	}
	store_relaxed(&stop, 1);
	pthread_join(thread, NULL);
	CHECK("-", read > 0);
	CHECK_EQ("-", mixed, 0);
	end();
}

TEST_MAIN(TEST_ENTRY(made_once), TEST_ENTRY(looked_at), TEST_ENTRY(refused), TEST_ENTRY(slots), TEST_ENTRY(sums),
          TEST_ENTRY(slot_locks), TEST_ENTRY(inherited), TEST_ENTRY(prepared), TEST_ENTRY(forgotten),
          TEST_ENTRY(several_at_once), TEST_ENTRY(no_mixture))
