/*
 * unit.h - helpers of the unit tests: dead threads, streams without a file name
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef UNIT_H
#define UNIT_H

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/atomic.h"
#include "base/ticks.h"
#include "host/ident.h"
#include "model/attr.h"
#include "model/record.h"
#include "read/merge.h"
#include "shm/chunk.h"
#include "shm/stream.h"
#include "test.h"

static inline uint32_t unit_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static inline void unit_sleep_ms(int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000l };

	while (nanosleep(&t, &t) < 0)
		;
}

static inline void *unit_store_tid(void *p)
{
	*(uint32_t *)p = unit_tid();
	return NULL;
}

/* Returns the id of a thread that has ended. */
static inline uint32_t unit_dead_thread(void)
{
	pthread_t thread;
	uint32_t tid = 0;

	MUST(pthread_create(&thread, NULL, unit_store_tid, &tid) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	/* The kernel may need a moment longer than pthread_join(). */
	for (int i = 0; i < 1000 && syscall(SYS_tkill, tid, 0) == 0; i++)
		unit_sleep_ms(1);
	return tid;
}

/* Stores its thread id and lives until the test ends. */
static inline void *unit_live(void *p)
{
	store_release((uint32_t *)p, unit_tid());
	for (;;)
		unit_sleep_ms(1000);
	return NULL;
}

static inline uint32_t unit_living_thread(void)
{
	static uint32_t tid;
	pthread_t thread;

	store_relaxed(&tid, 0);
	MUST(pthread_create(&thread, NULL, unit_live, &tid) == 0);
	while (!load_acquire(&tid))
		sched_yield();
	return load_relaxed(&tid);
}

/* Creates a directory in /dev/shm, sets path, and returns a descriptor of it. The caller removes the directory. */
static inline int unit_directory(char path[32])
{
	int fd;

	strcpy(path, "/dev/shm/unit-XXXXXX");
	if (!mkdtemp(path))
		SKIP("no files can be made in /dev/shm");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(fd >= 0);
	return fd;
}

/* Returns the directory as a shm_dir of this user, unguarded. */
static inline struct shm_dir unit_shm_dir(const char *path)
{
	struct shm_dir shm_dir = { .owner = geteuid(), .group = getegid() };

	MUST(strlen(path) < sizeof shm_dir.path);
	strcpy(shm_dir.path, path);
	return shm_dir;
}

/* Returns whether the file is held. */
static inline bool unit_held(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDWR | O_CLOEXEC);
	bool held;

	MUST(fd >= 0);
	held = lock_held(fd);
	close(fd);
	return held;
}

/* Returns the identity of this process. */
static inline struct ident unit_ident(void)
{
	struct ident id;

	MUST(ident_self(&id) == 0);
	return id;
}

/* Sends it to another process. Returns false if no process reads. */
static inline bool unit_send_ident(int fd)
{
	struct ident self = unit_ident();
	uint64_t word[3] = { self.pid, self.start, self.pidns }; /* the struct has uninitialized padding */

	return write(fd, word, sizeof word) == sizeof word;
}

static inline struct ident unit_receive_ident(int fd)
{
	uint64_t word[3];

	MUST(read(fd, word, sizeof word) == sizeof word);
	return (struct ident){ (uint32_t)word[0], word[1], (uint32_t)word[2] };
}

/* A child that runs f and then lives until unit_end_child(). unit_child() returns when f has run. */
struct unit_child {
	pid_t pid;
	struct ident ident;
	int end; /* the child ends when this is closed */
};

static inline struct unit_child unit_child(void (*f)(void *arg), void *arg)
{
	int up[2], down[2];
	struct unit_child child;
	char c;

	MUST(pipe(up) == 0 && pipe(down) == 0);
	fflush(stderr);
	child.pid = fork();
	if (child.pid == 0) {
		close(up[0]);
		close(down[1]);
		if (f)
			f(arg);
		fflush(stderr);
		if (!unit_send_ident(up[1]))
			_exit(1);
		close(up[1]);
		_exit(read(down[0], &c, 1) != 0 || test_failures);
	}
	MUST(child.pid > 0);
	close(up[1]);
	close(down[0]);
	child.ident = unit_receive_ident(up[0]);
	close(up[0]);
	child.end = down[1];
	return child;
}

static inline void unit_end_child(const struct unit_child *child)
{
	int status;

	close(child->end);
	MUST(waitpid(child->pid, &status, 0) == child->pid);
	CHECK_EQ("-", status, 0);
}

static inline void unit_kill_child(const struct unit_child *child)
{
	int status;

	kill(child->pid, SIGKILL);
	MUST(waitpid(child->pid, &status, 0) == child->pid);
	close(child->end);
}

/* Recycles a chunk that is not locked. Returns how many events were lost. */
static inline uint32_t unit_recycle(const struct stream *s, struct chunk *c)
{
	uint32_t lost;

	MUST(chunk_trylock(s, c, unit_tid(), true));
	lost = chunk_recycle(s, c);
	chunk_unlock(c);
	return lost;
}

/* Consumes the next event. Returns its ticks and sets *chunk, or returns 0 if there is none. */
static inline uint64_t unit_next(struct merge *m, uint32_t *chunk)
{
	while (merge_next(m, chunk) == MERGE_RECORD) {
		uint64_t ticks = m->cursor[*chunk].head.ticks;

		if (merge_read(m, *chunk, NULL, 0))
			return ticks;
	}
	return 0;
}

static inline void unit_attr(struct attr *a, uint64_t stream_size, uint32_t data_size, int policy)
{
	attr_init(a);
	a->stream_size = stream_size;
	a->data_size = data_size;
	a->stream_policy = policy;
}

/* Creates a stream whose file has been unlinked. */
static inline void unit_stream(struct stream *s, uint64_t stream_size, uint32_t data_size, int policy)
{
	struct stream_origin origin = { .creator = { 1, 2, 0 }, .target = { 1, 2, 0 }, .serial = 3 };
	struct hold hold = { NULL };
	struct attr attr;
	char path[32];
	int dir = unit_directory(path), r;
	struct shm_dir shm_dir = unit_shm_dir(path);

	unit_attr(&attr, stream_size, data_size, policy);
	r = stream_create(dir, &shm_dir, &origin, &attr, false, s, &hold);
	lock_release(&hold);
	unlinkat(dir, "stream-1-2-3", 0);
	close(dir);
	rmdir(path);
	MUST(r == 0);
}

/* Append records to a chunk as a writer does, with ticks chosen by the test, whatever the chunk's owner. */
static inline void unit_owner(const struct stream *s, struct chunk *c, uint32_t tid)
{
	uint64_t p = load_relaxed(&c->progress);
	struct record_owner o = { .type = RECORD_OWNER, .pid = 1, .tid = tid, .thread = 7, .name = "unit" };

	MUST(progress_position(p) + sizeof o <= s->chunk_size);
	memcpy(stream_chunk_memory(s, c) + progress_position(p), &o, sizeof o);
	store_release(&c->progress, progress_make(progress_records(p), progress_position(p) + (uint32_t)sizeof o));
}

static inline void unit_record(const struct stream *s, struct chunk *c, uint64_t ticks, unsigned id,
                               const void *data, uint16_t length)
{
	uint64_t p = load_relaxed(&c->progress);
	struct record r = { .length = length, .type = (uint16_t)id, .ticks = ticks, .address = 5 };
	unsigned char *at = stream_chunk_memory(s, c) + progress_position(p);

	MUST(progress_position(p) + record_size(length) <= s->chunk_size);
	memcpy(at, &r, sizeof r);
	if (length)
		memcpy(at + sizeof r, data, length);
	store_relaxed(&c->last_ticks, ticks);
	store_release(&c->progress, progress_make(progress_records(p) + 1, progress_position(p) + record_size(length)));
}

static inline int64_t unit_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
