/*
 * recover.c - cleans up what dead processes have left behind (H11)
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
#include "shm/reap.h"
#include "shm/stream.h"

/* Limits: of processor time; and of real time in another user's directory, who may have made streams that take long. */
#define RECOVER_NS         50000000
#define RECOVER_GUARDED_NS INT64_C(500000000)

struct recovery {
	struct save save;
	const struct recover_own *own;
	/* Deadlines in CPU time and CLOCK_MONOTONIC. What remains then is left to the next recovery. */
	int64_t until, until_time;
	int unasked;  /* entries that may be skipped before the clocks are read */
	bool streams; /* this pass handles streams only; else all other files */
};

/* A directory can have a thousand of the caller's streams. Skipping an entry costs less than reading the CPU clock. */
#define PASSED_OVER 64

static bool out_of_time(struct recovery *r)
{
	if (--r->unasked >= 0)
		return false;
	r->unasked = PASSED_OVER;
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) > r->until || clock_ns(CLOCK_MONOTONIC) > r->until_time;
}

/* First part of the names of streams' files. */
#define STREAM "stream-"

static bool is_own(const struct recover_own *own, struct ident creator, uint32_t serial)
{
	return own && creator.pid == own->creator.pid && creator.start == own->creator.start &&
	       serial - own->first <= own->last - own->first;
}

static bool recover(int dir, const char *name, void *arg)
{
	struct recovery *r = arg;
	struct page_entry entry = { .inherit_from = 0 };
	bool stream = strncmp(name, STREAM, sizeof STREAM - 1) == 0;
	char kind[16];

	if (out_of_time(r))
		return false;
	if (stream != r->streams || !file_name_parse(name, kind, &entry.creator, &entry.serial))
		return true; /* for the other pass; or "." and "..", or not a file of the library */
	if (stream) {
		TEST_POINT("recover_stream");
		if (is_own(r->own, entry.creator, entry.serial))
			return true;
	}
	r->unasked = 0; /* the following may take longer */
	if (stream) {
		stream_reap(dir, r->save.shm_dir, r->save.own_pidns, &entry, save_stream, &r->save);
	} else if (strcmp(kind, "page") == 0) {
		procpage_remove_unused(dir, r->save.shm_dir, name);
	} else if (strcmp(kind, "new") == 0) {
		file_remove_unused(dir, r->save.shm_dir, name, NULL, NULL);
	} else if (strcmp(kind, "names") == 0) {
		registry_remove_unused(dir, r->save.shm_dir, name);
	}
	return true;
}

void recover_directory(int dir, const struct shm_dir *shm_dir, uint32_t own_pidns, const struct recover_own *own)
{
	struct recovery r = {
		.save = { dir, shm_dir, own_pidns, NULL },
		.own = own,
		.until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + RECOVER_NS,
		.until_time = shm_dir->guarded ? clock_ns(CLOCK_MONOTONIC) + RECOVER_GUARDED_NS : INT64_MAX,
		.streams = true,
	};

	file_each(dir, recover, &r);
	r.streams = false;
	r.unasked = 0;
	file_each(dir, recover, &r);
}

/* How long to wait for another process that is saving the stream. */
#define SAVING_MS 10000

bool recover_stream(const char *stream, const char *log)
{
	struct shm_dir shm_dir = shm_dir_own();
	const char *name = strrchr(stream, '/');
	struct page_entry entry = { .inherit_from = 0 };
	struct save save = { .shm_dir = &shm_dir, .log = log };
	struct ident self;
	char kind[16];
	bool was_there = false;

	if (!name || strncmp(stream, shm_dir.path, strlen(shm_dir.path)) != 0 ||
	    strlen(shm_dir.path) != (size_t)(name - stream) ||
	    !file_name_parse(name + 1, kind, &entry.creator, &entry.serial) || strcmp(kind, "stream") != 0 ||
	    ident_self(&self) < 0)
		return false;
	save.dir = file_directory(&shm_dir, false);
	if (save.dir < 0)
		return false;
	save.own_pidns = self.pidns;
	/* Try again after another process has been saving: it may have been killed, or may have failed. */
	for (int i = 0, alone = 0; i < SAVING_MS && alone < 2; i++) {
		if (stream_reap(save.dir, &shm_dir, self.pidns, &entry, save_stream, &save)) {
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

struct count {
	const struct recover_own *own;
	int streams;
	int most;
};

static bool count(int dir, const char *name, void *arg)
{
	struct count *c = arg;
	struct ident id;
	uint32_t number;
	char kind[16];

	if (file_name_parse(name, kind, &id, &number) && strcmp(kind, "stream") == 0 &&
	    (is_own(c->own, id, number) || file_held(dir, name)))
		c->streams++;
	return c->streams <= c->most;
}

int recover_count(int dir, int most, const struct recover_own *own)
{
	struct count c = { own, 0, most };

	file_each(dir, count, &c);
	return c.streams;
}
