/*
 * recover.c - what the dead left behind (H11)
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/recover.h"

#include <string.h>

#include "base/sys.h"
#include "base/testpoint.h"
#include "base/text.h"
#include "shm/procpage.h"
#include "shm/stream.h"
#include "shm/who.h"

/* The name of a stream's file, as pages have it. */
static struct page_entry entry_of(const char *name)
{
	struct page_entry entry = { .serial = 0 };

	name = strchr(name, '-') + 1;
	entry.creator.pid = (uint32_t)text_number(name);
	name = strchr(name, '-') + 1;
	entry.creator.start = text_number(name);
	entry.serial = (uint32_t)text_number(strchr(name, '-') + 1);
	return entry;
}

static bool recover(int dir, const char *name, void *arg)
{
	const struct place *place = arg;
	struct page_entry entry;
	char kind[16];

	if (!file_name_parse(name, kind))
		return true; /* "." and "..", and what is not ours */
	if (strcmp(kind, "stream") == 0) {
		entry = entry_of(name);
		TEST_POINT("recover_stream");
		/* No namespace is told for the claims: no others are taken from the dead. */
		if (file_remove_unused(dir, name, stream_bury))
			procpage_forget(dir, place, (uint32_t)sys_gettid() | WHO_OUTSIDER, &entry);
	} else if (strcmp(kind, "page") == 0 || strcmp(kind, "names") == 0 || strcmp(kind, "new") == 0) {
		file_remove_unused(dir, name, NULL);
	}
	return true;
}

void recover_directory(int dir, const struct place *place)
{
	file_each(dir, recover, (void *)place);
}

static bool count(int dir, const char *name, void *arg)
{
	int *streams = arg;
	char kind[16];

	if (file_name_parse(name, kind) && strcmp(kind, "stream") == 0 && file_held(dir, name))
		++*streams;
	return true;
}

int recover_count(int dir)
{
	int streams = 0;

	file_each(dir, count, &streams);
	return streams;
}
