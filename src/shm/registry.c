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

/* TRACE_USER_EVENT_MAX counts the unnamed user event (LIM-5). */
#define NAMES_MAX (TRACE_USER_EVENT_MAX - 1)

_Static_assert(NAMES_MAX <= EVENT_USER_MAX, "an id for each name");

static void init(void *map, void *arg)
{
	struct registry_header *h = map;

	h->magic = REGISTRY_MAGIC;
	h->version = LAYOUT_VERSION;
	h->size = sizeof *h;
	h->bytes = *(const uint64_t *)arg;
}

static bool valid(const struct registry_header *h, uint64_t file_size)
{
	return h->magic == REGISTRY_MAGIC && h->version == LAYOUT_VERSION && h->size == sizeof *h &&
	       h->bytes <= file_size;
}

int registry_open(struct ident id, struct registry *r)
{
	uint64_t bytes = REGISTRY_NAMES_OFFSET + 4096, size;
	void *map, *whole;
	int dir, err;

	file_name(r->file, "names", id, 0);
	dir = file_directory(true);
	if (dir < 0)
		goto private;
	err = file_create(dir, r->file, (size_t)bytes, init, &bytes, &map);
	if (err == 0)
		sys_unmap(map, (size_t)bytes);
	/* Mapped to its full length, of which only what header.bytes says may be touched. */
	if (err == 0 || err == -EEXIST)
		err = file_map(dir, r->file, (size_t)bytes, REGISTRY_BYTES_MAX, &whole, &size);
	sys_close(dir);
	if (err == 0 && !valid(whole, size)) {
		sys_unmap(whole, REGISTRY_BYTES_MAX);
		err = -EINVAL;
	}
	if (err == 0) {
		r->header = whole;
		return 0;
	}
private:
	r->file[0] = 0;
	whole = sys_map_family(REGISTRY_BYTES_MAX);
	if (!whole)
		return -ENOMEM;
	bytes = REGISTRY_BYTES_MAX;
	init(whole, &bytes);
	r->header = whole;
	return 0;
}

static char *place_name(const struct registry *r, uint32_t place)
{
	return (char *)r->header + REGISTRY_NAMES_OFFSET + (size_t)place * REGISTRY_NAME_BYTES;
}

static int make_space(struct registry *r, uint64_t need)
{
	uint64_t bytes = load_relaxed(&r->header->bytes);
	int dir, err;

	if (need <= bytes)
		return 0;
	need = (need + 4095) & ~UINT64_C(4095);
	dir = file_directory(false);
	if (dir < 0)
		return dir;
	err = file_grow(dir, r->file, need);
	sys_close(dir);
	if (err < 0)
		return err;
	while (bytes < need && !cas(&r->header->bytes, &bytes, need))
		;
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

trace_event_id_t registry_id(struct registry *r, const char *name)
{
	int place = -1;

	for (uint32_t i = 0; i < NAMES_MAX; i++) {
		/* PAIR(name): the name in the place before the place in the index. */
		uint16_t at = load_acquire(&r->header->index[i]);

		if (!at) {
			if (place < 0) {
				place = take_place(r);
				if (place < 0)
					return POSIX_TRACE_UNNAMED_USEREVENT;
				strncpy(place_name(r, (uint32_t)place), name, REGISTRY_NAME_BYTES - 1);
			}
			/* PAIR(name) */
			if (cas(&r->header->index[i], &at, (uint16_t)(place + 1)))
				return EVENT_ID_USER + i;
		}
		if (strncmp(place_name(r, at - 1u), name, REGISTRY_NAME_BYTES) == 0)
			return EVENT_ID_USER + i;
	}
	return POSIX_TRACE_UNNAMED_USEREVENT;
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

const char *registry_name(const struct registry *r, trace_event_id_t id)
{
	uint16_t at;

	if (id < EVENT_ID_USER || id >= EVENT_ID_END)
		return NULL;
	at = load_acquire(&r->header->index[id - EVENT_ID_USER]); /* PAIR(name) */
	return at ? place_name(r, at - 1u) : NULL;
}
