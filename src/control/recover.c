/*
 * recover.c - what the dead left behind (H11)
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/recover.h"

#include <string.h>

#include "base/sys.h"
#include "base/testpoint.h"
#include "base/ticks.h"
#include "control/save.h"
#include "shm/procpage.h"
#include "shm/registry.h"
#include "shm/stream.h"

#define RECOVER_NS 50000000

struct recovery {
	struct save save;
	int64_t until; /* CPU time; then the rest is left to the next one: there may be very much */
	bool streams; /* those, or all others */
};

static bool recover(int dir, const char *name, void *arg)
{
	struct recovery *r = arg;
	struct page_entry entry = { .inherit_from = 0 };
	char kind[16];

	if (clock_ns(CLOCK_THREAD_CPUTIME_ID) > r->until)
		return false;
	if (!file_name_parse(name, kind, &entry.creator, &entry.serial))
		return true; /* "." and "..", and what is not ours */
	if (strcmp(kind, "stream") == 0) {
		TEST_POINT("recover_stream");
		if (r->streams)
			stream_bury(dir, r->save.place, r->save.own_space, &entry, save_stream, &r->save);
	} else if (r->streams) {
		return true;
	} else if (strcmp(kind, "page") == 0) {
		procpage_remove_unused(dir, r->save.place, name);
	} else if (strcmp(kind, "new") == 0) {
		file_remove_unused(dir, r->save.place, name, NULL, NULL);
	} else if (strcmp(kind, "names") == 0) {
		registry_remove_unused(dir, r->save.place, name);
	}
	return true;
}

void recover_directory(int dir, const struct place *place, uint32_t own_space)
{
	struct recovery r = {
		.save = { dir, place, own_space, NULL },
		.until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + RECOVER_NS,
		.streams = true,
	};

	file_each(dir, recover, &r);
	r.streams = false;
	file_each(dir, recover, &r);
}

/* How long to wait for another who is at it. */
#define SAVING_MS 10000

bool recover_stream(const char *stream, const char *log)
{
	struct place place = place_own();
	const char *name = strrchr(stream, '/');
	struct page_entry entry = { .inherit_from = 0 };
	struct save save = { .place = &place, .log = log };
	struct ident self;
	char kind[16];
	bool was_there = false;

	if (!name || strncmp(stream, place.path, strlen(place.path)) != 0 || strlen(place.path) != (size_t)(name - stream) ||
	    !file_name_parse(name + 1, kind, &entry.creator, &entry.serial) || strcmp(kind, "stream") != 0 || ident_self(&self) < 0)
		return false;
	save.dir = file_directory(&place, false);
	if (save.dir < 0)
		return false;
	save.own_space = self.space;
	/* Once more when nobody is at it: who was may have been killed, or not have been able to. */
	for (int i = 0, alone = 0; i < SAVING_MS && alone < 2; i++) {
		if (stream_bury(save.dir, &place, self.space, &entry, save_stream, &save)) {
			was_there = true;
			break;
		}
		if (!file_removing(save.dir, name + 1)) {
			alone++;
			continue;
		}
		alone = 0;
		was_there = true;
		sys_sleep_ns(1000000);
	}
	sys_close(save.dir);
	return was_there;
}

static bool count(int dir, const char *name, void *arg)
{
	int *streams = arg;
	struct ident id;
	uint32_t number;
	char kind[16];

	if (file_name_parse(name, kind, &id, &number) && strcmp(kind, "stream") == 0 && file_held(dir, name))
		++*streams;
	return true;
}

int recover_count(int dir)
{
	int streams = 0;

	file_each(dir, count, &streams);
	return streams;
}
