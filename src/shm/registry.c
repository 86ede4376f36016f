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
#include "shm/stream.h"

struct make {
	uint64_t bytes;
	const struct registry *seed;
};

static bool possible_place(uint16_t at)
{
	return at >= 1 && at <= REGISTRY_PLACES;
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
	/* The same ids: in the same order. */
	for (uint32_t i = 0; i < count; i++) {
		char *name = (char *)map + REGISTRY_NAMES_OFFSET + (size_t)h->places * REGISTRY_NAME_BYTES;

		if (REGISTRY_NAMES_OFFSET + (uint64_t)(h->places + 1) * REGISTRY_NAME_BYTES > make->bytes ||
		    !registry_name(make->seed, EVENT_ID_USER + i, name))
			break;
		h->index[i] = (uint16_t)++h->places;
	}
	return 0;
}

/* Where it ends is the file's to say, see within(): it may have grown since it was mapped. */
static bool valid(const struct registry_header *h)
{
	return h->magic == REGISTRY_MAGIC && h->version == LAYOUT_VERSION && h->size == sizeof *h;
}

int registry_open(int dir, const struct place *place, struct ident id, const struct registry *seed, struct registry *r)
{
	struct make make = { REGISTRY_NAMES_OFFSET + 4096, seed };
	struct file_new file = { r->file, 0, LOCK_SHARED, init, &make };
	struct file_mapped mapped;
	int err;

	memset(r, 0, sizeof *r);
	file_name_once(r->file, "names", id);
	r->place = *place;
	r->id = id;
	if (seed)
		make.bytes += (registry_count(seed) * REGISTRY_NAME_BYTES + 4095u) & ~4095u;
	file.size = (size_t)make.bytes;
	for (int try = 0;; try++) {
		/* Mapped to its full length, of which only what header.bytes says may be touched. */
		err = file_map(dir, place, r->file, REGISTRY_NAMES_OFFSET + 4096, REGISTRY_BYTES_MAX, &mapped, &r->hold);
		if (err != -ENOENT)
			break;
		err = file_create(dir, place, &file, &mapped.map, &r->hold);
		if (err == 0) {
			/* Its end may not be mapped yet. */
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
	if (valid(r->header))
		return 0;
	registry_close(r);
	return -EINVAL;
}

int registry_find(int dir, const struct place *place, const char *file, struct registry *r)
{
	struct file_mapped mapped;
	struct ident id;
	uint32_t space;
	char kind[16];
	int err;

	memset(r, 0, sizeof *r);
	if (!file_name_parse(file, kind, &id, &space) || strcmp(kind, "names") != 0)
		return -EINVAL;
	err = file_map(dir, place, file, REGISTRY_NAMES_OFFSET + 4096, REGISTRY_BYTES_MAX, &mapped, &r->hold);
	if (err < 0)
		return err;
	strcpy(r->file, file);
	r->place = *place;
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
	void *whole = sys_map_family(REGISTRY_BYTES_MAX);

	memset(r, 0, sizeof *r);
	if (!whole)
		return -ENOMEM;
	init(whole, &make);
	r->header = whole;
	return 0;
}

void registry_hold(int dir, struct registry *r)
{
	r->hold.at = NULL;
	if (r->file[0])
		file_hold(dir, r->file, r->inode, &r->hold);
}

void registry_close(struct registry *r)
{
	if (r->header)
		file_unmap(r->header, REGISTRY_BYTES_MAX);
	r->header = NULL;
	lock_release(&r->hold);
}

static char *place_name(const struct registry *r, uint32_t place)
{
	return (char *)r->header + REGISTRY_NAMES_OFFSET + (size_t)place * REGISTRY_NAME_BYTES;
}

/* May the place be touched? Not what the index says, nor the header, but where the file ends (H18); that only rises. */
static bool within(const struct registry *r, uint32_t place)
{
	uint64_t end = REGISTRY_NAMES_OFFSET + (uint64_t)(place + 1) * REGISTRY_NAME_BYTES, size = load_relaxed(&r->size);
	int dir;

	if (end <= size || !r->file[0])
		return end <= REGISTRY_BYTES_MAX;
	dir = file_directory(&r->place, false);
	if (dir < 0)
		return false;
	size = file_size(dir, r->file, r->inode);
	sys_close(dir);
	if (size)
		store_relaxed(&((struct registry *)r)->size, size);
	return end <= size;
}

static int make_space(struct registry *r, uint64_t need)
{
	uint64_t bytes = load_relaxed(&r->header->bytes);
	int dir, err;

	if (need <= bytes)
		return 0;
	if (!r->file[0])
		return -ENOMEM;
	need = (need + 4095) & ~UINT64_C(4095);
	dir = file_directory(&r->place, false);
	if (dir < 0)
		return dir;
	err = file_grow(dir, r->file, r->inode, need);
	TEST_POINT("registry_grown");
	sys_close(dir);
	if (err < 0)
		return err;
	while (bytes < need && !cas(&r->header->bytes, &bytes, need))
		;
	TEST_POINT("registry_bytes");
	return 0;
}

/* A place with its space, or -ENOMEM. */
static int take_place(struct registry *r)
{
	uint32_t place = load_relaxed(&r->header->places);

	/* The space before the place: while there is none, no place is used up. */
	do {
		int err;

		if (place >= REGISTRY_PLACES)
			return -ENOMEM;
		err = make_space(r, REGISTRY_NAMES_OFFSET + (uint64_t)(place + 1) * REGISTRY_NAME_BYTES);
		if (err < 0)
			return err;
	} while (!cas(&r->header->places, &place, place + 1));
	return (int)place;
}

trace_event_id_t registry_id(struct registry *r, const char *name, uint32_t limit)
{
	int place = -1;

	for (uint32_t i = 0; i < limit && i < EVENT_USER_MAX; i++) {
		/* PAIR(name): the name in the place before the place in the index. */
		uint16_t at = load_acquire(&r->header->index[i]);

		if (!at) {
			if (place < 0) {
				place = take_place(r);
				if (place < 0 || !within(r, (uint32_t)place))
					return POSIX_TRACE_UNNAMED_USEREVENT;
				TEST_POINT("registry_place");
				strncpy(place_name(r, (uint32_t)place), name, REGISTRY_NAME_BYTES - 1);
				TEST_POINT("registry_name");
			}
			/* PAIR(name) */
			if (cas(&r->header->index[i], &at, (uint16_t)(place + 1)))
				return EVENT_ID_USER + i;
		}
		if (possible_place(at) && within(r, at - 1u) && strncmp(place_name(r, at - 1u), name, REGISTRY_NAME_BYTES) == 0)
			return EVENT_ID_USER + i;
	}
	return POSIX_TRACE_UNNAMED_USEREVENT;
}

uint32_t registry_look(int dir, const struct place *place, struct ident id)
{
	char name[FILE_NAME_SIZE];
	struct file_mapped mapped;
	struct registry r;
	struct hold hold;
	uint32_t count = 0;

	file_name_once(name, "names", id);
	if (file_map(dir, place, name, REGISTRY_NAMES_OFFSET, REGISTRY_NAMES_OFFSET, &mapped, &hold) < 0)
		return 0;
	r.header = mapped.map;
	if (valid(r.header))
		count = registry_count(&r);
	file_unmap(mapped.map, REGISTRY_NAMES_OFFSET);
	lock_release(&hold);
	return count;
}

uint32_t registry_count(const struct registry *r)
{
	uint32_t low = 0, high = EVENT_USER_MAX;

	/* Filled from the front. */
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (load_relaxed(&r->header->index[middle]))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool registry_name(const struct registry *r, trace_event_id_t id, char name[REGISTRY_NAME_BYTES])
{
	uint16_t at;

	if (id < EVENT_ID_USER || id >= EVENT_ID_END)
		return false;
	at = load_acquire(&r->header->index[id - EVENT_ID_USER]); /* PAIR(name) */
	if (!possible_place(at) || !within(r, at - 1u))
		return false;
	/* Whoever can write here may write at any time. */
	memcpy(name, place_name(r, at - 1u), REGISTRY_NAME_BYTES);
	name[REGISTRY_NAME_BYTES - 1] = 0;
	return true;
}

/* -- Its end ------------------------------------------------------------------------- */

struct need {
	int dir;
	const char *file;
	bool other; /* it is of another version: which logs need it cannot be known */
	bool needed;
};

static bool look_for_need(int dir, const char *name, void *arg)
{
	struct need *need = arg;
	char kind[16], names[LOG_NAMES_BYTES];
	struct ident id;
	uint32_t serial;

	need->needed = file_name_parse(name, kind, &id, &serial) && strcmp(kind, "stream") == 0 &&
	               (need->other ? stream_other_version(dir, name)
	                            : stream_log_names(dir, name, names) && strcmp(names, need->file) == 0);
	return !need->needed;
}

/*
 * With the file locked, so who completes a log cannot come to it now. Whether that log's stream
 * is being saved by another at this moment, or has to wait: its file is there.
 */
static bool not_needed(int fd, void *arg)
{
	struct need *need = arg;

	need->other = stream_other_layout(fd, REGISTRY_MAGIC);
	return file_each(need->dir, look_for_need, need) >= 0 && !need->needed;
}

void registry_remove_unused(int dir, const struct place *place, const char *file)
{
	struct need need = { dir, file, false, false };

	file_remove_unused(dir, place, file, not_needed, &need);
}
