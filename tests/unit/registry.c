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

static const struct ident someone = { 77, 88, 99 };
#define FILE_NAME "names-77-88-99"

static int dir;
static struct shm_dir shm_dir;

static void begin(const char *options)
{
	shm_private(options);
	shm_dir = shm_dir_own();
	dir = file_directory(&shm_dir, true); /* the registry's file is extended through dir */
	MUST(dir >= 0);
}

static void open_registry(struct registry *r)
{
	MUST(registry_open(dir, &shm_dir, someone, NULL, r) == 0);
}

static const char *name_of(const struct registry *r, trace_event_id_t id)
{
	static char name[REGISTRY_NAME_BYTES];

	strcpy(name, "(none)");
	registry_name(r, id, name);
	return name;
}

TEST(names)
{
	char longest[TRACE_EVENT_NAME_MAX + 1], other[TRACE_EVENT_NAME_MAX + 1], name[REGISTRY_NAME_BYTES];
	struct registry r, again;
	int descriptors;

	begin("");
	descriptors = shm_descriptors();
	open_registry(&r);
	CHECK_STR("-", r.file, FILE_NAME);
	CHECK("-", r.hold.at && unit_held(dir, FILE_NAME));
	CHECK_EQ("-", registry_count(&r), 0);
	CHECK("-", !registry_name(&r, EVENT_ID_USER, name));

	CHECK_EQ("-", registry_id(&r, "one", NAMES_MAX), EVENT_ID_USER);
	CHECK_EQ("-", registry_id(&r, "two", NAMES_MAX), EVENT_ID_USER + 1);
	CHECK_EQ("-", registry_id(&r, "one", NAMES_MAX), EVENT_ID_USER);
	CHECK_EQ("-", registry_id(&r, "", NAMES_MAX), EVENT_ID_USER + 2);
	CHECK_EQ("-", registry_id(&r, "One", NAMES_MAX), EVENT_ID_USER + 3);
	memset(longest, 'x', sizeof longest - 1);
	longest[sizeof longest - 1] = 0;
	strcpy(other, longest);
	other[sizeof other - 2] = 'y'; /* the names differ in the last byte only */
	CHECK_EQ("-", registry_id(&r, longest, NAMES_MAX), EVENT_ID_USER + 4);
	CHECK_EQ("-", registry_id(&r, other, NAMES_MAX), EVENT_ID_USER + 5);
	CHECK_EQ("-", registry_id(&r, longest, NAMES_MAX), EVENT_ID_USER + 4);
	CHECK_EQ("-", registry_count(&r), 6);

	/* A second mapping is of the same registry. */
	open_registry(&again);
	CHECK("-", again.header != r.header);
	CHECK_EQ("-", registry_count(&again), 6);
	CHECK_STR("-", name_of(&again, EVENT_ID_USER), "one");
	CHECK_STR("-", name_of(&again, EVENT_ID_USER + 2), "");
	CHECK_STR("-", name_of(&again, EVENT_ID_USER + 4), longest);
	CHECK("-", !registry_name(&again, EVENT_ID_USER + 6, name));
	CHECK("-", !registry_name(&again, EVENT_ID_USER - 1, name));
	CHECK("-", !registry_name(&again, EVENT_ID_END, name));
	CHECK("-", !registry_name(&again, 0, name) && !registry_name(&again, UINT32_MAX, name));
	CHECK_EQ("-", registry_id(&again, "three", NAMES_MAX), EVENT_ID_USER + 6);
	CHECK_STR("-", name_of(&r, EVENT_ID_USER + 6), "three");
	CHECK_EQ("-", shm_descriptors(), descriptors);
	registry_close(&r);
	CHECK("-", r.header == NULL && unit_held(dir, FILE_NAME)); /* by the other mapping */
	registry_close(&again);
	CHECK("-", !unit_held(dir, FILE_NAME));
}

/* A registry that begins as a copy has the same names with the same ids, and develops separately. */
/* Fills text with a layout of this length, which is unlike that of another number. */
static const char *some_layout(char text[LAYOUT_TEXT_SIZE], size_t length, unsigned number)
{
	memset(text, 'x', length);
	text[length] = 0;
	memcpy(text, &(char){ (char)('a' + number) }, 1);
	return text;
}

/* A layout is declared once for a name, whatever its length, and others find it: in its file, in a copy, in a child. */
TEST(layouts)
{
	static const size_t lengths[] = { 1, 61, 62, 63, 125, 126, 127, LAYOUT_TEXT_SIZE - 1 };
	char text[LAYOUT_TEXT_SIZE], got[LAYOUT_TEXT_SIZE];
	struct registry r, again, copy;
	unsigned n = sizeof lengths / sizeof lengths[0];

	begin("");
	open_registry(&r);
	for (unsigned i = 0; i < n; i++) {
		snprintf(got, sizeof got, "name %u", i);
		MUST(registry_id(&r, got, NAMES_MAX) == EVENT_ID_USER + i);
	}
	CHECK_EQ("-", registry_layouts(&r), 0);
	CHECK_EQ("-", registry_layout(&r, EVENT_ID_USER, got), 0);
	for (unsigned i = n; i-- > 0;)
		CHECK_EQ("-", registry_declare(&r, EVENT_ID_USER + i, some_layout(text, lengths[i], i)), 0);
	CHECK_EQ("-", registry_layouts(&r), n);
	open_registry(&again);
	MUST(registry_open(dir, &shm_dir, (struct ident){ 1, 2, 3 }, &r, &copy) == 0);
	for (unsigned i = 0; i < n; i++) {
		some_layout(text, lengths[i], i);
		CHECK_EQ("-", registry_layout(&again, EVENT_ID_USER + i, got), lengths[i]);
		CHECK_STR("-", got, text);
		CHECK_EQ("-", registry_layout(&copy, EVENT_ID_USER + i, got), lengths[i]);
		CHECK_STR("-", got, text);
		CHECK_EQ("-", registry_declare(&again, EVENT_ID_USER + i, text), 0);
		CHECK_EQ("-", registry_declare(&again, EVENT_ID_USER + i, "{other}"), -EEXIST);
	}
	CHECK_EQ("-", registry_declare(&r, EVENT_ID_USER - 1, "{a:u8}"), -EINVAL);
	CHECK_EQ("-", registry_declare(&r, EVENT_ID_END, "{a:u8}"), -EINVAL);
	CHECK_EQ("-", registry_layout(&r, EVENT_ID_END, got), 0);
	CHECK_EQ("-", registry_layouts(&r), n);
	registry_close(&copy);
	registry_close(&again);
	registry_close(&r);
}

/* A layout whose index, length or text somebody has forged is none, and nothing behind the file is read. */
TEST(forged_layouts)
{
	char text[LAYOUT_TEXT_SIZE];
	struct registry r;
	uint16_t *length;

	begin("");
	open_registry(&r);
	MUST(registry_id(&r, "name", NAMES_MAX) == EVENT_ID_USER);
	MUST(registry_declare(&r, EVENT_ID_USER, "{a:u8}") == 0);
	length = (uint16_t *)(void *)((char *)r.header + REGISTRY_NAMES_OFFSET +
	                              (r.header->layout[0] - 1u) * REGISTRY_NAME_BYTES);
	CHECK_EQ("-", registry_layout(&r, EVENT_ID_USER, text), 6);
	for (unsigned wrong = 0; wrong < 4; wrong++) {
		*length = (const uint16_t[]){ 0, LAYOUT_TEXT_SIZE, UINT16_MAX, 7 }[wrong];
		CHECK_EQ("-", registry_layout(&r, EVENT_ID_USER, text), 0);
		CHECK_EQ("-", registry_declare(&r, EVENT_ID_USER, "{a:u8}"), -EEXIST);
	}
	*length = 6;
	for (uint32_t at = 0; at <= UINT16_MAX; at += at < 200 ? 1 : 97) {
		r.header->layout[0] = (uint16_t)at;
		if (registry_layout(&r, EVENT_ID_USER, text))
			CHECK_EQ("-", strlen(text) < LAYOUT_TEXT_SIZE, 1);
	}
	r.header->layout[0] = REGISTRY_ENTRIES;
	CHECK_EQ("-", registry_layout(&r, EVENT_ID_USER, text), 0);
	registry_close(&r);
}

/* Where there is no space for a layout, it is not declared, and nothing else is lost. */
TEST(no_space_for_layouts)
{
	char text[LAYOUT_TEXT_SIZE], got[LAYOUT_TEXT_SIZE];
	unsigned declared = 0;
	struct registry r;

	begin("");
	open_registry(&r);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(got, sizeof got, "name %u", i);
		MUST(registry_id(&r, got, NAMES_MAX) == EVENT_ID_USER + i);
	}
	while (registry_declare(&r, EVENT_ID_USER + declared, some_layout(text, LAYOUT_TEXT_SIZE - 1, 1)) == 0)
		declared++;
	CHECK_EQ("-", declared, (REGISTRY_ENTRIES - 1000) / (LAYOUT_TEXT_SIZE / REGISTRY_NAME_BYTES + 1));
	CHECK_EQ("-", registry_declare(&r, EVENT_ID_USER + declared, text), -ENOMEM);
	CHECK_EQ("-", registry_layouts(&r), declared);
	CHECK_EQ("-", registry_layout(&r, EVENT_ID_USER + declared - 1, got), LAYOUT_TEXT_SIZE - 1);
	CHECK_EQ("-", registry_count(&r), 1000);
	registry_close(&r);
}

TEST(seeded)
{
	struct registry seed, r, third;
	char name[32];

	begin("");
	open_registry(&seed);
	for (unsigned i = 0; i < 200; i++) {
		sprintf(name, "name %u", i);
		registry_id(&seed, name, NAMES_MAX);
	}
	CHECK_EQ("-", registry_open(dir, &shm_dir, (struct ident){ 1, 2, 3 }, &seed, &r), 0);
	CHECK_EQ("-", registry_count(&r), 200);
	for (unsigned i = 0; i < 200; i++) {
		sprintf(name, "name %u", i);
		CHECK_STR("-", name_of(&r, EVENT_ID_USER + i), name);
		CHECK_EQ("-", registry_id(&r, name, NAMES_MAX), EVENT_ID_USER + i);
	}
	CHECK_EQ("-", registry_id(&r, "new", NAMES_MAX), EVENT_ID_USER + 200);
	CHECK_EQ("-", registry_count(&seed), 200);
	CHECK_EQ("-", registry_id(&seed, "another", NAMES_MAX), EVENT_ID_USER + 200);
	/* Only the creator copies. */
	registry_id(&seed, "later", NAMES_MAX);
	CHECK_EQ("-", registry_open(dir, &shm_dir, (struct ident){ 1, 2, 3 }, &seed, &third), 0);
	CHECK_EQ("-", registry_count(&third), 201);
	CHECK_STR("-", name_of(&third, EVENT_ID_USER + 200), "new");
}

/* H18: other processes can write to the index and the names. Whatever is there, only memory of the registry is read. */
TEST(nonsense)
{
	char name[REGISTRY_NAME_BYTES];
	struct registry r;

	begin("");
	open_registry(&r);
	registry_id(&r, "one", NAMES_MAX);
	MUST(file_grow(dir, FILE_NAME, r.inode, REGISTRY_BYTES_MAX) == 0);
	memset((char *)r.header + REGISTRY_NAMES_OFFSET, 'x', REGISTRY_BYTES_MAX - REGISTRY_NAMES_OFFSET);
	for (unsigned at = 0; at <= UINT16_MAX; at += 13) {
		r.header->index[0] = (uint16_t)at;
		if (registry_name(&r, EVENT_ID_USER, name))
			CHECK_EQ("-", strlen(name), REGISTRY_NAME_BYTES - 1);
		else
			CHECK("-", at == 0 || at > REGISTRY_ENTRIES);
		registry_id(&r, "one", NAMES_MAX);
	}
	memset(r.header->index, 0xff, sizeof r.header->index);
	CHECK_EQ("-", registry_id(&r, "two", NAMES_MAX), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK("-", registry_count(&r) <= EVENT_USER_MAX);
	r.header->entries = UINT32_MAX;
	memset(r.header->index, 0, sizeof r.header->index);
	CHECK_EQ("-", registry_id(&r, "two", NAMES_MAX), POSIX_TRACE_UNNAMED_USEREVENT);
}

/* The name now belongs to a new file, which is not extended. */
TEST(another_by_that_name)
{
	struct registry old, r;
	struct stat st;
	char name[32];

	begin("");
	open_registry(&old);
	MUST(unlinkat(dir, FILE_NAME, 0) == 0);
	open_registry(&r);
	for (unsigned i = 0; i < 64; i++) {
		sprintf(name, "name %u", i);
		CHECK_EQ("-", registry_id(&old, name, NAMES_MAX), EVENT_ID_USER + i);
	}
	CHECK_EQ("-", registry_id(&old, "no more", NAMES_MAX), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ("-", registry_id(&old, "name 63", NAMES_MAX), EVENT_ID_USER + 63);
	MUST(fstatat(dir, FILE_NAME, &st, 0) == 0);
	CHECK_EQ("-", st.st_size, REGISTRY_NAMES_OFFSET + 4096);
	CHECK_EQ("-", registry_count(&r), 0);
}

/* A child reads and holds its parent's registry, cannot write there, and opens it for itself. */
static struct registry of_parent;

static void hold_in_child(void *arg)
{
	struct registry born = registry_in_child(&of_parent), own;

	CHECK_STR("-", name_of(&born, EVENT_ID_USER), "parents");
	CHECK_EQ("SEC-1", mprotect((void *)born.header, 4096, PROT_READ | PROT_WRITE), -1);
	CHECK_EQ("SEC-1", mprotect(of_parent.hold.at, 4096, PROT_READ | PROT_WRITE), -1);
	CHECK_EQ("SEC-1", msync(of_parent.header, 4096, MS_ASYNC), -1); /* not mapped */
	MUST(registry_open(file_directory(&shm_dir, false), &shm_dir, someone, &born, &own) == 0);
	CHECK_EQ("-", own.inode, born.inode);
	CHECK_EQ("-", registry_id(&own, "childs", NAMES_MAX), EVENT_ID_USER + 1);
	registry_close(&own);
}

TEST(held_in_child)
{
	struct unit_child child;

	begin("");
	open_registry(&of_parent);
	MUST(registry_protect(dir, &of_parent) == 0);
	registry_id(&of_parent, "parents", NAMES_MAX);
	child = unit_child(hold_in_child, NULL);
	lock_release(&of_parent.hold);
	CHECK("-", unit_held(dir, FILE_NAME));
	CHECK_STR("-", name_of(&of_parent, EVENT_ID_USER + 1), "childs");
	unit_kill_child(&child);
	CHECK("-", !unit_held(dir, FILE_NAME));
}

/* H18: an index full of forged entries makes nobody ask for the file's size each time. */
TEST(forged_index)
{
	struct registry r, other;
	char name[REGISTRY_NAME_BYTES];
	uint64_t asked;

	begin("");
	open_registry(&r);
	open_registry(&other);
	registry_id(&r, "first", NAMES_MAX);
	for (unsigned i = 1; i < EVENT_USER_MAX; i++)
		other.header->index[i] = 16000;
	CHECK_EQ("-", registry_id(&r, "second", NAMES_MAX), POSIX_TRACE_UNNAMED_USEREVENT);
	asked = r.asked;
	CHECK_EQ("-", asked, REGISTRY_NAMES_OFFSET + 4096);
	/* Cut off: another question would get no answer. */
	MUST(unlinkat(dir, FILE_NAME, 0) == 0);
	CHECK("-", !registry_name(&r, EVENT_ID_USER + 5, name) && r.asked == asked);
	CHECK_EQ("-", registry_id(&r, "first", NAMES_MAX), EVENT_ID_USER);
	/* With header.bytes changing all the time there are some questions, but not one for each entry. */
	for (unsigned i = 0; i < 100; i++) {
		other.header->bytes++;
		CHECK_EQ("-", registry_id(&r, "third", NAMES_MAX), POSIX_TRACE_UNNAMED_USEREVENT);
	}
	registry_close(&other);
	registry_close(&r);
}

static void numbered(char *name, unsigned i)
{
	sprintf(name, "name %u", i);
}

/* Fills a registry from its first page of names, which has 64 of them, to the maximum. */
static void fill(struct registry *r)
{
	char name[REGISTRY_NAME_BYTES];

	for (unsigned i = 0; i < NAMES_MAX; i++) {
		numbered(name, i);
		CHECK_EQ("LIM-5", registry_id(r, name, NAMES_MAX), EVENT_ID_USER + i);
	}
	CHECK_EQ("-", registry_count(r), NAMES_MAX);
	CHECK_EQ("-", registry_id(r, "one too many", NAMES_MAX), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ("-", registry_id(r, "another", NAMES_MAX), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ("-", registry_count(r), NAMES_MAX);
	for (unsigned i = 0; i < NAMES_MAX; i++) {
		numbered(name, i);
		CHECK_EQ("-", registry_id(r, name, NAMES_MAX), EVENT_ID_USER + i);
		CHECK_STR("-", name_of(r, EVENT_ID_USER + i), name);
	}
	CHECK("-", !registry_name(r, EVENT_ID_USER + NAMES_MAX, name));
}

TEST(limit)
{
	struct registry r;

	begin("");
	open_registry(&r);
	fill(&r);
}

/* Names need no tmpfs. A child knows the names that existed when it was forked. */
TEST(without_tmpfs)
{
	struct registry r;
	int status;

	begin("size=1m");
	shm_remount(MS_RDONLY, NULL);
	CHECK_EQ("-", registry_open(dir, &shm_dir, someone, NULL, &r), -EROFS);
	CHECK("-", r.header == NULL && r.hold.at == NULL);
	MUST(registry_open_private(NULL, &r) == 0);
	CHECK_STR("-", r.file, "");
	fill(&r);
	if (fork() == 0)
		_exit(registry_id(&r, "name 1000", NAMES_MAX) != EVENT_ID_USER + 1000);
	wait(&status);
	CHECK_EQ("-", status, 0);
	registry_close(&r);
}

/* H12: where the tmpfs is full, a name gets no id of its own and nothing breaks. When there is space, it gets one. */
TEST(no_space_to_grow)
{
	struct registry r;
	char name[32];
	unsigned i;

	begin("size=40k,nr_inodes=100");
	open_registry(&r);
	CHECK("-", r.file[0] != 0);
	for (i = 0; i < NAMES_MAX; i++) {
		numbered(name, i);
		if (registry_id(&r, name, NAMES_MAX) != EVENT_ID_USER + i)
			break;
	}
	CHECK("-", i >= 64 && i < NAMES_MAX);
	CHECK_EQ("-", registry_id(&r, name, NAMES_MAX), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ("-", registry_count(&r), i);
	CHECK_EQ("-", registry_id(&r, "name 5", NAMES_MAX), EVENT_ID_USER + 5);
	shm_remount(0, "size=2m");
	CHECK_EQ("-", registry_id(&r, name, NAMES_MAX), EVENT_ID_USER + i);
}

/* Failed attempts while there is no space do not use up room for later names. */
TEST(no_space_for_long)
{
	struct registry r;
	char name[32];

	begin("size=36k,nr_inodes=100");
	open_registry(&r);
	for (unsigned i = 0; i < 64; i++) {
		numbered(name, i);
		CHECK_EQ("-", registry_id(&r, name, NAMES_MAX), EVENT_ID_USER + i);
	}
	for (int i = 0; i < 2 * REGISTRY_ENTRIES; i++)
		CHECK_EQ("-", registry_id(&r, "no room", NAMES_MAX), POSIX_TRACE_UNNAMED_USEREVENT);
	shm_remount(0, "size=2m");
	CHECK_EQ("-", registry_id(&r, "no room", NAMES_MAX), EVENT_ID_USER + 64);
}

/* Checks that the file is refused. Repairing it is up to the caller. */
static void check_refused(void)
{
	struct registry r;

	CHECK_EQ("-", registry_open(dir, &shm_dir, someone, NULL, &r), -EINVAL);
	CHECK("-", r.header == NULL && r.hold.at == NULL);
}

TEST(refused)
{
	struct registry good, r;
	char name[REGISTRY_NAME_BYTES];

	begin("");
	open_registry(&good);
	registry_id(&good, "one", NAMES_MAX);
	good.header->magic++;
	check_refused();
	good.header->magic--;
	good.header->version--;
	check_refused();
	good.header->version++;
	good.header->size++;
	check_refused();
	good.header->size--;
	good.header->bytes += 1 << 20; /* more than the file has, so touching it would raise SIGBUS */
	open_registry(&r);
	for (unsigned i = 1; i < 64; i++) {
		numbered(name, i);
		CHECK_EQ("-", registry_id(&r, name, NAMES_MAX), EVENT_ID_USER + i);
	}
	CHECK_EQ("-", registry_id(&r, "behind the end", NAMES_MAX), POSIX_TRACE_UNNAMED_USEREVENT);
	good.header->index[64] = 65;
	CHECK("-", !registry_name(&r, EVENT_ID_USER + 64, name));
	good.header->index[64] = 0;
	good.header->bytes -= 1 << 20;
	open_registry(&r);
	CHECK_EQ("-", registry_count(&r), 64);
	CHECK_EQ("-", registry_look(dir, &shm_dir, someone), 64);
	CHECK_EQ("-", registry_look(dir, &shm_dir, (struct ident){ 1, 2, 3 }), 0);
	/* At most as many names as the caller allows. */
	CHECK_EQ("-", registry_id(&r, "one too many", 64), POSIX_TRACE_UNNAMED_USEREVENT);
	CHECK_EQ("-", registry_id(&r, "one more", 65), EVENT_ID_USER + 64);
	CHECK_EQ("-", registry_id(&r, "one more", 1000), EVENT_ID_USER + 64);
	MUST(truncate(strcat(strcpy((char[96]){ 0 }, shm_dir.path), "/" FILE_NAME), REGISTRY_NAMES_OFFSET) == 0);
	check_refused();
}

/*
 * The registry is found by the name of its file, as in a log's state or in a directory, by a process without access
 * to the family's memory.
 */
TEST(found)
{
	struct registry good, r;
	int descriptors;

	begin("");
	open_registry(&good);
	registry_id(&good, "one", NAMES_MAX);
	descriptors = shm_descriptors();
	MUST(registry_find(dir, &shm_dir, good.file, &r) == 0);
	CHECK_STR("-", name_of(&r, EVENT_ID_USER), "one");
	registry_close(&r);
	CHECK_EQ("-", registry_find(dir, &shm_dir, "names-1-2-9", &r), -ENOENT);
	CHECK_EQ("-", registry_find(dir, &shm_dir, "../names-1-2-3", &r), -EINVAL);
	CHECK_EQ("-", registry_find(dir, &shm_dir, "", &r), -EINVAL);
	CHECK_EQ("-", registry_find(dir, &shm_dir, "page-1-2-3", &r), -EINVAL);
	good.header->magic++;
	CHECK_EQ("-", registry_find(dir, &shm_dir, good.file, &r), -EINVAL);
	CHECK("-", r.header == NULL);
	CHECK_EQ("-", shm_descriptors(), descriptors);
}

/* -- Several at once ---------------------------------------------------------- */

#define PROCESSES 4
#define THREADS 4
#define NAMES 150

/* Ids that each thread of each process got, in shared memory. */
static trace_event_id_t (*got)[NAMES];

static void *open_all(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	struct registry r;
	char name[32];

	open_registry(&r);
	for (unsigned i = 0; i < NAMES; i++) {
		/* Half of the threads go from the first name to the last, the others in orders of their own. */
		unsigned n = me % 2 ? i : (i * 7 + me) % NAMES;

		numbered(name, n);
		got[me][n] = registry_id(&r, name, NAMES_MAX);
	}
	registry_close(&r);
	return NULL;
}

TEST(several_at_once)
{
	bool seen[NAMES] = { false };
	struct registry r;
	char name[32];
	int status;

	begin("");
	got = mmap(NULL, PROCESSES * THREADS * sizeof *got, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned p = 0; p < PROCESSES; p++) {
		if (fork() == 0) {
			pthread_t thread[THREADS];

			for (unsigned t = 0; t < THREADS; t++)
				MUST(pthread_create(&thread[t], NULL, open_all, (void *)(uintptr_t)(p * THREADS + t)) ==
				     0);
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
		CHECK_STR("-", name_of(&r, id), name);
		for (unsigned i = 1; i < PROCESSES * THREADS; i++)
			CHECK_EQ("-", got[i][n], id);
	}
}

TEST_MAIN(TEST_ENTRY(names), TEST_ENTRY(layouts), TEST_ENTRY(forged_layouts), TEST_ENTRY(no_space_for_layouts),
          TEST_ENTRY(seeded), TEST_ENTRY(nonsense), TEST_ENTRY(another_by_that_name),
          TEST_ENTRY(held_in_child), TEST_ENTRY(forged_index),
          TEST_ENTRY(limit), TEST_ENTRY(without_tmpfs), TEST_ENTRY(no_space_to_grow),
          TEST_ENTRY(no_space_for_long), TEST_ENTRY(refused), TEST_ENTRY(found), TEST_ENTRY(several_at_once))
