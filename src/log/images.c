/*
 * images.c - what a process executes: its mappings, with build-ids
 *
 * SPDX-License-Identifier: MIT
 */
#include "log/images.h"

#include <string.h>

#include "base/sys.h"
#include "host/image.h"

bool images_same(const struct images *a, const struct images *b)
{
	return a->count == b->count && memcmp(a->image, b->image, a->count * sizeof a->image[0]) == 0;
}

bool images_have(const struct images *images, uint64_t address)
{
	for (uint32_t i = 0; i < images->count; i++)
		if (address - images->image[i].start < images->image[i].end - images->image[i].start)
			return true;
	return false;
}

/* -- The mappings ---------------------------------------------------------------------------- */

static void add_range(uint64_t start, uint64_t end, void *arg)
{
	struct images *images = arg;

	if (images->count < sizeof images->image / sizeof images->image[0])
		images->image[images->count++] = (struct image){ start, end };
}

size_t images_look(struct images *images, const struct images_whose *whose, uint64_t time, unsigned char *body,
                   size_t size)
{
	struct image_of of = {
		.number = whose->number,
		.pid = images->pid,
		.time = time,
		.owner = whose->owner,
		.group = whose->group,
		.command = !whose->guarded,
		.range = add_range,
		.arg = images,
	};
	struct image_room *room = whose->number ? sys_map(sizeof *room, -1, 1) : NULL;
	size_t used = 0;

	images->count = 0;
	if (room) {
		used = image_look(&of, room, body, size);
		sys_unmap(room, sizeof *room);
	}
	return used;
}

void images_take(struct images *images, const unsigned char *body, size_t size)
{
	images->count = 0;
	image_each(body, size, add_range, images);
}
