/*
 * reap.c - removes a stream whose creator has died
 *
 * SPDX-License-Identifier: MIT
 */
#include "shm/reap.h"

#include <stddef.h>

#include "base/sys.h"
#include "base/testpoint.h"
#include "shm/stream.h"

struct reaping {
	int dir;
	const struct shm_dir *shm_dir;
	uint32_t own_pidns;
	const struct page_entry *entry;
	bool (*save)(int fd, void *arg);
	void *arg;
};

/* Ends the stream: no thread begins another record. Returns false if the state could not be changed now. */
static bool end(int fd)
{
	const uint64_t at = offsetof(struct stream_header, state);
	uint32_t state = 0;
	long n = sys_read_at(fd, &state, sizeof state, at);

	if (n != (long)sizeof state)
		return n >= 0; /* the file is too short to have a state */
	if (state & STATE_RUNNING)
		state |= STATE_CUT;
	state = (state & ~(STATE_RUNNING | STATE_ARMED | STATE_LOSING | STATE_FLUSHING)) | STATE_ENDED;
	return sys_size_allowed(at + sizeof state) && sys_write_at(fd, &state, sizeof state, at) >= 0;
}

/* Returns whether the stream has a log; true also if the file cannot be read. */
static bool has_log(int fd)
{
	uint64_t log = 0;
	long n = sys_read_at(fd, &log, sizeof log, offsetof(struct stream_header, log_state));

	return n < 0 || (n == (long)sizeof log && log);
}

static bool reap(int fd, void *arg)
{
	const struct reaping *b = arg;

	if (stream_other_layout(fd, STREAM_MAGIC) || !end(fd))
		return false;
	TEST_POINT("reap_ended");
	procpage_forget(b->dir, b->shm_dir, b->own_pidns, b->entry, !b->save);
	TEST_POINT("reap_forgotten");
	return !has_log(fd) || (b->save && b->save(fd, b->arg));
}

bool stream_reap(int dir, const struct shm_dir *shm_dir, uint32_t own_pidns, const struct page_entry *entry,
                 bool (*save)(int fd, void *arg), void *arg)
{
	struct reaping b = { dir, shm_dir, own_pidns, entry, save, arg };
	char name[FILE_NAME_SIZE];

	stream_name(name, entry->creator, entry->serial);
	return file_remove_unused(dir, shm_dir, name, reap, &b);
}
