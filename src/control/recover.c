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
#include "shm/procpage.h"
#include "shm/stream.h"

#define RECOVER_NS 50000000

struct recovery {
	const struct place *place;
	uint32_t own_space;
	int64_t until; /* CPU time; then the rest is left to the next one: there may be very much */
};

static bool recover(int dir, const char *name, void *arg)
{
	const struct recovery *r = arg;
	struct page_entry entry = { .inherit_from = 0 };
	char kind[16];

	if (clock_ns(CLOCK_THREAD_CPUTIME_ID) > r->until)
		return false;
	if (!file_name_parse(name, kind, &entry.creator, &entry.serial))
		return true; /* "." and "..", and what is not ours */
	if (strcmp(kind, "stream") == 0) {
		TEST_POINT("recover_stream");
		stream_bury(dir, r->place, r->own_space, &entry);
	} else if (strcmp(kind, "page") == 0 || strcmp(kind, "names") == 0 || strcmp(kind, "new") == 0) {
		file_remove_unused(dir, r->place, name, NULL, NULL);
	}
	return true;
}

void recover_directory(int dir, const struct place *place, uint32_t own_space)
{
	struct recovery r = { place, own_space, clock_ns(CLOCK_THREAD_CPUTIME_ID) + RECOVER_NS };

	file_each(dir, recover, &r);
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
