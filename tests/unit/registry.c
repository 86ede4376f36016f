/*
 * registry.c - src/shm/registry.c: a name never has two ids
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/registry.h"

#include <sys/mman.h>

#include "shm.h"
#include "unit.h"

#define NAMES_MAX (TRACE_USER_EVENT_MAX - 1)

static const struct ident someone = { 77, 88 };

static void open_registry(struct registry *r)
{
	MUST(registry_open(someone, r) == 0);
}

TEST(names)
{
	char longest[TRACE_EVENT_NAME_MAX + 1], other[TRACE_EVENT_NAME_MAX + 1];
	struct registry r, again;

	shm_private("");
	open_registry(&r);
	CHECK("-", r.file[0] != 0);
	CHECK_EQ("-", registry_count(&r), 0);
	CHECK("-", registry_name(&r, EVENT_ID_USER) == NULL);

	CHECK_EQ("-", registry_id(&r, "one"), EVENT_ID_USER);
	CHECK_EQ("-", registry_id(&r, "two"), EVENT_ID_USER + 1);
	CHECK_EQ("-", registry_id(&r, "one"), EVENT_ID_USER);
	CHECK_EQ("-", registry_id(&r, ""), EVENT_ID_USER + 2);
	CHECK_EQ("-", registry_id(&r, "One"), EVENT_ID_USER + 3);
	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = 0;
	strcpy(other, longest);
	other[sizeof other - 2] = 'y'; /* only the last byte tells them apart */
	CHECK_EQ("-", registry_id(&r, longest), EVENT_ID_USER + 4);
	CHECK_EQ("-", registry_id(&r, other), EVENT_ID_USER + 5);
	CHECK_EQ("-", registry_id(&r, longest), EVENT_ID_USER + 4);
	CHECK_EQ("-", registry_count(&r), 6);

	/* Another mapping is the same registry. */
	open_registry(&again);
	CHECK("-", again.header != r.header);
	CHECK_EQ("-", registry_count(&again), 6);
	CHECK_STR("-", registry_name(&again, EVENT_ID_USER), "one");
	CHECK_STR("-", registry_name(&again, EVENT_ID_USER + 2), "");
	CHECK_STR("-", registry_name(&again, EVENT_ID_USER + 4), longest);
	CHECK("-", registry_name(&again, EVENT_ID_USER + 6) == NULL);
	CHECK("-", registry_name(&again, EVENT_ID_USER - 1) == NULL);
	CHECK("-", registry_name(&again, EVENT_ID_END) == NULL);
	CHECK("-", registry_name(&again, 0) == NULL && registry_name(&again, UINT32_MAX) == NULL);
	CHECK_EQ("-", registry_id(&again, "three"), EVENT_ID_USER + 6);
	CHECK_STR("-", registry_name(&r, EVENT_ID_USER + 6), "three");
}

static void numbered(char *name, unsigned i)
{
	sprintf(name, "name %u", i);
}

/* From its first page of names, 64 of them, to the last that there can be. */
static void fill(struct registry *r)
{
	char name[32];

	for (unsigned i = 0; i < NAMES_MAX; i++) {
		numbered(name, i);
		CHECK_EQ("LIM-5", registry_id(r, name), EVENT_ID_USER + i);
	}
	CHECK_EQ("-", registry_count(r), NAMES_MAX);
	CHECK_EQ("-", registry_id(r, "one too many"), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ("-", registry_id(r, "another"), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ("-", registry_count(r), NAMES_MAX);
	for (unsigned i = 0; i < NAMES_MAX; i++) {
		numbered(name, i);
		CHECK_EQ("-", registry_id(r, name), EVENT_ID_USER + i);
		CHECK_STR("-", registry_name(r, EVENT_ID_USER + i), name);
	}
	CHECK("-", registry_name(r, EVENT_ID_USER + NAMES_MAX) == NULL);
}

TEST(limit)
{
	struct registry r;

	shm_private("");
	open_registry(&r);
	fill(&r);
}

/* Names need no tmpfs; children know those that they were born with. */
TEST(without_tmpfs)
{
	struct registry r;
	int status;

	shm_private("");
	shm_remount(MS_RDONLY, NULL);
	open_registry(&r);
	CHECK_STR("-", r.file, "");
	fill(&r);
	if (fork() == 0)
		_exit(registry_id(&r, "name 1000") != EVENT_ID_USER + 1000);
	wait(&status);
	CHECK_EQ("-", status, 0);
}

/* H12: where the tmpfs is full, a name gets no id of its own, and nothing breaks; later it does. */
TEST(no_space_to_grow)
{
	struct registry r;
	char name[32];
	unsigned i;

	shm_private("size=12k,nr_inodes=100");
	open_registry(&r);
	CHECK("-", r.file[0] != 0);
	for (i = 0; i < NAMES_MAX; i++) {
		numbered(name, i);
		if (registry_id(&r, name) != EVENT_ID_USER + i)
			break;
	}
	CHECK("-", i >= 64 && i < NAMES_MAX);
	CHECK_EQ("-", registry_id(&r, name), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ("-", registry_count(&r), i);
	CHECK_EQ("-", registry_id(&r, "name 5"), EVENT_ID_USER + 5);
	shm_remount(0, "size=1m");
	CHECK_EQ("-", registry_id(&r, name), EVENT_ID_USER + i);
}

/* However often it is tried while there is no space, the names that fit later still have theirs. */
TEST(no_space_for_long)
{
	struct registry r;
	char name[32];

	shm_private("size=8k,nr_inodes=100");
	open_registry(&r);
	for (unsigned i = 0; i < 64; i++) {
		numbered(name, i);
		CHECK_EQ("-", registry_id(&r, name), EVENT_ID_USER + i);
	}
	for (int i = 0; i < 2 * REGISTRY_PLACES; i++)
		CHECK_EQ("-", registry_id(&r, "no room"), POSIX_TRACE_UNNAMED_USEREVENT);
	shm_remount(0, "size=1m");
	CHECK_EQ("-", registry_id(&r, "no room"), EVENT_ID_USER + 64);
}

TEST(refused)
{
	struct registry good, r;

	shm_private("");
	/* What is no registry is not used; names are private then. */
	open_registry(&good);
	registry_id(&good, "one");
	good.header->magic++;
	open_registry(&r);
	CHECK("-", r.file[0] == 0 && registry_count(&r) == 0);
	good.header->magic--;
	good.header->version--;
	open_registry(&r);
	CHECK_STR("-", r.file, "");
	good.header->version++;
	good.header->bytes += 1 << 20; /* more than the file has: touching it would be SIGBUS */
	open_registry(&r);
	CHECK_STR("-", r.file, "");
	good.header->bytes -= 1 << 20;
	open_registry(&r);
	CHECK("-", r.file[0] != 0);
	CHECK_EQ("-", registry_count(&r), 1);
}

/* -- Several at once ---------------------------------------------------------- */

#define PROCESSES 4
#define THREADS 4
#define NAMES 150

/* Ids that each thread of each process got; in memory that they share. */
static trace_event_id_t (*got)[NAMES];

static void *open_all(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	struct registry r;
	char name[32];

	open_registry(&r);
	for (unsigned i = 0; i < NAMES; i++) {
		/* In an order of its own: half of them start at the same end. */
		unsigned n = me % 2 ? i : (i * 7 + me) % NAMES;

		numbered(name, n);
		got[me][n] = registry_id(&r, name);
	}
	munmap(r.header, REGISTRY_BYTES_MAX);
	return NULL;
}

TEST(several_at_once)
{
	bool seen[NAMES] = { false };
	struct registry r;
	char name[32];
	int status;

	shm_private("");
	got = mmap(NULL, PROCESSES * THREADS * sizeof *got, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned p = 0; p < PROCESSES; p++) {
		if (fork() == 0) {
			pthread_t thread[THREADS];

			for (unsigned t = 0; t < THREADS; t++)
				MUST(pthread_create(&thread[t], NULL, open_all, (void *)(uintptr_t)(p * THREADS + t)) == 0);
			for (unsigned t = 0; t < THREADS; t++)
				pthread_join(thread[t], NULL);
			_exit(test_failures ? 1 : 0);
		}
	}
	for (unsigned p = 0; p < PROCESSES; p++) {
		MUST(wait(&status) > 0);
		CHECK_EQ("-", status, 0);
	}
	open_registry(&r);
	CHECK_EQ("-", registry_count(&r), NAMES);
	for (unsigned n = 0; n < NAMES; n++) {
		trace_event_id_t id = got[0][n];

		numbered(name, n);
		MUST(id >= EVENT_ID_USER && id < EVENT_ID_USER + NAMES);
		CHECK("-", !seen[id - EVENT_ID_USER]);
		seen[id - EVENT_ID_USER] = true;
		CHECK_STR("-", registry_name(&r, id), name);
		for (unsigned i = 1; i < PROCESSES * THREADS; i++)
			CHECK_EQ("-", got[i][n], id);
	}
}

TEST_MAIN(TEST_ENTRY(names), TEST_ENTRY(limit), TEST_ENTRY(without_tmpfs), TEST_ENTRY(no_space_to_grow),
          TEST_ENTRY(no_space_for_long), TEST_ENTRY(refused), TEST_ENTRY(several_at_once))
