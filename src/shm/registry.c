/*
 * registry.c - names of user events and their ids
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/registry.h"

#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/ticks.h"
#include "shm/stream.h"

struct make {
	uint64_t bytes;
	const struct registry *seed;
};

static bool possible_entry(uint16_t at)
{
	return at >= 1 && at <= REGISTRY_ENTRIES;
}

/* Returns what can be read even if the process has been forked since the registry was opened. */
static const struct registry_header *reading(const struct registry *r)
{
	const struct registry_header *seen = load_relaxed(&r->seen);

	return seen ? seen : r->header;
}

const struct names_moved *registry_moved(const struct registry *r)
{
	return reading(r)->moved;
}

static int init(void *map, void *arg)
{
	const struct make *make = arg;
	struct registry_header *h = map;
	uint32_t count = make->seed ? registry_count(make->seed) : 0;

	h->magic = REGISTRY_MAGIC;
	h->version = LAYOUT_VERSION;
	h->size = sizeof *h;
	h->bytes = make->bytes;
	if (make->seed)
		h->refused = registry_refused(make->seed, h->refused_name);
	/* Each name keeps its id, because the order stays the same. */
	for (uint32_t i = 0; i < count; i++) {
		char *name = (char *)map + REGISTRY_NAMES_OFFSET + (size_t)h->entries * REGISTRY_NAME_BYTES;

		if (REGISTRY_NAMES_OFFSET + (uint64_t)(h->entries + 1) * REGISTRY_NAME_BYTES > make->bytes ||
		    !registry_name(make->seed, EVENT_ID_USER + i, name))
			break;
		h->index[i] = (uint16_t)++h->entries;
	}
	return 0;
}

static void append_layouts(struct registry *r, const struct registry *seed);

/* Checks everything but the size: the file may have grown since it was mapped, so within() asks for its size. */
static bool valid(const struct registry_header *h)
{
	return h->magic == REGISTRY_MAGIC && h->version == LAYOUT_VERSION && h->size == sizeof *h;
}

int registry_open(int dir, const struct shm_dir *shm_dir, struct ident id, const struct registry *seed,
                  struct registry *r)
{
	struct make make = { REGISTRY_NAMES_OFFSET + 4096, seed };
	struct file_new file = { r->file, 0, LOCK_SHARED, init, &make };
	struct file_mapped mapped;
	int err;

	memset(r, 0, sizeof *r);
	file_name_once(r->file, "names", id);
	r->shm_dir = *shm_dir;
	r->id = id;
	if (seed)
		make.bytes += (registry_count(seed) * REGISTRY_NAME_BYTES + 4095u) & ~4095u;
	file.size = (size_t)make.bytes;
	for (int try = 0;; try++) {
		/* Mapped at its largest size, of which only the first header.bytes bytes may be touched. */
		err = file_map(dir, shm_dir, r->file, REGISTRY_NAMES_OFFSET + 4096, REGISTRY_BYTES_MAX, &mapped,
		               &r->hold);
		if (err != -ENOENT)
			break;
		err = file_create(dir, shm_dir, &file, &mapped.map, &r->hold);
		if (err == 0) {
			/* Map the new file again, at the largest size. */
			file_unmap(mapped.map, file.size);
			lock_release(&r->hold);
			continue;
		}
		if (err != -EEXIST || try >= 100)
			break;
	}
	if (err < 0)
		return err;
	r->header = mapped.map;
	TEST_POINT("registry_mapped");
	r->inode = mapped.inode;
	r->size = mapped.size;
	if (valid(r->header)) {
		/* A child born into a family shares its registry: nothing to copy. */
		if (seed && seed->inode != r->inode)
			append_layouts(r, seed);
		return 0;
	}
	registry_close(r);
	return -EINVAL;
}

int registry_find(int dir, const struct shm_dir *shm_dir, const char *file, struct registry *r)
{
	struct file_mapped mapped;
	struct ident id;
	uint32_t pidns;
	char kind[16];
	int err;

	memset(r, 0, sizeof *r);
	if (!file_name_parse(file, kind, &id, &pidns) || strcmp(kind, "names") != 0)
		return -EINVAL;
	err = file_map(dir, shm_dir, file, REGISTRY_NAMES_OFFSET + 4096, REGISTRY_BYTES_MAX, &mapped, &r->hold);
	if (err < 0)
		return err;
	strcpy(r->file, file);
	r->shm_dir = *shm_dir;
	r->header = mapped.map;
	r->inode = mapped.inode;
	r->size = mapped.size;
	if (valid(r->header))
		return 0;
	registry_close(r);
	return -EINVAL;
}

int registry_open_private(const struct registry *seed, struct registry *r)
{
	struct make make = { REGISTRY_BYTES_MAX, seed };
	void *whole = sys_map(REGISTRY_BYTES_MAX, -1, 1);

	memset(r, 0, sizeof *r);
	if (!whole)
		return -ENOMEM;
	init(whole, &make);
	r->header = whole;
	if (seed)
		append_layouts(r, seed);
	return 0;
}

int registry_protect(int dir, struct registry *r)
{
	void *seen;
	int err;

	if (!r->file[0])
		return 0;
	err = file_map_reading(dir, &r->shm_dir, r->file, r->inode, REGISTRY_BYTES_MAX, &seen);
	if (err < 0)
		return err;
	r->seen = seen;
	err = sys_not_on_fork(r->header, REGISTRY_BYTES_MAX);
	if (err == 0)
		lock_pass_on(&r->hold);
	return err;
}

struct registry registry_in_child(const struct registry *r)
{
	struct registry child = *r;

	child.header = (struct registry_header *)(uintptr_t)reading(r);
	child.seen = NULL;
	child.hold.at = NULL;
	return child;
}

bool registry_move_over(struct registry *r, struct registry *fresh)
{
	if (sys_move_over(fresh->header, r->header, REGISTRY_BYTES_MAX) < 0)
		return false;
	fresh->header = r->header;
	if (r->seen && sys_move_over((void *)(uintptr_t)fresh->seen, (void *)(uintptr_t)r->seen,
	                             REGISTRY_BYTES_MAX) == 0)
		fresh->seen = r->seen;
	lock_release(&r->hold);
	*r = *fresh;
	return true;
}

void registry_close(struct registry *r)
{
	if (r->header)
		file_unmap(r->header, REGISTRY_BYTES_MAX);
	if (r->seen)
		sys_unmap((void *)(uintptr_t)r->seen, REGISTRY_BYTES_MAX);
	r->header = NULL;
	r->seen = NULL;
	lock_release(&r->hold);
}

bool registry_read(int dir, const struct shm_dir *shm_dir, struct ident id, uint32_t names, uint32_t layouts,
                   void *memory, struct registry *r)
{
	struct sys_stat st;
	bool known;
	int fd;

	memset(r, 0, sizeof *r);
	r->header = memory;
	r->size = REGISTRY_BYTES_MAX; /* of the private memory */
	file_name_once(r->file, "names", id);
	fd = file_open_reading(dir, shm_dir, r->file);
	if (fd < 0)
		return false;
	known = sys_stat(fd, &st) == 0 &&
	        sys_read_at(fd, memory, REGISTRY_NAMES_OFFSET, 0) == REGISTRY_NAMES_OFFSET && valid(r->header);
	r->inode = known ? st.inode : 0;
	/* The file ends soon after its last name, so a short read is enough. */
	if (known && (registry_count(r) > names || registry_layouts(r) > layouts))
		known = sys_read_at(fd, (char *)memory + REGISTRY_NAMES_OFFSET,
		                    REGISTRY_BYTES_MAX - REGISTRY_NAMES_OFFSET, REGISTRY_NAMES_OFFSET) > 0;
	sys_close(fd);
	return known;
}

void names_moved_tell(struct names_moved *moved, unsigned count, const struct shm_dir *shm_dir, uint32_t outside,
                      struct ident id)
{
	for (unsigned i = 0; i < count; i++) {
		struct names_moved *m = &moved[i];
		uint32_t state = load_acquire(&m->state); /* PAIR(moved) */

		if (state == MOVED_REPORTED && names_moved_is(m, shm_dir->owner, id))
			return;
		if (state != MOVED_FREE || !cas(&m->state, &state, MOVED_LOCKED))
			continue;
		m->user = shm_dir->owner;
		m->outside = outside;
		m->pid = id.pid;
		m->start = id.start;
		m->pidns = id.pidns;
		store_release(&m->state, MOVED_REPORTED); /* PAIR(moved) */
		return;
	}
}

static const char *entry_name(const struct registry *r, uint32_t entry)
{
	return (const char *)reading(r) + REGISTRY_NAMES_OFFSET + (size_t)entry * REGISTRY_NAME_BYTES;
}

/* Returns how many entries a layout of this length takes. */
static uint32_t layout_entries(size_t length)
{
	return (uint32_t)(sizeof(uint16_t) + length + REGISTRY_NAME_BYTES - 1) / REGISTRY_NAME_BYTES;
}

/* Writes a name to its entry, and null bytes to the rest of the entry. A name that is too long is cut. */
static void put_name(char *entry, const char *name)
{
	size_t length = strnlen(name, REGISTRY_NAME_BYTES - 1);

	memcpy(entry, name, length);
	memset(entry + length, 0, REGISTRY_NAME_BYTES - length);
}

static void put_layout(char *entry, const char *layout, uint16_t length)
{
	memcpy(entry, &length, sizeof length);
	memcpy(entry + sizeof length, layout, length);
}

/* How often one call asks for the file's size. Between two times others must have added 64 names. */
#define ASK_MAX 16

/*
 * Returns whether the entry may be touched. Only the end of the file decides, which never moves back; index and
 * header may be forged (H18). header.bytes rises after the file has grown and before an entry there is used. So an
 * entry that lies behind the end, as asked for with the same header.bytes, is forged, and is not asked for again.
 * asks: how often the caller may still ask.
 */
static bool within(const struct registry *r, uint32_t entry, int *asks)
{
	uint64_t end = REGISTRY_NAMES_OFFSET + (uint64_t)(entry + 1) * REGISTRY_NAME_BYTES;
	uint64_t bytes, size;
	int dir;

	if (end <= load_relaxed(&r->size) || !r->file[0])
		return end <= REGISTRY_BYTES_MAX;
	bytes = load_acquire(&reading(r)->bytes);
	/* PAIR(grown): with the answer of another thread, its size. */
	if (load_acquire(&r->asked) == bytes)
		return end <= load_relaxed(&r->size);
	if (*asks == 0)
		return false;
	--*asks;
	dir = file_directory(&r->shm_dir, false);
	if (dir < 0)
		return false;
	size = file_size(dir, r->file, r->inode);
	sys_close(dir);
	if (size) {
		store_relaxed(&((struct registry *)r)->size, size);
		store_release(&((struct registry *)r)->asked, bytes); /* PAIR(grown) */
	}
	return end <= size;
}

#define GROW_TRIES 1000

static int make_space(struct registry *r, uint64_t need)
{
	uint64_t bytes = load_relaxed(&r->header->bytes);
	int dir, err;

	if (need <= bytes)
		return 0;
	if (!r->file[0])
		return -ENOMEM;
	need = (need + 4095) & ~UINT64_C(4095);
	dir = file_directory(&r->shm_dir, false);
	if (dir < 0)
		return dir;
	err = file_grow(dir, r->file, r->inode, need);
	TEST_POINT("registry_grown");
	sys_close(dir);
	if (err < 0)
		return err;
	for (int try = 0; try < GROW_TRIES && bytes < need && !cas(&r->header->bytes, &bytes, need); try++)
		;
	TEST_POINT("registry_bytes");
	return 0;
}

/*
 * Returns the first of so many new entries in a row, whose space is reserved, or a negative error number such as
 * -ENOMEM.
 */
static int acquire_entries(struct registry *r, uint32_t count)
{
	uint32_t entry = load_relaxed(&r->header->entries);

	/* Reserve the space before the entry, so that no entry is used up without space. */
	for (int try = 0; try < REGISTRY_ENTRIES; try++) {
		int err;

		if (entry > REGISTRY_ENTRIES - count)
			return -ENOMEM;
		err = make_space(r, REGISTRY_NAMES_OFFSET + (uint64_t)(entry + count) * REGISTRY_NAME_BYTES);
		if (err < 0)
			return err;
		if (cas(&r->header->entries, &entry, entry + count))
			return (int)entry;
	}
	return -ENOMEM; /* the number of entries only rises, unless a process resets it on purpose (H18) */
}

/* Returns the id of a name, which it looks for, or appends, from index `from` on. asks: as in within(). */
static trace_event_id_t find_or_append(struct registry *r, const char *name, uint32_t from, uint32_t limit, int *asks)
{
	int entry = -1;

	for (uint32_t i = from; i < limit && i < EVENT_USER_MAX; i++) {
		/* PAIR(name): the entry's name is written before its number enters the index. */
		uint16_t at = load_acquire(&r->header->index[i]);

		if (!at) {
			if (entry < 0) {
				entry = acquire_entries(r, 1);
				if (entry < 0 || !within(r, (uint32_t)entry, asks))
					return POSIX_TRACE_UNNAMED_USEREVENT;
				TEST_POINT("registry_entry");
				put_name((char *)r->header + REGISTRY_NAMES_OFFSET +
				         (size_t)entry * REGISTRY_NAME_BYTES, name);
				TEST_POINT("registry_name");
			}
			/* PAIR(name) */
			if (cas(&r->header->index[i], &at, (uint16_t)(entry + 1)))
				return EVENT_ID_USER + i;
		}
		if (possible_entry(at) && within(r, at - 1u, asks) &&
		    strncmp(entry_name(r, at - 1u), name, REGISTRY_NAME_BYTES) == 0)
			return EVENT_ID_USER + i;
	}
	return POSIX_TRACE_UNNAMED_USEREVENT;
}

trace_event_id_t registry_id(struct registry *r, const char *name, uint32_t limit)
{
	int asks = ASK_MAX;

	return find_or_append(r, name, 0, limit, &asks);
}

void registry_refuse(struct registry *r, const char *name)
{
	/* Readers may see a part of the name. Its last byte is never written, so the name always ends with a null. */
	if (fetch_add(&r->header->refused, 1) == 0)
		memcpy(r->header->refused_name, name, strnlen(name, REGISTRY_NAME_BYTES - 1));
}

uint64_t registry_refused(const struct registry *r, char name[REGISTRY_NAME_BYTES])
{
	/* Other processes may write here at any time, so terminate the copy. */
	memcpy(name, reading(r)->refused_name, REGISTRY_NAME_BYTES);
	name[REGISTRY_NAME_BYTES - 1] = 0;
	return load_relaxed(&reading(r)->refused);
}

void registry_note_full(struct registry *r)
{
	fetch_add(&r->header->full, 1);
}

uint64_t registry_full(const struct registry *r)
{
	return load_relaxed(&reading(r)->full);
}

int registry_declare(struct registry *r, trace_event_id_t id, const char *layout)
{
	size_t length = strlen(layout);
	char other[LAYOUT_TEXT_SIZE];
	int asks = ASK_MAX, entry;
	uint16_t *index, at = 0;

	if (id < EVENT_ID_USER || id >= EVENT_ID_END || length >= LAYOUT_TEXT_SIZE)
		return -EINVAL;
	index = &r->header->layout[id - EVENT_ID_USER];
	if (!load_relaxed(index)) {
		uint32_t count = layout_entries(length);

		entry = acquire_entries(r, count);
		if (entry < 0 || !within(r, (uint32_t)entry + count - 1, &asks))
			return -ENOMEM;
		TEST_POINT("registry_layout");
		put_layout((char *)r->header + REGISTRY_NAMES_OFFSET + (size_t)entry * REGISTRY_NAME_BYTES, layout,
		           (uint16_t)length);
		/* PAIR(name) */
		if (cas(index, &at, (uint16_t)(entry + 1))) {
			TEST_POINT("registry_declared");
			return 0;
		}
	}
	return registry_layout(r, id, other) == length && memcmp(other, layout, length) == 0 ? 0 : -EEXIST;
}

/* Declares the layouts of seed, for ids that have the same names in both. */
static void append_layouts(struct registry *r, const struct registry *seed)
{
	char name[REGISTRY_NAME_BYTES], same[REGISTRY_NAME_BYTES], layout[LAYOUT_TEXT_SIZE];
	uint32_t count = registry_count(seed);

	for (trace_event_id_t id = EVENT_ID_USER; id < EVENT_ID_USER + count; id++)
		if (registry_layout(seed, id, layout) && registry_name(seed, id, name) &&
		    registry_name(r, id, same) && strcmp(name, same) == 0)
			registry_declare(r, id, layout);
}

bool registry_append(struct registry *r, const struct registry *seed)
{
	uint32_t count = registry_count(seed);
	char name[REGISTRY_NAME_BYTES];
	int asks = ASK_MAX + (int)(count / (4096 / REGISTRY_NAME_BYTES)); /* r itself grows */

	for (uint32_t i = 0; i < count; i++)
		if (!registry_name(seed, EVENT_ID_USER + i, name) ||
		    find_or_append(r, name, i, i + 1, &asks) != EVENT_ID_USER + i)
			return false;
	append_layouts(r, seed);
	return true;
}

uint32_t registry_look(int dir, const struct shm_dir *shm_dir, struct ident id)
{
	char name[FILE_NAME_SIZE];
	struct file_mapped mapped;
	struct registry r;
	struct hold hold;
	uint32_t count = 0;

	file_name_once(name, "names", id);
	if (file_map(dir, shm_dir, name, REGISTRY_NAMES_OFFSET, REGISTRY_NAMES_OFFSET, &mapped, &hold) < 0)
		return 0;
	r.header = mapped.map;
	r.seen = NULL;
	if (valid(r.header))
		count = registry_count(&r);
	file_unmap(mapped.map, REGISTRY_NAMES_OFFSET);
	lock_release(&hold);
	return count;
}

uint32_t registry_count(const struct registry *r)
{
	uint32_t low = 0, high = EVENT_USER_MAX;

	/* The index is filled from the front. */
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (load_relaxed(&reading(r)->index[middle]))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool registry_name(const struct registry *r, trace_event_id_t id, char name[REGISTRY_NAME_BYTES])
{
	int asks = 1;
	uint16_t at;

	if (id < EVENT_ID_USER || id >= EVENT_ID_END)
		return false;
	at = load_acquire(&reading(r)->index[id - EVENT_ID_USER]); /* PAIR(name) */
	if (!possible_entry(at) || !within(r, at - 1u, &asks))
		return false;
	/* Other processes may write here at any time, so terminate the copy. */
	memcpy(name, entry_name(r, at - 1u), REGISTRY_NAME_BYTES);
	name[REGISTRY_NAME_BYTES - 1] = 0;
	return true;
}

size_t registry_layout(const struct registry *r, trace_event_id_t id, char layout[LAYOUT_TEXT_SIZE])
{
	int asks = 2; /* the registry may grow between the two */
	uint16_t at, length;

	if (id < EVENT_ID_USER || id >= EVENT_ID_END)
		return 0;
	/* PAIR(name): the layout is written before its number enters the index. */
	at = load_acquire(&reading(r)->layout[id - EVENT_ID_USER]);
	if (!possible_entry(at) || !within(r, at - 1u, &asks))
		return 0;
	memcpy(&length, entry_name(r, at - 1u), sizeof length);
	if (length == 0 || length >= LAYOUT_TEXT_SIZE || at - 1u + layout_entries(length) > REGISTRY_ENTRIES ||
	    !within(r, at - 2u + layout_entries(length), &asks))
		return 0;
	memcpy(layout, entry_name(r, at - 1u) + sizeof length, length);
	layout[length] = 0;
	return strlen(layout) == length ? length : 0;
}

uint32_t registry_layouts(const struct registry *r)
{
	uint32_t names = registry_count(r), count = 0;

	for (uint32_t i = 0; i < names; i++)
		count += load_relaxed(&reading(r)->layout[i]) != 0;
	return count;
}

/* -- Removal ------------------------------------------------------------------------- */

/* Limit of CPU time for the look at all streams of a directory. A registry whose check takes longer is kept. */
#define NEED_NS 10000000

struct need {
	int dir;
	int64_t until;
	const char *file;
	bool other; /* the registry has another layout version: no way to tell which logs need it */
	bool needed;
};

static bool look_for_need(int dir, const char *name, void *arg)
{
	struct need *need = arg;
	char kind[16], names[LOG_NAMES_BYTES];
	struct ident id;
	uint32_t serial;

	if (clock_ns(CLOCK_THREAD_CPUTIME_ID) > need->until) {
		need->needed = true;
		return false;
	}
	need->needed = file_name_parse(name, kind, &id, &serial) && strcmp(kind, "stream") == 0 &&
	               (need->other ? stream_other_version(dir, name)
	                            : stream_log_names(dir, name, names) && strcmp(names, need->file) == 0);
	return !need->needed;
}

/*
 * Returns whether no stream's log will need the registry. The registry's file is locked, so a process that completes
 * a log cannot open it now. A stream that is being saved at this moment, or waits for it, still has its file.
 */
static bool not_needed(int fd, void *arg)
{
	struct need *need = arg;

	need->other = stream_other_layout(fd, REGISTRY_MAGIC);
	return file_each(need->dir, look_for_need, need) >= 0 && !need->needed;
}

void registry_remove_unused(int dir, const struct shm_dir *shm_dir, const char *file)
{
	struct need need = { dir, clock_ns(CLOCK_THREAD_CPUTIME_ID) + NEED_NS, file, false, false };

	file_remove_unused(dir, shm_dir, file, not_needed, &need);
}
