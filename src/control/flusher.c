/*
 * flusher.c - the thread that writes a stream's log
 *
 * SPDX-License-Identifier: MIT
 */
#include "control/flusher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/atomic.h"
#include "base/helper.h"
#include "base/sys.h"
#include "base/testpoint.h"
#include "base/text.h"
#include "base/ticks.h"

#define PERIOD_NS   NS_PER_S           /* what was recorded stays out of the log no longer */
#define GUARDED_NS  (NS_PER_S / 50)    /* who writes there may not mean to wake us (H18) */
#define EXIT_TRIES  100 /* ms that exit() waits for who is asking */

/* -- The thread ----------------------------------------------------------------------- */

static void set_error(struct stream_header *h, int error)
{
	uint32_t state = load_relaxed(&h->state);

	/* The first one, until it has been read (FLUSH-16). */
	while (!(state >> STATE_ERROR_SHIFT) && !cas(&h->state, &state, state | (uint32_t)error << STATE_ERROR_SHIFT))
		;
}

/* Is there anything to be written, but for what a flush itself leaves? */
static bool unread(const struct flusher *g)
{
	return !merge_empty(&g->flush.live->merge) || load_relaxed(&g->flush.stream->header->stopped_ticks) != 0;
}

static void mark(struct flusher *g, const struct event *caller, trace_event_id_t id, uint64_t ticks)
{
	struct event event = *caller;

	event.id = id;
	event.ticks = ticks;
	flush_marker(&g->flush, &event);
}

/* caller: who has asked, as the origin of an event. */
static int flush(struct flusher *g, const struct event *caller)
{
	struct stream_header *h = g->flush.stream->header;
	uint32_t clock = g->flush.stream->clock_kind;
	bool running;
	uint64_t now;
	int r;

	/* From now on a writer that takes a chunk wakes us again. */
	store_relaxed(&h->flush_waiting, 1);
	running = fetch_or(&h->state, STATE_FLUSHING) & STATE_RUNNING;
	now = ticks_read(clock);
	TEST_POINT("flush_begins");
	if (running)
		mark(g, caller, POSIX_TRACE_FLUSH_START, now);
	r = flush_until(&g->flush, now);
	if (r < 0)
		set_error(h, -r);
	if (running)
		mark(g, caller, POSIX_TRACE_FLUSH_STOP, ticks_read(clock));
	fetch_and(&h->state, ~STATE_FLUSHING);
	TEST_POINT("flush_ends");
	g->last = clock_ns(CLOCK_MONOTONIC);
	g->failed = r < 0;
	return r;
}

/* All that there is, and the end of the log. */
static int end(struct flusher *g)
{
	struct stream_header *h = g->flush.stream->header;
	int r, closed;

	fetch_or(&h->state, STATE_FLUSHING);
	r = flush_until(&g->flush, UINT64_MAX);
	if (r < 0)
		set_error(h, -r);
	fetch_and(&h->state, ~STATE_FLUSHING);
	TEST_POINT("end_flushed");
	closed = flush_end(&g->flush);
	if (r == 0 && closed == 0)
		fetch_or(&h->state, STATE_SAVED);
	TEST_POINT("end_closed");
	output_close(&g->flush.output);
	return r < 0 ? r : closed;
}

/* What the header says of this stream's beginning, and who comes after a death has to know. */
static void describe_beginning(struct flusher *g)
{
	struct flush *f = &g->flush;

	g->header.attr = f->handle->attr;
	g->header.monotonic = attr_created(&g->header.attr) - (uint64_t)f->handle->real_time;
	f->real_time = f->describe.real_time = f->handle->real_time;
	f->state->real_time = f->real_time;
	f->state->created_ticks = f->live->merge.creation.ticks;
	f->state->created_monotonic = f->live->merge.creation.monotonic;
}

static int begin(struct flusher *g)
{
	describe_beginning(g);
	return flush_begin(&g->flush);
}

static int clear(struct flusher *g)
{
	struct flush *f = &g->flush;

	g->failed = false;
	f->markers = 0;
	f->full = false;
	f->discarded = f->unmarked = 0;
	f->lost = 0;
	draft_clear(&f->draft, f->stream);
	fetch_and(&f->stream->header->state, ~(STATE_LOG_FULL | STATE_LOG_OVERRUN));
	return begin(g);
}

static void answer(struct flusher *g, int r)
{
	g->answer = r < 0 ? -r : 0;
	store_release(&g->answered, g->asked); /* PAIR(answered) */
	sys_futex_wake(&g->answered);
}

/* False: that was the last one. */
static bool reply(struct flusher *g)
{
	switch (g->question) {
	case FLUSHER_FLUSH:
		answer(g, flush(g, &g->caller));
		return true;
	case FLUSHER_PAUSE:
		g->paused = true;
		answer(g, 0);
		return true;
	case FLUSHER_CLEAR:
		g->paused = false;
		answer(g, clear(g));
		return true;
	case FLUSHER_DESCRIBE:
		answer(g, describe_target(&g->flush.describe, &g->flush.output));
		return true;
	default:
		answer(g, end(g));
		return false;
	}
}

static void sleep_until_needed(struct flusher *g, uint32_t wakeups)
{
	struct stream_header *h = g->flush.stream->header;
	bool guarded = g->flush.handle->target.place.guarded;

	if (load_acquire(&g->asked) != load_relaxed(&g->answered)) /* PAIR(asked) */
		return;
	TEST_POINT("flusher_sleeps");
	sys_futex_wait_for(&h->wakeups, wakeups, guarded ? GUARDED_NS : PERIOD_NS);
}

/* By itself: a chunk is full, or so is all, or it is time. */
static bool due(const struct flusher *g)
{
	const struct stream *s = g->flush.stream;
	bool early;

	if (s->stream_policy != POSIX_TRACE_FLUSH || g->paused)
		return false;
	early = clock_ns(CLOCK_MONOTONIC) - g->last < PERIOD_NS;
	/* A disk that is full or a reader that has gone is not back at once, and a full stream stays full until then. */
	if (early && g->failed)
		return false;
	if (early && load_relaxed(&s->header->flush_waiting) && !(load_relaxed(&s->header->state) & STATE_ARMED))
		return false;
	store_relaxed(&s->header->flush_waiting, 1);
	return unread(g);
}

static void *run(void *arg)
{
	static const struct event nobody;
	struct flusher *g = arg;
	struct stream_header *h = g->flush.stream->header;

	for (;;) {
		uint32_t wakeups = load_relaxed(&h->wakeups);

		if (load_acquire(&g->asked) != load_relaxed(&g->answered)) { /* PAIR(asked) */
			if (!reply(g))
				return NULL;
			continue;
		}
		if (due(g)) {
			flush(g, &nobody);
			continue;
		}
		sleep_until_needed(g, wakeups);
	}
}

/* -- Its birth ---------------------------------------------------------------------------- */

struct birth {
	struct flusher *flusher;
	int fd;
	bool seeks;
	bool shared; /* the thread has no table of descriptors of its own */
	int error; /* an error number, or -1: not known yet */
	uint32_t born;
};

/*
 * The file's name as it is now; none if it has none any more. Nobody who comes by
 * after a death finds a file that we cannot find, but who opens the log does: so that is not the same.
 */
static void find_path(struct log_state *state, const char *link, const struct sys_stat *st)
{
	struct sys_stat by_path;
	long n = sys_read_link(link, state->path, sizeof state->path);

	state->inode = st->inode;
	state->device_major = st->device_major;
	state->device_minor = st->device_minor;
	if (n <= 0 || n >= (long)sizeof state->path - 1 || state->path[0] != '/' || sys_stat_path(state->path, &by_path) < 0 ||
	    !sys_same_file(&by_path, st)) {
		state->path[0] = st->links ? '?' : 0;
		state->path[1] = 0;
	}
}

/* The thread's own descriptor of the log: written by position, wherever others seek and whatever they append. */
static int own_descriptor(struct birth *b, struct log_state *state)
{
	char link[40];
	struct text t = text_into(link, sizeof link);
	struct sys_stat st;
	int fd = b->fd, own;

	/* Where that is not possible, the thread at least has its own for the same file. */
	if (sys_own_descriptors(fd) < 0) {
		b->shared = true;
		fd = sys_dup(fd);
		if (fd < 0)
			return fd;
	}
	if (!b->seeks)
		return fd;
	if (sys_stat(fd, &st) < 0)
		return -EBADF;
	text_add(&t, "/proc/thread-self/fd/");
	text_add_number(&t, (uint64_t)fd);
	find_path(state, link, &st);
	if (!(sys_open_flags(fd) & O_APPEND))
		return fd;
	/* By position nothing can be written to this one. */
	own = sys_open(AT_FDCWD, link, O_WRONLY, 0);
	sys_close(fd);
	return own < 0 ? -EINVAL : own;
}

static int prepare(struct birth *b)
{
	struct flusher *g = b->flusher;
	struct flush *f = &g->flush;
	int fd = own_descriptor(b, f->state), r;

	if (fd < 0)
		return fd;
	f->output.fd = fd;
	if (b->shared && output_share(&f->output) < 0)
		return -EBADF;
	store_relaxed(&f->stream->header->flush_waiting, 1);
	/* So that there is no space is known now, where that can be known (LOG-11). */
	if (b->seeks && f->output.policy != POSIX_TRACE_APPEND) {
		r = sys_reserve_space(fd, f->state->size);
		if (r == -ENOSPC || r == -EFBIG || r == -EDQUOT)
			return r == -EFBIG ? r : -ENOSPC;
	}
	return begin(g);
}

static void *be_born(void *arg)
{
	struct birth *b = arg;
	struct flusher *g = b->flusher;
	int r = prepare(b);

	g->last = clock_ns(CLOCK_MONOTONIC);
	if (r < 0 && g->flush.output.fd != b->fd)
		sys_close(g->flush.output.fd);
	b->error = r < 0 ? -r : 0;
	store_release(&b->born, 1); /* PAIR(born) */
	sys_futex_wake(&b->born);
	return r < 0 ? NULL : run(g);
}

static int start_thread(struct birth *b)
{
	int error = helper_start(&b->flusher->thread, be_born, b);

	if (error)
		return error;
	while (!load_acquire(&b->born)) /* PAIR(born) */
		sys_futex_wait(&b->born, 0, NULL);
	if (b->error)
		helper_join(b->flusher->thread);
	return b->error;
}

static void describe_stream(struct flusher *g, const struct handle *h)
{
	struct text t = text_into(g->header.stream, sizeof g->header.stream);
	char name[FILE_NAME_SIZE];

	header_machine(&g->header);
	g->header.target = h->stream.header->target_pid;
	g->header.creator = h->entry.creator.pid;
	stream_name(name, h->entry.creator, h->entry.serial);
	text_add(&t, h->target.place.path);
	text_add(&t, "/");
	text_add(&t, name);
}

/* Where segments are put together: in the stream's memory, if those who can write there could write to the log as well. */
static struct log_state *state_for(struct flusher *g, struct handle *h)
{
	if (!h->target.place.guarded)
		return h->stream.log;
	g->own_size = h->stream.log_bytes;
	g->own_state = sys_map(g->own_size, -1, 1);
	if (g->own_state)
		memcpy(g->own_state, h->stream.log, sizeof *g->own_state);
	return g->own_state;
}

static void flusher_free(struct handle *h)
{
	struct flusher *g = h->flusher;

	flush_free(&g->flush);
	if (g->own_state)
		sys_unmap(g->own_state, g->own_size);
	pthread_mutex_destroy(&g->asking);
	sys_unmap(g, sizeof *g);
	h->flusher = NULL;
}

int flusher_start(struct handle *h, int fd, bool seeks)
{
	struct flusher *g = sys_map(sizeof *g, -1, 1);
	struct birth b = { .flusher = g, .fd = fd, .seeks = seeks };
	struct log_state *state;
	int r;

	if (!g)
		return ENOMEM;
	sys_not_on_fork(g, sizeof *g);
	h->flusher = g;
	pthread_mutex_init(&g->asking, NULL);
	state = state_for(g, h);
	r = state ? flush_init(&g->flush, &h->stream, &h->live, state, fd, seeks) : -ENOMEM;
	if (r == 0) {
		g->flush.handle = h;
		g->flush.header = &g->header;
		g->flush.describe.names = h->target.names;
		g->flush.describe.target = h->stream.header->target_pid;
		g->flush.describe.target_number = h->target.number ? h->target.number : (uint32_t)sys_getpid();
		describe_stream(g, h);
		memcpy(state->names, h->target.names->file, sizeof h->target.names->file);
		r = -start_thread(&b);
	}
	if (r < 0)
		flusher_free(h);
	return -r;
}

/* -- Questions -------------------------------------------------------------------------------- */

/* With asking locked. */
static int ask(struct flusher *g, enum flusher_question question, const struct event *caller)
{
	struct stream_header *h = g->flush.stream->header;
	uint32_t asked = g->asked + 1, answered;

	g->question = question;
	if (caller)
		g->caller = *caller;
	store_release(&g->asked, asked); /* PAIR(asked) */
	fetch_add(&h->wakeups, 1);
	sys_futex_wake(&h->wakeups);
	while ((answered = load_acquire(&g->answered)) != asked) /* PAIR(answered) */
		sys_futex_wait(&g->answered, answered, NULL);
	return g->answer;
}

int flusher_flush(struct handle *h, const struct event *caller)
{
	struct flusher *g = h->flusher;
	int error;

	pthread_mutex_lock(&g->asking);
	error = ask(g, FLUSHER_FLUSH, caller);
	pthread_mutex_unlock(&g->asking);
	return error;
}

int flusher_describe(struct handle *h)
{
	struct flusher *g = h->flusher;
	int error;

	pthread_mutex_lock(&g->asking);
	error = ask(g, FLUSHER_DESCRIBE, NULL);
	pthread_mutex_unlock(&g->asking);
	return error;
}

void flusher_pause(struct handle *h)
{
	pthread_mutex_lock(&h->flusher->asking);
	ask(h->flusher, FLUSHER_PAUSE, NULL);
}

int flusher_clear(struct handle *h)
{
	int error = ask(h->flusher, FLUSHER_CLEAR, NULL);

	pthread_mutex_unlock(&h->flusher->asking);
	return error;
}

int flusher_end(struct handle *h)
{
	int error = ask(h->flusher, FLUSHER_END, NULL);

	helper_join(h->flusher->thread);
	flusher_free(h);
	return error;
}

bool flusher_try_end(struct handle *h)
{
	struct flusher *g = h->flusher;

	/* Who holds it may be a thread that exit() has interrupted. */
	for (int i = 0; i < EXIT_TRIES; i++) {
		if (pthread_mutex_trylock(&g->asking) == 0) {
			ask(g, FLUSHER_END, NULL);
			pthread_mutex_unlock(&g->asking);
			return true;
		}
		sys_sleep_ns(1000000);
	}
	return false;
}
